//! The keys of each object of a workflow file. Keys that start with `x_`, and `$schema`, are always allowed.

/// What an object is called in messages, what it may hold, and which keys of the format this version refuses.
pub(super) struct Keys {
    pub(super) what: &'static str,
    pub(super) known: &'static [&'static str],
    pub(super) later: &'static [&'static str],
}

pub(super) const WORKFLOW: Keys = Keys {
    what: "a workflow",
    known: &[
        "workflow_name",
        "description",
        "version",
        "input",
        "output",
        "variables",
        "contexts",
        "agents",
        "states",
        "steps",
        "start_condition",
        "limits",
        "on_no_match",
        "on_condition_error",
        "snapshot",
        "script_file",
    ],
    later: &["budget", "timeout", "use", "on_error", "on_limit", "schedule"],
};

pub(super) const PARAMETER: Keys = Keys {
    what: "a parameter",
    known: &["name", "type", "description", "required"],
    later: &["schema", "default"],
};

pub(super) const LIMITS: Keys = Keys {
    what: "`limits`",
    known: &["max_steps", "max_visits", "max_depth"],
    later: &["max_model_calls", "max_tool_rounds", "max_concurrency"],
};

pub(super) const CONTEXT: Keys = Keys {
    what: "a context",
    known: &[
        "name",
        "starting_messages",
        "max_length",
        "max_tokens",
        "trim",
        "pin_first",
        "tool_visibility",
        "description",
    ],
    later: &[],
};

pub(super) const MESSAGE: Keys =
    Keys { what: "a starting message", known: &["role", "content"], later: &["tool_calls", "tool_call_id"] };

pub(super) const AGENT: Keys = Keys {
    what: "an agent",
    known: &[
        "name",
        "agent_role",
        "context",
        "role",
        "level",
        "model",
        "provider",
        "temperature",
        "max_output_tokens",
        "included_tools",
        "excluded_tools",
        "system_message_append",
        "tool_loop",
        "max_tool_rounds",
        "input_visibility",
        "memory",
        "description",
    ],
    later: &["delegate"],
};

pub(super) const STATE: Keys = Keys {
    what: "a state",
    known: &[
        "name",
        "description",
        "agent",
        "input",
        "action",
        "transition",
        "pre_handler",
        "post_handler",
        "transition_handler",
    ],
    later: &[
        "type",
        "retry",
        "catch",
        "timeout",
        "budget",
        "max_visits",
        "on_limit",
        "output",
        "branches",
        "join",
        "in",
        "each",
        "at",
        "merge",
        "max_concurrency",
    ],
};

pub(super) const ACTION: Keys = Keys {
    what: "an action",
    known: &["function", "script", "set_state", "sub_workflow", "sub_workflow_input"],
    later: &[],
};

pub(super) const UPDATE: Keys =
    Keys { what: "an update", known: &["path", "operation", "value", "description"], later: &[] };

pub(super) const TRANSITION: Keys =
    Keys { what: "a transition", known: &["target", "condition", "before", "description"], later: &[] };

pub(super) const INPUT: Keys =
    Keys { what: "an input", known: &["text", "expr"], later: &["template", "file"] };
