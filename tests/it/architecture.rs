//! The guard of the house: what may import what, how large things may grow, what must never be there.
//!
//! The members and what they may import are in the crate doc (`src/lib.rs`). Every check works on text, so each one has rows
//! that prove that it can fail. An exemption is a line in this file, with its reason; one that is no longer needed
//! fails too.

mod call_circles;
mod command_files;
mod cycles;
mod declared_keys;
mod document_ids;
mod edges;
mod event_words;
mod finding_codes;
mod layers;
mod lexer;
mod manners;
mod page_paths;
mod screen_layers;
mod session_border;
mod sizes;
mod source;
mod syntax;
mod type_names;
mod use_cases;
mod vocabulary;

use std::collections::BTreeSet;
use std::path::Path;

use call_circles::CircleExemption;
use command_files::CommandRow;
use cycles::Exemption;
use event_words::EventFold;
use lexer::PieceKind;
use page_paths::Elsewhere;
use source::Tree;

/// Cycles that are meant. Every other cycle inside a layer fails.
const CYCLES: &[Exemption] = &[];

/// Types whose files may call each other in larger circles.
const CALL_CIRCLES: &[CircleExemption] = &[];

/// Front-end files that tell many events apart: each folds them into a state.
const EVENT_FOLDS: &[EventFold] = &[
    ("src/cli/headless.rs", "the final report of a run"),
    ("src/tui/history_browser/step_list.rs", "the steps of a run, and the step of an event"),
    ("src/tui/run_view.rs", "what each agent does"),
    ("src/tui/run_view/branch_tree.rs", "the tree of branches and called workflows"),
    ("src/tui/run_view/common_data.rs", "the variables of a run"),
    ("src/tui/run_view/pane_data.rs", "whether the drawing of the workflow is out of date"),
    ("src/tui/run_view/run_times.rs", "when the present activity and the user's questions begin and end"),
    ("src/tui/run_view/state_work.rs", "whether a state does anything but a script"),
    ("src/tui/run_view/timeline.rs", "when rows begin and end"),
    ("src/tui/run_view/tool_calls.rs", "the calls of tools and their status"),
    ("src/tui/update/past_run/call_details.rs", "one call with all of its texts"),
    ("src/tui/update/past_run/step_details.rs", "one step with its variables and costs"),
    ("src/tui/update/run_events.rs", "the state of the screen"),
];

/// What the pages quote that looks like a path of this repository and is none.
const ELSEWHERE: &[Elsewhere] = &[
    ("AGENTS.md", "a file of the user's project"),
    ("child/state", "how a state inside of a child is named"),
    ("foo.rs", "an example of a file"),
    ("foo/", "an example of a directory"),
    ("objects/info/alternates", "a file of git"),
    ("sandbox/set-aside", "a place in the data directory"),
    ("uv.toml", "a file of another program"),
    ("mod.rs", "a name that is not used"),
    ("refs/synthdev/snapshots/", "references of git"),
];

#[test]
fn the_house_is_in_order() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let tree = Tree::read_tree(root);
    assert!(tree.sources.len() > 100, "the guard found only {} files", tree.sources.len());
    let texts = source::texts(root);
    let mut found = layers::manifests(&texts);
    found.extend(layers::check_layers(&tree));
    found.extend(cycles::check_cycles(&tree, CYCLES));
    found.extend(call_circles::check_call_circles(&tree, CALL_CIRCLES));
    found.extend(use_cases::check_use_cases(&tree));
    found.extend(session_border::check_session_border(&tree));
    found.extend(screen_layers::check_screen_layers(&tree));
    found.extend(event_words::check_event_words(&tree, EVENT_FOLDS));
    found.extend(declared_keys::check_declared_keys(&tree));
    found.extend(sizes::check_sizes(&tree));
    found.extend(manners::check_manners(&tree));
    found.extend(type_names::check_type_names(&tree, type_names::DOMAIN_NOUNS));
    found.extend(vocabulary::check_names(&tree));
    found.extend(vocabulary::check_comments(&tree));
    found.sort();
    assert!(found.is_empty(), "{} violations\n{}", found.len(), found.join("\n"));
}

#[test]
fn pages_and_texts_are_in_order() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let texts = source::texts(root);
    let mut found = manners::machine_paths(&texts);
    let codes = document_ids::diagnostic_codes(&texts);
    assert!(codes.len() > 30, "the guard found only {} codes of diagnostics", codes.len());
    found.extend(document_ids::check_document_ids(&texts, &codes));
    found.extend(finding_codes::check_finding_codes(&texts));
    found.extend(page_paths::check_page_paths(&texts, &source::paths(root), ELSEWHERE));
    let (commands, table) = (command_files::command_paths(), command_files::COMMAND_FILES);
    found.extend(command_files::check_commands(&commands, table, &texts));
    found.extend(command_files::check_slash_commands(&command_files::slash_commands(), &texts));
    found.sort();
    assert!(found.is_empty(), "{} violations\n{}", found.len(), found.join("\n"));
}

