use synthdev::domain::message::ChatRole;
use synthdev::domain::role::Role;
use synthdev::domain::sandbox::{NetworkAccess, RoleNetwork};
use synthdev::settings::role_file::role_group;
use synthdev::settings::roles::tools_for;

use super::*;

const SEED: &str = include_str!("../../data/roles/seed.json");

fn with_roles(files: &[SourceFile]) -> ConfigCatalog {
    let mut sources = shipped_sources();
    sources.roles.extend_from_slice(files);
    load_catalog(sources)
}

fn names(tools: &[ToolSpec]) -> Vec<&str> {
    tools.iter().map(|tool| tool.name.as_str()).collect()
}

#[test]
fn shipped_roles_are_sound_and_hold_the_tools_they_should() {
    let catalog = load_catalog(shipped_sources());
    let reading = ["read_files", "list_directory", "exact_search", "glob"];
    let rows: [(&str, &str, Vec<&str>, &[&str]); 7] = [
        ("orchestrator", "smart", reading.to_vec(), &[]),
        ("coder", "base", tools().iter().map(|tool| &*tool.name.to_owned().leak()).collect(), &[]),
        ("reviewer", "base", [&reading[..], &COMMANDS].concat(), &["review_work"]),
        ("architect", "smart", reading.to_vec(), &[]),
        ("product_manager", "smart", reading.to_vec(), &["task_approval"]),
        ("test_writer", "base", tools().iter().map(|tool| &*tool.name.to_owned().leak()).collect(), &[]),
        ("general", "base", reading.to_vec(), &[]),
    ];
    for (name, level, expected, parsing) in rows {
        let role = catalog.roles().find_role(name).unwrap();
        let (given, warnings) = tools_for(role, &tools());
        assert_eq!((role.level.as_str(), names(&given)), (level, expected), "{name}");
        assert_eq!(warnings, Vec::<String>::new());
        assert_eq!(role.parsing_tools.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), parsing);
        assert!(!role.description.is_empty() && role.system_message.len() > 100);
    }
    assert_eq!(catalog.roles().iter().count(), 7);
}

#[test]
fn the_seed_file_extends_roles_field_by_field() {
    let catalog = with_roles(&[project(".synthdev/roles/deep/er/roles.json", SEED)]);
    assert_eq!(lines(catalog.diagnostics()), Vec::<String>::new());
    let built_in = load_catalog(shipped_sources());
    let (now, before) =
        (catalog.roles().find_role("reviewer").unwrap(), built_in.roles().find_role("reviewer").unwrap());
    assert_eq!(now.system_message, before.system_message);
    assert_eq!(now.included_tools, before.included_tools);
    assert_eq!(now.parsing_tools[0].description, "Provide review feedback on coder's work");
    assert_eq!(now.parsing_tools[0].parameters["required"], json!(["improvement_needed"]));
    let places: Vec<String> = now.places.iter().map(ToString::to_string).collect();
    assert_eq!(places, ["built-in:roles/core.json:19:3", ".synthdev/roles/deep/er/roles.json:24:5"]);
    assert_eq!(now.layer, ConfigLayer::Project);
    let manager = catalog.roles().find_role("product_manager").unwrap();
    assert_eq!(
        names(&tools_for(manager, &tools()).0),
        ["read_files", "list_directory", "exact_search", "glob"]
    );
}

