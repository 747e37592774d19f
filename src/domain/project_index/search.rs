//! Which entries of an index answer a question, by its words alone: no model is asked.

use std::collections::BTreeSet;

use super::{ProjectIndexEntries, ProjectIndexEntry, ROOT};

/// Words that say nothing about where something is.
const COMMON: &[&str] = &[
    "a", "about", "all", "an", "and", "are", "as", "at", "be", "by", "can", "code", "codebase", "do", "does",
    "explain", "file", "files", "find", "for", "from", "has", "have", "how", "i", "in", "is", "it", "its",
    "me", "of", "on", "or", "project", "show", "tell", "that", "the", "there", "this", "to", "what", "when",
    "where", "which", "who", "why", "with", "work", "works", "you",
];

/// Of words that mean the same.
const ENDINGS: &[&str] =
    &["", "d", "e", "ed", "er", "ers", "es", "ing", "ion", "ions", "or", "ors", "r", "rs", "s"];

/// The entries that fit best, best first: at or below `under`, if one is given. A question without a word of weight is
/// about the whole: its directories, from above.
pub fn search_entries<'a>(
    index: &'a ProjectIndexEntries,
    question: &str,
    under: Option<&str>,
    most: usize,
) -> Vec<&'a ProjectIndexEntry> {
    let wanted: BTreeSet<String> =
        split_words(question).into_iter().filter(|word| !COMMON.contains(&word.as_str())).collect();
    let entries =
        index.entries.values().filter(|entry| under.is_none_or(|under| is_within(&entry.path, under)));
    if wanted.is_empty() {
        let mut all: Vec<&ProjectIndexEntry> = entries.collect();
        all.sort_by_key(|entry| (super::path_depth(&entry.path), !entry.directory, entry.path.as_str()));
        all.truncate(most);
        return all;
    }
    let mut scored: Vec<(u32, &ProjectIndexEntry)> =
        entries.map(|entry| (match_score(entry, &wanted), entry)).filter(|(score, _)| *score > 0).collect();
    // of equals, the nearer one says more
    scored.sort_by_key(|(score, entry)| {
        (std::cmp::Reverse(*score), super::path_depth(&entry.path), &entry.path)
    });
    scored.into_iter().take(most).map(|(_, entry)| entry).collect()
}

/// Whether a path is this one, or below it.
pub fn is_within(path: &str, under: &str) -> bool {
    under == ROOT || path == under || path.strip_prefix(under).is_some_and(|rest| rest.starts_with('/'))
}

/// How many of the words are there counts most; a word of the name more than one of the summary.
fn match_score(entry: &ProjectIndexEntry, wanted: &BTreeSet<String>) -> u32 {
    let name = entry.path.rsplit('/').next().unwrap_or_default();
    let (name, path, summary) = (split_words(name), split_words(&entry.path), split_words(&entry.summary));
    let has = |all: &BTreeSet<String>, word: &str| all.iter().any(|one| is_like(one, word));
    wanted
        .iter()
        .map(|word| {
            let weight = 3 * u32::from(has(&name, word)) + 2 * u32::from(has(&path, word));
            let weight = weight + 2 * u32::from(has(&summary, word));
            if weight > 0 { 10 + weight } else { 0 }
        })
        .sum()
}

/// The same but for its ending, or the beginning of it: `parsed` and `parser`, `config` and `configuration`.
fn is_like(one: &str, other: &str) -> bool {
    if one == other {
        return true;
    }
    let same = one.char_indices().zip(other.chars()).take_while(|((_, a), b)| a == b);
    let (characters, bytes) = same.fold((0, 0), |(count, _), ((at, c), _)| (count + 1, at + c.len_utf8()));
    let rests = [&one[bytes..], &other[bytes..]];
    characters >= 4 && rests.contains(&"")
        || characters >= 3 && rests.iter().all(|rest| ENDINGS.contains(rest))
}

/// In small letters; `readFile` and `read_file` are two words and one.
fn split_words(text: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        all.insert(word.to_lowercase());
        let mut part = String::new();
        let mut small = false;
        for c in word.chars() {
            if c.is_uppercase() && small {
                all.insert(std::mem::take(&mut part).to_lowercase());
            }
            small = c.is_lowercase();
            part.push(c);
        }
        all.insert(part.to_lowercase());
    }
    all
}
