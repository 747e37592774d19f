//! `schema`: what is stored is what is printed, and it takes and refuses what the program takes and refuses.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use synthdev::domain::source_location::ConfigLayer;
use synthdev::language::json::JsonNode;
use synthdev::language::source::{FileDiagnostics, SourceFile};
use synthdev::settings::schema::FileSchema;

use super::world::{World, talk_workflow};

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A file as the program reads it: comments and all.
fn value(path: &Path) -> Value {
    let file =
        SourceFile::new(ConfigLayer::BuiltIn, path.display().to_string(), fs::read_to_string(path).unwrap());
    let mut findings = FileDiagnostics::new(&file);
    JsonNode::parse(&file, &mut findings).unwrap().to_value()
}

fn validator(schema: FileSchema) -> jsonschema::Validator {
    jsonschema::validator_for(&schema.value()).unwrap()
}

#[track_caller]
fn assert_accepts(schema: &jsonschema::Validator, value: &Value, what: &str) {
    let errors: Vec<String> =
        schema.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{what}: {errors:#?}");
}

#[test]
fn stored_schemas_are_what_the_program_prints() {
    let world = World::new();
    for schema in FileSchema::ALL {
        // stored is the schema of the program without optional parts
        if cfg!(feature = "restate") && schema.name() == "settings" {
            continue;
        }
        let printed = world.run_program(&["schema", schema.name()]).code(0).stdout;
        let stored = fs::read_to_string(root("config/schema").join(format!("{}.json", schema.name())));
        let stored = stored.unwrap_or_default().replace("\r\n", "\n");
        assert!(
            printed == stored,
            "config/schema/{}.json is stale; renew it with: cargo run -- schema --write config/schema",
            schema.name()
        );
    }
    let list = world.run_program(&["schema"]).code(0).stdout;
    assert!(FileSchema::ALL.iter().all(|schema| list.contains(schema.description())), "{list}");
}

#[test]
fn schemas_are_written_where_they_are_wanted() {
    let world = World::new();
    world.run_program(&["schema", "--write", "deep/schemas"]).code(0);
    let found = World::files(&world.project().join("deep/schemas"));
    assert_eq!(found.len(), FileSchema::ALL.len());
    world.run_program(&["schema", "role", "--write", "one"]).code(0);
    assert_eq!(World::files(&world.project().join("one")).len(), 1);
    world.write_file("file", "");
    let refused = world.run_program(&["schema", "--write", "file/x"]).code(2);
    assert!(refused.stderr.contains("file/x"), "{}", refused.stderr);
}

/// Every JSON file directly in a folder.
fn files(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root(folder)).into_iter().flatten();
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .collect();
    found.sort();
    assert!(!found.is_empty(), "{folder}");
    found
}

#[test]
fn everything_shipped_fits() {
    let is_test = |path: &Path| path.to_string_lossy().ends_with(".test.json");
    let mut all: Vec<(FileSchema, PathBuf)> = Vec::new();
    for folder in ["workflows", "tests/data/seed"] {
        let kind = |path: &Path| if is_test(path) { FileSchema::Test } else { FileSchema::Workflow };
        all.extend(files(folder).into_iter().map(|path| (kind(&path), path)));
    }
    all.extend(files("roles").into_iter().map(|path| (FileSchema::Role, path)));
    all.push((FileSchema::Settings, root("config/settings.json")));
    all.push((FileSchema::Models, root("config/models.json")));
    all.push((FileSchema::Replies, root("config/demo/replies.json")));
    for (schema, path) in all {
        assert_accepts(&validator(schema), &value(&path), &path.display().to_string());
    }
    assert_accepts(
        &validator(FileSchema::Workflow),
        &json!([talk_workflow(), talk_workflow()]),
        "a list of workflows",
    );
}

/// Where in a workflow a key is put: every object that has keys of its own.
const OBJECTS: [&str; 8] = [
    "",
    "/input",
    "/contexts/0",
    "/agents/0",
    "/states/0",
    "/states/0/transition/0",
    "/states/1/action",
    "/limits",
];

#[test]
fn unknown_keys_are_refused_and_notes_are_welcome_as_in_the_program() {
    let world = World::new();
    let schema = validator(FileSchema::Workflow);
    let rows =
        [("colour", json!("red"), false), ("x_colour", json!(["red"]), true), ("$schema", json!("s"), true)];
    for pointer in OBJECTS {
        for (key, member, fits) in &rows {
            let mut workflow = talk_workflow();
            workflow["limits"] = json!({});
            workflow.pointer_mut(pointer).unwrap()[*key] = member.clone();
            let what = format!("{key} in `{pointer}`");
            assert_eq!(schema.is_valid(&workflow), *fits, "{what}");
            world.write_json("w.json", &workflow);
            let code = world.run_program(&["check", "w.json"]).code;
            assert_eq!(code == Some(0), *fits, "the schema and `check` differ: {what}");
        }
    }
}

