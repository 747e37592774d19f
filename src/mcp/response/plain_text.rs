//! An answer as text: for clients that show texts only, and for users who watch a client.

use serde_json::Value;

use synthdev_domain::workflow::plain_text;

/// The status of a run whose tasks are for sub-agents.
pub(crate) const SUB_AGENTS: &str = "awaiting_sub_agents";

/// The answer as text. It has everything that the client needs to continue.
pub(super) fn readable_text(answer: &Value) -> String {
    let mut answer = answer.clone();
    let warnings = answer.as_object_mut().and_then(|fields| fields.remove("warnings")).unwrap_or_default();
    let warnings = warnings.as_array().into_iter().flatten().filter_map(Value::as_str);
    warnings.fold(status_sentence(&answer), |text, warning| format!("{text}\n\nWarning: {warning}"))
}

fn status_sentence(answer: &Value) -> String {
    let text = |name: &str| answer[name].as_str().unwrap_or_default();
    let (workflow, run) = (text("workflowName"), text("workflowId"));
    match text("status") {
        "completed" => {
            let output = plain_text(&answer["output"]);
            format!("{output}\n\n(workflow {workflow} completed, run {run})")
        }
        // of a sub-agent's tools
        "pending_step" | "complete" | "waiting" | "accepted" => plain_text(answer),
        "error" if answer["code"].is_string() => plain_text(answer),
        SUB_AGENTS => plain_text(answer),
        "failed" | "error" => error_text(answer),
        super::pending_actions::AWAITING => waiting_text(answer, workflow),
        super::llm_directive::PENDING => plain_text(answer),
        _ if answer["run"].is_object() => {
            format!("{}: {}\n\n{}", text("status"), text("interactionId"), readable_text(&answer["run"]))
        }
        "" => plain_text(answer),
        status => [&format!("Workflow {workflow}, run {run}: {status}."), text("message")]
            .join(" ")
            .trim()
            .to_owned(),
    }
}

fn error_text(answer: &Value) -> String {
    let error = &answer["error"];
    let mut lines = vec![format!("{}: {}", plain_text(&error["title"]), plain_text(&error["detail"]))];
    lines.extend(answer["failedStep"].as_str().map(|state| format!("It failed in the state {state}.")));
    lines.extend(error["hint"].as_str().map(|hint| format!("Hint: {hint}")));
    lines.extend(answer["message"].as_str().map(str::to_owned));
    lines.join("\n")
}

fn waiting_text(answer: &Value, workflow: &str) -> String {
    let several = answer["pending"].as_array().map(Vec::as_slice);
    let all = several.unwrap_or(std::slice::from_ref(answer));
    let mut parts = vec![format!("Workflow {workflow} waits for you.")];
    for one in all {
        let action = &one["action"];
        let text = |name: &str| action[name].as_str().unwrap_or_default();
        let mut lines = Vec::new();
        if text("description") != text("prompt") && !text("prompt").starts_with(text("description")) {
            lines.push(text("description").to_owned());
        }
        lines.push(text("prompt").to_owned());
        for (name, label) in
            [("availableTools", "Tools that may help"), ("choices", "Choices"), ("context", "Context")]
        {
            if !action[name].is_null() {
                lines.push(format!("{label}: {}", action[name]));
            }
        }
        let message = plain_text(&one["message"]);
        let says_how = message.contains("resume_workflow");
        lines.push(message);
        if !says_how {
            lines.push("Then call resume_workflow with this resumeToken and these results:".to_owned());
        }
        lines.push(format!("resumeToken: {}", plain_text(&one["resumeToken"])));
        lines.push(format!("results: {}", action["requiredOutputs"]));
        lines.push(format!("The token expires at {}.", plain_text(&one["expiresAt"])));
        parts.push(lines.join("\n"));
    }
    parts.join("\n\n")
}
