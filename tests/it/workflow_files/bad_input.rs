//! Files that nobody wrote on purpose: every one gives findings in its own text, none a panic or a long wait.

use std::time::{Duration, Instant};

use synthdev::domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev::domain::system_context::SystemContext;
use synthdev::language::cost_estimate::estimate_cost;
use synthdev::language::lower::lower_file;
use synthdev::language::render::{DiagnosticStyle, diagnostic_records, render_diagnostics};

use super::surroundings::World;
use super::{SEED_CODER_REVIEWER, SEED_HIERARCHICAL, SHIPPED, file};

/// Loads a text as a whole, returns its findings, and bounds what it could cost.
fn load_and_check(text: &str) -> Vec<Diagnostic> {
    let world = World::new(vec![file("coder_reviewer.json", SEED_CODER_REVIEWER)]);
    let own = file("w.json", text);
    let found = match world.with_context(|surroundings| lower_file(&own, surroundings)) {
        Ok((programs, found)) => {
            programs.iter().for_each(|program| drop(estimate_cost(program, &SystemContext::default())));
            found
        }
        Err(found) => {
            assert!(found.iter().any(|one| one.severity == DiagnosticSeverity::Error), "{found:?}");
            found
        }
    };
    for one in &found {
        assert!(one.span.start <= one.span.end.max(one.span.start) && one.place.line > 0, "{one:?}");
        assert!(!one.message.is_empty() && one.code.len() == 3, "{one:?}");
    }
    let text_of = |name: &str| (name == "w.json").then(|| text.to_owned());
    assert!(found.is_empty() || !render_diagnostics(&found, &text_of, DiagnosticStyle::Plain).is_empty());
    assert_eq!(diagnostic_records(&found, &text_of).len(), found.len());
    found
}

const SMALL: &str = r#"{"workflow_name": "w", "states": [{"name": "start"}]}"#;

fn finding_codes(text: &str) -> Vec<String> {
    load_and_check(text).into_iter().map(|one| one.code).collect()
}

#[test]
fn odd_encodings_are_read_or_named() {
    let clean: [String; 0] = [];
    assert_eq!(finding_codes(&format!("\u{feff}{SMALL}")), clean);
    assert_eq!(finding_codes(&SMALL.replace(", ", ",\r\n")), clean);
    assert_eq!(finding_codes(&SMALL.replace(", ", ",\r")), clean);
    let marked = format!("\u{feff}{}", SMALL.replace("\"start\"", "\"begin\""));
    let found = load_and_check(&marked);
    assert_eq!((found[0].code.as_str(), found[0].place.line), ("E01", 1));
    assert_eq!(&marked[found[0].span.clone()], "\"w\"");
    let lines = SMALL.replace(", ", ",\r\n").replace("\"start\"", "\"Start\"");
    let found = load_and_check(&lines);
    assert_eq!((found[0].place.line, found[0].place.column), (2, 21), "{found:?}");
    // two bytes a character, without a mark
    let wide: String = SMALL.chars().flat_map(|c| [c, '\0']).collect();
    let found = load_and_check(&wide);
    assert_eq!(found[0].code, "C01");
    assert!(found[0].hint.as_deref().unwrap().contains("NUL"), "{found:?}");
    assert!(!finding_codes(&SMALL.replace("start", "st\0art")).is_empty());
}

#[test]
fn double_keys_are_found_at_every_depth() {
    for (from, to) in [
        ("{\"workflow_name\"", "{\"workflow_name\": \"v\", \"workflow_name\""),
        ("{\"name\"", "{\"name\": \"start\", \"name\""),
    ] {
        assert_eq!(finding_codes(&SMALL.replacen(from, to, 1)), ["C02"], "{to}");
    }
}

#[test]
fn unknown_keys_are_errors_with_a_suggestion_everywhere() {
    let rows = [
        ("\"description\"", "\"descripton\"", "description"),
        ("\"max_length\"", "\"max_lengt\"", "max_length"),
        ("\"agent_role\": \"coder\"", "\"agentrole\": \"coder\"", "agent_role"),
        ("\"transition\"", "\"transitions\"", "transition"),
        ("\"condition\"", "\"conditon\"", "condition"),
        ("\"function\"", "\"functoin\"", "function"),
        ("\"type\"", "\"typ\"", "type"),
    ];
    for (from, to, meant) in rows {
        let text = SEED_CODER_REVIEWER.replacen(from, to, 1);
        let found = load_and_check(&text);
        let hit = found.iter().find(|one| one.code == "E14").unwrap_or_else(|| panic!("{to}: {found:#?}"));
        assert_eq!(hit.hint, Some(format!("did you mean `{meant}`?")));
    }
    let noted = SEED_CODER_REVIEWER
        .replacen("\"workflow_name\"", "\"$schema\": \"x\", \"x_note\": {\"any\": [1]}, \"workflow_name\"", 1)
        .replacen("\"agent_role\"", "\"x_why\": null, \"agent_role\"", 1)
        .replacen("\"target\"", "\"x_why\": 1, \"target\"", 1);
    assert!(!finding_codes(&noted).contains(&"E14".to_owned()));
}

