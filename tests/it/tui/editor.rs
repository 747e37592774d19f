//! The editor of workflows and roles: rows of keys → text, wishes and screen. What a text's findings are is for the
//! tests of the backend.

use std::sync::Arc;

use synthdev::domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev::domain::source_location::SourceLocation;
use synthdev::language::graph::WorkflowGraph;
use synthdev::language::source::SourceFile;
use synthdev::service::session::{
    CatalogSymbols, ConfigReload, DefinitionRequest, DefinitionResponse, EditFile, EditFileKind,
    EditorCheckReport, EditorRequest, EditorResponse, EditorSaveError, EditorSimulatedRun, NewEditFile,
    NewFileRequest, NewFileTemplate, NewFileTemplates, OpenedEditFile, ProjectRequest, ProjectResponse,
    RoleLine, SavedEditFile, SessionRequest, SessionResponse, ToolSymbol, UntrustedDefinitions, WorkflowLine,
};
use synthdev::settings::catalog::{ConfigCatalog, ConfigSources};
use synthdev::tui::editor::{DefinitionEditor, EditorScreen};

use super::*;

const NAME: &str = ".synthdev/workflows/mine.json";
const TEXT: &str = "{\n  \"workflow_name\": \"mine\",\n  \"states\": [\n    { \"name\": \"start\", \"transition\": [{ \"target\": \"stop\" }] }\n  ]\n}\n";

pub(super) fn file(layer: ConfigLayer) -> EditFile {
    let name = if layer == ConfigLayer::BuiltIn { "built-in:workflows/mine.json" } else { NAME };
    EditFile {
        name: name.into(),
        layer,
        file_kind: EditFileKind::Workflow,
        definition_names: vec!["mine".into()],
        problem: None,
    }
}

fn catalog_symbols() -> CatalogSymbols {
    let tool =
        ToolSymbol { name: "read_file".into(), description: "reads".into(), arguments: vec!["path".into()] };
    CatalogSymbols {
        roles: vec![("coder".into(), "writes code".into())],
        tools: vec![tool],
        ..CatalogSymbols::default()
    }
}

pub(super) fn send_editor_reply(desk: &mut TuiHarness, told: EditorResponse) {
    let number = desk.model.edits;
    desk.send_message(UiMessage::Answered(SessionResponse::Editor(number, told)));
}

fn take_editor_requests(desk: &mut TuiHarness) -> Vec<EditorRequest> {
    let only =
        |cmd| if let UiCommand::Ask(SessionRequest::Editor(_, asked)) = cmd { Some(*asked) } else { None };
    desk.take_commands().into_iter().filter_map(only).collect()
}

pub(super) fn open_in_layer(layer: ConfigLayer, text: &str) -> TuiHarness {
    open_file(file(layer), text)
}

pub(super) fn open_file(file: EditFile, text: &str) -> TuiHarness {
    let mut desk = TuiHarness::new();
    let name = file.definition_names[0].clone();
    desk.line(&format!("/edit {name}"));
    assert_eq!(take_editor_requests(&mut desk), [EditorRequest::Open { name, in_external_editor: false }]);
    let opened =
        OpenedEditFile { file, text: text.into(), symbols: catalog_symbols(), in_external_editor: false };
    send_editor_reply(&mut desk, EditorResponse::Opened(Ok(Box::new(opened))));
    desk
}

pub(super) fn opened_editor() -> TuiHarness {
    let mut desk = open_in_layer(ConfigLayer::Project, TEXT);
    answer_check(&mut desk);
    desk
}

fn editor(desk: &TuiHarness) -> &DefinitionEditor {
    match &desk.model.edit {
        Some(EditorScreen::Text(editor)) => editor,
        other => panic!("no editor: {other:?}"),
    }
}

fn text(desk: &TuiHarness) -> String {
    editor(desk).buffer.text()
}

/// Answers the check that was asked for as the program would, and those that follow; how many.
pub(super) fn answer_check(desk: &mut TuiHarness) -> usize {
    answer_check_of(desk, &ConfigCatalog::load(ConfigSources::default(), Vec::new()))
}

/// The same with the roles and tools of a catalog.
pub(super) fn answer_check_of(desk: &mut TuiHarness, catalog: &ConfigCatalog) -> usize {
    let mut count = 0;
    while let Some(EditorRequest::Check { file, text, version }) = take_check_request(desk) {
        count += 1;
        let source = SourceFile::new(file.layer, file.name, text);
        let report = match catalog.check_file(&source) {
            Ok((programs, findings)) => {
                let graphs =
                    programs.iter().flat_map(|program| WorkflowGraph::with_children(program, 0, false));
                EditorCheckReport { findings, graphs: graphs.map(|(_, graph)| graph).collect(), sketch: None }
            }
            Err(findings) => {
                let sketch = WorkflowGraph::from_broken_text(&source.text);
                EditorCheckReport { findings, graphs: Vec::new(), sketch }
            }
        };
        send_editor_reply(desk, EditorResponse::Checked { version, report: Box::new(report) });
    }
    count
}

/// Takes the check out of what was asked for.
fn take_check_request(desk: &mut TuiHarness) -> Option<EditorRequest> {
    let is_check = |cmd: &UiCommand| matches!(cmd, UiCommand::Ask(SessionRequest::Editor(_, asked)) if matches!(**asked, EditorRequest::Check { .. }));
    let at = desk.commands.iter().position(is_check)?;
    match desk.commands.remove(at) {
        UiCommand::Ask(SessionRequest::Editor(_, asked)) => Some(*asked),
        _ => None,
    }
}

