//! What the user's own index already knows: tracked paths, submodules, and blobs of unchanged files.
//! Reads the index, never writes it. Trusts a blob only if git cannot have converted the file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use git2::{AttrCheckFlags, Oid, Repository};

use super::index_summary::{IndexSummary, byte_slices, entry_paths, index_file_stat};
use super::snapshot_entry::{
    FileStat, FileTime, RelPath, SnapshotEntry, TreeEntryKind, ancestor_paths, missing_paths, to_bytes,
    to_path,
};
use super::snapshot_error::{self, SnapshotResult};
use super::snapshot_location::SnapshotRepository;
use super::stat_cache::make_unmatchable;
use crate::ignore_files::{read_ignore_file, read_project_ignore_file};

/// The user's index, seen from the project.
#[derive(Default)]
pub struct UserIndex {
    /// The index file, before it was read.
    pub file: Option<FileStat>,
    /// Made of a summary: `entries` is empty, and `tracked` lacks what the last snapshot covered.
    pub is_summary: bool,
    /// Files and links, sorted by path. The blobs hold what git would store, not always the raw bytes.
    pub entries: Vec<SnapshotEntry>,
    /// With paths in conflict; sorted, no submodules.
    pub tracked: Vec<RelPath>,
    /// With the commit the index holds.
    pub submodules: BTreeMap<RelPath, Oid>,
}

impl UserIndex {
    pub fn read_index(store: &SnapshotRepository) -> SnapshotResult<Self> {
        let mut seed = Self::default();
        if store.private {
            return Ok(seed);
        }
        seed.file = index_file_stat(&store.repo);
        let failed = |error: git2::Error| snapshot_error::git_read_error(store.location(), &error);
        let mut index = store.repo.index().map_err(failed)?;
        // it may have been read before the stat was: then it is not what the stat stands for
        index.read(false).map_err(failed)?;
        let written = index.path().and_then(|path| fs::metadata(path).ok());
        let written = written.map_or(FileTime::NEVER, |meta| FileTime::modified(&meta));
        let mut prefix = to_bytes(&store.prefix);
        if !prefix.is_empty() {
            prefix.push(b'/');
        }
        for item in index.iter() {
            let Some(path) = item.path.strip_prefix(prefix.as_slice()).map(<[u8]>::to_vec) else { continue };
            let Some(kind) = TreeEntryKind::from_mode(item.mode) else { continue };
            if kind == TreeEntryKind::Submodule {
                seed.submodules.insert(path, item.id);
                continue;
            }
            seed.tracked.push(path.clone());
            let settled = item.flags >> 12 & 3 == 0;
            if !settled {
                continue;
            }
            let time = |time: git2::IndexTime| FileTime {
                seconds: i64::from(time.seconds()),
                nanos: time.nanoseconds(),
            };
            let (modified, changed) = (time(item.mtime), time(item.ctime));
            let size = u64::from(item.file_size);
            let mut stat = FileStat { kind, size, modified, changed, inode: item.ino };
            if stat.is_racy(written) {
                make_unmatchable(&mut stat);
            }
            seed.entries.push(SnapshotEntry { path, stat, blob: item.id });
        }
        seed.tracked.dedup();
        Ok(seed)
    }

    pub fn from_summary(summary: &IndexSummary) -> Self {
        Self {
            file: Some(summary.file),
            is_summary: true,
            entries: Vec::new(),
            tracked: summary.tracked_elsewhere.clone(),
            submodules: summary.submodules.clone(),
        }
    }

