//! The workflow rules against the real engine: each case of `tests/data/conformance` is a workflow, scripted
//! replies and what must come of them. The files are data that any implementation could run.
//!
//! A case: `rule`, `about`, `workflows` (the first is run), `roles` (default: `shared.json`), `extra_roles` (a
//! role file above them), `replies` per agent, `input` (with `line`: as typed, A46), `files` of the project, texts
//! `beside` the workflow file (which is `w0.json`), `snapshots: "fail"`, `expect`. Of `expect`, every field that is
//! there must hold: `status`, `path`, `output`, error `code` and its innermost `cause`, `warnings` (codes, all of
//! them), `thread` (`author role: text` of everything said in a context), `notes` (codes that loading reports and
//! goes on), `summaries` (`agent: entries`), or `findings` (codes that loading must report) / `findings_any`. Of
//! what stands under an agent's id in `views` (messages of its last request, `role: text`, with ` +tool` for each
//! call), `calls` (requests in all), `choices` (level, model and parameters) and `tools` (names of its last
//! request), only the agents that `expect` names are looked at.
//!
//! Every request of every case is also sent to a server that refuses what some real provider would refuse.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use synthdev::adapters::providers::{Patience, Providers};
use synthdev::config::inputs;
use synthdev::domain::context::Author;
use synthdev::domain::diagnostic::{Diagnostic, Severity};
use synthdev::domain::message::ChatMessage;
use synthdev::domain::model::{DeltaKind, ModelChoice, ModelRequest};
use synthdev::domain::workflow::Program;
use synthdev::engine::event::RunEvent;
use synthdev::ports::model::{DeltaSink, ModelPort};

use super::support::model_server::{Behaviour, ModelServer};
use super::support::stage::{Stage, Texts, spec};

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
    #[serde(default)]
    input: Value,
    #[serde(default)]
    line: bool,
    expect: Map<String, Value>,
}

macro_rules! files {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            play(include_str!(concat!("../data/conformance/", stringify!($name), ".json")));
        }
    )*};
}

files! {
    actions agents budgets children contexts decisions fields handlers library limits machine pauses recovery
    scripts snapshots steps
}

/// Plays all cases of a file and tells every one that fails.
fn play(text: &str) {
    let cases: Vec<Case> = serde_json::from_str(text).unwrap();
    assert!(!cases.is_empty());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut failed = Vec::new();
    for case in &cases {
        let problems = runtime.block_on(async {
            let (mut problems, requests) = played(case).await;
            problems.extend(refusals(&requests).await);
            problems
        });
        if !problems.is_empty() {
            failed.push(format!("{} — {}\n    {}", case.rule, case.about, problems.join("\n    ")));
        }
    }
    assert!(
        failed.is_empty(),
        "{} of {} cases fail:\n\n{}\n",
        failed.len(),
        cases.len(),
        failed.join("\n\n")
    );
}

struct Deaf;

impl DeltaSink for Deaf {
    fn delta(&self, _: DeltaKind, _: &str) {}
}

/// Why a strict server refuses requests.
async fn refusals(requests: &[ModelRequest]) -> Vec<String> {
    let server = ModelServer::start(requests.iter().map(|_| Behaviour::text("Fine.")).collect()).await;
    let providers = Providers::new(BTreeMap::new(), Patience::default());
    for request in requests {
        let choice = ModelChoice {
            provider: "mock".to_owned(),
            base_url: server.base_url.clone(),
            model: "mock-1".to_owned(),
            ..request.choice.clone()
        };
        let _ = providers.call(&ModelRequest { choice, ..request.clone() }, &Deaf).await;
    }
    let sent = server.requests();
    assert_eq!(sent.len(), requests.len(), "every request arrives");
    sent.into_iter().filter_map(|one| one.rejected.map(|why| format!("{why}: {}", one.body))).collect()
}

