//! The tools of a request as every protocol offers them: each name once, each schema that of an object.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::domain::model::ModelRequest;

/// One tool, ordinary or parsing.
#[derive(Clone, Copy, Debug)]
pub struct Offered<'a> {
    pub name: &'a str,
    pub description: &'a str,
    schema: &'a Value,
}

/// Ordinary tools first; of two with one name the first counts.
pub fn offered(request: &ModelRequest) -> Vec<Offered<'_>> {
    let ordinary = request.tools.iter().map(|tool| (&tool.name, &tool.description, &tool.parameters));
    let parsing = request.parsing_tools.iter().map(|tool| (&tool.name, &tool.description, &tool.parameters));
    let mut seen = HashSet::new();
    ordinary
        .chain(parsing)
        .filter(|(name, ..)| seen.insert(name.as_str()))
        .map(|(name, description, schema)| Offered { name, description, schema })
        .collect()
}

impl Offered<'_> {
    /// A schema of an object with `properties`, which is the least that servers take.
    pub fn schema(&self) -> Value {
        let Value::Object(members) = self.schema else {
            return json!({ "type": "object", "properties": {} });
        };
        let mut members = members.clone();
        members.entry("type").or_insert_with(|| json!("object"));
        members.entry("properties").or_insert_with(|| json!({}));
        Value::Object(members)
    }
}
