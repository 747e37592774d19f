//! The lines of a git configuration, as git and its library read them. Nothing is opened but the one file that is asked for.

use std::ffi::OsStr;
use std::io::Read as _;
use std::iter::Peekable;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::str::Chars;

/// Bytes of one file.
const LARGEST: u64 = 1 << 20;

/// `[section "subsection"] key = value`; section and key in small letters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GitEntry {
    pub section: String,
    pub key: String,
    pub value: String,
    /// There is a backslash in the value: programs do not agree on what some of these mean.
    pub escaped: bool,
}

impl GitEntry {
    /// `include.path`, under whatever condition.
    pub fn is_include(&self) -> bool {
        matches!(self.section.as_str(), "include" | "includeif") && self.key == "path"
    }
}

/// Whether every program reads the same lines in it: programs differ in how they read continued lines and bytes that
/// are no text.
pub fn is_unambiguous(text: &str) -> bool {
    let goes_on = |line: &str| line.trim_end_matches(is_blank).ends_with('\\');
    !text.contains(['\0', char::REPLACEMENT_CHARACTER]) && !text.split('\n').any(goes_on)
}

/// A file that can be read whole without waiting.
pub fn plain_text(path: &Path) -> Option<String> {
    let bytes = first_bytes(path).filter(|bytes| (bytes.len() as u64) < LARGEST)?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Of a file that can be read without waiting, no more than counts.
fn first_bytes(path: &Path) -> Option<Vec<u8>> {
    std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok()?.take(LARGEST).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// A file whose content is one path or several, such as `commondir`.
pub struct PathFile {
    bytes: Vec<u8>,
    /// Every program reads the same paths in it.
    pub is_plain: bool,
}

impl PathFile {
    /// `None`: there is no such file.
    pub fn read_if_exists(path: &Path) -> Option<Self> {
        let mut bytes = first_bytes(path)?;
        let is_plain = (bytes.len() as u64) < LARGEST && std::str::from_utf8(&bytes).is_ok_and(is_plain_path);
        // the library of git takes blanks off the end, and then reads as far as the first NUL
        bytes.truncate(bytes.trim_ascii_end().len());
        bytes.truncate(bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len()));
        Some(Self { bytes, is_plain })
    }

    /// The path that is the whole content.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(OsStr::from_bytes(&self.bytes))
    }

    /// The path behind `gitdir:`.
    pub fn git_directory(&self) -> Option<PathBuf> {
        let path = self.bytes.strip_prefix(b"gitdir:")?.trim_ascii_start();
        (!path.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(path)))
    }

    /// A path for each line that is no comment.
    pub fn lines(&self) -> impl Iterator<Item = &Path> {
        let lines = self.bytes.split(|byte| matches!(byte, b'\r' | b'\n'));
        lines
            .filter(|line| !matches!(line.first(), None | Some(b'#')))
            .map(|line| Path::new(OsStr::from_bytes(line)))
    }
}

fn is_plain_path(text: &str) -> bool {
    let is_odd = |letter: char| match letter {
        '\n' | ' ' => false,
        char::REPLACEMENT_CHARACTER => true,
        letter => letter.is_control() || letter.is_whitespace(),
    };
    !text.contains(is_odd)
}

/// The work tree that a git directory names, as that of a submodule does; what is included is not read.
pub fn work_tree(git: &Path) -> Option<PathBuf> {
    let entries = parse_entries(&plain_text(&git.join("config"))?);
    let named = |entry: &&GitEntry| entry.section == "core" && entry.key == "worktree";
    entries.iter().rfind(named).map(|entry| git.join(&entry.value))
}

fn is_blank(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\r' | '\u{b}' | '\u{c}')
}

/// What git would refuse as a whole is read as far as it has a meaning.
pub fn parse_entries(text: &str) -> Vec<GitEntry> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    let mut letters = text.chars().peekable();
    let (mut found, mut section) = (Vec::new(), String::new());
    while let Some(letter) = letters.next() {
        match letter {
            '#' | ';' => skip_comment(&mut letters),
            '[' => section = parse_header(&mut letters),
            letter if letter.is_ascii_alphabetic() => {
                let mut key = String::from(letter);
                let in_key = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '-';
                while let Some(letter) = letters.next_if(in_key) {
                    key.push(letter);
                }
                while letters.next_if(|letter| is_blank(*letter)).is_some() {}
                let mut escaped = false;
                let value = match letters.next_if_eq(&'=') {
                    Some(_) => parse_value(&mut letters, &mut escaped),
                    None => String::new(),
                };
                let (section, key) = (section.clone(), key.to_ascii_lowercase());
                found.push(GitEntry { section, key, value, escaped });
            }
            _ => {}
        }
    }
    found
}

