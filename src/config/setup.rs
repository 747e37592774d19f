//! Setting up models: what a person chose, and what that changes in their files. Settings go into settings.json, keys
//! into keys.json beside it (CFG-7). Refuses: files themselves, and keys in any text.

pub mod edit;

use serde_json::Value;

use super::models::catalogue::Models;
use super::models::resolve::CUSTOM;
use super::settings::shape::Shape;
use super::suggest;
use crate::domain::secret::Secret;

/// The file of keys beside settings.json; only its owner can read it.
pub const KEYS_FILE: &str = "keys.json";

/// One level as it was chosen. `None` leaves what is set.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LevelSetup {
    /// base, smart or fast.
    pub level: String,
    /// A provider's name in the catalogue.
    pub provider: Option<String>,
    pub base_url: Option<String>,
    pub key: Option<Secret>,
    pub model: Option<String>,
    /// Nothing of its own: everything as base.
    pub as_base: bool,
}

/// One value of a file: set, or with `None` taken out.
#[derive(Clone, PartialEq, Debug)]
pub struct Change {
    pub path: Vec<String>,
    pub value: Option<Value>,
}

/// What changes in both files.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Changes {
    pub settings: Vec<Change>,
    pub keys: Vec<Change>,
}

impl LevelSetup {
    /// Checks names and texts before anything is asked or written.
    ///
    /// # Errors
    /// What is wrong, with the fix.
    pub fn check(&self, models: &Models) -> Result<(), String> {
        if let Some(provider) = self.provider.as_deref()
            && provider != CUSTOM
            && models.provider(provider).is_none()
        {
            let names: Vec<&str> = models.providers.iter().map(|one| one.name.as_str()).collect();
            let hint = suggest::or_list(provider, "known providers", &names).unwrap_or_default();
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

    /// What this changes. `old`: a provider with the key that stands at the level now and is that provider's; it moves
    /// to where providers' keys are when the level is given to somebody else.
    pub fn changes(&self, old: Option<(&str, &Secret)>) -> Changes {
        let mut changes = Changes::default();
        let level = |field: &str| vec!["levels".to_owned(), self.level.clone(), field.to_owned()];
        let own_key = level("api_key");
        if self.as_base {
            changes
                .settings
                .extend(["provider", "base_url", "model", "api_key"].map(|field| unset(level(field))));
            changes.keys.push(unset(own_key));
            return changes;
        }
        let known = self.provider.clone().filter(|name| name != CUSTOM);
        if known.is_some() || self.base_url.is_some() {
            changes.settings.push(set_or_not(level("provider"), known.clone()));
            changes.settings.push(set_or_not(level("base_url"), self.base_url.clone()));
            changes.settings.push(unset(own_key.clone()));
            changes.keys.push(unset(own_key.clone()));
            if let Some((provider, key)) = old.filter(|(provider, _)| Some(*provider) != known.as_deref()) {
                changes.keys.push(set(provider_key(provider), key.expose()));
            }
        }
        if let Some(key) = &self.key {
            // where the provider is known, another level that asks it finds the key as well
            let path = match (&known, &self.base_url) {
                (Some(provider), None) => provider_key(provider),
                _ => own_key.clone(),
            };
            changes.settings.push(unset(own_key));
            changes.keys.push(set(path, key.expose()));
        }
        if let Some(model) = &self.model {
            changes.settings.push(set(level("model"), model.trim()));
        }
        changes
    }
}

impl Changes {
    pub fn and(mut self, more: Self) -> Self {
        self.settings.extend(more.settings);
        self.keys.extend(more.keys);
        self
    }
}

/// A key as it was typed or piped in: one word without blanks. The text of the error does not show it.
///
/// # Errors
/// It is empty or cannot be a key.
pub fn key(text: &str) -> Result<Secret, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("no key was given".to_owned());
    }
    if text.chars().all(|c| c.is_ascii_graphic()) {
        return Ok(Secret::new(text));
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
    Shape::Url.check_text(url).map(|_| ()).map_err(|(_, why)| {
        let guess = if url.contains("://") { String::new() } else { format!("\nhint: perhaps http://{url}") };
        format!("the URL `{}` {why}{guess}", hide(url))
    })
}

/// Without what stands before an `@`: it may be a password.
fn hide(url: &str) -> &str {
    url.rsplit('@').next().unwrap_or_default()
}

fn provider_key(provider: &str) -> Vec<String> {
    vec!["keys".to_owned(), provider.to_owned()]
}

fn set(path: Vec<String>, value: &str) -> Change {
    Change { path, value: Some(Value::from(value)) }
}

fn unset(path: Vec<String>) -> Change {
    Change { path, value: None }
}

fn set_or_not(path: Vec<String>, value: Option<String>) -> Change {
    Change { path, value: value.map(Value::from) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(changes: &[Change]) -> Vec<String> {
        let line = |change: &Change| {
            let value = change.value.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
            format!("{}={value}", change.path.join("."))
        };
        changes.iter().map(line).collect()
    }

    #[test]
    fn what_was_chosen_becomes_changes() {
        let level = |level: &str| LevelSetup { level: level.to_owned(), ..LevelSetup::default() };
        let some = |text: &str| Some(text.to_owned());
        let old = Secret::new("sk-old");
        let rows = [
            (
                LevelSetup {
                    provider: some("groq"),
                    key: Some(Secret::new("k")),
                    model: some("m"),
                    ..level("base")
                },
                None,
                vec![
                    "levels.base.provider=\"groq\"",
                    "levels.base.base_url=-",
                    "levels.base.api_key=-",
                    "levels.base.api_key=-",
                    "levels.base.model=\"m\"",
                ],
                vec!["levels.base.api_key=-", "keys.groq=\"k\""],
            ),
            (
                LevelSetup { base_url: some("http://h/v1"), key: Some(Secret::new("k")), ..level("fast") },
                Some(("openai", &old)),
                vec![
                    "levels.fast.provider=-",
                    "levels.fast.base_url=\"http://h/v1\"",
                    "levels.fast.api_key=-",
                    "levels.fast.api_key=-",
                ],
                vec!["levels.fast.api_key=-", "keys.openai=\"sk-old\"", "levels.fast.api_key=\"k\""],
            ),
            (
                LevelSetup { model: some(" m2 "), ..level("smart") },
                Some(("openai", &old)),
                vec!["levels.smart.model=\"m2\""],
                vec![],
            ),
            (
                LevelSetup { as_base: true, ..level("smart") },
                None,
                vec![
                    "levels.smart.provider=-",
                    "levels.smart.base_url=-",
                    "levels.smart.model=-",
                    "levels.smart.api_key=-",
                ],
                vec!["levels.smart.api_key=-"],
            ),
        ];
        for (setup, old, settings, keys) in rows {
            let changes = setup.changes(old);
            assert_eq!(
                (lines(&changes.settings), lines(&changes.keys)),
                (
                    settings.iter().map(ToString::to_string).collect(),
                    keys.iter().map(ToString::to_string).collect()
                )
            );
        }
    }

    #[test]
    fn what_cannot_be_is_refused_in_one_line_with_the_fix() {
        let models = crate::config::models::read::load(&[crate::config::source::SourceFile::new(
            crate::domain::place::Layer::User,
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
                "the URL `localhost:11434/v1` must begin with http:// or https://\nhint: perhaps http://localhost:11434/v1",
            ),
            (LevelSetup { model: some(" "), ..LevelSetup::default() }, "the model's name is empty"),
        ];
        for (setup, expected) in rows {
            let told = setup.check(&models).unwrap_err();
            assert!(told.contains(expected), "{told}");
        }
        for (text, expected) in
            [("", "no key"), ("sk-a\nsk-b", "a line break"), ("sk a", "a blank"), ("schlüssel", "no key has")]
        {
            let told = key(text).unwrap_err();
            assert!(told.contains(expected) && !told.contains("sk"), "{told}");
        }
        assert_eq!(key(" sk-a\r\n").unwrap().expose(), "sk-a");
    }
}
