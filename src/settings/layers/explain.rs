//! `config explain`: one setting with everything that decides it. Never a key.

use serde::Serialize;

use super::rules::{RULES, SettingRule, child_names, environment_names, find_rule, find_rule_by_flag};
use super::{EffectiveSetting, EffectiveSettings, has_own_provider, setting_row};
use crate::layers::environment::EnvironmentVars;
use crate::layers::origin::SettingOrigin;
use crate::layers::value_type::SettingValue;
use crate::models::provider_catalog::ProviderCatalog;
use crate::redaction::SecretText;
use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_domain::source_location::{ConfigLayer, SourceLocation};
use synthdev_language::did_you_mean;
use synthdev_language::source::NOT_TAKEN;

/// A setting, explained.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SettingExplanation {
    /// Dotted path in settings.json.
    pub path: String,
    pub about: String,
    /// As `config show` has it: JSON text, `not set`, or `set (…)` for a key.
    pub value: String,
    /// Layer, name and place; `None`: nothing sets it.
    pub origin: Option<SettingSource>,
    /// What else sets it and does not count, the strongest first.
    pub shadows: Vec<ShadowedSetting>,
    /// What was set and cannot be: a sentence each, with the name that sets it.
    pub refused: Vec<String>,
    pub allowed: String,
    /// JSON text.
    pub default: Option<String>,
    /// Environment names that set it, the strongest first.
    pub environment: Vec<String>,
    /// Options of the command line that set it.
    pub options: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ShadowedSetting {
    pub value: String,
    pub origin: SettingSource,
}

/// Where a value was set.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SettingSource {
    /// In one line, for display.
    pub text: String,
    pub layer: String,
    /// Environment name or option.
    pub name: Option<String>,
    pub file: Option<String>,
    pub line: Option<usize>,
}

/// Explains a setting by its path, an environment name or an option.
///
/// # Errors
/// No setting has that name: the error suggests similar names, or lists the settings below a part of a path.
pub fn explain_setting(
    settings: &EffectiveSettings,
    diagnostics: &[Diagnostic],
    models: &ProviderCatalog,
    environment: &EnvironmentVars,
    key: &str,
) -> Result<SettingExplanation, String> {
    let key = key.trim();
    let named = environment_names().find(|(name, _)| *name == key).map(|(_, rule)| rule);
    let meant = named.or_else(|| find_rule_by_flag(key)).or_else(|| find_rule_by_flag(&format!("--{key}")));
    let meant = if find_rule(key).is_some() { None } else { meant };
    let path = meant.map_or(key, |rule| rule.path);
    let path = provider_for_key_name(models, path).unwrap_or_else(|| path.to_owned());
    let Some(rule) = find_rule(&path).filter(|_| !path.ends_with('*')) else {
        return Err(unknown_setting_text(&path));
    };
    let mut known: Vec<EffectiveSetting> = settings.all_values(&path).cloned().collect();
    known.reverse();
    // what the program's table and its settings file say is one value
    if known.iter().filter(|one| one.origin.layer == ConfigLayer::BuiltIn).count() > 1 {
        known.remove(0);
    }
    let usual = usual_names(models, &path);
    // a key of ours beats a provider's usual name
    if let Some((text, origin)) = usual.iter().find_map(|name| environment.get(name)) {
        let datum = SettingValue::Secret { key: SecretText::new(text), home: None };
        known.insert(0, EffectiveSetting { setting_value: datum, origin: origin.clone() });
    }
    let winner = known.pop();
    let line = setting_row(path.clone(), winner.as_ref(), rule.description);
    let inherited = winner.is_none().then(|| inherited_from(settings, rule)).flatten();
    let origin = winner.as_ref().map(|setting| from(&setting.origin));
    Ok(SettingExplanation {
        value: inherited.as_ref().map_or(line.value, |(value, _)| value.clone()),
        origin: origin.or(inherited.map(|(_, origin)| origin)),
        shadows: known.iter().rev().map(|setting| shadowed_setting(&path, setting)).collect(),
        refused: refused_values(diagnostics, rule, &path),
        allowed: rule.value_type.allowed_values_text(),
        default: (!rule.default.is_empty()).then(|| rule.default.to_owned()),
        environment: rule.env.iter().map(|name| (*name).to_owned()).chain(usual).collect(),
        options: rule.flags.iter().map(|flag| (*flag).to_owned()).collect(),
        about: rule.description.to_owned(),
        path,
    })
}

