//! Base URLs compared and completed, as text: no name is ever looked up.

/// `host:port` in small letters, with the scheme's port where none is written.
pub fn normalized_authority(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    if parse_port(&host).is_some() {
        return host;
    }
    let port = if scheme.eq_ignore_ascii_case("https") { 443 } else { 80 };
    format!("{host}:{port}")
}

/// Scheme, host and port in small letters, the port only where it is not the scheme's own: what a key belongs to.
pub fn normalized_origin(url: &str) -> String {
    let scheme = url.split_once("://").map_or("http", |(scheme, _)| scheme).to_ascii_lowercase();
    let place = normalized_authority(url);
    let usual = if scheme == "https" { ":443" } else { ":80" };
    format!("{scheme}://{}", place.strip_suffix(usual).unwrap_or(&place))
}

pub fn same_origin(one: &str, other: &str) -> bool {
    normalized_origin(one) == normalized_origin(other)
}

/// How many bytes of `url`'s path a base URL of the same server says; `None` where its path is another.
pub fn common_path(base: &str, url: &str) -> Option<usize> {
    let (base, url) = (trim_url_path(base), trim_url_path(url));
    let rest = url.strip_prefix(base)?;
    (rest.is_empty() || rest.starts_with('/')).then_some(base.len())
}

/// Whether the server runs on this machine: it may go without a key.
pub fn is_loopback(url: &str) -> bool {
    let authority = normalized_authority(url);
    let host = authority.rsplit_once(':').map_or(authority.as_str(), |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = host.parse::<std::net::IpAddr>() {
        return address.is_loopback() || address.is_unspecified();
    }
    host == "localhost" || host.ends_with(".localhost")
}

/// A URL or bare host of the environment (`OLLAMA_HOST=0.0.0.0`), completed from the provider's own URL:
/// scheme, port and path where they are missing. An address that means "any" becomes this machine.
pub fn complete_url(given: &str, default: Option<&str>) -> String {
    let given = given.trim().trim_end_matches('/');
    let default = default.unwrap_or_default();
    let (scheme, rest) = match given.split_once("://") {
        Some((scheme, rest)) => (scheme, rest),
        None => (default.split_once("://").map_or("http", |(scheme, _)| scheme), given),
    };
    let (host, path) = rest.find('/').map_or((rest, ""), |slash| rest.split_at(slash));
    let host = host.replace("0.0.0.0", "127.0.0.1").replace("[::]", "[::1]");
    let default_rest = default.split_once("://").map_or("", |(_, rest)| rest);
    let (default_host, default_path) =
        default_rest.find('/').map_or((default_rest, ""), |slash| default_rest.split_at(slash));
    let host = match (parse_port(&host), given.contains("://"), parse_port(default_host)) {
        (None, false, Some(known)) => format!("{host}:{known}"),
        _ => host,
    };
    format!("{scheme}://{host}{}", if path.is_empty() { default_path } else { path })
}

/// Without the slash at its end.
fn trim_url_path(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = rest.find('/').map_or("", |slash| &rest[slash..]);
    path.trim_end_matches('/')
}

fn parse_port(host: &str) -> Option<u16> {
    host.rsplit_once(':')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_known_by_every_name() {
        let rows = [
            ("http://localhost:8080/v1", true),
            ("http://LOCALHOST/v1", true),
            ("http://127.0.0.1:1234", true),
            ("http://127.9.9.9/v1", true),
            ("http://[::1]:8080/v1", true),
            ("http://0.0.0.0:11434", true),
            ("http://a.localhost:1", true),
            ("https://localhost.evil.example/v1", false),
            ("https://127.0.0.1.evil.example/v1", false),
            ("https://api.openai.com/v1", false),
        ];
        for (url, expected) in rows {
            assert_eq!(is_loopback(url), expected, "{url}");
        }
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let rows = [
            ("https://API.example/v1", "https://api.example"),
            ("https://api.example:443/", "https://api.example"),
            ("http://api.example:443", "http://api.example:443"),
            ("HTTP://127.0.0.1:80/v1", "http://127.0.0.1"),
            ("http://[::1]:8080/v1", "http://[::1]:8080"),
        ];
        for (url, expected) in rows {
            assert_eq!(normalized_origin(url), expected, "{url}");
        }
        assert!(!same_origin("https://a.example", "http://a.example"), "the same host in the open");
        assert!(!same_origin("https://a.example", "https://a.example.evil.example"));
        let paths = [
            ("https://h/v1", "https://h/v1/", Some(3)),
            ("https://h", "https://h/v1", Some(0)),
            ("https://h/v1", "https://h/v10", None),
            ("https://h/a/v1", "https://h/b/v1", None),
        ];
        for (base, url, expected) in paths {
            assert_eq!(common_path(base, url), expected, "{base} {url}");
        }
    }

    #[test]
    fn hosts_are_completed() {
        let default = Some("http://127.0.0.1:11434/v1");
        let rows = [
            ("0.0.0.0", "http://127.0.0.1:11434/v1"),
            ("box:9999", "http://box:9999/v1"),
            ("http://box:9999/", "http://box:9999/v1"),
            ("https://box.example/ollama/v1", "https://box.example/ollama/v1"),
            ("https://box.example", "https://box.example/v1"),
        ];
        for (given, expected) in rows {
            assert_eq!(complete_url(given, default), expected, "{given}");
        }
        assert_eq!(normalized_authority("https://API.openai.com/v1"), "api.openai.com:443");
    }
}
