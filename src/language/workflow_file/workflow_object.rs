//! The object of a workflow: its keys, its form, and how it is read. Its parts have files of their own.

use std::ops::Range;

use serde_json::{Map, Value};

use super::super::json::JsonNode;
use super::super::key_declaration::ValueShape::{Either, Flag, List, Object, Ref, Text, Words};
use super::super::key_declaration::{
    ObjectDeclaration, WordChoice, WordMeaning, declared_choice, declared_key, word_meanings,
};
use super::super::source::{FileDiagnostics, NOT_TAKEN};
use super::agent::{AgentForm, read_agent};
use super::context::{ContextForm, read_context};
use super::definitions::read_definitions;
use super::error_policy::{on_error, read_budget, read_target, read_timeout};
use super::fields::{
    check_object, non_null_member, read_choice, read_flag, read_list, read_text, report_wrong_type,
    required_text,
};
use super::limits::{LimitsForm, read_limits};
use super::parameter::{ParameterForm, read_inputs, read_workflow_output};
use super::ports::read_ports;
use super::recovery_forms::OnErrorForm;
use super::requirements::{RequirementsForm, read_requirements};
use super::spanned::{SpannedText, SpannedValue};
use super::state_form::{HandlersForm, StateForm};
use super::states::StateFormReader;
use super::steps::lower_steps;
use super::value_shapes::DURATION;
use synthdev_domain::source_location::ConfigLayer;
use synthdev_domain::workflow::{SnapshotPolicy, Workflow, WorkflowParameter};

pub(super) const WORKFLOW: ObjectDeclaration = ObjectDeclaration {
    name: "workflow",
    noun: "a workflow",
    description: "A workflow: agents that share conversations, and the states that decide who speaks when.",
    keys: &[
        declared_key("workflow_name").with_value(Text, "The name by which it is started: `/workflow NAME`, `synthdev run NAME`.")
        .required(),
        declared_key("description").with_value(Text, "What it is good for; shown in lists and told to agents that may call it."),
        declared_key("version").with_value(Text, "The author's version, for people; a run remembers the exact content anyway."),
        declared_key("input").with_value(Either(&[Ref("parameter"), List(&Ref("parameter"))]), "What it is given: one value or several. Scripts read it as `common_data.NAME`."),
        declared_key("output").with_value(Ref("parameter"), "What it gives back: `stop`'s input, else `common_data.NAME`."),
        declared_key("variables").with_value(Object, "Values that `common_data` holds from the start."),
        declared_key("contexts").with_value(List(&Ref("context")), "Conversations. Agents in one context hear each other."),
        declared_key("agents").with_value(List(&Ref("agent")), "Who takes part: a role seated in a context."),
        declared_key("states").with_value(List(&Ref("state")), "The states. The run begins at `start` and ends at `stop`, which need not be written."),
        declared_key("steps").with_value(List(&Ref("step")), "Instead of `states`: steps done one after the other."),
        declared_key("start_condition").with_value(Words(START_WORDS), "When a workflow that was chosen begins. Default: immediate."),
        declared_key("limits").with_value(Ref("limits"), "How far a run may go before it pauses."),
        declared_key("budget").with_value(Ref("budget"), "What a run may spend before it pauses; workflows that it calls draw from the same pool."),
        declared_key("timeout").with_value(DURATION, "Seconds, or ISO 8601 (\"PT30M\"), after which the workflow fails with `timeout`."),
        declared_key("use").with_value(Ref("use"), "Named retries, timeouts, prompts, schemas and tools, to be named by states."),
        declared_key("on_error").with_value(Text, "For errors that no state handles: a state's name, `fail` or `continue`. Default: the user is \
             asked; a run without a user fails."),
        declared_key("on_limit").with_value(Text, "A state that is entered once when a limit or budget is reached, instead of pausing."),
        declared_key("on_no_match").with_value(Text, "When no condition of a state holds: `error` (default), `stop`, or a state's name."),
        declared_key("on_condition_error").with_value(Words(CONDITION_ERRORS_WORDS), "When a condition throws."),
        declared_key("lenient").with_value(Flag, "A script, `before` or condition that throws is logged and skipped, instead of failing its state."),
        declared_key("snapshot").with_value(Words(SNAPSHOT_WORDS), "Whether the project's files are stored before an agent can change them."),
        declared_key("isolation").with_value(Words(ISOLATION_WORDS), "Where a run works."),
        declared_key("sandbox").with_value(Ref("workflow_sandbox"), "What the commands of its states reach besides."),
        declared_key("requirements").with_value(Ref("requirements"), "What must be there before a run starts."),
        declared_key("script_file").with_value(Text, "A JavaScript file beside this one; its functions can be named by every script here."),
    ],
    future_keys: &["schedule"],
};

