//! How findings are told on the terminal.

use std::io::IsTerminal;

use crate::config::catalog::Catalog;
use crate::config::render::{Paint, render};
use crate::domain::diagnostic::{Diagnostic, Severity};

/// Findings on stderr, as compilers show them.
pub(super) fn tell(catalog: &Catalog, found: &[Diagnostic]) {
    if !found.is_empty() {
        eprintln!("{}", rendered(catalog, found, std::io::stderr().is_terminal()));
    }
}

pub(super) fn rendered(catalog: &Catalog, found: &[Diagnostic], colour: bool) -> String {
    let paint = if colour { Paint::Ansi } else { Paint::Plain };
    render(found, &|name| catalog.printable(name), paint)
}

/// Errors of settings, models and roles; `true` if there were any.
pub(super) fn tell_setting_errors(catalog: &Catalog) -> bool {
    let errors: Vec<Diagnostic> = catalog
        .diagnostics()
        .iter()
        .filter(|finding| finding.severity == Severity::Error && !of_workflow(catalog, finding))
        .cloned()
        .collect();
    tell(catalog, &errors);
    !errors.is_empty()
}

/// A broken workflow file must not stop the others.
fn of_workflow(catalog: &Catalog, finding: &Diagnostic) -> bool {
    catalog.workflow_files().iter().any(|file| file.name == finding.place.file)
}
