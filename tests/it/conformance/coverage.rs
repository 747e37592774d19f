//! No rule without a case, and no field of the format that no case has used.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use synthdev::domain::source_location::ConfigLayer;
use synthdev::language::json::JsonNode;
use synthdev::language::source::{FileDiagnostics, SourceFile};
use synthdev::language::workflow_file::declared_keys::{self, OBJECTS};
use synthdev::language::workflow_file::parse_workflow;
use synthdev::settings::schema::FileSchema;

/// Rules that are not about a run; the file that tests each, and words of that test.
const ELSEWHERE: [(&str, &str, &str); 1] = [(
    // a mode of the screen: the machine has none
    "single-agent mode",
    include_str!("../tui.rs"),
    "assert_eq!(desk.model.mode(), \"role:coder\", \"the mode returns\");",
)];

/// The names of all rules.
const RULES: &str = include_str!("../../data/conformance/rules.json");

/// Keys that cannot be played: object, key, why.
const EXEMPT: [(&str, &str, &str); 0] = [];

/// Fields by object, with the cases that have them.
#[derive(Default)]
struct Seen {
    fields: BTreeMap<(String, String), BTreeSet<String>>,
    case: String,
}

#[test]
fn no_rule_without_a_case() {
    let mut table: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (file, at, case) in all_cases() {
        table.entry(case["rule"].as_str().unwrap().to_owned()).or_default().push(format!("{file}#{at}"));
    }
    for (rule, text, words) in ELSEWHERE {
        assert!(text.contains(words), "the test of {rule} is gone");
        table.entry(rule.to_owned()).or_default().push("tests/it/tui.rs".to_owned());
    }
    let rules: BTreeSet<String> = serde_json::from_str(RULES).unwrap();
    let played: BTreeSet<String> = table.keys().cloned().collect();
    assert_eq!(rules.difference(&played).collect::<Vec<_>>(), Vec::<&String>::new(), "rules without a case");
    assert_eq!(
        played.difference(&rules).collect::<Vec<_>>(),
        Vec::<&String>::new(),
        "rules that rules.json lacks"
    );
    for (rule, places) in table {
        println!("{rule}: {}", places.join(" "));
    }
}

#[test]
fn no_field_without_a_case() {
    let mut seen = Seen::default();
    for (file, at, case) in all_cases() {
        if runs(&case) {
            seen.case = format!("{file}#{at}");
            case["workflows"].as_array().unwrap().iter().for_each(|one| seen.workflow(one));
        }
    }
    let mut missing = Vec::new();
    for (object, key) in vocabulary_fields() {
        let found = seen.fields.get(&(object.clone(), key.clone()));
        let exempt = EXEMPT.iter().any(|(of, one, _)| *of == object && *one == key);
        match found {
            Some(places) if !exempt => {
                println!("{object}.{key}: {}", places.iter().take(3).cloned().collect::<Vec<_>>().join(" "));
            }
            Some(_) => missing.push(format!("{object}.{key} is exempt, but has a case")),
            None if exempt => {}
            None => missing.push(format!("{object}.{key}")),
        }
    }
    assert!(missing.is_empty(), "{} fields have no case:\n{}", missing.len(), missing.join("\n"));
}

/// Without it an object is another one: a header without `env` is an input.
const TELLING: [&str; 1] = ["env"];

/// Where the schema refuses a file because a key is gone, the reader does, too.
#[test]
fn no_required_key_that_the_reader_does_not_miss() {
    let schema = jsonschema::validator_for(&FileSchema::Workflow.value()).unwrap();
    let mut tried = BTreeSet::new();
    let mut missed = 0;
    for (file, at, case) in all_cases().into_iter().filter(|(_, _, case)| runs(case)) {
        let workflows = case["workflows"].as_array().unwrap().iter();
        for workflow in workflows.filter(|workflow| schema.is_valid(workflow)) {
            let mut objects = Vec::new();
            note_objects(workflow, "", &mut objects);
            for (object, key) in objects.into_iter().filter(|(_, key)| !TELLING.contains(&key.as_str())) {
                let mut rest = workflow.clone();
                let parent = rest.pointer_mut(&object).and_then(Value::as_object_mut).unwrap();
                let kind = parent.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
                let place = object.replace(|c: char| c.is_ascii_digit(), "");
                if !tried.insert((place, kind, key.clone())) {
                    continue;
                }
                parent.shift_remove(&key);
                if !schema.is_valid(&rest) {
                    assert!(is_refused(&rest), "{file}#{at}: the reader does not miss `{key}` of `{object}`");
                    missed += 1;
                }
            }
        }
    }
    assert!(missed > 100, "only {missed} required keys were tried");
}

