//! The policy as it holds on this machine: which paths may be written, which may only be read, which may not be read.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::places::SandboxPlaces;
use super::{credentials, toolchains};
use crate::domain::sandbox::{NetworkAccess, ProcessLimits, SandboxMode, SandboxSettings};

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

#[derive(Clone, Debug)]
pub struct SandboxPolicy {
    pub mode: SandboxMode,
    pub network: NetworkAccess,
    pub root: PathBuf,
    /// A longer path wins over a shorter one.
    pub rules: Vec<PathRule>,
    pub limits: ProcessLimits,
}

impl SandboxPolicy {
    pub fn resolve(settings: &SandboxSettings, places: &SandboxPlaces) -> Self {
        let root = canonical(&places.root);
        let mut policy = Self {
            mode: settings.mode,
            network: settings.network,
            root: root.clone(),
            rules: Vec::new(),
            limits: settings.limits,
        };
        let named = |texts: &[String]| -> Vec<PathBuf> {
            texts.iter().filter_map(|text| expand(text, &root, places.home.as_deref())).collect()
        };
        policy.hide(settings, places, &named);
        if settings.mode != SandboxMode::ReadOnly {
            policy.add(root.clone(), PathAccess::Write, "the project");
            if let Some(repository) = &places.repository {
                policy.add(canonical(repository), PathAccess::Write, "the project's git directory");
            }
            for cache in toolchains::caches(places) {
                policy.add(cache, PathAccess::Write, "a cache of a toolchain");
            }
            for path in named(&settings.writable) {
                policy.add(canonical(&path), PathAccess::Write, "sandbox.writable");
            }
            policy.protect(settings, places, &named);
        } else if policy.access(&root).0 == PathAccess::Hidden {
            // a run's worktree lies in the data directory
            policy.add(root.clone(), PathAccess::Read, "the project");
        }
        policy.show_home(places);
        policy
    }

    /// A home directory below `/tmp` would be gone with the rest of it, and the user's settings for git with it.
    fn show_home(&mut self, places: &SandboxPlaces) {
        let Some(home) = places.home.as_deref().map(canonical) else { return };
        let replaced = ["/tmp", "/var/tmp", "/run"].iter().any(|place| home.starts_with(place));
        if replaced && self.access(&home).0 == PathAccess::Read && home != self.root {
            self.add(home, PathAccess::Read, "the home directory");
        }
    }

