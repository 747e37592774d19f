//! Every shipped workflow takes the same path to the same output three ways: a provider is asked, the client's model is
//! asked, a sub-agent does it (acceptance 3 of the workflow server).

use std::collections::{BTreeMap, VecDeque};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::{Arc, Mutex};

use super::*;
use crate::cli::shipped::names as shipped;
use crate::support::model_server::{Behaviour, ModelServer, Recorded, RequestResponder};

const OURS: [&str; 7] =
    ["--provider", "agentllm", "--smart-provider", "agentllm", "--fast-provider", "agentllm", "--yes"];

/// A workflow with the case of its own tests that is played.
struct Row {
    name: &'static str,
    cases: &'static str,
    which: usize,
    /// Steps of branches and items come as they come.
    concurrent: bool,
}

const fn row(name: &'static str, cases: &'static str, which: usize, concurrent: bool) -> Row {
    Row { name, cases, which, concurrent }
}

/// Its own tests have files in an order that git does not list them in.
const EACH_FILE: &str = r#"{"tests": [{
    "input": {"task": "count the lines", "files": "*.rs"},
    "replies": {"coder": [
        {"match": "the file d.rs \\(number 2 of 3\\)", "reply": {"text": "D"}},
        {"match": "(?s)the file a.rs \\(number 1 of 3\\).*count the lines", "reply": {"text": "A"}},
        {"match": "the file src/b c.rs", "reply": {"text": "B"}}]},
    "expect": {"output": "a.rs: A\n\nd.rs: D\n\nsrc/b c.rs: B"}}]}"#;

const ROWS: [Row; 10] = [
    row("coder_reviewer", include_str!("../../../../workflows/coder_reviewer.test.json"), 1, false),
    row("each_file", EACH_FILE, 0, true),
    row("grocery_store", include_str!("../../../../workflows/grocery_store.test.json"), 0, false),
    row(
        "hierarchical_development",
        include_str!("../../../../workflows/hierarchical_development.test.json"),
        1,
        false,
    ),
    row(
        "newspaper_copywriter",
        include_str!("../../../../workflows/newspaper_copywriter.test.json"),
        1,
        false,
    ),
    row(
        "parallel_analysis_shared",
        include_str!("../../../../workflows/parallel_analysis_shared.test.json"),
        0,
        true,
    ),
    row(
        "plan_approve_implement",
        include_str!("../../../../workflows/plan_approve_implement.test.json"),
        1,
        false,
    ),
    row(
        "product_manager_coder",
        include_str!("../../../../workflows/product_manager_coder.test.json"),
        1,
        false,
    ),
    row("section_writer", include_str!("../../../../workflows/section_writer.test.json"), 0, false),
    row("test_first", include_str!("../../../../workflows/test_first.test.json"), 0, false),
];

/// The instruction of a role, without what is added for the project.
fn role_instruction(message: &Value) -> String {
    text(&message["content"]).split("\n\nWhere you work").next().unwrap().to_owned()
}

/// What models and people say in one case, each in order.
struct Script {
    replies: BTreeMap<String, VecDeque<Value>>,
    answers: VecDeque<Value>,
    /// Which agent has which instructions.
    systems: BTreeMap<String, String>,
}

impl Script {
    fn from_case(case: &Value) -> Self {
        let list = |list: &Value| list.as_array().cloned().unwrap_or_default().into();
        let agents = case["replies"].as_object().unwrap().iter();
        let replies = agents.map(|(agent, replies)| (agent.clone(), list(replies))).collect();
        Self { replies, answers: list(&case["answers"]), systems: BTreeMap::new() }
    }

    /// The reply of an agent whose last message is this.
    fn next_reply(&mut self, agent: &str, last: &str) -> Value {
        let queue = self.replies.get_mut(agent).unwrap_or_else(|| panic!("nobody speaks for {agent}"));
        let fits = |entry: &Value| match entry["match"].as_str() {
            Some(part) => last.contains(part) || regex::Regex::new(part).unwrap().is_match(last),
            None => true,
        };
        let at = queue.iter().position(fits);
        let entry = at.and_then(|at| queue.remove(at));
        let entry = entry.unwrap_or_else(|| panic!("{agent} has nothing to say to {last}"));
        let reply = entry.get("reply").unwrap_or(&entry);
        if let Value::String(text) = reply { json!({"text": text}) } else { reply.clone() }
    }

