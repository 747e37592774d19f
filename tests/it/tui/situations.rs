//! Frames of the questions and states of a run that no other test shows, and screens that are too small.

use synthdev::domain::tool::ASKED_BY;
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
    ("question_default", |desk| {
        let question = pause(PauseKind::Approval, "Shall the branch be pushed?");
        ask(desk, with_default(question, json!(false)));
    }),
    ("question_default_choice", |desk| {
        let mut question = with_default(pause(PauseKind::Choice, "What now?"), json!("test more"));
        if let UserQuestion::Pause { choices, .. } = &mut question {
            *choices = ["ship", "test more", "drop it"].map(str::to_owned).to_vec();
        }
        ask(desk, question);
    }),
    ("question_refused_text", |desk| {
        let mut question = pause(PauseKind::Text, "How many rounds, as a number?");
        if let UserQuestion::Pause { problem, .. } = &mut question {
            *problem = Some("`many` is no number".into());
        }
        ask(desk, question);
    }),
    ("question_in_chat", |desk| {
        desk.start_chat()
            .run_event("c1", user_question(20, pause(PauseKind::Approval, "Delete the old parser?")))
            .advance_clock(1_000);
    }),
    ("question_limit_in_chat", |desk| {
        let text = "The agent has called 40 tools in this turn.".into();
        let limit = UserQuestion::Limit { limit: "limits.tool_rounds".into(), value: 40, text };
        desk.start_chat().run_event("c1", user_question(20, limit)).advance_clock(1_000);
    }),
    ("question_failed", |desk| {
        let failure = unreachable_error();
        ask(desk, UserQuestion::Failed { failure: Box::new(failure) });
    }),
    ("question_deadline", |desk| {
        let mut asked = approval_event(9, "execute_terminal", command_preview("cargo test"));
        let deadline = Timestamp(desk.clock + 90_000);
        if let RunEvent::ApprovalAsked { until, .. } = &mut asked {
            *until = Some(deadline);
        }
        desk.workflow().run_event("r1", asked).advance_clock(1_000);
    }),
    ("question_no_answer_chosen", |desk| {
        asked_command(desk).key(KeyCode::Enter).key(KeyCode::Enter);
    }),
    ("question_pasted", |desk| {
        asked_command(desk).send_message(UiMessage::Paste("error[E0308]: mismatched types".into()));
    }),
    ("question_beside_text", |desk| {
        desk.workflow().type_text("and the do");
        desk.run_event("r1", approval_event(9, "execute_terminal", command_preview("cargo doc")));
        desk.settle_question().key(KeyCode::Char('y'));
    }),
    ("question_beside_command", |desk| {
        asked_command(desk).type_text("/cost");
    }),
    ("question_over_pane", |desk| {
        desk.workflow().press_alt('5');
        desk.run_event("r1", approval_event(9, "execute_terminal", command_preview("cargo doc")));
    }),
    ("question_end_of_run", |desk| {
        desk.workflow()
            .run_event("r1", user_question(20, UserQuestion::Break { state: "code".into(), point: None }));
        desk.key(KeyCode::Esc);
    }),
    ("question_delete_snapshot", |desk| {
        desk.line("/snapshot delete ab12cd34");
    }),
    ("question_read", |desk| {
        let asked =
            asked_call("coder", "read_files", ToolRisk::Read, json!({"file_paths": ["../other/a.rs"]}));
        desk.workflow().run_event("r1", asked);
    }),
    ("question_step", |desk| {
        let asked =
            asked_call(ASKED_BY, "http_request", ToolRisk::Execute, json!({"url": "https://example.com/a"}));
        desk.workflow().run_event("r1", asked);
    }),
    ("question_own_tool", |desk| {
        let arguments = json!({"table": "users", "query": "select *\nfrom users", "limit": 5});
        desk.workflow().run_event("r1", asked_call("coder", "query_database", ToolRisk::Execute, arguments));
    }),
    ("question_server", |desk| {
        let mut asked = asked_call("coder", "docs__find", ToolRisk::Read, json!({"q": "flags"}));
        if let RunEvent::ApprovalAsked { preview, .. } = &mut asked {
            let text = "`find` of MCP server `docs`\n\n{\n  \"q\": \"flags\"\n}".into();
            *preview = Some(Box::new(ToolPreview::Text { text }));
        }
        desk.workflow().run_event("r1", asked);
    }),
    ("question_reach", |desk| {
        let mut preview = command_preview("make release");
        if let ToolPreview::Command { reach, .. } = &mut preview {
            reach.network = true;
            reach.writable = vec!["/var/cache/build".into()];
            reach.readable = vec!["~/.config/tool".into()];
        }
        desk.workflow().run_event("r1", approval_event(9, "release", preview));
    }),
    ("question_reason_agrees", |desk| {
        asked_command(desk).answer('r').type_text("yes").key(KeyCode::Enter);
    }),
    ("question_beside_panes", |desk| {
        asked_command(desk).press_alt('3');
    }),
    ("question_one_output", |desk| {
        let mut question = pause(PauseKind::Outputs, "Create the ticket.");
        if let UserQuestion::Pause { required_outputs, .. } = &mut question {
            *required_outputs = vec!["ticket".into()];
        }
        ask(desk, question);
    }),
];

