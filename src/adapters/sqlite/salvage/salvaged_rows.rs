//! Where the rows of our tables are in a damaged file. The shape of its rows identifies a table, so neither the tables'
//! names nor the upper parts of their trees are needed.

use std::collections::{BTreeMap, HashMap};

use super::pages::DatabasePages;
use super::record_format::{SqliteColumnValue, page_kind, parse_cell};
use synthdev_domain::journal::{JournalRowKind, RunStatus};

/// The location of a cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellLocation {
    page: u32,
    cell: u16,
}

/// Everything of ours that can be read. Long texts stay in the file until they are written.
#[derive(Default)]
pub(super) struct SalvagedRows {
    /// By key: the columns of `runs`.
    pub(super) runs: BTreeMap<i64, Vec<SqliteColumnValue>>,
    /// By key: the columns of `progress` as version 2 has them.
    pub(super) progress: BTreeMap<i64, Vec<SqliteColumnValue>>,
    /// By key and number.
    pub(super) rows: BTreeMap<(i64, i64), CellLocation>,
    pub(super) blobs: HashMap<String, CellLocation>,
    pub(super) tokens: Vec<Vec<SqliteColumnValue>>,
    /// Where the trees of indexes begin, by their names.
    pub(super) roots: HashMap<String, u32>,
}

impl SalvagedRows {
    pub(super) fn scan_pages(pages: &DatabasePages) -> Self {
        let mut found = Self::default();
        for number in pages.with_rows() {
            let Some(page) = pages.read_page(number) else { continue };
            let Some((_, cells)) = page_kind(&page) else { continue };
            for at in 0..cells {
                if let Some((row, fields)) = parse_cell(pages, &page, at) {
                    found.add_row(row, fields, CellLocation { page: number, cell: at });
                }
            }
        }
        found
    }

    fn add_row(&mut self, row: i64, fields: Vec<SqliteColumnValue>, spot: CellLocation) {
        use SqliteColumnValue::{Blob, Integer, Null, Text};
        match fields.as_slice() {
            [Integer(run), Integer(seq), Text(kind), ..]
                if matches!(fields.len(), 8 | 9) && is_kind(kind) && *seq > 0 =>
            {
                self.rows.insert((*run, *seq), spot);
            }
            [Text(hash), Blob(_)] if hash.len() == 64 => {
                self.blobs.insert(hash.clone(), spot);
            }
            [Null, Text(id), Text(_), Text(_), Text(_), Text(_), Integer(_), Text(_), ..]
                if matches!(fields.len(), 8 | 12) && !id.is_empty() =>
            {
                self.runs.insert(row, fields);
            }
            [Null, Integer(_), Text(status), ..] if fields.len() == 16 && is_status(status) => {
                self.newer_progress(row, fields);
            }
            [Null, Text(status), Text(_), ..] if fields.len() == 14 && is_status(status) => {
                self.newer_progress(row, upgrade_version_1(&fields));
            }
            [Text(hash), Integer(_), Integer(_), Text(_), ..] if fields.len() == 10 && hash.len() == 64 => {
                self.tokens.push(fields);
            }
            [Text(kind), Text(name), Text(_), Integer(root), _] if kind == "index" => {
                self.roots.extend(u32::try_from(*root).map(|root| (name.clone(), root)));
            }
            _ => {}
        }
    }

    /// An unused page may have an older version of the row.
    fn newer_progress(&mut self, key: i64, fields: Vec<SqliteColumnValue>) {
        let time = |fields: &Vec<SqliteColumnValue>| match fields[UPDATED] {
            SqliteColumnValue::Integer(at) => at,
            _ => i64::MIN,
        };
        let known = self.progress.get(&key).map_or(i64::MIN, time);
        if time(&fields) >= known {
            self.progress.insert(key, fields);
        }
    }
}

/// The columns of a cell that was seen before.
pub(super) fn read_cell(pages: &DatabasePages, spot: CellLocation) -> Option<Vec<SqliteColumnValue>> {
    parse_cell(pages, &pages.read_page(spot.page)?, spot.cell).map(|(_, fields)| fields)
}

/// Column of `progress`, as version 2 has it.
pub(super) const UPDATED: usize = 5;

/// run, status, path, prompt, completion, cached, reasoning, cost_usd, snapshot, output, error, updated, pid, process
/// in the order of version 2.
fn upgrade_version_1(old: &[SqliteColumnValue]) -> Vec<SqliteColumnValue> {
    let columns = [1, 12, 13, 11, 3, 4, 5, 6, 7, 8, 2];
    let mut fields = vec![SqliteColumnValue::Null, SqliteColumnValue::Integer(0)];
    fields.extend(columns.map(|at| old[at].clone()));
    fields.extend([SqliteColumnValue::Null, old[10].clone(), old[9].clone()]);
    fields
}

fn is_kind(text: &str) -> bool {
    [JournalRowKind::Intent, JournalRowKind::Begun, JournalRowKind::Input]
        .iter()
        .any(|kind| kind.as_str() == text)
}

fn is_status(text: &str) -> bool {
    RunStatus::ALL.iter().any(|status| status.as_str() == text)
}