fn take_save_request(desk: &mut TuiHarness) -> (String, bool) {
    let mut all = take_editor_requests(desk);
    match all.pop() {
        Some(EditorRequest::Save { text, overwrite: replace, version, .. }) if all.is_empty() => {
            let note = "saved mine".to_owned();
            let shown = text.to_string();
            send_editor_reply(
                desk,
                EditorResponse::Saved(Ok(SavedEditFile { version, text, message: note })),
            );
            (shown, replace)
        }
        other => panic!("not saved: {other:?} {all:?}"),
    }
}

#[test]
fn files_are_listed_and_chosen_by_what_is_typed() {
    let mut desk = TuiHarness::new();
    desk.line("/edit");
    assert_eq!(take_editor_requests(&mut desk), [EditorRequest::Files]);
    let role = EditFile {
        name: "user:roles/own.json".into(),
        layer: ConfigLayer::User,
        file_kind: EditFileKind::Role,
        definition_names: vec!["poet".into()],
        problem: Some("3:5: error[C04]: unknown key".into()),
    };
    send_editor_reply(
        &mut desk,
        EditorResponse::Files(Ok(vec![file(ConfigLayer::Project), role, file(ConfigLayer::BuiltIn)])),
    );
    desk.check_frames("editor_files");
    desk.type_text("poe");
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("own.json") && !screen.contains("mine.json"), "{screen}");
    desk.key(KeyCode::Enter);
    assert_eq!(
        take_editor_requests(&mut desk),
        [EditorRequest::Open { name: "user:roles/own.json".into(), in_external_editor: false }]
    );
    desk.key(KeyCode::Esc);
    assert!(desk.model.edit.is_none());
    // an answer that comes after that is nobody's
    desk.line("/edit x");
    desk.line("/edit y");
    let late = desk.model.edits - 1;
    desk.send_message(UiMessage::Answered(SessionResponse::Editor(
        late,
        EditorResponse::Files(Ok(Vec::new())),
    )));
    assert!(desk.model.edit.is_none());
    send_editor_reply(&mut desk, EditorResponse::Opened(Err("there is no workflow and no role y".into())));
    assert!(desk.draw_screen(80, 24).contains("there is no workflow and no role y"));
}

#[test]
fn names_of_both_kinds_are_completed() {
    let mut desk = TuiHarness::new();
    let workflow = WorkflowLine { name: "mine".into(), ..WorkflowLine::default() };
    let role = RoleLine { name: "poet".into(), ..RoleLine::default() };
    desk.type_text("/edit ");
    assert_eq!(desk.take_commands().pop(), Some(UiCommand::ask(DefinitionRequest::Names)));
    desk.send_message(UiMessage::answered(DefinitionResponse::Names {
        workflows: vec![workflow],
        roles: vec![role],
    }));
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("mine") && screen.contains("poet"), "{screen}");
}

#[test]
fn a_text_is_broken_told_with_its_place_and_repaired() {
    let mut desk = opened_editor();
    desk.check_frames("editor_fine");
    // the target is another one now
    desk.press_control('f').type_text("stop").key(KeyCode::Enter).key(KeyCode::Delete).type_text("sh");
    assert!(text(&desk).contains("\"target\": \"shtop\""), "{}", text(&desk));
    answer_check(&mut desk);
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("1 error") && screen.contains("shtop"), "{screen}");
    assert!(screen.contains("✗  4"), "{screen}");
    desk.key(KeyCode::F(4));
    desk.check_frames("editor_broken");
    desk.key(KeyCode::F(4));
    // from anywhere to the finding, which is shown wherever the cursor is
    for end in [KeyCode::Home, KeyCode::End] {
        desk.press_key(end, KeyModifiers::CONTROL);
        let screen = desk.draw_screen(80, 24);
        assert!(screen.contains("✗ 4:"), "{screen}");
    }
    desk.press_key(KeyCode::Home, KeyModifiers::CONTROL).key(KeyCode::F(8));
    assert_eq!(editor(&desk).buffer.cursor().0, 3);
    desk.press_control('s');
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("save it with errors? y saves it"), "{screen}");
    assert_eq!(take_editor_requests(&mut desk), []);
    desk.key(KeyCode::Esc);
    for _ in 0..3 {
        desk.press_control('z');
    }
    assert_eq!(text(&desk), TEXT);
    answer_check(&mut desk);
    assert!(desk.draw_screen(80, 24).contains("nothing wrong"));
}

#[test]
fn newest_text_is_checked_one_at_a_time() {
    let mut desk = open_in_layer(ConfigLayer::Project, TEXT);
    desk.type_text("abc");
    // one is on its way: nothing more is asked until it is there
    let first = take_editor_requests(&mut desk);
    assert!(matches!(&first[..], [EditorRequest::Check { version: 0, .. }]), "{first:?}");
    send_editor_reply(&mut desk, EditorResponse::Checked { version: 0, report: Box::default() });
    let next = take_editor_requests(&mut desk);
    assert!(matches!(&next[..], [EditorRequest::Check { version: 3, .. }]), "{next:?}");
    desk.key(KeyCode::Right);
    assert_eq!(take_editor_requests(&mut desk), []);
}

#[test]
fn sound_texts_are_saved_and_broken_ones_only_if_that_is_meant() {
    let mut desk = opened_editor();
    desk.press_control('s');
    assert!(desk.draw_screen(80, 24).contains("nothing to save"));
    desk.type_text(" ").press_control('s');
    // it is not known yet whether it is right
    assert_eq!(answer_check(&mut desk), 1);
    assert_eq!(take_save_request(&mut desk), (format!(" {TEXT}"), false));
    assert!(desk.draw_screen(80, 24).contains("saved mine"));
    assert!(!editor(&desk).is_changed());
    assert_eq!(
        desk.take_commands(),
        [UiCommand::ask(DefinitionRequest::Names), UiCommand::ask(ProjectRequest::Status)]
    );
    desk.type_text("x").press_control('s');
    answer_check(&mut desk);
    desk.answer('n');
    assert!(editor(&desk).prompt.is_none() && take_editor_requests(&mut desk).is_empty());
    desk.press_control('s').answer('y');
    assert_eq!(take_save_request(&mut desk), (format!(" x{TEXT}"), false));
}

