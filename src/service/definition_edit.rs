//! Editing workflows and roles: lists, opens, checks, plays and saves their files, and begins new ones.
//!
//! Owns which file a name means, and that no change of another program is overwritten. Refuses to change what is shipped.

pub mod create_definition;
pub mod templates;

mod new_file;

use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_domain::source_location::{ConfigLayer, SourceLocation};
use synthdev_domain::tool::{ParsingTool, ToolSpec};
use synthdev_language::did_you_mean::closest_word;
use synthdev_language::graph::WorkflowGraph;
use synthdev_language::inputs;
use synthdev_language::render::compact_line;
use synthdev_language::source::SourceFile;
use synthdev_language::test_file::ENDING;
use synthdev_language::workflow_file::{meant_names, read_heads};
use synthdev_ports::simulation::SimulationPorts;
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_settings::file_kind::FileKind;
use synthdev_settings::role_file::read_roles;

use crate::definition_check::check_among_others;
use crate::session::{
    CatalogSymbols, EditFile, EditFileKind, EditorCheckReport, EditorRequest, EditorResponse,
    EditorSaveError, EditorSimulatedRun, FilePosition, OpenedEditFile, SavedEditFile, ToolSymbol,
};
use crate::start_check::{WorkflowLookupError, find_program};
use crate::workflow_tests::SimulationVerdict;
use crate::workflow_tests::dry_run::{DryRun, DryRunError};
use crate::workflow_tests::replies_file::{ReplyScriptError, only_scenario};
use crate::workflow_tests::scripted_run::ScriptedRun;

/// How the user's own files are named.
const USER: &str = "user:";

/// The project's directory of definitions, and how its files are named.
pub const PROJECT_FOLDER: &str = ".synthdev";

/// Nothing was changed; with a hint on a line of its own where there is one.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct DefinitionEditError(pub String);

fn refused<T>(why: impl Into<String>) -> Result<T, DefinitionEditError> {
    Err(DefinitionEditError(why.into()))
}

/// The files of the user and of the project.
pub trait DefinitionFilesPort: Send + Sync {
    /// The configuration as its files are now, whatever models this machine has.
    ///
    /// # Errors
    /// A file cannot be read.
    fn load_definitions(&self) -> Result<DefinitionChecker, DefinitionEditError>;

    /// Name and text of the files of a project that is not trusted.
    fn untrusted_files(&self) -> Vec<(String, String)>;

    /// Nothing can be saved: only shipped files count.
    fn is_read_only(&self) -> bool;

    fn user_directory(&self) -> &Path;

    fn project_directory(&self) -> &Path;

    /// `None`: there is no such file.
    ///
    /// # Errors
    /// It cannot be read; the text names it.
    fn read_file(&self, path: &Path) -> Result<Option<String>, DefinitionEditError>;

    /// Whether there is a file or a directory.
    fn exists(&self, path: &Path) -> bool;

    /// Writes a file as a whole. `of_project`: its name in the project, which stays trusted if it was, because its user
    /// writes here. Returns whether the file counts from now on.
    ///
    /// # Errors
    /// It cannot be written; the text names it.
    fn write_file(
        &self,
        path: &Path,
        text: &str,
        of_project: Option<&Path>,
    ) -> Result<bool, DefinitionEditError>;

    /// The user's own editor on a text.
    ///
    /// # Errors
    /// There is no such editor, or it ended with an error.
    fn edit_outside(&self, name: &str, text: &str) -> Result<String, String>;

    /// The user's own editor on a file of the project.
    ///
    /// # Errors
    /// There is no such file in the project, no such editor, or it ended with an error.
    fn open_file(&self, position: &FilePosition) -> Result<(), String>;
}

/// The configuration that texts are checked with: whatever models this machine has, as `check` does it.
pub struct DefinitionChecker {
    pub catalog: ConfigCatalog,
    /// Test files of the layers that count.
    pub tests: Vec<SourceFile>,
    /// Files of this layer count; those of a project that is not trusted do not.
    pub project: bool,
}

impl DefinitionChecker {
    fn dry_run<'a>(&'a self, ports: &'a dyn SimulationPorts) -> DryRun<'a> {
        DryRun { ports, catalog: &self.catalog, tests: &self.tests }
    }
}

