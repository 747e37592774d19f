//! The protocol itself: handshakes, what is no message, tools and their arguments.

use serde_json::{Value, json};

use super::client::Client;
use super::flows::{quick_workflow, ticket_workflow, world};

#[test]
fn what_is_no_message_is_answered_and_ends_nothing() {
    let world = world(&[quick_workflow()]);
    let mut client = Client::start_server(&world, &[]);
    let long = format!("{{\"jsonrpc\": \"2.0\", \"id\": 5, \"method\": \"{}\"}}", "x".repeat(17 << 20));
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    let rows = [
        ("{oops", Value::Null, -32700),
        ("plain words", Value::Null, -32700),
        ("\u{0}", Value::Null, -32700),
        (&deep, Value::Null, -32700),
        ("[]", Value::Null, -32600),
        ("{\"foo\": 1}", Value::Null, -32600),
        ("{\"jsonrpc\": \"2.0\", \"id\": 7, \"metod\": \"x\"}", json!(7), -32600),
        (&long, Value::Null, -32600),
        // a handshake that is none of the two that there are
        ("{\"jsonrpc\": \"2.0\", \"id\": 8, \"method\": \"server/discover\"}", json!(8), -32602),
        ("{\"jsonrpc\": \"2.0\", \"id\": 9, \"method\": \"tools/list\"}", json!(9), -32602),
        ("{\"jsonrpc\": \"2.0\", \"id\": 10, \"method\": \"initialize\", \"params\": {}}", json!(10), -32602),
    ];
    for round in ["before", "after"] {
        for (line, id, code) in &rows {
            let greeting =
                ["tools/list", "initialize", "server/discover"].iter().any(|word| line.contains(word));
            if round == "after" && greeting {
                continue;
            }
            // neither a blank line nor a notification is answered
            client.send_line("");
            client.send_line("{\"jsonrpc\": \"2.0\", \"method\": \"notifications/initialized\"}");
            client.send_line(line);
            let answer = client.next_message();
            let start: String = line.chars().take(60).collect();
            assert_eq!(
                (&answer["id"], &answer["error"]["code"]),
                (id, &json!(code)),
                "{round} {start}: {answer}"
            );
        }
        if round == "before" {
            client.handshake();
        }
    }
    assert_eq!(client.send_request("nope/nope", json!({}))["error"]["code"], -32601);
    assert_eq!(client.call_tool("quick", json!({"task": "go"}))["output"], json!({"said": "go"}));
    client.close_client();
}

#[test]
fn newer_clients_ask_what_there_is_before_they_begin() {
    let world = world(&[quick_workflow()]);
    let mut client = Client::start_server(&world, &[]);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"}});
    let found = client.send_request("server/discover", json!({"_meta": meta}));
    let versions = found["result"]["supportedVersions"].as_array().unwrap_or_else(|| panic!("{found}"));
    assert!(versions.contains(&json!("2026-07-28")), "{found}");
    // without a handshake
    let params = json!({"name": "quick", "arguments": {"task": "go"}, "_meta": meta});
    let answer = client.send_request("tools/call", params);
    assert_eq!(answer["result"]["structuredContent"]["output"], json!({"said": "go"}), "{answer}");
    client.close_client();
    // or with the old one after all
    let mut client = Client::start_server(&world, &[]);
    client.send_request("server/discover", json!({"_meta": meta}));
    let info = client.handshake();
    assert_eq!(
        (&info["protocolVersion"], &info["serverInfo"]["name"]),
        (&json!("2025-06-18"), &json!("synthdev"))
    );
    client.close_client();
}

