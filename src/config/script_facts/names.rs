//! The names that a script may use: the host's and the language's. No I/O, timers or promises among them (A56).

/// In scope by name and as members of `this` (A5; FSM-8).
pub const HOST_NAMES: [&str; 16] = [
    "common_data",
    "variables",
    "agents",
    "contexts",
    "sub_workflow_result",
    "last_agent_response",
    "last_tool_calls",
    "last_parsing_tool_calls",
    "getAgent",
    "getContext",
    "getToolCalls",
    "evaluateExpression",
    "context",
    "executionContext",
    "console",
    "__call",
];

const LANGUAGE: [&str; 55] = [
    "AggregateError",
    "Array",
    "ArrayBuffer",
    "BigInt",
    "BigInt64Array",
    "BigUint64Array",
    "Boolean",
    "DataView",
    "Date",
    "Error",
    "EvalError",
    "Float32Array",
    "Float64Array",
    "Infinity",
    "Int16Array",
    "Int32Array",
    "Int8Array",
    "Iterator",
    "JSON",
    "Map",
    "Math",
    "NaN",
    "Number",
    "Object",
    "Proxy",
    "RangeError",
    "ReferenceError",
    "Reflect",
    "RegExp",
    "Set",
    "String",
    "Symbol",
    "SyntaxError",
    "TypeError",
    "URIError",
    "Uint16Array",
    "Uint32Array",
    "Uint8Array",
    "Uint8ClampedArray",
    "WeakMap",
    "WeakSet",
    "arguments",
    "atob",
    "btoa",
    "decodeURI",
    "decodeURIComponent",
    "encodeURI",
    "encodeURIComponent",
    "escape",
    "isFinite",
    "isNaN",
    "parseFloat",
    "parseInt",
    "undefined",
    "unescape",
];

/// Whether a free identifier of this name means something when a script runs.
pub fn is_known(name: &str) -> bool {
    HOST_NAMES.contains(&name) || LANGUAGE.contains(&name)
}

/// For "did you mean": everything but what is ours alone.
pub fn known_names() -> impl Iterator<Item = &'static str> {
    HOST_NAMES.into_iter().chain(LANGUAGE).filter(|name| *name != "__call")
}