/// The texts that shipped code gives to `Type::function` as first argument, in order, each once.
pub(super) fn literals_given_to(owner: &str, function: &str) -> BTreeSet<String> {
    let call = format!("{owner}::{function}");
    let tree = Tree::read_files_with(Path::new(env!("CARGO_MANIFEST_DIR")), &call);
    let found: BTreeSet<String> = tree
        .shipped_modules()
        .flat_map(|(source, _)| syntax::first_literals(&source.file, owner, function))
        .collect();
    assert!(!found.is_empty(), "nothing calls {owner}::{function}");
    found
}

/// Runs one check over a small tree; the findings, in order.
fn run_check(check: impl Fn(&Tree) -> Vec<String>, files: &[(&str, &str)]) -> Vec<String> {
    check(&Tree::from_files(files.iter().map(|(path, text)| (path.to_string(), text.to_string())).collect()))
}

/// Path, text, findings.
type FileRow<'a> = (&'a str, &'a str, &'a [&'a str]);

#[test]
fn manifests_are_kept() {
    let rows: &[FileRow<'_>] = &[
        ("src/engine/Cargo.toml", "[dependencies]\nsynthdev-domain.workspace = true", &[]),
        (
            "src/engine/Cargo.toml",
            "[dependencies]\nsynthdev-domain.workspace = true\nsynthdev-adapters.workspace = true",
            &["src/engine/Cargo.toml:3: engine must not import adapters"],
        ),
        (
            "src/cli/Cargo.toml",
            "[target.'cfg(unix)'.dependencies]\nsynthdev-tui = { workspace = true }",
            &["src/cli/Cargo.toml:2: cli must not import tui"],
        ),
        ("src/engine/Cargo.toml", "[dev-dependencies]\ntokio.workspace = true", &[]),
        (
            "src/engine/Cargo.toml",
            "[dependencies]\ntokio.workspace = true",
            &["src/engine/Cargo.toml:2: engine must not use tokio"],
        ),
        ("src/adapters/Cargo.toml", "[dependencies]\ntokio.workspace = true", &[]),
        ("src/bootstrap/Cargo.toml", "[dependencies]\nsynthdev-adapters.workspace = true", &[]),
        (
            "src/commands/Cargo.toml",
            "[dependencies]\nsynthdev-adapters.workspace = true",
            &["src/commands/Cargo.toml:2: commands must not import adapters"],
        ),
        (
            "src/session/Cargo.toml",
            "[dependencies]\nsynthdev-adapters.workspace = true",
            &["src/session/Cargo.toml:2: session must not import adapters"],
        ),
        ("src/lost/Cargo.toml", "", &["src/lost/Cargo.toml:1: lost is no member of the table"]),
        ("Cargo.toml", "[dependencies]\nsynthdev-tui.workspace = true", &[]),
    ];
    for (path, text, expected) in rows {
        assert_eq!(layers::manifests(&[(path.to_string(), text.to_string())]), *expected, "{path}: {text}");
    }
}

#[test]
fn pure_members_stay_pure() {
    let rows: &[FileRow<'_>] = &[
        (
            "src/language/x.rs",
            "fn f() { std::fs::read(p); }",
            &["src/language/x.rs:1: language must not use std::fs (std::fs::read)"],
        ),
        (
            "src/domain/lib.rs",
            "fn f() { println!(\"{}\", std::env::vars().count()); }",
            &["src/domain/lib.rs:1: domain must not use std::env (std::env::vars)"],
        ),
        ("src/adapters/x.rs", "fn f() { std::fs::read(p); }", &[]),
        ("src/domain/x.rs", "async fn f() {}", &["src/domain/x.rs:1: domain must not be async"]),
        ("src/domain/x.rs", "#[cfg(test)]\nmod tests { use std::fs; }", &[]),
    ];
    for (path, text, expected) in rows {
        assert_eq!(run_check(layers::check_layers, &[(path, text)]), *expected, "{path}: {text}");
    }
}

#[test]
fn test_files_may_name_the_world() {
    let files = [
        ("src/domain/x.rs", "#[cfg(test)]\nmod tests;"),
        ("src/domain/x/tests.rs", "mod more;\nuse std::fs::read;"),
        ("src/domain/x/tests/more.rs", "use std::fs::read;"),
    ];
    assert_eq!(run_check(layers::check_layers, &files), Vec::<String>::new());
}

/// Name, files, exemptions, findings.
type CycleRow<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a [Exemption], Vec<String>);

