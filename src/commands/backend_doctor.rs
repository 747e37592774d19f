//! `backend doctor`: whether the Restate server, its hosts and this machine reach each other and agree, and what to do
//! where they do not. Changes nothing.

use anyhow::Result;

use super::doctor::print_findings;
use super::load_config::load_catalog;
use super::project_place::project_place;
use super::restate_runs::open_client;
use super::run_to_end::build_runtime;
use synthdev_bootstrap::machine_facts::current_time;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_cli::doctor::{DoctorFinding, DoctorStatus};
use synthdev_domain::terminal_safe::redact_url;
use synthdev_restate::host_directory::{HostDirectory, HostEntry, can_take_over};
use synthdev_restate::journaled_step::StepRefusal;
use synthdev_restate::server_client::RestateClient;

const SERVER: &str = "server";
const HOSTS: &str = "hosts";
/// What the program is made for.
const SERVER_VERSION: &str = "1.7.";
/// The server signs its calls for so long.
const MOST_SKEW_MS: u64 = 5_000;
/// A shorter one repeats long commands for ever.
const SHORTEST_STEP_SECONDS: u64 = 3_600;

pub(crate) fn run_backend_doctor(context: &StartContext, as_json: bool) -> Result<u8> {
    let (catalog, _) = load_catalog(context, context.overrides.clone(), None)?;
    let client = open_client(&catalog)?;
    let (ingress, admin, _) = catalog.settings().restate_server();
    let (ingress, admin) = (&*redact_url(ingress), &*redact_url(admin));
    let identity = project_place(&context.project).identity;
    let lines = build_runtime()?.block_on(async {
        let mut lines = server_findings(&client, ingress, admin).await;
        // nothing more can be asked of a server that does not answer
        if lines.iter().all(|line| line.state != DoctorStatus::Problem) {
            match client.directory().await {
                Ok(directory) => lines.extend(host_findings(&client, &directory, &identity).await),
                Err(refused) => lines.push(problem(SERVER, refused)),
            }
        }
        lines
    });
    print_findings(lines, as_json)
}

fn problem(area: &'static str, refused: StepRefusal) -> DoctorFinding {
    let fix = refused.hint.unwrap_or_else(|| "look at the log of the server".to_owned());
    DoctorFinding::problem(area, refused.message, fix)
}

async fn server_findings(client: &RestateClient, ingress: &str, admin: &str) -> Vec<DoctorFinding> {
    let mut lines = Vec::new();
    match client.server_version().await {
        Err(refused) => return vec![problem(SERVER, refused)],
        Ok(version) if version.starts_with(SERVER_VERSION) => {
            lines.push(DoctorFinding::ok_finding(SERVER, format!("Restate {version} answers at {admin}")));
        }
        Ok(version) => lines.push(DoctorFinding::warning_finding(
            SERVER,
            format!("the server at {admin} is Restate {version}; this program is made for {SERVER_VERSION}x"),
            "install the npm package @restatedev/restate-server of that version",
        )),
    }
    match client.ingress_answers().await {
        Ok(()) => lines.push(DoctorFinding::ok_finding(SERVER, format!("it takes runs at {ingress}"))),
        Err(refused) => lines.push(problem(SERVER, refused)),
    }
    match client.server_time_ms().await {
        Ok(time) => lines.push(skew_finding(SERVER, "the server", time.saturating_sub(current_time().0))),
        Err(refused) => lines.push(problem(SERVER, refused)),
    }
    lines
}

fn skew_finding(area: &'static str, whose: &str, skew_ms: i64) -> DoctorFinding {
    let seconds = skew_ms.unsigned_abs() / 1_000;
    if skew_ms.unsigned_abs() <= MOST_SKEW_MS {
        return DoctorFinding::ok_finding(area, format!("the clock of {whose} agrees with this one"));
    }
    let side = if skew_ms > 0 { "ahead of" } else { "behind" };
    DoctorFinding::warning_finding(
        area,
        format!("the clock of {whose} is {seconds} s {side} this one"),
        "set the clocks by NTP: runs keep the time of the server, but a worker with --identity-key refuses its calls where the clocks differ",
    )
}

async fn host_findings(
    client: &RestateClient,
    directory: &HostDirectory,
    identity: &str,
) -> Vec<DoctorFinding> {
    let unreadable = directory.unreadable.iter().map(|entry| {
        DoctorFinding::problem(
            HOSTS,
            entry.message.clone(),
            "start that worker again with this version of the program: it registers anew",
        )
    });
    let mut lines: Vec<DoctorFinding> = unreadable.collect();
    let active = client.active_runs().await.unwrap_or_default();
    let homes: Vec<&HostEntry> = directory.entries.iter().filter(|entry| entry.is_at_home()).collect();
    for home in &homes {
        let host = &home.description.host_id;
        let runs: usize =
            directory.answered_by(host).map(|entry| active.get(&entry.service).copied().unwrap_or(0)).sum();
        let text = format!(
            "{host} at {} works in {}: {runs} runs under way, {} slots",
            redact_url(home.base()),
            home.description.project.path,
            home.slots()
        );
        if !client.reaches(&home.uri).await.unwrap_or(false) {
            lines.push(DoctorFinding::problem(
                HOSTS,
                format!("{text}; the server does not reach it"),
                format!("start it again, or `synthdev backend move {host} OTHER` lets another one go on with its runs"),
            ));
            continue;
        }
        lines.push(DoctorFinding::ok_finding(HOSTS, text));
        match client.host_time_ms(&home.service).await {
            Ok(time) => lines.push(skew_finding(HOSTS, host, time.saturating_sub(current_time().0))),
            Err(refused) => lines.push(problem(HOSTS, refused)),
        }
        lines.extend(home_findings(client, home, &homes).await);
    }
    if !homes.iter().any(|home| home.description.project.identity == identity) {
        lines.push(DoctorFinding::problem(
            HOSTS,
            "no worker has the project of this directory".to_owned(),
            "start one in a copy of it: `synthdev worker --host-id NAME`",
        ));
    }
    lines
}

/// What is worth knowing of a host that answers.
async fn home_findings(client: &RestateClient, home: &HostEntry, homes: &[&HostEntry]) -> Vec<DoctorFinding> {
    let host = &home.description.host_id;
    let mut lines = Vec::new();
    let own = env!("CARGO_PKG_VERSION");
    if home.description.version != own {
        lines.push(DoctorFinding::warning_finding(
            HOSTS,
            format!("{host} is synthdev {}, this is {own}", home.description.version),
            "use one version for workers and clients",
        ));
    }
    if let Ok(Some(seconds)) = client.longest_step_seconds(&home.service).await
        && seconds < SHORTEST_STEP_SECONDS
    {
        lines.push(DoctorFinding::problem(
            HOSTS,
            format!("the server cuts a step of {host} off after {seconds} s, and repeats it"),
            "start the worker again: it asks for two hours when it registers",
        ));
    }
    let heirs: Vec<&str> = homes
        .iter()
        .filter(|other| other.description.host_id != *host)
        .filter(|other| can_take_over(&home.description, &other.description))
        .map(|other| other.description.host_id.as_str())
        .collect();
    lines.push(if heirs.is_empty() {
        DoctorFinding::warning_finding(
            HOSTS,
            format!("if {host} is gone, its runs wait for it"),
            "start a second worker of the project, with the same backend.restate.snapshot_remote where it has files of its own",
        )
    } else {
        DoctorFinding::ok_finding(HOSTS, format!("if {host} is gone, its runs go on at {}", heirs.join(" or ")))
    });
    lines
}
