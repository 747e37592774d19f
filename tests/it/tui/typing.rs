//! The input box: rows of keys → text and place, the search of what was sent, folded pastes, keys as in vi, mentions, the
//! list of commands, commands beside what goes on; and random keys, which leave the cursor between letters.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};
use synthdev::service::mcp_texts::McpCompletions;
use synthdev::service::named_step::NamedStep;
use synthdev::service::session::{
    DefinitionRequest, DefinitionResponse, EditorResponse, LookupPage, LookupRequest, LookupResponse,
    ProjectRequest, ProjectResponse, RunRequest, SessionRequest, SessionResponse, ShellOutcome, StartRequest,
    TimeTravelRequest, UntrustedDefinitions,
};
use synthdev::tui::display::DisplayResponse;
use synthdev::tui::keymap;
use synthdev::tui::theme::TerminalEnvironment;
use unicode_segmentation::UnicodeSegmentation;

use super::*;

impl TuiHarness {
    /// Keys in short: `^x` Ctrl, `!x` Alt, `<name>`, anything else is typed.
    pub(super) fn keys(&mut self, keys: &str) -> &mut Self {
        let mut letters = keys.chars();
        while let Some(c) = letters.next() {
            match c {
                '^' => self.press_control(letters.next().unwrap()),
                '!' => self.press_key(KeyCode::Char(letters.next().unwrap()), KeyModifiers::ALT),
                '<' => {
                    let name: String = letters.by_ref().take_while(|c| *c != '>').collect();
                    self.name_workflow(&name)
                }
                c => self.key(KeyCode::Char(c)),
            };
        }
        self
    }

    fn name_workflow(&mut self, name: &str) -> &mut Self {
        if name == "paste" {
            return self.send_message(UiMessage::Paste("a line\n".repeat(120)));
        }
        let plain = KeyModifiers::NONE;
        let (code, modifiers) = match name {
            "cr" => (KeyCode::Enter, plain),
            "nl" => (KeyCode::Enter, KeyModifiers::ALT),
            "esc" => (KeyCode::Esc, plain),
            "bs" => (KeyCode::Backspace, plain),
            "del" => (KeyCode::Delete, plain),
            "left" => (KeyCode::Left, plain),
            "right" => (KeyCode::Right, plain),
            "up" => (KeyCode::Up, plain),
            "down" => (KeyCode::Down, plain),
            "home" => (KeyCode::Home, plain),
            "end" => (KeyCode::End, plain),
            "tab" => (KeyCode::Tab, plain),
            "hat" => (KeyCode::Char('^'), plain),
            "lt" => (KeyCode::Char('<'), plain),
            "wordleft" => (KeyCode::Left, KeyModifiers::CONTROL),
            "wordright" => (KeyCode::Right, KeyModifiers::CONTROL),
            other => panic!("no key {other}"),
        };
        self.press_key(code, modifiers)
    }

    /// The text with the cursor as `|`.
    fn box_now(&self) -> String {
        let (row, column) = self.model.composer.cursor();
        let text = self.model.composer.text();
        let lines = text.split('\n').enumerate().map(|(at, line)| {
            let mut letters: Vec<char> = line.chars().collect();
            if at == row {
                letters.insert(column, '|');
            }
            letters.into_iter().collect::<String>()
        });
        lines.collect::<Vec<String>>().join("\n")
    }

    fn popup_lines(&self) -> Vec<String> {
        let list = self.model.popup.as_ref().map(|popup| popup.candidates.clone()).unwrap_or_default();
        list.into_iter().map(|one| one.label).collect()
    }

    pub(super) fn last_message_text(&self) -> String {
        self.model.transcript.items().next_back().unwrap().text()
    }
}

fn check_keys(keys: &str, expected: &str) {
    let mut desk = TuiHarness::new();
    desk.keys(keys);
    assert_eq!(desk.box_now(), expected, "{keys}");
}

#[test]
fn keys_edit_the_text() {
    check_keys("one two<wordleft>", "one |two");
    check_keys("one two<wordleft><wordleft><wordright>", "one |two");
    check_keys("one two^w", "one |");
    check_keys("one, two^w^w", "one|");
    check_keys("one two<home>!d", "| two");
    check_keys("a b<home>!d", "| b");
    check_keys("one two<wordleft>^k", "one |");
    check_keys("one two<wordleft>^u", "|two");
    check_keys("one<nl>two<home>^u", "one|two");
    check_keys("one<nl>two<up><end>^k", "one|two");
    check_keys("one two^w!y!y", "one twotwo|");
    check_keys("x<bs>one two^w<left><bs>!y", "ontwo| ");
    check_keys("a <paste>^w", "a |");
    check_keys("<paste> b<home>!d", "| b");
    check_keys("<paste> b<home><del>", "| b");
    check_keys("<paste> b<home>^d", "| b");
    check_keys("é<left>x", "x|é");
    check_keys("e\u{301}x<left><left>a", "a|e\u{301}x");
    check_keys("e\u{301}x<bs><bs>", "|");
    check_keys("👩‍👩‍👧x<left><bs>", "|x");
    check_keys("👩‍👩‍👧x<home><del>", "|x");
}

#[test]
fn changes_are_undone_as_people_count_them() {
    check_keys("one two^z", "one| ".trim_end());
    check_keys("one two^z^z", "|");
    check_keys("one two^z^z^y^y", "one two|");
    check_keys("one two^w^z", "one two|");
    check_keys("one^wx^z^z", "one|");
    check_keys("one^z^zx^y", "x|");
    let mut desk = TuiHarness::new();
    desk.keys("^z");
    assert_eq!(desk.model.hint.as_deref(), Some("nothing to undo"));
}