/// Every key of every object, by the pointer of the object.
fn note_objects(value: &Value, pointer: &str, found: &mut Vec<(String, String)>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                found.push((pointer.to_owned(), key.clone()));
                let step = key.replace('~', "~0").replace('/', "~1");
                note_objects(value, &format!("{pointer}/{step}"), found);
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                note_objects(item, &format!("{pointer}/{at}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Whether reading a workflow ends in an error.
fn is_refused(workflow: &Value) -> bool {
    let file = SourceFile::new(ConfigLayer::Project, "w.json", workflow.to_string());
    let mut findings = FileDiagnostics::new(&file);
    let root = JsonNode::parse(&file, &mut findings).unwrap();
    parse_workflow(&root, &mut findings);
    findings.has_errors()
}

/// Whether a case's workflows load and are played.
pub fn runs(case: &Value) -> bool {
    ["findings", "findings_any"].iter().all(|key| case["expect"].get(key).is_none())
}

/// Every file of cases, by name; the position in the file, and the case.
pub fn all_cases() -> Vec<(&'static str, usize, Value)> {
    let read = |(name, text): &(&'static str, &str)| {
        let cases: Vec<Value> = serde_json::from_str(text).unwrap();
        cases.into_iter().enumerate().map(|(at, case)| (*name, at, case)).collect::<Vec<_>>()
    };
    super::FILES.iter().flat_map(read).collect()
}

fn vocabulary_fields() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for object in OBJECTS {
        all.extend(object.key_names().map(|key| (object.name.to_owned(), key.to_owned())));
    }
    for state in declared_keys::state_types() {
        // a state without a type has none
        let keys = state.key_names().filter(|key| !(state.word.is_empty() && *key == "type"));
        let object = format!("state {}", state.word).trim().to_owned();
        all.extend(keys.map(|key| (object.clone(), key.to_owned())));
    }
    for step in declared_keys::step_types() {
        all.extend(step.key_names().map(|key| (format!("step {}", step.word), key.to_owned())));
    }
    all
}

fn as_list(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        Value::Null => &[],
        one => std::slice::from_ref(one),
    }
}

impl Seen {
    fn keys(&mut self, object: &str, value: &Value) {
        for key in value.as_object().into_iter().flat_map(|members| members.keys()) {
            self.fields.entry((object.to_owned(), key.clone())).or_default().insert(self.case.clone());
        }
    }

    fn workflow(&mut self, workflow: &Value) {
        self.keys("workflow", workflow);
        for parameter in as_list(&workflow["input"]).iter().chain(as_list(&workflow["output"])) {
            self.keys("parameter", parameter);
        }
        self.keys("limits", &workflow["limits"]);
        self.keys("workflow_sandbox", &workflow["sandbox"]);
        self.keys("requirements", &workflow["requirements"]);
        self.budget(&workflow["budget"]);
        self.note_definitions(&workflow["use"]);
        for context in as_list(&workflow["contexts"]) {
            self.keys("context", context);
            for message in as_list(&context["starting_messages"]) {
                self.keys("message", message);
            }
        }
        for agent in as_list(&workflow["agents"]) {
            self.keys("agent", agent);
        }
        self.states(&workflow["states"]);
        self.steps(&workflow["steps"]);
    }

    fn budget(&mut self, budget: &Value) {
        self.keys("budget", budget);
        for cap in budget.as_object().into_iter().flat_map(|members| members.values()) {
            self.keys("cap", cap);
        }
    }

    fn note_definitions(&mut self, named: &Value) {
        self.keys("use", named);
        let members = |key: &str| named[key].as_object().cloned().unwrap_or_default();
        for (_, rules) in members("retries") {
            as_list(&rules).iter().for_each(|rule| self.keys("retry", rule));
        }
        for (_, tool) in members("tools") {
            self.keys("used_tool", &tool);
            self.inputs(&tool["arguments"]);
        }
        members("prompts").values().for_each(|prompt| self.inputs(prompt));
    }

    fn states(&mut self, states: &Value) {
        for state in as_list(states) {
            let kind = state["type"].as_str().unwrap_or_default();
            self.keys(format!("state {kind}").trim(), state);
            let action = &state["action"];
            self.keys(if kind == "delegate" { "request" } else { "action" }, action);
            as_list(&action["set_state"]).iter().for_each(|one| self.note_update(one));
            self.note_safety(state);
            self.inputs(action);
            self.branches(state);
            self.states(&state["states"]);
        }
    }

    /// What states and steps have in common.
    fn note_safety(&mut self, one: &Value) {
        as_list(&one["transition"]).iter().for_each(|one| self.keys("transition", one));
        as_list(&one["retry"]).iter().for_each(|rule| self.keys("retry", rule));
        as_list(&one["catch"]).iter().for_each(|rule| self.keys("catch", rule));
        self.keys("stored", &one["output"]);
        self.budget(&one["budget"]);
        for key in ["input", "message", "cause", "duration", "until", "command", "args", "cwd", "env"] {
            self.inputs(&one[key]);
        }
        for key in ["arguments", "url", "headers", "query", "body", "in", "sub_workflow_input"] {
            self.inputs(&one[key]);
        }
        for header in one["headers"].as_object().into_iter().flat_map(|members| members.values()) {
            self.keys("secret", header);
        }
    }

    fn note_update(&mut self, update: &Value) {
        if update["path"].is_string() {
            self.keys("update", update);
        }
    }

    fn branches(&mut self, one: &Value) {
        for branch in as_list(&one["branches"]) {
            self.keys("branch", branch);
            self.inputs(branch);
            self.states(&branch["states"]);
            self.steps(&branch["steps"]);
        }
    }

    fn steps(&mut self, steps: &Value) {
        for step in as_list(steps) {
            let kind = step["type"].as_str().unwrap_or_default();
            self.keys(&format!("step {kind}"), step);
            self.note_safety(step);
            as_list(&step["updates"]).iter().for_each(|one| self.note_update(one));
            self.branches(step);
            for key in ["steps", "then", "else"] {
                self.steps(&step[key]);
            }
        }
    }

    /// Input forms however deep they stand: objects of one text under one of the known keys.
    fn inputs(&mut self, value: &Value) {
        match value {
            Value::Object(members) => {
                let input = OBJECTS.iter().find(|object| object.name == "input").unwrap();
                let form = members.len() == 1
                    && members.iter().all(|(key, value)| input.has_key(key) && value.is_string());
                if form {
                    self.keys("input", value);
                }
                members.values().for_each(|value| self.inputs(value));
            }
            Value::Array(items) => items.iter().for_each(|item| self.inputs(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}
