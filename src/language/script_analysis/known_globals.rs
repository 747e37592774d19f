//! The names that a script may use: the host's and the language's. No I/O, timers or promises among them.

use synthdev_domain::script::HOST_NAMES;

/// The language's own, and `console`, which is a global of the host.
const LANGUAGE: [&str; 56] = [
    "console",
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
    HOST_NAMES.into_iter().chain(LANGUAGE).filter(|name| !name.starts_with("__"))
}