#[test]
fn what_was_sent_is_searched() {
    let check = |keys: &str, expected: &str, note: Option<&str>| {
        let mut desk = TuiHarness::new();
        desk.line("/help first").line("/help second").line("/cost first");
        desk.keys(keys);
        assert_eq!(desk.box_now(), expected, "{keys}");
        let shown = desk.draw_screen(80, 24);
        assert_eq!(shown.contains("history: "), note.is_some(), "{keys}\n{shown}");
        assert!(note.is_none_or(|note| shown.contains(note)), "{keys}\n{shown}");
    };
    check("draft^r", "draft|", Some("history: type a part of what was sent"));
    check("draft^rfirst", "/cost first|", Some("history: first · Enter takes it"));
    check("draft^rFIRST^r", "/help first|", Some("history: FIRST"));
    check("draft^rfirst^r^s", "/cost first|", Some("history: first"));
    check("draft^rsecond<bs><bs>", "/help second|", Some("history: seco"));
    check("draft^rnowhere", "draft|", Some("history: no match for `nowhere`"));
    check("draft^rfirst<esc>", "draft|", None);
    check("draft^rfirst^c", "draft|", None);
    check("draft^rfirst<cr>", "/cost first|", None);
    check("draft^rfirst<left>x", "/cost firsx|t", None);
}

#[test]
fn long_pastes_are_one_thing_until_they_are_unfolded() {
    let long: String = (0..120).map(|line| format!("line {line} é\n")).collect();
    let mut desk = TuiHarness::new();
    desk.keys("see ");
    desk.send_message(UiMessage::Paste(long.clone())).send_message(UiMessage::Paste(long.clone()));
    assert_eq!(desk.model.composer.text(), "see [pasted 120 lines #1][pasted 120 lines #2]");
    desk.keys("<bs>");
    assert_eq!(desk.model.composer.text(), "see [pasted 120 lines #1]");
    desk.keys("!u");
    assert_eq!(desk.model.composer.text(), format!("see {long}"));
    desk.keys("^z");
    assert_eq!(desk.model.composer.text(), "see [pasted 120 lines #1]");
    desk.keys("<cr>");
    assert_eq!(desk.take_commands(), [UiCommand::ask(StartRequest::Chat { role: "coder".into() })]);
    assert_eq!(desk.model.queued, [format!("see {long}")]);
    desk.send_message(UiMessage::Paste("x".repeat(1 << 20))).keys("!u");
    assert!(desk.model.hint.as_deref().is_some_and(|hint| hint.contains("too long to be shown here")));
    assert!(desk.draw_screen(80, 24).contains("[pasted 1 line #3]"));
}

/// Prefix of the settings, width of the screen, what the line of the input box begins with.
#[test]
fn what_stands_before_the_text_is_the_users_choice() {
    let rows = [
        ("", 80, "❯ hi"),
        ("you>", 80, "you> hi"),
        ("日本", 80, "日本 hi"),
        ("a\u{1b}[31mb", 80, "a␛[31mb hi"),
        ("a name that is far too long", 80, "a name that is … hi"),
        ("a name that is far too long", 20, "a na… hi"),
    ];
    for (prefix, columns, expected) in rows {
        let mut desk = TuiHarness::new();
        desk.model.composer.set_prefix(prefix);
        desk.keys("hi");
        let screen = desk.draw_screen(columns, 24);
        assert!(screen.lines().any(|line| line.trim_end() == expected), "{prefix}: {screen}");
        desk.model.composer.use_vim(true);
        let screen = desk.draw_screen(columns, 24);
        assert!(screen.lines().any(|line| line.trim_end() == "I hi"), "{prefix}: {screen}");
    }
}

#[test]
fn a_colon_of_vi_says_what_leaves_in_place_of_nothing() {
    let mut desk = TuiHarness::new();
    desk.line("/vim").type_text("a:b").key(KeyCode::Esc);
    assert_eq!(desk.model.composer.text(), "a:b", "text has colons");
    desk.type_text(":");
    assert!(desk.draw_screen(80, 24).contains("/exit or Ctrl+D leaves"));
    desk.type_text("q").key(KeyCode::Home);
    assert_eq!(desk.model.composer.text(), "a:b");
    // the letter behind a motion is none
    desk.type_text("0f:x");
    assert_eq!(desk.model.composer.text(), "ab");
}

fn check_vim_keys(keys: &str, expected: &str) {
    let mut desk = TuiHarness::new();
    desk.line("/vim");
    desk.keys(keys);
    assert_eq!(desk.box_now(), expected, "{keys}");
}

#[test]
fn keys_as_in_vi() {
    check_vim_keys("one two", "one two|");
    check_vim_keys("one two<esc>", "one tw|o");
    check_vim_keys("one two<esc>0", "|one two");
    check_vim_keys("one two<esc>bb", "|one two");
    check_vim_keys("one two<esc>0w", "one |two");
    check_vim_keys("one two<esc>0e", "on|e two");
    check_vim_keys("one two<esc>0$", "one tw|o");
    check_vim_keys("  one<esc>0<hat>", "  |one");
    check_vim_keys("one two<esc>0ft", "one |two");
    check_vim_keys("one two<esc>0tt", "one| two");
    check_vim_keys("a.b.c<esc>0f.;", "a.b|.c");
    check_vim_keys("a.b.c<esc>0f.;,", "a|.b.c");
    check_vim_keys("one two three<esc>0dw", "|two three");
    check_vim_keys("one two three<esc>02dw", "|three");
    check_vim_keys("one two three<esc>0d2w", "|three");
    check_vim_keys("one two<esc>0cwsix", "six| two");
    check_vim_keys("one two<esc>0cwsix<esc>w.", "six si|x");
    check_vim_keys("one two<esc>0D", "|");
    check_vim_keys("one two<esc>0x", "|ne two");
    check_vim_keys("one two<esc>03x", "| two");
    check_vim_keys("one two<esc>0xp", "n|oe two");
    check_vim_keys("one<esc>rx", "on|x");
    check_vim_keys("one<esc>~", "on|E");
    check_vim_keys("one<nl>two<esc>dd", "|one");
    check_vim_keys("one<nl>two<esc>kdd", "|two");
    check_vim_keys("one<nl>two<esc>yyp", "one\ntwo\n|two");
    check_vim_keys("one<nl>two<esc>ggyyP", "|one\none\ntwo");
    check_vim_keys("one<nl>two<esc>ggG", "one\n|two");
    check_vim_keys("one<nl>two<esc>kJ", "one| two");
    check_vim_keys("one<nl>two<esc>ggdG", "|");
    check_vim_keys("one two<esc>diw", "one| ");
    check_vim_keys("one two<esc>0daw", "|two");
    check_vim_keys("one two<esc>0iX", "X|one two");
    check_vim_keys("one two<esc>0aX", "oX|ne two");
    check_vim_keys("one<esc>oX", "one\nX|");
    check_vim_keys("one<esc>OX", "X|\none");
    check_vim_keys("one two<esc>0vey", "|one two");
    check_vim_keys("one two<esc>0ved", "| two");
    check_vim_keys("one two<esc>0vecsix", "six| two");
    check_vim_keys("one<nl>two<esc>Vd", "|one");
    check_vim_keys("one two<esc>0dwu", "|one two");
    check_vim_keys("one two<esc>u", "|");
    check_vim_keys("one two<esc>0dwu^r", "|two");
    check_vim_keys("<esc>/help", "/help|");
    check_vim_keys("one<esc>99999999999l", "on|e");
    check_vim_keys("one<esc>dqx", "o|n");
    check_vim_keys("x<cr>", "|");
    check_vim_keys("e\u{301}a<esc>h", "|e\u{301}a");
    check_vim_keys("e\u{301}a<esc>hx", "|a");
}

