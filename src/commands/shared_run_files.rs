//! What one session of a worker shares of the files of its run with other hosts.
//!
//! The files of a moment are in the shared repository before the rows that speak of them are journaled.

use std::sync::Arc;

use synthdev_bootstrap::wiring::{GitWorktrees, PushedFiles};
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::{JournalRow, JournalRowKind};
use synthdev_domain::snapshot::RunWorktree;
use synthdev_ports::run_store::{RunStore, StoreError};
use synthdev_restate::journaled_step::SharedFiles;

/// The worktree in which a run works here, if it has one.
pub(crate) fn worktree_of(store: &dyn RunStore, run: &RunId) -> Option<RunWorktree> {
    let known = store.find(run.as_str()).ok().filter(|known| known.id == *run);
    known.and_then(|known| known.worktree)
}

/// What one session shares of the files of its run.
pub(crate) struct RunFilesSharing {
    worktrees: Arc<GitWorktrees>,
    store: Arc<dyn RunStore>,
    remote: String,
    run: RunId,
    /// As the journal has it.
    shared: Option<SharedFiles>,
    /// What this session pushed last.
    last: Option<PushedFiles>,
    /// What the journal had before the last ones: no host goes on from them any more.
    before: Option<String>,
}

impl RunFilesSharing {
    /// `shared`: where they were shared last, here or at another host.
    pub(crate) fn new(
        worktrees: Arc<GitWorktrees>,
        store: Arc<dyn RunStore>,
        remote: String,
        run: RunId,
        shared: Option<SharedFiles>,
    ) -> Self {
        Self { worktrees, store, remote, run, shared, last: None, before: None }
    }

    /// Called before these rows are journaled; where the files are, if they may have changed and did.
    ///
    /// # Errors
    /// The repository does not take them.
    pub(crate) fn share_files(&mut self, rows: &[JournalRow]) -> Result<Option<SharedFiles>, StoreError> {
        if !rows.iter().any(may_change_files) {
            return Ok(None);
        }
        let worktree = worktree_of(&*self.store, &self.run);
        let (last, before) = (self.last.as_ref(), self.before.as_deref());
        let pushed = self.worktrees.push_files(&self.run, worktree.as_ref(), &self.remote, last, before);
        let pushed = pushed.map_err(|error| StoreError { message: error.message, hint: error.hint })?;
        if self.last.as_ref() == Some(&pushed) {
            return Ok(None);
        }
        let begins = rows.iter().any(|row| row.body.starts_with(STARTED));
        let (first, earlier) = match self.shared.take() {
            Some(SharedFiles { first, present }) => (first, Some(present)),
            None => (begins.then(|| pushed.commit.clone()), None),
        };
        self.before = earlier.filter(|earlier| first.as_ref() != Some(earlier) && *earlier != pushed.commit);
        let shared = SharedFiles { first, present: pushed.commit.clone() };
        (self.shared, self.last) = (Some(shared.clone()), Some(pushed));
        Ok(Some(shared))
    }
}

const STARTED: &str = r#"{"input":"started""#;

/// Whether the row says that the run began, what a tool did, or what a snapshot found.
fn may_change_files(row: &JournalRow) -> bool {
    const WORDS: [&str; 3] = [STARTED, r#"{"input":"tool_done""#, r#"{"input":"snapshot_taken""#];
    row.kind == JournalRowKind::Input && WORDS.iter().any(|word| row.body.starts_with(word))
}