#[test]
fn workflows_are_tools_and_what_looks_after_them_is_there() {
    let mut named = quick_workflow();
    named["workflow_name"] = json!("list_runs");
    let mut broken = quick_workflow();
    broken["workflow_name"] = json!("broken");
    broken["states"][0]["transition"][0]["target"] = json!("nowhere");
    let world = world(&[ticket_workflow(), quick_workflow(), named, broken]);
    let mut client = Client::open_client(&world);
    let listed = client.send_request("tools/list", json!({}))["result"]["tools"].clone();
    let tools: Vec<&Value> = listed.as_array().unwrap().iter().collect();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "list_workflows",
            "start_workflow",
            "resume_workflow",
            "continue_workflow",
            "get_workflow_status",
            "pause_workflow",
            "cancel_workflow",
            "list_runs",
            "agent_llm",
            "get_next_step",
            "submit_step_result",
            "get_workflow_state",
            "checkpoint_workflow",
            "restore_workflow",
            "list_runs_2",
            "quick",
            "ticket"
        ]
    );
    // scripts of clients rely on these words
    assert_eq!(tools[2]["description"], "Resume a paused workflow with results from LLM task");
    assert_eq!(tools[2]["inputSchema"]["required"], json!(["resumeToken", "results"]));
    assert_eq!(
        tools[2]["inputSchema"]["properties"]["resumeToken"]["description"],
        "Token from previous workflow response"
    );
    assert_eq!(tools[16]["description"], "About ticket");
    assert_eq!(
        tools[16]["inputSchema"],
        json!({"type": "object", "required": ["summary"], "additionalProperties": false,
               "properties": {"summary": {"type": "string", "description": "Of the ticket"},
                              "priority": {"type": "number", "default": 3}}})
    );
    let told = client.call_tool("list_workflows", json!({}));
    assert_eq!(told["workflows"][1]["name"], "quick", "{told}");
    assert_eq!(
        (&told["workflows"][0]["name"], &told["workflows"][0]["tool"]),
        (&json!("list_runs"), &json!("list_runs_2"))
    );
    let why = |told: &Value, name: &str| {
        let all = told["broken"].as_array().unwrap().clone();
        all.iter().find(|one| one["name"] == name).unwrap()["why"].as_str().unwrap().to_owned()
    };
    assert!(why(&told, "broken").contains("nowhere"), "{told}");
    assert!(why(&told, "coder_reviewer").contains("no model"), "{told}");
    let told = client.call_tool("start_workflow", json!({"name": "broken"}));
    assert_eq!(told["error"]["type"], "broken_workflow");
    client.close_client();
}

#[test]
fn wrong_calls_are_errors_of_the_protocol_that_name_what_is_wrong() {
    let world = world(&[ticket_workflow(), quick_workflow()]);
    let mut client = Client::open_client(&world);
    let large = json!({"resumeToken": "x", "results": {"a": "x".repeat(10 << 20)}});
    let rows = [
        ("nope", json!({}), "Unknown tool: nope"),
        ("ticket", json!({}), "Missing required argument: summary"),
        ("ticket", json!({"summary": null}), "Missing required argument: summary"),
        ("ticket", json!({"summary": "x", "sumary": "y"}), "there is no input `sumary`"),
        ("ticket", json!({"summary": "x", "priority": []}), "`priority` must be of type number"),
        ("start_workflow", json!({}), "Missing required argument: name"),
        ("start_workflow", json!({"name": "ticket", "inputs": []}), "`inputs` must be an object"),
        ("start_workflow", json!({"name": "ticket"}), "Missing required argument: summary"),
        ("start_workflow", json!({"name": "quick", "wait": "no"}), "`wait` must be true or false"),
        (
            "start_workflow",
            json!({"name": "tickets"}),
            "there is no workflow `tickets`; did you mean `ticket`? list_workflows lists them",
        ),
        ("resume_workflow", json!({}), "Missing required argument: resumeToken, results"),
        ("resume_workflow", json!({"resumeToken": "x"}), "Missing required argument: results"),
        ("resume_workflow", json!({"resumeToken": "x", "results": "y"}), "`results` must be an object"),
        ("resume_workflow", json!({"resumeToken": "x", "results": {}, "stepData": {}}), "not both"),
        ("resume_workflow", json!({"resumeToken": 7, "results": {}}), "`resumeToken` must be a text"),
        ("resume_workflow", large, "write what is large into a file"),
        ("get_workflow_status", json!({}), "Missing required argument: workflowId"),
        ("get_workflow_status", json!({"workflowId": "../../x"}), "Unknown workflowId: ../../x"),
        ("get_workflow_status", json!({"workflowId": ""}), "Unknown workflowId"),
        ("cancel_workflow", json!({"workflowId": "x"}), "Unknown workflowId: x"),
        ("list_runs", json!({"status": "done"}), "`status` must be one of running, paused"),
        ("list_runs", json!({"limit": 0}), "from 1 to 200"),
        ("list_workflows", json!({"a": 1, "b": 2}), "Unknown argument: a, b"),
    ];
    for (tool, arguments, expected) in rows {
        let error = client.call_refusal(tool, arguments.clone());
        let message = error["message"].as_str().unwrap();
        assert!(error["code"] == -32602 && message.contains(expected), "{tool}: {error}");
        assert!(error["data"]["type"].is_string(), "{error}");
    }
    assert_eq!(client.call_tool("list_runs", json!({}))["runs"], json!([]), "nothing was started");
    client.close_client();
}