/// What is loaded stays until it may have changed: users of one editor share it.
pub type SharedDefinitionChecker = Arc<Mutex<Option<Arc<DefinitionChecker>>>>;

/// The editor of definitions.
pub struct DefinitionEditService {
    pub files: Box<dyn DefinitionFilesPort>,
    pub simulation: Box<dyn SimulationPorts>,
    pub checker: SharedDefinitionChecker,
}

impl DefinitionEditService {
    /// Answers a request. Blocking.
    pub fn answer_request(&self, asked: EditorRequest) -> EditorResponse {
        match asked {
            EditorRequest::Files => EditorResponse::Files(
                self.reload_checker()
                    .map(|checker| self.list_files(&checker))
                    .map_err(|error| error.to_string()),
            ),
            EditorRequest::Open { name, in_external_editor: external } => {
                let opened =
                    self.reload_checker().and_then(|checker| self.open_file(&checker, &name, external));
                EditorResponse::Opened(opened.map(Box::new).map_err(|error| error.to_string()))
            }
            EditorRequest::Patterns => {
                let found = self.reload_checker().map(|checker| self.patterns(&checker));
                EditorResponse::Patterns(found.map_err(|error| error.to_string()))
            }
            EditorRequest::Begin(wish) => {
                let begun = self.reload_checker().and_then(|checker| self.draft_file(&checker, &wish));
                EditorResponse::Begun(begun.map(Box::new).map_err(|error| error.to_string()))
            }
            EditorRequest::Simulate { file, text, version } => {
                let result = self.current_checker().map_err(|error| error.to_string());
                let result = result.and_then(|checker| {
                    let source = source_file(&checker, &file, &text);
                    wait_for_runs(checker.dry_run(&*self.simulation).play_file(&source))
                });
                EditorResponse::Simulated { version, result }
            }
            EditorRequest::Check { file, text, version } => {
                let report = match self.current_checker() {
                    Ok(checker) => check_report(&checker, &file, &text),
                    Err(error) => unchecked_report(&file, &error.to_string()),
                };
                EditorResponse::Checked { version, report: Box::new(report) }
            }
            EditorRequest::EditOutside { name, text } => {
                EditorResponse::EditedOutside(self.files.edit_outside(&name, &text))
            }
            EditorRequest::OpenFile(position) => EditorResponse::FileClosed(self.files.open_file(&position)),
            EditorRequest::Save { file, text, version, base, overwrite: replace } => {
                let base = base.filter(|_| !replace);
                match self.save_file(&file, &text, base.as_deref(), replace) {
                    Ok(Ok(note)) => EditorResponse::Saved(Ok(SavedEditFile { version, text, message: note })),
                    Ok(Err(now)) => EditorResponse::Saved(Err(EditorSaveError::Changed(now.into()))),
                    Err(error) => {
                        EditorResponse::Saved(Err(EditorSaveError::Failed(format!("not saved: {error}"))))
                    }
                }
            }
        }
    }

    /// A workflow by its name, from the present files.
    pub fn simulate_workflow(&self, name: &str) -> Result<Vec<EditorSimulatedRun>, String> {
        let checker = self.reload_checker().map_err(|error| error.to_string())?;
        wait_for_runs(checker.dry_run(&*self.simulation).play_workflow(name))
    }

    /// The same with the replies of a file. `input`: instead of that of the file.
    ///
    /// # Errors
    /// There is no such workflow, or the file or the input does not fit it.
    pub fn simulate_replies(
        &self,
        name: &str,
        script: &SourceFile,
        input: Option<&str>,
    ) -> Result<SimulationVerdict, String> {
        let checker = self.reload_checker().map_err(|error| error.to_string())?;
        let catalog = &checker.catalog;
        let scenario = only_scenario(script).map_err(|error| match error.hint() {
            Some(hint) => format!("{error}\nhint: {hint}"),
            None => error.to_string(),
        })?;
        let lines = |found: Vec<Diagnostic>| ReplyScriptError::Unusable(found).to_string();
        let program = find_program(catalog, name).map_err(|refused| match refused {
            WorkflowLookupError::Unknown(unknown) => unknown.screen_line(),
            WorkflowLookupError::Broken(found) => lines(found),
        })?;
        let declared = program.workflows.first().map(|root| root.inputs.as_slice()).unwrap_or_default();
        let inputs = input.map(|input| inputs::from_text(declared, input)).transpose();
        let inputs = inputs.map_err(|error| format!("{}\nhint: {}", error.message, error.hint))?;
        let ports = &*self.simulation;
        let run =
            ScriptedRun::new(ports, catalog, script, &scenario, &program, inputs, None).map_err(lines)?;
        let handle = tokio::runtime::Handle::try_current().map_err(|error| error.to_string())?;
        Ok(handle.block_on(run.play_to_end(ports)))
    }

