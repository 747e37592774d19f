//! The user's input in a project, kept between sessions: one file a project, a line a text, readable by its owner only.
//!
//! Several processes may append at once without losing texts. Lines that cannot be read are counted and left out.
//! Bounded: old texts make room for new ones, and a very long text is not kept.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::file_io::{ensure_private_directory, write_private};

/// Longer texts are not kept.
pub const LONGEST: usize = 16 << 10;
/// Texts that are kept.
const MOST: usize = 1_000;
/// Bytes that are kept when the file is made smaller.
const KEPT: usize = 256 << 10;
/// A file of this size is made smaller.
const LARGE: u64 = 512 << 10;
/// Of a file of any size no more than this is read.
const READ: u64 = 4 << 20;

#[derive(Serialize, Deserialize)]
struct InputHistoryLine {
    text: String,
}

/// The texts of one project.
#[derive(Clone, Debug)]
pub struct InputHistoryFile {
    file: PathBuf,
}

/// The texts that were read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LoadedInputHistory {
    /// The oldest first.
    pub texts: Vec<String>,
    /// Lines that hold no text of ours.
    pub damaged_lines: usize,
}

impl InputHistoryFile {
    /// `state`: the user's directory for such things. Touches nothing until used.
    pub fn new(state: &Path, project: &Path) -> Self {
        let digest = Sha256::digest(project.as_os_str().as_encoded_bytes());
        let name: String = digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
        Self { file: state.join("typed").join(format!("{name}.jsonl")) }
    }

    pub fn file(&self) -> &Path {
        &self.file
    }

    /// # Errors
    /// The file is there and cannot be read at all.
    pub fn load_history(&self) -> io::Result<LoadedInputHistory> {
        match fs::metadata(&self.file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(LoadedInputHistory::default()),
            Err(error) => return Err(error),
            Ok(seen) if !seen.is_file() => return Err(io::Error::other("it is not a regular file")),
            Ok(_) => {}
        }
        let mut file = File::open(&self.file)?;
        let length = file.metadata()?.len();
        // the newest are at the end
        let from = length.saturating_sub(READ);
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.take(READ).read_to_end(&mut bytes)?;
        let lines = bytes.split(|byte| *byte == b'\n').skip(usize::from(from > 0));
        Ok(parse_history(lines))
    }

    /// Adds a text. One that is too long is left out.
    ///
    /// # Errors
    /// The system's error; only this text is lost.
    pub fn append_text(&self, text: &str) -> io::Result<()> {
        if text.len() > LONGEST {
            return Ok(());
        }
        if let Some(directory) = self.file.parent() {
            ensure_private_directory(directory)?;
        }
        let line = serde_json::to_string(&InputHistoryLine { text: text.to_owned() })?;
        // held while the file is written: a process that shortens the file replaces it
        let gate = open_private(&self.file.with_extension("lock"))?;
        gate.lock()?;
        let mut file = open_private(&self.file)?;
        let length = file.seek(SeekFrom::End(0))?;
        let broken = length > 0 && !ends_a_line(&mut file)?;
        let start = if broken { "\n" } else { "" };
        file.write_all(format!("{start}{line}\n").as_bytes())?;
        if length > LARGE {
            drop(file);
            self.trim_file()?;
        }
        Ok(())
    }

    fn trim_file(&self) -> io::Result<()> {
        let mut texts = self.load_history()?.texts;
        let mut weight = 0;
        let keep = texts.iter().rev().take(MOST).take_while(|text| {
            weight += text.len();
            weight <= KEPT
        });
        let keep = keep.count();
        let mut whole = String::new();
        for text in texts.drain(texts.len() - keep..) {
            whole.push_str(&serde_json::to_string(&InputHistoryLine { text })?);
            whole.push('\n');
        }
        write_private(&self.file, &whole)
    }
}

fn parse_history<'a>(lines: impl Iterator<Item = &'a [u8]>) -> LoadedInputHistory {
    let mut found = LoadedInputHistory::default();
    for line in lines.filter(|line| !line.trim_ascii().is_empty()) {
        match serde_json::from_slice::<InputHistoryLine>(line) {
            Ok(line) => found.texts.push(line.text),
            Err(_) => found.damaged_lines += 1,
        }
    }
    let more = found.texts.len().saturating_sub(MOST);
    found.texts.drain(..more);
    found
}