#[test]
fn a_folded_paste_is_one_letter_in_vi() {
    let paste = "[pasted 120 lines #1]";
    check_vim_keys("a<paste><esc>x", "|a");
    check_vim_keys("<paste>a<esc>0x", "|a");
    check_vim_keys("<paste>a<esc>0rx", "|xa");
    check_vim_keys("<paste>a<esc>0l<del>", &format!("|{paste}"));
    check_vim_keys("a <paste><esc>diw", "a| ");
    check_vim_keys("a<paste>b<esc>0vly", &format!("|a{paste}b"));
    check_vim_keys("a<paste>b<esc>0vld", "|b");
    check_vim_keys("<paste><esc>yyp", &format!("{paste}\n|{paste}"));
}

#[test]
fn motions_and_counts_as_in_vi() {
    check_vim_keys("ab cd<esc>0ecwx", "ax| cd");
    check_vim_keys("ab<esc>0dtb", "|b");
    check_vim_keys("a-b c<esc>0cwx", "x|-b c");
    check_vim_keys("a<nl>b<nl>c<esc>2kdj", "|c");
    check_vim_keys("one<nl><esc>ggG", "one\n|");
    check_vim_keys("one<nl>two<nl><esc>ggdG", "|");
    check_vim_keys("one two<esc>ge", "on|e two");
    check_vim_keys("f(a, b)<esc>%", "f|(a, b)");
    check_vim_keys("f(a, b)<esc>di(", "f(|)");
    check_vim_keys("\"a b\" c<esc>0ci\"x", "\"x|\" c");
    // counts
    check_vim_keys("one<esc>3ix", "onx|e");
    check_vim_keys("one<esc>3ix<esc>", "onxx|xe");
    check_vim_keys("one<esc>02ax<esc>", "ox|xne");
    check_vim_keys("  one<esc>2Ix<esc>", "  x|xone");
    check_vim_keys("one<esc>02Ax<esc>", "onex|x");
    check_vim_keys("one<esc>2ox<esc>", "one\nx\n|x");
    check_vim_keys("one<esc>2Ox<esc>", "x\n|x\none");
    check_vim_keys("a<nl>b<nl>c<esc>gg3J", "a b| c");
    check_vim_keys("a<nl>b<nl>c<esc>gg2Sx", "x|\nc");
    let many = "y".repeat(999);
    check_vim_keys("<esc>999iy<esc>yy9999p", &format!("{}|y", &many[1..]));
    check_vim_keys(&format!("<esc>2000i{many}<esc>"), &format!("{}|y", &many[1..]));
    check_vim_keys(&format!("{many}<esc>2000."), &format!("{}|y", &many[1..]));
    check_vim_keys("x<esc>yy10000000000p1G", &format!("|x{}", "\nx".repeat(10_000)));
}

#[test]
fn changes_as_in_vi() {
    // what is one change, and is done once more
    check_vim_keys("one<nl>two<esc>kJu", "on|e\ntwo");
    check_vim_keys("a<esc>ob<nl>c<bs>d e^w<esc>u", "|a");
    check_vim_keys("a<esc>ob<nl>cx<bs><esc>.", "a\nb\nc\nb\n|c");
    check_vim_keys("one<esc>A<bs>x<esc>.", "on|x");
    check_vim_keys("one two<esc>0cwa<left>b<esc>.", "|bba two");
    check_vim_keys("a<esc>op<paste>q<esc>ggx.", "|\np[pasted 120 lines #1]q");
    check_vim_keys("one two three<esc>0dw2.", "|");
    check_vim_keys("abcdef<esc>0vld.", "|ef");
    check_vim_keys("one<esc>x<up>ix<esc>.", "/vi|xxm");
    // lines below the last one
    check_vim_keys("one<esc>ddp", "\n|one");
    check_vim_keys("one<nl><esc>kyyjp", "one\n\n|one");
    check_vim_keys("one<nl>two<esc>ddp", "one\n|two");
    check_vim_keys("one<nl>two<esc>kddp", "two\n|one");
    // more of what is marked
    check_vim_keys("one two<esc>0vU", "|One two");
    check_vim_keys("one<nl>two<esc>kvjD", "|");
    check_vim_keys("one<nl>two<nl>six<esc>ggvY2jp", "one\ntwo\nsix\n|one");
    check_vim_keys("one<nl>two<esc>ggv<down>d", "|wo");
    check_vim_keys("one two<esc>0guiwvu~", "O|ne two");
    check_vim_keys("one<esc>Yp", "one\n|one");
    // what the box has nothing for
    for key in ["q", "@", "<lt>", ">", "?", "n", "N", "'", "`", "R", "U", "\"", "m"] {
        check_vim_keys(&format!("one<esc>{key}x"), "o|n");
    }
    check_vim_keys("one<esc>kx", "/v|i");
    check_vim_keys("/help a<cr>/help b<cr><esc>kkix", "/help x|a");
    check_vim_keys("one<esc>v^c<esc>ix", "x|");
}

