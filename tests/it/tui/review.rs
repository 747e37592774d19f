//! `/review`: show the last request to a model, and what it answered.

use super::*;
use synthdev::service::session::{RunRequest, RunResponse};

fn review(agent: Option<&str>) -> UiCommand {
    UiCommand::ask(RunRequest::Review { run: RunId::from("r1"), agent: agent.map(str::to_owned) })
}

#[test]
fn the_last_request_of_the_run_that_is_shown_is_asked_for() {
    let mut desk = TuiHarness::new();
    assert_eq!(desk.line("/review").take_commands().pop(), None);
    assert!(desk.draw_screen(80, 24).contains("nothing was asked so far"));
    // while it runs, and afterwards
    desk.workflow().take_commands();
    for _ in 0..2 {
        for (line, agent) in [("/review", None), ("/review  reviewer ", Some("reviewer"))] {
            assert_eq!(desk.line(line).take_commands().pop(), Some(review(agent)), "{line}");
        }
        desk.run_event("r1", run_finished(RunStatus::Completed, None, None)).take_commands();
    }
}

#[test]
fn a_request_is_shown_with_its_answer_or_why_there_is_none() {
    let text = "run r1, step 2 (code): `coder` asked at 12:00 UTC\n\n── user\nadd a flag\u{1b}[2J\n\n══ answer of m\nDone.";
    let reason = "run r1 has no request of `codr`\nasked were: coder";
    for (reply, shown) in [
        (Ok(text), &["Last request", "`coder` asked at", "add a flag", "══ answer of m", "Done."][..]),
        (Err(reason), &["There is no request", "has no request of `codr`", "asked were: coder"]),
    ] {
        let mut desk = TuiHarness::new();
        let reply = reply.map(str::to_owned).map_err(str::to_owned);
        desk.workflow().send_message(UiMessage::answered(RunResponse::Reviewed(reply)));
        let screen = desk.draw_screen(80, 40);
        for part in shown {
            assert!(screen.contains(part), "`{part}` is not in:\n{screen}");
        }
        assert!(!screen.contains('\u{1b}'), "{screen}");
    }
}
