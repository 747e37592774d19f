//! The address of a provider: its URL for requests, and for display.

use std::net::IpAddr;

use reqwest::Url;

use synthdev_domain::model::ModelError;
use synthdev_domain::terminal_safe;

/// A base URL that has been read.
#[derive(Clone, Debug)]
pub struct ProviderAddress {
    /// Without a slash at its end.
    pub base: String,
    /// For error texts.
    pub display_text: String,
    pub is_secure: bool,
    /// This machine.
    pub is_loopback: bool,
}

impl ProviderAddress {
    /// Reads a base URL. `tails`: path parts that users often copy along and that the protocol adds itself, last part
    /// first.
    ///
    /// # Errors
    /// Not a URL with http or https; one that holds a secret, which is not repeated.
    pub fn parse(base_url: &str, tails: &[&str]) -> Result<Self, ModelError> {
        let mut base = base_url.trim().trim_end_matches('/');
        for tail in tails {
            base = base.strip_suffix(tail).unwrap_or(base).trim_end_matches('/');
        }
        let refuse = |why: &str| ModelError::Protocol {
            detail: format!(
                "the base URL `{}` {why}; it looks like http://localhost:11434/v1",
                terminal_safe::redact_url(base)
            ),
        };
        let url = Url::parse(base).map_err(|error| refuse(&format!("is not a URL ({error})")))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(refuse("is neither http nor https"));
        }
        // only a run that is older than this refusal can name such a URL
        let named = !url.username().is_empty() || url.password().is_some();
        if named || url.query().is_some() || url.fragment().is_some() {
            return Err(refuse("holds a password, a query or a fragment"));
        }
        let (secure, loopback) = (url.scheme() == "https", is_loopback(&url));
        let shown = url.as_str().trim_end_matches('/').to_owned();
        Ok(Self { base: base.to_owned(), display_text: shown, is_secure: secure, is_loopback: loopback })
    }
}

/// Whether two base URLs mean the same server: scheme, host and port.
pub fn same_server(one: &str, other: &str) -> bool {
    let origin = |text: &str| Url::parse(text.trim()).ok().map(|url| url.origin());
    matches!((origin(one), origin(other)), (Some(one), Some(other)) if one.is_tuple() && one == other)
}

/// Whether a base URL points at this machine or its private network, where small servers live.
pub fn is_local(base_url: &str) -> bool {
    let Ok(url) = Url::parse(base_url) else { return false };
    is_loopback(&url)
        || matches!(host_ip(&url), Some(IpAddr::V4(ip)) if ip.is_private() || ip.is_link_local())
}

fn is_loopback(url: &Url) -> bool {
    host_ip(url).map_or_else(|| url.host_str() == Some("localhost"), |ip| ip.is_loopback())
}

fn host_ip(url: &Url) -> Option<IpAddr> {
    url.host_str()?.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_secrets() {
        let rows = [
            ("http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1", true),
            ("https://api.example.com/@me/v1", "https://api.example.com/@me/v1", false),
            ("http://localhost:11434/v1/chat/completions", "http://localhost:11434/v1", true),
            ("http://[::1]:80/v1", "http://[::1]/v1", true),
        ];
        for (text, shown, loopback) in rows {
            let address = ProviderAddress::parse(text, &["/chat/completions"]).unwrap();
            assert_eq!((address.display_text.as_str(), address.is_loopback), (shown, loopback), "{text}");
        }
        for text in ["https://a.example", "https://a.example/v1/", "https://a.example/v1/messages"] {
            assert_eq!(
                ProviderAddress::parse(text, &["/messages", "/v1"]).unwrap().base,
                "https://a.example",
                "{text}"
            );
        }
        for bad in
            ["https://me:pass@h.example/v1", "https://h.example/v1?key=pass", "https://h.example/v1#pass"]
        {
            let told = ProviderAddress::parse(bad, &[]).unwrap_err().to_string();
            assert!(
                told.contains("`https://h.example/v1` holds a password") && !told.contains("pass@"),
                "{told}"
            );
            assert!(!told.contains("=pass") && !told.contains("#pass"), "{told}");
        }
        for bad in ["", "api.example.com", "ftp://x/v1", "http://"] {
            assert_eq!(ProviderAddress::parse(bad, &[]).unwrap_err().code(), "model.protocol", "{bad}");
        }
        assert!(is_local("http://192.168.1.7:8000/v1") && !is_local("https://api.openai.com/v1"));
    }
}
