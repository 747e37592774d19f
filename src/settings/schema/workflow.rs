//! A workflow file: everything but its states and steps.

use super::shape::{SchemaDefinition, SchemaField, SchemaObject, SchemaShape, schema_field};
use super::workflow_shapes::{DURATION, END, RETRIES, SCHEMA, TEXTS, TIME_END, VALUE, WORDS};
use synthdev_language::workflow_file::known_keys::keys_of_object;

use SchemaShape::{Any, Count, Either, Flag, List, Map, Number, Object, Port, Ref, Text, Whole, Words};

pub(super) fn workflow_definitions() -> Vec<SchemaDefinition> {
    let table =
        |name, about, fields| SchemaObject::new(name, about, fields).retain_keys(keys_of_object(name));
    let tables = [
        table(
            "workflow",
            "A workflow: agents that share conversations, and the states that decide who speaks when.",
            WORKFLOW_FIELDS,
        )
        .require_keys(&["workflow_name"]),
        table("parameter", "A value that crosses the border of a workflow.", PARAMETER_FIELDS)
            .require_keys(&["name"]),
        table(
            "limits",
            "How far a run may go. Reaching a limit pauses the run, or leads to `on_limit`; nothing is lost.",
            LIMITS_FIELDS,
        ),
        table("workflow_sandbox", "What the commands of a workflow reach besides.", SANDBOX_FIELDS),
        table(
            "budget",
            "What may be spent. A number is the hard end: the run pauses before the next model call.",
            BUDGET_FIELDS,
        ),
        table("cap", "Two ends of a budget.", CAP_FIELDS),
        table("use", "Things with a name, to be used by several states.", USE_FIELDS),
        table("used_tool", "A call of a tool with a name of its own.", USED_TOOL_FIELDS)
            .require_keys(&["tool"]),
        table("context", "A conversation that its agents share.", CONTEXT_FIELDS).require_keys(&["name"]),
        table("message", "A message of a conversation.", MESSAGE_FIELDS).require_keys(&["role", "content"]),
        table("agent", "A role seated in a context.", AGENT_FIELDS).require_keys(&[
            "agent_role",
            "context",
            "role",
        ]),
        table("input", "A value said explicitly: exactly one of these.", INPUT_FIELDS),
        table(
            "secret",
            "A value that is read from the environment when it is needed, and never stored.",
            SECRET_FIELDS,
        )
        .require_keys(&["env"]),
        table(
            "retry",
            "When and how a failed state is tried again; the first rule that fits counts.",
            RETRY_FIELDS,
        ),
        table(
            "catch",
            "Where to go when a state failed and no retry is left; the first rule that fits counts.",
            CATCH_FIELDS,
        )
        .require_keys(&["target"]),
    ];
    tables.into_iter().map(SchemaDefinition::from).collect()
}

