//! One role file → what it says about each role, with places. Refuses to decide what a role is:
//! merging over files is `roles`' work.

pub mod examples;
pub mod parsing_tools;

use self::examples::read_examples;
use self::parsing_tools::read_parsing_tools;
use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_domain::message::ChatMessage;
use synthdev_domain::sandbox::NetworkAccess;
use synthdev_domain::source_location::{ConfigLayer, SourceLocation};
use synthdev_domain::tool::ParsingTool;
use synthdev_language::did_you_mean;
use synthdev_language::fields::{ObjectFields, SpannedField, is_free};
use synthdev_language::json::{JsonMember, JsonNode};
use synthdev_language::model_selector::LEVELS;
use synthdev_language::source::{FileDiagnostics, NOT_TAKEN, SourceFile};
use synthdev_language::tool_patterns::ToolPattern;

/// What one file says about one role. `None` means that the file is silent about the field.
#[derive(Clone, PartialEq, Debug)]
pub struct RoleFragment {
    pub name: String,
    pub group: String,
    pub level: Option<String>,
    pub provider: Option<String>,
    pub system_message: Option<String>,
    pub description: Option<String>,
    pub reminder: Option<String>,
    pub environment: Option<bool>,
    pub guidance: Option<bool>,
    pub network: Option<NetworkAccess>,
    pub included_tools: Option<Vec<SpannedField<String>>>,
    pub excluded_tools: Option<Vec<SpannedField<String>>>,
    pub parsing_tools: Option<Vec<ParsingTool>>,
    pub examples: Option<Vec<ChatMessage>>,
    pub enabled_agents: Option<Vec<SpannedField<String>>>,
    pub can_create_tasks_for: Option<Vec<SpannedField<String>>>,
    pub place: SourceLocation,
    /// Bytes of the role's name in its file.
    pub span: std::ops::Range<usize>,
    pub source: SourceFile,
    /// Errors inside this part: the role cannot be used, other roles can.
    pub errors: Vec<Diagnostic>,
}

pub(super) const KEYS: &[&str] = &[
    "level",
    "provider",
    "systemMessage",
    "system_message",
    "description",
    "agent_description",
    "agentDescription",
    "reminder",
    "environment",
    "guidance",
    "sandbox",
    "includedTools",
    "included_tools",
    "excludedTools",
    "excluded_tools",
    "parsingTools",
    "parsing_tools",
    "examples",
    "enabled_agents",
    "enabledAgents",
    "can_create_tasks_for",
    "canCreateTasksFor",
];

/// Keys that only a role has: they identify its file.
pub(super) const DISTINCTIVE: [&str; 8] = [
    "systemMessage",
    "system_message",
    "includedTools",
    "included_tools",
    "excludedTools",
    "excluded_tools",
    "parsingTools",
    "parsing_tools",
];

/// The group in a file's name: `agile.testing.json` → `testing`; empty for `core.json`.
pub fn role_group(file_name: &str) -> String {
    let last = file_name.rsplit(['/', '\\', ':']).next().unwrap_or(file_name);
    let stem = last.strip_suffix(".jsonc").or_else(|| last.strip_suffix(".json")).unwrap_or(last);
    match stem.rsplit_once('.') {
        Some((name, group)) if !name.is_empty() => group.to_owned(),
        _ => String::new(),
    }
}

/// All roles of a file. A syntax error gives none; an error inside one role stays with that role.
pub fn read_roles(file: &SourceFile) -> (Vec<RoleFragment>, Vec<Diagnostic>) {
    let mut findings = FileDiagnostics::new(file);
    let mut parts = Vec::new();
    if let Some(root) = JsonNode::parse(file, &mut findings)
        && let Some(fields) = ObjectFields::from_node(&root, "a role file", &mut findings)
    {
        let group = role_group(&file.name);
        for member in fields.members.iter().filter(|member| !is_free(&member.key)) {
            let before = findings.list.len();
            let mut part = read_role(member, &group, &mut findings);
            part.errors = findings.list[before..]
                .iter()
                .filter(|finding| finding.severity == DiagnosticSeverity::Error)
                .cloned()
                .collect();
            parts.push(part);
        }
    }
    (parts, findings.list)
}

fn read_role(member: &JsonMember, group: &str, findings: &mut FileDiagnostics<'_>) -> RoleFragment {
    let mut part = empty_fragment(member, group, findings);
    check_name(member, findings);
    let Some(fields) = ObjectFields::from_node(&member.value, "a role", findings) else { return part };
    fields.reject_unknown_keys(KEYS, findings);
    part.level = fields.text(&["level"], findings).and_then(|level| check_level(level, findings));
    part.provider = fields.text(&["provider"], findings).and_then(|name| check_provider(name, findings));
    part.system_message = fields.text(&["systemMessage", "system_message"], findings).map(|text| text.value);
    part.description = fields
        .text(&["description", "agent_description", "agentDescription"], findings)
        .map(|text| text.value);
    part.reminder = fields.text(&["reminder"], findings).map(|text| text.value);
    part.environment = fields.flag(&["environment"], findings);
    part.guidance = fields.flag(&["guidance"], findings);
    part.network = read_network(&fields, findings);
    read_tools(&fields, &mut part, findings);
    part.parsing_tools = read_parsing_tools(&fields, findings);
    part.examples = read_examples(&fields, findings);
    part.enabled_agents = fields.texts(&["enabled_agents", "enabledAgents"], findings);
    part.can_create_tasks_for = fields.texts(&["can_create_tasks_for", "canCreateTasksFor"], findings);
    part
}

