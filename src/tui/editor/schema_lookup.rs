//! What the schema of a file says about a place in it: which keys and words fit, and what they mean.
//!
//! Understands of JSON Schema what our own schemas use. Refuses to judge: a place of which it knows nothing has no
//! keys, and that is no error.

use serde_json::Value;

use super::json_tree::{EditorJsonStep, EditorJsonTree};

/// References inside each other; our schemas need a few.
const DEEPEST: usize = 16;

/// A key or a word that fits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SchemaSuggestion {
    pub word: String,
    pub about: String,
    /// It must be there.
    pub required: bool,
}

/// The parts of a schema that hold for a place.
#[derive(Clone, Debug)]
pub struct SchemaLookup<'a> {
    root: &'a Value,
    /// Before references and choices are followed: their descriptions are of the place itself.
    own: Vec<&'a Value>,
}

impl<'a> SchemaLookup<'a> {
    /// At the end of a path; `tree` is the whole text as it is.
    pub fn at_path(
        root: &'a Value,
        tree: Option<&EditorJsonTree>,
        path: &[EditorJsonStep],
        around: &[&EditorJsonTree],
    ) -> Self {
        let mut meaning = Self { root, own: vec![root] };
        let mut around = around.iter().copied();
        for step in path {
            let here = around.next().or(tree);
            let parts = meaning.parts(here);
            let mut below: Vec<&Value> = match step {
                EditorJsonStep::Key(key) => parts.iter().filter_map(|part| property(part, key)).collect(),
                EditorJsonStep::Item => parts.iter().filter_map(|part| part.get("items")).collect(),
            };
            below.dedup();
            meaning.own = below;
        }
        meaning
    }

    /// The keys of an object here that are not there yet.
    pub fn keys(&self, object: Option<&EditorJsonTree>, but: Option<&str>) -> Vec<SchemaSuggestion> {
        let parts = self.parts(object);
        let there = |key: &str| {
            object.is_some_and(|object| object.entries().iter().any(|entry| entry.key == key))
                && but != Some(key)
        };
        let required: Vec<&str> = parts.iter().flat_map(|part| words(part.get("required"))).collect();
        let mut fits: Vec<SchemaSuggestion> = Vec::new();
        for (key, value) in parts.iter().filter_map(|part| part.get("properties")?.as_object()).flatten() {
            if !there(key) && !key.starts_with('$') && !fits.iter().any(|fit| fit.word == *key) {
                let required = required.contains(&key.as_str());
                fits.push(SchemaSuggestion { word: key.clone(), about: self.described(value), required });
            }
        }
        fits.sort_by_key(|fit| !fit.required);
        fits
    }

    /// Whole values that fit, as they are written.
    pub fn values(&self) -> Vec<SchemaSuggestion> {
        let mut fits: Vec<SchemaSuggestion> = Vec::new();
        let mut add = |word: String, about: String| {
            if !fits.iter().any(|fit| fit.word == word) {
                fits.push(SchemaSuggestion { word, about, required: false });
            }
        };
        for part in self.parts(None) {
            if let Some(word) = part.get("const") {
                add(word.to_string(), about(part));
            }
            for word in part.get("enum").and_then(Value::as_array).into_iter().flatten() {
                add(word.to_string(), about(part));
            }
            if part.get("type").and_then(Value::as_str) == Some("boolean") {
                add("true".to_owned(), String::new());
                add("false".to_owned(), String::new());
            }
        }
        fits
    }

    /// What stands here, and which types it may have.
    pub fn about(&self) -> Option<String> {
        let text = self.own.iter().map(|one| self.described(one)).find(|text| !text.is_empty())?;
        let words: Vec<String> = self.values().into_iter().map(|fit| fit.word).collect();
        Some(if words.is_empty() { text } else { format!("{text}\nOne of {}.", words.join(", ")) })
    }

    /// Its own description, else that of what it refers to.
    fn described(&self, schema: &Value) -> String {
        let own = about(schema);
        if !own.is_empty() {
            return own;
        }
        self.referred(schema).map(about).unwrap_or_default()
    }

    fn referred(&self, schema: &Value) -> Option<&'a Value> {
        let name = schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")?;
        self.root.get("$defs")?.get(name)
    }

    /// Everything that holds for a value here, references and choices followed.
    fn parts(&self, tree: Option<&EditorJsonTree>) -> Vec<&'a Value> {
        let mut found = Vec::new();
        for own in &self.own {
            self.follow(own, tree, 0, &mut found);
        }
        found
    }

    fn follow(
        &self,
        schema: &'a Value,
        tree: Option<&EditorJsonTree>,
        depth: usize,
        found: &mut Vec<&'a Value>,
    ) {
        if depth > DEEPEST {
            return;
        }
        found.push(schema);
        let below = self.referred(schema).into_iter();
        let lists = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|word| schema.get(word)?.as_array());
        let choice = schema.get("if").and_then(|condition| {
            let word = if holds(condition, tree) { "then" } else { "else" };
            schema.get(word)
        });
        for next in below.chain(lists.flatten()).chain(choice) {
            self.follow(next, tree, depth + 1, found);
        }
    }
}

fn about(schema: &Value) -> String {
    schema.get("description").and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn words(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn property<'a>(schema: &'a Value, key: &str) -> Option<&'a Value> {
    if let Some(known) = schema.get("properties").and_then(|known| known.get(key)) {
        return Some(known);
    }
    let patterns = schema.get("patternProperties").and_then(Value::as_object).into_iter().flatten();
    // names of people's own: what begins with `x_` is a note
    let own = patterns.map(|(_, value)| value).find(|value| value.is_object());
    own.or_else(|| schema.get("additionalProperties").filter(|value| value.is_object()))
        .filter(|_| !key.starts_with("x_") && !key.starts_with('$'))
}

/// The conditions that our schemas have: a type, the word at a key, or that a key is there.
fn holds(condition: &Value, tree: Option<&EditorJsonTree>) -> bool {
    if let Some(other) = condition.get("not") {
        return !holds(other, tree);
    }
    let list = condition
        .get("type")
        .is_none_or(|kind| kind != "array" || matches!(tree, Some(EditorJsonTree::Array { .. })));
    let there = words(condition.get("required")).all(|key| tree.and_then(|tree| tree.get(key)).is_some());
    let fits = |key: &str, wanted: &Value| {
        let word = tree.and_then(|tree| tree.get(key)).and_then(EditorJsonTree::text);
        words(wanted.get("enum")).any(|one| Some(one) == word)
    };
    let properties = condition.get("properties").and_then(Value::as_object).into_iter().flatten();
    list && there && properties.into_iter().all(|(key, wanted)| fits(key, wanted))
}