const WORKFLOW_FIELDS: &[SchemaField] = &[
    schema_field(
        "workflow_name",
        Text,
        "The name by which it is started: `/workflow NAME`, `synthdev run NAME`.",
    ),
    schema_field(
        "description",
        Text,
        "What it is good for; shown in lists and told to agents that may call it.",
    ),
    schema_field(
        "version",
        Text,
        "The author's version, for people; a run remembers the exact content anyway.",
    ),
    schema_field(
        "start_condition",
        Words(&[
            ("immediate", "Starts with the input given when it is chosen."),
            ("on_user_input", "Waits for the user's next message and takes it as its input."),
        ]),
        "When a workflow that was chosen begins. Default: immediate.",
    ),
    schema_field(
        "input",
        Either(&[Ref("parameter"), List(&Ref("parameter"))]),
        "What it is given: one value or several. Scripts read it as `common_data.NAME`.",
    ),
    schema_field("output", Ref("parameter"), "What it gives back: `stop`'s input, else `common_data.NAME`."),
    schema_field("variables", Object, "Values that `common_data` holds from the start."),
    schema_field("contexts", List(&Ref("context")), "Conversations. Agents in one context hear each other."),
    schema_field("agents", List(&Ref("agent")), "Who takes part: a role seated in a context."),
    schema_field(
        "states",
        List(&Ref("state")),
        "The states. The run begins at `start` and ends at `stop`, which need not be written.",
    ),
    schema_field("steps", List(&Ref("step")), "Instead of `states`: steps done one after the other."),
    schema_field("limits", Ref("limits"), "How far a run may go before it pauses."),
    schema_field(
        "budget",
        Ref("budget"),
        "What a run may spend before it pauses; workflows that it calls draw from the same pool.",
    ),
    schema_field(
        "timeout",
        DURATION,
        "Seconds, or ISO 8601 (\"PT30M\"), after which the workflow fails with `timeout`.",
    ),
    schema_field(
        "use",
        Ref("use"),
        "Named retries, timeouts, prompts, schemas and tools, to be named by states.",
    ),
    schema_field(
        "on_error",
        Text,
        "For errors that no state handles: a state's name, `fail` or `continue`. Default: the user is \
            asked; a run without a user fails.",
    ),
    schema_field(
        "on_limit",
        Text,
        "A state that is entered once when a limit or budget is reached, instead of pausing.",
    ),
    schema_field(
        "on_no_match",
        Text,
        "When no condition of a state holds: `error` (default), `stop`, or a state's name.",
    ),
    schema_field(
        "on_condition_error",
        Words(&[
            ("error", "The state fails with `expression` (default)."),
            ("false", "The condition counts as false."),
        ]),
        "When a condition throws.",
    ),
    schema_field(
        "lenient",
        Flag,
        "A script, `before` or condition that throws is logged and skipped, instead of failing its state.",
    ),
    schema_field(
        "script_file",
        Text,
        "A JavaScript file beside this one; its functions can be named by every script here.",
    ),
    schema_field(
        "snapshot",
        Words(&[
            ("auto", "Taken before the first change if possible; if not, a warning says so (default)."),
            ("required", "Without a snapshot nothing is changed."),
            ("off", "None is taken: nothing can be undone."),
        ]),
        "Whether the project's files are stored before an agent can change them.",
    ),
    schema_field(
        "isolation",
        Words(&[
            ("none", "A run works in the project itself, alone (default)."),
            ("worktree", "A run works in a git worktree on a branch of its own, until it is merged."),
        ]),
        "Where a run works.",
    ),
    schema_field("sandbox", Ref("workflow_sandbox"), "What the commands of its states reach besides."),
];

const SANDBOX_FIELDS: &[SchemaField] = &[schema_field(
    "ports",
    List(&Port),
    "Ports (1024 to 65535, at most 16) of this machine's loopback that they reach although the network is off, as those of a \
     database. A workflow that it calls has its own.",
)];

const PARAMETER_FIELDS: &[SchemaField] = &[
    schema_field("name", Text, "Its key in `common_data`."),
    schema_field(
        "type",
        Words(&[
            ("string", "Text; anything else becomes text."),
            ("number", "A number; text is read as one."),
            ("boolean", "true or false."),
            ("object", "A JSON object; text is read as JSON."),
            ("array", "A JSON array; text is read as JSON."),
        ]),
        "Its type, checked and converted at the border. Default: string.",
    ),
    schema_field("description", Text, "What to give; shown when it is asked for."),
    schema_field("required", Flag, "Whether it must be there. Default: true for inputs, false for outputs."),
    schema_field("default", Any, "Taken when nothing is given; then it is not required."),
    schema_field(
        "schema",
        SCHEMA,
        "A JSON Schema that the value must fit, or the name of one in `use.schemas`.",
    ),
];