/// A part that says nothing yet.
fn empty_fragment(member: &JsonMember, group: &str, findings: &FileDiagnostics<'_>) -> RoleFragment {
    RoleFragment {
        name: member.key.clone(),
        group: group.to_owned(),
        level: None,
        provider: None,
        system_message: None,
        description: None,
        reminder: None,
        environment: None,
        guidance: None,
        network: None,
        included_tools: None,
        excluded_tools: None,
        parsing_tools: None,
        examples: None,
        enabled_agents: None,
        can_create_tasks_for: None,
        place: findings.location_at(member.key_span.start),
        span: member.key_span.clone(),
        source: findings.file.clone(),
        errors: Vec::new(),
    }
}

/// Included and excluded exclude each other; patterns must be readable.
fn read_tools(fields: &ObjectFields<'_>, part: &mut RoleFragment, findings: &mut FileDiagnostics<'_>) {
    part.included_tools = fields.texts(&["includedTools", "included_tools"], findings);
    part.excluded_tools = fields.texts(&["excludedTools", "excluded_tools"], findings);
    let both = part.included_tools.is_some() && part.excluded_tools.is_some();
    if let Some(node) = both.then(|| fields.get(&["excludedTools", "excluded_tools"], findings)).flatten() {
        let hint = "keep the one that says what you mean; excludedTools means every other tool".to_owned();
        let message = format!("role `{}` has both includedTools and excludedTools", part.name);
        findings.add_error("C07", node.span.clone(), message, Some(hint));
    }
    for pattern in part.included_tools.iter().chain(&part.excluded_tools).flatten() {
        if let Err(why) = ToolPattern::parse(&pattern.value) {
            let message = format!("the tool pattern `{}` {why}", pattern.value);
            let hint = "write an exact name, a name with *, or /regex/flags".to_owned();
            findings.add_error("C06", pattern.span.clone(), message, Some(hint));
        }
    }
}

/// Keys of `sandbox` in a role.
pub(super) const SANDBOX_KEYS: &[&str] = &["network"];

fn read_network(fields: &ObjectFields<'_>, findings: &mut FileDiagnostics<'_>) -> Option<NetworkAccess> {
    let node = fields.get(&["sandbox"], findings)?;
    let sandbox = ObjectFields::from_node(node, "`sandbox` of a role", findings)?;
    sandbox.reject_unknown_keys(SANDBOX_KEYS, findings);
    let network = sandbox.text(&["network"], findings)?;
    let Some(access) = NetworkAccess::from_name(&network.value) else {
        let hint = did_you_mean::suggest_or_list(&network.value, "values", &NetworkAccess::NAMES);
        let message = format!("`sandbox.network` cannot be `{}`", network.value);
        findings.add_error("C06", network.span, message, hint);
        return None;
    };
    if findings.file.layer == ConfigLayer::Project && access == NetworkAccess::On {
        let message = "`sandbox.network` of a project's role only makes the user's setting stricter: `on` changes \
            nothing";
        let hint = "leave it out, or set it for the role in your own configuration directory".to_owned();
        findings.add_warning(NOT_TAKEN, network.span, message.to_owned(), Some(hint));
    }
    Some(access)
}

fn check_level(level: SpannedField<String>, findings: &mut FileDiagnostics<'_>) -> Option<String> {
    if LEVELS.contains(&level.value.as_str()) {
        return Some(level.value);
    }
    let hint = did_you_mean::suggest_or_list(&level.value, "levels", &LEVELS);
    findings.add_error("C06", level.span, format!("there is no level `{}`", level.value), hint);
    None
}

fn check_provider(name: SpannedField<String>, findings: &mut FileDiagnostics<'_>) -> Option<String> {
    if !name.value.trim().is_empty() {
        return Some(name.value);
    }
    let hint = "name a provider, or leave `provider` out: the level's counts then".to_owned();
    findings.add_error("C06", name.span, "`provider` is empty".to_owned(), Some(hint));
    None
}

fn check_name(member: &JsonMember, findings: &mut FileDiagnostics<'_>) {
    let bad = member.key.is_empty() || member.key.contains(|c: char| c == '.' || c.is_whitespace());
    if bad {
        let message = format!("`{}` cannot be a role's name", member.key);
        let hint = "a name has no dots and no blanks; a group comes from the file's name: name.group.json";
        findings.add_error("C06", member.key_span.clone(), message, Some(hint.to_owned()));
    }
}
