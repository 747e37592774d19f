//! What git reads as its configuration, with all that is included, and the programs that it names.
//!
//! Every condition of an include counts as true, and every value counts, not only the last one: what is protected too much
//! does no harm. Nothing is executed, and what is no plain file of ordinary size is not opened: git would wait for a pipe.

use std::path::{Path, PathBuf};

use super::plain_paths::resolve_lexically;
use crate::git_entries::{GitEntry, parse_entries, plain_text};
use crate::link_walk::without_dots;
use crate::repository_bounds::RepositoryBounds;

/// Files that one configuration consists of.
const MOST_FILES: usize = 256;

/// What git looks for in the directory of hooks.
const HOOKS: [&str; 28] = [
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-rebase",
    "post-checkout",
    "post-merge",
    "pre-push",
    "pre-receive",
    "update",
    "proc-receive",
    "post-receive",
    "post-update",
    "reference-transaction",
    "push-to-checkout",
    "pre-auto-gc",
    "post-rewrite",
    "sendemail-validate",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-prepare-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "post-index-change",
];

/// A configuration with all that it includes.
#[derive(Default)]
pub(super) struct GitConfiguration<'a> {
    /// Paths outside of this are listed, but not opened.
    within: Option<&'a RepositoryBounds>,
    /// Also those that are not there: git reads them once they are made.
    pub(super) files: Vec<PathBuf>,
    entries: Vec<GitEntry>,
}

impl<'a> GitConfiguration<'a> {
    /// `within`: paths outside of this are listed, but not opened or looked up: a lookup alone can trigger a mount.
    pub(super) fn read_file(file: &Path, home: Option<&Path>, within: Option<&'a RepositoryBounds>) -> Self {
        let mut found = Self { within, ..Self::default() };
        let mut open = vec![file.to_owned()];
        while let Some(file) = open.pop().filter(|_| found.files.len() < MOST_FILES) {
            if found.files.contains(&file) {
                continue;
            }
            let text = Some(&file)
                .filter(|file| found.may_look(file))
                .and_then(|file| plain_text(file))
                .unwrap_or_default();
            for entry in parse_entries(&text) {
                if entry.is_include() {
                    open.extend(file.parent().and_then(|base| expand_path(&entry.value, base, home)));
                } else {
                    found.entries.push(entry);
                }
            }
            found.files.push(file);
        }
        found
    }

    /// What git runs, as far as it is named by a path: relative ones are of the work tree, which has no links in its path.
    pub(super) fn named_programs(&self, work_tree: &Path, home: Option<&Path>) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for entry in &self.entries {
            if entry.section == "core" && entry.key == "hookspath" {
                found.extend(
                    expand_path(&entry.value, work_tree, home)
                        .map(|path| self.hook_paths(path, work_tree))
                        .unwrap_or_default(),
                );
            } else if names_program(entry) {
                found.extend(self.command_files(&entry.value, work_tree, home));
            }
        }
        found
    }

    fn may_look(&self, path: &Path) -> bool {
        self.within.is_none_or(|bounds| bounds.contains_path(path))
    }

    /// The directory, or each hook in it: it can be the work tree itself.
    fn hook_paths(&self, directory: PathBuf, work_tree: &Path) -> Vec<PathBuf> {
        let plain =
            if self.may_look(&directory) { resolve_lexically(&directory) } else { without_dots(&directory) };
        if work_tree.starts_with(plain) {
            return HOOKS.iter().map(|name| directory.join(name)).collect();
        }
        match directory.parent() {
            // the scripts in it run those beside it
            Some(above) if directory.ends_with(".husky/_") => vec![above.to_owned()],
            _ => vec![directory],
        }
    }

    /// The files that a line for the shell names. A first word without a slash is a program of `PATH`.
    fn command_files(&self, line: &str, work_tree: &Path, home: Option<&Path>) -> Vec<PathBuf> {
        let apart = |letter: char| letter.is_whitespace() || "'\"`;|&()<>!=".contains(letter);
        let words = line.split(apart).filter(|word| !word.is_empty()).enumerate();
        let named = words.filter_map(|(at, word)| {
            let path = expand_path(word, work_tree, home)?;
            let is_named = if self.may_look(&path) {
                word.contains('/') && !path.is_dir() || at > 0 && path.is_file()
            } else {
                // what it is stays unknown: a link in the work tree is looked at, where it leads is not
                word.contains('/') || at > 0 && path.is_symlink()
            };
            is_named.then_some(path)
        });
        named.collect()
    }
}

