//! `models.json` → providers, with every problem and its place.

use super::provider_catalog::{CatalogModel, CatalogPrices, CatalogProvider, ProviderCatalog};
use crate::layers::value_type::{SettingValue, SettingValueType};
use synthdev_domain::decision_source::DecisionSource;
use synthdev_domain::diagnostic::Diagnostic;
use synthdev_domain::protocol::ModelProtocol;
use synthdev_domain::source_location::ConfigLayer;
use synthdev_language::did_you_mean;
use synthdev_language::fields::{ObjectFields, SpannedField, is_free};
use synthdev_language::json::{JsonNode, JsonNodeKind};
use synthdev_language::source::{FileDiagnostics, NOT_TAKEN, SourceFile};

pub(crate) const PROVIDER_KEYS: &[&str] = &[
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
pub(crate) const MODEL_KEYS: &[&str] = &[
    "protocol",
    "context_size",
    "max_output",
    "prices",
    "reasoning",
    "images",
    "parameters",
    "accepts",
    "decisions",
];

/// US dollars per million tokens: a thousand dollars a token, far above what any model costs. More is a slip of the
/// pen, and sums of it would mean nothing.
pub(crate) const HIGHEST_PRICE: f64 = 1e9;

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
pub fn load_providers(files: &[SourceFile]) -> (ProviderCatalog, Vec<Diagnostic>) {
    let mut models = ProviderCatalog::default();
    let mut ordered: Vec<&SourceFile> = files.iter().collect();
    ordered.sort_by_key(|file| file.layer);
    let mut seen = Vec::new();
    for file in ordered {
        let mut findings = FileDiagnostics::new(file);
        let root = JsonNode::parse(file, &mut findings);
        let mut refused = Vec::new();
        for mut provider in root.iter().flat_map(|root| read_models_file(root, &mut findings)) {
            // under another name a key would be no key any more: commands and models could see it
            let is_known = models.provider(&provider.name).is_some();
            if file.layer == ConfigLayer::Project && is_known && provider.key_env.take().is_some() {
                refused.push(provider.name.clone());
            }
            models.merge_provider(provider);
        }
        seen.push((root, findings, refused));
    }
    let mut diagnostics = Vec::new();
    for (root, mut findings, refused) in seen {
        // what one file leaves open another may say
        if let Some(root) = root.filter(|_| findings.list.is_empty()) {
            half_prices(&root, &models, &mut findings);
            refused.iter().for_each(|name| report_renamed_key(&root, name, &mut findings));
        }
        diagnostics.append(&mut findings.list);
    }
    (models, diagnostics)
}

fn read_models_file(root: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Vec<CatalogProvider> {
    let Some(fields) = ObjectFields::from_node(root, "the model catalogue", findings) else {
        return Vec::new();
    };
    fields.reject_unknown_keys(&["providers"], findings);
    let Some(providers) = fields.get(&["providers"], findings) else { return Vec::new() };
    let Some(providers) = ObjectFields::from_node(providers, "`providers`", findings) else {
        return Vec::new();
    };
    let named = providers.members.iter().filter(|member| !is_free(&member.key));
    named.filter_map(|member| read_provider(&member.key, &member.value, findings)).collect()
}

/// What a project says of the key of a provider that others know.
fn report_renamed_key(root: &JsonNode, provider: &str, findings: &mut FileDiagnostics<'_>) {
    let named = root.get("providers").and_then(|all| all.get(provider)?.get("key_env"));
    let span = named.map_or(0..0, |node| node.span.clone());
    let message =
        format!("key_env of {provider} is not taken: a project's files cannot change where keys come from");
    let hint = "set `key_env` in your own models.json if you want it";
    findings.add_warning(NOT_TAKEN, span, message, Some(hint.to_owned()));
}

/// A price that lacks one half after all files are read is unknown: a finding names the missing half.
fn half_prices(root: &JsonNode, models: &ProviderCatalog, findings: &mut FileDiagnostics<'_>) {
    for member in root.get("providers").and_then(JsonNode::members).into_iter().flatten() {
        let Some(provider) = models.provider(&member.key) else { continue };
        let listed = member.value.get("models").and_then(JsonNode::members).into_iter().flatten();
        let of_models = listed.filter_map(|one| Some((one.value.get("prices")?, provider.model(&one.key))));
        let own = member.value.get("prices").map(|node| (node, None));
        for (node, model) in own.into_iter().chain(of_models) {
            let says = node.members().is_some_and(|all| !all.is_empty());
            let Some(half) = provider.missing_price(model).filter(|_| says) else { continue };
            let message = format!("`prices` has no `{half}`: the price stays unknown");
            let hint = format!("add \"{half}\": dollars per million tokens, or set \"prices\" to null");
            findings.add_error("C03", node.span.clone(), message, Some(hint));
        }
    }
}

fn read_provider(name: &str, node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Option<CatalogProvider> {
    let fields = ObjectFields::from_node(node, "a provider", findings)?;
    fields.reject_unknown_keys(PROVIDER_KEYS, findings);
    let base_url = fields.text(&["base_url"], findings).and_then(|url| checked_url(url, findings));
    Some(CatalogProvider {
        name: name.to_owned(),
        base_url,
        protocol: read_protocol(&fields, findings),
        key_env: texts_without_spans(fields.texts(&["key_env"], findings)),
        url_env: texts_without_spans(fields.texts(&["url_env"], findings)),
        needs_key: fields.flag(&["needs_key"], findings),
        model_prefixes: texts_without_spans(fields.texts(&["model_prefixes"], findings)),
        accepted_parameters: read_accepted_parameters(&fields, findings),
        prices: read_prices(&fields, findings),
        models: read_models(&fields, findings),
    })
}

fn read_models(fields: &ObjectFields<'_>, findings: &mut FileDiagnostics<'_>) -> Vec<CatalogModel> {
    let Some(node) = fields.get(&["models"], findings) else { return Vec::new() };
    let Some(models) = ObjectFields::from_node(node, "`models`", findings) else { return Vec::new() };
    let named = models.members.iter().filter(|member| !is_free(&member.key));
    named.filter_map(|member| read_model(&member.key, &member.value, findings)).collect()
}

fn read_model(name: &str, node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Option<CatalogModel> {
    let fields = ObjectFields::from_node(node, "a model", findings)?;
    fields.reject_unknown_keys(MODEL_KEYS, findings);
    let mut parameters = serde_json::Map::new();
    if let Some(node) = fields.get(&["parameters"], findings)
        && let Some(given) = ObjectFields::from_node(node, "`parameters`", findings)
    {
        given.reject_unknown_keys(PARAMETERS, findings);
        parameters.extend(given.members.iter().map(|member| (member.key.clone(), member.value.to_value())));
    }
    Some(CatalogModel {
        name: name.to_owned(),
        protocol: read_protocol(&fields, findings),
        context_size: fields.count(&["context_size"], findings),
        max_output: fields.count(&["max_output"], findings),
        prices: read_prices(&fields, findings),
        reasoning: fields.flag(&["reasoning"], findings),
        images: fields.flag(&["images"], findings),
        parameters,
        accepted_parameters: read_accepted_parameters(&fields, findings),
        decision_start: read_decision_start(&fields, findings),
    })
}

fn read_prices(fields: &ObjectFields<'_>, findings: &mut FileDiagnostics<'_>) -> CatalogPrices {
    let Some(node) = fields.get(&["prices"], findings) else { return CatalogPrices::default() };
    let Some(prices) = ObjectFields::from_node(node, "`prices`", findings) else {
        return CatalogPrices::default();
    };
    prices.reject_unknown_keys(&["input", "output", "cached", "written"], findings);
    CatalogPrices {
        input: read_dollars(&prices, "input", findings),
        output: read_dollars(&prices, "output", findings),
        cached: read_dollars(&prices, "cached", findings),
        cache_write: read_dollars(&prices, "written", findings),
    }
}

/// Dollars per million tokens.
fn read_dollars(prices: &ObjectFields<'_>, key: &str, findings: &mut FileDiagnostics<'_>) -> Option<f64> {
    let node = prices.get(&[key], findings)?;
    let amount = node.to_value().as_f64().filter(|amount| (0.0..=HIGHEST_PRICE).contains(amount));
    if amount.is_none() {
        let found = match &node.kind {
            JsonNodeKind::Number(text) => text.clone(),
            JsonNodeKind::String(text) => format!("the text \"{text}\""),
            JsonNodeKind::Null | JsonNodeKind::Bool(_) | JsonNodeKind::Array(_) | JsonNodeKind::Object(_) => {
                node.kind_name().to_owned()
            }
        };
        let message = format!("the price `{key}` must be a number from 0 to {HIGHEST_PRICE}, found {found}");
        let hint = "write dollars per million tokens, such as 2.5, or null where it is not known";
        findings.add_error("C03", node.span.clone(), message, Some(hint.to_owned()));
    }
    amount
}

fn read_accepted_parameters(
    fields: &ObjectFields<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> Option<Vec<String>> {
    let names = fields.texts(&["accepts"], findings)?;
    for name in names.iter().filter(|name| !PARAMETERS.contains(&name.value.as_str())) {
        let hint = did_you_mean::suggest_or_list(&name.value, "known parameters", PARAMETERS);
        findings.add_error("C06", name.span.clone(), format!("`{}` is no parameter", name.value), hint);
    }
    texts_without_spans(Some(names))
}

fn read_decision_start(
    fields: &ObjectFields<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> Option<DecisionSource> {
    let given = fields.text(&["decisions"], findings)?;
    let found = DecisionSource::ALL.into_iter().find(|known| known.as_str() == given.value);
    if found.is_none() {
        let known = DecisionSource::ALL.map(DecisionSource::as_str);
        let hint = did_you_mean::suggest_or_list(&given.value, "ways to ask for a decision", &known);
        findings.add_error(
            "C06",
            given.span,
            format!("`{}` is no way to ask for a decision", given.value),
            hint,
        );
    }
    found
}

fn read_protocol(fields: &ObjectFields<'_>, findings: &mut FileDiagnostics<'_>) -> Option<ModelProtocol> {
    let given = fields.text(&["protocol"], findings)?;
    let found = ModelProtocol::ALL.into_iter().find(|known| known.as_str() == given.value);
    if found.is_none() {
        let hint = did_you_mean::suggest_or_list(
            &given.value,
            "protocols",
            &ModelProtocol::ALL.map(ModelProtocol::as_str),
        );
        findings.add_error("C06", given.span, format!("`{}` is no protocol", given.value), hint);
    }
    found
}

fn checked_url(url: SpannedField<String>, findings: &mut FileDiagnostics<'_>) -> Option<String> {
    match SettingValueType::Url.check_value(&url.value.into()) {
        Ok(SettingValue::Plain(value)) => value.as_str().map(str::to_owned),
        Ok(SettingValue::Secret { .. }) => None,
        Err((code, why)) => {
            findings.add_error(code, url.span, format!("`base_url` {why}"), None);
            None
        }
    }
}

fn texts_without_spans(texts: Option<Vec<SpannedField<String>>>) -> Option<Vec<String>> {
    texts.map(|texts| texts.into_iter().map(|text| text.value).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Under another name a key is no secret any more: commands see it, texts for models show it, and it is sent anywhere.
    #[test]
    fn a_project_renames_no_key_that_others_know() {
        let file = |layer, key_env: &str| {
            let text = format!(
                r#"{{"providers": {{"acme": {{"base_url": "https://a.example", "key_env": {key_env}}}}}}}"#
            );
            SourceFile::new(layer, "models.json", text)
        };
        let named = |files: &[SourceFile]| {
            let (models, found) = load_providers(files);
            let codes: Vec<String> = found.into_iter().map(|one| one.code).collect();
            (models.provider("acme").and_then(|acme| acme.key_env.clone()).unwrap_or_default(), codes)
        };
        let (user, project) = (ConfigLayer::User, ConfigLayer::Project);
        let rows = [
            (vec![file(user, r#"["A"]"#), file(project, r#"["B"]"#)], "A", vec![NOT_TAKEN.to_owned()]),
            (vec![file(project, r#"["B"]"#)], "B", Vec::new()),
            (vec![file(ConfigLayer::BuiltIn, r#"["A"]"#), file(user, r#"["B"]"#)], "B", Vec::new()),
        ];
        for (files, key, codes) in rows {
            assert_eq!(named(&files), (vec![key.to_owned()], codes));
        }
    }
}
