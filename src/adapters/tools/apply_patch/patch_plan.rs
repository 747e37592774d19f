//! What a patch does to the project's files, worked out before the first one is touched, and then done as one.
//! Writes come before removals, so that an end in between loses nothing.

use std::fs;

use synthdev_domain::tool::ToolPreview;

use super::super::load_file::load_if_exists;
use super::super::path_guard::{ProjectPath, ProjectPathGuard, error_reason};
use super::super::planned_change::PlannedFileChange;
use super::super::tool_context::FILE_LIMIT;
use super::hunk_match::apply_hunks;
use super::patch_text::{FileOperation, FilePatch, PatchHunk};

/// Conflicts of one answer.
const CONFLICTS: usize = 20;

pub(in super::super) struct PatchPlan {
    pub(in super::super) writes: Vec<PlannedFileChange>,
    pub(in super::super) removals: Vec<PlannedRemoval>,
}

/// A file that goes, with what is needed to bring it back.
pub(in super::super) struct PlannedRemoval {
    pub(in super::super) path: ProjectPath,
    pub(in super::super) content_before: Vec<u8>,
    /// Where its content goes.
    moved_to: Option<String>,
}

/// A file as the patch leaves it so far.
struct PatchedFile {
    path: ProjectPath,
    content_before: Option<Vec<u8>>,
    content_after: Option<Vec<u8>>,
    moved_to: Option<String>,
}

/// All paths of the patch, as it has them.
pub(super) fn touched_paths(file: &FilePatch) -> impl Iterator<Item = &str> {
    let moved = match &file.operation {
        FileOperation::Update { move_to, .. } => move_to.as_deref(),
        FileOperation::Add { .. } | FileOperation::Delete => None,
    };
    std::iter::once(file.path.as_str()).chain(moved)
}

impl PatchPlan {
    pub(super) fn new(guard: &ProjectPathGuard, patches: Vec<FilePatch>) -> Result<Self, String> {
        let mut patched = PatchedFiles { guard, files: Vec::new() };
        let conflicts: Vec<String> =
            patches.into_iter().filter_map(|patch| patched.add_patch(patch).err()).flatten().collect();
        if !conflicts.is_empty() {
            let more = conflicts.len().saturating_sub(CONFLICTS);
            let rest = if more == 0 { String::new() } else { format!("; and {more} more") };
            let shown = &conflicts[..conflicts.len().min(CONFLICTS)];
            return Err(format!("nothing was changed: {}{rest}", shown.join("; ")));
        }
        let mut plan = Self { writes: Vec::new(), removals: Vec::new() };
        for file in patched.files {
            match (file.content_before, file.content_after) {
                (content_before, Some(content_after)) => {
                    plan.writes.push(PlannedFileChange { path: file.path, content_before, content_after });
                }
                (Some(content_before), None) => {
                    plan.removals.push(PlannedRemoval {
                        path: file.path,
                        content_before,
                        moved_to: file.moved_to,
                    });
                }
                (None, None) => {}
            }
        }
        plan.writes.retain(|write| !write.is_unchanged());
        Ok(plan)
    }

    /// Whether all files may be written, as far as that can be seen without trying.
    pub(super) fn check_permitted(&self) -> Result<(), String> {
        self.writes.iter().try_for_each(PlannedFileChange::check_permitted)
    }

    /// Does all of it, or nothing.
    pub(super) fn apply_changes(&self, guard: &ProjectPathGuard) -> Result<(), String> {
        self.check_permitted()?;
        let mut done = AppliedChanges { guard, writes: Vec::new(), removals: Vec::new() };
        for write in &self.writes {
            match write.apply_change(guard) {
                Ok(_) => done.writes.push(write),
                Err(why) => return Err(done.take_back(&why)),
            }
        }
        for removal in &self.removals {
            match removal.remove_file(guard) {
                Ok(()) => done.removals.push(removal),
                Err(why) => return Err(done.take_back(&why)),
            }
        }
        Ok(())
    }

    /// `updated src/a.rs`, one for each file.
    pub(super) fn change_lines(&self) -> Vec<String> {
        let moved_from =
            |path: &str| self.removals.iter().find(|gone| gone.moved_to.as_deref() == Some(path));
        let writes = self.writes.iter().map(|write| {
            let path = &write.path.relative;
            match (&write.content_before, moved_from(path)) {
                (_, Some(old)) => format!("moved {} to {path}", old.path.relative),
                (None, None) => format!("created {path}"),
                (Some(_), None) => format!("updated {path}"),
            }
        });
        let gone = self.removals.iter().filter(|gone| gone.moved_to.is_none());
        writes.chain(gone.map(|gone| format!("deleted {}", gone.path.relative))).collect()
    }

    pub(super) fn changed_paths(&self) -> Vec<String> {
        let writes = self.writes.iter().map(|write| write.path.relative.clone());
        writes.chain(self.removals.iter().map(|gone| gone.path.relative.clone())).collect()
    }

