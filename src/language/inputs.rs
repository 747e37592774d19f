//! Inputs of a workflow from the user or a caller, checked against the declared inputs and converted.

use serde_json::{Map, Value};

use super::did_you_mean;
use super::json::JsonNode;
use super::source::{FileDiagnostics, SourceFile};
use synthdev_domain::source_location::ConfigLayer;
use synthdev_domain::workflow::{ParameterType, WorkflowParameter};

/// Why an input was refused; names the field.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct InputError {
    /// The field; empty if the whole is meant.
    pub parameter: String,
    pub message: String,
    pub hint: String,
    /// The inputs that were not given: ask for them, or wait if the workflow starts on user input. Empty: a value is
    /// wrong.
    pub missing: Vec<String>,
}

impl InputError {
    pub fn is_missing(&self) -> bool {
        !self.missing.is_empty()
    }
}

/// The rest of a command line. With one declared input the text is its value, and so it is with the only one of
/// several that must be given; otherwise it must be a JSON object. One matching outer pair of quotes is removed.
pub fn from_text(parameters: &[WorkflowParameter], text: &str) -> Result<Map<String, Value>, InputError> {
    let text = strip_outer_quotes(text.trim());
    match parameters {
        [] if text.is_empty() => Ok(Map::new()),
        [] => Err(input_error("", "this workflow takes no input".to_owned(), "leave the text out")),
        [only] if text.is_empty() && only.required => Err(missing_input_error(&[only])),
        [_] if text.is_empty() => from_values(parameters, &Map::new()),
        [only] => {
            let value = convert_and_check(only, &Value::from(text))?;
            Ok(Map::from_iter([(only.name.clone(), value)]))
        }
        many if text.is_empty() => from_values(many, &Map::new()),
        many => match parse_json(text) {
            Some(Value::Object(values)) => from_values(many, &values),
            _ => match only_required(many) {
                Some(only) => from_values(many, &Map::from_iter([(only.name.clone(), Value::from(text))])),
                None => {
                    let names: Vec<&str> = many.iter().map(|one| one.name.as_str()).collect();
                    let message = format!("this workflow takes several inputs: {}", names.join(", "));
                    Err(input_error("", message, "give them as a JSON object: {\"name\": value, …}"))
                }
            },
        },
    }
}

fn only_required(parameters: &[WorkflowParameter]) -> Option<&WorkflowParameter> {
    let mut required = parameters.iter().filter(|parameter| parameter.required);
    required.next().filter(|_| required.next().is_none())
}

/// Named values, for callers that have them. Unknown names are refused.
pub fn from_values(
    parameters: &[WorkflowParameter],
    values: &Map<String, Value>,
) -> Result<Map<String, Value>, InputError> {
    for name in values.keys() {
        if !parameters.iter().any(|parameter| parameter.name == *name) {
            let names: Vec<&str> = parameters.iter().map(|one| one.name.as_str()).collect();
            let hint = did_you_mean::suggest_or_list(name, "inputs", &names);
            let hint = hint.unwrap_or_else(|| "this workflow takes no input".to_owned());
            return Err(input_error(name, format!("there is no input `{name}`"), &hint));
        }
    }
    let is_absent = |parameter: &&WorkflowParameter| {
        parameter.required && values.get(&parameter.name).is_none_or(Value::is_null)
    };
    let missing: Vec<&WorkflowParameter> = parameters.iter().filter(is_absent).collect();
    if !missing.is_empty() {
        return Err(missing_input_error(&missing));
    }
    let mut checked = Map::new();
    for parameter in parameters {
        match values.get(&parameter.name) {
            None | Some(Value::Null) => {
                let usual = parameter.default.clone();
                checked.extend(usual.map(|value| (parameter.name.clone(), value)));
            }
            Some(value) => {
                checked.insert(parameter.name.clone(), convert_and_check(parameter, value)?);
            }
        }
    }
    Ok(checked)
}

/// One value, converted, and checked against the parameter's schema.
///
/// # Errors
/// What is wrong with the value, or with the schema.
pub fn convert_and_check(parameter: &WorkflowParameter, value: &Value) -> Result<Value, InputError> {
    let converted = convert_value(parameter, value)?;
    let Some(schema) = &parameter.schema else { return Ok(converted) };
    let name = &parameter.name;
    let validator = jsonschema::validator_for(schema).map_err(|error| {
        let message = format!("the schema of `{name}` cannot be used: {error}");
        input_error(name, message, "correct it in the workflow file")
    })?;
    let problems: Vec<String> = validator
        .iter_errors(&converted)
        .map(|error| match error.instance_path().to_string() {
            at if at.is_empty() => error.to_string(),
            at => format!("{at}: {error}"),
        })
        .collect();
    if problems.is_empty() {
        return Ok(converted);
    }
    let message = format!("`{name}` does not fit its schema: {}", problems.join("; "));
    Err(input_error(name, message, &format!("it must fit {}", short_value(schema))))
}

