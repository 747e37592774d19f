//! Makes the project equal to a snapshot: the only code here that changes the user's files.
//! Writes beside and renames; never follows a symbolic link; checks for obstacles before the first change.

use std::collections::BTreeSet;
use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use git2::{Odb, Oid};

use super::disk_sync;
use super::restore_marker;
use super::snapshot_entry::{FileStat, RelPath, TreeEntryKind, ancestor_paths, display_path, to_path};
use super::snapshot_error::{self, SnapshotResult, snapshot_error};
use super::snapshot_location::SnapshotLocation;
use super::uncovered_files;
use super::working_tree_diff::ProjectFileChange;
use crate::open_beneath::open_parent;
use synthdev_domain::file_progress::{FileWorkCounter, FileWorkStage};
use synthdev_domain::snapshot::FileChange;

/// Where to write and where the content comes from.
pub struct FileChangeApplier<'a> {
    pub location: &'a SnapshotLocation,
    pub odb: Odb<'a>,
    /// Stay even when they become empty, and return when they are gone.
    pub empty_dirs: &'a BTreeSet<RelPath>,
    /// Empty now; they go unless the snapshot had them.
    pub emptied_now: &'a [RelPath],
    /// The user's word for this, for hints: `restore`, `merge`.
    pub action_name: &'static str,
    /// Counts the files that are written.
    pub file_counter: &'a FileWorkCounter,
}

