//! Reads what a state or workflow may spend, and what happens when it fails: `retry`, `catch`, `on_error`, `timeout`,
//! `budget`, `output`. The keys are declared in `state_form.rs` and `workflow_object.rs`, those inside them in
//! `recovery_forms.rs`.

use super::super::json::{JsonNode, JsonNodeKind};
use super::super::source::FileDiagnostics;
use super::definitions_lookup::NamedDefinitions;
use super::fields::{
    check_object, non_null_member, read_count, read_duration, read_flag, read_number, read_text, read_texts,
    required_text,
};
use super::recovery_forms::{BUDGET, CAP, CATCH, CatchForm, OUTPUT, OnErrorForm, RETRY, RetryForm};
use super::schema;
use super::spanned::{SpannedText, SpannedValue};
use synthdev_domain::workflow::{Budget, BudgetCap, RetryBackoff, StateOutputSpec};

/// Attempts of a retry rule that does not say how many.
const ATTEMPTS: u32 = 3;

/// A length of time by key: seconds, ISO 8601, or a name of `use.timeouts`.
pub(super) fn read_time_span(
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
            named.find_timeout(name, &value.span, findings)
        }
        _ => read_duration(value, key, findings),
    }
}

pub(super) fn read_timeout(
    node: &JsonNode,
    named: &NamedDefinitions,
    findings: &mut FileDiagnostics<'_>,
) -> Option<u64> {
    read_time_span(node, "timeout", named, findings)
}

/// `budget`: tokens, dollars and time, each a number or `{soft, hard}`.
pub(super) fn read_budget(
    node: &JsonNode,
    named: &NamedDefinitions,
    findings: &mut FileDiagnostics<'_>,
) -> Budget {
    let Some(value) = non_null_member(node, "budget") else { return Budget::default() };
    if check_object(value, &BUDGET, findings).is_none() {
        return Budget::default();
    }
    let tokens = read_cap(value, "tokens", findings, |node, key, findings| {
        read_count(node, key, findings).map(u64::from)
    });
    let cost_usd = read_cap(value, "cost_usd", findings, |node, key, findings| {
        read_number(node, key, 0.0..=f64::INFINITY, findings)
    });
    let duration_ms = read_cap(value, "duration", findings, |node, key, findings| {
        read_time_span(node, key, named, findings)
    });
    Budget { tokens, cost_usd, duration_ms }
}

