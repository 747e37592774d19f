//! Every server that could be asked as things are set, with its key's name and where that key comes from.
//! Refuses: asking any of them, and the keys themselves.

use serde::Serialize;

use super::base_url::{is_loopback, normalized_authority};
use super::resolve::{CUSTOM, ModelResolver, is_serverless, provider_key};
use crate::layers::has_own_provider;
use synthdev_domain::model::ModelChoice;
use synthdev_domain::protocol::ModelProtocol;
use synthdev_language::model_selector::{LEVELS, ModelSelector};

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ConfiguredServer {
    /// A provider's name in the catalogue, or `custom`.
    pub provider: String,
    pub base_url: String,
    pub protocol: ModelProtocol,
    /// The name of its key in the key ring; never the key.
    pub key: Option<String>,
    /// Where that key was set, as text for the user.
    pub key_from: Option<String>,
    /// Why a key that was set is not sent there, as text for the user.
    pub kept_back: Option<String>,
    /// The server refuses requests without a key.
    pub needs_key: bool,
    /// Environment names that its key is usually in.
    pub key_env: Vec<String>,
    /// It runs on this machine.
    pub local: bool,
    /// Levels that ask it, with the model they ask.
    pub levels: Vec<ServerLevelUse>,
}

/// A level that asks a server.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ServerLevelUse {
    pub level: String,
    pub model: String,
}

impl ConfiguredServer {
    /// It can be asked: it has the key that it wants.
    pub fn is_usable(&self) -> bool {
        self.key.is_some() || !self.needs_key
    }

    /// For an adapter that lists models: a choice without a model.
    pub fn model_choice(&self) -> ModelChoice {
        ModelChoice {
            provider: self.provider.clone(),
            base_url: self.base_url.clone(),
            protocol: self.protocol,
            key: self.key.clone(),
            ..ModelChoice::default()
        }
    }
}

/// Those that levels ask, or would ask if they had a model, in their order, then the rest of the catalogue.
pub fn configured_servers(resolver: &ModelResolver<'_>) -> Vec<ConfiguredServer> {
    let mut found: Vec<ConfiguredServer> = Vec::new();
    for level in LEVELS {
        let choice = match resolver.resolve_choice(&ModelSelector::for_level(level)) {
            Ok(choice) => choice,
            Err(_) => match resolver.without_model(level) {
                Some(choice) => choice,
                None => continue,
            },
        };
        if is_serverless(&choice.provider) {
            continue;
        }
        let same = |one: &&mut ConfiguredServer| {
            one.provider == choice.provider && one.base_url == choice.base_url && one.key == choice.key
        };
        let named = !choice.model.is_empty();
        let asks = named.then(|| ServerLevelUse { level: level.to_owned(), model: choice.model.clone() });
        match found.iter_mut().find(same) {
            Some(server) => server.levels.extend(asks),
            None => {
                let (levels, kept_back) = (Vec::from_iter(asks), withheld_key_reason(resolver, &choice));
                found.push(ConfiguredServer { levels, kept_back, ..from_choice(resolver, &choice) });
            }
        }
    }
    let rest = resolver.models.providers.iter().filter(|provider| !is_serverless(&provider.name));
    for provider in rest {
        let Some(base_url) = resolver.provider_url(provider) else { continue };
        let known = |one: &ConfiguredServer| {
            one.provider == provider.name
                && normalized_authority(&one.base_url) == normalized_authority(&base_url)
        };
        if !found.iter().any(known) {
            let decided = resolver.first_allowed_key(&[provider_key(&provider.name)], &base_url);
            let choice = ModelChoice {
                provider: provider.name.clone(),
                base_url,
                protocol: provider.protocol.unwrap_or_default(),
                key: decided.key,
                ..ModelChoice::default()
            };
            found.push(ConfiguredServer {
                kept_back: decided.withheld_reason,
                ..from_choice(resolver, &choice)
            });
        }
    }
    found
}

/// A key that a level would use if its server were another one.
fn withheld_key_reason(resolver: &ModelResolver<'_>, choice: &ModelChoice) -> Option<String> {
    let level = choice.level.as_str();
    let base = (!has_own_provider(resolver.settings, level)).then(|| "base".to_owned());
    let names: Vec<String> =
        std::iter::once(level.to_owned()).chain(base).chain([provider_key(&choice.provider)]).collect();
    let decided = resolver.first_allowed_key(&names, &choice.base_url);
    decided.withheld_reason.filter(|_| choice.key.is_none())
}

fn from_choice(resolver: &ModelResolver<'_>, choice: &ModelChoice) -> ConfiguredServer {
    let known = resolver.models.provider(&choice.provider);
    let local = is_loopback(&choice.base_url);
    ConfiguredServer {
        provider: if choice.provider.is_empty() { CUSTOM.to_owned() } else { choice.provider.clone() },
        base_url: choice.base_url.clone(),
        protocol: choice.protocol,
        key_from: choice
            .key
            .as_ref()
            .and_then(|name| resolver.key_scopes.get(name))
            .map(|home| home.origin.clone()),
        kept_back: None,
        key: choice.key.clone(),
        needs_key: !local && known.and_then(|provider| provider.needs_key).unwrap_or(false),
        key_env: known.and_then(|provider| provider.key_env.clone()).unwrap_or_default(),
        local,
        levels: Vec::new(),
    }
}
