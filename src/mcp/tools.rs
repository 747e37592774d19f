//! The tools that clients are offered: one for each workflow, and those that look after runs.

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::backend::OfferedWorkflow;
use super::steps::MOST_STEPS;
use super::tool_schema::{input_schema, object_schema, tool_name};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SystemTool {
    ListWorkflows,
    StartWorkflow,
    ResumeWorkflow,
    ContinueWorkflow,
    GetWorkflowStatus,
    PauseWorkflow,
    CancelWorkflow,
    ListRuns,
    AgentLlm,
    GetNextStep,
    SubmitStepResult,
    GetWorkflowState,
    CheckpointWorkflow,
    RestoreWorkflow,
}

impl SystemTool {
    pub(super) const ALL: [Self; 14] = [
        Self::ListWorkflows,
        Self::StartWorkflow,
        Self::ResumeWorkflow,
        Self::ContinueWorkflow,
        Self::GetWorkflowStatus,
        Self::PauseWorkflow,
        Self::CancelWorkflow,
        Self::ListRuns,
        Self::AgentLlm,
        Self::GetNextStep,
        Self::SubmitStepResult,
        Self::GetWorkflowState,
        Self::CheckpointWorkflow,
        Self::RestoreWorkflow,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::ListWorkflows => "list_workflows",
            Self::StartWorkflow => "start_workflow",
            Self::ResumeWorkflow => "resume_workflow",
            Self::GetWorkflowStatus => "get_workflow_status",
            Self::PauseWorkflow => "pause_workflow",
            Self::CancelWorkflow => "cancel_workflow",
            Self::ContinueWorkflow => "continue_workflow",
            Self::AgentLlm => "agent_llm",
            Self::GetNextStep => "get_next_step",
            Self::SubmitStepResult => "submit_step_result",
            Self::GetWorkflowState => "get_workflow_state",
            Self::CheckpointWorkflow => "checkpoint_workflow",
            Self::RestoreWorkflow => "restore_workflow",
            Self::ListRuns => "list_runs",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::ListWorkflows => {
                "List the workflows of this project with their inputs, and the broken ones with the reason"
            }
            Self::StartWorkflow => {
                "Start a workflow by its name. With \"wait\": false it returns at once with a workflowId \
                    for get_workflow_status: use this for workflows that run longer than your request timeout"
            }
            Self::ResumeWorkflow => "Resume a paused workflow with results from LLM task",
            Self::GetWorkflowStatus => {
                "Get the status of a workflow that was started; if it waits, also what it waits for and \
                    its resumeToken"
            }
            Self::ContinueWorkflow => {
                "Continue a workflow that was paused or interrupted, or retry the step in which it failed"
            }
            Self::AgentLlm => {
                "Submit the reply of the LLM call that a workflow requested (pending_agent_llm_action), \
                    or the error of that call"
            }
            Self::GetNextStep => {
                "For sub-agents: get the next step of your task. It returns the same step until you \
                    submit its result"
            }
            Self::SubmitStepResult => {
                "For sub-agents: submit the result of the step that get_next_step returned"
            }
            Self::GetWorkflowState => {
                "For sub-agents and the agents that start them: get the state of a task, for debugging"
            }
            Self::CheckpointWorkflow => {
                "For sub-agents and the agents that start them: save the state of a task before its next step"
            }
            Self::RestoreWorkflow => {
                "For sub-agents and the agents that start them: restore a task to a checkpoint; files do \
                    not change"
            }
            Self::PauseWorkflow => {
                "Pause a running workflow, here or in another process: calls in progress finish first"
            }
            Self::CancelWorkflow => "Cancel a workflow that runs or waits",
            Self::ListRuns => "List the workflow runs of this project, newest first",
        }
    }

    fn schema(self) -> (Value, &'static [&'static str]) {
        let id = json!({"workflowId": {"type": "string", "description": "The workflowId that the start \
                returned"}});
        match self {
            Self::ListWorkflows => (json!({}), &[]),
            Self::StartWorkflow => start_tool_schema(),
            // a fixed text that clients rely on; `stepData` is accepted, too, but is not documented
            Self::ResumeWorkflow => (
                json!({
                    "resumeToken": {"type": "string", "description": "Token from previous workflow response"},
                    "results": {"type": "object", "description": "Results from executing the LLM task, by the names of requiredOutputs"},
                }),
                &["resumeToken", "results"],
            ),
            Self::GetWorkflowStatus => {
                let mut properties = id;
                properties["wait"] = json!({"type": "boolean", "default": false,
                    "description": "Return only when the workflow has ended, waits for you, or has new \
                        tasks for sub-agents"});
                (properties, &["workflowId"])
            }
            Self::PauseWorkflow | Self::CancelWorkflow => (id, &["workflowId"]),
            Self::ContinueWorkflow => (continue_properties(id), &["workflowId"]),
            Self::GetNextStep
            | Self::SubmitStepResult
            | Self::GetWorkflowState
            | Self::CheckpointWorkflow
            | Self::RestoreWorkflow => self.sub_agent_tool_schema(),
            Self::AgentLlm => (
                json!({
                    "interactionId": {"type": "string", "description": "The id of the pending interaction"},
                    "agentLLMResponse": {
                        "type": "object",
                        "description": "{\"status\": \"success\", \"data\": {\"text\" or \"object\" or \"toolCalls\": [{\"name\", \"arguments\": {…}}], \"usage\"}} or {\"status\": \"error\", \"errorDetails\": {\"message\", \"type\"}}",
                        "properties": {
                            "status": {"type": "string", "enum": ["success", "error"]},
                            "data": {"description": "The reply, if the call succeeded"},
                            "errorDetails": {"type": "object", "description": "The error, if the call \
                                failed"},
                        },
                        "required": ["status"],
                    },
                    "projectRoot": {"type": "string", "description": "The project's directory; if given, \
                        it must be the one of this server"},
                }),
                &["interactionId", "agentLLMResponse"],
            ),
            Self::ListRuns => (
                json!({
                    "status": {"type": "string",
                               "enum": ["running", "paused", "completed", "failed", "cancelled", "interrupted"]},
                    "workflow": {"type": "string", "description": "Only runs of this workflow"},
                    "words": {"type": "string", "description": "A part of the id, the workflow's name or the input"},
                    "limit": {"type": "integer", "minimum": 1, "maximum": 200, "default": 20},
                }),
                &[],
            ),
        }
    }

    fn sub_agent_tool_schema(self) -> (Value, &'static [&'static str]) {
        let mut properties =
            json!({"workflow_id": {"type": "string", "description": "The workflow id of your task"}});
        if self == Self::GetWorkflowState {
            return (properties, &["workflow_id"]);
        }
        if matches!(self, Self::CheckpointWorkflow | Self::RestoreWorkflow) {
            properties["checkpoint"] = json!({"type": "string", "maxLength": 64,
                "description": "The checkpoint's name; the default for a new checkpoint is checkpoint-1, \
                    checkpoint-2 …"});
            let named = self == Self::RestoreWorkflow;
            return (properties, if named { &["workflow_id", "checkpoint"] } else { &["workflow_id"] });
        }
        properties["worker_id"] = json!({"type": "string",
            "description": "If several sub-agents share a task: your name, the same in every call"});
        properties["max_steps"] = json!({"type": "integer", "minimum": 1, "maximum": MOST_STEPS, "default": 1,
            "description": MAX_STEPS});
        if self == Self::GetNextStep {
            return (properties, &["workflow_id"]);
        }
        properties["further_results"] = further_results();
        properties["step_id"] = json!({"type": "string", "description": "The step_id of that step"});
        properties["result"] = json!({"description": "The fields that the type of the step requires: \
            shell {stdout, stderr, exit_code}; mcp_call {data} or {error}; prompt {confirmed}, {input} or \
            {choice}; llm_call {text}, {object} or {toolCalls: [{name, arguments}]}; delegate the required outputs"});
        properties["expected_version"] = json!({"type": "integer", "minimum": 0,
            "description": "The state_version that came with the step, to be refused if something was done meanwhile"});
        properties["next"] = json!({"type": "boolean", "default": false,
            "description": "Answer with the next step, too, as get_next_step would: half as many calls"});
        (properties, &["workflow_id", "step_id", "result"])
    }

    fn annotations(self) -> ToolAnnotations {
        let hints = ToolAnnotations::new();
        match self {
            Self::ListWorkflows | Self::ListRuns | Self::GetWorkflowStatus | Self::GetWorkflowState => {
                hints.read_only(true).open_world(false)
            }
            Self::CancelWorkflow | Self::RestoreWorkflow => {
                hints.read_only(false).destructive(true).open_world(false)
            }
            Self::CheckpointWorkflow | Self::PauseWorkflow => {
                hints.read_only(false).destructive(false).open_world(false)
            }
            Self::GetNextStep | Self::SubmitStepResult => hints.read_only(false).idempotent(true),
            Self::StartWorkflow | Self::ResumeWorkflow | Self::ContinueWorkflow | Self::AgentLlm => {
                hints.read_only(false)
            }
        }
    }

    fn tool(self) -> Tool {
        let (properties, required) = self.schema();
        let mut schema = object_schema(properties, required);
        if self == Self::ResumeWorkflow {
            schema.remove("additionalProperties");
        }
        let mut tool = Tool::new(self.name(), self.description(), schema);
        tool.annotations = Some(self.annotations());
        tool
    }
}

