//! A ticket with an audio file: delegation by partial answers.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use serde_json::{Value, json};

use super::super::super::cli::world::World;
use super::super::client::Client;
use super::super::flows::{failing_workflow, flow, world};
use super::super::transcript::Transcript;
use crate::support::model_server::{ModelServer, messages};

/// A prompt, a browser, an audio file, an upload.
pub fn jira_workflow() -> Value {
    let script = |source: &str| json!({"script": format!("() => {{ {source} }}")});
    let texts = ["summary", "description", "quote", "projectKey"];
    let mut flow = flow(
        "create_jira_with_audio",
        &json!([
            {"name": "start", "transition": [{"target": "generatePrompt"}]},
            {"name": "generatePrompt", "action": script("this.common_data.prompts = (this.common_data.prompts ?? 0) + 1;"),
             "transition": [{"target": "createTicket"}]},
            {"name": "createTicket", "type": "delegate", "transition": [{"target": "generateAudio"}], "action": {
                "type": "browser_automation", "description": "Create Jira ticket using Playwright",
                "prompt": "Navigate to https://jira..., click Create Issue...",
                "required_outputs": ["ticketKey", "ticketUrl"], "available_tools": ["playwright"],
                "context": {"projectKey": "PROJ"},
                "message": "Please create the Jira ticket and return the ticket key and URL"}},
            {"name": "generateAudio", "action": script("this.common_data.audioId = 'audio-1';"),
             "transition": [{"target": "uploadToJira"}]},
            {"name": "uploadToJira", "transition": [{"target": "stop"}], "action": script(
                "const { ticketKey, ticketUrl, audioId, prompts } = this.common_data; \
                 this.common_data.result = { ticketKey, ticketUrl, audioId, audioUrl: 'https://' + audioId, prompts };")},
        ]),
    );
    flow["input"] = texts.map(|name| json!({"name": name, "type": "string"})).into_iter().collect();
    flow
}

/// The two calls, with what the second one says.
pub fn two_calls(second: &str) -> Transcript {
    let text = r#"
> create_jira_with_audio {"summary": "Implement Dark Mode Toggle", "description": "Add dark mode support...",
    "quote": "In the shadows we find not absence, but presence", "projectKey": "PROJ"}
< {
    "status": "awaiting_llm_action",
    "workflowName": "create_jira_with_audio",
    "workflowId": "$run",
    "resumeToken": "$token",
    "completedSteps": ["start", "generatePrompt"],
    "action": {
      "type": "browser_automation",
      "description": "Create Jira ticket using Playwright",
      "prompt": "Navigate to https://jira..., click Create Issue...",
      "requiredOutputs": ["ticketKey", "ticketUrl"],
      "availableTools": ["playwright"],
      "context": { "projectKey": "PROJ" }
    },
    "message": "Please create the Jira ticket and return the ticket key and URL",
    "state": "createTicket", "expiresAt": "$_", "expiresInSeconds": "$_"
  }
> resume_workflow SECOND
< {
    "status": "completed",
    "success": true,
    "data": {
      "ticketKey": "PROJ-123",
      "ticketUrl": "https://jira.company.com/browse/PROJ-123",
      "audioId": "audio-1",
      "audioUrl": "https://audio-1",
      "prompts": 1
    },
    "output": "$output", "workflowId": "$run", "workflowName": "create_jira_with_audio",
    "completedSteps": ["start", "generatePrompt", "createTicket", "generateAudio", "uploadToJira", "stop"]
  }
> get_workflow_status {"workflowId": "$run"}
< {"status": "completed", "success": true, "data": "$output", "output": "$output", "workflowId": "$run",
   "workflowName": "create_jira_with_audio",
   "completedSteps": ["start", "generatePrompt", "createTicket", "generateAudio", "uploadToJira", "stop"]}
"#;
    Transcript::new(|| world(&[jira_workflow()]), &[], &text.replace("SECOND", second))
}

#[test]
fn the_results_may_stand_beside_the_token() {
    two_calls(
        r#"{"workflowId": "$token", "ticketKey": "PROJ-123", "ticketUrl": "https://jira.company.com/browse/PROJ-123"}"#,
    )
    .check_transcript();
}

#[test]
fn the_id_of_a_run_is_no_token() {
    let text = r#"
> create_jira_with_audio {"summary": "s", "description": "d", "quote": "q", "projectKey": "PROJ"}
< {"status": "awaiting_llm_action", "workflowId": "$run", "resumeToken": "$token", "workflowName": "$_", "completedSteps": "$_",
   "action": "$_", "message": "$_", "state": "$_", "expiresAt": "$_", "expiresInSeconds": "$_"}
> resume_workflow {"workflowId": "$run", "ticketKey": "PROJ-123", "ticketUrl": "u"}
! {"code": -32602, "message": "Resume token expired or invalid. Please start the workflow again.", "data": {"type": "token_unknown"}}
> resume_workflow {"workflowId": "$run"}
! {"code": -32602, "message": "Missing required argument: results", "data": {"type": "missing_argument", "missing": ["results"]}}
"#;
    Transcript::new(|| world(&[jira_workflow()]), &[], text).check_transcript();
}

