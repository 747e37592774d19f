//! The page of all keys of workflow files, as the declarations have it: stored, compared, and written anew on demand.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use synthdev::language::key_declaration::{
    KeyDeclaration, ObjectDeclaration, TypeDeclaration, ValueShape, WordMeaning,
};
use synthdev::language::workflow_file::declared_keys::{OBJECTS, REWRITTEN_OBJECTS, state_types, step_types};

const HEAD: &str = "\
# Keys of workflow files

Every object of a workflow file with its keys: what each takes and means, as editors show it. [Workflows](workflows.md)
explains how the parts work together, with examples. Every object also takes `$schema` and notes whose names begin with
`x_`. A key in bold must be there.

This page is made of the declarations in `src/language/workflow_file/`; `just schema` writes it anew.
";

/// Every key of the language.
pub(super) fn declared_keys() -> impl Iterator<Item = &'static KeyDeclaration> {
    let objects = OBJECTS.into_iter().chain(REWRITTEN_OBJECTS).flat_map(|object| object.keys);
    objects.chain(state_types().chain(step_types()).flat_map(TypeDeclaration::keys))
}

#[test]
fn the_page_of_keys_is_as_the_declarations_have_it() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/workflow-keys.md");
    let page = render_page();
    if std::env::var_os("UPDATE_KEYS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    assert!(
        stored == page,
        "docs/workflow-keys.md is stale; renew it with: UPDATE_KEYS=1 cargo test --test it docs::"
    );
}

fn render_page() -> String {
    let mut page = HEAD.to_owned();
    OBJECTS.into_iter().for_each(|object| page.push_str(&render_object(object)));
    let states: Vec<_> = state_types().collect();
    page.push_str(&render_types("state", "A state without a `type`", &states));
    let steps: Vec<_> = step_types().collect();
    page.push_str(&render_types("step", "", &steps));
    REWRITTEN_OBJECTS.into_iter().for_each(|object| page.push_str(&render_object(object)));
    page
}

fn render_object(object: &ObjectDeclaration) -> String {
    format!("\n## {}\n\n{}\n\n{}", object.name, object.description, render_table(object.keys.iter()))
}

/// What most of the types have comes first and once.
fn render_types(noun: &str, without_type: &str, types: &[&TypeDeclaration]) -> String {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for key in types.iter().flat_map(|kind| kind.keys()) {
        *counts.entry((key.name, key.description)).or_default() += 1;
    }
    let is_common = |key: &KeyDeclaration| counts[&(key.name, key.description)] * 2 > types.len();
    let mut seen = BTreeSet::new();
    let common = types.iter().flat_map(|kind| kind.keys());
    let common = common.filter(|key| is_common(key) && seen.insert(key.name));
    let mut text = format!("\n## {noun}\n\nKeys of most {noun}s:\n\n{}", render_table(common));
    for kind in types {
        let title = match kind.word {
            "" => without_type.to_owned(),
            word => format!("A {noun} of the type `{word}`"),
        };
        text.push_str(&format!("\n### {title}\n\n{}\n\n", kind.description));
        if kind.keys().any(|key| !is_common(key)) {
            text.push_str(&render_table(kind.keys().filter(|key| !is_common(key))));
            text.push('\n');
        }
        let others = kind.keys().filter(|key| is_common(key)).map(|key| format!("`{}`", key.name));
        text.push_str(&format!("Of the keys of most {noun}s: {}.\n", others.collect::<Vec<_>>().join(", ")));
    }
    text
}

fn render_table<'k>(keys: impl Iterator<Item = &'k KeyDeclaration>) -> String {
    let rows = keys.map(|key| {
        let name = if key.is_required { format!("**`{}`**", key.name) } else { format!("`{}`", key.name) };
        let mut words = Vec::new();
        collect_words(key.shape, &mut words);
        let words = words.iter().map(|word| format!(" `{}`: {}", word.word, word.description));
        let example = key.example.map_or_else(String::new, |example| format!(" Example: `{example}`."));
        let meaning = format!("{}{}{example}", key.description, words.collect::<String>());
        format!("| {name} | {} | {} |\n", value_words(key.shape), meaning.replace('|', "\\|"))
    });
    format!("| key | value | meaning |\n| --- | --- | --- |\n{}", rows.collect::<String>())
}

fn collect_words(shape: ValueShape, found: &mut Vec<WordMeaning>) {
    match shape {
        ValueShape::Words(words) => found.extend(words),
        ValueShape::List(inner) | ValueShape::Map(inner) => collect_words(*inner, found),
        ValueShape::Either(shapes) => shapes.iter().for_each(|shape| collect_words(*shape, found)),
        _ => {}
    }
}

fn value_words(shape: ValueShape) -> String {
    match shape {
        ValueShape::Text => "text".to_owned(),
        ValueShape::Flag => "`true`, `false`".to_owned(),
        ValueShape::Count => "whole number from 1".to_owned(),
        ValueShape::Port => "port".to_owned(),
        ValueShape::Whole => "whole number from 0".to_owned(),
        ValueShape::Integer => "whole number".to_owned(),
        ValueShape::Number { min, max: None } if min == f64::MIN => "number".to_owned(),
        ValueShape::Number { min, max: None } => format!("number from {min}"),
        ValueShape::Number { min, max: Some(max) } => format!("number from {min} to {max}"),
        ValueShape::Any => "any JSON".to_owned(),
        ValueShape::Object => "object".to_owned(),
        ValueShape::Words(words) => {
            words.iter().map(|word| format!("`{}`", word.word)).collect::<Vec<_>>().join(", ")
        }
        ValueShape::Ref(name) => format!("[{name}](#{name})"),
        ValueShape::List(inner) => format!("list of: {}", value_words(*inner)),
        ValueShape::Map(inner) => format!("object by name of: {}", value_words(*inner)),
        ValueShape::Either(shapes) => {
            shapes.iter().map(|shape| value_words(*shape)).collect::<Vec<_>>().join("; ")
        }
    }
}
