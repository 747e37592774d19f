//! Setting up models: the user's choices, and the changes to their files. Settings go into settings.json, keys into
//! keys.json beside it. Refuses: file access, and keys in any text.

pub mod edit_json;

use serde_json::{Value, json};

use super::models::base_url::normalized_origin;
use super::models::provider_catalog::ProviderCatalog;
use super::models::resolve::CUSTOM;
use crate::layers::value_type::{HOME, KEY, SettingValueType};
use synthdev_domain::secret::SecretText;
use synthdev_domain::terminal_safe;
use synthdev_language::did_you_mean;

/// The file of keys beside settings.json; only its owner can read it.
pub const KEYS_FILE: &str = "keys.json";

/// The choices for one level. `None` leaves the setting unchanged.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LevelSetup {
    /// base, smart or fast.
    pub level: String,
    /// A provider's name in the catalogue.
    pub provider: Option<String>,
    pub base_url: Option<String>,
    pub key: Option<SecretText>,
    pub model: Option<String>,
    /// Nothing of its own: everything as base.
    pub same_as_base: bool,
}

/// What a level has before it is set up.
#[derive(Clone, Copy, Debug, Default)]
pub struct CurrentLevelSetup<'a> {
    /// It asks the server already that was chosen.
    pub same_server: bool,
    /// A key that is set at the level itself, with its provider in the catalogue. It moves to the keys of providers
    /// when the level changes to another provider.
    pub own_key: Option<(&'a str, SavedKey<'a>)>,
    /// The server that a new key is for, if it is known.
    pub home: Option<&'a str>,
}

/// A key as it is stored: with its server, so that it never goes to another one.
#[derive(Clone, Copy, Debug)]
pub struct SavedKey<'a> {
    pub key: &'a SecretText,
    /// A base URL; `None` if it is unknown.
    pub home: Option<&'a str>,
}

/// One value of a file: set, or with `None` taken out.
#[derive(Clone, PartialEq, Debug)]
pub struct SettingChange {
    pub path: Vec<String>,
    pub value: Option<Value>,
}

/// What changes in both files.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SetupChanges {
    pub settings: Vec<SettingChange>,
    pub keys: Vec<SettingChange>,
}

impl LevelSetup {
    /// Checks names and texts before the program asks or writes anything.
    ///
    /// # Errors
    /// The mistake, with its fix.
    pub fn check_level(&self, models: &ProviderCatalog) -> Result<(), String> {
        if let Some(provider) = self.provider.as_deref()
            && provider != CUSTOM
            && models.provider(provider).is_none()
        {
            let names: Vec<&str> = models.providers.iter().map(|one| one.name.as_str()).collect();
            let hint = did_you_mean::suggest_or_list(provider, "known providers", &names).unwrap_or_default();
            return Err(format!("there is no provider `{provider}`\nhint: {hint}"));
        }
        if self.provider.as_deref() == Some(CUSTOM) && self.base_url.is_none() {
            return Err("a server of your own needs its URL\nhint: for example --base-url \
                        http://127.0.0.1:8000/v1"
                .to_owned());
        }
        if let Some(url) = &self.base_url {
            check_url(url)?;
        }
        if self.model.as_deref().is_some_and(|model| model.trim().is_empty()) {
            return Err("the model's name is empty".to_owned());
        }
        Ok(())
    }

    /// What this changes, as things are `now`.
    pub fn to_changes(&self, now: &CurrentLevelSetup<'_>) -> SetupChanges {
        let mut changes = SetupChanges::default();
        let level = |field: &str| vec!["levels".to_owned(), self.level.clone(), field.to_owned()];
        let own_key = level("api_key");
        if self.same_as_base {
            let fields = ["provider", "base_url", "model", "api_key"];
            changes.settings.extend(fields.map(|field| unset_setting(level(field))));
            changes.keys.push(unset_setting(own_key));
            return changes;
        }
        let known = self.provider.clone().filter(|name| name != CUSTOM);
        let placed = known.is_some() || self.base_url.is_some();
        if placed {
            changes.settings.push(set_or_not(level("provider"), known.clone()));
            changes.settings.push(set_or_not(level("base_url"), self.base_url.clone()));
        }
        // the key at the level is for its former server
        if self.key.is_some() || (placed && !now.same_server) {
            changes.settings.push(unset_setting(own_key.clone()));
            changes.keys.push(unset_setting(own_key.clone()));
            if let Some((provider, saved)) = now.own_key.filter(|_| !now.same_server) {
                changes.keys.push(saved.change_at(provider_key(provider)));
            }
        }
        if let Some(key) = &self.key {
            // where the provider is known, another level that asks it finds the key as well
            let path = match (&known, &self.base_url) {
                (Some(provider), None) => provider_key(provider),
                _ => own_key,
            };
            changes.keys.push(SavedKey { key, home: now.home }.change_at(path));
        }
        if let Some(model) = &self.model {
            changes.settings.push(set_setting(level("model"), model.trim()));
        }
        changes
    }
}

impl SavedKey<'_> {
    /// The change that writes it there.
    pub fn change_at(&self, path: Vec<String>) -> SettingChange {
        let key = self.key.expose_secret();
        let value = match self.home {
            Some(url) => json!({ KEY: key, HOME: normalized_origin(url) }),
            None => Value::from(key),
        };
        SettingChange { path, value: Some(value) }
    }
}

impl SetupChanges {
    pub fn merge_changes(mut self, more: Self) -> Self {
        self.settings.extend(more.settings);
        self.keys.extend(more.keys);
        self
    }
}

