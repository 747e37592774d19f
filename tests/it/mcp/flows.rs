//! Workflows that need no model.

use serde_json::{Value, json};

use super::super::cli::world::World;

/// A world with these workflows among the user's.
pub fn world(flows: &[Value]) -> World {
    let world = World::new();
    for flow in flows {
        let name = flow["workflow_name"].as_str().unwrap();
        world.write_user_file(&format!("workflows/{name}.json"), &flow.to_string());
    }
    world
}

pub fn flow(name: &str, states: &Value) -> Value {
    json!({"workflow_name": name, "description": format!("About {name}"),
           "input": {"name": "task", "type": "string", "description": "What to do", "required": false, "default": "x"},
           "output": {"name": "result", "type": "object"}, "states": states})
}

fn script(source: &str) -> Value {
    json!({"script": format!("() => {{ {source} }}")})
}

/// Seeds 000 and 003: a prompt is made, a browser is asked, the rest goes on alone.
pub fn ticket_workflow() -> Value {
    let states = json!([
        {"name": "start", "transition": [{"target": "generatePrompt"}]},
        {"name": "generatePrompt", "action": script("this.common_data.count = (this.common_data.count ?? 0) + 1;"),
         "transition": [{"target": "createTicket"}]},
        {"name": "createTicket", "type": "delegate",
         "action": {"type": "browser_automation", "description": "Create Jira ticket using Playwright",
                    "prompt": "'Navigate to https://jira and create ' + common_data.summary",
                    "required_outputs": ["ticketKey", "ticketUrl"], "available_tools": ["playwright"],
                    "context": {"projectKey": "PROJ"}},
         "transition": [{"target": "report"}]},
        {"name": "report",
         "action": script("const { ticketKey, ticketUrl, count } = this.common_data; \
                           this.common_data.result = { ticketKey, ticketUrl, count };"),
         "transition": [{"target": "stop"}]},
    ]);
    let mut flow = flow("ticket", &states);
    flow["input"] = json!([{"name": "summary", "type": "string", "description": "Of the ticket", "required": true},
                           {"name": "priority", "type": "number", "default": 3}]);
    flow
}

/// One request after the other.
pub fn three_requests_workflow() -> Value {
    let ask = |name: &str, next: &str| {
        json!({"name": name, "type": "delegate", "transition": [{"target": next}],
               "action": {"prompt": format!("Do {name}"), "required_outputs": [name]}})
    };
    let end = json!({"name": "end", "transition": [{"target": "stop"}],
        "action": script("const { a, b, c } = this.common_data; this.common_data.result = { a, b, c };")});
    flow(
        "three",
        &json!([{"name": "start", "transition": [{"target": "a"}]}, ask("a", "b"), ask("b", "c"), ask("c", "end"), end]),
    )
}

/// Works without anybody.
pub fn quick_workflow() -> Value {
    let states = json!([{"name": "start", "action": script("this.common_data.result = { said: this.common_data.task };"),
                         "transition": [{"target": "stop"}]}]);
    flow("quick", &states)
}

/// Takes a minute.
pub fn slow_workflow() -> Value {
    let states = json!([{"name": "start", "transition": [{"target": "nap"}]},
                        {"name": "nap", "type": "wait", "duration": 60, "transition": [{"target": "stop"}]}]);
    flow("slow", &states)
}

pub fn failing_workflow() -> Value {
    let states = json!([{"name": "start", "transition": [{"target": "bad"}]},
                        {"name": "bad", "type": "fail", "error": "review.rejected", "cause": {"text": "not good"}}]);
    flow("failing", &states)
}

/// A question to the user.
pub fn asking_workflow(name: &str, pause: &Value) -> Value {
    let mut ask = json!({"name": "ask", "type": "pause", "message": {"text": "What now?"},
                         "output": {"as": "answer"}, "transition": [{"target": "end"}]});
    ask.as_object_mut().unwrap().extend(pause.as_object().unwrap().clone());
    let end = json!({"name": "end", "action": script("this.common_data.result = { answer: this.common_data.answer };"),
                     "transition": [{"target": "stop"}]});
    flow(name, &json!([{"name": "start", "transition": [{"target": "ask"}]}, ask, end]))
}
