//! A table of an object's keys, and the JSON Schema that follows from it.

use serde_json::{Map, Value, json};

/// Something that a schema defines under a name.
pub(super) enum SchemaDefinition {
    Table(SchemaObject),
    Choice(SchemaTaggedUnion),
}

/// An object of a file: its keys in the order in which an editor shall offer them.
pub(super) struct SchemaObject {
    /// Its name below `$defs`.
    pub(super) name: String,
    pub(super) description: &'static str,
    pub(super) fields: Vec<SchemaField>,
    /// Keys that must be there.
    pub(super) required: &'static [&'static str],
}

/// An object whose keys depend on the word at one of them.
pub(super) struct SchemaTaggedUnion {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) key: &'static str,
    pub(super) key_description: &'static str,
    /// Each word with its meaning and the table of its object; several words may share a table.
    pub(super) variants: Vec<(&'static str, &'static str, String)>,
    /// The table of objects without that key; `None`: it must be there.
    pub(super) default_table: Option<String>,
}

#[derive(Clone, Copy)]
pub(super) struct SchemaField {
    pub(super) key: &'static str,
    pub(super) value_shape: SchemaShape,
    pub(super) description: &'static str,
}

pub(super) const fn schema_field(key: &'static str, shape: SchemaShape, about: &'static str) -> SchemaField {
    SchemaField { key, value_shape: shape, description: about }
}

