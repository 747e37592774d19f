//! The runs of the pictures: one story that every picture tells, so that no two of them contradict each other. Times, tokens and
//! costs follow from each other: $2.50 a million tokens in (half of it for cached ones), $10 a million tokens out.

use serde_json::Map;
use synthdev::domain::journal::RunStatus;
use synthdev::tui::display::DisplayResponse;
use synthdev::tui::history_browser::run_list::RunRow;
use synthdev::tui::history_browser::step_list::StepListBuilder;
use synthdev::tui::history_browser::{HistoryRequest, HistoryResponse, RunDetails};
use synthdev::tui::run_view::run_graph::RunDefinitionView;
use synthdev::tui::run_view::timeline::RunTimeline;

use super::archive::{opened_browser, run_row, send_history_reply, take_history_requests};
use super::graph::{CODER_REVIEWER, graphs_of};
use super::*;

const RUN: &str = "r1";
const MODEL: &str = "m-base";
/// Tokens that the model can read.
const WINDOW: u64 = 128_000;
const CALL_COST: f64 = 0.02;
const CALL_TOKENS_OUT: u64 = 500;
/// An hour of the history, in milliseconds.
const HOUR: i64 = 3_600_000;

const PLAN: &str = "The flag is parsed in `src/main.rs`. I read it first.";
const CHANGE: &str = "I change one place:\n\n\
    | file | line | what |\n|:--|--:|:--|\n| src/main.rs | 2 | parse `--json` and check it |\n\n\
    ```rust\nlet options = parse(2, \"--json\");\n// stops where both formats are asked for\ncheck(&options);\n```";
const SOURCE: &str = "fn main() {\n    let options = parse(1);\n    run(options);\n}\n";
const DIFF: &str = "--- a/src/main.rs\n+++ b/src/main.rs\n@@ -1,4 +1,5 @@\n fn main() {\n-    let options = parse(1);\n\
    +    let options = parse(2, \"--json\");\n+    check(&options);\n     run(options);\n }";

/// A call of the model: its answer took so long, and of its tokens in so many were cached.
struct PlayedCall {
    call: u64,
    agent: &'static str,
    state: &'static str,
    tokens_in: u64,
    cached: u64,
    duration_ms: u64,
    text: &'static str,
}

const FIRST: PlayedCall = PlayedCall {
    call: 1,
    agent: "coder",
    state: "code",
    tokens_in: 6_000,
    cached: 0,
    duration_ms: 4_000,
    text: PLAN,
};
const SECOND: PlayedCall =
    PlayedCall { call: 3, tokens_in: 8_000, cached: 4_000, duration_ms: 5_000, text: CHANGE, ..FIRST };
const THIRD: PlayedCall = PlayedCall {
    call: 6,
    tokens_in: 10_000,
    cached: 8_000,
    duration_ms: 3_000,
    text: "The flag is in, and all tests pass.",
    ..FIRST
};

impl PlayedCall {
    fn side(&self) -> ConversationSide {
        if self.agent == "coder" { ConversationSide::Assistant } else { ConversationSide::User }
    }

    fn asked(&self) -> RunEvent {
        let mut event = model_called(self.call, self.agent, self.side());
        if let RunEvent::ModelCalled { state, .. } = &mut event {
            *state = self.state.into();
        }
        event
    }

    fn answered(&self) -> RunEvent {
        let mut event = model_replied(self.call, self.agent, self.side(), self.text, "");
        if let RunEvent::Replied { usage: used, cost_usd, duration_ms, .. } = &mut event {
            *used = self.usage();
            (*cost_usd, *duration_ms) = (Some(CALL_COST), self.duration_ms);
        }
        event
    }

    fn usage(&self) -> TokenUsage {
        TokenUsage {
            prompt: self.tokens_in,
            completion: CALL_TOKENS_OUT,
            cached: self.cached,
            ..TokenUsage::default()
        }
    }

    /// Both, the answer when it was there.
    fn events(&self) -> [(i64, RunEvent); 2] {
        [(10, self.asked()), (self.duration_ms as i64, self.answered())]
    }
}

fn entered(state: &str, agent: Option<&str>, step: u32) -> RunEvent {
    let agent = agent.map(str::to_owned);
    RunEvent::StateEntered { state: state.into(), visit: 1, step, agent, context: None }
}

