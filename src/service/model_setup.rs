//! Setting up models: a plan of what would be saved, trying it, and saving it.
//!
//! Owns which files change, which key belongs to which server, and what wins over what is saved. Refuses to write
//! anything before all of it was checked.

use std::sync::Arc;

use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_domain::message::{ChatMessage, ChatRole};
use synthdev_domain::model::{DeltaKind, ModelChoice, ModelError, ModelRequest, ToolChoice};
use synthdev_domain::number_format::format_duration;
use synthdev_domain::secret::SecretText;
use synthdev_domain::source_location::ConfigLayer;
use synthdev_language::did_you_mean::suggest_or_list;
use synthdev_language::model_selector::ModelSelector;
use synthdev_language::render::compact_line;
use synthdev_ports::model::{DeltaSink, ModelPort};
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_settings::layers::{EffectiveSetting, has_own_provider};
use synthdev_settings::models::resolve::{CUSTOM, provider_key};
use synthdev_settings::models::server_list::ConfiguredServer;
use synthdev_settings::setup::edit_json::apply_changes;
use synthdev_settings::setup::{
    CurrentLevelSetup, KEYS_FILE, LevelSetup, SavedKey, SettingChange, SetupChanges,
};

/// The servers that are set up, or those of one provider.
///
/// # Errors
/// None is of this provider: the nearest name, or all of them.
pub fn servers_of_provider(
    catalog: &ConfigCatalog,
    provider: Option<&str>,
) -> Result<Vec<ConfiguredServer>, SetupError> {
    let servers = catalog.servers();
    let Some(wanted) = provider else { return Ok(servers) };
    let mut names: Vec<&str> = servers.iter().map(|server| server.provider.as_str()).collect();
    names.dedup();
    if !names.contains(&wanted) {
        let hint = suggest_or_list(wanted, "known providers", &names).unwrap_or_default();
        return Err(SetupError(format!("there is no provider `{wanted}`\nhint: {hint}")));
    }
    Ok(servers.into_iter().filter(|server| server.provider == wanted).collect())
}

pub const SETTINGS_FILE: &str = "settings.json";

/// Nothing was saved; with a hint on a line of its own where there is one.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct SetupError(pub String);

/// The user's configuration and the models that it names.
pub trait SetupPorts: Send + Sync {
    /// The text of a file in the user's configuration directory, with the path that is shown; `None`: there is none.
    ///
    /// # Errors
    /// It cannot be read; the text names it.
    fn read_user_file(&self, name: &str) -> Result<UserConfigFile, SetupError>;

    /// Writes such a file so that only the user can read it.
    ///
    /// # Errors
    /// It cannot be written; the text names it.
    fn write_user_file(&self, name: &str, text: &str) -> Result<(), SetupError>;

    /// The configuration with these texts in place of the user's files of those names.
    ///
    /// # Errors
    /// A file cannot be read.
    fn load_catalog(&self, replaced: &[UserConfigText]) -> Result<ConfigCatalog, SetupError>;

    /// Models that are asked with the keys of this configuration, with time for one that is loaded first.
    fn model_port(&self, catalog: &ConfigCatalog) -> Arc<dyn ModelPort>;
}

/// A file in the user's configuration directory.
pub struct UserConfigFile {
    /// As the user is shown it.
    pub path: String,
    pub text: Option<String>,
}

/// A text for such a file.
pub struct UserConfigText {
    pub name: &'static str,
    pub path: String,
    pub text: String,
}

/// What would be saved.
pub struct SetupPlan {
    /// The configuration as it would be.
    pub catalog: ConfigCatalog,
    files: Vec<UserConfigText>,
}

/// A plan for these levels, and for settings that are no model's. `catalog`: the configuration as it is.
///
/// # Errors
/// A name or text that cannot be; a file of the user is broken, or would be.
pub fn plan_setup(
    ports: &dyn SetupPorts,
    catalog: &ConfigCatalog,
    setups: &[LevelSetup],
    settings: Vec<SettingChange>,
) -> Result<SetupPlan, SetupError> {
    setups.iter().try_for_each(|setup| setup.check_level(catalog.models())).map_err(SetupError)?;
    let setups: Vec<LevelSetup> = setups.iter().map(|setup| complete_setup(catalog, setup.clone())).collect();
    let mut changes = setup_changes(catalog, &setups);
    changes.settings.extend(settings);
    plan_changes(ports, &changes)
}

/// A plan for settings only.
///
/// # Errors
/// A file of the user is broken, or would be.
pub fn plan_settings(ports: &dyn SetupPorts, settings: Vec<SettingChange>) -> Result<SetupPlan, SetupError> {
    plan_changes(ports, &SetupChanges { settings, keys: Vec::new() })
}

