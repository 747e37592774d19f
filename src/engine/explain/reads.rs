//! What a condition's text names, and what that was for the scope it was judged in.

use serde_json::{Map, Value, json};

use synthdev_domain::message::ToolCall;
use synthdev_domain::script::shorthand::{NameRead, read_names};
use synthdev_domain::script::{LOOPS, ScopeView};

/// Something that is read: as written, what kind of thing it is, and its value; `None` is `undefined`.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ResolvedRead {
    pub(super) path: String,
    pub(super) read_target: ReadTarget,
    pub(super) value: Option<Value>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum ReadTarget {
    /// A key of `common_data`; `None` is all of it.
    Data(Option<String>),
    Inputs,
    Loop,
    /// `context`: the result of the state's own work.
    Result,
    /// The last reply or call of an agent.
    Last,
    /// `function.NAME`
    Decision(String),
    Child,
    /// The last answer of an agent, by id.
    Agent(String),
}

/// Each thing once, in the order of the text.
pub(super) fn resolve_reads(source: &str, scope: &ScopeView) -> Vec<ResolvedRead> {
    let host = host_parameter(source);
    let mut found: Vec<ResolvedRead> = Vec::new();
    for read in read_names(source) {
        if let Some(named) = resolve_read(read, host, source, scope)
            && !found.iter().any(|other| other.path == named.path)
        {
            found.push(named);
        }
    }
    found
}

/// The name under which a function takes the host.
fn host_parameter(source: &str) -> Option<&str> {
    let (head, _) = source.split_once("=>")?;
    let name = head.trim().trim_start_matches('(').trim_end_matches(')').trim();
    let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    (!name.is_empty() && name.chars().all(plain)).then_some(name)
}

fn resolve_read(read: NameRead, host: Option<&str>, source: &str, scope: &ScopeView) -> Option<ResolvedRead> {
    let is_host = read.name == "this" || Some(read.name.as_str()) == host;
    let mut path = read.path;
    let called = read.is_called;
    if !is_host {
        path.insert(0, read.name);
    }
    // the host under another name
    if path.first().is_some_and(|first| first == "executionContext") {
        path.remove(0);
    }
    let root = path.first()?.clone();
    if root == "getAgent" || root == "getToolCalls" {
        let id = quoted_argument(&source[read.offset..])?;
        return resolve_agent_read(&id, &root, scope);
    }
    // `common_data.list.includes(…)` reads the list
    if called {
        path.pop();
    }
    let whole: Vec<&str> = path.iter().map(String::as_str).collect();
    let (what, value) = look_up_read(&root, &whole, scope)?;
    Some(ResolvedRead { path: path.join("."), read_target: what, value })
}

fn look_up_read(root: &str, path: &[&str], scope: &ScopeView) -> Option<(ReadTarget, Option<Value>)> {
    let rest = path.get(1..)?;
    let data = |rest: &[&str]| {
        let what = ReadTarget::Data(rest.first().map(|key| (*key).to_owned()));
        (what, member_at(&Value::Object((*scope.common_data).clone()), rest))
    };
    Some(match root {
        "common_data" => match rest {
            ["variables", inner @ ..] if !scope.common_data.contains_key("variables") => data(inner),
            rest => data(rest),
        },
        "variables" | "state" => data(rest),
        "inputs" => (ReadTarget::Inputs, member_at(&Value::Object((*scope.inputs).clone()), rest)),
        "loop" => (ReadTarget::Loop, loop_value(scope).and_then(|facts| member_at(&facts, rest))),
        "context" => (ReadTarget::Result, scope.result.as_ref().and_then(|result| member_at(result, rest))),
        "last_agent_response" | "lastAgentResponse" => {
            let said = scope.last_agent_response.as_deref().map_or(Value::Null, Value::from);
            (ReadTarget::Last, member_at(&said, rest))
        }
        "last_response" => (ReadTarget::Last, scope.last_agent_response.as_deref().map(Value::from)),
        "last_tool_calls" | "lastToolCalls" => {
            (ReadTarget::Last, member_at(&tool_calls_value(&scope.last_tool_calls), rest))
        }
        "last_parsing_tool_calls" | "lastParsingToolCalls" => {
            (ReadTarget::Last, member_at(&tool_calls_value(&scope.last_parsing_tool_calls), rest))
        }
        "sub_workflow_result" | "subWorkflowResult" => {
            (ReadTarget::Child, scope.sub_workflow_result.as_ref().and_then(|result| member_at(result, rest)))
        }
        "function" => {
            let (name, inside) = rest.split_first()?;
            let made = scope.last_parsing_tool_calls.iter().find(|call| call.name == *name);
            (
                ReadTarget::Decision((*name).to_owned()),
                made.and_then(|made| member_at(&tool_call_value(made), inside)),
            )
        }
        "agents" => {
            let id = rest.first()?;
            let named = resolve_agent_read(id, "getAgent", scope)?;
            (named.read_target, named.value)
        }
        _ => return None,
    })
}

/// `loop`: of a step that repeats others, else of the innermost `foreach`.
fn loop_value(scope: &ScopeView) -> Option<Value> {
    let step = scope.common_data.get(LOOPS).and_then(|loops| loops.as_array()?.last()?["index"].as_u64());
    step.map_or_else(
        || scope.looping.as_ref().map(|facts| (**facts).clone()),
        |index| Some(json!({"index": index, "iteration": index + 1, "is_first": index == 0})),
    )
}

