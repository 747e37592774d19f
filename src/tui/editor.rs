//! The editor of workflows and roles: a file's text, its diagnostics, its graph, and completions.
//!
//! All of its state; `update::editor` changes it, `view::editor` draws it. Refuses files, clocks and checks: texts and
//! diagnostics are responses of the service.

use std::sync::Arc;

use serde_json::Value;

use self::buffer::EditorBuffer;
use self::complete::EditorCompletion;
use self::graph_list::EditorGraphList;
use self::new_file::NewFilePicker;
use self::prompt_guard::{PromptChoice, PromptKeyGuard};
use self::simulation_result::{EditorSimulation, SIMULATING};
use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_domain::source_location::ConfigLayer;
use synthdev_service::session::{CatalogSymbols, EditFile, EditFileKind, NewEditFile, OpenedEditFile};
use synthdev_service::setting_values::schema::FileSchema;

pub mod action;
pub mod buffer;
pub mod complete;
pub mod graph_list;
pub mod json_lexer;
pub mod json_tree;
pub mod new_file;
pub mod prompt_guard;
pub mod schema_lookup;
pub mod simulation_result;
mod undo_history;

/// Larger texts cannot be edited.
pub const LARGEST: usize = 1 << 20;

/// In the title, while the first check of a text runs.
pub const CHECKING: &str = "checking …";
/// In the last line, while a file is written.
pub const SAVING: &str = "saving …";

/// In front of everything else.
#[derive(Clone, Debug)]
pub enum EditorScreen {
    List(EditFileList),
    Fresh(Box<NewFilePicker>),
    Text(Box<DefinitionEditor>),
}

/// The files, to choose one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EditFileList {
    pub files: Vec<EditFile>,
    pub typed_filter: String,
    pub selected: usize,
}

impl EditFileList {
    /// The files that match the filter.
    pub fn matching_files(&self) -> Vec<&EditFile> {
        let wanted = self.typed_filter.to_lowercase();
        let fits = |file: &&EditFile| {
            std::iter::once(&file.name)
                .chain(&file.definition_names)
                .any(|name| name.to_lowercase().contains(&wanted))
        };
        self.files.iter().filter(fits).collect()
    }
}

/// What the last line asks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EditorPrompt {
    Find(String),
    /// There are changes that are not saved.
    Leave,
    /// There are errors.
    Force,
    /// The file differs from the text that was read.
    Conflict(Arc<str>),
    /// A shipped file is saved as a copy: where?
    Where,
}

impl EditorPrompt {
    /// The letters that choose an answer.
    pub fn answers(&self) -> &'static [char] {
        match self {
            Self::Find(_) => &[],
            Self::Leave | Self::Force => &['y', 'n'],
            Self::Conflict(_) => &['o', 'r'],
            Self::Where => &['p', 'u'],
        }
    }
}

/// Where the picture begins: a row and a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EditorScrollOffset {
    pub row: usize,
    pub column: usize,
}

#[derive(Clone, Debug)]
pub struct DefinitionEditor {
    /// Distinguishes replies to this editor from late ones to another.
    pub number: u64,
    pub file: EditFile,
    pub buffer: EditorBuffer,
    /// What the file holds as far as we know; `None`: there is none yet.
    pub base: Option<Arc<str>>,
    /// The version that is in the file.
    pub saved_version: u64,
    pub schema: Arc<Value>,
    pub symbols: CatalogSymbols,
    pub findings: Vec<Diagnostic>,
    /// The version that the findings are of.
    pub checked_version: Option<u64>,
    /// The version whose findings are on their way.
    pub checking_version: Option<u64>,
    /// The file was broken when it was opened: the cursor goes to its first error, unless the user has moved it.
    pub goes_to_error: bool,
    /// Of the last text without errors.
    pub graph_list: Option<EditorGraphList>,
    /// The drawing is of an older text.
    pub graph_outdated: bool,
    /// It is drawn from what can be read of a file that was broken from the beginning.
    pub graph_is_sketch: bool,
    pub graph: bool,
    pub graph_top: usize,
    /// In the graph's place.
    pub simulation: Option<EditorSimulation>,
    /// The list of findings is shown; which of them is chosen.
    pub list: Option<usize>,
    pub prompt: Option<EditorPrompt>,
    /// What is chosen of the prompt's answers.
    pub prompt_choice: PromptChoice,
    /// When keys answer the prompt.
    pub prompt_guard: PromptKeyGuard,
    /// The words that were looked for last.
    pub search_words: String,
    pub completion: Option<EditorCompletion>,
    /// A description, or the keys.
    pub help_text: Option<String>,
    pub status_note: Option<String>,
    /// The user wants to save it as soon as it is checked; the version that was there then.
    pub saving_version: Option<u64>,
    /// It is being written.
    pub is_saving: bool,
    /// Closed when it is saved.
    pub close_when_saved: bool,
    pub scroll_offset: EditorScrollOffset,
    /// Whether each line begins inside a comment, of the version.
    pub comments: (u64, Vec<bool>),
    /// Rows of text on screen.
    pub rows: usize,
}

