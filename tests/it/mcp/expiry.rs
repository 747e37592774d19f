//! Tokens and the time that they last, and what a workflow does when no answer comes.

use serde_json::{Value, json};

use super::super::cli::world::{World, wait_for};
use super::client::Client;
use super::flows::{asking_workflow, flow, ticket_workflow, world};
use super::pausing::token;

/// Tokens that the store knows.
fn stored_token_count(world: &World) -> i64 {
    let store = rusqlite::Connection::open(world.data().join("runs.sqlite")).unwrap();
    store.query_row("SELECT count(*) FROM tokens", [], |row| row.get(0)).unwrap()
}

fn status(client: &mut Client, run: &Value) -> Value {
    client.call_tool("get_workflow_status", json!({"workflowId": run}))
}

#[test]
fn looking_at_a_run_that_waits_writes_nothing_and_tells_the_same_token() {
    let world = world(&[ticket_workflow()]);
    let mut client = Client::open_client(&world);
    let told = client.call_tool("ticket", json!({"summary": "x"}));
    for _ in 0..5 {
        let again = status(&mut client, &told["workflowId"]);
        assert_eq!(
            (&again["resumeToken"], &again["expiresAt"]),
            (&told["resumeToken"], &told["expiresAt"]),
            "{again}"
        );
        assert!(again["expiresInSeconds"].as_u64().unwrap() <= 1_800, "{again}");
    }
    assert_eq!(stored_token_count(&world), 1);
    // a token that is worth nothing any more is replaced
    for _ in 0..5 {
        client.call_tool("resume_workflow", json!({"resumeToken": token(&told), "results": {}}));
    }
    let again = status(&mut client, &told["workflowId"]);
    assert_ne!(again["resumeToken"], told["resumeToken"], "{again}");
    assert_eq!(stored_token_count(&world), 2);
    // only the server that issued the token knows it: a new server issues a new one, and both count
    client.close_client();
    let mut other = Client::open_client(&world);
    let new = status(&mut other, &told["workflowId"]);
    assert_ne!(new["resumeToken"], again["resumeToken"]);
    let results = json!({"ticketKey": "K", "ticketUrl": "U"});
    let done =
        other.call_tool("resume_workflow", json!({"resumeToken": token(&again), "results": results.clone()}));
    assert_eq!(done["status"], "completed", "{done}");
    let repeated =
        other.call_tool("resume_workflow", json!({"resumeToken": token(&new), "results": results}));
    assert_eq!(
        (&repeated["duplicate"], &repeated["status"]),
        (&json!(true), &json!("completed")),
        "{repeated}"
    );
    other.close_client();
}

fn timed_workflow(more: &Value) -> Value {
    let mut ask = json!({"name": "ask", "type": "delegate", "ttl": 1, "transition": [{"target": "end"}],
                         "action": {"prompt": "Do it", "required_outputs": ["it"]}});
    ask.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let say = |name: &str, source: &str| {
        json!({"name": name, "transition": [{"target": "stop"}],
               "action": {"script": format!("() => {{ this.common_data.result = {source}; }}")}})
    };
    let states = json!([{"name": "start", "transition": [{"target": "ask"}]}, ask,
                        say("end", "{ it: this.common_data.it }"), say("gave_up", "{ gave_up: true }")]);
    flow("timed", &states)
}

#[test]
fn what_counts_without_an_answer_counts_when_the_time_is_up() {
    let rows = [
        (json!({"default": {"it": "as usual"}}), json!({"it": "as usual"})),
        (json!({"on_timeout": "gave_up"}), json!({"gave_up": true})),
    ];
    // each waits until a second is over: all at once
    std::thread::scope(|scope| {
        for (more, output) in &rows {
            for restarted in [false, true] {
                scope.spawn(move || check_goes_on(more, output, restarted));
            }
        }
    });
}

fn check_goes_on(more: &Value, output: &Value, restarted: bool) {
    let world = world(&[timed_workflow(more)]);
    let mut client = Client::open_client(&world);
    let told = client.call_tool("timed", json!({}));
    assert_eq!(
        (&told["status"], &told["expiresInSeconds"]),
        (&json!("awaiting_llm_action"), &json!(1)),
        "it is asked first: {told}"
    );
    let message = told["message"].as_str().unwrap();
    assert!(message.contains("goes on without them"), "{message}");
    if restarted {
        client.kill_server();
        client = Client::open_client(&world);
    }
    let done = wait_for("the run goes on", || {
        let told = status(&mut client, &told["workflowId"]);
        (told["status"] == "completed").then_some(told)
    });
    assert_eq!(&done["output"], output, "{done}");
    let late =
        client.call_tool("resume_workflow", json!({"resumeToken": token(&told), "results": {"it": 1}}));
    let said = late["error"].to_string();
    assert!(said.contains("the run is completed") && !said.contains("still waits"), "{late}");
    client.close_client();
}

