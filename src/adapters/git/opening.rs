//! The one place where repositories of projects are opened. Before libgit2 reads anything, the files that it would read
//! are looked at: it opens whatever stands there, and waits for ever for the writer of a pipe.
//!
//! Owns that look, which opens nothing but configuration files. Refuses a repository in which a pipe, a device or a
//! socket takes the place of a file. What the user's own configuration names is the user's.

use std::collections::BTreeSet;
use std::fs::{self, FileType};
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use git2::{Error, ErrorClass, ErrorCode, Repository, RepositoryOpenFlags};

use crate::adapters::ignore_files::read_ignore_file;

/// Files directly in the directory of a repository, or of one of its worktrees.
const FILES: [&str; 14] = [
    "HEAD",
    "ORIG_HEAD",
    "FETCH_HEAD",
    "MERGE_HEAD",
    "commondir",
    "gitdir",
    "index",
    "config",
    "config.worktree",
    "packed-refs",
    "shallow",
    "description",
    "info/attributes",
    "info/grafts",
];
/// Directories of which every file is looked at. `info/exclude` is not read by libgit2 unless it is a file.
const DIRECTORIES: [&str; 3] = ["refs", "objects", "reftable"];
/// No file is deeper: below `refs`, names of branches are paths.
const DEEPEST: usize = 32;
/// Configurations that include each other are followed so far.
const MOST_CONFIGURATIONS: usize = 64;

/// Opens the repository that a directory is in, as git finds it.
///
/// # Errors
/// There is none, libgit2 cannot serve it, or a file of it is no regular file.
pub(in crate::adapters) fn open_around(directory: &Path) -> Result<Repository, Error> {
    let from = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
    for directory in from.ancestors() {
        let mut whole = false;
        for candidate in [git_directory(&directory.join(".git")), Some(directory.to_owned())] {
            whole |= candidate.map_or(Ok(false), |place| look(&place))?;
        }
        if whole {
            break;
        }
    }
    Repository::open_ext(directory, RepositoryOpenFlags::empty(), std::iter::empty::<&Path>())
}

/// Opens the repository of exactly this directory, or this directory of a repository.
///
/// # Errors
/// As [`open_around`].
pub(in crate::adapters) fn open_at(directory: &Path) -> Result<Repository, Error> {
    for candidate in
        [git_directory(&directory.join(".git")), Some(directory.to_owned())].into_iter().flatten()
    {
        look(&candidate)?;
    }
    Repository::open(directory)
}

/// Why a repository was refused here, where it was.
pub(in crate::adapters) fn is_refusal(error: &Error) -> bool {
    error.class() == ErrorClass::Os && error.code() == ErrorCode::Invalid
}

fn refused(file: &Path) -> Error {
    let text = format!("{} is not a regular file", file.display());
    Error::new(ErrorCode::Invalid, ErrorClass::Os, text)
}

/// What `.git` is, or leads to.
fn git_directory(place: &Path) -> Option<PathBuf> {
    if place.is_dir() {
        return Some(place.to_owned());
    }
    let text = read_ignore_file(place)?;
    let text = String::from_utf8_lossy(&text);
    let target = text.lines().next()?.strip_prefix("gitdir:")?.trim().to_owned();
    Some(place.parent()?.join(target))
}

/// Whether it is the directory of a repository.
///
/// # Errors
/// A file of it is no regular file.
fn look(place: &Path) -> Result<bool, Error> {
    if !place.join("HEAD").exists() {
        return Ok(false);
    }
    FILES.iter().try_for_each(|name| judge(&place.join(name)))?;
    let common = read_ignore_file(&place.join("commondir"));
    let common = common.map(|text| place.join(String::from_utf8_lossy(&text).trim()));
    let common = common.unwrap_or_else(|| place.to_owned());
    if common != *place {
        FILES.iter().try_for_each(|name| judge(&common.join(name)))?;
    }
    let mut seen = BTreeSet::new();
    configuration(&common.join("config"), &mut seen)?;
    configuration(&place.join("config.worktree"), &mut seen)?;
    for name in DIRECTORIES {
        files_below(&place.join(name), 0)?;
        if common != *place {
            files_below(&common.join(name), 0)?;
        }
    }
    Ok(common.join("objects").is_dir() && common.join("refs").is_dir())
}