#[test]
fn cycles_are_found() {
    let both =
        Exemption { files: &["src/language/a.rs", "src/language/b.rs"], reason: "one idea in two files" };
    let old = Exemption { files: &["src/language/gone.rs", "src/language/b.rs"], reason: "was needed once" };
    let parent =
        [("src/engine/m.rs", "mod c;\nuse c::C;\npub struct M;"), ("src/engine/m/c.rs", "use super::M;")];
    let pair = [("src/language/a.rs", "use super::b::B;"), ("src/language/b.rs", "\nuse crate::a::A;")];
    let through = [
        ("src/language/lib.rs", "pub use a::A;\npub mod a;\npub mod b;"),
        ("src/language/a.rs", "use super::b::B;"),
        ("src/language/b.rs", "use crate::A;"),
    ];
    let found = |name: &str, one: &str, two: &str| {
        vec![format!("{one}: cycle inside {name}: {one} imports {}, {two} imports {}", file(two), file(one))]
    };
    let rows: &[CycleRow<'_>] = &[
        ("two files", &pair, &[], found("language", "src/language/a.rs:1", "src/language/b.rs:2")),
        ("exempt", &pair, std::slice::from_ref(&both), Vec::new()),
        ("child and parent", &parent, &[], found("engine", "src/engine/m.rs:2", "src/engine/m/c.rs:1")),
        (
            "through a re-export",
            &through,
            &[],
            found("language", "src/language/a.rs:1", "src/language/b.rs:1"),
        ),
        (
            "declaring and re-exporting is no edge",
            &[
                ("src/engine/m.rs", "mod c;\npub use c::C;\npub struct M;"),
                ("src/engine/m/c.rs", "use super::M;"),
            ],
            &[],
            Vec::new(),
        ),
        (
            "tests may",
            &[
                ("src/language/a.rs", "use super::b::B;"),
                ("src/language/b.rs", "#[cfg(test)] use super::a::A;"),
            ],
            &[],
            Vec::new(),
        ),
        (
            "an exemption that nothing needs",
            &[("src/language/b.rs", "")],
            std::slice::from_ref(&old),
            vec![
                "src/language/gone.rs: the exemption for a cycle is no longer needed: was needed once"
                    .to_owned(),
            ],
        ),
    ];
    for (name, files, exempt, expected) in rows {
        assert_eq!(run_check(|tree| cycles::check_cycles(tree, exempt), files), *expected, "{name}");
    }
}

fn file(place: &str) -> &str {
    place.rsplit_once(':').map_or(place, |(file, _)| file)
}

#[test]
fn sizes_are_kept() {
    let lines = |count: usize| "const A: u8 = 0;\n".repeat(count);
    let function = |count: usize| format!("fn f() {{\n{}}}\n", "    g();\n\n    // why\n".repeat(count));
    let tested = format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", lines(500), function(61));
    let exempt = format!("#[expect(clippy::too_many_lines, reason = \"a table\")]\n{}", function(61));
    let method = format!("impl A {{\n{}}}\n", function(61));
    let rows: &[(&str, String, &[&str])] = &[
        ("at the wall", lines(500), &[]),
        ("over it", lines(501), &["src/a.rs:501: 501 lines without tests, the wall is 500"]),
        ("tests do not count", tested, &[]),
        ("function at the wall", function(60), &[]),
        ("function over it", function(61), &["src/a.rs:1: `f` has 61 lines of code, the wall is 60"]),
        ("method over it", method, &["src/a.rs:2: `f` has 61 lines of code, the wall is 60"]),
        ("function with a reason", exempt, &[]),
    ];
    for (name, text, expected) in rows {
        assert_eq!(run_check(sizes::check_sizes, &[("src/a.rs", text)]), *expected, "{name}");
    }
}

#[test]
fn the_member_that_wires_stays_small() {
    let tests = |count: usize| format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "// b\n".repeat(count - 3));
    let over = "src/bootstrap/: 1500 lines with tests, it stays below 1500: it is wiring only";
    let rows: &[(&str, &str, usize, &[&str])] = &[
        ("below the wall", "src/bootstrap/b.rs", 1499, &[]),
        ("at it, with tests", "src/bootstrap/b.rs", 1500, &[over]),
        ("another member", "src/commands/b.rs", 1500, &[]),
    ];
    for (name, path, lines, expected) in rows {
        let (first, second) = ("// a\n".repeat(100), tests(lines - 100));
        let files = [("src/bootstrap/a.rs", first.as_str()), (*path, second.as_str())];
        assert_eq!(run_check(sizes::check_sizes, &files), *expected, "{name}");
    }
}

const NO_TIER: &str = "tests/it/a.rs:1: ignore without a tier: `slow: …` or `tool: …`";

