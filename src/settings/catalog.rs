//! The configuration: all files of all layers as one value, with their diagnostics. Loading is cheap (no script is
//! parsed); a workflow is checked on demand. Never reads a file.

pub mod context_windows;
mod misdirected_keys;
pub mod programs;
mod without_effect;
pub mod workflow_index;

use std::collections::BTreeMap;

pub use self::misdirected_keys::stray_key_message;
use self::workflow_index::{WorkflowEntry, index_workflows};
use super::file_kind::FileKind;
use super::mcp_servers::load_mcp_servers;
use super::models::base_url::same_origin;
use super::models::key_scope::KeyScopes;
use super::models::key_scopes::{ConfigPerspective, ConfigView, resolve_key_scopes};
use super::models::models_file as read_models;
use super::models::provider_catalog::ProviderCatalog;
use super::models::resolve::{ModelResolver, key_ring, provider_for_key};
use super::models::server_list::{self, ConfiguredServer};
use super::own_tools::load_own_tools;
use super::redaction::{KeyRing, mask_dotenv, mask_settings, mask_urls};
use super::roles::RoleSet;
use super::system_context::{self, GuidanceExcerpt, SystemContextFacts};
use crate::layers::environment::EnvironmentVars;
use crate::layers::explain::SettingExplanation;
use crate::layers::read_layers::SettingOverrides;
use crate::layers::rules::{is_harmless, is_key_variable};
use crate::layers::{EffectiveSettings, explain};
use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_domain::mcp_server::McpServerConfig;
use synthdev_domain::model::ModelChoice;
use synthdev_domain::own_tool::OwnTool;
use synthdev_domain::secret::SecretText;
use synthdev_domain::source_location::ConfigLayer;
use synthdev_domain::system_context::SystemContext;
use synthdev_domain::tool::ToolSpec;
use synthdev_language::companion_files::CompanionReader;
use synthdev_language::model_selector::ModelSelector;
use synthdev_language::source::SourceFile;

/// Everything that the caller read. Files may come in any order: each knows its layer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ConfigSources {
    pub settings: Vec<SourceFile>,
    /// A project's `.mcp.json`.
    pub mcp_files: Vec<SourceFile>,
    pub models: Vec<SourceFile>,
    /// Tools that are defined by the user and the project.
    pub tools: Vec<SourceFile>,
    pub roles: Vec<SourceFile>,
    pub workflows: Vec<SourceFile>,
    /// Script files and prompts below the workflow directories.
    pub texts: Vec<SourceFile>,
    /// For those beside workflow files that are named on the command line.
    pub reader: Option<CompanionReader>,
    /// Templates of the environment block; the strongest counts.
    pub templates: Vec<SourceFile>,
    /// `AGENTS.md` of the user and of the project.
    pub guidance: Vec<SourceFile>,
    /// The process environment.
    pub environment: BTreeMap<String, String>,
    /// `.env` texts of the user's directory and the project.
    pub dotenv: Vec<SourceFile>,
    /// The user has seen which files the project's repository opens outside of itself.
    pub git_leads_out: bool,
    pub command_line: SettingOverrides,
}

/// The loaded configuration. A running run keeps the one it was started with.
#[derive(Clone, Debug)]
pub struct ConfigCatalog {
    settings: EffectiveSettings,
    mcp_servers: BTreeMap<String, McpServerConfig>,
    environment: EnvironmentVars,
    models: ProviderCatalog,
    roles: RoleSet,
    keys: KeyRing,
    key_scopes: KeyScopes,
    tools: Vec<ToolSpec>,
    own_tools: Vec<OwnTool>,
    workflows: Vec<WorkflowEntry>,
    files: ConfigSources,
    diagnostics: Vec<Diagnostic>,
}

