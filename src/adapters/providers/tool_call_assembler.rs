//! Puts tool calls together that arrive in pieces, whatever a server leaves out.
//!
//! Seen in the wild: no index; index 0 for every call; the id or the name repeated in each piece; arguments as an
//! object; no id at all; one id for two calls; `type: ""`. Bad JSON in arguments is kept: it is answered
//! with an error for the model to read.

use serde_json::Value;

use synthdev_domain::message::ToolCall;
use synthdev_domain::model::ModelError;

#[derive(Default, Debug)]
pub struct ToolCallAssembler {
    list: Vec<PartialToolCall>,
}

#[derive(Default, Debug)]
struct PartialToolCall {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl ToolCallAssembler {
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// How many have begun.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Bytes of names and arguments, for an estimate of tokens.
    pub fn bytes(&self) -> usize {
        self.list.iter().map(|call| call.name.len() + call.arguments.len()).sum()
    }

    /// The arguments of the newest one, as far as they have come.
    pub fn newest_arguments(&self) -> &str {
        self.list.last().map_or("", |call| &call.arguments)
    }

    /// Takes one element of `tool_calls`.
    pub fn absorb_piece(&mut self, piece: &Value) {
        let function = piece.get("function").unwrap_or(piece);
        let text = |value: Option<&Value>| match value {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        let id = text(piece.get("id"));
        let name = text(function.get("name"));
        let index = match piece.get("index") {
            Some(Value::String(text)) => text.parse().ok(),
            Some(value) => value.as_u64(),
            None => None,
        };
        let at = self.place_piece(index, &id, &name);
        let call = &mut self.list[at];
        if call.id.is_empty() {
            call.id = id;
        }
        if call.name.is_empty() {
            call.name = name;
        }
        match function.get("arguments") {
            Some(Value::String(text)) => call.arguments.push_str(text),
            None | Some(Value::Null) => {}
            Some(value) => call.arguments = value.to_string(),
        }
    }

    /// Sets the arguments of an index's newest call, whatever pieces arrived before.
    pub fn set_arguments(&mut self, index: u64, arguments: &str) {
        if let Some(call) = self.list.iter_mut().rev().find(|call| call.index == Some(index)) {
            arguments.clone_into(&mut call.arguments);
        }
    }

    /// The finished calls. `message_count` makes ids that the server forgot differ from those of other turns.
    ///
    /// # Errors
    /// A call of no function.
    pub fn finish_calls(self, message_count: usize) -> Result<Vec<ToolCall>, ModelError> {
        let mut calls: Vec<ToolCall> = Vec::with_capacity(self.list.len());
        for (number, piece) in self.list.into_iter().enumerate() {
            if piece.name.trim().is_empty() {
                return Err(ModelError::Protocol {
                    detail: "the model asked for a tool call without naming the tool".to_owned(),
                });
            }
            let mut id = piece.id;
            if id.is_empty() || calls.iter().any(|call| call.id == id) {
                id = format!("call_{message_count}_{number}");
            }
            let empty = piece.arguments.trim().is_empty();
            let arguments = if empty { "{}".to_owned() } else { piece.arguments };
            calls.push(ToolCall { id, name: piece.name.trim().to_owned(), arguments, original: None });
        }
        Ok(calls)
    }

    /// The call that a piece belongs to; a new one where it starts one.
    fn place_piece(&mut self, index: Option<u64>, id: &str, name: &str) -> usize {
        let found = match index {
            Some(_) => self
                .list
                .iter()
                .rposition(|call| call.index == index)
                .filter(|at| self.continues_call(*at, id, name)),
            None if !id.is_empty() => self.list.iter().position(|call| call.id == id),
            None if name.is_empty() => self.list.len().checked_sub(1),
            None => None,
        };
        found.unwrap_or_else(|| {
            self.list.push(PartialToolCall { index, ..PartialToolCall::default() });
            self.list.len() - 1
        })
    }

    /// One index with a new id and a name of its own is another call.
    fn continues_call(&self, at: usize, id: &str, name: &str) -> bool {
        let call = &self.list[at];
        id.is_empty() || name.is_empty() || call.id.is_empty() || call.id == id
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pieces_of_every_dialect_become_calls() {
        let rows = [
            (
                "by the book",
                json!([
                    {"index": 0, "id": "a", "type": "function", "function": {"name": "read", "arguments": ""}},
                    {"index": 0, "function": {"arguments": "{\"p\""}},
                    {"index": 0, "function": {"arguments": ":1}"}},
                    {"index": 1, "id": "b", "function": {"name": "list", "arguments": "{}"}},
                ]),
                vec![("a", "read", "{\"p\":1}"), ("b", "list", "{}")],
            ),
            (
                "no index, id repeated, empty type",
                json!([
                    {"id": "a", "type": "", "function": {"name": "read", "arguments": "{\"p\""}},
                    {"id": "a", "type": "", "function": {"name": "read", "arguments": ":1}"}},
                    {"id": "b", "function": {"name": "list", "arguments": {"q": 2}}},
                ]),
                vec![("a", "read", "{\"p\":1}"), ("b", "list", "{\"q\":2}")],
            ),
            (
                "index 0 for every call",
                json!([
                    {"index": 0, "id": "a", "function": {"name": "read", "arguments": "{}"}},
                    {"index": 0, "id": "b", "function": {"name": "list", "arguments": "{}"}},
                    {"index": 0, "id": "b", "function": {"name": "list", "arguments": null}},
                ]),
                vec![("a", "read", "{}"), ("b", "list", "{}")],
            ),
            (
                "no ids, no arguments, no function wrapper",
                json!([
                    {"function": {"name": "read"}},
                    {"id": null, "name": "list", "arguments": ""},
                    {"function": {"arguments": "{\"z\":1}"}},
                ]),
                vec![("call_7_0", "read", "{}"), ("call_7_1", "list", "{\"z\":1}")],
            ),
            (
                "one id for two calls, index as text, bad JSON kept",
                json!([
                    {"index": "0", "id": "x", "function": {"name": "read", "arguments": "{bad"}},
                    {"index": "1", "id": "x", "function": {"name": "read", "arguments": "[]"}},
                ]),
                vec![("x", "read", "{bad"), ("call_7_1", "read", "[]")],
            ),
        ];
        for (title, pieces, expected) in rows {
            let mut calls = ToolCallAssembler::default();
            for piece in pieces.as_array().unwrap() {
                calls.absorb_piece(piece);
            }
            let calls = calls.finish_calls(7).unwrap();
            let found: Vec<_> =
                calls.iter().map(|c| (c.id.as_str(), c.name.as_str(), c.arguments.as_str())).collect();
            assert_eq!(found, expected, "{title}");
        }
    }

    #[test]
    fn a_call_of_nothing_is_an_error() {
        let mut calls = ToolCallAssembler::default();
        calls.absorb_piece(&json!({"index": 0, "function": {"arguments": "{}"}}));
        assert_eq!(calls.finish_calls(0).unwrap_err().code(), "model.protocol");
    }
}
