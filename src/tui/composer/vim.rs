//! Vi keys: the crate `vimlet` interprets them and requests changes. The draft keeps the text, the cursor and undo.
//!
//! In insert mode typed text goes directly into the draft. `vimlet` gets it when the insertion ends, to repeat it: typing
//! costs as much as without vi keys.

mod draft_view;
mod typed;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use vimlet::{
    Action, AppliedEdit, Binding, BindingContext, ByteOffset, Capabilities, Command, DocumentVersion,
    DocumentView, EditTarget, EditingState, HistoryCommand, HostOperation, HostOutcome, HostResult, Input,
    Key, Lifecycle, Mode, Motion, OperationKind, Operator, Replacement, Selection, Session, Shape, Step,
    TextRange, TextSource, Transaction,
};

use self::draft_view::DraftView;
use self::typed::TypedChange;
use super::draft::ComposerDraft;
use super::pastes::FoldedPastes;

/// The largest count, and the most bytes that one repetition may insert: more would only block the screen.
const MOST: usize = 10_000;
const MOST_BYTES: usize = 1 << 20;

/// Keys of `vimlet` that the input box does not support: macros, indents, searches, marks, overwriting.
const UNSUPPORTED: &str = "q@<>/?nN'`R";

/// What the input box has to do beside the change of its text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VimKeyOutcome {
    Done,
    /// The entry of the history before this one, or after it.
    Older,
    Newer,
}

#[derive(Debug, Default)]
pub struct VimInput {
    session: Session,
    state: EditingState,
    selection: Option<Selection>,
    /// Counts the changes of the text, as `vimlet` requires.
    revision: u64,
    /// The count typed so far.
    typed_count: usize,
    /// The last command that changed the text, or the current one.
    last_change: Option<Command>,
    /// The text and the cursor in it when the insertion began.
    insertion_start: (String, usize),
    /// The length of the last insertion.
    inserted_bytes: usize,
}

/// A session of `vimlet` cannot be cloned: a clone keeps the mode and the registers, but no pending command and no
/// command to repeat.
impl Clone for VimInput {
    fn clone(&self) -> Self {
        let mut session = Session::new();
        *session.registers_mut() = self.session.registers().clone();
        Self {
            session,
            state: EditingState::new(self.state.mode(), Capabilities::default()),
            selection: self.selection,
            insertion_start: self.insertion_start.clone(),
            ..Self::default()
        }
    }
}

