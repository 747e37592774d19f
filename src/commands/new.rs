//! `new`: writes a commented workflow or role that works unchanged, and prints what to do with it next.
//!
//! Refuses to replace a file without `--force`, and to write one that would not be read.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::diagnostics;
use super::run_command::load_quietly;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::trust;
use synthdev_cli::args::{NewCommand, NewFileTarget, WorkflowTemplateArg};
use synthdev_cli::exit;
use synthdev_cli::output::{TerminalSafeWriter, print_stderr, safe_name as shown};
use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_domain::source_location::{ConfigLayer, SourceLocation};
use synthdev_language::source::SourceFile;
use synthdev_service::definition_edit::templates::{self, check_name, fill_template};
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_settings::role_file::read_roles;
use synthdev_settings::trust::TrustVerdict;

#[derive(Clone, Copy, PartialEq, Eq)]
enum NewFileKind {
    Workflow,
    Role,
}

impl NewFileKind {
    fn word(self) -> &'static str {
        match self {
            Self::Workflow => "workflow",
            Self::Role => "role",
        }
    }
}

/// The file to be written.
struct NewFileDraft<'a> {
    file_kind: NewFileKind,
    name: &'a str,
    text: &'static str,
    target: &'a NewFileTarget,
}

pub(crate) fn new(context: &StartContext, command: &NewCommand) -> Result<u8> {
    let draft = match command {
        NewCommand::Workflow { name, template, place } => NewFileDraft {
            file_kind: NewFileKind::Workflow,
            name,
            text: template_text(*template),
            target: place,
        },
        NewCommand::Role { name, place } => {
            NewFileDraft { file_kind: NewFileKind::Role, name, text: templates::ROLE, target: place }
        }
    };
    check_name(draft.file_kind.word(), draft.name)?;
    let (directory, layer) = target_directory(context, &draft);
    let path = directory.join(format!("{}.json", draft.name));
    let (catalog, gathered) = load_quietly(context, context.scripted_overrides("new"))?;
    let hidden = find_hidden_definition(&catalog, &draft, layer, &path)?;
    let schema = format!("schema/{}.json", draft.file_kind.word());
    let has_schema = directory.parent().is_some_and(|above| above.join(schema).is_file());
    let file = SourceFile::new(
        layer,
        path.display().to_string(),
        fill_template(draft.text, draft.file_kind.word(), draft.name, has_schema),
    );
    let found = draft_problems(&catalog, &draft, &file);
    diagnostics::print_diagnostics(&catalog, &found);
    if found.iter().any(|finding| finding.severity == DiagnosticSeverity::Error) {
        bail!("nothing was written: with your configuration this {} would not work", draft.file_kind.word());
    }
    write_new_file(&path, &file.text, draft.target.force)?;
    let trusted = layer != ConfigLayer::Project
        || gathered.trust == TrustVerdict::Trusted && trust::extend_trust(context, &gathered.project, &path)?;
    // a short path inside of the project, because users read and copy it
    let path = path.strip_prefix(&context.project).unwrap_or(&path);
    report_created(&draft, path, layer, trusted, hidden.as_ref())?;
    Ok(exit::COMPLETED)
}

fn template_text(template: WorkflowTemplateArg) -> &'static str {
    match template {
        WorkflowTemplateArg::Minimal => templates::MINIMAL.text,
        WorkflowTemplateArg::Chain => templates::CHAIN.text,
        WorkflowTemplateArg::Review => templates::REVIEW.text,
        WorkflowTemplateArg::Gated => templates::GATED.text,
        WorkflowTemplateArg::Parallel => templates::PARALLEL.text,
        WorkflowTemplateArg::Approval => templates::APPROVAL.text,
        WorkflowTemplateArg::Steps => templates::STEPS.text,
    }
}