const LIMITS_FIELDS: &[SchemaField] = &[
    schema_field("max_steps", Count, "States visited by the whole run. Default: 200."),
    schema_field(
        "max_visits",
        Count,
        "Visits of each state. Default: 25, or `variables.max_iterations` if no script reads it.",
    ),
    schema_field("max_depth", Count, "Workflows and branches inside each other. Default: 8."),
    schema_field("max_model_calls", Count, "Model calls of the whole run. Default: no limit."),
    schema_field("max_tool_rounds", Count, "Rounds of tools in one visit of an agent. Default: 25."),
    schema_field("max_concurrency", Count, "Branches and items at the same time. Default: 10."),
];

const BUDGET_FIELDS: &[SchemaField] = &[
    schema_field("tokens", END, "Prompt and completion tokens together."),
    schema_field("cost_usd", END, "US dollars, by the prices of the catalogue of models."),
    schema_field(
        "duration",
        TIME_END,
        "Seconds, or ISO 8601 (\"PT30M\"), since the run or the visit began, or the agent was first asked.",
    ),
];

const CAP_FIELDS: &[SchemaField] = &[
    schema_field("soft", DURATION, "Warns once. Default: four fifths of `hard`."),
    schema_field("hard", DURATION, "Pauses before a model call that could pass it."),
];

const USE_FIELDS: &[SchemaField] = &[
    schema_field("retries", Map(&RETRIES), "Lists of `retry` rules, by name."),
    schema_field("timeouts", Map(&DURATION), "Durations, by name."),
    schema_field(
        "prompts",
        Map(&WORDS),
        "Texts with `{{ expressions }}`, by name: `{\"prompt\": \"NAME\"}` as an input.",
    ),
    schema_field("schemas", Map(&Object), "JSON Schemas, by name."),
    schema_field("tools", Map(&Ref("used_tool")), "Calls of tools, by name, for states of the type `tool`."),
];

const USED_TOOL_FIELDS: &[SchemaField] = &[
    schema_field("tool", Text, "The tool."),
    schema_field("arguments", Map(&VALUE), "Its usual arguments; a state may replace each."),
    schema_field("description", Text, "For readers of the file."),
];

const SECRET_FIELDS: &[SchemaField] = &[
    schema_field("env", Text, "The name of the variable."),
    schema_field("prefix", Text, "What is put in front of its value."),
];

const CONTEXT_FIELDS: &[SchemaField] = &[
    schema_field("name", Text, "The name that agents refer to."),
    schema_field("description", Text, "For readers of the file."),
    schema_field(
        "starting_messages",
        List(&Ref("message")),
        "What has been said before the run begins; never trimmed.",
    ),
    schema_field("max_length", Count, "Characters that an agent is shown at most. Default: 50000."),
    schema_field("max_tokens", Count, "The same as a number of tokens."),
    schema_field(
        "trim",
        Words(&[
            ("drop_oldest", "The oldest turns are left out (default)."),
            ("summarize", "The oldest turns are replaced by a summary."),
            ("error", "The state fails with `context_overflow`."),
        ]),
        "What happens when the conversation is longer than that.",
    ),
    schema_field(
        "summary_level",
        Words(&[
            ("base", "The ordinary model."),
            ("smart", "The strongest one."),
            ("fast", "The quickest and cheapest one."),
        ]),
        "Which of the configured models writes the summary. Default: the agent's own.",
    ),
    schema_field("pin_first", Whole, "Number of first messages of the run that are never trimmed."),
    schema_field(
        "tool_visibility",
        Words(&[
            ("none", "The others do not see that tools were called."),
            ("summary", "They see one line per call (default)."),
            ("full", "They see calls with their results."),
        ]),
        "What agents see of each other's tool calls.",
    ),
];

const MESSAGE_FIELDS: &[SchemaField] = &[
    schema_field(
        "role",
        Words(&[
            ("system", "Added to the system prompt of every agent of the context."),
            ("user", "Said by the user's side."),
            ("assistant", "Said by the assistant's side."),
        ]),
        "Who says it.",
    ),
    schema_field("content", Text, "The text, taken literally."),
];

