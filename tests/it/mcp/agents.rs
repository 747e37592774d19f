//! Model calls that the client makes.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::cli::world::{World, talk_workflow, wait_for};
use super::client::Client;
use super::flows::{flow, world};
use crate::support::model_server::{Behaviour, ModelServer};

/// Every level asks the client.
const OURS: [&str; 6] =
    ["--provider", "agentllm", "--smart-provider", "agentllm", "--fast-provider", "agentllm"];

fn open_client(world: &World) -> Client {
    Client::open_with(world, &OURS)
}

fn id(told: &Value) -> String {
    told["interactionId"].as_str().unwrap_or_else(|| panic!("no interaction in {told}")).to_owned()
}

fn success_response(id: &str, data: Value) -> Value {
    json!({"interactionId": id, "agentLLMResponse": {"status": "success", "data": data}})
}

fn error(id: &str, kind: &str) -> Value {
    let details = json!({"message": "LLM API said no.", "type": kind});
    json!({"interactionId": id, "agentLLMResponse": {"status": "error", "errorDetails": details}})
}

/// As for every other model: some servers refuse a conversation that the assistant begins.
#[test]
fn a_delegated_conversation_begins_with_the_user() {
    let mut flow = talk_workflow();
    flow["contexts"][0]["starting_messages"] = json!([{"role": "assistant", "content": "Ready."}]);
    let world = world(&[flow]);
    let mut client = open_client(&world);
    let told = client.call_tool("talk", json!({"task": "Go."}));
    let messages = told["llmRequestForAgent"]["messages"].as_array().unwrap();
    let turns: Vec<_> = messages
        .iter()
        .filter(|message| message["role"] != "system")
        .map(|message| (message["role"].as_str().unwrap(), message["content"].as_str().unwrap()))
        .collect();
    assert_eq!(turns, [("user", "Begin."), ("assistant", "Ready."), ("user", "Go.")]);
    client.close_client();
}

#[test]
fn the_call_that_needs_a_model_returns_the_request_and_goes_on_with_the_answer() {
    let world = world(&[talk_workflow()]);
    let mut client = open_client(&world);
    let told = client.call_tool("talk", json!({"task": "Translate 'hello' to French."}));
    let (run, id) = (told["workflowId"].clone(), id(&told));
    let messages = told["llmRequestForAgent"]["messages"].as_array().unwrap().clone();
    assert_eq!(messages[0]["role"], "system");
    assert_eq!(messages.last().unwrap(), &json!({"role": "user", "content": "Translate 'hello' to French."}));
    let mut request = told["llmRequestForAgent"].clone();
    let tools = request.as_object_mut().unwrap().remove("tools").unwrap();
    assert!(tools.as_array().unwrap().iter().any(|tool| tool["name"] == "read_files"), "{tools}");
    request["messages"] = json!([]);
    assert_eq!(
        request,
        json!({"apiKey": null, "modelId": null, "messages": [], "maxTokens": request["maxTokens"],
               "temperature": request["temperature"], "originalCommand": "talk", "role": "coder",
               "serviceType": "generateText", "toolChoice": "auto",
               "conversationId": format!("{}/coder", run.as_str().unwrap())})
    );
    assert_eq!(
        told["pendingInteractionSignalToAgent"],
        json!({"type": "agent_must_respond_via_agent_llm", "interactionId": id,
               "instructions": "Agent, please perform the LLM call using llmRequestForAgent and then invoke the 'agent_llm' tool with your response, including this interactionId."})
    );
    assert_eq!(
        (&told["toolResponseSource"], &told["status"], &told["completedSteps"]),
        (&json!("taskmaster_to_agent"), &json!("pending_agent_llm_action"), &json!(["start"]))
    );
    // it can be asked for again
    let again = client.call_tool("get_workflow_status", json!({"workflowId": run}));
    let left = |told: &Value| told["expiresInSeconds"].as_u64().unwrap();
    assert!(left(&again) <= left(&told) && (1..=900).contains(&left(&again)), "{again}");
    let mut same = again.clone();
    same["expiresInSeconds"] = told["expiresInSeconds"].clone();
    assert_eq!(same, told);

    let data = json!({"text": "Bonjour", "usage": {"inputTokens": 10, "outputTokens": 5}});
    let mut answer = success_response(&id, data);
    answer["projectRoot"] = json!(world.project().canonicalize().unwrap());
    let told = client.call_tool("agent_llm", answer.clone());
    assert_eq!(
        (&told["status"], &told["interactionId"]),
        (&json!("agent_response_processed_by_taskmaster"), &json!(id))
    );
    assert_eq!(
        (&told["run"]["status"], &told["run"]["output"]),
        (&json!("completed"), &json!("Bonjour")),
        "{told}"
    );
    // Once more, and otherwise
    let again = client.call_tool("agent_llm", answer);
    assert_eq!(
        (&again["status"], &again["duplicate"], &again["run"]),
        (&told["status"], &json!(true), &told["run"])
    );
    let other = client.call_tool("agent_llm", success_response(&id, json!({"text": "Salut"})));
    assert_eq!(other["error"]["type"], "interaction_conflict", "{other}");
    client.close_client();
    let shown = world.run_program(&["runs", "list", "--json"]).code(0).json();
    assert_eq!(shown[0]["usage"]["prompt"], 10, "{shown}");
    assert_eq!(shown[0]["usage"]["completion"], 5, "{shown}");
}

