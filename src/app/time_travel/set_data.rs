//! `--set common_data.NAME=JSON`.

use anyhow::{Result, anyhow, bail};
use serde_json::{Map, Value};

use crate::resume_command::json_or_words;
use synthdev_cli::output::safe_name;
use synthdev_language::did_you_mean::suggestion_hint;

/// Paths below `common_data` with their values; what is no JSON is a text.
///
/// # Errors
/// The first that is not of that form.
pub(super) fn parse_assignments(given: &[String]) -> Result<Vec<(Vec<String>, Value)>> {
    given.iter().map(|pair| parse_assignment(pair)).collect()
}

fn parse_assignment(pair: &str) -> Result<(Vec<String>, Value)> {
    let Some((path, text)) = pair.split_once('=') else {
        bail!("--set {}: write it as common_data.NAME=JSON", safe_name(pair));
    };
    let keys: Vec<String> = path.trim().split('.').map(str::to_owned).collect();
    let [root, keys @ ..] = keys.as_slice() else { bail!("--set {}: which one?", safe_name(pair)) };
    if root != "common_data" || keys.is_empty() {
        bail!("--set {}: only common_data can be set\nhint: common_data.NAME=JSON", safe_name(pair));
    }
    if keys.iter().any(String::is_empty) {
        bail!("--set {}: a name between two dots is missing", safe_name(pair));
    }
    let value = json_or_words(text)
        .map_err(|error| anyhow!("--set {}: the value is not JSON: {error}", safe_name(pair)))?;
    Ok((keys.to_vec(), value))
}

/// A note for each key that the run has not got at that step.
pub(super) fn unknown_key_notes(set: &[(Vec<String>, Value)], known: &Map<String, Value>) -> Vec<String> {
    let keys = set.iter().filter_map(|(path, _)| path.first());
    let new = keys.filter(|key| !known.contains_key(*key));
    new.map(|key| {
        let hint = suggestion_hint(key, known.keys().map(String::as_str));
        let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
        format!("common_data had no `{}` at that step: it is new{hint}", safe_name(key))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_json_or_text_and_paths_are_below_common_data() {
        let rows = [
            ("common_data.x=1", json!([["x"], 1])),
            ("common_data.x.y={\"a\": true}", json!([["x", "y"], {"a": true}])),
            ("common_data.x=plain words", json!([["x"], "plain words"])),
            ("common_data.x=a=b", json!([["x"], "a=b"])),
            ("common_data.list.0=null", json!([["list", "0"], null])),
            ("common_data.x=", json!([["x"], ""])),
            ("common_data.x=\"1\"", json!([["x"], "1"])),
        ];
        for (text, expected) in rows {
            let (path, value) = parse_assignment(text).unwrap();
            assert_eq!(json!([path, value]), expected, "{text}");
        }
        for broken in [
            "x=1",
            "common_data=1",
            "common_data.x",
            "common_data.=1",
            "common_data..x=1",
            "",
            "=1",
            "common_data.x={\"a\"",
        ] {
            assert!(parse_assignment(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn a_new_key_is_noted() {
        let known = json!({"result": 1}).as_object().cloned().unwrap();
        let set = parse_assignments(&["common_data.result=2".to_owned(), "common_data.resutl=2".to_owned()])
            .unwrap();
        let notes = unknown_key_notes(&set, &known);
        assert!(
            matches!(notes.as_slice(), [note] if note.contains("resutl") && note.contains("result")),
            "{notes:?}"
        );
    }
}