/// What is typed while a question of the editor appears goes to the text, and answers nothing.
#[test]
fn a_key_of_before_answers_no_question_of_the_editor() {
    let conflict = |desk: &mut TuiHarness| {
        desk.type_text(" ").press_control('s');
        answer_check(desk);
        take_editor_requests(desk);
        send_editor_reply(desk, EditorResponse::Saved(Err(EditorSaveError::Changed("{}".into()))));
    };
    let check = |ask: &dyn Fn(&mut TuiHarness), question: &str, letter: char| {
        let mut desk = opened_editor();
        ask(&mut desk);
        let before = text(&desk);
        let typed =
            |desk: &TuiHarness, words: &str| format!("{}{words}{}", &before[..1], &before[1..]) == text(desk);
        let is_open = |desk: &mut TuiHarness, words: &str| {
            let screen = desk.draw_screen(80, 24);
            assert!(screen.contains(question) && typed(desk, words), "{question} {words}: {screen}");
            answer_check(desk);
            assert_eq!(take_editor_requests(desk), [], "{question} {words}");
            screen
        };
        // before the first frame, at once after it, in the middle of a word
        desk.press_before_seen(KeyCode::Char(letter), KeyModifiers::NONE);
        let screen = is_open(&mut desk, &letter.to_string());
        assert!(screen.contains("this went to your text: Backspace, then answer"), "{screen}");
        desk.advance_clock(550).press_before_seen(KeyCode::Char(letter), KeyModifiers::NONE);
        desk.press_before_seen(KeyCode::Esc, KeyModifiers::NONE);
        is_open(&mut desk, &letter.to_string().repeat(2));
        desk.send_message(UiMessage::Paste("pasted".into()));
        is_open(&mut desk, &format!("{letter}{letter}pasted"));
        // a letter that answers nothing begins a word
        desk.key(KeyCode::Char('w')).press_before_seen(KeyCode::Char(letter), KeyModifiers::NONE);
        is_open(&mut desk, &format!("{letter}{letter}pastedw{letter}"));
        // it is none of an answer, however late the next letter comes
        desk.advance_clock(9_000).answer(letter);
        is_open(&mut desk, &format!("{letter}{letter}pastedw{letter}{letter}"));
        // Backspace takes back what was typed since the paste, an empty line as well
        desk.press_before_seen(KeyCode::Enter, KeyModifiers::NONE).key(KeyCode::Backspace);
        is_open(&mut desk, &format!("{letter}{letter}pasted"));
        desk.key(KeyCode::Char(letter));
        let screen = desk.draw_screen(80, 24);
        assert!(screen.contains(&format!("▸ {letter} ")) && screen.contains("Enter confirms"), "{screen}");
        // a paste takes it back
        desk.send_message(UiMessage::Paste("more".into())).key(KeyCode::Enter);
        is_open(&mut desk, &format!("{letter}{letter}pasted{letter}more"));
        desk.key(KeyCode::Backspace).answer(letter);
        let screen = desk.draw_screen(80, 24);
        assert!(!screen.contains(question), "{letter} is an answer now: {screen}");
    };
    let typed_on = |desk: &mut TuiHarness| {
        // a key behind Ctrl+S changed the text: the next one may be for it, too
        desk.type_text("xx").press_control('s').key(KeyCode::Backspace);
        answer_check(desk);
    };
    check(&typed_on, "save it with errors?", 'y');
    check(&typed_on, "save it with errors?", 'n');
    check(&conflict, "changed by another program", 'o');
    check(&conflict, "changed by another program", 'r');
}

/// The user's own key opened it: the next ones are meant for it, however fast they come.
#[test]
fn a_question_that_a_key_opens_takes_keys_at_once() {
    let check = |typed: &str, keys: &[KeyCode], is_closed: bool, saves: usize| {
        let mut desk = opened_editor();
        desk.type_text(typed);
        let before = text(&desk);
        for key in keys {
            let modifiers =
                if *key == KeyCode::Char('s') { KeyModifiers::CONTROL } else { KeyModifiers::NONE };
            desk.press_before_seen(*key, modifiers);
            answer_check(&mut desk);
        }
        let saved = take_editor_requests(&mut desk);
        let saved = saved.iter().filter(|asked| matches!(asked, EditorRequest::Save { .. })).count();
        assert_eq!((desk.model.edit.is_none(), saved), (is_closed, saves), "{typed} {keys:?}");
        if !is_closed {
            assert_eq!(text(&desk), before, "{typed} {keys:?}");
        }
    };
    let (save, yes, no) = (KeyCode::Char('s'), KeyCode::Char('y'), KeyCode::Char('n'));
    check("x", &[save, yes, KeyCode::Enter], false, 1);
    check("x", &[save, no, KeyCode::Enter], false, 0);
    check(" ", &[KeyCode::Esc, no, KeyCode::Enter], true, 0);
    check(" ", &[KeyCode::Esc, yes, KeyCode::Enter], false, 1);
    check("x", &[KeyCode::Esc, yes, KeyCode::Enter, yes, KeyCode::Enter], false, 1);
}

