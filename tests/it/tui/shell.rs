//! `/cmd`: commands of the person, the last ones, and those that a model writes.

use synthdev::domain::cost::CostEntry;
use synthdev::tui::backend::{RecalledInput, ShellOutcome, ShellSuggestion, ShellSuggestionReply};

use super::*;

fn done(along: bool) -> BackendReply {
    let told = ShellOutcome::Done { ok: true, summary: "exit 0".into(), text: "42\n".into(), along };
    BackendReply::Shell { command: "echo 42".into(), told: Ok(told) }
}

fn suggested(number: u64, told: Result<(&str, Option<&str>), &str>) -> UiMessage {
    let suggestion = |(command, warning): (&str, Option<&str>)| ShellSuggestion {
        command: command.into(),
        warning: warning.map(str::to_owned),
        model: "m-fast".into(),
    };
    let entry = CostEntry {
        agent: "/cmd".into(),
        role: "/cmd".into(),
        state: "/cmd".into(),
        model: "m-fast".into(),
        usage: TokenUsage { prompt: 200, completion: 10, ..TokenUsage::default() },
        cost_usd: Some(0.25),
        ..CostEntry::default()
    };
    let told = told.map(suggestion).map_err(str::to_owned);
    UiMessage::Reply(BackendReply::Suggested(
        number,
        ShellSuggestionReply { told, spent: vec![entry] },
        Timestamp(0),
    ))
}

impl Desk {
    fn asks(&mut self, line: &str) -> Option<UiCommand> {
        self.line(line)
            .take()
            .into_iter()
            .find(|cmd| matches!(cmd, UiCommand::Suggest(..) | UiCommand::Shell(..)))
    }
}

#[test]
fn a_command_of_a_model_comes_into_the_input_box_and_only_the_person_runs_it() {
    let mut desk = Desk::new();
    let asked = desk.asks("/cmd ??? the largest files");
    assert_eq!(asked, Some(UiCommand::Suggest(1, "the largest files".into())));
    desk.frames("shell_asked");
    // one at a time
    assert_eq!(desk.asks("/cmd ?another"), None);
    assert!(desk.said_last().contains("Esc stops that"), "{}", desk.said_last());
    desk.msg(suggested(1, Ok(("du -a . | sort -n", None)))).take();
    assert_eq!(desk.model.composer.text(), "/cmd du -a . | sort -n");
    assert_eq!(desk.take(), [], "nothing runs by itself");
    desk.frames("shell_suggested");
    desk.typed("r");
    // what was on its way when it came does not run it
    desk.key(KeyCode::Enter);
    assert_eq!(desk.take(), []);
    assert_eq!(desk.model.composer.text(), "/cmd du -a . | sort -nr");
    assert!(desk.screen(80, 24).contains("this appeared just now: read it, then Enter again"));
    // nor for longer if the clock is set back meanwhile
    desk.pause(-60_000).key(KeyCode::Enter);
    let run = desk.take().into_iter().find(|cmd| matches!(cmd, UiCommand::Shell(..)));
    assert_eq!(run, Some(UiCommand::Shell("du -a . | sort -nr".into(), false)));
    // what it cost is in the session's ledger, with nothing else in it
    assert_eq!((desk.model.usage().total(), desk.model.cost_usd()), (210, Some(0.25)));
    desk.line("/cost");
    assert_eq!(desk.take().pop(), Some(UiCommand::Prices(vec!["m-fast".into()])));
    desk.msg(UiMessage::Reply(BackendReply::Prices(Vec::new())));
    let said = desk.said_last();
    assert!(said.contains("beside the runs") && said.contains("m-fast: $0.25"), "{said}");
}

#[test]
fn what_looks_dangerous_is_said_with_the_suggestion_and_asked_about_before_it_runs() {
    let mut desk = Desk::new();
    desk.asks("/cmd ?clean up");
    let why = "This command deletes directories for good.";
    desk.msg(suggested(1, Ok(("rm -rf target", Some(why)))));
    assert!(desk.said_last().contains(why), "{}", desk.said_last());
    assert!(desk.screen(80, 24).contains("! This command deletes directories for good. · change it"));
    desk.pause(700).key(KeyCode::Enter);
    let run = desk.take().into_iter().find(|cmd| matches!(cmd, UiCommand::Shell(..)));
    assert_eq!(run, Some(UiCommand::Shell("rm -rf target".into(), false)), "not as one that was agreed to");
}

