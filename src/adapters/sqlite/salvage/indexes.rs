//! Runs whose own row is lost: the indexes on `runs` repeat most of it, in pages of their own. The directory in which
//! the run worked is not among it: it may have had a worktree, so it must not continue in the project's files.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::types::Value;

use super::damaged_history::DamagedHistory;
use synthdev_domain::snapshot::RunWorktree;

/// Column of `runs`, its name, and an index that begins with it.
const REPEATED: [(usize, &str, &str); 5] = [
    (1, "id", "sqlite_autoindex_runs_1"),
    (2, "workflow", "runs_workflow"),
    (5, "project", "runs_project"),
    (6, "started", "runs_started"),
    (7, "spec", "runs_spec"),
];

/// The columns of these runs, as far as their ids are known.
pub(super) fn piece_together(damaged: &DamagedHistory, missing: &BTreeSet<i64>) -> BTreeMap<i64, Vec<Value>> {
    let mut runs: BTreeMap<i64, Vec<Value>> = BTreeMap::new();
    if missing.is_empty() {
        return runs;
    }
    for (at, column, index) in REPEATED {
        damaged.scan_column(column, index, |key, value| {
            if missing.contains(&key) {
                runs.entry(key).or_insert_with(blank_columns)[at] = value;
            }
        });
    }
    runs.retain(|_, columns| matches!(&columns[1], Value::Text(id) if !id.is_empty()));
    runs
}

/// A worktree of which nothing is known, as `runs` has it.
pub(super) fn unknown_worktree() -> String {
    serde_json::to_string(&RunWorktree::unknown()).unwrap_or_default()
}

fn blank_columns() -> Vec<Value> {
    let mut columns = vec![Value::Text(String::new()); 8];
    columns[6] = Value::Integer(0);
    columns.extend([Value::Null, Value::Null, Value::Null, Value::Text(unknown_worktree()), Value::Null]);
    columns
}