#[test]
fn damaged_messages_never_end_the_conversation() {
    let world = world(&[quick_workflow()]);
    let mut client = Client::open_client(&world);
    let sound = [
        r#"{"jsonrpc":"2.0","id":"f","method":"tools/call","params":{"name":"quick","arguments":{"task":"x"}}}"#,
        r#"{"jsonrpc":"2.0","id":"f","method":"tools/call","params":{"name":"resume_workflow","arguments":{"resumeToken":"t-0","results":{"a":[1,2,{}]}}}}"#,
        r#"{"jsonrpc":"2.0","id":"f","method":"resources/read","params":{"uri":"synthdev://runs/x"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"f"}}"#,
    ];
    let mut luck = 0x2545_f491_4f6c_dd1d_u64;
    let mut draw = |below: usize| {
        luck ^= luck << 13;
        luck ^= luck >> 7;
        luck ^= luck << 17;
        (luck % below as u64) as usize
    };
    for _ in 0..400 {
        let mut bytes = sound[draw(sound.len())].as_bytes().to_vec();
        for _ in 0..=draw(3) {
            let at = draw(bytes.len());
            match draw(4) {
                0 => bytes.truncate(at.max(1)),
                1 => drop(bytes.remove(at)),
                2 => bytes[at] = b"{}[]\",:0n\\ "[draw(11)],
                _ => bytes.insert(at, b"{}[]\",:0n\\ "[draw(11)]),
            }
        }
        client.send_line(&String::from_utf8(bytes).unwrap());
    }
    assert_eq!(client.call_tool("quick", json!({"task": "go"}))["output"], json!({"said": "go"}));
    for message in &client.pending_messages {
        let known = message["result"].is_object() || message["error"]["code"].is_i64();
        assert!(known, "{message}");
    }
    assert!(client.pending_messages.len() > 200, "{}", client.pending_messages.len());
    client.close_client();
}

/// The answer to a damaged line is written while answers to requests leave, too.
#[test]
fn no_answer_is_lost_between_others() {
    const ROUNDS: usize = 300;
    let world = world(&[quick_workflow()]);
    let mut client = Client::open_client(&world);
    let asked: Vec<u64> = (0..ROUNDS)
        .map(|_| {
            let id = client.begin_request("tools/list", json!({}));
            client.send_line("{oops");
            id
        })
        .collect();
    let mut answers: Vec<Value> = (0..2 * ROUNDS).map(|_| client.next_message()).collect();
    answers.retain(|answer| answer["error"]["code"] != -32700);
    let mut answered: Vec<u64> = answers.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    answered.sort_unstable();
    assert_eq!(answered, asked);
    client.close_client();
}
