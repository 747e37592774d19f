//! `check`, and how findings are told everywhere else.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::runs::load;
use super::world::World;
use crate::adapters::disk;
use crate::cli::exit;
use crate::config::catalog::Catalog;
use crate::config::render::{Paint, render, summary};
use crate::config::settings::rules::LEVELS;
use crate::config::source::SourceFile;
use crate::domain::diagnostic::{Diagnostic, Severity};
use crate::domain::place::Layer;

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

/// Before any model is chosen that is no fault of a workflow: one warning a level, not an error a place.
fn without_missing_models(catalog: &Catalog, found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let unset = LEVELS.into_iter().filter(|level| catalog.settings().of_level(level, "model").is_none());
    let unset: Vec<String> = unset.filter_map(|level| Some(catalog.choice(level).err()?.message)).collect();
    let mut kept: Vec<Diagnostic> = Vec::with_capacity(found.len());
    for mut finding in found {
        if unset.contains(&finding.message) {
            finding.severity = Severity::Warning;
            if kept.iter().any(|earlier| earlier.message == finding.message) {
                continue;
            }
        }
        if !kept.contains(&finding) {
            kept.push(finding);
        }
    }
    kept
}

pub(super) fn check(world: &World, paths: &[PathBuf], json: bool) -> Result<u8> {
    let (catalog, _) = load(world, world.overrides.clone(), None)?;
    let mut found: Vec<Diagnostic> = Vec::new();
    let mut files: Vec<SourceFile> = Vec::new();
    if paths.is_empty() {
        found.extend(catalog.diagnostics().iter().cloned());
        for entry in catalog.workflows() {
            found.extend(match catalog.check(&entry.name) {
                Ok((_, notes)) => notes,
                Err(found) => found,
            });
        }
    }
    for path in paths {
        for file in files_of(path)? {
            found.extend(match catalog.check_file(&file) {
                Ok((_, notes)) => notes,
                Err(found) => found,
            });
            files.push(file);
        }
    }
    let seen = without_missing_models(&catalog, found);
    show(&catalog, &files, &seen, json)?;
    let errors = seen.iter().any(|finding| finding.severity == Severity::Error);
    Ok(if errors { exit::FAILED } else { exit::COMPLETED })
}

fn show(catalog: &Catalog, files: &[SourceFile], found: &[Diagnostic], json: bool) -> Result<()> {
    let mut out = std::io::stdout().lock();
    if json {
        serde_json::to_writer_pretty(&mut out, found)?;
        writeln!(out)?;
        return Ok(());
    }
    let paint = if std::io::stdout().is_terminal() { Paint::Ansi } else { Paint::Plain };
    let text_of = |name: &str| {
        let own = files.iter().find(|file| file.name == name).map(|file| file.text.to_string());
        own.or_else(|| catalog.printable(name))
    };
    if !found.is_empty() {
        writeln!(out, "{}\n", render(found, &text_of, paint))?;
    }
    writeln!(out, "{}", summary(found))?;
    Ok(())
}

fn files_of(path: &Path) -> Result<Vec<SourceFile>> {
    if path.is_dir() {
        let read = disk::read_tree(path);
        return read
            .into_iter()
            .map(|file| {
                let name = path.join(&file.name).display().to_string();
                let text = file.text.with_context(|| format!("{name} cannot be read"))?;
                Ok(SourceFile::new(Layer::CommandLine, name, text))
            })
            .collect();
    }
    let text = disk::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
    Ok(vec![SourceFile::new(Layer::CommandLine, path.display().to_string(), text)])
}
