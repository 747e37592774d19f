//! `http_request`: one request of a workflow. Not offered to agents.
//!
//! Owns where secrets go: a header may name an environment variable, which is read at the moment of sending and nowhere
//! else; its value is taken out of everything that comes back.
//! Refuses other schemes than http and https, and to follow a redirect to another place with secrets at hand.

mod arguments;
pub(crate) mod client;
mod redaction;
pub(super) mod request;
mod response;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::{Method, Response, StatusCode, Url};
use serde_json::{Value, json};
use tokio::time::timeout;

use synthdev_domain::tool::{RerunPolicy, ToolPreview};

use super::execute_terminal::LONGEST;
use super::tool_answer::ToolAnswer;
use super::tool_context::ToolContext;
pub(super) use arguments::HttpRequestArguments;
pub(super) use client::HttpRequestClients;
use request::{PreparedHttpRequest, display_url, same_origin};
use response::ReceivedResponse;
use synthdev_domain::command_preview::scalar_text;

pub(super) const NAME: &str = "http_request";

const USUAL_LIMIT: Duration = Duration::from_secs(30);

const MOST_REDIRECTS: usize = 5;

/// A body may be this many times larger than what is kept of a text: JSON has to be whole to be read.
const BODY_CAPS: usize = 4;

pub(super) fn arguments_schema() -> Value {
    json!({"type": "object", "required": ["url"], "properties": {
        "method": {"type": "string", "minLength": 1},
        "url": {"type": "string", "minLength": 1},
        "headers": {"type": "object"},
        "query": {"type": "object"},
        "body": {},
        "timeout_seconds": {"type": "integer", "minimum": 1, "maximum": LONGEST}}})
}

/// Names of variables, never their values.
pub(super) fn preview_call(arguments: &HttpRequestArguments) -> ToolPreview {
    let mut lines = vec![format!("{} {}", arguments.method.as_deref().unwrap_or("GET"), arguments.url)];
    for (name, value) in arguments.query.iter().flatten() {
        lines.push(format!("  {name} = {}", scalar_text(value).unwrap_or_else(|| value.to_string())));
    }
    for (name, value) in arguments.headers.iter().flatten() {
        let text = match value["env"].as_str() {
            Some(variable) => {
                format!("{}(value of ${variable})", value["prefix"].as_str().unwrap_or_default())
            }
            None => scalar_text(value).unwrap_or_else(|| value.to_string()),
        };
        lines.push(format!("{name}: {text}"));
    }
    if let Some(body) = &arguments.body {
        lines.push(String::new());
        lines.push(body.as_str().map_or_else(|| format!("{body:#}"), str::to_owned));
    }
    ToolPreview::Text { text: lines.join("\n") }
}

/// Methods that by their definition only read are safe to repeat; whatever else was sent may have been received.
pub(super) fn rerun_policy(arguments: &HttpRequestArguments) -> RerunPolicy {
    let method = arguments.method.as_deref().unwrap_or("GET");
    let reads = ["GET", "HEAD", "OPTIONS"].iter().any(|name| method.eq_ignore_ascii_case(name));
    if reads { RerunPolicy::Safe } else { RerunPolicy::Ask }
}

pub(super) async fn run_tool(
    clients: &HttpRequestClients,
    project: &ToolContext,
    arguments: &HttpRequestArguments,
) -> ToolAnswer {
    let cap = project.cap;
    let prepared = match PreparedHttpRequest::from_arguments(arguments, &|name| std::env::var(name).ok()) {
        Ok(prepared) => prepared,
        Err(problem) => return ToolAnswer::failure(problem),
    };
    if let Err(problem) = check_key_servers(arguments, &prepared.url, &project.key_servers) {
        return ToolAnswer::failure(problem);
    }
    let limit = arguments.timeout_seconds.map_or(USUAL_LIMIT, Duration::from_secs);
    let started = Instant::now();
    let ended = timeout(limit, exchange_request(clients, &prepared, cap * BODY_CAPS)).await;
    let took = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    match ended {
        Ok(Ok(received)) => received.into_answer(&prepared.redaction, cap, took),
        Ok(Err(problem)) => ToolAnswer::failure(prepared.redaction.redact_text(&problem)),
        Err(_) => {
            let place = prepared.redaction.redact_text(&display_url(&prepared.url));
            let data =
                json!({"status": null, "headers": {}, "body": null, "timed_out": true, "duration_ms": took});
            ToolAnswer::failure(format!("{place} did not answer within {} s", limit.as_secs()))
                .with_fact("timed_out", true)
                .data(data)
        }
    }
}

