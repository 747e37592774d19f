//! The object of limits: how far a run may go.

use super::super::json::JsonNode;
use super::super::key_declaration::ValueShape::Count;
use super::super::key_declaration::{ObjectDeclaration, declared_key};
use super::super::source::FileDiagnostics;
use super::fields::{check_object, read_count};
use synthdev_domain::workflow::{DeclaredLimits, WorkflowLimits};

pub(super) const LIMITS: ObjectDeclaration = ObjectDeclaration {
    name: "limits",
    noun: "`limits`",
    description: "How far a run may go. Reaching a limit pauses the run, or leads to `on_limit`; nothing is lost.",
    keys: &[
        declared_key("max_steps")
            .with_value(Count, "States visited; each branch and each item counts its own. Default: 200."),
        declared_key("max_visits").with_value(
            Count,
            "Visits of each state. Default: 25, or `variables.max_iterations` if no script reads it.",
        ),
        declared_key("max_depth").with_value(Count, "Workflows and branches inside each other. Default: 8."),
        declared_key("max_model_calls").with_value(Count, "Model calls of the whole run. Default: no limit."),
        declared_key("max_tool_rounds")
            .with_value(Count, "Rounds of tools in one visit of an agent. Default: 25."),
        declared_key("max_concurrency")
            .with_value(Count, "Branches and items at the same time. Default: 10."),
    ],
    future_keys: &[],
};

/// Limits as written; what is absent has a default.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LimitsForm {
    pub max_steps: Option<u32>,
    pub max_visits: Option<u32>,
    pub max_depth: Option<u32>,
    pub max_model_calls: Option<u32>,
    /// Of agents that do not say it themselves.
    pub max_tool_rounds: Option<u32>,
    pub max_concurrency: Option<u32>,
}

impl LimitsForm {
    /// With defaults; `counted_visits` are those that the workflow's own data counts.
    pub fn workflow_limits(&self, counted_visits: Option<u32>) -> WorkflowLimits {
        let default = WorkflowLimits::default();
        let max_visits = self.max_visits.or(counted_visits);
        WorkflowLimits {
            declared: DeclaredLimits { steps: self.max_steps.is_some(), visits: max_visits.is_some() },
            max_steps: self.max_steps.unwrap_or(default.max_steps),
            max_visits: max_visits.unwrap_or(default.max_visits),
            max_depth: self.max_depth.unwrap_or(default.max_depth),
            max_model_calls: self.max_model_calls,
            max_concurrency: self.max_concurrency.unwrap_or(default.max_concurrency),
        }
    }
}

pub(super) fn read_limits(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> LimitsForm {
    let Some(value) = node.get("limits") else { return LimitsForm::default() };
    if check_object(value, &LIMITS, findings).is_none() {
        return LimitsForm::default();
    }
    LimitsForm {
        max_steps: read_count(value, "max_steps", findings),
        max_visits: read_count(value, "max_visits", findings),
        max_depth: read_count(value, "max_depth", findings),
        max_model_calls: read_count(value, "max_model_calls", findings),
        max_tool_rounds: read_count(value, "max_tool_rounds", findings),
        max_concurrency: read_count(value, "max_concurrency", findings),
    }
}
