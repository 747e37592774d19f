//! Reads each layer into (path, value, origin) and reports everything that is wrong in one pass.

use super::environment::EnvironmentVars;
use super::origin::SettingOrigin;
use super::project_restriction::ProjectRestriction;
use super::rules::{
    RETIRED, RULES, SettingRule, child_names, environment_names, find_rule, find_rule_by_flag,
};
use super::value_type::{SettingValue, SettingValueType};
use crate::mcp_servers::MCP_SERVERS;
use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_domain::source_location::{ConfigLayer, SourceLocation};
use synthdev_language::did_you_mean;
use synthdev_language::fields::is_free;
use synthdev_language::json::{JsonMember, JsonNode, JsonNodeKind};
use synthdev_language::source::{FileDiagnostics, SourceFile};

/// One value of one layer.
#[derive(Clone, PartialEq, Debug)]
pub struct LayerSetting {
    pub path: String,
    pub setting_value: SettingValue,
    pub origin: SettingOrigin,
}

/// What the command line sets: flags with their texts, in the order given.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct SettingOverrides {
    pub values: Vec<SettingOverride>,
}

/// `flag` is the name for display; `path` is the setting.
#[derive(Clone, PartialEq, Eq)]
pub struct SettingOverride {
    pub path: String,
    pub text: String,
    pub flag: String,
}

impl std::fmt::Debug for SettingOverride {
    /// Without the text: it may be a key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.path, self.flag)
    }
}

impl std::fmt::Debug for SettingOverrides {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&self.values).finish()
    }
}

impl SettingOverrides {
    /// Sets by a flag of the table (`--base-model`); false if there is no such flag.
    pub fn set_flag(&mut self, flag: &str, text: &str) -> bool {
        let Some(rule) = find_rule_by_flag(flag) else { return false };
        self.set_override(rule.path, text, flag);
        true
    }

    /// Sets by path (`verbosity`, `levels.base.model`); an unknown path is reported by `EffectiveSettings::load`.
    pub fn set_override(&mut self, path: &str, text: &str, flag: &str) {
        self.values.push(SettingOverride {
            path: path.to_owned(),
            text: text.to_owned(),
            flag: flag.to_owned(),
        });
    }
}

/// Everything that one settings file says.
pub fn read_file(file: &SourceFile, diagnostics: &mut Vec<Diagnostic>) -> Vec<LayerSetting> {
    let mut findings = FileDiagnostics::new(file);
    let mut given = Vec::new();
    if let Some(root) = JsonNode::parse(file, &mut findings) {
        match root.members() {
            Some(members) => walk_members(members, "", &mut findings, &mut given),
            None => {
                let message = format!("settings must be an object, found {}", root.kind_name());
                findings.add_error("C03", root.span.clone(), message, None);
            }
        }
    }
    diagnostics.append(&mut findings.list);
    given
}

