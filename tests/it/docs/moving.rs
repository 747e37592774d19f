//! The sample project of the page on moving from Synth-Dev, step by step, as the page tells it.

use serde_json::json;

use crate::cli::world::{Ran, World};

const PAGE: &str = include_str!("../../../docs/from-synth-dev.md");

/// The block behind the first line that holds these words.
fn block_after(words: &str) -> &'static str {
    let rest = PAGE.split_once(words).unwrap_or_else(|| panic!("the page does not say {words}")).1;
    let inside = rest.split("```").nth(1).unwrap();
    inside.split_once('\n').unwrap().1
}

/// A line without what differs from machine to machine: how long an answer took, and the tokens of a prompt that names
/// the directory.
fn comparable_line(line: &str) -> String {
    let is_measured = |word: &&str| word.parse::<f32>().is_ok() && !word.starts_with('#');
    line.split(' ').filter(|word| !is_measured(word)).collect::<Vec<_>>().join(" ")
}

/// Progress goes to one stream and the output to another: the page shows both as a terminal does.
#[track_caller]
fn assert_printed(ran: &Ran, block: &str) {
    let found: Vec<String> = ran.stderr.lines().chain(ran.stdout.lines()).map(comparable_line).collect();
    let mut from = 0;
    for line in block.lines().map(comparable_line).filter(|line| !ran.stdout.contains(line.as_str())) {
        let at = found[from..].iter().position(|one| *one == line);
        from += at.unwrap_or_else(|| panic!("the page says\n{line}\nthe program\n{}", found.join("\n"))) + 1;
    }
    let mut output = ran.stdout.lines().map(comparable_line).filter(|line| !line.is_empty());
    let block: Vec<String> = block.lines().map(comparable_line).collect();
    assert!(output.any(|line| block.contains(&line)), "the page does not show\n{}", ran.stdout);
}

fn assert_notes_only(world: &World, expected: &[&str]) {
    let report = world.run_program(&["check", "--trust", "--json"]).code(0).json();
    let findings = report["findings"].as_array().unwrap().iter().map(|finding| &finding["code"]);
    assert_eq!(findings.collect::<Vec<_>>(), expected);
}

#[test]
fn the_sample_project_goes_as_the_page_says() {
    let world = World::repository();
    world.write_file("CHANGES.md", "parser: accepts tabs\n");
    for name in [
        "roles/press.docs.json",
        "workflows/release_note.json",
        "workflows/headline.json",
        "workflows/headline/script.js",
    ] {
        world.write_file(&format!(".synthdev/{name}"), block_after(&format!("`config/{name}`")));
    }
    world.run_program(&["trust"]).code(0);
    let checked = world.run_program(&["check", "--trust"]).code(0);
    assert_printed(&checked, block_after("synthdev check --trust\n```\n"));

    let roles = world.read_file(".synthdev/roles/press.docs.json");
    world.write_file(".synthdev/roles/press.docs.json", &roles.replace("\"read_file\"", "\"read_files\""));
    assert_notes_only(&world, &["I01"]);
    let roles = world.run_program(&["roles"]).code(0).stdout;
    assert!(roles.contains("docs.writer") && roles.contains("docs.editor"), "{roles}");

    world.write_file("replies.json", block_after("`replies.json` says"));
    let ran = world.run_program(&["run", "release_note", "1.2.0", "--replies", "replies.json"]).code(0);
    assert_printed(&ran, block_after("run release_note \"1.2.0\" --replies replies.json\n```\n"));
    let listed = world.run_program(&["runs", "list", "--json"]).code(0).json();
    let run = listed[0]["id"].as_str().unwrap();
    let requested = world.run_program(&["runs", "show", run, "--request", "2"]).code(0);
    assert!(requested.stdout.contains("exact_search"), "{}", requested.stdout);

    world.write_json("line.json", &json!({"replies": {"writer": [{"text": "Tabs in the parser"}]}}));
    let ran =
        world.run_program(&["run", "headline", "The parser accepts tabs", "--replies", "line.json"]).code(0);
    assert!(ran.stdout.contains("Tabs in the parser"), "{}", ran.stdout);
}
