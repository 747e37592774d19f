//! Whether a project's own configuration may run: files of a cloned project are code. Decisions are kept
//! outside the project, by content hash; any change asks again. Never reads or writes a file.

pub mod capabilities;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use synthdev_domain::terminal_safe::escape_name;

use self::capabilities::file_content_text;
use super::system_context::GUIDANCE;

/// Decisions by project path, as stored in the user's data directory.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TrustBook {
    pub projects: BTreeMap<String, TrustDecision>,
}

/// What was looked at and allowed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TrustDecision {
    /// Over all files, see [`fingerprint_files`].
    pub hash: String,
    /// Hash of each file by relative path, to say later what changed.
    pub files: BTreeMap<String, String>,
    /// Texts of roles, workflows and AGENTS.md as they were allowed, to show later how they changed. Settings and `.env`
    /// may hold keys: of those only the hash is kept.
    #[serde(default)]
    pub texts: BTreeMap<String, String>,
}

/// The answer for the files as they are now. Lists are sorted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TrustVerdict {
    /// There is nothing to trust, or exactly this was allowed.
    Trusted,
    /// Never decided.
    New { files: Vec<String> },
    /// Decided for other content.
    Changed { added: Vec<String>, removed: Vec<String>, changed: Vec<String> },
}

/// Between the name of a link and where it leads.
const LINK: &str = " -> ";

impl TrustVerdict {
    /// Files that are left out while everything else is used, which is then exactly what was allowed. `None`: nothing is.
    pub fn excluded_files(&self) -> Option<&[String]> {
        match self {
            Self::Trusted => Some(&[]),
            // a link in the place of a file is another file, although the text is the same
            Self::Changed { added, removed, changed }
                if removed.is_empty()
                    && changed.is_empty()
                    && !added.iter().any(|name| name.contains(LINK)) =>
            {
                Some(added)
            }
            Self::New { .. } | Self::Changed { .. } => None,
        }
    }
}

