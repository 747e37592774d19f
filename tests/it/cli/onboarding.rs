//! From nothing to a model: `models`, `doctor`, `config explain`, `configure`, and the answers to bad input.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::world::{Ran, World};
use crate::support::list_server::{ListServer, Say, model_list};
use crate::support::model_server::{Dialect, dead_url};

const KEY: &str = "sk-Onboard-55e1b7";

/// Servers of the catalogue that this machine may run are somewhere else.
fn hide_local_servers(world: &World) {
    let dead = json!({"base_url": dead_url()});
    let providers = json!({"llamacpp": dead, "vllm": dead, "lmstudio": dead});
    world.write_user_file("models.json", &json!({"providers": providers}).to_string());
}

fn provider<'a>(report: &'a Value, name: &str) -> &'a Value {
    let list = report["providers"].as_array().unwrap();
    list.iter().find(|one| one["provider"] == name).unwrap_or_else(|| panic!("no {name} in {report:#}"))
}

#[test]
fn models_lists_what_can_be_had_and_why_not() {
    let list = json!({"data": [{"id": "mine:8b", "max_model_len": 8192}, {"id": "other"}]});
    let local = ListServer::start_server(None, list, Vec::new());
    let remote = ListServer::start_server(Some(KEY), model_list(&["base-model", "extra"]), Vec::new());
    let mut world = World::new();
    hide_local_servers(&world);
    world.set_variable("OLLAMA_HOST", local.host_and_port());
    world.set_variable("SYNTHDEV_BASE_URL", &remote.base_url);
    world.set_variable("SYNTHDEV_BASE_MODEL", "base-model");
    world.set_variable("SYNTHDEV_API_KEY", KEY);
    let report = world.run_program(&["models", "--json"]).code(0).json();
    let ollama = provider(&report, "ollama");
    assert_eq!((&ollama["reached"], &ollama["usable"]), (&json!(true), &json!(true)));
    let row = &ollama["models"][0];
    assert_eq!(
        (&row["name"], &row["context_size"], &row["input"]),
        (&json!("mine:8b"), &json!(8192), &json!(0.0))
    );
    let custom = provider(&report, "custom");
    assert_eq!(custom["key_from"], "SYNTHDEV_API_KEY (environment)");
    assert_eq!(
        (&custom["models"][0]["levels"], &custom["models"][0]["listed"]),
        (&json!(["base", "smart", "fast"]), &json!(true))
    );
    let openai = provider(&report, "openai");
    assert_eq!(
        (&openai["usable"], &openai["reached"]),
        (&json!(false), &json!(null)),
        "nobody is asked without a key"
    );
    assert_eq!(openai["models"][0]["known"], true);
    assert!(provider(&report, "vllm")["problem"].as_str().unwrap().contains("cannot connect"));
    let text = world.run_program(&["models"]).code(0).stdout;
    for part in [
        "base-model",
        "← base, smart, fast",
        "mine:8b",
        "free",
        "No key yet: openai (OPENAI_API_KEY)",
        "Not running here: llamacpp",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    assert!(!text.contains(KEY), "{text}");
    let one = world.run_program(&["models", "--provider", "openai"]).code(0).stdout;
    assert!(
        one.contains("gpt-4.1")
            && one.contains("$2 in, $8 out")
            && one.contains("no key: set OPENAI_API_KEY"),
        "{one}"
    );
    assert!(
        local.requests_seen().iter().all(|asked| !asked.headers.contains_key("authorization")),
        "a key stays at home"
    );
}

/// Who has a server and no model yet sees what it has, to choose one.
#[test]
fn the_server_of_a_level_without_a_model_is_listed_too() {
    let server = ListServer::start_server(Some(KEY), model_list(&["alpha-1", "beta-2"]), Vec::new());
    let mut world = World::new();
    hide_local_servers(&world);
    world.set_variable("SYNTHDEV_API_KEY", KEY);
    let asked = ["models", "--base-url", &server.base_url];
    for more in [&[][..], &["--provider", "custom"]] {
        let text = world.run_program(&[&asked[..], more].concat()).code(0).stdout;
        for part in [&*server.base_url, "key: SYNTHDEV_API_KEY", "alpha-1", "beta-2"] {
            assert!(text.contains(part), "no `{part}` in\n{text}");
        }
        assert!(!text.contains("←") && !text.contains(KEY), "no level has a model: {text}");
    }
    let report = world.run_program(&[&asked[..], &["--json"]].concat()).code(0).json();
    let custom = provider(&report, "custom");
    assert_eq!(
        (&custom["levels"], custom["models"].as_array().unwrap().len()),
        (&json!([]), 2),
        "{custom:#}"
    );
    let doctor = world.run_program(&["doctor", "--base-url", &server.base_url]).code(1).stdout;
    assert!(doctor.contains("no model is set for level base"), "{doctor}");
}

#[test]
fn a_server_that_gives_no_list_is_one_clear_line() {
    let silent = ListServer::silent_server();
    let page = ListServer::start_server(None, json!({"hello": "world"}), Vec::new());
    let refusing = ListServer::start_server(Some("sk-another"), model_list(&["m"]), Vec::new());
    let dead = dead_url();
    let rows = [
        (dead.as_str(), "cannot connect to http://127.0.0.1"),
        (silent.base_url.as_str(), "sent nothing for 2 s"),
        (page.base_url.as_str(), "not with a list of models"),
        (refusing.base_url.as_str(), "the key was refused"),
    ];
    let check_models = |world: &World, expected: &str| {
        let ran = world.run_program(&["models", "--provider", "custom"]).code(1);
        let told: Vec<&str> = ran.stdout.lines().filter(|line| line.contains(expected)).collect();
        assert_eq!(told.len(), 1, "{expected}:\n{}", ran.stdout);
        assert!(told[0].contains("; ") && !ran.stdout.contains(KEY), "with what to do: {}", told[0]);
    };
    let check_doctor = |world: &World, expected: &str| {
        let ran = world.run_program(&["doctor"]).code(1);
        assert!(ran.stdout.contains(expected) && ran.stdout.contains("→ "), "{}", ran.stdout);
        assert!(ran.stdout.contains("1 problem"), "{}", ran.stdout);
    };
    for (url, expected) in rows {
        let mut world = World::new();
        world.set_variable("SYNTHDEV_BASE_URL", url);
        world.set_variable("SYNTHDEV_BASE_MODEL", "m");
        world.set_variable("SYNTHDEV_API_KEY", KEY);
        // both wait for a server that is silent
        std::thread::scope(|scope| {
            scope.spawn(|| check_models(&world, expected));
            scope.spawn(|| check_doctor(&world, expected));
        });
        let offline = world.run_program(&["doctor", "--offline"]).code(0).stdout;
        assert!(offline.contains("not asked"), "{offline}");
    }
}

#[test]
fn doctor_names_what_is_wrong_and_the_fix() {
    let mut world = World::repository();
    let report = world.run_program(&["doctor", "--json"]).code(1).json();
    let lines = report["lines"].as_array().unwrap();
    for area in ["terminal", "git", "store", "sandbox", "models", "configuration"] {
        assert!(lines.iter().any(|line| line["area"] == area), "nothing about {area}: {report:#}");
    }
    let problems: Vec<&Value> = lines.iter().filter(|line| line["state"] == "problem").collect();
    assert_eq!(problems.len(), 1, "{report:#}");
    assert!(problems[0]["fix"].as_str().unwrap().contains("`synthdev configure`"), "{report:#}");
    assert!(World::files(&world.data()).is_empty(), "looking writes nothing");
    let server = ListServer::start_server(None, model_list(&["m"]), Vec::new());
    world.set_variable("SYNTHDEV_BASE_URL", &server.base_url);
    world.set_variable("SYNTHDEV_BASE_MODEL", "m");
    let fine = world.run_program(&["doctor"]).code(0).stdout;
    for part in ["is a repository", "it answers", "no key needed", "in order"] {
        assert!(fine.contains(part), "no `{part}` in\n{fine}");
    }
    let file = world.write_user_file("keys.json", "{\"keys\": {\"openai\": \"sk-1\"}}");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
    world.write_file(".synthdev/settings.json", "{}");
    world.set_variable("SYNTHDEV_FAST_MODEL", "gone");
    let warned = world.run_program(&["doctor"]).code(0).stdout;
    for part in ["chmod 600", "--trust", "does not name gone", "3 warnings"] {
        assert!(warned.contains(part), "no `{part}` in\n{warned}");
    }
    world.write_user_file("settings.json", "{\"verbosity\": 99}");
    let broken = world.run_program(&["doctor"]).code(1).stdout;
    assert!(broken.contains("user:settings.json:1:15") && broken.contains("from 0 to 5"), "{broken}");
    std::fs::create_dir_all(world.data()).unwrap();
    std::fs::write(world.data().join("runs.sqlite"), "no database").unwrap();
    let broken = world.run_program(&["doctor"]).code(1).stdout;
    assert!(broken.contains("2 problems"), "{broken}");
}

#[test]
fn config_explain_says_what_decides() {
    let mut world = World::new();
    world.write_user_file("settings.json", "{\n  \"verbosity\": 1,\n  \"levels\": {\"base\": {\"model\": \"m1\"}},\n  \"keys\": {\"openai\": \"sk-hidden-0\"}\n}");
    world.set_variable("SYNTHDEV_BASE_MODEL", "m2");
    world.set_variable("OPENAI_API_KEY", "sk-hidden-1");
    let explain = |key: &str| world.run_program(&["config", "explain", key, "--json"]).code(0).json();
    let model = explain("levels.base.model");
    assert_eq!(
        (&model["value"], &model["origin"]["name"]),
        (&json!("\"m2\""), &json!("SYNTHDEV_BASE_MODEL"))
    );
    let shadow = &model["shadows"][0];
    assert_eq!(
        (&shadow["value"], &shadow["origin"]["file"], &shadow["origin"]["line"]),
        (&json!("\"m1\""), &json!("user:settings.json"), &json!(3))
    );
    assert_eq!(explain("SYNTHDEV_BASE_MODEL"), model);
    assert_eq!(explain("model"), model);
    assert_eq!(explain("base-model"), model);
    assert_eq!(
        explain("levels.smart.model")["origin"]["text"],
        "from base: SYNTHDEV_BASE_MODEL (environment)"
    );
    let verbosity = explain("verbosity");
    assert_eq!(
        (&verbosity["default"], &verbosity["shadows"][0]["origin"]["layer"]),
        (&json!("2"), &json!("built-in"))
    );
    let key = explain("OPENAI_API_KEY");
    assert_eq!(
        (&key["path"], &key["value"]),
        (&json!("keys.openai"), &json!("set (user:settings.json, user)"))
    );
    assert_eq!(key["shadows"][0]["origin"]["name"], "OPENAI_API_KEY");
    assert_eq!(verbosity["shadows"].as_array().unwrap().len(), 1, "one built-in value is one: {verbosity:#}");
    let text = world.run_program(&["config", "explain", "verbosity"]).code(0).stdout;
    assert!(text.contains("shadows        2  built-in value, config/settings.json:"), "{text}");
    let text = world.run_program(&["config", "explain", "keys.openai"]).code(0).stdout;
    assert!(!text.contains("sk-hidden"), "{text}");
    let text = world.run_program(&["config", "explain", "max_tool_calls"]).code(0).stdout;
    for part in [
        "tool rounds",
        "set by         built-in value",
        "from 1 to 200",
        "SYNTHDEV_MAX_TOOL_CALLS",
        "--max-tool-calls",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    for (key, expected) in [
        ("verbosty", "did you mean `verbosity`?"),
        ("SYNTHDEV_BASE_MODLE", "did you mean `SYNTHDEV_BASE_MODEL`?"),
        ("levels.base", "levels.base.model"),
        ("connect_seconds", "did you mean `timeouts.connect_seconds`?"),
        ("zzzzzz", "`synthdev config show` lists all"),
    ] {
        let ran = world.run_program(&["config", "explain", key]).code(2);
        assert!(ran.stderr.contains(expected), "{key}: {}", ran.stderr);
    }
}

#[test]
fn config_explain_names_what_cannot_be() {
    let mut bad = World::new();
    bad.set_variable("SYNTHDEV_RETRY_ATTEMPTS", "abc");
    let refused =
        "does not count SYNTHDEV_RETRY_ATTEMPTS must be a whole number from 1 to 100, found \"abc\"";
    let ran = bad.run_program(&["config", "explain", "retry.attempts"]).code(2);
    assert!(ran.stdout.contains(refused) && ran.stdout.contains("value          5"), "{}", ran.stdout);
    let json = bad.run_program(&["config", "explain", "SYNTHDEV_RETRY_ATTEMPTS", "--json"]).code(2).json();
    assert_eq!(json["refused"].as_array().unwrap().len(), 1, "{json:#}");
    bad.run_program(&["config", "explain", "verbosity"]).code(0);
}

fn saved_file(world: &World, name: &str) -> String {
    std::fs::read_to_string(world.root().join("config/synthdev").join(name)).unwrap_or_default()
}

fn keys(world: &World) -> Value {
    serde_json::from_str(&saved_file(world, "keys.json")).unwrap()
}

#[test]
fn configure_tries_and_saves_and_keeps_the_rest_of_the_file() {
    let server = ListServer::start_server(
        Some(KEY),
        model_list(&["m1"]),
        vec![Say::Text("ready"), Say::Text("Here.")],
    );
    let world = World::new();
    world.write_user_file(
        "settings.json",
        "// mine\n{\n  \"verbosity\": 1, // quiet\n  \"levels\": {\"smart\": {\"model\": \"s\"}}\n}\n",
    );
    let typed = [
        "configure",
        "--base-url",
        &server.base_url,
        "--model",
        "m1",
        "--max-tool-calls",
        "9",
        "--key-stdin",
    ];
    let ran = world.run_with(&typed, &format!("{KEY}\n")).code(0);
    assert!(
        ran.stdout.contains("base: m1 of http://127.0.0.1") && ran.stdout.contains("saved: "),
        "{}",
        ran.stdout
    );
    assert!(!ran.stdout.contains(KEY) && !ran.stderr.contains(KEY));
    let settings = saved_file(&world, "settings.json");
    for part in [
        "// mine",
        "\"verbosity\": 1, // quiet",
        "\"smart\": {\"model\": \"s\"}",
        "\"model\": \"m1\"",
        "\"max_tool_calls\": 9",
    ] {
        assert!(settings.contains(part), "no `{part}` in\n{settings}");
    }
    assert!(!settings.contains(KEY));
    let home = server.base_url.trim_end_matches("/v1");
    assert_eq!(keys(&world)["levels"]["base"]["api_key"], json!({"key": KEY, "for": home}));
    for name in ["settings.json", "keys.json"] {
        let file = world.root().join("config/synthdev").join(name);
        assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600, "{name}");
    }
    let shown = world.run_program(&["config", "show", "--origin"]).code(0).stdout;
    assert!(shown.contains("user:keys.json") && !shown.contains(KEY), "{shown}");
    // to a provider of the catalogue: the address and its key go, nothing else does
    world
        .run_with(&["configure", "--provider", "groq", "--model", "g", "--key-stdin", "--no-test"], "gsk-1")
        .code(0);
    let settings = saved_file(&world, "settings.json");
    assert!(settings.contains("\"provider\": \"groq\"") && !settings.contains("base_url"), "{settings}");
    let groq = |key: &str| json!({"keys": {"groq": {"key": key, "for": "https://api.groq.com"}}});
    assert_eq!(keys(&world), groq("gsk-1"));
    // a key alone is that provider's
    world.run_with(&["configure", "--key-stdin", "--no-test"], "gsk-2").code(0);
    assert_eq!(keys(&world), groq("gsk-2"));
}

#[test]
fn what_fails_is_not_saved() {
    let server = ListServer::start_server(Some("sk-right"), model_list(&["m1"]), Vec::new());
    let mut world = World::new();
    let typed = ["configure", "--base-url", &server.base_url, "--model", "m1", "--key-stdin"];
    let ran = world.run_with(&typed, KEY).code(1);
    assert!(
        ran.stderr.contains("the key was refused") && ran.stderr.contains("nothing was saved"),
        "{}",
        ran.stderr
    );
    assert!(!ran.stderr.contains(KEY));
    assert!(World::files(&world.root().join("config")).is_empty());
    // something stronger is set: said, and what is in force is what is tried
    world.set_variable("SYNTHDEV_BASE_MODEL", "from-outside");
    let ran = world.run_with(&[&typed[..], &["--no-test"]].concat(), KEY).code(0);
    assert!(ran.stderr.contains("SYNTHDEV_BASE_MODEL (environment) wins"), "{}", ran.stderr);
}

/// Options, standard input, what is said, the fix.
const TYPED: &[(&[&str], &str, &str, &str)] = &[
    (&["--provider", "opnai", "--model", "m"], "", "there is no provider `opnai`", "did you mean `openai`?"),
    (
        &["--provider", "groq", "--model", "m", "--key-stdin"],
        "sk-a\nsk-b\n",
        "holds a line break",
        "copy it again",
    ),
    (&["--provider", "groq", "--model", "m", "--key-stdin"], "\n", "no key was given", ""),
    (
        &["--base-url", "localhost:11434/v1", "--model", "m"],
        "",
        "must begin with http:// or https://",
        "perhaps http://localhost",
    ),
    (&["--model", " "], "", "the model's name is empty", ""),
    (&["--verbosity", "9"], "", "--verbosity must be a whole number from 0 to 5", ""),
    (&[], "", "there is nothing to save: no option names a provider, model or key", "--key-stdin"),
];

const BOTH: &str =
    r#"{"x": {"systemMessage": "s", "includedTools": ["read_files"], "excludedTools": ["write_file"]}}"#;
const MISSPELT: &str = r#"{"levels": {"base": {"provider": "opnai", "model": "m"}}}"#;
const MISSPELT_LEVELS: &str = r#"{"levels": {"base": {"provider": "opnai", "model": "m"},
    "smart": {"provider": "opnai", "model": "n"}, "fast": {"provider": "opnai", "model": "o"}}}"#;
