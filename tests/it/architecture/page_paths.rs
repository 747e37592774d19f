//! What the pages name is there: files, directories, and items of the code.

use std::collections::BTreeSet;

/// Pages that lead through the code.
const PAGES: &[&str] = &[
    "docs/spec/",
    "docs/glossary.md",
    "docs/test-harness.md",
    "docs/security.md",
    "CONTRIBUTING.md",
    "src/lib.rs",
];

/// Ends of the names of files.
const ENDINGS: &[&str] = &[".rs", ".md", ".json", ".jsonl", ".toml", ".js", ".db", ".mjs", ".py"];

/// What looks like a path of the repository and is none: text, reason.
pub(super) type Elsewhere = (&'static str, &'static str);

/// Takes every text file of the package, and the paths of all files.
pub(super) fn check_page_paths(
    texts: &[(String, String)],
    paths: &[String],
    elsewhere: &[Elsewhere],
) -> Vec<String> {
    let mut used = BTreeSet::new();
    let mut found = Vec::new();
    for (page, text) in texts.iter().filter(|(path, _)| PAGES.iter().any(|page| path.starts_with(page))) {
        for (line, number) in text.lines().zip(1..) {
            let line =
                line.strip_prefix("//!").or(Some(line).filter(|_| page.ends_with(".md"))).unwrap_or("");
            for quoted in line.split('`').skip(1).step_by(2) {
                if let Some(at) = elsewhere.iter().position(|(text, _)| *text == quoted) {
                    used.insert(at);
                } else if let Some(what) = missing(quoted, paths, texts) {
                    found.push(format!("{page}:{number}: there is no `{what}`"));
                }
            }
            for target in line.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                if let Some(what) = missing_link(page, target, paths) {
                    found.push(format!("{page}:{number}: there is no `{what}`"));
                }
            }
        }
    }
    for (at, (text, reason)) in elsewhere.iter().enumerate() {
        if !used.contains(&at) {
            found.push(format!("the exemption of `{text}` is no longer needed: {reason}"));
        }
    }
    found
}

/// Whether some file defines the type, or has methods of it, and defines the item.
fn has_item(texts: &[(String, String)], owner: &str, item: &str) -> bool {
    let owners = ["struct ", "enum ", "trait ", "impl ", "> ", "for "];
    let is_owner = |before: &str, _: &str| owners.iter().any(|word| before.ends_with(word));
    texts
        .iter()
        .filter(|(path, _)| path.ends_with(".rs"))
        .any(|(_, text)| any_word(text, owner, is_owner) && any_word(text, item, is_item))
}

/// Whether the word is there, with what the test wants before it in its line and behind it.
fn any_word(text: &str, word: &str, test: impl Fn(&str, &str) -> bool) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.match_indices(word).any(|(at, _)| {
        let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
        let (before, after) = (&text[line..at], &text[at + word.len()..]);
        !before.ends_with(is_part) && !after.starts_with(is_part) && test(before, after)
    })
}

/// A function, a field, a constant, or a variant of an enum.
fn is_item(before: &str, after: &str) -> bool {
    let opens = after.starts_with([':', ',', '(', '=']) || after.starts_with(" {") || after.starts_with(" =");
    let before = before.trim();
    before.ends_with("fn")
        || before.ends_with("const")
        || opens && (before.is_empty() || before == "pub" || before.starts_with("pub("))
}

/// What this quoted text names and what is not there.
fn missing(quoted: &str, paths: &[String], texts: &[(String, String)]) -> Option<String> {
    let is_plain = |letter: char| letter.is_alphanumeric() || "_./{},*-".contains(letter);
    if let Some((owner, rest)) = quoted.split_once("::") {
        let is_name = |part: &str| part.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
        let item = rest.split(['(', ' ', ':', '<']).next().unwrap_or_default();
        let of_type =
            owner.starts_with(char::is_uppercase) && is_name(owner) && is_name(item) && !item.is_empty();
        return (of_type && !has_item(texts, owner, item)).then(|| quoted.to_owned());
    }
    let is_path = ENDINGS.iter().any(|ending| quoted.ends_with(ending)) || quoted.contains('/');
    // a name in capitals is a placeholder that the reader replaces
    if !is_path
        || quoted.contains("NAME")
        || !quoted.chars().all(is_plain)
        || quoted.starts_with(['/', '.', '*', '-'])
    {
        return None;
    }
    expand_braces(quoted).into_iter().find(|path| !is_there(path, paths))
}

fn missing_link(page: &str, target: &str, paths: &[String]) -> Option<String> {
    let file = target.split('#').next().unwrap_or_default();
    if file.is_empty() || file.contains("://") {
        return None;
    }
    let mut place: Vec<&str> = page.split('/').collect();
    place.pop();
    for part in file.split('/') {
        match part {
            ".." => drop(place.pop()),
            "." => {}
            part => place.push(part),
        }
    }
    let path = place.join("/");
    (!is_there(&path, paths)).then_some(path)
}

/// `a/{b,c}.rs` is `a/b.rs` and `a/c.rs`.
fn expand_braces(path: &str) -> Vec<String> {
    match path.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?))) {
        Some((before, (middle, after))) => {
            middle.split(',').flat_map(|one| expand_braces(&format!("{before}{one}{after}"))).collect()
        }
        None => vec![path.to_owned()],
    }
}

/// The whole path, or the end of one: pages shorten a path that the sentence before has named. A star is any name.
fn is_there(path: &str, paths: &[String]) -> bool {
    let path = path.trim_end_matches('/');
    if let Some((before, after)) = path.split_once('*') {
        return paths.iter().any(|known| known.starts_with(before) && known.ends_with(after));
    }
    paths.iter().any(|known| {
        known.match_indices(path).any(|(at, _)| {
            let rest = &known[at + path.len()..];
            (at == 0 || known.as_bytes()[at - 1] == b'/') && (rest.is_empty() || rest.starts_with('/'))
        })
    })
}
