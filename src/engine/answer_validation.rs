//! Whether a user's answer fits what a `pause` state asks for, and as which value.

use serde_json::{Map, Value};

use super::input::UserAnswer;
use synthdev_domain::workflow::{PauseKind, PauseSpec, value_kind};

/// The value of an answer.
///
/// # Errors
/// Every mistake in the answer, as text for the user.
pub fn validate_answer(pause: &PauseSpec, answer: UserAnswer) -> Result<Value, String> {
    let value = match answer {
        UserAnswer::Value { value } if !value.is_null() => value,
        UserAnswer::Text { text } if !text.trim().is_empty() => Value::String(text),
        UserAnswer::Continue if pause.default.is_none() && pause.kind == PauseKind::Approval => {
            Value::Bool(true)
        }
        UserAnswer::Unfit { detail } => return Err(detail),
        UserAnswer::Value { .. } | UserAnswer::Text { .. } | UserAnswer::Continue | UserAnswer::Stop => {
            return pause.default.clone().ok_or_else(|| "an answer is needed".to_owned());
        }
    };
    let value = convert_answer(pause, value)?;
    check_outputs(pause, &value)?;
    check_schema(pause, &value)?;
    Ok(only_declared(pause, value))
}

/// The requested increase of a budget, as a number or `{"budget": …}`; `None`: the same amount again.
pub fn requested_increase(answer: &UserAnswer) -> Option<f64> {
    let UserAnswer::Value { value } = answer else { return None };
    let amount = value.get("budget").unwrap_or(value).as_f64()?;
    (amount.is_finite() && amount > 0.0).then_some(amount)
}

/// The user's decision about a tool of which it is unknown whether it took effect.
#[derive(Clone, PartialEq, Debug)]
pub enum UncertainCallResolution {
    Repeat,
    /// It did, with this result.
    Done(Value),
    /// Continue without it, whatever it did.
    Skip,
}

/// `repeat`, `done` or `skip`, alone or as `{"decision": …, "result": …}`.
///
/// # Errors
/// It is none of these.
pub fn parse_resolution(answer: &UserAnswer) -> Result<UncertainCallResolution, String> {
    let (word, result) = match answer {
        UserAnswer::Continue => ("repeat", None),
        UserAnswer::Text { text } => (text.trim(), None),
        UserAnswer::Value { value: Value::String(text) } => (text.trim(), None),
        UserAnswer::Value { value } => (value["decision"].as_str().unwrap_or_default(), value.get("result")),
        UserAnswer::Stop | UserAnswer::Unfit { .. } => ("", None),
    };
    match word.to_lowercase().as_str() {
        "repeat" | "again" => Ok(UncertainCallResolution::Repeat),
        "done" => Ok(UncertainCallResolution::Done(result.cloned().unwrap_or(Value::Null))),
        "skip" => Ok(UncertainCallResolution::Skip),
        _ => Err(format!("`{word}`: say repeat, done (with a \"result\" if it matters), or skip")),
    }
}

fn convert_answer(pause: &PauseSpec, value: Value) -> Result<Value, String> {
    let found = value_kind(&value);
    match (pause.kind, value) {
        (PauseKind::Approval | PauseKind::Boolean, Value::Bool(yes)) => Ok(Value::Bool(yes)),
        (PauseKind::Approval | PauseKind::Boolean, Value::String(text)) => {
            yes_or_no(&text).map(Value::Bool).ok_or_else(|| format!("`{}`: answer yes or no", text.trim()))
        }
        (PauseKind::Number, Value::Number(number)) => Ok(Value::Number(number)),
        (PauseKind::Number, Value::String(text)) => {
            let number = serde_json::from_str::<Value>(text.trim()).ok().filter(Value::is_number);
            number.ok_or_else(|| format!("`{}` is no number", text.trim()))
        }
        (PauseKind::Text, Value::String(text)) => Ok(Value::String(text)),
        (PauseKind::Choice, Value::String(text)) => match_choice(pause, &text),
        (PauseKind::Outputs, Value::Object(fields)) => Ok(Value::Object(fields)),
        (PauseKind::Outputs, Value::String(text)) => split_outputs(pause, text),
        (kind, _) => Err(format!("{} is expected, this is {found}", kind_name(kind))),
    }
}

fn kind_name(kind: PauseKind) -> &'static str {
    match kind {
        PauseKind::Approval | PauseKind::Boolean => "yes or no",
        PauseKind::Text => "a text",
        PauseKind::Number => "a number",
        PauseKind::Choice => "one of the choices",
        PauseKind::Outputs => "an object",
    }
}

fn yes_or_no(text: &str) -> Option<bool> {
    match text.trim().to_lowercase().as_str() {
        "yes" | "y" | "true" | "approve" | "approved" | "ok" => Some(true),
        "no" | "n" | "false" | "deny" | "denied" | "reject" | "rejected" => Some(false),
        _ => None,
    }
}

fn match_choice(pause: &PauseSpec, text: &str) -> Result<Value, String> {
    let text = text.trim();
    let exact = pause.choices.iter().find(|choice| choice.as_str() == text);
    let found =
        exact.or_else(|| pause.choices.iter().find(|choice| choice.to_lowercase() == text.to_lowercase()));
    found.map(|choice| Value::String(choice.clone())).ok_or_else(|| {
        let list: Vec<String> = pause.choices.iter().map(|choice| format!("`{choice}`")).collect();
        format!("`{text}` is none of {}", list.join(", "))
    })
}