impl ConfigCatalog {
    /// Reads every text. An error in one definition never hides the sound ones: see [`ConfigCatalog::diagnostics`].
    /// `tools` are all tools of the product.
    pub fn load(sources: ConfigSources, mut tools: Vec<ToolSpec>) -> Self {
        let (environment, mut diagnostics) = EnvironmentVars::load(&sources.environment, &sources.dotenv);
        let (settings, mut found) =
            EffectiveSettings::load(&sources.settings, &environment, &sources.command_line);
        diagnostics.append(&mut found);
        let (mcp_servers, mut found) = load_mcp_servers(&sources.settings, &sources.mcp_files);
        diagnostics.append(&mut found);
        let (models, mut found) = read_models::load_providers(&sources.models);
        diagnostics.append(&mut found);
        let (own_tools, mut found) = load_own_tools(&sources.tools, &tools);
        diagnostics.append(&mut found);
        tools.extend(own_tools.iter().map(|tool| tool.spec.clone()));
        let (roles, mut found) = RoleSet::load(&sources.roles, &tools);
        diagnostics.append(&mut found);
        let (workflows, mut found) = index_workflows(&sources.workflows);
        diagnostics.append(&mut found);
        diagnostics.extend(sources.templates.iter().flat_map(system_context::check_template));
        let keys = key_ring(&settings, &models, &environment);
        let mut catalog = Self {
            settings,
            mcp_servers,
            environment,
            models,
            roles,
            keys,
            key_scopes: KeyScopes::new(),
            tools,
            own_tools,
            workflows,
            files: sources,
            diagnostics,
        };
        catalog.key_scopes = resolve_key_scopes(&catalog.model_resolver(), &|whose| catalog.view_for(whose));
        let unknown = catalog.model_resolver().unknown_providers();
        catalog.diagnostics.extend(unknown);
        catalog
    }

    /// The files that it was read from.
    pub fn sources(&self) -> &ConfigSources {
        &self.files
    }

    pub fn settings(&self) -> &EffectiveSettings {
        &self.settings
    }

    /// Servers of the model context protocol, by name.
    pub fn mcp_servers(&self) -> &BTreeMap<String, McpServerConfig> {
        &self.mcp_servers
    }

    /// Whether the project's repository may open the files outside of itself that its own configuration names.
    pub fn may_git_lead_out(&self) -> bool {
        self.files.git_leads_out
    }

    pub fn models(&self) -> &ProviderCatalog {
        &self.models
    }

    pub fn roles(&self) -> &RoleSet {
        &self.roles
    }

    /// Keys by name, for the provider adapters only.
    pub fn key_ring(&self) -> &KeyRing {
        &self.keys
    }

    pub fn tools(&self) -> &[ToolSpec] {
        &self.tools
    }

    /// Those that the user and the project define.
    pub fn own_tools(&self) -> &[OwnTool] {
        &self.own_tools
    }

    /// The files of these tools as they were given.
    pub fn own_tool_files(&self) -> &[SourceFile] {
        &self.files.tools
    }

    /// Known workflows by name; where a name is defined in several layers, the highest counts.
    pub fn workflows(&self) -> &[WorkflowEntry] {
        &self.workflows
    }

    pub fn workflow(&self, name: &str) -> Option<&WorkflowEntry> {
        self.workflows.iter().find(|entry| entry.name == name)
    }

    /// Workflow files as they were given, for `check` of whole files.
    pub fn workflow_files(&self) -> &[SourceFile] {
        &self.files.workflows
    }

    /// Role files as they were given.
    pub fn role_files(&self) -> &[SourceFile] {
        &self.files.roles
    }

