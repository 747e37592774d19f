//! What a project's files may change. Settings that keep the user safe can only be made stricter by a project: one
//! property of each row in the table of settings says how. Refuses to take anything else, with a finding at its place.

use std::collections::BTreeMap;

use serde_json::Value;

use super::project_restriction::ProjectRestriction;
use super::read_layers::LayerSetting;
use super::rules::{SettingRule, find_rule};
use super::value_type::SettingValue;
use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_domain::source_location::SourceLocation;
use synthdev_language::source::NOT_TAKEN;

/// The effective values without a word of the project.
#[derive(Debug)]
pub struct UserValues<'a> {
    values: BTreeMap<&'a str, &'a Value>,
}

impl<'a> UserValues<'a> {
    /// `given` in its order, the weakest first; `defaults` below it.
    pub fn from_layers(
        defaults: impl Iterator<Item = (&'a str, &'a SettingValue)>,
        given: &'a [LayerSetting],
    ) -> Self {
        let own = given.iter().filter(|one| !one.origin.is_from_project);
        let all = defaults.chain(own.map(|one| (one.path.as_str(), &one.setting_value)));
        let plain = all.filter_map(|(path, datum)| match datum {
            SettingValue::Plain(value) => Some((path, value)),
            SettingValue::Secret { .. } => None,
        });
        Self { values: plain.collect() }
    }

    /// The part of a value that counts: all of a user's value, and of a project's value the part that it may set.
    ///
    /// # Errors
    /// It must not be set: the diagnostic for the user.
    pub fn apply_restriction(&self, given: LayerSetting) -> Result<LayerSetting, Box<Diagnostic>> {
        let rule = find_rule(&given.path).filter(|_| given.origin.is_from_project);
        let Some(rule) = rule else { return Ok(given) };
        let SettingValue::Plain(value) = &given.setting_value else {
            return if rule.project_restriction == ProjectRestriction::NotSet {
                Err(refusal_diagnostic(&given, None))
            } else {
                Ok(given)
            };
        };
        let own = self.user_value(rule, &given.path);
        let holds = match rule.project_restriction {
            ProjectRestriction::Set => true,
            ProjectRestriction::NotSet => false,
            ProjectRestriction::Tighten(order) => {
                let rank = |value: &Value| order.iter().position(|word| value.as_str() == Some(word));
                own.is_some_and(|own| rank(value).is_some_and(|new| rank(own).is_some_and(|own| own <= new)))
            }
            ProjectRestriction::Lower => own.is_none_or(|own| numeric_amount(value) <= numeric_amount(own)),
            ProjectRestriction::Raise => own.is_none_or(|own| numeric_amount(own) <= numeric_amount(value)),
            ProjectRestriction::Extend => return Ok(merge_stricter(own, given)),
        };
        if holds { Ok(given) } else { Err(refusal_diagnostic(&given, own)) }
    }

    /// The user's value; of a tool without a rule of its own the strictest that could hold for it.
    fn user_value(&self, rule: &SettingRule, path: &str) -> Option<&'a Value> {
        let own = self.values.get(path).copied();
        let ProjectRestriction::Tighten(order) = rule.project_restriction else { return own };
        let group = rule.path.strip_suffix(".tools.*").unwrap_or_default();
        let rank = |value: &&Value| order.iter().position(|word| value.as_str() == Some(word));
        let siblings = self.values.iter().filter(|(path, _)| {
            let name = path.strip_prefix(group).and_then(|rest| rest.strip_prefix('.'));
            !group.is_empty() && name.is_some_and(|name| !name.contains('.'))
        });
        own.or_else(|| siblings.map(|(_, value)| *value).max_by_key(rank))
    }
}

/// Numbers and flags on one line.
fn numeric_amount(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| f64::from(u8::from(value.as_bool().unwrap_or_default())))
}

fn merge_stricter(own: Option<&Value>, given: LayerSetting) -> LayerSetting {
    let SettingValue::Plain(added) = &given.setting_value else { return given };
    let items = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut all = own.map(items).unwrap_or_default();
    all.extend(items(added).into_iter().filter(|one| !own.is_some_and(|own| items(own).contains(one))));
    LayerSetting { setting_value: SettingValue::Plain(Value::Array(all)), ..given }
}

fn refusal_diagnostic(given: &LayerSetting, own: Option<&Value>) -> Box<Diagnostic> {
    let name = given.origin.name.clone().unwrap_or_else(|| format!("`{}`", given.path));
    let value = match &given.setting_value {
        SettingValue::Plain(value) => format!(" as {value}"),
        SettingValue::Secret { .. } => String::new(),
    };
    let stays = own.map(|own| format!("; {own} stays")).unwrap_or_default();
    let stricter =
        find_rule(&given.path).is_some_and(|rule| rule.project_restriction != ProjectRestriction::NotSet);
    let why = if stricter {
        "a project's files can only make this setting stricter"
    } else {
        "a project's files cannot change this setting"
    };
    let place = SourceLocation { file: given.origin.layer.to_string(), line: 0, column: 0 };
    Box::new(Diagnostic {
        code: NOT_TAKEN.to_owned(),
        severity: DiagnosticSeverity::Warning,
        message: format!("{name} is not taken{value}: {why}{stays}"),
        place: given.origin.place.clone().unwrap_or(place),
        span: given.origin.span.clone(),
        hint: Some(format!("set `{}` in your own settings if you want it", given.path)),
    })
}