/// # Errors
/// What is there is neither a regular file nor a directory, or is a link to such a thing.
fn judge(file: &Path) -> Result<(), Error> {
    match fs::metadata(file) {
        Ok(known) if is_odd(known.file_type()) => Err(refused(file)),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn is_odd(kind: FileType) -> bool {
    kind.is_fifo() || kind.is_socket() || kind.is_char_device() || kind.is_block_device()
}

fn files_below(directory: &Path, depth: usize) -> Result<(), Error> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotADirectory => return judge(directory),
        Err(_) => return Ok(()),
    };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            if depth < DEEPEST {
                files_below(&entry.path(), depth + 1)?;
            }
        } else if kind.is_symlink() {
            judge(&entry.path())?;
        } else if is_odd(kind) {
            return Err(refused(&entry.path()));
        }
    }
    Ok(())
}

/// A configuration, what it includes, and the file of attributes that it names.
fn configuration(file: &Path, seen: &mut BTreeSet<PathBuf>) -> Result<(), Error> {
    judge(file)?;
    if seen.len() >= MOST_CONFIGURATIONS || !seen.insert(file.to_owned()) {
        return Ok(());
    }
    let Some(text) = read_ignore_file(file) else { return Ok(()) };
    for (section, name, value) in assignments(&String::from_utf8_lossy(&text)) {
        let place = || match (value.strip_prefix("~/"), std::env::home_dir(), file.parent()) {
            (Some(rest), Some(home), _) => home.join(rest),
            (_, _, Some(parent)) => parent.join(&value),
            (_, _, None) => PathBuf::from(&value),
        };
        match (section.as_str(), name.as_str()) {
            ("include" | "includeif", "path") => configuration(&place(), seen)?,
            ("core", "attributesfile") => judge(&place())?,
            _ => {}
        }
    }
    Ok(())
}

/// Section (without what stands beside its name), name and value of every line, as far as paths need it.
fn assignments(text: &str) -> Vec<(String, String, String)> {
    let text = text.replace("\\\r\n", "").replace("\\\n", "");
    let (mut section, mut found) = (String::new(), Vec::new());
    for line in text.trim_start_matches('\u{feff}').lines() {
        let mut line = line.trim();
        while let Some((head, rest)) = line.strip_prefix('[').and_then(split_section) {
            section = head.split([' ', '\t', '"']).next().unwrap_or_default().to_ascii_lowercase();
            line = rest.trim_start();
        }
        if let Some((name, value)) = line.split_once('=') {
            found.push((section.clone(), name.trim().to_ascii_lowercase(), unquoted(value.trim())));
        }
    }
    found
}

/// At the `]` that ends a section's head: a quoted part may hold one.
fn split_section(text: &str) -> Option<(&str, &str)> {
    let (mut quoted, mut escaped) = (false, false);
    for (at, c) in text.char_indices() {
        match c {
            ']' if !quoted => return Some((&text[..at], &text[at + 1..])),
            '"' if !escaped => quoted = !quoted,
            _ => {}
        }
        escaped = c == '\\' && !escaped;
    }
    None
}

fn unquoted(value: &str) -> String {
    let (mut text, mut quoted) = (String::new(), false);
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => quoted = !quoted,
            '\\' => text.extend(chars.next()),
            '#' | ';' if !quoted => break,
            _ => text.push(c),
        }
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_configuration_includes_is_read_as_git_reads_it() {
        let text = "[core]\n\tbare = false ; no\n[include] path=../ff\n[includeIf \"gitdir:a]b\"]\n  Path = \"x # y\" # c\n\
                    [INCLUDE]\npath = a\\\nb\n[core] attributesFile = at\n";
        let found: Vec<String> = assignments(text)
            .into_iter()
            .map(|(section, name, value)| format!("{section}.{name}={value}"))
            .collect();
        let expected = [
            "core.bare=false",
            "include.path=../ff",
            "includeif.path=x # y",
            "include.path=ab",
            "core.attributesfile=at",
        ];
        assert_eq!(found, expected);
    }
}
