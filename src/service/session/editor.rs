//! Files of workflows and roles that the user edits.

use std::sync::Arc;

use synthdev_domain::diagnostic::Diagnostic;
use synthdev_domain::source_location::ConfigLayer;
use synthdev_language::graph::WorkflowGraph;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EditorRequest {
    Files,
    /// A workflow, a role or a file, by its name.
    Open {
        name: String,
        /// Open in the user's own editor.
        in_external_editor: bool,
    },
    /// The findings of a text.
    Check {
        file: EditFile,
        text: Arc<str>,
        version: u64,
    },
    /// What a new file can begin with.
    Patterns,
    /// The text of a new file, if its name is free.
    Begin(NewFileRequest),
    /// A text is played without models.
    Simulate {
        file: EditFile,
        text: Arc<str>,
        version: u64,
    },
    /// `base`: the text as it was read; the file is written only if it still has this text, or if it is to be replaced.
    Save {
        file: EditFile,
        text: Arc<str>,
        version: u64,
        base: Option<Arc<str>>,
        overwrite: bool,
    },
    /// Opens a text in the user's own editor, which has the terminal until it ends: answered at its end.
    EditOutside {
        name: String,
        text: Arc<str>,
    },
    /// Opens a file of the project in the user's own editor, which has the terminal until it ends: answered at its end.
    OpenFile(FilePosition),
}

#[derive(Clone, Debug)]
pub enum EditorResponse {
    Files(Result<Vec<EditFile>, String>),
    Opened(Result<Box<OpenedEditFile>, String>),
    Checked {
        version: u64,
        report: Box<EditorCheckReport>,
    },
    Saved(Result<SavedEditFile, EditorSaveError>),
    Patterns(Result<NewFileTemplates, String>),
    Begun(Result<Box<NewEditFile>, String>),
    Simulated {
        version: u64,
        result: Result<Vec<EditorSimulatedRun>, String>,
    },
    /// The text, or why there is none: no such editor, or it ended with an error.
    EditedOutside(Result<String, String>),
    /// The user's own editor has closed a file, or why it could not be opened.
    FileClosed(Result<(), String>),
}

/// A file of the project, relative to its root, and a line of it, from 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FilePosition {
    pub path: String,
    pub line: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EditFileKind {
    Workflow,
    Role,
}

/// A file that can be edited.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EditFile {
    /// As findings name it.
    pub name: String,
    pub layer: ConfigLayer,
    pub file_kind: EditFileKind,
    /// The workflows or roles in it.
    pub definition_names: Vec<String>,
    /// Its first error, in a line.
    pub problem: Option<String>,
}

#[derive(Clone, Debug)]
pub struct OpenedEditFile {
    pub file: EditFile,
    pub text: Arc<str>,
    pub symbols: CatalogSymbols,
    pub in_external_editor: bool,
}

/// A new file that is not written yet.
#[derive(Clone, Debug)]
pub struct NewEditFile {
    pub file: OpenedEditFile,
    /// What else has that name.
    pub name_conflict: Option<String>,
}

/// What a check found.
#[derive(Clone, Debug, Default)]
pub struct EditorCheckReport {
    pub findings: Vec<Diagnostic>,
    /// The graphs of the workflows in the file; empty where an error is in their way.
    pub graphs: Vec<WorkflowGraph>,
    /// Where an error is in their way: the states and transitions that can be read.
    pub sketch: Option<WorkflowGraph>,
}

#[derive(Clone, Debug)]
pub struct SavedEditFile {
    /// Of the text that was saved.
    pub version: u64,
    pub text: Arc<str>,
    /// What to say.
    pub message: String,
}

#[derive(Clone, Debug)]
pub enum EditorSaveError {
    /// Another program has changed the file meanwhile: its present text.
    Changed(Arc<str>),
    /// The system's error.
    Failed(String),
}

/// A tool or function, for completion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToolSymbol {
    pub name: String,
    pub description: String,
    pub arguments: Vec<String>,
}

/// Names of the catalogue for completion, each with a short description.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CatalogSymbols {
    pub roles: Vec<(String, String)>,
    pub workflows: Vec<(String, String)>,
    pub tools: Vec<ToolSymbol>,
    /// Functions that roles answer with.
    pub parsing: Vec<ToolSymbol>,
}

impl CatalogSymbols {
    /// What a script can ask for after `function.`.
    pub fn function_tools(&self) -> impl Iterator<Item = &ToolSymbol> {
        self.parsing.iter().chain(&self.tools)
    }
}

/// A text that a new file can begin with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewFileTemplate {
    pub file_kind: EditFileKind,
    pub name: String,
    pub description: String,
    /// The file whose workflow or role is copied; `None`: a small pattern made for this.
    pub copied_from: Option<String>,
}

/// What can be begun with.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NewFileTemplates {
    pub list: Vec<NewFileTemplate>,
    /// The project has a directory for definitions of its own.
    pub project: bool,
}

/// What becomes of a pattern.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewFileRequest {
    pub pattern: NewFileTemplate,
    pub name: String,
    pub layer: ConfigLayer,
}

/// How a file of that name is called in findings.
pub fn definition_file_name(what: EditFileKind, layer: ConfigLayer, name: &str) -> String {
    let folder = match what {
        EditFileKind::Workflow => "workflows",
        EditFileKind::Role => "roles",
    };
    let above = if layer == ConfigLayer::Project { ".synthdev/" } else { "user:" };
    format!("{above}{folder}/{name}.json")
}

/// One run without models.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EditorSimulatedRun {
    pub workflow: String,
    /// The test whose replies were played; `None`: answers were made up.
    pub test_name: Option<String>,
    /// As runs have it, or why it was not played.
    pub status: String,
    /// It was not played, and that is no failure.
    pub is_skipped: bool,
    pub path: Vec<String>,
    /// In the order of the first ones.
    pub visits: Vec<(String, u64)>,
    /// Model calls that there would have been.
    pub calls: u64,
    /// What did not come as it should; several lines are fine.
    pub problems: Vec<String>,
    /// Output, warnings, logs: a line each.
    pub notes: Vec<String>,
}
