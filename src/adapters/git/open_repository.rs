//! The one place where repositories of projects are opened. Before libgit2 reads anything, the files that it would read
//! are looked at: it opens whatever stands there, waits for ever for the writer of a pipe, and follows the configuration of
//! a repository to every file that this names.
//!
//! Owns that look, which opens nothing but files of the repository. Refuses a repository in which a pipe, a device or a
//! socket takes the place of a file, and, unless its user has seen what, one that leads out of itself. What the user's
//! own configuration names is the user's.

use std::collections::BTreeSet;
use std::fs::{self, FileType};
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use git2::{Error, ErrorClass, ErrorCode, Repository, RepositoryOpenFlags};

use crate::adapters::git_entries::{GitEntry, entries, is_unambiguous, plain_text};
use crate::adapters::repository_bounds::RepositoryBounds;

/// Files directly in the directory of a repository, or of one of its worktrees.
const FILES: [&str; 12] = [
    "HEAD",
    "ORIG_HEAD",
    "FETCH_HEAD",
    "MERGE_HEAD",
    "commondir",
    "gitdir",
    "index",
    "config",
    "config.worktree",
    "packed-refs",
    "shallow",
    "description",
];
/// Files of the directory `info` in it.
const INFO_FILES: [&str; 2] = ["attributes", "grafts"];
/// Directories of which every file is looked at.
const DIRECTORIES: [&str; 3] = ["refs", "objects", "reftable"];
/// No file is deeper: below `refs`, names of branches are paths.
const DEEPEST: usize = 32;
/// Configurations that include each other are followed so far, and stores of objects that name others.
const MOST_FOLLOWED: usize = 64;

/// What a repository may open outside of itself because its own files say so.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OutsideFiles {
    #[default]
    Refused,
    /// The user has seen which.
    Allowed,
}

/// Opens the repository that a directory is in, as git finds it.
///
/// # Errors
/// There is none, libgit2 cannot serve it, a file of it is no regular file, or it leads out of itself.
pub(in crate::adapters) fn open_around(directory: &Path, outside: OutsideFiles) -> Result<Repository, Error> {
    accept(look_around(directory, outside)?, outside)?;
    Repository::open_ext(directory, RepositoryOpenFlags::empty(), std::iter::empty::<&Path>())
}

/// Opens the repository of exactly this directory, or this directory of a repository.
///
/// # Errors
/// As [`open_around`].
pub(in crate::adapters) fn open_at(directory: &Path, outside: OutsideFiles) -> Result<Repository, Error> {
    let mut leads = Vec::new();
    look_at(directory, outside, &mut leads)?;
    accept(leads, outside)?;
    Repository::open(directory)
}

/// What the repository that a directory is in opens outside of itself: one line for each file that says so.
pub(in crate::adapters) fn leads_out(directory: &Path) -> Vec<String> {
    // what is refused altogether is opened by no means
    look_around(directory, OutsideFiles::Refused).unwrap_or_default()
}

/// Why a repository was refused here, where it was.
pub(in crate::adapters) fn is_refusal(error: &Error) -> bool {
    error.class() == ErrorClass::Os && error.code() == ErrorCode::Invalid
}

/// Whether a repository was refused because it leads out of itself.
pub(in crate::adapters) fn is_leading_out(error: &Error) -> bool {
    error.class() == ErrorClass::Os && error.code() == ErrorCode::Auth
}

fn refused(file: &Path) -> Error {
    let text = format!("{} is not a regular file", file.display());
    Error::new(ErrorCode::Invalid, ErrorClass::Os, text)
}

fn accept(leads: Vec<String>, outside: OutsideFiles) -> Result<(), Error> {
    match leads.into_iter().next() {
        Some(lead) if outside == OutsideFiles::Refused => {
            Err(Error::new(ErrorCode::Auth, ErrorClass::Os, format!("it leads out of itself: {lead}")))
        }
        _ => Ok(()),
    }
}

fn look_around(directory: &Path, outside: OutsideFiles) -> Result<Vec<String>, Error> {
    let from = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
    let mut leads = Vec::new();
    for directory in from.ancestors() {
        if look_at(directory, outside, &mut leads)? {
            break;
        }
    }
    Ok(leads)
}