    /// For the next snapshot, after one that covers `covered`; `last` is what the one before covered, `unwalked` the
    /// tracked paths that the walk did not list.
    pub fn summarize(
        self,
        last: &[SnapshotEntry],
        unwalked: Vec<RelPath>,
        covered: &[SnapshotEntry],
    ) -> Option<IndexSummary> {
        if self.is_summary
            && missing_paths(entry_paths(last.iter()), entry_paths(covered.iter())).next().is_some()
        {
            // nothing says which of the missing ones are tracked
            return None;
        }
        let uncovered =
            missing_paths(byte_slices(&self.tracked), entry_paths(covered.iter())).map(<[u8]>::to_vec);
        let elsewhere: BTreeSet<RelPath> = uncovered.chain(unwalked).collect();
        Some(IndexSummary {
            file: self.file?,
            tracked_elsewhere: elsewhere.into_iter().collect(),
            submodules: self.submodules,
        })
    }
}

/// Judges whether the index's blob of an unchanged file is there, and is its raw content. An index may name blobs that
/// are gone: of a partial clone, a copied `.git`, a repository that was pruned by hand.
/// Without attributes and line-end settings it is; with them, git only removes bytes for line ends, so an
/// equal size proves equality; filters, `ident` and re-encoding are never trusted.
pub struct IndexBlobTrust<'a> {
    store: &'a SnapshotRepository,
    converts_content: bool,
    rewrites_content: bool,
    /// Attributes are a link, which git does not follow, and libgit2 does.
    attributes_are_link: bool,
}

impl<'a> IndexBlobTrust<'a> {
    pub fn new(store: &'a SnapshotRepository, seed: &UserIndex, root: &Path) -> Self {
        let mut texts = Vec::new();
        let mut linked = false;
        let mut own = |base: &Path, path: &Path| {
            linked |= path.is_symlink();
            texts.extend(read_project_ignore_file(base, path));
        };
        let dirs: BTreeSet<&[u8]> = seed.tracked.iter().flat_map(|path| ancestor_paths(path)).collect();
        dirs.iter().for_each(|dir| own(root, &root.join(to_path(dir)).join(".gitattributes")));
        for dir in store.prefix.ancestors() {
            let work = store.repo.workdir().into_iter();
            work.for_each(|work| own(work, &work.join(dir).join(".gitattributes")));
        }
        let mut look = |path: &Path| texts.extend(read_ignore_file(path));
        look(&store.repo.commondir().join("info/attributes"));
        look(Path::new("/etc/gitattributes"));
        let config = store.repo.config().ok();
        let global = config.as_ref().and_then(|config| config.get_path("core.attributesFile").ok());
        let global = global
            .or_else(|| directories::BaseDirs::new().map(|dirs| dirs.config_dir().join("git/attributes")));
        global.iter().for_each(|path| look(path));
        let crlf = config.and_then(|config| config.get_string("core.autocrlf").ok());
        let crlf = crlf.is_some_and(|value| !matches!(value.as_str(), "false" | "no" | "off" | "0"));
        let words: [&[u8]; 3] = [b"filter", b"ident", b"working-tree-encoding"];
        let rewrites = texts.iter().any(|text| words.iter().any(|word| contains_word(text, word)));
        Self {
            store,
            converts_content: crlf || linked || !texts.is_empty(),
            rewrites_content: rewrites,
            attributes_are_link: linked,
        }
    }

    pub fn is_raw_content(&self, odb: &git2::Odb<'_>, path: &[u8], size: u64, blob: Oid) -> bool {
        if !self.converts_content {
            return odb.exists_ext(blob, git2::OdbLookupFlags::NO_REFRESH);
        }
        let is_rewritten = || is_rewritten_by_filter(&self.store.repo, &to_path(&self.store.in_tree(path)));
        !(self.attributes_are_link || self.rewrites_content && is_rewritten())
            && odb.read_header(blob).is_ok_and(|(stored, _)| stored as u64 == size)
    }
}

fn is_rewritten_by_filter(repo: &Repository, path: &Path) -> bool {
    ["filter", "ident", "working-tree-encoding"].iter().any(|name| {
        !matches!(repo.get_attr(path, name, AttrCheckFlags::FILE_THEN_INDEX), Ok(None | Some("false")))
    })
}

fn contains_word(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}
