//! Levels that name a provider which is not there: one diagnostic for each such name, with all its levels.

use super::{ModelResolver, ProviderChoice, set_location};
use crate::layers::EffectiveSetting;
use synthdev_domain::diagnostic::Diagnostic;
use synthdev_language::model_selector::LEVELS;

impl ModelResolver<'_> {
    /// Levels whose provider is none: each such name once, at the place where it was set first.
    pub fn unknown_providers(&self) -> Vec<Diagnostic> {
        let set = LEVELS.iter().filter_map(|level| self.settings.own_level_setting(level, "provider"));
        let mut found: Vec<Diagnostic> = Vec::new();
        for unknown in set.filter_map(|setting| self.provider_by_name(setting).err()) {
            if !found.contains(&unknown) {
                found.push(*unknown);
            }
        }
        found
    }

    /// Several levels that name the same missing one have the same diagnostic, which names them all.
    pub(super) fn provider_by_name(
        &self,
        setting: &EffectiveSetting,
    ) -> Result<ProviderChoice<'_>, Box<Diagnostic>> {
        let name = setting.as_str().unwrap_or_default();
        self.catalog_or_custom_provider(name, setting.origin.to_string()).map_err(|mut found| {
            let own = LEVELS.iter().filter_map(|level| {
                let own = self.settings.own_level_setting(level, "provider")?;
                (own.as_str() == Some(name)).then_some((*level, own))
            });
            let (levels, settings): (Vec<&str>, Vec<&EffectiveSetting>) = own.unzip();
            if levels.len() > 1 {
                found.message.push_str(&format!(" (levels {})", levels.join(", ")));
            }
            set_location(&mut found, settings.first().copied().unwrap_or(setting));
            found
        })
    }
}
