//! Several values that a question wants, written one after the other, each of its own type.

use serde_json::{Map, Value};

use crate::text::{fit_to_columns, one_line};

/// A value that was written is shown so wide.
const SHOWN: usize = 60;

#[derive(Clone, PartialEq, Debug)]
pub struct AnswerFields {
    fields: Vec<AnswerField>,
    /// The values so far, in the order of the fields.
    values: Vec<Value>,
}

#[derive(Clone, PartialEq, Debug)]
struct AnswerField {
    name: String,
    /// Its JSON Schema in the question.
    schema: Value,
}

impl AnswerFields {
    pub fn from_schema(names: &[String], schema: Option<&Value>) -> Self {
        let own = |name: &String| schema.map(|schema| schema["properties"][name].clone()).unwrap_or_default();
        let fields = names.iter().map(|name| AnswerField { schema: own(name), name: name.clone() });
        Self { fields: fields.collect(), values: Vec::new() }
    }

    /// A line for each, with a mark at the current one.
    pub fn lines(&self) -> Vec<String> {
        let line = |(at, field): (usize, &AnswerField)| match self.values.get(at) {
            Some(Value::String(text)) => {
                format!("✓ {}: {}", field.words(), fit_to_columns(&one_line(text), SHOWN))
            }
            Some(value) => format!("✓ {}: {}", field.words(), fit_to_columns(&value.to_string(), SHOWN)),
            None if at == self.values.len() => format!("▸ {}", field.words()),
            None => format!("  {}", field.words()),
        };
        self.fields.iter().enumerate().map(line).collect()
    }

    /// What each of them is.
    pub fn words(&self) -> impl Iterator<Item = String> {
        self.fields.iter().map(AnswerField::words)
    }

    /// The description of the current one.
    pub fn current_description(&self) -> Option<String> {
        self.fields.get(self.values.len()).map(AnswerField::words)
    }

    /// Whether a field has a value already.
    pub fn is_started(&self) -> bool {
        !self.values.is_empty()
    }

    /// Takes the typed text for the current field; returns all values with the last one. A JSON object with some of the
    /// names is a whole answer, without a way back to the field before.
    ///
    /// # Errors
    /// The text is no valid value: why, in one line.
    pub fn accept_text(&mut self, text: &str) -> Result<Option<Value>, String> {
        let text = text.trim();
        if text.is_empty() && self.values.pop().is_some() {
            return Ok(None);
        }
        if let Some(all) = self.parse_all(text) {
            return self.check_all(all).map(Some);
        }
        let Some(field) = self.fields.get(self.values.len()) else { return Ok(None) };
        let value = field.parse_value(text)?;
        self.values.push(value);
        if self.values.len() < self.fields.len() {
            return Ok(None);
        }
        let names = self.fields.iter().map(|field| field.name.clone());
        Ok(Some(Value::Object(names.zip(self.values.iter().cloned()).collect())))
    }

    fn parse_all(&self, text: &str) -> Option<Map<String, Value>> {
        let Ok(Value::Object(all)) = serde_json::from_str(text) else { return None };
        self.fields.iter().any(|field| all.contains_key(&field.name)).then_some(all)
    }

    fn check_all(&self, all: Map<String, Value>) -> Result<Value, String> {
        for field in &self.fields {
            match all.get(&field.name) {
                None | Some(Value::Null) => return Err(format!("{} is missing", one_line(&field.name))),
                Some(value) => field.check_value(value)?,
            }
        }
        Ok(Value::Object(all))
    }
}

impl AnswerField {
    fn words(&self) -> String {
        let name = one_line(&self.name);
        let about = self.schema["description"].as_str().map(|text| format!(": {}", one_line(text)));
        match self.kind() {
            Some(kind) => format!("{name} ({kind}){}", about.unwrap_or_default()),
            None => format!("{name}{}", about.unwrap_or_default()),
        }
    }