const SCHEMELESS: &str = r#"{"levels": {"base": {"base_url": "localhost:1/v1"}}}"#;

/// A file of the user, its text, a command, what is said, the fix.
const FILES: &[(&str, &str, &[&str], &str, &str)] = &[
    (
        "settings.json",
        r#"{"keys": {"groq": "sk-a\nsk-b"}}"#,
        &["config", "show"],
        "a line break",
        "in one line",
    ),
    (
        "settings.json",
        SCHEMELESS,
        &["config", "show"],
        "must begin with http:// or https://",
        "as in http://",
    ),
    (
        "settings.json",
        MISSPELT,
        &["run", "coder_reviewer", "x"],
        "there is no provider `opnai`",
        "mean `openai`?",
    ),
    (
        "settings.json",
        MISSPELT_LEVELS,
        &["run", "coder_reviewer", "x"],
        "there is no provider `opnai` (levels base, smart, fast)",
        "mean `openai`?",
    ),
    ("settings.json", MISSPELT_LEVELS, &["check"], "there is no provider", "(levels base, smart, fast)"),
    (
        "settings.json",
        "{\"levels\": ",
        &["configure", "--model", "m", "--no-test"],
        "is broken and was left as it is",
        "correct it first",
    ),
    ("roles/mine.json", BOTH, &["check"], "has both includedTools and excludedTools", "keep the one"),
];

