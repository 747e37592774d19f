//! Which keys the reader of workflow files takes, by object: for the schema, which explains exactly these.

use super::keys::{
    ACTION, AGENT, BRANCH, BUDGET, CAP, CATCH, CONTEXT, INPUT, LIMITS, MESSAGE, OUTPUT, ObjectKeys,
    PARAMETER, PLAIN_STATE, REQUEST, RETRY, SANDBOX, SECRET, STATE_TYPES, TRANSITION, UPDATE, USE, USED_TOOL,
    WORKFLOW,
};

const OBJECTS: [(&str, &ObjectKeys); 21] = [
    ("workflow", &WORKFLOW),
    ("parameter", &PARAMETER),
    ("limits", &LIMITS),
    ("workflow_sandbox", &SANDBOX),
    ("budget", &BUDGET),
    ("cap", &CAP),
    ("use", &USE),
    ("used_tool", &USED_TOOL),
    ("context", &CONTEXT),
    ("message", &MESSAGE),
    ("agent", &AGENT),
    ("action", &ACTION),
    ("transition", &TRANSITION),
    ("input", &INPUT),
    ("branch", &BRANCH),
    ("retry", &RETRY),
    ("catch", &CATCH),
    ("stored", &OUTPUT),
    ("request", &REQUEST),
    ("secret", &SECRET),
    ("update", &UPDATE),
];

/// The keys of an object that are read; none if there is no such object.
pub fn keys_of_object(object: &str) -> &'static [&'static str] {
    OBJECTS.iter().find(|(name, _)| *name == object).map_or(&[], |(_, keys)| keys.known_keys)
}

/// The names of all objects whose keys do not depend on a `type`.
pub fn known_objects() -> impl Iterator<Item = &'static str> {
    OBJECTS.iter().map(|(name, _)| *name)
}

/// Every `type` of a state with the keys that are read then; `""` is a state without a `type`.
pub fn known_states() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    std::iter::once(&PLAIN_STATE).chain(&STATE_TYPES).map(|kind| (kind.word, kind.known_keys().collect()))
}

/// Every `type` of a step with the keys that are read then.
pub fn known_steps() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    super::steps::step_kinds()
}
