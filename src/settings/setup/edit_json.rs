//! A settings file with some values changed and everything else as it was: comments, order, blanks.

use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::Value;

use super::SettingChange;
use synthdev_language::json::strict_but_commented;

/// Applies `changes` in their order. An empty text counts as an empty object. A group that the last value was taken
/// out of goes, too.
///
/// # Errors
/// The text is no settings file: it must be mended first, or nothing would be known of what is kept.
pub fn apply_changes(text: &str, changes: &[SettingChange]) -> Result<String, String> {
    let mark = text.strip_prefix('\u{feff}').map_or("", |_| "\u{feff}");
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let body = if body.trim().is_empty() { "{}\n" } else { body };
    let root = CstRootNode::parse(body, &strict_but_commented()).map_err(|error| error.to_string())?;
    let Some(object) = root.object_value() else { return Err("it does not hold an object".to_owned()) };
    for change in changes {
        match &change.value {
            Some(value) => set_value(&object, &change.path, value)?,
            None => remove_value(&object, &change.path),
        }
    }
    Ok(format!("{mark}{root}"))
}

/// The value at a path of a settings file; `None`: there is none.
///
/// # Errors
/// The text is no settings file.
pub fn read_value(text: &str, path: &[String]) -> Result<Option<Value>, String> {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let body = if body.trim().is_empty() { "{}" } else { body };
    let root = CstRootNode::parse(body, &strict_but_commented()).map_err(|error| error.to_string())?;
    let mut value = root.to_serde_value();
    for name in path {
        value = value.and_then(|mut value| value.get_mut(name).map(Value::take));
    }
    Ok(value)
}

fn set_value(object: &CstObject, path: &[String], value: &Value) -> Result<(), String> {
    let Some((first, rest)) = path.split_first() else { return Ok(()) };
    if !rest.is_empty() {
        let inner = object.object_value_or_create(first);
        let inner = inner.ok_or_else(|| format!("`{first}` is no object"))?;
        return set_value(&inner, rest, value);
    }
    match object.get(first) {
        Some(member) => member.set_value(to_cst_value(value)),
        None => {
            object.append(first, to_cst_value(value));
            object.ensure_multiline();
        }
    }
    Ok(())
}

fn remove_value(object: &CstObject, path: &[String]) {
    let Some((first, rest)) = path.split_first() else { return };
    let Some(member) = object.get(first) else { return };
    if rest.is_empty() {
        return member.remove();
    }
    let Some(inner) = member.object_value() else { return };
    let held = inner.properties().len();
    remove_value(&inner, rest);
    if held > 0 && inner.properties().is_empty() {
        member.remove();
    }
}

fn to_cst_value(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(to_cst_value).collect()),
        Value::Object(members) => CstInputValue::Object(
            members.iter().map(|(key, value)| (key.clone(), to_cst_value(value))).collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn a_value_is_read_where_it_stands() {
        let check = |text: &str, expected: Result<Option<Value>, ()>| {
            let path = ["approvals", "tools", "bash"].map(str::to_owned);
            assert_eq!(read_value(text, &path).map_err(drop), expected, "{text}");
        };
        check("", Ok(None));
        check(r#"{"approvals": {"tools": {"other": "ask"}}}"#, Ok(None));
        check("{\n  // why\n  \"approvals\": {\"tools\": {\"bash\": \"ask\"}}}", Ok(Some(json!("ask"))));
        check(r#"{"approvals": "ask"}"#, Ok(None));
        check("{", Err(()));
    }

    use super::*;

    #[test]
    fn the_rest_of_a_file_stays_as_it_is() {
        let change = |path: &str, value: Value| SettingChange {
            path: path.split('.').map(str::to_owned).collect(),
            value: (!value.is_null()).then_some(value),
        };
        let rows = [
            (
                "",
                vec![change("levels.base.model", json!("m"))],
                "{\n  \"levels\": {\n    \"base\": {\n      \"model\": \"m\"\n    }\n  }\n}\n",
            ),
            (
                "// mine\n{\n  \"verbosity\": 3, // loud\n  \"levels\": {\"base\": {\"model\": \"old\", \"base_url\": \"http://x/v1\"}},\n}\n",
                vec![
                    change("levels.base.model", json!("a \"b\"\n")),
                    change("levels.base.base_url", Value::Null),
                    change("verbosity", json!(2)),
                ],
                "// mine\n{\n  \"verbosity\": 2, // loud\n  \"levels\": {\"base\": {\"model\": \"a \\\"b\\\"\\n\"}},\n}\n",
            ),
            (
                "{\"levels\": {\"fast\": {\"model\": \"m\"}}, \"x_a\": 1}",
                vec![change("levels.fast.model", Value::Null)],
                "{ \"x_a\": 1}",
            ),
            ("{\"a\": {}}", vec![change("a.b.c", Value::Null)], "{\"a\": {}}"),
        ];
        for (text, changes, expected) in rows {
            assert_eq!(apply_changes(text, &changes).as_deref(), Ok(expected), "{text}");
        }
        for broken in ["{\"a\": }", "[]", "{\"levels\": 3}"] {
            assert!(apply_changes(broken, &[change("levels.base.model", json!("m"))]).is_err(), "{broken}");
        }
    }
}
