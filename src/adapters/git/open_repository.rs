//! The only place where repositories of projects are opened. It checks the files of a repository before libgit2 reads
//! them: libgit2 opens a file of any type, waits forever for the writer of a pipe, and follows the configuration of a
//! repository to every file that it names.
//!
//! Owns that check, which opens nothing but files of the repository. Refuses a repository in which a pipe, a device or
//! a socket replaces a file, or a link replaces a file that git writes, and, unless the user has seen its targets, one
//! that leads out of itself. Files that the user's own configuration names are allowed.

use std::collections::BTreeSet;
use std::fs::{self, FileType};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

use git2::{Error, ErrorClass, ErrorCode, Repository};

use super::object_directories::irregular_entries;
use crate::git_entries::{GitEntry, PathFile, is_unambiguous, parse_entries, plain_text};
use crate::repository_bounds::RepositoryBounds;

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
/// Files that are written, also through a link.
const WRITTEN_FILES: [&str; 3] = ["HEAD", "index", "packed-refs"];
/// Directories whose files are written, also through a link. Git makes none there, and the commands of an agent can do so
/// at any time: what the user has seen earlier says nothing about such a link.
const WRITTEN: [&str; 3] = ["refs", "logs", "reftable"];
/// No file is deeper: below `refs`, names of branches are paths.
const DEEPEST: usize = 32;
const NO_FILE: &str = "is not a regular file, and git waits for ever for such a thing";
const LINK: &str = "is a link, and git makes none there but writes through it";
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
pub(crate) fn open_around(directory: &Path, outside: OutsideFiles) -> Result<Repository, Error> {
    let (leads, top) = inspect_upwards(directory, outside)?;
    check_leads(leads, outside)?;
    // no other one than that which was looked at
    Repository::open(top.ok_or_else(|| missing_error(directory))?)
}

/// Opens the repository of exactly this directory, or this directory of a repository.
///
/// # Errors
/// As [`open_around`].
pub(crate) fn open_at(directory: &Path, outside: OutsideFiles) -> Result<Repository, Error> {
    let mut leads = Vec::new();
    inspect_directory(directory, outside, &mut leads)?;
    check_leads(leads, outside)?;
    Repository::open(directory)
}

/// What the repository that a directory is in opens outside of itself: one line for each file that says so.
pub(crate) fn outside_leads(directory: &Path) -> Vec<String> {
    // what is refused altogether is opened by no means
    inspect_upwards(directory, OutsideFiles::Refused).map(|(leads, _)| leads).unwrap_or_default()
}

/// Why a repository was refused here, where it was.
pub(crate) fn is_refusal(error: &Error) -> bool {
    error.class() == ErrorClass::Os && error.code() == ErrorCode::Invalid
}

/// Whether a repository was refused because it leads out of itself.
pub(crate) fn is_outside_lead_error(error: &Error) -> bool {
    error.class() == ErrorClass::Os && error.code() == ErrorCode::Auth
}

fn refused_error(file: &Path, why: &str) -> Error {
    Error::new(ErrorCode::Invalid, ErrorClass::Os, format!("{} {why}", file.display()))
}

fn missing_error(directory: &Path) -> Error {
    let text = format!("{} is in no git repository", directory.display());
    Error::new(ErrorCode::NotFound, ErrorClass::Repository, text)
}

fn check_leads(leads: Vec<String>, outside: OutsideFiles) -> Result<(), Error> {
    match leads.into_iter().next() {
        Some(lead) if outside == OutsideFiles::Refused => {
            Err(Error::new(ErrorCode::Auth, ErrorClass::Os, format!("it leads out of itself: {lead}")))
        }
        _ => Ok(()),
    }
}

