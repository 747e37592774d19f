//! What toolchains write outside of a project although nothing is lost with it, and what they must not: programs.

use std::path::{Path, PathBuf};

use super::sandbox_places::SandboxPlaces;

/// A cache below the home directory, and a program that uses it.
const IN_HOME: [(&str, &str); 12] = [
    (".npm", "npm"),
    (".local/share/pnpm/store", "pnpm"),
    (".pnpm-store", "pnpm"),
    (".yarn/berry", "yarn"),
    (".yarn-cache", "yarn"),
    (".bun/install/cache", "bun"),
    (".gradle/caches", "gradle"),
    (".gradle/daemon", "gradle"),
    (".gradle/native", "gradle"),
    (".m2/repository", "mvn"),
    (".nuget/packages", "dotnet"),
    (".hex/packages", "mix"),
];

/// Files that a shell or a session runs when it starts. They matter where the project is the home directory.
const STARTUP: [&str; 20] = [
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".xinitrc",
    ".xprofile",
    ".config/fish",
    ".config/systemd",
    ".config/autostart",
    ".config/environment.d",
    ".gitconfig",
    ".config/git",
    ".local/bin",
    ".cargo/bin",
];

/// What shells read when they start although it is in a cache, by the beginnings of the names.
const STARTUP_IN_CACHE: [&str; 14] = [
    "antibody",
    "antidote",
    "bash",
    "direnv",
    "fish",
    "gitstatus",
    "oh-my-",
    "p10k-",
    "prezto",
    "sheldon",
    "starship",
    "wal",
    "zinit",
    "zsh",
];

/// Names that are known from the beginning. The last ones hold programs that hooks and package managers run.
const KNOWN_IN_CACHE: [&str; 15] = [
    "p10k-instant-prompt-USER.zsh",
    "p10k-dump-USER.zsh",
    "p10k-USER",
    "antibody",
    "antidote",
    "gitstatus",
    "oh-my-zsh",
    "oh-my-posh",
    "prezto",
    "sheldon",
    "wal",
    "zinit",
    "zsh",
    "pre-commit",
    "node/corepack",
];

fn cargo_home(places: &SandboxPlaces) -> Option<PathBuf> {
    places.cargo_home.clone().or_else(|| Some(places.home.as_ref()?.join(".cargo")))
}

fn go_path(places: &SandboxPlaces) -> Option<PathBuf> {
    places.go_path.clone().or_else(|| Some(places.home.as_ref()?.join("go")))
}

fn cache_home(places: &SandboxPlaces) -> Option<PathBuf> {
    places.cache_home.clone().or_else(|| Some(places.home.as_ref()?.join(".cache")))
}

/// The caches that exist, links resolved. Excludes a cache inside a directory of programs, or around one.
pub fn existing_caches(places: &SandboxPlaces) -> Vec<PathBuf> {
    let found = known_caches(places).into_iter().filter_map(|(path, _)| path.canonicalize().ok());
    found.filter(|path| !places.search_path.iter().any(|programs| path.starts_with(programs))).collect()
}

/// Every cache as the environment names it.
pub fn named_caches(places: &SandboxPlaces) -> impl Iterator<Item = PathBuf> {
    known_caches(places).into_iter().map(|(path, _)| path)
}

/// Every cache, and the program without which it is not wanted.
fn known_caches(places: &SandboxPlaces) -> Vec<(PathBuf, Option<&'static str>)> {
    let mut wanted = Vec::new();
    if let Some(cargo) = cargo_home(places) {
        for name in ["registry", "git", ".package-cache", ".package-cache-mutate"] {
            wanted.push((cargo.join(name), Some("cargo")));
        }
    }
    if let Some(go) = go_path(places) {
        wanted.push((go.join("pkg"), Some("go")));
    }
    wanted.extend(cache_home(places).map(|path| (path, None)));
    if let Some(home) = &places.home {
        wanted.extend(IN_HOME.iter().map(|(path, program)| (home.join(path), Some(*program))));
    }
    wanted
}

/// A program in the sandbox cannot make the directory of its cache: the home directory is read only. Whether one is new.
pub fn create_missing_caches(places: &SandboxPlaces) -> bool {
    let mut is_any_new = false;
    for (path, program) in known_caches(places) {
        let used = program.is_none_or(|program| is_installed(program, &places.search_path));
        if !used || path.exists() {
            continue;
        }
        let is_file =
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".package-cache"));
        // without it the program works more slowly, or says itself what it lacks
        let made = if is_file && path.parent().is_some_and(Path::is_dir) {
            std::fs::OpenOptions::new().create(true).append(true).open(&path).map(drop)
        } else if is_file {
            continue;
        } else {
            std::fs::create_dir_all(&path)
        };
        is_any_new |= made.is_ok();
    }
    is_any_new
}

fn is_installed(program: &str, search_path: &[PathBuf]) -> bool {
    search_path.iter().any(|directory| directory.join(program).is_file())
}

/// What runs later in the user's own sessions. In the cache also what is not there yet: the next shell would read it.
pub fn startup_files(places: &SandboxPlaces) -> Vec<PathBuf> {
    let Some(home) = &places.home else { return Vec::new() };
    let mut files: Vec<PathBuf> = STARTUP.iter().map(|name| home.join(name)).collect();
    let Some(cache) = cache_home(places) else { return files };
    let found = std::fs::read_dir(&cache).into_iter().flatten().flatten().filter(|entry| {
        let name = entry.file_name();
        STARTUP_IN_CACHE.iter().any(|start| name.to_string_lossy().starts_with(start))
    });
    files.extend(found.map(|entry| entry.path()));
    let user = home.file_name().unwrap_or_default().to_string_lossy();
    for name in KNOWN_IN_CACHE {
        files.push(cache.join(name.replace("USER", &user)));
    }
    // zsh reads the compiled form instead if it is newer
    let scripts = files.iter().filter(|path| path.extension().is_some_and(|end| end == "zsh"));
    let compiled: Vec<PathBuf> = scripts.map(|path| path.with_extension("zsh.zwc")).collect();
    files.extend(compiled);
    files.sort();
    files.dedup();
    files
}
