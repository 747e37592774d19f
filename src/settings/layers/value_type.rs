//! What a setting's value must look like, whether it came from a file or as text.

use serde_json::Value;

use crate::models::base_url::normalized_origin;
use crate::redaction::SecretText;

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum SettingValueType {
    /// Not empty.
    Text,
    /// http or https, with a host; without a password, a query or a fragment, which may be secrets.
    Url,
    /// Never shown.
    Secret,
    Integer {
        min: i64,
        max: i64,
    },
    Real {
        min: f64,
        max: f64,
    },
    Flag,
    /// allow, ask or deny.
    Permission,
    /// One of these words.
    OneOf(&'static [&'static str]),
    TextList,
}

/// A checked value.
#[derive(Clone, PartialEq, Debug)]
pub enum SettingValue {
    Plain(Value),
    Secret {
        key: SecretText,
        /// The server that it was saved for: scheme, host and port. `None`: unspecified.
        home: Option<String>,
    },
}

/// Members of a key that says what it is for.
pub const KEY: &str = "key";
pub const HOME: &str = "for";

/// Shown without the key.
const BROKEN_KEY: &str = "holds a line break or another control character: set the key again, in one line";

/// Why a value was refused: a code and a sentence without the setting's name in front.
pub type SettingValueError = (&'static str, String);

impl SettingValueType {
    /// The allowed values, for display.
    pub fn allowed_values_text(self) -> String {
        match self {
            Self::Text => "any text".to_owned(),
            Self::Url => "a URL that begins with http:// or https://".to_owned(),
            Self::Secret => "a key".to_owned(),
            Self::Integer { min, max } => format!("a whole number from {min} to {max}"),
            Self::Real { min, max } => format!("a number from {min} to {max}"),
            Self::Flag => "true or false".to_owned(),
            Self::Permission => "allow, ask or deny".to_owned(),
            Self::OneOf(words) => words.join(", "),
            Self::TextList => "a list of texts; in the environment, separated by commas".to_owned(),
        }
    }

    /// Checks a value of a file. Zero is as good as any number in range.
    pub fn check_value(self, value: &Value) -> Result<SettingValue, SettingValueError> {
        match self {
            Self::Text => check_text(value).map(|_| SettingValue::Plain(value.clone())),
            Self::Url => {
                check_text(value).and_then(check_url).map(|url| SettingValue::Plain(Value::from(url)))
            }
            Self::Secret => check_secret(value),
            Self::Integer { min, max } => check_integer(value, min, max),
            Self::Real { min, max } => check_real(value, min, max),
            Self::Flag => match value {
                Value::Bool(_) => Ok(SettingValue::Plain(value.clone())),
                _ => Err(("C03", format!("must be true or false, found {value}"))),
            },
            Self::Permission => match value.as_str() {
                Some("allow" | "ask" | "deny") => Ok(SettingValue::Plain(value.clone())),
                _ => Err(("C06", format!("must be \"allow\", \"ask\" or \"deny\", found {value}"))),
            },
            Self::OneOf(words) => match value.as_str() {
                Some(word) if words.contains(&word) => Ok(SettingValue::Plain(value.clone())),
                _ => Err(("C06", format!("must be one of {}, found {value}", words.join(", ")))),
            },
            Self::TextList => match value.as_array() {
                Some(items) if items.iter().all(Value::is_string) => Ok(SettingValue::Plain(value.clone())),
                _ => Err(("C03", format!("must be a list of strings, found {value}"))),
            },
        }
    }

    /// Checks a text of the environment or the command line.
    pub fn check_text(self, text: &str) -> Result<SettingValue, SettingValueError> {
        let text = text.trim();
        let value = match self {
            Self::Text | Self::Url | Self::Secret | Self::Permission | Self::OneOf(_) => Value::from(text),
            Self::Integer { .. } | Self::Real { .. } => match serde_json::from_str(text) {
                Ok(number @ Value::Number(_)) => number,
                _ => Value::from(text),
            },
            Self::Flag => match text.to_ascii_lowercase().as_str() {
                "true" | "1" | "yes" | "on" => Value::Bool(true),
                "false" | "0" | "no" | "off" => Value::Bool(false),
                _ => Value::from(text),
            },
            Self::TextList => text.split(',').map(str::trim).filter(|item| !item.is_empty()).collect(),
        };
        self.check_value(&value)
    }
}

/// A key alone, or `{"key": …, "for": URL}`: a key with the server that it is for.
fn check_secret(value: &Value) -> Result<SettingValue, SettingValueError> {
    let Some(fields) = value.as_object() else { return plain_secret(value, None) };
    let known = |name: &String| name == KEY || name == HOME;
    if !fields.contains_key(KEY) || !fields.keys().all(known) {
        return Err(("C03", format!("must be a string, or hold `{KEY}` and `{HOME}` and nothing else")));
    }
    let home = match fields.get(HOME) {
        Some(given) => {
            let url = check_text(given).and_then(check_url);
            Some(normalized_origin(&url.map_err(|(code, why)| (code, format!("has a `{HOME}` that {why}")))?))
        }
        None => None,
    };
    plain_secret(&fields[KEY], home)
}

fn plain_secret(value: &Value, home: Option<String>) -> Result<SettingValue, SettingValueError> {
    match value.as_str() {
        Some(key) if key.trim().contains(char::is_control) => Err(("C06", BROKEN_KEY.to_owned())),
        Some(key) if !key.trim().is_empty() => {
            Ok(SettingValue::Secret { key: SecretText::new(key.trim()), home })
        }
        Some(_) => Err(("C06", "must not be empty".to_owned())),
        None => Err(("C03", "must be a string".to_owned())),
    }
}

fn check_text(value: &Value) -> Result<&str, SettingValueError> {
    match value.as_str() {
        Some(text) if text.trim().is_empty() => Err(("C06", "must not be empty".to_owned())),
        Some(text) => Ok(text),
        None => Err(("C03", format!("must be a string, found {value}"))),
    }
}

fn check_integer(value: &Value, min: i64, max: i64) -> Result<SettingValue, SettingValueError> {
    let range = format!("must be a whole number from {min} to {max}, found {value}");
    match value.as_i64() {
        Some(number) if (min..=max).contains(&number) => Ok(SettingValue::Plain(value.clone())),
        Some(_) => Err(("C05", range)),
        None if value.is_number() => Err(("C05", range)),
        None => Err(("C03", range)),
    }
}

fn check_real(value: &Value, min: f64, max: f64) -> Result<SettingValue, SettingValueError> {
    let range = format!("must be a number from {min} to {max}, found {value}");
    match value.as_f64() {
        Some(number) if (min..=max).contains(&number) => Ok(SettingValue::Plain(value.clone())),
        Some(_) => Err(("C05", range)),
        None => Err(("C03", range)),
    }
}

/// Checks a base URL and drops the slash at its end. What is refused is not repeated: it may hold a secret.
fn check_url(text: &str) -> Result<String, SettingValueError> {
    let text = text.trim();
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let Some(rest) = rest else {
        return Err((
            "C06",
            "must begin with http:// or https://, as in http://localhost:11434/v1".to_owned(),
        ));
    };
    for (mark, name) in [('?', "query"), ('#', "fragment")] {
        if rest.contains(mark) {
            let why =
                format!("must not hold a {name} (`{mark}…`): end it before, and put a key into `api_key`");
            return Err(("C06", why));
        }
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(("C06", "must not hold a user or password; put the key into `api_key`".to_owned()));
    }
    if authority.is_empty() || authority.starts_with(':') || text.contains(is_forbidden_in_url) {
        return Err(("C06", "must name a host, for example https://api.openai.com/v1".to_owned()));
    }
    let port = authority.rsplit_once(':').map(|(_, port)| port).filter(|port| !port.ends_with(']'));
    if port.is_some_and(|port| port.parse::<u16>().is_err()) {
        return Err(("C06", "must have a number from 0 to 65535 as its port".to_owned()));
    }
    Ok(text.trim_end_matches('/').to_owned())
}

/// What no URL holds as it is, or what programs do not agree on.
fn is_forbidden_in_url(c: char) -> bool {
    c.is_whitespace() || c.is_control() || c == '\\'
}
