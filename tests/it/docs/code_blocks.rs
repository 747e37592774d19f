//! What the pages show in blocks of code can be used as it stands: commands are parsed by the command line, files are read
//! by the program, scripts compile. A block of a new kind needs a row here.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;
use clap::error::ErrorKind;
use serde_json::{Value, json};
use synthdev::cli::args::CliArgs;
use synthdev::domain::source_location::ConfigLayer;
use synthdev::language::source::SourceFile;
use synthdev::tui::keymap::read_keyboard_file;
use synthdev::tui::theme::read_theme_file;

use super::shell_words::{Pipeline, parse_pipelines};
use crate::cli::world::World;

/// A block between fences.
pub(super) struct CodeBlock {
    /// Page and line, for messages.
    pub(super) place: String,
    page: String,
    /// The word behind the opening fence.
    kind: String,
    pub(super) text: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every page with its text: those of the root and all below `docs`.
fn pages() -> Vec<(String, String)> {
    let mut found: Vec<PathBuf> =
        ["README.md", "CONTRIBUTING.md"].iter().map(|name| root().join(name)).collect();
    for folder in ["docs", "docs/spec"] {
        let entries = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
        found.extend(entries.filter(|path| path.extension().is_some_and(|ending| ending == "md")));
    }
    found.sort();
    let name = |path: &Path| path.strip_prefix(root()).unwrap().display().to_string();
    found.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
}

fn code_blocks() -> Vec<CodeBlock> {
    let mut found: Vec<CodeBlock> = Vec::new();
    for (page, text) in pages() {
        let mut open: Option<CodeBlock> = None;
        for (line, number) in text.lines().zip(1..) {
            match (line.trim_start().strip_prefix("```"), &mut open) {
                (Some(kind), None) => {
                    let place = format!("{page}:{number}");
                    let kind = kind.trim().to_owned();
                    open = Some(CodeBlock { place, page: page.clone(), kind, text: String::new() });
                }
                (Some(_), Some(_)) => found.extend(open.take()),
                (None, Some(block)) => block.text += &format!("{line}\n"),
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{page}: a block has no end");
    }
    found
}

pub(super) fn blocks_of(kind: &str) -> Vec<CodeBlock> {
    code_blocks().into_iter().filter(|block| block.kind == kind).collect()
}

/// Kinds of blocks, with what checks them.
const KINDS: &[(&str, &str)] = &[
    ("sh", "docs::executed, and every_command_in_a_block_can_be_typed"),
    ("json", "every_file_in_a_block_is_read_without_a_finding"),
    ("js", "every_script_in_a_block_compiles"),
    ("shell", "the page of several machines, whose settings restate::scale_page has"),
    ("shell five", "restate::scale_page, with a Restate server"),
    ("rust", "every_test_in_a_block_is_in_the_tests"),
    ("mcp", "mcp::page"),
    ("text", "output, which docs::moving and docs::executed compare"),
    ("", "the picture of the screen"),
];

#[test]
fn every_block_is_of_a_kind_that_is_checked() {
    for block in code_blocks() {
        let is_known = KINDS.iter().any(|(kind, _)| *kind == block.kind);
        assert!(is_known, "{}: nothing checks blocks of the kind `{}`", block.place, block.kind);
    }
}

/// Programs in blocks that are not synthdev's own.
const OTHER_PROGRAMS: &[&str] = &["cargo", "cd", "cp", "mkdir", "printf"];

/// The arguments for synthdev, if it is what the words start.
pub(super) fn own_arguments(words: &[String]) -> Option<Vec<String>> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let rest = match words.as_slice() {
        ["synthdev", rest @ ..] | ["cargo", "run", "--locked", "--", rest @ ..] => rest,
        _ => return None,
    };
    Some(["synthdev"].iter().chain(rest).map(|word| (*word).to_owned()).collect())
}

/// Why the command line refuses it.
fn refusal(arguments: &[String]) -> Option<(ErrorKind, String)> {
    let error = CliArgs::try_parse_from(arguments).err()?;
    let is_answer = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    (!is_answer).then(|| (error.kind(), error.to_string()))
}

#[test]
fn every_command_in_a_block_can_be_typed() {
    let (mut own, mut problems) = (0, Vec::new());
    for block in blocks_of("sh") {
        for Pipeline { commands, line } in parse_pipelines(&block.text) {
            for words in commands {
                if let Some(arguments) = own_arguments(&words) {
                    own += 1;
                    let refused = refusal(&arguments);
                    problems.extend(refused.map(|(_, why)| format!("{}: {line}: {why}", block.place)));
                } else if !OTHER_PROGRAMS.contains(&words[0].as_str()) {
                    problems.push(format!("{}: what is `{}`?", block.place, words[0]));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(own >= 60, "{own}");
}

fn is_incomplete(kind: ErrorKind) -> bool {
    use ErrorKind::{DisplayHelpOnMissingArgumentOrSubcommand, MissingRequiredArgument, MissingSubcommand};
    matches!(kind, MissingRequiredArgument | MissingSubcommand | DisplayHelpOnMissingArgumentOrSubcommand)
}

/// Its commands exist with the feature only.
const PAGE_OF_FEATURE: &str = "docs/scale.md";

/// In prose a command may lack what stands behind it, but what is there exists.
#[test]
fn every_command_in_prose_exists() {
    let (mut own, mut problems) = (0, Vec::new());
    let pages = pages().into_iter().filter(|(page, _)| cfg!(feature = "restate") || page != PAGE_OF_FEATURE);
    for (page, text) in pages {
        let prose: Vec<&str> = text.split("\n```").step_by(2).collect();
        let prose = prose.join("\n");
        for quoted in prose.split('`').skip(1).step_by(2) {
            let line = quoted.split_whitespace().collect::<Vec<_>>().join(" ");
            if !line.starts_with("synthdev ") {
                continue;
            }
            own += 1;
            for words in parse_pipelines(&line).into_iter().flat_map(|pipeline| pipeline.commands) {
                let Some(arguments) = own_arguments(&words) else { continue };
                // the dots stand for whatever follows: nothing more, or some value
                let short: Vec<String> = arguments.iter().filter(|word| *word != "…").cloned().collect();
                let refused = [short, arguments].map(|arguments| refusal(&arguments));
                let refused = refused.into_iter().map(|one| one.filter(|(kind, _)| !is_incomplete(*kind)));
                let whys: Vec<String> = refused.flatten().map(|(_, why)| why).collect();
                if let [_, why] = whys.as_slice() {
                    problems.push(format!("{page}: `{line}`: {why}"));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(own >= 60, "{own}");
}

/// Pages whose files are read by a test of their own, which knows what stands beside them.
const READ_ELSEWHERE: &[(&str, &str)] = &[
    ("docs/workflows.md", "docs::every_workflow_of_the_language_page_is_sound"),
    ("docs/mcp-messages.md", "mcp::page"),
    ("docs/from-synth-dev.md", "docs::moving"),
];

/// A key of the first object that tells the kind of file, and where the program looks for such a file. Keys of rarer
/// files come first.
const FILES: &[(&str, &str)] = &[
    ("cassette", "project/coder_reviewer.test.json"),
    ("tests", "project/page.test.json"),
    ("levels", "config/synthdev/keys.json"),
    ("providers", "config/synthdev/models.json"),
    ("mcpServers", "config/synthdev/settings.json"),
    ("command", "config/synthdev/tools/page.json"),
    ("text_undo", "keyboard"),
    ("accent", "theme"),
];

/// Where the block belongs: a file of roles has no key of its own, each of its roles has.
fn place_of(value: &Value) -> Option<&'static str> {
    let object = value.as_object()?;
    let named = FILES.iter().find(|(key, _)| object.contains_key(*key)).map(|(_, place)| *place);
    let is_role = |role: &Value| role.get("systemMessage").is_some();
    named.or_else(|| object.values().all(is_role).then_some("config/synthdev/roles/page.json"))
}

#[test]
fn every_file_in_a_block_is_read_without_a_finding() {
    let mut read = 0;
    for block in blocks_of("json") {
        if READ_ELSEWHERE.iter().any(|(page, _)| *page == block.page) {
            continue;
        }
        read += 1;
        let value =
            serde_json::from_str(&block.text).unwrap_or_else(|error| panic!("{}: {error}", block.place));
        let place = place_of(&value);
        let place =
            place.unwrap_or_else(|| panic!("{}: which file is this? FILES has no such key", block.place));
        let file = || SourceFile::new(ConfigLayer::User, format!("user:{place}.json"), block.text.as_str());
        match place {
            "theme" => assert_eq!(read_theme_file(&file()).err(), None, "{}", block.place),
            "keyboard" => assert_eq!(read_keyboard_file(&file()).1, [], "{}", block.place),
            _ => check_file(&block, place),
        }
    }
    assert!(read >= 10, "{read}");
}

/// Puts the file where it belongs and has the program read it.
fn check_file(block: &CodeBlock, place: &str) {
    let world = World::new();
    let path = world.root().join(place);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, &block.text).unwrap();
    if place.ends_with(".test.json") {
        let recording = "coder_reviewer.cassette.jsonl";
        fs::copy(root().join("workflows").join(recording), world.project().join(recording)).unwrap();
        let ran = world.run_program(&["test", path.to_str().unwrap()]);
        assert_eq!(ran.code, Some(0), "{}: {}{}", block.place, ran.stdout, ran.stderr);
        return;
    }
    let report = world.run_program(&["check", "--json"]).json();
    assert_eq!(report["findings"], json!([]), "{}", block.place);
    // a file that is not read has no findings either: spoilt, it has one
    fs::write(&path, block.text.replacen('{', "{ 7 ", 1)).unwrap();
    let report = world.run_program(&["check", "--json"]).json();
    assert_ne!(report["findings"], json!([]), "{}: nothing reads {place}", block.place);
}

#[test]
fn every_script_in_a_block_compiles() {
    let runtime = rquickjs::Runtime::new().unwrap();
    let context = rquickjs::Context::full(&runtime).unwrap();
    let blocks = blocks_of("js");
    assert!(blocks.len() >= 3, "{}", blocks.len());
    for block in blocks {
        let is_module = block.text.contains("export default");
        // as `execute_script` has it: the body of a function
        let text = if is_module { block.text } else { format!("export default () => {{ {} }}", block.text) };
        context.with(|context| {
            let done = rquickjs::Module::declare(context.clone(), "page.js", text);
            assert!(done.is_ok(), "{}: {:?}", block.place, context.catch());
        });
    }
}

#[test]
fn every_test_in_a_block_is_in_the_tests() {
    let mut open = vec![root().join("tests/it")];
    let mut texts = Vec::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            texts.push(fs::read_to_string(path).unwrap());
        }
    }
    for block in blocks_of("rust") {
        assert!(texts.iter().any(|text| text.contains(&block.text)), "{}: no such test", block.place);
    }
}
