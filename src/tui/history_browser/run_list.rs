//! The list of runs: as many as were fed to it, in the order of a tree, with the place of the cursor.
//!
//! Ten thousand rows are kept without their long texts; only those on screen are ever drawn. Refuses: reading them.

use std::collections::HashSet;

use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::journal::{LEFT, RunStatus, run_tree};
use synthdev_service::run_place::RunPlace;

/// Runs that are asked for at once.
pub const PAGE: usize = 200;
/// What a search gives at once.
pub const FOUND: usize = 300;

/// What lists call a run that is driven, while it waits for its user.
pub const WAITS: &str = "waits";

/// A run in the list, without its long fields.
#[derive(Clone, PartialEq, Debug)]
pub struct RunRow {
    pub id: RunId,
    pub workflow: String,
    pub status: RunStatus,
    /// A conversation that its user has left: it waits for no decision.
    pub is_left: bool,
    /// It is driven, and asks its user something.
    pub is_asking: bool,
    pub started: Timestamp,
    pub updated: Timestamp,
    pub tokens: u64,
    pub cost_usd: Option<f64>,
    /// The input, or the text around a search hit; one line.
    pub text: String,
    /// Its state, its question or its error; one line.
    pub status_text: String,
    pub origin: Option<RunId>,
    /// What failed can be tried again.
    pub can_retry: bool,
    /// A conversation that is open in another process.
    pub is_open_elsewhere: bool,
    /// It works at a server that can be asked: it is followed from here.
    pub is_at_server: bool,
    /// Whether another project has it, or a worktree.
    pub place: RunPlace,
    /// There is a snapshot from before it.
    pub can_undo: bool,
}

impl RunRow {
    /// The status in lists. `awaits_message`: a conversation of this session in which the next words are the user's.
    pub fn status_word(&self, awaits_message: bool) -> &'static str {
        let waits = self.status == RunStatus::Running && (self.is_asking || awaits_message);
        match self.is_left {
            true => LEFT,
            false if waits => WAITS,
            false => self.status.as_str(),
        }
    }
}

/// Which runs are wanted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HistoryRunFilter {
    /// Parts of the id, the workflow, the input; and texts of the run.
    pub search_words: String,
    pub status: Option<RunStatus>,
    pub workflow: Option<String>,
    /// Of this project only.
    pub this_project_only: bool,
}

/// Where a page begins: behind so many runs that started then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunListCursor {
    pub started: Timestamp,
    pub known_count: usize,
}

#[derive(Clone, Debug, Default)]
pub struct HistoryRunList {
    pub filter: HistoryRunFilter,
    /// Words are being typed.
    pub is_typing: bool,
    /// Newest first.
    rows: Vec<RunRow>,
    /// One of the newest runs works: it will change by itself.
    has_active_runs: bool,
    /// Places in `rows` with what joins each to its parent.
    order: Vec<(usize, String)>,
    pub cursor: usize,
    pub top_row: usize,
    /// Rows on screen.
    pub height: usize,
    /// There are runs behind those that are known.
    pub has_more: bool,
    /// A page is on its way: the number under which it was asked for, and with which filter.
    pub pending_page: Option<(u64, HistoryRunFilter, bool)>,
    /// A run of another project is listed.
    has_other_projects: bool,
    /// The filter that the rows are of; `None`: nothing was read yet.
    pub loaded_filter: Option<HistoryRunFilter>,
    /// Pages are read until the last run.
    pub seek_last: bool,
    /// The history has changed since the first page was read.
    pub is_stale: bool,
    pub problem: Option<String>,
}

impl HistoryRunList {
    pub fn len(&self) -> usize {
        self.order.len()
    }

    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// A run with what joins it to its parent.
    pub fn row(&self, at: usize) -> Option<(&RunRow, &str)> {
        let (place, branch) = self.order.get(at)?;
        Some((self.rows.get(*place)?, branch))
    }

    /// Runs of several projects are listed.
    pub fn has_other_projects(&self) -> bool {
        self.has_other_projects && !self.filter.this_project_only
    }