#[test]
fn manners_are_kept() {
    let rows: &[(&str, &str, &[&str])] = &[
        ("src/a/mod.rs", "", &["src/a/mod.rs:1: no mod.rs: write `a.rs` beside the directory"]),
        ("src/a/helpers.rs", "", &["src/a/helpers.rs:1: `helpers` says nothing: name the concept"]),
        ("src/a.rs", "mod util { fn f() {} }", &["src/a.rs:1: `util` says nothing: name the concept"]),
        ("src/a.rs", "#[allow(dead_code)]\nfn f() {}", &["src/a.rs:1: allow without a reason"]),
        ("src/a.rs", "#![allow(dead_code)]", &["src/a.rs:1: allow without a reason"]),
        ("src/a.rs", "#[expect(dead_code, reason = \"soon\")]\nfn f() {}", &[]),
        (
            "src/a.rs",
            "#[cfg_attr(test, expect(dead_code))]\nfn f() {}",
            &["src/a.rs:1: expect without a reason"],
        ),
        ("src/a.rs", "fn f() {\n    todo!()\n}", &["src/a.rs:2: todo!"]),
        ("src/a.rs", "fn f() { vec![unimplemented!()] }", &["src/a.rs:1: unimplemented!"]),
        ("src/a.rs", "fn f() { \"todo!\"; }", &[]),
        ("tests/it/a.rs", "#[ignore = \"slow: an hour\"]\nfn f() {}", &[]),
        ("tests/it/a.rs", "#[ignore = \"tool: needs tmux\"]\nfn f() {}", &[]),
        ("tests/it/a.rs", "#[ignore]\nfn f() {}", &[NO_TIER]),
        ("tests/it/a.rs", "#[ignore = \"flaky\"]\nfn f() {}", &[NO_TIER]),
    ];
    for (path, text, expected) in rows {
        assert_eq!(run_check(manners::check_manners, &[(path, text)]), *expected, "{path}: {text}");
    }
}

#[test]
fn type_names_are_kept() {
    let rows: &[(&str, &str, &[&str])] = &[
        ("src/a.rs", "struct BranchState; enum Input { A } trait ModelPort {} type RunMap = u8;", &[]),
        ("src/a.rs", "struct Entry;", &["src/a.rs:1: `Entry` is one word: say what kind of it"]),
        ("src/a.rs", "enum ID { A }", &["src/a.rs:1: `ID` is one word: say what kind of it"]),
        ("src/a.rs", "fn f() { enum Row { A } }", &[]),
        ("src/a.rs", "struct IDMap; impl A for B { type Item = u8; }", &[]),
        (
            "src/a.rs",
            "struct RunRow;\nmod b {\n    type RunRow = u8;\n}",
            &["src/a.rs:1: `RunRow` is also the name of another type: src/a.rs:3"],
        ),
        ("tests/it/a.rs", "struct Entry;", &[]),
    ];
    let check = |nouns: &[&str], path: &str, text: &str| {
        run_check(|tree| type_names::check_type_names(tree, nouns), &[(path, text)])
    };
    for (path, text, expected) in rows {
        let nouns: &[&str] = if text.contains("Input") { &["Input"] } else { &[] };
        assert_eq!(check(nouns, path, text), *expected, "{path}: {text}");
    }
    let unneeded = ["`Input` is in the list of domain nouns and is the name of no type"];
    assert_eq!(check(&["Input"], "src/a.rs", "struct InputRow;"), unneeded);
}

#[test]
fn names_are_words_of_the_field() {
    let rows: &[FileRow<'_>] = &[
        ("src/a.rs", "pub fn resume_run() {}\nstruct BudgetUsage;", &[]),
        (
            "src/a.rs",
            "pub fn told_powers() {}",
            &["src/a.rs:1: `told_powers` says `told`: write report, message"],
        ),
        ("src/a.rs", "struct LaneState;", &["src/a.rs:1: `LaneState` says `lane`: write branch"]),
        ("src/a/purse.rs", "", &["src/a/purse.rs:1: `purse` says `purse`: write budget usage"]),
        ("src/a.rs", "mod glance { }", &["src/a.rs:1: `glance` says `glance`: write preview"]),
        ("src/a.rs", "trait T { fn tape(); }", &["src/a.rs:1: `tape` says `tape`: write recording"]),
        ("src/a.rs", "impl T { pub(super) fn rise() {} }", &["src/a.rs:1: `rise` says `rise`: write resume"]),
        // a private function, a part of a longer word, a test
        ("src/a.rs", "fn told() {}\npub fn trailer() {}\n#[cfg(test)]\nmod tests { pub fn told() {} }", &[]),
        ("tests/it/a.rs", "pub fn told() {}", &[]),
    ];
    for (path, text, expected) in rows {
        assert_eq!(run_check(vocabulary::check_names, &[(path, text)]), *expected, "{path}: {text}");
    }
}

#[test]
fn comments_say_who_acts() {
    let vague = |line: usize, word: &str| {
        vec![format!("src/a.rs:{line}: `{word}` in a comment: say which part, or the user")]
    };
    for (text, expected) in [
        ("// The driver waits.", Vec::new()),
        ("//! First.\n\n// Nobody waits.", vague(3, "nobody")),
        ("/* a\n for whoever asks */", vague(2, "whoever")),
        ("const A: &str = \"nobody // somebody\"; // for somebody", vague(1, "somebody")),
        ("const NOBODY: char = '\"'; // anybody", vague(1, "anybody")),
    ] {
        assert_eq!(run_check(vocabulary::check_comments, &[("src/a.rs", text)]), expected, "{text}");
    }
    assert_eq!(run_check(vocabulary::check_comments, &[("tests/it/a.rs", "// nobody")]), [""; 0]);
}