#[test]
fn a_repetition_is_one_whatever_the_order_of_its_keys() {
    let world = world(&[talk_workflow()]);
    let mut client = open_client(&world);
    let id = id(&client.call_tool("talk", json!({"task": "x"})));
    let rows = [
        (
            r#"{"status": "success", "data": {"text": "y", "usage": {"inputTokens": 1, "outputTokens": 2}}}"#,
            Value::Null,
        ),
        (
            r#"{"data": {"usage": {"outputTokens": 2, "inputTokens": 1}, "text": "y"}, "status": "success"}"#,
            json!(true),
        ),
    ];
    for (said, again) in rows {
        let params = format!(r#"{{"interactionId": "{id}", "agentLLMResponse": {said}}}"#);
        let told = client.call_tool("agent_llm", serde_json::from_str(&params).unwrap());
        assert_eq!((&told["run"]["output"], &told["duplicate"]), (&json!("y"), &again), "{told}");
    }
    client.close_client();
}

#[test]
fn errors_follow_the_rules_for_errors() {
    let world = world(&[talk_workflow()]);
    let mut client = open_client(&world);
    let first = id(&client.call_tool("talk", json!({"task": "x"})));
    let told = client.call_tool("agent_llm", error(&first, "rate_limit_error"));
    assert_eq!(told["status"], "agent_response_processed_by_taskmaster_with_error");
    let second = id(&told["run"]);
    assert_ne!(first, second, "a retry is a new interaction");
    let told = client.call_tool("agent_llm", success_response(&second, json!("Bonjour")));
    assert_eq!(told["run"]["output"], "Bonjour", "{told}");
    // what does not get better is not asked again
    let third = id(&client.call_tool("talk", json!({"task": "x"})));
    let told = client.call_tool("agent_llm", error(&third, "authentication_error"));
    let run = &told["run"];
    assert_eq!(
        (&run["status"], &run["error"]["type"], &run["failedStep"]),
        (&json!("failed"), &json!("delegate_error"), &json!("say")),
        "{told}"
    );
    // unless somebody says so
    let again = client.call_tool("continue_workflow", json!({"workflowId": run["workflowId"]}));
    let told = client.call_tool("agent_llm", success_response(&id(&again), json!("Bonjour")));
    assert_eq!(told["run"]["output"], "Bonjour", "{told}");
    client.close_client();
}

#[test]
fn wrong_answers_are_refused_and_change_nothing() {
    let world = world(&[talk_workflow()]);
    let mut client = open_client(&world);
    let id = id(&client.call_tool("talk", json!({"task": "x"})));
    let with = |response: Value| json!({"interactionId": id, "agentLLMResponse": response});
    let mut both = success_response(&id, json!({"text": "x"}));
    both["delegatedCallDetails"] = json!({});
    let mut elsewhere = success_response(&id, json!({"text": "x"}));
    elsewhere["projectRoot"] = json!("/somewhere/else/../..");
    let mut unknown = success_response(&id, json!({"text": "x"}));
    unknown["sudo"] = json!(true);
    let rows = [
        (json!({}), "Missing required argument: interactionId, agentLLMResponse"),
        (json!({"interactionId": id}), "Missing required argument: agentLLMResponse"),
        (both, "not both"),
        (unknown, "Unknown argument: sudo"),
        (with(json!("x")), "`agentLLMResponse` must be an object"),
        (with(json!({"status": "success"})), "a success needs"),
        (with(json!({"status": "success", "data": null})), "a success needs"),
        (with(json!({"status": "error"})), "an error needs"),
        (with(json!({"status": "done", "data": {}})), "must be success or error"),
        (with(json!({"status": "success", "data": "x".repeat(1 << 20)})), "at most 1048576 are taken"),
        (elsewhere, "`projectRoot` is not the project"),
        (success_response("0123", json!({"text": "x"})), "Unknown or expired interactionId: 0123"),
    ];
    for (arguments, expected) in rows {
        let error = client.call_refusal("agent_llm", arguments);
        assert!(error["code"] == -32602 && error["message"].as_str().unwrap().contains(expected), "{error}");
    }
    let told = client.call_tool("agent_llm", success_response(&id, json!({"words": "x"})));
    assert_eq!(
        (&told["error"]["type"], &told["error"]["triesLeft"]),
        (&json!("validation"), &json!(4)),
        "{told}"
    );
    let told = client.call_tool("agent_llm", success_response(&id, json!({"text": "at last"})));
    assert_eq!(told["run"]["output"], "at last", "{told}");
    client.close_client();
}

/// A role that decides and does nothing else.
fn judge_role() -> Value {
    let parameters = json!({"type": "object", "properties": {"translation": {"type": "string"}}, "required": ["translation"]});
    let function = json!({"name": "translate", "description": "Gives it", "parameters": parameters});
    json!({"judge": {"level": "base", "systemMessage": "You judge.", "includedTools": [],
        "parsingTools": [{"type": "function", "function": function, "parsingOnly": true}]}})
}

pub fn judging_world() -> World {
    let mut flow = flow(
        "judged",
        &json!([
            {"name": "start", "transition": [{"target": "judge"}]},
            {"name": "judge", "agent": "judge", "input": {"text": "hello"}, "transition": [{"target": "stop",
                "before": "() => { this.common_data.result = function.translate.arguments.translation; }"}]},
        ]),
    );
    flow["output"]["type"] = json!("string");
    flow["contexts"] = json!([{"name": "main", "starting_messages": []}]);
    flow["agents"] = json!([{"agent_role": "judge", "context": "main", "role": "assistant"}]);
    let world = world(&[flow]);
    world.write_user_file("roles/judge.json", &judge_role().to_string());
    world
}

#[test]
fn objects_fit_their_schema_bare_or_not() {
    let world = judging_world();
    let mut client = open_client(&world);
    for data in [json!({"object": {"translation": "Bonjour"}}), json!({"translation": "Bonjour"})] {
        let told = client.call_tool("judged", json!({}));
        let request = &told["llmRequestForAgent"];
        assert_eq!(
            (&request["serviceType"], &request["objectName"]),
            (&json!("generateObject"), &json!("translate")),
            "{told}"
        );
        assert_eq!(request["schema"]["required"], json!(["translation"]));
        let id = id(&told);
        let wrong =
            client.call_tool("agent_llm", success_response(&id, json!({"object": {"translation": 7}})));
        let detail = wrong["error"]["detail"].as_str().unwrap();
        assert!(detail.contains("data.object") && detail.contains("`data` "), "{wrong}");
        assert!(detail.contains("/translation: 7 is not of type \"string\""), "{wrong}");
        let told = client.call_tool("agent_llm", success_response(&id, data));
        assert_eq!(told["run"]["output"], "Bonjour", "{told}");
    }
    // five that do not fit are a failed call
    let id = id(&client.call_tool("judged", json!({})));
    let told: Vec<Value> =
        (0..5).map(|_| client.call_tool("agent_llm", success_response(&id, json!({})))).collect();
    assert_eq!(told[4]["error"]["triesLeft"], 0, "{}", told[4]);
    let runs = wait_for("it has failed", || {
        let runs = client.call_tool("list_runs", json!({"status": "failed"}))["runs"].clone();
        (!runs.as_array().unwrap().is_empty()).then_some(runs)
    });
    assert_eq!(runs[0]["error"]["type"], "delegate_error", "{runs}");
    let run = json!({"workflowId": runs[0]["workflowId"]});
    let hint = client.call_tool("get_workflow_status", run)["error"]["hint"].to_string();
    assert!(hint.contains("answers did not fit") && !hint.contains("URL"), "{hint}");
    client.close_client();
}

#[test]
fn a_role_asks_the_client_whoever_serves_its_level() {
    let world = judging_world();
    let mut own = judge_role();
    own["judge"]["provider"] = json!("agentllm");
    world.write_user_file("roles/judge.json", &own.to_string());
    // no level is set here
    let mut client = Client::open_client(&world);
    let told = client.call_tool("judged", json!({}));
    let told = client.call_tool("agent_llm", success_response(&id(&told), json!({"translation": "Bonjour"})));
    assert_eq!(told["run"]["output"], "Bonjour", "{told}");
    client.close_client();
}

#[test]
fn tools_run_here_and_their_results_come_with_the_next_request() {
    let world = world(&[talk_workflow()]);
    world.write_file("notes.txt", "the secret word is plum");
    let mut client = open_client(&world);
    let told = client.call_tool("talk", json!({"task": "What is the word?"}));
    let conversation = told["llmRequestForAgent"]["conversationId"].clone();
    let calls = json!([{"id": "c1", "name": "read_files", "arguments": {"file_paths": ["notes.txt"]}}]);
    let told =
        client.call_tool("agent_llm", success_response(&id(&told), json!({"text": "", "toolCalls": calls})));
    let next = &told["run"];
    assert_eq!(next["llmRequestForAgent"]["conversationId"], conversation, "{told}");
    let messages = next["llmRequestForAgent"]["messages"].as_array().unwrap();
    let last = messages.last().unwrap();
    assert_eq!((&last["role"], &last["toolCallId"]), (&json!("tool"), &json!("c1")), "{last}");
    assert!(last["content"].as_str().unwrap().contains("plum"), "{last}");
    let told = client.call_tool("agent_llm", success_response(&id(next), json!({"text": "plum"})));
    assert_eq!(told["run"]["output"], "plum", "{told}");
    client.close_client();
}

#[test]
fn branches_ask_at_once_and_are_answered_in_any_order() {
    let say = |name: &str| {
        json!([{"name": "start", "agent": name, "input": {"text": format!("speak, {name}")},
                "transition": [{"target": "stop"}], "output": {"as": name}}])
    };
    let names = ["coder", "architect", "reviewer"];
    let branches: Vec<Value> = names.iter().map(|name| json!({"name": name, "states": say(name)})).collect();
    let mut flow = flow(
        "choir",
        &json!([
            {"name": "start", "transition": [{"target": "all"}]},
            {"name": "all", "type": "parallel", "branches": branches, "transition": [{"target": "end"}]},
            {"name": "end", "action": {"script": "() => { const { coder, architect } = this.common_data; this.common_data.result = { coder, architect }; }"},
             "transition": [{"target": "stop"}]},
        ]),
    );
    flow["contexts"] = json!(names.map(|name| json!({"name": name, "starting_messages": []})));
    flow["agents"] =
        json!(names.map(|name| json!({"agent_role": name, "context": name, "role": "assistant"})));
    let world = world(&[flow]);
    let mut client = open_client(&world);
    let run = client.call_tool("choir", json!({}))["workflowId"].clone();
    let open = wait_for("all three ask", || {
        let told = client.call_tool("get_workflow_status", json!({"workflowId": run}));
        let open = told["pendingInteractions"].as_array()?.clone();
        (open.len() == 3).then_some(open)
    });
    let talks: BTreeSet<&str> =
        open.iter().map(|one| one["llmRequestForAgent"]["conversationId"].as_str().unwrap()).collect();
    let expected = names.map(|name| format!("{}/all.{name}/{name}", run.as_str().unwrap()));
    assert_eq!(talks, expected.iter().map(String::as_str).collect(), "a branch has its own");
    let mut last = Value::Null;
    for one in open.iter().rev() {
        let who = one["llmRequestForAgent"]["role"].as_str().unwrap();
        last =
            client.call_tool("agent_llm", success_response(&id(one), json!({"text": format!("I am {who}")})));
    }
    assert_eq!(
        last["run"]["output"],
        json!({"coder": "I am coder", "architect": "I am architect"}),
        "{last}"
    );
    client.close_client();
}

#[test]
fn after_a_crash_the_call_is_answered_under_its_old_id_or_a_new_one() {
    let world = world(&[talk_workflow()]);
    for asks in [false, true] {
        let mut client = open_client(&world);
        let told = client.call_tool("talk", json!({"task": "x"}));
        let (run, old) = (told["workflowId"].clone(), id(&told));
        client.kill_server();
        let mut client = open_client(&world);
        let mut forged = old.clone();
        let last = if forged.pop() == Some('0') { '1' } else { '0' };
        forged.push(last);
        let error = client.call_refusal("agent_llm", success_response(&forged, json!({"text": "forged"})));
        assert_eq!(error["data"]["type"], "interaction_unknown");
        let told = client.call_tool("get_workflow_status", json!({"workflowId": run}));
        assert_eq!(told["status"], "interrupted", "nobody took it up: {told}");
        let answered = if asks {
            let told = client.call_tool("continue_workflow", json!({"workflowId": run}));
            assert_ne!(id(&told), old);
            id(&told)
        } else {
            old.clone()
        };
        let told = client.call_tool("agent_llm", success_response(&answered, json!({"text": "Bonjour"})));
        assert_eq!(told["interactionId"], json!(answered));
        assert_eq!((&told["run"]["output"], &told["run"]["workflowId"]), (&json!("Bonjour"), &run), "{told}");
        // said again, here and after another crash, and otherwise
        for crash in [false, true] {
            if crash {
                client.kill_server();
                client = open_client(&world);
            }
            let again =
                client.call_tool("agent_llm", success_response(&answered, json!({"text": "Bonjour"})));
            assert_eq!((&again["duplicate"], &again["run"]), (&json!(true), &told["run"]), "{again}");
        }
        let error = client.call_refusal("agent_llm", success_response(&answered, json!({"text": "Salut"})));
        assert_eq!(error["data"]["type"], "interaction_unknown");
        let again = client.call_tool("continue_workflow", json!({"workflowId": run}));
        assert_eq!(again["error"]["type"], "not_continued", "{again}");
        client.close_client();
    }
}

#[test]
fn a_call_of_another_project_is_named_to_who_has_its_id() {
    let world = world(&[talk_workflow()]);
    let mut client = open_client(&world);
    let told = client.call_tool("talk", json!({"task": "x"}));
    let asked = id(&told);
    let mut forged = asked.clone();
    let last = if forged.pop() == Some('0') { '1' } else { '0' };
    forged.push(last);
    let other = world.root().join("other");
    std::fs::create_dir_all(&other).unwrap();
    let project = std::fs::canonicalize(world.project()).unwrap();
    let mut stranger = Client::open_with(&world, &["-C", other.to_str().unwrap()]);
    let belongs = format!(
        "run {} belongs to {}; a server of that project takes its answer",
        told["workflowId"].as_str().unwrap(),
        project.display()
    );
    let unknown = format!("Unknown or expired interactionId: {forged}");
    for (given, message) in [(&asked, belongs), (&forged, unknown)] {
        let error = stranger.call_refusal("agent_llm", success_response(given, json!({"text": "Bonjour"})));
        assert_eq!(error["data"]["type"], "interaction_unknown", "{error}");
        assert_eq!(error["message"], message, "{error}");
    }
    let told = client.call_tool("agent_llm", success_response(&asked, json!({"text": "Bonjour"})));
    assert_eq!(told["run"]["output"], "Bonjour", "{told}");
    stranger.close_client();
    client.close_client();
}

#[test]
fn without_a_client_nobody_answers_and_that_is_said() {
    let world = world(&[talk_workflow()]);
    let ran = world.run_program(&["run", "talk", "x", "--provider", "agentllm"]).code(1);
    assert!(ran.stderr.contains("synthdev mcp"), "{}", ran.stderr);
}

#[test]
fn isolated_workflows_ask_the_client_as_well() {
    let mut flow = talk_workflow();
    flow["isolation"] = json!("worktree");
    let world = World::repository();
    world.write_user_file("workflows/talk.json", &flow.to_string());
    let mut client = open_client(&world);
    let told = client.call_tool("talk", json!({"task": "write"}));
    let calls = json!([{"name": "write_file", "arguments": {"file_path": "new.txt", "content": "x"}}]);
    let told = client.call_tool("agent_llm", success_response(&id(&told), json!({"toolCalls": calls})));
    // the tool needs the user's approval
    assert_eq!(told["run"]["status"], "paused", "{told}");
    client.close_client();
    let mut client = Client::open_with(&world, &[&OURS[..], &["--remote-approvals"]].concat());
    let told = client.call_tool("get_workflow_status", json!({"workflowId": told["run"]["workflowId"]}));
    let yes = json!({"resumeToken": told["resumeToken"], "results": {"decision": "allow"}});
    let told = client.call_tool("resume_workflow", yes);
    let told = client.call_tool("agent_llm", success_response(&id(&told), json!("written")));
    assert_eq!(told["run"]["output"], "written", "{told}");
    client.close_client();
    assert!(!world.project().join("new.txt").exists(), "it is in its worktree");
    let listed = world.run_program(&["runs", "list", "--json"]).code(0).json();
    let tree = listed[0]["worktree"]["path"].as_str().unwrap_or_else(|| panic!("{listed}"));
    assert!(std::path::Path::new(tree).join("new.txt").exists(), "{listed}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_workflow_asks_a_server_the_client_s_model_and_the_client() {
    let say = |name: &str, agent: &str, next: &str| {
        json!({"name": name, "agent": agent, "input": {"text": format!("speak, {agent}")}, "output": {"as": name},
               "transition": [{"target": next}]})
    };
    let mut flow = flow(
        "modes",
        &json!([
            {"name": "start", "transition": [{"target": "api"}]},
            say("api", "coder", "agent"),
            say("agent", "architect", "asked"),
            {"name": "asked", "type": "delegate", "action": {"prompt": "Say a word", "required_outputs": ["word"]},
             "transition": [{"target": "end"}]},
            {"name": "end", "transition": [{"target": "stop"}], "action": {"script":
                "() => { const { api, agent, word } = this.common_data; this.common_data.result = { api, agent, word }; }"}},
        ]),
    );
    flow["contexts"] =
        json!([{"name": "one", "starting_messages": []}, {"name": "two", "starting_messages": []}]);
    flow["agents"] = json!([{"agent_role": "coder", "context": "one", "role": "assistant"},
                            {"agent_role": "architect", "context": "two", "role": "assistant", "provider": "agentllm"}]);
    let server =
        ModelServer::start_per_model(vec![("base-model", vec![Behaviour::text("from the server")])]).await;
    let mut world = world(&[flow]);
    world.set_variable("SYNTHDEV_BASE_URL", &server.base_url);
    world.set_variable("SYNTHDEV_API_KEY", "sk-loopback-0001");
    world.set_variable("SYNTHDEV_BASE_MODEL", "base-model");
    let mut client = Client::open_client(&world);
    let told = client.call_tool("modes", json!({}));
    assert_eq!(told["completedSteps"], json!(["start", "api"]), "{told}");
    let told = client.call_tool("agent_llm", success_response(&id(&told), json!("from the client's model")));
    let asked = &told["run"];
    assert_eq!(asked["status"], "awaiting_llm_action", "{told}");
    let results = json!({"resumeToken": asked["resumeToken"], "results": {"word": "from the client"}});
    let told = client.call_tool("resume_workflow", results);
    let expected =
        json!({"api": "from the server", "agent": "from the client's model", "word": "from the client"});
    assert_eq!(told["output"], expected, "{told}");
    assert_eq!(server.requests().len(), 1, "no other server was asked");
    client.close_client();
    let spent = world.run_program(&["runs", "cost", "--json"]).code(0).json();
    let models: BTreeSet<&str> =
        spent["by"]["model"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(models, BTreeSet::from(["agentllm", "base-model"]), "{spent}");
}