    /// What is read while there are no rows to show.
    pub fn wait_text(&self) -> Option<&'static str> {
        match &self.loaded_filter {
            _ if !self.is_empty() || self.problem.is_some() => None,
            None => Some("reading …"),
            Some(_) => self.pending_page.is_some().then_some("looking …"),
        }
    }

    /// A run that is listed will change by itself.
    pub fn has_active_runs(&self) -> bool {
        self.has_active_runs
    }

    pub fn chosen_run(&self) -> Option<&RunRow> {
        self.row(self.cursor).map(|(row, _)| row)
    }

    pub fn select_row(&mut self, at: usize) {
        self.cursor = at.min(self.len().saturating_sub(1));
        self.settle_cursor();
    }

    pub fn settle_cursor(&mut self) {
        self.top_row = in_view(self.top_row, self.cursor, self.len(), self.height);
    }

    /// The page to read next: for another filter, of newer runs, or after the end of the screen.
    pub fn next_page_cursor(&mut self) -> Option<Option<RunListCursor>> {
        if self.pending_page.is_some() {
            return None;
        }
        if self.loaded_filter.as_ref() != Some(&self.filter) || std::mem::take(&mut self.is_stale) {
            return Some(None);
        }
        let near = self.seek_last || self.cursor + 2 * self.height.max(20) >= self.len();
        let last = self.rows.last().filter(|_| near && self.has_more && self.problem.is_none())?.started;
        let known = self.rows.iter().rev().take_while(|row| row.started == last).count();
        Some(Some(RunListCursor { started: last, known_count: known }))
    }

    /// Adds a page. A page for another filter is dropped.
    pub fn add_page(&mut self, rows: Vec<RunRow>, more: bool) {
        let Some((_, filter, first)) = self.pending_page.take() else { return };
        if filter != self.filter {
            return;
        }
        self.problem = None;
        let anew = self.loaded_filter.as_ref() != Some(&filter);
        let kept = if anew { None } else { self.chosen_run().map(|row| row.id.clone()) };
        let mut moved = true;
        if anew {
            (self.rows, self.has_more) = (rows, more);
            (self.cursor, self.top_row) = (0, 0);
        } else if first {
            moved = self.refresh_newest(rows, more);
        } else {
            let known: HashSet<RunId> = self.rows.iter().map(|row| row.id.clone()).collect();
            let before = self.rows.len();
            self.rows.extend(rows.into_iter().filter(|row| !known.contains(&row.id)));
            self.has_more = more && self.rows.len() > before;
        }
        self.loaded_filter = Some(filter);
        // older ones are not read again, so that waiting for them would have no end
        self.has_other_projects = self.rows.iter().any(|row| row.place.other_project.is_some());
        self.has_active_runs = self.rows.iter().take(PAGE).any(|row| row.status == RunStatus::Running);
        if moved {
            self.arrange_tree(kept.as_ref());
        }
        if self.seek_last {
            self.select_row(self.len());
            self.seek_last = self.has_more;
        }
    }

    /// The page cannot be read.
    pub fn on_page_failed(&mut self, why: String) {
        let Some((_, filter, _)) = self.pending_page.take() else { return };
        self.seek_last = false;
        if filter == self.filter {
            self.loaded_filter = Some(filter);
            self.problem = Some(why);
        }
    }

    /// Replaces the newest runs; older ones stay as they were read. `false`: the positions are unchanged.
    fn refresh_newest(&mut self, rows: Vec<RunRow>, more: bool) -> bool {
        let all = rows.len() == self.rows.len();
        let same = |(new, old): (&RunRow, &RunRow)| new.id == old.id && new.origin == old.origin;
        if (all || more && rows.len() < self.rows.len()) && rows.iter().zip(&self.rows).all(same) {
            self.has_more = more && (all || self.has_more);
            self.rows.iter_mut().zip(rows).for_each(|(old, new)| *old = new);
            return false;
        }
        let Some(oldest) = rows.last().map(|row| row.started).filter(|_| more) else {
            (self.rows, self.has_more) = (rows, more);
            return true;
        };
        let new: HashSet<RunId> = rows.iter().map(|row| row.id.clone()).collect();
        let mut all = rows;
        let older = self.rows.drain(..).filter(|row| row.started <= oldest && !new.contains(&row.id));
        all.extend(older);
        self.has_more |= all.len() == new.len();
        self.rows = all;
        true
    }

    /// Puts the rows in the order of a tree; keeps the cursor on its run, and that row in its place on screen.
    fn arrange_tree(&mut self, kept: Option<&RunId>) {
        let below = self.cursor.saturating_sub(self.top_row);
        let tree = run_tree::order_as_tree(self.rows.iter().map(|row| (&row.id, row.origin.as_ref())));
        let branches = run_tree::tree_prefixes(&tree);
        self.order = tree.into_iter().map(|(at, _)| at).zip(branches).collect();
        let found = kept.and_then(|id| self.order.iter().position(|(at, _)| self.rows[*at].id == *id));
        if let Some(found) = found {
            (self.cursor, self.top_row) = (found, found.saturating_sub(below));
        }
        self.select_row(self.cursor);
    }
}

/// The first row on screen, so that the cursor is on it and no room is left empty.
pub fn in_view(top: usize, cursor: usize, len: usize, height: usize) -> usize {
    let height = height.max(1);
    let lowest = (cursor + 1).saturating_sub(height);
    top.clamp(lowest, cursor.max(lowest)).min(len.saturating_sub(height))
}
