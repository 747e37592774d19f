//! Keys: one table of actions drives what a key does, the help, `/keys` and what `keyboard.json` may change.
//!
//! Owns which chord means which action where. Refuses to do anything: `update` acts. Text that is typed is no action,
//! and questions have keys of their own, shown with them.

use self::chord::KeyChord;
use crate::composer::ComposerEdit;
use crate::editor::action::EditorAction;
use crate::history_browser::RunAction;
use crate::layout::PaneKind;
use crate::text::fit_to_columns;

pub mod chord;
mod keyboard_file;
mod table;

pub use keyboard_file::{FILE, read_keyboard_file};
pub use table::ACTIONS;

/// What a key can mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyAction {
    /// Shows the keys of what is focused.
    Help,
    Send,
    NewLine,
    Leave,
    Stop,
    Repaint,
    Details,
    SidePanel,
    PageUp,
    PageDown,
    LineUp,
    LineDown,
    Oldest,
    Newest,
    /// Shows a pane and gives it the keys; again: takes it away.
    Show(PaneKind),
    NextPane,
    PreviousPane,
    Zoom,
    NextRun,
    PreviousRun,
    /// What else waits for an answer.
    NextQuestion,
    /// The rest is for the pane that has the keys.
    RowUp,
    RowDown,
    PaneUp,
    PaneDown,
    /// In a chart: the bar before, and the next one; in the graph: the state at this side.
    ChooseLeft,
    ChooseRight,
    First,
    Last,
    Open,
    /// A file that the chosen message names, in the user's own editor.
    OpenFile,
    NextItem,
    PreviousItem,
    Search,
    NextHit,
    PreviousHit,
    /// From here to the cursor is what is copied.
    Mark,
    Copy,
    CopyAll,
    Back,
    /// In the graph: a breakpoint before the chosen state, and back.
    GraphBreakpoint,
    /// In the graph: names instead of conditions, and back.
    GraphNames,
    /// The drawing moves to the left or the right.
    GraphLeft,
    GraphRight,
    /// Of the text in the input box.
    Edit(ComposerEdit),
    /// Opens the text in the user's own editor.
    EditElsewhere,
    /// In the editor of workflows and roles.
    Editor(EditorAction),
    /// Opens the history.
    History,
    /// The rest is for the history.
    Deed(RunAction),
    ByStatus,
    ByWorkflow,
    ByProject,
}

impl KeyAction {
    /// Also while a question is open.
    pub fn is_anywhere(self) -> bool {
        ACTIONS.iter().any(|row| row.action == self && row.binding_scope == KeyBindingScope::Anywhere)
    }

    /// Whether a pane has a use for it: some keys are of a few panes only. What acts there and what F1 lists are this.
    pub fn is_for_pane(self, pane: PaneKind) -> bool {
        match self {
            Self::GraphBreakpoint | Self::GraphNames | Self::GraphLeft | Self::GraphRight => {
                pane == PaneKind::Graph
            }
            Self::ChooseLeft | Self::ChooseRight => matches!(pane, PaneKind::Graph | PaneKind::Timeline),
            Self::NextItem | Self::PreviousItem => {
                matches!(pane, PaneKind::Conversation | PaneKind::Timeline)
            }
            Self::OpenFile => pane == PaneKind::Conversation,
            Self::Open => !matches!(pane, PaneKind::Agents | PaneKind::Costs),
            Self::Mark => !matches!(pane, PaneKind::Conversation | PaneKind::Graph),
            _ => true,
        }
    }
}

/// Where an action is valid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyBindingScope {
    /// Also while a question is open.
    Anywhere,
    /// While no question is open.
    Screen,
    /// The input box has the keys.
    Input,
    /// The input box has the keys and is empty.
    Empty,
    /// The input box is empty, or a pane has the keys.
    Free,
    /// A pane has the keys, or the history.
    Pane,
    /// The editor of workflows and roles is open: nothing else has keys.
    Editor,
    /// The history is in front.
    History,
}