#[test]
fn groups_come_from_file_names() {
    let rows = [
        ("roles/core.json", ""),
        ("built-in:roles/core.json", ""),
        ("a/agile.testing.json", "testing"),
        ("a.b/plain.json", ""),
        ("C:\\r\\x.team.jsonc", "team"),
        (".hidden.json", ""),
    ];
    for (file, group) in rows {
        assert_eq!(role_group(file), group, "{file}");
    }
    let role =
        |prompt: &str| format!("{{\"pilot\": {{\"systemMessage\": \"{prompt}\", \"includedTools\": []}}}}");
    let catalog = with_roles(&[
        user_file("x.a.json", &role("from a")),
        user_file("x.b.json", &role("from b")),
        user_file("y.b.json", "{\"solo\": {\"systemMessage\": \"s\", \"includedTools\": []}}"),
    ]);
    let find = |name: &str| catalog.roles().find_role(name).map(|role| role.system_message.clone());
    assert_eq!(find("a.pilot").unwrap(), "from a");
    assert_eq!(find("b.pilot").unwrap(), "from b");
    assert_eq!(find("solo").unwrap(), "s");
    let names = |name: &str| catalog.roles().namesakes(catalog.roles().find_role(name).unwrap());
    assert_eq!(names("a.pilot"), [("b.pilot".to_owned(), "x.b.json".to_owned())]);
    assert_eq!(names("solo"), []);
    let rows = [
        (
            "pilot",
            "the role `pilot` is in several groups: a.pilot (x.a.json), b.pilot (x.b.json)",
            "write the group too, for example `a.pilot`, or give one of the two another name",
        ),
        ("codr", "there is no role `codr`", "did you mean `coder`?"),
        ("a.pilott", "there is no role `a.pilott`", "did you mean `a.pilot`?"),
    ];
    for (name, message, hint) in rows {
        let error = catalog.roles().find_role(name).unwrap_err();
        assert_eq!((error.message().as_str(), error.hint().as_deref()), (message, Some(hint)));
    }
}

#[test]
fn the_highest_layer_has_the_role_of_a_plain_name() {
    let role = |prompt: &str| {
        format!("{{\"coder\": {{\"systemMessage\": \"{prompt}\", \"includedTools\": [\"read_files\"]}}}}")
    };
    let grouped = project(".synthdev/roles/team.testing.json", &role("of the project"));
    let of_user = user_file("user:roles/own.tests.json", &role("of the user"));
    let broken = project(".synthdev/roles/team.testing.json", "{\"coder\": {\"level\": \"smrt\"}}");
    let plain = project(".synthdev/roles/team.json", &role("plain"));
    let both = "the role `coder` is in several groups: coder (.synthdev/roles/team.json), \
                testing.coder (.synthdev/roles/team.testing.json)";
    let rows: [(&[SourceFile], Result<&str, &str>); 5] = [
        (std::slice::from_ref(&grouped), Ok("of the project")),
        (&[grouped.clone(), of_user.clone()], Ok("of the project")),
        (&[of_user], Ok("of the user")),
        // a role that cannot be used is not replaced by one that nobody meant
        (
            &[broken],
            Err(
                "the role `coder` has errors in its file: .synthdev/roles/team.testing.json:1:21: there is no level `smrt`",
            ),
        ),
        (&[grouped.clone(), plain], Err(both)),
    ];
    for (files, expected) in rows {
        let catalog = with_roles(files);
        let found = catalog.roles().find_role("coder");
        let found = found.map(|role| role.system_message.clone()).map_err(|lookup| lookup.message());
        let found = found.as_ref().map(String::as_str).map_err(String::as_str);
        assert_eq!(found, expected);
    }
    let catalog = with_roles(&[project("x.testing.json", &role("x"))]);
    let coder = catalog.roles().find_role("coder").unwrap();
    assert_eq!(names(&tools_for(coder, &tools()).0), ["read_files"], "its tools, too, are the project's");
}

