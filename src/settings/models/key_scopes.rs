//! Which servers each key may be sent to. A key belongs to scheme, host and port, never to a mere name.
//!
//! * A key that was saved with the server it is for goes there and nowhere else.
//! * A saved key without one, and a provider's own variable, go to that provider's URLs: those of the catalogue, of the
//!   variables of its URL, and of levels whose files name the provider and a URL side by side.
//! * A level's own key goes to the URL that the level has by the sources which may decide it: for a key of the
//!   environment or an option, everything but the project's files; for a key of the user's files, those files.
//! * A project's files redirect only keys that the project's files set.
//!
//! Refuses: the keys themselves.

use std::cell::OnceCell;

use super::base_url::is_loopback;
use super::key_scope::{KeyScope, KeyScopes};
use super::provider_catalog::ProviderCatalog;
use super::resolve::{ModelResolver, key_ring, provider_for_key};
use crate::layers::environment::EnvironmentVars;
use crate::layers::origin::SettingOrigin;
use crate::layers::{EffectiveSetting, EffectiveSettings};
use crate::redaction::KeyRing;
use synthdev_domain::source_location::ConfigLayer;
use synthdev_language::model_selector::LEVELS;

/// Whose words count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConfigPerspective {
    /// All layers but the project's files: what the user of this process decides.
    Person,
    /// The user's files alone.
    Files,
    /// The files of the user and the project.
    Project,
}

/// The configuration as these words alone make it.
#[derive(Debug)]
pub struct ConfigView {
    pub settings: EffectiveSettings,
    pub models: ProviderCatalog,
    pub environment: EnvironmentVars,
}

struct ConfigViews<'a> {
    make_view: &'a dyn Fn(ConfigPerspective) -> ConfigView,
    views: [OnceCell<(ConfigView, KeyRing)>; 3],
}

/// The homes of all keys. `view` is called at most once for each kind of words.
pub fn resolve_key_scopes(
    full: &ModelResolver<'_>,
    view: &dyn Fn(ConfigPerspective) -> ConfigView,
) -> KeyScopes {
    let views = ConfigViews { make_view: view, views: Default::default() };
    let known = full.keys.keys().map(|name| {
        let home = match provider_for_key(name) {
            Some(provider) => provider_key_scope(provider, full, &views),
            None => full
                .settings
                .own_level_setting(name, "api_key")
                .map(|setting| level_key_scope(name, setting, &views)),
        };
        (name.clone(), home.unwrap_or_default())
    });
    known.collect()
}

fn level_key_scope(level: &str, setting: &EffectiveSetting, views: &ConfigViews<'_>) -> KeyScope {
    let from = setting.origin.to_string();
    if let Some(home) = setting.key_origin() {
        return KeyScope { origin: from, urls: vec![home.to_owned()] };
    }
    let urls = deciding_perspectives(&setting.origin)
        .filter_map(|whose| views.with_view(whose, |said| said.address(level)));
    KeyScope { origin: from, urls: urls.collect() }
}

fn provider_key_scope(name: &str, full: &ModelResolver<'_>, views: &ConfigViews<'_>) -> Option<KeyScope> {
    if let Some(setting) = full.settings.get(&format!("keys.{name}")) {
        let from = setting.origin.to_string();
        let urls = match setting.key_origin() {
            Some(home) => vec![home.to_owned()],
            None => views.with_view(perspective_for(&setting.origin), |said| provider_addresses(said, name)),
        };
        return Some(KeyScope { origin: from, urls });
    }
    let (variable, origin) = full.key_variable(full.models.provider(name)?)?;
    // a project's catalogue cannot make another variable a provider's
    let named = |said: &ModelResolver<'_>| {
        let provider = said.models.provider(name);
        let known = provider.and_then(|one| one.key_env.as_ref());
        if known.is_some_and(|names| names.iter().any(|one| one == variable)) {
            provider_addresses(said, name)
        } else {
            Vec::new()
        }
    };
    let urls = deciding_perspectives(origin).flat_map(|whose| views.with_view(whose, named)).collect();
    Some(KeyScope { origin: origin.to_string(), urls })
}

/// Whose words decide where a value of this origin belongs.
fn deciding_perspectives(origin: &SettingOrigin) -> impl Iterator<Item = ConfigPerspective> {
    let shared = (origin.is_from_project && origin.layer == ConfigLayer::Environment)
        .then_some(ConfigPerspective::Person);
    std::iter::once(perspective_for(origin)).chain(shared)
}

fn perspective_for(origin: &SettingOrigin) -> ConfigPerspective {
    match origin.layer {
        _ if origin.is_from_project => ConfigPerspective::Project,
        ConfigLayer::User => ConfigPerspective::Files,
        ConfigLayer::BuiltIn | ConfigLayer::Project | ConfigLayer::Environment | ConfigLayer::CommandLine => {
            ConfigPerspective::Person
        }
    }
}

/// Where a provider is reached, as these words have it.
fn provider_addresses(said: &ModelResolver<'_>, name: &str) -> Vec<String> {
    let Some(provider) = said.models.provider(name) else { return Vec::new() };
    let own = provider.base_url.clone();
    let set = said.url_from_environment(provider).and_then(Result::ok);
    let paired = LEVELS.iter().filter_map(|level| {
        let (named, url) = (
            said.settings.own_level_setting(level, "provider")?,
            said.settings.own_level_setting(level, "base_url")?,
        );
        let together = named.origin.layer == url.origin.layer && named.origin.name.is_none();
        let together = together && url.origin.name.is_none() && named.as_str() == Some(name);
        url.as_str().filter(|_| together).map(str::to_owned)
    });
    own.into_iter().chain(set).chain(paired).collect()
}

impl ModelResolver<'_> {
    /// Where the level's own key belongs. A server of this machine that wants no key has to be named for it.
    fn address(&self, level: &str) -> Option<String> {
        let reached = self.level_endpoint(level)?;
        let keyless = !reached.is_set_by_level && !reached.needs_key && is_loopback(&reached.url);
        (!keyless).then_some(reached.url)
    }
}

impl ConfigViews<'_> {
    fn with_view<T>(&self, whose: ConfigPerspective, look: impl FnOnce(&ModelResolver<'_>) -> T) -> T {
        let at = match whose {
            ConfigPerspective::Person => &self.views[0],
            ConfigPerspective::Files => &self.views[1],
            ConfigPerspective::Project => &self.views[2],
        };
        let (view, keys) = at.get_or_init(|| {
            let view = (self.make_view)(whose);
            let keys = key_ring(&view.settings, &view.models, &view.environment);
            (view, keys)
        });
        let ConfigView { settings, models, environment } = view;
        look(&ModelResolver { settings, models, environment, keys, key_scopes: &KeyScopes::new() })
    }
}
