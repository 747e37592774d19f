//! The workflow rules against the real engine: each case of `tests/data/conformance` is a workflow, scripted
//! replies and what must come of them. The files are data that any implementation could run.
//!
//! A case: `rule`, `about`, `workflows` (the first is run), `roles` (default: `shared.json`), `extra_roles` (a
//! role file above them), `replies` per agent, `input` (with `line`: as typed), `files` of the project, texts
//! `beside` the workflow file (which is `w0.json`), `snapshots: "fail"`, `models` (a catalogue above the shipped
//! one), `results` (`{tool: [{ok, content, data}]}` of tools that are not run), `answers`, `expect`. `@web` in a
//! workflow is the address of a server that answers `/status/404` with that status, anything else with the request.
//!
//! With `answers` a user is present and answers each question with the next of them: `{"text"}`, `{"value"}`,
//! `"continue"`, `"stop"`, `"silence"` (no answer to this one). `{"say"}` is a message sent while the question is open,
//! before the answer that follows it, or is the answer itself with `"answers": true`.
//!
//! Of `expect`, every field that is there must hold: `status`, `path`, `output`, error `code` and its innermost
//! `cause`, `warnings` (codes, all of them), `thread` (`author role: text` of everything said in a context), `notes`
//! (codes that loading reports and goes on), `summaries` (`agent: entries`), or `findings` (codes that loading must
//! report) / `findings_any`. `error` and `hint` are words that the innermost error's detail and the error's hint hold.
//! `events` happen in this order among others, `absent` ones not at all; each is looked at for the fields it names.
//! Only what `expect` names is looked at in `data` (what states of the root wrote), in `visits` (per state), and, by
//! agent id, in `views` (messages of its last request, `role: text`, with ` +tool` for each call), `calls` (requests
//! in all), `choices` (level, model and parameters) and `tools` (names of its last request).
//!
//! Each case is played once for each protocol: what the script answers comes over a wire, from a server that refuses
//! what some real provider would refuse.

mod choices;
mod coverage;
#[cfg(feature = "restate")]
pub(crate) mod on_restate;
mod shipped;
mod world;

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use synthdev::domain::context::MessageAuthor;
use synthdev::domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev::domain::ids::RunId;
use synthdev::domain::message::ChatMessage;
use synthdev::domain::model::ModelRequest;
use synthdev::domain::workflow::WorkflowProgram;
use synthdev::engine::event::RunEvent;
use synthdev::engine::run_spec::RunSpec;
use synthdev::language::inputs;
use synthdev::ports::tool::ToolPort;

use super::support::model_server::Dialect;
use super::support::stage::{Stage, Texts, spec};
use super::support::wire::Wire;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    rule: String,
    about: String,
    workflows: Vec<Value>,
    roles: Option<Value>,
    extra_roles: Option<Value>,
    #[serde(default)]
    replies: Value,
    #[serde(default)]
    files: Map<String, Value>,
    /// Script files and prompts by path; a text, or a list of its lines.
    #[serde(default)]
    beside: Map<String, Value>,
    /// `fail`: no snapshot can be stored.
    #[serde(default)]
    snapshots: Option<String>,
    models: Option<Value>,
    #[serde(default)]
    results: Map<String, Value>,
    answers: Option<Vec<Value>>,
    #[serde(default)]
    input: Value,
    #[serde(default)]
    line: bool,
    expect: Map<String, Value>,
}

macro_rules! files {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                run_cases(include_str!(concat!("../data/conformance/", stringify!($name), ".json")));
            }
        )*

        /// Every file of cases by its name.
        const FILES: &[(&str, &str)] = &[
            $((stringify!($name), include_str!(concat!("../data/conformance/", stringify!($name), ".json")))),*
        ];
    };
}

files! {
    actions agents budgets children contexts decisions fields fields2 foreach handlers lanes library limits machine
    parallel pauses recovery safety scripts snapshots spawned step_safety steps steps2 unasked words
}