    /// The files as they are now.
    fn reload_checker(&self) -> Result<Arc<DefinitionChecker>, DefinitionEditError> {
        *self.checker.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.current_checker()
    }

    fn current_checker(&self) -> Result<Arc<DefinitionChecker>, DefinitionEditError> {
        let mut known = self.checker.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(checker) = known.as_ref() {
            return Ok(Arc::clone(checker));
        }
        let checker = Arc::new(self.files.load_definitions()?);
        *known = Some(Arc::clone(&checker));
        Ok(checker)
    }

    /// The project's files first, then the user's, then the shipped ones.
    fn list_files(&self, checker: &DefinitionChecker) -> Vec<EditFile> {
        let catalog = &checker.catalog;
        let workflows = catalog.workflow_files().iter().map(|file| (file.clone(), EditFileKind::Workflow));
        let roles = catalog.role_files().iter().map(|file| (file.clone(), EditFileKind::Role));
        let mut all: Vec<(SourceFile, EditFileKind)> = workflows.chain(roles).collect();
        if !checker.project && !self.files.is_read_only() {
            let known: Vec<String> = all.iter().map(|(file, _)| file.name.clone()).collect();
            all.extend(
                untrusted_definitions(&*self.files)
                    .into_iter()
                    .filter(|(file, _)| !known.contains(&file.name)),
            );
        }
        let mut files: Vec<EditFile> =
            all.iter().map(|(file, what)| listed_file(checker, file, *what)).collect();
        files.sort_by(|a, b| b.layer.cmp(&a.layer).then_with(|| a.name.cmp(&b.name)));
        files
    }

    fn open_file(
        &self,
        checker: &DefinitionChecker,
        name: &str,
        external: bool,
    ) -> Result<OpenedEditFile, DefinitionEditError> {
        let files = self.list_files(checker);
        let stem = |file: &EditFile| {
            let last = file.name.rsplit(['/', ':']).next().unwrap_or_default();
            last.trim_end_matches(".json").to_owned()
        };
        let defined = |what: EditFileKind| {
            let by_name = |file: &&EditFile| {
                file.file_kind == what && file.definition_names.iter().any(|one| one == name)
            };
            files.iter().find(by_name)
        };
        let found = files.iter().find(|file| file.name == name);
        let found = found.or_else(|| defined(EditFileKind::Workflow)).or_else(|| defined(EditFileKind::Role));
        let Some(file) = found.or_else(|| files.iter().find(|file| stem(file) == name)) else {
            let known: Vec<&str> =
                files.iter().flat_map(|file| &file.definition_names).map(String::as_str).collect();
            let near = closest_word(name, known);
            let near = near.map(|near| format!(" — did you mean `{near}`?")).unwrap_or_default();
            return refused(format!(
                "there is no workflow and no role `{name}`{near}\n/edit lists the files; /edit --new {name} begins one"
            ));
        };
        let text = match self.path(&file.name)? {
            Some(path) => self.files.read_file(&path)?,
            None => checker.catalog.printable_text(&file.name),
        };
        let Some(text) = text else { return refused(format!("{} is gone", file.name)) };
        Ok(OpenedEditFile {
            text: text.into(),
            symbols: catalog_symbols(&checker.catalog),
            in_external_editor: external,
            file: file.clone(),
        })
    }

    /// Where a file is; `None`: it is a shipped one.
    fn path(&self, name: &str) -> Result<Option<PathBuf>, DefinitionEditError> {
        let (above, below) = match name.strip_prefix(USER) {
            Some(rest) => (self.files.user_directory(), rest),
            None if name.starts_with(&format!("{PROJECT_FOLDER}/")) => (self.files.project_directory(), name),
            None => return Ok(None),
        };
        let inside = Path::new(below).components().all(|part| matches!(part, Component::Normal(_)));
        if !inside {
            return refused(format!("{name} is not a configuration file"));
        }
        Ok(Some(above.join(below)))
    }