const START: [WordChoice<StartCondition>; 2] = [
    declared_choice("immediate", StartCondition::Immediate, "Starts with the input given when it is chosen."),
    declared_choice(
        "on_user_input",
        StartCondition::OnUserInput,
        "Waits for the user's next message and takes it as its input.",
    ),
];
const START_WORDS: &[WordMeaning] = &word_meanings(&START);

const CONDITION_ERRORS: [WordChoice<bool>; 2] = [
    declared_choice("error", false, "The state fails with `expression` (default)."),
    declared_choice("false", true, "The condition counts as false."),
];
const CONDITION_ERRORS_WORDS: &[WordMeaning] = &word_meanings(&CONDITION_ERRORS);

const SNAPSHOT: [WordChoice<SnapshotPolicy>; 3] = [
    declared_choice(
        "auto",
        SnapshotPolicy::Auto,
        "Taken before the first change if possible; if not, a warning says so (default).",
    ),
    declared_choice("required", SnapshotPolicy::Required, "Without a snapshot nothing is changed."),
    declared_choice("off", SnapshotPolicy::Off, "None is taken: nothing can be undone."),
];
const SNAPSHOT_WORDS: &[WordMeaning] = &word_meanings(&SNAPSHOT);

const ISOLATION: [WordChoice<bool>; 2] = [
    declared_choice("none", false, "A run works in the project itself, alone (default)."),
    declared_choice(
        "worktree",
        true,
        "A run works in a git worktree on a branch of its own, until it is merged.",
    ),
];
const ISOLATION_WORDS: &[WordMeaning] = &word_meanings(&ISOLATION);

/// What a list of workflows needs: read without looking at states or scripts.
#[derive(Clone, PartialEq, Debug)]
pub struct WorkflowHead {
    pub name: String,
    pub description: String,
    pub inputs: Vec<WorkflowParameter>,
    pub output: Option<WorkflowParameter>,
    pub start: StartCondition,
    pub dialect: WorkflowDialect,
    /// Of the name's text.
    pub span: Range<usize>,
}

/// When a workflow that was chosen begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum StartCondition {
    #[default]
    Immediate,
    /// Waits for the user's input.
    OnUserInput,
}

/// In which of the format's three ways the states are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WorkflowDialect {
    /// States with actions and transitions.
    #[default]
    Seed,
    /// States with `pre_handler`, `post_handler`, `transition_handler`: functions of a script file.
    Handlers,
    /// `steps` in the place of `states`.
    Steps,
}

impl WorkflowDialect {
    /// For display: what a file was read as.
    pub fn word(self) -> &'static str {
        match self {
            Self::Seed => "states",
            Self::Handlers => "states with handlers",
            Self::Steps => "a list of steps",
        }
    }
}

/// A workflow as written, each part with its place.
#[derive(Clone, PartialEq, Debug)]
pub struct WorkflowForm {
    pub name: SpannedText,
    /// As it runs, as far as no other part of the file and no name decides.
    pub spec: Workflow,
    pub dialect: WorkflowDialect,
    /// The script file, relative to the workflow file.
    pub script_file: Option<SpannedText>,
    pub version: Option<String>,
    pub start: StartCondition,
    pub inputs: Vec<ParameterForm>,
    pub output: Option<ParameterForm>,
    pub variables: Vec<(SpannedText, Value)>,
    pub contexts: Vec<ContextForm>,
    pub agents: Vec<AgentForm>,
    pub states: Vec<StateForm>,
    pub limits: LimitsForm,
    pub requirements: RequirementsForm,
    pub on_error: Option<OnErrorForm>,
    pub on_limit: Option<SpannedText>,
    pub no_match: NoMatchForm,
    pub span: Range<usize>,
}

/// `on_no_match`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum NoMatchForm {
    #[default]
    Error,
    Stop,
    Go(SpannedText),
}

impl WorkflowForm {
    /// States of the workflow itself that any other may lead to: after errors and limits, or if nothing else holds.
    pub fn error_targets(&self) -> impl Iterator<Item = &SpannedText> {
        let on_error = match &self.on_error {
            Some(OnErrorForm::Go(target)) => Some(target),
            Some(OnErrorForm::Fail | OnErrorForm::Continue) | None => None,
        };
        let no_match = match &self.no_match {
            NoMatchForm::Go(target) => Some(target),
            NoMatchForm::Error | NoMatchForm::Stop => None,
        };
        on_error.into_iter().chain(&self.on_limit).chain(no_match)
    }