    fn hide(
        &mut self,
        settings: &SandboxSettings,
        places: &SandboxPlaces,
        named: &dyn Fn(&[String]) -> Vec<PathBuf>,
    ) {
        let readable: Vec<PathBuf> = named(&settings.readable).iter().map(|path| canonical(path)).collect();
        let mut hidden: Vec<(PathBuf, &'static str, bool)> = Vec::new();
        if let Some(home) = &places.home {
            hidden.extend(
                credentials::in_home(home).into_iter().map(|(path, empty)| (path, "credentials", empty)),
            );
        }
        for own in [&places.data, &places.configuration] {
            if !own.as_os_str().is_empty() {
                hidden.push((own.clone(), "files of synthdev itself", false));
            }
        }
        hidden.extend(named(&settings.hidden).into_iter().map(|path| (path, "sandbox.hidden", false)));
        for (path, reason, empty) in hidden {
            let path = canonical(&path);
            // a project below it is reachable nevertheless: a longer path wins
            let taken_back = readable.iter().any(|readable| path.starts_with(readable));
            if !taken_back && path != self.root {
                self.rules.push(PathRule { path, access: PathAccess::Hidden, reason, empty });
            }
        }
        for path in readable {
            self.add(path, PathAccess::Read, "sandbox.readable");
        }
    }

    /// What names programs that run later outside of the sandbox is not written, although it lies in what may be.
    fn protect(
        &mut self,
        settings: &SandboxSettings,
        places: &SandboxPlaces,
        named: &dyn Fn(&[String]) -> Vec<PathBuf>,
    ) {
        let mut protected: Vec<(PathBuf, &'static str)> = Vec::new();
        let directories = [places.repository.clone(), Some(self.root.join(".git"))];
        for git in directories.into_iter().flatten() {
            protected.extend(git_files(&git).into_iter().map(|path| (path, "git runs what it names")));
        }
        for name in [".synthdev", ".mcp.json"] {
            protected.push((self.root.join(name), "it steers later runs"));
        }
        protected.extend(toolchains::startup_files(places).into_iter().map(|path| (path, "it runs later")));
        for directory in &places.search_path {
            if !directory.starts_with(&self.root) || places.home.as_deref() == Some(self.root.as_path()) {
                protected.push((directory.clone(), "programs of PATH"));
            }
        }
        protected.extend(named(&settings.read_only).into_iter().map(|path| (path, "sandbox.read_only")));
        for (path, reason) in protected {
            let path = lexical(&path);
            if self.access(&path).0 == PathAccess::Write {
                self.add(path, PathAccess::Read, reason);
            }
        }
    }

    fn add(&mut self, path: PathBuf, access: PathAccess, reason: &'static str) {
        self.rules.push(PathRule { path, access, reason, empty: false });
    }

    /// The directory that stands for `/tmp`.
    pub(super) fn allow_private(&mut self, temporary: &Path) {
        self.add(temporary.to_owned(), PathAccess::Write, "the private temporary directory");
    }

    /// What may be done with a path, and which rule says so. Links in it are followed as far as it exists.
    pub fn access(&self, path: &Path) -> (PathAccess, &'static str) {
        self.access_resolved(&lexical(path))
    }

    /// The same for a path that is free of links: nothing is looked at.
    pub fn access_resolved(&self, path: &Path) -> (PathAccess, &'static str) {
        let fits = self.rules.iter().filter(|rule| path.starts_with(&rule.path));
        let strongest = fits.max_by_key(|rule| (rule.path.as_os_str().len(), rule.access as u8));
        strongest.map_or((PathAccess::Read, "outside of the project"), |rule| (rule.access, rule.reason))
    }

    /// Whether neither a path that is free of links nor anything below it may be read.
    pub fn hides(&self, path: &Path) -> bool {
        // most paths are below no hidden one
        self.with_access(PathAccess::Hidden).any(|rule| path.starts_with(&rule.path))
            && self.access_resolved(path).0 == PathAccess::Hidden
            && !self.rules.iter().any(|rule| rule.access != PathAccess::Hidden && rule.path.starts_with(path))
    }

    pub fn with_access(&self, access: PathAccess) -> impl Iterator<Item = &PathRule> {
        self.rules.iter().filter(move |rule| rule.access == access)
    }

    /// The rules of what is there, shortest paths first: what is mounted later lies over what was mounted before.
    ///
    /// A path that leads elsewhere by now has no rule: a command may have put a link there, and the rule would open what
    /// the link names. `known` tells of a protected path whether it was there before the commands that run now.
    pub(super) fn in_mount_order(&self, known: impl Fn(&Path) -> bool) -> Vec<&PathRule> {
        let in_place = |rule: &&PathRule| match rule.access {
            PathAccess::Hidden => rule.path.exists(),
            PathAccess::Read | PathAccess::Write => {
                known(&rule.path) && rule.path.canonicalize().is_ok_and(|path| path == rule.path)
            }
        };
        let mut rules: Vec<&PathRule> = self.rules.iter().filter(in_place).collect();
        rules.sort_by_key(|rule| (rule.path.as_os_str().len(), rule.access as u8));
        rules
    }

    /// The directories between what may be written and a path in it that is treated differently. A directory that is
    /// moved takes such a path along to where no rule names it.
    pub(super) fn directories_to_hold(&self, rules: &[&PathRule]) -> Vec<PathBuf> {
        let mut held: Vec<PathBuf> = Vec::new();
        for rule in rules.iter().filter(|rule| rule.access != PathAccess::Write) {
            let above = self.with_access(PathAccess::Write).map(|above| above.path.as_path());
            let above = above.filter(|above| rule.path != *above && rule.path.starts_with(above));
            let Some(above) = above.max_by_key(|above| above.as_os_str().len()) else { continue };
            let between = rule.path.ancestors().skip(1).take_while(|between| *between != above);
            let between = between.filter(|between| self.access(between).0 == PathAccess::Write);
            held.extend(between.map(Path::to_owned));
        }
        held.sort();
        held.dedup();
        held
    }

    /// The whole policy, for people.
    pub fn describe(&self) -> String {
        let mut text = format!("mode: {}\nnetwork: {}\n", self.mode.as_str(), self.network.as_str());
        for access in [PathAccess::Write, PathAccess::Read, PathAccess::Hidden] {
            let _ = writeln!(text, "{}:", access.as_str());
            for rule in self.with_access(access).filter(|rule| rule.path.exists()) {
                let _ = writeln!(text, "  {} ({})", rule.path.display(), rule.reason);
            }
        }
        text.push_str("all else: read only\n");
        text
    }
}

/// Files of a git directory that name programs.
fn git_files(git: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = ["hooks", "config", "config.worktree", "commondir", "gitdir"]
        .iter()
        .map(|name| git.join(name))
        .collect();
    if git.is_file() {
        files.push(git.to_owned());
    }
    files.extend(hooks_path(git));
    for module in modules(&git.join("modules")) {
        files.extend(["hooks", "config", "config.worktree", "commondir"].map(|name| module.join(name)));
    }
    for entry in std::fs::read_dir(git.join("worktrees")).into_iter().flatten().flatten().take(256) {
        files.extend(["gitdir", "commondir", "config.worktree"].map(|name| entry.path().join(name)));
    }
    files
}

/// Git directories of submodules. Their names may have slashes, and submodules have submodules.
fn modules(directory: &Path) -> Vec<PathBuf> {
    let (mut open, mut found) = (vec![directory.to_owned()], Vec::new());
    while let Some(next) = open.pop().filter(|_| found.len() < 256) {
        let is_one = next.join("HEAD").is_file();
        for entry in std::fs::read_dir(&next).into_iter().flatten().flatten() {
            let wanted = !is_one || entry.file_name() == "modules";
            if wanted && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(entry.path());
            }
        }
        if is_one {
            found.push(next);
        }
    }
    found
}

/// Where hooks are if the configuration puts them elsewhere.
fn hooks_path(git: &Path) -> Option<PathBuf> {
    let file = git.join("config");
    let small = std::fs::metadata(&file).is_ok_and(|found| found.is_file() && found.len() < 1 << 20);
    let text = small.then(|| std::fs::read_to_string(&file).ok()).flatten()?;
    let value = text.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        name.trim().eq_ignore_ascii_case("hookspath").then(|| value.trim().trim_matches('"').to_owned())
    })?;
    Some(git.parent()?.join(value))
}

