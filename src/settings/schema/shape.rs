//! The JSON Schema that follows from the declaration of an object's keys.

use serde_json::{Map, Value, json};

use synthdev_language::key_declaration::{
    KeyDeclaration, ObjectDeclaration, TypeDeclaration, ValueShape, WordMeaning,
};

/// Something that a schema defines under a name.
pub(super) enum SchemaDefinition {
    Table(SchemaObject),
    Choice(SchemaTaggedUnion),
}

/// An object of a file: its keys in the order in which an editor shall offer them.
pub(super) struct SchemaObject {
    /// Its name below `$defs`.
    name: String,
    description: &'static str,
    keys: Vec<KeyDeclaration>,
}

/// An object whose keys depend on the word at its `type`.
pub(super) struct SchemaTaggedUnion {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) types: Vec<&'static TypeDeclaration>,
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

impl From<&ObjectDeclaration> for SchemaDefinition {
    fn from(object: &ObjectDeclaration) -> Self {
        Self::Table(SchemaObject::new(object.name, object.description, object.keys))
    }
}

impl SchemaObject {
    /// An object that its reader takes with all of these keys.
    pub(super) fn new(name: impl Into<String>, about: &'static str, keys: &[KeyDeclaration]) -> Self {
        Self { name: name.into(), description: about, keys: keys.to_vec() }
    }

    /// Leaves out what its reader does not take.
    pub(super) fn retain_keys(mut self, known: &[&str]) -> Self {
        self.keys.retain(|key| known.contains(&key.name));
        self
    }

    fn schema(&self) -> Value {
        let properties = self
            .keys
            .iter()
            .map(|key| (key.name.to_owned(), with_description(shape_schema(key.shape), key.description)));
        let required: Vec<&str> =
            self.keys.iter().filter(|key| key.is_required).map(|key| key.name).collect();
        let mut schema = Map::new();
        schema.insert("description".to_owned(), self.description.into());
        schema.insert("type".to_owned(), "object".into());
        schema.insert("properties".to_owned(), Value::Object(properties.collect()));
        if !required.is_empty() {
            schema.insert("required".to_owned(), json!(required));
        }
        close_object(&mut schema);
        Value::Object(schema)
    }
}

const TYPE: &str = "type";

impl SchemaTaggedUnion {
    /// The union itself and the table of each of its types.
    pub(super) fn definitions(self) -> Vec<SchemaDefinition> {
        let tables = self.types.iter().map(|kind| {
            let keys: Vec<KeyDeclaration> = kind.keys().copied().collect();
            SchemaObject::new(self.table_name(kind), kind.description, &keys).into()
        });
        let tables: Vec<SchemaDefinition> = tables.collect();
        std::iter::once(SchemaDefinition::Choice(self)).chain(tables).collect()
    }

    fn table_name(&self, kind: &TypeDeclaration) -> String {
        format!("{}_{}", if kind.word.is_empty() { "plain" } else { kind.word }, self.name)
    }

    /// One `if` per table: editors then report what is wrong with the object that is meant.
    fn schema(&self) -> Value {
        let then = |kind: &TypeDeclaration| json!({"$ref": format!("#/$defs/{}", self.table_name(kind))});
        let mut cases = Vec::new();
        let mut words = Vec::new();
        let mut plain = None;
        for kind in &self.types {
            if kind.word.is_empty() {
                plain = Some(kind);
                continue;
            }
            cases.push(json!({"if": {"properties": {TYPE: {"enum": [kind.word]}}, "required": [TYPE]},
                              "then": then(kind)}));
            words.push(json!({"const": kind.word, "description": kind.description}));
        }
        let mut schema = json!({"description": self.description, "type": "object"});
        match plain {
            Some(kind) => {
                cases.push(json!({"if": {"not": {"required": [TYPE]}}, "then": then(kind)}));
            }
            None => schema["required"] = json!([TYPE]),
        }
        let about = self.types.iter().flat_map(|kind| kind.keys()).find(|key| key.name == TYPE);
        let about = about.map_or("", |key| key.description);
        schema["properties"] = json!({TYPE: with_description(json!({"oneOf": words}), about)});
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

fn shape_schema(shape: ValueShape) -> Value {
    match shape {
        ValueShape::Text => json!({"type": "string"}),
        ValueShape::Flag => json!({"type": "boolean"}),
        ValueShape::Port => json!({"type": "integer", "minimum": 1024, "maximum": 65535}),
        ValueShape::Count => json!({"type": "integer", "minimum": 1}),
        ValueShape::Whole => json!({"type": "integer", "minimum": 0}),
        ValueShape::Integer => json!({"type": "integer"}),
        ValueShape::Number { min, max: None } => json!({"type": "number", "minimum": min}),
        ValueShape::Number { min, max: Some(max) } => {
            json!({"type": "number", "minimum": min, "maximum": max})
        }
        ValueShape::Any => json!({}),
        ValueShape::Object => json!({"type": "object"}),
        ValueShape::Words(words) => {
            let one = |word: &WordMeaning| json!({"const": word.word, "description": word.description});
            json!({"oneOf": words.iter().map(one).collect::<Vec<_>>()})
        }
        ValueShape::Ref(name) => json!({"$ref": format!("#/$defs/{name}")}),
        ValueShape::List(item) => json!({"type": "array", "items": shape_schema(*item)}),
        ValueShape::Map(value) => json!({"type": "object", "additionalProperties": shape_schema(*value)}),
        ValueShape::Either(shapes) => {
            json!({"anyOf": shapes.iter().map(|shape| shape_schema(*shape)).collect::<Vec<_>>()})
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