#[test]
fn the_mode_stands_before_the_text() {
    let mut desk = TuiHarness::new();
    assert!(desk.draw_screen(80, 24).contains("❯ message"));
    desk.line("/vim on");
    for (keys, sign) in [("one", "I one"), ("<esc>", "N one"), ("v", "V one"), ("<esc>i", "I one")] {
        desk.keys(keys);
        let shown = desk.draw_screen(80, 24);
        assert!(shown.lines().any(|line| line.starts_with(sign)), "{sign}\n{shown}");
    }
    desk.keys("<esc>");
    desk.press_control('c');
    desk.keys("i").line("/vim off");
    assert!(desk.draw_screen(80, 24).contains("❯ message"));
}

fn named_desk() -> TuiHarness {
    let mut desk = TuiHarness::new();
    desk.keys("look at @");
    assert_eq!(
        desk.take_commands()[..2],
        [UiCommand::ask(ProjectRequest::Files), UiCommand::ask(DefinitionRequest::Names)]
    );
    let files = ["src/main.rs", "src/tui/view.rs", "README.md"].map(str::to_owned).to_vec();
    desk.send_message(UiMessage::answered(ProjectResponse::Files(Ok(files))));
    desk.send_message(UiMessage::answered(DefinitionResponse::Names {
        workflows: workflow_lines(),
        roles: vec![],
    }));
    desk
}

#[test]
fn mentions_become_what_a_model_can_use() {
    let mut desk = named_desk();
    assert_eq!(desk.popup_lines()[..3], ["src/main.rs", "src/tui/view.rs", "README.md"]);
    desk.keys("main<tab>now");
    assert_eq!(desk.box_now(), "look at src/main.rs now|");
    desk.keys("^z");
    assert_eq!(desk.box_now(), "look at src/main.rs |");
    // Enter takes the file whose name was begun, and sends one that was written
    let mut desk = named_desk();
    desk.keys("mai<cr>");
    assert_eq!((desk.box_now().as_str(), desk.take_commands().len()), ("look at src/main.rs |", 0));
    let mut desk = named_desk();
    desk.keys("main.rs<cr>");
    assert_eq!(desk.box_now(), "|");
    let mut desk = named_desk();
    desk.keys("src/main.rs<cr>");
    assert_eq!(desk.box_now(), "|");
    let mut desk = named_desk();
    desk.keys("<nl>@coderrev<tab>");
    assert_eq!(desk.box_now(), "look at @\nworkflow coder_reviewer |");
    let mut desk = named_desk();
    desk.keys("zzz");
    assert!(desk.popup_lines().is_empty());
    desk.keys("<cr>");
    let sent = LookupRequest::WithResources("look at @zzz".into());
    assert_eq!(desk.take_commands().last(), Some(&UiCommand::ask(sent)));
    let mut desk = named_desk();
    desk.press_control('u').press_control('u');
    desk.keys("/wf tick @vie<tab>");
    assert_eq!(desk.box_now(), "/wf tick src/tui/view.rs |");
    desk.workflow_states();
}

#[test]
fn what_mcp_servers_offer_is_completed_and_read_before_the_text_is_sent() {
    let pair = |name: &str| (name.to_owned(), "about".to_owned());
    let mut desk = TuiHarness::new();
    desk.keys("/");
    assert_eq!(desk.mcp_name_count, 1, "asked for when a command begins");
    desk.send_message(UiMessage::answered(LookupResponse::McpNames(McpCompletions {
        servers: vec![pair("docs")],
        resources: vec![pair("docs:note://one")],
        prompts: vec![pair("docs:review")],
    })));
    desk.keys("docs<tab>");
    assert_eq!(desk.box_now(), "/docs:review |");
    desk.take_commands();
    desk.keys("src/a.rs<cr>");
    let prompt = LookupRequest::McpPrompt { name: "docs:review".into(), words: "src/a.rs".into() };
    assert_eq!(desk.take_commands(), [UiCommand::ask(prompt)]);
    let message = |typed: &str, text: Result<&str, &str>| {
        let text = text.map(str::to_owned).map_err(str::to_owned);
        UiMessage::answered(LookupResponse::Message {
            typed: typed.to_owned(),
            text,
            missing_files: Vec::new(),
        })
    };
    desk.send_message(message("/docs:review x", Err("it has no such prompt")));
    assert!(desk.last_message_text().contains("it has no such prompt"));
    assert_eq!(desk.box_now(), "/docs:review x|", "it can be corrected");
    desk.press_control('u');
    desk.keys("see @docs:no<tab>");
    assert_eq!(desk.box_now(), "see @docs:note://one |");
    desk.take_commands();
    desk.keys("<cr>");
    let read = LookupRequest::WithResources("see @docs:note://one ".into());
    assert_eq!(desk.take_commands(), [UiCommand::ask(read)], "nothing is sent before it was read");
    desk.send_message(message("see @docs:note://one", Ok("see it\n\n[docs:note://one]\nbuy milk")));
    assert_eq!(desk.take_commands(), [UiCommand::ask(StartRequest::Chat { role: "coder".into() })]);
    assert_eq!(desk.model.queued, ["see it\n\n[docs:note://one]\nbuy milk"]);
}