/// What leads out, and the directory that the search ends at.
fn inspect_upwards(directory: &Path, outside: OutsideFiles) -> Result<(Vec<String>, Option<PathBuf>), Error> {
    let from = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
    let device = |directory: &Path| fs::metadata(directory).ok().map(|known| known.dev());
    let first = device(&from);
    let mut leads = Vec::new();
    // as git, not into the disk that this one is mounted in
    for directory in from.ancestors().take_while(|directory| device(directory) == first) {
        if inspect_directory(directory, outside, &mut leads)? {
            return Ok((leads, Some(directory.to_owned())));
        }
    }
    Ok((leads, None))
}

/// Whether it is the top of a work tree, or the directory of a repository.
fn inspect_directory(
    directory: &Path,
    outside: OutsideFiles,
    leads: &mut Vec<String>,
) -> Result<bool, Error> {
    let link = directory.join(".git");
    let has_link = link.symlink_metadata().is_ok();
    if !has_link && directory.join("HEAD").symlink_metadata().is_err() {
        return Ok(false);
    }
    let top = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
    let mut look = RepositoryInspection {
        bounds: RepositoryBounds::for_repository(&top),
        top_directory: top,
        outside_files: outside,
        outside_leads: leads,
        inspected: BTreeSet::new(),
    };
    let mut whole = false;
    let link = look.top_directory.join(".git");
    if has_link && look.may_enter(&link) {
        // the search ends at a file, whatever it names
        whole = link.is_file();
        if let Some(place) = look.git_directory(&link)
            && look.may_enter(&place)
        {
            whole |= look.inspect_repository(&place)?;
        }
    }
    let top = look.top_directory.clone();
    Ok(whole || look.inspect_repository(&top)?)
}

/// A look at one repository.
struct RepositoryInspection<'a> {
    top_directory: PathBuf,
    bounds: RepositoryBounds,
    outside_files: OutsideFiles,
    outside_leads: &'a mut Vec<String>,
    /// Configurations and stores of objects.
    inspected: BTreeSet<PathBuf>,
}