#[test]
fn a_partial_answer_is_resumed_with_step_data() {
    two_calls(
        r#"{
    "resumeToken": "$token",
    "stepData": {
      "ticketKey": "PROJ-123",
      "ticketUrl": "https://jira.company.com/browse/PROJ-123"
    }
  }"#,
    )
    .check_transcript();
}

/// A role that extracts nothing and has no tools.
fn agent() -> World {
    let mut flow = flow(
        "jira_by_sampling",
        &json!([
            {"name": "start", "transition": [{"target": "createTicket"}]},
            {"name": "createTicket", "agent": "jira_agent", "input": "common_data.task",
             "transition": [{"target": "stop",
                 "before": "() => { this.common_data.result = JSON.parse(this.getAgent('jira_agent').getLastResponse()); }"}]},
        ]),
    );
    flow["contexts"] = json!([{"name": "main", "starting_messages": []}]);
    flow["agents"] =
        json!([{"agent_role": "jira_agent", "context": "main", "role": "assistant", "max_tool_rounds": 10}]);
    let world = world(&[flow]);
    let role = json!({"jira_agent": {"level": "base", "systemMessage": "You are a Jira automation agent", "includedTools": []}});
    world.write_user_file("roles/jira.json", &role.to_string());
    world
}

const OURS: [&str; 2] = ["--provider", "agentllm"];

#[test]
fn a_client_that_samples_is_asked_during_the_call() {
    let text = r#"
> jira_by_sampling {"task": "Navigate to https://jira..., click Create Issue..."}
? {"systemPrompt": "You are a Jira automation agent$_",
   "messages": [{"role": "user", "content": {"type": "text", "text": "Navigate to https://jira..., click Create Issue..."}}],
   "maxTokens": "$_", "modelPreferences": {}, "_meta": "$_"}
= {"role": "assistant", "model": "theirs", "content": {"type": "text", "text": "{\"ticketKey\": \"PROJ-123\", \"ticketUrl\": \"u\"}"}}
< {"status": "completed", "success": true, "workflowId": "$run", "workflowName": "jira_by_sampling",
   "completedSteps": ["start", "createTicket", "stop"],
   "data": {"ticketKey": "PROJ-123", "ticketUrl": "u"}, "output": {"ticketKey": "PROJ-123", "ticketUrl": "u"}}
"#;
    let mut transcript = Transcript::new(agent, &OURS, text);
    transcript.capabilities = json!({"sampling": {}});
    transcript.check_transcript();
}