#[test]
fn a_file_that_is_mentioned_by_hand_is_looked_for_first() {
    let mut desk = TuiHarness::new();
    desk.keys("read @src/a.rs and @src/nope.rs");
    desk.model.popup = None;
    desk.take_commands();
    desk.keys("<cr>");
    let typed = "read @src/a.rs and @src/nope.rs".to_owned();
    assert_eq!(desk.take_commands(), [UiCommand::ask(LookupRequest::WithResources(typed.clone()))]);
    desk.send_message(UiMessage::answered(LookupResponse::Message {
        typed,
        text: Ok("read src/a.rs and @src/nope.rs".to_owned()),
        missing_files: vec!["src/nope.rs".to_owned()],
    }));
    assert_eq!(desk.model.queued, ["read src/a.rs and @src/nope.rs"]);
    assert!(desk.last_message_text().contains("no file src/nope.rs in this project: sent as text"));
    // a text that was pasted may be full of them
    desk.send_message(UiMessage::answered(LookupResponse::Message {
        typed: "@a/1 @a/2 @a/3 @a/4 @a/5".to_owned(),
        text: Ok("@a/1 @a/2 @a/3 @a/4 @a/5".to_owned()),
        missing_files: (1..=5).map(|number| format!("a/{number}")).collect(),
    }));
    assert!(
        desk.last_message_text().contains("no file a/1, a/2, a/3 and 2 more in this project: sent as text")
    );
    // what is typed meanwhile goes behind it
    let mut desk = TuiHarness::new();
    desk.start_chat().take_commands();
    desk.line("one @a.rs").line("two").line("three @b.rs").line("four");
    let looked_up = |typed: &str| UiCommand::ask(LookupRequest::WithResources(typed.into()));
    let found = |typed: &str| LookupResponse::Message {
        typed: typed.into(),
        text: Ok(typed.replace('@', "")),
        missing_files: Vec::new(),
    };
    desk.model.popup = None;
    assert!(desk.take_commands().contains(&looked_up("one @a.rs")));
    let waiting = |desk: &TuiHarness| desk.model.find_run(&RunId::from("c1")).unwrap().outbox.clone();
    assert!(waiting(&desk).is_empty());
    desk.send_message(UiMessage::answered(found("one @a.rs")));
    assert_eq!(desk.take_commands(), [looked_up("three @b.rs")]);
    assert_eq!(waiting(&desk), ["one a.rs", "two"]);
    desk.send_message(UiMessage::answered(found("three @b.rs")));
    assert_eq!(waiting(&desk), ["one a.rs", "two", "three b.rs", "four"]);
    // a workflow's text is looked for, too
    let mut desk = TuiHarness::new();
    desk.workflow().line("see @a.rs");
    let sent = UiCommand::ask(LookupRequest::WithResources("see @a.rs".into()));
    assert_eq!(desk.take_commands().pop(), Some(sent));
    // and the input of one that a line starts
    let mut desk = TuiHarness::new();
    let line = "/workflow coder_reviewer \"mend @a.rs\"";
    desk.line(line);
    assert_eq!(desk.take_commands().pop(), Some(looked_up(line)));
    desk.send_message(UiMessage::answered(found(line)));
    let started = StartRequest::Workflow { name: "coder_reviewer".into(), input: "mend a.rs".into() };
    assert_eq!(desk.take_commands(), [UiCommand::ask(started)]);
}

impl TuiHarness {
    fn workflow_states(&mut self) {
        let mut desk = TuiHarness::new();
        desk.workflow();
        desk.keys("@state:");
        assert_eq!(desk.popup_lines(), ["code", "start"]);
    }
}

#[test]
fn the_list_of_commands_says_what_cannot_be_done() {
    let mut desk = TuiHarness::new();
    desk.keys("/agen");
    let shown = desk.draw_screen(120, 40);
    assert!(shown.contains("not now: nothing has run in this session"), "{shown}");
    let mut desk = TuiHarness::new();
    desk.workflow();
    desk.keys("/rol");
    let shown = desk.draw_screen(120, 40);
    assert!(shown.contains("not now: something is running"), "{shown}");
    assert!(!shown.contains("nothing has run"), "{shown}");
}

#[test]
fn commands_beside_what_goes_on() {
    let mut desk = TuiHarness::new();
    let check = |desk: &mut TuiHarness, line: &str, expected: &[UiCommand], said: &str| {
        desk.take_commands();
        desk.line(line);
        let mut wanted = desk.take_commands();
        wanted.retain(|cmd| {
            !matches!(
                cmd,
                UiCommand::Ask(SessionRequest::Definitions(DefinitionRequest::Names))
                    | UiCommand::Ask(SessionRequest::Runs(RunRequest::List(..)))
            )
        });
        assert_eq!(wanted, expected, "{line}");
        assert!(desk.last_message_text().contains(said), "{line}: {}", desk.last_message_text());
    };
    let page = |page| UiCommand::ask(LookupRequest::Page(page));
    check(&mut desk, "/agents", &[], "no agent has run");
    check(&mut desk, "/budget", &[], "nothing has run");
    check(&mut desk, "/graph", &[], "/graph WORKFLOW draws one");
    check(&mut desk, "/graph tick", &[page(LookupPage::Graph("tick".into()))], "");
    check(&mut desk, "/models", &[page(LookupPage::Models(None))], "");
    check(&mut desk, "/config theme", &[page(LookupPage::Config(Some("theme".into())))], "");
    check(&mut desk, "/export", &[], "/export RUN");
    check(&mut desk, "/pane grph", &[], "the panes are conversation, graph");
    check(&mut desk, "/trust maybe", &[], "/trust is yes or no");
    check(&mut desk, "/trust", &[UiCommand::ask(ProjectRequest::TrustQuestion)], "");
    check(&mut desk, "/trust no", &[UiCommand::ask(ProjectRequest::Trust(false))], "");
    check(&mut desk, "/cmd ???", &[], "say what the command shall do");
    check(&mut desk, "/cmd add", &[], "no command has run yet");
    check(
        &mut desk,
        "/cmd git status",
        &[UiCommand::ask(LookupRequest::Shell("git status".into(), false))],
        "$ git status",
    );
}

#[test]
fn a_command_shows_its_output_and_a_risky_one_asks_first() {
    let mut desk = TuiHarness::new();
    desk.line("/cmd git status");
    let told = ShellOutcome::Done {
        succeeded: true,
        summary: "exit 0".into(),
        text: "clean\n".into(),
        goes_with_next_text: false,
    };
    desk.send_message(UiMessage::answered(LookupResponse::Shell {
        command: "git status".into(),
        outcome: Ok(told),
    }));
    assert!(
        desk.last_message_text().contains("$ git status · exit 0\nclean"),
        "{}",
        desk.last_message_text()
    );
    desk.line("/cmd add");
    assert_eq!(desk.model.composer.text(), "$ git status\nclean\n");
    let risky = Ok(ShellOutcome::Risky("removes files".into()));
    desk.send_message(UiMessage::answered(LookupResponse::Shell {
        command: "rm -rf x".into(),
        outcome: risky,
    }));
    assert!(desk.draw_screen(80, 24).contains("! removes files"));
    desk.take_commands();
    // a letter would go to the text
    desk.model.composer.set_text("");
    desk.advance_clock(1_000).answer('y');
    assert_eq!(desk.take_commands(), [UiCommand::ask(LookupRequest::Shell("rm -rf x".into(), true))]);
}