    /// What a client's model answers to a request.
    fn data(&mut self, request: &Value) -> Value {
        let agent = text(&request["role"]);
        let messages = request["messages"].as_array().unwrap();
        if messages[0]["role"] == "system" {
            let before = self.systems.insert(role_instruction(&messages[0]), agent.clone());
            assert!(before.is_none_or(|before| before == agent), "two agents with one instruction");
        }
        let reply = self.next_reply(&agent, messages.last().unwrap()["content"].as_str().unwrap_or_default());
        let calls = reply["tool_calls"].as_array().cloned().unwrap_or_default();
        // a result that must fit a schema may come as text
        if request["serviceType"] == "generateObject" && !calls.is_empty() {
            assert_eq!(calls[0]["name"], request["objectName"], "{request}");
            return json!({"object": calls[0]["arguments"]});
        }
        let mut data = json!({});
        if let Some(text) = reply.get("text") {
            data["text"] = text.clone();
        }
        if !calls.is_empty() {
            data["toolCalls"] = json!(calls);
        }
        data
    }

    fn next_answer(&mut self) -> Value {
        let entry = self.answers.pop_front().expect("somebody is asked once more");
        entry.get("answer").unwrap_or(&entry).clone()
    }

    fn is_used_up(&self) -> bool {
        self.answers.is_empty() && self.replies.values().all(VecDeque::is_empty)
    }
}

/// A model server that answers every agent with these instructions.
struct Provider(Mutex<Script>);

impl RequestResponder for Provider {
    fn reply_to(&self, request: &Recorded) -> Behaviour {
        let mut script = self.0.lock().unwrap();
        let messages = request.body["messages"].as_array().unwrap();
        let agent = script.systems[&role_instruction(&messages[0])].clone();
        let reply =
            script.next_reply(&agent, messages.last().unwrap()["content"].as_str().unwrap_or_default());
        let calls = reply["tool_calls"].as_array().cloned().unwrap_or_default();
        let mut deltas =
            vec![json!({"role": "assistant", "content": reply["text"].as_str().unwrap_or_default()})];
        deltas.extend(calls.iter().enumerate().map(|(index, call)| {
            let function = json!({"name": call["name"], "arguments": call["arguments"].to_string()});
            let id = format!("c-{}-{index}", messages.len());
            json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]})
        }));
        Behaviour::from_chunks(&deltas, if calls.is_empty() { "stop" } else { "tool_calls" })
    }

    fn on_answered(&self, _: &Recorded) {}
}

/// A project with what the workflows look at.
fn project() -> World {
    let world = World::repository();
    for file in ["a.rs", "src/b c.rs", "d.rs"] {
        world.write_file(file, "fn main() {}\n");
    }
    let check = "#!/bin/sh\nif [ -e .git/ran ]; then echo ok; else touch .git/ran; echo 'expected 2, got 1'; exit 1; fi\n";
    let check = world.write_file("check", check);
    std::fs::set_permissions(check, std::fs::Permissions::from_mode(0o755)).unwrap();
    world.git(&["add", "."]);
    world
}

/// The inputs of a case, by name.
fn inputs(client: &mut Client, name: &str, case: &Value) -> Value {
    if case["input"].is_object() {
        return case["input"].clone();
    }
    let listed = client.call_tool("list_workflows", json!({}));
    let listed = listed["workflows"].as_array().unwrap().iter().find(|one| one["name"] == name).unwrap();
    let input = listed["inputSchema"]["properties"].as_object().unwrap().keys().next().unwrap();
    json!({input.as_str(): case["input"]})
}

/// Until nobody is asked any more: models by interactions, people by tokens.
fn drive_to_end(client: &mut Client, name: &str, script: &mut Script, case: &Value) -> Value {
    let inputs = inputs(client, name, case);
    let mut told = client.call_tool("start_workflow", json!({"name": name, "inputs": inputs}));
    loop {
        told = match told["status"].as_str().unwrap() {
            "pending_agent_llm_action" => {
                let data = script.data(&told["llmRequestForAgent"]);
                let answer = json!({"interactionId": told["interactionId"],
                                    "agentLLMResponse": {"status": "success", "data": data}});
                client.call_tool("agent_llm", answer)["run"].clone()
            }
            "awaiting_llm_action" => {
                let results = json!({"answer": script.next_answer()});
                client.call_tool(
                    "resume_workflow",
                    json!({"resumeToken": told["resumeToken"], "results": results}),
                )
            }
            _ => return told,
        }
    }
}

