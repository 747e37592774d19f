//! The types of steps and the keys of each.

use super::super::super::key_declaration::ValueShape::{
    self, Any, Count, Either, Flag, List, Map, Number, Object, Ref, Text, Whole, Words,
};
use super::super::super::key_declaration::{
    KeyDeclaration, ObjectDeclaration, TypeDeclaration, WordChoice, WordMeaning, declared_choice,
    declared_key, word_meanings,
};
use super::super::actions::{COMMAND, EXECUTION, MCP_TOOL, REQUEST_PARTS};
use super::super::parallel_form::{JOIN_WORDS, MERGES};
use super::super::pauses::FAIL;
use super::super::value_shapes::{CATCHES, DURATION, EXPECTED, RETRIES, SCHEMA, TEXTS, TIME, VALUE};

/// Every step may have these.
const ANY_STEP: &[KeyDeclaration] = &[
    declared_key("id")
        .with_value(Text, "Its name in drawings and reports. Default: step_1, step_2 and so on."),
    declared_key("type").with_value(Text, "What is done.").required(),
    declared_key("description").with_value(Text, "For readers of the file."),
    declared_key("when").with_value(Text, "JavaScript that must hold, or the step is left out."),
];

const OUTPUT_TO: KeyDeclaration =
    declared_key("output_to").with_value(Text, "The key of the state that receives the result.");
const STORE_RESULT: KeyDeclaration =
    declared_key("store_result").with_value(Text, "The same as `output_to`.");

/// Steps that do something: what becomes of the result.
const RESULT: &[KeyDeclaration] = &[OUTPUT_TO, STORE_RESULT];

/// And what happens when it fails.
pub(super) const SAFETY: &[KeyDeclaration] = &[
    declared_key("retry").with_value(RETRIES, "Rules for trying again, or names of `use.retries`."),
    declared_key("catch").with_value(CATCHES, "Which step to go to when it failed, after the retries."),
    declared_key("fallback")
        .with_value(Any, "The result if it failed and nothing catches it; the run goes on."),
    declared_key("on_error")
        .with_value(Text, "For errors that nothing else handles: a step's id, `fail` or `continue`."),
    declared_key("timeout")
        .with_value(DURATION, "Seconds, ISO 8601 (\"PT5M\"), or a name of `use.timeouts`."),
    declared_key("budget").with_value(Ref("budget"), "What it may spend, with everything that it starts."),
    declared_key("on_limit")
        .with_value(Text, "The step to go to when a limit or budget is reached here, instead of pausing."),
];

const STEPS: ValueShape = List(&Ref("step"));
const NEEDS: &str = "The parts of the state that are shown below the instructions; `*` for all.";

/// With the kind of the pause that each becomes.
pub(super) const PROMPT_KIND: [WordChoice<&'static str>; 6] = [
    declared_choice("info", "approval", "Only shown: no answer is needed."),
    declared_choice("confirm", "approval", "Yes or no: the result is true or false."),
    declared_choice("text", "text", "A text."),
    declared_choice("number", "number", "A number."),
    declared_choice("boolean", "boolean", "true or false."),
    declared_choice("choice", "choice", "One of `choices`."),
];
const PROMPT_KIND_WORDS: &[WordMeaning] = &word_meanings(&PROMPT_KIND);

/// Whether the run goes on.
pub(super) const ON_MAX: [WordChoice<bool>; 2] = [
    declared_choice("fail", false, "The run fails with `max_iterations` (default)."),
    declared_choice("continue", true, "The run goes on behind the loop."),
];
const ON_MAX_WORDS: &[WordMeaning] = &word_meanings(&ON_MAX);

const CONDITION: &[KeyDeclaration] = &[
    declared_key("if").with_value(Text, "JavaScript that must hold.").required(),
    declared_key("then").with_value(STEPS, "What is done if it holds."),
    declared_key("else").with_value(STEPS, "What is done if not."),
];

const WHILE: &[KeyDeclaration] = &[
    declared_key("condition").with_value(Text, "JavaScript that must hold for another turn.").required(),
    declared_key("steps")
        .with_value(STEPS, "What is done in each turn; `loop` tells which one it is.")
        .required(),
    declared_key("max_iterations").with_value(Count, "Turns at most. Default: 100."),
    declared_key("on_max")
        .with_value(Words(ON_MAX_WORDS), "When all turns are used up and the condition still holds."),
];