    fn kind(&self) -> Option<String> {
        match &self.schema["type"] {
            Value::String(kind) => Some(kind.clone()),
            Value::Array(kinds) => {
                Some(kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "))
            }
            _ => None,
        }
    }

    fn accepts_type(&self, kind: &str) -> bool {
        match &self.schema["type"] {
            Value::String(own) => own == kind,
            Value::Array(kinds) => kinds.iter().any(|own| own == kind),
            _ => false,
        }
    }

    fn parse_value(&self, text: &str) -> Result<Value, String> {
        if text.is_empty() {
            return Err(format!("write {}: there is no default", self.words()));
        }
        let parsed = serde_json::from_str::<Value>(text).ok();
        let value = match (&self.schema["type"], parsed) {
            // without a type, only an object or array counts as JSON: a user would not type one as text
            (Value::Null, Some(value @ (Value::Object(_) | Value::Array(_)))) => value,
            (Value::Null, _) => Value::from(text),
            (_, Some(value)) if !value.is_string() && self.is_valid(&value) => value,
            _ if self.accepts_type("boolean") && !self.accepts_type("string") => {
                Value::from(yes_or_no(text)?)
            }
            (_, Some(value)) if !self.accepts_type("string") => value,
            _ => Value::from(text),
        };
        self.check_value(&value)?;
        Ok(value)
    }

    fn is_valid(&self, value: &Value) -> bool {
        self.check_value(value).is_ok()
    }

    fn check_value(&self, value: &Value) -> Result<(), String> {
        if self.schema.is_null() {
            return Ok(());
        }
        // one that cannot be used is for the run to complain of
        let Ok(validator) = jsonschema::validator_for(&self.schema) else { return Ok(()) };
        match validator.iter_errors(value).next() {
            Some(error) => Err(one_line(&format!("{}: {error}", self.name))),
            None => Ok(()),
        }
    }
}

fn yes_or_no(text: &str) -> Result<bool, String> {
    match text.to_lowercase().as_str() {
        "true" | "yes" | "y" => Ok(true),
        "false" | "no" | "n" => Ok(false),
        _ => Err(format!("`{}`: write yes or no", one_line(text))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fields() -> AnswerFields {
        let schema = json!({"properties": {
            "score": {"type": "integer", "minimum": 1, "description": "1 to 5"},
            "passed": {"type": "boolean"},
            "notes": {"type": "string"},
            "files": {"type": "array", "items": {"type": "string"}},
            "when": {"type": ["string", "null"]},
        }});
        let names = ["score", "passed", "notes", "files", "when", "free"].map(str::to_owned);
        AnswerFields::from_schema(&names, Some(&schema))
    }

    #[test]
    fn each_value_is_of_its_type_and_all_come_together() {
        let mut fields = fields();
        let rows = [
            ("", Err("write score (integer): 1 to 5")),
            ("three", Err("score: \"three\" is not of type \"integer\"")),
            ("0", Err("score: 0 is less than the minimum of 1")),
            ("3", Ok("▸ passed (boolean)")),
            ("perhaps", Err("write yes or no")),
            ("yes", Ok("▸ notes (string)")),
            ("", Ok("▸ passed (boolean)")),
            ("no", Ok("▸ notes (string)")),
            ("12", Ok("▸ files (array)")),
            ("a.rs", Err("files: \"a.rs\" is not of type \"array\"")),
            ("[\"a.rs\"]", Ok("▸ when (string or null)")),
            ("today", Ok("▸ free")),
        ];
        for (typed, expected) in rows {
            match (fields.accept_text(typed), expected) {
                (Ok(None), Ok(line)) => {
                    assert!(fields.lines().contains(&line.to_owned()), "{typed}: {fields:?}")
                }
                (Err(why), Err(part)) => assert!(why.contains(part), "{typed}: {why}"),
                (got, _) => panic!("{typed}: {got:?}"),
            }
        }
        assert_eq!(fields.lines()[0], "✓ score (integer): 1 to 5: 3");
        let all = json!({"score": 3, "passed": false, "notes": "12", "files": ["a.rs"], "when": "today",
                         "free": {"a": 1}});
        assert_eq!(fields.accept_text("{\"a\": 1}"), Ok(Some(all)));
    }

    #[test]
    fn an_object_stands_for_all_of_them() {
        let two = || AnswerFields::from_schema(&["a".to_owned(), "b".to_owned()], None);
        let rows = [
            ("{\"a\": 1, \"b\": [true]}", Ok(Some(json!({"a": 1, "b": [true]})))),
            ("{\"a\": 1}", Err("b is missing".to_owned())),
            ("{\"a\": 1, \"b\": null}", Err("b is missing".to_owned())),
        ];
        for (typed, expected) in rows {
            assert_eq!(two().accept_text(typed), expected, "{typed}");
        }
    }
}