/// A text for a single output is that output; for several it must be an object in JSON.
fn split_outputs(pause: &PauseSpec, text: String) -> Result<Value, String> {
    let object = serde_json::from_str::<Value>(text.trim()).ok().filter(Value::is_object);
    match (object, pause.required_outputs.as_slice()) {
        (Some(object), _) => Ok(object),
        (None, [one]) => Ok(Value::Object(Map::from_iter([(one.clone(), Value::String(text))]))),
        (None, names) => Err(format!("write a JSON object with {}", names.join(", "))),
    }
}

/// All that is missing, at once.
fn check_outputs(pause: &PauseSpec, value: &Value) -> Result<(), String> {
    let there = |name: &&String| value.get(name.as_str()).is_some_and(|value| !value.is_null());
    let missing: Vec<&str> =
        pause.required_outputs.iter().filter(|name| !there(name)).map(String::as_str).collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("missing: {}", missing.join(", "))) }
}

fn check_schema(pause: &PauseSpec, value: &Value) -> Result<(), String> {
    let Some(schema) = &pause.schema else { return Ok(()) };
    let validator =
        jsonschema::validator_for(schema).map_err(|error| format!("the schema is broken: {error}"))?;
    let problems: Vec<String> = validator
        .iter_errors(value)
        .map(|error| match error.instance_path().to_string() {
            at if at.is_empty() => error.to_string(),
            at => format!("{at}: {error}"),
        })
        .collect();
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
}

/// Drops keys that the state did not ask for.
fn only_declared(pause: &PauseSpec, value: Value) -> Value {
    if pause.kind != PauseKind::Outputs || pause.required_outputs.is_empty() {
        return value;
    }
    let Value::Object(fields) = value else { return value };
    fields.into_iter().filter(|(name, _)| pause.required_outputs.contains(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pause(kind: PauseKind) -> PauseSpec {
        PauseSpec { choices: vec!["Keep".to_owned(), "Drop".to_owned()], ..PauseSpec::new(kind) }
    }

    fn text(text: &str) -> UserAnswer {
        UserAnswer::Text { text: text.to_owned() }
    }

    fn value(value: Value) -> UserAnswer {
        UserAnswer::Value { value }
    }

    #[test]
    fn answers_become_values_of_the_kind() {
        let outputs = |names: [&str; 2]| PauseSpec {
            required_outputs: names.map(str::to_owned).to_vec(),
            ..pause(PauseKind::Outputs)
        };
        let one = PauseSpec { required_outputs: vec!["plan".to_owned()], ..pause(PauseKind::Outputs) };
        let with_default = PauseSpec { default: Some(json!("d")), ..pause(PauseKind::Text) };
        let positive = PauseSpec { schema: Some(json!({"minimum": 1})), ..pause(PauseKind::Number) };
        let rows = [
            (pause(PauseKind::Approval), text(" Yes "), Ok(json!(true))),
            (pause(PauseKind::Approval), value(json!(false)), Ok(json!(false))),
            (pause(PauseKind::Approval), UserAnswer::Continue, Ok(json!(true))),
            (pause(PauseKind::Approval), text("perhaps"), Err("yes or no")),
            (pause(PauseKind::Number), text("4.5"), Ok(json!(4.5))),
            (pause(PauseKind::Number), text("four"), Err("no number")),
            (pause(PauseKind::Number), value(json!([1])), Err("a number is expected, this is array")),
            (pause(PauseKind::Text), text("  words"), Ok(json!("  words"))),
            (pause(PauseKind::Text), text("  "), Err("needed")),
            (pause(PauseKind::Text), value(Value::Null), Err("needed")),
            (with_default.clone(), text(" "), Ok(json!("d"))),
            (with_default, UserAnswer::Continue, Ok(json!("d"))),
            (pause(PauseKind::Choice), text("keep"), Ok(json!("Keep"))),
            (pause(PauseKind::Choice), text("both"), Err("none of `Keep`, `Drop`")),
            (positive.clone(), text("0"), Err("minimum")),
            (positive, text("2"), Ok(json!(2))),
            (outputs(["a", "b"]), value(json!({"a": 1, "b": 2, "c": 3})), Ok(json!({"a": 1, "b": 2}))),
            (outputs(["a", "b"]), value(json!({"b": null})), Err("missing: a, b")),
            (outputs(["a", "b"]), text("{\"a\": 1, \"b\": 0}"), Ok(json!({"a": 1, "b": 0}))),
            (outputs(["a", "b"]), text("words"), Err("a JSON object with a, b")),
            (one, text("the plan"), Ok(json!({"plan": "the plan"}))),
        ];
        for (pause, answer, expected) in rows {
            let about = format!("{:?} {answer:?}", pause.kind);
            match (validate_answer(&pause, answer), expected) {
                (Ok(got), Ok(wanted)) => assert_eq!(got, wanted, "{about}"),
                (Err(got), Err(part)) => assert!(got.contains(part), "{about}: {got}"),
                (got, wanted) => panic!("{about}: {got:?}, not {wanted:?}"),
            }
        }
    }
}
