//! The policy as it holds on this machine: which paths may be written, which may only be read, which may not be read.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::credentials::CredentialFile;
use super::git_files::GitFiles;
use super::nested_repositories::NestedRepositories;
use super::plain_paths::{canonical_path, is_canonical, links_along, resolve_lexically, way_within};
use super::sandbox_places::SandboxPlaces;
use super::{credentials, toolchains};

use synthdev_domain::sandbox::{NetworkAccess, ProcessLimits, SandboxMode, SandboxSettings};

/// What a command may do with a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathAccess {
    Write,
    Read,
    Hidden,
}

impl PathAccess {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Write => "read and write",
            Self::Read => "read only",
            Self::Hidden => "hidden",
        }
    }
}

/// A path that the policy names, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathRule {
    pub path: PathBuf,
    pub access: PathAccess,
    pub reason: &'static str,
    /// Programs find an empty file instead of an error: they read it whenever they start.
    pub empty: bool,
}

/// A directory that a layer treats in a way of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LayerPlace {
    pub path: &'static str,
    pub access: PathAccess,
    pub reason: &'static str,
}

impl LayerPlace {
    pub fn is_there(&self) -> bool {
        Path::new(self.path).exists()
    }
}

#[derive(Clone, Debug)]
pub struct SandboxPolicy {
    pub mode: SandboxMode,
    pub network: NetworkAccess,
    /// Commands do not reach the ports that their workflow declares.
    pub ports_are_closed: bool,
    pub root: PathBuf,
    /// A longer path wins over a shorter one.
    pub rules: Vec<PathRule>,
    pub limits: ProcessLimits,
}

impl SandboxPolicy {
    pub fn from_settings(settings: &SandboxSettings, places: &SandboxPlaces) -> Self {
        let nested = NestedRepositories::new(&places.root).current_names();
        let git_files = GitFiles::collect(places, &canonical_path(&places.root), nested);
        Self::with_git_files(settings, places, git_files)
    }

    /// `git_files` were collected for these places.
    pub(super) fn with_git_files(
        settings: &SandboxSettings,
        places: &SandboxPlaces,
        git_files: GitFiles,
    ) -> Self {
        let root = canonical_path(&places.root);
        let mut policy = Self {
            mode: settings.mode,
            network: settings.network,
            ports_are_closed: settings.ports_are_closed,
            root: root.clone(),
            rules: Vec::new(),
            limits: settings.limits,
        };
        let named = |texts: &[String]| -> Vec<PathBuf> {
            texts.iter().filter_map(|text| expand_path(text, &root, places.home.as_deref())).collect()
        };
        policy.add_hidden_rules(settings, places, &named);
        if settings.mode == SandboxMode::ReadOnly {
            // below /tmp it would be gone with the rest of it
            policy.add_rule(root.clone(), PathAccess::Read, "the project");
            if let Some(repository) = &places.repository {
                policy.add_rule(canonical_path(repository), PathAccess::Read, "the project's git directory");
            }
        } else {
            policy.add_rule(root.clone(), PathAccess::Write, "the project");
            if let Some(repository) = &places.repository {
                policy.add_rule(canonical_path(repository), PathAccess::Write, "the project's git directory");
            }
            for cache in toolchains::existing_caches(places) {
                policy.add_rule(cache, PathAccess::Write, "a cache of a toolchain");
            }
            for path in named(&settings.writable) {
                policy.add_rule(canonical_path(&path), PathAccess::Write, "sandbox.writable");
            }
            policy.add_protected_rules(settings, places, git_files, &named);
        }
        policy.show_home(places);
        policy
    }

    /// A home directory below `/tmp` would be gone with the rest of it, and the user's settings for git with it.
    fn show_home(&mut self, places: &SandboxPlaces) {
        let Some(home) = places.home.as_deref().map(canonical_path) else { return };
        let replaced = ["/tmp", "/var/tmp", "/run"].iter().any(|place| home.starts_with(place));
        if replaced && self.access_to(&home).0 == PathAccess::Read && home != self.root {
            self.add_rule(home, PathAccess::Read, "the home directory");
        }
    }

