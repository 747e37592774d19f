//! Where a repository ends. What a clone or an archive brings as configuration of git leads wherever it likes: to files of
//! the user, to devices, to directories that are mounted once they are looked at.
//!
//! Opens nothing outside of the directory that is asked about, but what a linked worktree or a submodule is known by.

use std::path::{Path, PathBuf};

use super::git_entries::{PathFile, work_tree};
use super::link_walk::{PlaceLook, walk_links, without_dots};

/// A repository with its work tree: the directories that are its own.
pub struct RepositoryBounds {
    own_directories: Vec<PathBuf>,
}

impl RepositoryBounds {
    /// `top`: the directory that has the `.git`, or is a bare repository.
    pub fn for_repository(top: &Path) -> Self {
        let mut inside = vec![top.canonicalize().unwrap_or_else(|_| top.to_owned())];
        if let Some(linked) = linked_directory(top) {
            // a file of the main work tree, named by the configuration that all worktrees share
            let main = linked.common_directory.parent().filter(|_| linked.common_directory.ends_with(".git"));
            inside.extend(main.map(Path::to_owned));
            inside.push(linked.common_directory);
        }
        Self { own_directories: inside }
    }

    /// Whether a path stays inside, also through its links. Nothing outside is looked at: that alone can mount something.
    pub fn contains_path(&self, path: &Path) -> bool {
        self.is_inside(&without_dots(path))
            && walk_links(path, |place| self.look(place)).is_ok_and(|walk| self.is_inside(&walk.end))
    }

    fn is_inside(&self, path: &Path) -> bool {
        self.own_directories.iter().any(|bound| path.starts_with(bound))
    }

    fn look(&self, place: &Path) -> PlaceLook {
        if self.own_directories.iter().any(|bound| bound.starts_with(place)) {
            // the bounds themselves have no links in their paths
            PlaceLook::Pass
        } else if self.is_inside(place) {
            PlaceLook::Follow
        } else {
            PlaceLook::Stop
        }
    }
}

/// Git's directory of a linked worktree or of a submodule.
pub struct LinkedDirectory {
    /// Its own: what it has checked out.
    pub own_directory: PathBuf,
    /// That of the whole repository.
    pub common_directory: PathBuf,
}

/// Git's own directory if it is not in `root`: `root` is a linked worktree or a submodule.
///
/// A project's `.git` file may name any directory, and what is named here may be read and written. So the directory
/// must be where git makes such ones, and name the project, too: a project's files cannot forge that.
pub fn linked_directory(root: &Path) -> Option<LinkedDirectory> {
    let root = root.canonicalize().ok()?;
    let link = root.join(".git");
    std::fs::symlink_metadata(&link).ok().filter(std::fs::Metadata::is_file)?;
    let plain = |file: &Path| PathFile::read_if_exists(file).filter(|found| found.is_plain);
    let own = root.join(plain(&link)?.git_directory()?).canonicalize().ok()?;
    let above = own.parent()?;
    if above.ends_with("worktrees") && own.join("commondir").is_file() {
        let common = own.join(plain(&own.join("commondir"))?.path()).canonicalize().ok()?;
        let back = own.join(plain(&own.join("gitdir"))?.path());
        let is_back = back.file_name()? == ".git" && back.parent()?.canonicalize().ok()? == root;
        // a directory of the project could name both
        let is_one = is_back && above == common.join("worktrees") && is_repository(&common);
        return is_one.then_some(LinkedDirectory { own_directory: own, common_directory: common });
    }
    let is_module = above.components().any(|part| part.as_os_str() == "modules") && is_repository(&own);
    let back = if is_module { work_tree(&own)?.canonicalize().ok()? } else { return None };
    (back == root).then(|| LinkedDirectory { common_directory: own.clone(), own_directory: own })
}

/// The whole repository that `root` is a linked worktree or a submodule of.
pub fn linked_repository(root: &Path) -> Option<PathBuf> {
    linked_directory(root).map(|linked| linked.common_directory)
}

fn is_repository(git: &Path) -> bool {
    git.join("objects").is_dir() || git.join("HEAD").is_file()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

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

    #[test]
    fn what_leads_out_is_outside() {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        let root = base.join("project");
        fs::create_dir_all(root.join(".git/objects")).unwrap();
        fs::create_dir(base.join("out")).unwrap();
        fs::write(base.join("out/file"), "").unwrap();
        fs::write(root.join("file"), "").unwrap();
        symlink(base.join("out"), root.join("far")).unwrap();
        symlink("../file", root.join(".git/near")).unwrap();
        symlink(base.join("gone"), root.join("dangling")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        symlink("../project/file", root.join("round")).unwrap();
        symlink("far/../project/file", root.join("through")).unwrap();
        let bounds = RepositoryBounds::for_repository(&root);
        for (path, held) in [
            ("file", true),
            (".git/near", true),
            ("not/there", true),
            (".git/../file", true),
            ("../out/file", false),
            ("../project2", false),
            ("far/file", false),
            ("far", false),
            ("dangling", false),
            ("loop", false),
            ("round", true),
            ("through", false),
            ("far/not/there", false),
            ("/net/host", false),
        ] {
            assert_eq!(bounds.contains_path(&root.join(path)), held, "{path}");
        }
    }
}
