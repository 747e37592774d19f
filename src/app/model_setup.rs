//! Setting up a model: previews a choice, tries it, and saves it. Only this file writes the user's files, and only
//! after everything was checked.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};

use super::cli_context::CliContext;
use super::{bootstrap, config_sources};
use synthdev_adapters::file_io;
use synthdev_adapters::providers::{ModelProviders, ModelTimeouts};
use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_domain::message::{ChatMessage, ChatRole};
use synthdev_domain::model::{DeltaKind, ModelChoice, ModelError, ModelRequest, ToolChoice};
use synthdev_domain::secret::SecretText;
use synthdev_domain::source_location::ConfigLayer;
use synthdev_language::model_selector::ModelSelector;
use synthdev_language::render::compact_line;
use synthdev_language::source::SourceFile;
use synthdev_ports::model::{DeltaSink, ModelPort};
use synthdev_service::session::SetupRequest;
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_settings::layers::EffectiveSetting;
use synthdev_settings::layers::read_layers::SettingOverrides;
use synthdev_settings::models::provider_catalog::ProviderCatalog;
use synthdev_settings::models::resolve::{CUSTOM, provider_key};
use synthdev_settings::setup::edit_json::apply_changes;
use synthdev_settings::setup::{
    CurrentLevelSetup, KEYS_FILE, LevelSetup, SavedKey, SettingChange, SetupChanges,
};

const SETTINGS_FILE: &str = "settings.json";
/// A model may have to be loaded first.
const PATIENCE: ModelTimeouts = ModelTimeouts {
    connect_timeout: Duration::from_secs(10),
    idle_timeout: Duration::from_secs(60),
    call: Duration::from_secs(300),
    window: Duration::from_secs(2),
};

/// The configuration as it would be.
pub(super) struct ConfigCandidate {
    pub(super) catalog: ConfigCatalog,
    /// Path, text before and text after, of the files that change.
    files: Vec<(PathBuf, String)>,
}

impl ConfigCandidate {
    /// With these changes in the user's files.
    ///
    /// # Errors
    /// A file of the user is broken, or would be.
    pub(super) fn with_changes(
        world: &CliContext,
        overrides: SettingOverrides,
        changes: &SetupChanges,
    ) -> Result<Self> {
        let mut gathered = config_sources::gather_sources(world, overrides, world.trust)?;
        let mut files = Vec::new();
        for (name, changes) in [(SETTINGS_FILE, &changes.settings), (KEYS_FILE, &changes.keys)] {
            let path = world.dirs.config.join(name);
            let old = file_io::read_file_if_exists(&path)
                .with_context(|| format!("{} cannot be read", path.display()))?;
            let Some(new) = apply_setting_changes(&path, old.as_deref(), changes)? else { continue };
            let label = format!("user:{name}");
            let settings = &mut gathered.sources.settings;
            settings.retain(|file| file.name != label);
            settings.push(SourceFile::new(ConfigLayer::User, label, new.as_str()));
            files.push((path, new));
        }
        // within a layer the later file wins: keys come last
        gathered.sources.settings.sort_by_key(|file| file.name.ends_with(KEYS_FILE));
        let catalog = ConfigCatalog::load(gathered.sources, bootstrap::tool_specs(&world.project));
        refuse_errors(&catalog)?;
        Ok(Self { catalog, files })
    }

    /// Writes the files, keys first: settings never name a missing key.
    ///
    /// # Errors
    /// The system's error; files that were written before it stay.
    pub(super) fn save_files(&self) -> Result<Vec<String>> {
        let mut written = Vec::new();
        for (path, text) in self.files.iter().rev() {
            file_io::write_private(path, text)
                .with_context(|| format!("{} cannot be written", path.display()))?;
            written.push(path.display().to_string());
        }
        Ok(written)
    }

    /// The model of each level after saving, as text for the user; includes what overrides the files.
    ///
    /// # Errors
    /// The level has no model even then.
    pub(super) fn model_choice(&self, setup: &LevelSetup) -> Result<ModelChoice> {
        self.catalog.model_for_level(&setup.level).map_err(|missing| missing_model_error(&missing))
    }

    /// Choices that have no effect because a stronger layer sets them.
    pub(super) fn override_notice(&self, setup: &LevelSetup) -> Option<String> {
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
        (!names.is_empty()).then(|| format!("{} wins over what is saved here", names.join(", ")))
    }

