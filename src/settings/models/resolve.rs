//! Level → provider, URL, model, key name, parameters, price: decided once, with its reasons.

mod parameters;
mod select_key;
mod unknown_providers;

use self::parameters::{accepted_parameters, merged_parameters};
use super::base_url::{common_path, complete_url, same_origin};
use super::key_scope::KeyScopes;
use super::provider_catalog::{CatalogProvider, ProviderCatalog};
use crate::layers::environment::EnvironmentVars;
use crate::layers::value_type::{SettingValue, SettingValueType};
use crate::layers::{EffectiveSetting, EffectiveSettings, has_own_provider};
use crate::redaction::{KeyRing, SecretText};
use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_domain::model::ModelChoice;
use synthdev_domain::source_location::SourceLocation;
use synthdev_language::did_you_mean;
use synthdev_language::model_selector::{LEVELS, ModelSelector};

/// The provider that answers from a script instead of a server.
pub const SCRIPTED: &str = "scripted";
/// The provider whose models are those of the workflow server's client.
pub const AGENT_LLM: &str = "agentllm";
/// A server that the catalogue does not know.
pub const CUSTOM: &str = "custom";
const PROVIDER: &str = "provider:";

/// Everything that the decision rests on.
#[derive(Clone, Copy, Debug)]
pub struct ModelResolver<'a> {
    pub settings: &'a EffectiveSettings,
    pub models: &'a ProviderCatalog,
    pub environment: &'a EnvironmentVars,
    pub keys: &'a KeyRing,
    /// Where each of them may be sent.
    pub key_scopes: &'a KeyScopes,
}

/// All keys by name. A key of ours beats a provider's usual environment name.
pub fn key_ring(
    settings: &EffectiveSettings,
    models: &ProviderCatalog,
    environment: &EnvironmentVars,
) -> KeyRing {
    let mut ring = KeyRing::new();
    for provider in &models.providers {
        let names = provider.key_env.iter().flatten();
        if let Some((key, _)) = names.filter_map(|name| environment.get(name)).next() {
            ring.insert(provider_key(&provider.name), SecretText::new(key.trim()));
        }
    }
    for (provider, secret) in settings.provider_keys() {
        ring.insert(provider_key(provider), secret.clone());
    }
    for level in LEVELS {
        if let Some(secret) = settings.own_level_setting(level, "api_key").and_then(EffectiveSetting::secret)
        {
            ring.insert(level.to_owned(), secret.clone());
        }
    }
    ring
}

/// What a level asks when no agent wants otherwise.
pub(crate) struct LevelEndpoint {
    pub(crate) url: String,
    /// The level's settings say so; else the provider's own.
    pub(super) is_set_by_level: bool,
    pub(super) needs_key: bool,
}

/// Whether a provider is none that has a server, an address and a key.
pub fn is_serverless(provider: &str) -> bool {
    provider == SCRIPTED || provider == AGENT_LLM
}

/// Which provider, and why.
struct ProviderChoice<'a> {
    name: String,
    provider: Option<&'a CatalogProvider>,
    reason: String,
    /// The provider differs from the one of the level's settings: the URL and key of the level are not for it.
    is_foreign: bool,
}