/// One value to its declared type: text becomes a number, a boolean, or JSON with comments; a number or
/// boolean becomes text where text is declared. The same border holds for outputs.
pub fn convert_value(parameter: &WorkflowParameter, value: &Value) -> Result<Value, InputError> {
    let text = value.as_str().map(str::trim);
    let converted = match (parameter.kind, value) {
        (ParameterType::String, Value::String(_))
        | (ParameterType::Number, Value::Number(_))
        | (ParameterType::Boolean, Value::Bool(_))
        | (ParameterType::Object, Value::Object(_))
        | (ParameterType::Array, Value::Array(_)) => Some(value.clone()),
        (ParameterType::String, Value::Number(_) | Value::Bool(_)) => Some(Value::from(value.to_string())),
        (ParameterType::Number, _) => text.and_then(|text| parse_json(text).filter(Value::is_number)),
        (ParameterType::Boolean, _) => text.and_then(|text| parse_json(text).filter(Value::is_boolean)),
        (ParameterType::Object, _) => text.and_then(|text| parse_json(text).filter(Value::is_object)),
        (ParameterType::Array, _) => text.and_then(|text| parse_json(text).filter(Value::is_array)),
        (ParameterType::String, _) => None,
    };
    converted.ok_or_else(|| {
        let kind = parameter.kind.as_str();
        let message = format!("`{}` must be of type {kind}, found {}", parameter.name, short_value(value));
        input_error(&parameter.name, message, example_value(parameter.kind))
    })
}

fn parse_json(text: &str) -> Option<Value> {
    let file = SourceFile::new(ConfigLayer::CommandLine, "input", text);
    let mut findings = FileDiagnostics::new(&file);
    let node = JsonNode::parse(&file, &mut findings)?;
    (!findings.has_errors()).then(|| node.to_value())
}

/// Removes one pair of quotes that surrounds everything: `"say "hi" now"` is one text in quotes,
/// `"a" and "b"` are two.
fn strip_outer_quotes(text: &str) -> &str {
    for quote in ['"', '\''] {
        let inner = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        if let Some(inner) = inner.filter(|inner| has_nested_quotes(inner, quote)) {
            return inner;
        }
    }
    text
}

/// Whether the quotes inside open and close among themselves. One after a space opens, one before a space
/// closes, one inside a word is an apostrophe.
fn has_nested_quotes(inner: &str, quote: char) -> bool {
    let outside = |letter: Option<char>| letter.is_none_or(char::is_whitespace);
    let mut depth = 0_usize;
    for (at, _) in inner.match_indices(quote) {
        let (before, after) =
            (inner[..at].chars().next_back(), inner[at + quote.len_utf8()..].chars().next());
        match (outside(before), outside(after)) {
            (true, false) => depth += 1,
            (false, false) if after != Some(quote) && before != Some(quote) => {}
            _ if depth == 0 => return false,
            _ => depth -= 1,
        }
    }
    depth == 0
}

fn short_value(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 60 {
        text
    } else {
        format!("{}…", text.chars().take(59).collect::<String>())
    }
}

fn example_value(kind: ParameterType) -> &'static str {
    match kind {
        ParameterType::String => "give a text",
        ParameterType::Number => "give a number, for example 3 or 0.5",
        ParameterType::Boolean => "give true or false",
        ParameterType::Object => "give a JSON object: {\"name\": value}",
        ParameterType::Array => "give a JSON list: [1, 2]",
    }
}

fn missing_input_error(missing: &[&WorkflowParameter]) -> InputError {
    let names: Vec<String> = missing.iter().map(|parameter| parameter.name.clone()).collect();
    let describe = |parameter: &&WorkflowParameter| {
        let WorkflowParameter { name, kind, description, .. } = parameter;
        let about = if description.is_empty() { String::new() } else { format!(": {description}") };
        format!("`{name}` ({}){about}", kind.as_str())
    };
    let message = match names.as_slice() {
        [name] => format!("the input `{name}` is missing"),
        _ => format!("the inputs `{}` are missing", names.join("`, `")),
    };
    let each: Vec<String> = missing.iter().map(describe).collect();
    InputError {
        parameter: names.first().cloned().unwrap_or_default(),
        message,
        hint: format!("give {}", each.join("; ")),
        missing: names,
    }
}

