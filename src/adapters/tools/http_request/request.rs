//! Builds a request from the arguments of a workflow; only this file reads variables.

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use serde_json::{Map, Value};

use super::arguments::HttpRequestArguments;
use super::redaction::ResponseRedaction;
use synthdev_domain::command_preview::scalar_text;

const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// Headers that are the connection's own.
const OWN: [&str; 6] =
    ["host", "content-length", "transfer-encoding", "connection", "upgrade", "proxy-authorization"];

/// Headers that carry credentials even when they are written out in the file.
const CREDENTIALS: [&str; 5] = ["authorization", "cookie", "x-api-key", "api-key", "x-auth-token"];

/// A request, ready to be sent. Has no `Debug` on purpose: it holds secrets.
pub(super) struct PreparedHttpRequest {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Vec<u8>>,
    /// It carries credentials, which belong to this address only.
    pub(super) private: bool,
    pub(super) redaction: ResponseRedaction,
}

impl PreparedHttpRequest {
    /// # Errors
    /// Why the arguments are invalid, without a secret.
    pub(super) fn from_arguments(
        arguments: &HttpRequestArguments,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        let mut prepared = Self {
            method: parse_method(arguments.method.as_deref().unwrap_or("GET"))?,
            url: parse_address(&arguments.url, arguments.query.as_ref())?,
            headers: HeaderMap::new(),
            body: None,
            private: false,
            redaction: ResponseRedaction::default(),
        };
        for (name, value) in arguments.headers.iter().flatten() {
            prepared.header(name, value, variable)?;
        }
        if let Some(body) = &arguments.body {
            let (kind, bytes) = match body {
                Value::String(text) => ("text/plain; charset=utf-8", text.clone().into_bytes()),
                other => ("application/json", other.to_string().into_bytes()),
            };
            prepared.headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static(kind));
            prepared.body = Some(bytes);
        }
        Ok(prepared)
    }

    fn header(
        &mut self,
        name: &str,
        value: &Value,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(), String> {
        let lower = name.to_ascii_lowercase();
        let key = HeaderName::from_bytes(lower.as_bytes())
            .map_err(|_| format!("`headers`: `{name}` is no name of a header"))?;
        if OWN.contains(&lower.as_str()) {
            return Err(format!("`headers`: `{name}` is set by the connection itself; leave it out"));
        }
        let (text, secret) = match value {
            Value::Null => return Ok(()),
            Value::Object(form) => (self.read_variable(name, form, variable)?, true),
            other => {
                let text = scalar_text(other).ok_or_else(|| {
                    format!("`headers`.`{name}` must be a text, a number, a boolean or {{\"env\": \"NAME\"}}")
                })?;
                (text, false)
            }
        };
        let mut text = HeaderValue::from_str(&text)
            .map_err(|_| format!("`headers`.`{name}` holds characters that no header can carry"))?;
        text.set_sensitive(secret);
        self.private |= secret || CREDENTIALS.contains(&lower.as_str());
        self.headers.insert(key, text);
        Ok(())
    }

    /// `{"env": "NAME", "prefix": "Bearer "}`
    fn read_variable(
        &mut self,
        name: &str,
        form: &Map<String, Value>,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<String, String> {
        let known =
            form.iter().all(|(key, value)| ["env", "prefix"].contains(&key.as_str()) && value.is_string());
        let Some(wanted) = form.get("env").and_then(Value::as_str).filter(|_| known) else {
            return Err(format!(
                "`headers`.`{name}` must be a text or {{\"env\": \"NAME\", \"prefix\": \"Bearer \"}}"
            ));
        };
        let found = variable(wanted).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let value = found.ok_or_else(|| {
            format!(
                "`headers`.`{name}`: the environment variable `{wanted}` is not set; set it and start again"
            )
        })?;
        let prefix = form.get("prefix").and_then(Value::as_str).unwrap_or_default();
        let whole = format!("{prefix}{value}");
        self.redaction.add_secret(&value);
        self.redaction.add_secret(&whole);
        Ok(whole)
    }
}

fn parse_method(name: &str) -> Result<Method, String> {
    let upper = name.to_ascii_uppercase();
    let known =
        METHODS.contains(&upper.as_str()).then(|| Method::from_bytes(upper.as_bytes()).ok()).flatten();
    known.ok_or_else(|| format!("`method` must be one of {}, not `{name}`", METHODS.join(", ")))
}

fn parse_address(text: &str, query: Option<&Map<String, Value>>) -> Result<Url, String> {
    let mut url = Url::parse(text.trim())
        .map_err(|error| format!("`url` is no address: {error}; it begins with http:// or https://"))?;
    if !is_web(&url) {
        return Err(format!("`url` must begin with http:// or https://, not {}:", url.scheme()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "`url` must not hold a name or password, it is kept with the run; put them into a header: \
                    {\"env\": \"NAME\", \"prefix\": \"Basic \"}"
                .to_owned(),
        );
    }
    for (name, value) in query.into_iter().flatten() {
        let one = std::slice::from_ref(value);
        for value in value.as_array().map_or(one, Vec::as_slice).iter().filter(|value| !value.is_null()) {
            let text = scalar_text(value).ok_or_else(|| {
                format!("`query`.`{name}` must be a text, a number, a boolean or a list of them")
            })?;
            url.query_pairs_mut().append_pair(name, &text);
        }
    }
    Ok(url)
}

pub(in crate::tools) fn is_web(url: &Url) -> bool {
    ["http", "https"].contains(&url.scheme()) && url.host_str().is_some()
}

pub(super) fn same_origin(one: &Url, other: &Url) -> bool {
    one.origin() == other.origin()
}

/// An address for the user: without the query, which may hold a secret.
pub(in crate::tools) fn display_url(url: &Url) -> String {
    let mut shown = url.clone();
    shown.set_query(None);
    shown.set_fragment(None);
    shown.into()
}