impl KeyBindingScope {
    pub fn description(self) -> &'static str {
        match self {
            Self::Anywhere => "anywhere",
            Self::Screen => "without a question",
            Self::Input => "input",
            Self::Empty => "empty input",
            Self::Free => "empty input, pane",
            Self::Pane => "pane, history",
            Self::Editor => "editor",
            Self::History => "history",
        }
    }

    /// Nothing is typed there: a letter can be a key.
    fn accepts_letters(self) -> bool {
        matches!(self, Self::Pane | Self::History)
    }

    /// One press could mean an action of either.
    fn overlaps_with(self, other: Self) -> bool {
        let typing = |place| matches!(place, Self::Input | Self::Empty);
        let apart = |one: Self, other: Self| {
            typing(one) && other.accepts_letters() || one == Self::Pane && other == Self::History
        };
        // what both a pane and the history understand means the history's in it
        (self == Self::Editor) == (other == Self::Editor) && !(apart(self, other) || apart(other, self))
    }

    fn is_active_in(self, now: KeyFocusState) -> bool {
        match self {
            Self::Editor => now.editor,
            _ if now.editor => false,
            Self::Anywhere => true,
            _ if now.question_open => false,
            Self::Screen => true,
            Self::Input => !now.pane,
            Self::Empty => !now.pane && now.empty,
            Self::Free => now.pane || now.empty,
            Self::Pane => now.pane,
            Self::History => now.history,
        }
    }
}

/// What decides which actions are valid.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KeyFocusState {
    /// A question waits for a key.
    pub question_open: bool,
    /// A pane has the keys.
    pub pane: bool,
    /// Nothing is typed.
    pub empty: bool,
    /// The editor of workflows and roles is open.
    pub editor: bool,
    /// The history is in front.
    pub history: bool,
}

/// A line of the table.
pub struct KeyActionRow {
    pub action: KeyAction,
    /// As in `keyboard.json`.
    pub name: &'static str,
    pub description: &'static str,
    pub binding_scope: KeyBindingScope,
    pub keys: &'static [&'static str],
    /// Its keys cannot be changed: the user must always find the keys to stop, to leave and to answer.
    pub is_fixed: bool,
}

/// Keys of the editor that no table has: they are the text field's.
const TEXT_FIELD: [(&str, &str); 4] = [
    ("Ctrl+Left, Ctrl+Right", "a word to the left, to the right"),
    ("Ctrl+W", "delete a word"),
    ("Ctrl+Home, Ctrl+End", "the beginning, the end"),
    ("Shift and arrows", "select"),
];

/// Where an action's keys are from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum KeyBindingOrigin {
    #[default]
    BuiltIn,
    /// Name of the file.
    File(String),
}

/// The keys of every action, in the table's order.
#[derive(Clone, Debug)]
pub struct KeyBindings {
    keys: Vec<(Vec<KeyChord>, KeyBindingOrigin)>,
}

impl Default for KeyBindings {
    fn default() -> Self {
        let chords =
            |row: &KeyActionRow| row.keys.iter().filter_map(|key| KeyChord::parse(key).ok()).collect();
        Self { keys: ACTIONS.iter().map(|row| (chords(row), KeyBindingOrigin::BuiltIn)).collect() }
    }
}

impl KeyBindings {
    /// What a key means now; the most particular place wins.
    pub fn action(&self, chord: KeyChord, now: KeyFocusState) -> Option<KeyAction> {
        // what is typed while a pane has the keys is text for the input box
        if now.pane && !now.history && !now.editor && chord.is_text() {
            return None;
        }
        let meant =
            self.rows().filter(|(row, keys, _)| row.binding_scope.is_active_in(now) && keys.contains(&chord));
        let particular = |place| match place {
            KeyBindingScope::History => 0,
            KeyBindingScope::Pane => 1,
            _ => 2,
        };
        meant.min_by_key(|(row, ..)| particular(row.binding_scope)).map(|(row, ..)| row.action)
    }

    /// Whether it is a key of an action, wherever that is valid.
    pub fn has_binding(&self, action: KeyAction, chord: KeyChord) -> bool {
        self.rows().any(|(row, keys, _)| row.action == action && keys.contains(&chord))
    }

    /// The first key of an action, for hints; `None`: it has none.
    pub fn key(&self, action: KeyAction) -> Option<KeyChord> {
        self.rows().find(|(row, ..)| row.action == action).and_then(|(_, keys, _)| keys.first().copied())
    }

    /// The first key of an action in a pane, where letters are text.
    pub fn pane_key(&self, action: KeyAction) -> Option<KeyChord> {
        let (_, keys, _) = self.rows().find(|(row, ..)| row.action == action)?;
        keys.iter().copied().find(|key| !key.is_text())
    }

    /// Every action with its keys and where those are from.
    pub fn rows(&self) -> impl Iterator<Item = (&'static KeyActionRow, &[KeyChord], &KeyBindingOrigin)> {
        ACTIONS.iter().zip(&self.keys).map(|(row, (keys, from))| (row, keys.as_slice(), from))
    }

