//! The keys of each object of a workflow file. Keys that start with `x_`, and `$schema`, are always allowed.

/// What an object is called in messages, what it may hold, and which keys of the format this version refuses.
pub(super) struct ObjectKeys {
    pub(super) noun: &'static str,
    pub(super) known_keys: &'static [&'static str],
    pub(super) future_keys: &'static [&'static str],
}

pub(super) const WORKFLOW: ObjectKeys = ObjectKeys {
    noun: "a workflow",
    known_keys: &[
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
        "budget",
        "timeout",
        "use",
        "on_error",
        "on_limit",
        "on_no_match",
        "on_condition_error",
        "lenient",
        "snapshot",
        "isolation",
        "sandbox",
        "script_file",
    ],
    future_keys: &["schedule"],
};

pub(super) const SANDBOX: ObjectKeys =
    ObjectKeys { noun: "`sandbox` of a workflow", known_keys: &["ports"], future_keys: &[] };

pub(super) const PARAMETER: ObjectKeys = ObjectKeys {
    noun: "a parameter",
    known_keys: &["name", "type", "description", "required", "schema", "default"],
    future_keys: &[],
};

pub(super) const LIMITS: ObjectKeys = ObjectKeys {
    noun: "`limits`",
    known_keys: &[
        "max_steps",
        "max_visits",
        "max_depth",
        "max_model_calls",
        "max_tool_rounds",
        "max_concurrency",
    ],
    future_keys: &[],
};

pub(super) const CONTEXT: ObjectKeys = ObjectKeys {
    noun: "a context",
    known_keys: &[
        "name",
        "starting_messages",
        "max_length",
        "max_tokens",
        "trim",
        "summary_level",
        "pin_first",
        "tool_visibility",
        "description",
    ],
    future_keys: &[],
};

pub(super) const MESSAGE: ObjectKeys = ObjectKeys {
    noun: "a starting message",
    known_keys: &["role", "content"],
    future_keys: &["tool_calls", "tool_call_id"],
};

pub(super) const AGENT: ObjectKeys = ObjectKeys {
    noun: "an agent",
    known_keys: &[
        "name",
        "agent_role",
        "context",
        "role",
        "level",
        "model",
        "provider",
        "temperature",
        "max_output_tokens",
        "budget",
        "included_tools",
        "excluded_tools",
        "system_message_append",
        "tool_loop",
        "max_tool_rounds",
        "input_visibility",
        "memory",
        "description",
    ],
    future_keys: &["delegate"],
};

/// Keys of a state by what they are for; `STATE_TYPES` says which type has which.
const NAMED: &[&str] = &["name", "type", "description"];
const FLOW: &[&str] = &["action", "transition"];
const HANDLERS: &[&str] = &["pre_handler", "post_handler", "transition_handler"];
const SAFETY: &[&str] =
    &["output", "retry", "catch", "fallback", "on_error", "timeout", "budget", "max_visits", "on_limit"];