/// Values that were found wrong while loading, by the name or path that their messages begin with.
fn refused_values(diagnostics: &[Diagnostic], rule: &SettingRule, path: &str) -> Vec<String> {
    let quoted = format!("`{path}`");
    let names = rule.env.iter().chain(rule.flags).copied().chain([quoted.as_str()]);
    let names: Vec<&str> = names.collect();
    let errors =
        diagnostics.iter().filter(|one| one.severity == DiagnosticSeverity::Error || one.code == NOT_TAKEN);
    let own = errors.filter(|one| {
        names.iter().any(|name| one.message.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')))
    });
    own.map(|one| format!("{} ({})", one.message, location_text(one))).collect()
}

fn location_text(found: &Diagnostic) -> String {
    let SourceLocation { file, line, .. } = &found.place;
    if *line == 0 { file.clone() } else { format!("{file}:{line}") }
}

/// A level takes from base what it does not set itself.
fn inherited_from(settings: &EffectiveSettings, rule: &SettingRule) -> Option<(String, SettingSource)> {
    let (level, field) = rule.path.strip_prefix("levels.")?.split_once('.')?;
    if level == "base" || (has_own_provider(settings, level) && matches!(field, "base_url" | "api_key")) {
        return None;
    }
    let base = settings.own_level_setting("base", field)?;
    let line = setting_row(rule.path.to_owned(), Some(base), rule.description);
    let origin = from(&base.origin);
    Some((line.value, SettingSource { text: format!("from base: {}", origin.text), ..origin }))
}

fn shadowed_setting(path: &str, setting: &EffectiveSetting) -> ShadowedSetting {
    ShadowedSetting {
        value: setting_row(path.to_owned(), Some(setting), "").value,
        origin: from(&setting.origin),
    }
}

fn from(origin: &SettingOrigin) -> SettingSource {
    SettingSource {
        text: origin.to_string(),
        layer: origin.layer.to_string(),
        name: origin.name.clone(),
        file: origin.place.as_ref().map(|place| place.file.clone()),
        line: origin.place.as_ref().map(|place| place.line),
    }
}

/// `OPENAI_API_KEY` is the key of a provider.
fn provider_for_key_name(models: &ProviderCatalog, name: &str) -> Option<String> {
    let has = |names: &Option<Vec<String>>| names.iter().flatten().any(|known| known == name);
    let provider = models.providers.iter().find(|provider| has(&provider.key_env))?;
    Some(format!("keys.{}", provider.name))
}

fn usual_names(models: &ProviderCatalog, path: &str) -> Vec<String> {
    let provider = path.strip_prefix("keys.").and_then(|name| models.provider(name));
    provider.and_then(|provider| provider.key_env.clone()).unwrap_or_default()
}

fn unknown_setting_text(path: &str) -> String {
    let below = child_names(path.trim_end_matches(['.', '*']));
    if !below.is_empty() {
        let names: Vec<String> =
            below.iter().map(|name| format!("{}.{name}", path.trim_end_matches(['.', '*']))).collect();
        return format!("`{path}` is a group of settings\nhint: it holds {}", names.join(", "));
    }
    let paths = RULES.iter().map(|rule| rule.path);
    let names = environment_names().map(|(name, _)| name);
    let flags = RULES.iter().flat_map(|rule| rule.flags.iter().copied());
    // users remember the last part of a path
    let last = path.rsplit('.').next().unwrap_or(path);
    let ending = RULES.iter().map(|rule| rule.path).find(|known| known.rsplit('.').next() == Some(last));
    let hint = did_you_mean::suggestion_hint(path, paths.chain(names).chain(flags))
        .or_else(|| ending.map(|known| format!("did you mean `{known}`?")))
        .unwrap_or_else(|| "`synthdev config show` lists all settings".to_owned());
    format!("there is no setting `{path}`\nhint: {hint}")
}

fn source_text(origin: &SettingSource) -> String {
    match (&origin.file, origin.line) {
        (Some(file), Some(line)) if origin.layer == ConfigLayer::BuiltIn.to_string() => {
            format!("built-in value, {}:{line} of this program", file.trim_start_matches("built-in:"))
        }
        _ if origin.layer == ConfigLayer::BuiltIn.to_string() => "built-in value of this program".to_owned(),
        _ => origin.text.clone(),
    }
}

/// The explanation as text.
pub fn explain_text(one: &SettingExplanation) -> String {
    let mut text = format!("{} — {}\n", one.path, one.about);
    let mut row = |name: &str, value: &str| text.push_str(&format!("  {name:<14} {value}\n"));
    row("value", &one.value);
    match &one.origin {
        Some(origin) => row("set by", &source_text(origin)),
        None => row("set by", "nothing"),
    }
    for below in &one.shadows {
        row("shadows", &format!("{}  {}", below.value, source_text(&below.origin)));
    }
    for why in &one.refused {
        row("does not count", why);
    }
    row("allowed", &one.allowed);
    if let Some(default) = &one.default {
        row("default", default);
    }
    row("settings", &format!("\"{}\" in settings.json", one.path));
    if !one.environment.is_empty() {
        row("environment", &one.environment.join(", "));
    }
    if !one.options.is_empty() {
        row("options", &one.options.join(", "));
    }
    text
}