const AGENT_FIELDS: &[SchemaField] = &[
    schema_field(
        "name",
        Text,
        "The name that states use. Default: the role's name; needed when two agents have one role.",
    ),
    schema_field("agent_role", Text, "The role: its prompt, tools and level. `synthdev roles` lists them."),
    schema_field("context", Text, "The conversation it takes part in."),
    schema_field(
        "role",
        Words(&[
            ("assistant", "It answers what the user's side says."),
            ("user", "It takes the role of the user: its reply is the next user message."),
        ]),
        "Its side of the conversation.",
    ),
    schema_field("description", Text, "For readers of the file."),
    schema_field(
        "level",
        Words(&[
            ("base", "The ordinary model."),
            ("smart", "The strongest one."),
            ("fast", "The quickest and cheapest one."),
        ]),
        "Which of the configured models speaks for it. Default: as its role says.",
    ),
    schema_field("model", Text, "A model by name, instead of the level's."),
    schema_field("provider", Text, "The provider of that model, by its name in the catalogue."),
    schema_field("temperature", Number { min: 0.0, max: Some(2.0) }, "Sampling temperature, 0 to 2."),
    schema_field("max_output_tokens", Count, "Limit of one answer."),
    schema_field("budget", Ref("budget"), "What its calls may spend in one run, wherever it is asked."),
    schema_field(
        "included_tools",
        List(&Text),
        "Tools that it may use, instead of its role's: names, `*` wildcards, `/regex/`.",
    ),
    schema_field("excluded_tools", List(&Text), "Tools that it may not use."),
    schema_field("system_message_append", Text, "Added to its role's prompt."),
    schema_field(
        "tool_loop",
        Words(&[
            ("auto", "Model and tools take turns until the model has answered (default)."),
            ("step", "One answer per visit; the workflow decides whether it goes on."),
        ]),
        "How far one visit goes when the model calls tools.",
    ),
    schema_field(
        "max_tool_rounds",
        Count,
        "Rounds of tools in one visit before asking to go on. Default: 25.",
    ),
    schema_field(
        "input_visibility",
        Words(&[
            ("shared", "What a state sends it is part of the conversation."),
            ("private", "Only the agent itself sees it."),
        ]),
        "Who sees what a state sends to this agent. Default: shared for the assistant's seat, private for the user's.",
    ),
    schema_field(
        "memory",
        Words(&[
            ("none", "It knows the conversation only (default)."),
            ("private", "It also remembers its private instructions and decisions."),
        ]),
        "What it remembers of its own earlier visits.",
    ),
];

const INPUT_FIELDS: &[SchemaField] = &[
    schema_field("text", Text, "This text, as it is."),
    schema_field("expr", Text, "A JavaScript expression."),
    schema_field("template", Text, "A text with `{{ expressions }}` in it."),
    schema_field("file", Text, "A text file beside the workflow's file."),
    schema_field("prompt", Text, "A text of `use.prompts`."),
];

const RETRY_FIELDS: &[SchemaField] = &[
    schema_field("errors", TEXTS, "Names of errors, `model.*` for all of a kind, `*` for all. Default: all."),
    schema_field("max_attempts", Count, "Attempts of a visit, the first included. Default: 3."),
    schema_field("delay", DURATION, "Seconds before the second attempt. Default: 1."),
    schema_field("backoff", Number { min: 1.0, max: None }, "The delay grows by this factor. Default: 2."),
    schema_field("max_delay", DURATION, "Longest delay, in seconds. Default: 60."),
    schema_field("jitter", Flag, "A random part of the delay, so that several retries do not coincide."),
    schema_field("description", Text, "For readers of the file."),
];

const CATCH_FIELDS: &[SchemaField] = &[
    schema_field("errors", TEXTS, "Names of errors, `model.*` for all of a kind, `*` for all. Default: all."),
    schema_field("as", Text, "The key of `common_data` that receives `{name, title, detail, state, agent}`."),
    schema_field("before", Text, "A script that runs before the target is entered."),
    schema_field("target", Text, "The state to go to."),
    schema_field("description", Text, "For readers of the file."),
];
