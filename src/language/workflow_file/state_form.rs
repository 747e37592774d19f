//! The workflow keys that states of several types have: their declarations, the form, and how it is read.

use std::ops::Range;

use super::super::json::JsonNode;
use super::super::key_declaration::ValueShape::{Any, Count, List, Ref, Text};
use super::super::key_declaration::{KeyDeclaration, TypeDeclaration, declared_key};
use super::super::source::FileDiagnostics;
use super::action_form::{ACTION, FunctionForm, read_function, script_only};
use super::error_policy;
use super::fields::{check_object, non_null_member, read_count, read_list, read_text};
use super::for_each_form::is_task;
use super::inputs::{InputFormReader, sub_inputs};
use super::parallel_form::is_branch_policy;
use super::recovery_forms::{CatchForm, OnErrorForm, RetryForm};
use super::set_state::{UpdateForm, read_updates};
use super::spanned::{InputForm, SpannedText, SpannedValue};
use super::transition::{TransitionForm, read_transition};
use super::value_shapes::{CATCHES, DURATION, RETRIES, VALUE};
use super::work_forms::WorkForm;
use synthdev_domain::recovery::RecoveryPolicy;
use synthdev_domain::workflow::StateSpec;

/// Keys that states of every type have.
pub(super) const NAMED: &[KeyDeclaration] = &[
    declared_key("name")
        .with_value(
            Text,
            "Its name. The run begins at `start`, ends at `stop`, and enters `resume` when the user sends a \
         message without a question.",
        )
        .required(),
    declared_key("type")
        .with_value(Text, "The kind of a state that does not call an agent, a script or a workflow."),
    declared_key("description").with_value(
        Text,
        "For readers of the file; of a loop with `agent: \"@task\"`, also for its sub-agents.",
    ),
];

pub(super) const STATE_ACTION: KeyDeclaration = declared_key("action")
    .with_value(Ref("action"), "What else happens: a script, a call of the agent, another workflow.");
pub(super) const TRANSITIONS: KeyDeclaration = declared_key("transition").with_value(
    List(&Ref("transition")),
    "Where to go, asked in order; without the list the workflow or body ends.",
);
pub(super) const MAX_VISITS: KeyDeclaration =
    declared_key("max_visits").with_value(Count, "Visits of this state, instead of the workflow's limit.");
const ON_ERROR: KeyDeclaration = declared_key("on_error")
    .with_value(Text, "For errors that nothing else handles: a state's name, `fail` or `continue`.");
/// What else happens, and where to go.
pub(super) const FLOW: &[KeyDeclaration] = &[STATE_ACTION, TRANSITIONS];

/// Of a state without a `type`: who speaks.
pub(super) const SPEECH: &[KeyDeclaration] = &[
    declared_key("agent").with_value(Text, "The agent that speaks here."),
    declared_key("input").with_value(
        VALUE,
        "What the agent is told: an expression if it can be read as one, else a text. At `stop`: the output.",
    ),
];

/// Of a state without a `type`: functions of the script file.
pub(super) const HANDLERS: &[KeyDeclaration] = &[
    declared_key("pre_handler")
        .with_value(Text, "A function of the script file that runs before the agent is asked."),
    declared_key("post_handler").with_value(Text, "A function of the script file that gets the answer."),
    declared_key("transition_handler")
        .with_value(Text, "A function of the script file that names the next state."),
];

/// What is spent, and what happens when the state fails.
pub(super) const SAFETY: &[KeyDeclaration] = &safety_keys(ON_ERROR);

pub(super) const fn safety_keys(on_error: KeyDeclaration) -> [KeyDeclaration; 9] {
    [
        declared_key("output").with_value(Ref("stored"), "The result is checked and kept."),
        declared_key("retry").with_value(RETRIES, "Rules for trying again, or names of `use.retries`."),
        declared_key("catch").with_value(CATCHES, "Where to go when it failed, after the retries."),
        declared_key("fallback")
            .with_value(Any, "The result of the state if it failed and nothing catches it; the run goes on."),
        on_error,
        declared_key("timeout").with_value(
            DURATION,
            "Seconds, ISO 8601 (\"PT5M\"), or a name of `use.timeouts`, for one visit with all its retries.",
        ),
        declared_key("budget")
            .with_value(Ref("budget"), "What one visit may spend, with everything that it starts."),
        MAX_VISITS,
        declared_key("on_limit").with_value(
            Text,
            "The state to go to when a limit or budget is reached here, instead of pausing.",
        ),
    ]
}

