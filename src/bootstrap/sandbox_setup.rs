//! The sandbox of a project: the paths of this start that its policy refers to.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use synthdev_adapters::file_io::UserDirs;
use synthdev_adapters::repository_bounds::linked_repository;
pub use synthdev_adapters::sandbox::CommandSandbox;
use synthdev_adapters::sandbox::sandbox_places::SandboxPlaces;
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
pub fn command_sandbox(root: &Path, data: &Path, catalog: &ConfigCatalog) -> Arc<CommandSandbox> {
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
