//! Agents and `mcp` states with servers of every kind, on a model that is scripted on loopback.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::mcp::client::Client;
use super::world::{Ran, World, wait_for};
use crate::support::model_server::{Behaviour, ModelServer, Recorded};

const SERVER: &str = include_str!("../support/mcp_server.sh");

/// A user whose server `s` behaves so, with a role that is given its tools.
fn world_with_server(behaviour: &[&str], model: &ModelServer) -> World {
    let mut world = World::new();
    let script = world.write_user_file("server.sh", SERVER).display().to_string();
    let arguments: Vec<&str> = std::iter::once(script.as_str()).chain(behaviour.iter().copied()).collect();
    let server = json!({"command": "sh", "args": arguments, "start_timeout": 2, "call_timeout": 20});
    world.write_user_file("settings.json", &json!({"mcpServers": {"s": server}}).to_string());
    use_model(&mut world, model);
    world
}

/// The levels ask this model; the role `user` may use the tools of all servers.
pub fn use_model(world: &mut World, model: &ModelServer) {
    let role = json!({"user": {"level": "base", "systemMessage": "Use tools.", "includedTools": ["/__/"]}});
    world.write_user_file("roles/user.json", &role.to_string());
    world.set_variable("SYNTHDEV_BASE_URL", &model.base_url);
    world.set_variable("SYNTHDEV_BASE_MODEL", "mock-1");
    world.set_variable("SYNTHDEV_API_KEY", "sk-test");
}

/// A workflow whose agent of the role gets the input and says the output.
fn write_agent_workflow(world: &World) {
    let flow = json!({"workflow_name": "agent", "output": {"name": "said", "type": "string"},
        "contexts": [{"name": "c"}], "agents": [{"agent_role": "user", "context": "c", "role": "assistant"}],
        "states": [{"name": "start", "agent": "user", "input": {"text": "Go."}, "output": {"as": "said"},
                    "transition": [{"target": "stop"}]},
                   {"name": "stop", "input": "common_data.said"}]});
    world.write_user_file("workflows/agent.json", &flow.to_string());
}

pub fn run_agent(world: &World) -> Ran {
    write_agent_workflow(world);
    world.run_program(&["run", "agent", "--yes", "--json"])
}

/// A state calls the tool with these literal arguments.
pub fn run_state(world: &World, server: &str, tool: &str, arguments: &Value) -> Ran {
    let literal = |value: &Value| match value {
        Value::String(text) => json!({"text": text}),
        other => other.clone(),
    };
    let given = arguments.as_object().into_iter().flatten();
    let arguments: serde_json::Map<String, Value> =
        given.map(|(name, value)| (name.clone(), literal(value))).collect();
    let flow = json!({"workflow_name": "state", "on_error": "fail", "output": {"name": "said"},
        "states": [{"name": "start", "type": "mcp", "server": server, "tool": tool, "arguments": arguments,
                    "output": {"as": "said"}, "transition": [{"target": "stop"}]},
                   {"name": "stop", "input": "JSON.stringify(common_data.said)"}]});
    world.write_user_file("workflows/state.json", &flow.to_string());
    world.run_program(&["run", "state", "--yes", "--json"])
}

/// What the model was told of its last call.
pub fn last_tool_result(request: &Recorded) -> String {
    let messages = request.body["messages"].as_array().unwrap();
    let result = messages.iter().rev().find(|message| message["role"] == "tool").unwrap();
    result["content"].as_str().unwrap().to_owned()
}