/// What cases have that do not say otherwise.
const SHARED: &str = include_str!("../data/conformance/shared.json");

/// Plays all cases of a file and reports every one that fails.
fn run_cases(text: &str) {
    let cases: Vec<Case> = serde_json::from_str(text).unwrap();
    assert!(!cases.is_empty());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut failed = Vec::new();
    for case in &cases {
        let [first, others @ ..] = Dialect::ALL;
        let (problems, asked) = runtime.block_on(run_case(case, first));
        let mut plays = vec![(first, problems)];
        // who never asks a model never meets a protocol
        if asked {
            let all = futures_util::future::join_all(others.map(|dialect| run_case(case, dialect)));
            let all = runtime.block_on(all).into_iter().map(|(problems, _)| problems);
            plays.extend(others.into_iter().zip(all));
        }
        for (dialect, problems) in plays.into_iter().filter(|(_, problems)| !problems.is_empty()) {
            let problems = problems.join("\n    ");
            failed.push(format!("{} — {} ({dialect:?})\n    {problems}", case.rule, case.about));
        }
    }
    assert!(
        failed.is_empty(),
        "{} plays of {} cases fail:\n\n{}\n",
        failed.len(),
        cases.len(),
        failed.join("\n\n")
    );
}

/// What is wrong with a case in a protocol, and whether it asked a model.
async fn run_case(case: &Case, dialect: Dialect) -> (Vec<String>, bool) {
    let wire = Wire::new(dialect).await;
    let (problems, _) = play_case(case, &wire, &InProcess).await;
    (problems, wire.requests() > 0)
}

/// Where the run of a case is driven.
trait CaseBackend {
    fn start_run<'a>(&'a self, stage: &'a Stage, spec: RunSpec) -> BoxFuture<'a, RunId>;
}

struct InProcess;

impl CaseBackend for InProcess {
    fn start_run<'a>(&'a self, stage: &'a Stage, spec: RunSpec) -> BoxFuture<'a, RunId> {
        std::future::ready(stage.start_run(spec)).boxed()
    }
}

/// What is wrong with a case, and its run, if it comes to one.
async fn play_case(
    case: &Case,
    wire: &Arc<Wire>,
    backend: &dyn CaseBackend,
) -> (Vec<String>, Option<(Stage, RunId)>) {
    let mut texts = texts(case);
    if texts.workflows.iter().any(|text| text.contains(WEB)) {
        let url = world::start_web_server().await;
        texts.workflows.iter_mut().for_each(|text| *text = text.replace(WEB, &url));
    }
    let mut scripted = None;
    let tools =
        |real| -> Arc<dyn ToolPort> { scripted.insert(world::Scripted::new(real, &case.results)).clone() };
    let mut stage = Stage::with_wrapped_model(&texts, |script| wire.through_wire(script), tools);
    if case.snapshots.as_deref() == Some("fail") {
        stage.break_snapshots();
    }
    let name = case.workflows[0]["workflow_name"].as_str().unwrap();
    let mut found = stage.catalog.diagnostics().to_vec();
    let program = match stage.catalog.check_workflow(name) {
        Ok((program, more)) if !stage.catalog.has_errors() => {
            found.extend(more);
            program
        }
        Ok(_) => return (check_load_errors(case, &found), None),
        Err(more) => {
            found.extend(more);
            return (check_load_errors(case, &found), None);
        }
    };
    if case.expect.contains_key("findings") || case.expect.contains_key("findings_any") {
        let wanted = Value::Object(case.expect.clone());
        return (vec![format!("expected {wanted}, but it loads")], None);
    }
    let values = match case_inputs(case, &program) {
        Ok(values) => values,
        Err(error) => return (vec![format!("the input is refused: {error}")], None),
    };
    let interactive = case.answers.is_some();
    let run = backend.start_run(&stage, RunSpec { interactive, ..spec(program, values) }).await;
    let answers = case.answers.as_deref().unwrap_or_default();
    let mut problems = world::lead_to_end(&mut stage, &run, answers).await;
    let requests = stage.recorder.requests();
    let mut got = facts(&stage.seen_events());
    got["notes"] = found.iter().map(|one| one.code.as_str()).collect();
    for (fact, value) in request_facts(&requests) {
        got[fact] = value;
    }
    let wrong =
        case.expect.iter().filter(|(field, expected)| !value_matches(field, &got[field.as_str()], expected));
    problems.extend(
        wrong.map(|(field, expected)| format!("{field}: expected {expected}, got {}", got[field.as_str()])),
    );
    problems.extend(scripted.iter().flat_map(|tools| tools.unused_replies()));
    if !problems.is_empty() {
        problems.push(format!("its error: {}", got["error"]));
    }
    problems.extend(stage.run_faults(&run));
    problems.extend(wire.refused_requests());
    (problems, Some((stage, run)))
}