const MAX_STEPS: &str = "So many steps at most, if several of one type are ready: the others come as `further_steps`, in the \
    order in which to do them. Needs a worker_id, except for set_state and return. Of submit_step_result: with `next`";

/// Of a server that lets clients decide: more of a limit.
fn continue_properties(mut properties: Value) -> Value {
    properties["pastLimits"] = json!({"type": "boolean", "default": false,
        "description": "Past the limits and budgets that it has reached, with as much again of each; only where the \
            server was started with --remote-approvals"});
    properties["budget"] = json!({"type": "number", "exclusiveMinimum": 0,
        "description": "So much more of the budget that it has used up: dollars, tokens or seconds; likewise"});
    properties
}

fn further_results() -> Value {
    let item = json!({
        "step_id": {"type": "string", "description": "The step_id of one of `further_steps`"},
        "result": {"description": "Its result"},
    });
    json!({
        "type": "array",
        "maxItems": MOST_STEPS - 1,
        "items": object_schema(item, &["step_id", "result"]),
        "description": "Results of further steps, each taken or refused on its own; the answer has `further_results`, too",
    })
}

fn start_tool_schema() -> (Value, &'static [&'static str]) {
    (
        json!({
            "name": {"type": "string", "description": "The workflow's name, as list_workflows has it"},
            "inputs": {"type": "object", "description": "Its inputs by name"},
            "wait": {"type": "boolean", "default": true,
                     "description": "Answer when it has completed, failed or paused; false: at once"},
            "agent": {"type": "string", "enum": ["@task"],
                      "description": "@task: a sub-agent does the whole workflow, step by step"},
            "ack_steps": {"type": "boolean", "default": false,
                          "description": "Sub-agents are told of set_state and return, too, and acknowledge them"},
            "files": {"type": "string", "enum": ["alone", "wait", "share", "isolate"], "default": "alone",
                      "description": "While another run changes the project's files. alone: refuse the start; wait: wait before the first change; share: change the same files; isolate: work in a git worktree"},
        }),
        &["name"],
    )
}

