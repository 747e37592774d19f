//! The index of a project: what each of its files and directories is for, in a model's words, with the checksum of what
//! was described. What has the same checksum is not described again.

mod estimate;
mod overview;
pub mod report;
pub mod search;
pub mod summary_requests;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

pub use estimate::IndexCostEstimate;

/// The project itself, among the directories.
pub const ROOT: &str = ".";

/// Files above it are left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SizeLimit {
    #[default]
    Small,
    Medium,
    Large,
    None,
}

impl SizeLimit {
    /// As they are typed.
    pub const WORDS: [(&str, Self); 4] =
        [("50", Self::Small), ("100", Self::Medium), ("200", Self::Large), ("none", Self::None)];

    /// # Errors
    /// What it can be.
    pub fn parse(text: &str) -> Result<Self, String> {
        let found = Self::WORDS.iter().find(|(word, _)| *word == text);
        found.map(|(_, limit)| *limit).ok_or_else(|| {
            format!("`{text}` is no size limit: it is 50, 100 or 200 (kilobytes a file), or none")
        })
    }

    /// Kilobytes; `None`: no more than tools read anyway.
    pub fn as_kilobytes(self) -> Option<u64> {
        match self {
            Self::Small => Some(50),
            Self::Medium => Some(100),
            Self::Large => Some(200),
            Self::None => None,
        }
    }
}

/// What is known of a file or a directory.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ProjectIndexEntry {
    /// Relative to the project, with `/`.
    pub path: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub directory: bool,
    /// Checksum of the text that was described; of a directory: over those of everything in it.
    pub sum: String,
    pub summary: String,
}

/// By path.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProjectIndexEntries {
    pub entries: BTreeMap<String, ProjectIndexEntry>,
}

impl ProjectIndexEntries {
    pub fn add(&mut self, entry: ProjectIndexEntry) {
        self.entries.insert(entry.path.clone(), entry);
    }

    fn has_entry(&self, path: &str, sum: &str, directory: bool) -> bool {
        self.entries.get(path).is_some_and(|entry| entry.sum == sum && entry.directory == directory)
    }
}

/// A file that belongs into the index, as it is now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScannedFile {
    pub path: String,
    pub checksum: String,
    pub bytes: u64,
}

/// A directory with something that belongs into the index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScannedDirectory {
    pub path: String,
    pub checksum: String,
    /// Paths of the files and directories in it, by name.
    pub children: Vec<String>,
}

/// Files that are not described, and why. Their names, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct UnindexedFiles {
    /// No UTF-8 text.
    pub binary: Vec<String>,
    pub too_large: Vec<String>,
    /// They may hold keys.
    pub secret: Vec<String>,
    /// With the reason.
    pub unreadable: Vec<String>,
}

/// The project as it is now.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProjectScan {
    /// By path.
    pub files: Vec<ScannedFile>,
    pub directories: Vec<ScannedDirectory>,
    pub left_out: UnindexedFiles,
}

/// What is to be done, so that the index says what the project is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IndexPlan {
    pub limit: SizeLimit,
    /// How many belong into the index.
    pub files: usize,
    /// To be described.
    pub to_describe: Vec<ScannedFile>,
    /// To be described, those deep down first.
    pub directories: Vec<ScannedDirectory>,
    /// Paths of entries of which nothing is there any more.
    pub removed_paths: Vec<String>,
    /// How many of them were files.
    pub removed_file_count: usize,
    pub left_out: UnindexedFiles,
}

impl IndexPlan {
    pub fn from_scan(seen: ProjectScan, known: &ProjectIndexEntries, limit: SizeLimit) -> Self {
        let files = seen.files.len();
        let paths: BTreeSet<&str> = seen.files.iter().map(|file| file.path.as_str()).collect();
        let directories: BTreeSet<&str> = seen.directories.iter().map(|one| one.path.as_str()).collect();
        let is_gone = |entry: &&ProjectIndexEntry| {
            let here = if entry.directory { &directories } else { &paths };
            !here.contains(entry.path.as_str())
        };
        let gone: Vec<&ProjectIndexEntry> = known.entries.values().filter(is_gone).collect();
        let gone_files = gone.iter().filter(|entry| !entry.directory).count();
        let gone = gone.into_iter().map(|entry| entry.path.clone()).collect();
        let mut changed = seen.files;
        changed.retain(|file| !known.has_entry(&file.path, &file.checksum, false));
        let mut directories = seen.directories;
        directories.retain(|one| !known.has_entry(&one.path, &one.checksum, true));
        directories
            .sort_by(|a, b| path_depth(&b.path).cmp(&path_depth(&a.path)).then_with(|| a.path.cmp(&b.path)));
        Self {
            limit,
            files,
            to_describe: changed,
            directories,
            removed_paths: gone,
            removed_file_count: gone_files,
            left_out: seen.left_out,
        }
    }

    /// Nothing has to be asked or written.
    pub fn is_empty(&self) -> bool {
        self.to_describe.is_empty() && self.directories.is_empty() && self.removed_paths.is_empty()
    }
}

/// The project is above all of them.
pub fn path_depth(path: &str) -> usize {
    if path == ROOT { 0 } else { path.split('/').count() }
}

/// The directory that it is in.
pub fn parent_path(path: &str) -> &str {
    path.rsplit_once('/').map_or(ROOT, |(directory, _)| directory)
}

#[cfg(test)]
mod tests;
