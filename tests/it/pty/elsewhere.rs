//! A run that another session drives: paused from here and taken up, or ended.

use super::resuming::{at_the_gate, lines};
use super::terminal::Terminal;
use super::{ENTER, ESC};

fn two_sessions() -> (Terminal, Terminal) {
    let first = at_the_gate();
    let mut second = first.start_in_same_home();
    second.wait_for("message, or / for commands");
    second.press_keys("/history\r");
    second.wait_until("its row", |screen| {
        screen.lines().any(|line| line.contains("gated") && line.contains("running"))
    });
    (first, second)
}

fn leave_sessions(sessions: [&mut Terminal; 2]) {
    for session in sessions {
        session.press_keys("/exit\r");
        assert!(session.wait_end().contains("exit=0"));
    }
}

#[test]
fn what_waits_in_one_session_is_answered_in_another() {
    let (mut first, mut second) = two_sessions();
    second.wait_for("waits in gate: your approval");
    second.press_keys("r");
    second.wait_for("is running: pause it first");
    second.press_keys("P");
    second.wait_for("continue it with: /resume");
    first.wait_for("another process pauses this run");
    first.wait_for("gated paused");
    second.press_keys("r");
    second.wait_for("── resumed");
    second.wait_for("Go on with limit 1?");
    second.press_keys("y\r");
    second.wait_for("echo second");
    second.press_keys("y\r");
    second.wait_for("✓ gated completed");
    assert_eq!((lines(&second, "first.txt"), lines(&second, "second.txt")), (1, 1));
    leave_sessions([&mut first, &mut second]);
}

#[test]
fn a_run_of_one_session_is_ended_in_another() {
    let (mut first, mut second) = two_sessions();
    second.press_keys("x");
    second.wait_for("? its history stays");
    second.press_keys("n\r");
    second.wait_for("nothing was changed");
    second.press_keys("x");
    second.wait_for("y and Enter confirm · n, Esc cancel");
    second.press_keys("y\r");
    second.wait_for("is cancelled");
    first.wait_for("another process ends this run");
    first.wait_for("gated cancelled");
    second.press_keys("x");
    second.wait_for("is cancelled already");
    second.press_keys(ESC);
    second.wait_for("message, or / for commands");
    second.press_keys("/pause nobody\r");
    second.wait_for("there is no run `nobody`");
    second.press_keys(ENTER);
    leave_sessions([&mut first, &mut second]);
}

#[test]
fn a_run_is_told_by_its_id() {
    let (mut first, mut second) = two_sessions();
    let screen = second.screen_text();
    let row = screen.lines().find(|line| line.contains("gated")).unwrap();
    let run = row.split_whitespace().find(|word| word.len() == 12).unwrap().to_owned();
    second.press_keys(ESC);
    second.wait_for("message, or / for commands");
    second.press_keys(&format!("/resume {run}\r"));
    second.wait_for("is running in process ");
    second.press_keys("/pending\r");
    second.wait_for(&format!("{run} gated, gate: your approval"));
    second.wait_for("→ /pause RUN, then /resume RUN asks it here");
    second.press_keys(&format!("/pause {run}\r"));
    second.wait_for(&format!("run {run} is paused; continue it with: /resume {run}"));
    second.press_keys(&format!("/pause {run}\r"));
    second.wait_for(&format!("run {run} is paused: there is nothing to pause"));
    second.press_keys(&format!("/stop {run}\r"));
    second.wait_for(&format!("run {run} is cancelled"));
    first.wait_for("gated paused");
    leave_sessions([&mut first, &mut second]);
}
