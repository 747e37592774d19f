//! How a server is started: its process, with the user's rights or in the sandbox, or its address.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::str::FromStr as _;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use super::client_settings::McpClientSettings;
use super::variables::expand_variables;
use crate::sandbox::WorkingLayer;
use crate::tools::environment::secret_names;
use crate::tools::http_request::client::{innermost_cause, is_loopback};
use crate::tools::process::{ServerCommand, StartPlan, StartedProcess};
use synthdev_domain::mcp_server::{McpServerConfig, McpServerTransport};
use synthdev_domain::source_location::ConfigLayer;

const CONNECT: Duration = Duration::from_secs(15);

/// What is started or asked.
pub(super) enum PreparedServer {
    Process(Box<StartedProcess>),
    Address(reqwest::Client, StreamableHttpClientTransportConfig),
}

/// # Errors
/// Why it cannot be started, in words for the user.
pub(super) fn prepare_server(
    settings: &McpClientSettings,
    server: &McpServerConfig,
) -> Result<PreparedServer, String> {
    let secrets = secret_names(&settings.strip_env, std::env::vars_os());
    let of_project = server.layer == ConfigLayer::Project;
    let is_secret = |name: &str| of_project && secrets.iter().any(|secret| secret == name);
    let expand = |text: &str| {
        expand_variables(text, &|name| std::env::var(name).ok(), &is_secret).map_err(|error| error.message())
    };
    match &server.transport {
        McpServerTransport::Http { url, headers } => {
            let url = expand(url)?;
            let client = http_client(&url)?;
            let config = StreamableHttpClientTransportConfig::with_uri(url);
            let headers: Result<HashMap<HeaderName, HeaderValue>, String> =
                headers.iter().map(|(name, value)| header(name, &expand(value)?)).collect();
            Ok(PreparedServer::Address(client, config.custom_headers(headers?)))
        }
        McpServerTransport::Stdio { command, arguments, environment, directory } => {
            let program = expand(command)?;
            let arguments: Vec<String> =
                arguments.iter().map(|text| expand(text)).collect::<Result<_, _>>()?;
            let environment: Vec<(String, String)> = environment
                .iter()
                .map(|(name, value)| Ok((name.clone(), expand(value)?)))
                .collect::<Result<_, String>>()?;
            let directory = match directory {
                Some(directory) => settings.project.join(expand(directory)?),
                None => settings.project.clone(),
            };
            start_process(settings, of_project, &program, &arguments, &environment, directory)
        }
    }
}

/// Redirects are not followed: the headers are for this server.
fn http_client(url: &str) -> Result<reqwest::Client, String> {
    let url: reqwest::Url = url.parse().map_err(|_| "its `url` is no address".to_owned())?;
    // an error means that there is a provider already
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder()
        .user_agent(concat!("synthdev/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never());
    let local = url.scheme() == "http" && is_loopback(&url);
    let builder = if local { builder.no_proxy().tls_certs_only([]) } else { builder };
    builder.build().map_err(|error| format!("no connection can be set up: {}", innermost_cause(&error)))
}

fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    let parsed_name =
        HeaderName::from_str(name).map_err(|_| format!("`{name}` cannot be the name of a header"))?;
    let mut parsed = HeaderValue::from_str(value)
        .map_err(|_| format!("the header `{name}` has a value that cannot be sent"))?;
    parsed.set_sensitive(true);
    Ok((parsed_name, parsed))
}

fn start_process(
    settings: &McpClientSettings,
    of_project: bool,
    program: &str,
    arguments: &[String],
    environment: &[(String, String)],
    directory: PathBuf,
) -> Result<PreparedServer, String> {
    let command = ServerCommand {
        program,
        arguments,
        environment,
        directory: &directory,
        project: &settings.project,
        strip_env: &settings.strip_env,
    };
    let started = if of_project && !settings.sandbox.is_disabled() {
        let ready = settings.sandbox.prepare_program()?.ok_or("no sandbox works on this machine")?;
        if !matches!(ready.working_layer(), WorkingLayer::Bubblewrap(_)) {
            return Err("a project's server runs only in bubblewrap: what it writes is not looked at after each call; \
                        install bubblewrap, or configure the server in your own settings.json"
                .to_owned());
        }
        let no_ports = BTreeSet::new();
        let reach = settings.sandbox.settings().reach_for(None, &no_ports);
        StartPlan::for_server(&command, Some((&ready, reach)))
            .and_then(|plan| plan.start_process(&settings.liveness))
    } else {
        StartPlan::for_server(&command, None).and_then(|plan| plan.start_process(&settings.liveness))
    };
    started
        .map(|process| PreparedServer::Process(Box::new(process)))
        .map_err(|error| format!("it could not be started: {error}"))
}
