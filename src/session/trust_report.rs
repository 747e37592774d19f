//! What is shown of a project's own files before they are trusted: what they can do, what of it has no effect, and what
//! they say. Decides nothing.

use synthdev_bootstrap::local_files::file_io;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::trust::ProjectFiles;
use synthdev_bootstrap::{config_sources, wiring};
use synthdev_domain::terminal_safe::escape_name;
use synthdev_settings::system_context::GUIDANCE;
use synthdev_settings::trust::capabilities::{describe_capabilities, file_contents_text};
use synthdev_settings::trust::{TrustBook, new_files, trust_diff};

/// What the files that are new or changed can do, and what they say: how they differ from what was trusted, or all of
/// them.
pub fn shown(context: &StartContext, files: &ProjectFiles) -> String {
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
pub fn capabilities_text(context: &StartContext, files: &ProjectFiles) -> String {
    let text = file_io::read_file_if_exists(&context.dirs.data.join("trust.json"))
        .ok()
        .flatten()
        .unwrap_or_default();
    let book = TrustBook::parse(&text);
    let stored = book.projects.get(&context.project.display().to_string());
    capabilities(context, files, &new_files(stored, &files.texts()))
}

/// What some of the project's files can do. What would have no effect is judged as if all of them were trusted.
pub fn capabilities(context: &StartContext, files: &ProjectFiles, some: &[(String, String)]) -> String {
    let sources = config_sources::gather_as_if_trusted(context, files);
    let in_vain =
        sources.map(|sources| wiring::load_catalog(context, sources).project_findings_without_effect());
    describe_capabilities(some, &in_vain.unwrap_or_default())
}