fn input_error(parameter: &str, message: String, hint: &str) -> InputError {
    InputError { parameter: parameter.to_owned(), message, hint: hint.to_owned(), missing: Vec::new() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parameter(name: &str, kind: ParameterType) -> WorkflowParameter {
        WorkflowParameter {
            name: name.into(),
            kind,
            description: String::new(),
            required: true,
            default: None,
            schema: None,
        }
    }

    #[test]
    fn one_input_takes_the_rest_of_the_line() {
        use ParameterType::{Array, Boolean, Number, Object, String};
        let rows = [
            (String, "fix it", Ok(json!("fix it"))),
            (String, "\"fix it\"", Ok(json!("fix it"))),
            (String, "'fix it'", Ok(json!("fix it"))),
            (String, "\"a\" and \"b\"", Ok(json!("\"a\" and \"b\""))),
            (String, "\"say \"hi\" now\"", Ok(json!("say \"hi\" now"))),
            (String, "\"print \"x\"\"", Ok(json!("print \"x\""))),
            (String, "'don't \"stop\"'", Ok(json!("don't \"stop\""))),
            (String, "\"", Ok(json!("\""))),
            (String, "42", Ok(json!("42"))),
            (Number, " 42 ", Ok(json!(42))),
            (Number, "\"0.5\"", Ok(json!(0.5))),
            (Number, "4x", Err("`x` must be of type number, found \"4x\"")),
            (Boolean, "true", Ok(json!(true))),
            (Boolean, "yes", Err("`x` must be of type boolean, found \"yes\"")),
            (Object, "{\"a\": 1, /* c */ }", Ok(json!({"a": 1}))),
            (Object, "[1]", Err("`x` must be of type object, found \"[1]\"")),
            (Array, "[1, 2,]", Ok(json!([1, 2]))),
            (String, "", Err("the input `x` is missing")),
            (String, "\"\"", Err("the input `x` is missing")),
        ];
        for (kind, text, expected) in rows {
            let found = from_text(&[parameter("x", kind)], text);
            let found = found.map(|map| map["x"].clone()).map_err(|error| error.message);
            assert_eq!(found, expected.map_err(str::to_owned), "{kind:?} {text}");
        }
        assert!(from_text(&[parameter("x", String)], "").unwrap_err().is_missing());
    }

    #[test]
    fn several_inputs_come_as_an_object() {
        let mut many = [parameter("a", ParameterType::Number), parameter("b", ParameterType::String)];
        many[1].required = false;
        assert_eq!(from_text(&many, "{\"a\": \"3\"}").unwrap(), *json!({"a": 3}).as_object().unwrap());
        let rows = [
            ("{\"a\": 1, \"c\": 2}", "c", "there is no input `c`"),
            ("{\"b\": \"x\"}", "a", "the input `a` is missing"),
            ("", "a", "the input `a` is missing"),
            ("just text", "a", "`a` must be of type number, found \"just text\""),
            ("{\"a\": []}", "a", "`a` must be of type number, found []"),
        ];
        for (text, field, message) in rows {
            let error = from_text(&many, text).unwrap_err();
            assert_eq!((error.parameter.as_str(), error.message.as_str()), (field, message), "{text}");
        }
        assert_eq!(from_text(&many, "3").unwrap(), *json!({"a": 3}).as_object().unwrap());
        many[1].required = true;
        let error = from_text(&many, "just text").unwrap_err();
        assert_eq!(error.message, "this workflow takes several inputs: a, b");
        let error = from_text(&many, "").unwrap_err();
        assert_eq!(error.message, "the inputs `a`, `b` are missing");
        assert_eq!(error.hint, "give `a` (number); `b` (string)");
        assert_eq!(error.missing, ["a", "b"]);
        assert!(from_text(&[], "x").is_err() && from_text(&[], "").unwrap().is_empty());
    }

    #[test]
    fn what_is_not_given_has_its_default_and_what_is_given_fits_its_schema() {
        let mut count = parameter("n", ParameterType::Number);
        count.required = false;
        count.default = Some(json!(3));
        count.schema = Some(json!({"type": "integer", "minimum": 1}));
        for (text, expected) in [
            ("", Ok(json!(3))),
            ("7", Ok(json!(7))),
            ("0", Err("`n` does not fit its schema: 0 is less than the minimum of 1")),
            ("1.5", Err("`n` does not fit its schema: 1.5 is not of type \"integer\"")),
        ] {
            let found = from_text(std::slice::from_ref(&count), text);
            let found = found.map(|map| map["n"].clone()).map_err(|error| error.message);
            assert_eq!(found, expected.map_err(str::to_owned), "{text}");
        }
        let both = [count, parameter("b", ParameterType::String)];
        assert_eq!(
            from_text(&both, "{\"b\": \"x\"}").unwrap(),
            *json!({"n": 3, "b": "x"}).as_object().unwrap()
        );
    }
}
