//! What a state or workflow may spend, and what happens when it fails: `retry`, `catch`, `on_error`, `timeout`,
//! `budget`, `output`.

use super::super::json::{JsonNode, JsonNodeKind};
use super::super::source::FileDiagnostics;
use super::definitions_lookup::NamedDefinitions;
use super::fields::{count, duration, flag, non_null_member, number, object, required_text, text, texts};
use super::keys::{BUDGET, CAP, CATCH, OUTPUT, RETRY};
use super::{CatchForm, OnErrorForm, RetryForm, SpannedText, SpannedValue, schema};
use synthdev_domain::workflow::{Budget, BudgetCap, RetryBackoff, StateOutputSpec};

/// Attempts of a retry rule that does not say how many.
const ATTEMPTS: u32 = 3;

/// A length of time by key: seconds, ISO 8601, or a name of `use.timeouts`.
pub(super) fn length(
    node: &JsonNode,
    key: &str,
    named: &NamedDefinitions,
    findings: &mut FileDiagnostics<'_>,
) -> Option<u64> {
    let value = non_null_member(node, key)?;
    match &value.kind {
        JsonNodeKind::String(name)
            if !name.trim_start().starts_with(['P', 'p']) || named.has_timeout(name) =>
        {
            named.timeout(name, &value.span, findings)
        }
        _ => duration(value, key, findings),
    }
}

pub(super) fn timeout(
    node: &JsonNode,
    named: &NamedDefinitions,
    findings: &mut FileDiagnostics<'_>,
) -> Option<u64> {
    length(node, "timeout", named, findings)
}

/// `budget`: tokens, dollars and time, each a number or `{soft, hard}`.
pub(super) fn budget(
    node: &JsonNode,
    named: &NamedDefinitions,
    findings: &mut FileDiagnostics<'_>,
) -> Budget {
    let Some(value) = non_null_member(node, "budget") else { return Budget::default() };
    if object(value, &BUDGET, findings).is_none() {
        return Budget::default();
    }
    let tokens =
        cap(value, "tokens", findings, |node, key, findings| count(node, key, findings).map(u64::from));
    let cost_usd = cap(value, "cost_usd", findings, |node, key, findings| {
        number(node, key, (0.0, f64::INFINITY), findings)
    });
    let duration_ms =
        cap(value, "duration", findings, |node, key, findings| length(node, key, named, findings));
    Budget { tokens, cost_usd, duration_ms }
}