/// Our names in the environment. A bad text is an error of that name.
pub fn read_environment(
    environment: &EnvironmentVars,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<LayerSetting> {
    let mut given: Vec<LayerSetting> = Vec::new();
    for rule in RULES {
        let strongest = value_by_name(rule, &|name| environment.get(name), diagnostics);
        // what a project sets may not count: then the user's own word does
        let guarded = rule.project_restriction != ProjectRestriction::Set;
        if guarded && strongest.as_ref().is_none_or(|one| one.origin.is_from_project) {
            given.extend(value_by_name(rule, &|name| environment.user_value(name), &mut Vec::new()));
        }
        given.extend(strongest);
    }
    for name in environment.names().filter(|name| name.starts_with("SYNTHDEV_")) {
        if environment_names().any(|(known, _)| known == name) {
            continue;
        }
        let is_retired = RETIRED.iter().any(|retired| retired.env == name);
        if let Some((_, origin)) = environment.get(name).filter(|_| is_retired) {
            let (text, hint) = (format!("{name} has no effect"), "remove it".to_owned());
            let finding = external_diagnostic("C04", origin, text, Some(hint));
            diagnostics.push(Diagnostic { severity: DiagnosticSeverity::Warning, ..finding });
            continue;
        }
        let hint = did_you_mean::suggestion_hint(name, environment_names().map(|(known, _)| known));
        if let (Some(hint), Some((_, origin))) = (hint, environment.get(name)) {
            let mut finding =
                external_diagnostic("C04", origin, format!("{name} is not a setting"), Some(hint));
            finding.severity = DiagnosticSeverity::Warning;
            diagnostics.push(finding);
        }
    }
    given
}

/// What the strongest name of a setting says.
fn value_by_name<'e>(
    rule: &SettingRule,
    said: &dyn Fn(&str) -> Option<(&'e str, &'e SettingOrigin)>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<LayerSetting> {
    for name in rule.env {
        let Some((text, origin)) = said(name) else { continue };
        match rule.value_type.check_text(text) {
            Ok(datum) => {
                return Some(LayerSetting {
                    path: rule.path.to_owned(),
                    setting_value: datum,
                    origin: origin.clone(),
                });
            }
            Err((code, why)) => {
                diagnostics.push(external_diagnostic(code, origin, format!("{name} {why}"), None))
            }
        }
    }
    None
}

/// The command line.
pub fn read_overrides(overrides: &SettingOverrides, diagnostics: &mut Vec<Diagnostic>) -> Vec<LayerSetting> {
    let mut given = Vec::new();
    for one in &overrides.values {
        let origin = SettingOrigin::from_name(ConfigLayer::CommandLine, &one.flag);
        let Some(rule) = find_rule(&one.path) else {
            let known = RULES.iter().map(|rule| rule.path);
            let hint = did_you_mean::suggestion_hint(&one.path, known);
            let message = format!("there is no setting `{}`", one.path);
            diagnostics.push(external_diagnostic("C04", &origin, message, hint));
            continue;
        };
        match rule.value_type.check_text(&one.text) {
            Ok(datum) => given.push(LayerSetting { path: one.path.clone(), setting_value: datum, origin }),
            Err((code, why)) => {
                diagnostics.push(external_diagnostic(code, &origin, format!("{} {why}", one.flag), None));
            }
        }
    }
    given
}

fn walk_members(
    members: &[JsonMember],
    prefix: &str,
    findings: &mut FileDiagnostics<'_>,
    given: &mut Vec<LayerSetting>,
) {
    for member in members {
        if is_free(&member.key) || member.value.kind == JsonNodeKind::Null {
            continue;
        }
        // no single settings: read by `mcp_servers`
        if prefix.is_empty() && member.key == MCP_SERVERS {
            continue;
        }
        let path = if prefix.is_empty() { member.key.clone() } else { format!("{prefix}.{}", member.key) };
        if let Some(rule) = find_rule(&path) {
            read_value(rule, path, member, findings, given);
            continue;
        }
        if RETIRED.iter().any(|retired| retired.path == path) {
            let hint = Some("remove the line".to_owned());
            findings.add_warning("C04", member.key_span.clone(), format!("`{path}` has no effect"), hint);
            continue;
        }
        let mut known = child_names(prefix);
        known.extend(prefix.is_empty().then_some(MCP_SERVERS));
        if !known.contains(&member.key.as_str()) {
            let hint = did_you_mean::suggest_or_list(&member.key, "known keys", &known);
            let inside = if prefix.is_empty() { "the settings".to_owned() } else { format!("`{prefix}`") };
            let message = format!("unknown key `{}` in {inside}", member.key);
            findings.add_error("C04", member.key_span.clone(), message, hint);
            continue;
        }
        match member.value.members() {
            Some(inner) => walk_members(inner, &path, findings, given),
            None => {
                let message = format!("`{path}` must be an object, found {}", member.value.kind_name());
                findings.add_error("C03", member.value.span.clone(), message, None);
            }
        }
    }
}

fn read_value(
    rule: &SettingRule,
    path: String,
    member: &JsonMember,
    findings: &mut FileDiagnostics<'_>,
    given: &mut Vec<LayerSetting>,
) {
    let layer = findings.file.layer;
    match rule.value_type.check_value(&member.value.to_value()) {
        Ok(datum) => {
            if rule.value_type == SettingValueType::Secret && layer == ConfigLayer::Project {
                let hint = "keep it in your user settings, in `.env` or in the environment".to_owned();
                let message = format!("`{path}`: a project's settings are shared, a key is not");
                findings.add_warning("C09", member.key_span.clone(), message, Some(hint));
            }
            let origin = SettingOrigin::from_file(
                layer,
                findings.location_at(member.key_span.start),
                member.key_span.clone(),
            );
            given.push(LayerSetting { path, setting_value: datum, origin });
        }
        Err((code, why)) => {
            findings.add_error(code, member.value.span.clone(), format!("`{path}` {why}"), None);
        }
    }
}

/// A finding that has no caret: its place is a name of the environment, a flag, or a line of `.env`.
fn external_diagnostic(
    code: &str,
    origin: &SettingOrigin,
    message: String,
    hint: Option<String>,
) -> Diagnostic {
    let place = origin.place.clone().unwrap_or_else(|| SourceLocation {
        file: origin.layer.to_string(),
        line: 0,
        column: 0,
    });
    Diagnostic {
        code: code.to_owned(),
        severity: DiagnosticSeverity::Error,
        message,
        place,
        span: origin.span.clone(),
        hint,
    }
}