/// Facts by name are compared for what is named; everything else as a whole.
fn value_matches(field: &str, got: &Value, expected: &Value) -> bool {
    let named = ["data", "visits"].contains(&field) || PER_AGENT.contains(&field);
    match (field, expected) {
        ("events", Value::Array(wanted)) => {
            let mut left = got.as_array().into_iter().flatten();
            wanted.iter().all(|one| left.any(|event| fact_matches(event, one)))
        }
        ("absent", Value::Array(none)) => {
            let mut events = got.as_array().into_iter().flatten();
            !events.any(|event| none.iter().any(|one| fact_matches(event, one)))
        }
        ("error" | "hint", Value::String(words)) => got.as_str().is_some_and(|text| text.contains(words)),
        (_, Value::Object(facts)) if named => {
            facts.iter().all(|(name, wanted)| got[name.as_str()] == *wanted)
        }
        _ => got == expected,
    }
}

/// Whether a fact has everything that is wanted of it.
fn fact_matches(fact: &Value, wanted: &Value) -> bool {
    match (fact, wanted) {
        (Value::Object(_), Value::Object(wanted)) => {
            wanted.iter().all(|(key, value)| fact_matches(&fact[key.as_str()], value))
        }
        _ => fact == wanted,
    }
}

fn texts(case: &Case) -> Texts {
    let shared: Value = serde_json::from_str(SHARED).unwrap();
    let roles = case.roles.as_ref().unwrap_or(&shared["roles"]);
    Texts {
        roles: std::iter::once(roles).chain(&case.extra_roles).map(Value::to_string).collect(),
        workflows: vec![Value::from(case.workflows.clone()).to_string()],
        replies: case.replies.clone(),
        files: case.files.clone(),
        beside: case.beside.iter().map(|(path, text)| (path.clone(), lines(text))).collect(),
        models: case.models.as_ref().map(Value::to_string),
        ..Texts::default()
    }
}

