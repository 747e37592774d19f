//! The dialog that sets up a model, as rows of keys and as frames.

use synthdev::domain::secret::SecretText;
use synthdev::service::session::{
    DefinitionRequest, ProjectRequest, SessionRequest, SessionResponse, SetupModel, SetupRequest,
    SetupResponse, SetupServer,
};
use synthdev::settings::setup::LevelSetup;

use super::*;

fn places() -> Vec<SetupServer> {
    let place = |provider: &str, note: &str, needs_key, key_from: Option<&str>| SetupServer {
        provider: provider.to_owned(),
        base_url: format!("https://{provider}.example/v1"),
        note: note.to_owned(),
        needs_key,
        key_source: key_from.map(str::to_owned),
    };
    vec![
        place("openai", "key set: OPENAI_API_KEY (environment)", true, Some("OPENAI_API_KEY (environment)")),
        place("anthropic", "wants a key", true, None),
        place("ollama", "on this machine", false, None),
    ]
}

fn send_setup_reply(desk: &mut TuiHarness, told: SetupResponse) {
    let number = desk.model.setup.as_ref().map_or(0, |setup| setup.number);
    desk.send_message(UiMessage::Answered(SessionResponse::Setup(number, told)));
}

pub(super) fn opened_setup(level: &str) -> TuiHarness {
    let mut desk = TuiHarness::new();
    desk.line(&format!("/configure {level}"));
    assert_eq!(
        take_setup_requests(&mut desk),
        [SetupRequest::Open { level: level.to_owned(), at_first_start: false, exits_after: false }]
    );
    send_setup_reply(
        &mut desk,
        SetupResponse::Opened {
            level: level.to_owned(),
            at_first_start: false,
            exits_after: false,
            servers: places(),
        },
    );
    desk
}

fn take_setup_requests(desk: &mut TuiHarness) -> Vec<SetupRequest> {
    let only =
        |cmd| if let UiCommand::Ask(SessionRequest::Setup(_, asked)) = cmd { Some(*asked) } else { None };
    desk.take_commands().into_iter().filter_map(only).collect()
}

fn offer_models(desk: &mut TuiHarness) {
    let model =
        |name: &str| SetupModel { name: name.to_owned(), note: "200k tokens, $3 in, $15 out".to_owned() };
    send_setup_reply(
        desk,
        SetupResponse::Offers { models: vec![model("claude-a"), model("claude-b")], problem: None },
    );
}

/// Chooses a server with its key, then so many times what is offered first.
pub(super) fn choose_model(desk: &mut TuiHarness, count: usize) {
    *desk = opened_setup("base");
    desk.type_text("anth").key(KeyCode::Enter).key(KeyCode::Enter).type_text("sk-12345").key(KeyCode::Enter);
    if count > 0 {
        offer_models(desk);
    }
    for _ in 1..count {
        desk.key(KeyCode::Enter);
    }
}

/// The chosen model has answered.
pub(super) fn finish_trial(desk: &mut TuiHarness) {
    let told = "claude-a of anthropic answered in 0.4 s".to_owned();
    send_setup_reply(desk, SetupResponse::Tried(Ok(told)));
}

fn owned_text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn what_was_chosen_is_asked_tried_and_saved() {
    let mut desk = opened_setup("base");
    desk.check_frames("setup_place");
    desk.type_text("anth").key(KeyCode::Enter);
    assert_eq!(take_setup_requests(&mut desk), []);
    desk.key(KeyCode::Enter);
    assert!(desk.draw_screen(80, 24).contains("anthropic wants a key"));
    desk.type_text("sk-12345");
    desk.check_frames("setup_key");
    desk.key(KeyCode::Enter);
    let own = LevelSetup {
        level: "base".to_owned(),
        provider: owned_text("anthropic"),
        key: Some(SecretText::new("sk-12345")),
        ..LevelSetup::default()
    };
    assert_eq!(take_setup_requests(&mut desk), [SetupRequest::Offers(own.clone())]);
    assert!(desk.draw_screen(80, 24).contains("asking the server for its models"));
    desk.type_text("nobody hears this");
    offer_models(&mut desk);
    desk.check_frames("setup_model");
    desk.key(KeyCode::Down).key(KeyCode::Enter).key(KeyCode::Enter).type_text("claude-a").key(KeyCode::Enter);
    let reset =
        |level: &str| LevelSetup { level: level.to_owned(), same_as_base: true, ..LevelSetup::default() };
    let all = vec![
        LevelSetup { model: owned_text("claude-b"), ..own },
        reset("smart"),
        reset("fast"),
        LevelSetup { level: "fast".to_owned(), model: owned_text("claude-a"), ..LevelSetup::default() },
    ];
    assert_eq!(take_setup_requests(&mut desk), [SetupRequest::Try(all.clone())]);
    send_setup_reply(
        &mut desk,
        SetupResponse::Tried(Err("the key was refused: no\n→ set it again".to_owned())),
    );
    desk.check_frames("setup_failed");
    desk.key(KeyCode::Enter);
    assert_eq!(take_setup_requests(&mut desk), [], "what failed is not saved by habit");
    desk.type_text("t");
    assert_eq!(take_setup_requests(&mut desk), [SetupRequest::Try(all.clone())]);
    send_setup_reply(
        &mut desk,
        SetupResponse::Tried(Ok("claude-b of anthropic answered in 0.4 s".to_owned())),
    );
    assert!(desk.draw_screen(80, 24).contains("✓ claude-b of anthropic answered"));
    desk.key(KeyCode::Enter);
    assert_eq!(take_setup_requests(&mut desk), [SetupRequest::Save(all)]);
    send_setup_reply(
        &mut desk,
        SetupResponse::Saved(Ok("level base asks claude-b of anthropic from now on".to_owned())),
    );
    assert_eq!(desk.take_commands(), [UiCommand::ask(ProjectRequest::Status)]);
    let shown = desk.draw_screen(80, 24);
    assert!(
        !shown.contains("Set up a model") && shown.contains("claude-b of anthropic from now on"),
        "{shown}"
    );
}

