//! The reference pages say what the code does: every number and name of a page is looked up where it is decided.

mod code_blocks;
mod executed;
mod key_page;
mod moving;
mod shell_words;

use serde_json::{Value, json};
use synthdev::cli::exit;
use synthdev::domain::agent::DEFAULT_TOOL_ROUNDS;
use synthdev::domain::context::DEFAULT_MAX_LENGTH;
use synthdev::domain::model::ModelError;
use synthdev::domain::source_location::ConfigLayer;
use synthdev::domain::workflow::WorkflowLimits;
use synthdev::language::source::SourceFile;
use synthdev::language::test_file;
use synthdev::language::test_file::VOCABULARY;
use synthdev::settings::layers::rules::RULES;
use synthdev::settings::layers::value_type::SettingValueType;
use synthdev::tui::slash::COMMANDS;

use super::cli::world::World;

const PAGE: &str = include_str!("../../docs/exit-codes-and-limits.md");

/// The cells of the row whose first cell is `first`.
fn row(first: &str) -> Vec<&'static str> {
    let cells = |line: &'static str| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>();
    let mut rows = PAGE.lines().filter(|line| line.starts_with('|')).map(cells);
    rows.find(|row| row[0] == first).unwrap_or_else(|| panic!("the page has no row `{first}`"))
}

#[test]
fn exit_codes_are_listed() {
    let codes = [
        exit::COMPLETED,
        exit::FAILED,
        exit::USAGE,
        exit::PAUSED,
        exit::LIMIT,
        exit::DENIED,
        exit::CANCELLED,
    ];
    for code in codes {
        row(&code.to_string());
    }
}

#[test]
fn whole_number_settings_are_listed_as_they_are() {
    for rule in RULES {
        let SettingValueType::Integer { min, max } = rule.value_type else { continue };
        if rule.path == "parameters.top_k" {
            continue; // a sampling parameter, no limit
        }
        let row = row(&format!("`{}`", rule.path));
        let default = if rule.default.is_empty() { "the server's" } else { rule.default };
        assert_eq!(row[1..3], [default.to_owned(), format!("{min}–{max}")], "{}", rule.path);
        let named = rule.env.iter().any(|name| row[3] == format!("`{name}`"));
        assert!(named || rule.env.is_empty() && row[3].is_empty(), "{}", rule.path);
    }
}

#[test]
fn limits_of_a_workflow_are_listed_as_they_are() {
    let limits = WorkflowLimits::default();
    let rows = [
        ("states visited; each branch and each item counts its own", limits.max_steps as usize),
        ("visits of each state", limits.max_visits as usize),
        ("child workflows inside each other", limits.max_depth as usize),
        ("rounds of tools in one visit of an agent", DEFAULT_TOOL_ROUNDS as usize),
        ("characters of a conversation that an agent is shown", DEFAULT_MAX_LENGTH),
    ];
    for (name, default) in rows {
        assert_eq!(row(name)[1], default.to_string(), "{name}");
    }
}

#[test]
fn error_codes_are_listed() {
    let detail = String::new;
    let errors = [
        ModelError::RateLimited { retry_after_ms: None, detail: detail() },
        ModelError::Overloaded { retry_after_ms: None, detail: detail() },
        ModelError::Transport { detail: detail() },
        ModelError::IdleTimeout { detail: detail() },
        ModelError::Auth { detail: detail() },
        ModelError::TooLong { detail: detail() },
        ModelError::Refused { detail: detail() },
        ModelError::Protocol { detail: detail() },
        ModelError::CallTimeout { detail: detail() },
        ModelError::Denied { detail: detail() },
        ModelError::Empty { detail: detail() },
        ModelError::Repetition { detail: detail() },
        ModelError::Drift { detail: detail() },
        ModelError::Delegated { transient: false, detail: detail() },
        ModelError::Unfit { detail: detail() },
    ];
    for error in errors {
        row(&format!("`{}`", error.code()));
    }
    for code in synthdev::domain::run_error::ERROR_NAMES {
        row(&format!("`{code}`"));
    }
    for code in super::architecture::literals_given_to("RunError", "new") {
        row(&format!("`{code}`"));
    }
}

