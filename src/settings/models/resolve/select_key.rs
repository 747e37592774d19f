//! Which key goes with a call: the first in question that may be sent to its server.
//! Refuses: the keys themselves.

use super::{ModelResolver, ProviderChoice, is_serverless, level_name, provider_key, resolution_problem};
use crate::layers::has_own_provider;
use crate::layers::origin::SettingOrigin;
use crate::models::base_url::{is_loopback, normalized_origin};
use crate::models::provider_catalog::CatalogProvider;
use synthdev_domain::diagnostic::Diagnostic;

/// The name of a key, or why there is none although one was set.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KeySelection {
    pub key: Option<String>,
    /// For display: a key that was set is for another server.
    pub withheld_reason: Option<String>,
}

impl ModelResolver<'_> {
    /// The name of the key. Base's key goes only where base goes.
    pub(super) fn select_key(
        &self,
        level: &str,
        pick: &ProviderChoice<'_>,
        base_url: &str,
    ) -> Result<KeySelection, Box<Diagnostic>> {
        if is_serverless(&pick.name) {
            return Ok(KeySelection::default());
        }
        let decided = self.first_allowed_key(&self.candidate_keys(level, pick), base_url);
        let needed = pick.provider.and_then(|provider| provider.needs_key).unwrap_or(true);
        if decided.key.is_some() || !needed || is_loopback(base_url) {
            return Ok(decided);
        }
        Err(no_key(level, pick, base_url, decided.withheld_reason))
    }

    /// Of these keys, in their order, the first that may be sent there.
    pub(in crate::models) fn first_allowed_key(&self, names: &[String], base_url: &str) -> KeySelection {
        let set = names.iter().filter_map(|name| Some((name, self.key_scopes.get(name)?)));
        if let Some((name, _)) = set.clone().find(|(_, home)| home.allows_url(base_url)) {
            return KeySelection { key: Some(name.clone()), withheld_reason: None };
        }
        let kept_back = set.map(|(_, home)| home).next().map(|home| {
            let (from, here) = (&home.origin, normalized_origin(base_url));
            match home.urls.first().map(|url| normalized_origin(url)) {
                Some(there) => format!("the key of {from} is for {there} and is not sent to {here}"),
                None => format!("nothing of yours says that the key of {from} is for {here}"),
            }
        });
        KeySelection { key: None, withheld_reason: kept_back }
    }

    fn candidate_keys(&self, level: &str, pick: &ProviderChoice<'_>) -> Vec<String> {
        let of_provider = provider_key(&pick.name);
        if pick.is_foreign {
            return vec![of_provider];
        }
        let own = level.to_owned();
        let base = (!has_own_provider(self.settings, level)).then(|| "base".to_owned());
        if self.settings.own_level_setting(level, "base_url").is_some() {
            return [own, of_provider].into_iter().chain(base).collect();
        }
        std::iter::once(own).chain(base).chain([of_provider]).collect()
    }

    /// The variable that holds a provider's key, and where it was set.
    pub(in crate::models) fn key_variable<'s>(
        &'s self,
        provider: &'s CatalogProvider,
    ) -> Option<(&'s str, &'s SettingOrigin)> {
        let names = provider.key_env.iter().flatten();
        names.map(String::as_str).find_map(|name| Some((name, self.environment.get(name)?.1)))
    }
}

fn no_key(
    level: &str,
    pick: &ProviderChoice<'_>,
    base_url: &str,
    kept_back: Option<String>,
) -> Box<Diagnostic> {
    let usual = pick.provider.and_then(|provider| provider.key_env.as_ref()?.first());
    let name = &pick.name;
    let who = if pick.is_foreign { format!("provider {name}") } else { format!("level {level}") };
    let own = if level == "base" { String::new() } else { format!("{}_", level_name(level)) };
    let Some(why) = kept_back else {
        let message = format!("{who}: no key is set for {base_url}");
        let hint = if pick.is_foreign {
            let variable = usual.map(|variable| format!("set {variable}, or ")).unwrap_or_default();
            format!("{variable}put it in your settings.json: \"keys\": {{\"{name}\": …}}")
        } else {
            let usual = usual.map(|name| format!(" or {name}")).unwrap_or_default();
            format!("set SYNTHDEV_{own}API_KEY{usual}")
        };
        return resolution_problem(message, Some(hint));
    };
    let here = normalized_origin(base_url);
    let hint = if pick.is_foreign {
        format!(
            "if you mean it, say so in your keys.json: \"keys\": {{\"{name}\": {{\"key\": …, \"for\": \"{here}\"}}}}"
        )
    } else {
        format!(
            "set a key for {here}: SYNTHDEV_{own}API_KEY with SYNTHDEV_{own}BASE_URL={base_url}, or `synthdev configure`"
        )
    };
    resolution_problem(format!("{who}: {why}"), Some(hint))
}