impl VimInput {
    /// For the prompt.
    pub fn mode_sign(&self) -> &'static str {
        match self.state.mode() {
            Mode::Insert | Mode::Replace => "I",
            Mode::Normal => "N",
            Mode::Visual | Mode::VisualLine | Mode::VisualBlock => "V",
        }
    }

    pub fn is_inserting(&self) -> bool {
        self.state.mode() == Mode::Insert
    }

    pub fn is_marking(&self) -> bool {
        self.state.mode().is_visual()
    }

    /// A command has begun.
    pub fn is_command_pending(&self) -> bool {
        self.state.has_pending_input()
    }

    /// Esc has something to leave.
    pub fn owns_escape(&self) -> bool {
        self.state.owns_escape()
    }

    /// Enters insert mode and drops a pending command.
    pub fn begin_insertion(&mut self, draft: &mut ComposerDraft) {
        self.session.lifecycle(&mut self.state, Lifecycle::NewDraft);
        (self.selection, self.typed_count, self.last_change) = (None, 0, None);
        self.note_insertion_start(draft);
    }

    /// The cursor moved in insert mode: the next typed text is a change of its own.
    pub fn break_insertion(&mut self, draft: &mut ComposerDraft) {
        self.record_insertion(draft);
        self.record_key(Key::Left, "");
        draft.end_undo_group();
        self.last_change = None;
        self.note_insertion_start(draft);
    }

    /// Handles a key of the normal or the visual mode, or Esc.
    pub fn on_key(
        &mut self,
        key: KeyEvent,
        draft: &mut ComposerDraft,
        pastes: &FoldedPastes,
    ) -> VimKeyOutcome {
        if self.is_inserting() {
            self.record_insertion(draft);
        } else {
            self.settle_cursor(draft, pastes);
        }
        let Some(key) = named_key(key) else { return VimKeyOutcome::Done };
        let (row, last_row) = (draft.cursor().0, draft.area().lines().len() - 1);
        if self.state.binding_context() == BindingContext::Normal {
            // as the arrow keys do
            match key {
                Key::Char('k') if row == 0 => return self.leave_text(VimKeyOutcome::Older),
                Key::Char('j') if row == last_row => return self.leave_text(VimKeyOutcome::Newer),
                _ => {}
            }
        }
        if let Some(input) = self.read_key(key, draft) {
            self.run_input(input, draft, pastes);
        }
        VimKeyOutcome::Done
    }

    /// In normal mode the cursor is on a letter, not after the last one nor inside of a placeholder. Drops a selection
    /// that is not in the text any more.
    pub fn settle_cursor(&mut self, draft: &mut ComposerDraft, pastes: &FoldedPastes) {
        let shown = self.view_of(draft, pastes);
        if let Some(selection) = &mut self.selection {
            selection.cursor = shown.cursor;
            if !shown.has_edge(selection.anchor.0) {
                self.give_up();
            }
        }
        let place = shown.normal_place(shown.cursor.0);
        if self.state.mode() == Mode::Normal && place != shown.cursor.0 {
            draft.move_to_byte(place);
        }
    }

    fn leave_text(&mut self, outcome: VimKeyOutcome) -> VimKeyOutcome {
        self.give_up();
        outcome
    }

    /// Returns to normal mode and drops a pending command.
    fn give_up(&mut self) {
        self.session.lifecycle(&mut self.state, Lifecycle::LeaveMode);
        (self.selection, self.typed_count) = (None, 0);
    }

    /// The input for `vimlet`. `None`: the key does nothing.
    fn read_key(&mut self, key: Key, draft: &ComposerDraft) -> Option<Input> {
        let context = self.state.binding_context();
        let count = std::mem::take(&mut self.typed_count);
        let mut input = Input::key(key);
        let Key::Char(letter) = input.key else { return Some(input) };
        if context == BindingContext::Literal {
            return Some(input);
        }
        if let Some(digit) = letter.to_digit(10).filter(|digit| *digit > 0 || count > 0) {
            let count = count * 10 + digit as usize;
            self.typed_count = count.min(MOST);
            return (count <= MOST).then_some(input);
        }
        let plain = matches!(context, BindingContext::Normal | BindingContext::Visual);
        let marking = context == BindingContext::Visual;
        let idle = match letter {
            'p' | 'P' => plain && self.register_bytes() * count.max(1) > MOST_BYTES,
            '.' => plain && self.repeated_bytes(count) > MOST_BYTES,
            'U' => plain && !marking,
            'I' | 'A' => marking,
            _ => plain && UNSUPPORTED.contains(letter),
        };
        if idle {
            self.session.lifecycle(&mut self.state, Lifecycle::CancelPending);
            return None;
        }
        if let Some(action) = self.own_meaning(letter, context, count, draft) {
            let times = if matches!(action, Action::Move(_)) { usize::MAX } else { 1 };
            input.binding = Binding::Command(Command::new(action, times));
        }
        Some(input)
    }

    /// Keys for which the input box differs from `vimlet`, which follows Neovim.
    fn own_meaning(
        &mut self,
        letter: char,
        context: BindingContext,
        count: usize,
        draft: &ComposerDraft,
    ) -> Option<Action> {
        let lines = |operator| Action::Operate { operator, target: EditTarget::Lines };
        match (context, letter) {
            (BindingContext::Normal, 'Y') => Some(lines(Operator::Yank)),
            (BindingContext::Visual, 'C' | 'D' | 'S' | 'X' | 'Y') => {
                let marked = self.selection.as_mut()?;
                marked.shape = Shape::Line;
                let operator = match letter {
                    'C' | 'S' => Operator::Change,
                    'Y' => Operator::Yank,
                    _ => Operator::Delete,
                };
                Some(Action::Operate { operator, target: EditTarget::Selection })
            }
            // an empty last line is a line
            (_, 'G') if count == 0 && draft.area().lines().last().is_some_and(String::is_empty) => {
                Some(Action::Move(Motion::Down))
            }
            _ => None,
        }
    }

    fn run_input(&mut self, input: Input, draft: &mut ComposerDraft, pastes: &FoldedPastes) {
        let mut shown = self.view_of(draft, pastes);
        let mut step = self.session.handle(&mut self.state, input, shown.view());
        while let Step::HostOperation(operation) = step {
            let result = self.run_operation(operation, &shown, draft, pastes);
            shown = self.view_of(draft, pastes);
            step = self.session.resume(&mut self.state, result, shown.view());
        }
        if matches!(step, Step::Error(_)) {
            self.give_up();
        }
        self.show_selection(&shown, draft);
        draft.join_changes(self.is_inserting());
        if self.is_inserting() {
            self.note_insertion_start(draft);
        }
    }

    fn run_operation(
        &mut self,
        operation: HostOperation,
        shown: &DraftView,
        draft: &mut ComposerDraft,
        pastes: &FoldedPastes,
    ) -> HostResult {
        let before = shown.version;
        let outcome = match operation.kind {
            OperationKind::Move { cursor, selection } => {
                draft.end_undo_group();
                draft.move_to_byte(cursor.0);
                self.selection = selection;
                Some(Vec::new())
            }
            OperationKind::Edit { replacements, cursor, selection, transaction } => {
                self.selection = selection;
                self.last_change = self.state.pending_edit_command().copied().or(self.last_change);
                let (replacements, cursor) = self.fit_last_line(replacements, cursor, shown);
                draft.begin_joined_changes(matches!(transaction, Transaction::Atomic | Transaction::Begin));
                let done = replace_all(replacements, &shown.text, draft);
                let ends = matches!(transaction, Transaction::Atomic | Transaction::End);
                let now = self.view_of(draft, pastes);
                draft.move_to_byte(if ends { now.normal_place(cursor.0) } else { cursor.0 });
                if !matches!(transaction, Transaction::Begin | Transaction::Continue) {
                    draft.end_undo_group();
                }
                done
            }
            OperationKind::History { command, count } => run_history(command, count, draft).then(|| {
                let now = self.view_of(draft, pastes);
                draft.move_to_byte(now.normal_place(now.cursor.0));
                Vec::new()
            }),
            _ => None,
        };
        let changed = draft.text() != shown.text;
        self.revision += u64::from(changed);
        HostResult {
            operation: operation.id,
            before,
            after: self.version(),
            cursor: ByteOffset(draft.cursor_byte()),
            selection: self.selection,
            outcome: outcome.map_or(HostOutcome::Rejected, |edits| HostOutcome::Applied { edits, changed }),
        }
    }

    /// `vimlet` does not count an empty line at the end of the text and would put lines above it instead of below.
    fn fit_last_line(
        &self,
        mut replacements: Vec<Replacement>,
        mut cursor: ByteOffset,
        shown: &DraftView,
    ) -> (Vec<Replacement>, ByteOffset) {
        let puts_lines = self.session.registers().get('"').is_some_and(|held| held.shape() == Shape::Line)
            && self.last_change.map(|command| command.action) == Some(Action::Paste { before: false });
        let end = shown.text.len();
        let last_is_empty = shown.text.is_empty() || shown.text.ends_with('\n');
        if let [Replacement { range, text }] = replacements.as_mut_slice()
            && puts_lines
            && last_is_empty
            && shown.cursor.0 == end
            && *range == TextRange::new(end, end)
        {
            *text = format!("\n{}", text.strip_suffix('\n').unwrap_or(text));
            cursor.0 += 1;
        }
        (replacements, cursor)
    }

    /// The cursor itself shows the letter under it.
    fn show_selection(&self, shown: &DraftView, draft: &mut ComposerDraft) {
        let Some(Selection { anchor, cursor, shape }) = self.selection else { return };
        let from = match shape {
            Shape::Line if cursor < anchor => shown.text.line_end(anchor.0),
            Shape::Line => shown.text.line_start(anchor.0),
            _ if cursor < anchor => shown.resolver().next(anchor.0),
            _ => anchor.0,
        };
        let place = |byte: usize| shown.text[..byte].chars().count();
        draft.mark_range(place(from), place(cursor.0));
    }

    fn note_insertion_start(&mut self, draft: &mut ComposerDraft) {
        draft.join_changes(true);
        self.insertion_start = (draft.text(), draft.cursor_byte());
    }

    /// Passes the text typed since the insertion began to `vimlet`.
    fn record_insertion(&mut self, draft: &ComposerDraft) {
        let (before, place) = std::mem::take(&mut self.insertion_start);
        let change = TypedChange::between(&before, place, &draft.text());
        self.inserted_bytes = change.inserted.len();
        if !change.is_repeatable() || self.repeated_bytes(0) > MOST_BYTES {
            return;
        }
        for _ in 0..change.deleted_before {
            self.record_key(Key::Backspace, "");
        }
        for _ in 0..change.deleted_after {
            self.record_key(Key::Delete, "");
        }
        if !change.inserted.is_empty() {
            self.record_key(Key::Text(change.inserted.clone()), &change.inserted);
        }
    }

    /// A key of insert mode that the draft has handled already: `vimlet` applies it to a text of its own.
    fn record_key(&mut self, key: Key, inserted: &str) {
        let beside = "--";
        let view = |version| DocumentView::new(&beside, version, ByteOffset(1));
        let before = self.version();
        if let Step::HostOperation(operation) =
            self.session.handle(&mut self.state, Input::key(key), view(before))
        {
            self.revision += 1;
            let edits = vec![AppliedEdit {
                range: TextRange::new(1, 1),
                removed: String::new(),
                inserted: inserted.to_owned(),
            }];
            let result = HostResult {
                operation: operation.id,
                before,
                after: self.version(),
                cursor: ByteOffset(1),
                selection: None,
                outcome: HostOutcome::Applied { edits, changed: true },
            };
            let after = result.after;
            self.session.resume(&mut self.state, result, view(after));
        }
    }

    fn register_bytes(&self) -> usize {
        self.session.registers().get('"').map_or(0, |held| held.text().len())
    }

    /// The bytes that repeating the last change would insert; a count replaces its own.
    fn repeated_bytes(&self, count: usize) -> usize {
        let once = match self.last_change.map(|command| command.action) {
            Some(Action::Paste { .. }) => self.register_bytes(),
            Some(Action::Insert(_)) | None => self.inserted_bytes,
            Some(_) => 0,
        };
        let own_count = self.last_change.map_or(1, |command| command.count);
        once * if count > 0 { count } else { own_count.max(1) }
    }

    fn view_of(&self, draft: &ComposerDraft, pastes: &FoldedPastes) -> DraftView {
        DraftView::new(draft, pastes, self.selection, self.version())
    }

    fn version(&self) -> DocumentVersion {
        DocumentVersion { id: 0, revision: self.revision }
    }
}

