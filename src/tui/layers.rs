//! The layers of the screen, one above the other. This one list decides which part gets a key, a paste and the mouse
//! first, what is drawn over what, and where the cursor is.
//!
//! The order is that of `ScreenLayer`, not that of opening: the backend answers at any time, and an editor whose file
//! was read late opens below a model setup. What a layer holds is a field of the model. Refuses: acting on input
//! (`update::layer_input` walks the list from above) and drawing (`view` walks it from below).

use ratatui::crossterm::event::KeyEvent;

use crate::editor::prompt_guard::PromptChoice;
use crate::editor::{EditorPrompt, EditorScreen};
use crate::history_browser::HistoryPrompt;
use crate::keymap::chord::KeyChord;
use crate::keymap::{KeyAction, KeyFocusState};
use crate::layout::PaneKind;
use crate::model::UiModel;
use crate::setup::SetupDialog;
use crate::transcript::item::ItemTone;

/// What a layer tells about a key, until the next one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LayerNote {
    pub layer: ScreenLayer,
    pub tone: ItemTone,
    pub text: String,
}

/// What can be on screen, from the lowest to the highest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ScreenLayer {
    /// The conversation with the panes, the status line and the input box: always there.
    Conversation,
    /// A question beside which the input box has the keys: the answer is typed there, or a command is.
    TypedQuestion,
    /// What completes the text in the input box.
    CompletionPopup,
    /// The pane that has the keys.
    FocusedPane,
    /// A question that one key answers.
    KeyQuestion,
    /// Keys that no layer below may take: Ctrl+C, those that leave, those that open the history. Nothing to see.
    SessionKeys,
    /// The history, over the whole screen.
    HistoryBrowser,
    /// What `/resume` can mean, over the whole screen.
    ResumePicker,
    /// A workflow or role is edited, or chosen for that, over the whole screen.
    WorkflowEditor,
    /// A model is set up.
    ModelSetup,
    /// The keys of what was focused before.
    KeyHelp,
}

impl ScreenLayer {
    const ALL: [Self; 11] = [
        Self::Conversation,
        Self::TypedQuestion,
        Self::CompletionPopup,
        Self::FocusedPane,
        Self::KeyQuestion,
        Self::SessionKeys,
        Self::HistoryBrowser,
        Self::ResumePicker,
        Self::WorkflowEditor,
        Self::ModelSetup,
        Self::KeyHelp,
    ];

    /// Nothing below it is seen.
    fn covers_screen(self) -> bool {
        matches!(self, Self::HistoryBrowser | Self::ResumePicker | Self::WorkflowEditor)
    }

    /// Letters that are typed are for a layer below.
    fn passes_letters(self) -> bool {
        matches!(self, Self::TypedQuestion | Self::CompletionPopup | Self::SessionKeys)
    }
}

impl UiModel {
    pub fn is_open(&self, layer: ScreenLayer) -> bool {
        match layer {
            ScreenLayer::Conversation | ScreenLayer::SessionKeys => true,
            ScreenLayer::TypedQuestion => self.is_typed_beside_question(),
            ScreenLayer::CompletionPopup => self.popup.is_some(),
            ScreenLayer::FocusedPane => self.panes.focus.is_some() && !self.is_answer_written(),
            ScreenLayer::KeyQuestion => !self.dialogs.is_empty() && !self.is_typed_beside_question(),
            ScreenLayer::HistoryBrowser => self.history_browser.is_some(),
            ScreenLayer::ResumePicker => self.resume_picker.is_some(),
            ScreenLayer::WorkflowEditor => self.edit.is_some(),
            ScreenLayer::ModelSetup => self.setup.is_some(),
            ScreenLayer::KeyHelp => self.key_help.is_some(),
        }
    }

    /// What is open, from the lowest to the highest.
    pub fn active_layers(&self) -> Vec<ScreenLayer> {
        ScreenLayer::ALL.into_iter().filter(|layer| self.is_open(*layer)).collect()
    }

    /// What is drawn, from the lowest to the highest. A completion is seen where typing continues it.
    pub fn visible_layers(&self) -> Vec<ScreenLayer> {
        let (mut layers, focused) = (self.active_layers(), self.focused_layer());
        let lowest = layers.iter().rposition(|layer| layer.covers_screen()).unwrap_or(0);
        layers.drain(..lowest);
        layers.retain(|layer| *layer != ScreenLayer::CompletionPopup || focused == ScreenLayer::Conversation);
        // both stand above the input line
        if layers.contains(&ScreenLayer::ModelSetup) {
            layers.retain(|layer| !matches!(layer, ScreenLayer::KeyQuestion | ScreenLayer::TypedQuestion));
        }
        layers
    }