/// A plain value is the hard end.
fn read_cap<T: Copy + PartialOrd + Default>(
    node: &JsonNode,
    key: &str,
    findings: &mut FileDiagnostics<'_>,
    read: impl Fn(&JsonNode, &str, &mut FileDiagnostics<'_>) -> Option<T>,
) -> BudgetCap<T> {
    let Some(value) = non_null_member(node, key) else { return BudgetCap::default() };
    if value.members().is_none() {
        return BudgetCap { soft: None, hard: read(node, key, findings) };
    }
    if check_object(value, &CAP, findings).is_none() {
        return BudgetCap::default();
    }
    let cap = BudgetCap { soft: read(value, "soft", findings), hard: read(value, "hard", findings) };
    if let (Some(soft), Some(hard)) = (cap.soft, cap.hard)
        && soft > hard
    {
        let hint = "the soft end warns before the hard one pauses: make it smaller";
        let message = format!("the soft end of `{key}` is above the hard one");
        findings.add_error("E10", value.span.clone(), message, Some(hint.to_owned()));
    }
    cap
}

/// `retry`: one rule or several; a text is a name of `use.retries`.
pub(super) fn read_retry(
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
            JsonNodeKind::String(name) => rules.extend(named.find_retry(name, &item.span, findings)),
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
    check_object(node, &RETRY, findings)?;
    let usual = RetryBackoff::default();
    let delay_ms = if is_zero(node, "delay") {
        0
    } else {
        read_time_span(node, "delay", named, findings).unwrap_or(usual.delay_ms)
    };
    let most = read_time_span(node, "max_delay", named, findings);
    if let Some(most) = most
        && most < delay_ms
        && let Some(value) = node.get("max_delay")
    {
        let hint = "make `max_delay` larger, or leave it out";
        findings.add_error("E10", value.span.clone(), "`max_delay` is below `delay`", Some(hint.to_owned()));
    }
    Some(RetryForm {
        errors: read_errors(node, findings),
        max_attempts: read_count(node, "max_attempts", findings).unwrap_or(ATTEMPTS),
        backoff: RetryBackoff {
            delay_ms,
            factor: read_number(node, "backoff", 1.0..=1_000.0, findings).unwrap_or(usual.factor),
            max_delay_ms: most.unwrap_or(usual.max_delay_ms.max(delay_ms)),
            jitter: read_flag(node, "jitter", findings).unwrap_or(usual.jitter),
        },
    })
}

fn is_zero(node: &JsonNode, key: &str) -> bool {
    matches!(node.get(key).map(|value| &value.kind), Some(JsonNodeKind::Number(text)) if text.parse() == Ok(0.0))
}

/// Without `errors` a rule is for all of them.
fn read_errors(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Vec<SpannedText> {
    let all = || vec![SpannedValue { value: "*".to_owned(), span: node.span.clone() }];
    let Some(list) = read_texts(node, "errors", findings) else { return all() };
    if list.is_empty()
        && non_null_member(node, "errors").and_then(JsonNode::items).is_some_and(<[JsonNode]>::is_empty)
    {
        let hint = "name errors as in [\"model.*\", \"tool.failed\"], or [\"*\"] for all";
        let span = node.get("errors").map_or_else(|| node.span.clone(), |value| value.span.clone());
        findings.add_error("E10", span, "`errors` is empty: the rule never applies", Some(hint.to_owned()));
    }
    list
}

/// `catch`: one rule or several.
pub(super) fn read_catch(node: &JsonNode, scope: &str, findings: &mut FileDiagnostics<'_>) -> Vec<CatchForm> {
    let Some(value) = non_null_member(node, "catch") else { return Vec::new() };
    let items = match &value.kind {
        JsonNodeKind::Array(items) => items.as_slice(),
        _ => std::slice::from_ref(value),
    };
    items.iter().filter_map(|item| catch_rule(item, scope, findings)).collect()
}

fn catch_rule(node: &JsonNode, scope: &str, findings: &mut FileDiagnostics<'_>) -> Option<CatchForm> {
    check_object(node, &CATCH, findings)?;
    let errors = read_errors(node, findings);
    let key = data_key(node, findings);
    let before = read_text(node, "before", findings);
    let target = required_text(node, "target", "the catch rule", findings)?;
    Some(CatchForm { errors, key, before_script: before, target: with_scope(target, scope) })
}

/// `as`: a key of `common_data`.
fn data_key(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Option<String> {
    let key = read_text(node, "as", findings)?;
    let plain = key.value.strip_prefix("common_data.").unwrap_or(&key.value);
    let mut letters = plain.chars();
    let first = letters.next().is_some_and(|c| c.is_alphabetic() || c == '_' || c == '$');
    if first && letters.all(|c| c.is_alphanumeric() || c == '_' || c == '$') {
        return Some(plain.to_owned());
    }
    let message = format!("`{}` is no key of `common_data`", key.value);
    let hint = "`as` is one name, for example \"plan\", which scripts then read as `common_data.plan`";
    findings.add_error("E10", key.span, message, Some(hint.to_owned()));
    None
}

/// `on_error`: `fail`, `continue`, or the state to go to.
pub(super) fn on_error(
    node: &JsonNode,
    scope: &str,
    findings: &mut FileDiagnostics<'_>,
) -> Option<OnErrorForm> {
    let word = read_text(node, "on_error", findings)?;
    Some(match word.value.as_str() {
        "fail" => OnErrorForm::Fail,
        "continue" => OnErrorForm::Continue,
        _ => OnErrorForm::Go(with_scope(word, scope)),
    })
}

/// The name of a state, in its body.
pub(super) fn read_target(
    node: &JsonNode,
    key: &str,
    scope: &str,
    findings: &mut FileDiagnostics<'_>,
) -> Option<SpannedText> {
    read_text(node, key, findings).map(|name| with_scope(name, scope))
}

pub(super) fn with_scope(name: SpannedText, scope: &str) -> SpannedText {
    SpannedValue { value: format!("{scope}{}", name.value), span: name.span }
}

/// `output` of a state.
pub(super) fn read_output(
    node: &JsonNode,
    named: &NamedDefinitions,
    findings: &mut FileDiagnostics<'_>,
) -> Option<StateOutputSpec> {
    let value = non_null_member(node, "output")?;
    check_object(value, &OUTPUT, findings)?;
    let store = StateOutputSpec {
        key: data_key(value, findings),
        schema: schema::read_schema(value, named, findings),
    };
    if non_null_member(value, "as").is_none() && non_null_member(value, "schema").is_none() {
        let hint = "add \"as\": \"key\" to keep the result, or \"schema\" to check it";
        findings.add_error("E10", value.span.clone(), "`output` says nothing", Some(hint.to_owned()));
    }
    Some(store)
}

/// Any JSON but `null`, which counts as absent.
pub(super) fn read_fallback(
    node: &JsonNode,
    store: Option<&StateOutputSpec>,
    findings: &mut FileDiagnostics<'_>,
) -> Option<serde_json::Value> {
    let value = non_null_member(node, "fallback")?;
    if let Some(schema) = store.and_then(|store| store.schema.as_ref()) {
        schema::check_value_fits(value, "fallback", schema, findings);
    }
    Some(value.to_value())
}
