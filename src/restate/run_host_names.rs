//! Names of hosts, of the services under which the server knows their runs, and of the addresses where it calls them.
//!
//! A run belongs to the service of the host that took it, for good; where the server calls that service can be moved. An
//! address says both: `http://10.0.0.2:9080/HOST/SERVICE`, the host that answers and the service that it answers for.

use super::journaled_step::{SERVICE, StepRefusal};

const LONGEST_HOST_ID: usize = 64;

/// # Errors
/// It cannot be a part of a name and of an address.
pub fn check_host_id(host_id: &str) -> Result<(), StepRefusal> {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    if !host_id.is_empty() && host_id.len() <= LONGEST_HOST_ID && host_id.chars().all(fits) {
        return Ok(());
    }
    Err(StepRefusal {
        message: format!("`{host_id}` cannot be the name of a host"),
        hint: Some(format!("use up to {LONGEST_HOST_ID} letters, digits, - and _ for --host-id")),
    })
}

/// The service of a host that has begun anew so often.
pub fn service_name(host_id: &str, number: u64) -> String {
    format!("{SERVICE}.{host_id}.{number}")
}

/// The host whose runs these are, and its number.
pub fn parse_service(service: &str) -> Option<(&str, u64)> {
    let (host_id, number) = service.strip_prefix(SERVICE)?.strip_prefix('.')?.rsplit_once('.')?;
    check_host_id(host_id).ok()?;
    Some((host_id, number.parse().ok()?))
}

/// Where `host_id`, whom the server reaches at `base`, answers for a service.
pub fn service_uri(base: &str, host_id: &str, service: &str) -> String {
    format!("{}/{host_id}/{service}", base.trim_end_matches('/'))
}

/// The base, the host and the service of such an address.
pub fn parse_service_uri(uri: &str) -> Option<(&str, &str, &str)> {
    let (front, service) = uri.trim_end_matches('/').rsplit_once('/')?;
    let (base, host_id) = front.rsplit_once('/')?;
    parse_service(service)?;
    check_host_id(host_id).ok()?;
    Some((base, host_id, service))
}

/// Host and port of an address, to connect to.
pub fn socket_address(base: &str) -> Option<String> {
    let (scheme, rest) = base.split_once("://")?;
    let authority = rest.split('/').next().filter(|authority| !authority.is_empty())?;
    let authority = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let port = if scheme == "https" { 443 } else { 80 };
    Some(if has_port { authority.to_owned() } else { format!("{authority}:{port}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_read_back() {
        for host in ["a", "build-7", "x_y"] {
            let service = service_name(host, 3);
            assert_eq!(parse_service(&service), Some((host, 3)));
            let uri = service_uri("http://10.0.0.2:9080/", "other", &service);
            assert_eq!(parse_service_uri(&uri), Some(("http://10.0.0.2:9080", "other", service.as_str())));
        }
        for wrong in ["SynthdevRun", "SynthdevRun.a", "SynthdevRun.a.x", "Other.a.1", "SynthdevRun..1"] {
            assert_eq!(parse_service(wrong), None, "{wrong}");
        }
        assert!(check_host_id("").is_err() && check_host_id("a/b").is_err() && check_host_id("a.b").is_err());
        for (base, address) in [
            ("http://10.0.0.2:9080", "10.0.0.2:9080"),
            ("https://worker.example/x", "worker.example:443"),
            ("http://[::1]", "[::1]:80"),
            ("http://[::1]:9080", "[::1]:9080"),
        ] {
            assert_eq!(socket_address(base).as_deref(), Some(address));
        }
    }
}