/// A variable that holds the key of a model provider goes to servers of this provider only.
fn check_key_servers(
    arguments: &HttpRequestArguments,
    url: &Url,
    homes: &BTreeMap<String, Vec<String>>,
) -> Result<(), String> {
    for (header, value) in arguments.headers.iter().flatten() {
        let Some((name, homes)) = value["env"].as_str().and_then(|name| homes.get_key_value(name)) else {
            continue;
        };
        if !homes.iter().any(|home| Url::parse(home).is_ok_and(|home| same_origin(&home, url))) {
            return Err(format!(
                "`headers`.`{header}`: the variable `{name}` holds the key of a model provider, and {} is no server of \
                 it: nothing was sent; put the key of that server into a variable of its own",
                display_url(url)
            ));
        }
    }
    Ok(())
}

/// Sends, follows redirects, reads at most `most` bytes of the body.
async fn exchange_request(
    clients: &HttpRequestClients,
    prepared: &PreparedHttpRequest,
    most: usize,
) -> Result<ReceivedResponse, String> {
    let (mut method, mut url) = (prepared.method.clone(), prepared.url.clone());
    let mut with_body = true;
    for hop in 0.. {
        let response = send_request(clients, prepared, &method, &url, with_body).await?;
        let stopped = match redirect_target(prepared, &url, &response) {
            None => None,
            Some(Err(why)) => Some(why),
            Some(Ok(_)) if hop == MOST_REDIRECTS => {
                Some(format!("it redirects more than {MOST_REDIRECTS} times"))
            }
            Some(Ok(next)) => {
                if becomes_get(response.status(), &method) {
                    (method, with_body) = (Method::GET, false);
                }
                url = next;
                continue;
            }
        };
        return response::read_response(response, url, stopped, most).await;
    }
    Err("no answer".to_owned())
}

async fn send_request(
    clients: &HttpRequestClients,
    prepared: &PreparedHttpRequest,
    method: &Method,
    url: &Url,
    with_body: bool,
) -> Result<Response, String> {
    let mut headers = prepared.headers.clone();
    if !with_body {
        headers.remove(CONTENT_TYPE);
    }
    let mut request = clients.get(url)?.request(method.clone(), url.clone()).headers(headers);
    if let Some(body) = prepared.body.as_ref().filter(|_| with_body) {
        request = request.body(body.clone());
    }
    request.send().await.map_err(|error| format!("{}: {}", display_url(url), client::innermost_cause(&error)))
}

/// Where an answer sends us; `Err`: why we do not go there. `None`: it sends us nowhere.
fn redirect_target(
    prepared: &PreparedHttpRequest,
    from: &Url,
    response: &Response,
) -> Option<Result<Url, String>> {
    let moved = [301, 302, 303, 307, 308].contains(&response.status().as_u16());
    let location = response.headers().get(LOCATION).filter(|_| moved)?;
    let next = location.to_str().ok().and_then(|location| from.join(location).ok());
    let Some(next) = next.filter(request::is_web) else {
        return Some(Err("it redirects to something that is no http or https address".to_owned()));
    };
    if from.scheme() == "https" && next.scheme() == "http" {
        return Some(Err(format!("it redirects from https to http ({})", display_url(&next))));
    }
    if prepared.private && !same_origin(&prepared.url, &next) {
        let place = display_url(&next);
        return Some(Err(format!(
            "it redirects to {place}, where this request's credentials do not belong; \
             if they do, use that address as `url`"
        )));
    }
    Some(Ok(next))
}

/// What browsers do: only 307 and 308 repeat a POST.
fn becomes_get(status: StatusCode, method: &Method) -> bool {
    match status.as_u16() {
        303 => *method != Method::HEAD,
        301 | 302 => *method == Method::POST,
        _ => false,
    }
}
