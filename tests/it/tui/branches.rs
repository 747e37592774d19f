//! Several branches at once: nothing mixes, every question is answered once, nothing is lost.

use serde_json::json;
use synthdev::domain::workflow::PauseKind;

use super::*;

fn branches_forked(branches: &[&str], total: usize) -> RunEvent {
    RunEvent::Forked {
        state: "analyse".into(),
        branches: branches.iter().map(|&b| b.into()).collect(),
        total,
    }
}

fn branch_started(branch: &str, index: usize) -> RunEvent {
    RunEvent::BranchStarted { state: "analyse".into(), branch: branch.into(), index }
}

fn branch_ended(branch: &str, index: usize, error: Option<RunError>) -> RunEvent {
    RunEvent::BranchFinished {
        state: "analyse".into(),
        branch: branch.into(),
        index,
        output: None,
        error: error.map(Box::new),
    }
}

fn model_called_in(call: u64, state: &str, agent: &str) -> RunEvent {
    RunEvent::ModelCalled {
        role: String::new(),
        call: CallId(call),
        state: state.into(),
        agent: agent.into(),
        side: ConversationSide::Assistant,
        model: "m-base".into(),
        provider: "scripted".into(),
        messages: 1,
    }
}

fn approval_in_state(call: u64, state: &str, agent: &str) -> RunEvent {
    RunEvent::ApprovalAsked {
        call: CallId(call),
        state: state.into(),
        agent: agent.into(),
        tool: "execute_terminal".into(),
        risk: ToolRisk::Execute,
        arguments: json!({}),
        preview: Some(Box::new(command_preview("ls"))),
        until: None,
    }
}

/// A run with three branches under way.
fn desk_with_branches() -> TuiHarness {
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", transition("code", "analyse")).run_event("r1", state_entered("analyse"));
    desk.run_event("r1", branches_forked(&["alpha", "beta", "gamma"], 3));
    for (index, branch) in ["alpha", "beta", "gamma"].into_iter().enumerate() {
        desk.run_event("r1", branch_started(branch, index))
            .run_event("r1", state_entered(&format!("analyse.{branch}/start")));
    }
    desk
}

#[test]
fn what_several_say_at_once_does_not_mix() {
    let mut desk = desk_with_branches();
    for (call, branch) in [(31, "alpha"), (32, "beta"), (33, "gamma")] {
        desk.run_event("r1", model_called_in(call, &format!("analyse.{branch}/start"), "coder"));
    }
    for piece in 0..3 {
        for (call, word) in [(31, "one"), (32, "two"), (33, "three")] {
            desk.run_event("r1", delta_event(call, DeltaKind::Text, &format!("{word}{piece} ")));
        }
    }
    desk.check_frames("branches_streaming");
    for (call, word) in [(33, "three"), (31, "one"), (32, "two")] {
        desk.run_event(
            "r1",
            model_replied(call, "coder", ConversationSide::Assistant, &format!("{word} in all"), ""),
        );
    }
    let screen = desk.draw_screen(80, 40);
    for (branch, word) in [("alpha", "one"), ("beta", "two"), ("gamma", "three")] {
        assert!(screen.contains(&format!("coder · {branch} m-base\n  {word} in all\n")), "{screen}");
    }
    desk.run_event("r1", transition("analyse.alpha/start", "analyse.alpha/stop"))
        .run_event("r1", branch_ended("alpha", 0, None))
        .run_event(
            "r1",
            branch_ended("beta", 1, Some(RunError::new("tool.failed", "A step failed", "exit 1"))),
        )
        .run_event("r1", branch_ended("gamma", 2, None))
        .run_event("r1", RunEvent::Joined { state: "analyse".into(), succeeded: 2, failed: 1, stopped: 0 });
    desk.check_frames("branches_joined");
}