/// Text, then line, kind and text of each piece.
type PieceRow<'a> = (&'a str, &'a [(usize, PieceKind, &'a str)]);

#[test]
fn comments_and_literals_are_told_apart() {
    use PieceKind::{Comment, Literal};
    let rows: &[PieceRow<'_>] = &[
        ("f(\"a // b\"); // c", &[(1, Literal, "a // b"), (1, Comment, "// c")]),
        (r##"f(r#"a " b"#, "\"")"##, &[(1, Literal, "a \" b"), (1, Literal, "\\\"")]),
        ("f('\"', '\\'', 'x); /* a\nb */ // c", &[(1, Comment, "/* a\nb "), (2, Comment, "// c")]),
        ("\"a\nb\"\n// c", &[(1, Literal, "a\nb"), (3, Comment, "// c")]),
        ("for \"", &[(1, Literal, "")]),
    ];
    for (text, expected) in rows {
        let found: Vec<_> =
            lexer::pieces(text).iter().map(|piece| (piece.line, piece.kind, piece.text)).collect();
        assert_eq!(found, *expected, "{text}");
    }
}

#[test]
fn ids_of_other_documents_are_found() {
    let code = "fn f() { g(\"E10\"); g(\"W03\") }";
    let codes = document_ids::diagnostic_codes(&[("src/a.rs".to_owned(), code.to_owned())]);
    assert_eq!(codes, ["E10", "W03"].map(str::to_owned).into());
    let rows: &[FileRow<'_>] = &[
        ("src/a.rs", "// what the host does not have (E10), W03, UTF-8, F5, U+FFFD, C1 controls", &[]),
        ("src/a.rs", "// as typed, A46", &["1 A46"]),
        ("src/a.rs", "//! Past runs (CFG-20,\n//! SD.9).", &["1 CFG-20", "2 SD.9"]),
        ("tests/it/a.rs", "// a retry (§1.7 line 5), see § 2, S3.20", &["1 §1.7", "1 §", "1 S3.20"]),
        (
            "tests/it/a.rs",
            "assert!(a, \"D11: the same\"); b(\"B4\", \"k D3 k\", \"a late one (D5)\");",
            &["1 D11", "1 D5"],
        ),
        ("tests/it/a.rs", "assert!(a, \"MODEL-18: {n}, PROJ-123\");", &["1 MODEL-18"]),
        ("tests/it/a.rs", "//! Pauses: seeds 003.", &["1 003"]),
        ("docs/a.md", "the mode returns (V3), not X12.5 of it", &["1 V3", "1 X12.5"]),
        ("tests/data/conformance/a.json", "\"rule\": \"CHILD-12\", \"text\": \"L1\"", &["1 CHILD-12"]),
        ("tests/data/other.json", "CHILD-12", &[]),
    ];
    for (path, text, expected) in rows {
        let found = document_ids::check_document_ids(&[(path.to_string(), text.to_string())], &codes);
        let expected: Vec<String> = expected
            .iter()
            .filter_map(|id| id.split_once(' '))
            .map(|(line, id)| format!("{path}:{line}: `{id}` is an id of another document: say what it says"))
            .collect();
        assert_eq!(found, expected, "{path}: {text}");
    }
}

#[test]
fn paths_on_pages_are_there() {
    let page = |path: &str, text: &str, exempt: &[Elsewhere]| {
        let files = [
            (path, text),
            ("src/engine/machine.rs", "impl Machine { fn handle() {} }"),
            ("docs/index.md", ""),
        ];
        let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
        let paths = files.clone().map(|(path, _)| path);
        page_paths::check_page_paths(&files, &paths, exempt)
    };
    let rows: &[FileRow<'_>] = &[
        (
            "docs/spec/a.md",
            "`src/engine/machine.rs`, `machine.rs`, `engine/`, `src/{engine,engine}/*.rs`, `a/b or c`",
            &[],
        ),
        ("docs/spec/a.md", "\n`src/engine/old.rs`", &["docs/spec/a.md:2: there is no `src/engine/old.rs`"]),
        (
            "docs/glossary.md",
            "`src/{engine,lost}/machine.rs`",
            &["docs/glossary.md:1: there is no `src/lost/machine.rs`"],
        ),
        ("docs/spec/a.md", "`Machine::handle(now)`, `x.md`", &["docs/spec/a.md:1: there is no `x.md`"]),
        ("docs/spec/a.md", "`Machine::gone(now)`", &["docs/spec/a.md:1: there is no `Machine::gone(now)`"]),
        (
            "docs/spec/a.md",
            "[a](../index.md#b) [c](index.md) [d](https://x.org/y)",
            &["docs/spec/a.md:1: there is no `docs/spec/index.md`"],
        ),
        ("CONTRIBUTING.md", "[a](docs/index.md), `lost/`", &["CONTRIBUTING.md:1: there is no `lost/`"]),
        (
            "src/lib.rs",
            "//! `engine/lost.rs`\nconst A: &str = \"`lost.rs`\";",
            &["src/lib.rs:1: there is no `engine/lost.rs`"],
        ),
        ("docs/repl.md", "`lost.rs`", &[]),
    ];
    for (path, text, expected) in rows {
        assert_eq!(page(path, text, &[]), *expected, "{path}: {text}");
    }
    let exempt: &[Elsewhere] = &[("lost.rs", "an example")];
    assert_eq!(page("CONTRIBUTING.md", "`lost.rs`", exempt), [""; 0]);
    let unneeded = ["the exemption of `lost.rs` is no longer needed: an example"];
    assert_eq!(page("CONTRIBUTING.md", "", exempt), unneeded);
}

/// Commands, rows of the table, findings.
type CommandCase<'a> = (&'a [&'a str], &'a [CommandRow], &'a [&'a str]);

