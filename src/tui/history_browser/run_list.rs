//! The list of runs: as many as were fed to it, in the order of a tree, with the place of the cursor.
//!
//! Ten thousand rows are kept without their long texts; only those on screen are ever drawn. Refuses: reading them.

use std::collections::HashSet;

use super::in_view;
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::journal::{RunStatus, run_tree};

/// Runs that are asked for at once.
pub const PAGE: usize = 200;
/// What a search gives at once.
pub const FOUND: usize = 300;

/// A run in the list, without what is long.
#[derive(Clone, PartialEq, Debug)]
pub struct RunRow {
    pub id: RunId,
    pub workflow: String,
    pub status: RunStatus,
    pub started: Timestamp,
    pub updated: Timestamp,
    pub tokens: u64,
    pub cost_usd: Option<f64>,
    /// The input, or where the words of a search stand; one line.
    pub text: String,
    /// Where it stands, what it waits for, how it failed; one line.
    pub stands: String,
    pub origin: Option<RunId>,
    /// What failed can be tried again.
    pub again: bool,
    /// Its project, if that is another one.
    pub elsewhere: Option<String>,
    /// Where its worktree is.
    pub worktree: Option<String>,
    /// There is a snapshot from before it.
    pub undoable: bool,
}

/// Which runs are wanted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HistoryRunFilter {
    /// Parts of the id, the workflow, the input; and what was said and done.
    pub words: String,
    pub status: Option<RunStatus>,
    pub workflow: Option<String>,
    /// Of this project only.
    pub here: bool,
}

/// Where a page begins: behind so many runs that started then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunListCursor {
    pub started: Timestamp,
    pub known: usize,
}

#[derive(Clone, Debug, Default)]
pub struct HistoryRunList {
    pub filter: HistoryRunFilter,
    /// Words are being typed.
    pub typing: bool,
    /// Newest first.
    rows: Vec<RunRow>,
    /// One of the newest runs works: it will change by itself.
    works: bool,
    /// Places in `rows` with what joins each to its parent.
    order: Vec<(usize, String)>,
    pub cursor: usize,
    pub top: usize,
    /// Rows on screen.
    pub height: usize,
    /// There are runs behind those that are known.
    pub more: bool,
    /// A page is on its way: the number under which it was asked for, and with which filter.
    pub asked: Option<(u64, HistoryRunFilter, bool)>,
    /// The filter that the rows are of; `None`: nothing was read yet.
    pub read: Option<HistoryRunFilter>,
    /// The last run is wanted, however many pages away.
    pub to_end: bool,
    /// Somebody wrote since the first page was read.
    pub stale: bool,
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

    /// A run that is listed will change by itself.
    pub fn works(&self) -> bool {
        self.works
    }

    pub fn chosen(&self) -> Option<&RunRow> {
        self.row(self.cursor).map(|(row, _)| row)
    }

    pub fn go_to(&mut self, at: usize) {
        self.cursor = at.min(self.len().saturating_sub(1));
        self.settle();
    }

    pub fn settle(&mut self) {
        self.top = in_view(self.top, self.cursor, self.len(), self.height);
    }

    /// What is to be read next: another filter, what came meanwhile, or what is behind the end of the screen.
    pub fn next_page_cursor(&mut self) -> Option<Option<RunListCursor>> {
        if self.asked.is_some() {
            return None;
        }
        if self.read.as_ref() != Some(&self.filter) || std::mem::take(&mut self.stale) {
            return Some(None);
        }
        let near = self.to_end || self.cursor + 2 * self.height.max(20) >= self.len();
        let last = self.rows.last().filter(|_| near && self.more && self.problem.is_none())?.started;
        let known = self.rows.iter().rev().take_while(|row| row.started == last).count();
        Some(Some(RunListCursor { started: last, known }))
    }

    /// A page came. One that was asked for with another filter is nobody's.
    pub fn fed(&mut self, rows: Vec<RunRow>, more: bool) {
        let Some((_, filter, first)) = self.asked.take() else { return };
        if filter != self.filter {
            return;
        }
        self.problem = None;
        let anew = self.read.as_ref() != Some(&filter);
        let kept = if anew { None } else { self.chosen().map(|row| row.id.clone()) };
        let mut moved = true;
        if anew {
            (self.rows, self.more) = (rows, more);
            (self.cursor, self.top) = (0, 0);
        } else if first {
            moved = self.renewed(rows, more);
        } else {
            let known: HashSet<RunId> = self.rows.iter().map(|row| row.id.clone()).collect();
            let before = self.rows.len();
            self.rows.extend(rows.into_iter().filter(|row| !known.contains(&row.id)));
            self.more = more && self.rows.len() > before;
        }
        self.read = Some(filter);
        // older ones are not read again, so that waiting for them would have no end
        self.works = self.rows.iter().take(PAGE).any(|row| row.status == RunStatus::Running);
        if moved {
            self.arrange(kept.as_ref());
        }
        if self.to_end {
            self.go_to(self.len());
            self.to_end = self.more;
        }
    }

    /// The page cannot be read.
    pub fn failed(&mut self, why: String) {
        let Some((_, filter, _)) = self.asked.take() else { return };
        self.to_end = false;
        if filter == self.filter {
            self.read = Some(filter);
            self.problem = Some(why);
        }
    }

    /// The newest runs once more; older ones stay as they were read. `false`: all stand where they stood.
    fn renewed(&mut self, rows: Vec<RunRow>, more: bool) -> bool {
        let all = rows.len() == self.rows.len();
        let same = |(new, old): (&RunRow, &RunRow)| new.id == old.id && new.origin == old.origin;
        if (all || more && rows.len() < self.rows.len()) && rows.iter().zip(&self.rows).all(same) {
            self.more = more && (all || self.more);
            self.rows.iter_mut().zip(rows).for_each(|(old, new)| *old = new);
            return false;
        }
        let Some(oldest) = rows.last().map(|row| row.started).filter(|_| more) else {
            (self.rows, self.more) = (rows, more);
            return true;
        };
        let new: HashSet<RunId> = rows.iter().map(|row| row.id.clone()).collect();
        let mut all = rows;
        let older = self.rows.drain(..).filter(|row| row.started <= oldest && !new.contains(&row.id));
        all.extend(older);
        self.more |= all.len() == new.len();
        self.rows = all;
        true
    }

    /// Puts the rows in the order of a tree; the cursor stays on its run, and that where it was on screen.
    fn arrange(&mut self, kept: Option<&RunId>) {
        let below = self.cursor.saturating_sub(self.top);
        let tree = run_tree::order_as_tree(self.rows.iter().map(|row| (&row.id, row.origin.as_ref())));
        let branches = run_tree::branches(&tree);
        self.order = tree.into_iter().map(|(at, _)| at).zip(branches).collect();
        let found = kept.and_then(|id| self.order.iter().position(|(at, _)| self.rows[*at].id == *id));
        if let Some(found) = found {
            (self.cursor, self.top) = (found, found.saturating_sub(below));
        }
        self.go_to(self.cursor);
    }
}
