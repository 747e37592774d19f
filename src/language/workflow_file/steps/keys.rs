//! The kinds of steps and the keys of each.

/// What one kind of step may hold besides the keys that every step has.
pub(super) struct StepType {
    pub(super) word: &'static str,
    pub(super) keys: &'static [&'static str],
    /// It does something that gives a result and can fail.
    pub(super) has_result: bool,
}

/// Every step may have these.
pub(super) const ANY: [&str; 4] = ["id", "type", "description", "when"];

/// Steps that do something: what becomes of the result, and what happens when it fails.
pub(super) const WORK: [&str; 9] =
    ["output_to", "store_result", "retry", "catch", "fallback", "on_error", "timeout", "budget", "on_limit"];

const fn step_type(word: &'static str, works: bool, keys: &'static [&'static str]) -> StepType {
    StepType { word, keys, has_result: works }
}

pub(super) const TYPES: [StepType; 19] = [
    step_type("condition", false, &["if", "then", "else"]),
    step_type(
        "while",
        false,
        &["condition", "steps", "max_iterations", "on_max", "output_to", "store_result"],
    ),
    step_type(
        "foreach",
        true,
        &[
            "items",
            "each",
            "at",
            "steps",
            "sub_workflow",
            "sub_workflow_input",
            "agent",
            "input",
            "max_concurrency",
            "sequential",
            "tolerated_failures",
            "tolerated_percent",
            "needs_state",
        ],
    ),
    step_type("parallel", true, &["branches", "join", "max_concurrency", "merge"]),
    step_type("set_state", false, &["updates"]),
    step_type("return", false, &["value"]),
    step_type("shell", true, &["command", "args", "cwd", "env", "expect_exit", "execution"]),
    step_type("mcp_call", true, &["server", "tool", "arguments"]),
    step_type("tool", true, &["tool", "arguments"]),
    step_type("http", true, &["method", "url", "headers", "query", "body", "expect_status"]),
    step_type("prompt", true, &["kind", "message", "choices", "default", "schema", "ttl"]),
    step_type("wait", true, &["duration", "duration_seconds", "until"]),
    step_type(
        "delegate",
        true,
        &[
            "instructions",
            "agent",
            "needs_state",
            "required_outputs",
            "schema",
            "available_tools",
            "context",
            "ttl",
            "default",
        ],
    ),
    step_type("agent", true, &["agent", "input", "needs_state"]),
    step_type("sub_workflow", true, &["sub_workflow", "sub_workflow_input"]),
    step_type("script", false, &["script"]),
    step_type("fail", false, &["error", "cause"]),
    step_type("break", false, &[]),
    step_type("continue", false, &[]),
];

/// What others call these steps.
pub(super) const ALIASES: [(&str, &str); 16] = [
    ("conditional", "condition"),
    ("if", "condition"),
    ("while_loop", "while"),
    ("loop", "while"),
    ("parallel_foreach", "foreach"),
    ("for", "foreach"),
    ("map", "foreach"),
    ("set", "set_state"),
    ("state_update", "set_state"),
    ("shell_command", "shell"),
    ("mcp", "mcp_call"),
    ("user_input", "prompt"),
    ("user_message", "prompt"),
    ("agent_prompt", "agent"),
    ("model", "agent"),
    ("wait_step", "wait"),
];

impl StepType {
    pub(super) fn known_keys(&self) -> impl Iterator<Item = &'static str> + Clone {
        let work: &[&str] = if self.has_result { &WORK } else { &[] };
        ANY.into_iter().chain(self.keys.iter().copied()).chain(work.iter().copied())
    }
}