const FOREACH: &[KeyDeclaration] = &[
    declared_key("items").with_value(VALUE, "An expression that gives a list, or the list.").required(),
    declared_key("each").with_value(Text, "The name of the item in the body. Default: item."),
    declared_key("at").with_value(Text, "The name of its position, from 0. Default: index."),
    declared_key("steps").with_value(STEPS, "The body."),
    declared_key("sub_workflow").with_value(Text, "A workflow as the body."),
    declared_key("sub_workflow_input").with_value(Map(&VALUE), "The inputs of that workflow, by name."),
    declared_key("agent").with_value(Text, "An agent as the body."),
    declared_key("input").with_value(VALUE, "What that agent is told."),
    declared_key("max_concurrency").with_value(Count, "How many run at once."),
    declared_key("sequential").with_value(Flag, "One after the other."),
    declared_key("tolerated_failures").with_value(Whole, "Number of items that may fail."),
    declared_key("tolerated_percent")
        .with_value(Number { min: 0.0, max: Some(100.0) }, "Percentage of items that may fail."),
    declared_key("needs_state").with_value(TEXTS, "The parts of the state that the body sees; `*` for all."),
];

const PARALLEL: &[KeyDeclaration] = &[
    declared_key("branches")
        .with_value(
            List(&Ref("step_branch")),
            "What runs at the same time. The result is an object of their outputs by name.",
        )
        .required(),
    declared_key("join").with_value(
        Either(&[Words(JOIN_WORDS), Count]),
        "How many branches must succeed; the others are then stopped.",
    ),
    declared_key("max_concurrency").with_value(Count, "How many run at once."),
    declared_key("merge").with_value(
        MERGES,
        "What becomes of keys of the state that several branches write; without it that is an error.",
    ),
];

const SET_STATE: &[KeyDeclaration] = &[declared_key("updates")
    .with_value(Either(&[Object, List(&Ref("update"))]), "New values by path, or a list of changes.")
    .required()];

const RETURN: &[KeyDeclaration] = &[declared_key("value").with_value(VALUE, "The output.")];

const EXPECTED_EXIT: &[KeyDeclaration] = &[declared_key("expect_exit")
    .with_value(EXPECTED, "Exit codes that count as done; `any` accepts all. Default: 0.")];

const MCP_ARGUMENTS: &[KeyDeclaration] =
    &[declared_key("arguments")
        .with_value(Map(&VALUE), "Its arguments; texts may hold `{{ expressions }}`.")];

const TOOL: &[KeyDeclaration] = &[
    declared_key("tool").with_value(Text, "The tool's name, or that of a call in `use.tools`.").required(),
    declared_key("arguments").with_value(Map(&VALUE), "Its arguments; texts may hold `{{ expressions }}`."),
];

const EXPECTED_STATUS: &[KeyDeclaration] = &[declared_key("expect_status")
    .with_value(EXPECTED, "Statuses that count as done; `any` accepts all. Default: below 400.")];

const PROMPT: &[KeyDeclaration] = &[
    declared_key("kind").with_value(
        Words(PROMPT_KIND_WORDS),
        "What is asked for. Default: choice if there are `choices`, else text.",
    ),
    declared_key("message").with_value(VALUE, "The text for the user.").required(),
    declared_key("choices").with_value(TEXTS, "What can be chosen."),
    declared_key("default").with_value(Any, "The answer when the user gave none."),
    declared_key("schema")
        .with_value(SCHEMA, "A JSON Schema for the answer, or the name of one in `use.schemas`."),
    declared_key("ttl").with_value(DURATION, "How long to wait for an answer."),
];

const WAIT: &[KeyDeclaration] = &[
    declared_key("duration").with_value(TIME, "Seconds, ISO 8601 (\"PT30S\"), or an expression."),
    declared_key("duration_seconds").with_value(TIME, "The same as `duration`."),
    declared_key("until").with_value(TIME, "A point in time: ISO 8601, or milliseconds since 1970."),
];

const DELEGATE: &[KeyDeclaration] = &[
    declared_key("instructions").with_value(VALUE, "What is to be done.").required(),
    declared_key("agent").with_value(Text, "The agent of this workflow that does it; without one it is handed to the client that drives the run."),
    declared_key("needs_state").with_value(List(&Text), NEEDS),
    declared_key("required_outputs").with_value(TEXTS, "Names of values that must come back. Default: result."),
    declared_key("schema").with_value(SCHEMA, "A JSON Schema for the values, or the name of one in `use.schemas`."),
    declared_key("available_tools").with_value(TEXTS, "Tools that may be used."),
    declared_key("context").with_value(Any, "What is good to know."),
    declared_key("ttl").with_value(DURATION, "How long to wait for the result."),
    declared_key("default").with_value(Any, "The values when the user gave none."),
];

const AGENT: &[KeyDeclaration] = &[
    declared_key("agent").with_value(Text, "The agent.").required(),
    declared_key("input").with_value(VALUE, "What the agent gets to read."),
    declared_key("needs_state").with_value(List(&Text), NEEDS),
];

