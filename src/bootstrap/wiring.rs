//! Builds the adapters and the runtime for one project. Everything is cheap until it is used.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;

use crate::active_recording::ActiveRecording;
use crate::config_sources::{self, GatheredSources};
use crate::start_context::StartContext;
use crate::{mcp_servers, sandbox_setup};
use synthdev_adapters::git::{GitSnapshots, OutsideFiles};
pub use synthdev_adapters::hidden_recording::HiddenRecording;
use synthdev_adapters::image_store::ImageStore;
use synthdev_adapters::javascript::ScriptWorkerPool;
use synthdev_adapters::liveness_handle::LivenessLockHandle;
use synthdev_adapters::project_index::ProjectIndex;
use synthdev_adapters::project_lock::FileLock;
pub use synthdev_adapters::providers::run_models::RunModels;
use synthdev_adapters::providers::{ModelProviders, ModelTimeouts, PriceList, ProviderPriceLists};
use synthdev_adapters::sqlite::SqliteStore;
use synthdev_adapters::system_clock::{SystemClock, SystemIds};
use synthdev_adapters::tools::{OutputRedaction, ProjectTools, ToolSettings};
pub use synthdev_adapters::worktree::{GitWorktrees, PushedFiles};
use synthdev_domain::tool::{ToolSpec, ask_user_tool, multicall_tool};
use synthdev_ports::mcp::{McpPort, McpServerListing};
use synthdev_ports::tool::ToolPort;
use synthdev_runtime::handle::{RetryPolicy, RuntimeHandle, RuntimeOptions, RuntimePorts};
use synthdev_runtime::redact::SecretRedactor;
use synthdev_service::run_start::{FileLockTime, FileSharingMode};
use synthdev_settings::catalog::{ConfigCatalog, ConfigSources};
use synthdev_settings::layers::read_layers::SettingOverrides;
use synthdev_settings::layers::rules::environment_names;
use synthdev_settings::layers::value_type::SettingValueType;
use synthdev_settings::mcp_servers::load_mcp_servers;
use synthdev_settings::models::provider_catalog::CatalogProvider;

/// A shorter text cannot be distinguished from ordinary words.
const SHORTEST_KEY: usize = 8;

/// A runtime with what the front-ends need of its adapters.
pub struct WiredRuntime {
    pub handle: RuntimeHandle,
    /// What `handle` was made of.
    pub ports: RuntimePorts,
    pub providers: Arc<ModelProviders>,
    /// The MCP servers behind its tools.
    pub mcp_servers: Arc<dyn McpPort>,
    /// Records the calls between runs and providers.
    pub recording: Option<ActiveRecording>,
    liveness: LivenessLockHandle,
}

/// Asks these servers for their tools and stores the answers; what went wrong, a line each.
pub async fn list_mcp_servers(
    context: &StartContext,
    catalog: &ConfigCatalog,
    names: &[String],
) -> Vec<McpServerListing> {
    let tools = tool_settings(&context.project, &context.dirs.data, catalog);
    mcp_servers::server_pool(&tools, &context.dirs.data, catalog).list_servers(names).await
}

/// For commands of the user, who may run anything.
pub fn users_tools(project: &Path, data: &Path, catalog: &ConfigCatalog) -> ProjectTools {
    ProjectTools::new(ToolSettings { typed_by_user: true, ..tool_settings(project, data, catalog) })
}

/// Where a run in a worktree works.
#[derive(Clone, Copy)]
pub struct WorktreeLocation<'a> {
    pub project: &'a Path,
    pub worktree: &'a Path,
}

/// What tools of one directory are made with.
fn tool_settings(project: &Path, data: &Path, catalog: &ConfigCatalog) -> ToolSettings {
    let settings = catalog.settings();
    let usual = ToolSettings::new(project);
    let variables: BTreeMap<String, String> =
        std::env::vars_os().map(|(name, value)| (to_lossy_string(name), to_lossy_string(value))).collect();
    let secrets = secret_names(catalog, variables.clone().into_iter());
    let key_homes = key_homes(catalog, &secrets, &variables);
    ToolSettings {
        strip_env: usual.strip_env.iter().cloned().chain(secrets).collect(),
        key_servers: key_homes,
        terminal_timeout: Duration::from_secs(settings.terminal_timeout_seconds()),
        output_cap_bytes: settings.output_limit_bytes(),
        hidden_paths: hidden_paths(project, data),
        sandbox: sandbox_setup::command_sandbox(project, data, catalog),
        own_tools: catalog.own_tools().to_vec(),
        command_outputs: Some(data.join("commands")),
        image_store: Some(image_store(data)),
        output_redaction: output_redaction(catalog),
        ..usual
    }
}

