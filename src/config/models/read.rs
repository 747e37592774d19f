//! `models.json` → providers, with every problem and its place.

use super::catalogue::{Model, Models, Prices, Provider};
use crate::config::fields::{At, Fields, is_free};
use crate::config::json::Node;
use crate::config::settings::shape::{Datum, Shape};
use crate::config::source::{Findings, SourceFile};
use crate::config::suggest;
use crate::domain::diagnostic::Diagnostic;
use crate::domain::protocol::Protocol;

const PROVIDER_KEYS: &[&str] = &[
    "base_url",
    "protocol",
    "key_env",
    "url_env",
    "needs_key",
    "model_prefixes",
    "accepts",
    "prices",
    "models",
];
const MODEL_KEYS: &[&str] =
    &["protocol", "context_size", "max_output", "prices", "reasoning", "parameters", "accepts"];

/// Names of sampling parameters, as in settings.
pub const PARAMETERS: &[&str] = &[
    "temperature",
    "top_p",
    "top_k",
    "frequency_penalty",
    "presence_penalty",
    "repetition_penalty",
    "max_output_tokens",
    "reasoning_effort",
];

/// Merges all files, lowest layer first. A broken file leaves the others.
pub fn load(files: &[SourceFile]) -> (Models, Vec<Diagnostic>) {
    let mut models = Models::default();
    let mut diagnostics = Vec::new();
    let mut ordered: Vec<&SourceFile> = files.iter().collect();
    ordered.sort_by_key(|file| file.layer);
    for file in ordered {
        let mut findings = Findings::new(file);
        for provider in read(file, &mut findings) {
            models.merge(provider);
        }
        diagnostics.append(&mut findings.list);
    }
    (models, diagnostics)
}

fn read(file: &SourceFile, findings: &mut Findings<'_>) -> Vec<Provider> {
    let Some(root) = Node::parse(file, findings) else { return Vec::new() };
    let Some(fields) = Fields::of(&root, "the model catalogue", findings) else { return Vec::new() };
    fields.allow(&["providers"], findings);
    let Some(providers) = fields.get(&["providers"], findings) else { return Vec::new() };
    let Some(providers) = Fields::of(providers, "`providers`", findings) else { return Vec::new() };
    let named = providers.members.iter().filter(|member| !is_free(&member.key));
    named.filter_map(|member| provider(&member.key, &member.value, findings)).collect()
}

fn provider(name: &str, node: &Node, findings: &mut Findings<'_>) -> Option<Provider> {
    let fields = Fields::of(node, "a provider", findings)?;
    fields.allow(PROVIDER_KEYS, findings);
    let base_url = fields.text(&["base_url"], findings).and_then(|url| checked_url(url, findings));
    Some(Provider {
        name: name.to_owned(),
        base_url,
        protocol: protocol(&fields, findings),
        key_env: plain(fields.texts(&["key_env"], findings)),
        url_env: plain(fields.texts(&["url_env"], findings)),
        needs_key: fields.flag(&["needs_key"], findings),
        model_prefixes: plain(fields.texts(&["model_prefixes"], findings)),
        accepts: accepts(&fields, findings),
        prices: prices(&fields, findings),
        models: models(&fields, findings),
    })
}

fn models(fields: &Fields<'_>, findings: &mut Findings<'_>) -> Vec<Model> {
    let Some(node) = fields.get(&["models"], findings) else { return Vec::new() };
    let Some(models) = Fields::of(node, "`models`", findings) else { return Vec::new() };
    let named = models.members.iter().filter(|member| !is_free(&member.key));
    named.filter_map(|member| model(&member.key, &member.value, findings)).collect()
}

fn model(name: &str, node: &Node, findings: &mut Findings<'_>) -> Option<Model> {
    let fields = Fields::of(node, "a model", findings)?;
    fields.allow(MODEL_KEYS, findings);
    let mut parameters = serde_json::Map::new();
    if let Some(node) = fields.get(&["parameters"], findings)
        && let Some(given) = Fields::of(node, "`parameters`", findings)
    {
        given.allow(PARAMETERS, findings);
        parameters.extend(given.members.iter().map(|member| (member.key.clone(), member.value.to_value())));
    }
    Some(Model {
        name: name.to_owned(),
        protocol: protocol(&fields, findings),
        context_size: fields.count(&["context_size"], findings),
        max_output: fields.count(&["max_output"], findings),
        prices: prices(&fields, findings),
        reasoning: fields.flag(&["reasoning"], findings),
        parameters,
        accepts: accepts(&fields, findings),
    })
}

fn prices(fields: &Fields<'_>, findings: &mut Findings<'_>) -> Prices {
    let Some(node) = fields.get(&["prices"], findings) else { return Prices::default() };
    let Some(prices) = Fields::of(node, "`prices`", findings) else { return Prices::default() };
    prices.allow(&["input", "output", "cached"], findings);
    Prices {
        input: prices.amount(&["input"], findings),
        output: prices.amount(&["output"], findings),
        cached: prices.amount(&["cached"], findings),
    }
}

fn accepts(fields: &Fields<'_>, findings: &mut Findings<'_>) -> Option<Vec<String>> {
    let names = fields.texts(&["accepts"], findings)?;
    for name in names.iter().filter(|name| !PARAMETERS.contains(&name.value.as_str())) {
        let hint = suggest::or_list(&name.value, "known parameters", PARAMETERS);
        findings.error("C06", name.span.clone(), format!("`{}` is no parameter", name.value), hint);
    }
    plain(Some(names))
}

fn protocol(fields: &Fields<'_>, findings: &mut Findings<'_>) -> Option<Protocol> {
    let given = fields.text(&["protocol"], findings)?;
    let found = Protocol::ALL.into_iter().find(|known| known.as_str() == given.value);
    if found.is_none() {
        let hint = suggest::or_list(&given.value, "protocols", &Protocol::ALL.map(Protocol::as_str));
        findings.error("C06", given.span, format!("`{}` is no protocol", given.value), hint);
    }
    found
}

fn checked_url(url: At<String>, findings: &mut Findings<'_>) -> Option<String> {
    match Shape::Url.check(&url.value.into()) {
        Ok(Datum::Plain(value)) => value.as_str().map(str::to_owned),
        Ok(Datum::Secret(_)) => None,
        Err((code, why)) => {
            findings.error(code, url.span, format!("`base_url` {why}"), None);
            None
        }
    }
}

fn plain(texts: Option<Vec<At<String>>>) -> Option<Vec<String>> {
    texts.map(|texts| texts.into_iter().map(|text| text.value).collect())
}
