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
