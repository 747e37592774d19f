//! Providers and models as data, merged field by field over the layers.

use serde_json::{Map, Value};

use synthdev_domain::cost::TokenPrice;
use synthdev_domain::decision_source::DecisionSource;
use synthdev_domain::protocol::ModelProtocol;

/// Every known provider, in order of first appearance (built-in file first).
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ProviderCatalog {
    pub providers: Vec<CatalogProvider>,
}

/// One provider. `None` and empty mean "not set", so that a later file can set it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CatalogProvider {
    pub name: String,
    pub base_url: Option<String>,
    /// `None`: chat completions.
    pub protocol: Option<ModelProtocol>,
    /// Environment names that hold its key, the strongest first.
    pub key_env: Option<Vec<String>>,
    /// Environment names that hold its URL or host.
    pub url_env: Option<Vec<String>>,
    pub needs_key: Option<bool>,
    /// Model names that begin so belong to it.
    pub model_prefixes: Option<Vec<String>>,
    /// Parameters that its models accept unless they say otherwise.
    pub accepted_parameters: Option<Vec<String>>,
    /// For every model without prices of its own (local servers: nothing).
    pub prices: CatalogPrices,
    pub models: Vec<CatalogModel>,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct CatalogModel {
    pub name: String,
    /// `None`: its provider's.
    pub protocol: Option<ModelProtocol>,
    /// Tokens.
    pub context_size: Option<u64>,
    /// Tokens.
    pub max_output: Option<u64>,
    pub prices: CatalogPrices,
    pub reasoning: Option<bool>,
    /// It takes images.
    pub images: Option<bool>,
    /// Sent unless settings say otherwise.
    pub parameters: Map<String, Value>,
    pub accepted_parameters: Option<Vec<String>>,
    /// How its decisions are asked for first.
    pub decision_start: Option<DecisionSource>,
}

/// US dollars per million tokens.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct CatalogPrices {
    pub input: Option<f64>,
    pub output: Option<f64>,
    pub cached: Option<f64>,
    pub cache_write: Option<f64>,
}

impl ProviderCatalog {
    pub fn provider(&self, name: &str) -> Option<&CatalogProvider> {
        self.providers.iter().find(|provider| provider.name == name)
    }

    /// Takes a later file's provider: each field that it sets wins.
    pub fn merge_provider(&mut self, later: CatalogProvider) {
        match self.providers.iter_mut().find(|provider| provider.name == later.name) {
            Some(earlier) => earlier.merge_fields(later),
            None => self.providers.push(later),
        }
    }
}

impl CatalogProvider {
    pub fn model(&self, name: &str) -> Option<&CatalogModel> {
        self.models.iter().find(|model| model.name == name)
    }

    /// The protocol of one of its models: as the model says, else as the provider does, else chat completions.
    pub fn protocol(&self, model: Option<&CatalogModel>) -> ModelProtocol {
        model.and_then(|model| model.protocol).or(self.protocol).unwrap_or_default()
    }

    /// `None` if input or output price is unknown.
    pub fn price(&self, model: Option<&CatalogModel>) -> Option<TokenPrice> {
        let of_model = model.map(|model| model.prices).unwrap_or_default();
        let prices = of_model.prefer_over(self.prices);
        let CatalogPrices { input, output, cached, cache_write: written } = prices;
        Some(TokenPrice { input: input?, output: output?, cached, written })
    }

    /// The missing half of a price that is set in part.
    pub fn missing_price(&self, model: Option<&CatalogModel>) -> Option<&'static str> {
        let prices = model.map(|model| model.prices).unwrap_or_default().prefer_over(self.prices);
        let said = prices != CatalogPrices::default();
        match (prices.input, prices.output) {
            (None, _) if said => Some("input"),
            (_, None) if said => Some("output"),
            _ => None,
        }
    }

    fn merge_fields(&mut self, later: Self) {
        overwrite_if_set(&mut self.base_url, later.base_url);
        overwrite_if_set(&mut self.protocol, later.protocol);
        overwrite_if_set(&mut self.key_env, later.key_env);
        overwrite_if_set(&mut self.url_env, later.url_env);
        overwrite_if_set(&mut self.needs_key, later.needs_key);
        overwrite_if_set(&mut self.model_prefixes, later.model_prefixes);
        overwrite_if_set(&mut self.accepted_parameters, later.accepted_parameters);
        self.prices = later.prices.prefer_over(self.prices);
        for model in later.models {
            match self.models.iter_mut().find(|known| known.name == model.name) {
                Some(earlier) => earlier.merge_fields(model),
                None => self.models.push(model),
            }
        }
    }
}

impl CatalogModel {
    fn merge_fields(&mut self, later: Self) {
        overwrite_if_set(&mut self.protocol, later.protocol);
        overwrite_if_set(&mut self.context_size, later.context_size);
        overwrite_if_set(&mut self.max_output, later.max_output);
        overwrite_if_set(&mut self.reasoning, later.reasoning);
        overwrite_if_set(&mut self.decision_start, later.decision_start);
        overwrite_if_set(&mut self.images, later.images);
        overwrite_if_set(&mut self.accepted_parameters, later.accepted_parameters);
        self.prices = later.prices.prefer_over(self.prices);
        self.parameters.extend(later.parameters);
    }
}

impl CatalogPrices {
    /// These prices, and the others where these say nothing.
    fn prefer_over(self, below: Self) -> Self {
        Self {
            input: self.input.or(below.input),
            output: self.output.or(below.output),
            cached: self.cached.or(below.cached),
            cache_write: self.cache_write.or(below.cache_write),
        }
    }
}

fn overwrite_if_set<T>(earlier: &mut Option<T>, later: Option<T>) {
    if later.is_some() {
        *earlier = later;
    }
}
