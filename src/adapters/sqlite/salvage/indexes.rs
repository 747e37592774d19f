//! Runs whose own row is lost: the indexes on `runs` repeat most of it, in pages of their own. Not where it worked: it
//! may have had a worktree, so it must not go on in the project's files.

use std::collections::{BTreeMap, BTreeSet};

use super::pages::DatabasePages;
use super::record_format::{SqliteColumnValue, page_kind, parse_cell};
use super::salvaged_rows::SalvagedRows;
use super::wal::read_u32;
use synthdev_domain::snapshot::RunWorktree;

/// Column of `runs`, the index that repeats it, and the place in there. The key is the index's last column.
const REPEATED: [(usize, &str, usize); 5] = [
    (1, "sqlite_autoindex_runs_1", 0),
    (2, "runs_workflow", 0),
    (5, "runs_project", 0),
    (6, "runs_started", 0),
    (7, "runs_spec", 0),
];

/// Puts them together as far as their ids are known; returns their keys.
pub(super) fn restore_indexes(pages: &DatabasePages, found: &mut SalvagedRows) -> Vec<i64> {
    let rows = found.rows.keys().map(|(key, _)| *key);
    let mut missing: BTreeSet<i64> = rows.chain(found.progress.keys().copied()).collect();
    missing.retain(|key| !found.runs.contains_key(key));
    if missing.is_empty() {
        return Vec::new();
    }
    let mut runs: BTreeMap<i64, Vec<SqliteColumnValue>> = BTreeMap::new();
    for (column, index, place) in REPEATED {
        let Some(root) = found.roots.get(index) else { continue };
        for entry in index_entries(pages, *root) {
            let Some(SqliteColumnValue::Integer(key)) = entry.last() else { continue };
            if missing.contains(key) && entry.len() > 1 {
                runs.entry(*key).or_insert_with(blank_columns)[column] = entry[place].clone();
            }
        }
    }
    runs.retain(|_, fields| matches!(&fields[1], SqliteColumnValue::Text(id) if !id.is_empty()));
    let keys = runs.keys().copied().collect();
    found.runs.extend(runs);
    keys
}

/// A worktree of which nothing is known, as `runs` has it.
pub(super) fn unknown_worktree() -> String {
    serde_json::to_string(&RunWorktree::unknown()).unwrap_or_default()
}

fn blank_columns() -> Vec<SqliteColumnValue> {
    let mut fields = vec![SqliteColumnValue::Text(String::new()); 8];
    fields[0] = SqliteColumnValue::Null;
    fields[6] = SqliteColumnValue::Integer(0);
    fields.extend([
        SqliteColumnValue::Null,
        SqliteColumnValue::Null,
        SqliteColumnValue::Null,
        SqliteColumnValue::Text(unknown_worktree()),
    ]);
    fields
}

/// All entries of an index below a page, without those of pages that cannot be read.
fn index_entries(pages: &DatabasePages, root: u32) -> Vec<Vec<SqliteColumnValue>> {
    let (mut open, mut seen, mut entries) = (vec![root], BTreeSet::new(), Vec::new());
    while let Some(at) = open.pop() {
        if at < 2 || at > pages.count || !seen.insert(at) {
            continue;
        }
        let Some(page) = pages.read_page(at) else { continue };
        let Some((_, cells)) = page_kind(&page) else { continue };
        entries.extend((0..cells).filter_map(|at| parse_cell(pages, &page, at)).map(|(_, fields)| fields));
        if page[0] == 0x02 {
            open.push(read_u32(&page, 8));
            let pointers = page[12..12 + 2 * usize::from(cells)].chunks_exact(2);
            open.extend(pointers.map(|at| read_u32(&page, usize::from(u16::from_be_bytes([at[0], at[1]])))));
        }
    }
    entries
}