fn names_program(entry: &GitEntry) -> bool {
    match (entry.section.as_str(), entry.key.as_str()) {
        ("core", key) => matches!(
            key,
            "fsmonitor" | "sshcommand" | "editor" | "pager" | "askpass" | "gitproxy" | "alternaterefscommand"
        ),
        ("pager", _)
        | ("sequence", "editor")
        | ("diff", "external" | "textconv" | "command")
        | ("merge", "driver")
        | ("filter", "clean" | "smudge" | "process")
        | ("difftool" | "mergetool" | "guitool" | "browser" | "man", "cmd" | "path")
        | ("credential", "helper")
        | ("gpg", "program" | "defaultkeycommand")
        | ("interactive", "difffilter")
        | ("trailer", "cmd" | "command")
        | ("tar" | "hook", "command")
        | ("remote", "uploadpack" | "receivepack")
        | ("sendemail", "tocmd" | "cccmd" | "headercmd" | "smtpserver" | "sendmailcmd") => true,
        ("alias" | "submodule", _) => entry.value.starts_with('!'),
        _ => false,
    }
}

/// As git reads a path.
fn expand_path(value: &str, base: &Path, home: Option<&Path>) -> Option<PathBuf> {
    match value.strip_prefix("~/") {
        Some(rest) => Some(home?.join(rest)),
        None => (!value.is_empty()).then(|| base.join(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_the_work_tree_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        std::fs::write(root.join("plain.py"), "").unwrap();
        std::fs::create_dir(root.join("dir")).unwrap();
        for (text, named) in [
            ("[core] fsmonitor = tools/watch", &["tools/watch"][..]),
            ("[core] sshCommand = ssh -F ./conf", &["conf"]),
            ("[diff \"x\"] textconv = python3 plain.py dir", &["plain.py"]),
            ("[filter \"x\"] clean = 'a b/c' --x=d/e %f", &["b/c", "d/e"]),
            ("[alias] x = !sh tools/x\n y = log a/b", &["tools/x"]),
            ("[core] editor = vim\n excludesFile = a/b\n[user] name = a/b", &[]),
            ("[core] pager = ./dir/ ./", &[]),
        ] {
            std::fs::write(root.join("config"), text).unwrap();
            let found =
                GitConfiguration::read_file(&root.join("config"), None, None).named_programs(root, None);
            let expected: Vec<PathBuf> = named.iter().map(|name| root.join(name)).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn what_lies_outside_is_named_without_a_look() {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        let root = base.join("project");
        std::fs::create_dir_all(root.join("d")).unwrap();
        std::fs::create_dir_all(base.join("out/directory")).unwrap();
        std::fs::write(base.join("out/file"), "").unwrap();
        std::os::unix::fs::symlink(&root, base.join("out/back")).unwrap();
        std::os::unix::fs::symlink("../out", root.join("far")).unwrap();
        std::os::unix::fs::symlink("../out/file", root.join("link")).unwrap();
        let bounds = RepositoryBounds::for_repository(&root);
        // which of them are directories, and whether one leads back, cannot be known without a look
        for (text, named) in [
            (
                "[alias] x = !sh ../out/directory ../out/file d/ link gone",
                &["../out/directory", "../out/file", "link"][..],
            ),
            ("[alias] x = !sh far/directory", &["far/directory"]),
            ("[core] hooksPath = far/back", &["far/back"]),
            ("[core] hooksPath = d/..", &["d/../pre-commit"]),
        ] {
            std::fs::write(root.join("config"), text).unwrap();
            let found = GitConfiguration::read_file(&root.join("config"), None, Some(&bounds));
            let other_hook =
                |path: &Path| HOOKS.iter().any(|hook| *hook != "pre-commit" && path.ends_with(hook));
            let mut found = found.named_programs(&root, None);
            found.retain(|path| !other_hook(path));
            let expected: Vec<PathBuf> = named.iter().map(|name| root.join(name)).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn includes_are_followed_and_end() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let pipe = root.join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.is_ok_and(|status| status.success()));
        std::fs::write(
            root.join("config"),
            "[include] path = a\n[includeIf \"gitdir:/never/\"]\n path = ~/b\n[include]\n path = pipe\n path = gone\n",
        )
        .unwrap();
        std::fs::write(root.join("a"), "[include] path = config\n[core] hooksPath = .\n").unwrap();
        let found = GitConfiguration::read_file(&root.join("config"), Some(Path::new("/home/x")), None);
        let mut files = found.files.clone();
        files.sort();
        let expected = [root.join("a"), root.join("config"), root.join("gone"), pipe];
        assert_eq!(files[1..], expected, "{files:#?}");
        assert_eq!(files[0], Path::new("/home/x/b"));
        let root = &root.canonicalize().unwrap();
        let programs = found.named_programs(root, None);
        assert!(programs.contains(&root.join("pre-commit")), "{programs:#?}");
        assert!(!programs.iter().any(|path| root.starts_with(path)), "{programs:#?}");
    }
}