    /// The layer that letters are typed into; it places the cursor.
    pub fn focused_layer(&self) -> ScreenLayer {
        let mut open = self.active_layers().into_iter().rev();
        open.find(|layer| !layer.passes_letters()).unwrap_or(ScreenLayer::Conversation)
    }

    /// Where the keys go, if not to the input box: the first word of the status line.
    pub fn mode_sign(&self) -> Option<&'static str> {
        match self.focused_layer() {
            ScreenLayer::FocusedPane if self.panes.is_search_typed() => Some("SEARCH"),
            ScreenLayer::HistoryBrowser => Some(self.history_sign()),
            ScreenLayer::WorkflowEditor => Some(self.editor_sign()),
            ScreenLayer::ResumePicker => Some("SEARCH"),
            ScreenLayer::FocusedPane | ScreenLayer::KeyHelp => Some("VIEW"),
            ScreenLayer::KeyQuestion | ScreenLayer::ModelSetup => Some("ASK"),
            _ => None,
        }
    }

    /// Not the sign of a pane: a letter is a key here, and no text for the input line.
    fn history_sign(&self) -> &'static str {
        const SIGN: &str = "RUNS";
        let Some(browser) = &self.history_browser else { return SIGN };
        let in_page = browser.search.as_ref().is_some_and(|search| search.is_typing);
        match &browser.question {
            Some(_) => "ASK",
            None if in_page || browser.list.is_typing => "SEARCH",
            None => SIGN,
        }
    }

    /// Letters go into the text of the editor.
    pub fn is_editor_typed(&self) -> bool {
        self.editor_sign() == "EDIT"
    }

    fn editor_sign(&self) -> &'static str {
        match &self.edit {
            Some(EditorScreen::Fresh(fresh)) if fresh.naming_step.is_some() => "ASK",
            Some(EditorScreen::List(_) | EditorScreen::Fresh(_)) => "SEARCH",
            Some(EditorScreen::Text(editor)) => match &editor.prompt {
                Some(EditorPrompt::Find(_)) => "SEARCH",
                Some(_) => "ASK",
                None => "EDIT",
            },
            None => "EDIT",
        }
    }

    /// For the list of its keys.
    pub fn open_setup(&self) -> Option<&SetupDialog> {
        self.setup.as_ref()
    }

    /// For the list of its keys.
    pub fn open_editor(&self) -> Option<&EditorScreen> {
        self.edit.as_ref()
    }

    /// What decides which keys mean what.
    pub fn key_focus_state(&self) -> KeyFocusState {
        let focused = self.focused_layer();
        let history = focused == ScreenLayer::HistoryBrowser;
        KeyFocusState {
            question_open: matches!(focused, ScreenLayer::KeyQuestion | ScreenLayer::ModelSetup),
            pane: history || self.keyed_pane().is_some(),
            empty: history || self.composer.is_empty(),
            editor: focused == ScreenLayer::WorkflowEditor,
            history,
        }
    }

    /// The action of a key in the layer that has the keys.
    pub fn key_action(&self, key: KeyEvent) -> Option<KeyAction> {
        self.keymap.action(KeyChord::from_event(key), self.key_focus_state())
    }

    /// The pane that has the keys: none while an answer is written.
    pub fn keyed_pane(&self) -> Option<PaneKind> {
        self.panes.focus.filter(|_| self.is_open(ScreenLayer::FocusedPane))
    }

    /// The pane whose frame shows that it has the keys: what stands above it may have them.
    pub fn focused_pane(&self) -> Option<PaneKind> {
        self.keyed_pane().filter(|_| self.focused_layer() == ScreenLayer::FocusedPane)
    }

    /// The layer in which letters are typed now: a text that was begun beside a question stays in the input box.
    pub fn typed_layer(&self) -> ScreenLayer {
        let is_begun = || {
            let takes_letters = self.dialogs.front().is_some_and(|dialog| dialog.draft.is_none());
            takes_letters && !self.composer.is_empty() && !self.panes.is_search_typed()
        };
        match self.focused_layer() {
            ScreenLayer::KeyQuestion if is_begun() => ScreenLayer::Conversation,
            layer => layer,
        }
    }

    /// The layer with the keys, if it shows what is told about a key; a question or a wait may stand in that place.
    pub fn note_layer(&self) -> Option<ScreenLayer> {
        let layer = self.focused_layer();
        let is_hidden = match layer {
            ScreenLayer::WorkflowEditor => {
                !matches!(&self.edit, Some(EditorScreen::Text(editor)) if editor.prompt.is_none())
            }
            _ => self.is_waiting(),
        };
        (!is_hidden).then_some(layer)
    }

    /// The history or the setup waits for an answer, and takes no key but the one that ends the wait.
    pub fn is_waiting(&self) -> bool {
        match self.focused_layer() {
            ScreenLayer::HistoryBrowser => {
                self.history_browser.as_ref().is_some_and(|browser| browser.pending_wait.is_some())
            }
            ScreenLayer::ModelSetup => self.setup.as_ref().is_some_and(|setup| setup.waiting_for.is_some()),
            _ => false,
        }
    }

    /// What the layer with the keys has told about the key before. The next key makes it forget that.
    pub fn layer_note(&self) -> Option<LayerNote> {
        let layer = self.note_layer()?;
        let problem = || self.dialogs.front().and_then(|dialog| dialog.problem.clone());
        let (tone, text) = match layer {
            ScreenLayer::WorkflowEditor => match &self.edit {
                Some(EditorScreen::Text(editor)) => (ItemTone::Dim, editor.status_note.clone()?),
                _ => return None,
            },
            ScreenLayer::HistoryBrowser => self.history_browser.as_ref()?.status_note.clone()?,
            ScreenLayer::ModelSetup => (ItemTone::Bad, self.setup.as_ref()?.problem.clone()?),
            ScreenLayer::KeyQuestion | ScreenLayer::TypedQuestion if problem().is_some() => {
                (ItemTone::Bad, problem()?)
            }
            _ => (ItemTone::Dim, self.hint.clone()?),
        };
        Some(LayerNote { layer, tone, text })
    }

    /// Shows a note again that its layer has forgotten.
    pub fn restore_note(&mut self, note: &LayerNote) {
        self.write_note(note, true);
    }

    pub fn forget_note(&mut self, note: &LayerNote) {
        self.write_note(note, false);
    }

    fn write_note(&mut self, note: &LayerNote, is_shown: bool) {
        let text = is_shown.then(|| note.text.clone());
        match note.layer {
            ScreenLayer::WorkflowEditor => {
                if let Some(EditorScreen::Text(editor)) = &mut self.edit {
                    editor.status_note = text;
                }
            }
            ScreenLayer::HistoryBrowser => {
                if let Some(browser) = &mut self.history_browser {
                    browser.status_note = text.map(|text| (note.tone, text));
                }
            }
            ScreenLayer::ModelSetup => {
                if let Some(setup) = &mut self.setup {
                    setup.problem = text;
                }
            }
            ScreenLayer::KeyQuestion | ScreenLayer::TypedQuestion if note.tone == ItemTone::Bad => {
                if let Some(dialog) = self.dialogs.front_mut() {
                    dialog.problem = text;
                }
            }
            _ => self.hint = text,
        }
    }

    /// Letters that answer nothing are typed at a question of the history.
    pub fn is_history_answer_begun(&self) -> bool {
        let asked = self.history_browser.as_ref().and_then(|browser| browser.question.as_ref());
        asked.and_then(HistoryPrompt::choice) == Some(PromptChoice::Text)
    }

    /// For how long the question on screen takes no key yet, in milliseconds; `None`: it takes them.
    pub fn question_guard(&self) -> Option<u64> {
        if let Some(EditorScreen::Text(editor)) = &self.edit {
            let guard =
                editor.open_question().map(|_| editor.prompt_guard).filter(|guard| guard.is_shown())?;
            return u64::try_from(guard.ms_left(self.now)).ok().filter(|left| *left > 0);
        }
        let asked = self.history_browser.as_ref().and_then(|archive| archive.question.as_ref());
        let guard = asked.and_then(HistoryPrompt::key_guard).filter(|guard| guard.is_shown());
        if let Some(left) = guard.map(|guard| guard.ms_left(self.now)).filter(|left| *left > 0) {
            return u64::try_from(left).ok();
        }
        let seen = [ScreenLayer::KeyQuestion, ScreenLayer::TypedQuestion];
        let dialog = self.dialogs.front().filter(|dialog| dialog.shown_at.is_some())?;
        let left = u64::try_from(dialog.guard_ms(self.now)).ok().filter(|left| *left > 0)?;
        self.visible_layers().iter().any(|layer| seen.contains(layer)).then_some(left)
    }

    /// Closes what only a screen can show. Whether there was anything.
    pub fn close_screen_layers(&mut self) -> bool {
        let closed = [
            self.key_help.take().is_some(),
            self.setup.take().is_some(),
            self.edit.take().is_some(),
            self.resume_picker.take().is_some(),
            self.history_browser.take().is_some(),
        ];
        closed.contains(&true)
    }

    /// A question is open, and the input box has the keys.
    fn is_typed_beside_question(&self) -> bool {
        let command = || self.panes.focus.is_none() && self.composer.first_line().starts_with('/');
        let dialog = self.dialogs.front();
        dialog.is_some_and(|dialog| dialog.is_written() || dialog.draft.is_none() && command())
    }
}
