//! Reading files of a project before its user has looked at them: a clone may hold anything. A link that leads out of the
//! project is not followed, a linked directory never is, and what is read has an end in number and in size.
//!
//! Refuses: to give a part of a directory that holds too much. What is looked at must be what is used.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::{DEEPEST, read_text_file};

/// Entries of directories, over all that is read.
const MOST_ENTRIES: usize = 2_000;
/// Bytes of all files together.
const MOST_BYTES: u64 = 8 * 1024 * 1024;

/// A file of a project, or why it is not read.
#[derive(Debug)]
pub struct ProjectFileResult {
    /// Relative to the project, with `/`.
    pub name: String,
    pub text: io::Result<String>,
    /// Where a link leads that stays in the project.
    pub link_target: Option<String>,
}

/// What may still be read of one project.
#[derive(Debug)]
pub struct ProjectReader {
    /// Free of links.
    root: PathBuf,
    entries: usize,
    bytes: u64,
}

impl ProjectReader {
    pub fn new(project: &Path) -> Self {
        let root = fs::canonicalize(project).unwrap_or_else(|_| project.to_owned());
        Self { root, entries: MOST_ENTRIES, bytes: MOST_BYTES }
    }

    /// One file by its relative path; `None`: there is none.
    pub fn read_file(&mut self, name: &str) -> Option<ProjectFileResult> {
        let (leads_to, text) = match self.resolve_file(name) {
            Ok(None) => return None,
            Ok(Some((path, leads_to))) => (leads_to, self.read_within_limit(&path)),
            Err(error) => (None, Err(error)),
        };
        if text.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) && leads_to.is_none() {
            return None;
        }
        Some(ProjectFileResult { name: name.to_owned(), text, link_target: leads_to })
    }

    /// A directory that is a link, which is not entered.
    pub fn linked_directory(&self, folder: &str) -> Option<ProjectFileResult> {
        let linked = self.root.join(folder).is_symlink();
        let text = || Err(io::Error::other(LINKED_DIRECTORY));
        linked.then(|| ProjectFileResult { name: folder.to_owned(), text: text(), link_target: None })
    }

    /// Every file with one of these endings below a directory, in a stable order. One entry with its error for a
    /// directory that is a link, cannot be read, or holds more than is read.
    pub fn read_tree_files(&mut self, folder: &str, endings: &[&str]) -> Vec<ProjectFileResult> {
        let failed = |name: String, error| ProjectFileResult { name, text: Err(error), link_target: None };
        let mut names = Vec::new();
        match self.names(folder, 0, endings, &mut names) {
            Ok(()) => {}
            Err((_, error)) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
            Err((name, error)) => return vec![failed(name, error)],
        }
        names.sort_by(|a, b| a.0.cmp(&b.0));
        let read = names.into_iter().map(|(name, problem)| match problem {
            Some(why) => Some(failed(name, io::Error::other(why))),
            None => self.read_file(&name),
        });
        read.flatten().collect()
    }

    /// The names below a directory, with why one is not read.
    fn names(
        &mut self,
        folder: &str,
        depth: usize,
        endings: &[&str],
        names: &mut Vec<(String, Option<&'static str>)>,
    ) -> Result<(), (String, io::Error)> {
        let blame = |error| (folder.to_owned(), error);
        for directory in Path::new(folder).ancestors().filter(|one| !one.as_os_str().is_empty()) {
            let known = fs::symlink_metadata(self.root.join(directory)).map_err(blame)?;
            if known.is_symlink() {
                return Err((display_path(directory), io::Error::other(LINKED_DIRECTORY)));
            }
        }
        if depth > DEEPEST {
            return Err(blame(io::Error::other(format!("directories deeper than {DEEPEST} are not read"))));
        }
        for entry in fs::read_dir(self.root.join(folder)).map_err(blame)? {
            self.entries = self.entries.checked_sub(1).ok_or_else(|| {
                let why = format!("there are more than {MOST_ENTRIES} files in this project's configuration");
                blame(io::Error::other(format!("{why}: none of this directory is read")))
            })?;
            let entry = entry.map_err(blame)?;
            let kind = entry.file_type().map_err(blame)?;
            let own = entry.file_name();
            let Some(own) = own.to_str() else {
                // two such names can look the same
                names.push((format!("{folder}/{}", own.to_string_lossy()), Some("its name is not UTF-8")));
                continue;
            };
            let name = format!("{folder}/{own}");
            let wanted = !own.starts_with('.') && endings.iter().any(|ending| has_ending(own, ending));
            if kind.is_dir() {
                self.names(&name, depth + 1, endings, names)?;
            } else if kind.is_symlink() && fs::metadata(entry.path()).is_ok_and(|found| found.is_dir()) {
                names.push((name, Some(LINKED_DIRECTORY)));
            } else if wanted {
                names.push((name, None));
            }
        }
        Ok(())
    }

    /// Where a file really is, and where its link leads; `None`: there is none.
    fn resolve_file(&self, name: &str) -> io::Result<Option<(PathBuf, Option<String>)>> {
        let mut at = self.root.clone();
        let mut parts = Path::new(name).components().peekable();
        while let Some(part) = parts.next() {
            let Component::Normal(own) = part else { return Err(io::Error::other("it is no plain path")) };
            at.push(own);
            let known = match fs::symlink_metadata(&at) {
                Ok(known) => known,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error),
            };
            if !known.is_symlink() {
                continue;
            }
            if parts.peek().is_some() {
                let directory = at.strip_prefix(&self.root).unwrap_or(&at);
                return Err(io::Error::other(format!(
                    "{} is a link, which is not followed",
                    display_path(directory)
                )));
            }
            let target =
                fs::canonicalize(&at).map_err(|_| io::Error::other("it is a link that leads nowhere"))?;
            let inside = target.strip_prefix(&self.root).map_err(|_| io::Error::other(LEADS_OUT))?;
            if inside.iter().any(|part| part.eq_ignore_ascii_case(".git")) {
                return Err(io::Error::other("it is a link into git's own directory, which is not followed"));
            }
            let leads_to = display_path(inside);
            return Ok(Some((target, Some(leads_to))));
        }
        Ok(Some((at, None)))
    }

    fn read_within_limit(&mut self, path: &Path) -> io::Result<String> {
        let size = fs::symlink_metadata(path)?.len();
        let too_much = || {
            let most = MOST_BYTES >> 20;
            io::Error::other(format!("the files of this project's configuration hold more than {most} MiB"))
        };
        self.bytes.checked_sub(size).ok_or_else(too_much)?;
        let text = read_text_file(path)?;
        self.bytes = self.bytes.saturating_sub(text.len() as u64);
        Ok(text)
    }
}

const LINKED_DIRECTORY: &str = "it is a link, and linked directories are not followed: put a directory there";
const LEADS_OUT: &str = "it is a link that leads out of the project, which is not followed: put a file there";

fn has_ending(name: &str, ending: &str) -> bool {
    Path::new(name).extension().is_some_and(|own| own == ending)
}

fn display_path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