/// What conversations show, of all projects.
fn image_store(data: &Path) -> ImageStore {
    ImageStore::new(data.join("images"))
}

/// Keys in the output of background commands are not kept on disk either.
fn output_redaction(catalog: &ConfigCatalog) -> OutputRedaction {
    let redactor = SecretRedactor::new(secret_values(catalog));
    Arc::new(move |text| redactor.clean_data(text))
}

fn secret_values(catalog: &ConfigCatalog) -> Vec<String> {
    catalog.key_ring().values().map(|secret| secret.expose_secret().to_owned()).collect()
}

/// Hides our data directory from tools, unless the project is a worktree inside of it: tools do not leave a worktree.
fn hidden_paths(project: &Path, data: &Path) -> Vec<PathBuf> {
    if project.starts_with(data) { Vec::new() } else { vec![data.to_owned()] }
}

/// Files that snapshots exclude because they may hold keys are not sent to a model either.
pub fn project_index(project: &Path, data: &Path, catalog: &ConfigCatalog) -> ProjectIndex {
    let index =
        ProjectIndex::new(project, catalog.settings().snapshot_exclude(), hidden_paths(project, data));
    index.under_policy(sandbox_setup::command_sandbox(project, data, catalog))
}

fn to_lossy_string(text: OsString) -> String {
    text.to_string_lossy().into_owned()
}

/// Names of variables that no command may see, whatever they are called: those that our settings and the catalogue
/// of models take keys from, and those that hold a key in force under another name.
fn secret_names(
    catalog: &ConfigCatalog,
    variables: impl Iterator<Item = (String, String)>,
) -> BTreeSet<String> {
    let ours = environment_names().filter(|(_, rule)| rule.value_type == SettingValueType::Secret);
    let mut names: BTreeSet<String> = ours.map(|(name, _)| name.to_owned()).collect();
    let providers = catalog.models().providers.iter();
    names.extend(providers.flat_map(|provider| provider.key_env.iter().flatten().cloned()));
    let keys: Vec<&str> = catalog.key_ring().values().map(|secret| secret.expose_secret()).collect();
    // servers that want no key get `none` or `x`, which other variables may well hold too
    let is_key = |value: &str| value.len() >= SHORTEST_KEY && keys.contains(&value);
    names.extend(variables.filter(|(_, value)| is_key(value.trim())).map(|(name, _)| name));
    names
}

/// Where what these variables hold may be sent: a key that is not in force has no home.
fn key_homes(
    catalog: &ConfigCatalog,
    secrets: &BTreeSet<String>,
    variables: &BTreeMap<String, String>,
) -> BTreeMap<String, Vec<String>> {
    let homes = catalog.key_origins();
    let of = |name: &String| {
        let value = variables.get(name).map(|value| value.trim());
        let same = catalog.key_ring().iter().filter(|(_, key)| Some(key.expose_secret()) == value);
        same.filter_map(|(key, _)| homes.get(key)).flatten().cloned().collect()
    };
    secrets.iter().map(|name| (name.clone(), of(name))).collect()
}

/// The configuration of these files, with the tools of the product and the stored ones of its servers.
pub fn load_catalog(context: &StartContext, sources: ConfigSources) -> ConfigCatalog {
    let (servers, _) = load_mcp_servers(&sources.settings, &sources.mcp_files);
    let mut tools = tool_specs(&context.project);
    tools.extend(mcp_servers::stored_tools(&servers, &context.dirs.data));
    ConfigCatalog::load(sources, tools)
}

/// The configuration of this start, without a word about it.
///
/// # Errors
/// A file that was named for this start cannot be read, or the decision about the project's own files cannot.
pub fn load_quietly(
    context: &StartContext,
    overrides: SettingOverrides,
) -> Result<(ConfigCatalog, GatheredSources)> {
    let gathered = config_sources::gather_sources(context, overrides, context.trust)?;
    let catalog = load_catalog(context, gathered.sources.clone());
    Ok((catalog, gathered))
}

/// Every tool of the product, for the catalogue; the same in every project.
pub fn tool_specs(project: &Path) -> Vec<ToolSpec> {
    let mut specs = ProjectTools::new(ToolSettings::new(project)).specs().to_vec();
    specs.push(multicall_tool());
    specs.push(ask_user_tool());
    specs
}

/// For runs started from now on: the configuration has changed, subscribers are kept.
pub fn rewire_runtime(
    old: &WiredRuntime,
    project: &Path,
    data: &Path,
    catalog: &ConfigCatalog,
    models: RunModels,
) -> WiredRuntime {
    let mut parts = runtime_parts(project, data, catalog, models, old.liveness.clone());
    parts.ports.store = Arc::clone(&old.ports.store);
    parts.into_wired(|ports, options| old.handle.with_replaced_ports(ports, options))
}