/// `getAgent('coder')` is read for the agent's reply, `getToolCalls('coder')` for its calls.
fn resolve_agent_read(id: &str, root: &str, scope: &ScopeView) -> Option<ResolvedRead> {
    let view = scope.agents.iter().find(|view| view.id == id)?;
    let value = match root {
        "getToolCalls" => tool_calls_value(&view.tool_calls),
        _ => view.last_response.as_deref().map_or(Value::Null, Value::from),
    };
    Some(ResolvedRead {
        path: format!("{root}('{id}')"),
        read_target: ReadTarget::Agent(id.to_owned()),
        value: Some(value),
    })
}

/// The text in quotes behind the first parenthesis.
fn quoted_argument(text: &str) -> Option<String> {
    let (_, inside) = text.split_once('(')?;
    let inside = inside.trim_start();
    let quote = inside.chars().next().filter(|quote| matches!(quote, '\'' | '"' | '`'))?;
    inside[1..].split_once(quote).map(|(id, _)| id.to_owned())
}

fn tool_calls_value(list: &[ToolCall]) -> Value {
    list.iter().map(tool_call_value).collect()
}

fn tool_call_value(one: &ToolCall) -> Value {
    let raw = || Value::String(one.arguments.clone());
    let arguments = serde_json::from_str(&one.arguments).unwrap_or_else(|_| raw());
    Value::Object(Map::from_iter([
        ("name".to_owned(), Value::from(one.name.as_str())),
        ("arguments".to_owned(), arguments),
    ]))
}

fn member_at(value: &Value, path: &[&str]) -> Option<Value> {
    let Some((key, rest)) = path.split_first() else { return Some(value.clone()) };
    match value {
        Value::Object(fields) => member_at(fields.get(*key)?, rest),
        Value::Array(items) if *key == "length" => Some(Value::from(items.len())),
        Value::Array(items) => member_at(items.get(key.parse::<usize>().ok()?)?, rest),
        // as JavaScript counts
        Value::String(text) if *key == "length" => Some(Value::from(text.encode_utf16().count())),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn scope() -> ScopeView {
        let object = |value: Value| Arc::new(value.as_object().cloned().unwrap_or_default());
        let call = |name: &str, arguments: &str| ToolCall {
            id: "c".to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
            original: None,
        };
        ScopeView {
            state: "judge".to_owned(),
            common_data: object(
                json!({"n": 3, "list": ["a", "b"], "deep": {"x": {"y": null}}, "text": "abc"}),
            ),
            inputs: object(json!({"task": "t"})),
            looping: Some(Arc::new(json!({"item": {"id": 7}, "index": 1}))),
            result: Some(json!({"success": false, "result": {"exit_code": 2}})),
            last_agent_response: Some("said".to_owned()),
            last_parsing_tool_calls: vec![call("verdict", "{\"good\": true}")],
            ..ScopeView::default()
        }
    }

    #[test]
    fn what_the_code_names_is_looked_up() {
        type Found<'f> = &'f [(&'f str, Option<Value>)];
        let rows: [(&str, Found<'_>); 17] = [
            ("common_data.n >= 3", &[("common_data.n", Some(json!(3)))]),
            ("this.common_data.deep.x.y", &[("common_data.deep.x.y", Some(Value::Null))]),
            ("() => this.common_data.gone", &[("common_data.gone", None)]),
            ("h => h.common_data.n", &[("common_data.n", Some(json!(3)))]),
            ("(host) => host.inputs.task", &[("inputs.task", Some(json!("t")))]),
            ("common_data.list.includes('a')", &[("common_data.list", Some(json!(["a", "b"])))]),
            (
                "common_data.list.length + common_data.text.length",
                &[("common_data.list.length", Some(json!(2))), ("common_data.text.length", Some(json!(3)))],
            ),
            ("variables.n", &[("variables.n", Some(json!(3)))]),
            ("common_data.variables.n", &[("common_data.variables.n", Some(json!(3)))]),
            (
                "function.verdict.arguments.good === true",
                &[("function.verdict.arguments.good", Some(json!(true)))],
            ),
            ("function.other.arguments.good", &[("function.other.arguments.good", None)]),
            (
                "loop.item.id + loop.index",
                &[("loop.item.id", Some(json!(7))), ("loop.index", Some(json!(1)))],
            ),
            (
                "context.success && context.result.exit_code === 0",
                &[("context.success", Some(json!(false))), ("context.result.exit_code", Some(json!(2)))],
            ),
            (
                "executionContext.state.n && last_agent_response.includes('x')",
                &[("state.n", Some(json!(3))), ("last_agent_response", Some(json!("said")))],
            ),
            ("common_data.n > 1 && common_data.n < 9", &[("common_data.n", Some(json!(3)))]),
            ("'common_data.n' /* inputs.task */ // state", &[]),
            ("Math.max(1, other.common_data)", &[]),
        ];
        for (source, expected) in rows {
            let found: Vec<(String, Option<Value>)> =
                resolve_reads(source, &scope()).into_iter().map(|named| (named.path, named.value)).collect();
            let expected: Vec<(String, Option<Value>)> =
                expected.iter().map(|(path, value)| ((*path).to_owned(), value.clone())).collect();
            assert_eq!(found, expected, "{source}");
        }
    }
}
