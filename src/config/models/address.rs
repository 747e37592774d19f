//! Base URLs compared and completed, as text: no name is ever looked up.

/// `host:port` in small letters, with the scheme's port where none is written.
pub fn authority(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    if port(&host).is_some() {
        return host;
    }
    let port = if scheme.eq_ignore_ascii_case("https") { 443 } else { 80 };
    format!("{host}:{port}")
}

/// Whether the server runs on this machine: it may go without a key.
pub fn is_loopback(url: &str) -> bool {
    let authority = authority(url);
    let host = authority.rsplit_once(':').map_or(authority.as_str(), |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = host.parse::<std::net::IpAddr>() {
        return address.is_loopback() || address.is_unspecified();
    }
    host == "localhost" || host.ends_with(".localhost")
}

/// A URL or bare host of the environment (`OLLAMA_HOST=0.0.0.0`), completed from the provider's own URL:
/// scheme, port and path where they are missing. An address that means "any" becomes this machine.
pub fn complete(given: &str, default: Option<&str>) -> String {
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
    let host = match (port(&host), given.contains("://"), port(default_host)) {
        (None, false, Some(known)) => format!("{host}:{known}"),
        _ => host,
    };
    format!("{scheme}://{host}{}", if path.is_empty() { default_path } else { path })
}

fn port(host: &str) -> Option<u16> {
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
            assert_eq!(complete(given, default), expected, "{given}");
        }
        assert_eq!(authority("https://API.openai.com/v1"), "api.openai.com:443");
    }
}