#[test]
fn a_finding_is_chosen_in_the_list_and_read_to_its_end() {
    let states = "{ \"name\": \"start\", \"transition\": [{ \"target\": \"a_state_that_was_renamed_since_then\" }] },\n    \
        { \"name\": \"a_state_that_was_renamed_since\", \"transition\": [{ \"target\": \"shtop\" }] }";
    let broken = format!("{{\n  \"workflow_name\": \"mine\",\n  \"states\": [\n    {states}\n  ]\n}}\n");
    let mut desk = open_in_layer(ConfigLayer::Project, &broken);
    answer_check(&mut desk);
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("F4: all of it"), "{screen}");
    desk.key(KeyCode::F(4));
    let screen = desk.draw_screen(80, 24);
    let words: Vec<&str> = screen.split_whitespace().collect();
    let whole = "→ known: start, a_state_that_was_renamed_since, stop";
    assert!(words.join(" ").contains(whole), "no `{whole}` in {screen}");
    assert!(screen.contains("↑↓ choose · Enter goes there") && !screen.contains("all of it"), "{screen}");
    let line = |desk: &TuiHarness| editor(desk).buffer.cursor().0 + 1;
    desk.key(KeyCode::Down);
    assert_eq!(line(&desk), 5);
    desk.key(KeyCode::Down).key(KeyCode::Up);
    assert_eq!((line(&desk), editor(&desk).list), (4, Some(0)));
    desk.press_key(KeyCode::End, KeyModifiers::CONTROL).key(KeyCode::Enter);
    assert_eq!((line(&desk), editor(&desk).list), (4, None));
    assert_eq!(text(&desk), broken, "nothing was typed");
}

/// What is wrong with a saved file and what is used in its place is read to its end, on every size.
#[test]
fn a_long_note_takes_the_rows_that_it_needs() {
    let note = "saved user:workflows/greet.json with 2 errors: greet is the one of built-in:workflows/greet.json \
                until they are mended (line 12: the target `sxtop` of a transition is no state of this workflow; \
                did you mean `stop`?)";
    let mut desk = opened_editor();
    desk.type_text(" ").press_control('s');
    answer_check(&mut desk);
    take_editor_requests(&mut desk);
    let saved = SavedEditFile { version: 1, text: TEXT.into(), message: note.to_owned() };
    send_editor_reply(&mut desk, EditorResponse::Saved(Ok(saved)));
    for (width, height) in [(200, 50), (80, 24), (60, 20)] {
        let screen = desk.draw_screen(width, height);
        let words: Vec<&str> = screen.split_whitespace().collect();
        assert!(words.join(" ").contains(note), "{width}×{height}: {screen}");
        assert!(screen.contains("\"workflow_name\""), "{width}×{height}: {screen}");
    }
    // what has no room is marked
    assert!(desk.draw_screen(40, 10).contains('…'));
    desk.key(KeyCode::Right);
    assert!(!desk.draw_screen(80, 24).contains("did you mean"));
}

#[test]
fn a_file_that_others_changed_is_not_written_over_unasked() {
    let mut desk = opened_editor();
    desk.type_text(" ").press_control('s');
    answer_check(&mut desk);
    assert!(
        matches!(&take_editor_requests(&mut desk)[..], [EditorRequest::Save { base: Some(base), .. }] if **base == *TEXT)
    );
    send_editor_reply(&mut desk, EditorResponse::Saved(Err(EditorSaveError::Changed("{}".into()))));
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("o overwrites it · r reads it again"), "{screen}");
    let narrow = desk.draw_screen(60, 20);
    assert!(narrow.contains("ASK  o overwrites it · r reads it again · Esc goes on"), "{narrow}");
    desk.answer('o');
    assert_eq!(take_save_request(&mut desk), (format!(" {TEXT}"), true));
    desk.type_text(" ").press_control('s');
    answer_check(&mut desk);
    take_editor_requests(&mut desk);
    send_editor_reply(&mut desk, EditorResponse::Saved(Err(EditorSaveError::Changed("{}".into()))));
    desk.answer('r');
    assert_eq!((text(&desk).as_str(), editor(&desk).is_changed()), ("{}", false));
    desk.press_control('z');
    assert_eq!(text(&desk), format!("  {TEXT}"));
}

#[test]
fn shipped_files_become_copies() {
    for (key, expected) in [('p', ".synthdev/workflows/mine.json"), ('u', "user:workflows/mine.json")] {
        let mut desk = open_in_layer(ConfigLayer::BuiltIn, TEXT);
        answer_check(&mut desk);
        desk.press_control('s');
        assert!(desk.draw_screen(80, 24).contains("p in this project · u in every project"));
        desk.answer(key);
        answer_check(&mut desk);
        let all = take_editor_requests(&mut desk);
        let [EditorRequest::Save { file, base: None, .. }] = &all[..] else { panic!("{all:?}") };
        assert_eq!(file.name, expected);
    }
}

#[test]
fn changes_are_not_left_behind_unasked() {
    let mut desk = opened_editor();
    desk.type_text(" ").key(KeyCode::Esc);
    assert!(desk.draw_screen(80, 24).contains("save it before leaving? y saves it"));
    let narrow = desk.draw_screen(60, 20);
    assert!(
        narrow.contains("save it before leaving?")
            && narrow.contains("y saves it · n discards it · then Enter · Esc goes on"),
        "{narrow}"
    );
    desk.key(KeyCode::Esc).type_text(" ").press_control('q');
    desk.answer('y');
    answer_check(&mut desk);
    take_save_request(&mut desk);
    assert!(desk.model.edit.is_none());
    assert!(desk.draw_screen(80, 24).contains("saved mine"));
    let mut desk = opened_editor();
    desk.type_text(" ").press_control('q').answer('n');
    assert!(desk.model.edit.is_none());
    let mut desk = opened_editor();
    desk.key(KeyCode::Esc);
    assert!(desk.model.edit.is_none());
}

