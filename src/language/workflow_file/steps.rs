//! Step-list workflows: `steps` instead of `states`.
//!
//! A list of steps is rewritten as a list of states before it is read, so that there is one engine, one checker, one
//! drawing. A step becomes a state of its `id` (or `step_3`), followed by the steps inside it; what a loop needs in
//! addition is named after it (`poll.again`). Each piece keeps the position of the step that it was made from. Keys
//! that every state may have (`retry`, `catch`, `timeout`, …) are passed on unchanged.

mod action_steps;
mod json_nodes;
mod keys;
mod loops;
mod lowering;
mod visible_state;

use super::super::json::{JsonMember, JsonNode, JsonNodeKind};
use super::super::source::FileDiagnostics;
use lowering::{StepListScope, StepLowering};

pub(super) use keys::{STEP_BRANCH, STEP_TYPES};

/// Visits of states that a list of steps may need; beyond this a limit of its own has to be set.
const MOST_STEPS: u64 = 1_000_000;
/// What every workflow may use.
const USUAL_STEPS: u64 = 200;

/// The workflow with `states`, if it is written as `steps`.
pub(super) fn lower_steps(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Option<JsonNode> {
    let steps = node.members()?.iter().find(|member| member.key == "steps")?;
    if let Some(states) = node.members()?.iter().find(|member| member.key == "states") {
        let hint = "a workflow is written as `steps` or as `states`";
        findings.add_error(
            "E12",
            states.key_span.clone(),
            "`states` stands beside `steps`",
            Some(hint.to_owned()),
        );
    }
    let mut flow = StepLowering::new(findings);
    let states = flow.lower_body(&steps.value, StepListScope::root_scope());
    let needed = flow.count_visits(&states).max(flow.largest_body);
    let kept =
        node.members()?.iter().filter(|member| !["steps", "states", "limits"].contains(&member.key.as_str()));
    let mut members: Vec<JsonMember> = kept.cloned().collect();
    members.push(JsonMember {
        key: "states".to_owned(),
        key_span: steps.key_span.clone(),
        value: json_nodes::list_node(states, &steps.value.span),
    });
    members.push(raise_step_limit(node, needed, steps));
    Some(JsonNode { span: node.span.clone(), kind: JsonNodeKind::Object(members) })
}

/// Loops say themselves how often they turn: `limits.max_steps` makes room for all of that unless the file sets it.
fn raise_step_limit(node: &JsonNode, needed: u64, steps: &JsonMember) -> JsonMember {
    let most = needed.clamp(USUAL_STEPS, MOST_STEPS);
    let value = u32::try_from(most).unwrap_or(u32::MAX);
    let own = node.members().into_iter().flatten().find(|member| member.key == "limits");
    match own {
        None => {
            let span = &steps.key_span;
            let limit = json_nodes::json_member("max_steps", json_nodes::number_node(value, span));
            json_nodes::json_member("limits", json_nodes::object_node(vec![limit], span))
        }
        Some(own) => {
            let mut own = own.clone();
            if let JsonNodeKind::Object(members) = &mut own.value.kind
                && members.iter().all(|member| member.key != "max_steps")
            {
                members.push(json_nodes::json_member(
                    "max_steps",
                    json_nodes::number_node(value, &own.key_span),
                ));
            }
            own
        }
    }
}

#[cfg(test)]
#[expect(clippy::too_many_lines, reason = "one table of steps")]
mod tests;