#[test]
fn a_suggestion_that_fails_comes_late_or_finds_a_text_disturbs_nothing() {
    let mut desk = Desk::new();
    desk.asks("/cmd ?x");
    let missing = "no model is set for level fast: /configure fast sets one up";
    desk.msg(suggested(1, Err(missing)));
    assert_eq!(desk.said_last().trim_end(), missing);
    assert!(desk.model.composer.is_empty());
    // stopped: the answer is of no interest, its cost is
    assert_eq!(desk.asks("/cmd ?x"), Some(UiCommand::Suggest(2, "x".into())));
    desk.key(KeyCode::Esc);
    assert_eq!(desk.take(), [UiCommand::StopAside]);
    assert!(desk.screen(80, 24).contains("stopped: a command is written"));
    desk.msg(suggested(2, Ok(("ls", None))));
    assert!(desk.model.composer.is_empty());
    assert_eq!(desk.model.cost_usd(), Some(0.5));
    // Ctrl+C does the same before anything else
    desk.workflow().take();
    desk.asks("/cmd ?x");
    desk.control('c');
    assert_eq!(desk.take(), [UiCommand::StopAside]);
    desk.pause(10_000);
    // somebody types
    desk.asks("/cmd ?x");
    desk.typed("a tho");
    desk.msg(suggested(4, Ok(("ls -la", None))));
    assert_eq!(desk.model.composer.text(), "a tho");
    assert!(desk.screen(80, 24).contains("/cmd 1 takes the command there"));
    desk.control('u');
    desk.line("/cmd 1");
    assert_eq!(desk.model.composer.text(), "/cmd ls -la");
}

#[test]
fn the_last_commands_are_listed_and_one_is_picked() {
    let mut desk = Desk::new();
    desk.line("/cmd git status").line("/cmd cargo test").line("/cmd");
    // earlier sessions are read when they are wanted first
    assert_eq!(desk.recalls, 1);
    let texts = ["/cmd ls", "hello", "/cmd ??? x", "/cmd git status", "/cmd 3"].map(str::to_owned).to_vec();
    desk.msg(UiMessage::Reply(BackendReply::Recalled(Ok(RecalledInput { texts, note: None }))));
    let said = desk.said_last();
    let list = "Last commands\n 1  cargo test\n 2  git status\n 3  ls\n→ /cmd N puts it into the input box";
    assert!(said.contains(list), "{said}");
    desk.line("/cmd");
    assert_eq!(desk.recalls, 1);
    desk.frames("shell_listed");
    desk.line("/cmd 9");
    assert!(desk.said_last().contains("there is no command 9: /cmd lists them, 3 by now"));
    desk.line("/cmd 3");
    assert_eq!(desk.model.composer.text(), "/cmd ls");
    // they complete what is typed
    desk.control('u');
    desk.typed("/cmd car");
    desk.key(KeyCode::Tab);
    assert_eq!(desk.model.composer.text().trim_end(), "/cmd cargo test");
}

#[test]
fn what_is_chosen_behind_it_is_not_run_by_that() {
    // both are the second of the list: with an old command before them, and without one
    for (before, typed, expected) in [
        (Some("/cmd git status"), "/cmd ", "/cmd ??? "),
        (Some("/cmd git status"), "/cmd git", "/cmd git status "),
        (None, "/cmd ?", "/cmd ??? "),
    ] {
        let mut desk = Desk::new();
        if let Some(line) = before {
            desk.line(line);
        }
        desk.typed(typed).take();
        let said = desk.said_last();
        desk.key(KeyCode::Down).key(KeyCode::Enter);
        let run = desk.take().into_iter().find(|cmd| matches!(cmd, UiCommand::Shell(..)));
        assert_eq!((desk.model.composer.text().as_str(), run), (expected, None), "{typed}");
        assert_eq!(desk.said_last(), said, "{typed}: nothing is wrong yet");
    }
    // its first line does not end in what says so
    let mut desk = Desk::new();
    desk.model.composer.set("/cmd for f in a b\ndo echo $f; done");
    desk.key(KeyCode::Enter).typed("/cmd for").take();
    desk.key(KeyCode::Down).key(KeyCode::Enter);
    assert!(
        desk.take().iter().all(|cmd| !matches!(cmd, UiCommand::Shell(..))),
        "{}",
        desk.model.composer.text()
    );
    assert!(desk.model.composer.text().contains("do echo $f; done"), "{}", desk.model.composer.text());
    // this one is whole
    let mut desk = Desk::new();
    desk.typed("/cmd ad").key(KeyCode::Down).key(KeyCode::Enter);
    assert!(desk.said_last().contains("no command was run yet"), "{}", desk.said_last());
}

#[test]
fn answers_go_along_with_the_next_text_where_that_is_set() {
    let mut desk = Desk::new();
    desk.chat();
    desk.run("c1", replied(2, "coder", ConversationSide::Assistant, "Hi.", ""));
    desk.run("c1", person(3, UserQuestion::Message)).take();
    desk.msg(UiMessage::Reply(done(false)));
    assert!(desk.said_last().contains("/cmd add puts it into the input box"), "{}", desk.said_last());
    desk.msg(UiMessage::Reply(done(true)));
    assert!(desk.said_last().contains("goes along with your next text"), "{}", desk.said_last());
    desk.line("why?");
    assert_eq!(desk.take().pop(), Some(answer("c1", 3, "$ echo 42\n42\n\nwhy?")));
    desk.msg(UiMessage::Reply(done(true)));
    desk.line("/clear");
    assert_eq!(desk.model.shell.with_along("next".into()), "next");
}
