//! Bodies of rows that are too long for a step of the server: their text is journaled before the rows, in parts, each once.
//!
//! The server takes messages of 32 MiB, and reads the whole journal of a run when it calls a host. A part is named by the
//! hash of its text: what a run says again is not stored again.

use std::collections::{HashMap, HashSet};

use sha2::{Digest, Sha256};

use super::journaled_step::{JournaledStep, LongBody, StepRefusal};
use synthdev_domain::journal::JournalRow;

/// Longer bodies are journaled by the hashes of their parts, as the store of the host does.
const INLINE_BYTES: usize = 128 * 1024;
/// Bodies of one step that are not in parts, together; short ones are never in parts.
const INLINE_BYTES_OF_STEP: usize = 4 * 1024 * 1024;
const SHORT_BYTES: usize = 1024;
/// A text may become twice as long on the wire.
const PART_BYTES: usize = 4 * 1024 * 1024;

/// What comes before the rows, the rows without their long bodies, and which these are.
pub(crate) struct SplitRows {
    pub(crate) parts: Vec<JournaledStep>,
    pub(crate) rows: Vec<JournalRow>,
    pub(crate) long_bodies: Vec<LongBody>,
}

/// `known`: hashes of the parts that the server has; those that are new come to it.
pub(crate) fn split_rows(rows: &[JournalRow], known: &mut HashSet<String>, session: &str) -> SplitRows {
    let mut split =
        SplitRows { parts: Vec::new(), rows: Vec::with_capacity(rows.len()), long_bodies: Vec::new() };
    let mut left = INLINE_BYTES_OF_STEP;
    for (row, original) in rows.iter().enumerate() {
        let length = original.body.len();
        if length <= SHORT_BYTES || length <= INLINE_BYTES.min(left) {
            left = left.saturating_sub(length);
            split.rows.push(original.clone());
            continue;
        }
        let mut parts = Vec::new();
        for text in text_parts(&original.body) {
            let hash: String =
                Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
            if known.insert(hash.clone()) {
                split.parts.push(JournaledStep::Part {
                    hash: hash.clone(),
                    text: text.to_owned(),
                    session: session.to_owned(),
                });
            }
            parts.push(hash);
        }
        split.long_bodies.push(LongBody { row, parts });
        let JournalRow { kind, at, call, digest, .. } = original;
        split.rows.push(JournalRow { digest: *digest, ..JournalRow::new(*kind, *at, *call, "") });
    }
    split
}

fn text_parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (part, later) = rest.split_at(rest.floor_char_boundary(PART_BYTES));
        rest = later;
        (!part.is_empty()).then_some(part)
    })
}

/// The rows as they were.
pub(crate) fn join_rows(
    rows: &[JournalRow],
    long_bodies: &[LongBody],
    parts: &HashMap<String, String>,
) -> Result<Vec<JournalRow>, StepRefusal> {
    let mut joined = rows.to_vec();
    for LongBody { row: number, parts: hashes } in long_bodies {
        let row = joined.get_mut(*number).ok_or_else(|| {
            damaged_journal(&format!("it has parts of the body of row {number}, and {} rows", rows.len()))
        })?;
        row.body.clear();
        for hash in hashes {
            let part = parts.get(hash);
            row.body.push_str(part.ok_or_else(|| {
                damaged_journal(&format!("part {hash} of the body of row {number} is missing before it"))
            })?);
        }
    }
    Ok(joined)
}

fn damaged_journal(what: &str) -> StepRefusal {
    StepRefusal {
        message: format!("a step in the server's journal of this run cannot be read: {what}"),
        hint: Some(
            "`synthdev runs show RUN` at its last host shows what happened; end the run at the server"
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use synthdev_domain::ids::{CallId, Timestamp};
    use synthdev_domain::journal::JournalRowKind;

    fn row(body: String) -> JournalRow {
        let row = JournalRow::new(JournalRowKind::Input, Timestamp(7), Some(CallId(3)), body);
        JournalRow { digest: Some(9), ..row }
    }

    #[test]
    fn long_bodies_come_back_and_are_stored_once() {
        let long = "ä".repeat(20 * 1024 * 1024);
        let rows = vec![row("short".to_owned()), row(long.clone()), row("x".repeat(INLINE_BYTES + 1))];
        let mut known = HashSet::new();
        let split = split_rows(&rows, &mut known, "one");
        // forty megabytes of one letter: ten parts with one text
        assert_eq!((split.parts.len(), split.long_bodies.len()), (2, 2));
        assert_eq!(split.rows.iter().map(|row| row.body.len()).collect::<Vec<_>>(), [5, 0, 0]);
        assert!(split.parts.iter().all(|part| serde_json::to_string(part).unwrap().len() < 32 * 1024 * 1024));
        let parts: HashMap<String, String> = split
            .parts
            .iter()
            .map(|part| match part {
                JournaledStep::Part { hash, text, .. } => (hash.clone(), text.clone()),
                other => panic!("{other:?}"),
            })
            .collect();
        assert!(join_rows(&split.rows, &split.long_bodies, &parts).unwrap() == rows);
        assert!(split_rows(&[row(long)], &mut known, "one").parts.is_empty(), "the server has it");
    }

    #[test]
    fn no_step_is_too_long_for_the_server() {
        let rows: Vec<JournalRow> = (0..900)
            .map(|at| row(format!("{at:04}").repeat(if at % 3 == 0 { 200 } else { 30_000 })))
            .collect();
        let split = split_rows(&rows, &mut HashSet::new(), "one");
        let inline: usize = split.rows.iter().map(|row| row.body.len()).sum();
        assert!(inline < INLINE_BYTES_OF_STEP + 1024 * 1024 && !split.parts.is_empty(), "{inline}");
        let parts = split.parts.iter().filter_map(|part| match part {
            JournaledStep::Part { hash, text, .. } => Some((hash.clone(), text.clone())),
            _ => None,
        });
        let parts: HashMap<String, String> = parts.collect();
        assert!(join_rows(&split.rows, &split.long_bodies, &parts).unwrap() == rows);
    }

    #[test]
    fn what_is_missing_is_named() {
        let rows = [row(String::new())];
        let parts = HashMap::from([("aa".to_owned(), "text".to_owned())]);
        for (number, hashes, words) in [
            (0, &["aa", "aa"][..], ""),
            (0, &["aa", "bb"], "part bb of the body of row 0 is missing"),
            (1, &["aa"], "body of row 1, and 1 rows"),
        ] {
            let hashes = hashes.iter().map(|hash| (*hash).to_owned()).collect();
            let joined = join_rows(&rows, &[LongBody { row: number, parts: hashes }], &parts);
            let told = joined.as_ref().err().map_or("", |refused| &refused.message);
            assert!(told.contains(words) && told.is_empty() == words.is_empty(), "{told}");
            assert!(joined.is_err() || joined.unwrap()[0].body == "texttext");
        }
    }
}