impl WiredRuntime {
    /// For runs that work beside others as `mode` says.
    #[must_use]
    pub fn with_file_sharing(self, mode: FileSharingMode) -> Self {
        Self { handle: mode.apply_to(&self.handle, FileLockTime::AtStart), ..self }
    }

    /// For a run that has files of its own.
    #[must_use]
    pub fn without_project_lock(self) -> Self {
        Self { handle: self.handle.without_project_lock(), ..self }
    }

    /// Keeps the record, the lock and the clock of another one: its runs are the same ones.
    #[must_use]
    pub fn with_store_from(self, other: &Self) -> Self {
        let RuntimePorts { store, lock, clock, ids, .. } = other.ports.clone();
        let ports = RuntimePorts { store, lock, clock, ids, ..self.ports };
        Self { handle: self.handle.with_store_from(&other.handle), ports, ..self }
    }

    /// Asks its models through this.
    #[must_use]
    pub fn with_recording(self, deck: ActiveRecording) -> Self {
        let ports = RuntimePorts { models: deck.port(), ..self.ports };
        Self { handle: self.handle.with_models(deck.port()), ports, recording: Some(deck), ..self }
    }
}

/// For one run in a worktree of `project`: it has its files to itself.
pub fn wire_worktree(
    place: WorktreeLocation<'_>,
    data: &Path,
    catalog: &ConfigCatalog,
    models: RunModels,
) -> WiredRuntime {
    let recording = models.recording.clone();
    let mut parts = runtime_parts(place.worktree, data, catalog, models, LivenessLockHandle::default());
    parts.move_to_worktree(place, data, catalog, recording);
    parts.into_wired(RuntimeHandle::new)
}

/// As `wire_worktree`, watched together with the runs of `old`.
pub fn wire_beside(
    old: &WiredRuntime,
    place: WorktreeLocation<'_>,
    data: &Path,
    catalog: &ConfigCatalog,
) -> WiredRuntime {
    let models = RunModels::default();
    let mut parts = runtime_parts(place.worktree, data, catalog, models, old.liveness.clone());
    parts.move_to_worktree(place, data, catalog, None);
    parts.providers = Arc::clone(&old.providers);
    parts.ports.models = parts.providers.clone();
    // one store for all runs of this process: its name identifies the driver to other processes
    parts.ports.store = Arc::clone(&old.ports.store);
    let wired = parts.into_wired(|ports, options| old.handle.with_replaced_ports(ports, options));
    WiredRuntime { recording: old.recording.clone(), ..wired }
}

/// The worktrees of a project.
pub fn git_worktrees(project: &Path, data: &Path, catalog: &ConfigCatalog) -> GitWorktrees {
    GitWorktrees::new(project_snapshots(project, data, catalog))
}

/// What the project's repository may open outside of itself.
pub fn outside_files(allowed: bool) -> OutsideFiles {
    if allowed { OutsideFiles::Allowed } else { OutsideFiles::Refused }
}

fn project_snapshots(project: &Path, data: &Path, catalog: &ConfigCatalog) -> GitSnapshots {
    let exclude = catalog.settings().snapshot_exclude();
    let snapshots = GitSnapshots::open(project.to_owned(), data.to_owned(), exclude, Arc::new(SystemClock));
    snapshots.with_outside_files(outside_files(catalog.may_git_lead_out()))
}

/// For the runs of a project.
pub fn wire_runtime(project: &Path, data: &Path, catalog: &ConfigCatalog, models: RunModels) -> WiredRuntime {
    runtime_parts(project, data, catalog, models, LivenessLockHandle::default())
        .into_wired(RuntimeHandle::new)
}

/// The file of all runs.
pub fn history_path(data: &Path) -> PathBuf {
    data.join("runs.sqlite")
}

/// What every listed model costs.
fn price_lists(catalog: &ConfigCatalog) -> ProviderPriceLists {
    let list = |provider: &CatalogProvider| PriceList {
        models: provider
            .models
            .iter()
            .filter_map(|model| Some((model.name.clone(), provider.price(Some(model))?)))
            .collect(),
        default_price: provider.price(None),
    };
    catalog.models().providers.iter().map(|provider| (provider.name.clone(), list(provider))).collect()
}

/// What a runtime of one directory is made of.
struct RuntimeParts {
    ports: RuntimePorts,
    options: RuntimeOptions,
    providers: Arc<ModelProviders>,
    mcp_servers: Arc<dyn McpPort>,
    liveness: LivenessLockHandle,
}