/// A state of the workflow, or of a body inside one of its states.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct StateForm {
    /// With its `scope`; the place is that of what the file says.
    pub name: SpannedText,
    /// `owner.branch/` or `owner/` for the states of a body; empty for the workflow's own.
    pub scope: String,
    pub agent: Option<SpannedText>,
    pub input: Option<InputForm>,
    pub function: Option<SpannedValue<FunctionForm>>,
    pub script: Option<SpannedText>,
    pub sub_workflow: Option<SpannedText>,
    pub sub_inputs: Vec<(SpannedText, InputForm)>,
    /// What a state with a `type` does.
    pub work: WorkForm,
    /// `action.set_state`.
    pub updates: Vec<UpdateForm>,
    pub handlers: HandlersForm,
    /// `None`: the file has no list, which ends the workflow or the body. Targets have the scope's name.
    pub transitions: Option<Vec<TransitionForm>>,
    pub retry: Vec<RetryForm>,
    pub catch: Vec<CatchForm>,
    pub on_error: Option<OnErrorForm>,
    pub on_limit: Option<SpannedText>,
    /// As it runs, as far as no script, no name and no work decides.
    pub spec: StateSpec,
    /// The file does not name it: the end of a body.
    pub implied: bool,
    pub span: Range<usize>,
}

/// Functions of the script file: before the model is asked, after it answered, and the one that names the next state.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HandlersForm {
    pub before_handler: Option<SpannedText>,
    pub after_handler: Option<SpannedText>,
    pub decide_handler: Option<SpannedText>,
}

impl StateForm {
    /// The name inside its body.
    pub fn local_name(&self) -> &str {
        self.name.value.strip_prefix(self.scope.as_str()).unwrap_or(&self.name.value)
    }

    /// Whether reaching it ends the workflow, or the body that it belongs to.
    pub fn is_terminal(&self) -> bool {
        self.local_name() == "stop" || self.work == WorkForm::Final
    }

    /// The name of a state in the same body.
    pub fn sibling_name(&self, name: &str) -> String {
        format!("{}{name}", self.scope)
    }

    /// Where the state can lead other than by its transitions: after errors, limits and waiting too long.
    pub fn error_targets(&self) -> impl Iterator<Item = &SpannedText> {
        let on_error = match &self.on_error {
            Some(OnErrorForm::Go(target)) => Some(target),
            Some(OnErrorForm::Fail | OnErrorForm::Continue) | None => None,
        };
        let late = if let WorkForm::Pause(pause) = &self.work { pause.on_timeout.as_ref() } else { None };
        self.catch.iter().map(|one| &one.target).chain(on_error).chain(&self.on_limit).chain(late)
    }

    /// Keys of `common_data` that are written without a script: results, errors, updates, answers, items of a loop.
    pub fn written_keys(&self) -> impl Iterator<Item = &str> {
        let result = self.spec.store.iter().filter_map(|store| store.key.as_deref());
        let errors = self.catch.iter().filter_map(|rule| rule.key.as_deref());
        let updates = self.updates.iter().filter_map(|update| update.path.value.split('.').next());
        let items: Vec<&str> = match &self.work {
            WorkForm::ForEach(form) => {
                vec![&form.spec.each, &form.spec.at, "total", "is_first", "is_last"]
            }
            WorkForm::Pause(form) => form.spec.required_outputs.iter().map(String::as_str).collect(),
            WorkForm::Plain
            | WorkForm::Parallel(_)
            | WorkForm::Step(_)
            | WorkForm::Wait(_)
            | WorkForm::Fail(_)
            | WorkForm::Final => Vec::new(),
        };
        result.chain(errors).chain(updates).chain(items)
    }