/// What is wrong with a case, and the requests that it made.
async fn played(case: &Case) -> (Vec<String>, Vec<ModelRequest>) {
    let mut stage = Stage::new(&texts(case));
    if case.snapshots.as_deref() == Some("fail") {
        stage.break_snapshots();
    }
    let name = case.workflows[0]["workflow_name"].as_str().unwrap();
    let mut found = stage.catalog.diagnostics().to_vec();
    let program = match stage.catalog.check(name) {
        Ok((program, more)) if !stage.catalog.has_errors() => {
            found.extend(more);
            program
        }
        Ok(_) => return (refused(case, &found), Vec::new()),
        Err(more) => {
            found.extend(more);
            return (refused(case, &found), Vec::new());
        }
    };
    if case.expect.contains_key("findings") || case.expect.contains_key("findings_any") {
        let wanted = Value::Object(case.expect.clone());
        return (vec![format!("expected {wanted}, but it loads")], Vec::new());
    }
    let values = match inputs_of(case, &program) {
        Ok(values) => values,
        Err(error) => return (vec![format!("the input is refused: {error}")], Vec::new()),
    };
    let run = stage.start(spec(program, values));
    stage.end().await;
    let requests = stage.heard.requests();
    let mut got = facts(&stage.seen());
    got["notes"] = found.iter().map(|one| one.code.as_str()).collect();
    for (fact, value) in asked(&requests) {
        got[fact] = value;
    }
    let mut problems: Vec<String> = case
        .expect
        .iter()
        .filter(|(field, expected)| !holds(field, &got[field.as_str()], expected))
        .map(|(field, expected)| format!("{field}: expected {expected}, got {}", got[field.as_str()]))
        .collect();
    if !problems.is_empty() {
        problems.push(format!("its error: {}", got["error"]));
    }
    problems.extend(stage.faults(&run));
    (problems, requests)
}

/// Facts per agent are compared for the agents that are named; everything else as a whole.
fn holds(field: &str, got: &Value, expected: &Value) -> bool {
    match expected.as_object().filter(|_| PER_AGENT.contains(&field)) {
        Some(agents) => agents.iter().all(|(agent, wanted)| got[agent.as_str()] == *wanted),
        None => got == expected,
    }
}

fn texts(case: &Case) -> Texts {
    let shared: Value = serde_json::from_str(include_str!("../data/conformance/shared.json")).unwrap();
    let roles = case.roles.as_ref().unwrap_or(&shared["roles"]);
    Texts {
        roles: std::iter::once(roles).chain(&case.extra_roles).map(Value::to_string).collect(),
        workflows: vec![Value::from(case.workflows.clone()).to_string()],
        replies: case.replies.clone(),
        files: case.files.clone(),
        beside: case.beside.iter().map(|(path, text)| (path.clone(), lines(text))).collect(),
    }
}

fn lines(text: &Value) -> Value {
    let lines =
        text.as_array().map(|lines| lines.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n"));
    lines.map_or_else(|| text.clone(), Value::from)
}

fn inputs_of(case: &Case, program: &Program) -> Result<Map<String, Value>, inputs::InputError> {
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
fn refused(case: &Case, found: &[Diagnostic]) -> Vec<String> {
    let codes: Vec<&str> = found.iter().map(|one| one.code.as_str()).collect();
    let expected = case.expect.get("findings").and_then(Value::as_array);
    let wanted = expected.into_iter().flatten().all(|code| codes.contains(&code.as_str().unwrap()));
    let any = expected.is_some() || case.expect.contains_key("findings_any");
    if any && wanted && found.iter().any(|one| one.severity == Severity::Error) {
        return Vec::new();
    }
    let lines: Vec<String> =
        found.iter().map(|one| format!("{} {} {}", one.code, one.place, one.message)).collect();
    vec![format!("loading reports {lines:#?}, expected {}", Value::Object(case.expect.clone()))]
}

const PER_AGENT: [&str; 4] = ["views", "calls", "choices", "tools"];

/// What each agent's model was asked.
fn asked(requests: &[ModelRequest]) -> [(&'static str, Value); 4] {
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
    for event in events {
        match event {
            RunEvent::Warning { code, .. } => warnings.push(code.clone()),
            RunEvent::MessageAdded { author, role, text, private: false, .. } => {
                thread.push(format!("{} {}: {text}", name(author), role.as_str()));
            }
            RunEvent::ContextSummarized { agent, entries, .. } => {
                summaries.push(format!("{agent}: {entries}"));
            }
            RunEvent::Finished { status, output, error, path, .. } => {
                end = json!({
                    "status": status, "output": output, "path": path, "error": error,
                    "code": error.as_ref().map(|error| &error.code),
                    "cause": error.as_ref().map(|error| &error.root().code),
                });
            }
            _ => {}
        }
    }
    end["warnings"] = json!(warnings);
    end["thread"] = json!(thread);
    end["summaries"] = json!(summaries);
    end
}

fn name(author: &Author) -> &str {
    match author {
        Author::Start => "start",
        Author::Workflow => "workflow",
        Author::Human => "human",
        Author::Agent(id) => id,
        Author::Script => "script",
    }
}