impl DefinitionEditor {
    pub fn new(number: u64, opened: OpenedEditFile) -> Self {
        let schema = match opened.file.file_kind {
            EditFileKind::Workflow => FileSchema::Workflow,
            EditFileKind::Role => FileSchema::Role,
        };
        let shipped = opened.file.layer == ConfigLayer::BuiltIn;
        let buffer = EditorBuffer::new(&opened.text);
        let comments = (0, json_lexer::inside_comments(buffer.lines()));
        Self {
            number,
            buffer,
            base: Some(opened.text),
            saved_version: 0,
            schema: Arc::new(schema.value()),
            symbols: opened.symbols,
            findings: Vec::new(),
            checked_version: None,
            checking_version: None,
            goes_to_error: opened.file.problem.is_some(),
            graph_list: None,
            graph_outdated: false,
            graph_is_sketch: false,
            graph: true,
            graph_top: 0,
            simulation: None,
            list: None,
            prompt: None,
            prompt_choice: PromptChoice::None,
            prompt_guard: PromptKeyGuard::default(),
            search_words: String::new(),
            completion: None,
            help_text: None,
            status_note: shipped.then(|| "a shipped file: what you save is a copy of your own".to_owned()),
            saving_version: None,
            is_saving: false,
            close_when_saved: false,
            scroll_offset: EditorScrollOffset::default(),
            comments,
            rows: 1,
            file: opened.file,
        }
    }

    /// A file that does not exist yet: none of it is saved.
    pub fn for_new_file(number: u64, begun: NewEditFile) -> Self {
        let mut editor = Self::new(number, begun.file);
        (editor.base, editor.saved_version) = (None, u64::MAX);
        let note = begun.name_conflict.map(|note| format!(" — {note}")).unwrap_or_default();
        editor.status_note = Some(format!("new: nothing is written until you save it{note}"));
        editor
    }

    /// Asks something: no key of before answers it.
    pub fn ask(&mut self, prompt: EditorPrompt) {
        (self.prompt, self.prompt_choice) = (Some(prompt), PromptChoice::None);
        self.prompt_guard = PromptKeyGuard::default();
    }

    /// Asks what the key that was just pressed is to do: the next key answers.
    pub fn ask_at_key(&mut self, prompt: EditorPrompt) {
        self.ask(prompt);
        self.prompt_guard = PromptKeyGuard::of_own_key();
    }

    /// Saves once it is known whether the text is right.
    pub fn save_when_checked(&mut self) {
        self.saving_version = Some(self.buffer.version());
        self.status_note = Some("saving, once the text is checked …".to_owned());
    }

    /// The findings as the list shows them: the chosen one, if the list is open.
    pub fn chosen_finding(&self) -> Option<usize> {
        self.list.map(|at| at.min(self.findings.len().saturating_sub(1)))
    }

    /// Opens the list at the finding of the cursor's line, or the next one; closes it if it is open.
    pub fn toggle_list(&mut self) {
        let (row, _) = self.buffer.cursor();
        let here = self.findings.iter().position(|finding| self.finding_row(finding) >= row).unwrap_or(0);
        self.list = if self.list.is_some() { None } else { Some(here) };
    }

    /// The prompt, if it is a question with answers.
    pub fn open_question(&self) -> Option<&EditorPrompt> {
        self.prompt.as_ref().filter(|prompt| !matches!(prompt, EditorPrompt::Find(_)))
    }

    /// What is waited for beside the user.
    pub fn wait_text(&self) -> Option<&'static str> {
        if self.is_saving {
            return Some(SAVING);
        }
        let simulates = self.simulation.as_ref().is_some_and(|simulation| simulation.result.is_none());
        // later checks leave the findings of the text before them on screen
        let checks = self.checking_version.is_some() && self.checked_version.is_none();
        if simulates { Some(SIMULATING) } else { checks.then_some(CHECKING) }
    }

    /// What the file would get is another text than it holds: a change that was taken back is none.
    pub fn is_changed(&self) -> bool {
        let is_saved = |saved: &Arc<str>| self.buffer.equals_file_text(saved);
        self.buffer.version() != self.saved_version && !self.base.as_ref().is_some_and(is_saved)
    }

    /// Whether the diagnostics are those of the present text.
    pub fn is_checked(&self) -> bool {
        self.checked_version == Some(self.buffer.version())
    }

    pub fn count_findings(&self, severity: DiagnosticSeverity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }

    /// The worst finding of a line from 0.
    pub fn finding_at(&self, row: usize) -> Option<&Diagnostic> {
        let of_row = self.findings.iter().filter(|finding| self.finding_row(finding) == row);
        of_row.max_by_key(|finding| finding.severity)
    }

    /// The worst finding of this line, else of the next one that has any, else of the first.
    pub fn finding_from(&self, row: usize) -> Option<&Diagnostic> {
        let rows = || self.findings.iter().map(|finding| self.finding_row(finding));
        let near = rows().filter(|found| *found >= row).min().or_else(|| rows().min())?;
        self.finding_at(near)
    }

    /// The line of a finding; one without a place, or of another file, is shown at the first.
    pub fn finding_row(&self, finding: &Diagnostic) -> usize {
        if finding.place.file == self.file.name { finding.place.line.saturating_sub(1) } else { 0 }
    }

    /// What follows from a change: the colours.
    pub fn refresh_colours(&mut self) {
        if self.comments.0 != self.buffer.version() {
            self.comments = (self.buffer.version(), json_lexer::inside_comments(self.buffer.lines()));
        }
    }

    /// Keeps the cursor on screen.
    pub fn scroll_to_cursor(&mut self, columns: usize, rows: usize, cursor_column: usize) {
        let (row, _) = self.buffer.cursor();
        self.rows = rows.max(1);
        let keep =
            |first: usize, at: usize, room: usize| first.min(at).max((at + 1).saturating_sub(room.max(1)));
        self.scroll_offset.row = keep(self.scroll_offset.row, row, rows);
        self.scroll_offset.column = keep(self.scroll_offset.column, cursor_column, columns);
    }
}
