//! Which keys the reader of workflow files takes, by object: for the schema, which explains exactly these.

use super::keys::{
    ACTION, AGENT, BRANCH, BUDGET, CAP, CATCH, CONTEXT, INPUT, Keys, LIMITS, MESSAGE, OUTPUT, PARAMETER,
    REQUEST, RETRY, STATE, TRANSITION, USE, WORKFLOW, same,
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
    ("branch", &BRANCH),
    ("retry", &RETRY),
    ("catch", &CATCH),
    ("budget", &BUDGET),
    ("cap", &CAP),
    ("use", &USE),
    ("stored", &OUTPUT),
    ("delegated", &REQUEST),
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
