//! `mcp add` and `mcp remove`: the user's settings, with everything else in them as it was.

use serde_json::json;

use super::world::World;

const SETTINGS: &str = "// mine\n{\n  \"verbosity\": 3, // loud\n}\n";

#[test]
fn servers_come_and_go_and_comments_stay() {
    let world = World::new();
    let file = world.write_user_file("settings.json", SETTINGS);
    let added =
        world.run_program(&["mcp", "add", "--env", "A=b=c", "git", "sh", "-c", "exit 1", "--flag"]).code(0);
    assert!(added.stdout.contains("added `git`; `synthdev mcp test git` starts it"), "{}", added.stdout);
    let url = "https://mcp.example.com/mcp";
    let header = "Authorization: Bearer ${TOKEN}";
    let silent = world.run_program(&["mcp", "add", "--header", header, "issues", url]).code(0);
    assert!(!silent.stderr.contains("note:"), "{}", silent.stderr);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("// mine\n{\n  \"verbosity\": 3, // loud\n"), "{text}");
    let list = world.run_program(&["mcp", "list", "--json"]).code(0).json();
    let rows: Vec<_> = list.as_array().unwrap().iter().map(|row| (&row["name"], &row["reached"])).collect();
    assert_eq!(rows, [(&json!("git"), &json!("sh -c exit 1 --flag")), (&json!("issues"), &json!(url))]);
    for (part, there) in
        [("\"A\": \"b=c\"", true), ("\"Authorization\": \"Bearer ${TOKEN}\"", true), ("\"--env\"", false)]
    {
        assert_eq!(text.contains(part), there, "{part}\n{text}");
    }
    world.run_program(&["mcp", "remove", "git"]).code(0);
    world.run_program(&["mcp", "remove", "issues"]).code(0);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("// mine") && text.contains("// loud") && !text.contains("mcpServers"), "{text}");
}

#[test]
fn a_key_in_the_file_is_pointed_out() {
    let world = World::new();
    let added = world.run_program(&["mcp", "add", "--env", "API_TOKEN=abc", "x", "true"]).code(0);
    assert!(added.stderr.contains("note: the value of API_TOKEN now stands in the file"), "{}", added.stderr);
    assert!(!added.stderr.contains("abc") && !added.stdout.contains("abc"));
}

#[test]
fn mistakes_change_nothing() {
    let world = World::new();
    let settings = "{\"mcpServers\": {\"off\": {\"command\": \"x\", \"disabled\": true}}}";
    let file = world.write_user_file("settings.json", settings);
    let rows: [(&[&str], &str); 8] = [
        (&["add", "off", "true"], "has an MCP server `off` already\nhint: `synthdev mcp remove off` first"),
        (&["add", "a b", "true"], "the MCP server `a b` needs a name of 1 to 32 letters"),
        (&["add", "a__b", "true"], "must not have `__` in its name"),
        (&["add", "a", "ftp://x/"], "`url` must begin with http:// or https://"),
        (&["add", "--env", "A", "a", "true"], "--env needs NAME=VALUE"),
        (&["add", "--header", "A", "a", "http://x/"], "--header needs \"NAME: VALUE\""),
        (
            &["add", "--env", "A=b", "a", "http://x/"],
            "--env is not for a server that is reached by its address",
        ),
        (&["remove", "none"], "has no MCP server `none`\nhint: there are: off"),
    ];
    for (arguments, why) in rows {
        let ran = world.run_program(&[&["mcp"], arguments].concat());
        assert!(
            ran.code != Some(0) && ran.stderr.contains(why),
            "{arguments:?}: {:?} {}",
            ran.code,
            ran.stderr
        );
        assert_eq!(std::fs::read_to_string(&file).unwrap(), settings, "{arguments:?}");
    }
    world.write_user_file("settings.json", "{\"verbosity\": }");
    let ran = world.run_program(&["mcp", "add", "a", "true"]);
    assert!(ran.code != Some(0) && ran.stderr.contains("is broken and was left as it is"), "{}", ran.stderr);
}

#[test]
fn a_server_of_the_project_is_left_to_its_file() {
    let world = World::new();
    world.write_json(".mcp.json", &json!({"mcpServers": {"theirs": {"command": "true"}}}));
    let ran = world.run_program(&["--trust", "mcp", "remove", "theirs"]);
    assert!(
        ran.code != Some(0) && ran.stderr.contains("it is of the project: remove it from .mcp.json"),
        "{}",
        ran.stderr
    );
}