#[test]
fn commands_have_files_and_pages() {
    let texts = [("src/commands/a.rs", "fn show(x: u8) {}"), ("docs/a.md", "`runs show ID`, synthdev why")]
        .map(|(path, text)| (path.to_owned(), text.to_owned()));
    let why = ("why", "src/commands/a.rs", "show");
    let show = ("runs show", "src/commands/a.rs", "show");
    let (lost, other) = (("why", "src/commands/a.rs", "explain"), ("wh", "src/commands/a.rs", "show"));
    let rows: &[CommandCase<'_>] = &[
        (&["runs show", "why"], &[why, show], &[]),
        (&["runs show", "why"], &[show], &["`synthdev why` has no row in the table of command files"]),
        (&["why"], &[why, show], &["src/commands/a.rs: there is no command `synthdev runs show`"]),
        (&["why"], &[lost], &["src/commands/a.rs: `explain` of `synthdev why` is not there"]),
        (&["wh"], &[other], &["`synthdev wh` is on no page of docs/: explain it there"]),
    ];
    for (paths, table, expected) in rows {
        let paths: Vec<String> = paths.iter().map(|path| path.to_string()).collect();
        assert_eq!(command_files::check_commands(&paths, table, &texts), *expected, "{paths:?}");
    }
    let slash = [("src/tui/slash/a.rs".to_owned(), "name: \"undo\", text: \"/redo\"".to_owned())];
    let lost = ["no file below src/tui/slash has the name of `/redo` as a text"];
    assert_eq!(command_files::check_slash_commands(&["undo", "redo"], &slash), lost);
    assert!(command_files::command_paths().len() > 40);
}

#[test]
fn machine_paths_are_found() {
    let text = |text: &str| vec![("docs/a.md".to_owned(), text.to_owned())];
    let [first, second] = manners::MACHINE_PATHS;
    for needle in [first, second] {
        let expected = vec![format!("docs/a.md:2: `{needle}` is a path of one machine")];
        assert_eq!(manners::machine_paths(&text(&format!("\nsee {needle}x"))), expected);
        assert_eq!(manners::machine_paths(&text(&format!("see my{needle}x"))), Vec::<String>::new());
    }
}

#[test]
fn files_of_one_type_call_each_other_in_small_circles_only() {
    let part = |name: &str, calls: &str| {
        (
            format!("src/engine/{name}.rs"),
            format!("impl crate::Machine {{ fn {name}(&self) {{ self.{calls}(); }} }}"),
        )
    };
    let check = |parts: &[(&str, &str)], exempt: &[CircleExemption]| {
        let files: Vec<(String, String)> = parts.iter().map(|(name, calls)| part(name, calls)).collect();
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        run_check(|tree| call_circles::check_call_circles(tree, exempt), &files)
    };
    let chain: &[(&str, &str)] = &[("a", "b"), ("b", "c"), ("c", "d"), ("d", "x.a")];
    let three: &[(&str, &str)] = &[("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")];
    let four: &[(&str, &str)] = &[("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")];
    let message = "src/engine/a.rs:1: 4 files of `Machine` call each other in a circle, at most 3 may: \
                   src/engine/a.rs, src/engine/b.rs, src/engine/c.rs, src/engine/d.rs";
    for (parts, exempt, expected) in [
        (chain, &[][..], &[][..]),
        (three, &[], &[]),
        (four, &[], &[message]),
        (four, &[("Machine", "why")], &[]),
        (three, &[("Machine", "why")], &["Machine: this exemption is no longer needed: why"]),
    ] {
        assert_eq!(check(parts, exempt), expected, "{parts:?}");
    }
}

/// Path, text, line and method that are found.
type UseCaseRow<'a> = (&'a str, &'a str, Option<(usize, &'a str)>);

