//! The workflow rules against the real engine: each case of `tests/data/conformance` is a workflow, scripted
//! replies and what must come of them. The files are data that any implementation could run.
//!
//! A case: `rule`, `about`, `workflows` (the first is run), `roles` (default: `shared.json`), `extra_roles` (a
//! role file above them), `replies` per agent, `input` (with `line`: as typed, A46), `files` of the project, texts
//! `beside` the workflow file (which is `w0.json`), `snapshots: "fail"`, `expect`. Of `expect`, every field that is
//! there must hold: `status`, `path`, `output`, error `code` and its innermost `cause`, `warnings` (codes, all of them), `thread` (`author role: text` of everything said
//! in a context), or `findings` (codes that loading must report) / `findings_any`.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use synthdev::config::inputs;
use synthdev::domain::context::Author;
use synthdev::domain::diagnostic::{Diagnostic, Severity};
use synthdev::domain::workflow::Program;
use synthdev::engine::event::RunEvent;

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

files! { agents children contexts decisions handlers library limits machine scripts snapshots steps }

/// Plays all cases of a file and tells every one that fails.
fn play(text: &str) {
    let cases: Vec<Case> = serde_json::from_str(text).unwrap();
    assert!(!cases.is_empty());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut failed = Vec::new();
    for case in &cases {
        let problems = runtime.block_on(played(case));
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

async fn played(case: &Case) -> Vec<String> {
    let mut stage = Stage::new(&texts(case));
    if case.snapshots.as_deref() == Some("fail") {
        stage.break_snapshots();
    }
    let name = case.workflows[0]["workflow_name"].as_str().unwrap();
    let mut found = stage.catalog.diagnostics().to_vec();
    let program = match stage.catalog.check(name) {
        Ok((program, _)) if !stage.catalog.has_errors() => program,
        Ok(_) => return refused(case, &found),
        Err(more) => {
            found.extend(more);
            return refused(case, &found);
        }
    };
    if case.expect.contains_key("findings") || case.expect.contains_key("findings_any") {
        return vec![format!("expected {}, but it loads", Value::Object(case.expect.clone()))];
    }
    let values = match inputs_of(case, &program) {
        Ok(values) => values,
        Err(error) => return vec![format!("the input is refused: {error}")],
    };
    let run = stage.start(spec(program, values));
    stage.end().await;
    let got = facts(&stage.seen());
    let mut problems: Vec<String> = case
        .expect
        .iter()
        .filter(|(field, expected)| got[field.as_str()] != **expected)
        .map(|(field, expected)| format!("{field}: expected {expected}, got {}", got[field.as_str()]))
        .collect();
    if !problems.is_empty() {
        problems.push(format!("its error: {}", got["error"]));
    }
    problems.extend(stage.faults(&run));
    problems
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

/// What `expect` can ask for.
fn facts(events: &[RunEvent]) -> Value {
    let mut warnings = Vec::new();
    let mut thread = Vec::new();
    let mut end = Value::Null;
    for event in events {
        match event {
            RunEvent::Warning { code, .. } => warnings.push(code.clone()),
            RunEvent::MessageAdded { author, role, text, private: false, .. } => {
                thread.push(format!("{} {}: {text}", name(author), role.as_str()));
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