    /// The message for the user; the inner error: the present text of the file, if it is not the one that was read.
    fn save_file(
        &self,
        file: &EditFile,
        text: &str,
        base: Option<&str>,
        replace: bool,
    ) -> Result<Result<String, String>, DefinitionEditError> {
        let Some(path) = self.path(&file.name)? else {
            return refused("a shipped file cannot be changed: save a copy");
        };
        if self.files.is_read_only() {
            return refused(
                "the demo uses only shipped files: start synthdev without `demo` to save your own",
            );
        }
        let now = self.files.read_file(&path)?;
        if let Some(now) = now.filter(|now| !replace && Some(now.as_str()) != base) {
            return Ok(Err(now));
        }
        let of_project = (file.layer == ConfigLayer::Project).then(|| Path::new(&file.name));
        let counts = self.files.write_file(&path, text, of_project)?;
        *self.checker.lock().unwrap_or_else(PoisonError::into_inner) = None;
        if !counts {
            return Ok(Ok(format!("saved {}: not used until you trust this project", file.name)));
        }
        let broken = self.current_checker().ok().and_then(|checker| broken_file_text(&checker, file, text));
        Ok(Ok(match broken {
            Some(told) => format!("saved {} with {told}", file.name),
            None => format!("saved {}: used from now on; an active run keeps its own version", file.name),
        }))
    }
}

/// `2 errors: plan is the one of … until they are mended (line 3: …)`: what is wrong with a file that was saved, and what is used in its
/// place. `None`: it has no errors.
fn broken_file_text(checker: &DefinitionChecker, file: &EditFile, text: &str) -> Option<String> {
    let findings = check_report(checker, file, text).findings;
    let errors: Vec<&Diagnostic> =
        findings.iter().filter(|finding| finding.severity == DiagnosticSeverity::Error).collect();
    let first = errors.first()?;
    let count = if errors.len() == 1 { "an error".to_owned() } else { format!("{} errors", errors.len()) };
    let until = if errors.len() == 1 { "until it is mended" } else { "until they are mended" };
    let place = if first.place.file == file.name {
        format!("line {}", first.place.line)
    } else {
        first.place.to_string()
    };
    let used = match file.file_kind {
        EditFileKind::Role => "roles of it may be missing".to_owned(),
        EditFileKind::Workflow => {
            let heads = read_heads(&source_file(checker, file, text)).0;
            let names: Vec<String> = heads.into_iter().map(|head| head.name).collect();
            let names = if names.is_empty() { file.definition_names.clone() } else { names };
            let used = |name: &String| match checker.catalog.workflow(name) {
                Some(entry) if entry.place.file != file.name && entry.unreadable_rival.is_none() => {
                    format!("{name} is the one of {}", entry.place.file)
                }
                Some(_) => format!("{name} cannot be started"),
                None => format!("there is no workflow {name}"),
            };
            match names.as_slice() {
                [] => "no workflow of it can be started".to_owned(),
                names => names.iter().map(used).collect::<Vec<_>>().join(", "),
            }
        }
    };
    Some(format!("{count}: {used} {until} ({place}: {})", first.message))
}

/// Files of a project that do not count yet.
fn untrusted_definitions(files: &dyn DefinitionFilesPort) -> Vec<(SourceFile, EditFileKind)> {
    let files = files.untrusted_files().into_iter();
    let of = |name: &str| {
        let inside = name.strip_prefix(PROJECT_FOLDER)?.trim_start_matches('/');
        match inside.split_once('/') {
            Some(("roles", _)) => Some(EditFileKind::Role),
            Some(("workflows", rest)) if rest.ends_with(".json") && !rest.ends_with(ENDING) => {
                Some(EditFileKind::Workflow)
            }
            _ => None,
        }
    };
    files
        .filter_map(|(name, text)| Some((of(&name)?, SourceFile::new(ConfigLayer::Project, name, text))))
        .map(|(what, file)| (file, what))
        .collect()
}

