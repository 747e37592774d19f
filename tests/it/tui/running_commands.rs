//! Commands that agents have left running: shown while they run, and stopped by the user.

use synthdev::domain::tool::RunningCommand;

use super::*;

fn tool_started(call: u64, arguments: serde_json::Value) -> RunEvent {
    RunEvent::ToolStarted {
        call: CallId(call),
        agent: "coder".into(),
        tool: "execute_terminal".into(),
        arguments,
    }
}

fn tool_finished(call: u64) -> RunEvent {
    RunEvent::ToolFinished {
        call: CallId(call),
        agent: "coder".into(),
        tool: "execute_terminal".into(),
        ok: true,
        summary: "running".into(),
        content: String::new(),
        duration_ms: 300,
    }
}

fn command(id: &str, line: &str, minutes: u64) -> RunningCommand {
    RunningCommand { id: id.into(), command: line.into(), elapsed_ms: minutes * 60_000 }
}

fn asked(after_end: bool) -> UiCommand {
    UiCommand::ask(RunRequest::RunningCommands { run: RunId::from("c1"), after_end })
}

fn listed(desk: &mut TuiHarness, after_end: bool, commands: Vec<RunningCommand>) -> Vec<UiCommand> {
    let run = RunId::from("c1");
    let at = desk.model.now;
    desk.send_message(UiMessage::answered(RunResponse::RunningCommands { run, after_end, commands, at }));
    desk.take_commands()
}

#[test]
fn a_command_in_the_background_is_seen_and_can_be_stopped() {
    let mut desk = TuiHarness::new();
    desk.start_chat();
    desk.run_event("c1", tool_started(5, json!({"command": "make"}))).run_event("c1", tool_finished(5));
    assert_eq!(desk.take_commands(), [], "it is over");
    desk.run_event("c1", tool_started(6, json!({"command": "npm run dev", "background": true})));
    assert_eq!(desk.take_commands(), []);
    desk.run_event("c1", tool_finished(6));
    assert_eq!(desk.take_commands(), [asked(false)]);
    // as long as one runs, one request waits for an end
    let both = || vec![command("c1", "npm run dev", 0), command("c2", "tail -f log", 75)];
    assert_eq!(listed(&mut desk, false, both()), [asked(true)]);
    assert_eq!(listed(&mut desk, false, both()), []);
    desk.run_event("c1", user_question(7, UserQuestion::Message));
    assert!(desk.draw_screen(120, 36).contains("2 commands in background"));
    assert!(!desk.model.needs_ticks(), "nothing wakes up for them");
    desk.key(KeyCode::F(4)).check_frames("background_commands");
    let screen = desk.draw_screen(120, 36);
    for part in ["c1 npm run dev · less than a minute", "c2 tail -f log · 1 h 15 min", "/stop c1"] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    // they are not listed anew only because time passes: the rows count on
    desk.advance_clock(120_000).key(KeyCode::Esc).key(KeyCode::F(4));
    let screen = desk.draw_screen(120, 36);
    assert!(screen.contains("c1 npm run dev · 2 min") && screen.contains("1 h 17 min"), "{screen}");
    desk.key(KeyCode::Esc).line("/stop c2");
    let stop = RunRequest::StopCommand { run: RunId::from("c1"), id: "c2".into() };
    assert_eq!(desk.take_commands().pop(), Some(UiCommand::ask(stop)));
    desk.send_message(UiMessage::answered(RunResponse::CommandStopped(Ok("c2 is stopped".into()))));
    assert!(desk.draw_screen(120, 36).contains("c2 is stopped"));
    assert_eq!(listed(&mut desk, true, vec![command("c1", "npm run dev", 2)]), [asked(true)]);
    desk.line("/agents");
    assert!(desk.draw_screen(120, 36).contains("in the background: c1 npm run dev · 2 min"));
    assert_eq!(listed(&mut desk, true, Vec::new()), []);
    assert!(!desk.draw_screen(120, 36).contains("in background"));
    // what is none of them is the id of a run
    desk.take_commands();
    desk.line("/stop c2");
    assert!(matches!(
        desk.take_commands().pop(),
        Some(UiCommand::Ask(SessionRequest::Runs(RunRequest::Control(run, _)))) if run == "c2"
    ));
}

#[test]
fn they_end_with_their_run() {
    let mut desk = TuiHarness::new();
    desk.workflow();
    let run = RunId::from("r1");
    let commands = vec![command("c1", "npm run dev", 3)];
    let listed =
        RunResponse::RunningCommands { run: run.clone(), after_end: false, commands, at: desk.model.now };
    desk.send_message(UiMessage::answered(listed));
    assert!(desk.draw_screen(120, 36).contains("1 command in background"));
    // all of a session are counted, whichever run is in front
    desk.run_event("r2", workflow_started("other", "x"));
    assert!(desk.draw_screen(120, 36).contains("1 command in background"));
    // the id of a command is not taken for the beginning of a run's id
    desk.run_event("c1f00d", workflow_started("other", "x")).take_commands();
    desk.line("/stop c1");
    let stop = RunRequest::StopCommand { run: run.clone(), id: "c1".into() };
    assert_eq!(desk.take_commands().pop(), Some(UiCommand::ask(stop)));
    desk.run_event("r1", run_finished(RunStatus::Paused, None, None));
    assert!(!desk.draw_screen(120, 36).contains("in background"));
}