/// Whether it is the top of a work tree, or the directory of a repository.
fn look_at(directory: &Path, outside: OutsideFiles, leads: &mut Vec<String>) -> Result<bool, Error> {
    let link = directory.join(".git");
    let has_link = link.symlink_metadata().is_ok();
    if !has_link && !directory.join("HEAD").exists() {
        return Ok(false);
    }
    let top = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
    let mut look = Look { bounds: RepositoryBounds::of(&top), top, outside, leads, seen: BTreeSet::new() };
    let mut whole = false;
    if has_link && look.enters(&look.top.join(".git")) {
        let place = look.git_directory();
        // where it leads, there is none, or it is not looked at
        whole |= match place {
            Some(place) if look.enters(&place) => look.repository(&place)?,
            Some(_) => true,
            None => false,
        };
    }
    let top = look.top.clone();
    Ok(look.repository(&top)? || whole)
}

/// A look at one repository.
struct Look<'a> {
    top: PathBuf,
    bounds: RepositoryBounds,
    outside: OutsideFiles,
    leads: &'a mut Vec<String>,
    /// Configurations and stores of objects.
    seen: BTreeSet<PathBuf>,
}

impl Look<'_> {
    /// A path that is opened without being named by a configuration.
    fn enters(&mut self, place: &Path) -> bool {
        self.bounds.hold(place) || {
            let name = place.strip_prefix(&self.top).unwrap_or(place).display().to_string();
            self.leads(format!("{name} lies elsewhere"))
        }
    }

    /// Says that something leads out, and whether that is followed.
    fn leads(&mut self, lead: String) -> bool {
        if !self.leads.contains(&lead) {
            self.leads.push(lead);
        }
        self.outside == OutsideFiles::Allowed
    }

    /// What `.git` is, or leads to.
    fn git_directory(&self) -> Option<PathBuf> {
        let place = self.top.join(".git");
        if place.is_dir() {
            return Some(place);
        }
        let text = plain_text(&place)?;
        Some(self.top.join(text.trim_end().strip_prefix("gitdir:")?.trim_start()))
    }

    /// Whether it is the directory of a repository.
    ///
    /// # Errors
    /// A file of it is no regular file.
    fn repository(&mut self, place: &Path) -> Result<bool, Error> {
        if !place.join("HEAD").exists() && !place.join("HEAD").is_symlink() {
            return Ok(false);
        }
        self.files(place)?;
        let common = self.text(&place.join("commondir"));
        let common = common.map_or_else(|| place.to_owned(), |text| place.join(text.trim_end()));
        if common != *place {
            if !self.enters(&common) {
                return Ok(true);
            }
            self.files(&common)?;
        }
        if let Some(back) = self.text(&place.join("gitdir")) {
            self.enters(place.join(back.trim_end()).parent().unwrap_or(place));
        }
        self.configuration(&common.join("config"), place)?;
        self.configuration(&place.join("config.worktree"), place)?;
        for name in DIRECTORIES {
            self.directory(&place.join(name), 0)?;
            if common != *place {
                self.directory(&common.join(name), 0)?;
            }
        }
        self.alternates(&common.join("objects"))?;
        Ok(common.join("objects").is_dir() && common.join("refs").is_dir())
    }

    fn files(&mut self, place: &Path) -> Result<(), Error> {
        FILES.iter().try_for_each(|name| self.judge(&place.join(name)))?;
        let info = place.join("info");
        if self.enters(&info) {
            INFO_FILES.iter().try_for_each(|name| self.judge(&info.join(name)))?;
        }
        Ok(())
    }

    /// # Errors
    /// What is there is neither a regular file nor a directory, or is a link to such a thing.
    fn judge(&mut self, file: &Path) -> Result<(), Error> {
        if !self.enters(file) {
            return Ok(());
        }
        match fs::metadata(file) {
            Ok(known) if is_odd(known.file_type()) => Err(refused(file)),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    fn directory(&mut self, directory: &Path, depth: usize) -> Result<(), Error> {
        if depth == 0 && !self.enters(directory) {
            return Ok(());
        }
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotADirectory => return self.judge(directory),
            Err(_) => return Ok(()),
        };
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                if depth < DEEPEST {
                    self.directory(&entry.path(), depth + 1)?;
                }
            } else if kind.is_symlink() {
                self.judge(&entry.path())?;
            } else if is_odd(kind) {
                return Err(refused(&entry.path()));
            }
        }
        Ok(())
    }

    /// A configuration of the repository in `place`, what it includes, and what it names.
    fn configuration(&mut self, file: &Path, place: &Path) -> Result<(), Error> {
        self.judge(file)?;
        if !self.seen.insert(file.to_owned()) || !self.follows(file) || !file.is_file() {
            return Ok(());
        }
        let name = file.strip_prefix(&self.top).unwrap_or(file).display().to_string();
        let text = plain_text(file).filter(|text| is_unambiguous(text) && self.seen.len() < MOST_FOLLOWED);
        let Some(text) = text else {
            self.leads(format!(
                "{name} is too large or has lines that git and its library read in different ways"
            ));
            return Ok(());
        };
        for entry in entries(&text) {
            let base = match (entry.section.as_str(), entry.key.as_str()) {
                _ if entry.is_include() => file.parent().unwrap_or(place).to_owned(),
                ("core", "attributesfile" | "excludesfile") => self.top.clone(),
                ("core", "worktree") => place.to_owned(),
                _ => continue,
            };
            let target = expanded(&entry, &base);
            if entry.escaped || !self.bounds.hold(&target) {
                let GitEntry { section, key, value, .. } = &entry;
                if !self.leads(format!("{name}: {section}.{key} = {value}")) {
                    continue;
                }
            }
            if entry.is_include() {
                self.configuration(&target, place)?;
            } else if entry.key == "attributesfile" {
                judge_named(&target)?;
            }
        }
        Ok(())
    }

    fn text(&self, file: &Path) -> Option<String> {
        self.follows(file).then(|| plain_text(file)).flatten()
    }

    fn follows(&self, file: &Path) -> bool {
        self.outside == OutsideFiles::Allowed || self.bounds.hold(file)
    }

    /// Where more objects are, as a store of them names it.
    fn alternates(&mut self, objects: &Path) -> Result<(), Error> {
        let list = objects.join("info/alternates");
        if !self.seen.insert(list.clone()) || !self.follows(&list) || !list.is_file() {
            return Ok(());
        }
        let name = list.strip_prefix(&self.top).unwrap_or(&list).display().to_string();
        let Some(text) = plain_text(&list).filter(|_| self.seen.len() < MOST_FOLLOWED) else {
            self.leads(format!("{name} is too large"));
            return Ok(());
        };
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let other = objects.join(line);
            if self.bounds.hold(&other) || self.leads(format!("{name}: {line}")) {
                self.directory(&other, 0)?;
                self.alternates(&other)?;
            }
        }
        Ok(())
    }
}