#[test]
fn one_that_does_not_is_asked_by_the_answer() {
    let text = r#"
> jira_by_sampling {"task": "Navigate to https://jira..., click Create Issue..."}
< {"status": "pending_agent_llm_action", "interactionId": "$asked", "workflowId": "$run", "workflowName": "$_",
   "completedSteps": ["start"], "toolResponseSource": "taskmaster_to_agent", "message": "$_", "llmRequestForAgent": "$request",
   "pendingInteractionSignalToAgent": "$_", "expiresAt": "$_", "expiresInSeconds": "$_"}
> agent_llm {"interactionId": "$asked", "agentLLMResponse": {"status": "success", "data": {"text": "{\"ticketKey\": \"PROJ-123\"}"}}}
< {"status": "agent_response_processed_by_taskmaster", "interactionId": "$asked", "run":
   {"status": "completed", "success": true, "workflowId": "$run", "workflowName": "jira_by_sampling",
    "completedSteps": ["start", "createTicket", "stop"], "data": {"ticketKey": "PROJ-123"}, "output": {"ticketKey": "PROJ-123"}}}
"#;
    Transcript::new(agent, &OURS, text).check_transcript();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_of_our_own_makes_it_one_call() {
    let server = ModelServer::start_messages(vec![messages::text(r#"{"ticketKey": "PROJ-123"}"#)]).await;
    let mut world = agent();
    for (name, value) in [
        ("SYNTHDEV_PROVIDER", "anthropic"),
        ("SYNTHDEV_BASE_URL", server.base_url.as_str()),
        ("SYNTHDEV_API_KEY", "sk-loopback-0001"),
        ("SYNTHDEV_BASE_MODEL", "claude-3-5-sonnet-20241022"),
    ] {
        world.set_variable(name, value);
    }
    let mut client = Client::open_client(&world);
    let told = client.call_tool("jira_by_sampling", json!({"task": "Navigate to https://jira..."}));
    assert_eq!(
        (&told["status"], &told["data"]["ticketKey"]),
        (&json!("completed"), &json!("PROJ-123")),
        "{told}"
    );
    let asked = server.requests();
    assert_eq!(asked.len(), 1);
    let body = &asked[0].body;
    assert_eq!(body["model"], "claude-3-5-sonnet-20241022", "{body}");
    assert!(body["messages"].to_string().contains("Navigate to https://jira..."), "{body}");
    client.close_client();
}

#[test]
fn a_failed_answer() {
    let text = r#"
> failing {}
< {"status": "failed", "success": false, "workflowId": "$run", "workflowName": "failing", "completedSteps": ["start"],
   "failedStep": "bad",
   "error": {"type": "review.rejected", "title": "$title", "detail": "$detail", "instance": "$instance"},
   "errors": [{"type": "review.rejected", "title": "$title", "detail": "$detail", "instance": "$instance"}]}
"#;
    Transcript::new(|| world(&[failing_workflow()]), &[], text).check_transcript();
}

#[test]
fn resume_workflow_is_a_tool_of_its_own() {
    let world = world(&[]);
    let mut client = Client::open_client(&world);
    let listed = client.send_request("tools/list", json!({}))["result"]["tools"].clone();
    let tool = listed.as_array().unwrap().iter().find(|tool| tool["name"] == "resume_workflow").unwrap();
    assert_eq!(tool["description"], "Resume a paused workflow with results from LLM task");
    let schema = &tool["inputSchema"];
    assert_eq!(
        (&schema["type"], &schema["required"]),
        (&json!("object"), &json!(["resumeToken", "results"]))
    );
    let property = |name: &str| &schema["properties"][name];
    assert_eq!(
        *property("resumeToken"),
        json!({"type": "string", "description": "Token from previous workflow response"})
    );
    assert_eq!(property("results")["type"], "object");
    let words = property("results")["description"].as_str().unwrap();
    assert!(words.starts_with("Results from executing the LLM task"), "{words}");
    client.close_client();
}

/// Answers one request as a tracker would; returns its address and what it received.
fn tracker_server() -> (String, thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let heard = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut heard, mut bytes) = (Vec::new(), [0; 4096]);
        loop {
            let read = stream.read(&mut bytes).unwrap();
            heard.extend_from_slice(&bytes[..read]);
            let text = String::from_utf8_lossy(&heard).into_owned();
            if read == 0 || text.contains("}}}") {
                let body = r#"{"key":"PROJ-123"}"#;
                let length = body.len();
                write!(stream, "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}")
                    .unwrap();
                return text;
            }
        }
    });
    (url, heard)
}

#[test]
fn an_http_request_in_its_place_is_one_call() {
    let (url, heard) = tracker_server();
    let mut flow = flow(
        "by_rest",
        &json!([
            {"name": "start", "transition": [{"target": "createTicket"}]},
            {"name": "createTicket", "type": "http", "method": "POST", "url": format!("{url}/rest/api/2/issue"),
             "headers": {"Authorization": {"env": "JIRA_TOKEN", "prefix": "Basic "}},
             "body": {"fields": {"project": {"key": {"expr": "common_data.projectKey"}},
                                 "summary": {"expr": "common_data.summary"},
                                 "issuetype": {"name": "Task"}}},
             "transition": [{"target": "stop", "before":
                "() => { const { key } = context.result.body; this.common_data.result = { ticketKey: key }; }"}]},
        ]),
    );
    flow["input"] = json!([{"name": "summary", "type": "string"}, {"name": "projectKey", "type": "string"}]);
    let mut world = world(&[flow]);
    world.set_variable("JIRA_TOKEN", "dXNlcjp0b2tlbg==");
    let mut client = Client::open_with(&world, &["--yes"]);
    let told = client.call_tool("by_rest", json!({"summary": "Dark mode", "projectKey": "PROJ"}));
    assert_eq!(
        (&told["status"], &told["data"]),
        (&json!("completed"), &json!({"ticketKey": "PROJ-123"})),
        "{told}"
    );
    let heard = heard.join().unwrap();
    assert!(heard.starts_with("POST /rest/api/2/issue HTTP/1.1\r\n"), "{heard}");
    assert!(heard.to_lowercase().contains("\r\nauthorization: basic dxnlcjp0b2tlbg==\r\n"), "{heard}");
    assert!(heard.to_lowercase().contains("\r\ncontent-type: application/json"), "{heard}");
    let body = heard.split("\r\n\r\n").nth(1).unwrap();
    let fields = json!({"project": {"key": "PROJ"}, "summary": "Dark mode", "issuetype": {"name": "Task"}});
    assert_eq!(serde_json::from_str::<Value>(body).unwrap(), json!({"fields": fields}));
    client.close_client();
}
