//! Where the things are that a policy speaks of.

use std::path::{Path, PathBuf};

use super::git_configuration::{GitConfiguration, plain_text};

/// Where the things are that a policy speaks of.
#[derive(Clone, Debug, Default)]
pub struct SandboxPlaces {
    /// The project or the run's worktree.
    pub root: PathBuf,
    /// Git's directory where it lies outside of `root`, as for a worktree.
    pub repository: Option<PathBuf>,
    pub home: Option<PathBuf>,
    /// Of this program: not readable by commands.
    pub data: PathBuf,
    pub configuration: PathBuf,
    /// Directories of `PATH`, and what toolchains' variables name.
    pub search_path: Vec<PathBuf>,
    pub cargo_home: Option<PathBuf>,
    pub go_path: Option<PathBuf>,
    pub cache_home: Option<PathBuf>,
    pub config_home: Option<PathBuf>,
    pub data_home: Option<PathBuf>,
    pub docker_home: Option<PathBuf>,
    /// What else the environment names as a place of keys.
    pub key_places: Vec<PathBuf>,
    /// This program itself.
    pub helper: PathBuf,
}

impl SandboxPlaces {
    /// With nothing known but the project.
    pub fn of_project(root: &Path) -> Self {
        Self { root: root.to_owned(), ..Self::default() }
    }
}

/// Git's own directory where it does not lie in `root`: `root` is a linked worktree or a submodule.
///
/// A project's `.git` file may name any directory, and what is named here may be written. So the directory must name the
/// project, too: a project's files cannot make it do that.
pub fn linked_repository(root: &Path) -> Option<PathBuf> {
    let root = root.canonicalize().ok()?;
    let link = root.join(".git");
    let text = std::fs::symlink_metadata(&link).is_ok_and(|found| found.is_file()).then(|| plain_text(&link));
    let own = root.join(text??.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
    let repository = match plain_text(&own.join("commondir")) {
        Some(common) => {
            let common = own.join(common.trim()).canonicalize().ok()?;
            let back = own.join(plain_text(&own.join("gitdir"))?.trim());
            let is_back = back.file_name()? == ".git" && back.parent()?.canonicalize().ok()? == root;
            // a directory of the project could name both
            (is_back && own.parent()? == common.join("worktrees")).then_some(common)?
        }
        None => {
            let back = GitConfiguration::read(&own.join("config"), None).work_tree(&own)?;
            (back.canonicalize().ok()? == root).then_some(own)?
        }
    };
    (repository.join("objects").is_dir() || repository.join("HEAD").is_file()).then_some(repository)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_repository_elsewhere_names_the_project() {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        let (root, other, own) = (base.join("project"), base.join("other"), base.join("main/.git"));
        fs::create_dir_all(other.join("objects")).unwrap();
        fs::create_dir_all(own.join("objects")).unwrap();
        fs::create_dir_all(own.join("worktrees/project")).unwrap();
        fs::create_dir_all(own.join("modules/sub/objects")).unwrap();
        fs::create_dir_all(root.join("fake")).unwrap();
        let put = |path: &Path, text: &str| fs::write(path, text).unwrap();
        let found = |link: &str| {
            put(&root.join(".git"), &format!("gitdir: {link}\n"));
            linked_repository(&root)
        };
        put(&root.join("fake/commondir"), "../../other\n");
        assert_eq!(found("fake"), None);
        put(&root.join("fake/gitdir"), "../.git\n");
        assert_eq!(found("fake"), None, "both are the project's");
        assert_eq!(found("../other"), None);
        put(&other.join("config"), "[core]\n\tworktree = ../third\n");
        assert_eq!(found("../other"), None);
        let worktree = own.join("worktrees/project");
        put(&worktree.join("commondir"), "../..\n");
        assert_eq!(found(&worktree.display().to_string()), None);
        put(&worktree.join("gitdir"), &format!("{}\n", base.join("elsewhere/.git").display()));
        assert_eq!(found(&worktree.display().to_string()), None);
        for back in [root.join(".git").display().to_string(), "../../../../project/.git".to_owned()] {
            put(&worktree.join("gitdir"), &format!("{back}\n"));
            assert_eq!(found(&worktree.display().to_string()), Some(own.clone()), "{back}");
            assert_eq!(found("../main/.git/worktrees/project"), Some(own.clone()), "{back}");
        }
        let module = own.join("modules/sub");
        put(&module.join("config"), "[core]\n\tworktree = ../../../../project\n");
        assert_eq!(found("../main/.git/modules/sub"), Some(module));
    }
}