/// Where it goes, and which layer will read it from there (none, for a directory of one's own).
fn target_directory(context: &StartContext, draft: &NewFileDraft<'_>) -> (PathBuf, ConfigLayer) {
    let folder = format!("{}s", draft.file_kind.word());
    let (project, user) = (context.project.join(trust::FOLDER), context.dirs.config.join(&folder));
    let of_project = project.join(&folder);
    match &draft.target.dir {
        Some(directory) if context.project.join(directory).starts_with(&of_project) => {
            (directory.clone(), ConfigLayer::Project)
        }
        Some(directory) if context.project.join(directory).starts_with(&user) => {
            (directory.clone(), ConfigLayer::User)
        }
        Some(directory) => (directory.clone(), ConfigLayer::CommandLine),
        None if project.is_dir() => (of_project, ConfigLayer::Project),
        None => (user, ConfigLayer::User),
    }
}

/// The place of a weaker definition that will be hidden. One of the same layer is an error: neither would be used.
fn find_hidden_definition(
    catalog: &ConfigCatalog,
    draft: &NewFileDraft<'_>,
    layer: ConfigLayer,
    path: &Path,
) -> Result<Option<SourceLocation>> {
    let same_file = |place: &SourceLocation| place.file.ends_with(&format!("/{}.json", draft.name));
    let known = match draft.file_kind {
        NewFileKind::Workflow => catalog.workflow(draft.name).map(|entry| (entry.layer, entry.place.clone())),
        NewFileKind::Role => catalog
            .roles()
            .iter()
            .find(|role| role.name == draft.name && role.group.is_empty())
            .and_then(|role| Some((role.layer, role.places.last()?.clone()))),
    };
    match known {
        Some((known, place))
            if known == layer && draft.file_kind == NewFileKind::Workflow && !same_file(&place) =>
        {
            bail!(
                "there is already a workflow `{}`: {place}\nhint: choose another name; {} was not written",
                draft.name,
                path.display()
            )
        }
        Some((known, place)) if known < layer => Ok(Some(place)),
        _ => Ok(None),
    }
}

fn draft_problems(catalog: &ConfigCatalog, draft: &NewFileDraft<'_>, file: &SourceFile) -> Vec<Diagnostic> {
    if draft.file_kind == NewFileKind::Role {
        return read_roles(file).1;
    }
    match catalog.check_file(file) {
        Ok((_, notes)) => notes,
        Err(found) => found,
    }
}

fn write_new_file(path: &Path, text: &str, force: bool) -> Result<()> {
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)
            .with_context(|| format!("{} cannot be made", directory.display()))?;
    }
    let mut options = OpenOptions::new();
    // a separate check for existence could race with another program that creates the file
    if force {
        options.write(true).create(true).truncate(true)
    } else {
        options.write(true).create_new(true)
    };
    let written = options.open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    match written {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!(
                "{} is already there\nhint: choose another name, or replace it with --force",
                path.display()
            )
        }
        other => other.with_context(|| format!("{} cannot be written", path.display())),
    }
}

fn report_created(
    draft: &NewFileDraft<'_>,
    path: &Path,
    layer: ConfigLayer,
    trusted: bool,
    hidden: Option<&SourceLocation>,
) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    let mut out = TerminalSafeWriter(&mut stdout);
    let (path, name) = (path.display(), draft.name);
    writeln!(out, "wrote {path}")?;
    if let Some(place) = hidden {
        print_stderr(format_args!(
            "note: it takes precedence over the {} in {}",
            draft.file_kind.word(),
            shown(&place.to_string())
        ));
    }
    if !trusted {
        print_stderr(
            "note: this project's configuration is not used until you trust it: `synthdev trust` shows all of it, --trust uses it",
        );
    }
    let found = layer != ConfigLayer::CommandLine;
    let with = if trusted { "" } else { " --trust" };
    writeln!(out, "\nnext:")?;
    match draft.file_kind {
        NewFileKind::Role if found => {
            writeln!(out, "  synthdev{with} roles")?;
            writeln!(out, "  synthdev{with} --role {name}")?;
        }
        NewFileKind::Role => {
            writeln!(out, "  copy it to .synthdev/roles of a project, or to your own roles")?
        }
        NewFileKind::Workflow => {
            writeln!(out, "  synthdev check {path}")?;
            writeln!(out, "  synthdev graph {path}")?;
            if found {
                writeln!(out, "  synthdev{with} run {name} \"…\"")?;
            } else {
                writeln!(out, "  synthdev run --workflow-file {path} \"…\"")?;
            }
        }
    }
    Ok(())
}