impl RuntimeParts {
    fn move_to_worktree(
        &mut self,
        place: WorktreeLocation<'_>,
        data: &Path,
        catalog: &ConfigCatalog,
        recording: Option<HiddenRecording>,
    ) {
        let liveness = self.liveness.clone();
        let indexed_project = Some(place.project.to_owned());
        let settings = tool_settings(place.worktree, data, catalog);
        let tools = ProjectTools::new(ToolSettings { indexed_project, recording, liveness, ..settings });
        self.ports.tools = Arc::new(tools.with_servers(Arc::clone(&self.mcp_servers)));
        self.ports.lock = None;
        self.options.project = place.project.display().to_string();
    }

    fn into_wired(self, make: impl FnOnce(RuntimePorts, RuntimeOptions) -> RuntimeHandle) -> WiredRuntime {
        let Self { ports, options, providers, mcp_servers, liveness } = self;
        let handle = make(ports.clone(), options);
        WiredRuntime { handle, ports, providers, mcp_servers, recording: None, liveness }
    }
}

fn runtime_parts(
    project: &Path,
    data: &Path,
    catalog: &ConfigCatalog,
    models: RunModels,
    liveness: LivenessLockHandle,
) -> RuntimeParts {
    let RunModels { script, recording } = models;
    let settings = catalog.settings();
    let timeouts = ModelTimeouts {
        connect_timeout: Duration::from_secs(settings.connect_seconds()),
        idle_timeout: Duration::from_secs(settings.idle_seconds()),
        call_timeout: Duration::from_secs(settings.call_seconds()),
        ..ModelTimeouts::default()
    };
    let providers =
        ModelProviders::new(catalog.key_ring().clone(), timeouts).with_key_servers(catalog.key_origins());
    let mut providers = providers.with_prices(price_lists(catalog)).with_images(image_store(data));
    if let Some(script) = script {
        providers = providers.with_scripted(script);
    }
    let providers = Arc::new(providers);
    let tools = tool_settings(project, data, catalog);
    let tools = ToolSettings { recording: recording.clone(), liveness: liveness.clone(), ..tools };
    let mcp_servers: Arc<dyn McpPort> = Arc::new(mcp_servers::server_pool(&tools, data, catalog));
    let ports = RuntimePorts {
        models: providers.clone(),
        tools: Arc::new(ProjectTools::new(tools).with_servers(Arc::clone(&mcp_servers))),
        scripts: Arc::new(ScriptWorkerPool::default()),
        snapshots: Arc::new(project_snapshots(project, data, catalog).without_recording(recording)),
        store: Arc::new(SqliteStore::new(history_path(data)).with_liveness(liveness.clone())),
        lock: Some(Arc::new(FileLock::open(project.to_owned(), data))),
        clock: Arc::new(SystemClock),
        ids: Arc::new(SystemIds),
    };
    let secrets = secret_values(catalog);
    let options = RuntimeOptions {
        project: project.display().to_string(),
        pid: std::process::id(),
        retry: RetryPolicy {
            attempts: settings.retry_attempts(),
            first_delay_ms: settings.retry_first_delay_ms(),
            longest_delay_ms: settings.retry_longest_delay_ms(),
        },
        secrets,
        snapshot_limits: settings.snapshot_limits(),
        ..RuntimeOptions::default()
    };
    RuntimeParts { ports, options, providers, mcp_servers, liveness }
}

#[cfg(test)]
mod tests {
    use super::*;
    use synthdev_domain::source_location::ConfigLayer;
    use synthdev_language::source::SourceFile;
    use synthdev_settings::catalog::ConfigSources;

    #[test]
    fn every_variable_with_a_key_is_known() {
        let variables = [
            ("SYNTHDEV_API_KEY", "sk-our-own-key"),
            ("ACME_ACCESS", "acme-long-key"),
            ("COPY_OF_IT", " sk-our-own-key\n"),
            ("EDITOR", "vi"),
            ("SYNTHDEV_FAST_API_KEY", "none"),
            ("GREETER", "none"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let models = r#"{"providers": {"acme": {"base_url": "https://acme.example/v1",
            "key_env": ["ACME_ACCESS", "ACME_ACCESS_OLD"]}}}"#;
        let sources = ConfigSources {
            models: vec![SourceFile::new(ConfigLayer::User, "models.json", models)],
            environment: variables.iter().cloned().collect(),
            ..ConfigSources::default()
        };
        let catalog = ConfigCatalog::load(sources, Vec::new());
        assert_eq!(catalog.diagnostics(), []);
        let names = secret_names(&catalog, variables.into_iter());
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "ACME_ACCESS",
                "ACME_ACCESS_OLD",
                "COPY_OF_IT",
                "SYNTHDEV_API_KEY",
                "SYNTHDEV_BASE_API_KEY",
                "SYNTHDEV_FAST_API_KEY",
                "SYNTHDEV_SMART_API_KEY",
            ]
        );
    }
}