/// Applies the replacements from the last to the first and returns them. `None`: the cursor cannot get there.
fn replace_all(
    replacements: Vec<Replacement>,
    text: &str,
    draft: &mut ComposerDraft,
) -> Option<Vec<AppliedEdit>> {
    let reached = replacements.iter().rev().all(|one| draft.replace_bytes(one.range.as_range(), &one.text));
    let done = replacements.into_iter().map(|Replacement { range, text: inserted }| {
        let removed = text.get(range.as_range()).unwrap_or_default().to_owned();
        AppliedEdit { range, removed, inserted }
    });
    reached.then(|| done.collect())
}

/// Returns whether undo or redo changed anything.
fn run_history(command: HistoryCommand, count: usize, draft: &mut ComposerDraft) -> bool {
    let step = match command {
        HistoryCommand::Undo => ComposerDraft::undo,
        HistoryCommand::Redo => ComposerDraft::redo,
        HistoryCommand::UndoLine => return false,
    };
    (0..count).take_while(|_| step(draft)).count() > 0
}

fn named_key(key: KeyEvent) -> Option<Key> {
    Some(match key.code {
        KeyCode::Char('r') if key.modifiers == KeyModifiers::CONTROL => Key::Ctrl('r'),
        KeyCode::Char(letter) => Key::Char(letter),
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Delete => Key::Delete,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        _ => return None,
    })
}
