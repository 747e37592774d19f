//! Which rows of our tables stand where in a damaged file. Tables are told by the shape of their rows, so neither
//! the tables' names nor the upper parts of their trees are needed.

use std::collections::{BTreeMap, HashMap};

use super::pages::Pages;
use super::record::{Field, cell, shape};
use crate::domain::journal::{RowKind, RunStatus};

/// Where a cell stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    page: u32,
    cell: u16,
}

/// Everything of ours that can be read. Long texts stay in the file until they are written.
#[derive(Default)]
pub(super) struct Found {
    /// By key: the columns of `runs`.
    pub(super) runs: BTreeMap<i64, Vec<Field>>,
    /// By key: the columns of `progress` as version 2 has them.
    pub(super) progress: BTreeMap<i64, Vec<Field>>,
    /// By key and number.
    pub(super) rows: BTreeMap<(i64, i64), Spot>,
    pub(super) blobs: HashMap<String, Spot>,
    pub(super) tokens: Vec<Vec<Field>>,
}

impl Found {
    pub(super) fn look(pages: &Pages) -> Self {
        let mut found = Self::default();
        for number in pages.with_rows() {
            let Some(page) = pages.page(number) else { continue };
            let Some((_, cells)) = shape(&page) else { continue };
            for at in 0..cells {
                if let Some((row, fields)) = cell(pages, &page, at) {
                    found.take(row, fields, Spot { page: number, cell: at });
                }
            }
        }
        found
    }

    fn take(&mut self, row: i64, fields: Vec<Field>, spot: Spot) {
        use Field::{Blob, Integer, Null, Text};
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
                self.newer_progress(row, of_version_1(&fields));
            }
            [Text(hash), Integer(_), Integer(_), Text(_), ..] if fields.len() == 10 && hash.len() == 64 => {
                self.tokens.push(fields);
            }
            _ => {}
        }
    }

    /// An older form of the row may be left in a page that nobody uses.
    fn newer_progress(&mut self, key: i64, fields: Vec<Field>) {
        let time = |fields: &Vec<Field>| match fields[UPDATED] {
            Field::Integer(at) => at,
            _ => i64::MIN,
        };
        let known = self.progress.get(&key).map_or(i64::MIN, time);
        if time(&fields) >= known {
            self.progress.insert(key, fields);
        }
    }
}

/// The columns of a cell that was seen before.
pub(super) fn read(pages: &Pages, spot: Spot) -> Option<Vec<Field>> {
    cell(pages, &pages.page(spot.page)?, spot.cell).map(|(_, fields)| fields)
}

/// Column of `progress`, as version 2 has it.
pub(super) const UPDATED: usize = 5;

/// run, status, path, prompt, completion, cached, reasoning, cost_usd, snapshot, output, error, updated, pid, process
/// in the order of version 2.
fn of_version_1(old: &[Field]) -> Vec<Field> {
    let columns = [1, 12, 13, 11, 3, 4, 5, 6, 7, 8, 2];
    let mut fields = vec![Field::Null, Field::Integer(0)];
    fields.extend(columns.map(|at| old[at].clone()));
    fields.extend([Field::Null, old[10].clone(), old[9].clone()]);
    fields
}

fn is_kind(text: &str) -> bool {
    [RowKind::Intent, RowKind::Begun, RowKind::Input].iter().any(|kind| kind.as_str() == text)
}

fn is_status(text: &str) -> bool {
    RunStatus::ALL.iter().any(|status| status.as_str() == text)
}
