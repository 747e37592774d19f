//! `--set common_data.NAME=JSON`.

use anyhow::{Result, anyhow, bail};
use serde_json::Value;

use synthdev_cli::output::safe_name;
use synthdev_cli::resume::json_or_words;

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
}