impl ModelResolver<'_> {
    /// The model of a level (base, smart, fast), with what an agent overrides. An error names the missing setting and
    /// how to set it.
    pub fn resolve_choice(&self, wish: &ModelSelector) -> Result<ModelChoice, Box<Diagnostic>> {
        let choice = self.resolve_without_fallback(wish)?;
        let fallback =
            if is_serverless(&choice.provider) { Vec::new() } else { self.fallback_choices(wish, &choice)? };
        Ok(ModelChoice { fallback, ..choice })
    }

    /// The models of the levels that a level falls back to, without itself.
    fn fallback_choices(
        &self,
        wish: &ModelSelector,
        choice: &ModelChoice,
    ) -> Result<Vec<ModelChoice>, Box<Diagnostic>> {
        let Some(setting) = self.settings.own_level_setting(&choice.level, "fallback") else {
            return Ok(Vec::new());
        };
        let mut row: Vec<ModelChoice> = Vec::new();
        for level in setting.texts() {
            let (temperature, max_output_tokens) = (wish.temperature, wish.max_output_tokens);
            let instead = ModelSelector { temperature, max_output_tokens, ..ModelSelector::for_level(level) };
            let other = self.resolve_without_fallback(&instead).map_err(|mut found| {
                found.message = format!("level {} falls back to `{level}`: {}", choice.level, found.message);
                set_location(&mut found, setting);
                found
            })?;
            if !other.is_same_endpoint(choice) && !row.iter().any(|one| one.is_same_endpoint(&other)) {
                row.push(other);
            }
        }
        Ok(row)
    }

    fn resolve_without_fallback(&self, wish: &ModelSelector) -> Result<ModelChoice, Box<Diagnostic>> {
        let level = wish.level.as_str();
        if !LEVELS.contains(&level) {
            let hint = did_you_mean::suggest_or_list(level, "levels", &LEVELS);
            return Err(resolution_problem(format!("there is no level `{level}`"), hint));
        }
        let set = self.settings.level_setting(level, "model");
        let (pick, model_name) =
            self.pick_provider_and_model(wish, set.and_then(EffectiveSetting::as_str).unwrap_or_default())?;
        let serverless = is_serverless(&pick.name);
        if model_name.is_empty() && !serverless {
            return Err(self.no_model(level, &pick));
        }
        let model_name = if model_name.is_empty() { pick.name.clone() } else { model_name.to_owned() };
        let listed = pick.provider.and_then(|provider| provider.model(&model_name));
        // Behind another address a model keeps its window and its abilities, but not its price.
        let known = listed.or_else(|| self.models.providers.iter().find_map(|one| one.model(&model_name)));
        let base_url = if serverless { String::new() } else { self.base_url(level, &pick)? };
        let decided = self.select_key(level, &pick, &base_url)?;
        let protocol = pick.provider.map(|provider| provider.protocol(listed)).unwrap_or_default();
        let (mut parameters, mut dropped) = merged_parameters(self.settings, wish, pick.provider, known);
        dropped.extend(parameters.drop_incompatible(protocol).into_iter().map(str::to_owned));
        if parameters.max_output_tokens.is_none() {
            let most = known.and_then(|model| model.max_output);
            parameters.max_output_tokens = protocol.answer_tokens(most);
        }
        let from = match (&wish.model, set) {
            (Some(_), _) => "the agent".to_owned(),
            (None, Some(setting)) => setting.origin.to_string(),
            (None, None) => pick.name.clone(),
        };
        let mut provenance = format!("level {level}: {from}; provider {}: {}", pick.name, pick.reason);
        if !dropped.is_empty() {
            provenance.push_str(&format!("; not accepted by the model, not sent: {}", dropped.join(", ")));
        }
        if let Some(why) = &decided.withheld_reason {
            provenance.push_str(&format!("; {why}"));
        }
        Ok(ModelChoice {
            level: level.to_owned(),
            base_url,
            protocol,
            model: model_name,
            key: decided.key,
            parameters,
            context_size: known.and_then(|model| model.context_size),
            max_output: known.and_then(|model| model.max_output),
            uncapped: !serverless
                && !accepted_parameters(pick.provider, known).contains(&"max_output_tokens"),
            decision_start: known.and_then(|model| model.decision_start).unwrap_or_default(),
            images: known.and_then(|model| model.images).unwrap_or_default(),
            price: pick.provider.and_then(|provider| provider.price(listed)),
            provenance,
            provider: pick.name,
            fallback: Vec::new(),
        })
    }

    /// The base URL of a provider of the catalogue; `None` if no source sets one.
    pub fn provider_url(&self, provider: &CatalogProvider) -> Option<String> {
        let name = provider.name.clone();
        let pick = ProviderChoice { name, provider: Some(provider), reason: String::new(), is_foreign: true };
        self.base_url("base", &pick).ok()
    }

    /// The server of a level that has every setting but the model: the server can list its models.
    pub(super) fn without_model(&self, level: &str) -> Option<ModelChoice> {
        if self.settings.level_setting(level, "model").is_some() {
            return None;
        }
        let pick = self.pick_provider(level, "").ok().filter(|pick| !is_serverless(&pick.name))?;
        let base_url = self.base_url(level, &pick).ok()?;
        let key = self.select_key(level, &pick, &base_url).ok()?.key;
        let protocol = pick.provider.map(|provider| provider.protocol(None)).unwrap_or_default();
        let level = level.to_owned();
        Some(ModelChoice { level, provider: pick.name, base_url, protocol, key, ..ModelChoice::default() })
    }

    /// Where a level goes by its settings alone.
    pub(crate) fn level_endpoint(&self, level: &str) -> Option<LevelEndpoint> {
        let set = self
            .settings
            .level_setting(level, "model")
            .and_then(EffectiveSetting::as_str)
            .unwrap_or_default();
        let pick = self.pick_provider(level, set).ok().filter(|pick| !is_serverless(&pick.name))?;
        let typed = self.level_url(level, &pick).is_some();
        let needs_key = pick.provider.and_then(|provider| provider.needs_key).unwrap_or(true);
        Some(LevelEndpoint { url: self.base_url(level, &pick).ok()?, is_set_by_level: typed, needs_key })
    }

    /// A provider's URL as the variables of its own have it; an error names the variable.
    pub(super) fn url_from_environment(
        &self,
        provider: &CatalogProvider,
    ) -> Option<Result<String, Box<Diagnostic>>> {
        let names = provider.url_env.iter().flatten();
        let (variable, text) = names
            .map(|name| (name, self.environment.get(name)))
            .find_map(|(name, found)| Some((name, found?.0)))?;
        let url = complete_url(text, provider.base_url.as_deref());
        Some(match SettingValueType::Url.check_text(&url) {
            Ok(SettingValue::Plain(url)) => Ok(url.as_str().unwrap_or_default().to_owned()),
            Ok(SettingValue::Secret { .. }) => Ok(String::new()),
            Err((_, why)) => Err(resolution_problem(format!("{variable} {why}"), None)),
        })
    }

    /// Provider and model: the level's, or the agent's. A level that a script answers stays scripted, whatever its
    /// agents would use.
    fn pick_provider_and_model<'w>(
        &self,
        wish: &'w ModelSelector,
        set: &'w str,
    ) -> Result<(ProviderChoice<'_>, &'w str), Box<Diagnostic>> {
        let usual = self.pick_provider(&wish.level, set);
        let model = wish.model.as_deref().unwrap_or(set);
        let wanted = match (&wish.provider, &wish.model) {
            (Some(provider), _) => self.catalog_or_custom_provider(provider, "the agent".to_owned())?,
            (None, Some(model)) => self.pick_provider(&wish.level, model)?,
            (None, None) => return Ok((usual?, set)),
        };
        let named = wish.provider.is_some();
        match usual {
            Ok(usual) if usual.name == SCRIPTED => Ok((usual, model)),
            Ok(usual)
                if usual.name == wanted.name && !(named && self.uses_foreign_url(&wish.level, &usual)) =>
            {
                Ok((usual, model))
            }
            Ok(_) | Err(_) => {
                let offers = wanted.provider.is_some_and(|provider| provider.model(model).is_some());
                if wish.model.is_none() && !offers && !is_serverless(&wanted.name) {
                    return Err(foreign_model_diagnostic(&wanted, model));
                }
                Ok((ProviderChoice { is_foreign: true, ..wanted }, model))
            }
        }
    }

    /// Provider: as set; else by the base URL; else by the model's name; else the only one with a key.
    fn pick_provider(&self, level: &str, model: &str) -> Result<ProviderChoice<'_>, Box<Diagnostic>> {
        if let Some(setting) = self.provider_path(level).and_then(|path| self.settings.get(&path)) {
            return self.provider_by_name(setting);
        }
        if let Some(setting) = self.settings.level_setting(level, "base_url") {
            return Ok(self.by_url(setting));
        }
        if let Some(found) = self.by_model(model) {
            return Ok(found);
        }
        let mut with_key = self.models.providers.iter().filter(|provider| self.has_key(provider));
        match (with_key.next(), with_key.next()) {
            (Some(only), None) => {
                let why = "the only one with a key".to_owned();
                Ok(ProviderChoice {
                    name: only.name.clone(),
                    provider: Some(only),
                    reason: why,
                    is_foreign: false,
                })
            }
            _ => Err(self.no_provider(level, model)),
        }
    }

    /// A provider of the catalogue, or one of our own words for a provider.
    fn catalog_or_custom_provider(
        &self,
        name: &str,
        why: String,
    ) -> Result<ProviderChoice<'_>, Box<Diagnostic>> {
        let known = self.models.provider(name);
        if known.is_none() && !is_serverless(name) && name != CUSTOM {
            let names: Vec<&str> = self.models.providers.iter().map(|one| one.name.as_str()).collect();
            let hint = did_you_mean::suggest_or_list(name, "known providers", &names);
            return Err(resolution_problem(format!("there is no provider `{name}`"), hint));
        }
        Ok(ProviderChoice { name: name.to_owned(), provider: known, reason: why, is_foreign: false })
    }

    /// Of the providers at that server the one whose path fits best; where none fits, the only one there.
    fn by_url(&self, setting: &EffectiveSetting) -> ProviderChoice<'_> {
        let url = setting.as_str().unwrap_or_default();
        let there: Vec<(&CatalogProvider, &str)> = self
            .models
            .providers
            .iter()
            .filter_map(|provider| Some((provider, provider.base_url.as_deref()?)))
            .filter(|(_, base)| same_origin(base, url))
            .collect();
        let fitting = there.iter().filter_map(|(provider, base)| Some((*provider, common_path(base, url)?)));
        let best = fitting.reduce(|best, one| if one.1 > best.1 { one } else { best });
        let only = if let [(only, _)] = there.as_slice() { Some(*only) } else { None };
        let known = best.map(|(provider, _)| provider).or(only).or_else(|| self.models.provider(CUSTOM));
        let name = known.map_or(CUSTOM, |provider| provider.name.as_str()).to_owned();
        ProviderChoice {
            name,
            provider: known,
            reason: format!("by URL, {}", setting.origin),
            is_foreign: false,
        }
    }

    /// The setting that names the level's provider: base's only where the level has base's URL, too.
    fn provider_path(&self, level: &str) -> Option<String> {
        let own_url = self.settings.own_level_setting(level, "base_url").is_some();
        let levels = if own_url { vec![level] } else { vec![level, "base"] };
        let mut paths = levels.into_iter().map(|level| format!("levels.{level}.provider"));
        paths.find(|path| self.settings.get(path).is_some())
    }

    /// The URL that the level's settings give to its provider. One that was set below the provider's name, for
    /// another one, is none: `--provider` beside a saved URL means the provider's own.
    fn level_url(&self, level: &str, pick: &ProviderChoice<'_>) -> Option<&EffectiveSetting> {
        if pick.is_foreign {
            return None;
        }
        let own = self.settings.own_level_setting(level, "base_url");
        let url = if has_own_provider(self.settings, level) {
            own
        } else {
            self.settings.level_setting(level, "base_url")
        };
        url.filter(|url| !self.is_overtaken(level, pick, url))
    }

    fn is_overtaken(&self, level: &str, pick: &ProviderChoice<'_>, url: &EffectiveSetting) -> bool {
        let Some(path) = self.provider_path(level).filter(|_| has_address(pick)) else { return false };
        let layer = url.origin.layer;
        let stronger = self.settings.get(&path).is_some_and(|named| named.origin.layer > layer);
        let before = self.settings.all_values(&path).find(|named| named.origin.layer <= layer);
        stronger && before.and_then(EffectiveSetting::as_str) != Some(pick.name.as_str())
    }

    /// The level's URL was set above its provider's name: it is another server with the API of this provider.
    fn uses_foreign_url(&self, level: &str, pick: &ProviderChoice<'_>) -> bool {
        let Some(path) = self.provider_path(level).filter(|_| has_address(pick)) else { return false };
        let Some(url) = self.level_url(level, pick) else { return false };
        self.settings.get(&path).is_some_and(|named| named.origin.layer < url.origin.layer)
    }

    fn by_model(&self, model: &str) -> Option<ProviderChoice<'_>> {
        if model.is_empty() {
            return None;
        }
        let all = &self.models.providers;
        let listed: Vec<&CatalogProvider> = all.iter().filter(|one| one.model(model).is_some()).collect();
        let prefixed = |one: &&CatalogProvider| {
            one.model_prefixes.iter().flatten().any(|prefix| model.starts_with(prefix.as_str()))
        };
        let found = listed
            .iter()
            .find(|one| self.has_key(one))
            .or_else(|| listed.first())
            .copied()
            .or_else(|| all.iter().find(prefixed))?;
        let why = format!("by model name {model}");
        Some(ProviderChoice {
            name: found.name.clone(),
            provider: Some(found),
            reason: why,
            is_foreign: false,
        })
    }

    fn base_url(&self, level: &str, pick: &ProviderChoice<'_>) -> Result<String, Box<Diagnostic>> {
        if let Some(url) = self.level_url(level, pick).and_then(EffectiveSetting::as_str) {
            return Ok(url.to_owned());
        }
        if let Some(set) = pick.provider.and_then(|provider| self.url_from_environment(provider)) {
            return set;
        }
        let default = pick.provider.and_then(|provider| provider.base_url.as_deref());
        default.map(str::to_owned).ok_or_else(|| {
            let name = level_name(level);
            let hint = if pick.is_foreign {
                format!("give `{}` a base_url in models.json, or let a level use it", pick.name)
            } else {
                format!("set SYNTHDEV_{name}_BASE_URL, or `levels.{level}.base_url` in settings.json")
            };
            resolution_problem(
                format!("level {level}: no base URL is set for provider `{}`", pick.name),
                Some(hint),
            )
        })
    }

    fn has_key(&self, provider: &CatalogProvider) -> bool {
        self.keys.contains_key(&provider_key(&provider.name))
    }

    fn no_model(&self, level: &str, pick: &ProviderChoice<'_>) -> Box<Diagnostic> {
        let example = pick.provider.and_then(|provider| provider.models.first());
        let example = example.map(|model| format!(", for example to {}", model.name)).unwrap_or_default();
        let hint = format!("set SYNTHDEV_BASE_MODEL, or `levels.base.model` in settings.json{example}");
        resolution_problem(format!("no model is set for level {level}"), Some(hint))
    }

    fn no_provider(&self, level: &str, model: &str) -> Box<Diagnostic> {
        if model.is_empty() {
            let hint = "`synthdev configure` sets one up; or set SYNTHDEV_BASE_MODEL and SYNTHDEV_API_KEY (and \
                        SYNTHDEV_BASE_URL for a server of your own)";
            return resolution_problem(format!("no model is set for level {level}"), Some(hint.to_owned()));
        }
        let hint = "set SYNTHDEV_BASE_URL to the server's address, or SYNTHDEV_PROVIDER to a provider of the \
                    catalogue";
        resolution_problem(
            format!("level {level}: no provider is known for model `{model}`"),
            Some(hint.to_owned()),
        )
    }
}