    /// Sends a short request to the model. Returns which model answered, and how long it took.
    ///
    /// # Errors
    /// The problem and its fix, as text for the user.
    pub(super) fn try_model(
        &self,
        choice: ModelChoice,
    ) -> impl Future<Output = Result<String, String>> + Send + use<> {
        let providers = model_providers(&self.catalog);
        async move {
            let shown = display_name(&choice);
            let request = test_question(choice);
            match providers.call(&request, &TrialDeltaSink).await {
                Ok(reply) => {
                    let seconds = Duration::from_millis(reply.duration_ms).as_secs_f64();
                    Ok(format!("{shown} answered in {seconds:.1} s"))
                }
                Err(error) => Err(model_error_text(&error)),
            }
        }
    }
}

/// What a session begins with: the dialog alone if that is all that was wanted, or unbidden where no model is set.
/// `plays`: a script answers, or something starts by itself.
pub(super) fn initial_setup_request(
    catalog: &ConfigCatalog,
    alone: bool,
    plays: bool,
) -> Option<SetupRequest> {
    let unset = !plays && catalog.model_for_level("base").is_err();
    (alone || unset).then(|| SetupRequest::Open {
        level: "base".to_owned(),
        at_first_start: !alone,
        exits_after: alone,
    })
}

/// The changes of the files for these levels; a key at a level moves with its provider.
pub(super) fn setup_changes(catalog: &ConfigCatalog, setups: &[LevelSetup]) -> SetupChanges {
    let mut all = SetupChanges::default();
    let files = catalog.user_files_only();
    // those of before keys were saved with their servers are from now on
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
pub(super) fn same_server(files: &ConfigCatalog, setup: &LevelSetup) -> bool {
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

/// # Errors
/// A name or text that cannot be.
pub(super) fn check_setups(setups: &[LevelSetup], models: &ProviderCatalog) -> Result<()> {
    setups.iter().try_for_each(|setup| setup.check_level(models)).map_err(|error| anyhow!(error))
}

fn apply_setting_changes(
    path: &std::path::Path,
    old: Option<&str>,
    changes: &[SettingChange],
) -> Result<Option<String>> {
    if old.is_none() && changes.iter().all(|change| change.value.is_none()) {
        return Ok(None);
    }
    let old = old.unwrap_or_default();
    let new = apply_changes(old, changes).map_err(|why| {
        anyhow!(
            "{} is broken and was left as it is: {why}\nhint: `synthdev check` shows the place; correct it first",
            path.display()
        )
    })?;
    Ok((new != old).then_some(new))
}

/// Errors of settings files; those of roles and workflows are reported elsewhere.
fn refuse_errors(catalog: &ConfigCatalog) -> Result<()> {
    let own =
        |finding: &&Diagnostic| finding.place.file.starts_with("user:") && finding.code.starts_with('C');
    let settings = |finding: &&Diagnostic| {
        [SETTINGS_FILE, KEYS_FILE].iter().any(|name| finding.place.file == format!("user:{name}"))
    };
    let errors = catalog.diagnostics().iter().filter(|finding| finding.severity == DiagnosticSeverity::Error);
    match errors.filter(own).find(settings) {
        Some(error) => bail!("{}\nhint: correct it first, then set up the model", compact_line(error)),
        None => Ok(()),
    }
}

/// Asks with the keys of this catalogue.
fn model_providers(catalog: &ConfigCatalog) -> ModelProviders {
    ModelProviders::new(catalog.key_ring().clone(), PATIENCE).with_key_servers(catalog.key_origins())
}

fn test_question(choice: ModelChoice) -> ModelRequest {
    ModelRequest {
        agent: "setup".to_owned(),
        state: "setup".to_owned(),
        choice,
        messages: vec![ChatMessage::text(ChatRole::User, "Answer with the single word: ready")],
        tools: Vec::new(),
        parsing_tools: Vec::new(),
        tool_choice: ToolChoice::Auto,
    }
}

/// A model and its provider, as text for the user.
pub(super) fn display_name(choice: &ModelChoice) -> String {
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

fn missing_model_error(missing: &Diagnostic) -> anyhow::Error {
    match &missing.hint {
        Some(hint) => anyhow!("{}\nhint: {hint}", missing.message),
        None => anyhow!("{}", missing.message),
    }
}

/// The text of a trial is not shown.
struct TrialDeltaSink;

impl DeltaSink for TrialDeltaSink {
    fn delta(&self, _: DeltaKind, _: &str) {}
}
