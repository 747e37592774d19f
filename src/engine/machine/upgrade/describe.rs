//! Fields of a state as text with names instead of positions: for comparing definitions.

use synthdev_domain::ids::{ScriptIx, StateIx};
use synthdev_domain::workflow::{
    ActionSpec, OnError, StateBody, StateSpec, ValueSource, WaitSpec, Workflow, WorkflowProgram,
};

/// A field and what it says; transitions are compared one by one elsewhere.
pub(super) type FieldDescriptions = Vec<(&'static str, String)>;

/// What several inputs say, one a line.
type InputsDescriber<'a> = &'a dyn Fn(&[(String, ValueSource)]) -> String;

pub(super) fn describe_state(
    program: &WorkflowProgram,
    workflow: &Workflow,
    state: &StateSpec,
) -> FieldDescriptions {
    let catch = state.recovery.catch.iter().map(|rule| {
        let before = script_source(workflow, rule.before).unwrap_or_default();
        format!("{:?} {:?} {before} {}", rule.errors, rule.key, state_name(workflow, rule.target))
    });
    let mut all = vec![
        ("action.script", script_source(workflow, state.script).unwrap_or_default().to_owned()),
        ("output", format!("{:?}", state.store)),
        ("retry", format!("{:?}", state.recovery.retry)),
        ("catch", catch.collect::<Vec<_>>().join("\n")),
        ("fallback", format!("{:?}", state.recovery.fallback)),
        ("on_error", state.recovery.on_error.map(|policy| on_error(workflow, policy)).unwrap_or_default()),
        ("timeout", format!("{:?}", state.timeout_ms)),
        ("budget", format!("{:?}", state.budget)),
        ("max_visits", format!("{:?}", state.max_visits)),
        ("execution", if state.runs_here { "server" } else { "" }.to_owned()),
        ("on_limit", state.on_limit.map(|target| state_name(workflow, target)).unwrap_or_default()),
    ];
    if state.terminal {
        all.push(("input", input_source(workflow, &state.output)));
    }
    all.extend(describe_work(program, workflow, &state.work));
    all
}

/// The kind of work in the words of the format.
pub(super) fn work_kind(work: &StateBody) -> &'static str {
    match work {
        StateBody::None => "no work of its own",
        StateBody::Agent { .. } => "an agent",
        StateBody::Child { .. } => "a sub-workflow",
        StateBody::Parallel(_) => "branches",
        StateBody::ForEach(_) => "a loop",
        StateBody::Action(_) => "a tool",
        StateBody::Pause(_) => "a pause",
        StateBody::Wait(_) => "a wait",
        StateBody::Fail { .. } => "a failure",
    }
}

