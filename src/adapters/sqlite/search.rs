//! Finding words in the journals of all runs.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params};

use super::{decode, full_text_index, read};
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::journal::{JournalRow, JournalRowKind, SearchHit, SearchQuery};
use synthdev_ports::run_store::SearchTextOfRow;

/// The user's query in the syntax of the index; `None` if there is no word in it. Every part is quoted, so nothing in
/// it is an operator: all words must match, a phrase must match as it is, and the last part matches as a prefix. One
/// Latin letter must match as a whole word: as a prefix it would match nearly every row.
pub(super) fn match_expression(typed: &str) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut whole = true;
    for (at, piece) in typed.split('"').enumerate() {
        if at % 2 == 1 {
            parts.extend(quote_term(piece));
            whole = false;
        } else if !piece.trim().is_empty() {
            parts.extend(piece.split(|c: char| c.is_whitespace() || c.is_control()).filter_map(quote_term));
            whole = piece.ends_with(char::is_whitespace);
        } else if !piece.is_empty() || at > 0 {
            whole = true;
        }
    }
    let last = parts.pop()?;
    parts.push(if whole || is_one_letter(&last) { last } else { format!("{last}*") });
    Some(parts.join(" AND "))
}

pub(super) fn search_runs(
    connection: &Connection,
    query: &SearchQuery,
    words: SearchTextOfRow<'_>,
) -> rusqlite::Result<Vec<SearchHit>> {
    let Some(expression) = match_expression(&query.text) else { return Ok(Vec::new()) };
    let moment = connection.unchecked_transaction()?;
    let (mut low, mut high) = (0, i64::MAX);
    if let Some(run) = &query.run {
        let Some(key) = super::write::find_run_key(&moment, run)? else { return Ok(Vec::new()) };
        (low, high) = (full_text_index::join_row_id(key, 0), full_text_index::join_row_id(key + 1, 0) - 1);
    }
    let mut statement = moment.prepare_cached(
        "SELECT rowid FROM words WHERE words MATCH ?1 AND rowid BETWEEN ?2 AND ?3 ORDER BY rowid DESC",
    )?;
    let mut found = statement.query(params![expression, low, high])?;
    let mut runs: HashMap<i64, Option<SearchedRun>> = HashMap::new();
    let mut hits = Vec::new();
    while let Some(row) = found.next()? {
        let (key, seq) = full_text_index::split_row_id(row.get(0)?);
        let run = match runs.get(&key) {
            Some(run) => run,
            None => {
                let run = searched_run(&moment, key, query.workflow.as_deref())?;
                runs.entry(key).or_insert(run)
            }
        };
        let Some(run) = run else { continue };
        hits.extend(search_hit(&moment, key, seq, run, words)?);
        if query.limit > 0 && hits.len() >= query.limit {
            break;
        }
    }
    Ok(hits)
}

/// A run that hits are in.
struct SearchedRun {
    id: RunId,
    workflow: String,
    started: Timestamp,
    input: String,
}

/// `None` if it is not of the workflow that is asked for.
fn searched_run(
    connection: &Connection,
    key: i64,
    workflow: Option<&str>,
) -> rusqlite::Result<Option<SearchedRun>> {
    connection
        .prepare_cached(
            "SELECT id, workflow, started, input FROM runs WHERE key = ?1 AND (?2 IS NULL OR workflow = ?2)",
        )?
        .query_row(params![key, workflow], |row| {
            Ok(SearchedRun {
                id: RunId(row.get(0)?),
                workflow: row.get(1)?,
                started: Timestamp(row.get(2)?),
                input: row.get(3)?,
            })
        })
        .optional()
}

fn search_hit(
    connection: &Connection,
    key: i64,
    seq: i64,
    run: &SearchedRun,
    words: SearchTextOfRow<'_>,
) -> rusqlite::Result<Option<SearchHit>> {
    let row = if seq == 0 {
        let body = serde_json::Value::from(run.input.as_str()).to_string();
        let words = Some(super::write::input_words(&run.workflow, &run.input));
        Some(JournalRow { words, ..JournalRow::new(JournalRowKind::Input, run.started, None, body) })
    } else {
        let found = connection.prepare_cached(read::ONE_ROW)?.query_row([key, seq], decode::journal_row);
        decode::if_readable(found.optional())?.flatten().map(|row| JournalRow { words: words(&row), ..row })
    };
    Ok(row.map(|row| SearchHit {
        run: run.id.clone(),
        workflow: run.workflow.clone(),
        started: run.started,
        seq: seq.cast_unsigned(),
        row,
    }))
}

fn is_one_letter(part: &str) -> bool {
    let end = part.rsplit(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty());
    end.is_some_and(|word| word.len() == 1)
}

/// As a string of the index's language; `None` if no word is in it.
fn quote_term(text: &str) -> Option<String> {
    let shown: String = text.chars().filter(|c| !c.is_control()).collect();
    shown
        .chars()
        .any(char::is_alphanumeric)
        .then(|| format!("\"{}\"", full_text_index::separate_words(&shown)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_typed_is_an_operator() {
        for (typed, expected) in [
            ("", None),
            (" \t\n", None),
            ("\"", None),
            ("\"\" -- * ^ ( ) :", None),
            ("parser", Some("\"parser\"*")),
            ("parser ", Some("\"parser\"")),
            ("p", Some("\"p\"")),
            ("设", Some("\"设\"*")),
            ("东京v2塔", Some("\"东 京 v2 塔\"*")),
            ("plan b", Some("\"plan\" AND \"b\"")),
            ("the par", Some("\"the\" AND \"par\"*")),
            ("a OR b", Some("\"a\" AND \"OR\" AND \"b\"")),
            ("text:xy", Some("\"text:xy\"*")),
            ("text:x", Some("\"text:x\"")),
            ("NEAR(a b)", Some("\"NEAR(a\" AND \"b)\"")),
            ("\"two words\"", Some("\"two words\"")),
            ("\"two wor", Some("\"two wor\"*")),
            ("a \"two words\" b", Some("\"a\" AND \"two words\" AND \"b\"")),
            ("a\"b", Some("\"a\" AND \"b\"")),
            ("größe", Some("\"größe\"*")),
            ("a\0b", Some("\"a\" AND \"b\"")),
        ] {
            assert_eq!(match_expression(typed).as_deref(), expected, "{typed:?}");
        }
    }
}
