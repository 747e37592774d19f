//! The guard of the house: what may import what, how large things may grow, what must never be there.
//!
//! The members and what they may import are in the crate doc (`src/lib.rs`). Every check works on text, so each one has rows
//! that prove that it can fail. An exemption is a line in this file, with its reason; one that is no longer needed
//! fails too.

mod cycles;
mod edges;
mod layers;
mod manners;
mod sizes;
mod source;
mod syntax;
mod type_names;

use std::collections::BTreeSet;
use std::path::Path;

use cycles::Exemption;
use source::Tree;

/// Cycles that are meant. Every other cycle inside a layer fails.
const CYCLES: &[Exemption] = &[Exemption {
    files: &[
        "src/tui/update.rs",
        "src/tui/update/backend_replies.rs",
        "src/tui/update/commands.rs",
        "src/tui/update/keys.rs",
        "src/tui/update/run_events.rs",
        "src/tui/update/submit.rs",
    ],
    reason: "`update` is one function in several files: a slash command may do what a key does",
}];

#[test]
fn the_house_is_in_order() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let tree = Tree::read_tree(root);
    assert!(tree.sources.len() > 100, "the guard found only {} files", tree.sources.len());
    let texts = source::texts(root);
    let mut found = layers::manifests(&texts);
    found.extend(layers::check_layers(&tree));
    found.extend(cycles::check_cycles(&tree, CYCLES));
    found.extend(sizes::check_sizes(&tree));
    found.extend(manners::check_manners(&tree));
    found.extend(type_names::check_type_names(&tree));
    found.extend(manners::machine_paths(&texts));
    found.sort();
    assert!(found.is_empty(), "{} violations\n{}", found.len(), found.join("\n"));
}

/// The texts that shipped code gives to `Type::function` as first argument, in order, each once.
pub(super) fn literals_given_to(owner: &str, function: &str) -> BTreeSet<String> {
    let tree = Tree::read_tree(Path::new(env!("CARGO_MANIFEST_DIR")));
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
    for (path, text, expected) in rows {
        assert_eq!(run_check(type_names::check_type_names, &[(path, text)]), *expected, "{path}: {text}");
    }
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