#[test]
fn a_text_as_it_was_saved_is_not_changed() {
    let check = |text: &str| {
        let mut desk = open_in_layer(ConfigLayer::Project, text);
        let is_told = |desk: &mut TuiHarness| desk.draw_screen(80, 24).contains("· changed");
        desk.type_text("x");
        assert!(is_told(&mut desk), "{text:?}");
        desk.press_control('z');
        assert!(!is_told(&mut desk), "{text:?}");
        desk.press_control('y');
        assert!(is_told(&mut desk), "{text:?}");
        // by hand, too; and it is left unasked
        desk.key(KeyCode::Backspace);
        assert!(!is_told(&mut desk), "{text:?}");
        desk.key(KeyCode::Esc);
        assert!(desk.model.edit.is_none(), "{text:?}");
    };
    for text in [TEXT, "{}", "{\r\n}\r\n", "{\n}\r\n"] {
        check(text);
    }
    // what a save has written is what counts then
    let mut desk = opened_editor();
    desk.type_text(" ").press_control('s');
    answer_check(&mut desk);
    take_save_request(&mut desk);
    desk.press_control('z');
    assert!(editor(&desk).is_changed());
}

#[test]
fn what_fits_is_offered_and_described() {
    let mut desk = opened_editor();
    desk.press_key(KeyCode::End, KeyModifiers::CONTROL).key(KeyCode::Up).key(KeyCode::Up).key(KeyCode::End);
    desk.type_text(",").key(KeyCode::Enter).press_control(' ').type_text("li");
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("limits") && screen.contains("How far a run may go"), "{screen}");
    desk.key(KeyCode::Enter).type_text("{}");
    assert!(text(&desk).contains("],\n  \"limits\": {}\n}"), "{}", text(&desk));
    desk.key(KeyCode::Left).press_control(' ');
    desk.check_frames("editor_offer");
    desk.key(KeyCode::Esc).key(KeyCode::F(2));
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("limits: How far a run may go before it pauses"), "{screen}");
    desk.key(KeyCode::Esc).key(KeyCode::F(1));
    desk.check_frames("editor_keys");
    desk.key(KeyCode::Esc);
    assert!(desk.model.key_help.is_none());
    // what is typed over the list goes on in the text
    let before = text(&desk);
    desk.key(KeyCode::F(1)).type_text("xy");
    assert_eq!(text(&desk).len(), before.len() + 2);
}

#[test]
fn keys_of_an_editor_do_what_they_do_everywhere() {
    let check = |keys: &[(KeyCode, KeyModifiers)], expected: &str| {
        let mut desk = open_in_layer(ConfigLayer::Project, "one two\nthree");
        for (code, modifiers) in keys {
            desk.press_key(*code, *modifiers);
        }
        assert_eq!(text(&desk), expected, "{keys:?}");
    };
    let (plain, control, shift) = (KeyModifiers::NONE, KeyModifiers::CONTROL, KeyModifiers::SHIFT);
    let letter = |c: char| KeyCode::Char(c);
    check(&[(KeyCode::Right, control), (letter('w'), control)], "two\nthree");
    check(&[(KeyCode::End, plain), (KeyCode::Delete, plain)], "one twothree");
    check(
        &[
            (KeyCode::Right, control | shift),
            (letter('x'), control),
            (KeyCode::End, plain),
            (letter('v'), control),
        ],
        "twoone \nthree",
    );
    check(&[(letter('a'), control), (letter('x'), control)], "");
    check(&[(letter('é'), plain), (letter('z'), control)], "one two\nthree");
    check(&[(letter('é'), plain), (letter('z'), control), (letter('y'), control)], "éone two\nthree");
    check(&[(KeyCode::Tab, plain), (KeyCode::Backspace, plain)], "one two\nthree");
    check(&[(KeyCode::PageDown, plain), (letter('!'), plain)], "one two\n!three");
}

#[test]
fn a_selection_goes_to_the_clipboard_and_pastes_come_in_whole() {
    let mut desk = open_in_layer(ConfigLayer::Project, "one two");
    desk.press_key(KeyCode::Right, KeyModifiers::CONTROL | KeyModifiers::SHIFT).press_control('c');
    assert_eq!(desk.take_commands().pop(), Some(UiCommand::Copy("one ".into())));
    desk.key(KeyCode::End).send_message(UiMessage::Paste("\r\nthree\rfour".into()));
    assert_eq!(text(&desk), "one two\nthree\nfour");
    desk.send_message(UiMessage::Paste("x".repeat(1 << 20)));
    assert!(desk.draw_screen(80, 24).contains("up to 1 MB"));
    assert_eq!(text(&desk), "one two\nthree\nfour");
}

#[test]
fn another_editor_gets_the_text_and_gives_it_back() {
    let mut desk = opened_editor();
    desk.type_text(" ").press_control('o');
    let external = desk.take_commands().pop();
    let Some(UiCommand::External { number, name, text: handed }) = external else { panic!("{external:?}") };
    assert_eq!((name.as_str(), &*handed), ("mine.json", format!(" {TEXT}").as_str()));
    send_editor_reply(&mut desk, EditorResponse::Checked { version: 1, report: Box::default() });
    desk.send_message(UiMessage::Answered(SessionResponse::Editor(
        number,
        EditorResponse::EditedOutside(Ok("{}".into())),
    )));
    assert_eq!(text(&desk), "{}");
    assert!(editor(&desk).is_changed() && desk.model.needs_repaint);
    assert_eq!(answer_check(&mut desk), 1);
    desk.send_message(UiMessage::Answered(SessionResponse::Editor(
        number,
        EditorResponse::EditedOutside(Err("your editor (vi) could not be used".into())),
    )));
    assert!(desk.draw_screen(80, 24).contains("your editor (vi) could not be used"));
    let mut desk = TuiHarness::new();
    desk.line("/edit --external mine");
    assert_eq!(
        take_editor_requests(&mut desk),
        [EditorRequest::Open { name: "mine".into(), in_external_editor: true }]
    );
    let opened = OpenedEditFile {
        file: file(ConfigLayer::Project),
        text: TEXT.into(),
        symbols: catalog_symbols(),
        in_external_editor: true,
    };
    send_editor_reply(&mut desk, EditorResponse::Opened(Ok(Box::new(opened))));
    assert!(matches!(desk.take_commands().pop(), Some(UiCommand::External { .. })));
}

