//! Seeded faults: each row of `tests/data/faults/faults.json` changes one place of a sound workflow file and names the
//! finding that loading must make of it.
//!
//! A row: what is replaced (its first occurrence), by what, the code, and a text of the line where the finding must
//! stand (by default the line of the change; with a number, its which occurrence). `allowed` are the codes that the
//! untouched file may have: nothing, but for the seed's own files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use synthdev::bootstrap::wiring;
use synthdev::domain::diagnostic::Diagnostic;
use synthdev::domain::source_location::ConfigLayer;
use synthdev::language::source::SourceFile;
use synthdev::settings::catalog::{ConfigCatalog, ConfigSources};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Seeded {
    #[serde(default)]
    allowed: Vec<String>,
    faults: Vec<Vec<Value>>,
}

struct Fault<'f> {
    old_text: &'f str,
    new_text: &'f str,
    code: &'f str,
    location: Option<(&'f str, usize)>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

fn seeded_faults() -> BTreeMap<String, Seeded> {
    let text = std::fs::read_to_string(root().join("tests/data/faults/faults.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// What is shipped, with the roles of the files here, and a model for every level.
fn test_catalog() -> ConfigCatalog {
    let read = |folder: &str| {
        let mut paths: Vec<PathBuf> =
            std::fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        let is_workflow = |path: &PathBuf| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.ends_with(".json") && !name.ends_with(".test.json")
        };
        paths.into_iter().filter(is_workflow).collect::<Vec<_>>()
    };
    let text = |path: &Path| std::fs::read_to_string(path).unwrap();
    let file = |path: &Path| {
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        SourceFile::new(ConfigLayer::BuiltIn, name, text(path))
    };
    let all = |folder: &str| read(folder).iter().map(|path| file(path)).collect::<Vec<_>>();
    let mut roles = all("roles");
    roles.push(SourceFile::new(
        ConfigLayer::User,
        "roles.json",
        text(&root().join("tests/data/faults/roles.json")),
    ));
    let environment = [("SYNTHDEV_BASE_MODEL", "m"), ("SYNTHDEV_BASE_URL", "http://127.0.0.1:1/v1")];
    let sources = ConfigSources {
        settings: vec![file(&root().join("config/settings.json"))],
        models: vec![file(&root().join("config/models.json"))],
        roles,
        workflows: all("workflows"),
        environment: environment.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        ..ConfigSources::default()
    };
    ConfigCatalog::load(sources, wiring::tool_specs(&root()))
}

fn find_diagnostics(catalog: &ConfigCatalog, name: &str, text: &str) -> Vec<Diagnostic> {
    match catalog.check_file(&SourceFile::new(ConfigLayer::CommandLine, name, text)) {
        Ok((_, found)) | Err(found) => found,
    }
}

fn line_number_of(text: &str, part: &str, nth: usize) -> usize {
    let (at, _) = text.match_indices(part).nth(nth - 1).unwrap_or_else(|| panic!("no `{part}`"));
    text[..at].matches('\n').count() + 1
}

fn parse_fault(row: &[Value]) -> Fault<'_> {
    let word = |at: usize| row.get(at).map(|value| value.as_str().unwrap());
    let nth = row.get(4).map_or(1, |value| value.as_u64().unwrap() as usize);
    Fault {
        old_text: word(0).unwrap(),
        new_text: word(1).unwrap(),
        code: word(2).unwrap(),
        location: word(3).map(|part| (part, nth)),
    }
}

#[test]
fn sound_files_have_no_findings() {
    let catalog = test_catalog();
    let mut all = Vec::new();
    for (name, seeded) in seeded_faults() {
        let text = std::fs::read_to_string(root().join("tests/data").join(&name)).unwrap();
        let found = find_diagnostics(&catalog, &name, &text);
        let codes: Vec<&str> = found.iter().map(|one| one.code.as_str()).collect();
        if codes != seeded.allowed {
            all.push(format!("{name}: {found:#?}"));
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
fn shipped_workflows_have_no_findings() {
    let catalog = test_catalog();
    assert!(catalog.workflows().len() >= 9 && !catalog.has_errors());
    for entry in catalog.workflows() {
        let found = match catalog.check_workflow(&entry.name) {
            Ok((_, found)) | Err(found) => found,
        };
        assert_eq!(found, [], "{}", entry.name);
    }
}

#[test]
fn seeded_faults_are_found_where_they_are() {
    let catalog = test_catalog();
    let (mut count, mut missed) = (0, Vec::new());
    for (name, seeded) in seeded_faults() {
        let text = std::fs::read_to_string(root().join("tests/data").join(&name)).unwrap();
        for row in &seeded.faults {
            count += 1;
            let fault = parse_fault(row);
            assert!(text.contains(fault.old_text), "{name} holds no `{}`", fault.old_text);
            let changed = text.replacen(fault.old_text, fault.new_text, 1);
            let line = match fault.location {
                Some((part, nth)) => line_number_of(&changed, part, nth),
                None => line_number_of(&text, fault.old_text, 1),
            };
            let found = find_diagnostics(&catalog, &name, &changed);
            if !found.iter().any(|one| one.code == fault.code && one.place.line == line) {
                let found: Vec<String> = found
                    .iter()
                    .map(|one| format!("{} {}: {}", one.code, one.place.line, one.message))
                    .collect();
                let wanted = format!("{} {line}", fault.code);
                missed.push(format!("{name}: `{}` should give {wanted}, gives {found:#?}", fault.new_text));
            }
        }
    }
    println!("{} of {count} found", count - missed.len());
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