const SUB_WORKFLOW: &[KeyDeclaration] = &[
    declared_key("sub_workflow").with_value(Text, "The workflow.").required(),
    declared_key("sub_workflow_input").with_value(Map(&VALUE), "Its inputs, by name."),
];

const SCRIPT: &[KeyDeclaration] =
    &[declared_key("script").with_value(Text, "JavaScript; `state` holds the variables.").required()];

pub const STEP_TYPES: [TypeDeclaration; 19] = [
    TypeDeclaration {
        word: "condition",
        description: "Steps that run only if a condition holds.",
        key_groups: &[ANY_STEP, CONDITION],
    },
    TypeDeclaration {
        word: "while",
        description: "Steps that repeat as long as a condition holds.",
        key_groups: &[ANY_STEP, WHILE, RESULT],
    },
    TypeDeclaration {
        word: "foreach",
        description: "The same steps for each item of a list.",
        key_groups: &[ANY_STEP, FOREACH, RESULT, SAFETY],
    },
    TypeDeclaration {
        word: "parallel",
        description: "Branches that run at the same time.",
        key_groups: &[ANY_STEP, PARALLEL, RESULT, SAFETY],
    },
    TypeDeclaration {
        word: "set_state",
        description: "Changes the state.",
        key_groups: &[ANY_STEP, SET_STATE],
    },
    TypeDeclaration {
        word: "return",
        description: "Ends the workflow or body.",
        key_groups: &[ANY_STEP, RETURN],
    },
    TypeDeclaration {
        word: "shell",
        description: "Runs a command.",
        key_groups: &[ANY_STEP, COMMAND, EXPECTED_EXIT, EXECUTION, RESULT, SAFETY],
    },
    TypeDeclaration {
        word: "mcp_call",
        description: "Calls a tool of an MCP server.",
        key_groups: &[ANY_STEP, MCP_TOOL, MCP_ARGUMENTS, RESULT, SAFETY],
    },
    TypeDeclaration {
        word: "tool",
        description: "Runs a tool, without a model.",
        key_groups: &[ANY_STEP, TOOL, RESULT, SAFETY],
    },
    TypeDeclaration {
        word: "http",
        description: "Sends a request.",
        key_groups: &[ANY_STEP, REQUEST_PARTS, EXPECTED_STATUS, RESULT, SAFETY],
    },
    TypeDeclaration {
        word: "prompt",
        description: "Asks the user, or shows a message.",
        key_groups: &[ANY_STEP, PROMPT, RESULT, SAFETY],
    },
    TypeDeclaration {
        word: "wait",
        description: "Waits for a time.",
        key_groups: &[ANY_STEP, WAIT, RESULT, SAFETY],
    },
    TypeDeclaration {
        word: "delegate",
        description: "Hands a task to an agent, or to the client that drives the run.",
        key_groups: &[ANY_STEP, DELEGATE, RESULT, SAFETY],
    },
    TypeDeclaration {
        word: "agent",
        description: "Asks an agent.",
        key_groups: &[ANY_STEP, AGENT, RESULT, SAFETY],
    },
    TypeDeclaration {
        word: "sub_workflow",
        description: "Runs another workflow.",
        key_groups: &[ANY_STEP, SUB_WORKFLOW, RESULT, SAFETY],
    },
    TypeDeclaration { word: "script", description: "Runs a script.", key_groups: &[ANY_STEP, SCRIPT] },
    TypeDeclaration {
        word: "fail",
        description: "Fails with an error of your own.",
        key_groups: &[ANY_STEP, FAIL],
    },
    TypeDeclaration { word: "break", description: "Leaves the loop around it.", key_groups: &[ANY_STEP] },
    TypeDeclaration {
        word: "continue",
        description: "Begins the next turn of the loop around it.",
        key_groups: &[ANY_STEP],
    },
];

/// A branch of a `parallel` step. It is read as a branch of a state, with `states` for its `steps`.
pub const STEP_BRANCH: ObjectDeclaration = ObjectDeclaration {
    name: "step_branch",
    noun: "a branch",
    description: "A branch: steps, a workflow, or an agent.",
    keys: &[
        declared_key("name").with_value(Text, "Its key in the result.").required(),
        declared_key("description").with_value(Text, "For readers of the file."),
        declared_key("steps").with_value(STEPS, "Its steps."),
        declared_key("states").with_value(List(&Ref("state")), "States in their place."),
        declared_key("sub_workflow").with_value(Text, "A workflow in their place."),
        declared_key("sub_workflow_input").with_value(Map(&VALUE), "The inputs of that workflow, by name."),
        declared_key("agent").with_value(Text, "An agent in their place."),
        declared_key("input").with_value(VALUE, "What that agent is told."),
    ],
    future_keys: &[],
};

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
