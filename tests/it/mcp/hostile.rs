//! Malicious callers: the server refuses what they send with a code and stores none of it, and other clients are not
//! affected.

use serde_json::{Value, json};

use super::super::cli::world::{World, talk_workflow};
use super::client::Client;
use super::flows::{asking_workflow, flow, ticket_workflow};
use super::web::{Visitor, Web};

const OURS: [&str; 6] =
    ["--provider", "agentllm", "--smart-provider", "agentllm", "--fast-provider", "agentllm"];

/// Either way to a server.
trait Wire {
    /// Bytes of a message, and what is answered.
    fn exchange_line(&mut self, line: &[u8]) -> Value;
}

impl Wire for Client {
    fn exchange_line(&mut self, line: &[u8]) -> Value {
        self.send_bytes(line);
        self.next_message()
    }
}

impl Wire for Visitor<'_> {
    fn exchange_line(&mut self, line: &[u8]) -> Value {
        let mut answer = self.post_bytes(line);
        assert!([200, 400, 413].contains(&answer.status), "{}", answer.status);
        answer.next_message().unwrap()
    }
}

fn call_result(wire: &mut dyn Wire, tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    let line = json!({"jsonrpc": "2.0", "id": "h", "method": "tools/call", "params": params}).to_string();
    let answer = wire.exchange_line(line.as_bytes());
    assert_eq!(answer["id"], "h", "{answer}");
    answer
}

fn call_answer(wire: &mut dyn Wire, tool: &str, arguments: &Value) -> Value {
    let answer = call_result(wire, tool, arguments);
    assert!(answer["error"].is_null(), "{answer}");
    answer["result"]["structuredContent"].clone()
}