impl FileChangeApplier<'_> {
    /// # Errors
    /// A failing disk. Call `check_obstacles` first.
    pub fn apply_changes(&self, changes: &[ProjectFileChange]) -> SnapshotResult<()> {
        for change in changes.iter().filter(|change| change.change == FileChange::Added) {
            self.remove_file(&change.path)?;
        }
        for dir in self.emptied_now.iter().filter(|dir| std::str::from_utf8(dir).is_ok()) {
            self.remove_empty_directories(ancestor_paths(dir).chain([dir.as_slice()]).collect());
        }
        let _working = self.file_counter.begin_work(FileWorkStage::Writing, changes.len());
        for change in changes {
            if let Some((kind, blob)) = change.stored {
                self.write_file(change, kind, blob)?;
            }
            self.file_counter.add_file();
        }
        for dir in self.empty_dirs {
            self.make_dirs(dir)?;
        }
        Ok(())
    }

    /// What `apply_changes` did is on the disk when this returns.
    ///
    /// # Errors
    /// A failing disk.
    pub fn sync_changes(&self, changes: &[ProjectFileChange]) -> SnapshotResult<()> {
        let root = &self.location.project;
        let places: Vec<PathBuf> = changes.iter().map(|change| root.join(to_path(&change.path))).collect();
        disk_sync::sync_files(root, &places).map_err(|error| snapshot_error::project_io_error(root, &error))
    }

    /// Everything that can be known before the first change: a directory in the place of a file must hold nothing but
    /// files that go anyway.
    ///
    /// # Errors
    /// An obstacle, or a missing object.
    pub fn check_obstacles(&self, changes: &[ProjectFileChange]) -> SnapshotResult<()> {
        let going: BTreeSet<&[u8]> = changes
            .iter()
            .filter(|change| change.change == FileChange::Added)
            .map(|change| change.path.as_slice())
            .collect();
        for change in changes {
            self.ensure_unchanged(change)?;
            let Some((_, blob)) = change.stored else { continue };
            if change.private.is_some() {
                self.copy_private(change, blob)?;
            } else if !self.odb.exists(blob) {
                return Err(snapshot_error(
                    format!(
                        "the store lacks the content of {}; nothing was changed",
                        display_path(&change.path)
                    ),
                    "Another program removed objects from the store; `git fsck` there shows which.",
                ));
            }
            if let Some(rest) = self.find_obstacle(&change.path, &going) {
                let text = format!(
                    "{} was a file and is a directory holding {}, which no snapshot covers; nothing was changed",
                    display_path(&change.path),
                    display_path(&rest)
                );
                return Err(snapshot_error(
                    text,
                    format!("Move that directory away, then {} again.", self.action_name),
                ));
            }
        }
        Ok(())
    }

    /// What was written after the present was saved could not be undone.
    fn ensure_unchanged(&self, change: &ProjectFileChange) -> SnapshotResult<()> {
        let place = self.location.project.join(to_path(&change.path));
        let now = fs::symlink_metadata(place).ok().and_then(|meta| FileStat::from_metadata(&meta));
        if change.present_stat.is_some() && now != change.present_stat {
            return Err(snapshot_error(
                format!("{} is being written to; nothing was changed", display_path(&change.path)),
                format!("Stop what writes to the project, then {} again.", self.action_name),
            ));
        }
        Ok(())
    }

    fn find_obstacle(&self, path: &[u8], going: &BTreeSet<&[u8]>) -> Option<RelPath> {
        let place = self.location.project.join(to_path(path));
        if !fs::symlink_metadata(&place).ok()?.is_dir() {
            return None;
        }
        for item in fs::read_dir(&place).ok()?.flatten() {
            let mut inner = path.to_vec();
            inner.push(b'/');
            inner.extend_from_slice(item.file_name().as_bytes());
            let found = match item.file_type() {
                Ok(kind) if kind.is_dir() => self.find_obstacle(&inner, going),
                _ => (!going.contains(inner.as_slice())).then_some(inner),
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }

    fn remove_file(&self, path: &RelPath) -> SnapshotResult<()> {
        let place = self.location.project.join(to_path(path));
        let parent = open_parent(&self.location.project, &place, false);
        match parent.and_then(|parent| fs::remove_file(parent.entry())) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(snapshot_error::project_io_error(&place, &error));
            }
            _ => {}
        }
        self.remove_empty_directories(ancestor_paths(path).collect());
        Ok(())
    }

    /// Removes directories from the innermost outwards, as long as they are empty.
    fn remove_empty_directories(&self, mut dirs: Vec<&[u8]>) {
        while let Some(dir) = dirs.pop() {
            let place = self.location.project.join(to_path(dir));
            let parent = open_parent(&self.location.project, &place, false);
            if self.empty_dirs.contains(dir)
                || parent.and_then(|parent| fs::remove_dir(parent.entry())).is_err()
            {
                break;
            }
        }
    }

    /// A private copy.
    fn copy_private(&self, change: &ProjectFileChange, blob: Oid) -> SnapshotResult<Vec<u8>> {
        uncovered_files::read_copy(self.location, blob).map_err(|error| {
            snapshot_error(
                format!("the private copy of {} cannot be read: {error}", display_path(&change.path)),
                format!(
                    "It lies in {}; without it, change that file by hand.",
                    self.location.project_data.display()
                ),
            )
        })
    }

    fn write_file(&self, change: &ProjectFileChange, kind: TreeEntryKind, blob: Oid) -> SnapshotResult<()> {
        let path = &change.path;
        let place = self.location.project.join(to_path(path));
        if let Some(dir) = ancestor_paths(path).last() {
            self.make_dirs(dir)?;
        }
        // a command can put a link in the place of a directory from here on
        let parent = open_parent(&self.location.project, &place, false);
        let parent = parent.map_err(|error| snapshot_error::project_io_error(&place, &error))?;
        let held = parent.entry();
        let before = fs::symlink_metadata(&held).ok();
        if before.as_ref().is_some_and(fs::Metadata::is_dir) {
            remove_empty_tree(&held).map_err(|error| snapshot_error::project_io_error(&place, &error))?;
        }
        let draft = RestoreTempFile::create_beside(&held);
        let done = if let Some(mode) = change.private {
            uncovered_files::write_copy(&draft.0, &self.copy_private(change, blob)?, kind, mode)
        } else {
            let content =
                self.odb.read(blob).map_err(|error| snapshot_error::git_read_error(&place, &error))?;
            let mode = before.filter(fs::Metadata::is_file).map(|meta| meta.permissions().mode());
            match kind {
                TreeEntryKind::Link => std::os::unix::fs::symlink(to_path(content.data()), &draft.0),
                _ => write_file(&draft.0, content.data(), kind, mode),
            }
        };
        done.and_then(|()| fs::rename(&draft.0, &held))
            .map_err(|error| snapshot_error::project_io_error(&place, &error))
    }

    /// Every step must be a real directory: a link here would lead out of the project.
    fn make_dirs(&self, dir: &[u8]) -> SnapshotResult<()> {
        for step in ancestor_paths(dir).chain([dir]) {
            let place = self.location.project.join(to_path(step));
            match fs::symlink_metadata(&place) {
                Ok(meta) if meta.is_dir() => {}
                Ok(_) => {
                    return Err(snapshot_error(
                        format!("{} is in the way: it is not a directory", place.display()),
                        format!("Move it away, then {} again.", self.action_name),
                    ));
                }
                Err(_) => fs::create_dir(&place)
                    .map_err(|error| snapshot_error::project_io_error(&place, &error))?,
            }
        }
        Ok(())
    }
}

/// A file to be renamed; removed if that does not happen.
struct RestoreTempFile(PathBuf);

impl RestoreTempFile {
    fn create_beside(place: &Path) -> Self {
        Self(restore_marker::draft_path(place))
    }
}

impl Drop for RestoreTempFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Keeps the permissions of the file it replaces, but for the executable bits.
fn write_file(place: &Path, bytes: &[u8], kind: TreeEntryKind, before: Option<u32>) -> std::io::Result<()> {
    let fresh = if kind == TreeEntryKind::Executable { 0o777 } else { 0o666 };
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(fresh).open(place)?;
    file.write_all(bytes)?;
    if let Some(before) = before {
        let readable = (before & 0o444) >> 2;
        let mode =
            if kind == TreeEntryKind::Executable { before | readable | 0o100 } else { before & !0o111 };
        file.set_permissions(fs::Permissions::from_mode(mode & 0o777))?;
    }
    Ok(())
}

fn remove_empty_tree(dir: &Path) -> std::io::Result<()> {
    for item in fs::read_dir(dir)? {
        let item = item?;
        if item.file_type()?.is_dir() {
            remove_empty_tree(&item.path())?;
        }
    }
    fs::remove_dir(dir)
}