#[test]
fn all_fields_in_both_spellings() {
    let camel = r#"{"r": {"level": "fast", "systemMessage": "S", "agent_description": "D", "reminder": "R",
        "excludedTools": ["*_file"], "enabled_agents": ["coder"], "can_create_tasks_for": ["coder"],
        "parsingTools": [{"type": "function", "parsingOnly": true, "function": {"name": "t", "parameters": {"type": "object"}}}],
        "examples": [{"role": "user", "content": "U"}, {"role": "assistant", "content": "A"}]}}"#;
    let snake = r#"{"r": {"level": "fast", "system_message": "S", "description": "D", "reminder": "R",
        "excluded_tools": ["*_file"], "enabledAgents": ["coder"], "canCreateTasksFor": ["coder"],
        "parsing_tools": [{"name": "t", "parameters": {}, "parsing_only": true}],
        "examples": [{"role": "user", "content": "U"}, {"role": "assistant", "content": "A"}]}}"#;
    let read = |text: &str| {
        let catalog = with_roles(&[user_file("r.json", text)]);
        assert_eq!(lines(catalog.diagnostics()), Vec::<String>::new());
        Role { places: Vec::new(), ..catalog.roles().find_role("r").unwrap().clone() }
    };
    let role = read(camel);
    assert_eq!(role, read(snake));
    assert_eq!((role.level.as_str(), role.reminder.as_deref()), ("fast", Some("R")));
    assert!(role.parsing_tools[0].parsing_only);
    assert_eq!((role.enabled_agents.as_slice(), role.examples.len()), (&["coder".to_owned()][..], 2));
    let (given, _) = tools_for(&role, &tools());
    let reading = ["read_files", "list_directory", "exact_search", "glob"];
    assert_eq!(names(&given), [&reading[..], &COMMANDS].concat());
}

/// An exclusion of the first takes the others away, too.
const COMMANDS: [&str; 4] = ["execute_terminal", "read_output", "send_input", "stop_command"];

const ALL_TOOLS: [&str; 11] = [
    "read_files",
    "list_directory",
    "exact_search",
    "glob",
    "write_file",
    "edit_file",
    "apply_patch",
    "execute_terminal",
    "read_output",
    "send_input",
    "stop_command",
];