fn lines(text: &Value) -> Value {
    let lines =
        text.as_array().map(|lines| lines.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n"));
    lines.map_or_else(|| text.clone(), Value::from)
}

fn case_inputs(case: &Case, program: &WorkflowProgram) -> Result<Map<String, Value>, inputs::InputError> {
    let parameters = &program.workflows[0].inputs;
    match (&case.input, parameters.as_slice()) {
        (Value::String(text), _) if case.line => inputs::from_text(parameters, text),
        (Value::Object(values), [_, _, ..]) => inputs::from_values(parameters, values),
        (value, [one]) => {
            inputs::from_values(parameters, &Map::from_iter([(one.name.clone(), value.clone())]))
        }
        _ => Ok(Map::new()),
    }
}

/// Loading failed: was that expected, with these codes?
fn check_load_errors(case: &Case, found: &[Diagnostic]) -> Vec<String> {
    let codes: Vec<&str> = found.iter().map(|one| one.code.as_str()).collect();
    let expected = case.expect.get("findings").and_then(Value::as_array);
    let wanted = expected.into_iter().flatten().all(|code| codes.contains(&code.as_str().unwrap()));
    let any = expected.is_some() || case.expect.contains_key("findings_any");
    if any && wanted && found.iter().any(|one| one.severity == DiagnosticSeverity::Error) {
        return Vec::new();
    }
    let lines: Vec<String> =
        found.iter().map(|one| format!("{} {} {}", one.code, one.place, one.message)).collect();
    vec![format!("loading reports {lines:#?}, expected {}", Value::Object(case.expect.clone()))]
}

const WEB: &str = "@web";
const PER_AGENT: [&str; 4] = ["views", "calls", "choices", "tools"];

/// What each agent's model was asked.
fn request_facts(requests: &[ModelRequest]) -> [(&'static str, Value); 4] {
    let mut facts = PER_AGENT.map(|fact| (fact, json!({})));
    for request in requests {
        let agent = request.agent.as_str();
        let parameters = &request.choice.parameters;
        let mut choice = json!({"level": request.choice.level, "model": request.choice.model});
        for (key, value) in serde_json::to_value(parameters).unwrap().as_object().unwrap() {
            choice[key] = value.clone();
        }
        let calls = facts[1].1[agent].as_u64().unwrap_or(0) + 1;
        let values = [
            request.messages.iter().map(line).collect(),
            json!(calls),
            choice,
            request.tools.iter().map(|tool| tool.name.as_str()).collect(),
        ];
        for (fact, value) in facts.iter_mut().zip(values) {
            fact.1[agent] = value;
        }
    }
    facts
}

fn line(message: &ChatMessage) -> String {
    let calls: String = message.tool_calls.iter().map(|call| format!(" +{}", call.name)).collect();
    format!("{}: {}{calls}", message.role.as_str(), message.content)
}

/// What `expect` can ask for.
fn facts(events: &[RunEvent]) -> Value {
    let mut warnings = Vec::new();
    let mut thread = Vec::new();
    let mut summaries = Vec::new();
    let mut end = Value::Null;
    let mut data = json!({});
    let mut visits = json!({});
    for event in events {
        match event {
            RunEvent::StateEntered { state, .. } => {
                visits[state] = json!(visits[state].as_u64().unwrap_or(0) + 1);
            }
            RunEvent::DataChanged { state, set, removed } if !state.contains('/') => {
                set.iter().for_each(|(key, value)| data[key] = value.clone());
                removed.iter().for_each(|key| data[key] = Value::Null);
            }
            RunEvent::Warning { code, .. } => warnings.push(code.clone()),
            RunEvent::MessageAdded { author, role, text, private: false, .. } => {
                thread.push(format!("{} {}: {text}", name(author), role.as_str()));
            }
            RunEvent::ContextSummarized { agent, entries, .. } => {
                summaries.push(format!("{agent}: {entries}"));
            }
            RunEvent::Finished { status, output, error, path, .. } => {
                end = json!({
                    "status": status, "output": output, "path": path,
                    "error": error.as_ref().map(|error| &error.root_cause().detail),
                    "hint": error.as_ref().and_then(|error| error.hint.as_ref()),
                    "code": error.as_ref().map(|error| &error.code),
                    "cause": error.as_ref().map(|error| &error.root_cause().code),
                });
            }
            _ => {}
        }
    }
    end["warnings"] = json!(warnings);
    end["data"] = data;
    end["visits"] = visits;
    end["events"] = json!(events);
    end["absent"] = end["events"].clone();
    end["thread"] = json!(thread);
    end["summaries"] = json!(summaries);
    end
}

fn name(author: &MessageAuthor) -> &str {
    match author {
        MessageAuthor::Start => "start",
        MessageAuthor::Workflow => "workflow",
        MessageAuthor::Human => "human",
        MessageAuthor::Agent(id) => id,
        MessageAuthor::Script => "script",
    }
}
