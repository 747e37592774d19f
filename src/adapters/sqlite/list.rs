//! Lists of runs: newest first, filtered by the user's query.
//!
//! Two steps: a scan over narrow columns finds the runs to show, then only those are read as a whole.

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::decode::{self, SUMMARY};
use super::process_liveness::ProcessLivenessCache;
use synthdev_domain::journal::{RunOutline, RunQuery, RunStatus, RunSummary};

pub(super) fn list_runs(connection: &Connection, query: &RunQuery) -> rusqlite::Result<Vec<RunSummary>> {
    let moment = connection.unchecked_transaction()?;
    let mut census = ProcessLivenessCache::for_readers(connection);
    let filter = RunListFilter::from_query(query);
    if filter.needle.is_none() && query.statuses.is_empty() {
        let sql = format!(
            "{SUMMARY} {} ORDER BY started DESC, key DESC LIMIT {} OFFSET {}",
            filter.condition,
            if query.limit == 0 { -1 } else { i64::try_from(query.limit).unwrap_or(-1) },
            query.offset
        );
        let mut statement = moment.prepare_cached(&sql)?;
        let found = statement
            .query_map(params_from_iter(&filter.values), |row| decode::decode_summary(row, &mut census))?;
        return found.collect();
    }
    let keys = matching_keys(&moment, query, &filter, &mut census)?;
    let mut one = moment.prepare_cached(&format!("{SUMMARY} WHERE key = ?1"))?;
    keys.iter().map(|key| one.query_row([key], |row| decode::decode_summary(row, &mut census))).collect()
}

/// Every run, newest first.
pub(super) fn list_outlines(connection: &Connection) -> rusqlite::Result<Vec<RunOutline>> {
    let moment = connection.unchecked_transaction()?;
    let mut census = ProcessLivenessCache::for_readers(connection);
    let mut statement =
        moment.prepare_cached(&format!("{} ORDER BY started DESC, key DESC", decode::OUTLINE))?;
    let found = statement.query_map([], |row| decode::decode_outline(row, &mut census))?;
    found.collect()
}

/// What SQLite decides, and the text that it does not.
struct RunListFilter {
    condition: String,
    values: Vec<Value>,
    needle: Option<CaseInsensitiveNeedle>,
}

impl RunListFilter {
    fn from_query(query: &RunQuery) -> Self {
        let mut parts: Vec<String> = Vec::new();
        let mut values: Vec<Value> = Vec::new();
        let mut add = |part: &str, value: Option<Value>| {
            if let Some(value) = value {
                values.push(value);
                parts.push(format!("{part} ?{}", values.len()));
            }
        };
        let text = |text: &Option<String>| text.clone().map(Value::Text);
        add("workflow =", text(&query.workflow));
        add("workflow <>", text(&query.without_workflow));
        add("project =", text(&query.project));
        add("origin_run =", query.origin_run.as_ref().map(|run| Value::Text(run.0.clone())));
        add("started >=", query.since.map(|since| Value::Integer(since.0)));
        add("started <=", query.until.map(|until| Value::Integer(until.0)));
        add("cost_usd >=", query.min_cost.map(Value::Real));
        add("cost_usd <=", query.max_cost.map(Value::Real));
        if !query.statuses.is_empty() {
            parts.push(stored_statuses(&query.statuses));
        }
        let condition =
            if parts.is_empty() { String::new() } else { format!("WHERE {}", parts.join(" AND ")) };
        let needle = query
            .words
            .as_deref()
            .map(str::trim)
            .filter(|words| !words.is_empty())
            .map(CaseInsensitiveNeedle::new);
        Self { condition, values, needle }
    }
}

/// A dead `running` is shown as interrupted, so a filter for one selects both; which process is alive is decided later.
/// Many runs are over and few are not: the index is asked only for those.
fn stored_statuses(wanted: &[RunStatus]) -> String {
    let open = |status: &RunStatus| matches!(status, RunStatus::Running | RunStatus::Interrupted);
    let mut names: Vec<String> =
        wanted.iter().filter(|status| !open(status)).map(|status| format!("'{}'", status.as_str())).collect();
    if wanted.iter().any(open) {
        names.extend(["'running'".to_owned(), "'interrupted'".to_owned()]);
    }
    let unindexed = if wanted.iter().any(|status| status.is_over()) { "+" } else { "" };
    format!("{unindexed}status IN ({})", names.join(", "))
}

/// Keys of the runs that are shown, in order.
fn matching_keys(
    connection: &Connection,
    query: &RunQuery,
    filter: &RunListFilter,
    census: &mut ProcessLivenessCache<'_>,
) -> rusqlite::Result<Vec<i64>> {
    let by_status = !query.statuses.is_empty();
    let progress = if by_status { ", status, pid, process" } else { "" };
    let join = if by_status || query.min_cost.is_some() || query.max_cost.is_some() {
        "JOIN progress ON run = key"
    } else {
        ""
    };
    let sql = format!(
        "SELECT key, id, workflow, input{progress} FROM runs {join} {} ORDER BY started DESC, key DESC",
        filter.condition
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(&filter.values))?;
    let (mut keys, mut left_out) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        if by_status && !query.statuses.contains(&decode::seen_status(row, (1, 4), census)?) {
            continue;
        }
        if let Some(needle) = &filter.needle
            && !(1..=3).any(|column| {
                row.get_ref(column).is_ok_and(|text| text.as_str().is_ok_and(|text| needle.is_found_in(text)))
            })
        {
            continue;
        }
        if left_out < query.offset {
            left_out += 1;
            continue;
        }
        keys.push(row.get(0)?);
        if keys.len() == query.limit {
            break;
        }
    }
    Ok(keys)
}

/// A part of a text, in small or capital letters.
struct CaseInsensitiveNeedle {
    lowercase: String,
    is_ascii: bool,
}

impl CaseInsensitiveNeedle {
    fn new(text: &str) -> Self {
        let small = text.to_lowercase();
        Self { is_ascii: small.is_ascii(), lowercase: small }
    }

    fn is_found_in(&self, text: &str) -> bool {
        if !self.is_ascii {
            return text.to_lowercase().contains(&self.lowercase);
        }
        let wanted = self.lowercase.as_bytes();
        let Some(first) = wanted.first() else { return true };
        let capital = first.to_ascii_uppercase();
        let text = text.as_bytes();
        let Some(last) = text.len().checked_sub(wanted.len()) else { return false };
        (0..=last).any(|at| {
            (text[at] == *first || text[at] == capital)
                && text[at..at + wanted.len()].eq_ignore_ascii_case(wanted)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_found_in_any_size() {
        for (needle, text, found) in [
            ("add", "Please ADD it", true),
            ("ADD", "please add", true),
            ("it", "it", true),
            ("items", "item", false),
            ("ö", "GRÖSSE", true),
            ("x", "", false),
            ("e ad", "pleasE ADd", true),
        ] {
            assert_eq!(CaseInsensitiveNeedle::new(needle).is_found_in(text), found, "{needle} in {text}");
        }
    }
}
