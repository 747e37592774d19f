//! A change to one file, worked out but not yet made: shown to a person, then carried out in one step.
//! Refuses to write a file that a person made read-only.

use std::fs;
use std::path::Path;
use std::time::Duration;

use similar::TextDiff;

use crate::open_beneath::remove_made;
use synthdev_domain::tool::ToolPreview;

use super::atomic_replace;
use super::path_guard::{ProjectPath, ProjectPathGuard, reason};
use super::truncated_output::shorten;

/// Most bytes of a diff that a dialog is asked to show.
const PREVIEW_CAP: usize = 256 * 1024;

pub(super) struct PlannedFileChange {
    pub(super) spot: ProjectPath,
    /// `None`: the file is new.
    pub(super) before: Option<Vec<u8>>,
    pub(super) after: Vec<u8>,
}

impl PlannedFileChange {
    /// Carries the change out; answers with the directories it had to make. Nothing is half done on failure.
    pub(super) fn make(&self, fence: &ProjectPathGuard) -> Result<Vec<String>, String> {
        if self.is_nothing() {
            return Ok(Vec::new());
        }
        self.permitted()?;
        let (parent, made) =
            fence.hold_to_write(&self.spot).map_err(|error| self.refusal(&reason(&error)))?;
        if let Err(error) = atomic_replace::replace(&parent.entry(), &self.after) {
            remove_made(&made);
            return Err(self.refusal(&reason(&error)));
        }
        Ok(self.names(made.len()))
    }

    /// Whether the file may be written at all, as far as that can be seen without trying.
    pub(super) fn permitted(&self) -> Result<(), String> {
        let read_only = |found: fs::Metadata| found.permissions().readonly();
        if !self.is_nothing() && fs::metadata(&self.spot.absolute).is_ok_and(read_only) {
            return Err(self.refusal("it is read-only"));
        }
        Ok(())
    }

    /// The directories that have to be made.
    pub(super) fn missing_directories(&self) -> Vec<String> {
        self.names(atomic_replace::missing_directories(self.parent()).len())
    }

    /// The paths that differ afterwards.
    pub(super) fn changed(&self) -> Vec<String> {
        if self.is_nothing() { Vec::new() } else { vec![self.spot.relative.clone()] }
    }

    /// The file stays as it is.
    pub(super) fn is_nothing(&self) -> bool {
        self.before.as_ref() == Some(&self.after)
    }

    pub(super) fn preview(&self) -> ToolPreview {
        let path = self.spot.relative.clone();
        let before = std::str::from_utf8(self.before.as_deref().unwrap_or_default());
        let (Ok(before), Ok(after)) = (before, std::str::from_utf8(&self.after)) else {
            let text = format!("{path}: {} bytes that are not text", self.after.len());
            return ToolPreview::Text { text };
        };
        if self.before.is_some() && before == after {
            return ToolPreview::Text { text: format!("{path} would stay as it is") };
        }
        let (old, new) = (format!("a/{path}"), format!("b/{path}"));
        let old = if self.before.is_some() { old.as_str() } else { "/dev/null" };
        let diff = TextDiff::configure().timeout(Duration::from_millis(500)).diff_lines(before, after);
        let diff = diff.unified_diff().context_radius(3).header(old, &new).to_string();
        ToolPreview::Diff { path, diff: shorten(&diff, PREVIEW_CAP) }
    }

    fn parent(&self) -> &Path {
        self.spot.absolute.parent().unwrap_or(Path::new("/"))
    }

    /// The innermost `count` directories of the file. The last one made is its parent, so names can be counted from the
    /// end of the relative path.
    fn names(&self, count: usize) -> Vec<String> {
        let relative = Path::new(&self.spot.relative);
        let mut names: Vec<String> = relative.ancestors().skip(1).take(count).map(shown).collect();
        names.reverse();
        names
    }

    fn refusal(&self, why: &str) -> String {
        format!("`{}` cannot be written: {why}", self.spot.relative)
    }
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
