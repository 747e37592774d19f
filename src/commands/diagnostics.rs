//! How diagnostics are printed on the terminal.

use std::io::IsTerminal;

use anyhow::Result;

use synthdev_cli::json_error::ReportedError;
use synthdev_cli::output::{print_stderr, print_stderr_styled};
use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_language::render::compact_line;
use synthdev_language::source::SourceFile;
use synthdev_service::start_check::WorkflowLookupError;
use synthdev_session::catalog_lines::diagnostics_text;
use synthdev_settings::catalog::ConfigCatalog;

/// Findings on stderr, as compilers show them.
pub(crate) fn print_diagnostics(catalog: &ConfigCatalog, found: &[Diagnostic]) {
    if !found.is_empty() {
        print_stderr_styled(&diagnostics_text(catalog, found, std::io::stderr().is_terminal()));
    }
}

/// Prints the errors of settings, models and roles; `true` if one of them must stop a run. A broken role file affects
/// no other role: a workflow that needs the missing one has its own error.
pub(crate) fn print_setting_errors(catalog: &ConfigCatalog) -> bool {
    let errors: Vec<Diagnostic> = catalog
        .diagnostics()
        .iter()
        .filter(|finding| {
            finding.severity == DiagnosticSeverity::Error && !is_in_files(catalog.workflow_files(), finding)
        })
        .cloned()
        .collect();
    print_diagnostics(catalog, &errors);
    errors.iter().any(|finding| !is_in_files(catalog.role_files(), finding))
}

/// # Errors
/// Settings, models or roles have errors that must stop a run; they were printed.
pub(crate) fn ensure_sound(catalog: &ConfigCatalog) -> Result<()> {
    let found: Vec<Diagnostic> = catalog
        .diagnostics()
        .iter()
        .filter(|finding| {
            !is_in_files(catalog.workflow_files(), finding) && !is_in_files(catalog.role_files(), finding)
        })
        .cloned()
        .collect();
    if print_setting_errors(catalog) { Err(diagnostics_error(&found)) } else { Ok(()) }
}

/// The first error outside of definitions, if there is any. Prints nothing.
pub(crate) fn first_setting_error(catalog: &ConfigCatalog) -> Option<String> {
    let elsewhere = |finding: &&Diagnostic| {
        !is_in_files(catalog.workflow_files(), finding) && !is_in_files(catalog.role_files(), finding)
    };
    let mut errors =
        catalog.diagnostics().iter().filter(|finding| finding.severity == DiagnosticSeverity::Error);
    errors.find(elsewhere).map(compact_line)
}

/// Why a workflow is not found by its name, or cannot be used; printed.
pub(crate) fn lookup_error(catalog: &ConfigCatalog, refused: WorkflowLookupError) -> anyhow::Error {
    match refused {
        WorkflowLookupError::Broken(found) => definition_error(catalog, &found),
        WorkflowLookupError::Unknown(unknown) => {
            let (message, hint) = (unknown.to_string(), unknown.hint());
            print_stderr(format_args!("error: {message}\nhint: {hint}"));
            ReportedError { message, hint: Some(hint) }.into()
        }
    }
}

/// Prints the diagnostics of a definition, and returns them as an error that needs no further text.
pub(crate) fn definition_error(catalog: &ConfigCatalog, found: &[Diagnostic]) -> anyhow::Error {
    print_diagnostics(catalog, found);
    diagnostics_error(found)
}

/// The same for diagnostics that were printed already.
pub(crate) fn diagnostics_error(found: &[Diagnostic]) -> anyhow::Error {
    let mut errors = found.iter().filter(|finding| finding.severity == DiagnosticSeverity::Error);
    let first = errors.next();
    let more = errors.count();
    let more = if more == 0 { String::new() } else { format!(" (+{more} more)") };
    let message =
        first.map_or_else(String::new, |first| compact_line(&Diagnostic { hint: None, ..first.clone() }));
    let hint = first.and_then(|first| first.hint.clone());
    ReportedError { message: format!("{message}{more}"), hint }.into()
}

fn is_in_files(files: &[SourceFile], finding: &Diagnostic) -> bool {
    files.iter().any(|file| file.name == finding.place.file)
}
