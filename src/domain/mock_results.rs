//! What a simulated run gets instead of real results: results of tools, answers of users, patterns on texts.
//!
//! Owns the values and how they are chosen. Refuses to read files (`config/test_file`) and to run anything.

use regex::Regex;
use serde_json::Value;

/// What a text must hold: a plain part of it, or a regular expression.
#[derive(Clone, Debug)]
pub struct TextPattern {
    text: String,
    pattern: Option<Regex>,
}

impl TextPattern {
    pub fn new(text: &str) -> Self {
        // A text that is no valid regular expression still matches as a substring.
        Self { text: text.to_owned(), pattern: Regex::new(text).ok() }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn matches_text(&self, text: &str) -> bool {
        text.contains(&self.text) || self.pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
    }
}

/// Which calls of a tool a result is for.
#[derive(Clone, Debug)]
pub enum ArgumentsPattern {
    /// Found in the arguments as JSON text.
    Text(TextPattern),
    /// Every value of it is in the arguments, at the same place.
    Part(Value),
}

impl ArgumentsPattern {
    pub fn matches_arguments(&self, arguments: &Value) -> bool {
        match self {
            Self::Text(fit) => fit.matches_text(&arguments.to_string()),
            Self::Part(part) => contains_json(arguments, part),
        }
    }
}

/// What a tool or step answers instead of being run.
#[derive(Clone, Debug)]
pub struct MockToolResult {
    pub arguments_pattern: Option<ArgumentsPattern>,
    pub ok: bool,
    /// For the model.
    pub content: String,
    /// For the transitions of a step.
    pub data: Option<Value>,
    /// Simulated milliseconds that it takes.
    pub delay_ms: u64,
    /// Is used for further calls; never counted as unused.
    pub is_repeatable: bool,
}

/// A simulated user's answer to a question of the run.
#[derive(Clone, Debug)]
pub struct MockUserAnswer {
    /// The pause state that asks; `None`: any.
    pub state: Option<String>,
    /// What the question must hold.
    pub question_pattern: Option<TextPattern>,
    pub reaction: MockReaction,
}

#[derive(Clone, PartialEq, Debug)]
pub enum MockReaction {
    Value(Value),
    /// No answer arrives in time.
    Silence,
}

/// What a simulated user says without being asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MockUserMessage {
    /// It is said when the run enters this state.
    pub state: String,
    pub text: String,
}

impl MockUserAnswer {
    pub fn is_for(&self, state: &str, question: &str) -> bool {
        self.state.as_ref().is_none_or(|wanted| wanted == state)
            && self.question_pattern.as_ref().is_none_or(|fit| fit.matches_text(question))
    }
}

/// Whether `whole` holds `part`: objects may hold more, everything else is equal.
pub fn contains_json(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(key, part)| whole.get(key).is_some_and(|whole| contains_json(whole, part)))
        }
        _ => json_equal(whole, part),
    }
}

/// Equality as a script sees it: `1` and `1.0` are one number, the order of keys does not count.
pub fn json_equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| json_equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, left)| right.get(key).is_some_and(|right| json_equal(left, right)))
        }
        _ => left == right,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn results_are_chosen_by_a_part_of_the_arguments() {
        let arguments = json!({"file_paths": ["a.rs"], "limit": 3, "where": {"x": 1, "y": 2}});
        let rows = [
            (json!({"limit": 3.0}), true),
            (json!({"where": {"y": 2}}), true),
            (json!({"where": {"y": 3}}), false),
            (json!({"file_paths": ["a.rs"]}), true),
            (json!({"file_paths": []}), false),
            (json!({"more": null}), false),
            (json!({}), true),
        ];
        for (part, expected) in rows {
            assert_eq!(
                ArgumentsPattern::Part(part.clone()).matches_arguments(&arguments),
                expected,
                "{part}"
            );
        }
        for (text, expected) in
            [("a.rs", true), ("a\\.(rs|go)", true), ("b.rs", false), ("\"limit\":3", true)]
        {
            assert_eq!(
                ArgumentsPattern::Text(TextPattern::new(text)).matches_arguments(&arguments),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn numbers_and_key_order_do_not_make_a_difference() {
        assert!(json_equal(&json!({"a": 1, "b": [2.0]}), &json!({"b": [2], "a": 1.0})));
        assert!(!json_equal(&json!({"a": 1}), &json!({"a": 1, "b": 2})));
        assert!(!json_equal(&json!("1"), &json!(1)));
    }
}