#[test]
fn escape_and_late_answers_change_nothing() {
    let mut desk = opened_setup("fast");
    desk.type_text("ollama").key(KeyCode::Enter);
    assert_eq!(take_setup_requests(&mut desk).len(), 1, "a server without a key is not asked for one");
    desk.key(KeyCode::Esc);
    let before = desk.draw_screen(80, 24);
    assert!(before.contains("nothing was changed"), "{before}");
    offer_models(&mut desk);
    send_setup_reply(&mut desk, SetupResponse::Tried(Ok("late".to_owned())));
    assert_eq!((desk.draw_screen(80, 24), desk.take_commands()), (before, vec![]));
    assert_eq!(desk.model.setup, None);
    // a late answer to the dialog before is none to this one
    send_setup_reply(
        &mut desk,
        SetupResponse::Opened {
            level: "fast".to_owned(),
            at_first_start: false,
            exits_after: false,
            servers: places(),
        },
    );
    desk.type_text("ollama").key(KeyCode::Enter);
    desk.send_message(UiMessage::Answered(SessionResponse::Setup(
        1,
        SetupResponse::Offers { models: Vec::new(), problem: owned_text("late") },
    )));
    assert!(desk.draw_screen(80, 24).contains("asking the server for its models"));
}

#[test]
fn one_can_go_back_and_choose_again() {
    let mut desk = opened_setup("smart");
    desk.type_text("openai").key(KeyCode::Enter).key(KeyCode::Enter);
    assert_eq!(take_setup_requests(&mut desk).len(), 1, "the key that is set is kept");
    send_setup_reply(
        &mut desk,
        SetupResponse::Offers {
            models: Vec::new(), problem: owned_text("cannot connect to x\n→ start it")
        },
    );
    assert!(desk.draw_screen(80, 24).contains("✗ cannot connect to x"));
    desk.key(KeyCode::Left).key(KeyCode::Left);
    assert!(desk.draw_screen(80, 24).contains("1 of 4"));
    desk.key(KeyCode::Enter);
    assert_eq!(take_setup_requests(&mut desk), [SetupRequest::Discover]);
    send_setup_reply(&mut desk, SetupResponse::Discovered(Vec::new()));
    assert!(desk.draw_screen(80, 24).contains("none answers on the usual ports"));
    desk.type_text("https://mine.example/v1/").key(KeyCode::Enter).key(KeyCode::Enter);
    let own = LevelSetup {
        level: "smart".to_owned(),
        base_url: owned_text("https://mine.example/v1"),
        ..LevelSetup::default()
    };
    assert_eq!(take_setup_requests(&mut desk), [SetupRequest::Offers(own)]);
}

#[test]
fn levels_that_are_none_are_refused() {
    let mut desk = TuiHarness::new();
    desk.line("/configure slow");
    assert!(desk.draw_screen(80, 24).contains("there is no level slow"));
    assert_eq!(desk.take_commands(), []);
}

#[test]
fn unbidden_it_gives_way() {
    let first = || SetupResponse::Opened {
        level: "base".to_owned(),
        at_first_start: true,
        exits_after: false,
        servers: places(),
    };
    let mut desk = TuiHarness::new();
    send_setup_reply(&mut desk, first());
    desk.line("/tools");
    assert_eq!(
        (desk.take_commands(), &desk.model.setup),
        (vec![UiCommand::ask(DefinitionRequest::Tools("coder".into()))], &None)
    );
    desk.type_text("a sentence");
    send_setup_reply(&mut desk, first());
    assert_eq!(desk.model.setup, None, "somebody is writing");
}

