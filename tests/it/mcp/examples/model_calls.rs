//! Model calls that the client makes.

use serde_json::{Value, json};

use super::super::super::cli::world::World;
use super::super::flows::{flow, world};
use super::super::transcript::Transcript;

const NONE: [&str; 0] = [];

/// The parsing tool gives the decision its schema.
fn translating_world(decides: bool) -> World {
    let take = if decides {
        "this.common_data.result = function.generated_data.arguments;"
    } else {
        "this.common_data.result = { said: this.getAgent('translator').getLastResponse() };"
    };
    let mut flow = flow(
        "translate",
        &json!([
            {"name": "start", "transition": [{"target": "say"}]},
            {"name": "say", "agent": "translator", "input": "common_data.task",
             "transition": [{"target": "stop", "before": format!("() => {{ {take} }}")}]},
        ]),
    );
    flow["contexts"] = json!([{"name": "main", "starting_messages": []}]);
    flow["agents"] = json!([{"agent_role": "translator", "context": "main", "role": "assistant", "provider": "agentllm",
        "model": "claude-3-opus-20240229", "temperature": 0.7, "max_output_tokens": 100}]);
    let world = world(&[flow]);
    let mut role =
        json!({"level": "base", "systemMessage": "You are a helpful assistant.", "includedTools": []});
    if decides {
        let parameters = json!({"type": "object", "properties": {"translation": {"type": "string"},
            "tasks": {"type": "array"}, "metadata": {"type": "object"}},
            "anyOf": [{"required": ["translation"]}, {"required": ["tasks", "metadata"]}]});
        let function = json!({"name": "generated_data", "description": "Gives it", "parameters": parameters});
        role["parsingTools"] = json!([{"type": "function", "function": function, "parsingOnly": true}]);
    }
    world.write_user_file("roles/translator.json", &json!({"translator": role}).to_string());
    world
}

/// The call of the workflow, and the request that it answers with; `KIND` is what differs.
const ASKED: &str = r#"
> translate {"task": "Translate 'hello' to French."}
< {
    "toolResponseSource": "taskmaster_to_agent",
    "status": "pending_agent_llm_action",
    "message": "The workflow requires an LLM call from the agent. Details provided in llmRequestForAgent. Agent must call agent_llm with this interactionId in response.",
    "llmRequestForAgent": {
      "apiKey": null,
      "modelId": "claude-3-opus-20240229",
      "messages": [
        { "role": "system", "content": "You are a helpful assistant.$_" },
        { "role": "user", "content": "Translate 'hello' to French." }
      ],
      "maxTokens": 100,
      "temperature": 0.7,
      KIND,
      "originalCommand": "translate", "role": "translator", "conversationId": "$conversation"
    },
    "interactionId": "$interaction",
    "pendingInteractionSignalToAgent": {
      "type": "agent_must_respond_via_agent_llm",
      "interactionId": "$interaction",
      "instructions": "Agent, please perform the LLM call using llmRequestForAgent and then invoke the 'agent_llm' tool with your response, including this interactionId."
    },
    "workflowId": "$run", "workflowName": "translate", "completedSteps": ["start"], "expiresAt": "$_", "expiresInSeconds": "$_"
  }
"#;

const TEXT: &str = r#""serviceType": "generateText""#;
const OBJECT: &str = r#""serviceType": "generateObject", "objectName": "generated_data",
      "schema": {"type": "object", "properties": {"translation": {"type": "string"}, "tasks": {"type": "array"},
        "metadata": {"type": "object"}}, "anyOf": [{"required": ["translation"]}, {"required": ["tasks", "metadata"]}]}"#;

/// The answer that the agent gives, and how the run ends with it.
const ANSWERED: &str = r#"
> agent_llm {
    "interactionId": "$interaction",
    "agentLLMResponse": {"status": "success", "data": DATA},
    "projectRoot": "$root"
  }
< {
    "status": "agent_response_processed_by_taskmaster",
    "interactionId": "$interaction",
    "run": {"status": "completed", "success": true, "workflowId": "$run", "workflowName": "translate",
            "completedSteps": ["start", "say", "stop"], "data": RESULT, "output": RESULT}
  }
"#;

fn transcript(decides: bool, more: &str) -> Transcript {
    let text = format!("{ASKED}{more}").replace("KIND", if decides { OBJECT } else { TEXT });
    Transcript::new(move || translating_world(decides), &NONE, &text)
}