/// What a sub-agent with a shell, a user and a model of its own hands in.
fn submitted_result(world: &World, step: &Value, script: &mut Script) -> Value {
    let parameters = &step["parameters"];
    match step["type"].as_str().unwrap() {
        "llm_call" => script.data(parameters),
        "prompt" => {
            let name = if parameters["prompt_type"] == "choice" { "choice" } else { "input" };
            json!({name: script.next_answer()})
        }
        "shell" => {
            let command = text(&parameters["command"]);
            let mut ran = match parameters["args"].as_array() {
                Some(arguments) => {
                    let mut ran = Command::new(command);
                    ran.args(arguments.iter().map(text));
                    ran
                }
                None => {
                    let mut ran = Command::new("sh");
                    ran.args(["-c", &command]);
                    ran
                }
            };
            let done = ran.current_dir(world.project()).output().unwrap();
            json!({"stdout": String::from_utf8(done.stdout).unwrap(), "stderr": String::from_utf8(done.stderr).unwrap(),
                   "exit_code": done.status.code()})
        }
        other => panic!("{other}: {step}"),
    }
}

fn by_a_sub_agent(
    world: &World,
    client: &mut Client,
    name: &str,
    script: &mut Script,
    case: &Value,
) -> Value {
    let inputs = inputs(client, name, case);
    let told = client.call_tool("start_workflow", json!({"name": name, "inputs": inputs, "agent": "@task"}));
    let id = tasks(&told).remove(0);
    loop {
        let said = next_step(client, &id);
        match said["status"].as_str().unwrap() {
            "pending_step" => {
                let step = &said["step"];
                let result = submitted_result(world, step, script);
                assert_eq!(submit_step(client, &id, step, &result), json!({"status": "accepted"}), "{step}");
            }
            "waiting" => {}
            "complete" => {
                let ended = wait_ended(client, &told["workflowId"]);
                assert_eq!(said["final_result"], ended["output"], "{said}\n{ended}");
                return ended;
            }
            other => panic!("{other}: {said}"),
        }
    }
}

/// Status, path and output of a run.
fn run_course(told: &Value, concurrent: bool) -> (Value, Vec<String>, Value) {
    let mut path: Vec<String> = told["completedSteps"].as_array().unwrap().iter().map(text).collect();
    if concurrent {
        path.sort();
    }
    (told["status"].clone(), path, told["output"].clone())
}

async fn same_three_ways(row: &Row) {
    let cases: Value = serde_json::from_str(row.cases).unwrap();
    let case = &cases["tests"][row.which];
    let name = row.name;

    let mut script = Script::from_case(case);
    let world = project();
    let mut client = Client::open_with(&world, &OURS);
    let told = drive_to_end(&mut client, name, &mut script, case);
    client.close_client();
    assert!(script.is_used_up(), "{name}: {:?} {told}", script.replies);
    let by_interactions = run_course(&told, row.concurrent);
    assert_eq!(by_interactions.0, "completed", "{name}: {told}");

    let world = project();
    let mut client = Client::open_with(&world, &OURS);
    let mut again = Script::from_case(case);
    let told = by_a_sub_agent(&world, &mut client, name, &mut again, case);
    client.close_client();
    assert!(again.is_used_up(), "{name}: {:?} {told}", again.replies);
    assert_eq!(run_course(&told, row.concurrent), by_interactions, "{name} by a sub-agent");

    let systems = script.systems;
    let provider = Arc::new(Provider(Mutex::new(Script { systems, ..Script::from_case(case) })));
    let server = ModelServer::start_with(Arc::clone(&provider) as Arc<dyn RequestResponder>).await;
    let mut world = project();
    for (name, value) in [
        ("BASE_URL", server.base_url.as_str()),
        ("API_KEY", "sk-loopback-0001"),
        ("BASE_MODEL", "base-model"),
    ] {
        world.set_variable(&format!("SYNTHDEV_{name}"), value);
    }
    let mut client = Client::open_with(&world, &["--yes"]);
    let mut people = Script::from_case(case);
    let told = drive_to_end(&mut client, name, &mut people, case);
    client.close_client();
    assert!(people.answers.is_empty(), "{name}");
    assert_eq!(run_course(&told, row.concurrent), by_interactions, "{name} by a provider");

    let expected = &case["expect"];
    if let Some(steps) = expected["path"].as_array() {
        let unnumbered = |step: &String| step.split('#').next().unwrap().to_owned();
        let mut path: Vec<String> = by_interactions.1.iter().map(unnumbered).collect();
        let mut steps: Vec<String> = steps.iter().map(text).collect();
        if row.concurrent {
            path.sort();
            steps.sort();
        }
        assert_eq!(path, steps, "{name}");
    }
    if expected["output"].is_string() {
        assert_eq!(by_interactions.2, expected["output"], "{name}");
    }
}