#[test]
fn front_ends_ask_the_service_for_its_use_cases() {
    let rows: &[UseCaseRow<'_>] = &[
        ("src/commands/a.rs", "fn f(wired: W) {\n wired.handle.rewind(1); }", Some((2, "rewind"))),
        ("src/commands/a.rs", "fn f(wired: W) { (&wired).handle().rewind(1); }", Some((1, "rewind"))),
        ("src/commands/a.rs", "fn f(handle: H) { handle.pause(1); }", Some((1, "pause"))),
        ("src/commands/a.rs", "async fn f(handle: H) { handle.cancel(1).await; }", Some((1, "cancel"))),
        ("src/commands/a.rs", "fn f(wired: W) { wired.handle.resume(1); }", Some((1, "resume"))),
        ("src/commands/a.rs", "fn f(handle: H) { handle.redeem(1); }", Some((1, "redeem"))),
        (
            "src/commands/a.rs",
            "fn f(call: C) { call.backend.handle().find_runs(1); }",
            Some((1, "find_runs")),
        ),
        ("src/commands/a.rs", "fn f(handle: H) { handle.search(1); }", Some((1, "search"))),
        ("src/commands/a.rs", "fn f(handle: H) { handle.export(1); }", Some((1, "export"))),
        ("src/commands/a.rs", "fn f(handle: H) { handle.start(1); }", Some((1, "start"))),
        ("src/commands/a.rs", "fn f(handle: H) { handle.lock_files(1); }", Some((1, "lock_files"))),
        ("src/commands/a.rs", "fn f(handle: H) { handle.build_index(1); }", Some((1, "build_index"))),
        ("src/commands/a.rs", "fn f(service: S) { service.rewind(1); }", None),
        ("src/commands/a.rs", "fn f(handle: H) { handle.summary(1); }", None),
        ("src/service/a.rs", "fn f(handle: H) { handle.rewind(1); }", None),
        ("src/commands/a.rs", "#[cfg(test)] mod tests { fn f(handle: H) { handle.rewind(1); } }", None),
    ];
    for (path, text, found) in rows {
        let message = |(line, method): &(usize, &str)| {
            format!("src/commands/a.rs:{line}: `{method}` of the runtime is a use case: call the service")
        };
        let expected: Vec<String> = found.iter().map(message).collect();
        assert_eq!(run_check(use_cases::check_use_cases, &[(path, text)]), expected, "{text}");
    }
}

#[test]
fn a_question_of_the_screen_is_a_request() {
    let commands = |count: usize| {
        let variants: Vec<String> = (0..count).map(|at| format!("V{at}")).collect();
        format!("pub enum UiCommand {{ {} }}", variants.join(", "))
    };
    let (few, many) = (commands(10), commands(11));
    let service = "pub trait SessionService { fn answer(&self); fn prices(&self) {} }";
    let rows: &[FileRow<'_>] = &[
        ("src/tui/msg.rs", &few, &[]),
        (
            "src/tui/msg.rs",
            &many,
            &["src/tui/msg.rs: 11 variants of `UiCommand`, at most 10: a question is a request"],
        ),
        ("src/service/session.rs", "pub trait SessionService { fn answer(&self); }", &[]),
        (
            "src/service/session.rs",
            service,
            &[
                "src/service/session.rs: `SessionService` has 2 methods: a question is a variant of its request",
            ],
        ),
        ("src/tui/program/terminal_control.rs", "pub trait TerminalControl { fn a(); fn b(); }", &[]),
        (
            "src/tui/backend.rs",
            "trait SessionBackend { fn a(); }",
            &["src/tui/backend.rs: `SessionBackend` is one more trait of the screen: ask the service"],
        ),
        ("src/tui/backend.rs", "#[cfg(test)] trait SessionBackend { fn a(); }", &[]),
    ];
    for (path, text, expected) in rows {
        assert_eq!(run_check(session_border::check_session_border, &[(path, text)]), *expected, "{text}");
    }
}

/// Path, text, line and field of the finding.
type LayerFieldRow<'a> = (&'a str, &'a str, Option<(usize, &'a str)>);

#[test]
fn one_list_orders_the_layers_of_the_screen() {
    let rows: &[LayerFieldRow<'_>] = &[
        ("src/tui/view.rs", "fn f(model: &M) {\n model.setup.is_some(); }", Some((2, "setup"))),
        ("src/tui/view.rs", "fn f() { if let Some(e) = &self.model.edit { g(e) } }", Some((1, "edit"))),
        ("src/tui/a.rs", "fn f() { match model.history_browser {} }", Some((1, "history_browser"))),
        ("src/tui/view.rs", "fn f() { model.dialogs.front(); }", Some((1, "dialogs.front()"))),
        ("src/tui/view.rs", "fn f() { model.dialogs.len(); session.setup; model.is_open(a); }", None),
        ("src/tui/layers.rs", "fn f() { model.setup.is_some(); }", None),
        ("src/tui/view/setup.rs", "fn f() { model.setup.is_some(); }", None),
        ("src/tui/view/setup.rs", "fn f() { model.edit.is_some(); }", Some((1, "edit"))),
        ("src/tui/update/editor/keys.rs", "fn f() { model.edit = None; }", None),
        ("src/tui/view/dialog.rs", "fn f() { model.dialogs.front_mut(); }", None),
        ("src/commands/a.rs", "fn f() { model.setup.is_some(); }", None),
    ];
    for (path, text, place) in rows {
        let message = |(line, what): &(usize, &str)| {
            format!("{path}:{line}: `model.{what}` tells what is in front: ask the list in src/tui/layers.rs")
        };
        let expected: Vec<String> = place.iter().map(message).collect();
        assert_eq!(
            run_check(screen_layers::check_screen_layers, &[(path, text)]),
            expected,
            "{path}: {text}"
        );
    }
}

