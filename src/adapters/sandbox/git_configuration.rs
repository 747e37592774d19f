//! What git reads as its configuration, with all that is included, and the programs that it names.
//!
//! Every condition of an include counts as true, and every value counts, not only the last one: what is protected too much
//! does no harm. Nothing is executed, and what is no plain file of ordinary size is not opened: git would wait for a pipe.

use std::path::{Path, PathBuf};

use super::plain_paths::lexical;
use crate::adapters::git_entries::{GitEntry, entries, plain_text};
use crate::adapters::repository_bounds::RepositoryBounds;

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
pub(super) struct GitConfiguration {
    /// Also those that are not there: git reads them once they are made.
    pub(super) files: Vec<PathBuf>,
    entries: Vec<GitEntry>,
}

impl GitConfiguration {
    /// `within`: what lies outside of this is named, and not opened.
    pub(super) fn read(file: &Path, home: Option<&Path>, within: Option<&RepositoryBounds>) -> Self {
        let mut found = Self::default();
        let mut open = vec![file.to_owned()];
        let held = |path: &Path| within.is_none_or(|bounds| bounds.hold(path));
        while let Some(file) = open.pop().filter(|_| found.files.len() < MOST_FILES) {
            if found.files.contains(&file) {
                continue;
            }
            let text =
                Some(&file).filter(|file| held(file)).and_then(|file| plain_text(file)).unwrap_or_default();
            for entry in entries(&text) {
                if entry.is_include() {
                    open.extend(file.parent().and_then(|base| expanded(&entry.value, base, home)));
                } else {
                    found.entries.push(entry);
                }
            }
            found.files.push(file);
        }
        found
    }

    /// What git runs, as far as it is named by a path: relative ones are of the work tree, which has no links in its path.
    pub(super) fn programs(&self, work_tree: &Path, home: Option<&Path>) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for entry in &self.entries {
            if entry.section == "core" && entry.key == "hookspath" {
                found.extend(
                    expanded(&entry.value, work_tree, home)
                        .map(|path| hooks(path, work_tree))
                        .unwrap_or_default(),
                );
            } else if names_program(entry) {
                found.extend(words(&entry.value, work_tree, home));
            }
        }
        found
    }
}

/// The directory, or each hook in it: it can be the work tree itself.
fn hooks(directory: PathBuf, work_tree: &Path) -> Vec<PathBuf> {
    if work_tree.starts_with(lexical(&directory)) {
        return HOOKS.iter().map(|name| directory.join(name)).collect();
    }
    match directory.parent() {
        // the scripts in it run those beside it
        Some(above) if directory.ends_with(".husky/_") => vec![above.to_owned()],
        _ => vec![directory],
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

/// The files that a line for the shell names. A first word without a slash is a program of `PATH`.
fn words(line: &str, work_tree: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let apart = |letter: char| letter.is_whitespace() || "'\"`;|&()<>!=".contains(letter);
    let words = line.split(apart).filter(|word| !word.is_empty()).enumerate();
    let named = words.filter_map(|(at, word)| {
        let path = expanded(word, work_tree, home)?;
        let is_named = word.contains('/') && !path.is_dir() || at > 0 && path.is_file();
        is_named.then_some(path)
    });
    named.collect()
}

/// As git reads a path.
fn expanded(value: &str, base: &Path, home: Option<&Path>) -> Option<PathBuf> {
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
            let found = GitConfiguration::read(&root.join("config"), None, None).programs(root, None);
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
        let found = GitConfiguration::read(&root.join("config"), Some(Path::new("/home/x")), None);
        let mut files = found.files.clone();
        files.sort();
        let expected = [root.join("a"), root.join("config"), root.join("gone"), pipe];
        assert_eq!(files[1..], expected, "{files:#?}");
        assert_eq!(files[0], Path::new("/home/x/b"));
        let root = &root.canonicalize().unwrap();
        let programs = found.programs(root, None);
        assert!(programs.contains(&root.join("pre-commit")), "{programs:#?}");
        assert!(!programs.iter().any(|path| root.starts_with(path)), "{programs:#?}");
    }
}
