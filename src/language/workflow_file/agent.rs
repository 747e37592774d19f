//! The object of an agent: its role, its side, its model and tools. Names are resolved later.

use super::super::json::{JsonNode, JsonNodeKind};
use super::super::key_declaration::ValueShape::{Count, List, Number, Ref, Text, Words};
use super::super::key_declaration::{
    ObjectDeclaration, WordChoice, WordMeaning, declared_choice, declared_key, word_meanings,
};
use super::super::source::FileDiagnostics;
use super::super::tool_patterns::ToolPattern;
use super::definitions_lookup::NamedDefinitions;
use super::error_policy;
use super::fields::{check_object, read_choice, read_count, read_text, report_wrong_type, required_text};
use super::spanned::{SpannedText, SpannedValue};
use super::value_shapes::LEVEL;
use synthdev_domain::agent::{AgentSpec, InputVisibility, MemoryPolicy, ToolLoop};
use synthdev_domain::context::ConversationSide;

pub(super) const AGENT: ObjectDeclaration = ObjectDeclaration {
    name: "agent",
    noun: "an agent",
    description: "A role seated in a context.",
    keys: &[
        declared_key("name").with_value(
            Text,
            "The name that states use. Default: the role's name; needed when two agents have one role.",
        ),
        declared_key("agent_role")
            .with_value(Text, "The role: its prompt, tools and level. `synthdev roles` lists them.")
            .required(),
        declared_key("context").with_value(Text, "The conversation it takes part in.").required(),
        declared_key("role").with_value(Words(SIDES_WORDS), "Its side of the conversation.").required(),
        declared_key("level")
            .with_value(LEVEL, "Which of the configured models speaks for it. Default: as its role says."),
        declared_key("model").with_value(Text, "A model by name, instead of the level's."),
        declared_key("provider")
            .with_value(Text, "The provider of that model, by its name in the catalogue."),
        declared_key("temperature")
            .with_value(Number { min: 0.0, max: Some(2.0) }, "Sampling temperature, 0 to 2."),
        declared_key("max_output_tokens").with_value(Count, "Limit of one answer."),
        declared_key("budget")
            .with_value(Ref("budget"), "What its calls may spend in one run, wherever it is asked."),
        declared_key("included_tools").with_value(
            List(&Text),
            "Tools that it may use, instead of its role's: names, `*` wildcards, `/regex/`.",
        ),
        declared_key("excluded_tools").with_value(List(&Text), "Tools that it may not use."),
        declared_key("system_message_append").with_value(Text, "Added to its role's prompt."),
        declared_key("tool_loop")
            .with_value(Words(TOOL_LOOPS_WORDS), "How far one visit goes when the model calls tools."),
        declared_key("max_tool_rounds")
            .with_value(Count, "Rounds of tools in one visit before asking to go on. Default: 25."),
        declared_key("input_visibility").with_value(
            Words(INPUT_VISIBILITY_WORDS),
            "Who sees what a state sends to this agent. Default: shared for the assistant's seat, private \
             for the user's.",
        ),
        declared_key("memory")
            .with_value(Words(MEMORY_WORDS), "What it remembers of its own earlier visits."),
        declared_key("description").with_value(Text, "For readers of the file."),
    ],
    future_keys: &["delegate"],
};

const SIDES: [WordChoice<ConversationSide>; 2] = [
    declared_choice(
        "user",
        ConversationSide::User,
        "It takes the role of the user: its reply is the next user message.",
    ),
    declared_choice("assistant", ConversationSide::Assistant, "It answers what the user's side says."),
];
const SIDES_WORDS: &[WordMeaning] = &word_meanings(&SIDES);

const TOOL_LOOPS: [WordChoice<ToolLoop>; 2] = [
    declared_choice(
        "auto",
        ToolLoop::Auto,
        "Model and tools take turns until the model has answered (default).",
    ),
    declared_choice("step", ToolLoop::Step, "One answer per visit; the workflow decides whether it goes on."),
];
const TOOL_LOOPS_WORDS: &[WordMeaning] = &word_meanings(&TOOL_LOOPS);

const INPUT_VISIBILITY: [WordChoice<InputVisibility>; 2] = [
    declared_choice("shared", InputVisibility::Shared, "What a state sends it is part of the conversation."),
    declared_choice("private", InputVisibility::Private, "Only the agent itself sees it."),
];
const INPUT_VISIBILITY_WORDS: &[WordMeaning] = &word_meanings(&INPUT_VISIBILITY);

const MEMORY: [WordChoice<MemoryPolicy>; 2] = [
    declared_choice("none", MemoryPolicy::None, "It knows the conversation only (default)."),
    declared_choice(
        "private",
        MemoryPolicy::Private,
        "It also remembers its private instructions and decisions.",
    ),
];
const MEMORY_WORDS: &[WordMeaning] = &word_meanings(&MEMORY);