impl RepositoryInspection<'_> {
    /// A path that is opened without being named by a configuration.
    fn may_enter(&mut self, place: &Path) -> bool {
        self.bounds.contains_path(place) || {
            let name = self.display_name(place);
            self.add_lead(format!("{name} lies elsewhere"))
        }
    }

    /// Says that something leads out, and whether that is followed.
    fn add_lead(&mut self, lead: String) -> bool {
        if !self.outside_leads.contains(&lead) {
            self.outside_leads.push(lead);
        }
        self.outside_files == OutsideFiles::Allowed
    }

    /// What `.git` is, or names.
    fn git_directory(&mut self, link: &Path) -> Option<PathBuf> {
        if link.is_dir() {
            return Some(link.to_owned());
        }
        self.path_file(link).and_then(|found| found.git_directory()).map(|path| self.top_directory.join(path))
    }

    /// A file that names paths, if it is to be followed.
    fn path_file(&mut self, file: &Path) -> Option<PathFile> {
        let found = Some(file).filter(|file| self.may_follow(file)).and_then(PathFile::read_if_exists)?;
        let name = self.display_name(file);
        let is_followed = found.is_plain
            || self
                .add_lead(format!("{name} is too large or has letters that programs read in different ways"));
        is_followed.then_some(found)
    }

    fn display_name(&self, file: &Path) -> String {
        file.strip_prefix(&self.top_directory).unwrap_or(file).display().to_string()
    }

    /// Whether it is the directory of a repository.
    ///
    /// # Errors
    /// A file of it is no regular file.
    fn inspect_repository(&mut self, place: &Path) -> Result<bool, Error> {
        let head = place.join("HEAD");
        // read before it is asked whether this is a repository at all
        self.require_regular_file(&place.join("commondir"))?;
        self.require_regular_file(&head)?;
        if self.may_follow(&head) && !head.is_file() {
            return Ok(false);
        }
        let has = |name: &str| place.join(name).symlink_metadata().is_ok();
        let is_possible = has("commondir") || has("objects") && has("refs");
        if !is_possible {
            return Ok(false);
        }
        self.inspect_files(place)?;
        let common = self.path_file(&place.join("commondir"));
        let common = common.map_or_else(|| place.to_owned(), |found| place.join(found.path()));
        if common != *place {
            if !self.may_enter(&common) {
                return Ok(true);
            }
            self.inspect_files(&common)?;
        }
        if let Some(back) = self.path_file(&place.join("gitdir")) {
            self.may_enter(place.join(back.path()).parent().unwrap_or(place));
        }
        self.inspect_configuration(&common.join("config"), place)?;
        self.inspect_configuration(&place.join("config.worktree"), place)?;
        self.inspect_git_directory(&common)?;
        if common != *place {
            self.inspect_git_directory(place)?;
        }
        self.inspect_alternates(&common.join("objects"))?;
        let objects = common.join("objects");
        Ok((!self.may_follow(&objects) || objects.is_dir()) && common.join("refs").is_dir())
    }

    /// What is below a directory of git.
    fn inspect_git_directory(&mut self, place: &Path) -> Result<(), Error> {
        self.inspect_objects(&place.join("objects"))?;
        for name in WRITTEN {
            check_written_directory(&place.join(name), 0)?;
        }
        let worktrees = place.join("worktrees");
        refuse_link(&worktrees)?;
        for entry in fs::read_dir(worktrees).into_iter().flatten().flatten() {
            refuse_link(&entry.path())?;
            self.inspect_files(&entry.path())?;
            for name in WRITTEN {
                check_written_directory(&entry.path().join(name), 0)?;
            }
        }
        Ok(())
    }

    fn inspect_files(&mut self, place: &Path) -> Result<(), Error> {
        for name in WRITTEN_FILES {
            let target = fs::read_link(place.join(name)).ok();
            if target.is_some_and(|target| name != "HEAD" || !is_branch(&target)) {
                return Err(refused_error(&place.join(name), LINK));
            }
        }
        FILES.iter().try_for_each(|name| self.require_regular_file(&place.join(name)))?;
        let info = place.join("info");
        if self.may_enter(&info) {
            INFO_FILES.iter().try_for_each(|name| self.require_regular_file(&info.join(name)))?;
        }
        Ok(())
    }

    /// # Errors
    /// What is there is neither a regular file nor a directory, or is a link to such a thing.
    fn require_regular_file(&mut self, file: &Path) -> Result<(), Error> {
        if !self.may_enter(file) {
            return Ok(());
        }
        match fs::metadata(file) {
            Ok(known) if is_odd(known.file_type()) => Err(refused_error(file, NO_FILE)),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// A store of objects. Its own place may be a link, as tools for many repositories make them.
    fn inspect_objects(&mut self, store: &Path) -> Result<(), Error> {
        if !self.may_enter(store) {
            return Ok(());
        }
        if fs::metadata(store).is_ok_and(|known| !known.is_dir()) {
            return self.require_regular_file(store);
        }
        let mut directories = Vec::new();
        for entry in fs::read_dir(store).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                directories.push(entry.path());
            } else {
                self.inspect_object(&entry.path())?;
            }
        }
        irregular_entries(&directories).iter().try_for_each(|file| self.inspect_object(file))
    }

    /// A file in a store of objects. Objects are written in its directories, so that none of these is a link.
    fn inspect_object(&mut self, file: &Path) -> Result<(), Error> {
        let Ok(kind) = file.symlink_metadata().map(|known| known.file_type()) else { return Ok(()) };
        if is_odd(kind) {
            return Err(refused_error(file, NO_FILE));
        }
        if kind.is_symlink() {
            if self.may_enter(file) && file.is_dir() {
                return Err(refused_error(file, LINK));
            }
            return self.require_regular_file(file);
        }
        Ok(())
    }

    /// A configuration of the repository in `place`, what it includes, and what it names.
    fn inspect_configuration(&mut self, file: &Path, place: &Path) -> Result<(), Error> {
        self.require_regular_file(file)?;
        if !self.inspected.insert(file.to_owned()) || !self.may_follow(file) || !file.is_file() {
            return Ok(());
        }
        let name = self.display_name(file);
        let text =
            plain_text(file).filter(|text| is_unambiguous(text) && self.inspected.len() < MOST_FOLLOWED);
        let Some(text) = text else {
            self.add_lead(format!(
                "{name} is too large or has lines that git and its library read in different ways"
            ));
            return Ok(());
        };
        for entry in parse_entries(&text) {
            let base = match (entry.section.as_str(), entry.key.as_str()) {
                _ if entry.is_include() => file.parent().unwrap_or(place).to_owned(),
                ("core", "attributesfile" | "excludesfile") => self.top_directory.clone(),
                ("core", "worktree") => place.to_owned(),
                _ => continue,
            };
            let target = expand_entry_path(&entry, &base);
            // the library of git takes it from the directory that the process is in
            let is_adrift = entry.key.ends_with("sfile")
                && !(entry.value.starts_with('/') || entry.value.starts_with("~/"));
            if entry.escaped || is_adrift || !self.bounds.contains_path(&target) {
                let GitEntry { section, key, value, .. } = &entry;
                if !self.add_lead(format!("{name}: {section}.{key} = {value}")) {
                    continue;
                }
            }
            if entry.is_include() {
                self.inspect_configuration(&target, place)?;
            } else if entry.key == "attributesfile" {
                judge_named(&target)?;
            }
        }
        Ok(())
    }

    fn may_follow(&self, file: &Path) -> bool {
        self.outside_files == OutsideFiles::Allowed || self.bounds.contains_path(file)
    }

    /// Where more objects are, as a store of them names it.
    fn inspect_alternates(&mut self, objects: &Path) -> Result<(), Error> {
        let list = objects.join("info/alternates");
        if !self.inspected.insert(list.clone()) || !self.may_follow(&list) || !list.is_file() {
            return Ok(());
        }
        let name = self.display_name(&list);
        if self.inspected.len() >= MOST_FOLLOWED {
            self.add_lead(format!("{name} is one of too many"));
            return Ok(());
        }
        let Some(found) = self.path_file(&list) else { return Ok(()) };
        for line in found.lines() {
            // the library of git takes others from the directory that the process is in
            let is_adrift = !line.is_absolute() && !line.as_os_str().as_encoded_bytes().starts_with(b".");
            let other = objects.join(line);
            if !is_adrift && self.bounds.contains_path(&other)
                || self.add_lead(format!("{name}: {}", line.display()))
            {
                self.inspect_objects(&other)?;
                self.inspect_alternates(&other)?;
            }
        }
        Ok(())
    }
}

