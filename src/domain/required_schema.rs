//! What a schema cannot do without: the shortest decision that still is one, for an answer that was cut.

use serde_json::{Map, Value};

/// Keywords of an object that may want more than its required members.
const CONDITIONS: [&str; 15] = [
    "$ref",
    "$dynamicRef",
    "enum",
    "const",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
    "minProperties",
    "patternProperties",
    "propertyNames",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
];

/// The schema with its required members alone, also of objects inside it. An object without required members, or with
/// conditions on the others, stays as it is.
pub fn required_schema(schema: &Value) -> Value {
    let Value::Object(members) = schema else { return schema.clone() };
    let mut kept = members.clone();
    if let Some(items) = members.get("items") {
        kept.insert("items".to_owned(), required_schema(items));
    }
    if let Some(properties) = required_properties(members) {
        kept.insert("properties".to_owned(), Value::Object(properties));
        kept.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    Value::Object(kept)
}

fn required_properties(members: &Map<String, Value>) -> Option<Map<String, Value>> {
    let properties = members.get("properties")?.as_object()?;
    let required = members.get("required")?.as_array().filter(|names| !names.is_empty())?;
    let names: Vec<&str> = required.iter().filter_map(Value::as_str).collect();
    let is_plain = !CONDITIONS.iter().any(|word| members.contains_key(*word));
    let knows_all = names.iter().all(|name| properties.contains_key(*name));
    let kept = properties.iter().filter(|(name, _)| names.contains(&name.as_str()));
    (is_plain && knows_all)
        .then(|| kept.map(|(name, inner)| (name.clone(), required_schema(inner))).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn optional_members_are_left_out_where_nothing_else_asks_for_them() {
        let check =
            |schema: Value, expected: Value| assert_eq!(required_schema(&schema), expected, "{schema}");
        let text = || json!({"type": "string"});
        let closed = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
        let open = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required});
        check(
            open(json!({"a": text(), "b": text()}), json!(["b"])),
            closed(json!({"b": text()}), json!(["b"])),
        );
        // inside: a member, the items of a list
        let inner = || open(json!({"a": text(), "b": text()}), json!(["a"]));
        let short = || closed(json!({"a": text()}), json!(["a"]));
        let both = json!({"one": inner(), "all": {"type": "array", "items": inner()}});
        let short_both = json!({"one": short(), "all": {"type": "array", "items": short()}});
        check(open(both, json!(["one", "all"])), closed(short_both, json!(["one", "all"])));
        // what is not an object of known members stays
        for same in [
            json!(true),
            text(),
            json!({"type": "object", "properties": {"a": text()}}),
            open(json!({"a": text()}), json!([])),
            open(json!({"a": text()}), json!(["other"])),
        ] {
            check(same.clone(), same);
        }
        for condition in CONDITIONS {
            let mut same = inner();
            same[condition] = json!({});
            check(same.clone(), same);
        }
    }
}