    fn add_hidden_rules(
        &mut self,
        settings: &SandboxSettings,
        places: &SandboxPlaces,
        named: &dyn Fn(&[String]) -> Vec<PathBuf>,
    ) {
        let readable: Vec<PathBuf> =
            named(&settings.readable).iter().map(|path| canonical_path(path)).collect();
        let mut hidden: Vec<(PathBuf, &'static str, bool)> = Vec::new();
        hidden.extend(
            credentials::hidden_credentials(places).into_iter().map(|path| (path, "credentials", false)),
        );
        let with_tokens = credentials::with_tokens(places).into_iter().filter(CredentialFile::contains_token);
        hidden.extend(with_tokens.map(|file| (file.path, "credentials", true)));
        for own in [&places.data, &places.configuration] {
            if !own.as_os_str().is_empty() {
                hidden.push((own.clone(), "files of synthdev itself", false));
            }
        }
        hidden.extend(named(&settings.hidden).into_iter().map(|path| (path, "sandbox.hidden", false)));
        for (path, reason, empty) in hidden {
            let path = canonical_path(&path);
            // a project below it is reachable nevertheless: a longer path wins
            let taken_back = readable.iter().any(|readable| path.starts_with(readable));
            let known = self.rules.iter().any(|rule| rule.path == path);
            if !taken_back && !known && path != self.root {
                self.rules.push(PathRule { path, access: PathAccess::Hidden, reason, empty });
            }
        }
        for path in readable {
            self.add_rule(path, PathAccess::Read, "sandbox.readable");
        }
    }

    /// A token was written to this file since the policy was made. What the policy names by itself stays as it is.
    pub(super) fn hide_token(&mut self, path: &Path) {
        let path = canonical_path(path);
        let named = |rule: &PathRule| match rule.access {
            PathAccess::Hidden => rule.path == path,
            _ => rule.reason == "sandbox.readable" && path.starts_with(&rule.path),
        };
        if !self.rules.iter().any(named) {
            self.rules.push(PathRule {
                path,
                access: PathAccess::Hidden,
                reason: "credentials",
                empty: true,
            });
        }
    }

    /// Makes files read-only that name programs which later run outside of the sandbox, although their directory is
    /// writable.
    fn add_protected_rules(
        &mut self,
        settings: &SandboxSettings,
        places: &SandboxPlaces,
        of_git: GitFiles,
        named: &dyn Fn(&[String]) -> Vec<PathBuf>,
    ) {
        const GIT: &str = "git runs it, or what it names";
        let own = [".synthdev", ".mcp.json"].map(|name| (self.root.join(name), "it steers later runs"));
        let of_project: Vec<(PathBuf, &'static str)> =
            of_git.of_project.into_iter().map(|path| (path, GIT)).chain(own).collect();
        let mut protected: Vec<(PathBuf, &'static str)> = Vec::new();
        protected.extend(of_git.of_user.into_iter().map(|path| (path, GIT)));
        protected.extend(toolchains::startup_files(places).into_iter().map(|path| (path, "it runs later")));
        for directory in &places.search_path {
            if !directory.starts_with(&self.root) || places.home.as_deref() == Some(self.root.as_path()) {
                protected.push((directory.clone(), "programs of PATH"));
            }
        }
        protected.extend(named(&settings.read_only).into_iter().map(|path| (path, "sandbox.read_only")));
        // a command can replace a link, so that the path leads to a file that the command has written
        let known = self.known_places(places, named(&settings.writable));
        for (path, reason) in of_project {
            let way = if places.outside_files { full_way(&path) } else { way_within(&path, &known) };
            self.add_protected(way, reason);
        }
        for (path, reason) in protected {
            self.add_protected(full_way(&path), reason);
        }
    }

    /// What may be written, also by the names under which the user knows it, and the home directory, whose links may lead
    /// there. What a project's files name elsewhere is not looked at: that alone can mount something.
    fn known_places(&self, places: &SandboxPlaces, mut known: Vec<PathBuf>) -> Vec<PathBuf> {
        known.extend(self.with_access(PathAccess::Write).map(|rule| rule.path.clone()));
        known.extend(toolchains::named_caches(places));
        known.push(places.root.clone());
        known.extend(places.repository.iter().chain(&places.home).cloned());
        known
    }

    fn add_protected(&mut self, way: Vec<PathBuf>, reason: &'static str) {
        for path in way {
            if path.is_absolute() && self.access_resolved(&path).0 == PathAccess::Write {
                self.add_rule(path, PathAccess::Read, reason);
            }
        }
    }

    fn add_rule(&mut self, path: PathBuf, access: PathAccess, reason: &'static str) {
        self.rules.push(PathRule { path, access, reason, empty: false });
    }

    /// The directory that replaces `/tmp`.
    pub(super) fn allow_private(&mut self, temporary: &Path) {
        self.add_rule(temporary.to_owned(), PathAccess::Write, "the private temporary directory");
    }

    /// What may be done with a path, and which rule says so. Links in it are followed as far as it exists.
    pub fn access_to(&self, path: &Path) -> (PathAccess, &'static str) {
        self.access_resolved(&resolve_lexically(path))
    }

    /// The same for a path that is free of links: nothing is looked at.
    pub fn access_resolved(&self, path: &Path) -> (PathAccess, &'static str) {
        let fits = self.rules.iter().filter(|rule| path.starts_with(&rule.path));
        let strongest = fits.max_by_key(|rule| (rule.path.as_os_str().len(), rule.access as u8));
        strongest.map_or((PathAccess::Read, "outside of the project"), |rule| (rule.access, rule.reason))
    }

    /// The same with the directories that a layer mounts itself. A rule for a directory around such a mount covers it,
    /// except a rule for the whole file system, which is mounted first.
    pub(super) fn access_with_layer(
        &self,
        path: &Path,
        places: &'static [LayerPlace],
    ) -> (PathAccess, &'static str) {
        let path = resolve_lexically(path);
        let mut rules = self.rules.iter().filter(|rule| rule.path != Path::new("/"));
        if rules.any(|rule| path.starts_with(&rule.path)) {
            return self.access_resolved(&path);
        }
        let fits = places.iter().filter(|place| path.starts_with(place.path) && place.is_there());
        let nearest = fits.max_by_key(|place| place.path.len());
        nearest.map_or_else(|| self.access_resolved(&path), |place| (place.access, place.reason))
    }

    /// Whether neither a path that is free of links nor anything below it may be read.
    pub fn is_hidden(&self, path: &Path) -> bool {
        // most paths are below no hidden one
        self.with_access(PathAccess::Hidden).any(|rule| path.starts_with(&rule.path))
            && self.access_resolved(path).0 == PathAccess::Hidden
            && !self.rules.iter().any(|rule| rule.access != PathAccess::Hidden && rule.path.starts_with(path))
    }

    pub fn with_access(&self, access: PathAccess) -> impl Iterator<Item = &PathRule> {
        self.rules.iter().filter(move |rule| rule.access == access)
    }

    /// The rules of existing paths, shortest paths first: a later mount covers an earlier one.
    ///
    /// A path that leads elsewhere by now has no rule: a command may have put a link there, and the rule would open
    /// what the link names. `known` returns whether a protected path existed before the commands that run now.
    pub(super) fn in_mount_order(&self, known: impl Fn(&Path) -> bool) -> Vec<&PathRule> {
        let in_place = |rule: &&PathRule| match rule.access {
            PathAccess::Hidden => rule.path.exists(),
            PathAccess::Read | PathAccess::Write => known(&rule.path) && is_canonical(&rule.path),
        };
        let mut rules: Vec<&PathRule> = self.rules.iter().filter(in_place).collect();
        rules.sort_by_key(|rule| (rule.path.as_os_str().len(), rule.access as u8));
        rules
    }

    /// The directories between what may be written and a path in it that is treated differently. A directory that is
    /// moved takes such a path along to where no rule names it.
    pub(super) fn directories_to_pin(&self, rules: &[&PathRule]) -> Vec<PathBuf> {
        let mut held: Vec<PathBuf> = Vec::new();
        for rule in rules.iter().filter(|rule| rule.access != PathAccess::Write) {
            let above = self.with_access(PathAccess::Write).map(|above| above.path.as_path());
            let above = above.filter(|above| rule.path != *above && rule.path.starts_with(above));
            let Some(above) = above.max_by_key(|above| above.as_os_str().len()) else { continue };
            let between = rule.path.ancestors().skip(1).take_while(|between| *between != above);
            let between = between.filter(|between| self.access_to(between).0 == PathAccess::Write);
            held.extend(between.map(Path::to_owned));
        }
        held.sort();
        held.dedup();
        held
    }

    /// The whole policy, for display. `closed`: why the layer opens no port.
    pub(super) fn description_text(&self, places: &'static [LayerPlace], closed: Option<&str>) -> String {
        let mut text = format!("mode: {}\nnetwork: {}\n", self.mode.as_str(), self.network.as_str());
        if self.network != NetworkAccess::On {
            let closed = if self.ports_are_closed { Some("sandbox.workflow_ports") } else { closed };
            let ports = closed.map_or_else(|| "open".to_owned(), |why| format!("closed ({why})"));
            let _ = writeln!(text, "ports of this machine that a workflow declares: {ports}");
        }
        for access in [PathAccess::Write, PathAccess::Read, PathAccess::Hidden] {
            let _ = writeln!(text, "{}:", access.as_str());
            for rule in self.with_access(access).filter(|rule| rule.path.exists()) {
                let _ = writeln!(text, "  {} ({})", rule.path.display(), rule.reason);
            }
            // one that the policy itself has a rule for is named above
            let is_changed = |place: &&LayerPlace| {
                let found = self.access_with_layer(Path::new(place.path), places);
                place.is_there() && found == (access, place.reason)
            };
            for place in places.iter().filter(is_changed) {
                let _ = writeln!(text, "  {} ({})", place.path, place.reason);
            }
        }
        text.push_str("all else: read only\n");
        text
    }
}

/// A path without links, and the links on its way.
fn full_way(path: &Path) -> Vec<PathBuf> {
    [resolve_lexically(path)].into_iter().chain(links_along(path)).collect()
}

/// `~` is the home directory, what is relative is the project's.
fn expand_path(text: &str, root: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    match text.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            Some(home?.join(rest.trim_start_matches('/')))
        }
        _ => Some(root.join(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_path_decides() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().canonicalize().unwrap();
        let root = home.join("project");
        std::fs::create_dir_all(root.join(".git/hooks")).unwrap();
        std::fs::create_dir_all(home.join(".ssh")).unwrap();
        std::fs::create_dir_all(home.join(".config/gh")).unwrap();
        std::fs::create_dir_all(home.join("data/worktrees/r1")).unwrap();
        let places = SandboxPlaces {
            home: Some(home.clone()),
            data: home.join("data"),
            ..SandboxPlaces::for_project(&root)
        };
        let settings = SandboxSettings {
            read_only: vec!["vendor".to_owned()],
            hidden: vec!["secrets".to_owned(), "~/notes".to_owned()],
            readable: vec!["~/.config/gh".to_owned()],
            writable: vec!["~/shared".to_owned()],
            ..SandboxSettings::default()
        };
        let policy = SandboxPolicy::from_settings(&settings, &places);
        for (path, expected) in [
            ("project/src/a.rs", PathAccess::Write),
            ("project", PathAccess::Write),
            ("project/.git/index", PathAccess::Write),
            ("project/.git/hooks/pre-commit", PathAccess::Read),
            ("project/.git/config", PathAccess::Read),
            ("project/.synthdev/workflows/a.json", PathAccess::Read),
            ("project/.mcp.json", PathAccess::Read),
            ("project/vendor/x", PathAccess::Read),
            ("project/secrets/x", PathAccess::Hidden),
            ("project/../other", PathAccess::Read),
            ("project2", PathAccess::Read),
            (".ssh/id", PathAccess::Hidden),
            (".config/gh/hosts.yml", PathAccess::Read),
            ("notes/a", PathAccess::Hidden),
            ("shared/a", PathAccess::Write),
            ("data/runs.sqlite", PathAccess::Hidden),
        ] {
            assert_eq!(policy.access_to(&home.join(path)).0, expected, "{path}");
        }
        for (path, hides) in [
            ("project", false),
            ("project/secrets", true),
            ("project/secrets/x", true),
            (".config/gh/hosts.yml", false),
            ("data/runs.sqlite", true),
        ] {
            assert_eq!(policy.is_hidden(&home.join(path)), hides, "{path}");
        }
        let settings = SandboxSettings { mode: SandboxMode::ReadOnly, ..SandboxSettings::default() };
        let policy = SandboxPolicy::from_settings(&settings, &places);
        assert!(policy.with_access(PathAccess::Read).any(|rule| rule.path == root), "{policy:#?}");
        let inside = SandboxPlaces { root: home.join("data/worktrees/r1"), ..places };
        let policy = SandboxPolicy::from_settings(&SandboxSettings::default(), &inside);
        assert_eq!(policy.access_to(&home.join("data/worktrees/r1/a")).0, PathAccess::Write);
        assert_eq!(policy.access_to(&home.join("data/runs.sqlite")).0, PathAccess::Hidden);
        assert!(policy.is_hidden(&home.join("data/runs.sqlite")) && !policy.is_hidden(&home.join("data")));
        let settings = SandboxSettings { mode: SandboxMode::ReadOnly, ..SandboxSettings::default() };
        let policy = SandboxPolicy::from_settings(&settings, &inside);
        assert_eq!(policy.access_to(&home.join("data/worktrees/r1/a")).0, PathAccess::Read);
    }

    #[test]
    fn a_link_at_a_protected_name_has_no_rule() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().canonicalize().unwrap();
        let root = home.join("project");
        std::fs::create_dir_all(&root).unwrap();
        std::fs::create_dir_all(home.join(".ssh")).unwrap();
        let places = SandboxPlaces { home: Some(home.clone()), ..SandboxPlaces::for_project(&root) };
        let policy = SandboxPolicy::from_settings(&SandboxSettings::default(), &places);
        let mounted = |known: bool, name: &str| {
            policy.in_mount_order(|_| known).iter().any(|rule| rule.path == root.join(name))
        };
        assert!(!mounted(true, ".synthdev"), "it is not there");
        std::os::unix::fs::symlink("../.ssh", root.join(".synthdev")).unwrap();
        std::os::unix::fs::symlink("../.ssh", root.join(".git")).unwrap();
        std::fs::write(home.join(".ssh/config"), "x").unwrap();
        assert!(!mounted(true, ".synthdev") && !mounted(true, ".git/config"), "it leads elsewhere");
        std::fs::remove_file(root.join(".synthdev")).unwrap();
        std::fs::create_dir(root.join(".synthdev")).unwrap();
        assert!(mounted(true, ".synthdev") && !mounted(false, ".synthdev"), "a running command has made it");
    }
    #[test]
    fn what_git_reads_and_runs_is_not_written() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().canonicalize().unwrap();
        let root = home.join("project");
        for made in [".git/modules/sub", "hooks-of-all", "tools", "sub"] {
            std::fs::create_dir_all(root.join(made)).unwrap();
        }
        let put = |name: &str, text: &str| std::fs::write(home.join(name), text).unwrap();
        put(".gitconfig", "[core] hooksPath = hooks-of-all\n");
        put(
            "project/.git/config",
            "[include]\n\tpath = ../shared\n[core] hooksPath=a\n[core]\n hooksPath=b\n",
        );
        put(
            "project/shared",
            "[filter \"x\"] clean = sh clean.sh\n[include] path = more\n[include] path = d/link\n",
        );
        std::fs::create_dir(root.join("real")).unwrap();
        std::os::unix::fs::symlink("real", root.join("d")).unwrap();
        std::os::unix::fs::symlink("../end", root.join("real/link")).unwrap();
        put("project/clean.sh", "");
        put("project/.git/modules/sub/HEAD", "");
        put(
            "project/.git/modules/sub/config",
            "[core]\n worktree = ../../../sub\n fsmonitor = ./watch\n[include] path=../../../sub.inc\n",
        );
        let places = SandboxPlaces { home: Some(home.clone()), ..SandboxPlaces::for_project(&root) };
        let policy = SandboxPolicy::from_settings(&SandboxSettings::default(), &places);
        for name in
            ["hooks-of-all/pre-commit", "shared", "more", "a", "b/x", "clean.sh", "sub/watch", "sub.inc"]
        {
            assert_eq!(policy.access_to(&root.join(name)).0, PathAccess::Read, "{name}");
        }
        for name in ["tools/x", "sub/x", "watch", "sh", "real/x"] {
            assert_eq!(policy.access_to(&root.join(name)).0, PathAccess::Write, "{name}");
        }
        // each link on the way, and where they end, although nothing is there
        for name in ["d", "real/link", "end"] {
            assert_eq!(policy.access_resolved(&root.join(name)).0, PathAccess::Read, "{name}");
        }
    }

    #[test]
    fn what_a_project_names_elsewhere_is_not_looked_at() {
        let (directory, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let home = directory.path().canonicalize().unwrap();
        let elsewhere = other.path().canonicalize().unwrap();
        let root = home.join("project");
        for made in [".git", "one", "two", "three"] {
            std::fs::create_dir_all(root.join(made)).unwrap();
        }
        std::os::unix::fs::symlink(root.join("one"), elsewhere.join("link")).unwrap();
        std::os::unix::fs::symlink(root.join("two"), home.join("link")).unwrap();
        std::os::unix::fs::symlink(elsewhere.join("link"), root.join(".synthdev")).unwrap();
        let far = elsewhere.join("link").display().to_string();
        let config = format!("[core] hooksPath = {far}\n[core]\n hooksPath = ~/link\n");
        std::fs::write(root.join(".git/config"), config).unwrap();
        let places = SandboxPlaces { home: Some(home.clone()), ..SandboxPlaces::for_project(&root) };
        for (outside_files, of_user, one) in [
            (false, "", PathAccess::Write),
            (true, "", PathAccess::Read),
            (false, far.as_str(), PathAccess::Read),
        ] {
            std::fs::write(home.join(".gitconfig"), format!("[core] hooksPath = {of_user}\n")).unwrap();
            let places = SandboxPlaces { outside_files, ..places.clone() };
            let policy = SandboxPolicy::from_settings(&SandboxSettings::default(), &places);
            for (name, expected) in [("one", one), ("two", PathAccess::Read), ("three", PathAccess::Write)] {
                let found = policy.access_resolved(&root.join(name)).0;
                assert_eq!(found, expected, "{name}, {outside_files}, {of_user}");
            }
            assert_eq!(policy.access_resolved(&root.join(".synthdev")).0, PathAccess::Read);
        }
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "one table")]
    fn keys_are_hidden_wherever_the_environment_puts_them() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().canonicalize().unwrap();
        let root = home.join("project");
        std::fs::create_dir_all(&root).unwrap();
        for made in ["cargo", "data", "config", "docker", ".gradle", ".cargo"] {
            std::fs::create_dir_all(home.join(made)).unwrap();
        }
        let put = |name: &str, text: &str| std::fs::write(home.join(name), text).unwrap();
        put("cargo/credentials.toml", "token = \"x\"");
        put("cargo/config.toml", "[registries.x]\nToken  =  \"x\"");
        put(".cargo/config.toml", "[registry]\nglobal-credential-providers = [\"cargo:token\"]");
        put(".gradle/gradle.properties", "mavenPassword=x");
        put("docker/config.json", "{\"auths\": {}}");
        for made in [".bundle", ".cache/huggingface", ".config/composer", "config/uv", "cache", ".config/uv"]
        {
            std::fs::create_dir_all(home.join(made)).unwrap();
        }
        put(".yarnrc.yml", "npmRegistries:\n  x:\n    npmAuthToken: y\n");
        put(".bundle/config", "---\nBUNDLE_GEMS__EXAMPLE__COM: \"u:pw\"\n");
        put(".cache/huggingface/token", "hf_x");
        put(".config/composer/auth.json", "{\"http-basic\": {}}");
        put("config/uv/uv.toml", "[[index]]\nurl = \"https://u:pw@h.example/simple\"\n");
        put(".config/uv/uv.toml", "[[index]]\nurl = \"https://h.example/simple\"\n");
        put(".curlrc", "silent\n");
        put(".wgetrc", "http_password = x\n");
        let places = SandboxPlaces {
            home: Some(home.clone()),
            cargo_home: Some(home.join("cargo")),
            data_home: Some(home.join("data")),
            config_home: Some(home.join("config")),
            docker_home: Some(home.join("docker")),
            key_places: vec![home.join("gnupg"), home.join("kube/one"), home.clone(), root.clone()],
            ..SandboxPlaces::for_project(&root)
        };
        let mut policy = SandboxPolicy::from_settings(&SandboxSettings::default(), &places);
        for (name, expected) in [
            ("cargo/credentials.toml", PathAccess::Hidden),
            ("cargo/config.toml", PathAccess::Hidden),
            (".cargo/config.toml", PathAccess::Read),
            (".gradle/gradle.properties", PathAccess::Hidden),
            ("docker/config.json", PathAccess::Hidden),
            ("data/keyrings/x", PathAccess::Hidden),
            ("config/gh/hosts.yml", PathAccess::Hidden),
            ("gnupg/x", PathAccess::Hidden),
            ("kube/one", PathAccess::Hidden),
            ("kube/two", PathAccess::Read),
            ("snap/firefox/x", PathAccess::Hidden),
            (".var/app/x", PathAccess::Hidden),
            (".histfile", PathAccess::Hidden),
            (".npmrc", PathAccess::Read),
            (".yarnrc.yml", PathAccess::Hidden),
            (".bundle/config", PathAccess::Hidden),
            (".cache/huggingface/token", PathAccess::Hidden),
            (".config/composer/auth.json", PathAccess::Hidden),
            ("config/uv/uv.toml", PathAccess::Hidden),
            (".config/uv/uv.toml", PathAccess::Read),
            (".curlrc", PathAccess::Read),
            (".wgetrc", PathAccess::Hidden),
            (".gem/credentials", PathAccess::Hidden),
            (".hex/hex.config", PathAccess::Hidden),
            (".oci/config", PathAccess::Hidden),
            (".fly/config.yml", PathAccess::Hidden),
            ("config/hcloud/cli.toml", PathAccess::Hidden),
            (".config/sops/age/keys.txt", PathAccess::Hidden),
            ("data/uv/credentials/credentials.toml", PathAccess::Hidden),
            (".gemini/oauth_creds.json", PathAccess::Hidden),
            (".bitcoin/wallet.dat", PathAccess::Hidden),
            (".netrc.gpg", PathAccess::Hidden),
            ("project/x", PathAccess::Write),
            ("other", PathAccess::Read),
        ] {
            assert_eq!(policy.access_to(&home.join(name)).0, expected, "{name}");
        }
        // a token that comes later
        let watch = credentials::CredentialWatch::new(&places);
        let npm = home.join(".npmrc");
        put(".npmrc", "color=false\n");
        assert!(!watch.with_tokens().contains(&npm.as_path()));
        put(".npmrc", "color=false\n//r.example/:_authToken=x\n");
        assert!(watch.with_tokens().contains(&npm.as_path()));
        let before = policy.rules.len();
        watch.with_tokens().into_iter().for_each(|path| policy.hide_token(path));
        assert_eq!(policy.access_to(&npm).0, PathAccess::Hidden);
        assert_eq!(policy.rules.len(), before + 1, "what was known is not named again");
    }
}