#[test]
fn a_workflow_that_is_broken_from_the_beginning_has_a_graph() {
    let broken = r#"{"workflow_name": "mine", "states": [
        {"name": "start", "agent": "coder", "transition": [{"target": "look"}]},
        {"name": "look", "type": "pause", "message": "ok?", "transition": [{"target": "nowhere"}]}]}"#;
    let mut desk = open_in_layer(ConfigLayer::Project, broken);
    answer_check(&mut desk);
    let screen = desk.draw_screen(120, 36);
    for part in ["│ as far as it can be read", "start", "look", "F5 simulate"] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    assert!(!editor(&desk).graph_list.as_ref().unwrap().is_empty());
    assert!(desk.draw_screen(80, 24).contains("F5 simulate"));
}

#[test]
fn a_question_of_a_run_waits_behind_the_editor() {
    let mut desk = opened_editor();
    desk.run_event("r1", workflow_started("mine", "x"))
        .run_event("r1", approval_event(1, "write_file", ToolPreview::Text { text: "x".into() }));
    let screen = desk.draw_screen(120, 40);
    assert!(screen.contains("1 question wait"), "{screen}");
    desk.type_text("y");
    assert!(text(&desk).starts_with('y'), "{}", text(&desk));
}

#[test]
fn changed_files_are_told_and_a_changed_project_is_asked_about_first() {
    let mut desk = TuiHarness::new();
    let found =
        ConfigReload { problems: vec!["user:settings.json:1:1: error[C01]: broken".into()], question: None };
    desk.send_message(UiMessage::Answered(SessionResponse::Reloaded { reload: found, held_request: None }));
    assert!(desk.draw_screen(80, 24).contains("error[C01]: broken"));
    let question = Some(UntrustedDefinitions { files: vec![NAME.into()], changes: "+ a line".into() });
    let then = Some(Box::new(DefinitionRequest::ChooseWorkflow("mine".into()).into()));
    desk.send_message(UiMessage::Answered(SessionResponse::Reloaded {
        reload: ConfigReload { problems: Vec::new(), question },
        held_request: then,
    }));
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("Trust this project's definitions?") && screen.contains("+ a line"), "{screen}");
    desk.advance_clock(1_000).answer('y');
    assert_eq!(desk.take_commands().pop(), Some(UiCommand::ask(ProjectRequest::Trust(true))));
    desk.send_message(UiMessage::answered(ProjectResponse::Trusted {
        trusted: true,
        result: Ok(Vec::new()),
    }));
    assert_eq!(
        desk.take_commands(),
        [
            UiCommand::ask(ProjectRequest::Status),
            UiCommand::ask(DefinitionRequest::ChooseWorkflow("mine".into()))
        ]
    );
}

#[test]
fn odd_texts_fit_every_screen() {
    let long = format!("{{\"a\": \"{}\"}}", "x".repeat(200_000));
    let odd = "\u{1b}[31m\t\"日本語\": \u{202e}1,\r /* open\n\u{feff}é\u{301}";
    let findings = |text: &str| -> Vec<Diagnostic> {
        let at = |line: usize, column: usize| Diagnostic {
            code: "E01".into(),
            severity: DiagnosticSeverity::Error,
            message: "odd \u{1b}[2J".repeat(20),
            place: SourceLocation { file: NAME.into(), line, column },
            span: 0..text.len(),
            hint: None,
        };
        vec![at(0, 0), at(1, 1), at(9_999, 9_999)]
    };
    for text in ["", TEXT, long.as_str(), odd, "\n\n\n", "[[[["] {
        let mut desk = open_in_layer(ConfigLayer::Project, text);
        let report = EditorCheckReport { findings: findings(text), ..EditorCheckReport::default() };
        send_editor_reply(&mut desk, EditorResponse::Checked { version: 0, report: Box::new(report) });
        for keys in [KeyCode::F(4), KeyCode::End, KeyCode::Down, KeyCode::F(8), KeyCode::F(2), KeyCode::F(1)]
        {
            desk.key(keys);
            for (width, height) in [(80, 24), (20, 5), (3, 2), (1, 1), (300, 80), (0, 0)] {
                let screen = desk.draw_screen(width, height);
                assert!(!screen.contains('\u{1b}') && !screen.contains('\u{202e}'), "{screen:?}");
            }
        }
        desk.press_control(' ').press_control('f').type_text("é").key(KeyCode::Enter).press_control('z');
        desk.draw_screen(20, 5);
    }
    let mut desk = TuiHarness::new();
    desk.line("/edit");
    send_editor_reply(&mut desk, EditorResponse::Files(Ok(vec![file(ConfigLayer::User)])));
    desk.draw_screen(20, 5);
    desk.draw_screen(1, 1);
}

#[test]
fn what_is_looked_for_is_seen_and_the_cursor_stays_on_small_screens() {
    for (width, height, seen) in
        [(80, 24, true), (30, 3, true), (30, 2, true), (30, 1, true), (1, 1, false), (9, 0, false)]
    {
        let mut desk = open_in_layer(ConfigLayer::Project, TEXT);
        desk.press_control('f').type_text("added");
        let screen = desk.draw_screen(width, height);
        assert_eq!(screen.lines().any(|row| row.starts_with("find: added")), seen, "{screen}");
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| view::draw_screen(&desk.model, frame)).unwrap();
        let cursor = terminal.get_cursor_position().unwrap();
        let inside = cursor.x < width.max(1) && cursor.y < height.max(1);
        assert!(inside || !terminal.backend().cursor_visible(), "{cursor} of {width}×{height}");
    }
}