const SERVER: &str = include_str!("../support/mcp_server.sh");

/// A user with a sound server and one that ends at once.
fn world_with_servers() -> World {
    let world = World::new();
    let script = world.write_user_file("server.sh", SERVER).display().to_string();
    let servers = json!({"mcpServers": {
        "sound": {"command": "sh", "args": [script, "sound"]},
        "dead": {"command": "sh", "args": [script, "dies"]}}});
    world.write_user_file("settings.json", &servers.to_string());
    world
}

/// With a workflow that requires these names and then writes a file.
fn world_with_requirements(requirements: &serde_json::Value) -> World {
    let world = world_with_servers();
    let workflow = json!({"workflow_name": "needy", "requirements": requirements, "states": [
        {"name": "start", "type": "tool", "tool": "write_file", "arguments": {"file_path": {"text": "made"}, "content": {"text": "x"}},
         "transition": [{"target": "stop"}]}]});
    world.write_user_file("workflows/needy.json", &workflow.to_string());
    world
}

#[test]
fn everything_that_a_workflow_requires_and_lacks_is_named_before_it_starts() {
    let lacking = json!({
        "servers": ["sound", "dead", "absent"],
        "tools": ["sound__look", "sound__nosuch", "read_filez"],
        "variables": ["NEEDY_TOKEN"]});
    let world = world_with_requirements(&lacking);
    let expected = [
        "the workflow `needy` was not started: what it requires is missing",
        "- the MCP server `absent` is not configured; configured: dead, sound; `synthdev mcp add absent PROGRAM`",
        "- the MCP server `dead` gives no tools: it ended before it answered; it wrote: no licence; `synthdev mcp test dead`",
        "- there is no tool `sound__nosuch`",
        "- there is no tool `read_filez`; did you mean `read_files`?",
        "- the variable `NEEDY_TOKEN` is not set; set `NEEDY_TOKEN` in the environment",
    ];
    let each_names_all = |text: &str, way: &str| {
        let mcp = if way == "on screen" { "/mcp " } else { "synthdev mcp " };
        for part in expected.map(|part| part.replace("synthdev mcp ", mcp)) {
            assert!(text.contains(&part), "{way}: wanted {part}\ngot {text}");
        }
        assert!(!text.contains("`sound__look`"), "{way}: {text}");
        assert!(!world.project().join("made").exists(), "{way}");
    };
    let ran = world.run_program(&["run", "needy", "--yes"]).code(2);
    each_names_all(&ran.stderr, "run");
    let screen = world.run_with(&["--linear"], "/workflow needy\n");
    each_names_all(&screen.stdout, "on screen");
    let mut client = super::super::mcp::client::Client::open_client(&world);
    let call = client.begin_call("start_workflow", json!({"name": "needy"}));
    let answer = client.wait_answer(call);
    assert_eq!(answer["result"]["isError"], json!(true), "{answer}");
    let error = &answer["result"]["structuredContent"]["error"];
    let (detail, hint) = (error["detail"].as_str().unwrap(), error["hint"].as_str().unwrap());
    let told =
        ["`absent` is not configured", "it wrote: no licence", "`sound__nosuch`", "`NEEDY_TOKEN` is not set"];
    assert!(told.iter().all(|part| detail.contains(part)) && !detail.contains("synthdev mcp"), "{detail}");
    for part in [
        "configured: dead, sound; in a terminal: `synthdev mcp add absent PROGRAM`",
        "; in a terminal: `synthdev mcp test dead` tries it again",
        "did you mean `read_files`?",
        "set `NEEDY_TOKEN` in the environment",
    ] {
        assert!(hint.contains(part), "wanted {part}\ngot {hint}");
    }
    assert!(!world.project().join("made").exists());
    client.close_client();
    assert_eq!(world.run_program(&["runs", "list", "--json"]).code(0).json(), json!([]));
    let checked = world
        .run_program(&[
            "check",
            &world.root().join("config/synthdev/workflows/needy.json").display().to_string(),
        ])
        .code(0)
        .stdout;
    for part in ["[W13]", "`absent` is not configured here", "no tool `read_filez`"] {
        assert!(checked.contains(part), "{part}\n{checked}");
    }
}

