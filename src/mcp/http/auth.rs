//! Which requests are accepted: those of programs on this machine that know the token, never those of a web page.

use hyper::header::{AUTHORIZATION, HOST, HeaderMap, ORIGIN};
use hyper::http::uri::{Authority, Uri};
use sha2::{Digest, Sha256};

/// Why a request is rejected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AuthRejection {
    /// The `Host` header names another machine: DNS rebinding by a web page.
    Host,
    /// A page of another machine asks.
    Origin,
    Token,
}

/// Knows what the token looks like, not the token.
pub(super) struct RequestAuth {
    token: [u8; 32],
}

impl RequestAuth {
    pub(super) fn new(token: &str) -> Self {
        Self { token: Sha256::digest(token.as_bytes()).into() }
    }

    /// # Errors
    /// They are not let in.
    pub(super) fn check_request(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), AuthRejection> {
        let host = match (uri.authority(), headers.get(HOST)) {
            (Some(authority), _) => Some(authority.clone()),
            (None, Some(value)) => Authority::try_from(value.as_bytes()).ok(),
            (None, None) => None,
        };
        if !host.is_some_and(|host| is_loopback_host(host.host())) || headers.get_all(HOST).iter().count() > 1
        {
            return Err(AuthRejection::Host);
        }
        if !headers.get_all(ORIGIN).iter().all(|origin| is_local_origin(origin.as_bytes())) {
            return Err(AuthRejection::Origin);
        }
        let mut given = headers.get_all(AUTHORIZATION).iter();
        let token = given.next().and_then(|value| bearer_token(value.as_bytes())).unwrap_or_default();
        if given.next().is_some() || !self.is_token(token) {
            return Err(AuthRejection::Token);
        }
        Ok(())
    }

    /// Takes the same time whatever is wrong with it.
    fn is_token(&self, given: &[u8]) -> bool {
        let given: [u8; 32] = Sha256::digest(given).into();
        let differs = self.token.iter().zip(given).fold(0, |differs, (one, other)| differs | (one ^ other));
        std::hint::black_box(differs) == 0
    }
}

fn is_loopback_host(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// A page that was served by this machine.
fn is_local_origin(origin: &[u8]) -> bool {
    let uri = Uri::try_from(origin).ok();
    uri.is_some_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some_and(is_loopback_host)
    })
}

fn bearer_token(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then(|| token.trim_ascii())
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn only_programs_of_this_machine_with_the_token_are_let_in() {
        let gate = RequestAuth::new("secret-token");
        let right = Some("Bearer secret-token");
        let here = Some("127.0.0.1:80");
        for (host, origin, token, expected) in [
            (here, None, right, Ok(())),
            (Some("localhost:1"), Some("http://localhost:3000"), right, Ok(())),
            (Some("[::1]:1"), Some("http://[::1]"), Some("bearer  secret-token "), Ok(())),
            (Some("LOCALHOST"), Some("https://127.0.0.2:1"), right, Ok(())),
            (None, None, right, Err(AuthRejection::Host)),
            (Some("evil.example"), None, right, Err(AuthRejection::Host)),
            (Some("localhost.evil.example:80"), None, right, Err(AuthRejection::Host)),
            (Some("127.0.0.1.evil.example"), None, right, Err(AuthRejection::Host)),
            (Some("192.168.0.1"), None, right, Err(AuthRejection::Host)),
            (Some("a b"), None, right, Err(AuthRejection::Host)),
            (here, Some("http://evil.example"), right, Err(AuthRejection::Origin)),
            (here, Some("http://localhost.evil.example"), right, Err(AuthRejection::Origin)),
            (here, Some("null"), right, Err(AuthRejection::Origin)),
            (here, Some(""), right, Err(AuthRejection::Origin)),
            (here, Some("file:///x"), right, Err(AuthRejection::Origin)),
            (here, None, None, Err(AuthRejection::Token)),
            (here, None, Some(""), Err(AuthRejection::Token)),
            (here, None, Some("Bearer "), Err(AuthRejection::Token)),
            (here, None, Some("Bearer secret-toke"), Err(AuthRejection::Token)),
            (here, None, Some("Bearer secret-tokenx"), Err(AuthRejection::Token)),
            (here, None, Some("Basic secret-token"), Err(AuthRejection::Token)),
            (here, None, Some("secret-token"), Err(AuthRejection::Token)),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in [(HOST, host), (ORIGIN, origin), (AUTHORIZATION, token)] {
                if let Some(value) = value {
                    headers.insert(name, HeaderValue::from_str(value).unwrap());
                }
            }
            let uri = Uri::from_static("/mcp");
            assert_eq!(gate.check_request(&uri, &headers), expected, "{host:?} {origin:?} {token:?}");
        }
        // a duplicate header counts as missing
        let mut twice = HeaderMap::new();
        twice.insert(HOST, HeaderValue::from_static("localhost"));
        twice.append(AUTHORIZATION, HeaderValue::from_static("Bearer secret-token"));
        twice.append(AUTHORIZATION, HeaderValue::from_static("Bearer other"));
        assert_eq!(gate.check_request(&Uri::from_static("/mcp"), &twice), Err(AuthRejection::Token));
        // a name in the request line counts
        let elsewhere = Uri::from_static("http://evil.example/mcp");
        assert_eq!(gate.check_request(&elsewhere, &HeaderMap::new()), Err(AuthRejection::Host));
    }
}
