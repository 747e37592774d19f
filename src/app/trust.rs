//! The project layer is used only after a decision bound to its content (kept in the user's data directory).

use std::path::Path;

use anyhow::{Context, Result};

use super::world::World;
use crate::adapters::disk;
use crate::cli::words::names;
use crate::config::brief::{GUIDANCE, TEMPLATE};
use crate::config::test_file::ENDING;
use crate::config::trust::{TrustBook, Verdict, fingerprint};

/// The project's own folder.
pub(super) const FOLDER: &str = ".synthdev";

/// The pieces of a project that can make the program do something, read once: what is judged is what is used.
#[derive(Default)]
pub(super) struct ProjectFiles {
    /// Relative path and text.
    pub(super) readable: Vec<(String, String)>,
    /// Relative path and why not. They count too: once they can be read, they must be asked about.
    pub(super) unreadable: Vec<(String, String)>,
    /// Test files, or why they cannot be read. They run nothing but what is trusted anyway, on scripted words and
    /// tools: changing one asks nobody again.
    pub(super) tests: Vec<(String, Result<String, String>)>,
    /// `AGENTS.md`, or why it cannot be read. That there is one is asked about; what it says may change, as it is edited
    /// with the project's other files.
    pub(super) guidance: Option<Result<String, String>>,
}

impl ProjectFiles {
    fn all(&self) -> Vec<(String, String)> {
        let guidance = self.guidance.iter().map(|_| (GUIDANCE.to_owned(), String::new()));
        self.readable.iter().chain(&self.unreadable).cloned().chain(guidance).collect()
    }

    /// The project brings nothing of its own.
    pub(super) fn is_empty(&self) -> bool {
        self.all().is_empty()
    }

    /// Whether both are the same, to the letter, but for this file.
    pub(super) fn same_but(&self, other: &Self, file: &str) -> bool {
        let rest = |files: &Self| {
            let all = files.all().into_iter();
            fingerprint(&all.filter(|(name, _)| name != file).collect::<Vec<_>>())
        };
        rest(self) == rest(other)
    }

    /// Whether both are the same, to the letter.
    pub(super) fn same_as(&self, other: &Self) -> bool {
        fingerprint(&self.all()) == fingerprint(&other.all()) && self.guidance == other.guidance
    }
}

pub(super) fn project_files(project: &Path) -> ProjectFiles {
    let mut files = ProjectFiles::default();
    let mut tests = Vec::new();
    let mut add = |name: String, text: std::io::Result<Option<String>>| match text {
        Ok(Some(text)) => files.readable.push((name, text)),
        Ok(None) => {}
        Err(error) => files.unreadable.push((name, error.to_string())),
    };
    for name in ["settings.json", "models.json", TEMPLATE] {
        add(format!("{FOLDER}/{name}"), disk::read_if_there(&project.join(FOLDER).join(name)));
    }
    for folder in ["roles", "workflows"] {
        for read in disk::read_tree(&project.join(FOLDER).join(folder)) {
            let name = format!("{FOLDER}/{folder}/{}", read.name);
            if folder == "workflows" && name.ends_with(ENDING) {
                tests.push((name, read.text.map_err(|error| error.to_string())));
            } else {
                add(name, read.text.map(Some));
            }
        }
    }
    for read in disk::read_texts(&project.join(FOLDER).join("workflows")) {
        // a directory that cannot be read was told once already
        if !(read.text.is_err() && read.name.ends_with('.')) {
            add(format!("{FOLDER}/workflows/{}", read.name), read.text.map(Some));
        }
    }
    add(".env".to_owned(), disk::read_if_there(&project.join(".env")));
    files.tests = tests;
    let guidance = disk::read_if_there(&project.join(GUIDANCE)).map_err(|error| error.to_string());
    files.guidance = guidance.transpose();
    files
}

/// The decision for the files as they are; `allow` (from `--trust` or the dialog) makes and stores it.
pub(super) fn decide(world: &World, files: &ProjectFiles, allow: bool) -> Result<Verdict> {
    let files = files.all();
    if files.is_empty() {
        return Ok(Verdict::Trusted);
    }
    let path = world.dirs.data.join("trust.json");
    let text = disk::read_if_there(&path).with_context(|| format!("{} cannot be read", path.display()))?;
    let mut book = TrustBook::parse(&text.unwrap_or_default());
    let project = world.project.display().to_string();
    let verdict = book.verdict(&project, &files);
    if verdict == Verdict::Trusted || !allow {
        return Ok(verdict);
    }
    book.allow(&project, &files);
    disk::write_private(&path, &book.to_text())
        .with_context(|| format!("{} cannot be written", path.display()))?;
    Ok(Verdict::Trusted)
}

/// How the files differ from what was trusted; empty where nothing was.
pub(super) fn changes(world: &World, files: &ProjectFiles) -> String {
    let text = disk::read_if_there(&world.dirs.data.join("trust.json")).ok().flatten().unwrap_or_default();
    let book = TrustBook::parse(&text);
    let stored = book.projects.get(&world.project.display().to_string());
    stored.map(|stored| crate::config::trust::changes(stored, &files.all())).unwrap_or_default()
}

/// What is not used, in one line for stderr; `None` when all is trusted.
pub(super) fn notice(verdict: &Verdict) -> Option<String> {
    if let Some([_, ..]) = verdict.left_out() {
        let new = names(verdict.left_out().unwrap_or_default(), ", ");
        return Some(format!(
            "this project has new files since you trusted it ({new}); they are not used until you trust them: --trust"
        ));
    }
    let what = match verdict {
        Verdict::Trusted => return None,
        Verdict::New { files } => format!("has its own configuration ({})", names(files, ", ")),
        Verdict::Changed { added, removed, changed } => {
            let list = |word: &str, files: &[String]| {
                (!files.is_empty()).then(|| format!("{word} {}", names(files, ", ")))
            };
            let parts: Vec<String> =
                [list("added", added), list("changed", changed), list("removed", removed)]
                    .into_iter()
                    .flatten()
                    .collect();
            format!("has changed its configuration since you trusted it ({})", parts.join("; "))
        }
    };
    Some(format!("this project {what}; it is not used until you trust it: --trust"))
}