#[test]
fn texts_of_a_megabyte_are_edited_and_larger_ones_are_not() {
    let line = "  \"key\": [1, 2, {\"a\": \"b\"}],\n";
    let mut desk = open_in_layer(ConfigLayer::Project, &line.repeat(30_000));
    desk.press_key(KeyCode::End, KeyModifiers::CONTROL).type_text("x").press_control('z');
    assert!(desk.draw_screen(80, 24).contains("30001"));
    let mut desk = TuiHarness::new();
    desk.line("/edit mine");
    let text: Arc<str> = line.repeat(40_000).into();
    let opened = OpenedEditFile {
        file: file(ConfigLayer::Project),
        text,
        symbols: catalog_symbols(),
        in_external_editor: false,
    };
    send_editor_reply(&mut desk, EditorResponse::Opened(Ok(Box::new(opened))));
    assert!(desk.model.edit.is_none());
    assert!(desk.draw_screen(80, 24).contains("larger than 1 MB"));
}

pub(super) fn patterns() -> NewFileTemplates {
    let pattern = |what: EditFileKind, name: &str, about: &str, from: Option<&str>| NewFileTemplate {
        file_kind: what,
        name: name.into(),
        description: about.into(),
        copied_from: from.map(str::to_owned),
    };
    let list = vec![
        pattern(EditFileKind::Workflow, "chain", "agents one after the other", None),
        pattern(EditFileKind::Workflow, "approval", "a plan that you agree to", None),
        pattern(
            EditFileKind::Workflow,
            "coder_reviewer",
            "a coder and a reviewer",
            Some("built-in:workflows/x.json"),
        ),
        pattern(EditFileKind::Role, "poet", "writes verse", Some("built-in:roles/core.json")),
    ];
    NewFileTemplates { list, project: true }
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story from its beginning to its end, or one table")]
fn a_new_file_begins_with_a_pattern_and_a_name_that_is_free() {
    let mut desk = TuiHarness::new();
    desk.line("/edit");
    assert_eq!(take_editor_requests(&mut desk), [EditorRequest::Files]);
    send_editor_reply(&mut desk, EditorResponse::Files(Ok(vec![file(ConfigLayer::Project)])));
    desk.press_control('n');
    assert_eq!(take_editor_requests(&mut desk), [EditorRequest::Patterns]);
    send_editor_reply(&mut desk, EditorResponse::Patterns(Ok(patterns())));
    desk.check_frames("editor_new");
    desk.type_text("appr").key(KeyCode::Enter).type_text("mine");
    desk.check_frames("editor_naming");
    let wish = |name: &str, layer| {
        EditorRequest::Begin(NewFileRequest { pattern: patterns().list[1].clone(), name: name.into(), layer })
    };
    desk.key(KeyCode::Enter).key(KeyCode::Enter);
    assert_eq!(take_editor_requests(&mut desk), [wish("mine", ConfigLayer::Project)], "asked once");
    send_editor_reply(
        &mut desk,
        EditorResponse::Begun(Err(".synthdev/workflows/mine.json is already there".into())),
    );
    assert!(desk.draw_screen(80, 24).contains("✗ .synthdev/workflows/mine.json is already there"));
    // a long reason is read to its end, and so are the keys
    let long =
        "`a b` cannot be the name of a workflow\nhint: up to 64 letters, digits, _ and - and nothing else";
    desk.key(KeyCode::Enter);
    take_editor_requests(&mut desk);
    send_editor_reply(&mut desk, EditorResponse::Begun(Err(long.into())));
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("and nothing else") && screen.contains("Ctrl+U clears · Esc back"), "{screen}");
    for columns in 40..90 {
        let screen = desk.draw_screen(columns, 24);
        let words: Vec<&str> = screen.split_whitespace().collect();
        assert!(words.join(" ").contains("up to 64 letters, digits, _ and - and"), "{columns}: {screen}");
    }
    desk.press_control('u').type_text("mine2").key(KeyCode::Tab);
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("Ctrl+U clears · Esc back"), "{screen}");
    assert!(screen.contains("user:workflows/mine2.json") && !screen.contains("already there"), "{screen}");
    desk.key(KeyCode::Enter);
    assert_eq!(take_editor_requests(&mut desk), [wish("mine2", ConfigLayer::User)]);
    let made = EditFile {
        name: "user:workflows/mine2.json".into(),
        layer: ConfigLayer::User,
        ..file(ConfigLayer::User)
    };
    let opened = OpenedEditFile {
        file: made,
        text: TEXT.into(),
        symbols: catalog_symbols(),
        in_external_editor: false,
    };
    send_editor_reply(
        &mut desk,
        EditorResponse::Begun(Ok(Box::new(NewEditFile { file: opened, name_conflict: None }))),
    );
    answer_check(&mut desk);
    let screen = desk.draw_screen(120, 40);
    assert!(screen.contains("user:workflows/mine2.json · changed"), "it is not saved: {screen}");
    desk.press_control('q');
    assert!(desk.draw_screen(80, 24).contains("save it before leaving? y saves it"));
    desk.key(KeyCode::Esc).press_control('s');
    let all = take_editor_requests(&mut desk);
    let [EditorRequest::Save { base: None, overwrite: false, .. }] = all.as_slice() else {
        panic!("{all:?}")
    };
    // a name can be given with the command
    let mut desk = TuiHarness::new();
    desk.line("/edit --new verse");
    send_editor_reply(&mut desk, EditorResponse::Patterns(Ok(patterns())));
    desk.type_text("poet").key(KeyCode::Enter);
    assert!(desk.draw_screen(80, 24).contains(".synthdev/roles/verse.json"));
    desk.key(KeyCode::Esc).key(KeyCode::Esc);
    assert!(desk.model.edit.is_none());
}