    /// Default values of `common_data`.
    pub fn variable_values(&self) -> Map<String, Value> {
        self.variables.iter().map(|(name, value)| (name.value.clone(), value.clone())).collect()
    }
}

/// Reads one workflow object completely. Findings of kind error mean that the form has holes.
pub fn parse_workflow(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Option<WorkflowForm> {
    check_object(node, &WORKFLOW, findings)?;
    let name = required_text(node, "workflow_name", "the workflow", findings)?;
    let rewritten = lower_steps(node, findings);
    let node = rewritten.as_ref().unwrap_or(node);
    let named = read_definitions(node, findings);
    let states = StateFormReader::new(&named).read_states(node, findings);
    let requirements = read_requirements(node, findings);
    let handled = states.iter().any(|state| state.handlers != HandlersForm::default());
    Some(WorkflowForm {
        dialect: match (&rewritten, handled) {
            (Some(_), _) => WorkflowDialect::Steps,
            (None, true) => WorkflowDialect::Handlers,
            (None, false) => WorkflowDialect::Seed,
        },
        script_file: read_text(node, "script_file", findings),
        version: read_text(node, "version", findings).map(|text| text.value),
        start: start_condition(node, findings),
        inputs: read_inputs(node, &named, findings),
        output: read_workflow_output(node, &named, findings),
        variables: read_variables(node, findings),
        contexts: read_list(node, "contexts", findings, read_context),
        agents: read_list(node, "agents", findings, |one, findings| read_agent(one, &named, findings)),
        states,
        limits: read_limits(node, findings),
        on_error: on_error(node, "", findings),
        on_limit: read_target(node, "on_limit", "", findings),
        no_match: no_match(node, findings),
        spec: Workflow {
            name: name.value.clone(),
            description: read_text(node, "description", findings).map_or_else(String::new, |text| text.value),
            budget: read_budget(node, &named, findings),
            timeout_ms: read_timeout(node, &named, findings),
            lenient: read_flag(node, "lenient", findings).unwrap_or_default(),
            condition_errors_are_false: condition_errors(node, findings),
            snapshot: read_snapshot_policy(node, findings),
            isolated: read_isolated(node, findings),
            loopback_ports: read_ports(node, findings),
            requirements: requirements.names(),
            ..Workflow::default()
        },
        requirements,
        name,
        span: node.span.clone(),
    })
}

/// When a workflow that was chosen starts.
pub(super) fn start_condition(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> StartCondition {
    read_choice(node, "start_condition", &START, findings)
        .map_or_else(StartCondition::default, |found| found.value)
}

fn read_variables(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Vec<(SpannedText, Value)> {
    let Some(value) = non_null_member(node, "variables") else {
        return Vec::new();
    };
    let Some(members) = value.members() else {
        report_wrong_type(value, "`variables` must be an object", findings);
        return Vec::new();
    };
    members
        .iter()
        .map(|member| {
            let name = SpannedValue { value: member.key.clone(), span: member.key_span.clone() };
            (name, member.value.to_value())
        })
        .collect()
}

/// `error`, `stop`, or the state to go to.
fn no_match(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> NoMatchForm {
    match read_text(node, "on_no_match", findings) {
        None => NoMatchForm::Error,
        Some(word) => match word.value.as_str() {
            "error" => NoMatchForm::Error,
            "stop" => NoMatchForm::Stop,
            _ => NoMatchForm::Go(word),
        },
    }
}

fn condition_errors(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> bool {
    read_choice(node, "on_condition_error", &CONDITION_ERRORS, findings).is_some_and(|found| found.value)
}

/// Whether a run has files of its own.
fn read_isolated(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> bool {
    read_choice(node, "isolation", &ISOLATION, findings).is_some_and(|found| found.value)
}

fn read_snapshot_policy(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> SnapshotPolicy {
    let Some(found) = read_choice(node, "snapshot", &SNAPSHOT, findings) else {
        return SnapshotPolicy::default();
    };
    if found.value == SnapshotPolicy::Off && findings.file.layer == ConfigLayer::Project {
        let hint = "leave it out, or keep the workflow beside your own settings".to_owned();
        let message = "`snapshot` is not taken as \"off\": a project's files cannot switch snapshots off";
        findings.add_warning(NOT_TAKEN, found.span, message, Some(hint));
        return SnapshotPolicy::default();
    }
    found.value
}