    /// What keys mean while this has them: the first key of each action that means it there, in a pane all of them. What
    /// is particular to the place comes first, else the table's order counts.
    pub fn active_rows(&self, now: KeyFocusState) -> Vec<(String, String)> {
        self.rows_that_act(now, |_| true)
    }

    /// Those of them that `acts` lets through.
    pub fn rows_that_act(
        &self,
        now: KeyFocusState,
        acts: impl Fn(KeyAction) -> bool,
    ) -> Vec<(String, String)> {
        let is_active = |row: &KeyActionRow| row.binding_scope.is_active_in(now) && acts(row.action);
        let mut rows: Vec<_> = self.rows().filter(|(row, ..)| is_active(row)).collect();
        rows.sort_by_key(|(row, ..)| match row.binding_scope {
            KeyBindingScope::History => 0,
            KeyBindingScope::Pane | KeyBindingScope::Input => 1,
            KeyBindingScope::Anywhere => 3,
            _ => 2,
        });
        let text = |(row, keys, _): (&KeyActionRow, &[KeyChord], &KeyBindingOrigin)| {
            let most = if now.pane && !now.history { keys.len() } else { 1 };
            let is_own = |key: &KeyChord| self.action(*key, now) == Some(row.action);
            let own: Vec<KeyChord> = keys.iter().copied().filter(is_own).take(most).collect();
            let is_empty_only = matches!(row.binding_scope, KeyBindingScope::Empty | KeyBindingScope::Free);
            // leaving says so itself
            let is_told = is_empty_only && !now.pane && row.action != KeyAction::Leave;
            let when = if is_told { " (if empty)" } else { "" };
            (!own.is_empty()).then(|| (join_chords(&own), format!("{}{when}", row.description)))
        };
        rows.into_iter().filter_map(text).collect()
    }

    /// For help: two actions a line, and in one paragraph what a pane understands.
    pub fn help_text(&self) -> String {
        let bound = || {
            self.rows()
                .filter(|(row, keys, _)| !keys.is_empty() && row.binding_scope != KeyBindingScope::Editor)
        };
        let cells = bound().filter(|(row, ..)| !row.binding_scope.accepts_letters()).map(|(row, keys, _)| {
            let cell = format!("{:<16} {}", join_chords(&keys[..keys.len().min(2)]), row.description);
            format!("{:<39}", fit_to_columns(&cell, 38))
        });
        let cells: Vec<String> = cells.collect();
        let lines = cells.chunks(2).map(|two| two.concat().trim_end().to_owned());
        let named = |place: KeyBindingScope, fits: fn(&KeyChord) -> bool| {
            let rows = bound().filter(|(row, ..)| row.binding_scope == place);
            let cells = rows.filter_map(|(row, keys, _)| {
                keys.iter().find(|key| fits(key)).map(|key| format!("{key} {}", row.description))
            });
            cells.collect::<Vec<_>>().join(" · ")
        };
        let pane = format!("In a pane: {}", named(KeyBindingScope::Pane, |key| !key.is_text()));
        let letters = named(KeyBindingScope::Pane, |key| key.is_text());
        let own = named(KeyBindingScope::History, |_| true);
        let history = format!("In the history, too: {letters} · {own}");
        lines.chain([pane, history]).collect::<Vec<_>>().join("\n")
    }

    /// The keys of the editor of workflows and roles, and what they do.
    pub fn editor_rows(&self) -> Vec<(String, String)> {
        let rows = self.rows().filter(|(row, ..)| row.binding_scope == KeyBindingScope::Editor);
        let named =
            rows.filter_map(|(row, keys, _)| Some((keys.first()?.to_string(), row.description.to_owned())));
        named.chain(TEXT_FIELD.map(|(keys, about)| (keys.to_owned(), about.to_owned()))).collect()
    }

    /// `/keys`: what it does, its keys, its name in the file, where the keys are from.
    pub fn table(&self) -> String {
        let mut text = String::new();
        for (row, keys, from) in self.rows() {
            let keys = if keys.is_empty() { "no key".to_owned() } else { join_chords(keys) };
            let from = match from {
                KeyBindingOrigin::BuiltIn if row.is_fixed => "fixed",
                KeyBindingOrigin::BuiltIn => "built in",
                KeyBindingOrigin::File(name) => name,
            };
            text.push_str(&format!(
                "{keys:<22} {:<20} {from}\n    {} · {}\n",
                row.name,
                row.description,
                row.binding_scope.description()
            ));
        }
        text.push_str(&format!(
            "\nOther keys: {FILE} in the user's configuration directory, {{\"action\": [\"Alt+3\", \"F5\"]}}"
        ));
        text
    }
}