/// Workflows whose steps are for a client: they are played by one.
const FOR_CLIENTS: [&str; 1] = ["client_review"];

#[test]
fn a_review_is_done_by_sub_agents_and_summed_up_by_the_client() {
    let world = project();
    let mut client = Client::open_with(&world, &OURS);
    let inputs = json!({"focus": "typos", "files": "*.rs"});
    let told = client.call_tool("start_workflow", json!({"name": "client_review", "inputs": inputs}));
    let mut open: Vec<String> = tasks(&told);
    assert_eq!(open.len(), 3, "{told}");
    let run = told["workflowId"].clone();
    while let Some(id) = open.pop() {
        let prompt = text(
            &told["subAgents"].as_array().unwrap().iter().find(|one| one["workflow_id"] == *id).unwrap()["prompt"],
        );
        assert!(prompt.contains("get_next_step"), "{prompt}");
        let said = next_step(&mut client, &id);
        let step = &said["step"];
        assert_eq!(step["type"], "llm_call", "{said}");
        let request = step["parameters"]["messages"].to_string();
        assert!(request.contains("Look for: typos"), "{request}");
        let file = ["a.rs", "src/b c.rs", "d.rs"]
            .into_iter()
            .find(|file| request.contains(&format!("the file {file}")));
        let result = json!({"text": format!("checked {}", file.unwrap())});
        assert_eq!(submit_step(&mut client, &id, step, &result), json!({"status": "accepted"}), "{step}");
        let mut said = next_step(&mut client, &id);
        while said["status"] == "waiting" {
            said = next_step(&mut client, &id);
        }
        assert_eq!(said["status"], "complete", "{said}");
    }
    let told = wait_ended(&mut client, &run);
    assert_eq!(told["status"], "awaiting_llm_action", "{told}");
    assert_eq!(told["action"]["requiredOutputs"], json!(["report"]), "{told}");
    let findings = text(&told["action"]["prompt"]);
    let marks = ["## a.rs\nchecked a.rs", "## d.rs\nchecked d.rs", "## src/b c.rs\nchecked src/b c.rs"];
    assert!(marks.iter().all(|mark| findings.contains(mark)), "{findings}");
    let resume = |results: Value| json!({"resumeToken": told["resumeToken"], "results": results});
    let wrong = client.call_tool("resume_workflow", resume(json!({"report": ""})));
    assert!(
        wrong["error"].is_object() || wrong["status"] != "completed",
        "an empty report does not fit: {wrong}"
    );
    let ended = client.call_tool("resume_workflow", resume(json!({"report": "three files are fine"})));
    assert_eq!(
        (&ended["status"], &ended["output"]),
        (&json!("completed"), &json!("three files are fine")),
        "{ended}"
    );
    client.close_client();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shipped_workflows_take_the_same_path_to_the_same_output_whoever_thinks() {
    let mut rows: Vec<&str> = ROWS.iter().map(|row| row.name).chain(FOR_CLIENTS).collect();
    rows.sort_unstable();
    assert_eq!(rows, shipped(), "every shipped workflow has a row");
    for row in &ROWS {
        same_three_ways(row).await;
    }
}