#[test]
fn deep_and_huge_files_end_in_findings_and_soon() {
    let begun = Instant::now();
    let around = |open: &str, inner: &str, close: &str, times: usize| {
        format!("{}{inner}{}", open.repeat(times), close.repeat(times))
    };
    for text in [
        around("[", "", "]", 200_000),
        around("{\"a\":", "1", "}", 100_000),
        around("{\"workflow_name\":\"w\",\"states\":[", "", "]}", 50_000),
        format!(
            r#"{{"workflow_name": "w", "variables": {{"a": {}}}, "states": [{{"name": "start"}}]}}"#,
            around("[", "1", "]", 5_000)
        ),
        format!(
            r#"{{"workflow_name": "w", "x_deep": {}, "states": [{{"name": "start"}}]}}"#,
            around("[", "", "]", 5_000)
        ),
    ] {
        assert_eq!(finding_codes(&text), ["C01"], "{}", &text[..60]);
    }
    let huge = "x".repeat(2_000_000);
    let many =
        |item: &dyn Fn(usize) -> String, count: usize| (0..count).map(item).collect::<Vec<_>>().join(",");
    let keys = many(&|at| format!("\"k{at}\": {at}"), 50_000);
    let states =
        many(&|at| format!(r#"{{"name": "s{at}", "transition": [{{"target": "s{}"}}]}}"#, at + 1), 1_000);
    for (text, code) in [
        (SMALL.replace("\"start\"", &format!("\"{huge}\"")), "E01"),
        (SMALL.replace("{\"name\"", &format!("{{\"{huge}\": 1, \"name\"")), "E14"),
        (SMALL.replace("{\"name\"", &format!("{{\"action\": {{\"script\": \"{huge}\"}}, \"name\"")), "E06"),
        (SMALL.replace("[{", &format!("[{},{{", "7,".repeat(100_000) + "7")), "E10"),
        (SMALL.replace("{\"name\"", &format!("{{{keys}, \"name\"")), "E14"),
        (SMALL.replace("[{\"name\": \"start\"}]", &format!("[{states}]")), "E01"),
    ] {
        assert!(finding_codes(&text).iter().any(|one| one == code), "{code}: {}", &text[..100]);
    }
    assert!(begun.elapsed() < Duration::from_secs(120), "{:?}", begun.elapsed());
}

#[test]
fn workflows_that_call_each_other_in_circles_are_found() {
    let one = |name: &str, calls: &str| {
        format!(
            r#"{{"workflow_name": "{name}", "states": [{{"name": "start", "action": {{"sub_workflow": "{calls}"}}}}]}}"#
        )
    };
    let circle = format!("[{},{},{}]", one("a", "b"), one("b", "c"), one("c", "a"));
    assert_eq!(finding_codes(&circle), ["E08"; 3]);
    let limited = circle.replacen("\"states\"", "\"limits\": {\"max_depth\": 3}, \"states\"", 1);
    assert_eq!(finding_codes(&limited), [""; 0]);
    assert_eq!(finding_codes(&one("w", "w")), ["E08"]);
}

/// Numbers that look random and are the same every time.
struct Luck(u64);

impl Luck {
    fn random_below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end.max(1)
    }
}

/// 2,000 times: a few bytes of a sound file are changed, removed, doubled or replaced by words of the format.
#[test]
fn no_change_of_a_file_makes_loading_panic() {
    const WORDS: [&str; 16] = [
        "\"",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "null",
        "-1",
        "\\u0000",
        "\u{202e}",
        "() => {",
        "function.",
        "\"start\"",
        "common_data.",
        "{{",
    ];
    let texts: Vec<&str> =
        SHIPPED.iter().map(|(_, text)| *text).chain([SEED_CODER_REVIEWER, SEED_HIERARCHICAL]).collect();
    let mut luck = Luck(7);
    for round in 0..2_000 {
        let mut bytes = texts[round % texts.len()].as_bytes().to_vec();
        for _ in 0..=luck.random_below(3) {
            let at = luck.random_below(bytes.len());
            let end = (at + luck.random_below(12)).min(bytes.len());
            match luck.random_below(5) {
                0 => bytes[at] = u8::try_from(luck.random_below(256)).unwrap(),
                1 => drop(bytes.drain(at..end)),
                2 => {
                    let part = bytes[at..end].to_vec();
                    let to = luck.random_below(bytes.len());
                    bytes.splice(to..to, part);
                }
                3 => drop(bytes.splice(at..end, WORDS[luck.random_below(WORDS.len())].bytes())),
                _ => {
                    let to = luck.random_below(bytes.len());
                    bytes.swap(at, to);
                }
            }
        }
        load_and_check(&String::from_utf8_lossy(&bytes));
    }
}
