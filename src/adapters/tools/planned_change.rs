//! A change to one file, prepared but not yet made: shown to the user, then carried out in one step. Refuses to write a
//! file that the user made read-only.

use std::fs;
use std::path::Path;
use std::time::Duration;

use similar::TextDiff;

use crate::open_beneath::remove_made;
use synthdev_domain::tool::ToolPreview;

use super::atomic_replace;
use super::path_guard::{ProjectPath, ProjectPathGuard, error_reason};
use super::truncated_output::shorten_text;

/// Most bytes of a diff that a dialog is asked to show.
const PREVIEW_CAP: usize = 256 * 1024;

pub(super) struct PlannedFileChange {
    pub(super) path: ProjectPath,
    /// `None`: the file is new.
    pub(super) content_before: Option<Vec<u8>>,
    pub(super) content_after: Vec<u8>,
}

impl PlannedFileChange {
    /// Carries the change out; answers with the directories it had to make. Nothing is half done on failure.
    pub(super) fn apply_change(&self, fence: &ProjectPathGuard) -> Result<Vec<String>, String> {
        if self.is_unchanged() {
            return Ok(Vec::new());
        }
        self.check_permitted()?;
        let (parent, made) = fence
            .hold_parent_for_write(&self.path)
            .map_err(|error| self.refusal_text(&error_reason(&error)))?;
        if let Err(error) = atomic_replace::replace_file(&parent.entry(), &self.content_after) {
            remove_made(&made);
            return Err(self.refusal_text(&error_reason(&error)));
        }
        Ok(self.names(made.len()))
    }

    /// Makes the file what it was; directories that were made for it stay.
    pub(super) fn revert_change(&self, fence: &ProjectPathGuard) -> Result<(), String> {
        let parent =
            fence.hold_parent(&self.path).map_err(|error| self.refusal_text(&error_reason(&error)))?;
        let reverted = match &self.content_before {
            Some(before) => atomic_replace::replace_file(&parent.entry(), before),
            None => fs::remove_file(parent.entry()),
        };
        reverted.map_err(|error| self.refusal_text(&error_reason(&error)))
    }

    /// Whether the file may be written at all, as far as that can be seen without trying.
    pub(super) fn check_permitted(&self) -> Result<(), String> {
        let read_only = |found: fs::Metadata| found.permissions().readonly();
        if !self.is_unchanged() && fs::metadata(&self.path.absolute).is_ok_and(read_only) {
            return Err(self.refusal_text("it is read-only"));
        }
        Ok(())
    }

    /// The directories that have to be made.
    pub(super) fn missing_directories(&self) -> Vec<String> {
        self.names(atomic_replace::missing_directories(self.parent()).len())
    }

    /// The paths that differ afterwards.
    pub(super) fn changed_paths(&self) -> Vec<String> {
        if self.is_unchanged() { Vec::new() } else { vec![self.path.relative.clone()] }
    }

    /// The file stays as it is.
    pub(super) fn is_unchanged(&self) -> bool {
        self.content_before.as_ref() == Some(&self.content_after)
    }

    pub(super) fn to_preview(&self) -> ToolPreview {
        let path = self.path.relative.clone();
        let before = std::str::from_utf8(self.content_before.as_deref().unwrap_or_default());
        let (Ok(before), Ok(after)) = (before, std::str::from_utf8(&self.content_after)) else {
            let text = format!("{path}: {} bytes that are not text", self.content_after.len());
            return ToolPreview::Text { text };
        };
        if self.content_before.is_some() && before == after {
            return ToolPreview::Text { text: format!("{path} would stay as it is") };
        }
        let (old, new) = (format!("a/{path}"), format!("b/{path}"));
        let old = if self.content_before.is_some() { old.as_str() } else { "/dev/null" };
        let diff = TextDiff::configure().timeout(Duration::from_millis(500)).diff_lines(before, after);
        let diff = diff.unified_diff().context_radius(3).header(old, &new).to_string();
        ToolPreview::Diff { path, diff: shorten_text(&diff, PREVIEW_CAP) }
    }

    fn parent(&self) -> &Path {
        self.path.absolute.parent().unwrap_or(Path::new("/"))
    }

    /// The innermost `count` directories of the file. The last one made is its parent, so names can be counted from the
    /// end of the relative path.
    fn names(&self, count: usize) -> Vec<String> {
        let relative = Path::new(&self.path.relative);
        let mut names: Vec<String> = relative.ancestors().skip(1).take(count).map(display_path).collect();
        names.reverse();
        names
    }

    fn refusal_text(&self, why: &str) -> String {
        format!("`{}` cannot be written: {why}", self.path.relative)
    }
}

fn display_path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
