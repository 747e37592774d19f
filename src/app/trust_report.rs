//! What is shown of a project's own files before they are trusted: what they can do, what of it has no effect, and what
//! they say. Decides nothing.

use std::io::Write as _;

use anyhow::Result;

use super::cli_context::CliContext;
use super::trust::{self, ProjectFiles, decide_trust, project_files};
use super::{bootstrap, config_sources};
use synthdev_adapters::file_io;
use synthdev_cli::exit;
use synthdev_cli::output::TerminalSafeWriter;
use synthdev_domain::terminal_safe::escape_name;
use synthdev_settings::system_context::GUIDANCE;
use synthdev_settings::trust::capabilities::{describe_capabilities, file_contents_text};
use synthdev_settings::trust::{TrustBook, TrustVerdict, new_files, trust_diff};

/// What the files that are new or changed can do, and what they say: how they differ from what was trusted, or all of
/// them.
pub(super) fn shown(context: &CliContext, files: &ProjectFiles) -> String {
    let text = file_io::read_file_if_exists(&context.dirs.data.join("trust.json"))
        .ok()
        .flatten()
        .unwrap_or_default();
    let book = TrustBook::parse(&text);
    let stored = book.projects.get(&context.project.display().to_string());
    let (all, texts) = (files.all_texts(), files.texts());
    let mut parts = vec![capabilities(context, files, &new_files(stored, &texts))];
    let guidance = files.guidance.iter().filter_map(|text| Some((GUIDANCE, text.as_ref().err()?)));
    let others = files.unreadable_files.iter().map(|(name, why)| (name.as_str(), why));
    let unread: Vec<String> = others
        .chain(guidance)
        .map(|(name, why)| format!("\n  {} is not read: {why}", escape_name(name)))
        .collect();
    if !unread.is_empty() {
        parts.push(format!("It also brings this:{}", unread.concat()));
    }
    parts.push(match stored {
        None => format!("What its files say:\n{}", file_contents_text(&texts)),
        Some(stored) => format!("What changed since you trusted it:\n{}", trust_diff(stored, &all)),
    });
    parts.join("\n\n")
}

/// What the files that are new or changed can do, grouped by power.
pub(super) fn capabilities_text(context: &CliContext, files: &ProjectFiles) -> String {
    let text = file_io::read_file_if_exists(&context.dirs.data.join("trust.json"))
        .ok()
        .flatten()
        .unwrap_or_default();
    let book = TrustBook::parse(&text);
    let stored = book.projects.get(&context.project.display().to_string());
    capabilities(context, files, &new_files(stored, &files.texts()))
}

/// What some of the project's files can do. What would have no effect is judged as if all of them were trusted.
fn capabilities(context: &CliContext, files: &ProjectFiles, some: &[(String, String)]) -> String {
    let sources = config_sources::gather_as_if_trusted(context, files);
    let in_vain =
        sources.map(|sources| bootstrap::load_catalog(context, sources).project_findings_without_effect());
    describe_capabilities(some, &in_vain.unwrap_or_default())
}

/// `synthdev trust`: what the project's own files can do and what they say. `--trust` decides.
pub(super) fn show(context: &CliContext) -> Result<u8> {
    let files = project_files(&context.project);
    let before = decide_trust(context, &files, false)?;
    let mut stdout = std::io::stdout().lock();
    let mut out = TerminalSafeWriter(&mut stdout);
    if files.is_empty() {
        writeln!(out, "this project has no definitions of its own")?;
        return Ok(exit::COMPLETED);
    }
    if let Some(notice) = trust::untrusted_notice(&before) {
        writeln!(out, "{notice}\n\n{}", shown(context, &files))?;
    } else {
        let texts = files.texts();
        writeln!(
            out,
            "this project's definitions are trusted\n\n{}\n\nWhat its files say:\n{}",
            capabilities(context, &files, &texts),
            file_contents_text(&texts)
        )?;
    }
    if context.trust && before != TrustVerdict::Trusted {
        decide_trust(context, &files, true)?;
        writeln!(out, "\nthis project's definitions are trusted from now on")?;
    }
    Ok(exit::COMPLETED)
}