/// What is below a directory whose files are written.
///
/// # Errors
/// There is a link, or something else that is neither a file nor a directory.
fn check_written_directory(directory: &Path, depth: usize) -> Result<(), Error> {
    refuse_link(directory)?;
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth == DEEPEST => {
                return Err(refused_error(&entry.path(), "lies too deep: such a name is not looked at"));
            }
            Ok(kind) if kind.is_dir() => check_written_directory(&entry.path(), depth + 1)?,
            Ok(kind) if kind.is_file() => {}
            _ => refuse_link(&entry.path())?,
        }
    }
    Ok(())
}

fn refuse_link(path: &Path) -> Result<(), Error> {
    match path.symlink_metadata() {
        Ok(known) if known.is_symlink() => Err(refused_error(path, LINK)),
        Ok(known) if is_odd(known.file_type()) => Err(refused_error(path, NO_FILE)),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// # Errors
/// As [`RepositoryInspection::require_regular_file`].
fn judge_named(file: &Path) -> Result<(), Error> {
    match fs::metadata(file) {
        Ok(known) if is_odd(known.file_type()) => Err(refused_error(file, NO_FILE)),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// What an old form of `HEAD` leads to.
fn is_branch(target: &Path) -> bool {
    target.starts_with("refs/heads") && target.components().all(|part| matches!(part, Component::Normal(_)))
}

fn is_odd(kind: FileType) -> bool {
    kind.is_fifo() || kind.is_socket() || kind.is_char_device() || kind.is_block_device()
}

fn expand_entry_path(entry: &GitEntry, base: &Path) -> PathBuf {
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

    fn found_leads(root: &Path) -> Vec<String> {
        let leads = outside_leads(root);
        let refused =
            open_around(root, OutsideFiles::Refused).is_err_and(|error| is_outside_lead_error(&error));
        assert_eq!(refused, !leads.is_empty(), "{leads:?}");
        let allowed = open_around(root, OutsideFiles::Allowed);
        assert!(!allowed.is_err_and(|error| is_outside_lead_error(&error)));
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
            (".git/config", "[core] excludesFile = x\n", "core.excludesfile = x"),
            (".git/config", "[core] attributesFile = more\n", "core.attributesfile = more"),
            (".git/objects/info/alternates", "objects\n", "alternates: objects"),
            (".git/objects/info/alternates", "./a\r/out\n", "read in different ways"),
            (".git/commondir", ".\0\n", "read in different ways"),
            (".git/commondir", ".\u{a0}\n", "read in different ways"),
            (".git/commondir", ".\u{fffd}\n", "read in different ways"),
            (".git/commondir", "HUGE", "read in different ways"),
            (".git/gitdir", "/x\t\n", "read in different ways"),
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
            let text = text.replace("HUGE", &format!("../../out{}", "\n".repeat(1 << 20)));
            fs::write(root.join(file), before + &text).unwrap();
            let found = found_leads(&root);
            assert!(found.iter().any(|found| found.contains(lead)), "{text} {found:?}");
        }
        for link in [".git/info", ".git/objects", ".git/config", ".git/objects/ab", ".git/shallow"] {
            let (_keep, root) = scene();
            let place = root.join(link);
            let _ = fs::remove_file(&place).or_else(|_| fs::remove_dir_all(&place));
            symlink(root.with_file_name("out").join("objects"), &place).unwrap();
            assert_eq!(found_leads(&root), [format!("{link} lies elsewhere")]);
        }
        for link in [true, false] {
            let (_keep, root) = scene();
            let out = root.with_file_name("out");
            fs::remove_dir_all(root.join(".git")).unwrap();
            match link {
                true => symlink(&out, root.join(".git")).unwrap(),
                false => fs::write(root.join(".git"), format!("gitdir: {}\n", out.display())).unwrap(),
            }
            assert_eq!(found_leads(&root).len(), 1);
        }
    }

    #[test]
    fn a_link_among_the_files_that_are_written_is_refused_whatever_the_user_has_seen() {
        for (link, file) in [
            (".git/HEAD", true),
            (".git/index", true),
            (".git/packed-refs", true),
            (".git/worktrees/a/HEAD", true),
            (".git/refs", false),
            (".git/refs/synthdev", false),
            (".git/refs/heads/a", true),
            (".git/logs", false),
            (".git/logs/HEAD", true),
            (".git/logs/refs/heads/synthdev", false),
            (".git/worktrees", false),
            (".git/worktrees/a", false),
            (".git/worktrees/a/logs", false),
            (".git/worktrees/a/logs/HEAD", true),
            (".git/worktrees/a/refs/x", false),
            (".git/objects/ab", false),
            (".git/objects/pack", false),
        ] {
            // inside, outside, and to nothing
            for target in ["x", "../out", "gone"] {
                let (_keep, root) = scene();
                fs::create_dir(root.join("x")).unwrap();
                fs::write(root.join("x/file"), "").unwrap();
                fs::write(root.join("../out/file"), "").unwrap();
                let place = root.join(link);
                fs::create_dir_all(place.parent().unwrap()).unwrap();
                let _ = fs::remove_file(&place).or_else(|_| fs::remove_dir_all(&place));
                symlink(root.join(target).join(if file { "file" } else { "" }), &place).unwrap();
                for outside in [OutsideFiles::Refused, OutsideFiles::Allowed] {
                    let error = open_around(&root, outside).map(drop);
                    let Err(error) = error else {
                        assert!(link.contains("objects") && target == "gone", "{link} {target}");
                        continue;
                    };
                    let named = error.message().contains("is a link") && error.message().contains(link);
                    if error.code() == ErrorCode::NotFound {
                        // git takes it for no repository
                        assert!(link == ".git/HEAD" && target == "gone", "{link} {target}");
                        continue;
                    }
                    let is_lead = link.contains("objects") && outside == OutsideFiles::Refused;
                    assert!(
                        is_refusal(&error) && named || is_lead && is_outside_lead_error(&error),
                        "{link} {error}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_repository_that_was_looked_at_is_the_one_that_is_opened() {
        let (_keep, root) = scene();
        let sub = root.join("sub");
        let opened = |from: &Path| {
            let found = open_around(from, OutsideFiles::Refused);
            found.map(|found| found.workdir().unwrap().to_owned()).map_err(|error| error.code())
        };
        // none of these is a repository for git
        fs::create_dir_all(sub.join(".git/HEAD")).unwrap();
        assert_eq!(opened(&sub), Ok(root.join("")));
        symlink("/etc", root.join(".git/refs/x")).unwrap();
        assert_eq!(opened(&sub), Err(ErrorCode::Invalid));
        fs::remove_file(root.join(".git/refs/x")).unwrap();
        // the search ends at a file
        fs::remove_dir_all(sub.join(".git")).unwrap();
        fs::write(sub.join(".git"), "gitdir: gone\n").unwrap();
        assert!(opened(&sub).is_err());
        for text in ["gitdir: ../.git\u{a0}\n", "gitdir: ../.git\0x\n"] {
            fs::write(sub.join(".git"), text).unwrap();
            assert_eq!(opened(&sub), Err(ErrorCode::Auth), "{text:?}");
        }
        fs::write(sub.join(".git"), b"gitdir: ../.git\xff\n").unwrap();
        assert_eq!(opened(&sub), Err(ErrorCode::Auth));
        let alone = root.with_file_name("alone");
        fs::create_dir(&alone).unwrap();
        assert_eq!(opened(&alone), Err(ErrorCode::NotFound));
    }

    #[test]
    fn what_stays_in_a_repository_and_its_worktrees_is_opened() {
        let (_keep, root) = scene();
        let config = fs::read_to_string(root.join(".git/config")).unwrap();
        let more = "[include] path = ../.gitconfig\n[include] path = gone\n[core] worktree = ..\n";
        let more = format!("{more}[core] excludesFile = {}\n", root.join("a").display());
        fs::write(root.join(".git/config"), config.clone() + &more).unwrap();
        fs::write(root.join(".gitconfig"), "[core] hooksPath = /x\n").unwrap();
        fs::create_dir(root.join("sub")).unwrap();
        assert!(found_leads(&root).is_empty() && found_leads(&root.join("sub")).is_empty());
        // a worktree of it, and a submodule
        fs::write(root.join(".git/config"), config + "[include] path = ../.gitconfig\n").unwrap();
        let repository = Repository::open(&root).unwrap();
        let who = git2::Signature::now("a", "a@b").unwrap();
        let tree = repository.find_tree(repository.index().unwrap().write_tree().unwrap()).unwrap();
        repository.commit(Some("HEAD"), &who, &who, "a", &tree, &[]).unwrap();
        let worktree = root.with_file_name("worktree");
        repository.worktree("worktree", &worktree, None).unwrap();
        assert!(found_leads(&worktree).is_empty());
        fs::remove_dir_all(root.join("sub")).unwrap();
        let module = root.join(".git/modules/sub");
        Repository::init_opts(
            &module,
            git2::RepositoryInitOptions::new().no_dotgit_dir(true).workdir_path(&root.join("sub")),
        )
        .unwrap();
        assert!(found_leads(&root.join("sub")).is_empty());
    }
}
