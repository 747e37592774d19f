//! Frames of the questions and states of a run that no other test shows, and screens that are too small.

use synthdev::domain::workflow::PauseKind;

use super::archive::opened_browser;
use super::panes::{tool, tool_done};
use super::question_frames::pause;
use super::shots::{Row, check_situations};
use super::*;

fn ask(desk: &mut TuiHarness, question: UserQuestion) -> &mut TuiHarness {
    desk.workflow().run_event("r1", user_question(20, question)).advance_clock(1_000)
}

/// A command that runs on after its call, and what the sandbox opens for it.
fn background_command() -> RunEvent {
    let mut preview = command_preview("npm run dev -- --port 5173 --host 127.0.0.1");
    if let ToolPreview::Command { background, ports, cwd, .. } = &mut preview {
        (*background, *cwd) = (true, "/project/web/client".into());
        ports.extend([5_173, 8_080]);
    }
    approval_event(7, "execute_terminal", preview)
}

const QUESTIONS: &[Row] = &[
    ("question_write", |desk| {
        let text: String = (1..=30).map(|at| format!("line {at} of the new file\n")).collect();
        let added = text.lines().map(|line| format!("+{line}\n")).collect::<String>();
        let diff = format!("--- /dev/null\n+++ b/docs/flags.md\n@@ -0,0 +1,30 @@\n{added}");
        desk.workflow().run_event(
            "r1",
            RunEvent::ApprovalAsked {
                state: "code".into(),
                call: CallId(7),
                agent: "coder".into(),
                tool: "write_file".into(),
                risk: ToolRisk::Write,
                arguments: json!({"file_path": "docs/flags.md", "content": text}),
                preview: Some(Box::new(ToolPreview::Diff { path: "docs/flags.md".into(), diff })),
                until: None,
            },
        );
    }),
    ("question_background", |desk| {
        desk.workflow().run_event("r1", background_command());
    }),
    ("question_network", |desk| {
        desk.workflow().run_event(
            "r1",
            RunEvent::NetworkAsked {
                call: CallId(7),
                agent: "coder".into(),
                tool: "execute_terminal".into(),
                arguments: json!({"command": "cargo fetch --locked"}),
            },
        );
    }),
    ("question_unsandboxed", |desk| {
        desk.workflow().run_event(
            "r1",
            RunEvent::UnsandboxedAsked {
                call: CallId(7),
                agent: "coder".into(),
                tool: "execute_terminal".into(),
                arguments: json!({"command": "cargo test"}),
                preview: None,
                reason: "the kernel allows no namespaces, and bubblewrap is not installed".into(),
                until: None,
            },
        );
    }),
    ("question_text", |desk| {
        ask(desk, pause(PauseKind::Text, "Which **name** shall the flag have?")).type_text("--as-json");
    }),
    ("question_limit", |desk| {
        let text = "The run has cost $0.05, and its budget is $0.05.".into();
        ask(desk, UserQuestion::Limit { limit: "budget.cost_usd".into(), value: 5, text });
    }),
    ("question_no_snapshot", |desk| {
        let reason = "the disk is full (os error 28)".into();
        ask(desk, UserQuestion::NoSnapshot { reason });
    }),
];

#[test]
fn every_question_at_every_size() {
    check_situations(QUESTIONS);
}

fn unreachable_error() -> RunError {
    RunError::new(
        "model.transport",
        "The provider cannot be reached",
        "https://api.example.com/v1/chat/completions: no address for this name",
    )
    .with_hint("check the network, or choose another model with /configure; /continue asks again")
}

fn call_model(desk: &mut TuiHarness) -> &mut TuiHarness {
    desk.workflow().run_event("r1", model_called(5, "coder", ConversationSide::Assistant))
}

fn fail_model(desk: &mut TuiHarness, code: &str, reason: &str) {
    let failed = RunEvent::ModelFailed {
        call: CallId(5),
        agent: "coder".into(),
        code: code.into(),
        reason: reason.into(),
        attempts: 3,
        spent: vec![],
    };
    desk.run_event("r1", failed);
}

const STATES: &[Row] = &[
    ("state_asks_again", |desk| {
        let retry = RunEvent::ModelRetry {
            call: CallId(5),
            agent: "coder".into(),
            attempt: 2,
            delay_ms: 8_000,
            reason: "429: too many requests".into(),
        };
        call_model(desk).run_event("r1", retry);
    }),
    ("state_offline", |desk| {
        fail_model(call_model(desk), "model.transport", "no address for api.example.com");
        desk.run_event("r1", run_finished(RunStatus::Failed, None, Some(unreachable_error())));
    }),
    ("state_budget_reached", |desk| {
        let error = RunError::new("budget_exceeded", "The budget.tokens is reached", "2,140 of 2,000 tokens")
            .with_hint("raise \"budget\": {\"tokens\": …}, or say what follows with \"on_limit\"; what was done is kept");
        desk.workflow()
            .run_event(
                "r1",
                RunEvent::BudgetWarning {
                    scope: "run".into(),
                    what: "tokens".into(),
                    spent: 1_640.0,
                    soft: 1_600.0,
                    hard: Some(2_000.0),
                },
            )
            .run_event("r1", run_finished(RunStatus::Failed, None, Some(error)));
    }),
    ("state_waits", |desk| {
        desk.workflow().run_event("r1", transition("code", "pause")).run_event(
            "r1",
            RunEvent::StateEntered { state: "pause".into(), visit: 1, step: 2, agent: None, context: None },
        );
        let until = Timestamp(desk.clock + 90_000);
        desk.run_event("r1", RunEvent::Waiting { state: "pause".into(), until });
    }),
    ("state_cancelled", |desk| {
        call_model(desk).run_event("r1", run_finished(RunStatus::Cancelled, None, None));
    }),
    ("state_without_model", |desk| {
        let facts = StatusFacts {
            role: "coder".into(),
            model: "no model".into(),
            notice: Some("no model is set for level base: /configure sets one up".into()),
            ..StatusFacts::default()
        };
        desk.model = initial_model(facts, None, None, &[], ColorTheme::default()).0;
    }),
    ("state_several_runs", |desk| {
        desk.workflow();
        desk.run_event("r2", workflow_started("newspaper_copywriter", "write about ratatui"))
            .run_event("r2", state_entered("draft"))
            .run_event("r2", tool(8, "read_files", json!({"file_paths": ["notes.md"]})))
            .run_event("r2", tool_done(8, "read_files", true, "ok"))
            .run_event("r1", approval_event(9, "execute_terminal", command_preview("cargo test")));
    }),
    ("state_no_runs", |desk| *desk = opened_browser(Vec::new(), false)),
];

#[test]
fn every_state_at_every_size() {
    check_situations(STATES);
}

/// Too small for what a screen has: what is typed, a question, and how one leaves are the last to go.
#[test]
fn screens_that_are_too_small_keep_what_matters() {
    const SIZES: [(u16, u16); 5] = [(60, 6), (30, 8), (20, 5), (12, 3), (1, 1)];
    let mut desk = TuiHarness::new();
    call_model(&mut desk).type_text("typed").check_shots_at("small_running", &SIZES);
    let mut desk = TuiHarness::new();
    call_model(&mut desk).run_event("r1", background_command()).check_shots_at("small_question", &SIZES);
    opened_browser(super::archive::many_rows(0, 9), true).check_shots_at("small_history", &SIZES);
    super::editor::opened_editor().check_shots_at("small_editor", &SIZES);
}