fn plan_changes(ports: &dyn SetupPorts, changes: &SetupChanges) -> Result<SetupPlan, SetupError> {
    let mut files = Vec::new();
    for (name, changes) in [(SETTINGS_FILE, &changes.settings), (KEYS_FILE, &changes.keys)] {
        let UserConfigFile { path, text: old } = ports.read_user_file(name)?;
        let Some(text) = apply_setting_changes(&path, old.as_deref(), changes)? else { continue };
        files.push(UserConfigText { name, path, text });
    }
    let catalog = ports.load_catalog(&files)?;
    refuse_errors(&catalog)?;
    Ok(SetupPlan { catalog, files })
}

impl SetupPlan {
    /// Writes the files, keys first: settings never name a missing key. Returns their paths.
    ///
    /// # Errors
    /// A file cannot be written; those that were written before it stay.
    pub fn save_files(&self, ports: &dyn SetupPorts) -> Result<Vec<String>, SetupError> {
        let mut written = Vec::new();
        for file in self.files.iter().rev() {
            ports.write_user_file(file.name, &file.text)?;
            written.push(file.path.clone());
        }
        Ok(written)
    }

    /// The model of a level after saving; includes what overrides the files.
    ///
    /// # Errors
    /// The level has no model even then.
    pub fn model_choice(&self, setup: &LevelSetup) -> Result<ModelChoice, SetupError> {
        self.catalog.model_for_level(&setup.level).map_err(|missing| {
            SetupError(match &missing.hint {
                Some(hint) => format!("{}\nhint: {hint}", missing.message),
                None => missing.message.clone(),
            })
        })
    }

    /// The models that these levels would ask, each once with its first level.
    ///
    /// # Errors
    /// A level has no model even then.
    pub fn model_choices(&self, setups: &[LevelSetup]) -> Result<Vec<(String, ModelChoice)>, SetupError> {
        let mut found: Vec<(String, ModelChoice)> = Vec::new();
        for setup in setups.iter().filter(|setup| !setup.same_as_base) {
            let choice = self.model_choice(setup)?;
            let is_same = |one: &ModelChoice| one.model == choice.model && one.base_url == choice.base_url;
            if !found.iter().any(|(_, one)| is_same(one)) {
                found.push((setup.level.clone(), choice));
            }
        }
        Ok(found)
    }

    /// Choices that have no effect because a stronger layer sets them.
    pub fn override_notice(&self, setup: &LevelSetup) -> Option<String> {
        let settings = self.catalog.settings();
        let fields = [
            ("provider", setup.provider.is_some() || setup.base_url.is_some()),
            ("base_url", setup.provider.is_some() || setup.base_url.is_some()),
            ("model", setup.model.is_some()),
            ("api_key", setup.key.is_some() || setup.provider.is_some() || setup.base_url.is_some()),
        ];
        let above = fields.iter().filter(|(_, chosen)| *chosen).filter_map(|(field, _)| {
            let setting = settings.own_level_setting(&setup.level, field)?;
            (setting.origin.layer > ConfigLayer::User).then(|| setting.origin.to_string())
        });
        let names: Vec<String> = above.collect();
        let verb = if names.len() == 1 { "wins" } else { "win" };
        (!names.is_empty()).then(|| format!("{} {verb} over what is saved here", names.join(", ")))
    }
}

/// Sends a short request to a model. Returns which model answered, and how long it took.
///
/// # Errors
/// The problem and its fix.
pub async fn try_model(models: &dyn ModelPort, choice: ModelChoice) -> Result<String, SetupError> {
    let shown = display_name(&choice);
    match models.call(&test_question(choice), &TrialDeltaSink).await {
        Ok(reply) => Ok(format!("{shown} answered in {}", format_duration(reply.duration_ms))),
        Err(error) => Err(SetupError(model_error_text(&error))),
    }
}

/// A key alone belongs to the provider that the level has now.
fn complete_setup(catalog: &ConfigCatalog, setup: LevelSetup) -> LevelSetup {
    if setup.key.is_none() || setup.provider.is_some() || setup.base_url.is_some() {
        return setup;
    }
    let settings = catalog.settings();
    let level = &setup.level;
    let url = settings.own_level_setting(level, "base_url").or_else(|| {
        settings.own_level_setting("base", "base_url").filter(|_| !has_own_provider(settings, level))
    });
    let named =
        settings.level_setting(level, "provider").and_then(EffectiveSetting::as_str).map(str::to_owned);
    let now = named.or_else(|| catalog.model_for_level(level).ok().map(|choice| choice.provider));
    let provider = now.filter(|name| url.is_none() && catalog.models().provider(name).is_some());
    LevelSetup { provider, ..setup }
}

/// The changes of the files for these levels; a key at a level moves with its provider.
fn setup_changes(catalog: &ConfigCatalog, setups: &[LevelSetup]) -> SetupChanges {
    let mut all = SetupChanges::default();
    let files = catalog.user_files_only();
    // a key that older settings saved without its server gets one now
    for (path, key, url) in catalog.unbound_keys(&format!("user:{KEYS_FILE}")) {
        all.keys.push(
            SavedKey { key: &key, home: Some(&url) }.change_at(path.split('.').map(str::to_owned).collect()),
        );
    }
    for setup in setups {
        let own = owned_key(&files, &setup.level);
        let own_key = own
            .as_ref()
            .map(|(provider, key, home)| (provider.as_str(), SavedKey { key, home: home.as_deref() }));
        let home = key_origin(catalog, setup);
        let same_server = same_server(&files, setup);
        all = all.merge_changes(setup.to_changes(&CurrentLevelSetup {
            same_server,
            own_key,
            home: home.as_deref(),
        }));
    }
    all
}

