//! A workflow file, as its declarations have it.

use super::shape::{SchemaDefinition, SchemaTaggedUnion};
use synthdev_language::workflow_file::declared_keys::{OBJECTS, REWRITTEN_OBJECTS, state_types, step_types};

pub(super) fn workflow_definitions() -> Vec<SchemaDefinition> {
    let states = SchemaTaggedUnion {
        name: "state",
        description: "A state: what happens in it, and where to go from there.",
        types: state_types().collect(),
    };
    let steps = SchemaTaggedUnion {
        name: "step",
        description: "A step: one thing that is done, before the next one.",
        types: step_types().collect(),
    };
    let objects = OBJECTS.into_iter().chain(REWRITTEN_OBJECTS).map(SchemaDefinition::from);
    objects.chain(states.definitions()).chain(steps.definitions()).collect()
}
