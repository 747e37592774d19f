//! The parameters of a model call: which layer sets them, and which of them the model accepts.

use super::super::models_file::PARAMETERS;
use super::super::provider_catalog::{CatalogModel, CatalogProvider};
use crate::layers::EffectiveSettings;
use synthdev_domain::model::ModelParameters;
use synthdev_language::model_selector::ModelSelector;

/// Catalogue defaults, then settings, then the agent's own; only what the model accepts. Also the names that were dropped.
pub(super) fn merged_parameters(
    settings: &EffectiveSettings,
    wish: &ModelSelector,
    provider: Option<&CatalogProvider>,
    model: Option<&CatalogModel>,
) -> (ModelParameters, Vec<String>) {
    let accepted = accepted_parameters(provider, model);
    let mut merged = model.map(|model| model.parameters.clone()).unwrap_or_default();
    if let Ok(serde_json::Value::Object(set)) = serde_json::to_value(settings.parameters()) {
        merged.extend(set);
    }
    merged.extend(wish.temperature.map(|number| ("temperature".to_owned(), number.into())));
    merged.extend(wish.max_output_tokens.map(|tokens| ("max_output_tokens".to_owned(), tokens.into())));
    let mut dropped = Vec::new();
    merged.retain(|name, _| {
        let keep = accepted.contains(&name.as_str());
        if !keep {
            dropped.push(name.clone());
        }
        keep
    });
    let parameters = serde_json::from_value(serde_json::Value::Object(merged)).unwrap_or_default();
    (parameters, dropped)
}

/// A model's own list; nothing but length and effort for a reasoning model; the provider's list; everything for a
/// server that no catalogue describes.
pub(super) fn accepted_parameters<'a>(
    provider: Option<&'a CatalogProvider>,
    model: Option<&'a CatalogModel>,
) -> Vec<&'a str> {
    if let Some(own) = model.and_then(|model| model.accepted_parameters.as_ref()) {
        return own.iter().map(String::as_str).collect();
    }
    if model.and_then(|model| model.reasoning).unwrap_or(false) {
        return vec!["max_output_tokens", "reasoning_effort"];
    }
    match provider.and_then(|provider| provider.accepted_parameters.as_ref()) {
        Some(list) => list.iter().map(String::as_str).collect(),
        None => PARAMETERS.to_vec(),
    }
}