/// Behind `[`. A subsection may have every letter in it; it is of no interest here.
fn parse_header(letters: &mut Peekable<Chars<'_>>) -> String {
    let (mut name, mut quoted) = (String::new(), false);
    while let Some(letter) = letters.next_if(|letter| *letter != '\n') {
        match letter {
            ']' if !quoted => break,
            '"' => quoted = !quoted,
            '\\' if quoted => {
                letters.next_if(|letter| *letter != '\n');
            }
            letter if !quoted => name.push(letter),
            _ => {}
        }
    }
    // `[section.subsection]` is an old form
    name.split(|letter| letter == '.' || is_blank(letter)).next().unwrap_or_default().to_ascii_lowercase()
}

fn skip_comment(letters: &mut Peekable<Chars<'_>>) {
    for letter in letters {
        if letter == '\n' {
            break;
        }
    }
}

/// Behind `=`, to the end of the line.
fn parse_value(letters: &mut Peekable<Chars<'_>>, escaped: &mut bool) -> String {
    let (mut value, mut kept, mut quoted) = (String::new(), 0, false);
    while let Some(letter) = letters.next() {
        match letter {
            '\n' => break,
            '"' => quoted = !quoted,
            '#' | ';' if !quoted => {
                skip_comment(letters);
                break;
            }
            '\\' => {
                *escaped = true;
                match letters.next() {
                    Some('\n') | None => continue,
                    Some('n') => value.push('\n'),
                    Some('t') => value.push('\t'),
                    Some('b') => value.push('\u{8}'),
                    Some(letter) => value.push(letter),
                }
            }
            letter if is_blank(letter) && !quoted => {
                // blanks at both ends do not count
                if !value.is_empty() {
                    value.push(letter);
                }
                continue;
            }
            letter => value.push(letter),
        }
        kept = value.len();
    }
    value.truncate(kept);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_git_reads_them() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config");
        for (text, value) in [
            ("[core]\n\thooksPath = a\n", "a"),
            ("[core] hooksPath=a", "a"),
            ("[CORE]hookspath=a # b\n", "a"),
            ("\u{feff}[core]\r\n  HooksPath = a b  \r\n", "a b"),
            ("[core]\n hooksPath = \" a;b\"c ; d\n", " a;bc"),
            ("[core]\n hooksPath = a\\\nb\n", "ab"),
            ("[core]\n hooksPath = \"a\\\"\\\\b\\tc\"\n", "a\"\\b\tc"),
            ("[other \"x]\\\"y\"]\n a = [core]\n[core] # x\n hooksPath = a\n", "a"),
            ("; [core]\n[core]\n bare\n hooksPath = a\n", "a"),
            ("[core\u{c}\"x\"]\n a = b\n[core]\n hooksPath\u{b} =\ra\r\n", "a"),
            ("[core]\n hooksPath = x\n[a]\n b = c\n[core]\n hooksPath = a\n", "a"),
        ] {
            std::fs::write(&file, text).unwrap();
            let oracle = git2::Config::open(&file).unwrap().get_string("core.hooksPath").unwrap();
            let found = parse_entries(text);
            let found = found.iter().rfind(|entry| entry.section == "core" && entry.key == "hookspath");
            assert_eq!(found.map(|entry| entry.value.as_str()), Some(value), "{text}");
            assert_eq!(oracle, value, "{text}");
        }
    }

    #[test]
    fn texts_that_programs_read_in_different_ways_are_known() {
        for (text, unambiguous) in [
            ("[a]\n b = c\\td \"x\\\\\" # e\n", true),
            ("[a]\n b = c\\\n d\n", false),
            ("[a]\n b = \\\\\"#\\ \r\n[include] path = x\n", false),
            ("[a]\n b = c\0d\n", false),
            ("[a]\n b = \u{fffd}\n", false),
        ] {
            assert_eq!(is_unambiguous(text), unambiguous, "{text:?}");
        }
    }
}
