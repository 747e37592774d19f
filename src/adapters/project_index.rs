//! The index of a project on disk: `.synthdev/index/` in the project, which no repository and no snapshot takes.
//!
//! One line for each entry, appended at once; a later line replaces an earlier one, and the end of a build rewrites the
//! file. Refuses links, which could lead out of the project, and a second writer.

mod scan;

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file_io::{ensure_private_directory, write_private};
use super::sandbox::CommandSandbox;
use super::sandbox::policy::PathAccess;
use synthdev_domain::project_index::{ProjectIndexEntries, ProjectIndexEntry, ProjectScan, SizeLimit};
use synthdev_ports::project_index::{IndexWriter, ProjectIndexPort};

pub use scan::file_checksum;

/// Relative to the project.
const PLACE: &str = ".synthdev/index";
const FILE: &str = "index.jsonl";
/// Bytes; a larger file is not ours.
const LARGEST: u64 = 256 * 1024 * 1024;

/// The index of one project.
#[derive(Clone)]
pub struct ProjectIndex {
    root: PathBuf,
    /// As lines of an ignore file: what may hold keys.
    secret: Vec<String>,
    /// Directories that do not exist for tools.
    hidden_paths: Vec<PathBuf>,
    /// What its policy hides is not described: a model would read it.
    sandbox: Option<Arc<CommandSandbox>>,
}

impl ProjectIndex {
    /// Touches nothing until used.
    pub fn new(root: &Path, secret: Vec<String>, hidden: Vec<PathBuf>) -> Self {
        Self { root: root.to_owned(), secret, hidden_paths: hidden, sandbox: None }
    }

    /// Under the policy that holds for commands.
    #[must_use]
    pub fn under_policy(self, sandbox: Arc<CommandSandbox>) -> Self {
        Self { sandbox: Some(sandbox), ..self }
    }

    /// The paths that are not described, as the walk finds them.
    fn hidden_paths(&self) -> Vec<PathBuf> {
        let policy = self.sandbox.as_ref().and_then(|sandbox| sandbox.file_policy());
        let rules = policy.iter().flat_map(|policy| policy.with_access(PathAccess::Hidden));
        let real = self.root.canonicalize().unwrap_or_else(|_| self.root.clone());
        let below = rules.filter_map(|rule| rule.path.strip_prefix(&real).ok());
        self.hidden_paths.iter().cloned().chain(below.map(|path| self.root.join(path))).collect()
    }

    /// What is known of files that commands and tools may see now.
    ///
    /// # Errors
    /// The index is there and cannot be opened.
    pub fn load_visible(&self) -> Result<ProjectIndexEntries, String> {
        let mut index = self.load()?;
        let hidden = self.hidden_paths();
        index.entries.retain(|path, _| {
            let file = self.root.join(path);
            !hidden.iter().any(|hidden| file.starts_with(hidden))
        });
        Ok(index)
    }

    /// Where it is, if no link leads there.
    fn index_path(&self) -> Result<PathBuf, String> {
        let mut place = self.root.clone();
        for part in Path::new(PLACE).iter().chain([FILE.as_ref()]) {
            place.push(part);
            if place.is_symlink() {
                return Err(format!(
                    "{} is a link: the index is not kept there — remove it",
                    place.display()
                ));
            }
        }
        place.pop();
        Ok(place)
    }
}

impl ProjectIndexPort for ProjectIndex {
    fn scan(&self, limit: SizeLimit) -> Result<ProjectScan, String> {
        scan::scan_project(&self.root, &self.secret, &self.hidden_paths(), limit)
    }

    fn load(&self) -> Result<ProjectIndexEntries, String> {
        let file = self.index_path()?.join(FILE);
        let bytes = match read_index_file(&file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(ProjectIndexEntries::default());
            }
            Err(error) => {
                return Err(format!("{} cannot be read: {error} — remove it to begin anew", file.display()));
            }
        };
        let mut entries = BTreeMap::new();
        // a line that a crash or an edit broke is dropped, so its file is described again
        let lines = bytes
            .split(|byte| *byte == b'\n')
            .filter_map(|line| serde_json::from_slice::<ProjectIndexEntry>(line).ok());
        for entry in lines {
            entries.insert(entry.path.clone(), entry);
        }
        Ok(ProjectIndexEntries { entries })
    }

    fn read_file(&self, path: &str, limit: SizeLimit) -> Result<(String, String), String> {
        let file = self.root.join(path);
        if self.hidden_paths().iter().any(|hidden| file.starts_with(hidden)) {
            return Err("it is hidden by the sandbox's policy".to_owned());
        }
        let real = self.root.canonicalize().unwrap_or_else(|_| self.root.clone());
        scan::read_with_checksum(&real, &real.join(path), limit).map_err(|out| out.to_string())
    }

    fn writer(&self) -> Result<Box<dyn IndexWriter>, String> {
        let place = self.index_path()?;
        let writer =
            IndexFileWriter::open(&place).map_err(|error| format!("{}: {error}", place.display()))?;
        let busy = || "another program is making the index of this project: wait until it is done".to_owned();
        writer.ok_or_else(busy).map(|writer| Box::new(writer) as Box<dyn IndexWriter>)
    }
}

fn read_index_file(file: &Path) -> io::Result<Vec<u8>> {
    let found = fs::metadata(file)?;
    if !found.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    if found.len() > LARGEST {
        return Err(io::Error::other("it is too large to be an index"));
    }
    let mut bytes = Vec::new();
    File::open(file)?.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

struct IndexFileWriter {
    file: PathBuf,
    lines: File,
    /// Locked until the end: the lines themselves are another file each time.
    _gate_lock: File,
}

impl IndexFileWriter {
    /// `None`: another process writes.
    fn open(place: &Path) -> io::Result<Option<Self>> {
        ensure_private_directory(place)?;
        let ignore = place.join(".gitignore");
        if !ignore.exists() {
            write_private(&ignore, "# made by synthdev; it can be made again\n*\n")?;
        }
        let gate = open_private(OpenOptions::new().write(true), &place.join("lock"))?;
        match gate.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Ok(None),
            Err(fs::TryLockError::Error(error)) => return Err(error),
        }
        let file = place.join(FILE);
        let mut lines = open_private(OpenOptions::new().read(true).append(true), &file)?;
        if lines.metadata()?.len() > 0 {
            // a line that a crash tore ends where the next begins
            let mut last = [0];
            lines.seek(SeekFrom::End(-1))?;
            lines.read_exact(&mut last)?;
            if last != *b"\n" {
                lines.write_all(b"\n")?;
            }
        }
        Ok(Some(Self { file, lines, _gate_lock: gate }))
    }
}

/// Opens a file that only its owner can access.
fn open_private(options: &mut OpenOptions, file: &Path) -> io::Result<File> {
    options.create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options.open(file)
}

impl IndexWriter for IndexFileWriter {
    fn add(&mut self, entry: &ProjectIndexEntry) -> Result<(), String> {
        let written = entry_line(entry).and_then(|line| self.lines.write_all(line.as_bytes()));
        written.map_err(|error| format!("{} cannot be written: {error}", self.file.display()))
    }

    fn replace_index(&mut self, index: &ProjectIndexEntries) -> Result<(), String> {
        let whole: io::Result<String> = index.entries.values().map(entry_line).collect();
        let written = whole.and_then(|text| write_private(&self.file, &text));
        written.map_err(|error| format!("{} cannot be written: {error}", self.file.display()))
    }
}

fn entry_line(entry: &ProjectIndexEntry) -> io::Result<String> {
    Ok(serde_json::to_string(entry)? + "\n")
}

#[cfg(test)]
mod tests;
