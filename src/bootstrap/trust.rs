//! The project layer is used only after a decision bound to its content (kept in the user's data directory).

use std::path::Path;

use anyhow::{Context, Result};

use crate::start_context::StartContext;
use synthdev_adapters::file_io::{self, ProjectFileResult, ProjectReader};
use synthdev_adapters::system_info::git_outside_links;
use synthdev_language::test_file::ENDING;
use synthdev_settings::mcp_servers::MCP_FILE;
use synthdev_settings::own_tools::TOOLS_FOLDER;
use synthdev_settings::system_context::{GUIDANCE, TEMPLATE};
use synthdev_settings::trust::capabilities::REPOSITORY;
use synthdev_settings::trust::{TrustBook, TrustVerdict, fingerprint_files};

/// The project's own folder.
pub use synthdev_service::definition_edit::PROJECT_FOLDER as FOLDER;

/// The files of a project that can make the program act, read once: the files that are judged are the ones that are
/// used.
#[derive(Clone, Default)]
pub struct ProjectFiles {
    /// Relative path and text.
    pub readable_files: Vec<(String, String)>,
    /// Relative path and error. They count too: they need consent once they can be read.
    pub unreadable_files: Vec<(String, String)>,
    /// Test files, or why they cannot be read. They run only trusted definitions, with scripted replies and tools: a
    /// changed one needs no new consent.
    pub tests: Vec<(String, Result<String, String>)>,
    /// `FILE -> TARGET` of links that stay in the project: a changed or replaced link needs new consent.
    links: Vec<(String, String)>,
    /// `AGENTS.md`, or why it cannot be read. Agents follow it, so its text needs consent.
    pub guidance: Option<Result<String, String>>,
    /// Files outside of the project that git and its library open because the repository refers to them.
    outside_links: Vec<String>,
}

impl ProjectFiles {
    /// All files to be judged, with their texts.
    pub fn all_texts(&self) -> Vec<(String, String)> {
        let said = |text: &Result<String, String>| match text {
            Ok(text) | Err(text) => (GUIDANCE.to_owned(), text.clone()),
        };
        let files = self.readable_files.iter().chain(&self.unreadable_files).chain(&self.links).cloned();
        files.chain(self.guidance.as_ref().map(said)).chain(self.repository_text()).collect()
    }

    /// What can be read of that.
    pub fn texts(&self) -> Vec<(String, String)> {
        let guidance =
            self.guidance.iter().filter_map(|text| Some((GUIDANCE.to_owned(), text.clone().ok()?)));
        self.readable_files.iter().cloned().chain(guidance).chain(self.repository_text()).collect()
    }

    fn repository_text(&self) -> Option<(String, String)> {
        (!self.outside_links.is_empty()).then(|| (REPOSITORY.to_owned(), self.outside_links.join("\n")))
    }

    /// The repository opens something outside of itself, and that is not among these names.
    pub fn has_other_outside_links(&self, left_out: &[String]) -> bool {
        !self.outside_links.is_empty() && !left_out.iter().any(|name| name == REPOSITORY)
    }

    fn add_results(&mut self, found: impl IntoIterator<Item = ProjectFileResult>) {
        for found in found {
            self.add_link(&found);
            match found.text {
                Ok(text) => self.readable_files.push((found.name, text)),
                Err(error) => self.unreadable_files.push((found.name, error.to_string())),
            }
        }
    }

    fn add_link(&mut self, found: &ProjectFileResult) {
        let link =
            found.link_target.as_ref().map(|target| (format!("{} -> {target}", found.name), String::new()));
        self.links.extend(link);
    }

    /// The project has no definitions or settings.
    pub fn is_empty(&self) -> bool {
        self.all_texts().is_empty()
    }

    /// Whether both are the same, to the letter, but for this file.
    pub fn same_but(&self, other: &Self, file: &str) -> bool {
        let rest = |files: &Self| {
            let all = files.all_texts().into_iter();
            fingerprint_files(&all.filter(|(name, _)| name != file).collect::<Vec<_>>())
        };
        rest(self) == rest(other)
    }

    /// Whether both are the same, to the letter.
    pub fn same_as(&self, other: &Self) -> bool {
        fingerprint_files(&self.all_texts()) == fingerprint_files(&other.all_texts())
            && self.guidance == other.guidance
    }
}

/// Reads what the project has of its own.
pub fn project_files(project: &Path) -> ProjectFiles {
    let mut files = ProjectFiles { outside_links: git_outside_links(project), ..ProjectFiles::default() };
    let mut reader = ProjectReader::new(project);
    files.add_results(reader.read_file(".env"));
    files.add_results(reader.read_file(MCP_FILE));
    if let Some(found) = reader.read_file(GUIDANCE) {
        files.add_link(&found);
        files.guidance = Some(found.text.map_err(|error| error.to_string()));
    }
    if let Some(linked) = reader.linked_directory(FOLDER) {
        files.add_results([linked]);
        return files;
    }
    for name in ["settings.json", "models.json", TEMPLATE] {
        files.add_results(reader.read_file(&format!("{FOLDER}/{name}")));
    }
    files.add_results(reader.read_tree_files(&format!("{FOLDER}/roles"), &["json"]));
    files.add_results(reader.read_tree_files(&format!("{FOLDER}/{TOOLS_FOLDER}"), &["json"]));
    for found in
        reader.read_tree_files(&format!("{FOLDER}/workflows"), &["json", "js", "mjs", "cjs", "md", "txt"])
    {
        if found.name.ends_with(ENDING) {
            files.tests.push((found.name, found.text.map_err(|error| error.to_string())));
        } else {
            files.add_results([found]);
        }
    }
    files
}

/// The decision for the files as they are; `allow` (from `--trust` or the dialog) makes and stores it.
pub fn decide_trust(context: &StartContext, files: &ProjectFiles, allow: bool) -> Result<TrustVerdict> {
    let files = files.all_texts();
    if files.is_empty() {
        return Ok(TrustVerdict::Trusted);
    }
    let path = context.dirs.data.join("trust.json");
    let text =
        file_io::read_file_if_exists(&path).with_context(|| format!("{} cannot be read", path.display()))?;
    let mut book = TrustBook::parse(&text.unwrap_or_default());
    let project = context.project.display().to_string();
    let verdict = book.verdict(&project, &files);
    if verdict == TrustVerdict::Trusted || !allow {
        return Ok(verdict);
    }
    book.allow_files(&project, &files);
    file_io::write_private(&path, &book.to_text())
        .with_context(|| format!("{} cannot be written", path.display()))?;
    Ok(TrustVerdict::Trusted)
}

/// A trusted project stays trusted if this file is the only change: the user has just written it.
///
/// # Errors
/// The decision cannot be read or stored.
pub fn extend_trust(context: &StartContext, before: &ProjectFiles, path: &Path) -> Result<bool> {
    let full = context.project.join(path);
    let own = full.strip_prefix(&context.project).unwrap_or(&full).display().to_string();
    let files = project_files(&context.project);
    if !files.same_but(before, &own) {
        return Ok(false);
    }
    Ok(decide_trust(context, &files, true)? == TrustVerdict::Trusted)
}
