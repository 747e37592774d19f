//! `check`: every finding of what is configured, or of the files named.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::runs::load;
use super::world::World;
use crate::adapters::disk;
use crate::cli::exit;
use crate::cli::words::tell;
use crate::config::catalog::Catalog;
use crate::config::render::{Paint, render, summary};
use crate::config::settings::rules::LEVELS;
use crate::config::source::SourceFile;
use crate::config::test_file::{self, ENDING};
use crate::domain::diagnostic::{Diagnostic, Severity};
use crate::domain::place::Layer;

pub(super) fn check(world: &World, paths: &[PathBuf], json: bool) -> Result<u8> {
    let (settings, _) = load(world, world.overrides.clone(), None)?;
    // A workflow is right or wrong whatever models this machine has: missing ones are told apart.
    let (catalog, gathered) = super::runs::load_quietly(world, world.scripted("check"))?;
    let mut found: Vec<Diagnostic> = Vec::new();
    let mut files: Vec<SourceFile> = Vec::new();
    if paths.is_empty() {
        found.extend(gathered.tests.iter().flat_map(|file| test_file::read(file).1));
        files.extend(gathered.tests);
        found.extend(settings.diagnostics().iter().cloned());
        for entry in catalog.workflows() {
            found.extend(match catalog.check(&entry.name) {
                Ok((_, notes)) => notes,
                Err(found) => found,
            });
        }
    }
    for path in paths {
        for file in files_of(path)? {
            if file.name.ends_with(ENDING) {
                found.extend(test_file::read(&file).1);
                files.push(file);
                continue;
            }
            found.extend(match catalog.check_file(&file) {
                Ok((_, notes)) => notes,
                Err(found) => found,
            });
            files.push(file);
        }
    }
    let mut seen: Vec<Diagnostic> = Vec::new();
    for finding in found {
        if !seen.contains(&finding) {
            seen.push(finding);
        }
    }
    show(&catalog, &files, &seen, json)?;
    for level in LEVELS {
        if let Err(missing) = settings.choice(level) {
            tell(format_args!("note: {}: workflows that need it cannot run yet", missing.message));
        }
    }
    let errors = seen.iter().any(|finding| finding.severity == Severity::Error);
    Ok(if errors { exit::FAILED } else { exit::COMPLETED })
}

fn show(catalog: &Catalog, files: &[SourceFile], found: &[Diagnostic], json: bool) -> Result<()> {
    let mut out = std::io::stdout().lock();
    if json {
        writeln!(out, "{}", serde_json::to_string_pretty(found)?)?;
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