fn join_chords(keys: &[KeyChord]) -> String {
    keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sound() {
        let keymap = KeyBindings::default();
        for (row, keys, _) in keymap.rows() {
            assert_eq!(keys.len(), row.keys.len(), "{}: a key cannot be read", row.name);
            assert!(ACTIONS.iter().filter(|other| other.name == row.name).count() == 1, "{}", row.name);
            assert!(ACTIONS.iter().filter(|other| other.action == row.action).count() == 1, "{}", row.name);
            for (other, theirs, _) in keymap.rows().filter(|(other, ..)| other.name != row.name) {
                let both = keys.iter().find(|key| theirs.contains(key));
                let clash = both.filter(|_| row.binding_scope.overlaps_with(other.binding_scope));
                assert_eq!(clash, None, "{} and {}", row.name, other.name);
            }
            let typed = keys.iter().any(|key| key.is_text()) && !row.binding_scope.accepts_letters();
            assert!(!typed, "{}: its key would be typed", row.name);
        }
    }

    #[test]
    fn keys_mean_what_the_place_says() {
        let (typing, empty) =
            (KeyFocusState::default(), KeyFocusState { empty: true, ..KeyFocusState::default() });
        let (pane, asked) =
            (KeyFocusState { pane: true, ..empty }, KeyFocusState { question_open: true, ..empty });
        let check = |key: &str, now: KeyFocusState, expected: Option<KeyAction>| {
            assert_eq!(
                KeyBindings::default().action(KeyChord::parse(key).unwrap(), now),
                expected,
                "{key} {now:?}"
            );
        };
        for now in [typing, empty, pane, asked] {
            check("Alt+2", now, Some(KeyAction::Show(PaneKind::Graph)));
            check("Ctrl+O", now, Some(KeyAction::Details));
            check("F2", now, Some(KeyAction::SidePanel));
        }
        check("Enter", typing, Some(KeyAction::Send));
        check("Enter", pane, Some(KeyAction::Open));
        check("Enter", asked, None);
        check("Tab", typing, None);
        check("Tab", empty, Some(KeyAction::NextPane));
        check("Tab", pane, Some(KeyAction::NextPane));
        check("Home", typing, None);
        check("Home", empty, Some(KeyAction::Oldest));
        check("Home", pane, Some(KeyAction::First));
        check("y", empty, None);
        check("y", pane, None);
        check("Ctrl+Y", pane, Some(KeyAction::Copy));
        check("y", KeyFocusState { history: true, ..pane }, Some(KeyAction::Copy));
        check("Esc", empty, Some(KeyAction::Stop));
        check("Esc", pane, Some(KeyAction::Back));
        check("PgUp", typing, Some(KeyAction::PageUp));
        check("PgUp", pane, Some(KeyAction::PaneUp));
        for now in [typing, empty, pane, asked] {
            check("F1", now, Some(KeyAction::Help));
        }
        check("F1", KeyFocusState { editor: true, ..empty }, Some(KeyAction::Editor(EditorAction::Help)));
    }

    #[test]
    fn the_keys_of_a_place_are_those_that_work_there() {
        let keymap = KeyBindings::default();
        let empty = KeyFocusState { empty: true, ..KeyFocusState::default() };
        let check = |now: KeyFocusState, there: &[&str], not_there: &[&str]| {
            let rows: Vec<String> =
                keymap.active_rows(now).into_iter().map(|(keys, about)| format!("{keys}: {about}")).collect();
            for wanted in there {
                assert!(rows.iter().any(|row| row == wanted), "{wanted}: {rows:?}");
            }
            for other in not_there {
                assert!(!rows.iter().any(|row| row.contains(other)), "{other}: {rows:?}");
            }
        };
        check(empty, &["Enter: send", "Tab: next pane (if empty)", "F1: keys of this place"], &["mark rows"]);
        let pane = KeyFocusState { pane: true, ..empty };
        check(
            pane,
            &["Ctrl+Y: copy", "Tab, F6: next pane", "Esc: back to the input"],
            &["send", "stop what runs"],
        );
        let history = KeyFocusState { history: true, ..pane };
        check(history, &["y: copy", "w: why a step was taken"], &["send"]);
        check(
            KeyFocusState { question_open: true, ..empty },
            &["Alt+A: the next question"],
            &["send", "copy"],
        );
    }
}