fn simulated() -> EditorSimulatedRun {
    let path = ["start", "work", "review", "work", "review", "stop"];
    EditorSimulatedRun {
        workflow: "mine".into(),
        test_name: None,
        status: "completed".into(),
        path: path.iter().map(|&state| state.to_owned()).collect(),
        visits: vec![("start".into(), 1), ("work".into(), 2), ("review".into(), 2), ("stop".into(), 1)],
        calls: 4,
        is_skipped: false,
        problems: Vec::new(),
        notes: vec!["output: done\u{1b}[2J".into()],
    }
}

#[test]
fn the_text_is_simulated_as_it_stands() {
    let mut desk = opened_editor();
    desk.key(KeyCode::F(5));
    let all = take_editor_requests(&mut desk);
    let [EditorRequest::Simulate { version: 0, text, .. }] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!(&**text, TEXT);
    assert!(desk.draw_screen(120, 40).contains("simulating …"));
    desk.key(KeyCode::F(5));
    assert_eq!(take_editor_requests(&mut desk), [], "one at a time");
    let failed = EditorSimulatedRun {
        test_name: Some("the way back".into()),
        problems: vec!["path\n- review\n+ stop".into()],
        ..simulated()
    };
    send_editor_reply(
        &mut desk,
        EditorResponse::Simulated { version: 0, result: Ok(vec![simulated(), failed]) },
    );
    desk.check_frames("editor_simulated");
    let screen = desk.draw_screen(120, 40);
    for shown in
        ["path start > work > review", "work 2× · review 2×", "test the way back", "4 model calls, none sent"]
    {
        assert!(screen.contains(shown), "{shown}: {screen}");
    }
    // it is of the text before a change, until it is asked for again
    desk.key(KeyCode::End).type_text(" ");
    answer_check(&mut desk);
    assert!(desk.draw_screen(120, 40).contains("of the text before the last changes"));
    desk.key(KeyCode::F(5));
    assert!(matches!(
        take_editor_requests(&mut desk).as_slice(),
        [EditorRequest::Simulate { version: 1, .. }]
    ));
    // what comes late for an older text is nobody's
    send_editor_reply(&mut desk, EditorResponse::Simulated { version: 0, result: Err("late".into()) });
    assert!(desk.draw_screen(120, 40).contains("simulating …"));
    send_editor_reply(
        &mut desk,
        EditorResponse::Simulated { version: 1, result: Err("it cannot be read".into()) },
    );
    assert!(desk.draw_screen(120, 40).contains("it cannot be read"));
    // Esc closes it, and asks about leaving only then
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("Esc closes the simulation"), "{screen}");
    desk.key(KeyCode::Esc);
    assert!(editor(&desk).simulation.is_none() && editor(&desk).prompt.is_none());
    desk.key(KeyCode::F(4)).key(KeyCode::Esc);
    assert!(editor(&desk).list.is_none() && editor(&desk).prompt.is_none());
    desk.key(KeyCode::Esc);
    assert!(desk.draw_screen(80, 24).contains("save it before leaving? y saves it"));
    desk.key(KeyCode::Esc).key(KeyCode::F(5));
    take_editor_requests(&mut desk);
    // the graph comes back
    desk.key(KeyCode::F(6));
    assert!(desk.draw_screen(120, 40).contains("■ stop") && editor(&desk).simulation.is_none());
    // on every size
    desk.key(KeyCode::F(5));
    send_editor_reply(&mut desk, EditorResponse::Simulated { version: 1, result: Ok(vec![simulated()]) });
    for (width, height) in [(20, 5), (40, 10), (109, 12), (110, 8), (300, 80)] {
        desk.press_key(KeyCode::Down, KeyModifiers::ALT);
        desk.draw_screen(width, height);
    }
}

#[test]
fn what_has_errors_or_is_a_role_is_not_simulated() {
    let mut desk = opened_editor();
    desk.press_control('f').type_text("stop").key(KeyCode::Enter).key(KeyCode::Delete).type_text("sh");
    answer_check(&mut desk);
    desk.key(KeyCode::F(5));
    assert_eq!(take_editor_requests(&mut desk), []);
    assert!(desk.draw_screen(80, 24).contains("there are errors"));
}

#[test]
fn waits_of_the_editor_move() {
    let after = |desk: &mut TuiHarness, ms: i64| {
        let at = Timestamp(desk.model.now.0 + ms);
        desk.send_message(UiMessage::Tick(at)).draw_screen(120, 36)
    };
    let check = |begin: &dyn Fn() -> TuiHarness, waits: &str, end: &dyn Fn(&mut TuiHarness)| {
        let mut desk = begin();
        assert!(after(&mut desk, 0).contains(waits) && desk.model.needs_ticks(), "{waits}");
        let screen = after(&mut desk, 3_000);
        assert!(screen.contains(&format!("⠹ {waits} 3 s")), "{screen}");
        end(&mut desk);
        let screen = after(&mut desk, 10);
        assert!(!screen.contains(waits) && !desk.model.needs_ticks(), "{screen}");
    };
    check(&|| open_in_layer(ConfigLayer::Project, TEXT), "checking …", &|desk| {
        answer_check(desk);
    });
    let simulated = |desk: &mut TuiHarness| {
        send_editor_reply(desk, EditorResponse::Simulated { version: 0, result: Ok(vec![simulated()]) });
    };
    let simulates = || {
        let mut desk = opened_editor();
        desk.key(KeyCode::F(5));
        desk
    };
    check(&simulates, "simulating …", &simulated);
    let saves = || {
        let mut desk = opened_editor();
        desk.type_text(" ").press_control('s');
        answer_check(&mut desk);
        desk
    };
    let failed = |desk: &mut TuiHarness| {
        send_editor_reply(desk, EditorResponse::Saved(Err(EditorSaveError::Failed("no space".into()))));
    };
    check(&saves, "saving …", &failed);
}
