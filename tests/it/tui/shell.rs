//! `/cmd`: commands of the user, the last ones, and those that a model writes.

use synthdev::domain::cost::CostEntry;
use synthdev::service::session::{
    DefinitionRequest, DefinitionResponse, LookupRequest, LookupResponse, ProjectResponse, RecalledInput,
    SessionRequest, ShellOutcome, ShellSuggestion, ShellSuggestionResponse,
};

use super::*;

fn ran_reply(along: bool) -> LookupResponse {
    let told = ShellOutcome::Done {
        succeeded: true,
        summary: "exit 0".into(),
        text: "42\n".into(),
        goes_with_next_text: along,
    };
    LookupResponse::Shell { command: "echo 42".into(), outcome: Ok(told) }
}

fn suggestion_reply(number: u64, told: Result<(&str, Option<&str>), &str>) -> UiMessage {
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
    UiMessage::answered(LookupResponse::Suggested(
        number,
        ShellSuggestionResponse { suggestion: told, costs: vec![entry] },
        Timestamp(0),
    ))
}

impl TuiHarness {
    fn ask_suggestion(&mut self, line: &str) -> Option<UiCommand> {
        self.line(line).take_commands().into_iter().find(|cmd| {
            matches!(
                cmd,
                UiCommand::Ask(SessionRequest::Lookup(LookupRequest::Suggest(..)))
                    | UiCommand::Ask(SessionRequest::Lookup(LookupRequest::Shell(..)))
            )
        })
    }
}

#[test]
fn a_command_of_a_model_comes_into_the_input_box_and_only_the_person_runs_it() {
    let mut desk = TuiHarness::new();
    let asked = desk.ask_suggestion("/cmd ??? the largest files");
    assert_eq!(asked, Some(UiCommand::ask(LookupRequest::Suggest(1, "the largest files".into()))));
    desk.check_frames("shell_asked");
    // one at a time
    assert_eq!(desk.ask_suggestion("/cmd ?another"), None);
    assert!(desk.last_message_text().contains("Esc stops that"), "{}", desk.last_message_text());
    desk.send_message(suggestion_reply(1, Ok(("du -a . | sort -n", None)))).take_commands();
    assert_eq!(desk.model.composer.text(), "/cmd du -a . | sort -n");
    assert_eq!(desk.take_commands(), [], "nothing runs by itself");
    desk.check_frames("shell_suggested");
    desk.type_text("r");
    // what was on its way when it came does not run it
    desk.key(KeyCode::Enter);
    assert_eq!(desk.take_commands(), []);
    assert_eq!(desk.model.composer.text(), "/cmd du -a . | sort -nr");
    assert!(desk.draw_screen(80, 24).contains(
        "this question just appeared: read it, then press Enter \
        again"
    ));
    // nor for longer if the clock is set back meanwhile
    desk.advance_clock(-60_000).key(KeyCode::Enter);
    let run = desk
        .take_commands()
        .into_iter()
        .find(|cmd| matches!(cmd, UiCommand::Ask(SessionRequest::Lookup(LookupRequest::Shell(..)))));
    assert_eq!(run, Some(UiCommand::ask(LookupRequest::Shell("du -a . | sort -nr".into(), false))));
    // what it cost is in the session's ledger, with nothing else in it
    assert_eq!((desk.model.usage().total(), desk.model.cost_usd()), (210, Some(0.25)));
    desk.line("/cost");
    assert_eq!(
        desk.take_commands().pop(),
        Some(UiCommand::ask(DefinitionRequest::Prices(vec!["m-fast".into()])))
    );
    desk.send_message(UiMessage::answered(DefinitionResponse::Prices(Vec::new())));
    let said = desk.last_message_text();
    assert!(said.contains("beside the runs") && said.contains("m-fast: $0.25"), "{said}");
}

#[test]
fn what_looks_dangerous_is_said_with_the_suggestion_and_asked_about_before_it_runs() {
    let mut desk = TuiHarness::new();
    desk.ask_suggestion("/cmd ?clean up");
    let why = "This command deletes directories for good.";
    desk.send_message(suggestion_reply(1, Ok(("rm -rf target", Some(why)))));
    assert!(desk.last_message_text().contains(why), "{}", desk.last_message_text());
    assert!(
        desk.draw_screen(80, 24)
            .contains("! This command deletes directories for good. · Enter asks before it runs")
    );
    desk.advance_clock(700).key(KeyCode::Enter);
    let run = desk
        .take_commands()
        .into_iter()
        .find(|cmd| matches!(cmd, UiCommand::Ask(SessionRequest::Lookup(LookupRequest::Shell(..)))));
    assert_eq!(
        run,
        Some(UiCommand::ask(LookupRequest::Shell("rm -rf target".into(), false))),
        "not as one that was agreed to"
    );
}