/// A plain value is the hard end.
fn cap<T: Copy + PartialOrd + Default>(
    node: &JsonNode,
    key: &str,
    findings: &mut FileDiagnostics<'_>,
    read: impl Fn(&JsonNode, &str, &mut FileDiagnostics<'_>) -> Option<T>,
) -> BudgetCap<T> {
    let Some(value) = non_null_member(node, key) else { return BudgetCap::default() };
    if value.members().is_none() {
        return BudgetCap { soft: None, hard: read(node, key, findings) };
    }
    if object(value, &CAP, findings).is_none() {
        return BudgetCap::default();
    }
    let cap = BudgetCap { soft: read(value, "soft", findings), hard: read(value, "hard", findings) };
    if let (Some(soft), Some(hard)) = (cap.soft, cap.hard)
        && soft > hard
    {
        let hint = "the soft end warns before the hard one pauses: make it smaller";
        let message = format!("the soft end of `{key}` is above the hard one");
        findings.error("E10", value.span.clone(), message, Some(hint.to_owned()));
    }
    cap
}

/// `retry`: one rule or several; a text is a name of `use.retries`.
pub(super) fn retry(
    node: &JsonNode,
    named: &NamedDefinitions,
    findings: &mut FileDiagnostics<'_>,
) -> Vec<RetryForm> {
    non_null_member(node, "retry").map_or_else(Vec::new, |value| retry_rules(value, named, findings))
}

pub(super) fn retry_rules(
    value: &JsonNode,
    named: &NamedDefinitions,
    findings: &mut FileDiagnostics<'_>,
) -> Vec<RetryForm> {
    let items = match &value.kind {
        JsonNodeKind::Array(items) => items.as_slice(),
        _ => std::slice::from_ref(value),
    };
    let mut rules = Vec::new();
    for item in items {
        match &item.kind {
            JsonNodeKind::String(name) => rules.extend(named.retry(name, &item.span, findings)),
            _ => rules.extend(retry_rule(item, named, findings)),
        }
    }
    rules
}

fn retry_rule(
    node: &JsonNode,
    named: &NamedDefinitions,
    findings: &mut FileDiagnostics<'_>,
) -> Option<RetryForm> {
    object(node, &RETRY, findings)?;
    let usual = RetryBackoff::default();
    let delay_ms = if is_zero(node, "delay") {
        0
    } else {
        length(node, "delay", named, findings).unwrap_or(usual.delay_ms)
    };
    let most = length(node, "max_delay", named, findings);
    if let Some(most) = most
        && most < delay_ms
        && let Some(value) = node.get("max_delay")
    {
        let hint = "make `max_delay` larger, or leave it out";
        findings.error("E10", value.span.clone(), "`max_delay` is below `delay`", Some(hint.to_owned()));
    }
    Some(RetryForm {
        errors: errors(node, findings),
        max_attempts: count(node, "max_attempts", findings).unwrap_or(ATTEMPTS),
        backoff: RetryBackoff {
            delay_ms,
            factor: number(node, "backoff", (1.0, 1_000.0), findings).unwrap_or(usual.factor),
            max_delay_ms: most.unwrap_or(usual.max_delay_ms.max(delay_ms)),
            jitter: flag(node, "jitter", findings).unwrap_or(usual.jitter),
        },
    })
}

fn is_zero(node: &JsonNode, key: &str) -> bool {
    matches!(node.get(key).map(|value| &value.kind), Some(JsonNodeKind::Number(text)) if text.parse() == Ok(0.0))
}

/// Without `errors` a rule is for all of them.
fn errors(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Vec<SpannedText> {
    let all = || vec![SpannedValue { value: "*".to_owned(), span: node.span.clone() }];
    let Some(list) = texts(node, "errors", findings) else { return all() };
    if list.is_empty()
        && non_null_member(node, "errors").and_then(JsonNode::items).is_some_and(<[JsonNode]>::is_empty)
    {
        let hint = "name errors as in [\"model.*\", \"tool.failed\"], or [\"*\"] for all";
        let span = node.get("errors").map_or_else(|| node.span.clone(), |value| value.span.clone());
        findings.error("E10", span, "`errors` is empty: the rule never applies", Some(hint.to_owned()));
    }
    list
}

/// `catch`: one rule or several.
pub(super) fn catch(node: &JsonNode, scope: &str, findings: &mut FileDiagnostics<'_>) -> Vec<CatchForm> {
    let Some(value) = non_null_member(node, "catch") else { return Vec::new() };
    let items = match &value.kind {
        JsonNodeKind::Array(items) => items.as_slice(),
        _ => std::slice::from_ref(value),
    };
    items.iter().filter_map(|item| catch_rule(item, scope, findings)).collect()
}

fn catch_rule(node: &JsonNode, scope: &str, findings: &mut FileDiagnostics<'_>) -> Option<CatchForm> {
    object(node, &CATCH, findings)?;
    let errors = errors(node, findings);
    let key = data_key(node, findings);
    let before = text(node, "before", findings);
    let target = required_text(node, "target", "the catch rule", findings)?;
    Some(CatchForm { errors, key, before, target: scoped(target, scope) })
}

/// `as`: a key of `common_data`.
fn data_key(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Option<String> {
    let key = text(node, "as", findings)?;
    let plain = key.value.strip_prefix("common_data.").unwrap_or(&key.value);
    let mut letters = plain.chars();
    let first = letters.next().is_some_and(|c| c.is_alphabetic() || c == '_' || c == '$');
    if first && letters.all(|c| c.is_alphanumeric() || c == '_' || c == '$') {
        return Some(plain.to_owned());
    }
    let message = format!("`{}` is no key of `common_data`", key.value);
    let hint = "`as` is one name, for example \"plan\", which scripts then read as `common_data.plan`";
    findings.error("E10", key.span, message, Some(hint.to_owned()));
    None
}

/// `on_error`: `fail`, `continue`, or the state to go to.
pub(super) fn on_error(
    node: &JsonNode,
    scope: &str,
    findings: &mut FileDiagnostics<'_>,
) -> Option<OnErrorForm> {
    let word = text(node, "on_error", findings)?;
    Some(match word.value.as_str() {
        "fail" => OnErrorForm::Fail,
        "continue" => OnErrorForm::Continue,
        _ => OnErrorForm::Go(scoped(word, scope)),
    })
}

/// The name of a state, in its body.
pub(super) fn target(
    node: &JsonNode,
    key: &str,
    scope: &str,
    findings: &mut FileDiagnostics<'_>,
) -> Option<SpannedText> {
    text(node, key, findings).map(|name| scoped(name, scope))
}

pub(super) fn scoped(name: SpannedText, scope: &str) -> SpannedText {
    SpannedValue { value: format!("{scope}{}", name.value), span: name.span }
}

/// `output` of a state.
pub(super) fn store(
    node: &JsonNode,
    named: &NamedDefinitions,
    findings: &mut FileDiagnostics<'_>,
) -> Option<StateOutputSpec> {
    let value = non_null_member(node, "output")?;
    object(value, &OUTPUT, findings)?;
    let store =
        StateOutputSpec { key: data_key(value, findings), schema: schema::read(value, named, findings) };
    if non_null_member(value, "as").is_none() && non_null_member(value, "schema").is_none() {
        let hint = "add \"as\": \"key\" to keep the result, or \"schema\" to check it";
        findings.error("E10", value.span.clone(), "`output` says nothing", Some(hint.to_owned()));
    }
    Some(store)
}

/// Any JSON but `null`, which counts as absent.
pub(super) fn fallback(
    node: &JsonNode,
    store: Option<&StateOutputSpec>,
    findings: &mut FileDiagnostics<'_>,
) -> Option<serde_json::Value> {
    let value = non_null_member(node, "fallback")?;
    if let Some(schema) = store.and_then(|store| store.schema.as_ref()) {
        schema::fits(value, "fallback", schema, findings);
    }
    Some(value.to_value())
}