fn foreign_model_diagnostic(pick: &ProviderChoice<'_>, model: &str) -> Box<Diagnostic> {
    let message =
        format!("the model `{model}` of the level is not known to be one of provider `{}`", pick.name);
    let example = pick.provider.and_then(|provider| provider.models.first());
    let example = example.map(|model| format!(", for example \"{}\"", model.name)).unwrap_or_default();
    resolution_problem(message, Some(format!("name a `model` of this provider too{example}")))
}

/// The name of a provider's key in the key ring.
pub fn provider_key(provider: &str) -> String {
    format!("{PROVIDER}{provider}")
}

/// The provider that a key of the ring is for; `None`: it is a level's.
pub fn provider_for_key(key: &str) -> Option<&str> {
    key.strip_prefix(PROVIDER)
}

fn has_address(pick: &ProviderChoice<'_>) -> bool {
    let own = |one: &CatalogProvider| one.base_url.is_some() || one.url_env.is_some();
    pick.name != CUSTOM && pick.provider.is_some_and(own)
}

fn level_name(level: &str) -> String {
    level.to_ascii_uppercase()
}

fn resolution_problem(message: String, hint: Option<String>) -> Box<Diagnostic> {
    Box::new(Diagnostic {
        code: "C10".to_owned(),
        severity: DiagnosticSeverity::Error,
        message,
        place: SourceLocation { file: "settings".to_owned(), line: 0, column: 0 },
        span: 0..0,
        hint,
    })
}

fn set_location(diagnostic: &mut Diagnostic, setting: &EffectiveSetting) {
    let origin = &setting.origin;
    diagnostic.span = origin.span.clone();
    let unnamed = || SourceLocation { file: origin.to_string(), line: 0, column: 0 };
    diagnostic.place = origin.place.clone().unwrap_or_else(unnamed);
}