const TESTS: &str = include_str!("../../docs/workflow-tests.md");

#[test]
fn every_key_of_a_test_file_is_explained() {
    for (object, keys) in VOCABULARY {
        for key in *keys {
            assert!(TESTS.contains(&format!("`{key}`")), "`{key}` of {object} is not explained");
        }
    }
}

#[test]
fn the_example_of_a_test_file_can_be_used() {
    let example = TESTS.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let file = SourceFile::new(ConfigLayer::Project, "example.test.json", example);
    let (tests, found) = test_file::parse_test_file(&file);
    assert_eq!((tests.len(), found), (1, Vec::new()));
}

const LANGUAGE: &str = include_str!("../../docs/workflows.md");

/// The contents of fences of this kind on the page of the language, in order.
fn fenced_blocks(kind: &str) -> Vec<&'static str> {
    let fence = format!("```{kind}\n");
    let blocks = LANGUAGE.split(fence.as_str()).skip(1);
    blocks.map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
fn every_workflow_of_the_language_page_is_sound() {
    let world = World::new();
    for text in fenced_blocks("json") {
        let name = serde_json::from_str::<Value>(text).unwrap()["workflow_name"].as_str().unwrap().to_owned();
        world.write_file(&format!("page/{name}.json"), text);
    }
    world.write_file("page/handlers/script.js", fenced_blocks("js")[0]);
    world.write_file("page/prompts/note.md", "Write this down: {{common_data.notes}}");
    let report = world.run_program(&["check", "page", "--json"]).code(0).json();
    assert_eq!(report["findings"], json!([]));
    assert_eq!(report["workflows"].as_array().unwrap().len(), fenced_blocks("json").len());
    assert!(fenced_blocks("json").len() >= 10);
}

/// On the language page, or in the declaration, from where the page of keys has it.
#[test]
fn every_key_of_the_language_has_an_example() {
    let examples = fenced_blocks("json").concat();
    for key in key_page::declared_keys().filter(|key| key.example.is_none()) {
        assert!(
            examples.contains(&format!("\"{}\": ", key.name)),
            "no example uses `{0}`: add one to docs/workflows.md, or `.with_example(…)` to the declaration of `{0}`",
            key.name
        );
    }
}

#[test]
fn limits_are_the_same_on_the_language_page() {
    let limits = WorkflowLimits::default();
    let row = LANGUAGE.lines().find(|line| line.starts_with("| `limits` | `max_steps`")).unwrap();
    let defaults = [
        format!("`max_steps` ({} states)", limits.max_steps),
        format!("`max_visits` ({} of each state)", limits.max_visits),
        format!("`max_depth` ({})", limits.max_depth),
        format!("`max_tool_rounds` ({DEFAULT_TOOL_ROUNDS})"),
    ];
    for default in defaults {
        assert!(row.contains(&default), "{default}");
    }
    assert!(LANGUAGE.contains(&format!("at most, {DEFAULT_MAX_LENGTH} unless set")));
}

/// The page of commands has one row for each, in the table's order, and no other.
#[test]
fn commands_are_listed_as_the_table_has_them() {
    let page = include_str!("../../docs/commands.md");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `/")).collect();
    let expected = COMMANDS.iter().map(|command| {
        let usage = command.usage.replace('|', "\\|");
        let line = format!("/{} {usage}", command.name);
        let also: Vec<String> = command.aliases.iter().map(|alias| format!("`/{alias}`")).collect();
        format!("| `{}` | {} | {} |", line.trim_end(), command.description, also.join(", "))
    });
    assert_eq!(rows, expected.collect::<Vec<_>>());
}