/// `~` is the home directory, what is relative is the project's.
fn expand(text: &str, root: &Path, home: Option<&Path>) -> Option<PathBuf> {
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

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| lexical(path))
}

/// Without `.` and `..`, and with the links of the part that exists followed.
fn lexical(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    let mut rest = PathBuf::new();
    let mut at = plain.clone();
    loop {
        if let Ok(found) = at.canonicalize() {
            return if rest.as_os_str().is_empty() { found } else { found.join(rest) };
        }
        let (Some(name), Some(parent)) = (at.file_name(), at.parent()) else { return plain };
        rest = if rest.as_os_str().is_empty() { PathBuf::from(name) } else { Path::new(name).join(&rest) };
        at = parent.to_owned();
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
            ..SandboxPlaces::of_project(&root)
        };
        let settings = SandboxSettings {
            read_only: vec!["vendor".to_owned()],
            hidden: vec!["secrets".to_owned(), "~/notes".to_owned()],
            readable: vec!["~/.config/gh".to_owned()],
            writable: vec!["~/shared".to_owned()],
            ..SandboxSettings::default()
        };
        let policy = SandboxPolicy::resolve(&settings, &places);
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
            assert_eq!(policy.access(&home.join(path)).0, expected, "{path}");
        }
        for (path, hides) in [
            ("project", false),
            ("project/secrets", true),
            ("project/secrets/x", true),
            (".config/gh/hosts.yml", false),
            ("data/runs.sqlite", true),
        ] {
            assert_eq!(policy.hides(&home.join(path)), hides, "{path}");
        }
        let inside = SandboxPlaces { root: home.join("data/worktrees/r1"), ..places };
        let policy = SandboxPolicy::resolve(&SandboxSettings::default(), &inside);
        assert_eq!(policy.access(&home.join("data/worktrees/r1/a")).0, PathAccess::Write);
        assert_eq!(policy.access(&home.join("data/runs.sqlite")).0, PathAccess::Hidden);
        assert!(policy.hides(&home.join("data/runs.sqlite")) && !policy.hides(&home.join("data")));
        let settings = SandboxSettings { mode: SandboxMode::ReadOnly, ..SandboxSettings::default() };
        let policy = SandboxPolicy::resolve(&settings, &inside);
        assert_eq!(policy.access(&home.join("data/worktrees/r1/a")).0, PathAccess::Read);
    }

    #[test]
    fn a_link_at_a_protected_name_has_no_rule() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().canonicalize().unwrap();
        let root = home.join("project");
        std::fs::create_dir_all(&root).unwrap();
        std::fs::create_dir_all(home.join(".ssh")).unwrap();
        let places = SandboxPlaces { home: Some(home.clone()), ..SandboxPlaces::of_project(&root) };
        let policy = SandboxPolicy::resolve(&SandboxSettings::default(), &places);
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
}
