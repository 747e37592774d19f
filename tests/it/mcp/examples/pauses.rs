//! The server orchestrates, the model of the client thinks.

use serde_json::json;

use super::super::client::Client;
use super::super::flows::{asking_workflow, flow, three_requests_workflow, world};
use super::super::transcript::Transcript;
use super::ticket::{jira_workflow, two_calls};

#[test]
fn the_two_calls_of_the_example() {
    two_calls(
        r#"{
    "resumeToken": "$token",
    "results": {
      "ticketKey": "PROJ-123",
      "ticketUrl": "https://jira.company.com/browse/PROJ-123"
    }
  }"#,
    )
    .check_transcript();
}

#[test]
fn a_token_is_the_name_of_the_workflow_and_luck() {
    let world = world(&[jira_workflow()]);
    let mut client = Client::open_client(&world);
    let inputs = json!({"summary": "s", "description": "d", "quote": "q", "projectKey": "PROJ"});
    let tokens: Vec<String> = (0..2)
        .map(|_| {
            client.call_tool("create_jira_with_audio", inputs.clone())["resumeToken"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    for token in &tokens {
        let luck = token.strip_prefix("create_jira_with_audio-").unwrap();
        assert!(luck.len() >= 32 && luck.chars().all(|one| one.is_ascii_hexdigit()), "{token}");
    }
    assert_ne!(tokens[0], tokens[1]);
    client.close_client();
}

const ASKED: &str = r#"
> create_jira_with_audio {"summary": "s", "description": "d", "quote": "q", "projectKey": "PROJ"}
< {"status": "awaiting_llm_action", "workflowId": "$run", "resumeToken": "$token", "workflowName": "$_", "completedSteps": "$_",
   "action": "$_", "message": "$_", "state": "$_", "expiresAt": "$_", "expiresInSeconds": "$_"}
"#;

fn lacking_text(results: &str, names: &str, list: &str, problem: &str) -> String {
    r#"
> resume_workflow {"resumeToken": "$token", "results": RESULTS}
< {"status": "error", "success": false, "error": {"type": "validation", "title": "The results do not fit",
   "detail": "Missing required output: NAMES", "missing": LIST, "problem": "PROBLEM", "hint": "$_", "triesLeft": "$_"}}
"#
    .replace("RESULTS", results)
    .replace("NAMES", names)
    .replace("LIST", list)
    .replace("PROBLEM", problem)
}

#[test]
fn missing_required_output() {
    let rows = [
        lacking_text(r#"{"ticketKey": "PROJ-123"}"#, "ticketUrl", r#"["ticketUrl"]"#, "missing: ticketUrl"),
        lacking_text(
            "{}",
            "ticketKey, ticketUrl",
            r#"["ticketKey", "ticketUrl"]"#,
            "missing: ticketKey, ticketUrl",
        ),
    ];
    let end = r#"
> resume_workflow {"resumeToken": "$token", "results": {"ticketKey": "PROJ-123", "ticketUrl": "u", "completedSteps": []}}
< {"status": "completed", "success": true, "data": "$output", "output": "$output", "workflowId": "$run",
   "workflowName": "create_jira_with_audio", "ignoredResults": ["completedSteps"],
   "completedSteps": ["start", "generatePrompt", "createTicket", "generateAudio", "uploadToJira", "stop"]}
"#;
    let text = format!("{ASKED}{}{end}", rows.concat());
    Transcript::new(|| world(&[jira_workflow()]), &[], &text).check_transcript();
}

#[test]
fn an_unknown_token() {
    let text = format!(
        "{ASKED}{}",
        r#"
> resume_workflow {"resumeToken": "jira-audio-abc123", "results": {"ticketKey": "PROJ-123", "ticketUrl": "u"}}
! {"code": -32602, "message": "Resume token expired or invalid. Please start the workflow again.", "data": {"type": "token_unknown"}}
"#
    );
    Transcript::new(|| world(&[jira_workflow()]), &[], &text).check_transcript();
}

#[test]
fn what_was_done_before_each_pause_is_not_done_again() {
    let pause = |name: &str, next: &str, steps: &str| {
        r#"
> resume_workflow {"resumeToken": "$token-NAME", "results": {"NAME": "NAME"}}
< {"status": "awaiting_llm_action", "workflowId": "$run", "workflowName": "three", "completedSteps": STEPS, "state": "NEXT",
   "resumeToken": "$token-NEXT", "expiresAt": "$_", "expiresInSeconds": "$_", "message": "$_",
   "action": {"type": "llm_task", "description": "", "prompt": "Do NEXT", "requiredOutputs": ["NEXT"]}}
"#
        .replace("NAME", name)
        .replace("NEXT", next)
        .replace("STEPS", steps)
    };
    let first = r#"
> three {}
< {"status": "awaiting_llm_action", "workflowId": "$run", "workflowName": "three", "completedSteps": ["start"], "state": "a",
   "resumeToken": "$token-a", "expiresAt": "$_", "expiresInSeconds": "$_", "message": "$_",
   "action": {"type": "llm_task", "description": "", "prompt": "Do a", "requiredOutputs": ["a"]}}
"#;
    let last = r#"
> resume_workflow {"resumeToken": "$token-c", "results": {"c": "c"}}
< {"status": "completed", "success": true, "workflowId": "$run", "workflowName": "three",
   "completedSteps": ["start", "a", "b", "c", "end", "stop"],
   "data": {"a": "a", "b": "b", "c": "c"}, "output": {"a": "a", "b": "b", "c": "c"}}
> resume_workflow {"resumeToken": "$token-c", "results": {"c": "other"}}
< {"status": "error", "success": false, "error": {"type": "token_conflict", "title": "The resume token was used already",
   "detail": "this token was used already, with other results: the first ones count"}}
"#;
    let (second, third) = (pause("a", "b", r#"["start", "a"]"#), pause("b", "c", r#"["start", "a", "b"]"#));
    Transcript::new(|| world(&[three_requests_workflow()]), &[], &[first, &second, &third, last].concat())
        .check_transcript();
}

/// What is not clear enough for a model is found before anything runs.
#[test]
fn instructions_must_be_concrete() {
    let with = |action: serde_json::Value| {
        flow(
            "clear",
            &json!([{"name": "start", "transition": [{"target": "ask"}]},
                    {"name": "ask", "type": "delegate", "action": action, "transition": [{"target": "stop"}]}]),
        )
    };
    let good = json!({"prompt": {"template": "Navigate to {{common_data.task}}/secure/CreateIssue.jspa\nClick Create button\nExtract ticket key from success message"},
        "required_outputs": ["ticketKey", "ticketUrl"], "available_tools": ["playwright"]});
    for (action, code, finding) in [
        (good, 0, ""),
        (json!({"prompt": "Create the ticket"}), 2, "asks for no outputs"),
        (json!({"required_outputs": ["result"]}), 2, "says neither"),
    ] {
        let world = world(&[with(action)]);
        let ran = world.run_program(&["check"]);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(ran.code == Some(code) || (code != 0 && ran.code != Some(0)), "{:?} {said}", ran.code);
        assert!(said.contains(finding), "{said}");
    }
}

/// A client that may answer for the user decides an approval.
#[test]
fn an_approval_is_a_pause_like_any_other() {
    let text = r#"
> sign_off {}
< {"status": "awaiting_llm_action", "workflowId": "$run", "workflowName": "sign_off", "completedSteps": ["start"], "state": "ask",
   "resumeToken": "$token", "expiresAt": "$_", "expiresInSeconds": "$_", "message": "$_",
   "action": {"type": "approval", "description": "What now?", "requiredOutputs": ["answer"],
              "prompt": "What now?\n\nAnswer {\"answer\": true} or {\"answer\": false}."}}
> resume_workflow {"resumeToken": "$token", "results": {"answer": "certainly"}}
< {"status": "error", "success": false, "error": {"type": "validation", "title": "The results do not fit", "detail": "$_",
   "missing": [], "problem": "$_", "hint": "$_", "triesLeft": "$_"}}
> resume_workflow {"resumeToken": "$token", "results": {"answer": true}}
< {"status": "completed", "success": true, "workflowId": "$run", "workflowName": "sign_off",
   "completedSteps": ["start", "ask", "end", "stop"], "data": {"answer": true}, "output": {"answer": true}}
"#;
    let flows = || world(&[asking_workflow("sign_off", &json!({"kind": "approval"}))]);
    Transcript::new(flows, &["--remote-approvals"], text).check_transcript();
}