#[test]
fn events_are_put_into_words_by_the_service() {
    let arms =
        |arms: &str| format!("fn f(event: &RunEvent) -> String {{ match event {{ {arms} _ => g(), }} }}");
    let words = arms(
        "RunEvent::Heard { text } => format!(\"{text} was read\"), RunEvent::Queued { .. } => \"not read\".into(),
         RunEvent::Stored { key, .. } if g() => format!(\"{key} is stored\"),",
    );
    let message = "src/cli/a.rs:1: puts events into words: render `describe_event` for Heard, Queued, Stored";
    let keys = arms(
        "RunEvent::Heard { text } => format!(\"{text}/\"), RunEvent::Queued { .. } | RunEvent::Delta { .. } => g(),
         RunEvent::Stored { key, .. } => format!(\"{key}.{key}\"),",
    );
    let branches = "fn f(event: &RunEvent) { if let RunEvent::Heard { .. } = event { g(\"it reads\"); }
        if let Some(RunEvent::Queued { .. }) = event { g(\"it waits\"); }
        if a() && let RunEvent::Stored { .. } = event { h!(\"a b\"); } }";
    let many =
        "fn f(event: &RunEvent) -> bool { matches!(event, RunEvent::A { .. } | RunEvent::B | RunEvent::C
        | RunEvent::D) || event == RunEvent::E || event == RunEvent::F }";
    let apart =
        "src/cli/a.rs:1: tells many events apart: choose by `EventKind`, or say why: A, B, C, D, E, F";
    let check = |path: &str, text: &str, folds: &[EventFold]| {
        run_check(|tree| event_words::check_event_words(tree, folds), &[(path, text)])
    };
    for (path, text, expected) in [
        ("src/cli/a.rs", words.as_str(), Some(message)),
        ("src/cli/a.rs", branches, Some(message)),
        ("src/cli/a.rs", &keys, None),
        ("src/cli/a.rs", &words.replace("RunEvent::Queued", "OtherEvent::Queued"), None),
        ("src/service/a.rs", &words, None),
        ("src/cli/a.rs", &format!("#[cfg(test)] mod tests {{ {words} }}"), None),
        ("src/cli/a.rs", many, Some(apart)),
        ("src/runtime/a.rs", many, None),
    ] {
        assert_eq!(check(path, text, &[]), expected.into_iter().collect::<Vec<_>>(), "{path}: {text}");
    }
    let folds: &[EventFold] = &[("src/cli/a.rs", "why")];
    assert_eq!(check("src/cli/a.rs", many, folds), [""; 0]);
    let unneeded = ["src/cli/a.rs: this exemption is no longer needed: why"];
    assert_eq!(check("src/cli/a.rs", &keys, folds), unneeded);
}

#[test]
fn keys_of_workflow_files_are_declared_once() {
    const FIELDS: &str = "fn read_text(node: &Node, key: &str) {}\n";
    const PATH: &str = "src/language/workflow_file/context.rs";
    let rows: [(&str, &[&str]); 6] = [
        (
            "const KEYS: &[Key] = &[declared_key(\"trim\").with_value(Text, \"t\")];\nfn f() { read_text(node, \"trim\"); }",
            &[],
        ),
        (
            "fn f() { read_text(node, \"trim\"); }",
            &[":2: the key `trim` is read and not declared: add it to its object"],
        ),
        (
            "fn f() { node.get(\"trim\"); }",
            &[":2: the key `trim` is read and not declared: add it to its object"],
        ),
        (
            "const KEYS: &[Key] = &[declared_key(\"trim\").with_value(Text, \"t\")];",
            &[":2: the key `trim` is declared and never read"],
        ),
        (
            "const A: [Key; 3] = [declared_key(\"a\"), declared_key(\"b\"), declared_key(\"c\")];\n\
             fn f() { (\"a\", \"b\", \"c\"); }\nconst KNOWN: &[&str] = &[\"a\", \"b\", \"c\"];",
            &[":4: a list of the keys a, b, c: take them from their declarations"],
        ),
        ("#[cfg(test)]\nmod tests { fn f() { read_text(node, \"trim\"); } }", &[]),
    ];
    for (text, expected) in rows {
        let expected: Vec<String> = expected.iter().map(|one| format!("{PATH}{one}")).collect();
        let files =
            [(PATH, &*format!("{FIELDS}{text}")), ("src/language/other.rs", "fn f() { node.get(\"x\"); }")];
        assert_eq!(run_check(declared_keys::check_declared_keys, &files), expected, "{text}");
    }
}
