//! Checking definitions: what is wrong with a file or a workflow, and what a run of it is.
//!
//! Owns what belongs to a check, for the command line and for the editor. Refuses to judge a workflow by the models of
//! this machine: callers give a configuration in which every level has one.

use std::path::Path;

use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_domain::source_location::ConfigLayer;
use synthdev_domain::terminal_safe::escape_name;
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_language::did_you_mean::suggestion_hint;
use synthdev_language::render::compact_line;
use synthdev_language::source::{FileDiagnostics, SourceFile};
use synthdev_language::test_file;
use synthdev_language::workflow_file::read_heads;
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_settings::catalog::workflow_index::{WorkflowEntry, index_workflows};
use synthdev_settings::file_kind::FileKind;
use synthdev_settings::roles::RoleSet;

/// What is checked.
#[derive(Clone, PartialEq, Debug)]
pub enum CheckSubject {
    /// A workflow of the catalogue, by name.
    Workflow(String),
    File(SourceFile, FileKind),
    /// A file that cannot be read as text.
    Unreadable {
        name: String,
        reason: String,
    },
    /// A file of a directory that, by its content and path, is not one of ours.
    Foreign,
}

/// What a workflow was read as.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DialectReport {
    pub workflow: String,
    pub file: String,
    pub dialect: &'static str,
}

/// There is no workflow of that name. Every front-end says it so.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("there is no workflow `{}`", escape_name(.name))]
pub struct UnknownWorkflow {
    pub name: String,
    /// The one that may be meant.
    pub suggestion: Option<String>,
}

impl UnknownWorkflow {
    /// `names`: those that there are.
    pub fn among<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Self {
        Self { name: name.to_owned(), suggestion: suggestion_hint(name, names) }
    }

    /// What to do instead.
    pub fn hint(&self) -> String {
        let list = "`synthdev workflows` lists them";
        self.suggestion.as_ref().map_or_else(|| list.to_owned(), |near| format!("{near} {list}"))
    }

    /// Where the name of a file would do, too.
    pub fn name_or_file_text(&self) -> String {
        format!("there is no workflow and no file `{}`", escape_name(&self.name))
    }

    /// In one line, for the screen.
    pub fn screen_line(&self) -> String {
        format!("{self} — {}", self.hint().replace("`synthdev workflows`", "/workflows"))
    }
}

/// A workflow that is configured, broken or not.
///
/// # Errors
/// There is none of that name.
pub fn find_workflow<'c>(
    catalog: &'c ConfigCatalog,
    name: &str,
) -> Result<&'c WorkflowEntry, UnknownWorkflow> {
    catalog.workflow(name).ok_or_else(|| unknown_workflow(catalog, name))
}

/// None of the catalogue has this name. A file of this name that cannot be read may define it: what is wrong with it.
pub fn unknown_workflow(catalog: &ConfigCatalog, name: &str) -> UnknownWorkflow {
    let is_read = |file: &SourceFile| catalog.workflows().iter().any(|entry| entry.place.file == file.name);
    let is_of_name = |file: &&SourceFile| {
        let path = file.name.rsplit_once(':').map_or(file.name.as_str(), |(_, path)| path);
        Path::new(path).file_stem().is_some_and(|stem| stem == name) && !is_read(file)
    };
    let errors = catalog.diagnostics().iter().filter(|found| found.severity == DiagnosticSeverity::Error);
    let broken = catalog
        .workflow_files()
        .iter()
        .filter(is_of_name)
        .find_map(|file| errors.clone().find(|error| error.place.file == file.name));
    let known = UnknownWorkflow::among(name, catalog.workflows().iter().map(|entry| entry.name.as_str()));
    match broken {
        Some(error) => UnknownWorkflow { suggestion: Some(format!("{};", compact_line(error))), ..known },
        None => known,
    }
}

/// One definition, checked.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DefinitionReport {
    pub diagnostics: Vec<Diagnostic>,
    /// None of a definition with errors.
    pub programs: Vec<WorkflowProgram>,
}

/// All that was checked.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CheckReport {
    pub diagnostics: Vec<Diagnostic>,
    pub dialects: Vec<DialectReport>,
    pub programs: Vec<WorkflowProgram>,
    pub files: Vec<SourceFile>,
    /// Files that are none of ours.
    pub skipped_count: usize,
}