/// A variable, its value, what is said, the fix.
const VARIABLES: &[(&str, &str, &str, &str)] = &[
    ("SYNTHDEV_API_KEY", "sk-a\nsk-b", "SYNTHDEV_API_KEY holds a line break", "in one line"),
    ("SYNTHDEV_BASE_URL", "localhost:1/v1", "SYNTHDEV_BASE_URL must begin with http://", "as in http://"),
];

/// One line about it, with the fix, and no key.
#[track_caller]
fn assert_told_once(ran: &Ran, what: &str, fix: &str) {
    let all = format!("{}{}", ran.stdout, ran.stderr);
    assert!(matches!(ran.code, Some(1 | 2)), "{what}: {:?}\n{all}", ran.code);
    assert_eq!(all.matches(what).count(), 1, "`{what}` once in\n{all}");
    assert!(all.contains(fix), "no `{fix}` in\n{all}");
    assert!(!all.contains("sk-b"), "{all}");
}

#[test]
fn bad_input_is_one_clear_line_with_the_fix() {
    for (options, input, what, fix) in TYPED {
        let world = World::new();
        let ran = world.run_with(&[&["configure", "--no-test"], *options].concat(), input);
        assert_told_once(&ran, what, fix);
        assert!(World::files(&world.root().join("config")).is_empty(), "nothing is half done: {what}");
    }
    for (file, text, command, what, fix) in FILES {
        let world = World::new();
        world.write_user_file(file, text);
        assert_told_once(&world.run_program(command), what, fix);
    }
    for (name, value, what, fix) in VARIABLES {
        let mut world = World::new();
        world.set_variable(name, value);
        assert_told_once(&world.run_program(&["config", "show"]), what, fix);
    }
    let world = World::new();
    world.write_user_file("settings.json", MISSPELT_LEVELS);
    let screen = world.run_with(&["--linear"], "/workflow coder_reviewer x\n").stdout;
    let refused = screen.split("was not started").nth(1).unwrap_or_else(|| panic!("{screen}"));
    assert_eq!(
        refused.matches("there is no provider `opnai` (levels base, smart, fast)").count(),
        1,
        "{screen}"
    );
    let ran = World::new().run_program(&["models", "--provider", "opnai"]);
    assert_told_once(&ran, "there is no provider `opnai`", "did you mean `openai`?");
}