#[test]
fn a_start_that_fails_tells_of_no_silent_server() {
    let mut world = world_with_servers();
    for (name, value) in [
        ("SYNTHDEV_BASE_URL", "http://127.0.0.1:9/v1"),
        ("SYNTHDEV_BASE_MODEL", "mock-1"),
        ("SYNTHDEV_API_KEY", "sk-test"),
    ] {
        world.set_variable(name, value);
    }
    let workflow = json!({"workflow_name": "needy", "requirements": {"variables": ["NEEDY_TOKEN"]},
        "contexts": [{"name": "main"}],
        "agents": [{"agent_role": "coder", "context": "main", "role": "assistant"}],
        "states": [
            {"name": "start", "agent": "coder", "input": {"text": "x"}, "transition": [{"target": "stop"}]},
            {"name": "stop"}]});
    world.write_user_file("workflows/needy.json", &workflow.to_string());
    world.run_program(&["mcp", "test", "dead"]).code(1);
    let screen = world.run_with(&["--linear"], "/workflow needy\n").stdout;
    assert!(screen.contains("the variable `NEEDY_TOKEN` is not set"), "{screen}");
    assert!(!screen.contains("MCP server dead"), "{screen}");
}

#[test]
fn a_workflow_starts_when_all_that_it_requires_is_there() {
    let met = json!({"servers": ["sound"], "tools": ["sound__look"], "variables": ["NEEDY_TOKEN"]});
    let mut world = world_with_requirements(&met);
    world.set_variable("NEEDY_TOKEN", "x");
    world.run_program(&["run", "needy", "--yes"]).code(0);
    assert!(world.project().join("made").exists());
}

#[test]
fn the_servers_are_listed_with_their_last_call_and_error() {
    let world = world_with_servers();
    let asked = world.run_program(&["mcp", "list"]).code(0).stdout;
    assert_eq!(asked.matches("not asked yet").count(), 2, "{asked}");
    let tested = world.run_program(&["mcp", "test", "sound"]).code(0).stdout;
    assert!(tested.starts_with("sound: 3 tools in ") && tested.contains("  sound__look "), "{tested}");
    let dead = world.run_program(&["mcp", "test", "dead"]).code(1).stderr;
    let why = "MCP server `dead` gave no tools: it ended before it answered; it wrote: no licence\nhint: look at its command";
    assert!(dead.contains(why), "{dead}");
    let none = world.run_program(&["mcp", "test", "none"]).code(2).stderr;
    assert!(none.contains("there is no MCP server `none`\nhint: there are: dead, sound"), "{none}");
    let flow = |tool: &str| {
        let flow = json!({"workflow_name": "calls", "on_error": "fail", "states": [
            {"name": "start", "type": "mcp", "server": "sound", "tool": tool, "transition": [{"target": "stop"}]}]});
        world.write_user_file("workflows/calls.json", &flow.to_string());
        world.run_program(&["run", "calls", "--yes"])
    };
    flow("look").code(0);
    let list = world.run_program(&["mcp", "list"]).code(0).stdout;
    let line = |text: &str, name: &str| {
        text.lines()
            .find(|line| line.trim_start().starts_with(name))
            .unwrap_or_else(|| panic!("{text}"))
            .to_owned()
    };
    let sound = line(&list, "sound");
    assert!(sound.contains("ready, 3 tools, last call (look) ") && !sound.contains("error"), "{sound}");
    assert!(line(&list, "dead").contains("failed, last error: it ended before it answered"), "{list}");
    flow("fail").code(1);
    let rows = world.run_program(&["mcp", "list", "--json"]).code(0).json();
    assert_eq!((&rows[0]["state"], &rows[1]["state"]), (&json!("failed"), &json!("ready")), "{rows}");
    assert_eq!(rows[0]["failure"], rows[0]["last_error"], "{rows}");
    assert_eq!(rows[1]["last_call"]["tool"], "fail", "{rows}");
    assert_eq!(rows[1]["last_error"], "`fail` of MCP server `sound` failed: no such row", "{rows}");
    let lines = "/mcp\n/mcp test sound\n/mcp test dead\n/mcp test none\n";
    let screen = world.run_with(&["--linear"], lines).stdout;
    assert!(line(&screen, "sound").contains("ready, 3 tools, last call (fail) "), "{screen}");
    for part in [
        "sound: 3 tools in ",
        "sound__look",
        "`dead` gave no tools: it ended",
        "there is no MCP server `none`",
    ] {
        assert!(screen.contains(part), "{part}\n{screen}");
    }
}