#[test]
fn agents_and_budget_of_a_run() {
    let mut desk = TuiHarness::new();
    desk.workflow();
    desk.run_event("r1", model_called(7, "coder", ConversationSide::Assistant));
    desk.run_event("r1", model_replied(7, "coder", ConversationSide::Assistant, "It is done.", ""));
    desk.line("/agents");
    let said = desk.last_message_text();
    assert!(said.contains("coder_reviewer r1 · code") && said.contains("1,540 tok"), "{said}");
    desk.line("/agent coder");
    assert!(desk.last_message_text().contains("It is done."), "{}", desk.last_message_text());
    desk.line("/agent codr");
    assert!(desk.last_message_text().contains("did you mean coder?"), "{}", desk.last_message_text());
    desk.line("/budget");
    assert!(desk.last_message_text().contains("no end set"), "{}", desk.last_message_text());
    desk.line("/pane costs");
    assert!(desk.draw_screen(80, 24).contains("costs"), "{}", desk.draw_screen(80, 24));
}

#[test]
fn trust_is_asked_when_there_is_something_to_ask() {
    let mut desk = TuiHarness::new();
    desk.line("/trust");
    desk.send_message(UiMessage::answered(ProjectResponse::TrustQuestion(Err(
        "this project's own definitions are trusted".into(),
    ))));
    assert!(desk.last_message_text().contains("are trusted"));
    let asked = UntrustedDefinitions { files: vec![".synthdev/settings.json".into()], changes: "+ x".into() };
    desk.send_message(UiMessage::answered(ProjectResponse::TrustQuestion(Ok(asked)))).take_commands();
    assert!(desk.draw_screen(80, 24).contains(".synthdev/settings.json"));
    desk.advance_clock(1_000).answer('y');
    assert_eq!(desk.take_commands(), [UiCommand::ask(ProjectRequest::Trust(true))]);
}

#[test]
fn what_begins_something_waits_for_the_answer_about_trust() {
    let facts = TuiHarness::new().model.facts;
    let question =
        || TrustQuestion { files: vec![".synthdev/workflows/own.json".into()], changes: String::new() };
    let start = |name: &str| UiCommand::ask(StartRequest::Workflow { name: name.into(), input: "x".into() });
    let check = |first: Option<FirstAction>, lines: &[&str], answer: &str, expected: &[UiCommand]| {
        let (model, _) = initial_model(facts.clone(), first, Some(question()), &[], ColorTheme::default());
        let mut desk = TuiHarness { model, ..TuiHarness::new() };
        desk.take_commands();
        for line in lines {
            desk.advance_clock(1_000).line(line);
        }
        let early: Vec<UiCommand> = desk
            .take_commands()
            .into_iter()
            .filter(|cmd| {
                !matches!(cmd, UiCommand::Ask(SessionRequest::Definitions(DefinitionRequest::Names)))
            })
            .collect();
        assert_eq!(early, [], "{lines:?}");
        desk.advance_clock(1_000).keys(answer).key(KeyCode::Enter);
        assert_eq!(desk.take_commands(), [UiCommand::ask(ProjectRequest::Trust(answer == "y"))], "{lines:?}");
        desk.send_message(UiMessage::answered(ProjectResponse::Trusted {
            trusted: answer == "y",
            result: Ok(Vec::new()),
        }));
        assert_eq!(desk.take_commands(), expected, "{lines:?}");
        desk.model.transcript.text()
    };
    let text =
        check(None, &["/workflow own \"x\""], "y", &[UiCommand::ask(ProjectRequest::Status), start("own")]);
    assert!(text.contains("workflow own waits until you decide whether to trust this project"), "{text}");
    check(None, &["/workflow own \"x\""], "<esc>", &[UiCommand::ask(ProjectRequest::Status), start("own")]);
    check(
        None,
        &["/workflow own"],
        "y",
        &[
            UiCommand::ask(ProjectRequest::Status),
            UiCommand::ask(DefinitionRequest::ChooseWorkflow("own".into())),
        ],
    );
    check(
        None,
        &["/role own"],
        "y",
        &[UiCommand::ask(ProjectRequest::Status), UiCommand::ask(DefinitionRequest::Role("own".into()))],
    );
    let chat = UiCommand::ask(StartRequest::Chat { role: "coder".into() });
    check(None, &["hello", "and more"], "y", &[UiCommand::ask(ProjectRequest::Status), chat]);
    let first = FirstAction::Workflow { name: "a".into(), input: "x".into() };
    check(
        Some(first),
        &["/workflow own x"],
        "y",
        &[UiCommand::ask(ProjectRequest::Status), start("a"), start("own")],
    );
}

#[test]
fn verbosity_is_changed_while_it_runs() {
    let mut desk = TuiHarness::new();
    let check =
        |desk: &mut TuiHarness, line: &str, asked: Option<u8>, level: u8, said: &str, details: bool| {
            desk.take_commands();
            desk.line(line);
            assert_eq!(
                desk.take_commands().pop(),
                Some(UiCommand::ask(ProjectRequest::Verbosity(asked))),
                "{line}"
            );
            desk.send_message(UiMessage::answered(ProjectResponse::Verbosity(
                level,
                "/data/synthdev.log".into(),
            )));
            assert!(desk.last_message_text().contains(said), "{line}: {}", desk.last_message_text());
            assert_eq!(desk.model.details, details, "{line}");
        };
    check(&mut desk, "/verbosity", None, 2, "verbosity 2: warnings and errors are logged, in /data/", false);
    check(&mut desk, "/verbosity 4", Some(4), 4, "models and tools are logged", true);
    check(&mut desk, "/verbosity 0", Some(0), 0, "nothing is logged · results and data are folded", false);
    for bad in ["6", "-1", "loud"] {
        desk.take_commands();
        desk.line(&format!("/verbosity {bad}"));
        assert!(
            desk.last_message_text().contains("a number from 0 to 5"),
            "{bad}: {}",
            desk.last_message_text()
        );
    }
}