fn call(id: &str, tool: &str) -> Behaviour {
    Behaviour::calls(&[(id, tool, "{}")])
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_misbehave_are_told_to_the_agent_the_state_and_the_user() {
    // how it behaves, the tool, what the agent is told (else the user, because it got no tools), what the state is told
    let rows: [(&[&str], &str, &str, &str, &str); 6] = [
        (&["sound"], "look", "key none", "", "key none"),
        (&["chatty"], "look", "key none", "", "key none"),
        (
            &["garbage"],
            "look",
            "",
            "MCP server `s` is left out: it did not answer within 2 s",
            "MCP server `s` does not answer: it did not answer within 2 s",
        ),
        (
            &["hangs"],
            "look",
            "",
            "MCP server `s` is left out: it did not answer within 2 s (`start_timeout` of the server)",
            "MCP server `s` does not answer: it did not answer within 2 s (`start_timeout` of the server)",
        ),
        (
            &["dies"],
            "look",
            "",
            "MCP server `s` is left out: it ended before it answered; it wrote: no licence",
            "it ended before it answered; it wrote: no licence",
        ),
        (
            &["sound"],
            "die",
            "it ended during the call; it wrote: out of memory; the next call starts it again",
            "",
            "it ended during the call; it wrote: out of memory",
        ),
    ];
    for (behaviour, tool, agent_told, user_told, state_told) in rows {
        let script = if user_told.is_empty() {
            vec![call("c1", &format!("s__{tool}")), Behaviour::text("Done.")]
        } else {
            vec![Behaviour::text("Done.")]
        };
        let model = ModelServer::start_server(script).await;
        let world = world_with_server(behaviour, &model);
        let ran = run_agent(&world).code(0);
        assert_eq!(ran.json()["output"], "Done.", "{behaviour:?}");
        assert!(ran.stderr.contains(user_told), "{behaviour:?}: {}", ran.stderr);
        if user_told.is_empty() {
            let told = last_tool_result(&model.requests()[1]);
            assert!(told.contains(agent_told), "{behaviour:?}: {told}");
        }
        let ran = run_state(&world, "s", tool, &json!({}));
        let told = format!("{}{}", ran.stdout, ran.stderr);
        assert!(told.contains(state_told), "{behaviour:?} {tool}: {told}");
    }
}

/// Five hundred tools reach the model, and one that the list gained in an earlier run.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_given_long_lists_and_lists_that_change() {
    let script = vec![
        call("c1", "s__t499"),
        Behaviour::text("Once."),
        call("c2", "s__grown"),
        Behaviour::text("Twice."),
    ];
    let model = ModelServer::start_server(script).await;
    let world = world_with_server(&["sound", "500"], &model);
    run_agent(&world).code(0);
    let offered = |request: &Recorded| {
        let tools = request.body["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let first = offered(&model.requests()[0]);
    assert!(first.len() >= 500 && first.contains(&"s__t499".to_owned()), "{}", first.len());
    assert!(last_tool_result(&model.requests()[1]).contains("unknown tool"));
    // the list changes while a workflow calls it, and is listed again by its second call
    let call = |name: &str, tool: &str, next: &str| json!({"name": name, "type": "mcp", "server": "s", "tool": tool, "transition": [{"target": next}]});
    let flow = json!({"workflow_name": "grows", "states": [call("start", "grow", "pause"),
        {"name": "pause", "type": "wait", "duration": 0.5, "transition": [{"target": "again"}]},
        call("again", "look", "stop")]});
    world.write_user_file("workflows/grows.json", &flow.to_string());
    world.run_program(&["run", "grows", "--yes"]).code(0);
    run_agent(&world).code(0);
    let requests = model.requests();
    assert!(offered(&requests[2]).contains(&"s__grown".to_owned()), "{:?}", offered(&requests[2]).len());
    assert!(last_tool_result(&requests[3]).contains("the new one"), "{}", last_tool_result(&requests[3]));
}

/// The servers hang for a day, so whoever waited for one would never end.
#[tokio::test(flavor = "multi_thread")]
async fn dead_servers_delay_neither_the_prompt_nor_a_run_that_does_not_need_them() {
    let model = ModelServer::start_server(vec![Behaviour::text("Hello.")]).await;
    let mut world = World::new();
    use_model(&mut world, &model);
    let role = json!({"plain": {"level": "base", "systemMessage": "x", "includedTools": ["read_files"]}});
    world.write_user_file("roles/plain.json", &role.to_string());
    let hang = |name: &str| {
        let note = world.root().join(name).display().to_string();
        json!({"command": "sh", "args": ["-c", format!("echo $$ > {note}; exec sleep 100000")], "start_timeout": 86400})
    };
    let servers = json!({"mcpServers": {"a": hang("a"), "b": hang("b"), "c": hang("c"),
        "d": {"command": "no-such-program"}, "e": {"url": crate::support::model_server::dead_url()}}});
    world.write_user_file("settings.json", &servers.to_string());
    let flow = json!({"workflow_name": "plain", "output": {"name": "said", "type": "string"},
        "contexts": [{"name": "c"}], "agents": [{"agent_role": "plain", "context": "c", "role": "assistant"}],
        "states": [{"name": "start", "agent": "plain", "input": {"text": "Go."}, "output": {"as": "said"},
                    "transition": [{"target": "stop"}]},
                   {"name": "stop", "input": "common_data.said"}]});
    world.write_user_file("workflows/plain.json", &flow.to_string());
    let started =
        |name: &str| std::fs::read_to_string(world.root().join(name)).ok().filter(|id| id.ends_with('\n'));
    assert_eq!(world.run_program(&["run", "plain", "--json"]).code(0).json()["output"], "Hello.");
    assert!(["a", "b", "c"].iter().all(|name| started(name).is_none()), "a run starts what it needs only");
    model.queue_answer("mock-1", Behaviour::text("Hello again."));
    let mut screen = LineSession::start_session(&world);
    let pids = ["a", "b", "c"].map(|name| wait_for("the screen asks its servers", || started(name)));
    screen.send_line("/workflow plain");
    screen.wait_for("Hello again.");
    screen.end_session();
    for pid in pids {
        let process = std::path::PathBuf::from(format!("/proc/{}", pid.trim()));
        wait_for("the servers end with the session", || (!process.exists()).then_some(()));
    }
}

/// `--linear` through pipes, line by line.
struct LineSession {
    child: std::process::Child,
    lines: std::sync::mpsc::Receiver<String>,
}

impl LineSession {
    fn start_session(world: &World) -> Self {
        let mut child = world.command(&["--linear"]).stdin(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (to, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || output.lines().map_while(Result::ok).all(|line| to.send(line).is_ok()));
        Self { child, lines }
    }

    fn send_line(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    fn wait_for(&self, part: &str) {
        let mut seen = String::new();
        while let Ok(line) = self.lines.recv_timeout(Duration::from_secs(60)) {
            if line.contains(part) {
                return;
            }
            seen.push_str(&line);
            seen.push('\n');
        }
        panic!("{part} was never said:\n{seen}");
    }

    fn end_session(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

/// What the user's text names is in the request, and prompts of servers are messages.
#[tokio::test(flavor = "multi_thread")]
async fn resources_and_prompts_reach_the_model_from_the_input_line() {
    let model = ModelServer::start_server(vec![Behaviour::text("One."), Behaviour::text("Two.")]).await;
    let world = world_with_server(&["sound"], &model);
    world.run_program(&["mcp", "test", "s"]).code(0);
    let lines = "what is in @s:note://one?\n/s:review 'src/a b.rs' tone=kindly\n/s:review\n/s:reviw x\n/t:x\nsee @s:note://none\n";
    let said = world.run_with(&["--linear"], lines).code(0).stdout;
    let user_texts = |request: &Recorded| {
        let messages = request.body["messages"].as_array().unwrap();
        let users = messages.iter().filter(|message| message["role"] == "user");
        users.map(|message| message["content"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let requests = model.requests();
    assert_eq!(requests.len(), 2, "{said}");
    assert_eq!(
        user_texts(&requests[1]),
        ["what is in @s:note://one?\n\n[s:note://one]\nbuy milk", "Review src/a b.rs, kindly."]
    );
    for part in [
        "/s:review needs `file`: write /s:review file=… [tone=…]",
        "the MCP server `s` has no prompt `reviw`; did you mean `review`?",
        "there is no MCP server `t`; did you mean `s`?",
        "MCP server `s` does not give `note://none`: no such note",
    ] {
        assert!(said.contains(part), "wanted {part}\ngot {said}");
    }
}

#[test]
fn the_progress_of_a_call_is_an_event_of_the_run() {
    let world = World::new();
    let script = world.write_user_file("server.sh", SERVER).display().to_string();
    let server = json!({"command": "sh", "args": [script, "sound"], "call_timeout": 1});
    world.write_user_file("settings.json", &json!({"mcpServers": {"s": server}}).to_string());
    let flow = json!({"workflow_name": "slow", "on_error": "fail", "states": [
        {"name": "start", "type": "mcp", "server": "s", "tool": "slow", "transition": [{"target": "stop"}]}]});
    world.write_user_file("workflows/slow.json", &flow.to_string());
    let events = world.run_program(&["run", "slow", "--yes", "--events"]).code(1).lines();
    let progress: Vec<&Value> = events.iter().filter(|event| event["event"] == "tool_progress").collect();
    assert_eq!(progress.len(), 1, "{events:?}");
    assert_eq!(progress[0]["text"], "3 of 10: reading page 3");
    let failed = events.iter().find(|event| event["event"] == "tool_finished").unwrap();
    assert_eq!(progress[0]["call"], failed["call"]);
}

/// The runs of a client have the tools of a server that was never asked, and the answer tells of one that does not answer.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_starts_agents_with_the_tools_of_servers_that_were_never_asked() {
    let left_out = "MCP server `s` is left out: it ended before it answered; it wrote: no licence; in a terminal: `synthdev mcp test s` tries it again";
    for (behaviour, offers, warnings) in [("sound", true, Value::Null), ("dies", false, json!([left_out]))] {
        let model = ModelServer::start_server(vec![Behaviour::text("Done."), Behaviour::text("Done.")]).await;
        let world = world_with_server(&[behaviour], &model);
        write_agent_workflow(&world);
        let mut client = Client::open_client(&world);
        // the second run begins at once, and asks no server any more
        for expected in [warnings, Value::Null] {
            let done = client.call_tool("agent", json!({}));
            assert_eq!((&done["status"], &done["warnings"]), (&json!("completed"), &expected), "{done}");
        }
        client.close_client();
        for request in model.requests() {
            assert_eq!(request.body["tools"].to_string().contains("s__look"), offers, "{behaviour}");
        }
    }
}