    /// Everything found while loading. Workflows are checked deeper by [`ConfigCatalog::program`].
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// The diagnostics of a file of settings, models or roles that this configuration does not include, read together
    /// with the built-in files.
    pub fn check_unloaded_file(&self, file: &SourceFile, kind: FileKind) -> Vec<Diagnostic> {
        let shipped = |list: &[SourceFile]| -> Vec<SourceFile> {
            let shipped = list.iter().filter(|one| one.layer == ConfigLayer::BuiltIn).cloned();
            shipped.chain([file.clone()]).collect()
        };
        let found = match kind {
            FileKind::Settings => {
                let alone = (&EnvironmentVars::default(), &SettingOverrides::default());
                EffectiveSettings::load(std::slice::from_ref(file), alone.0, alone.1).1
            }
            FileKind::Models => read_models::load_providers(&shipped(&self.files.models)).1,
            FileKind::Roles => RoleSet::load(&shipped(&self.files.roles), &self.tools).1,
            FileKind::OwnTool => {
                let own = |spec: &ToolSpec| self.own_tools.iter().any(|tool| tool.spec.name == spec.name);
                let taken: Vec<ToolSpec> = self.tools.iter().filter(|spec| !own(spec)).cloned().collect();
                load_own_tools(std::slice::from_ref(file), &taken).1
            }
            FileKind::Workflow | FileKind::Test => Vec::new(),
        };
        found.into_iter().filter(|finding| finding.place.file == file.name).collect()
    }

    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|finding| finding.severity == DiagnosticSeverity::Error)
    }

    /// The system context of a run that starts now.
    pub fn system_context(&self, facts: &SystemContextFacts) -> SystemContext {
        system_context::build_system_context(
            &self.files.templates,
            &self.files.guidance,
            self.settings.system_context_options(),
            facts,
        )
    }

    /// Whether the system context tells of the project's index.
    pub fn names_index(&self) -> bool {
        system_context::names_index(&self.files.templates, self.settings.system_context_options())
    }

    /// The guidance files that agents are given; none where the settings say so.
    pub fn guidance_excerpts(&self) -> Vec<GuidanceExcerpt<'_>> {
        let wanted = self.settings.system_context_options();
        if wanted.guidance {
            system_context::guidance_excerpts(&self.files.guidance, wanted.guidance_limit)
        } else {
            Vec::new()
        }
    }

    fn model_resolver(&self) -> ModelResolver<'_> {
        ModelResolver {
            settings: &self.settings,
            models: &self.models,
            environment: &self.environment,
            keys: &self.keys,
            key_scopes: &self.key_scopes,
        }
    }

    /// Where each key of the ring may be sent.
    pub fn key_origins(&self) -> BTreeMap<String, Vec<String>> {
        self.key_scopes.iter().map(|(name, home)| (name.clone(), home.urls.clone())).collect()
    }

    /// Keys of this file that do not say what they are for although it is clear: path, key, and a URL of their server.
    pub fn unbound_keys(&self, file: &str) -> Vec<(String, SecretText, String)> {
        let path = |name: &str| match provider_for_key(name) {
            Some(provider) => format!("keys.{provider}"),
            None => format!("levels.{name}.api_key"),
        };
        let open = self.key_scopes.iter().filter_map(|(name, home)| {
            let path = path(name);
            let setting = self.settings.get(&path)?;
            let here = setting.origin.place.as_ref().is_some_and(|place| place.file == file);
            let url = home.urls.first().filter(|url| home.urls.iter().all(|one| same_origin(one, url)))?;
            let key = setting.secret().filter(|_| here && setting.key_origin().is_none())?;
            Some((path, key.clone(), url.clone()))
        });
        open.collect()
    }

    /// The origin for a key that the user saves now, for a provider or for a level's own server. Ignores files of the
    /// project.
    pub fn origin_for_saved_key(&self, provider: Option<&str>, level: &str) -> Option<String> {
        let ConfigView { settings, models, environment } = self.view_for(ConfigPerspective::Person);
        let keys = key_ring(&settings, &models, &environment);
        let said = ModelResolver {
            settings: &settings,
            models: &models,
            environment: &environment,
            keys: &keys,
            key_scopes: &self.key_scopes,
        };
        match provider {
            Some(name) => said.provider_url(models.provider(name)?),
            None => said.level_endpoint(level).map(|reached| reached.url),
        }
    }

    /// The configuration of the user's own settings files and catalogue: no environment, no options, no project. A key
    /// that is saved there belongs to the server that they name.
    #[must_use]
    pub fn user_files_only(&self) -> Self {
        let own = |list: &[SourceFile]| -> Vec<SourceFile> {
            list.iter().filter(|file| file.layer <= ConfigLayer::User).cloned().collect()
        };
        let (settings, models) = (own(&self.files.settings), own(&self.files.models));
        Self::load(ConfigSources { settings, models, ..ConfigSources::default() }, Vec::new())
    }

    /// The configuration as this perspective sees it. Drops the diagnostics, because `load` has reported them.
    fn view_for(&self, whose: ConfigPerspective) -> ConfigView {
        let files = &self.files;
        let of_project = |list: &[SourceFile]| list.iter().any(|file| file.layer == ConfigLayer::Project);
        let alone = ![&files.settings, &files.models, &files.dotenv].into_iter().any(|list| of_project(list));
        if whose == ConfigPerspective::Person && alone {
            let (settings, models) = (self.settings.clone(), self.models.clone());
            return ConfigView { settings, models, environment: self.environment.clone() };
        }
        let counts = |file: &&SourceFile| match whose {
            ConfigPerspective::Person => file.layer != ConfigLayer::Project,
            ConfigPerspective::Files => file.layer <= ConfigLayer::User,
            ConfigPerspective::Project => file.layer <= ConfigLayer::Project,
        };
        let those = |list: &[SourceFile]| list.iter().filter(counts).cloned().collect::<Vec<_>>();
        let (process, typed) = match whose {
            ConfigPerspective::Person => (files.environment.clone(), files.command_line.clone()),
            ConfigPerspective::Files | ConfigPerspective::Project => {
                (BTreeMap::new(), SettingOverrides::default())
            }
        };
        let (environment, _) = EnvironmentVars::load(&process, &those(&files.dotenv));
        let (settings, _) = EffectiveSettings::load(&those(&files.settings), &environment, &typed);
        let (models, _) = read_models::load_providers(&those(&files.models));
        ConfigView { settings, models, environment }
    }

    /// Every server that could be asked as things are set.
    pub fn servers(&self) -> Vec<ConfiguredServer> {
        server_list::configured_servers(&self.model_resolver())
    }

    /// One setting with everything that decides it: by its path, an environment name or an option.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn explain_setting(&self, key: &str) -> Result<SettingExplanation, String> {
        explain::explain_setting(&self.settings, &self.diagnostics, &self.models, &self.environment, key)
    }

    /// The `.env` files that were read, by their names in findings.
    pub fn environment_files(&self) -> impl Iterator<Item = &str> {
        self.files.dotenv.iter().map(|file| file.name.as_str())
    }

    /// The model of a level: base, smart or fast.
    ///
    /// # Errors
    /// The missing setting, and how to set it.
    pub fn model_for_level(&self, level: &str) -> Result<ModelChoice, Box<Diagnostic>> {
        self.select_model(&ModelSelector::for_level(level))
    }

    /// The model for a selector: a level, and what the agent overrides.
    ///
    /// # Errors
    /// The missing setting, and how to set it.
    pub fn select_model(&self, wish: &ModelSelector) -> Result<ModelChoice, Box<Diagnostic>> {
        let resolver = self.model_resolver();
        resolver.resolve_choice(wish)
    }

    /// A file's text by the name in a diagnostic, fit to be printed: keys are blotted out.
    pub fn printable_text(&self, file: &str) -> Option<String> {
        let named =
            |list: &[SourceFile]| list.iter().find(|one| one.name == file).map(|one| one.text.clone());
        if let Some(text) = named(&self.files.settings) {
            return Some(mask_settings(&text, &is_harmless));
        }
        if let Some(text) = named(&self.files.dotenv) {
            return Some(mask_dotenv(&text, &is_key_variable));
        }
        let files = &self.files;
        if let Some(text) = named(&files.models) {
            return Some(mask_urls(&text));
        }
        let others = [&files.workflows, &files.texts, &files.roles, &files.tools, &files.templates];
        let known = others.into_iter().find_map(|list| named(list)).map(|text| text.to_string());
        known.or_else(|| self.command_line_companion(file))
    }

    /// A text beside a workflow file of the command line: those are named by their paths.
    fn command_line_companion(&self, file: &str) -> Option<String> {
        let (_, path) = file.rsplit_once('/').unwrap_or(("", file));
        self.files
            .reader
            .as_ref()?
            .read_companion(&SourceFile::new(ConfigLayer::CommandLine, file, ""), path)
            .ok()?
    }
}