fn listed_file(checker: &DefinitionChecker, file: &SourceFile, what: EditFileKind) -> EditFile {
    let defines = match what {
        EditFileKind::Workflow => meant_names(file),
        EditFileKind::Role => read_roles(file).0.into_iter().map(|part| part.name).collect(),
    };
    let mut listed = EditFile {
        name: file.name.clone(),
        layer: file.layer,
        file_kind: what,
        definition_names: defines,
        problem: None,
    };
    let found = check_report(checker, &listed, &file.text).findings;
    let error = found.iter().find(|finding| finding.severity == DiagnosticSeverity::Error);
    // the list shows its name beside the problem
    let own = format!("{}:", file.name);
    listed.problem = error.map(compact_line).map(|text| text.strip_prefix(&own).unwrap_or(&text).to_owned());
    listed
}

/// A text that could not be checked must not look like one without errors.
pub fn unchecked_report(file: &EditFile, why: &str) -> EditorCheckReport {
    let finding = Diagnostic {
        code: "C01".to_owned(),
        severity: DiagnosticSeverity::Error,
        message: format!("this text could not be checked: {why}"),
        place: SourceLocation { file: file.name.clone(), line: 1, column: 1 },
        span: 0..0,
        hint: None,
    };
    EditorCheckReport { findings: vec![finding], ..EditorCheckReport::default() }
}

/// The text as a file. Companions of a file that does not count are read from the disk.
fn source_file(checker: &DefinitionChecker, file: &EditFile, text: &str) -> SourceFile {
    let layer = if file.layer == ConfigLayer::Project && !checker.project {
        ConfigLayer::CommandLine
    } else {
        file.layer
    };
    SourceFile::new(layer, file.name.as_str(), text)
}

/// This is a thread of its own, so that waiting is fine.
fn wait_for_runs<T>(work: impl Future<Output = Result<T, DryRunError>>) -> Result<T, String> {
    let handle = tokio::runtime::Handle::try_current().map_err(|error| error.to_string())?;
    handle.block_on(work).map_err(|error| dry_run_error_text(&error))
}

fn check_report(checker: &DefinitionChecker, file: &EditFile, text: &str) -> EditorCheckReport {
    let kind = match file.file_kind {
        EditFileKind::Workflow => FileKind::Workflow,
        EditFileKind::Role => FileKind::Roles,
    };
    let checked = check_among_others(&checker.catalog, &source_file(checker, file, text), kind);
    let drawn = checked.programs.iter().flat_map(|program| WorkflowGraph::with_children(program, 0, false));
    let graphs: Vec<WorkflowGraph> = drawn.map(|(_, graph)| graph).collect();
    let is_broken = graphs.is_empty() && kind == FileKind::Workflow;
    let sketch = is_broken.then(|| WorkflowGraph::from_broken_text(text)).flatten();
    EditorCheckReport { graphs, sketch, findings: checked.diagnostics }
}

/// What completion knows.
fn catalog_symbols(catalog: &ConfigCatalog) -> CatalogSymbols {
    let tool = |tool: &ToolSpec| tool_symbol(&tool.name, &tool.description, &tool.parameters);
    let roles = catalog.roles();
    let parsing = |tool: &ParsingTool| tool_symbol(&tool.name, &tool.description, &tool.parameters);
    let mut functions: Vec<ToolSymbol> =
        roles.iter().flat_map(|role| role.parsing_tools.iter().map(parsing)).collect();
    functions.sort_by(|a, b| a.name.cmp(&b.name));
    functions.dedup_by(|a, b| a.name == b.name);
    CatalogSymbols {
        roles: roles.iter().map(|role| (role.name.clone(), role.description.clone())).collect(),
        workflows: catalog
            .workflows()
            .iter()
            .map(|one| (one.name.clone(), one.description.clone()))
            .collect(),
        tools: catalog.tools().iter().map(tool).collect(),
        parsing: functions,
    }
}

fn tool_symbol(name: &str, about: &str, parameters: &serde_json::Value) -> ToolSymbol {
    let arguments = parameters.get("properties").and_then(serde_json::Value::as_object);
    ToolSymbol {
        name: name.to_owned(),
        description: about.to_owned(),
        arguments: arguments.into_iter().flatten().map(|(name, _)| name.clone()).collect(),
    }
}

fn dry_run_error_text(error: &DryRunError) -> String {
    match error {
        DryRunError::UnknownWorkflow(unknown) => unknown.screen_line(),
        other => other.to_string(),
    }
}
