//! Every declaration of the language: for the schema and the reference page, which explain what the readers take.

use super::action_form::ACTION;
use super::agent::AGENT;
use super::context::{CONTEXT, MESSAGE};
use super::definitions::{USE, USED_TOOL};
use super::inputs::{INPUT, SECRET};
use super::limits::LIMITS;
use super::nested_states::BRANCH;
use super::parameter::PARAMETER;
use super::pauses::REQUEST;
use super::ports::SANDBOX;
use super::recovery_forms::{BUDGET, CAP, CATCH, OUTPUT, RETRY};
use super::set_state::UPDATE;
use super::states::{PLAIN_STATE, STATE_TYPES};
use super::steps::{STEP_BRANCH, STEP_TYPES};
use super::transition::TRANSITION;
use super::workflow_object::WORKFLOW;
use crate::key_declaration::{ObjectDeclaration, TypeDeclaration};

/// The objects of a workflow file whose keys do not depend on a `type`.
pub const OBJECTS: [&ObjectDeclaration; 21] = [
    &WORKFLOW,
    &PARAMETER,
    &LIMITS,
    &SANDBOX,
    &BUDGET,
    &CAP,
    &USE,
    &USED_TOOL,
    &CONTEXT,
    &MESSAGE,
    &AGENT,
    &INPUT,
    &SECRET,
    &RETRY,
    &CATCH,
    &ACTION,
    &TRANSITION,
    &BRANCH,
    &OUTPUT,
    &REQUEST,
    &UPDATE,
];

/// Objects that are rewritten as others before they are read.
pub const REWRITTEN_OBJECTS: [&ObjectDeclaration; 1] = [&STEP_BRANCH];

/// The types of states; the first is that of a state without a `type`.
pub fn state_types() -> impl Iterator<Item = &'static TypeDeclaration> {
    std::iter::once(&PLAIN_STATE).chain(&STATE_TYPES)
}

pub fn step_types() -> impl Iterator<Item = &'static TypeDeclaration> {
    STEP_TYPES.iter()
}
