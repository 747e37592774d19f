//! A tool of a user or a project: tools/NAME.json.

use serde_json::{Value, json};

use super::shape::with_description;

pub(super) fn own_tool_root() -> Value {
    let network = json!({"type": "string", "enum": ["on", "ask", "off"]});
    let risk = json!({"type": "string", "enum": ["read", "write", "execute"]});
    let seconds = json!({"type": "integer", "minimum": 1, "maximum": 3600});
    let ports = json!({
        "type": "array", "maxItems": 16, "uniqueItems": true,
        "items": {"type": "integer", "minimum": 1024, "maximum": 65535}
    });
    let paths = json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]});
    let sandbox = json!({
        "type": "object",
        "properties": {
            "ports": with_description(ports, "Ports of this machine that its command reaches although the network is off."),
            "writable": with_description(paths.clone(), "Paths that its command may write besides; only of a tool of your own."),
            "readable": with_description(paths, "Hidden paths that its command may read; only of a tool of your own.")
        },
        "patternProperties": {"^x_": true},
        "additionalProperties": false
    });
    json!({
        "type": "object",
        "properties": {
            "$schema": {"type": "string"},
            "description": {"type": "string", "description": "What models are told of it: what it does, and an example."},
            "parameters": {"type": "object", "description": "JSON Schema of its arguments: an object."},
            "command": {
                "type": "array", "items": {"type": "string"}, "minItems": 1,
                "description": "A program and its arguments. It gets the arguments of the call as JSON on its standard input."
            },
            "timeout_seconds": with_description(seconds, "It is stopped after so many seconds. Default: tools.terminal_timeout_seconds."),
            "risk": with_description(risk, "How approvals treat it. Default: execute; always that for tools of a project."),
            "network": with_description(network, "Whether its command reaches the network. Default: sandbox.network; of a project's tool the stricter counts."),
            "sandbox": with_description(sandbox, "What its command needs of the sandbox besides.")
        },
        "required": ["description", "parameters", "command"],
        "patternProperties": {"^x_": true},
        "additionalProperties": false
    })
}
