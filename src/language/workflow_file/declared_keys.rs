//! The list of all declared keys of a workflow file, for the schema and the reference page. A key that you know is found
//! by a search for its declaration: `grep -rn 'declared_key("NAME")' src/language/workflow_file/`, with the name of your key. An object's keys
//! stand in a table in the file of its reader:
//!
//! | keys of | are declared in |
//! | --- | --- |
//! | the workflow; its limits, sandbox, requirements, `use` | `workflow_object.rs`; `limits.rs`, `ports.rs`, `requirements.rs`, `definitions.rs` |
//! | a parameter, a context, an agent | `parameter.rs`, `context.rs`, `agent.rs` |
//! | every state: name, type, action, agent, input, handlers, transitions, output, retry, catch, fallback, on_error, timeout, budget, max_visits, on_limit | `state_form.rs` (`on_error` of `parallel`: `parallel_form.rs`) |
//! | one type of state (`STATE_TYPES` in `states.rs` says which tables a type has) | `for_each_form.rs`, `parallel_form.rs`; `pause`, `delegate`, `wait`, `fail`: `pauses.rs`; `final`: `states.rs`; `tool`, `mcp`, `shell`, `http`: `actions.rs` |
//! | a state's action, a value that it sets | `action_form.rs`, `set_state.rs` |
//! | an input or a secret | `inputs.rs` |
//! | inside a retry rule, a catch rule, a budget, its cap, an output | `recovery_forms.rs` |
//! | a transition; a branch or a loop's body | `transition.rs`; `nested_states.rs` |
//! | a step of `steps` | `steps/keys.rs` |

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
use super::requirements::REQUIREMENTS;
use super::set_state::UPDATE;
use super::states::{PLAIN_STATE, STATE_TYPES};
use super::steps::{STEP_BRANCH, STEP_TYPES};
use super::transition::TRANSITION;
use super::workflow_object::WORKFLOW;
use crate::key_declaration::{ObjectDeclaration, TypeDeclaration};

/// The objects of a workflow file whose keys do not depend on a `type`.
pub const OBJECTS: [&ObjectDeclaration; 22] = [
    &WORKFLOW,
    &PARAMETER,
    &LIMITS,
    &SANDBOX,
    &REQUIREMENTS,
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
