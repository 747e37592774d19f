//! `new`: writes a commented workflow or role that works unchanged, and prints what to do with it next.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use anyhow::Result;

use super::diagnostics;
use super::run_command::load_quietly;
use synthdev_bootstrap::config_sources::GatheredSources;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::trust;
use synthdev_cli::args::{NewCommand, WorkflowTemplateArg};
use synthdev_cli::exit;
use synthdev_cli::output::{TerminalSafeWriter, print_stderr, safe_name as shown};
use synthdev_domain::source_location::ConfigLayer;
use synthdev_service::definition_edit::create_definition::{
    CreateDefinitionError, DefinitionDraft, NewDefinitionPort, NewDefinitionRequest, draft_definition,
};
use synthdev_service::definition_edit::templates;
use synthdev_service::session::EditFileKind;
use synthdev_session::hinted_error::error_with_hint;
use synthdev_settings::trust::TrustVerdict;

pub(crate) fn new(context: &StartContext, command: &NewCommand) -> Result<u8> {
    let (file_kind, name, template, place) = match command {
        NewCommand::Workflow { name, template, place } => {
            (EditFileKind::Workflow, name, template_text(*template), place)
        }
        NewCommand::Role { name, place } => (EditFileKind::Role, name, templates::ROLE, place),
    };
    let (catalog, gathered) = load_quietly(context, context.scripted_overrides("new"))?;
    let files = NewFiles { context, gathered: &gathered };
    let (directory, replaces) = (place.dir.as_deref(), place.force);
    let asked = NewDefinitionRequest { file_kind, name, template, directory, replaces };
    let refused = |error: CreateDefinitionError| error_with_hint(&error.to_string(), error.hint().as_deref());
    let draft = draft_definition(&catalog, &files, &asked).map_err(refused)?;
    diagnostics::print_diagnostics(&catalog, &draft.findings);
    let trusted = draft.write(&files).map_err(refused)?;
    // a short path inside of the project, because users read and copy it
    let path = draft.path.strip_prefix(&context.project).unwrap_or(&draft.path);
    report_created(&draft, path, trusted)?;
    Ok(exit::COMPLETED)
}

struct NewFiles<'c> {
    context: &'c StartContext,
    gathered: &'c GatheredSources,
}

impl NewDefinitionPort for NewFiles<'_> {
    fn project(&self) -> &Path {
        &self.context.project
    }

    fn user_directory(&self) -> &Path {
        &self.context.dirs.config
    }

    fn is_directory(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn is_file(&self, path: &Path) -> bool {
        path.is_file()
    }

    fn write_file(&self, path: &Path, text: &str, replaces: bool) -> io::Result<()> {
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory)?;
        }
        let mut options = OpenOptions::new();
        // a separate check for existence could race with another program that creates the file
        if replaces {
            options.write(true).create(true).truncate(true)
        } else {
            options.write(true).create_new(true)
        };
        options.open(path)?.write_all(text.as_bytes())
    }

    fn keep_trust(&self, path: &Path) -> Result<bool, String> {
        if self.gathered.trust != TrustVerdict::Trusted {
            return Ok(false);
        }
        trust::extend_trust(self.context, &self.gathered.project, path).map_err(|error| format!("{error:#}"))
    }
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

fn report_created(draft: &DefinitionDraft, path: &Path, trusted: bool) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    let mut out = TerminalSafeWriter(&mut stdout);
    let (path, name) = (path.display(), &draft.name);
    writeln!(out, "wrote {path}")?;
    if let Some(place) = &draft.hidden {
        let word = match draft.file_kind {
            EditFileKind::Workflow => "workflow",
            EditFileKind::Role => "role",
        };
        let place = shown(&place.to_string());
        print_stderr(format_args!("note: it takes precedence over the {word} in {place}"));
    }
    if !trusted {
        print_stderr(
            "note: this project's configuration is not used until you trust it: `synthdev trust` shows all of it, --trust uses it",
        );
    }
    let found = draft.layer != ConfigLayer::CommandLine;
    let with = if trusted { "" } else { " --trust" };
    writeln!(out, "\nnext:")?;
    match draft.file_kind {
        EditFileKind::Role if found => {
            writeln!(out, "  synthdev{with} roles")?;
            writeln!(out, "  synthdev{with} --role {name}")?;
        }
        EditFileKind::Role => {
            writeln!(out, "  copy it to .synthdev/roles of a project, or to your own roles")?
        }
        EditFileKind::Workflow => {
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
