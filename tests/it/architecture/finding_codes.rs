//! The codes of findings: a warning or a hint has one code and one place that gives it, and every code is in the table of
//! the pages.

use std::collections::{BTreeMap, BTreeSet};

use super::lexer::{PieceKind, pieces};

/// The page with the table.
const PAGE: &str = "docs/exit-codes-and-limits.md";

/// A code that several files have, each of them, and why.
type SharedCode = (&'static str, &'static [&'static str], &'static str);

const SHARED: &[SharedCode] = &[
    (
        "W07",
        &["src/language/check/compile.rs", "src/language/lower/start_warnings.rs"],
        "one gives it, one shows it at the start of a run",
    ),
    (
        "W09",
        &["src/language/lower/resolve_agents.rs", "src/settings/roles/merge.rs"],
        "tools of an agent, and of a role",
    ),
    (
        "W10",
        &["src/language/check/common_data.rs", "src/language/check/script_file.rs"],
        "names of a workflow, and of its script file",
    ),
    (
        "W12",
        &["src/language/lower/concurrency_limits.rs", "src/language/lower/start_warnings.rs"],
        "one gives it, one shows it at the start of a run",
    ),
];

/// Takes every text file of the package.
pub(super) fn check_finding_codes(texts: &[(String, String)]) -> Vec<String> {
    let mut places: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (path, text) in texts {
        if !path.starts_with("src/") || !path.ends_with(".rs") || path.ends_with("tests.rs") {
            continue;
        }
        let shipped = text.split("#[cfg(test)]").next().unwrap_or_default();
        for piece in pieces(shipped).into_iter().filter(|piece| piece.kind == PieceKind::Literal) {
            if is_code(piece.text) {
                places.entry(piece.text).or_default().insert(path);
            }
        }
    }
    let listed = listed_codes(texts);
    let mut found = Vec::new();
    for (code, files) in places {
        if !listed.contains(code) {
            found.push(format!("{PAGE}: the code {code} of {files:?} is missing in its table"));
        }
        let shared = SHARED.iter().find(|(shared, ..)| *shared == code).map(|(_, files, _)| *files);
        let expected = shared.map(|files| files.iter().copied().collect());
        // errors of one kind come from many rules
        let is_single = code.starts_with(['W', 'I']);
        if is_single && files.len() > 1 && expected.as_ref() != Some(&files) {
            found.push(format!(
                "{code} is the code of two findings: {files:?}; give one of them a code of its own"
            ));
        }
    }
    found
}

fn is_code(text: &str) -> bool {
    let (letter, digits) = text.split_at_checked(1).unwrap_or_default();
    matches!(letter, "E" | "W" | "I" | "C") && digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_digit())
}

/// Of the rows of the table, ranges (`E01–E05`) included.
fn listed_codes(texts: &[(String, String)]) -> BTreeSet<String> {
    let page = texts.iter().find(|(path, _)| path == PAGE).map(|(_, text)| text.as_str()).unwrap_or_default();
    let cells = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    cells.flat_map(|cell| cell.split(", ")).flat_map(codes_of_range).collect()
}

fn codes_of_range(text: &str) -> Vec<String> {
    let (first, last) = text.split_once('–').unwrap_or((text, text));
    if !is_code(first) || !is_code(last) {
        return Vec::new();
    }
    let number = |code: &str| code[1..].parse::<u8>().unwrap_or_default();
    (number(first)..=number(last)).map(|number| format!("{}{number:02}", &first[..1])).collect()
}

/// Files with their texts, and what is told of them.
type CodeRow = (&'static [(&'static str, &'static str)], &'static [&'static str]);

#[test]
fn a_code_of_two_findings_is_told() {
    let page = "| E01–E03 | names |\n| W01, W02 | more |\n";
    let rows: [CodeRow; 4] = [
        (&[("src/a.rs", "add(\"W01\")"), ("src/b.rs", "add(\"W02\")")], &[]),
        (&[("src/a.rs", "add(\"E02\")"), ("src/b.rs", "add(\"E02\")"), ("tests/c.rs", "\"W01\"")], &[]),
        (
            &[("src/a.rs", "add(\"W01\")"), ("src/b.rs", "add(\"W01\")")],
            &[
                "W01 is the code of two findings: {\"src/a.rs\", \"src/b.rs\"}; give one of them a code of its own",
            ],
        ),
        (
            &[("src/a.rs", "add(\"W03\")")],
            &["docs/exit-codes-and-limits.md: the code W03 of {\"src/a.rs\"} is missing in its table"],
        ),
    ];
    for (files, expected) in rows {
        let mut texts: Vec<(String, String)> =
            files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        texts.push((PAGE.to_owned(), page.to_owned()));
        assert_eq!(check_finding_codes(&texts), expected, "{files:?}");
    }
}