/// # Errors
/// As [`Look::judge`].
fn judge_named(file: &Path) -> Result<(), Error> {
    match fs::metadata(file) {
        Ok(known) if is_odd(known.file_type()) => Err(refused(file)),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn is_odd(kind: FileType) -> bool {
    kind.is_fifo() || kind.is_socket() || kind.is_char_device() || kind.is_block_device()
}

fn expanded(entry: &GitEntry, base: &Path) -> PathBuf {
    match (entry.value.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => base.join(&entry.value),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A repository in `project`, and one beside it.
    fn scene() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap().join("project");
        Repository::init(&root).unwrap();
        Repository::init_bare(root.with_file_name("out")).unwrap();
        (directory, root)
    }

    fn leads(root: &Path) -> Vec<String> {
        let leads = leads_out(root);
        let refused = open_around(root, OutsideFiles::Refused).is_err_and(|error| is_leading_out(&error));
        assert_eq!(refused, !leads.is_empty(), "{leads:?}");
        let allowed = open_around(root, OutsideFiles::Allowed);
        assert!(!allowed.is_err_and(|error| is_leading_out(&error)));
        leads
    }

    #[test]
    fn what_leads_out_of_a_repository_is_not_opened() {
        for (file, text, lead) in [
            (".git/config", "[include] path = ../../out/config\n", "include.path = ../../out/config"),
            (
                ".git/config",
                "[includeIf \"x\"]\n path = ~/.config/git/work\n",
                "includeif.path = ~/.config/git/work",
            ),
            (".git/config", "[include] path = more\n", ".git/more: include.path = /out"),
            (".git/config", "[core] attributesFile = /etc/x\n", "core.attributesfile = /etc/x"),
            (".git/config", "[core] excludesFile = ../x\n", "core.excludesfile = ../x"),
            (".git/config", "[core] worktree = ../..\n", "core.worktree = ../.."),
            (".git/config", "[core] worktree = \"\\\"\"\n", "core.worktree = \""),
            (".git/config", "[a]\n b = \\\\\"#\\\n[include] path = /out\n", "read in different ways"),
            (".git/objects/info/alternates", "../../../out/objects\n", "alternates: ../../../out/objects"),
            (".git/commondir", "../../out\n", "out lies elsewhere"),
            (".git/gitdir", "/out/.git\n", "/out lies elsewhere"),
        ] {
            let (_keep, root) = scene();
            fs::write(root.join(".git/more"), "[include] path = /out\n").unwrap();
            let before = fs::read_to_string(root.join(file)).unwrap_or_default();
            fs::write(root.join(file), before + text).unwrap();
            let found = leads(&root);
            assert!(found.iter().any(|found| found.contains(lead)), "{text} {found:?}");
        }
        for link in [
            ".git/packed-refs",
            ".git/info",
            ".git/refs/synthdev",
            ".git/objects",
            ".git/config",
            ".git/refs/heads/a",
        ] {
            let (_keep, root) = scene();
            let place = root.join(link);
            let _ = fs::remove_file(&place).or_else(|_| fs::remove_dir_all(&place));
            symlink(root.with_file_name("out").join("objects"), &place).unwrap();
            assert_eq!(leads(&root), [format!("{link} lies elsewhere")]);
        }
        for link in [true, false] {
            let (_keep, root) = scene();
            let out = root.with_file_name("out");
            fs::remove_dir_all(root.join(".git")).unwrap();
            match link {
                true => symlink(&out, root.join(".git")).unwrap(),
                false => fs::write(root.join(".git"), format!("gitdir: {}\n", out.display())).unwrap(),
            }
            assert_eq!(leads(&root).len(), 1);
        }
    }

    #[test]
    fn what_stays_in_a_repository_and_its_worktrees_is_opened() {
        let (_keep, root) = scene();
        let config = fs::read_to_string(root.join(".git/config")).unwrap();
        let more = "[include] path = ../.gitconfig\n[include] path = gone\n[core] excludesFile = a\n[core] worktree = ..\n";
        fs::write(root.join(".git/config"), config.clone() + more).unwrap();
        fs::write(root.join(".gitconfig"), "[core] hooksPath = /x\n").unwrap();
        fs::create_dir(root.join("sub")).unwrap();
        assert!(leads(&root).is_empty() && leads(&root.join("sub")).is_empty());
        // a worktree of it, and a submodule
        fs::write(root.join(".git/config"), config + "[include] path = ../.gitconfig\n").unwrap();
        let repository = Repository::open(&root).unwrap();
        let who = git2::Signature::now("a", "a@b").unwrap();
        let tree = repository.find_tree(repository.index().unwrap().write_tree().unwrap()).unwrap();
        repository.commit(Some("HEAD"), &who, &who, "a", &tree, &[]).unwrap();
        let worktree = root.with_file_name("worktree");
        repository.worktree("worktree", &worktree, None).unwrap();
        assert!(leads(&worktree).is_empty());
        fs::remove_dir_all(root.join("sub")).unwrap();
        let module = root.join(".git/modules/sub");
        Repository::init_opts(
            &module,
            git2::RepositoryInitOptions::new().no_dotgit_dir(true).workdir_path(&root.join("sub")),
        )
        .unwrap();
        assert!(leads(&root.join("sub")).is_empty());
    }
}
