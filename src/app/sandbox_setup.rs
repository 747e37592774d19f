//! The sandbox of a project: the paths of this start that its policy refers to, and how the policy is shown.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use synthdev_adapters::file_io::UserDirs;
use synthdev_adapters::repository_bounds::linked_repository;
use synthdev_adapters::sandbox::CommandSandbox;
use synthdev_adapters::sandbox::sandbox_places::SandboxPlaces;
use synthdev_cli::sandbox::{PathAccessExplanation, SandboxReport, explain_path};
use synthdev_settings::catalog::ConfigCatalog;

/// Variables that name a place of keys.
const KEY_PLACES: [&str; 9] = [
    "GNUPGHOME",
    "NETRC",
    "PGPASSFILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_CONFIG_FILE",
    "AZURE_CONFIG_DIR",
    "CLOUDSDK_CONFIG",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "SOPS_AGE_KEY_FILE",
];

/// `root`: the project, or a run's worktree of it.
pub(super) fn command_sandbox(root: &Path, data: &Path, catalog: &ConfigCatalog) -> Arc<CommandSandbox> {
    Arc::new(CommandSandbox::new(catalog.settings().sandbox(), sandbox_places(root, data, catalog)))
}

fn sandbox_places(root: &Path, data: &Path, catalog: &ConfigCatalog) -> SandboxPlaces {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let paths = |name: &str| -> Vec<PathBuf> {
        let listed = std::env::var_os(name).unwrap_or_default();
        std::env::split_paths(&listed).filter(|path| path.is_absolute()).collect()
    };
    SandboxPlaces {
        root: root.to_owned(),
        repository: linked_repository(root),
        outside_files: catalog.may_git_lead_out(),
        home: variable("HOME"),
        data: data.to_owned(),
        configuration: UserDirs::find().map(|dirs| dirs.config).unwrap_or_default(),
        search_path: paths("PATH"),
        cargo_home: variable("CARGO_HOME"),
        go_path: variable("GOPATH"),
        cache_home: variable("XDG_CACHE_HOME"),
        config_home: variable("XDG_CONFIG_HOME"),
        data_home: variable("XDG_DATA_HOME"),
        docker_home: variable("DOCKER_CONFIG"),
        key_places: KEY_PLACES.into_iter().filter_map(variable).chain(paths("KUBECONFIG")).collect(),
        helper: std::env::current_exe().unwrap_or_default(),
    }
}

/// The policy, and whether something holds it.
pub(super) fn sandbox_report(sandbox: &CommandSandbox, catalog: &ConfigCatalog) -> SandboxReport {
    let (layer, gaps, problem) = match sandbox.prepare_current() {
        Ok(Some(ready)) => (Some(ready.working_layer().name()), ready.working_layer().gap_texts(), None),
        Ok(None) => (None, &[][..], None),
        Err(problem) => (None, &[][..], Some(problem)),
    };
    let policy = sandbox.policy();
    SandboxReport {
        mode: policy.mode.as_str(),
        network: policy.network.as_str(),
        layer,
        gap_texts: gaps.iter().map(|gap| (*gap).to_owned()).collect(),
        problem,
        rules: sandbox.description_text(),
        ports: declared_ports(sandbox, catalog),
    }
}

/// By workflow. None where they are not what decides: closed ports, or a network that is open anyway.
fn declared_ports(sandbox: &CommandSandbox, catalog: &ConfigCatalog) -> Vec<(String, BTreeSet<u16>)> {
    let declared = catalog.workflows().iter().filter_map(|entry| {
        let program = catalog.program(&entry.name).ok()?;
        let ports = &program.workflows.first()?.loopback_ports;
        let open = sandbox.open_ports(sandbox.settings().reach_for(None, ports));
        (!open.is_empty()).then(|| (entry.name.clone(), open.clone()))
    });
    declared.collect()
}

/// What a command may do with a path of the project or elsewhere.
pub(super) fn explain_path_access(
    sandbox: &CommandSandbox,
    project: &Path,
    path: &Path,
) -> PathAccessExplanation {
    let (access, reason) = sandbox.explain_access(&project.join(path));
    explain_path(path, access.as_str(), reason, sandbox.settings().mode.as_str())
}