    /// The diffs of all files, one below the other.
    pub(in super::super) fn to_preview(&self) -> ToolPreview {
        let writes = self.writes.iter().map(PlannedFileChange::to_preview);
        let removals = self.removals.iter().map(PlannedRemoval::to_preview);
        let shown: Vec<String> = writes
            .chain(removals)
            .map(|preview| match preview {
                ToolPreview::Diff { diff, .. } => diff,
                ToolPreview::Text { text } => format!("{text}\n"),
                ToolPreview::Command { command, .. } => command,
            })
            .collect();
        ToolPreview::Diff { path: self.changed_paths().join(", "), diff: shown.concat() }
    }
}

impl PlannedRemoval {
    fn remove_file(&self, guard: &ProjectPathGuard) -> Result<(), String> {
        let removed = guard.hold_parent(&self.path).and_then(|parent| fs::remove_file(parent.entry()));
        removed
            .map_err(|error| format!("`{}` cannot be deleted: {}", self.path.relative, error_reason(&error)))
    }

    fn to_preview(&self) -> ToolPreview {
        if let Some(to) = &self.moved_to {
            return ToolPreview::Text { text: format!("{} moves to {to}", self.path.relative) };
        }
        ToolPreview::Text {
            text: format!("{} is deleted ({} bytes)", self.path.relative, self.content_before.len()),
        }
    }
}

struct PatchedFiles<'a> {
    guard: &'a ProjectPathGuard,
    files: Vec<PatchedFile>,
}

impl PatchedFiles<'_> {
    fn add_patch(&mut self, patch: FilePatch) -> Result<(), Vec<String>> {
        let name = patch.path.clone();
        let blame = |why: String| vec![format!("`{name}`: {why}")];
        let at = self.find_or_load(&patch.path).map_err(blame)?;
        let present = self.files[at].content_after.is_some();
        match patch.operation {
            FileOperation::Add { .. } if present => {
                Err(blame("it exists already; use `*** Update File: `".to_owned()))
            }
            FileOperation::Add { content } => self.set_content(at, content.into_bytes()).map_err(blame),
            FileOperation::Delete | FileOperation::Update { .. } if !present => {
                Err(blame("it does not exist".to_owned()))
            }
            FileOperation::Delete => {
                self.files[at].content_after = None;
                Ok(())
            }
            FileOperation::Update { move_to, hunks } => {
                let content =
                    patched_content(self.files[at].content_after.as_deref().unwrap_or_default(), &hunks)
                        .map_err(|conflicts| conflicts.into_iter().flat_map(blame).collect::<Vec<_>>())?;
                match move_to {
                    None => self.set_content(at, content).map_err(blame),
                    Some(to) => self.move_file(at, &to, content).map_err(blame),
                }
            }
        }
    }

    fn find_or_load(&mut self, path: &str) -> Result<usize, String> {
        let spot = self.guard.resolve_writable(path).map_err(|error| error.to_string())?;
        if let Some(at) = self.files.iter().position(|file| file.path.relative == spot.relative) {
            return Ok(at);
        }
        let content = load_if_exists(self.guard, &spot)?;
        let file = PatchedFile {
            path: spot,
            content_before: content.clone(),
            content_after: content,
            moved_to: None,
        };
        self.files.push(file);
        Ok(self.files.len() - 1)
    }

    fn set_content(&mut self, at: usize, content: Vec<u8>) -> Result<(), String> {
        if content.len() as u64 > FILE_LIMIT {
            return Err(format!("it would grow over the limit of {FILE_LIMIT} bytes (10 MiB)"));
        }
        self.files[at].content_after = Some(content);
        Ok(())
    }

    fn move_file(&mut self, from: usize, to: &str, content: Vec<u8>) -> Result<(), String> {
        let target = self.find_or_load(to)?;
        if self.files[target].content_after.is_some() {
            return Err(format!("`{to}` exists already, so nothing can be moved there"));
        }
        self.set_content(target, content)?;
        self.files[from].content_after = None;
        self.files[from].moved_to = Some(self.files[target].path.relative.clone());
        Ok(())
    }
}

fn patched_content(before: &[u8], hunks: &[PatchHunk]) -> Result<Vec<u8>, Vec<String>> {
    if hunks.is_empty() {
        return Ok(before.to_vec());
    }
    match std::str::from_utf8(before) {
        Ok(text) => apply_hunks(text, hunks).map(String::into_bytes),
        Err(_) => Err(vec!["it is not UTF-8 text; use edit_file with an encoding".to_owned()]),
    }
}

/// What was done of a patch that could not be finished.
struct AppliedChanges<'a> {
    guard: &'a ProjectPathGuard,
    writes: Vec<&'a PlannedFileChange>,
    removals: Vec<&'a PlannedRemoval>,
}

impl AppliedChanges<'_> {
    /// The message, once everything is as it was.
    fn take_back(self, why: &str) -> String {
        let removals = self.removals.iter().map(|gone| PlannedFileChange {
            path: gone.path.clone(),
            content_before: None,
            content_after: gone.content_before.clone(),
        });
        let mut stuck: Vec<String> =
            removals.filter_map(|back| back.apply_change(self.guard).err()).collect();
        for write in self.writes {
            stuck.extend(write.revert_change(self.guard).err());
        }
        if stuck.is_empty() {
            return format!("nothing was changed: {why}");
        }
        format!("{why}; what was changed before could not be taken back: {}", stuck.join("; "))
    }
}
