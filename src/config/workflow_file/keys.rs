//! The keys of each object of a workflow file. Keys that start with `x_`, and `$schema`, are always allowed.

/// What an object is called in messages, what it may hold, and which keys of the format this version refuses.
pub(super) struct ObjectKeys {
    pub(super) what: &'static str,
    pub(super) known: &'static [&'static str],
    pub(super) later: &'static [&'static str],
}

pub(super) const WORKFLOW: ObjectKeys = ObjectKeys {
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
    later: &["schedule"],
};

pub(super) const SANDBOX: ObjectKeys =
    ObjectKeys { what: "`sandbox` of a workflow", known: &["ports"], later: &[] };

pub(super) const PARAMETER: ObjectKeys = ObjectKeys {
    what: "a parameter",
    known: &["name", "type", "description", "required", "schema", "default"],
    later: &[],
};

pub(super) const LIMITS: ObjectKeys = ObjectKeys {
    what: "`limits`",
    known: &["max_steps", "max_visits", "max_depth", "max_model_calls", "max_tool_rounds", "max_concurrency"],
    later: &[],
};

pub(super) const CONTEXT: ObjectKeys = ObjectKeys {
    what: "a context",
    known: &[
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
    later: &[],
};

pub(super) const MESSAGE: ObjectKeys = ObjectKeys {
    what: "a starting message",
    known: &["role", "content"],
    later: &["tool_calls", "tool_call_id"],
};

pub(super) const AGENT: ObjectKeys = ObjectKeys {
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
    later: &["delegate"],
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
    pub(super) what: &'static str,
    pub(super) groups: &'static [&'static [&'static str]],
}

impl StateType {
    pub(super) fn known(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.groups.iter().flat_map(|group| group.iter().copied())
    }
}

/// A state without a `type`: an agent, a sub-workflow, a script, or only transitions.
pub(super) const PLAIN_STATE: StateType = StateType {
    word: "",
    what: "a state without `type`",
    groups: &[NAMED, &["agent", "input"], FLOW, HANDLERS, SAFETY],
};

pub(super) const STATE_TYPES: [StateType; 11] = [
    StateType {
        word: "parallel",
        what: "a parallel state",
        groups: &[NAMED, &["branches", "join", "max_concurrency", "merge"], FLOW, SAFETY],
    },
    StateType {
        word: "foreach",
        what: "a foreach state",
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
        what: "a pause state",
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
        what: "a delegate state",
        groups: &[NAMED, &["action", "ttl", "default", "on_timeout", "transition"], SAFETY],
    },
    StateType { word: "tool", what: "a tool state", groups: &[NAMED, &["tool", "arguments"], FLOW, SAFETY] },
    StateType {
        word: "mcp",
        what: "an mcp state",
        groups: &[NAMED, &["server", "tool", "arguments"], FLOW, SAFETY],
    },
    StateType {
        word: "shell",
        what: "a shell state",
        groups: &[NAMED, &["command", "args", "cwd", "env", "expect_exit", "execution"], FLOW, SAFETY],
    },
    StateType {
        word: "http",
        what: "an http state",
        groups: &[NAMED, &["method", "url", "headers", "query", "body", "expect_status"], FLOW, SAFETY],
    },
    StateType { word: "wait", what: "a wait state", groups: &[NAMED, &["duration", "until"], FLOW, SAFETY] },
    StateType { word: "fail", what: "a fail state", groups: &[NAMED, &["error", "cause", "action"], SAFETY] },
    StateType { word: "final", what: "a final state", groups: &[NAMED, &["input", "max_visits"]] },
];

pub(super) const BRANCH: ObjectKeys = ObjectKeys {
    what: "a branch",
    known: &["name", "description", "states", "sub_workflow", "sub_workflow_input", "agent", "input"],
    later: &[],
};

pub(super) const RETRY: ObjectKeys = ObjectKeys {
    what: "a retry rule",
    known: &["errors", "delay", "max_attempts", "backoff", "max_delay", "jitter", "description"],
    later: &[],
};

pub(super) const CATCH: ObjectKeys = ObjectKeys {
    what: "a catch rule",
    known: &["errors", "as", "target", "before", "description"],
    later: &[],
};

pub(super) const BUDGET: ObjectKeys =
    ObjectKeys { what: "`budget`", known: &["tokens", "cost_usd", "duration"], later: &[] };

pub(super) const CAP: ObjectKeys = ObjectKeys { what: "a budget", known: &["soft", "hard"], later: &[] };

pub(super) const OUTPUT: ObjectKeys =
    ObjectKeys { what: "`output` of a state", known: &["as", "schema", "description"], later: &[] };

pub(super) const USE: ObjectKeys =
    ObjectKeys { what: "`use`", known: &["retries", "timeouts", "prompts", "schemas", "tools"], later: &[] };

/// A tool call under a name of its own (`use.tools`).
pub(super) const USED_TOOL: ObjectKeys =
    ObjectKeys { what: "a tool of `use`", known: &["tool", "arguments", "description"], later: &[] };

/// `action` of a delegate state.
pub(super) const REQUEST: ObjectKeys = ObjectKeys {
    what: "the action of a delegate state",
    known: &[
        "type",
        "description",
        "prompt",
        "required_outputs",
        "schema",
        "available_tools",
        "context",
        "message",
    ],
    later: &[],
};

/// A value that is read from the environment when it is needed, and never stored.
pub(super) const SECRET: ObjectKeys =
    ObjectKeys { what: "a value from the environment", known: &["env", "prefix"], later: &[] };

pub(super) const ACTION: ObjectKeys = ObjectKeys {
    what: "an action",
    known: &["function", "script", "set_state", "sub_workflow", "sub_workflow_input"],
    later: &[],
};

pub(super) const UPDATE: ObjectKeys =
    ObjectKeys { what: "an update", known: &["path", "operation", "value", "description"], later: &[] };

pub(super) const TRANSITION: ObjectKeys =
    ObjectKeys { what: "a transition", known: &["target", "condition", "before", "description"], later: &[] };

pub(super) const INPUT: ObjectKeys =
    ObjectKeys { what: "an input", known: &["text", "expr", "template", "file", "prompt"], later: &[] };
