//! The object of a context: how a conversation begins, and what views of it may leave out.

use super::super::json::JsonNode;
use super::super::key_declaration::ValueShape::{Count, List, Ref, Text, Whole, Words};
use super::super::key_declaration::{
    ObjectDeclaration, WordChoice, WordMeaning, declared_choice, declared_key, word_meanings,
};
use super::super::source::FileDiagnostics;
use super::fields::{
    check_object, read_amount, read_choice, read_count, read_list, read_text, required_text,
};
use super::spanned::SpannedText;
use super::value_shapes::LEVEL;
use synthdev_domain::context::{
    CHARACTERS_A_TOKEN, ContextEntry, ContextSpec, DEFAULT_MAX_LENGTH, MessageAuthor, ToolVisibility,
    TrimPolicy,
};
use synthdev_domain::message::ChatRole;

pub(super) const CONTEXT: ObjectDeclaration = ObjectDeclaration {
    name: "context",
    noun: "a context",
    description: "A conversation that its agents share.",
    keys: &[
        declared_key("name").with_value(Text, "The name that agents refer to.").required(),
        declared_key("starting_messages")
            .with_value(List(&Ref("message")), "What has been said before the run begins; never trimmed."),
        declared_key("max_length")
            .with_value(Count, "Characters that an agent is shown at most. Default: 50000."),
        declared_key("max_tokens").with_value(Count, "The same as a number of tokens."),
        declared_key("trim")
            .with_value(Words(TRIM_WORDS), "What happens when the conversation is longer than that."),
        declared_key("summary_level").with_value(
            LEVEL,
            "Which of the configured models writes the summary. Default: the agent's own.",
        ),
        declared_key("pin_first")
            .with_value(Whole, "Number of first messages of the run that are never trimmed."),
        declared_key("tool_visibility")
            .with_value(Words(TOOL_VISIBILITY_WORDS), "What agents see of each other's tool calls."),
        declared_key("description").with_value(Text, "For readers of the file."),
    ],
    future_keys: &[],
};

pub(super) const MESSAGE: ObjectDeclaration = ObjectDeclaration {
    name: "message",
    noun: "a starting message",
    description: "A message of a conversation.",
    keys: &[
        declared_key("role").with_value(Words(MESSAGE_ROLES_WORDS), "Who says it.").required(),
        declared_key("content").with_value(Text, "The text, taken literally.").required(),
    ],
    future_keys: &["tool_calls", "tool_call_id"],
};

const TRIM: [WordChoice<TrimPolicy>; 3] = [
    declared_choice("drop_oldest", TrimPolicy::DropOldest, "The oldest turns are left out (default)."),
    declared_choice("summarize", TrimPolicy::Summarize, "The oldest turns are replaced by a summary."),
    declared_choice("error", TrimPolicy::Error, "The state fails with `context_overflow`."),
];
const TRIM_WORDS: &[WordMeaning] = &word_meanings(&TRIM);

const TOOL_VISIBILITY: [WordChoice<ToolVisibility>; 3] = [
    declared_choice("none", ToolVisibility::None, "The others do not see that tools were called."),
    declared_choice("summary", ToolVisibility::Summary, "They see one line per call (default)."),
    declared_choice("full", ToolVisibility::Full, "They see calls with their results."),
];
const TOOL_VISIBILITY_WORDS: &[WordMeaning] = &word_meanings(&TOOL_VISIBILITY);

const MESSAGE_ROLES: [WordChoice<ChatRole>; 3] = [
    declared_choice("system", ChatRole::System, "Added to the system prompt of every agent of the context."),
    declared_choice("user", ChatRole::User, "Said by the user's side."),
    declared_choice("assistant", ChatRole::Assistant, "Said by the assistant's side."),
];
const MESSAGE_ROLES_WORDS: &[WordMeaning] = &word_meanings(&MESSAGE_ROLES);

#[derive(Clone, PartialEq, Debug)]
pub struct ContextForm {
    pub name: SpannedText,
    /// As it runs, but for the model that sums up.
    pub spec: ContextSpec,
    /// Starting messages that belong to the system text of every agent of the context.
    pub system_messages: Vec<String>,
    /// Which level sums up.
    pub summary_level: Option<SpannedText>,
}

pub(super) fn read_context(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Option<ContextForm> {
    check_object(node, &CONTEXT, findings)?;
    let messages = read_list(node, "starting_messages", findings, read_message);
    let max_length = read_count(node, "max_length", findings).map(|length| length as usize);
    let max_tokens = read_count(node, "max_tokens", findings).map(|tokens| tokens as usize);
    // The default applies only if the file sets no limit: it does not narrow a limit that is given in tokens.
    let usual = max_tokens.map_or(DEFAULT_MAX_LENGTH, |tokens| tokens.saturating_mul(CHARACTERS_A_TOKEN));
    let trim = read_choice(node, "trim", &TRIM, findings).map(|found| found.value);
    let pin_first = read_amount(node, "pin_first", findings).map(|messages| messages as usize);
    let tool_visibility =
        read_choice(node, "tool_visibility", &TOOL_VISIBILITY, findings).map(|found| found.value);
    let name = required_text(node, "name", "the context", findings)?;
    let (system, shared): (Vec<_>, Vec<_>) =
        messages.into_iter().partition(|(role, _)| *role == ChatRole::System);
    let spec = ContextSpec {
        name: name.value.clone(),
        starting_messages: shared.into_iter().map(|(role, text)| starting_entry(role, text)).collect(),
        max_length: max_length.unwrap_or(usual),
        max_tokens,
        trim: trim.unwrap_or_default(),
        summary: None,
        pin_first: pin_first.unwrap_or_default(),
        tool_visibility: tool_visibility.unwrap_or_default(),
    };
    Some(ContextForm {
        name,
        spec,
        system_messages: system.into_iter().map(|(_, text)| text).collect(),
        summary_level: read_text(node, "summary_level", findings),
    })
}

fn starting_entry(role: ChatRole, text: String) -> ContextEntry {
    ContextEntry { pinned: true, ..ContextEntry::text(MessageAuthor::Start, role, text) }
}

fn read_message(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Option<(ChatRole, String)> {
    check_object(node, &MESSAGE, findings)?;
    let present = required_text(node, "role", "the starting message", findings).is_some();
    let role = if present { read_choice(node, "role", &MESSAGE_ROLES, findings) } else { None };
    let content = required_text(node, "content", "the starting message", findings)?;
    Some((role?.value, content.value))
}