/// `models`, `doctor` and the trial of `configure`, in each protocol.
#[test]
fn every_protocol_lists_its_models_and_is_tried() {
    for dialect in Dialect::ALL {
        let list = match dialect {
            Dialect::Messages => json!({"data": [{"type": "model", "id": "m1", "display_name": "M"}],
                "has_more": false, "first_id": "m1", "last_id": "m1"}),
            Dialect::Completions | Dialect::Responses => model_list(&["m1"]),
        };
        let server = ListServer::start_in_dialect(dialect, Some(KEY), list, Vec::new());
        let world = World::new();
        let mine = json!({"base_url": server.base_url, "protocol": dialect.protocol(), "needs_key": true});
        world.write_user_file("models.json", &json!({"providers": {"mine": mine}}).to_string());
        let typed = ["configure", "--provider", "mine", "--model", "m1", "--key-stdin"];
        let refused = world.run_with(&typed, "sk-wrong-key").code(1);
        assert!(refused.stderr.contains("the key was refused"), "{dialect:?}: {}", refused.stderr);
        let ran = world.run_with(&typed, KEY).code(0);
        assert!(ran.stdout.contains("base: m1 of mine answered in"), "{dialect:?}: {}", ran.stdout);
        let report = world.run_program(&["models", "--provider", "mine", "--json"]).code(0).json();
        let offer = provider(&report, "mine");
        assert_eq!((&offer["reached"], &offer["protocol"]), (&json!(true), &json!(dialect.protocol())));
        assert_eq!(
            (&offer["models"][0]["name"], &offer["models"][0]["listed"]),
            (&json!("m1"), &json!(true))
        );
        let doctor = world.run_program(&["doctor"]).stdout;
        assert!(doctor.contains("it answers") && !doctor.contains(KEY), "{dialect:?}: {doctor}");
        let paths: Vec<String> = server.requests_seen().into_iter().map(|one| one.path).collect();
        let list = if dialect == Dialect::Messages { "/v1/models?limit=1000" } else { "/v1/models" };
        assert_eq!(paths, [dialect.path(), dialect.path(), list, list], "{dialect:?}");
    }
}

/// A session of its own has no terminal at all, as a service or a job of a scheduler has none.
#[test]
fn without_a_terminal_the_screen_says_what_to_use_instead() {
    let world = World::new();
    for arguments in [&[][..], &["demo"]] {
        let mut command = Command::new("setsid");
        world.isolate_command(&mut command);
        command.arg("--wait").arg(env!("CARGO_BIN_EXE_synthdev")).args(arguments).stdin(Stdio::null());
        let done = command.output().unwrap();
        let told = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(2), "{arguments:?}: {told}");
        for part in ["there is no terminal for the screen", "\nhint: ", "synthdev --linear", "synthdev run"] {
            assert!(told.contains(part), "{arguments:?}: {part}: {told}");
        }
    }
}