#[test]
fn wrong_values_are_refused_as_in_the_program() {
    let world = World::new();
    let schema = validator(FileSchema::Workflow);
    let rows = [
        ("/limits", json!({"max_steps": 0})),
        ("/limits", json!({"max_steps": 1.5})),
        ("/limits", json!([])),
        ("/agents/0/role", json!("speaker")),
        ("/agents/0", json!({"agent_role": "coder", "role": "assistant"})),
        ("/input/type", json!("text")),
        ("/states/0/name", json!(3)),
        ("/states/0/transition", json!({"target": "say"})),
        ("/states/0/transition/0", json!({"condition": "true"})),
        ("/states/1", json!({"name": "say", "type": "sleep"})),
        ("/states/1", json!({"name": "say", "type": "shell"})),
        ("/states/1", json!({"name": "say", "type": "shell", "command": "make", "agent": "coder"})),
        ("/states/1", json!({"name": "say", "command": "make"})),
        (
            "/states/1",
            json!({"name": "say", "type": "parallel", "branches": [{"nam": "a", "agent": "coder"}]}),
        ),
        (
            "/states/1",
            json!({"name": "say", "type": "foreach", "in": [], "agent": "coder", "tolerated_percent": 101}),
        ),
        ("/states/1/retry", json!([{"errors": ["*"], "max_attempts": 0}])),
        ("/states/1/retry", json!([{"error": "*"}])),
        ("/states/1/catch", json!([{"errors": "*"}])),
        ("/states/1/output", json!({"as": 3})),
        ("/states/1/output", json!({"key": "x"})),
        ("/states/1/max_visits", json!(0)),
        ("/budget", json!({"tokens": "many"})),
        ("/budget", json!({"token": 3})),
        ("/use", json!({"timeout": {}})),
        ("/input", json!([{"name": "task", "default": 3, "schema": 4}])),
        ("/states/1/action/function", json!("sendMessage")),
        ("/contexts/0/starting_messages", json!([{"role": "tool", "content": "x"}])),
        ("/start_condition", json!("later")),
        ("/snapshot", json!(true)),
        ("/description", json!(1)),
    ];
    for (pointer, wrong) in rows {
        let mut workflow = talk_workflow();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let parent = workflow.pointer_mut(parent).unwrap();
        match key.parse::<usize>() {
            Ok(at) => parent[at] = wrong.clone(),
            Err(_) => parent[key] = wrong.clone(),
        }
        assert!(!schema.is_valid(&workflow), "the schema takes {wrong} for {pointer}");
        world.write_json("w.json", &workflow);
        assert_eq!(
            world.run_program(&["check", "w.json"]).code,
            Some(1),
            "`check` takes {wrong} for {pointer}"
        );
    }
}

/// For each key that the schema of replies files has, a value; the scripted model must take it.
#[test]
fn keys_of_replies_are_those_that_the_scripted_model_reads() {
    let world = World::new();
    world.write_talk(&json!([]));
    let schema = FileSchema::Replies.value();
    let sample = |object: &str, key: &str| match (object, key) {
        ("reply" | "spoken", "tool_calls") => json!([]),
        ("reply" | "spoken", "usage") => json!({}),
        ("reply" | "spoken", "error") => json!({"kind": "auth"}),
        ("reply" | "spoken", "delay_ms") | ("usage", _) | ("error", "retry_after_ms") => json!(0),
        (_, "chunk") => json!(1),
        ("error", "kind") => json!("auth"),
        _ => json!("text"),
    };
    let put = |object: &str, key: &str| {
        let with = |base: Value| {
            let mut value = base;
            value[key] = sample(object, key);
            value
        };
        match object {
            "reply" if key == "match" => json!({"match": "x", "reply": {"text": "hi"}}),
            "reply" if key == "reply" => json!({"match": "x", "reply": {"text": "hi"}}),
            "reply" if key.starts_with("sees") => json!({key: ["x"], "reply": {"text": "hi"}}),
            "reply" => with(json!({"text": "hi"})),
            "spoken" => json!({"match": "x", "reply": with(json!({"text": "hi"}))}),
            "call" => json!({"tool_calls": [with(json!({"name": "n"}))]}),
            "error" => json!({"error": with(json!({"kind": "auth"}))}),
            "usage" => json!({"text": "hi", "usage": with(json!({}))}),
            other => panic!("what is `{other}`?"),
        }
    };
    let validator = validator(FileSchema::Replies);
    for (object, definition) in schema["$defs"].as_object().unwrap() {
        if object == "replies" {
            continue;
        }
        for key in definition["properties"].as_object().unwrap().keys() {
            let file = json!({"replies": {"nobody": [put(object, key)]}});
            assert_accepts(&validator, &file, &format!("{object}.{key}"));
            world.write_json("replies.json", &file);
            let ran = world.run_talk(&[]);
            assert!(!ran.stderr.contains("is not a replies file"), "{object}.{key}: {}", ran.stderr);
        }
        let file = json!({"replies": {"nobody": [put(object, "colour")]}});
        assert!(!validator.is_valid(&file), "{object}.colour");
        world.write_json("replies.json", &file);
        let ran = world.run_talk(&[]);
        assert!(ran.stderr.contains("unknown key `colour`"), "{object}: {}", ran.stderr);
    }
}

#[test]
fn roles_are_judged_as_they_are_read() {
    let world = World::new();
    let schema = validator(FileSchema::Role);
    let rows = [
        (json!({"cook": {}}), true),
        (
            json!({"x_note": 1, "$schema": "s", "cook": {"systemMessage": "You cook.", "includedTools": "*"}}),
            true,
        ),
        (
            json!({"cook": {"system_message": "You cook.", "examples": [{"role": "user", "content": "hi"}]}}),
            true,
        ),
        (json!({"cook": {"level": "huge"}}), false),
        (json!({"cook": {"colour": "red"}}), false),
        (json!({"cook": {"parsingTools": [{"type": "function", "function": {"description": "d"}}]}}), false),
        (json!({"a cook": {}}), false),
        (json!([]), false),
    ];
    for (file, fits) in rows {
        assert_eq!(schema.is_valid(&file), fits, "{file}");
        world.write_user_file("roles/one.json", &file.to_string());
        assert_eq!(world.run_program(&["check"]).code == Some(0), fits, "{file}");
    }
}