fn tool_started(call: u64, tool: &str, arguments: serde_json::Value) -> RunEvent {
    RunEvent::ToolStarted { call: CallId(call), agent: "coder".into(), tool: tool.into(), arguments }
}

fn tool_ended(call: u64, tool: &str, summary: &str, content: &str, duration_ms: u64) -> RunEvent {
    RunEvent::ToolFinished {
        call: CallId(call),
        agent: "coder".into(),
        tool: tool.into(),
        ok: true,
        summary: summary.into(),
        content: content.into(),
        duration_ms,
    }
}

/// With a budget of which the run needs a part.
fn started() -> RunEvent {
    let mut event = workflow_started("coder_reviewer", TASKS[0]);
    if let RunEvent::RunStarted { budget, .. } = &mut event {
        let mut most = Budget::default();
        (most.cost_usd.hard, most.tokens.hard) = (Some(0.20), Some(100_000));
        *budget = Some(Box::new(most));
    }
    event
}

/// From the start to the first answer and what it reads.
fn opening_events() -> Vec<(i64, RunEvent)> {
    let mut events = vec![
        (0, started()),
        (10, snapshot_taken()),
        (10, entered("start", None, 1)),
        (10, transition("start", "code")),
        (10, entered("code", Some("coder"), 2)),
    ];
    events.extend(FIRST.events());
    events.extend([
        (10, tool_started(2, "read_files", json!({"file_paths": ["src/main.rs"]}))),
        (200, tool_ended(2, "read_files", "4 lines", SOURCE, 200)),
    ]);
    events
}

impl TuiHarness {
    /// Each event so many milliseconds after the one before.
    fn tell(&mut self, events: impl IntoIterator<Item = (i64, RunEvent)>) -> &mut Self {
        for (after, event) in events {
            self.advance_clock(after - 10).run_event(RUN, event);
        }
        self
    }

    /// The coder asks whether it may change the file.
    pub(super) fn show_asking_run(&mut self) -> &mut Self {
        let graphs = graphs_of(CODER_REVIEWER);
        let agents = ["coder", "reviewer"].map(str::to_owned).to_vec();
        let definition = Ok(Box::new(RunDefinitionView { graphs, variables: Map::new(), agents }));
        let preview = ToolPreview::Diff { path: "src/main.rs".into(), diff: DIFF.into() };
        self.tell(opening_events());
        let run = RunId::from(RUN);
        self.model.run_mut(&run).expect("it has begun").windows = [(MODEL.to_owned(), WINDOW)].into();
        self.send_message(UiMessage::Displayed(DisplayResponse::Definition { run, definition }))
            .tell(SECOND.events())
            .tell([(10, approval_event(4, "edit_file", preview))])
    }

    /// The user allowed it after three seconds, the tests passed, and the reviewer looks at it.
    pub(super) fn show_reviewed_run(&mut self) -> &mut Self {
        let allowed = RunEvent::ApprovalAnswered {
            arguments: serde_json::Value::Null,
            call: CallId(4),
            tool: "edit_file".into(),
            decision: ApprovalDecision::Allow,
        };
        let review = PlayedCall { call: 7, agent: "reviewer", state: "review", ..THIRD };
        self.show_asking_run()
            .tell([
                (3_000, allowed),
                (10, tool_started(4, "edit_file", json!({"file_path": "src/main.rs"}))),
                (100, tool_ended(4, "edit_file", "2 lines added, 1 removed", "", 100)),
                (10, tool_started(5, "execute_terminal", json!({"command": "cargo test"}))),
                (2_500, tool_ended(5, "execute_terminal", "41 passed", "test result: ok. 41 passed", 2_500)),
            ])
            .tell(THIRD.events())
            .tell([
                (10, transition("code", "review")),
                (10, entered("review", Some("reviewer"), 3)),
                (10, review.asked()),
                (1_500, delta_event(7, DeltaKind::Text, "The change is sound. One thing is missing: ")),
            ])
    }
}

const TASKS: [&str; 7] = [
    "add a --json flag",
    "print the version with --version",
    "read settings from a file",
    "test the parser with empty files",
    "say which line of a file is wrong",
    "write the report to a file",
    "update the README",
];
const STATUSES: [RunStatus; 7] = [
    RunStatus::Completed,
    RunStatus::Completed,
    RunStatus::Failed,
    RunStatus::Completed,
    RunStatus::Completed,
    RunStatus::Paused,
    RunStatus::Completed,
];
/// The place of the failed run that is opened.
const FAILED_ROW: usize = 3;

