//! Later parts of a role over earlier ones, field by field, and what is worth a warning afterwards.

use std::collections::BTreeMap;

use crate::role_file::RoleFragment;
use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_domain::role::Role;
use synthdev_domain::sandbox::RoleNetwork;
use synthdev_domain::source_location::ConfigLayer;
use synthdev_domain::tool::ToolSpec;
use synthdev_language::did_you_mean;
use synthdev_language::fields::SpannedField;
use synthdev_language::tool_patterns::{ToolPattern, unknown_tool};

/// Identifies a role.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct RoleKey {
    pub group: String,
    pub name: String,
}

/// The result of merging.
#[derive(Debug, Default)]
pub struct MergedRoles {
    pub roles: BTreeMap<RoleKey, Role>,
    pub broken_roles: BTreeMap<RoleKey, Vec<Diagnostic>>,
}

/// `parts` in order of strength, weakest first.
pub fn merge_roles(
    parts: Vec<RoleFragment>,
    tools: &[ToolSpec],
    diagnostics: &mut Vec<Diagnostic>,
) -> MergedRoles {
    let mut by_role: BTreeMap<RoleKey, Vec<RoleFragment>> = BTreeMap::new();
    for part in parts {
        by_role.entry(RoleKey { group: part.group.clone(), name: part.name.clone() }).or_default().push(part);
    }
    let mut merged = MergedRoles::default();
    for (key, parts) in &by_role {
        let errors: Vec<Diagnostic> = parts.iter().flat_map(|part| part.errors.clone()).collect();
        for pair in parts.windows(2) {
            check_conflicts(&pair[0], &pair[1], diagnostics);
        }
        let role = combine_fragments(parts);
        if errors.is_empty() {
            check_merged_role(&role, parts, tools, diagnostics);
        } else {
            merged.broken_roles.insert(key.clone(), errors);
        }
        merged.roles.insert(key.clone(), role);
    }
    for parts in by_role.values() {
        check_references(parts, &merged.roles, diagnostics);
    }
    merged
}

fn combine_fragments(parts: &[RoleFragment]) -> Role {
    let mut role = Role { level: "base".to_owned(), ..Role::default() };
    for part in parts {
        role.name.clone_from(&part.name);
        role.group.clone_from(&part.group);
        role.layer = part.source.layer;
        role.places.push(part.place.clone());
        set_if_given(&mut role.level, &part.level);
        if part.provider.is_some() {
            role.provider.clone_from(&part.provider);
        }
        set_if_given(&mut role.system_message, &part.system_message);
        set_if_given(&mut role.description, &part.description);
        set_if_given(&mut role.parsing_tools, &part.parsing_tools);
        set_if_given(&mut role.examples, &part.examples);
        if part.reminder.is_some() {
            role.reminder.clone_from(&part.reminder);
        }
        set_if_given(&mut role.without.environment, &part.environment.map(|told| !told));
        set_if_given(&mut role.without.guidance, &part.guidance.map(|told| !told));
        role.network = merge_network(role.network, part);
        if let Some(included) = &part.included_tools {
            role.included_tools = Some(texts_without_spans(included));
            role.excluded_tools = None;
        }
        if let Some(excluded) = &part.excluded_tools {
            role.excluded_tools = Some(texts_without_spans(excluded));
            role.included_tools = None;
        }
        if let Some(agents) = &part.enabled_agents {
            role.enabled_agents = texts_without_spans(agents);
        }
        if let Some(roles) = &part.can_create_tasks_for {
            role.can_create_tasks_for = texts_without_spans(roles);
        }
    }
    role
}

/// A project's file may only make the access stricter, and removes the permission of the user's own files to loosen it:
/// a role that a project redefines must not keep a permission that the user gave to another role.
fn merge_network(before: Option<RoleNetwork>, part: &RoleFragment) -> Option<RoleNetwork> {
    let layer = part.source.layer;
    if layer == ConfigLayer::Project {
        let access = match (before, part.network) {
            (Some(before), Some(here)) => before.access.stricter_of(here),
            (Some(before), None) => before.access,
            (None, here) => here?,
        };
        return Some(RoleNetwork { access, may_loosen: false });
    }
    part.network.map(|access| RoleNetwork { access, may_loosen: layer == ConfigLayer::User }).or(before)
}