#[test]
fn a_tool_of_a_branch_that_was_stopped_runs_no_more() {
    let mut desk = desk_with_branches();
    let tool = RunEvent::ToolStarted {
        call: CallId(40),
        agent: "coder".into(),
        tool: "execute_terminal".into(),
        arguments: json!({"command": "sleep 60"}),
    };
    let failed = RunError::new("tool.failed", "A step failed", "exit 1");
    desk.run_event("r1", tool).run_event("r1", branch_ended("beta", 1, Some(failed)));
    assert!(desk.draw_screen(80, 40).contains("sleep 60 — running"), "another branch may be its own");
    desk.run_event("r1", RunEvent::Joined { state: "analyse".into(), succeeded: 0, failed: 1, stopped: 2 });
    let screen = desk.draw_screen(80, 40);
    assert!(screen.contains("sleep 60 — interrupted") && !screen.contains("running"), "{screen}");
}

#[test]
fn the_status_line_counts_what_runs() {
    let mut desk = desk_with_branches();
    let status = |desk: &mut TuiHarness| desk.draw_screen(100, 24).lines().last().unwrap().to_owned();
    assert!(status(&mut desk).contains("3 branches"), "{}", status(&mut desk));
    desk.run_event("r1", branch_ended("beta", 1, None));
    assert!(status(&mut desk).contains("2 branches"));
    desk.run_event("r1", RunEvent::Joined { state: "analyse".into(), succeeded: 1, failed: 0, stopped: 2 });
    assert!(!status(&mut desk).contains("branches"));
    desk.run_event("r1", branches_forked(&[], 8))
        .run_event("r1", branch_started("[0]", 0))
        .run_event("r1", branch_started("[1]", 1));
    assert!(status(&mut desk).contains("2 items"));
    // a fork that failed is never joined
    desk.run_event("r1", transition("analyse", "repair"));
    assert!(!status(&mut desk).contains("items"));
}

/// Also before the line that says which branch asks.
#[test]
fn what_is_dangerous_stands_first_in_the_question_of_a_branch() {
    let mut desk = desk_with_branches();
    let mut asked = approval_in_state(41, "analyse.alpha/start", "coder");
    if let RunEvent::ApprovalAsked { preview, .. } = &mut asked {
        let mut command = command_preview("rm -rf build");
        if let ToolPreview::Command { warning, .. } = &mut command {
            *warning = Some("This command deletes directories for good.".into());
        }
        *preview = Some(Box::new(command));
    }
    desk.run_event("r1", asked);
    let screen = desk.draw_screen(80, 24);
    let row = |text: &str| screen.lines().position(|row| row.contains(text)).expect(&screen);
    let order =
        ["! This command deletes", "in state analyse.alpha/start", "in /project", "rm -rf build"].map(row);
    assert!(order.is_sorted(), "{screen}");
}

#[test]
fn every_question_says_who_asks_and_is_answered_once() {
    let mut desk = desk_with_branches();
    let pause = UserQuestion::Pause {
        state: "analyse.gamma/gate".into(),
        kind: PauseKind::Text,
        message: "How far?".into(),
        choices: vec![],
        schema: None,
        required_outputs: vec![],
        default: None,
        until: None,
        problem: None,
    };
    desk.run_event("r1", approval_in_state(41, "analyse.alpha/start", "coder"))
        .run_event("r1", user_question(43, pause))
        .run_event("r1", approval_in_state(42, "analyse.beta/verify", "workflow"));
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("in state analyse.alpha/start") && screen.contains("1 of 3"), "{screen}");
    desk.check_frames("branches_ask");
    desk.answer('y');
    assert_eq!(desk.take_commands(), [decision_command("r1", 41, ApprovalDecision::Allow)]);
    desk.run_event(
        "r1",
        RunEvent::ApprovalAnswered {
            arguments: serde_json::Value::Null,
            call: CallId(41),
            tool: String::new(),
            decision: ApprovalDecision::Allow,
        },
    );
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("analyse.gamma/gate: your answer"), "{screen}");
    desk.line("far");
    let answer = UserAnswer::Value { value: json!("far") };
    let command = RunCommand::Answer { call: CallId(43), answer };
    assert_eq!(desk.take_commands(), [UiCommand::Send(RunId::from("r1"), command)]);
    let screen = desk.draw_screen(80, 24);
    assert!(
        screen.contains("Allow workflow to execute") && screen.contains("in state analyse.beta/verify"),
        "{screen}"
    );
    desk.advance_clock(1_000).answer('n');
    assert_eq!(desk.take_commands(), [decision_command("r1", 42, ApprovalDecision::Deny { reason: None })]);
    assert!(desk.model.dialogs.is_empty());
}