/// Earlier runs, the one of the other pictures first: each call of a model costs the same, and takes about as long.
pub(super) fn earlier_runs() -> Vec<RunRow> {
    (0..40).map(earlier_run).collect()
}

fn earlier_run(number: usize) -> RunRow {
    let status = if number == 0 { RunStatus::Running } else { STATUSES[(number - 1) % STATUSES.len()] };
    let mut row = run_row(number, "coder_reviewer", status);
    let calls = match (number, status) {
        (0, _) => 3,
        (_, RunStatus::Failed) => 1,
        (_, RunStatus::Paused) => 4,
        _ => 4 + number * 5 % 9,
    } as u64;
    let state = match status {
        RunStatus::Completed => "stop",
        RunStatus::Running => "review",
        _ => "code",
    };
    row.id = RunId::from(run_name(number).as_str());
    // the history is looked at one hour after this
    row.started = Timestamp(1_000_000 + HOUR - 20_000 - number as i64 * number as i64 * 700_000);
    row.updated = Timestamp(row.started.0 + calls as i64 * 6_500);
    row.cost_usd = Some(calls as f64 * CALL_COST);
    row.tokens = if number == 0 { 25_500 } else { 6_500 + (calls - 1) * 9_500 };
    row.text = TASKS[number % TASKS.len()].into();
    row.status_text = match status {
        RunStatus::Failed => "failed in code: the model cannot be reached".into(),
        status => format!("{} in {state}", status.as_str()),
    };
    row
}

/// As the program makes them: what began later comes later in the alphabet.
fn run_name(number: usize) -> String {
    let ends = ["q7d", "m2x", "t9k", "b4h", "w6r"];
    format!("0f4z8k{:03}{}", 941 - number * 7, ends[number % ends.len()])
}

/// The failed run is open.
pub(super) fn failed_run() -> TuiHarness {
    let mut desk = opened_browser(earlier_runs(), false);
    for _ in 0..FAILED_ROW {
        desk.key(KeyCode::Down);
    }
    desk.key(KeyCode::Enter);
    let asked = take_history_requests(&mut desk);
    let [(number, HistoryRequest::Open { .. })] = asked.as_slice() else { panic!("{asked:?}") };
    send_history_reply(&mut desk, *number, HistoryResponse::Opened(Ok(Some(Box::new(failed_details())))));
    desk
}

/// One answer and one read file; then the server is gone.
fn failed_details() -> RunDetails {
    let mut row = earlier_run(FAILED_ROW);
    let failure = RunError::new("model.transport", "the model cannot be reached", "connection refused");
    let failed = RunEvent::ModelFailed {
        call: CallId(SECOND.call),
        agent: "coder".into(),
        code: failure.code.clone(),
        reason: failure.detail.clone(),
        attempts: 3,
        spent: Vec::new(),
    };
    let mut ended = run_finished(RunStatus::Failed, None, Some(failure));
    if let RunEvent::Finished { path, usage, cost_usd, .. } = &mut ended {
        *path = vec!["start".into(), "code".into()];
        (*usage, *cost_usd) = (FIRST.usage(), Some(CALL_COST));
    }
    let mut events = opening_events();
    events.extend([(10, SECOND.asked()), (2_200, failed), (10, ended)]);
    let (mut steps, mut timeline) = (StepListBuilder::default(), RunTimeline::default());
    let (mut at, mut at_step) = (row.started, 0);
    for (after, event) in events {
        at = Timestamp(at.0 + after);
        at_step += u32::from(matches!(event, RunEvent::StateEntered { .. }));
        timeline.apply_event(at, &event);
        steps.apply_event(at, &StepEvent { at_step, event });
    }
    row.updated = at;
    let facts = [
        ("started", "2026-01-31 10:00:00 UTC"),
        ("input", TASKS[FAILED_ROW]),
        ("path", "start > code"),
        ("error", "model.transport: the model cannot be reached: connection refused"),
    ];
    RunDetails {
        row,
        facts: facts.map(|(name, fact)| (name.to_owned(), fact.to_owned())).to_vec(),
        steps: steps.into_steps(),
        timeline,
        agents: Vec::new(),
    }
}