fn describe_work(program: &WorkflowProgram, workflow: &Workflow, work: &StateBody) -> FieldDescriptions {
    let all = |inputs: &[(String, ValueSource)]| -> String {
        let each = inputs.iter().map(|(name, given)| format!("{name}: {}", input_source(workflow, given)));
        each.collect::<Vec<_>>().join("\n")
    };
    match work {
        StateBody::None => Vec::new(),
        StateBody::Agent { agent, function, input: given } => vec![
            ("agent", workflow.agent(*agent).map(|agent| agent.id.clone()).unwrap_or_default()),
            ("action", format!("{function:?}")),
            ("input", input_source(workflow, given)),
        ],
        StateBody::Child { workflow: child, inputs } => vec![
            ("sub_workflow", program.workflows.get(child.0).map(|one| one.name.clone()).unwrap_or_default()),
            ("sub_workflow_input", all(inputs)),
        ],
        StateBody::Parallel(spec) => vec![
            ("branches", format!("{:?}", spec.branches.iter().map(|one| &one.name).collect::<Vec<_>>())),
            ("join", format!("{:?}", spec.join)),
            ("on_error of branches", format!("{:?}", spec.on_error)),
            ("max_concurrency", format!("{:?}", spec.max_concurrency)),
            ("merge", format!("{:?}", spec.merge)),
        ],
        StateBody::ForEach(spec) => vec![
            ("in", input_source(workflow, &spec.items)),
            ("each", spec.each.clone()),
            ("at", spec.at.clone()),
            ("needs_state", format!("{:?}", spec.needs)),
            ("max_concurrency", format!("{:?}", spec.max_concurrency)),
            ("tolerated_failures", format!("{} {}", spec.tolerated_failures, spec.tolerated_percent)),
        ],
        StateBody::Action(step) => describe_action(step, &all),
        StateBody::Pause(pause) => vec![
            ("kind", format!("{:?}", pause.kind)),
            ("message", input_source(workflow, &pause.message)),
            ("choices", format!("{:?}", pause.choices)),
            ("schema", format!("{:?}", pause.schema)),
            ("required_outputs", format!("{:?}", pause.required_outputs)),
            ("default", format!("{:?}", pause.default)),
            ("ttl", format!("{:?}", pause.ttl_ms)),
            ("on_timeout", pause.on_timeout.map(|target| state_name(workflow, target)).unwrap_or_default()),
        ],
        StateBody::Wait(WaitSpec::For(given)) => vec![("duration", input_source(workflow, given))],
        StateBody::Wait(WaitSpec::Until(given)) => vec![("until", input_source(workflow, given))],
        StateBody::Fail { error, cause } => {
            vec![("error", error.clone()), ("cause", input_source(workflow, cause))]
        }
    }
}

/// By the keys of the file: some states have their arguments as keys of their own.
fn describe_action(step: &ActionSpec, all: InputsDescriber<'_>) -> FieldDescriptions {
    let (keys, expect): (&[&'static str], _) = match step.tool.as_str() {
        "shell" => (&SHELL_KEYS, "expect_exit"),
        "http_request" => (&HTTP_KEYS, "expect_status"),
        _ => (&[], "expect"),
    };
    let of = |key: Option<&str>| {
        let own = |path: &[String]| path.first().and_then(|first| keys.iter().find(|key| *key == first));
        let given = step.arguments.iter().filter(|(path, _)| own(path).copied() == key);
        all(&given.map(|(path, given)| (path.join("."), given.clone())).collect::<Vec<_>>())
    };
    let mut aspects = vec![("tool", step.tool.clone())];
    aspects.extend(keys.iter().map(|key| (*key, of(Some(key)))));
    aspects.extend([("arguments", of(None)), (expect, format!("{:?}", step.expect))]);
    aspects
}

/// Arguments that are keys of a state of their own in the file.
const SHELL_KEYS: [&str; 5] = ["command", "args", "cwd", "env", "timeout_seconds"];
const HTTP_KEYS: [&str; 6] = ["method", "url", "headers", "query", "body", "timeout_seconds"];

/// What a script says in the file.
pub(super) fn script_source(workflow: &Workflow, at: Option<ScriptIx>) -> Option<&str> {
    workflow.scripts.get(at?.0).map(|script| script.source.as_str())
}

pub(super) fn state_name(workflow: &Workflow, at: StateIx) -> String {
    workflow.state(at).map(|state| state.name.clone()).unwrap_or_default()
}

pub(super) fn on_error(workflow: &Workflow, policy: OnError) -> String {
    match policy {
        OnError::Fail => "fail".to_owned(),
        OnError::Continue => "continue".to_owned(),
        OnError::Go(target) => format!("to {}", state_name(workflow, target)),
    }
}

fn input_source(workflow: &Workflow, given: &ValueSource) -> String {
    match given {
        ValueSource::Absent => String::new(),
        ValueSource::Human => "human".to_owned(),
        ValueSource::Text(text) => format!("text {text}"),
        ValueSource::Value(value) => format!("value {value}"),
        ValueSource::Script(at) => {
            format!("script {}", script_source(workflow, Some(*at)).unwrap_or_default())
        }
    }
}
