//! Workflows that wait for their caller, and its answers.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::client::Client;
use super::flows::{failing_workflow, flow, quick_workflow, three_requests_workflow, ticket_workflow, world};

const RESULTS: [(&str, &str); 2] = [("ticketKey", "PROJ-123"), ("ticketUrl", "https://jira/browse/PROJ-123")];

fn results() -> Value {
    RESULTS
        .iter()
        .map(|(name, value)| (name.to_owned().to_owned(), json!(value)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

pub fn token(told: &Value) -> String {
    told["resumeToken"].as_str().unwrap_or_else(|| panic!("no token in {told}")).to_owned()
}

#[test]
fn and_s0_5_a_workflow_asks_and_goes_on_with_the_results() {
    let world = world(&[ticket_workflow()]);
    let mut client = Client::open_client(&world);
    let told = client.call_tool("ticket", json!({"summary": "Dark mode"}));
    let run = told["workflowId"].as_str().unwrap().to_owned();
    let token = token(&told);
    assert!(token.starts_with("ticket-") && token.len() == "ticket-".len() + 48, "{token}");
    let expires = told["expiresAt"].as_str().unwrap().to_owned();
    assert!(expires.ends_with('Z') && expires.contains('T'), "{expires}");
    assert_eq!(
        told,
        json!({
            "status": "awaiting_llm_action",
            "workflowId": run,
            "workflowName": "ticket",
            "resumeToken": token,
            "expiresAt": expires,
            "expiresInSeconds": 1800,
            "completedSteps": ["start", "generatePrompt"],
            "state": "createTicket",
            "action": {
                "type": "browser_automation",
                "description": "Create Jira ticket using Playwright",
                "prompt": "Navigate to https://jira and create Dark mode",
                "requiredOutputs": ["ticketKey", "ticketUrl"],
                "availableTools": ["playwright"],
                "context": {"projectKey": "PROJ"},
            },
            "message": "Do what the prompt says, then call resume_workflow with this resumeToken and results: ticketKey, ticketUrl",
        })
    );
    let told = client.call_tool("resume_workflow", json!({"resumeToken": token, "results": results()}));
    let output = json!({"ticketKey": "PROJ-123", "ticketUrl": "https://jira/browse/PROJ-123", "count": 1});
    assert_eq!(
        told,
        json!({
            "status": "completed",
            "success": true,
            "workflowId": run,
            "workflowName": "ticket",
            "completedSteps": ["start", "generatePrompt", "createTicket", "report", "stop"],
            "data": output,
            "output": output,
        })
    );
    client.close_client();
    let log = std::fs::read_to_string(world.data().join("synthdev.log")).unwrap_or_default();
    assert!(!log.contains(&token), "a token is nobody else's business");
    // it is a run like any other
    let listed = world.run_program(&["runs", "list", "--json"]).code(0).json();
    assert_eq!((&listed[0]["id"], &listed[0]["status"]), (&json!(run), &json!("completed")), "{listed}");
}

#[test]
fn the_words_hold_all_that_is_needed() {
    let world = world(&[ticket_workflow()]);
    let mut client = Client::open_client(&world);
    let id = client.begin_call("ticket", json!({"summary": "Dark mode"}));
    let answer = client.wait_answer(id);
    let words = answer["result"]["content"][0]["text"].as_str().unwrap();
    let token = token(&answer["result"]["structuredContent"]);
    for part in
        ["create Dark mode", "playwright", "PROJ", &token, "ticketKey", "ticketUrl", "resume_workflow"]
    {
        assert!(words.contains(part), "no {part} in {words}");
    }
    client.close_client();
}

#[test]
fn what_is_missing_is_named_and_the_token_stays_valid() {
    let world = world(&[ticket_workflow()]);
    let mut client = Client::open_client(&world);
    let token = token(&client.call_tool("ticket", json!({"summary": "x"})));
    let rows = [
        (json!({}), "Missing required output: ticketKey, ticketUrl", 4),
        (json!({"ticketKey": null, "ticketUrl": "u"}), "Missing required output: ticketKey", 3),
        (json!({"ticketKey": "k", "url": "u"}), "Missing required output: ticketUrl", 2),
    ];
    for (results, detail, left) in rows {
        let told = client.call_tool("resume_workflow", json!({"resumeToken": token, "results": results}));
        let error = &told["error"];
        assert_eq!((&told["status"], &error["type"]), (&json!("error"), &json!("validation")), "{told}");
        assert_eq!((&error["detail"], &error["triesLeft"]), (&json!(detail), &json!(left)), "{told}");
    }
    // what is not asked for is named and not stored; stepData is another name
    let mut more = results();
    more["completedSteps"] = json!(["x"]);
    more["count"] = json!(99);
    let told = client.call_tool("resume_workflow", json!({"resumeToken": token, "stepData": more}));
    assert_eq!((&told["status"], &told["output"]["count"]), (&json!("completed"), &json!(1)), "{told}");
    assert_eq!(told["ignoredResults"], json!(["completedSteps", "count"]));
    assert_eq!(told["completedSteps"], json!(["start", "generatePrompt", "createTicket", "report", "stop"]));
    client.close_client();
}

#[test]
fn five_answers_that_do_not_fit_use_a_token_up_and_the_run_still_waits() {
    let world = world(&[ticket_workflow()]);
    let mut client = Client::open_client(&world);
    let told = client.call_tool("ticket", json!({"summary": "x"}));
    let mut kinds = Vec::new();
    for _ in 0..6 {
        let told = client.call_tool("resume_workflow", json!({"resumeToken": token(&told), "results": {}}));
        kinds.push(told["error"]["type"].as_str().unwrap().to_owned());
    }
    assert_eq!(kinds, ["validation", "validation", "validation", "validation", "token_spent", "token_spent"]);
    let again = client.call_tool("get_workflow_status", json!({"workflowId": told["workflowId"]}));
    let told =
        client.call_tool("resume_workflow", json!({"resumeToken": token(&again), "results": results()}));
    assert_eq!(told["status"], "completed", "{told}");
    client.close_client();
}

#[test]
fn the_same_answer_again_is_told_what_came_of_it_and_another_one_is_refused() {
    let world = world(&[ticket_workflow(), three_requests_workflow()]);
    let mut client = Client::open_client(&world);
    let token_of = token(&client.call_tool("ticket", json!({"summary": "x"})));
    let first = client.call_tool("resume_workflow", json!({"resumeToken": token_of, "results": results()}));
    let mut again =
        client.call_tool("resume_workflow", json!({"resumeToken": token_of, "results": results()}));
    assert_eq!(again.as_object_mut().unwrap().remove("duplicate"), Some(json!(true)));
    assert_eq!(again, first);
    let mut other = results();
    other["ticketKey"] = json!("PROJ-9");
    let told = client.call_tool("resume_workflow", json!({"resumeToken": token_of, "results": other}));
    assert_eq!(told["error"]["type"], "token_conflict", "{told}");
    // an answer that got lost on its way: the repetition leads on
    let first = token(&client.call_tool("three", json!({})));
    client.call_tool("resume_workflow", json!({"resumeToken": first, "results": {"a": 1}}));
    let again = client.call_tool("resume_workflow", json!({"resumeToken": first, "results": {"a": 1}}));
    assert_eq!((&again["duplicate"], &again["state"]), (&json!(true), &json!("b")), "{again}");
    let told =
        client.call_tool("resume_workflow", json!({"resumeToken": token(&again), "results": {"b": 2}}));
    assert_eq!(
        (&told["state"], &told["completedSteps"]),
        (&json!("c"), &json!(["start", "a", "b"])),
        "{told}"
    );
    client.close_client();
}

#[test]
fn unknown_and_expired_tokens_have_one_text_and_two_codes() {
    const TEXT: &str = "Resume token expired or invalid. Please start the workflow again.";
    let mut flow = ticket_workflow();
    flow["states"][2]["ttl"] = json!(1);
    let world = world(&[flow]);
    let mut client = Client::open_client(&world);
    let told = client.call_tool("ticket", json!({"summary": "x"}));
    assert_eq!(told["expiresInSeconds"], 1, "{told}");
    let forged = format!("ticket-{}", "0".repeat(48));
    for token in [forged.as_str(), "", "x", &format!("{}0", token(&told))] {
        let error =
            client.call_refusal("resume_workflow", json!({"resumeToken": token, "results": results()}));
        assert_eq!(
            (&error["message"], &error["data"]["type"]),
            (&json!(TEXT), &json!("token_unknown")),
            "{token}"
        );
    }
    thread::sleep(Duration::from_millis(1_100));
    let late =
        client.call_tool("resume_workflow", json!({"resumeToken": token(&told), "results": results()}));
    assert_eq!(
        (&late["error"]["type"], &late["error"]["detail"]),
        (&json!("token_expired"), &json!(TEXT)),
        "{late}"
    );
    assert_eq!(late["error"]["workflowId"], told["workflowId"]);
    let log = std::fs::read_to_string(world.data().join("synthdev.log")).unwrap();
    assert!(log.contains("a token expires in"), "{log}");
    // the run still waits
    let again = client.call_tool("get_workflow_status", json!({"workflowId": told["workflowId"]}));
    let told =
        client.call_tool("resume_workflow", json!({"resumeToken": token(&again), "results": results()}));
    assert_eq!(told["status"], "completed", "{told}");
    client.close_client();
}

#[test]
fn what_counts_when_nobody_is_there_does_not_count_here() {
    let mut flow = ticket_workflow();
    flow["states"][2]["default"] = results();
    flow["states"][2]["ttl"] = json!(60);
    flow["states"][2]["on_timeout"] = json!("report");
    let world = world(&[flow]);
    let mut client = Client::open_client(&world);
    let told = client.call_tool("ticket", json!({"summary": "x"}));
    assert_eq!(
        (&told["status"], &told["expiresInSeconds"]),
        (&json!("awaiting_llm_action"), &json!(60)),
        "{told}"
    );
    client.close_client();
}

#[test]
fn requests_of_branches_have_a_token_each() {
    let ask = |name: &str| {
        json!([{"name": "start", "type": "delegate", "transition": [{"target": "stop"}],
                "action": {"prompt": format!("Do {name}"), "required_outputs": [name]}}])
    };
    let states = json!([
        {"name": "start", "transition": [{"target": "both"}]},
        {"name": "both", "type": "parallel", "transition": [{"target": "end"}],
         "branches": [{"name": "left", "states": ask("l")}, {"name": "right", "states": ask("r")}]},
        {"name": "end", "action": {"script": "() => { this.common_data.result = { l: this.common_data.l, r: this.common_data.r }; }"},
         "transition": [{"target": "stop"}]},
    ]);
    let world = world(&[flow("both", &states)]);
    let mut client = Client::open_client(&world);
    let told = client.call_tool("both", json!({}));
    let pending = told["pending"].as_array().unwrap_or_else(|| panic!("{told}")).clone();
    let states: Vec<&str> = pending.iter().map(|one| one["state"].as_str().unwrap()).collect();
    assert_eq!((states.len(), told["state"].as_str()), (2, Some(states[0])), "{told}");
    // in reverse order
    let one =
        client.call_tool("resume_workflow", json!({"resumeToken": token(&pending[1]), "results": {"r": 2}}));
    assert_eq!((&one["status"], &one["state"]), (&json!("awaiting_llm_action"), &json!(states[0])), "{one}");
    let told =
        client.call_tool("resume_workflow", json!({"resumeToken": token(&pending[0]), "results": {"l": 1}}));
    assert_eq!((&told["status"], &told["output"]), (&json!("completed"), &json!({"l": 1, "r": 2})), "{told}");
    client.close_client();
}

#[test]
fn a_failure_says_what_where_and_why() {
    let world = world(&[failing_workflow(), quick_workflow()]);
    let mut client = Client::open_client(&world);
    let told = client.call_tool("failing", json!({}));
    let error = &told["error"];
    assert_eq!(
        (&told["status"], &told["success"], &told["failedStep"]),
        (&json!("failed"), &json!(false), &json!("bad")),
        "{told}"
    );
    assert_eq!(error["type"], "review.rejected", "{told}");
    assert!(error["detail"].as_str().unwrap().contains("not good"), "{told}");
    assert_eq!(error["instance"], json!(format!("synthdev://runs/{}", told["workflowId"].as_str().unwrap())));
    assert_eq!((&told["errors"][0], &told["completedSteps"]), (error, &json!(["start"])));
    // What needs nobody is done in one call
    let told = client.call_tool("quick", json!({"task": "y"}));
    assert_eq!((&told["status"], &told["data"]), (&json!("completed"), &json!({"said": "y"})), "{told}");
    client.close_client();
}