fn answered_text(data: &str, result: &str) -> String {
    ANSWERED.replace("DATA", data).replace("RESULT", result)
}

#[test]
fn a_text_is_asked_for_and_given() {
    let data = r#"{"text": "Bonjour", "usage": {"inputTokens": 10, "outputTokens": 5}}"#;
    transcript(false, &answered_text(data, r#"{"said": "Bonjour"}"#)).check_transcript();
}

#[test]
fn an_object_is_asked_for_with_its_schema() {
    let data = r#"{"object": {"translation": "Bonjour"}, "usage": {"inputTokens": 10, "outputTokens": 5}}"#;
    transcript(true, &answered_text(data, r#"{"translation": "Bonjour"}"#)).check_transcript();
}

#[test]
fn the_object_may_be_the_data_itself() {
    let data = r#"{"tasks": [{"id": 1}], "metadata": {"projectName": "x"}}"#;
    transcript(true, &answered_text(data, data)).check_transcript();
}

#[test]
fn an_error_of_the_agents_call_is_the_workflows() {
    let pending = ASKED.split("< ").nth(1).unwrap().replace("$interaction", "$second");
    let failed = format!(
        r#"
> agent_llm {{
    "interactionId": "$interaction",
    "agentLLMResponse": {{
      "status": "error",
      "errorDetails": {{"message": "LLM API returned a 429 status code.", "type": "rate_limit_error"}}
    }},
    "projectRoot": "$root"
  }}
< {{"status": "agent_response_processed_by_taskmaster_with_error", "interactionId": "$interaction", "run": {pending} }}
{}"#,
        answered_text(r#"{"text": "Bonjour"}"#, r#"{"said": "Bonjour"}"#).replace("$interaction", "$second")
    );
    transcript(false, &failed).check_transcript();
}

#[test]
fn the_project_root_must_be_the_runs() {
    let elsewhere = r#"
> agent_llm {
    "interactionId": "$interaction",
    "agentLLMResponse": {"status": "success", "data": {"text": "Bonjour"}},
    "projectRoot": "/path/to/project"
  }
! {"code": -32602, "message": "$_", "data": {"type": "wrong_argument", "argument": "projectRoot"}}
"#;
    let more = answered_text(r#"{"text": "Bonjour"}"#, r#"{"said": "Bonjour"}"#);
    transcript(false, &format!("{elsewhere}{more}")).check_transcript();
}

#[test]
fn an_answer_in_pieces_is_refused_and_the_whole_one_taken() {
    let piece = r#"
> agent_llm {"interactionId": "$interaction", "agentLLMResponse": {"status": "success", "data": {"chunk": "Bon"}}, "projectRoot": "$root"}
< {"status": "error", "success": false, "error": {"type": "validation", "title": "The answer does not fit",
   "detail": "`data.text` is missing (a text, or `data.toolCalls`)", "hint": "$_", "triesLeft": "$_"}}
"#;
    let more = answered_text(r#"{"text": "Bonjour"}"#, r#"{"said": "Bonjour"}"#);
    transcript(false, &format!("{piece}{more}")).check_transcript();
}

#[test]
fn an_interaction_that_nobody_asked_for_is_unknown() {
    let text = r#"
> agent_llm {"interactionId": "some-unique-uuid-string-generated-by-taskmaster",
    "agentLLMResponse": {"status": "success", "data": {"text": "Bonjour"}}}
! {"code": -32602, "message": "Unknown or expired interactionId: some-unique-uuid-string-generated-by-taskmaster",
   "data": {"type": "interaction_unknown"}}
"#;
    Transcript::new(|| translating_world(false), &NONE, text).check_transcript();
}

/// Not even where the server has one.
#[test]
fn no_key_is_ever_told() {
    let text = ASKED.replace("KIND", TEXT);
    let request: Value = serde_json::from_str(text.split("< ").nth(1).unwrap()).unwrap();
    assert_eq!(request["llmRequestForAgent"]["apiKey"], json!(null));
    let held = move || {
        let mut world = translating_world(false);
        world.set_variable("SYNTHDEV_API_KEY", "sk-never-told-0001");
        world
    };
    Transcript::new(held, &NONE, &text).check_transcript();
}