/// The error of the protocol as its number, or the code of an answer that says no.
fn refusal_code(answer: &Value) -> String {
    if let Some(code) = answer["error"]["code"].as_i64() {
        return code.to_string();
    }
    let told = &answer["result"]["structuredContent"];
    assert_eq!((&told["status"], &answer["result"]["isError"]), (&json!("error"), &json!(true)), "{answer}");
    let code = told["code"].as_str().or(told["error"]["type"].as_str());
    code.unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// Everything that can wait: a pause, a model call, a sub-agent's step, a question to the user.
struct Waiting {
    token: Value,
    interaction: Value,
    run: Value,
    task: Value,
    step: Value,
}

fn hostile_workflows() -> Vec<Value> {
    let step = json!([{"name": "start", "type": "shell", "command": "make", "transition": [{"target": "stop"}]},
                      {"name": "stop", "input": "context.result.stdout"}]);
    let mut parts = flow(
        "parts",
        &json!([{"name": "start", "type": "foreach", "in": [1], "agent": "@task", "states": step,
                 "output": {"as": "result"}, "transition": [{"target": "stop"}]}]),
    );
    parts["output"] = json!({"name": "result", "type": "array"});
    // one run at a time works in the project itself
    let mut apart = talk_workflow();
    apart["isolation"] = json!("worktree");
    vec![ticket_workflow(), apart, parts, asking_workflow("approve", &json!({"kind": "approval"}))]
}

impl Waiting {
    fn begin_waiting(wire: &mut dyn Wire) -> Self {
        let token = call_answer(wire, "ticket", &json!({"summary": "x"}))["resumeToken"].clone();
        let interaction = call_answer(wire, "talk", &json!({"task": "x"}))["interactionId"].clone();
        assert_eq!(call_answer(wire, "approve", &json!({}))["status"], "paused");
        let parts = call_answer(wire, "parts", &json!({}));
        let (run, task) = (parts["workflowId"].clone(), parts["subAgents"][0]["workflow_id"].clone());
        assert!(task.is_string(), "{parts}");
        let step =
            call_answer(wire, "get_next_step", &json!({"workflow_id": task}))["step"]["step_id"].clone();
        assert!(token.is_string() && interaction.is_string() && step.is_string(), "{parts}");
        Self { token, interaction, run, task, step }
    }

    /// Everything that waited takes the right answer yet.
    fn end_waiting(&self, wire: &mut dyn Wire) {
        let result = json!({"stdout": "made", "stderr": "", "exit_code": 0});
        let done = json!({"workflow_id": self.task, "step_id": self.step, "result": result});
        assert_eq!(call_answer(wire, "submit_step_result", &done), json!({"status": "accepted"}));
        let end = call_answer(wire, "get_workflow_status", &json!({"workflowId": self.run, "wait": true}));
        assert_eq!(end["output"], json!(["made"]), "{end}");
        let results = json!({"resumeToken": self.token, "results": {"ticketKey": "K", "ticketUrl": "u"}});
        assert_eq!(call_answer(wire, "resume_workflow", &results)["status"], "completed");
        let answer = json!({"interactionId": self.interaction,
                            "agentLLMResponse": {"status": "success", "data": {"text": "said"}}});
        assert_eq!(call_answer(wire, "agent_llm", &answer)["run"]["output"], "said");
    }

    /// Tools, arguments, and how they are refused.
    fn calls(&self, root: &str) -> Vec<(&'static str, Value, &'static str)> {
        let mut rows = forged_ids(self);
        rows.extend(oversized_arguments(self));
        rows.extend(misshapen_arguments(self));
        rows.extend(widening_arguments(self));
        rows.extend(misplaced_paths(self, root));
        rows
    }
}

/// Ids that were never given out, or are somebody else's.
fn forged_ids(waiting: &Waiting) -> Vec<(&'static str, Value, &'static str)> {
    let token = waiting.token.as_str().unwrap();
    let (cut, more) = (&token[..token.len() - 1], format!("{token}0"));
    let upper = token.to_uppercase();
    let other = token.replace("ticket-", "approve-");
    let long = "x".repeat(1 << 16);
    let tricks = ["", " ", "' OR 1=1 --", "../../x", "\u{0}", "%00", "null", "🦀", long.as_str(), "-1"];
    let mut rows = Vec::new();
    let tokens = [cut, &more, &upper, &other].into_iter().chain(tricks);
    for token in tokens.chain([waiting.run.as_str().unwrap(), waiting.task.as_str().unwrap()]) {
        rows.push((
            "resume_workflow",
            json!({"resumeToken": token, "results": {"ticketKey": "K", "ticketUrl": "u"}}),
            "-32602",
        ));
    }
    let success = json!({"status": "success", "data": {"text": "forged"}});
    let interaction = waiting.interaction.as_str().unwrap();
    let (cut, more) = (&interaction[1..], format!("{interaction}0"));
    for id in tricks.into_iter().chain([cut, &more, token]) {
        rows.push(("agent_llm", json!({"interactionId": id, "agentLLMResponse": success}), "-32602"));
    }
    let done = json!({"stdout": "forged", "stderr": "", "exit_code": 0});
    let task = waiting.task.as_str().unwrap();
    let (cut, more) = (&task[..task.len() - 1], format!("{task}0"));
    for id in tricks.into_iter().chain([cut, &more, token, waiting.run.as_str().unwrap()]) {
        rows.push(("get_next_step", json!({"workflow_id": id}), "unknown_workflow"));
        rows.push(("get_workflow_state", json!({"workflow_id": id}), "unknown_workflow"));
        let submit = json!({"workflow_id": id, "step_id": waiting.step, "result": done});
        rows.push(("submit_step_result", submit, "unknown_workflow"));
    }
    let step = waiting.step.as_str().unwrap().replace("step-", "step-0");
    for id in tricks.into_iter().chain(["step-99999999999999999999", "step--1", &step]) {
        rows.push((
            "submit_step_result",
            json!({"workflow_id": task, "step_id": id, "result": done}),
            "unknown_step",
        ));
    }
    for tool in ["get_workflow_status", "cancel_workflow", "continue_workflow"] {
        let runs = tricks.into_iter().chain([task, token]);
        rows.extend(runs.map(|id| (tool, json!({"workflowId": id}), "-32602")));
    }
    rows
}

fn oversized_arguments(waiting: &Waiting) -> Vec<(&'static str, Value, &'static str)> {
    // twice as much as is taken
    let large = "x".repeat(2 << 20);
    let many: Value = (0..300_000).collect();
    let mut rows = Vec::new();
    for value in [json!(large), many] {
        let results = json!({"ticketKey": value, "ticketUrl": "u"});
        rows.push(("resume_workflow", json!({"resumeToken": waiting.token, "results": results}), "-32602"));
        let response = json!({"status": "success", "data": {"text": value}});
        rows.push((
            "agent_llm",
            json!({"interactionId": waiting.interaction, "agentLLMResponse": response}),
            "-32602",
        ));
        let result = json!({"stdout": value, "stderr": "", "exit_code": 0});
        let submit = json!({"workflow_id": waiting.task, "step_id": waiting.step, "result": result});
        rows.push(("submit_step_result", submit, "too_large"));
    }
    rows
}

/// Every argument as everything that it is not.
fn misshapen_arguments(waiting: &Waiting) -> Vec<(&'static str, Value, &'static str)> {
    let response = json!({"status": "success", "data": {"text": "x"}});
    let sound = [
        (
            "resume_workflow",
            json!({"resumeToken": waiting.token, "results": {}}),
            vec!["resumeToken", "results"],
        ),
        (
            "agent_llm",
            json!({"interactionId": waiting.interaction, "agentLLMResponse": response}),
            vec!["interactionId", "agentLLMResponse"],
        ),
        ("get_next_step", json!({"workflow_id": waiting.task}), vec!["workflow_id", "worker_id"]),
        (
            "submit_step_result",
            json!({"workflow_id": waiting.task, "step_id": waiting.step, "result": {}}),
            vec!["workflow_id", "step_id", "worker_id", "expected_version"],
        ),
        (
            "start_workflow",
            json!({"name": "ticket", "inputs": {"summary": "x"}}),
            vec!["name", "inputs", "wait", "agent"],
        ),
        ("list_runs", json!({}), vec!["status", "workflow", "words", "limit"]),
        ("ticket", json!({"summary": "x"}), vec!["summary", "priority"]),
    ];
    let mut rows = Vec::new();
    for (tool, arguments, names) in sound {
        for name in names {
            for odd in [json!([[]]), json!({"a": {"b": 1}}), json!([1, "x"]), json!(-1.5)] {
                let fits =
                    matches!((tool, name), ("resume_workflow", "results") | ("start_workflow", "inputs"))
                        && odd.is_object()
                        || tool == "ticket" && odd.is_number();
                if fits {
                    continue;
                }
                let mut arguments = arguments.clone();
                arguments[name] = odd;
                rows.push((tool, arguments, "-32602"));
            }
        }
    }
    rows
}

/// Attempts to be allowed more than the server was started with.
fn widening_arguments(waiting: &Waiting) -> Vec<(&'static str, Value, &'static str)> {
    let start = |name: &str, value: Value| {
        let mut arguments = json!({"name": "approve", "inputs": {}});
        arguments[name] = value;
        arguments
    };
    let resume = |name: &str| {
        let mut arguments =
            json!({"resumeToken": waiting.token, "results": {"ticketKey": "K", "ticketUrl": "u"}});
        arguments[name] = json!(true);
        arguments
    };
    vec![
        ("start_workflow", start("yes", json!(true)), "-32602"),
        ("start_workflow", start("remote_approvals", json!(true)), "-32602"),
        ("start_workflow", start("approvals", json!({"*": "allow"})), "-32602"),
        ("start_workflow", start("agent", json!("root")), "-32602"),
        ("approve", json!({"task": "x", "yes": true}), "-32602"),
        ("resume_workflow", resume("yes"), "-32602"),
        ("resume_workflow", resume("always"), "-32602"),
        ("get_next_step", json!({"workflow_id": waiting.task, "ack_all": true}), "-32602"),
        ("cancel_workflow", json!({"workflowId": waiting.run, "all": true}), "-32602"),
    ]
}

/// Paths that lead somewhere else, or by a way round.
fn misplaced_paths(waiting: &Waiting, root: &str) -> Vec<(&'static str, Value, &'static str)> {
    let name = root.rsplit('/').next().unwrap();
    let tricks = [
        String::new(),
        "/".to_owned(),
        ".".to_owned(),
        "~".to_owned(),
        format!("{root}/.."),
        format!("{root}/../{name}"),
        format!("{root}/./"),
        format!("{root}\u{0}"),
        format!("{root}/sub"),
        format!("file://{root}"),
        format!(" {root}"),
        root.to_uppercase(),
        "/etc/passwd".to_owned(),
        "x".repeat(1 << 16),
    ];
    let row = |path: String| {
        let response = json!({"status": "success", "data": {"text": "x"}});
        let arguments =
            json!({"interactionId": waiting.interaction, "agentLLMResponse": response, "projectRoot": path});
        ("agent_llm", arguments, "-32602")
    };
    tricks.into_iter().map(row).collect()
}

/// Whole messages, the id under which they are answered, and the number of the error.
fn messages(waiting: &Waiting) -> Vec<(Vec<u8>, Value, i64)> {
    let plain = |method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": "m", "method": method, "params": params}).to_string().into_bytes()
    };
    let nested = |depth: usize| {
        let token = &waiting.token;
        let (open, close) = ("[".repeat(depth), "]".repeat(depth));
        format!(
            r#"{{"jsonrpc":"2.0","id":"m","method":"tools/call","params":{{"name":"resume_workflow","arguments":{{"resumeToken":{token},"results":{{"ticketKey":{open}{close}}}}}}}}}"#
        )
        .into_bytes()
    };
    let batch = br#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#;
    let mut rows = vec![
        (batch.to_vec(), Value::Null, -32600),
        (b"[[[[]]]]".to_vec(), Value::Null, -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\xff\xfeng\"}".to_vec(), Value::Null, -32700),
        (b"\xef\xbb\xbf\xc3\x28".to_vec(), Value::Null, -32700),
        (nested(10_000), Value::Null, -32700),
        (nested(1_000_000), Value::Null, -32700),
        (br#"{"jsonrpc":"1.0","id":"m","method":"ping"}"#.to_vec(), json!("m"), -32600),
        (br#"{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}"#.to_vec(), Value::Null, -32600),
        (br#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#.to_vec(), Value::Null, -32600),
        (br#"{"jsonrpc":"2.0","id":"m","method":7}"#.to_vec(), json!("m"), -32600),
        (plain("tools/call", json!([])), json!("m"), -32600),
        (plain("tools/call", json!({"name": 3})), json!("m"), -32602),
        (plain("tools/call", json!({"name": "ticket", "arguments": "x"})), json!("m"), -32602),
        (plain("prompts/get", json!({"name": "x"})), json!("m"), -32601),
        (plain("__proto__", json!({})), json!("m"), -32601),
    ];
    for uri in
        ["file:///etc/passwd", "synthdev://runs/../../etc/passwd", "synthdev://workflows/../secrets", ""]
    {
        rows.push((plain("resources/read", json!({"uri": uri})), json!("m"), -32002));
    }
    rows
}

/// Every row of every table but what counts or remembers on its own.
fn stored_rows(world: &World) -> Vec<String> {
    let store = rusqlite::Connection::open(world.data().join("runs.sqlite")).unwrap();
    let names =
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%' ORDER BY name";
    let mut names = store.prepare(names).unwrap();
    let names: Vec<String> = names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert!(names.len() > 2, "{names:?}");
    let mut rows = Vec::new();
    for name in names {
        let mut all = store.prepare(&format!("SELECT * FROM \"{name}\"")).unwrap();
        let width = all.column_count();
        let mut found = all.query([]).unwrap();
        while let Some(row) = found.next().unwrap() {
            let cells: Vec<String> = (0..width)
                .map(|at| format!("{:?}", row.get::<_, rusqlite::types::Value>(at).unwrap()))
                .collect();
            rows.push(format!("{name}: {}", cells.join(", ")));
        }
    }
    rows
}

fn check_refusals(world: &World, wire: &mut dyn Wire) {
    let waiting = Waiting::begin_waiting(wire);
    let root = world.project().canonicalize().unwrap().display().to_string();
    let before = stored_rows(world);
    for (tool, arguments, expected) in waiting.calls(&root) {
        let shown: String = format!("{tool} {arguments}").chars().take(300).collect();
        assert_eq!(refusal_code(&call_result(wire, tool, &arguments)), expected, "{shown}");
    }
    let mut others = Vec::new();
    for (line, id, code) in messages(&waiting) {
        let shown = String::from_utf8_lossy(&line[..line.len().min(300)]).into_owned();
        let answer = wire.exchange_line(&line);
        if (&answer["id"], &answer["error"]["code"]) != (&id, &json!(code)) {
            others.push(format!("{shown}: {answer}"));
        }
    }
    assert!(others.is_empty(), "{others:#?}");
    assert_eq!(stored_rows(world), before, "something of it was stored");
    waiting.end_waiting(wire);
}

fn project() -> World {
    let world = World::repository();
    for flow in hostile_workflows() {
        world.write_user_file(
            &format!("workflows/{}.json", flow["workflow_name"].as_str().unwrap()),
            &flow.to_string(),
        );
    }
    world
}

#[test]
fn over_pipes_everything_is_refused_and_nothing_is_stored() {
    let world = project();
    let mut client = Client::open_with(&world, &OURS);
    check_refusals(&world, &mut client);
    client.close_client();
}

#[test]
fn over_http_everything_is_refused_and_nothing_is_stored() {
    let world = project();
    let web = Web::start_server(&world, &OURS);
    let mut visitor = Visitor::begin_session(&web, &json!({}));
    check_refusals(&world, &mut visitor);
    web.terminate_server();
}