/// A call of a tool that shows no preview.
fn asked_call(agent: &str, tool: &str, risk: ToolRisk, arguments: serde_json::Value) -> RunEvent {
    RunEvent::ApprovalAsked {
        state: "code".into(),
        call: CallId(9),
        agent: agent.into(),
        tool: tool.into(),
        risk,
        arguments,
        preview: None,
        until: None,
    }
}

fn with_default(mut question: UserQuestion, value: serde_json::Value) -> UserQuestion {
    if let UserQuestion::Pause { default, .. } = &mut question {
        *default = Some(Box::new(value));
    }
    question
}

fn asked_command(desk: &mut TuiHarness) -> &mut TuiHarness {
    desk.workflow()
        .run_event("r1", approval_event(9, "execute_terminal", command_preview("cargo test")))
        .settle_question()
}

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
    ("state_interrupting", |desk| {
        call_model(desk).key(KeyCode::Esc);
    }),
    ("state_stopping", |desk| {
        call_model(desk).press_control('c');
    }),
    ("state_stopped", |desk| {
        call_model(desk).press_control('c');
        desk.run_event("r1", run_finished(RunStatus::Cancelled, None, None));
    }),
    ("state_text_returned", |desk| {
        call_model(desk).line("use the builder");
        desk.run_event("r1", run_finished(RunStatus::Cancelled, None, None));
    }),
    ("state_shell_words", |desk| {
        desk.line("!ls -la");
    }),
    ("state_waited", |desk| {
        call_model(desk).advance_clock(65_000);
        desk.run_event("r1", approval_event(9, "execute_terminal", command_preview("cargo test")));
        desk.advance_clock(190_000).settle_question();
        desk.run_event("r1", RunEvent::PersonAnswered { call: CallId(9), question: None, answer: None })
            .run_event("r1", model_called(10, "coder", ConversationSide::Assistant));
    }),
    ("state_no_key_of_pane", |desk| {
        desk.workflow().press_alt('3').key(KeyCode::Enter);
    }),
    ("state_no_search_of_pane", |desk| {
        desk.workflow().press_alt('4').press_control('n');
    }),
    ("state_unknown_command", |desk| {
        desk.line("/wrkflow plan");
    }),
    ("state_no_runs", |desk| *desk = opened_browser(Vec::new(), false)),
    ("state_asks_for_window", |desk| {
        let preparation = StartPreparation::Windows;
        let pending = PendingStart { name: "coder_reviewer".into(), chat: false, preparation };
        desk.send_message(UiMessage::answered(StartResponse::Pending(pending)));
    }),
    ("state_checks_requirements", |desk| {
        let preparation = StartPreparation::Requirements;
        let pending = PendingStart { name: "coder_reviewer".into(), chat: false, preparation };
        desk.send_message(UiMessage::answered(StartResponse::Pending(pending)));
    }),
    ("state_thinks", |desk| {
        call_model(desk)
            .run_event("r1", delta_event(5, DeltaKind::Reasoning, "A flag is wanted.\nI look first."));
    }),
    ("state_sums_up", |desk| {
        desk.start_chat().run_event(
            "c1",
            RunEvent::SummaryCalled {
                role: String::new(),
                call: CallId(5),
                agent: "coder".into(),
                context: "talk".into(),
                model: "m-base".into(),
                entries: 7,
            },
        );
    }),
    ("state_window_nearly_full", |desk| {
        desk.start_chat();
        desk.model.runs[0].windows = [("m-base".to_owned(), 1_400)].into();
        desk.run_event("c1", model_called(5, "coder", ConversationSide::Assistant))
            .run_event("c1", model_replied(5, "coder", ConversationSide::Assistant, "I see.", ""));
    }),
    ("state_text_queued", |desk| {
        call_model(desk).line("and write the tests, please, before anything else is changed in that file");
        let text = "and write the tests, please, before anything else is changed in that file".into();
        desk.run_event("r1", RunEvent::Queued { text });
    }),
    ("state_role_named", |desk| {
        desk.start_chat();
        desk.model.names_addressee = true;
    }),
    ("state_paste_folded", |desk| {
        desk.send_message(UiMessage::Paste("one line of the log\n".repeat(40)));
    }),
    ("state_command_runs", |desk| {
        desk.line("/cmd make all");
    }),
    ("state_copied", |desk| {
        desk.show_working_run().press_alt('5').press_control('y');
    }),
    ("state_not_found", |desk| {
        desk.show_working_run().press_alt('5').press_control('f').type_text("zzz").key(KeyCode::Enter);
    }),
    ("state_long_wait_left_out", |desk| {
        call_model(desk)
            .advance_clock(30_000)
            .run_event("r1", model_replied(5, "coder", ConversationSide::Assistant, "I test it.", ""))
            .run_event("r1", approval_event(9, "execute_terminal", command_preview("cargo test")));
        desk.advance_clock(7_200_000).settle_question();
        desk.run_event("r1", RunEvent::PersonAnswered { call: CallId(9), question: None, answer: None })
            .run_event("r1", model_called(10, "coder", ConversationSide::Assistant))
            .advance_clock(20_000)
            .run_event("r1", model_replied(10, "coder", ConversationSide::Assistant, "Done.", ""))
            .press_alt('6');
    }),
    ("keys_conversation", |desk| {
        desk.show_working_run().press_alt('1').key(KeyCode::F(1));
    }),
    ("keys_graph", |desk| {
        desk.show_working_run().press_alt('2').key(KeyCode::F(1));
    }),
    ("keys_timeline", |desk| {
        desk.show_working_run().press_alt('6').key(KeyCode::F(1));
    }),
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