/// A key as it was typed or piped in: one word without blanks. The text of the error does not show it.
///
/// # Errors
/// It is empty or cannot be a key.
pub fn parse_key(text: &str) -> Result<SecretText, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("no key was given".to_owned());
    }
    if text.chars().all(|c| c.is_ascii_graphic()) {
        return Ok(SecretText::new(text));
    }
    let what =
        if text.contains(['\n', '\r']) { "a line break" } else { "a blank or a character that no key has" };
    Err(format!("the key holds {what}\nhint: copy it again, in one piece"))
}

/// A base URL as it was typed.
///
/// # Errors
/// It is none.
pub fn check_url(url: &str) -> Result<(), String> {
    SettingValueType::Url.check_text(url).map(|_| ()).map_err(|(_, why)| {
        let whole = url.contains("://") || terminal_safe::redact_url(url) != url;
        let guess = if whole { String::new() } else { format!("\nhint: perhaps http://{url}") };
        format!("the URL `{}` {why}{guess}", terminal_safe::redact_url(url))
    })
}

fn provider_key(provider: &str) -> Vec<String> {
    vec!["keys".to_owned(), provider.to_owned()]
}

fn set_setting(path: Vec<String>, value: &str) -> SettingChange {
    SettingChange { path, value: Some(Value::from(value)) }
}

fn unset_setting(path: Vec<String>) -> SettingChange {
    SettingChange { path, value: None }
}

fn set_or_not(path: Vec<String>, value: Option<String>) -> SettingChange {
    SettingChange { path, value: value.map(Value::from) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(changes: &[SettingChange]) -> Vec<String> {
        let line = |change: &SettingChange| {
            let value = change.value.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
            format!("{}={value}", change.path.join("."))
        };
        changes.iter().map(line).collect()
    }

    #[test]
    fn what_was_chosen_becomes_changes() {
        let level = |level: &str| LevelSetup { level: level.to_owned(), ..LevelSetup::default() };
        let some = |text: &str| Some(text.to_owned());
        let old = SecretText::new("sk-old");
        let new = || Some(SecretText::new("k"));
        let saved = SavedKey { key: &old, home: Some("https://api.openai.com/v1") };
        let had = CurrentLevelSetup { same_server: false, own_key: Some(("openai", saved)), home: None };
        let same = CurrentLevelSetup { same_server: true, home: Some("https://there:443/v1"), ..had };
        let rows = [
            (
                LevelSetup { provider: some("groq"), key: new(), model: some("m"), ..level("base") },
                CurrentLevelSetup::default(),
                "base.provider=\"groq\" base.base_url=- base.api_key=- base.model=\"m\"",
                "base.api_key=- keys.groq=\"k\"",
            ),
            (
                LevelSetup { base_url: some("http://h/v1"), key: new(), ..level("fast") },
                had,
                "fast.provider=- fast.base_url=\"http://h/v1\" fast.api_key=-",
                "fast.api_key=- keys.openai={\"key\":\"sk-old\",\"for\":\"https://api.openai.com\"} fast.api_key=\"k\"",
            ),
            (
                LevelSetup { base_url: some("http://h/v1"), ..level("base") },
                same,
                "base.provider=- base.base_url=\"http://h/v1\"",
                "",
            ),
            (
                LevelSetup { provider: some("openai"), key: new(), ..level("base") },
                same,
                "base.provider=\"openai\" base.base_url=- base.api_key=-",
                "base.api_key=- keys.openai={\"key\":\"k\",\"for\":\"https://there\"}",
            ),
            (LevelSetup { model: some(" m2 "), ..level("smart") }, had, "smart.model=\"m2\"", ""),
            (
                LevelSetup { same_as_base: true, ..level("smart") },
                had,
                "smart.provider=- smart.base_url=- smart.model=- smart.api_key=-",
                "smart.api_key=-",
            ),
        ];
        for (setup, now, settings, keys) in rows {
            let changes = setup.to_changes(&now);
            let told = |list: &[SettingChange]| lines(list).join(" ").replace("levels.", "");
            assert_eq!((told(&changes.settings).as_str(), told(&changes.keys).as_str()), (settings, keys));
        }
    }

    #[test]
    fn what_cannot_be_is_refused_in_one_line_with_the_fix() {
        let models =
            crate::models::models_file::load_providers(&[synthdev_language::source::SourceFile::new(
                synthdev_domain::source_location::ConfigLayer::User,
                "m.json",
                r#"{"providers": {"openai": {}, "groq": {}}}"#,
            )])
            .0;
        let some = |text: &str| Some(text.to_owned());
        let rows = [
            (
                LevelSetup { provider: some("opnai"), ..LevelSetup::default() },
                "there is no provider `opnai`\nhint: did you mean `openai`?",
            ),
            (LevelSetup { provider: some("custom"), ..LevelSetup::default() }, "needs its URL"),
            (
                LevelSetup { base_url: some("localhost:11434/v1"), ..LevelSetup::default() },
                "the URL `localhost:11434/v1` must begin with http:// or https://, as in http://localhost:11434/v1\nhint: perhaps http://localhost:11434/v1",
            ),
            (LevelSetup { model: some(" "), ..LevelSetup::default() }, "the model's name is empty"),
        ];
        for (setup, expected) in rows {
            let told = setup.check_level(&models).unwrap_err();
            assert!(told.contains(expected), "{told}");
        }
        for (text, expected) in
            [("", "no key"), ("sk-a\nsk-b", "a line break"), ("sk a", "a blank"), ("schlüssel", "no key has")]
        {
            let told = parse_key(text).unwrap_err();
            assert!(told.contains(expected) && !told.contains("sk"), "{told}");
        }
        assert_eq!(parse_key(" sk-a\r\n").unwrap().expose_secret(), "sk-a");
    }
}
