//! How findings are told on the terminal.

use std::io::IsTerminal;

use crate::cli::words::tell_painted;
use crate::config::catalog::Catalog;
use crate::config::render::{Paint, render};
use crate::config::source::SourceFile;
use crate::domain::diagnostic::{Diagnostic, Severity};

/// Findings on stderr, as compilers show them.
pub(super) fn tell(catalog: &Catalog, found: &[Diagnostic]) {
    if !found.is_empty() {
        tell_painted(&rendered(catalog, found, std::io::stderr().is_terminal()));
    }
}

pub(super) fn rendered(catalog: &Catalog, found: &[Diagnostic], colour: bool) -> String {
    let paint = if colour { Paint::Ansi } else { Paint::Plain };
    render(found, &|name| catalog.printable(name), paint)
}

/// Tells the errors of settings, models and roles; `true` if one of them must stop a run. A role file that
/// is broken hides no other role: a workflow that needs what is lost says so itself.
pub(super) fn tell_setting_errors(catalog: &Catalog) -> bool {
    let errors: Vec<Diagnostic> = catalog
        .diagnostics()
        .iter()
        .filter(|finding| finding.severity == Severity::Error && !is_in(catalog.workflow_files(), finding))
        .cloned()
        .collect();
    tell(catalog, &errors);
    errors.iter().any(|finding| !is_in(catalog.role_files(), finding))
}

fn is_in(files: &[SourceFile], finding: &Diagnostic) -> bool {
    files.iter().any(|file| file.name == finding.place.file)
}