/// Two files of one layer that set the same field: the later file name wins, and a warning says so.
fn check_conflicts(earlier: &RoleFragment, later: &RoleFragment, diagnostics: &mut Vec<Diagnostic>) {
    if earlier.source.layer != later.source.layer {
        return;
    }
    let fields = [
        ("level", earlier.level.is_some() && later.level.is_some()),
        ("provider", earlier.provider.is_some() && later.provider.is_some()),
        ("systemMessage", earlier.system_message.is_some() && later.system_message.is_some()),
        ("description", earlier.description.is_some() && later.description.is_some()),
        ("reminder", earlier.reminder.is_some() && later.reminder.is_some()),
        ("environment", earlier.environment.is_some() && later.environment.is_some()),
        ("sandbox.network", earlier.network.is_some() && later.network.is_some()),
        ("guidance", earlier.guidance.is_some() && later.guidance.is_some()),
        ("tools", lists_tools(earlier) && lists_tools(later)),
        ("parsingTools", earlier.parsing_tools.is_some() && later.parsing_tools.is_some()),
        ("examples", earlier.examples.is_some() && later.examples.is_some()),
        ("enabled_agents", earlier.enabled_agents.is_some() && later.enabled_agents.is_some()),
        (
            "can_create_tasks_for",
            earlier.can_create_tasks_for.is_some() && later.can_create_tasks_for.is_some(),
        ),
    ];
    let both: Vec<&str> = fields.iter().filter(|(_, twice)| *twice).map(|(name, _)| *name).collect();
    if !both.is_empty() {
        let message = format!(
            "role `{}`: {} already set in {}; the values here win",
            later.name,
            both.join(", "),
            earlier.place
        );
        let hint = "keep the role in one file of this layer, or give the files groups: name.group.json";
        diagnostics.push(role_diagnostic(later, "C12", message, Some(hint.to_owned())));
    }
}

fn check_merged_role(
    role: &Role,
    parts: &[RoleFragment],
    tools: &[ToolSpec],
    diagnostics: &mut Vec<Diagnostic>,
) {
    let Some(last) = parts.last() else { return };
    let name = role.full_name();
    if role.system_message.trim().is_empty() {
        let message = format!("role `{name}` has no systemMessage in any file");
        diagnostics.push(role_diagnostic(
            last,
            "C13",
            message,
            Some("add one, or correct the role's name".to_owned()),
        ));
    }
    if role.included_tools.is_none() && role.excluded_tools.is_none() {
        let message = format!("role `{name}` has neither includedTools nor excludedTools: it gets no tools");
        let hint = "write \"includedTools\": [] if that is meant, [\"*\"] for all".to_owned();
        diagnostics.push(role_diagnostic(last, "C14", message, Some(hint)));
    }
    for part in parts {
        for text in part.included_tools.iter().chain(&part.excluded_tools).flatten() {
            let Ok(pattern) = ToolPattern::parse(&text.value) else { continue };
            if let Some((message, hint)) = unknown_tool(&text.value, &pattern, tools) {
                let finding = role_diagnostic(part, "W09", format!("role `{name}`: {message}"), hint);
                diagnostics.push(text_diagnostic(finding, part, text));
            }
        }
    }
}

/// `enabled_agents` and `can_create_tasks_for` should name roles that exist.
fn check_references(
    parts: &[RoleFragment],
    roles: &BTreeMap<RoleKey, Role>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    for part in parts {
        for name in part.enabled_agents.iter().chain(&part.can_create_tasks_for).flatten() {
            let exists = |role: &Role| role.name == name.value || role.full_name() == name.value;
            if name.value != "*" && !roles.values().any(exists) {
                let hint =
                    did_you_mean::suggestion_hint(&name.value, roles.keys().map(|key| key.name.as_str()));
                let message =
                    format!("role `{}` names the role `{}`, which does not exist", part.name, name.value);
                diagnostics.push(text_diagnostic(role_diagnostic(part, "C15", message, hint), part, name));
            }
        }
    }
}

/// A warning at a role's name.
fn role_diagnostic(part: &RoleFragment, code: &str, message: String, hint: Option<String>) -> Diagnostic {
    Diagnostic {
        code: code.to_owned(),
        severity: DiagnosticSeverity::Warning,
        message,
        place: part.place.clone(),
        span: part.span.clone(),
        hint,
    }
}

/// The same warning at one text inside the role.
fn text_diagnostic(mut finding: Diagnostic, part: &RoleFragment, text: &SpannedField<String>) -> Diagnostic {
    finding.place = part.source.location_at(text.span.start);
    finding.span = text.span.clone();
    finding
}

fn lists_tools(part: &RoleFragment) -> bool {
    part.included_tools.is_some() || part.excluded_tools.is_some()
}

fn set_if_given<T: Clone>(field: &mut T, later: &Option<T>) {
    if let Some(value) = later {
        field.clone_from(value);
    }
}

fn texts_without_spans(texts: &[SpannedField<String>]) -> Vec<String> {
    texts.iter().map(|text| text.value.clone()).collect()
}