/// An agent as written. What is `None` is as the role, its level or the workflow has it.
#[derive(Clone, PartialEq, Debug)]
pub struct AgentForm {
    /// `name`, or the role's name.
    pub id: SpannedText,
    /// As it runs, as far as no role and no model decides.
    pub spec: AgentSpec,
    pub role: SpannedText,
    pub context: SpannedText,
    pub level: Option<SpannedText>,
    pub model: Option<SpannedText>,
    pub provider: Option<SpannedText>,
    /// 0 to 2.
    pub temperature: Option<f64>,
    pub max_output_tokens: Option<u32>,
    /// Patterns that can be read; instead of the role's choice.
    pub included_tools: Option<Vec<SpannedText>>,
    /// Patterns that can be read; taken from what is included.
    pub excluded_tools: Vec<SpannedText>,
    pub system_append: Option<String>,
    pub max_tool_rounds: Option<u32>,
}

pub(super) fn read_agent(
    node: &JsonNode,
    named: &NamedDefinitions,
    findings: &mut FileDiagnostics<'_>,
) -> Option<AgentForm> {
    check_object(node, &AGENT, findings)?;
    let present = required_text(node, "role", "the agent", findings).is_some();
    let side = if present { read_choice(node, "role", &SIDES, findings) } else { None };
    let context = required_text(node, "context", "the agent", findings);
    let name = read_text(node, "name", findings);
    let level = read_optional_text(node, "level", findings);
    let model = read_optional_text(node, "model", findings);
    let provider = read_optional_text(node, "provider", findings);
    let temperature = read_temperature(node, findings);
    let max_output_tokens = read_count(node, "max_output_tokens", findings);
    let budget = error_policy::read_budget(node, named, findings);
    let included_tools = read_patterns(node, "included_tools", findings);
    let excluded_tools = read_patterns(node, "excluded_tools", findings).unwrap_or_default();
    let system_append = read_text(node, "system_message_append", findings).map(|text| text.value);
    let max_tool_rounds = read_count(node, "max_tool_rounds", findings);
    let tool_loop = read_choice(node, "tool_loop", &TOOL_LOOPS, findings).map(|found| found.value);
    let input_visibility =
        read_choice(node, "input_visibility", &INPUT_VISIBILITY, findings).map(|found| found.value);
    let memory = read_choice(node, "memory", &MEMORY, findings).map(|found| found.value);
    let role = required_text(node, "agent_role", "the agent", findings)?;
    let id = name.unwrap_or_else(|| role.clone());
    let spec = AgentSpec {
        id: id.value.clone(),
        side: side?.value,
        tool_loop: tool_loop.unwrap_or_default(),
        input_visibility,
        memory: memory.unwrap_or_default(),
        budget,
        ..AgentSpec::default()
    };
    Some(AgentForm {
        id,
        spec,
        role,
        context: context?,
        level,
        model,
        provider,
        temperature,
        max_output_tokens,
        included_tools,
        excluded_tools,
        system_append,
        max_tool_rounds,
    })
}

/// A text that may be absent, and says something where it is there.
fn read_optional_text(node: &JsonNode, key: &str, findings: &mut FileDiagnostics<'_>) -> Option<SpannedText> {
    node.get(key).filter(|value| value.kind != JsonNodeKind::Null)?;
    required_text(node, key, "the agent", findings)
}

fn read_temperature(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Option<f64> {
    let value = node.get("temperature").filter(|value| value.kind != JsonNodeKind::Null)?;
    let parsed = match &value.kind {
        JsonNodeKind::Number(text) => text.parse::<f64>().ok().filter(|number| (0.0..=2.0).contains(number)),
        _ => None,
    };
    if parsed.is_none() {
        findings.add_error("E10", value.span.clone(), "`temperature` must be a number from 0 to 2", None);
    }
    parsed
}

/// A list of patterns; those that cannot be read are findings and left out.
fn read_patterns(node: &JsonNode, key: &str, findings: &mut FileDiagnostics<'_>) -> Option<Vec<SpannedText>> {
    let value = node.get(key).filter(|value| value.kind != JsonNodeKind::Null)?;
    let Some(items) = value.items() else {
        report_wrong_type(value, &format!("`{key}` must be an array of tool names or patterns"), findings);
        return None;
    };
    let mut all = Vec::with_capacity(items.len());
    for item in items {
        let Some(pattern) = item.as_str() else {
            report_wrong_type(item, &format!("`{key}` holds tool names or patterns"), findings);
            continue;
        };
        match ToolPattern::parse(pattern) {
            Ok(_) => all.push(SpannedValue { value: pattern.to_owned(), span: item.span.clone() }),
            Err(why) => {
                let message = format!("the tool pattern `{pattern}` {why}");
                findings.add_error("E10", item.span.clone(), message, None);
            }
        }
    }
    Some(all)
}