/// Opens a file for reading and appending that only its owner can access.
fn open_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    Ok(file)
}

fn ends_a_line(file: &mut File) -> io::Result<bool> {
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history_file(directory: &tempfile::TempDir) -> InputHistoryFile {
        InputHistoryFile::new(directory.path(), Path::new("/a/project"))
    }

    #[test]
    fn texts_come_back_in_their_order_and_projects_are_apart() {
        let directory = tempfile::tempdir().unwrap();
        let (one, other) =
            (history_file(&directory), InputHistoryFile::new(directory.path(), Path::new("/another")));
        assert_eq!(one.load_history().unwrap(), LoadedInputHistory::default());
        assert!(!directory.path().join("typed").exists(), "reading makes nothing");
        one.append_text("first\nin two lines").unwrap();
        one.append_text("é \"quoted\"").unwrap();
        one.append_text(&"x".repeat(LONGEST + 1)).unwrap();
        assert_eq!(one.load_history().unwrap().texts, ["first\nin two lines", "é \"quoted\""]);
        assert_eq!(other.load_history().unwrap(), LoadedInputHistory::default());
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_reads_them() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let typed = history_file(&directory);
        typed.append_text("a").unwrap();
        fs::set_permissions(typed.file(), fs::Permissions::from_mode(0o644)).unwrap();
        typed.append_text("b").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(typed.file()), 0o600);
        assert_eq!(mode(typed.file().parent().unwrap()), 0o700);
    }

    #[test]
    fn damage_is_counted_and_what_is_sound_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let typed = history_file(&directory);
        typed.append_text("one").unwrap();
        let mut bytes = fs::read(typed.file()).unwrap();
        bytes.extend(b"\xff\xfe no text\n{\"text\": 3}\n{\"text\": \"torn");
        fs::write(typed.file(), bytes).unwrap();
        // the line that was torn ends where the next begins
        typed.append_text("two").unwrap();
        assert_eq!(
            typed.load_history().unwrap(),
            LoadedInputHistory { texts: vec!["one".into(), "two".into()], damaged_lines: 3 }
        );
        fs::remove_file(typed.file()).unwrap();
        fs::create_dir(typed.file()).unwrap();
        assert!(typed.load_history().is_err() && typed.append_text("x").is_err());
    }

    #[test]
    fn the_file_stays_small_and_keeps_the_newest() {
        let directory = tempfile::tempdir().unwrap();
        let typed = history_file(&directory);
        let long = "y".repeat(LONGEST - 8);
        for at in 0..120 {
            typed.append_text(&format!("{at} {long}")).unwrap();
        }
        let length = fs::metadata(typed.file()).unwrap().len();
        assert!(length <= LARGE + 2 * LONGEST as u64, "{length}");
        let found = typed.load_history().unwrap();
        assert!(found.texts.len() > 10 && found.damaged_lines == 0);
        assert!(found.texts.last().unwrap().starts_with("119 "));
        let first: usize = found.texts[0].split(' ').next().unwrap().parse().unwrap();
        assert_eq!(first, 120 - found.texts.len(), "none between is missing");
    }

    #[test]
    fn who_adds_at_once_loses_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let typed = history_file(&directory);
        let filler = "z".repeat(4_000);
        // large enough that it is made smaller while others add
        for _ in 0..125 {
            typed.append_text(&filler).unwrap();
        }
        std::thread::scope(|scope| {
            for who in 0..4 {
                let typed = typed.clone();
                scope.spawn(move || {
                    for at in 0..25 {
                        typed.append_text(&format!("{who} {at} {}", "w".repeat(500))).unwrap();
                    }
                });
            }
        });
        let texts = typed.load_history().unwrap().texts;
        for who in 0..4 {
            let own: Vec<_> = texts.iter().filter(|text| text.starts_with(&format!("{who} "))).collect();
            let order: Vec<String> =
                own.iter().map(|text| text.split(' ').nth(1).unwrap().to_owned()).collect();
            assert_eq!(order, (0..25).map(|at| at.to_string()).collect::<Vec<_>>(), "of {who}");
        }
    }
}