#[test]
fn lists_and_patterns_decide_the_tools() {
    let rows: [(&str, &[&str], &[&str]); 8] = [
        (r#""includedTools": ["read_files", "/^list/"]"#, &["read_files", "list_directory"], &[]),
        (r#""includedTools": ["*"]"#, &ALL_TOOLS, &[]),
        (r#""includedTools": []"#, &[], &[]),
        (
            r#""excludedTools": ["/_FILE$/i", "execute_*"]"#,
            &["read_files", "list_directory", "exact_search", "glob"],
            &[],
        ),
        (r#""excludedTools": []"#, &ALL_TOOLS, &[]),
        (
            r#""reminder": "x""#,
            &[],
            &[
                "u.json:1:2: warning[C14]: role `r` has neither includedTools nor excludedTools: it gets no tools (write \"includedTools\": [] if that is meant, [\"*\"] for all)",
            ],
        ),
        (
            r#""includedTools": ["read_file", "exact_search"]"#,
            &["exact_search"],
            &[
                "u.json:1:48: warning[W09]: role `r`: there is no tool `read_file` (did you mean `read_files`?)",
            ],
        ),
        (
            r#""excludedTools": ["calc*"]"#,
            &ALL_TOOLS,
            &["u.json:1:48: warning[W09]: role `r`: the tool pattern `calc*` fits no tool"],
        ),
    ];
    for (fields, expected, warnings) in rows {
        let text = format!("{{\"r\": {{\"systemMessage\": \"s\", {fields}}}}}");
        let catalog = with_roles(&[user_file("u.json", &text)]);
        assert_eq!(lines(catalog.diagnostics()), warnings, "{fields}");
        let (given, said) = tools_for(catalog.roles().find_role("r").unwrap(), &tools());
        assert_eq!(names(&given), expected, "{fields}");
        assert_eq!(said.len(), warnings.len(), "{said:?}");
    }
}

#[test]
fn a_role_may_ask_the_person_only_if_it_says_so_by_name() {
    let rows = [
        (r#""includedTools": ["*"]"#, false),
        (r#""excludedTools": ["write_file"]"#, false),
        (r#""includedTools": ["request_*"]"#, false),
        (r#""includedTools": ["read_files", "request_users_input"]"#, true),
    ];
    let mut all = tools();
    all.push(synthdev::domain::tool::ask_user_tool());
    for (fields, expected) in rows {
        let catalog =
            with_roles(&[user_file("u.json", &format!("{{\"r\": {{\"systemMessage\": \"s\", {fields}}}}}"))]);
        let (given, _) = tools_for(catalog.roles().find_role("r").unwrap(), &all);
        assert_eq!(names(&given).contains(&"request_users_input"), expected, "{fields}");
    }
}

#[test]
fn a_broken_role_hides_no_other() {
    let text = r#"{
  "bad": {"level": "smrt", "systemMesage": "x", "includedTools": ["/(/"], "excludedTools": [1]},
  "worse": 5,
  "coder": {"parsingTools": [{"function": {"description": "nameless"}}]},
  "fine": {"systemMessage": "ok", "includedTools": []}
}"#;
    let catalog = with_roles(&[user_file("u.json", text), user_file("syntax.json", "{\"a\": }")]);
    let expected = [
        "syntax.json:1:7: error[C01]: not valid JSON: Unexpected close brace",
        "u.json:2:20: error[C06]: there is no level `smrt` (did you mean `smart`?)",
        "u.json:2:28: error[C04]: unknown key `systemMesage` in a role (did you mean `systemMessage`?)",
        "u.json:2:67: error[C06]: the tool pattern `/(/` is no regular expression: unclosed group (write an exact name, a name with *, or /regex/flags)",
        "u.json:2:93: error[C03]: `excludedTools` must be a list of strings, found 1",
        "u.json:2:92: error[C07]: role `bad` has both includedTools and excludedTools (keep the one that says what you mean; excludedTools means every other tool)",
        "u.json:3:12: error[C03]: a role must be an object, found a number",
        "u.json:4:43: error[C06]: a parsing tool needs a name (write {\"type\": \"function\", \"function\": {\"name\": …, \"parameters\": …}})",
    ];
    let mut found = lines(catalog.diagnostics());
    let mut expected: Vec<String> = expected.iter().map(|line| (*line).to_owned()).collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    assert_eq!(catalog.roles().find_role("fine").unwrap().system_message, "ok");
    assert!(catalog.roles().find_role("reviewer").is_ok());
    let error = catalog.roles().find_role("coder").unwrap_err();
    assert_eq!(
        error.message(),
        "the role `coder` has errors in its file: u.json:4:43: a parsing tool needs a name"
    );
}

#[test]
fn conflicts_inside_a_layer_are_said() {
    let catalog = with_roles(&[
        project("b.json", "{\"coder\": {\"level\": \"fast\"}}"),
        project("a.json", "{\"coder\": {\"level\": \"smart\", \"reminder\": \"r\"}}"),
        user_file("c.json", "{\"coder\": {\"level\": \"base\", \"description\": \"mine\"}}"),
    ]);
    let coder = catalog.roles().find_role("coder").unwrap();
    assert_eq!((coder.level.as_str(), coder.description.as_str()), ("fast", "mine"));
    assert_eq!(coder.reminder.as_deref(), Some("r"));
    let found = lines(catalog.diagnostics());
    assert_eq!(found.len(), 1);
    assert!(
        found[0].starts_with("b.json:1:2: warning[C12]: role `coder`: level already set in a.json:1:2;"),
        "{found:?}"
    );
}

#[test]
fn examples_become_messages_that_providers_accept() {
    let read = |examples: &str| {
        let text = format!(
            "{{\"r\": {{\"systemMessage\": \"s\", \"includedTools\": [], \"examples\": {examples}}}}}"
        );
        let catalog = with_roles(&[user_file("u.json", &text)]);
        let found = lines(catalog.diagnostics());
        (catalog.roles().find_role("r").map(|role| role.examples.clone()), found)
    };
    let legacy = r#"[{"role": "user", "content": "u"}, {"role": "assistant", "content": "a"},
        {"role": "function", "name": "read_files", "content": "text"},
        {"role": "assistant", "content": "", "function_call": {"name": "edit_file", "arguments": {"a": 1}}},
        {"role": "function", "name": "edit_file", "content": "done"}, {"role": "assistant", "content": "end"}]"#;
    let (messages, found) = read(legacy);
    assert_eq!(found, Vec::<String>::new());
    let messages = messages.unwrap();
    let roles: Vec<ChatRole> = messages.iter().map(|message| message.role).collect();
    use ChatRole::{Assistant, Tool, User};
    assert_eq!(roles, [User, Assistant, Tool, Assistant, Tool, Assistant]);
    for pair in messages.windows(2).filter(|pair| pair[1].role == Tool) {
        assert_eq!(pair[1].tool_call_id.as_ref(), pair[0].tool_calls.first().map(|call| &call.id));
    }
    assert_eq!(messages[3].tool_calls[0].arguments, "{\"a\":1}");
    let beside = r#"[{"role": "user", "content": "u"},
        {"role": "function", "name": "enhance", "content": "said", "arguments": "{\"needed\":true}"}]"#;
    let (messages, found) = read(beside);
    assert_eq!(found, Vec::<String>::new());
    let messages = messages.unwrap();
    assert_eq!(messages.iter().map(|message| message.role).collect::<Vec<_>>(), [User, Assistant, Tool]);
    assert_eq!(
        (messages[1].tool_calls[0].arguments.as_str(), &*messages[2].content),
        ("{\"needed\":true}", "said")
    );
    assert!(
        read(r#"[{"role": "user", "content": "u", "arguments": "{}"}]"#).1[0]
            .contains("of the role `function`")
    );
    let dangling = r#"[{"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "x", "arguments": "{}"}}]}, {"role": "user", "content": "u"}]"#;
    assert!(read(dangling).1[0].contains("the call `1` before this is not answered"));
    assert!(read(r#"[{"role": "tool", "content": "x"}]"#).1[0].contains("answers no open call"));
    assert!(read(r#"[{"role": "sytem", "content": "x"}]"#).1[0].contains("cannot have the role `sytem`"));
}

#[test]
fn a_role_says_whether_its_commands_have_the_network() {
    use NetworkAccess::{Ask, Off, On};
    let role = |network: &str| format!("{{\"coder\": {{\"sandbox\": {{\"network\": \"{network}\"}}}}}}");
    let own = |network: &str| user_file("own.json", &role(network));
    let theirs = |network: &str| project(".synthdev/roles/own.json", &role(network));
    let described = || project(".synthdev/roles/own.json", r#"{"coder": {"description": "Ours"}}"#);
    let says = |access, may_loosen| Some(RoleNetwork { access, may_loosen });
    for (files, expected, found) in [
        (vec![], None, 0),
        (vec![own("on")], says(On, true), 0),
        (vec![theirs("on")], says(On, false), 1),
        (vec![theirs("off")], says(Off, false), 0),
        (vec![own("on"), theirs("ask")], says(Ask, false), 0),
        (vec![own("off"), theirs("on")], says(Off, false), 1),
        (vec![own("on"), described()], says(On, false), 0),
        (vec![described()], None, 0),
    ] {
        let catalog = with_roles(&files);
        let told = lines(catalog.diagnostics());
        assert_eq!(catalog.roles().find_role("coder").unwrap().network, expected, "{told:?}");
        assert_eq!(told.len(), found, "{told:?}");
        assert!(told.iter().all(|line| line.contains("C19") && line.contains("changes nothing")), "{told:?}");
    }
    for (text, code) in [
        (r#"{"coder": {"sandbox": {"network": "maybe"}}}"#, "C06"),
        (r#"{"coder": {"sandbox": {"mode": "off"}}}"#, "C04"),
        (r#"{"coder": {"sandbox": "off"}}"#, "C03"),
    ] {
        let told = lines(with_roles(&[user_file("own.json", text)]).diagnostics());
        assert!(told.len() == 1 && told[0].contains(code), "{text}: {told:?}");
    }
}
