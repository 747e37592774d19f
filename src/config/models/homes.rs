//! Which servers each key may be sent to (CFG-20). A key belongs to scheme, host and port, never to a mere name.
//!
//! * A key that was saved with the server it is for goes there and nowhere else.
//! * A saved key without one, and a provider's own variable, go to that provider's URLs: those of the catalogue, of the
//!   variables of its URL, and of levels whose files name the provider and a URL side by side.
//! * A level's own key goes to the URL that the level has when nobody else is listened to: for a key of the environment
//!   or an option, everything but the project's files; for a key of the user's files, those files.
//! * What a project's files say moves only keys that stand in the project's files.
//!
//! Refuses: the keys themselves.

use std::cell::OnceCell;

use super::address::is_loopback;
use super::catalogue::Models;
use super::home::{Home, Homes};
use super::resolve::{Resolver, key_ring, provider_of};
use crate::config::secret::KeyRing;
use crate::config::settings::environment::Environment;
use crate::config::settings::origin::Origin;
use crate::config::settings::rules::LEVELS;
use crate::config::settings::{Setting, Settings};
use crate::domain::place::Layer;

/// Whose words count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whose {
    /// The person's who runs it: all layers but the project's files.
    Person,
    /// Those of the person's files alone.
    Files,
    /// The files' of the person and the project.
    Project,
}

/// The configuration as these words alone make it.
#[derive(Debug)]
pub struct View {
    pub settings: Settings,
    pub models: Models,
    pub environment: Environment,
}

struct Views<'a> {
    make: &'a dyn Fn(Whose) -> View,
    made: [OnceCell<(View, KeyRing)>; 3],
}

/// The homes of all keys. `view` is called at most once for each kind of words.
pub fn homes(full: &Resolver<'_>, view: &dyn Fn(Whose) -> View) -> Homes {
    let views = Views { make: view, made: Default::default() };
    let known = full.keys.keys().map(|name| {
        let home = match provider_of(name) {
            Some(provider) => of_provider(provider, full, &views),
            None => full.settings.own(name, "api_key").map(|setting| of_level(name, setting, &views)),
        };
        (name.clone(), home.unwrap_or_default())
    });
    known.collect()
}

fn of_level(level: &str, setting: &Setting, views: &Views<'_>) -> Home {
    let from = setting.origin.to_string();
    if let Some(home) = setting.home() {
        return Home { from, urls: vec![home.to_owned()] };
    }
    let urls = words(&setting.origin).filter_map(|whose| views.with(whose, |said| said.address(level)));
    Home { from, urls: urls.collect() }
}

fn of_provider(name: &str, full: &Resolver<'_>, views: &Views<'_>) -> Option<Home> {
    if let Some(setting) = full.settings.get(&format!("keys.{name}")) {
        let from = setting.origin.to_string();
        let urls = match setting.home() {
            Some(home) => vec![home.to_owned()],
            None => views.with(saved(&setting.origin), |said| addresses(said, name)),
        };
        return Some(Home { from, urls });
    }
    let (variable, origin) = full.key_variable(full.models.provider(name)?)?;
    // a project's catalogue cannot make another variable a provider's
    let named = |said: &Resolver<'_>| {
        let provider = said.models.provider(name);
        let known = provider.and_then(|one| one.key_env.as_ref());
        if known.is_some_and(|names| names.iter().any(|one| one == variable)) {
            addresses(said, name)
        } else {
            Vec::new()
        }
    };
    let urls = words(origin).flat_map(|whose| views.with(whose, named)).collect();
    Some(Home { from: origin.to_string(), urls })
}

/// Whose words decide where a value of this origin belongs.
fn words(origin: &Origin) -> impl Iterator<Item = Whose> {
    let shared = (origin.of_project && origin.layer == Layer::Environment).then_some(Whose::Person);
    std::iter::once(saved(origin)).chain(shared)
}

fn saved(origin: &Origin) -> Whose {
    match origin.layer {
        _ if origin.of_project => Whose::Project,
        Layer::User => Whose::Files,
        Layer::BuiltIn | Layer::Project | Layer::Environment | Layer::CommandLine => Whose::Person,
    }
}

/// Where a provider is reached, as these words have it.
fn addresses(said: &Resolver<'_>, name: &str) -> Vec<String> {
    let Some(provider) = said.models.provider(name) else { return Vec::new() };
    let own = provider.base_url.clone();
    let set = said.own_url(provider).and_then(Result::ok);
    let paired = LEVELS.iter().filter_map(|level| {
        let (named, url) = (said.settings.own(level, "provider")?, said.settings.own(level, "base_url")?);
        let together = named.origin.layer == url.origin.layer && named.origin.name.is_none();
        let together = together && url.origin.name.is_none() && named.as_str() == Some(name);
        url.as_str().filter(|_| together).map(str::to_owned)
    });
    own.into_iter().chain(set).chain(paired).collect()
}

impl Resolver<'_> {
    /// Where the level's own key belongs. A server of this machine that wants no key has to be named for it.
    fn address(&self, level: &str) -> Option<String> {
        let reached = self.reached(level)?;
        let keyless = !reached.typed && !reached.needs_key && is_loopback(&reached.url);
        (!keyless).then_some(reached.url)
    }
}

impl Views<'_> {
    fn with<T>(&self, whose: Whose, look: impl FnOnce(&Resolver<'_>) -> T) -> T {
        let at = match whose {
            Whose::Person => &self.made[0],
            Whose::Files => &self.made[1],
            Whose::Project => &self.made[2],
        };
        let (view, keys) = at.get_or_init(|| {
            let view = (self.make)(whose);
            let keys = key_ring(&view.settings, &view.models, &view.environment);
            (view, keys)
        });
        let View { settings, models, environment } = view;
        look(&Resolver { settings, models, environment, keys, homes: &Homes::new() })
    }
}
