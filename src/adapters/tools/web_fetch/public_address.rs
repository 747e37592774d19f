//! Which addresses `web_fetch` may reach: public ones, and ports of this machine that the workflow declares.
//! An address is judged after its name is resolved, so that no name leads into the user's own network.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::Url;

use super::super::http_request::client::is_loopback;
use super::super::http_request::request::display_url;

pub(super) enum FetchError {
    /// The sandbox keeps the network off.
    NetworkOff,
    Failed(String),
}

pub(super) struct FetchScope<'a> {
    /// Of this machine's loopback.
    pub(super) ports: &'a BTreeSet<u16>,
    pub(super) internet: bool,
}

impl FetchScope<'_> {
    /// What is known of an address before its name is resolved.
    ///
    /// # Errors
    /// It names a place that is not public.
    pub(super) fn check_literal(&self, url: &Url) -> Result<(), String> {
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let address: Option<IpAddr> = host.parse().ok();
        let is_local_name = host == "localhost" || host.ends_with(".localhost");
        if self.is_declared(url) || (!is_local_name && address.is_none_or(is_public)) {
            return Ok(());
        }
        Err(refusal_text(url))
    }

    /// Whether the port is one of this machine that the workflow declares.
    pub(super) fn is_declared(&self, url: &Url) -> bool {
        is_loopback(url) && url.port_or_known_default().is_some_and(|port| self.ports.contains(&port))
    }

    /// The addresses that may be connected to, of those that a name has.
    ///
    /// # Errors
    /// The network is off, or one of them is not public.
    pub(super) fn check_resolved(&self, url: &Url, addresses: &[SocketAddr]) -> Result<(), FetchError> {
        if self.is_declared(url) {
            return match addresses.iter().all(|address| address.ip().is_loopback()) {
                true => Ok(()),
                false => Err(FetchError::Failed(refusal_text(url))),
            };
        }
        if !self.internet {
            return Err(FetchError::NetworkOff);
        }
        match addresses.iter().all(|address| is_public(address.ip())) {
            true => Ok(()),
            false => Err(FetchError::Failed(refusal_text(url))),
        }
    }
}

fn refusal_text(url: &Url) -> String {
    format!(
        "{} is not fetched: its address is not public (it is of this machine or of a private network); a port of this \
         machine is reached if the workflow declares it in `sandbox.ports`",
        display_url(url)
    )
}

/// Whether an address belongs to the internet, not to this machine, its network, or a special purpose.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation()
        || a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (b == 18 || b == 19));
    !special
}

/// Only what is handed out to the public, without what carries an IPv4 address inside.
fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(inner) = address.to_ipv4_mapped() {
        return is_public_v4(inner);
    }
    let [first, second, third, fourth, fifth, sixth, high, low] = address.segments();
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match (first, second) {
        (0x64, 0xff9b) if [third, fourth, fifth, sixth] == [0; 4] => embedded(high, low),
        (0x2002, _) => embedded(second, third),
        (0x2001, 0x0000..=0x01ff | 0x0db8) | (0x3fff, 0x0000..=0x0fff) => false,
        _ => (0x2000..=0x3fff).contains(&first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_internet_are_public() {
        for (address, expected) in [
            ("93.184.216.34", true),
            ("8.8.8.8", true),
            ("127.0.0.1", false),
            ("127.9.9.9", false),
            ("10.1.2.3", false),
            ("172.16.0.1", false),
            ("172.32.0.1", true),
            ("192.168.1.1", false),
            ("169.254.169.254", false),
            ("100.64.0.1", false),
            ("100.128.0.1", true),
            ("0.0.0.0", false),
            ("192.0.0.1", false),
            ("192.0.2.1", false),
            ("198.18.0.1", false),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("2606:2800:220:1::1", true),
            ("::1", false),
            ("::", false),
            ("fe80::1", false),
            ("fd00::1", false),
            ("ff02::1", false),
            ("::ffff:127.0.0.1", false),
            ("::ffff:8.8.8.8", true),
            ("::7f00:1", false),
            ("64:ff9b::a00:1", false),
            ("64:ff9b::808:808", true),
            ("64:ff9b:1::808:808", false),
            ("2002:7f00:1::", false),
            ("2002:808:808::", true),
            ("2001:db8::1", false),
            ("2001:0:1::1", false),
        ] {
            assert_eq!(is_public(address.parse().unwrap()), expected, "{address}");
        }
    }

    #[test]
    fn a_name_counts_by_all_its_addresses() {
        let ports = BTreeSet::from([8080]);
        let judge = |internet: bool, url: &str, addresses: &[&str]| {
            let scope = FetchScope { ports: &ports, internet };
            let addresses: Vec<SocketAddr> = addresses.iter().map(|a| a.parse().unwrap()).collect();
            match scope.check_resolved(&Url::parse(url).unwrap(), &addresses) {
                Ok(()) => "ok",
                Err(FetchError::NetworkOff) => "off",
                Err(FetchError::Failed(_)) => "refused",
            }
        };
        assert_eq!(judge(true, "http://a.example/", &["8.8.8.8:80"]), "ok");
        assert_eq!(judge(false, "http://a.example/", &["8.8.8.8:80"]), "off");
        assert_eq!(judge(true, "http://a.example/", &["8.8.8.8:80", "10.0.0.1:80"]), "refused");
        assert_eq!(judge(true, "http://a.example:8080/", &["127.0.0.1:8080"]), "refused");
        assert_eq!(judge(false, "http://localhost:8080/", &["127.0.0.1:8080", "[::1]:8080"]), "ok");
        assert_eq!(judge(true, "http://localhost:8081/", &["127.0.0.1:8081"]), "refused");
    }

    #[test]
    fn what_an_address_says_itself_is_refused_without_a_question() {
        let ports = BTreeSet::from([8080]);
        let scope = FetchScope { ports: &ports, internet: true };
        for (url, expected) in [
            ("http://example.org/", true),
            ("http://127.0.0.1:8080/", true),
            ("http://127.0.0.1/", false),
            ("http://2130706433/", false),
            ("http://0x7f.1/", false),
            ("http://[::1]/", false),
            ("http://localhost/", false),
            ("http://a.localhost/", false),
            ("http://169.254.169.254/latest/meta-data/", false),
        ] {
            assert_eq!(scope.check_literal(&Url::parse(url).unwrap()).is_ok(), expected, "{url}");
        }
    }
}
