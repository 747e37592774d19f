//! A project in a temporary directory, with everything that must not change beside it.

use std::fs;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use synthdev::adapters::git::GitSnapshots;
use synthdev::domain::ids::Timestamp;
use synthdev::ports::clock::ClockPort;

/// Every reading is a second later.
struct Ticking(AtomicI64);

impl ClockPort for Ticking {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.fetch_add(1_000, Ordering::Relaxed))
    }
}

/// The time at which every store begins, in milliseconds.
pub const FIRST_TIME: i64 = 1_700_000_000_000;

pub fn store_at(project: PathBuf, data: PathBuf, exclude: &[&str]) -> GitSnapshots {
    store_from(project, data, exclude, FIRST_TIME)
}

pub fn store_from(project: PathBuf, data: PathBuf, exclude: &[&str], time: i64) -> GitSnapshots {
    let exclude = exclude.iter().map(|line| (*line).to_owned()).collect();
    let clock = Arc::new(Ticking(AtomicI64::new(time)));
    GitSnapshots::open(project, data, exclude, clock)
}

/// Path; kind, permissions and bytes.
pub type Seen = (String, (char, u32, Vec<u8>));

pub struct Project {
    dir: tempfile::TempDir,
    project_subdirectory: PathBuf,
}

impl Project {
    pub fn without_git() -> Self {
        let dir = crate::support::temporary::temp_directory();
        for name in ["project", "outside", "home"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        fs::write(dir.path().join("outside/keep"), "keep").unwrap();
        Self { dir, project_subdirectory: PathBuf::from("project") }
    }

    pub fn repository() -> Self {
        Self::with_git_options(&[])
    }

    pub fn with_git_options(options: &[&str]) -> Self {
        let project = Self::without_git();
        project.git(&[&["init", "-q", "-b", "main"], options].concat());
        project
    }

    /// The same files, seen from a directory below or beside.
    pub fn moved_to(mut self, below: &str) -> Self {
        self.project_subdirectory = PathBuf::from(below);
        self
    }

    pub fn path_of(&self, path: &str) -> PathBuf {
        self.dir.path().join(&self.project_subdirectory).join(path)
    }

    pub fn outside(&self) -> PathBuf {
        self.dir.path().join("outside")
    }

    pub fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    pub fn store(&self) -> GitSnapshots {
        self.store_with(&[], &self.data())
    }

    pub fn store_with(&self, exclude: &[&str], data: &Path) -> GitSnapshots {
        store_at(self.path_of(""), data.to_owned(), exclude)
    }

    pub fn write_file(&self, path: &str, text: &str) {
        self.write_bytes(path, text.as_bytes());
    }

    pub fn write_bytes(&self, path: &str, bytes: &[u8]) {
        fs::create_dir_all(self.path_of(path).parent().unwrap()).unwrap();
        fs::write(self.path_of(path), bytes).unwrap();
    }

    pub fn write_executable(&self, path: &str) {
        fs::set_permissions(self.path_of(path), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs git without the settings of the user who runs the tests.
    pub fn git(&self, arguments: &[&str]) -> String {
        let out = self.git_command(arguments).output().unwrap();
        assert!(out.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap()
    }

    pub fn git_command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.args(arguments).current_dir(self.path_of("")).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", self.dir.path().join("home"));
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        command.env("GIT_OPTIONAL_LOCKS", "0");
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "T").env(format!("GIT_{who}_EMAIL"), "t@example.org");
        }
        command
    }

    /// Status as git sees it, and the files in which git keeps what is the user's.
    pub fn git_state(&self) -> (String, Vec<(String, u64)>) {
        (self.git(&["status", "--porcelain", "--untracked-files=all"]), self.git_files())
    }

    /// Every file in `.git` but objects and our own refs, by hash.
    pub fn git_files(&self) -> Vec<(String, u64)> {
        let mut found = Vec::new();
        collect_seen(&self.path_of(".git"), "", &mut found);
        found.retain(|(path, (kind, ..))| {
            *kind != 'd' && !path.starts_with("objects/") && !path.starts_with("refs/synthdev")
        });
        found
            .into_iter()
            .map(|(path, file)| (path, BuildHasherDefault::<DefaultHasher>::new().hash_one(file)))
            .collect()
    }

    /// As `git_state`, without the worktrees of runs and their branches.
    pub fn user_state(&self) -> (String, Vec<(String, u64)>) {
        (self.git_state().0, self.user_files())
    }

    /// As `git_files`, without the worktrees of runs and their branches.
    pub fn user_files(&self) -> Vec<(String, u64)> {
        let ours = ["worktrees/", "refs/heads/synthdev", "logs/refs/heads/synthdev"];
        let mut files = self.git_files();
        files.retain(|(path, _)| !ours.iter().any(|ours| path.starts_with(ours)));
        files
    }

    /// Path, kind, permissions and bytes of everything but `.git`.
    pub fn fingerprint(&self) -> Vec<Seen> {
        let mut found = Vec::new();
        collect_seen(&self.path_of(""), "", &mut found);
        found.retain(|(path, _)| path != ".git" && !path.starts_with(".git/"));
        found
    }

    pub fn outside_files(&self) -> Vec<String> {
        let mut found = Vec::new();
        collect_seen(&self.outside(), "", &mut found);
        found.into_iter().map(|(path, _)| path).collect()
    }
}

/// Everything below a directory.
pub fn seen_below(dir: &Path) -> Vec<Seen> {
    let mut found = Vec::new();
    collect_seen(dir, "", &mut found);
    found
}

fn collect_seen(dir: &Path, prefix: &str, found: &mut Vec<Seen>) {
    let mut items: Vec<_> = fs::read_dir(dir).unwrap().map(|item| item.unwrap().path()).collect();
    items.sort();
    for item in items {
        let name = format!("{prefix}{}", item.file_name().unwrap().to_string_lossy());
        let meta = fs::symlink_metadata(&item).unwrap();
        let mode = meta.permissions().mode() & 0o777;
        if meta.is_dir() {
            found.push((name.clone(), ('d', 0, Vec::new())));
            collect_seen(&item, &format!("{name}/"), found);
        } else if meta.is_symlink() {
            let target = fs::read_link(&item).unwrap().as_os_str().as_bytes().to_vec();
            found.push((name, ('l', 0, target)));
        } else if meta.is_file() {
            found.push((name, ('f', mode, fs::read(&item).unwrap())));
        } else {
            found.push((name, ('o', mode, Vec::new())));
        }
    }
}
