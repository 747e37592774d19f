//! Ids of documents that are not in the repository: a reader cannot look them up.

use std::collections::BTreeSet;

use super::lexer::{PieceKind, pieces};

/// Standards and examples that look like an id.
const STANDARDS: &[&str] = &["ABC", "ISO", "PROJ", "SHA", "UTF"];

/// Names that look like an id: control characters, a protocol, versions of a kernel interface.
const KNOWN_WORDS: &[&str] = &["C0", "C1"];

/// The codes of diagnostics: what shipped code has as a whole literal of a capital letter and two digits. Takes every
/// text file of the package.
pub(super) fn diagnostic_codes(texts: &[(String, String)]) -> BTreeSet<String> {
    let is_shipped =
        |path: &str| path.starts_with("src/") && path.ends_with(".rs") && !path.ends_with("tests.rs");
    let files = texts.iter().filter(|(path, _)| is_shipped(path));
    let literals = files.flat_map(|(_, text)| pieces(text)).filter(|piece| piece.kind == PieceKind::Literal);
    let texts = literals.map(|piece| piece.text);
    texts.filter(|text| text.len() == 3 && is_letter_id(text) && !is_key(text)).map(str::to_owned).collect()
}

/// Takes every text file of the package; looks at comments and messages of code, at pages, and at data of tests.
pub(super) fn check_document_ids(texts: &[(String, String)], codes: &BTreeSet<String>) -> Vec<String> {
    let mut found = Vec::new();
    // this guard itself is full of examples
    for (path, text) in texts.iter().filter(|(path, _)| !path.starts_with("tests/it/architecture")) {
        let mut add = |line: usize, part: &str, prose: bool| {
            for id in ids_in_line(part, prose, codes) {
                found.push(format!("{path}:{line}: `{id}` is an id of another document: say what it says"));
            }
        };
        let page = path.ends_with(".md") || path == "justfile" || path.starts_with(".ci/");
        if path.ends_with(".rs") {
            for piece in pieces(text) {
                for (part, line) in piece.text.lines().zip(piece.line..) {
                    add(line, part, piece.kind == PieceKind::Comment);
                }
            }
        } else if page || path.starts_with("tests/data/conformance/") {
            text.lines().zip(1..).for_each(|(part, line)| add(line, part, page));
        }
    }
    found
}

/// In prose a letter with a number is an id, in data only before a colon or in brackets.
fn ids_in_line(line: &str, prose: bool, codes: &BTreeSet<String>) -> Vec<String> {
    let mut found = Vec::new();
    if !line.bytes().any(|byte| byte.is_ascii_digit() || !byte.is_ascii()) {
        return found;
    }
    let mut before = "";
    let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '.' | '_' | '§');
    for (at, run) in runs(line, is_part) {
        let word = run.trim_matches(['.', '-']);
        let (left, right) = (line[..at].chars().next_back(), line[at + run.len()..].chars().next());
        let marked = prose
            || left == Some('(') && matches!(right, Some(')' | ',' | ';'))
            || at == 0 && right == Some(':') && line[at + run.len()..].starts_with(": ");
        let is_named = codes.contains(word) || KNOWN_WORDS.contains(&word) || is_key(word);
        let is_id = word.contains('§')
            || is_dashed_id(word)
            || matches!(before, "seed" | "seeds") && word.len() == 3 && word.starts_with('0')
            || marked && is_letter_id(word) && !is_named;
        if is_id {
            found.push(word.to_owned());
        }
        before = word;
    }
    found
}

/// Maximal runs of letters that are part of a word, with their places.
fn runs(line: &str, is_part: impl Fn(char) -> bool) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut at = 0;
    for piece in line.split_inclusive(|letter| !is_part(letter)) {
        let run = piece.trim_end_matches(|letter| !is_part(letter));
        if !run.is_empty() {
            found.push((at, run));
        }
        at += piece.len();
    }
    found
}

/// `CFG-20`
fn is_dashed_id(word: &str) -> bool {
    word.split_once('-').is_some_and(|(name, number)| {
        name.len() > 1
            && name.chars().all(|letter| letter.is_ascii_uppercase())
            && !number.is_empty()
            && number.chars().all(|letter| letter.is_ascii_digit())
            && !STANDARDS.contains(&name)
    })
}

/// `A62`, `S3.20`, `SD.9`
fn is_letter_id(word: &str) -> bool {
    let number = word.trim_start_matches(|letter: char| letter.is_ascii_uppercase());
    let digits = number.strip_prefix('.').filter(|_| word.len() - number.len() == 2).unwrap_or(number);
    let letters = word.len() - number.len();
    let parts: Vec<&str> = digits.split('.').collect();
    (letters == 1 || letters == 2 && digits.len() < number.len())
        && parts.len() <= 2
        && parts.iter().all(|part| {
            !part.is_empty() && part.len() <= 3 && part.chars().all(|digit| digit.is_ascii_digit())
        })
}

/// `F1` to `F24` of the keyboard.
fn is_key(word: &str) -> bool {
    let number = word.strip_prefix('F').and_then(|number| number.parse::<u8>().ok());
    number.is_some_and(|number| (1..=24).contains(&number))
}