#[test]
fn an_answer_in_time_counts_instead_of_the_default() {
    let mut flow = timed_workflow(&json!({"default": {"it": "as usual"}}));
    flow["states"][1]["ttl"] = json!(60);
    let world = world(&[flow]);
    let mut client = Client::open_client(&world);
    let told = client.call_tool("timed", json!({}));
    let done =
        client.call_tool("resume_workflow", json!({"resumeToken": token(&told), "results": {"it": "mine"}}));
    assert_eq!((&done["status"], &done["output"]), (&json!("completed"), &json!({"it": "mine"})), "{done}");
    client.close_client();
}

#[test]
fn a_wrong_key_is_told_by_the_name_that_is_missing() {
    let shell =
        json!([{"name": "start", "type": "shell", "command": "true", "transition": [{"target": "stop"}]}]);
    let shaped = json!({"required_outputs": ["p"],
                        "schema": {"properties": {"p": {"type": "object", "properties": {"n": {"type": "number"}}}}}});
    let rows = [
        (flow("tool", &shell), json!({"decison": "allow"}), "Missing required output: decision"),
        (flow("tool", &shell), json!({"decision": "perhaps"}), "say {\"decision\": \"allow\"}"),
        (
            asking_workflow("words", &json!({"kind": "text"})),
            json!({"text": "x"}),
            "Missing required output: answer",
        ),
        (
            asking_workflow("yes", &json!({"kind": "approval"})),
            json!({"decision": true}),
            "Missing required output: answer",
        ),
        (asking_workflow("shaped", &shaped), json!({"q": 1}), "Missing required output: p"),
        (
            asking_workflow("shaped", &shaped),
            json!({"p": {"n": "x"}}),
            "/p/n: \"x\" is not of type \"number\"",
        ),
    ];
    for (flow, results, expected) in rows {
        let name = flow["workflow_name"].as_str().unwrap().to_owned();
        let world = world(&[flow]);
        let mut client = Client::open_with(&world, &["--remote-approvals"]);
        let told = client.call_tool(&name, json!({}));
        let refused =
            client.call_tool("resume_workflow", json!({"resumeToken": token(&told), "results": results}));
        assert_eq!(refused["error"]["type"], "validation", "{name}: {refused}");
        assert!(refused["error"]["detail"].as_str().unwrap().contains(expected), "{name}: {refused}");
        client.close_client();
    }
}

#[test]
fn values_of_a_delegated_task_have_the_types_that_it_asks_for() {
    let schema = json!({"properties": {"votes": {"type": "integer"}}});
    let ask = json!({"action": {"prompt": "Count", "required_outputs": ["it", "votes"], "schema": schema}, "ttl": 60});
    let world = world(&[timed_workflow(&ask)]);
    let mut client = Client::open_client(&world);
    let told = client.call_tool("timed", json!({}));
    assert_eq!(told["action"]["schema"], schema, "{told}");
    let hand_in = |results: Value| json!({"resumeToken": token(&told), "results": results});
    let refused = client.call_tool("resume_workflow", hand_in(json!({"it": "x", "votes": "many"})));
    let detail = refused["error"]["detail"].as_str().unwrap();
    assert!(detail.contains("/votes: \"many\" is not of type \"integer\""), "{refused}");
    let done = client.call_tool("resume_workflow", hand_in(json!({"it": "x", "votes": 3})));
    assert_eq!((&done["status"], &done["output"]), (&json!("completed"), &json!({"it": "x"})), "{done}");
    client.close_client();
}

#[test]
fn what_comes_beside_a_single_answer_is_named_and_left_out() {
    let world = world(&[asking_workflow("words", &json!({"kind": "text"}))]);
    let mut client = Client::open_client(&world);
    let told = client.call_tool("words", json!({}));
    let results = json!({"answer": "well", "mood": "good"});
    let done = client.call_tool("resume_workflow", json!({"resumeToken": token(&told), "results": results}));
    assert_eq!(
        (&done["output"], &done["ignoredResults"]),
        (&json!({"answer": "well"}), &json!(["mood"])),
        "{done}"
    );
    client.close_client();
}