/// A file as it is read among the others that are configured.
pub fn check_among_others(catalog: &ConfigCatalog, file: &SourceFile, kind: FileKind) -> DefinitionReport {
    let mut report = match kind {
        FileKind::Roles => DefinitionReport::default(),
        kind => check_alone(catalog, file, kind),
    };
    let beside = match kind {
        FileKind::Workflow => index_workflows(&with_file(catalog.workflow_files(), file)).1,
        FileKind::Roles => RoleSet::load(&with_file(catalog.role_files(), file), catalog.tools()).1,
        FileKind::Test | FileKind::Settings | FileKind::Models | FileKind::OwnTool => Vec::new(),
    };
    let own = beside.into_iter().filter(|finding| finding.place.file == file.name);
    add_new(&mut report.diagnostics, own.collect());
    report
}

/// A file as it is read alone, with what is built in.
pub fn check_alone(catalog: &ConfigCatalog, file: &SourceFile, kind: FileKind) -> DefinitionReport {
    let diagnostics = match kind {
        FileKind::Workflow => return sort_results(catalog.check_file(file)),
        FileKind::Test => test_file::parse_test_file(file).1,
        FileKind::Roles | FileKind::Settings | FileKind::Models | FileKind::OwnTool => {
            catalog.check_unloaded_file(file, kind)
        }
    };
    DefinitionReport { diagnostics, programs: Vec::new() }
}

impl CheckReport {
    /// `priced`: the settings as they are, whose models have prices. Without it no program states a real model.
    pub fn check_subject(
        &mut self,
        subject: CheckSubject,
        catalog: &ConfigCatalog,
        priced: Option<&ConfigCatalog>,
    ) {
        let report = match &subject {
            CheckSubject::Workflow(name) => {
                self.add_dialects(catalog_file(catalog, name), Some(name));
                let checked = catalog.check_workflow_for(name, priced);
                sort_results(checked.map(|(program, found)| (vec![program], found)))
            }
            CheckSubject::File(file, FileKind::Workflow) => {
                self.add_dialects(Some(file), None);
                sort_results(catalog.check_file_for(file, priced))
            }
            CheckSubject::File(file, kind) => check_alone(catalog, file, *kind),
            CheckSubject::Unreadable { name, reason } => {
                DefinitionReport { diagnostics: unreadable_diagnostics(name, reason), programs: Vec::new() }
            }
            CheckSubject::Foreign => {
                self.skipped_count += 1;
                return;
            }
        };
        add_new(&mut self.diagnostics, report.diagnostics);
        self.programs.extend(report.programs);
        if let CheckSubject::File(file, _) = subject {
            self.files.push(file);
        }
    }

    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|finding| finding.severity == DiagnosticSeverity::Error)
    }

    fn add_dialects(&mut self, file: Option<&SourceFile>, only: Option<&str>) {
        let Some(file) = file else { return };
        let heads = read_heads(file).0.into_iter().filter(|head| only.is_none_or(|only| head.name == only));
        self.dialects.extend(heads.map(|head| DialectReport {
            workflow: head.name,
            file: file.name.clone(),
            dialect: head.dialect.word(),
        }));
    }
}

fn catalog_file<'c>(catalog: &'c ConfigCatalog, workflow: &str) -> Option<&'c SourceFile> {
    let place = catalog.workflow(workflow)?.place.file.as_str();
    catalog.workflow_files().iter().find(|file| file.name == place)
}

/// The files with this one in the place of the one of its name.
fn with_file(files: &[SourceFile], file: &SourceFile) -> Vec<SourceFile> {
    files.iter().filter(|other| other.name != file.name).chain([file]).cloned().collect()
}

fn add_new(known: &mut Vec<Diagnostic>, found: Vec<Diagnostic>) {
    for finding in found {
        // among other files, an error may have one hint more
        let is_same = |one: &&mut Diagnostic| {
            (&one.code, &one.place, &one.message) == (&finding.code, &finding.place, &finding.message)
                && one.span == finding.span
        };
        match known.iter_mut().find(is_same) {
            Some(same) => same.hint = finding.hint.or_else(|| same.hint.take()),
            None => known.push(finding),
        }
    }
}

fn sort_results(
    checked: Result<(Vec<WorkflowProgram>, Vec<Diagnostic>), Vec<Diagnostic>>,
) -> DefinitionReport {
    match checked {
        Ok((programs, diagnostics)) => DefinitionReport { diagnostics, programs },
        Err(diagnostics) => DefinitionReport { diagnostics, programs: Vec::new() },
    }
}

fn unreadable_diagnostics(name: &str, reason: &str) -> Vec<Diagnostic> {
    let file = SourceFile::new(ConfigLayer::CommandLine, name, "");
    let mut findings = FileDiagnostics::new(&file);
    let what = if name.ends_with(".json") { "JSON" } else { "text" };
    let hint = format!("it must be {what} of at most 4 MiB, stored as UTF-8");
    findings.add_error("C01", 0..0, format!("the file cannot be read: {reason}"), Some(hint));
    findings.list
}