#[test]
fn a_branch_that_was_stopped_asks_no_more() {
    let mut desk = desk_with_branches();
    desk.run_event("r1", approval_in_state(41, "analyse.alpha/start", "coder"))
        .run_event("r1", approval_in_state(42, "analyse.beta/start", "coder"))
        .run_event("r1", branch_ended("alpha", 0, None));
    assert_eq!(desk.model.dialogs.len(), 1);
    desk.run_event("r1", RunEvent::Joined { state: "analyse".into(), succeeded: 1, failed: 0, stopped: 2 });
    assert!(desk.model.dialogs.is_empty());
}

#[test]
fn what_went_wrong_and_was_dealt_with_is_told_in_a_line() {
    let error = || RunError::new("model.overloaded", "The model is overloaded", "503");
    let retrying = RunEvent::Retrying {
        state: "code".into(),
        attempt: 2,
        max_attempts: 4,
        delay_ms: 2_000,
        error: Box::new(error()),
    };
    let caught = RunEvent::Caught {
        state: "code".into(),
        error: Box::new(error()),
        by: "catch".into(),
        target: Some("ask_human".into()),
    };
    let warning = |what: &str, spent, soft, hard| RunEvent::BudgetWarning {
        scope: "the run".into(),
        what: what.into(),
        spent,
        soft,
        hard,
    };
    let mut desk = TuiHarness::new();
    let until = Timestamp(desk.clock + 90_000);
    desk.workflow()
        .run_event("r1", retrying)
        .run_event("r1", caught)
        .run_event("r1", warning("tokens", 8_123.0, 8_000.0, Some(10_000.0)));
    desk.run_event("r1", warning("cost_usd", 0.5, 0.4, None))
        .run_event("r1", warning("duration", 61_000.0, 60_000.0, None));
    let stored = RunEvent::Stored { state: "code".into(), key: "plan".into(), value: json!({"a": 1}) };
    desk.run_event("r1", RunEvent::Waiting { state: "nap".into(), until }).run_event("r1", stored);
    desk.run_event("r1", RunEvent::Queued { text: "later".into() });
    let screen = desk.draw_screen(120, 40);
    for line in [
        "! code is tried again in 2.0 s, attempt 2 of 4: The model is overloaded",
        "! error of code, handled by catch → ask_human: The model is overloaded",
        "! budget of the run: 8,123 tokens used; it warns at 8,000 tokens",
        "! budget of the run: $0.50 used; it warns at $0.40",
        "! budget of the run: 1 min 01 s used; it warns at 1 min 00 s",
        "nap waits 1 min 2",
        "text queued: the workflow reads it when it asks for a text",
    ] {
        assert!(screen.contains(line), "{line}\n{screen}");
    }
    assert!(!screen.contains("common_data.plan"), "a stored value is a detail");
    desk.press_control('o');
    assert!(desk.draw_screen(120, 40).contains("common_data.plan: {"));
}

#[test]
fn ten_thousand_items_leave_a_short_path() {
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", branches_forked(&[], 10_000));
    for at in 0..10_000 {
        let branch = format!("[{at}]");
        desk.run_event("r1", branch_started(&branch, at))
            .run_event("r1", state_entered(&format!("analyse{branch}/start")));
        desk.run_event("r1", branch_ended(&branch, at, None));
    }
    let view = &desk.model.runs[0];
    assert!(view.path.len() <= 1_000 && view.branches.is_empty(), "{}", view.path.len());
    let mut end = run_finished(RunStatus::Completed, None, None);
    if let RunEvent::Finished { path, .. } = &mut end {
        *path = (0..500).map(|at| format!("s{at}")).chain(["…".to_owned()]).collect();
    }
    desk.run_event("r1", end);
    let screen = desk.draw_screen(120, 40);
    assert!(
        screen.contains("s0 → s1") && screen.contains("… 495 more → s498") && screen.contains("s499 → …"),
        "{screen}"
    );
}
