//! `parsingTools` of a role: OpenAI's function form or the plain one, `parsingOnly` beside or inside.

use serde_json::{Value, json};

use synthdev_domain::tool::ParsingTool;
use synthdev_language::fields::ObjectFields;
use synthdev_language::json::JsonNode;
use synthdev_language::source::FileDiagnostics;

const KEYS: &[&str] = &["name", "description", "parameters", "parsingOnly", "parsing_only", "strict"];
const OUTER: &[&str] = &["type", "function", "parsingOnly", "parsing_only"];

/// `None` if the role is silent about them. A broken tool is reported and left out.
pub fn read_parsing_tools(
    fields: &ObjectFields<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> Option<Vec<ParsingTool>> {
    let items = fields.list(&["parsingTools", "parsing_tools"], findings)?;
    let mut tools: Vec<ParsingTool> = Vec::with_capacity(items.len());
    for item in items {
        let Some(tool) = read_parsing_tool(item, findings) else { continue };
        if tools.iter().any(|earlier| earlier.name == tool.name) {
            let message = format!("the parsing tool `{}` stands here twice", tool.name);
            findings.add_error("C07", item.span.clone(), message, Some("rename or remove one".to_owned()));
            continue;
        }
        tools.push(tool);
    }
    Some(tools)
}

fn read_parsing_tool(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Option<ParsingTool> {
    let outer = ObjectFields::from_node(node, "a parsing tool", findings)?;
    let Some(function) = node.get("function") else {
        let allowed: Vec<&str> = KEYS.iter().copied().chain(["type"]).collect();
        outer.reject_unknown_keys(&allowed, findings);
        return read_function(node, &outer, false, findings);
    };
    outer.reject_unknown_keys(OUTER, findings);
    let forced = is_parsing_only(&outer, findings);
    let inner = ObjectFields::from_node(function, "`function`", findings)?;
    inner.reject_unknown_keys(KEYS, findings);
    read_function(function, &inner, forced, findings)
}

fn read_function(
    node: &JsonNode,
    fields: &ObjectFields<'_>,
    forced: bool,
    findings: &mut FileDiagnostics<'_>,
) -> Option<ParsingTool> {
    let parsing_only = is_parsing_only(fields, findings) || forced;
    let description = fields.text(&["description"], findings).map(|text| text.value).unwrap_or_default();
    let parameters = read_parameters(fields, findings);
    let Some(name) = fields.text(&["name"], findings) else {
        let hint =
            "write {\"type\": \"function\", \"function\": {\"name\": …, \"parameters\": …}}".to_owned();
        findings.add_error("C06", node.span.clone(), "a parsing tool needs a name", Some(hint));
        return None;
    };
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.value.is_empty() || name.value.len() > 64 || !name.value.chars().all(fits) {
        let message = format!("`{}` cannot be a tool's name", name.value);
        let hint = "up to 64 letters, digits, _ and -: providers refuse anything else".to_owned();
        findings.add_error("C06", name.span, message, Some(hint));
        return None;
    }
    Some(ParsingTool { name: name.value, description, parameters: parameters?, parsing_only })
}

fn is_parsing_only(fields: &ObjectFields<'_>, findings: &mut FileDiagnostics<'_>) -> bool {
    fields.flag(&["parsingOnly", "parsing_only"], findings).unwrap_or(false)
}

/// The schema of the arguments; without one the tool takes none.
fn read_parameters(fields: &ObjectFields<'_>, findings: &mut FileDiagnostics<'_>) -> Option<Value> {
    let Some(node) = fields.get(&["parameters"], findings) else {
        return Some(json!({ "type": "object", "properties": {} }));
    };
    let schema = ObjectFields::from_node(node, "`parameters`", findings)?;
    if let Some(kind) = schema.get(&["type"], findings).filter(|kind| kind.as_str() != Some("object")) {
        findings.add_error("C06", kind.span.clone(), "`parameters` must describe an object", None);
        return None;
    }
    let properties = schema.get(&["properties"], findings);
    for name in schema.texts(&["required"], findings).unwrap_or_default() {
        if properties.is_none_or(|known| known.get(&name.value).is_none()) {
            let known = properties.and_then(JsonNode::members).unwrap_or_default();
            let known = known.iter().map(|member| member.key.as_str());
            let hint = synthdev_language::did_you_mean::suggestion_hint(&name.value, known);
            let message = format!("`{}` is required but not among the properties", name.value);
            findings.add_warning("C11", name.span, message, hint);
        }
    }
    let mut value = node.to_value();
    if let Some(object) = value.as_object_mut() {
        object.entry("type").or_insert_with(|| Value::from("object"));
    }
    Some(value)
}
