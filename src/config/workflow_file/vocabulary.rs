//! Which keys the reader of workflow files takes, by object: for the schema, which explains exactly these.

use super::keys::{
    ACTION, AGENT, CONTEXT, INPUT, Keys, LIMITS, MESSAGE, PARAMETER, STATE, TRANSITION, WORKFLOW,
};

const OBJECTS: &[(&str, &Keys)] = &[
    ("workflow", &WORKFLOW),
    ("parameter", &PARAMETER),
    ("limits", &LIMITS),
    ("context", &CONTEXT),
    ("message", &MESSAGE),
    ("agent", &AGENT),
    ("state", &STATE),
    ("action", &ACTION),
    ("transition", &TRANSITION),
    ("input", &INPUT),
];

/// The keys of an object that are read; none if there is no such object.
pub const fn known(object: &str) -> &'static [&'static str] {
    let mut at = 0;
    while at < OBJECTS.len() {
        if same(OBJECTS[at].0, object) {
            return OBJECTS[at].1.known;
        }
        at += 1;
    }
    &[]
}

/// The names of all objects.
pub fn objects() -> impl Iterator<Item = &'static str> {
    OBJECTS.iter().map(|(name, _)| *name)
}

const fn same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}