#[test]
fn a_suggestion_that_fails_comes_late_or_finds_a_text_disturbs_nothing() {
    let mut desk = TuiHarness::new();
    desk.ask_suggestion("/cmd ?x");
    let missing = "no model is set for level fast: /configure fast sets one up";
    desk.send_message(suggestion_reply(1, Err(missing)));
    assert_eq!(desk.last_message_text().trim_end(), missing);
    assert!(desk.model.composer.is_empty());
    // stopped: the answer is of no interest, its cost is
    assert_eq!(desk.ask_suggestion("/cmd ?x"), Some(UiCommand::ask(LookupRequest::Suggest(2, "x".into()))));
    desk.key(KeyCode::Esc);
    assert_eq!(desk.take_commands(), [UiCommand::ask(LookupRequest::StopSideQuery)]);
    assert!(desk.draw_screen(80, 24).contains("stopped: a command is written"));
    desk.send_message(suggestion_reply(2, Ok(("ls", None))));
    assert!(desk.model.composer.is_empty());
    assert_eq!(desk.model.cost_usd(), Some(0.5));
    // Ctrl+C does the same before anything else
    desk.workflow().take_commands();
    desk.ask_suggestion("/cmd ?x");
    desk.press_control('c');
    assert_eq!(desk.take_commands(), [UiCommand::ask(LookupRequest::StopSideQuery)]);
    desk.advance_clock(10_000);
    // somebody types
    desk.ask_suggestion("/cmd ?x");
    desk.type_text("a tho");
    desk.send_message(suggestion_reply(4, Ok(("ls -la", None))));
    assert_eq!(desk.model.composer.text(), "a tho");
    assert!(desk.draw_screen(80, 24).contains("/cmd 1 takes the command there"));
    desk.press_control('u');
    desk.line("/cmd 1");
    assert_eq!(desk.model.composer.text(), "/cmd ls -la");
}

#[test]
fn the_last_commands_are_listed_and_one_is_picked() {
    let mut desk = TuiHarness::new();
    desk.line("/cmd git status").line("/cmd cargo test").line("/cmd");
    // earlier sessions are read when they are wanted first
    assert_eq!(desk.recall_count, 1);
    let texts = ["/cmd ls", "hello", "/cmd ??? x", "/cmd git status", "/cmd 3"].map(str::to_owned).to_vec();
    desk.send_message(UiMessage::answered(ProjectResponse::Recalled(Ok(RecalledInput {
        texts,
        note: None,
    }))));
    let said = desk.last_message_text();
    let list = "Last commands\n 1  cargo test\n 2  git status\n 3  ls\n→ /cmd N puts it into the input box";
    assert!(said.contains(list), "{said}");
    desk.line("/cmd");
    assert_eq!(desk.recall_count, 1);
    desk.check_frames("shell_listed");
    desk.line("/cmd 9");
    assert!(desk.last_message_text().contains("there is no command 9: /cmd lists them, 3 by now"));
    desk.line("/cmd 3");
    assert_eq!(desk.model.composer.text(), "/cmd ls");
    // they complete what is typed
    desk.press_control('u');
    desk.type_text("/cmd car");
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
        let mut desk = TuiHarness::new();
        if let Some(line) = before {
            desk.line(line);
        }
        desk.type_text(typed).take_commands();
        let said = desk.last_message_text();
        desk.key(KeyCode::Down).key(KeyCode::Enter);
        let run = desk
            .take_commands()
            .into_iter()
            .find(|cmd| matches!(cmd, UiCommand::Ask(SessionRequest::Lookup(LookupRequest::Shell(..)))));
        assert_eq!((desk.model.composer.text().as_str(), run), (expected, None), "{typed}");
        assert_eq!(desk.last_message_text(), said, "{typed}: nothing is wrong yet");
    }
    // its first line does not end in what says so
    let mut desk = TuiHarness::new();
    desk.model.composer.set_text("/cmd for f in a b\ndo echo $f; done");
    desk.key(KeyCode::Enter).type_text("/cmd for").take_commands();
    desk.key(KeyCode::Down).key(KeyCode::Enter);
    assert!(
        desk.take_commands()
            .iter()
            .all(|cmd| !matches!(cmd, UiCommand::Ask(SessionRequest::Lookup(LookupRequest::Shell(..))))),
        "{}",
        desk.model.composer.text()
    );
    assert!(desk.model.composer.text().contains("do echo $f; done"), "{}", desk.model.composer.text());
    // this one is whole
    let mut desk = TuiHarness::new();
    desk.type_text("/cmd ad").key(KeyCode::Down).key(KeyCode::Enter);
    assert!(desk.last_message_text().contains("no command has run yet"), "{}", desk.last_message_text());
}

#[test]
fn answers_go_along_with_the_next_text_where_that_is_set() {
    let mut desk = TuiHarness::new();
    desk.start_chat();
    desk.run_event("c1", model_replied(2, "coder", ConversationSide::Assistant, "Hi.", ""));
    desk.run_event("c1", user_question(3, UserQuestion::Message)).take_commands();
    desk.send_message(UiMessage::answered(ran_reply(false)));
    assert!(
        desk.last_message_text().contains("/cmd add puts it into the input box"),
        "{}",
        desk.last_message_text()
    );
    desk.send_message(UiMessage::answered(ran_reply(true)));
    assert!(
        desk.last_message_text().contains("goes along with your next text"),
        "{}",
        desk.last_message_text()
    );
    desk.line("why?");
    assert_eq!(desk.take_commands().pop(), Some(answer_command("c1", 3, "$ echo 42\n42\n\nwhy?")));
    desk.send_message(UiMessage::answered(ran_reply(true)));
    desk.line("/clear");
    assert_eq!(desk.model.shell.with_pending_output("next".into()), "next");
}