#[test]
fn an_address_needs_no_scheme() {
    for (typed, url, told) in [
        ("localhost:8080", "http://localhost:8080", "http:// was assumed"),
        ("10.0.0.7:1234/v1/", "http://10.0.0.7:1234/v1", "http:// was assumed"),
        ("box:8080", "http://box:8080", "http:// was assumed"),
        ("models.example:8443/v1", "https://models.example:8443/v1", "https:// was assumed"),
        ("203.0.113.9:8080", "https://203.0.113.9:8080", "https:// was assumed"),
        ("models.example/v1", "https://models.example/v1", "https:// was assumed"),
        ("http://models.example", "http://models.example", ""),
    ] {
        let mut desk = opened_setup("smart");
        desk.type_text(typed);
        assert!(desk.draw_screen(80, 24).contains(&format!("use {url}")), "{typed}");
        desk.key(KeyCode::Enter);
        let screen = desk.draw_screen(80, 24);
        assert!(screen.contains(&format!("The key for {url}")) && screen.contains(told), "{screen}");
        assert_eq!(screen.contains("was assumed"), !told.is_empty(), "{screen}");
        desk.key(KeyCode::Enter);
        let own =
            LevelSetup { level: "smart".to_owned(), base_url: owned_text(url), ..LevelSetup::default() };
        assert_eq!(take_setup_requests(&mut desk), [SetupRequest::Offers(own)]);
    }
    let mut desk = opened_setup("smart");
    desk.type_text("nosuch").key(KeyCode::Enter);
    assert!(desk.draw_screen(80, 24).contains("there is no provider `nosuch`"));
}

#[test]
fn the_text_of_the_setup_has_a_cursor() {
    let mut desk = opened_setup("smart");
    desk.type_text("ocalhost:1").key(KeyCode::Home).type_text("l").key(KeyCode::End).type_text("2");
    desk.key(KeyCode::Left).key(KeyCode::Left).key(KeyCode::Backspace).type_text(":é").key(KeyCode::Right);
    desk.key(KeyCode::Right).key(KeyCode::Right).key(KeyCode::Backspace);
    let typed = |desk: &TuiHarness| desk.model.setup.as_ref().map(|setup| setup.typed_text.clone());
    assert_eq!(typed(&desk).as_deref(), Some("localhost:é1"));
    desk.key(KeyCode::Home).key(KeyCode::Delete).key(KeyCode::Left).key(KeyCode::Delete);
    assert_eq!(typed(&desk).as_deref(), Some("calhost:é1"));
    // an empty text has no place for the cursor: the arrow goes back
    let mut desk = opened_setup("smart");
    desk.type_text("openai").key(KeyCode::Enter).key(KeyCode::Left);
    assert!(desk.draw_screen(80, 24).contains("1 of 4"));
}

#[test]
fn a_list_of_the_setup_has_ends() {
    let mut desk = opened_setup("smart");
    let last = desk.model.setup.as_ref().map_or(0, |setup| setup.choices().len() - 1);
    assert!(last > 1, "{last}");
    for (key, expected) in [
        (KeyCode::PageDown, last),
        (KeyCode::PageUp, 0),
        (KeyCode::End, last),
        (KeyCode::PageDown, last),
        (KeyCode::Home, 0),
        (KeyCode::PageUp, 0),
    ] {
        desk.key(key);
        assert_eq!(desk.model.setup.as_ref().map(|setup| setup.selected), Some(expected), "{key:?}");
    }
}

#[test]
fn nothing_is_typed_into_a_setup_that_is_not_seen() {
    for (width, height, is_seen) in [(20, 5, false), (60, 10, false), (19, 24, false), (60, 20, true)] {
        let mut desk = opened_setup("smart");
        desk.draw_screen(width, height);
        desk.type_text("x").send_message(UiMessage::Paste("y".to_owned())).key(KeyCode::Enter);
        let setup = desk.model.setup.clone().unwrap();
        assert_eq!(setup.typed_text, if is_seen { "xy" } else { "" }, "{width}x{height}");
        let screen = desk.draw_screen(width, height);
        let told = screen.contains("enlarge the window");
        assert_eq!(told, !is_seen, "{screen}");
        desk.key(KeyCode::Esc);
        assert_eq!(desk.model.setup, None, "{width}x{height}");
    }
}

#[test]
fn a_wait_of_the_setup_moves_and_says_how_long() {
    let mut desk = TuiHarness::new();
    choose_model(&mut desk, 0);
    let at = Timestamp(desk.model.now.0 + 3_000);
    let screen = desk.send_message(UiMessage::Tick(at)).draw_screen(80, 24);
    assert!(screen.contains(" 3 s") && screen.contains("Esc cancels"), "{screen}");
}