    /// The first states of its bodies, by their full names.
    pub fn bodies(&self) -> Vec<&str> {
        match &self.work {
            WorkForm::Parallel(form) => form.branches.iter().map(|(_, start)| start.as_str()).collect(),
            WorkForm::ForEach(form) => vec![form.start.as_str()],
            WorkForm::Plain
            | WorkForm::Step(_)
            | WorkForm::Pause(_)
            | WorkForm::Wait(_)
            | WorkForm::Fail(_)
            | WorkForm::Final => Vec::new(),
        }
    }
}

/// Everything that states of several types have.
pub(super) fn read_common_fields(
    node: &JsonNode,
    scope: &str,
    kind: Option<&TypeDeclaration>,
    inputs: InputFormReader<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> StateForm {
    let named = inputs.definitions;
    let plain = kind.is_none_or(|kind| kind.word.is_empty());
    let word = kind.map_or("", |kind| kind.word);
    let action = non_null_member(node, "action").filter(|_| word != "delegate");
    let action = action.filter(|action| check_object(action, &ACTION, findings).is_some());
    if let (false, Some(action)) = (plain, action) {
        script_only(action, word, findings);
    }
    let transitions = node.get("transition").map(|_| {
        read_list(node, "transition", findings, |one, findings| read_transition(one, scope, findings))
    });
    let on_error = if word == "parallel" && is_branch_policy(node) {
        None
    } else {
        error_policy::on_error(node, scope, findings)
    };
    let store = error_policy::read_output(node, named, findings);
    let own = action.filter(|_| plain);
    StateForm {
        scope: scope.to_owned(),
        agent: if plain { read_text(node, "agent", findings) } else { None },
        input: if plain || word == "final" {
            node.get("input").and_then(|input| inputs.read_any_input(input, findings))
        } else {
            None
        },
        function: own.and_then(|action| read_function(action, findings)),
        script: action.and_then(|action| read_text(action, "script", findings)),
        sub_workflow: own.and_then(|action| read_text(action, "sub_workflow", findings)),
        sub_inputs: own.map_or_else(Vec::new, |action| sub_inputs(action, inputs, findings)),
        updates: own.map_or_else(Vec::new, |action| {
            let value =
                |node: &JsonNode, findings: &mut FileDiagnostics<'_>| inputs.read_mostly_text(node, findings);
            read_updates(action, &value, findings)
        }),
        handlers: if plain { read_handlers(node, findings) } else { HandlersForm::default() },
        transitions,
        retry: error_policy::read_retry(node, named, findings),
        catch: error_policy::read_catch(node, scope, findings),
        on_error,
        on_limit: error_policy::read_target(node, "on_limit", scope, findings),
        spec: StateSpec {
            recovery: RecoveryPolicy {
                fallback: error_policy::read_fallback(node, store.as_ref(), findings),
                ..RecoveryPolicy::default()
            },
            timeout_ms: error_policy::read_timeout(node, named, findings),
            budget: error_policy::read_budget(node, named, findings),
            max_visits: non_null_member(node, "max_visits")
                .and_then(|_| read_count(node, "max_visits", findings)),
            store,
            runs_here: word == "shell" && node.get("execution").and_then(JsonNode::as_str) == Some("server"),
            description: task_description(node, word),
            ..StateSpec::default()
        },
        span: node.span.clone(),
        ..StateForm::default()
    }
}

/// What sub-agents are told of a loop that hands its items to them. What is no text is found by the schema.
fn task_description(node: &JsonNode, word: &str) -> String {
    let told =
        node.get("description").and_then(JsonNode::as_str).filter(|_| word == "foreach" && is_task(node));
    told.unwrap_or_default().to_owned()
}

fn read_handlers(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> HandlersForm {
    HandlersForm {
        before_handler: read_text(node, "pre_handler", findings),
        after_handler: read_text(node, "post_handler", findings),
        decide_handler: read_text(node, "transition_handler", findings),
    }
}
