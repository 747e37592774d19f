//! The clients of `http_request`, each made when it is first needed: reading the system's certificates costs
//! milliseconds that a server on this machine does not need.

use std::sync::OnceLock;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, Url};

const CONNECT: Duration = Duration::from_secs(15);

#[derive(Default)]
pub(in super::super) struct HttpRequestClients {
    /// http to this machine: no certificates, no proxy.
    local_client: OnceLock<Client>,
    public: OnceLock<Client>,
}

impl HttpRequestClients {
    /// # Errors
    /// TLS cannot be set up, for instance because the system has no root certificates.
    pub(super) fn get(&self, url: &Url) -> Result<&Client, String> {
        let local = url.scheme() == "http" && is_loopback(url);
        let place = if local { &self.local_client } else { &self.public };
        if let Some(client) = place.get() {
            return Ok(client);
        }
        // An error means that another provider is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // Our own code follows redirects, because it knows what is secret; retries are the workflow's. Steps are rare:
        // a connection that is kept would mostly be dead by the next one.
        let builder = Client::builder()
            .user_agent(concat!("synthdev/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT)
            .redirect(Policy::none())
            .pool_max_idle_per_host(0)
            .retry(reqwest::retry::never());
        let builder = if local { builder.no_proxy().tls_certs_only([]) } else { builder };
        let client = builder
            .build()
            .map_err(|error| format!("no connection can be set up: {}", innermost_cause(&error)))?;
        Ok(place.get_or_init(|| client))
    }
}

/// The innermost reason: the outer ones repeat the address, with what its query holds.
pub(crate) fn innermost_cause(error: &reqwest::Error) -> String {
    let mut error: &dyn std::error::Error = error;
    while let Some(inner) = error.source() {
        error = inner;
    }
    error.to_string()
}

pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}
