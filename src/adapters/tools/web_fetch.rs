//! `web_fetch`: the text of one page or file of the web.
//!
//! Owns what an agent gets of an answer. Refuses other methods than GET, headers and credentials, addresses that are not
//! public, and answers that are no text.

mod fetch_client;
mod html_text;
mod html_tokens;
mod public_address;

use std::time::Duration;

use reqwest::Url;
use serde::Deserialize;
use serde_json::json;
use tokio::time::timeout;

use crate::sandbox::network_denial;
use synthdev_domain::tool::{RerunPolicy, ToolInvocation, ToolPreview, ToolRisk, ToolSpec};

use super::execute_terminal::with_denials;
use super::http_request::request::{display_url, is_web};
use super::process::CommandConfinement;
use super::tool_answer::ToolAnswer;
use super::tool_context::ToolContext;
use fetch_client::{FetchLimits, FetchedPage};
use public_address::{FetchError, FetchScope};

pub(super) const NAME: &str = "web_fetch";

const MOST_SECONDS: u64 = 120;
const USUAL_SECONDS: u64 = 30;

#[derive(Deserialize)]
pub(super) struct WebFetchArguments {
    url: String,
    #[serde(default)]
    form: PageForm,
    timeout_seconds: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum PageForm {
    #[default]
    Text,
    Source,
}

pub(super) fn tool_spec() -> ToolSpec {
    ToolSpec {
        name: NAME.to_owned(),
        description: "Fetch a page or a text file of the web (GET) and get its text: of HTML the headings, paragraphs, \
            lists, tables and links as Markdown, without scripts and styles. No cookies, no login, public addresses \
            only. Needs network access, which the user may have turned off. Example: \
            {\"url\": \"https://docs.rs/serde/latest/serde/\"}."
            .to_owned(),
        parameters: json!({"type": "object", "additionalProperties": false, "required": ["url"],
            "properties": {
                "url": {"type": "string", "minLength": 1,
                    "description": "The address, beginning with http:// or https://."},
                "form": {"type": "string", "enum": ["text", "source"], "default": "text",
                    "description": "`source` gives HTML as it is."},
                "timeout_seconds": {"type": "integer", "minimum": 1, "maximum": MOST_SECONDS, "default": USUAL_SECONDS,
                    "description": "Give up after this many seconds."}}}),
        risk: ToolRisk::Execute,
        repeat: Some(RerunPolicy::Safe),
    }
}

pub(super) fn preview_call(arguments: &WebFetchArguments) -> ToolPreview {
    ToolPreview::Text { text: format!("GET {}", arguments.url) }
}

/// Why no answer of the user lets this call reach its address.
pub(super) fn refusal(
    project: &ToolContext,
    arguments: &WebFetchArguments,
    call: &ToolInvocation,
) -> Option<String> {
    let url = match parse_address(&arguments.url) {
        Ok(url) => url,
        Err(problem) => return Some(problem),
    };
    FetchScope { ports: project.network_for(call).ports, internet: true }.check_literal(&url).err()
}

pub(super) async fn run_tool(
    project: &ToolContext,
    arguments: WebFetchArguments,
    call: &ToolInvocation,
    confinement: CommandConfinement<'_>,
) -> ToolAnswer {
    let url = match parse_address(&arguments.url) {
        Ok(url) => url,
        Err(problem) => return ToolAnswer::failure(problem),
    };
    let reach = project.network_for(call);
    let internet = confinement.network().is_open() || project.sandbox.is_disabled();
    let scope = FetchScope { ports: reach.ports, internet };
    let seconds = arguments.timeout_seconds.unwrap_or(USUAL_SECONDS);
    let limits = FetchLimits::default();
    match timeout(Duration::from_secs(seconds), fetch_client::fetch_page(&url, &scope, &limits)).await {
        Ok(Ok(page)) => answer_for_page(&page, arguments.form),
        Ok(Err(FetchError::NetworkOff)) => {
            let denials = network_denial(reach);
            let answer =
                ToolAnswer::failure(format!("{} was not fetched: the network is off", display_url(&url)));
            answer.with_denials(&denials).body(with_denials(String::new(), &denials.lines))
        }
        Ok(Err(FetchError::Failed(problem))) => ToolAnswer::failure(problem),
        Err(_) => ToolAnswer::failure(format!("{} did not answer within {seconds} s", display_url(&url)))
            .with_fact("timed_out", true),
    }
}

fn parse_address(text: &str) -> Result<Url, String> {
    let mut url = Url::parse(text.trim())
        .map_err(|error| format!("`url` is no address: {error}; it begins with http:// or https://"))?;
    if !is_web(&url) {
        return Err(format!("`url` must begin with http:// or https://, not {}:", url.scheme()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("`url` must not hold a name or password; pages behind a login are not fetched".to_owned());
    }
    url.set_fragment(None);
    Ok(url)
}

fn answer_for_page(page: &FetchedPage, form: PageForm) -> ToolAnswer {
    let status = page.status.as_u16();
    let text = match page.text() {
        Ok(text) => text,
        Err(problem) => return ToolAnswer::failure(problem).with_fact("status", status),
    };
    let is_html = page.is_html() && form == PageForm::Text;
    let (title, text) = if is_html {
        let extracted = html_text::extract_text(&text, &page.url);
        (extracted.title, extracted.text)
    } else {
        (None, text.into_owned())
    };
    let place = display_url(&page.url);
    let mut answer = ToolAnswer::success(format!("{status} {place}, {} characters", text.chars().count()));
    if !page.status.is_success() {
        let reason = page.status.canonical_reason().unwrap_or_default();
        answer = answer.with_error(format!("{place} answered with status {status} {reason}").trim_end());
    }
    answer = answer.with_fact("status", status).with_fact("url", page.url.as_str());
    if let Some(title) = title {
        answer = answer.with_fact("title", super::truncated_output::shorten_line(&title, 200));
    }
    if page.is_truncated {
        answer = answer.with_fact("notice", format!("only the first {} bytes were read", page.body.len()));
    } else if text.is_empty() {
        answer = answer
            .with_fact("notice", "the page has no text; it may be made by scripts, which do not run here");
    }
    answer.body(text)
}
