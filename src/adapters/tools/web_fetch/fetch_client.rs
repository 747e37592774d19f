//! Fetches a page: resolves, checks, connects to what was checked, follows redirects the same way.
//! Refuses to send anything but the address, and to read more than the limit.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::time::Duration;

use encoding_rs::{Encoding, UTF_8};
use reqwest::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode, Url};

use super::super::http_request::client::innermost_cause;
use super::super::http_request::request::{display_url, is_web};
use super::public_address::{FetchError, FetchScope};

const CONNECT: Duration = Duration::from_secs(15);

/// Variables that send requests through a proxy, which resolves names itself.
const PROXIES: [&str; 6] =
    ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];

/// Types that are text although they do not say so.
const TEXT_TYPES: [&str; 8] = ["json", "xml", "javascript", "ecmascript", "yaml", "toml", "x-sh", "graphql"];

pub(super) struct FetchLimits {
    pub(super) redirects: usize,
    pub(super) body_bytes: usize,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self { redirects: 5, body_bytes: 5 * 1024 * 1024 }
    }
}

pub(super) struct FetchedPage {
    pub(super) status: StatusCode,
    /// Where it was found, after redirects.
    pub(super) url: Url,
    pub(super) content_type: String,
    pub(super) body: Vec<u8>,
    pub(super) is_truncated: bool,
}

/// # Errors
/// An address may not be reached, or the connection failed.
pub(super) async fn fetch_page(
    url: &Url,
    scope: &FetchScope<'_>,
    limits: &FetchLimits,
) -> Result<FetchedPage, FetchError> {
    let mut url = url.clone();
    for _ in 0..=limits.redirects {
        let response = request_page(&url, scope).await?;
        match redirect_target(&url, &response).map_err(FetchError::Failed)? {
            Some(next) => url = next,
            None => return read_page(response, url, limits.body_bytes).await.map_err(FetchError::Failed),
        }
    }
    Err(FetchError::Failed(format!("{} redirects more than {} times", display_url(&url), limits.redirects)))
}

async fn request_page(url: &Url, scope: &FetchScope<'_>) -> Result<Response, FetchError> {
    scope.check_literal(url).map_err(FetchError::Failed)?;
    if !scope.internet && !scope.is_declared(url) {
        return Err(FetchError::NetworkOff);
    }
    let addresses = resolve_host(url).await.map_err(FetchError::Failed)?;
    scope.check_resolved(url, &addresses)?;
    let client = connect_to(url, &addresses, scope.is_declared(url)).map_err(FetchError::Failed)?;
    let request =
        client.get(url.clone()).header(ACCEPT, "text/html, text/*;q=0.9, application/json;q=0.9, */*;q=0.1");
    let failed = |error: reqwest::Error| format!("{}: {}", display_url(url), innermost_cause(&error));
    request.send().await.map_err(|error| FetchError::Failed(failed(error)))
}

/// Empty where a proxy may know the name and this machine does not.
async fn resolve_host(url: &Url) -> Result<Vec<SocketAddr>, String> {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let port = url.port_or_known_default().unwrap_or(443);
    match tokio::net::lookup_host((host, port)).await {
        Ok(found) => Ok(found.collect()),
        Err(_)
            if PROXIES.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty())) =>
        {
            Ok(Vec::new())
        }
        Err(error) => Err(format!("{}: the name `{host}` cannot be resolved: {error}", display_url(url))),
    }
}

/// A client that connects to the checked addresses of this host only: the name is not resolved a second time.
fn connect_to(url: &Url, addresses: &[SocketAddr], is_local: bool) -> Result<Client, String> {
    // An error means that another provider is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .user_agent(concat!("synthdev/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        .redirect(Policy::none())
        .retry(reqwest::retry::never());
    if is_local {
        builder = builder.no_proxy();
    }
    if url.scheme() == "http" && is_local {
        builder = builder.tls_certs_only([]);
    }
    if let Some(host) = url.host_str().filter(|_| !addresses.is_empty()) {
        builder = builder.resolve_to_addrs(host, addresses);
    }
    builder.build().map_err(|error| format!("no connection can be set up: {}", innermost_cause(&error)))
}

/// `None`: the answer sends us nowhere.
fn redirect_target(from: &Url, response: &Response) -> Result<Option<Url>, String> {
    let moved = [301, 302, 303, 307, 308].contains(&response.status().as_u16());
    let Some(location) = response.headers().get(LOCATION).filter(|_| moved) else { return Ok(None) };
    let next = location.to_str().ok().and_then(|location| from.join(location).ok());
    let Some(next) = next.filter(is_web) else {
        return Err(format!("{} redirects to something that is no http or https address", display_url(from)));
    };
    if from.scheme() == "https" && next.scheme() == "http" {
        return Err(format!("{} redirects from https to http ({})", display_url(from), display_url(&next)));
    }
    Ok(Some(next))
}

async fn read_page(mut response: Response, url: Url, most: usize) -> Result<FetchedPage, String> {
    let content_type =
        response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let content_type = content_type.to_ascii_lowercase();
    let status = response.status();
    let mut page = FetchedPage { status, url, content_type, body: Vec::new(), is_truncated: false };
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|error| format!("{}: {}", display_url(&page.url), innermost_cause(&error)))?
    {
        let room = most - page.body.len();
        page.body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            page.is_truncated = true;
            break;
        }
    }
    Ok(page)
}

impl FetchedPage {
    fn media_type(&self) -> &str {
        self.content_type.split(';').next().unwrap_or_default().trim()
    }

    pub(super) fn is_html(&self) -> bool {
        match self.media_type() {
            "text/html" | "application/xhtml+xml" => true,
            "" => self.body.trim_ascii_start().starts_with(b"<"),
            _ => false,
        }
    }

    /// # Errors
    /// It is no text.
    pub(super) fn text(&self) -> Result<Cow<'_, str>, String> {
        let kind = self.media_type();
        let is_text = kind.is_empty()
            || kind.starts_with("text/")
            || TEXT_TYPES.iter().any(|text| kind.ends_with(text))
            || std::str::from_utf8(&self.body).is_ok();
        if !is_text
            || self.body.contains(&0)
                && !self.body.starts_with(&[0xff, 0xfe])
                && !self.body.starts_with(&[0xfe, 0xff])
        {
            return Err(format!(
                "{} is no text but {} ({} bytes); download it with execute_terminal if you need it",
                display_url(&self.url),
                if kind.is_empty() { "binary data" } else { kind },
                self.body.len()
            ));
        }
        let (text, _, _) = self.encoding().decode(&self.body);
        Ok(text)
    }

    /// Of the header, else of the page's own head, else UTF-8.
    fn encoding(&self) -> &'static Encoding {
        let named = |text: &str| {
            let label = text.split_once("charset=")?.1.trim_start_matches(['"', '\'', ' ']);
            let end = label
                .find(|c: char| !(c.is_ascii_alphanumeric() || "-_:.".contains(c)))
                .unwrap_or(label.len());
            Encoding::for_label(label.get(..end)?.as_bytes())
        };
        let head = &self.body[..self.body.len().min(1024)];
        let from_head =
            || named(&String::from_utf8_lossy(head).to_ascii_lowercase()).filter(|_| self.is_html());
        named(&self.content_type).or_else(from_head).unwrap_or(UTF_8)
    }
}
