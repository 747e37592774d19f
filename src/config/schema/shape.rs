//! A table of an object's keys, and the JSON Schema that follows from it.

use serde_json::{Map, Value, json};

/// An object of a file: its keys in the order in which an editor shall offer them.
pub(super) struct Table {
    /// Its name below `$defs`.
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) fields: &'static [Field],
    /// Keys that must be there.
    pub(super) required: &'static [&'static str],
    /// What the reader takes; a field that is not among these is left out. `None`: all of them.
    pub(super) known: Option<&'static [&'static str]>,
    /// Keys that must be there where another one has a certain word: (key, word, required).
    pub(super) rules: &'static [(&'static str, &'static str, &'static [&'static str])],
}

pub(super) struct Field {
    pub(super) key: &'static str,
    pub(super) shape: Shape,
    pub(super) about: &'static str,
}

pub(super) const fn field(key: &'static str, shape: Shape, about: &'static str) -> Field {
    Field { key, shape, about }
}

/// What a value may look like.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    Text,
    Flag,
    /// A whole number from 1.
    Count,
    /// A whole number from 0.
    Whole,
    /// Any whole number.
    Integer,
    Number {
        min: f64,
        max: Option<f64>,
    },
    /// Any JSON.
    Any,
    /// An object of any kind.
    Object,
    /// A JSON Schema.
    Schema,
    /// One of a few words, each with its meaning.
    Words(&'static [(&'static str, &'static str)]),
    /// Another table.
    Table(&'static str),
    List(&'static Shape),
    /// Free names, each with a value of this shape.
    Map(&'static Shape),
    /// One of several shapes.
    Either(&'static [Shape]),
}

impl Table {
    /// An object that its reader takes with all of its fields.
    pub(super) const fn new(name: &'static str, about: &'static str, fields: &'static [Field]) -> Self {
        Self { name, about, fields, required: &[], known: None, rules: &[] }
    }

    pub(super) const fn requires(mut self, keys: &'static [&'static str]) -> Self {
        self.required = keys;
        self
    }

    pub(super) const fn rules(
        mut self,
        rules: &'static [(&'static str, &'static str, &'static [&'static str])],
    ) -> Self {
        self.rules = rules;
        self
    }

    fn takes(&self, key: &str) -> bool {
        self.known.is_none_or(|known| known.contains(&key))
    }

    /// The fields that the reader takes.
    fn live(&self) -> impl Iterator<Item = &Field> {
        self.fields.iter().filter(|field| self.takes(field.key))
    }

    fn schema(&self) -> Value {
        let mut properties = Map::new();
        for field in self.live() {
            properties.insert(field.key.to_owned(), described(field.shape.schema(), field.about));
        }
        let mut schema = Map::new();
        schema.insert("description".to_owned(), self.about.into());
        schema.insert("type".to_owned(), "object".into());
        schema.insert("properties".to_owned(), Value::Object(properties));
        let required: Vec<&str> = self.required.iter().copied().filter(|key| self.takes(key)).collect();
        if !required.is_empty() {
            schema.insert("required".to_owned(), json!(required));
        }
        let rules: Vec<Value> = self.rules.iter().filter_map(|rule| self.rule(rule)).collect();
        if !rules.is_empty() {
            schema.insert("allOf".to_owned(), Value::Array(rules));
        }
        close(&mut schema);
        Value::Object(schema)
    }

    fn rule(&self, (key, word, required): &(&str, &str, &[&str])) -> Option<Value> {
        let all = self.takes(key) && required.iter().all(|one| self.takes(one));
        all.then(|| {
            json!({"if": {"properties": {*key: {"const": word}}, "required": [key]},
                   "then": {"required": required}})
        })
    }
}

/// No keys but the listed ones, notes (`x_…`) and `$schema`.
pub(super) fn close(schema: &mut Map<String, Value>) {
    schema.insert("patternProperties".to_owned(), json!({"^(x_.*|\\$schema)$": true}));
    schema.insert("additionalProperties".to_owned(), false.into());
}

/// A schema with a description in front; one that only refers to another keeps its own beside the reference.
pub(super) fn described(schema: Value, about: &str) -> Value {
    let mut out = Map::new();
    out.insert("description".to_owned(), about.into());
    if let Value::Object(members) = schema {
        out.extend(members);
    }
    Value::Object(out)
}

impl Shape {
    pub(super) fn schema(self) -> Value {
        match self {
            Self::Text => json!({"type": "string"}),
            Self::Flag => json!({"type": "boolean"}),
            Self::Count => json!({"type": "integer", "minimum": 1}),
            Self::Whole => json!({"type": "integer", "minimum": 0}),
            Self::Integer => json!({"type": "integer"}),
            Self::Number { min, max: None } => json!({"type": "number", "minimum": min}),
            Self::Number { min, max: Some(max) } => {
                json!({"type": "number", "minimum": min, "maximum": max})
            }
            Self::Any => json!({}),
            Self::Object => json!({"type": "object"}),
            Self::Schema => json!({"type": ["object", "boolean"]}),
            Self::Words(words) => {
                let one = |(word, about): &(&str, &str)| json!({"const": word, "description": about});
                json!({"oneOf": words.iter().map(one).collect::<Vec<_>>()})
            }
            Self::Table(name) => json!({"$ref": format!("#/$defs/{name}")}),
            Self::List(item) => json!({"type": "array", "items": item.schema()}),
            Self::Map(value) => json!({"type": "object", "additionalProperties": value.schema()}),
            Self::Either(shapes) => {
                json!({"anyOf": shapes.iter().map(|shape| shape.schema()).collect::<Vec<_>>()})
            }
        }
    }
}

/// The definitions that `root` needs, directly or not, in the order of the tables.
pub(super) fn definitions(root: &Value, tables: &[&Table]) -> Map<String, Value> {
    let mut needed: Vec<String> = Vec::new();
    references(root, &mut needed);
    let mut at = 0;
    while let Some(name) = needed.get(at).cloned() {
        if let Some(table) = tables.iter().find(|table| table.name == name) {
            references(&table.schema(), &mut needed);
        }
        at += 1;
    }
    let live = tables.iter().filter(|table| needed.iter().any(|name| name == table.name));
    live.map(|table| (table.name.to_owned(), table.schema())).collect()
}

fn references(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            if let Some(name) =
                members.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix("#/$defs/"))
                && !found.iter().any(|known| known == name)
            {
                found.push(name.to_owned());
            }
            members.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