/// What a value may look like.
#[derive(Clone, Copy)]
pub(super) enum SchemaShape {
    Text,
    Flag,
    /// A whole number from 1.
    Count,
    /// Of a network, where every user may listen.
    Port,
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
    /// One of a few words, each with its meaning.
    Words(&'static [(&'static str, &'static str)]),
    /// Another definition.
    Ref(&'static str),
    List(&'static SchemaShape),
    /// Free names, each with a value of this shape.
    Map(&'static SchemaShape),
    /// One of several shapes.
    Either(&'static [SchemaShape]),
}

impl SchemaDefinition {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Table(table) => &table.name,
            Self::Choice(choice) => choice.name,
        }
    }

    fn schema(&self) -> Value {
        match self {
            Self::Table(table) => table.schema(),
            Self::Choice(choice) => choice.schema(),
        }
    }
}

impl From<SchemaObject> for SchemaDefinition {
    fn from(table: SchemaObject) -> Self {
        Self::Table(table)
    }
}

impl SchemaObject {
    /// An object that its reader takes with all of these fields.
    pub(super) fn new(name: impl Into<String>, about: &'static str, fields: &[SchemaField]) -> Self {
        Self { name: name.into(), description: about, fields: fields.to_vec(), required: &[] }
    }

    /// Leaves out what its reader does not take.
    pub(super) fn retain_keys(mut self, known: &[&str]) -> Self {
        self.fields.retain(|field| known.contains(&field.key));
        self
    }

    pub(super) fn require_keys(mut self, keys: &'static [&'static str]) -> Self {
        self.required = keys;
        self
    }

    fn schema(&self) -> Value {
        let mut properties = Map::new();
        for field in &self.fields {
            properties.insert(
                field.key.to_owned(),
                with_description(field.value_shape.schema(), field.description),
            );
        }
        let mut schema = Map::new();
        schema.insert("description".to_owned(), self.description.into());
        schema.insert("type".to_owned(), "object".into());
        schema.insert("properties".to_owned(), Value::Object(properties));
        if !self.required.is_empty() {
            schema.insert("required".to_owned(), json!(self.required));
        }
        close_object(&mut schema);
        Value::Object(schema)
    }
}

impl SchemaTaggedUnion {
    /// One `if` per table: editors then report what is wrong with the object that is meant.
    fn schema(&self) -> Value {
        let mut tables: Vec<&str> = self.variants.iter().map(|(_, _, table)| table.as_str()).collect();
        tables.dedup();
        let mut cases: Vec<Value> = tables
            .into_iter()
            .map(|table| {
                let words: Vec<&str> = self
                    .variants
                    .iter()
                    .filter(|(_, _, one)| one == table)
                    .map(|(word, _, _)| *word)
                    .collect();
                json!({"if": {"properties": {self.key: {"enum": words}}, "required": [self.key]},
                       "then": {"$ref": format!("#/$defs/{table}")}})
            })
            .collect();
        let mut schema = json!({"description": self.description, "type": "object"});
        let words = self.variants.iter().map(|(word, about, _)| json!({"const": word, "description": about}));
        let words = json!({"oneOf": words.collect::<Vec<_>>()});
        match &self.default_table {
            Some(table) => cases.push(json!({"if": {"not": {"required": [self.key]}},
                                             "then": {"$ref": format!("#/$defs/{table}")}})),
            None => schema["required"] = json!([self.key]),
        }
        schema["properties"] = json!({self.key: with_description(words, self.key_description)});
        schema["allOf"] = Value::Array(cases);
        schema
    }
}

/// No keys but the listed ones, notes (`x_…`) and `$schema`.
pub(super) fn close_object(schema: &mut Map<String, Value>) {
    schema.insert("patternProperties".to_owned(), json!({"^(x_.*|\\$schema)$": true}));
    schema.insert("additionalProperties".to_owned(), false.into());
}

/// A schema with a description in front; one that only refers to another keeps its own beside the reference.
pub(super) fn with_description(schema: Value, about: &str) -> Value {
    let mut out = Map::new();
    out.insert("description".to_owned(), about.into());
    if let Value::Object(members) = schema {
        out.extend(members);
    }
    Value::Object(out)
}

impl SchemaShape {
    pub(super) fn schema(self) -> Value {
        match self {
            Self::Text => json!({"type": "string"}),
            Self::Flag => json!({"type": "boolean"}),
            Self::Port => json!({"type": "integer", "minimum": 1024, "maximum": 65535}),
            Self::Count => json!({"type": "integer", "minimum": 1}),
            Self::Whole => json!({"type": "integer", "minimum": 0}),
            Self::Integer => json!({"type": "integer"}),
            Self::Number { min, max: None } => json!({"type": "number", "minimum": min}),
            Self::Number { min, max: Some(max) } => {
                json!({"type": "number", "minimum": min, "maximum": max})
            }
            Self::Any => json!({}),
            Self::Object => json!({"type": "object"}),
            Self::Words(words) => {
                let one = |(word, about): &(&str, &str)| json!({"const": word, "description": about});
                json!({"oneOf": words.iter().map(one).collect::<Vec<_>>()})
            }
            Self::Ref(name) => json!({"$ref": format!("#/$defs/{name}")}),
            Self::List(item) => json!({"type": "array", "items": item.schema()}),
            Self::Map(value) => json!({"type": "object", "additionalProperties": value.schema()}),
            Self::Either(shapes) => {
                json!({"anyOf": shapes.iter().map(|shape| shape.schema()).collect::<Vec<_>>()})
            }
        }
    }
}

/// The definitions that `root` needs, directly or not, in their order.
pub(super) fn needed_definitions(root: &Value, all: &[SchemaDefinition]) -> Map<String, Value> {
    let mut needed: Vec<String> = Vec::new();
    collect_references(root, &mut needed);
    let mut at = 0;
    while let Some(name) = needed.get(at).cloned() {
        if let Some(found) = all.iter().find(|one| one.name() == name) {
            collect_references(&found.schema(), &mut needed);
        }
        at += 1;
    }
    let live = all.iter().filter(|one| needed.iter().any(|name| name == one.name()));
    live.map(|one| (one.name().to_owned(), one.schema())).collect()
}

/// Every definition that a schema refers to, added to those found before.
pub(super) fn collect_references(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            if let Some(name) =
                members.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix("#/$defs/"))
                && !found.iter().any(|known| known == name)
            {
                found.push(name.to_owned());
            }
            members.values().for_each(|value| collect_references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_references(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
