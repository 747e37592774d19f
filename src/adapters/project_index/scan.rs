//! Which files belong into an index, and their checksums: no ignored ones, no hidden ones, no links. What may hold keys
//! by its name is not even read.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ignore::DirEntry;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use sha2::{Digest, Sha256};

use crate::ignore_files::walk_unignored;
use crate::open_beneath::{open_parent, open_unfollowed, read_open_file, read_regular};
use synthdev_domain::project_index::{
    ProjectScan, ROOT, ScannedDirectory, ScannedFile, SizeLimit, UnindexedFiles, parent_path,
};

/// Most files of an index: a larger project is not worth describing file by file.
const MOST: usize = 20_000;
/// Bytes; tools read no larger ones either.
const LARGEST: u64 = 10 * 1024 * 1024;
/// Of git and of this program.
const OWN: [&str; 2] = [".git", ".synthdev"];
/// Names of files that hold keys, whatever the settings say.
const KEYS: &[&str] = &[
    ".env",
    ".env.*",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.gpg",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    "credentials.json",
];
/// What a private key begins with, in whatever file.
const KEY_MARK: &str = "PRIVATE KEY-----";

/// Why a file is left out.
pub(super) enum IndexSkipReason {
    Binary,
    TooLarge,
    Secret,
    Unreadable(String),
}

impl fmt::Display for IndexSkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Binary => f.write_str("it is no UTF-8 text"),
            Self::TooLarge => f.write_str("it is larger than the limit"),
            Self::Secret => f.write_str("it may hold keys"),
            Self::Unreadable(why) => f.write_str(why),
        }
    }
}

pub(super) fn scan_project(
    root: &Path,
    secret: &[String],
    hidden: &[PathBuf],
    limit: SizeLimit,
) -> Result<ProjectScan, String> {
    let keys = ignore_patterns(root, secret)?;
    let real = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let (mut files, mut left_out) = (Vec::new(), UnindexedFiles::default());
    for entry in walk_files(root, hidden) {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                left_out.unreadable.push(error.to_string());
                continue;
            }
        };
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        let Some(path) = relative_path(root, entry.path()) else {
            let name = entry.path().strip_prefix(root).unwrap_or(entry.path()).to_string_lossy().into_owned();
            left_out.unreadable.push(name);
            continue;
        };
        if files.len() == MOST {
            return Err(format!(
                "there are more than {MOST} files: name what does not belong into the index in a .gitignore or .ignore"
            ));
        }
        let found = if keys.matched_path_or_any_parents(&path, false).is_ignore() {
            Err(IndexSkipReason::Secret)
        } else {
            read_with_checksum(&real, &real.join(&path), limit)
        };
        match found {
            Ok((text, sum)) => files.push(ScannedFile { path, checksum: sum, bytes: text.len() as u64 }),
            Err(IndexSkipReason::Binary) => left_out.binary.push(path),
            Err(IndexSkipReason::TooLarge) => left_out.too_large.push(path),
            Err(IndexSkipReason::Secret) => left_out.secret.push(path),
            Err(IndexSkipReason::Unreadable(why)) => left_out.unreadable.push(format!("{path}: {why}")),
        }
    }
    let directories = containing_directories(&files);
    Ok(ProjectScan { files, directories, left_out })
}

/// As the tools that search: in the order of their paths.
fn walk_files(root: &Path, hidden: &[PathBuf]) -> ignore::Walk {
    let hidden = hidden.to_vec();
    // an ignore file can bring hidden names back, but not these
    let keep = move |entry: &DirEntry| {
        !OWN.iter().any(|own| entry.file_name() == *own)
            && !hidden.iter().any(|hidden| entry.path().starts_with(hidden))
    };
    walk_unignored(root, false, keep).sort_by_file_path(Path::cmp).build()
}

fn ignore_patterns(root: &Path, more: &[String]) -> Result<Gitignore, String> {
    let mut builder = GitignoreBuilder::new(root);
    for line in KEYS.iter().copied().chain(more.iter().map(String::as_str)) {
        // one that git would not understand names nothing
        let _ = builder.add_line(None, line);
    }
    builder.build().map_err(|error| format!("the patterns of snapshots.exclude cannot be used: {error}"))
}

fn relative_path(root: &Path, path: &Path) -> Option<String> {
    Some(path.strip_prefix(root).ok()?.to_str()?.replace('\\', "/"))
}

/// The text of a file and its checksum. `root`: free of links, and `path` is below it.
pub(super) fn read_with_checksum(
    root: &Path,
    path: &Path,
    limit: SizeLimit,
) -> Result<(String, String), IndexSkipReason> {
    let told = |error: io::Error| IndexSkipReason::Unreadable(error.to_string());
    let largest = limit.as_kilobytes().map_or(LARGEST, |kilobytes| kilobytes * 1024);
    let parent = open_parent(root, path, false).map_err(told)?;
    let found = fs::symlink_metadata(parent.entry()).map_err(told)?;
    if !found.is_file() {
        return Err(IndexSkipReason::Unreadable("it is no regular file".to_owned()));
    }
    if found.len() > largest {
        return Err(IndexSkipReason::TooLarge);
    }
    let bytes = open_unfollowed(&parent.entry()).and_then(|file| read_open_file(file, largest));
    let bytes = bytes.map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => IndexSkipReason::TooLarge,
        _ => told(error),
    })?;
    let sum = to_hex(&Sha256::digest(&bytes));
    let text =
        String::from_utf8(bytes).ok().filter(|text| !text.contains('\0')).ok_or(IndexSkipReason::Binary)?;
    if text.contains(KEY_MARK) {
        return Err(IndexSkipReason::Secret);
    }
    Ok((text, sum))
}

/// The checksum of a file as an index has it, whatever its size; `None`: it is not there. `root`: free of links.
pub fn file_checksum(root: &Path, path: &Path) -> Option<String> {
    read_regular(root, path, LARGEST).ok().map(|bytes| to_hex(&Sha256::digest(&bytes)))
}

fn to_hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The directories above the files; the checksum of each is over names and checksums of its entries.
fn containing_directories(files: &[ScannedFile]) -> Vec<ScannedDirectory> {
    let mut sums: BTreeMap<&str, String> =
        files.iter().map(|file| (file.path.as_str(), file.checksum.clone())).collect();
    let mut inside: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in files {
        let mut path = file.path.as_str();
        while path != ROOT {
            let above = parent_path(path);
            if !inside.entry(above).or_default().insert(path) {
                break;
            }
            path = above;
        }
    }
    // those deep down first: their sums are part of those above
    let mut order: Vec<&str> = inside.keys().copied().collect();
    order.sort_by_key(|path| std::cmp::Reverse(synthdev_domain::project_index::path_depth(path)));
    let mut found = Vec::new();
    for path in order {
        let children = &inside[path];
        let mut digest = Sha256::new();
        for child in children {
            let sum = sums.get(child).map(String::as_str).unwrap_or_default();
            digest.update(format!("{} {child} {sum}\n", child.len()));
        }
        let sum = to_hex(&digest.finalize());
        sums.insert(path, sum.clone());
        let children = children.iter().map(|child| (*child).to_owned()).collect();
        found.push(ScannedDirectory { path: path.to_owned(), checksum: sum, children });
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}