pub(super) fn all_tools(offered: &[OfferedWorkflow]) -> Vec<Tool> {
    let workflows = tool_names(offered).into_iter().zip(offered).map(|(name, one)| {
        let about = if one.description.is_empty() {
            format!("The workflow {}", one.name)
        } else {
            one.description.clone()
        };
        Tool::new(name, about, input_schema(&one.inputs)).with_title(one.name.clone())
    });
    SystemTool::ALL.into_iter().map(SystemTool::tool).chain(workflows).collect()
}

/// The names of the workflows' tools, in the same order.
pub(super) fn tool_names(offered: &[OfferedWorkflow]) -> Vec<String> {
    let mut taken: Vec<String> = SystemTool::ALL.iter().map(|tool| tool.name().to_owned()).collect();
    for one in offered {
        let name = tool_name(&one.name, &taken);
        taken.push(name);
    }
    taken.split_off(SystemTool::ALL.len())
}

/// What a call means.
pub(super) enum CalledTool<'o> {
    System(SystemTool),
    Workflow(&'o OfferedWorkflow),
}

pub(super) fn find_tool<'o>(name: &str, offered: &'o [OfferedWorkflow]) -> Option<CalledTool<'o>> {
    if let Some(tool) = SystemTool::ALL.into_iter().find(|tool| tool.name() == name) {
        return Some(CalledTool::System(tool));
    }
    let at = tool_names(offered).iter().position(|one| one == name)?;
    offered.get(at).map(CalledTool::Workflow)
}
