//! Configuration through its public face: texts in, values and rendered diagnostics out.

mod catalog;
mod keys;
mod models;
mod roles;
mod settings;

use std::collections::BTreeMap;

use serde_json::json;
use synthdev::domain::diagnostic::Diagnostic;
use synthdev::domain::source_location::ConfigLayer;
use synthdev::domain::tool::{ToolRisk, ToolSpec};
use synthdev::language::render::compact_line;
use synthdev::language::source::SourceFile;
use synthdev::settings::catalog::{ConfigCatalog, ConfigSources};

const SETTINGS: &str = include_str!("../../config/settings.json");
const MODELS: &str = include_str!("../../config/models.json");
const ROLES: &str = include_str!("../../roles/core.json");

fn tools() -> Vec<ToolSpec> {
    let rows = [
        ("read_files", ToolRisk::Read),
        ("list_directory", ToolRisk::Read),
        ("exact_search", ToolRisk::Read),
        ("glob", ToolRisk::Read),
        ("write_file", ToolRisk::Write),
        ("edit_file", ToolRisk::Write),
        ("apply_patch", ToolRisk::Write),
        ("execute_terminal", ToolRisk::Execute),
        ("read_output", ToolRisk::Read),
        ("send_input", ToolRisk::Execute),
        ("stop_command", ToolRisk::Read),
    ];
    rows.map(|(name, risk)| ToolSpec {
        name: name.into(),
        description: name.into(),
        parameters: json!({"type": "object"}),
        risk,
        repeat: None,
    })
    .to_vec()
}

fn user_file(name: &str, text: &str) -> SourceFile {
    SourceFile::new(ConfigLayer::User, name, text)
}

fn project(name: &str, text: &str) -> SourceFile {
    SourceFile::new(ConfigLayer::Project, name, text)
}

fn built_in_file(name: &str, text: &str) -> SourceFile {
    SourceFile::new(ConfigLayer::BuiltIn, name, text)
}

/// The shipped files, nothing else.
fn shipped_sources() -> ConfigSources {
    ConfigSources {
        settings: vec![built_in_file("built-in:config/settings.json", SETTINGS)],
        models: vec![built_in_file("built-in:config/models.json", MODELS)],
        roles: vec![built_in_file("built-in:roles/core.json", ROLES)],
        ..ConfigSources::default()
    }
}

fn with_environment(pairs: &[(&str, &str)]) -> ConfigSources {
    ConfigSources { environment: environment_map(pairs), ..shipped_sources() }
}

fn environment_map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn load_catalog(sources: ConfigSources) -> ConfigCatalog {
    ConfigCatalog::load(sources, tools())
}

fn lines(diagnostics: &[Diagnostic]) -> Vec<String> {
    diagnostics.iter().map(compact_line).collect()
}
