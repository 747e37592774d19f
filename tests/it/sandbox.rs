//! Attempts to get out of the sandbox, through the real program, in a throw-away root.
//!
//! Each row is a command of a scripted model. It runs in namespaces of its own with a file system that holds nothing of
//! this machine but programs, and with an outside that can be changed: an escape is noticed, and does no harm.

mod files;
mod processes;
mod root;
mod row;
mod secrets;
mod toolchains;

use std::collections::BTreeMap;

use super::support::skip::skip_sandbox_row;
use root::{Seen, throw_away_root};
use row::{Group, Layer, Row};

fn groups() -> impl Iterator<Item = &'static Group> {
    files::GROUPS.iter().chain(secrets::GROUPS).chain(processes::GROUPS)
}

/// Skipped loudly: a layer that was not tried holds nothing.
fn try_layer(layer: Layer) -> Option<BTreeMap<String, Seen>> {
    let groups: Vec<&Group> = groups().collect();
    let found = throw_away_root(&groups, layer);
    if let Err(reason) = &found {
        let rows: usize = groups.iter().map(|group| group.rows(layer).len()).sum();
        skip_sandbox_row(&format!("{rows} rows of the escape suite, {layer:?}: {reason}"));
    }
    found.ok()
}

/// What is wrong with a row, if something is.
fn row_fault(row: &Row, seen: &Seen, layer: Layer) -> Option<String> {
    let lines: Vec<&str> = seen.answer.lines().filter(|line| line.starts_with("[sandbox] ")).collect();
    let fault = if seen.has_escaped() {
        "escaped"
    } else if !seen.answer.contains(row.expected_output) {
        "does not work"
    } else if !row.expected_output.is_empty() && seen.answer.contains("killed by signal") {
        "works and is reported as killed"
    } else if seen.answer.len() > 1 << 20 {
        "answers without end"
    } else if row.is_message_expected(layer) && !lines.iter().any(|line| line.contains(row.message_words)) {
        "is not told"
    } else {
        return None;
    };
    let answer: String = seen.answer.chars().take(900).collect();
    Some(format!("{} {fault}:\n{answer}", row.name))
}

fn check_layer(layer: Layer) {
    let Some(seen) = try_layer(layer) else { return };
    let rows: Vec<&Row> = groups().flat_map(|group| group.rows(layer)).collect();
    assert!(rows.len() >= 60, "{} rows", rows.len());
    let faults: Vec<String> = rows
        .iter()
        .filter_map(|row| match seen.get(row.name) {
            Some(found) => row_fault(row, found, layer),
            None => Some(format!("{} was not tried", row.name)),
        })
        .collect();
    assert!(
        faults.is_empty(),
        "{layer:?}, {} of {} rows:\n\n{}",
        faults.len(),
        rows.len(),
        faults.join("\n\n")
    );
}

#[test]
fn bubblewrap_holds_every_row() {
    check_layer(Layer::Bubblewrap);
}

#[test]
fn landlock_holds_every_row() {
    check_layer(Layer::Landlock);
}

#[test]
fn rows_escape_where_nothing_holds_them() {
    let Some(seen) = try_layer(Layer::Nothing) else { return };
    let rows: Vec<&Row> =
        groups().flat_map(|group| group.rows(Layer::Nothing)).filter(|row| !row.has_no_effect).collect();
    let held: Vec<String> = rows
        .iter()
        .filter(|row| !seen.get(row.name).is_some_and(Seen::has_escaped))
        .map(|row| format!("{}: {}", row.name, seen.get(row.name).map_or("not tried", |seen| &seen.answer)))
        .collect();
    assert!(rows.len() >= 60, "{} rows", rows.len());
    assert!(held.is_empty(), "{} of {} rows cannot fail:\n{}", held.len(), rows.len(), held.join("\n"));
}
