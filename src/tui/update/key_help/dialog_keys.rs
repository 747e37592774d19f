//! The keys of dialogs and lists that lie over the conversation, as F1 lists them. Refuses those of questions of a run.

use crate::editor::new_file::NewFilePicker;
use crate::editor::{EditorPrompt, EditorScreen};
use crate::key_help::KeyHelp;
use crate::setup::{SetupDialog, SetupStep};

type KeyMeaning = (&'static str, &'static str);

const CHOOSE: KeyMeaning = ("Up, Down", "the entry before, the next one");
const PAGE: KeyMeaning = ("PgUp, PgDn", "ten entries up, down");
const EDGES: KeyMeaning = ("Home, End", "the first, the last entry");
const LETTERS: KeyMeaning = ("letters", "narrow the list");
const CLEAR: KeyMeaning = ("Ctrl+U", "clears what is typed");

fn key_list(title: &str, keys: impl IntoIterator<Item = KeyMeaning>) -> KeyHelp {
    let rows = keys.into_iter().map(|(keys, about)| (keys.to_owned(), about.to_owned()));
    KeyHelp::new(format!("Keys of {title}"), rows.collect())
}

/// Those of the step that is asked.
pub fn setup_keys(setup: &SetupDialog) -> KeyHelp {
    let mut keys = vec![("Esc", "cancels: nothing is changed"), ("Ctrl+C", "the same; twice: leave")];
    if setup.waiting_for.is_some() {
        return key_list("this setup", keys);
    }
    match setup.step {
        SetupStep::Key => keys.extend([("Enter", "goes on with this key"), CLEAR]),
        SetupStep::Trial => keys.extend([
            ("Enter", "saves it once the model has answered"),
            ("t", "tries again"),
            ("s", "saves it as it is"),
        ]),
        SetupStep::Place | SetupStep::Model | SetupStep::Smart | SetupStep::Fast => {
            let typed = match setup.step {
                SetupStep::Place => ("letters", "narrow the list, or are an address"),
                _ => ("letters", "narrow the list, or name a model"),
            };
            keys.extend([CHOOSE, typed, ("Enter", "takes the chosen entry"), CLEAR]);
        }
    }
    match setup.step {
        SetupStep::Place => {}
        SetupStep::Trial => keys.push(("Left, Shift+Tab", "the step before")),
        _ => keys.push(("Shift+Tab", "the step before; Left, too, if nothing is typed")),
    }
    key_list("this setup", keys)
}

pub fn resume_keys() -> KeyHelp {
    let ways_out = [("Esc", "leaves: nothing is resumed"), ("Ctrl+C", "the same; twice: leave")];
    let keys = [CHOOSE, PAGE, EDGES, LETTERS, CLEAR, ("Enter", "resumes the chosen one")];
    key_list("this list", ways_out.into_iter().chain(keys))
}

/// Those of its lists and questions; `None`: its text has keys of its own.
pub fn editor_keys(screen: &EditorScreen) -> Option<KeyHelp> {
    let leave = ("Esc", "leaves the list");
    match screen {
        EditorScreen::List(_) => {
            let keys =
                [leave, CHOOSE, PAGE, EDGES, LETTERS, CLEAR, ("Enter", "opens it"), ("Ctrl+N", "a new one")];
            Some(key_list("this list", keys))
        }
        EditorScreen::Fresh(fresh) => Some(new_file_keys(fresh, leave)),
        EditorScreen::Text(editor) => editor.prompt.as_ref().map(prompt_keys),
    }
}

fn new_file_keys(fresh: &NewFilePicker, leave: KeyMeaning) -> KeyHelp {
    if fresh.naming_step.is_none() {
        return key_list("this list", [leave, CHOOSE, PAGE, LETTERS, CLEAR, ("Enter", "asks for a name")]);
    }
    let keys = [
        ("Esc", "back to the list"),
        ("Enter", "opens it: nothing is written yet"),
        ("Tab", "for this project, or for all"),
        CLEAR,
    ];
    key_list("this name", keys)
}

fn prompt_keys(prompt: &EditorPrompt) -> KeyHelp {
    let back = ("Esc", "goes on with the text");
    let letters = match prompt {
        EditorPrompt::Find(_) => {
            let next = [("Down, F3", "the next place"), ("Up", "the place before"), ("Enter", "stays there")];
            return key_list("this search", [back].into_iter().chain(next));
        }
        EditorPrompt::Leave | EditorPrompt::Force => "y or n, then Enter",
        EditorPrompt::Conflict(_) => "o or r, then Enter",
        EditorPrompt::Where => "p or u, then Enter",
    };
    key_list("this question", [back, (letters, "answers"), ("PgUp, PgDn", "scroll the text")])
}