/// What a state of one `type` may hold.
pub(super) struct StateType {
    pub(super) word: &'static str,
    /// As it is called in messages.
    pub(super) noun: &'static str,
    pub(super) groups: &'static [&'static [&'static str]],
}

impl StateType {
    pub(super) fn known_keys(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.groups.iter().flat_map(|group| group.iter().copied())
    }
}

/// A state without a `type`: an agent, a sub-workflow, a script, or only transitions.
pub(super) const PLAIN_STATE: StateType = StateType {
    word: "",
    noun: "a state without `type`",
    groups: &[NAMED, &["agent", "input"], FLOW, HANDLERS, SAFETY],
};

pub(super) const STATE_TYPES: [StateType; 11] = [
    StateType {
        word: "parallel",
        noun: "a parallel state",
        groups: &[NAMED, &["branches", "join", "max_concurrency", "merge"], FLOW, SAFETY],
    },
    StateType {
        word: "foreach",
        noun: "a foreach state",
        groups: &[
            NAMED,
            &[
                "in",
                "each",
                "at",
                "states",
                "sub_workflow",
                "sub_workflow_input",
                "agent",
                "input",
                "needs_state",
                "max_concurrency",
                "tolerated_failures",
                "tolerated_percent",
            ],
            FLOW,
            SAFETY,
        ],
    },
    StateType {
        word: "pause",
        noun: "a pause state",
        groups: &[
            NAMED,
            &["kind", "message", "choices", "schema", "required_outputs", "ttl", "default", "on_timeout"],
            FLOW,
            SAFETY,
        ],
    },
    // its `action` is the request, not the action of a state
    StateType {
        word: "delegate",
        noun: "a delegate state",
        groups: &[NAMED, &["action", "ttl", "default", "on_timeout", "transition"], SAFETY],
    },
    StateType { word: "tool", noun: "a tool state", groups: &[NAMED, &["tool", "arguments"], FLOW, SAFETY] },
    StateType {
        word: "mcp",
        noun: "an mcp state",
        groups: &[NAMED, &["server", "tool", "arguments"], FLOW, SAFETY],
    },
    StateType {
        word: "shell",
        noun: "a shell state",
        groups: &[NAMED, &["command", "args", "cwd", "env", "expect_exit", "execution"], FLOW, SAFETY],
    },
    StateType {
        word: "http",
        noun: "an http state",
        groups: &[NAMED, &["method", "url", "headers", "query", "body", "expect_status"], FLOW, SAFETY],
    },
    StateType { word: "wait", noun: "a wait state", groups: &[NAMED, &["duration", "until"], FLOW, SAFETY] },
    StateType { word: "fail", noun: "a fail state", groups: &[NAMED, &["error", "cause", "action"], SAFETY] },
    StateType { word: "final", noun: "a final state", groups: &[NAMED, &["input", "max_visits"]] },
];

pub(super) const BRANCH: ObjectKeys = ObjectKeys {
    noun: "a branch",
    known_keys: &["name", "description", "states", "sub_workflow", "sub_workflow_input", "agent", "input"],
    future_keys: &[],
};

pub(super) const RETRY: ObjectKeys = ObjectKeys {
    noun: "a retry rule",
    known_keys: &["errors", "delay", "max_attempts", "backoff", "max_delay", "jitter", "description"],
    future_keys: &[],
};

pub(super) const CATCH: ObjectKeys = ObjectKeys {
    noun: "a catch rule",
    known_keys: &["errors", "as", "target", "before", "description"],
    future_keys: &[],
};

pub(super) const BUDGET: ObjectKeys =
    ObjectKeys { noun: "`budget`", known_keys: &["tokens", "cost_usd", "duration"], future_keys: &[] };

pub(super) const CAP: ObjectKeys =
    ObjectKeys { noun: "a budget", known_keys: &["soft", "hard"], future_keys: &[] };

pub(super) const OUTPUT: ObjectKeys = ObjectKeys {
    noun: "`output` of a state",
    known_keys: &["as", "schema", "description"],
    future_keys: &[],
};

pub(super) const USE: ObjectKeys = ObjectKeys {
    noun: "`use`",
    known_keys: &["retries", "timeouts", "prompts", "schemas", "tools"],
    future_keys: &[],
};

/// A tool call under a name of its own (`use.tools`).
pub(super) const USED_TOOL: ObjectKeys = ObjectKeys {
    noun: "a tool of `use`",
    known_keys: &["tool", "arguments", "description"],
    future_keys: &[],
};

/// `action` of a delegate state.
pub(super) const REQUEST: ObjectKeys = ObjectKeys {
    noun: "the action of a delegate state",
    known_keys: &[
        "type",
        "description",
        "prompt",
        "required_outputs",
        "schema",
        "available_tools",
        "context",
        "message",
    ],
    future_keys: &[],
};

/// A value that is read from the environment when it is needed, and never stored.
pub(super) const SECRET: ObjectKeys =
    ObjectKeys { noun: "a value from the environment", known_keys: &["env", "prefix"], future_keys: &[] };

pub(super) const ACTION: ObjectKeys = ObjectKeys {
    noun: "an action",
    known_keys: &["function", "script", "set_state", "sub_workflow", "sub_workflow_input"],
    future_keys: &[],
};

pub(super) const UPDATE: ObjectKeys = ObjectKeys {
    noun: "an update",
    known_keys: &["path", "operation", "value", "description"],
    future_keys: &[],
};

pub(super) const TRANSITION: ObjectKeys = ObjectKeys {
    noun: "a transition",
    known_keys: &["target", "condition", "before", "description"],
    future_keys: &[],
};

pub(super) const INPUT: ObjectKeys = ObjectKeys {
    noun: "an input",
    known_keys: &["text", "expr", "template", "file", "prompt"],
    future_keys: &[],
};
