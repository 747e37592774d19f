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
    pub description: String,
    /// It must be there.
    pub required: bool,
}

/// The parts of a schema that hold for a place.
#[derive(Clone, Debug)]
pub struct SchemaLookup<'a> {
    root: &'a Value,
    /// Before references and choices are followed: their descriptions are of the place itself.
    own_schemas: Vec<&'a Value>,
}

impl<'a> SchemaLookup<'a> {
    /// At the end of a path; `tree` is the whole text as it is.
    pub fn at_path(
        root: &'a Value,
        tree: Option<&EditorJsonTree>,
        path: &[EditorJsonStep],
        around: &[&EditorJsonTree],
    ) -> Self {
        let mut meaning = Self { root, own_schemas: vec![root] };
        let mut around = around.iter().copied();
        for step in path {
            let here = around.next().or(tree);
            let parts = meaning.applicable_schemas(here);
            let mut below: Vec<&Value> = match step {
                EditorJsonStep::Key(key) => {
                    parts.iter().filter_map(|part| property_schema(part, key)).collect()
                }
                EditorJsonStep::Item => parts.iter().filter_map(|part| part.get("items")).collect(),
            };
            below.dedup();
            meaning.own_schemas = below;
        }
        meaning
    }

    /// The keys of an object here that are not there yet.
    pub fn missing_keys(&self, object: Option<&EditorJsonTree>, but: Option<&str>) -> Vec<SchemaSuggestion> {
        let parts = self.applicable_schemas(object);
        let there = |key: &str| {
            object.is_some_and(|object| object.entries().iter().any(|entry| entry.key == key))
                && but != Some(key)
        };
        let required: Vec<&str> = parts.iter().flat_map(|part| enum_words(part.get("required"))).collect();
        let mut fits: Vec<SchemaSuggestion> = Vec::new();
        for (key, value) in parts.iter().filter_map(|part| part.get("properties")?.as_object()).flatten() {
            if !there(key) && !key.starts_with('$') && !fits.iter().any(|fit| fit.word == *key) {
                let required = required.contains(&key.as_str());
                fits.push(SchemaSuggestion {
                    word: key.clone(),
                    description: self.describe_schema(value),
                    required,
                });
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
                fits.push(SchemaSuggestion { word, description: about, required: false });
            }
        };
        for part in self.applicable_schemas(None) {
            if let Some(word) = part.get("const") {
                add(word.to_string(), schema_description(part));
            }
            for word in part.get("enum").and_then(Value::as_array).into_iter().flatten() {
                add(word.to_string(), schema_description(part));
            }
            if part.get("type").and_then(Value::as_str) == Some("boolean") {
                add("true".to_owned(), String::new());
                add("false".to_owned(), String::new());
            }
        }
        fits
    }

    /// The description of the value here, with the values that it may have.
    pub fn description(&self) -> Option<String> {
        let text =
            self.own_schemas.iter().map(|one| self.describe_schema(one)).find(|text| !text.is_empty())?;
        let words: Vec<String> = self.values().into_iter().map(|fit| fit.word).collect();
        Some(if words.is_empty() { text } else { format!("{text}\nOne of {}.", words.join(", ")) })
    }

    /// Its own description, else that of what it refers to.
    fn describe_schema(&self, schema: &Value) -> String {
        let own = schema_description(schema);
        if !own.is_empty() {
            return own;
        }
        self.resolve_reference(schema).map(schema_description).unwrap_or_default()
    }

    fn resolve_reference(&self, schema: &Value) -> Option<&'a Value> {
        let name = schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")?;
        self.root.get("$defs")?.get(name)
    }

    /// Everything that holds for a value here, references and choices followed.
    fn applicable_schemas(&self, tree: Option<&EditorJsonTree>) -> Vec<&'a Value> {
        let mut found = Vec::new();
        for own in &self.own_schemas {
            self.follow_schema(own, tree, 0, &mut found);
        }
        found
    }

    fn follow_schema(
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
        let below = self.resolve_reference(schema).into_iter();
        let lists = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|word| schema.get(word)?.as_array());
        let choice = schema.get("if").and_then(|condition| {
            let word = if condition_holds(condition, tree) { "then" } else { "else" };
            schema.get(word)
        });
        for next in below.chain(lists.flatten()).chain(choice) {
            self.follow_schema(next, tree, depth + 1, found);
        }
    }
}

fn schema_description(schema: &Value) -> String {
    schema.get("description").and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn enum_words(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn property_schema<'a>(schema: &'a Value, key: &str) -> Option<&'a Value> {
    if let Some(known) = schema.get("properties").and_then(|known| known.get(key)) {
        return Some(known);
    }
    let patterns = schema.get("patternProperties").and_then(Value::as_object).into_iter().flatten();
    // keys of the user's own: what begins with `x_` is a note
    let own = patterns.map(|(_, value)| value).find(|value| value.is_object());
    own.or_else(|| schema.get("additionalProperties").filter(|value| value.is_object()))
        .filter(|_| !key.starts_with("x_") && !key.starts_with('$'))
}

/// The conditions that our schemas have: a type, the word at a key, or that a key is there.
fn condition_holds(condition: &Value, tree: Option<&EditorJsonTree>) -> bool {
    if let Some(other) = condition.get("not") {
        return !condition_holds(other, tree);
    }
    let list = condition
        .get("type")
        .is_none_or(|kind| kind != "array" || matches!(tree, Some(EditorJsonTree::Array { .. })));
    let there =
        enum_words(condition.get("required")).all(|key| tree.and_then(|tree| tree.get(key)).is_some());
    let fits = |key: &str, wanted: &Value| {
        let word = tree.and_then(|tree| tree.get(key)).and_then(EditorJsonTree::text);
        enum_words(wanted.get("enum")).any(|one| Some(one) == word)
    };
    let properties = condition.get("properties").and_then(Value::as_object).into_iter().flatten();
    list && there && properties.into_iter().all(|(key, wanted)| fits(key, wanted))
}