impl TrustBook {
    /// Reads the stored text; an unreadable one is an empty book (everything asks again).
    pub fn parse(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// The text to store.
    pub fn to_text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Records that exactly these files were allowed for this project.
    pub fn allow_files(&mut self, project: &str, files: &[(String, String)]) {
        self.projects.insert(project.to_owned(), fingerprint_files(files));
    }

    /// Forgets a project.
    pub fn forget_project(&mut self, project: &str) -> bool {
        self.projects.remove(project).is_some()
    }

    pub fn verdict(&self, project: &str, files: &[(String, String)]) -> TrustVerdict {
        judge_trust(self.projects.get(project), files)
    }
}

/// Hashes of (relative path, text) pairs; their order does not matter, paths and texts do.
pub fn fingerprint_files(files: &[(String, String)]) -> TrustDecision {
    let texts = files.iter().filter(|(path, _)| !may_hold_keys(path)).cloned().collect();
    let files: BTreeMap<String, String> =
        files.iter().map(|(path, text)| (path.clone(), sha256_hex(text.as_bytes()))).collect();
    // Lengths and fixed-size hashes keep (path, text) pairs from running into each other.
    let mut all = String::new();
    for (path, hash) in &files {
        let _ = writeln!(all, "{} {path} {hash}", path.len());
    }
    TrustDecision { hash: sha256_hex(all.as_bytes()), files, texts }
}

/// After this time the diff of long files with little in common is only approximate.
const DIFF_TIME: Duration = Duration::from_millis(500);

/// The files that are new, or say something else than was allowed.
pub fn new_files(stored: Option<&TrustDecision>, files: &[(String, String)]) -> Vec<(String, String)> {
    let known = |path: &String, text: &String| {
        stored.is_some_and(|stored| stored.files.get(path) == Some(&sha256_hex(text.as_bytes())))
    };
    files.iter().filter(|(path, text)| !known(path, text)).cloned().collect()
}

/// How the files differ from what was allowed: a unified diff of each file whose text was kept, the whole text of
/// others, keys blotted out.
pub fn trust_diff(stored: &TrustDecision, files: &[(String, String)]) -> String {
    let mut parts = Vec::new();
    for (path, text) in files {
        let name = escape_name(path);
        let old_hash = stored.files.get(path);
        if old_hash == Some(&sha256_hex(text.as_bytes())) {
            continue;
        }
        match (old_hash, stored.texts.get(path)) {
            (None, _) => parts.push(format!("  + {name} (new)\n{}", file_content_text(path, text))),
            (Some(_), None) => parts.push(format!("  ~ {name} (changed)\n{}", file_content_text(path, text))),
            (Some(_), Some(old)) => {
                let diff =
                    similar::TextDiff::configure().timeout(DIFF_TIME).diff_lines(old.as_str(), text.as_str());
                let diff = diff.unified_diff().context_radius(2).header(&name, &name).to_string();
                parts.push(diff.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n"));
            }
        }
    }
    let gone = stored.files.keys().filter(|path| !files.iter().any(|(now, _)| now == *path));
    parts.extend(gone.map(|path| format!("  - {} (removed)", escape_name(path))));
    parts.join("\n")
}

fn may_hold_keys(path: &str) -> bool {
    path != GUIDANCE && !(path.contains("/roles/") || path.contains("/workflows/"))
}

pub fn judge_trust(stored: Option<&TrustDecision>, files: &[(String, String)]) -> TrustVerdict {
    if files.is_empty() {
        return TrustVerdict::Trusted;
    }
    let now = fingerprint_files(files);
    let Some(stored) = stored else {
        return TrustVerdict::New { files: now.files.into_keys().collect() };
    };
    if stored.hash == now.hash {
        return TrustVerdict::Trusted;
    }
    let only_in = |one: &BTreeMap<String, String>, other: &BTreeMap<String, String>| {
        one.keys().filter(|path| !other.contains_key(*path)).cloned().collect::<Vec<_>>()
    };
    let differs = |(path, hash): &(&String, &String)| stored.files.get(*path).is_some_and(|old| old != *hash);
    TrustVerdict::Changed {
        added: only_in(&now.files, &stored.files),
        removed: only_in(&stored.files, &now.files),
        changed: now.files.iter().filter(differs).map(|(path, _)| path.clone()).collect(),
    }
}

/// Lower-case hex SHA-256.
pub fn sha256_hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn only_exactly_what_was_allowed_is_trusted() {
        let seen = files(&[("roles/a.json", "1"), ("workflows/b.json", "2")]);
        let mut book = TrustBook::default();
        let names = vec!["roles/a.json".to_owned(), "workflows/b.json".to_owned()];
        assert_eq!(book.verdict("/p", &seen), TrustVerdict::New { files: names });
        book.allow_files("/p", &seen);
        let book = TrustBook::parse(&book.to_text());
        let reversed: Vec<_> = seen.iter().rev().cloned().collect();
        assert_eq!(book.verdict("/p", &reversed), TrustVerdict::Trusted);
        assert!(matches!(book.verdict("/q", &seen), TrustVerdict::New { .. }));
        assert_eq!(book.verdict("/q", &[]), TrustVerdict::Trusted);
        let now = files(&[("roles/a.json", "1x"), ("settings.json", "3")]);
        assert_eq!(
            book.verdict("/p", &now),
            TrustVerdict::Changed {
                added: vec!["settings.json".into()],
                removed: vec!["workflows/b.json".into()],
                changed: vec!["roles/a.json".into()],
            }
        );
        let more: Vec<_> = seen.iter().cloned().chain(files(&[("settings.json", "3")])).collect();
        let added = book.verdict("/p", &more);
        assert_eq!(
            added.excluded_files(),
            Some(&["settings.json".to_owned()][..]),
            "what was allowed stays in use"
        );
        assert_eq!(book.verdict("/p", &now).excluded_files(), None, "a part of it is something else");
        assert!(matches!(TrustBook::parse("{broken").verdict("/p", &seen), TrustVerdict::New { .. }));
    }

    #[test]
    fn a_change_is_shown_as_a_diff_and_keys_are_not_kept() {
        let seen = files(&[("p/workflows/a.json", "one\ntwo\n"), (".env", "KEY=sk-secret\n")]);
        let allowed = fingerprint_files(&seen);
        assert!(!serde_json::to_string(&allowed).unwrap().contains("sk-secret"));
        let now =
            files(&[("p/workflows/a.json", "one\n2\n"), (".env", "KEY=other\n"), ("p/roles/r.json", "{}")]);
        let text = trust_diff(&allowed, &now);
        for part in ["-two\n  +2\n", "~ .env (changed)", "+ p/roles/r.json (new)"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(!text.contains("other"));
    }

    #[test]
    fn paths_and_texts_cannot_run_into_each_other() {
        let one = fingerprint_files(&files(&[("a", "b"), ("c", "d")]));
        let two = fingerprint_files(&files(&[("a", "bc"), ("", "d")]));
        let three = fingerprint_files(&files(&[("a", "d"), ("c", "b")]));
        assert!(one.hash != two.hash && one.hash != three.hash);
        assert_eq!(sha256_hex(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