#[test]
fn the_text_goes_to_another_editor_and_back() {
    let mut desk = TuiHarness::new();
    desk.keys("half^g");
    let text = "half".into();
    assert_eq!(desk.take_commands(), [UiCommand::External { number: 0, name: "message.md".into(), text }]);
    desk.send_message(UiMessage::Answered(SessionResponse::Editor(
        0,
        EditorResponse::EditedOutside(Ok("whole\u{1b}[2J text\n".into())),
    )));
    assert_eq!(desk.box_now(), "whole text|");
    desk.keys("^z");
    assert_eq!(desk.box_now(), "half|");
}

#[test]
fn the_background_decides_the_theme_unless_one_was_chosen() {
    let terminal =
        TerminalEnvironment { term: Some("xterm-256color".into()), ..TerminalEnvironment::default() };
    let found = |name: &str| ColorTheme::find_theme(name, &terminal).unwrap();
    let asked = |wanted: bool| {
        let mut desk = TuiHarness::new();
        desk.model.terminal_background.follow_background = wanted;
        desk
    };
    let name = |desk: &TuiHarness| desk.model.theme.name();
    let mut desk = asked(true);
    desk.send_message(UiMessage::Background(true));
    assert_eq!(name(&desk), "light");
    desk.line("/theme dark")
        .send_message(UiMessage::Displayed(DisplayResponse::Theme(Ok(ColorTheme::default()))));
    assert_eq!(name(&desk), "dark");
    desk.line("/theme auto")
        .send_message(UiMessage::Displayed(DisplayResponse::Theme(Ok(ColorTheme::default()))));
    assert_eq!(name(&desk), "light");
    let dark = found("high-contrast");
    desk.line("/theme high-contrast").send_message(UiMessage::Displayed(DisplayResponse::Theme(Ok(dark))));
    assert!(
        name(&desk) == "high-contrast" && desk.model.theme != dark,
        "it is the one for a light background"
    );
    for (wanted, answer) in [(true, false), (false, true)] {
        let mut desk = asked(wanted);
        desk.send_message(UiMessage::Background(answer));
        assert_eq!(name(&desk), "dark", "{wanted} {answer}");
    }
}

#[test]
fn other_keys_for_the_editor_and_the_input_box() {
    use synthdev::language::source::SourceFile;
    let text = "{\"text_undo\": [\"Alt+U\"], \"unfold\": [], \"editor_save\": [\"F12\"]}";
    let (keymap, found) =
        keymap::read_keyboard_file(&SourceFile::new(ConfigLayer::User, "user:keyboard.json", text));
    assert!(found.is_empty(), "{found:?}");
    let mut desk = TuiHarness::new();
    desk.model.keymap = keymap;
    desk.keys("one two^z");
    assert_eq!(desk.box_now(), "one two|");
    desk.keys("!u");
    assert_eq!(desk.box_now(), "one|");
    desk.press_control('u').line("/keys");
    let table = desk.last_message_text();
    assert!(table.contains("F12") && table.contains("editor_save"), "{table}");
    assert!(desk.model.keymap.editor_rows().iter().any(|(key, _)| key == "F12"));
}

/// What can happen to the input box.
#[derive(Clone, Debug)]
enum Step {
    Key(KeyCode, KeyModifiers),
    Paste(String),
    Size(u16, u16),
    Vim,
    Files,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let letter = prop_oneof![
        6 => proptest::char::range(' ', '~'),
        1 => proptest::sample::select(vec!['é', '\u{301}', '世', '👩', '\u{200d}', '👧', '\u{fe0f}', '🇩', '\u{202e}', '\u{5d0}', '\t']),
        1 => any::<char>(),
    ];
    let plain = letter.prop_map(|c| Step::Key(KeyCode::Char(c), KeyModifiers::NONE));
    let control = proptest::char::range('a', 'z').prop_filter("leaves", |c| !matches!(c, 'c' | 'd'));
    let control = control.prop_map(|c| Step::Key(KeyCode::Char(c), KeyModifiers::CONTROL));
    let alt = proptest::char::range('a', 'z').prop_map(|c| Step::Key(KeyCode::Char(c), KeyModifiers::ALT));
    let codes = vec![
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::Home,
        KeyCode::End,
        KeyCode::Backspace,
        KeyCode::Delete,
        KeyCode::Tab,
        KeyCode::Esc,
        KeyCode::Enter,
    ];
    let mods = vec![
        KeyModifiers::NONE,
        KeyModifiers::NONE,
        KeyModifiers::SHIFT,
        KeyModifiers::CONTROL,
        KeyModifiers::ALT,
    ];
    let named = (proptest::sample::select(codes), proptest::sample::select(mods))
        .prop_map(|(code, modifiers)| Step::Key(code, modifiers));
    let pasted = prop_oneof!["[a-zé世👩\u{301}\u{200d} \n\r\t]{0,60}", Just("line\n".repeat(40))];
    let step = prop_oneof![
        10 => plain,
        3 => control,
        2 => alt,
        6 => named,
        1 => pasted.prop_map(Step::Paste),
        1 => (1_u16..60, 1_u16..20).prop_map(|(columns, rows)| Step::Size(columns, rows)),
        1 => Just(Step::Vim),
        1 => Just(Step::Files),
    ];
    proptest::collection::vec(step, 0..80)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, rng_seed: RngSeed::Fixed(6), ..ProptestConfig::default() })]

    #[test]
    fn any_keys_leave_the_cursor_between_letters(steps in steps()) {
        let mut desk = TuiHarness::new();
        for step in steps {
            match step {
                Step::Key(code, modifiers) => desk.press_key(code, modifiers),
                Step::Paste(text) => desk.send_message(UiMessage::Paste(text)),
                Step::Size(columns, rows) => {
                    desk.draw_screen(columns, rows);
                    &mut desk
                }
                Step::Vim => {
                    let on = !desk.model.composer.uses_vim();
                    desk.model.composer.use_vim(on);
                    &mut desk
                }
                Step::Files => desk.send_message(UiMessage::answered(ProjectResponse::Files(Ok(vec!["src/é main.rs".into()])))),
            };
            let (row, column) = desk.model.composer.cursor();
            let text = desk.model.composer.text();
            let line = text.split('\n').nth(row);
            prop_assert!(line.is_some(), "line {row} of {text:?}");
            let line = line.unwrap_or_default();
            let byte = line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
            prop_assert!(column <= line.chars().count(), "{column} in {line:?}");
            let boundary = byte == line.len() || line.grapheme_indices(true).any(|(at, _)| at == byte);
            prop_assert!(boundary, "inside of a letter: {column} in {line:?}");
        }
        desk.draw_screen(80, 24);
        desk.draw_screen(20, 5);
    }
}