/// Whether a level uses the chosen server already, judged by the user's files alone: keys that are saved there are for
/// the server that they name, whatever the environment or a project sets now.
pub fn same_server(files: &ConfigCatalog, setup: &LevelSetup) -> bool {
    let own = |field: &str| {
        files.settings().own_level_setting(&setup.level, field).and_then(EffectiveSetting::as_str)
    };
    match (&setup.provider, &setup.base_url) {
        (_, Some(url)) => own("base_url") == Some(url),
        (Some(provider), None) => {
            let now = filed_choice(files, &setup.level).map(|choice| choice.provider);
            own("base_url").is_none() && now.as_ref() == Some(provider)
        }
        (None, None) => true,
    }
}

/// The choice of a level by these files; if they name no model, its server.
fn filed_choice(files: &ConfigCatalog, level: &str) -> Option<ModelChoice> {
    let unnamed = || ModelSelector { model: Some("unnamed".to_owned()), ..ModelSelector::for_level(level) };
    files.model_for_level(level).or_else(|_| files.select_model(&unnamed())).ok()
}

/// The server that a key of this choice is for.
fn key_origin(catalog: &ConfigCatalog, setup: &LevelSetup) -> Option<String> {
    let known = setup.provider.as_deref().filter(|name| *name != CUSTOM);
    setup.base_url.clone().or_else(|| catalog.origin_for_saved_key(known, &setup.level))
}

/// The key that the user's files give to the level itself, with the provider of the catalogue that it is for and the
/// server that it belongs to.
fn owned_key(files: &ConfigCatalog, level: &str) -> Option<(String, SecretText, Option<String>)> {
    let setting = files
        .settings()
        .own_level_setting(level, "api_key")
        .filter(|one| one.origin.layer == ConfigLayer::User)?;
    let choice = filed_choice(files, level).filter(|choice| choice.key.as_deref() == Some(level))?;
    let known = files.models().provider(&choice.provider)?;
    let taken = files.key_ring().contains_key(&provider_key(&known.name));
    let key = setting.secret().filter(|_| setting.origin.name.is_none() && !taken)?;
    Some((known.name.clone(), key.clone(), Some(choice.base_url)))
}

fn apply_setting_changes(
    path: &str,
    old: Option<&str>,
    changes: &[SettingChange],
) -> Result<Option<String>, SetupError> {
    if old.is_none() && changes.iter().all(|change| change.value.is_none()) {
        return Ok(None);
    }
    let old = old.unwrap_or_default();
    let new = apply_changes(old, changes).map_err(|why| {
        SetupError(format!(
            "{path} is broken and was left as it is: {why}\nhint: `synthdev check` shows the place; correct it first"
        ))
    })?;
    Ok((new != old).then_some(new))
}

/// Errors of settings files; those of roles and workflows are reported elsewhere.
fn refuse_errors(catalog: &ConfigCatalog) -> Result<(), SetupError> {
    let own =
        |finding: &&Diagnostic| finding.place.file.starts_with("user:") && finding.code.starts_with('C');
    let settings = |finding: &&Diagnostic| {
        [SETTINGS_FILE, KEYS_FILE].iter().any(|name| finding.place.file == format!("user:{name}"))
    };
    let errors = catalog.diagnostics().iter().filter(|finding| finding.severity == DiagnosticSeverity::Error);
    match errors.filter(own).find(settings) {
        Some(error) => {
            Err(SetupError(format!("{}\nhint: correct it first, then try again", compact_line(error))))
        }
        None => Ok(()),
    }
}

fn test_question(choice: ModelChoice) -> ModelRequest {
    ModelRequest {
        agent: "setup".to_owned(),
        state: "setup".to_owned(),
        choice,
        messages: vec![ChatMessage::text(ChatRole::User, "Answer with the single word: ready")],
        tools: [].into(),
        parsing_tools: Vec::new(),
        tool_choice: ToolChoice::Auto,
        answer_schema: None,
    }
}

/// A model and its provider, as text for the user.
pub fn display_name(choice: &ModelChoice) -> String {
    let place = if choice.provider == CUSTOM { &choice.base_url } else { &choice.provider };
    format!("{} of {place}", choice.model)
}

fn model_error_text(error: &ModelError) -> String {
    let hint = match error {
        ModelError::Auth { .. } => "give the key again, in one piece",
        _ => error.hint(),
    };
    format!("{error}\nhint: {hint}")
}

/// The text of a trial is not shown.
struct TrialDeltaSink;

impl DeltaSink for TrialDeltaSink {
    fn delta(&self, _: DeltaKind, _: &str) {}
}
