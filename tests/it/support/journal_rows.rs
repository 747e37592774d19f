//! Rows of a journal as lines that can be compared with those of another run.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;
use synthdev::domain::journal::JournalRow;

/// What differs from run to run: chance, times and commits. The content of a result says how long its tool took.
const CHANCE: [&str; 7] = ["seed", "id", "run", "created", "content", "duration_ms", "elapsed_ms"];

/// Addresses of servers and directories of one test, and points of time.
static PLACES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"127\.0\.0\.1:\d+|/[\w/]*\.tmp\w+[\w/]*|\b1[789]\d{11}\b|\b20\d\d-\d\d-\d\dT[\d:.]+Z")
        .unwrap()
});

/// The rows in order, without chance, and apart from them the snapshots: they are taken beside the work.
pub fn comparable_rows(rows: &[JournalRow]) -> (Vec<String>, Vec<String>) {
    let lines = rows.iter().map(|row| {
        let body = serde_json::from_str(&row.body).unwrap();
        format!("{} {:?} {}", row.kind.as_str(), row.call, text_without_chance(body))
    });
    lines.partition(|line| !line.contains(r#""input":"snapshot_taken""#))
}

pub fn text_without_chance(mut value: Value) -> String {
    forget_chance(&mut value);
    PLACES.replace_all(&value.to_string(), "…").into_owned()
}

fn forget_chance(value: &mut Value) {
    match value {
        Value::Object(members) => members.iter_mut().for_each(|(name, member)| {
            if CHANCE.contains(&name.as_str()) {
                *member = Value::Null;
            } else {
                forget_chance(member);
            }
        }),
        Value::Array(items) => items.iter_mut().for_each(forget_chance),
        _ => {}
    }
}