#[test]
fn words_that_look_like_a_shell_command_are_asked_about() {
    let mut desk = TuiHarness::new();
    desk.line("!ls -la");
    assert_eq!((desk.take_commands(), desk.box_now().as_str()), (Vec::new(), "!ls -la|"));
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("/cmd ls -la runs it, `!` does not"), "{screen}");
    desk.key(KeyCode::Enter);
    assert_eq!(desk.take_commands(), [UiCommand::ask(StartRequest::Chat { role: "coder".into() })]);
    for text in ["! careful", "!!!", "what!"] {
        let mut desk = TuiHarness::new();
        desk.line(text);
        assert_eq!(desk.take_commands().len(), 1, "{text}");
    }
}

#[test]
fn an_unfinished_mention_is_told() {
    let check = |typed: &str, expected: Option<&str>| {
        let mut desk = TuiHarness::new();
        desk.model.names.files = vec!["src/my_module.py".into(), "src/main.rs".into(), "src/a".into()];
        desk.line(typed).take_commands();
        desk.send_message(UiMessage::answered(LookupResponse::Message {
            typed: typed.into(),
            text: Ok(typed.into()),
            missing_files: Vec::new(),
        }));
        let screen = desk.draw_screen(120, 24);
        match expected {
            Some(told) => assert!(screen.contains(told), "{typed}\n{screen}"),
            None => assert!(!screen.contains("sent as text"), "{typed}\n{screen}"),
        }
    };
    check("look at @my", Some("no file my in this project: sent as text. Did you mean @src/my_module.py?"));
    check("look at @src/ma,", Some("Did you mean @src/main.rs?"));
    check("look at @src/a", None);
    check("@src is large", None);
    check("@Override", None);
}

#[test]
fn a_text_that_came_back_is_no_part_of_the_next_command() {
    let returned = || {
        let mut desk = TuiHarness::new();
        desk.workflow().line("more words").run_event("r1", run_finished(RunStatus::Cancelled, None, None));
        desk.take_commands();
        assert_eq!(desk.box_now(), "more words|");
        desk
    };
    let mut desk = returned();
    desk.keys("/cost");
    assert_eq!(desk.box_now(), "/cost|");
    desk.keys("<esc>^u<up>");
    assert_eq!(desk.box_now(), "more words|");
    let mut desk = returned();
    desk.send_message(UiMessage::Paste("/cost".to_owned()));
    assert_eq!(desk.box_now(), "/cost|");
    // other keys go on with it
    let mut desk = returned();
    desk.keys(" and/or");
    assert_eq!(desk.box_now(), "more words and/or|");
}

#[test]
fn a_second_interrupt_that_was_meant_for_a_stop_leaves_nothing() {
    let mut desk = TuiHarness::new();
    desk.workflow().take_commands();
    desk.press_control('c');
    assert_eq!(desk.take_commands(), [cancel_command("r1")]);
    assert!(desk.draw_screen(80, 24).contains("stopping"));
    desk.run_event("r1", run_finished(RunStatus::Cancelled, None, None));
    desk.take_commands();
    desk.advance_clock(800).press_control('c');
    assert_eq!((desk.take_commands(), desk.model.is_leaving), (Vec::new(), false));
    assert!(desk.draw_screen(80, 24).contains("Ctrl+C again leaves"));
    desk.press_control('c');
    assert!(desk.model.is_leaving);
    // while it has not stopped, the line says what a second one does
    let mut desk = TuiHarness::new();
    desk.workflow().press_control('c').press_control('c');
    assert!(desk.model.is_leaving);
}

#[test]
fn a_step_is_named_by_its_state() {
    let check = |line: &str, expected: RunRequest| {
        let mut desk = TuiHarness::new();
        desk.workflow().line(line);
        assert_eq!(desk.take_commands().pop(), Some(UiCommand::ask(expected)), "{line}");
    };
    let why = |step| RunRequest::Why { run: Some("r1".into()), step };
    let travel = |travel: TimeTravelRequest| RunRequest::Travel(travel);
    let state = |name: &str| NamedStep::State(name.into());
    let fork = |run: Option<&str>, step: NamedStep, set: Vec<(Vec<String>, Value)>| {
        travel(TimeTravelRequest::Fork { run: run.map(str::to_owned), step, set, restore_files: false })
    };
    check("/why code", why(state("code")));
    // the program knows which states there are
    check("/why nowhere", why(state("nowhere")));
    check("/why ab12 code", RunRequest::Why { run: Some("ab12".into()), step: state("code") });
    check("/fork code", fork(Some("r1"), state("code"), Vec::new()));
    check("/fork code limit=5", fork(Some("r1"), state("code"), vec![(vec!["limit".into()], json!(5))]));
    check("/fork ab12 code", fork(Some("ab12"), state("code"), Vec::new()));
    check("/fork ab12", RunRequest::Steps(Some("ab12".into())));
    check("/why 3", why(3.into()));
    check("/why ab12", RunRequest::Steps(Some("ab12".into())));
}
