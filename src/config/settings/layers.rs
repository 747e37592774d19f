//! Reads each layer into (path, value, origin) and reports everything that is wrong in one pass (CFG-6).

use super::environment::Environment;
use super::origin::Origin;
use super::project_may::ProjectMay;
use super::rules::{RULES, Rule, children, environment_names, rule_of, rule_of_flag};
use super::shape::{Datum, Shape};
use crate::config::fields::is_free;
use crate::config::json::{Kind, Member, Node};
use crate::config::source::{Findings, SourceFile};
use crate::config::suggest;
use crate::domain::diagnostic::{Diagnostic, Severity};
use crate::domain::place::{Layer, Place};

/// One value of one layer.
#[derive(Clone, PartialEq, Debug)]
pub struct Given {
    pub path: String,
    pub datum: Datum,
    pub origin: Origin,
}

/// What the command line sets: flags with their texts, in the order given.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Overrides {
    pub values: Vec<Override>,
}

/// `flag` is shown to people; `path` is the setting.
#[derive(Clone, PartialEq, Eq)]
pub struct Override {
    pub path: String,
    pub text: String,
    pub flag: String,
}

impl std::fmt::Debug for Override {
    /// Without the text: it may be a key (CFG-20).
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.path, self.flag)
    }
}

impl std::fmt::Debug for Overrides {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&self.values).finish()
    }
}

impl Overrides {
    /// Sets by a flag of the table (`--base-model`); false if there is no such flag.
    pub fn flag(&mut self, flag: &str, text: &str) -> bool {
        let Some(rule) = rule_of_flag(flag) else { return false };
        self.set(rule.path, text, flag);
        true
    }

    /// Sets by path (`verbosity`, `levels.base.model`); an unknown path is reported by `Settings::load`.
    pub fn set(&mut self, path: &str, text: &str, flag: &str) {
        self.values.push(Override { path: path.to_owned(), text: text.to_owned(), flag: flag.to_owned() });
    }
}

/// Everything that one settings file says.
pub fn read_file(file: &SourceFile, diagnostics: &mut Vec<Diagnostic>) -> Vec<Given> {
    let mut findings = Findings::new(file);
    let mut given = Vec::new();
    if let Some(root) = Node::parse(file, &mut findings) {
        match root.members() {
            Some(members) => walk(members, "", &mut findings, &mut given),
            None => {
                let message = format!("settings must be an object, found {}", root.kind_name());
                findings.error("C03", root.span.clone(), message, None);
            }
        }
    }
    diagnostics.append(&mut findings.list);
    given
}

/// Our names in the environment. A bad text is an error of that name.
pub fn read_environment(environment: &Environment, diagnostics: &mut Vec<Diagnostic>) -> Vec<Given> {
    let mut given: Vec<Given> = Vec::new();
    for rule in RULES {
        let strongest = named(rule, &|name| environment.get(name), diagnostics);
        // what a project sets may not count: then the user's own word does
        let guarded = rule.project_may != ProjectMay::Set;
        if guarded && strongest.as_ref().is_none_or(|one| one.origin.of_project) {
            given.extend(named(rule, &|name| environment.of_user(name), &mut Vec::new()));
        }
        given.extend(strongest);
    }
    for name in environment.names().filter(|name| name.starts_with("SYNTHDEV_")) {
        if environment_names().any(|(known, _)| known == name) {
            continue;
        }
        let hint = suggest::did_you_mean(name, environment_names().map(|(known, _)| known));
        if let (Some(hint), Some((_, origin))) = (hint, environment.get(name)) {
            let mut finding = outside("C04", origin, format!("{name} is not a setting"), Some(hint));
            finding.severity = Severity::Warning;
            diagnostics.push(finding);
        }
    }
    given
}

/// What the strongest name of a setting says.
fn named<'e>(
    rule: &Rule,
    said: &dyn Fn(&str) -> Option<(&'e str, &'e Origin)>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Given> {
    for name in rule.env {
        let Some((text, origin)) = said(name) else { continue };
        match rule.shape.check_text(text) {
            Ok(datum) => return Some(Given { path: rule.path.to_owned(), datum, origin: origin.clone() }),
            Err((code, why)) => diagnostics.push(outside(code, origin, format!("{name} {why}"), None)),
        }
    }
    None
}

/// The command line.
pub fn read_overrides(overrides: &Overrides, diagnostics: &mut Vec<Diagnostic>) -> Vec<Given> {
    let mut given = Vec::new();
    for one in &overrides.values {
        let origin = Origin::named(Layer::CommandLine, &one.flag);
        let Some(rule) = rule_of(&one.path) else {
            let known = RULES.iter().map(|rule| rule.path);
            let hint = suggest::did_you_mean(&one.path, known);
            let message = format!("there is no setting `{}`", one.path);
            diagnostics.push(outside("C04", &origin, message, hint));
            continue;
        };
        match rule.shape.check_text(&one.text) {
            Ok(datum) => given.push(Given { path: one.path.clone(), datum, origin }),
            Err((code, why)) => {
                diagnostics.push(outside(code, &origin, format!("{} {why}", one.flag), None));
            }
        }
    }
    given
}

fn walk(members: &[Member], prefix: &str, findings: &mut Findings<'_>, given: &mut Vec<Given>) {
    for member in members {
        if is_free(&member.key) || member.value.kind == Kind::Null {
            continue;
        }
        let path = if prefix.is_empty() { member.key.clone() } else { format!("{prefix}.{}", member.key) };
        if let Some(rule) = rule_of(&path) {
            take(rule, path, member, findings, given);
            continue;
        }
        let known = children(prefix);
        if !known.contains(&member.key.as_str()) {
            let hint = suggest::or_list(&member.key, "known keys", &known);
            let inside = if prefix.is_empty() { "the settings".to_owned() } else { format!("`{prefix}`") };
            let message = format!("unknown key `{}` in {inside}", member.key);
            findings.error("C04", member.key_span.clone(), message, hint);
            continue;
        }
        match member.value.members() {
            Some(inner) => walk(inner, &path, findings, given),
            None => {
                let message = format!("`{path}` must be an object, found {}", member.value.kind_name());
                findings.error("C03", member.value.span.clone(), message, None);
            }
        }
    }
}

fn take(rule: &Rule, path: String, member: &Member, findings: &mut Findings<'_>, given: &mut Vec<Given>) {
    let layer = findings.file.layer;
    match rule.shape.check(&member.value.to_value()) {
        Ok(datum) => {
            if rule.shape == Shape::Secret && layer == Layer::Project {
                let hint = "keep it in your user settings, in `.env` or in the environment".to_owned();
                let message = format!("`{path}`: a project's settings are shared, a key is not");
                findings.warning("C09", member.key_span.clone(), message, Some(hint));
            }
            let origin = Origin::file(layer, findings.place(member.key_span.start), member.key_span.clone());
            given.push(Given { path, datum, origin });
        }
        Err((code, why)) => {
            findings.error(code, member.value.span.clone(), format!("`{path}` {why}"), None);
        }
    }
}

/// A finding that has no caret: its place is a name of the environment, a flag, or a line of `.env`.
fn outside(code: &str, origin: &Origin, message: String, hint: Option<String>) -> Diagnostic {
    let place =
        origin.place.clone().unwrap_or_else(|| Place { file: origin.layer.to_string(), line: 0, column: 0 });
    Diagnostic {
        code: code.to_owned(),
        severity: Severity::Error,
        message,
        place,
        span: origin.span.clone(),
        hint,
    }
}
