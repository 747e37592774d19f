//! Another host answers for the runs of one from now on, because a user says so (`backend move`).
//!
//! Each service is moved by itself: the old host stops its runs first, with what they do; then the server calls the new
//! one. Refuses to move runs whose host does not stop them, and what goes wrong is taken back, so that each service has
//! one host that knows it.

use futures_util::future::join_all;

use super::host_directory::{HostDirectory, HostEntry, can_take_over};
use super::host_takeover::hasten_calls;
use super::journaled_step::StepRefusal;
use super::run_host_names::service_uri;
use super::server_client::RestateClient;
use synthdev_domain::terminal_safe::redact_url;

/// What became of the services that the old host answered for.
#[derive(Debug, Default)]
pub struct MoveReport {
    pub moved: Vec<String>,
    pub unmoved: Vec<UnmovedService>,
}

#[derive(Debug)]
pub struct UnmovedService {
    pub service: String,
    /// The host that answers for it now, as the server says; `None`: it does not say.
    pub host: Option<String>,
    pub refused: StepRefusal,
}

/// # Errors
/// Nothing was moved: a host is not known or not there, or the new one has not the files.
pub async fn move_runs(client: &RestateClient, old: &str, new: &str) -> Result<MoveReport, StepRefusal> {
    let directory = client.directory().await?;
    let (entries, heir) = check_move(&directory, old, new)?;
    // one that is not there is not told that it has these runs
    if !client.reaches(&heir.uri).await? {
        return Err(refused(
            format!("the Restate server does not reach {new} at {}", redact_url(heir.base())),
            "start that worker, or name another one; no run was moved",
        ));
    }
    let mut report = MoveReport::default();
    for entry in entries {
        match move_service(client, entry, heir).await {
            Ok(()) => report.moved.push(entry.service.clone()),
            Err(refused) => {
                let (service, host) = (entry.service.clone(), host_of(client, &entry.service).await);
                report.unmoved.push(UnmovedService { service, host, refused });
            }
        }
    }
    join_all(report.moved.iter().map(|service| hasten_calls(client, service))).await;
    Ok(report)
}

/// What is to be moved, and to which host.
fn check_move<'d>(
    directory: &'d HostDirectory,
    old: &str,
    new: &str,
) -> Result<(Vec<&'d HostEntry>, &'d HostEntry), StepRefusal> {
    if let Some(unreadable) = directory.unreadable.iter().find(|entry| entry.answering_host == old) {
        return Err(refused(
            format!("{}; no run was moved", unreadable.message),
            "start that worker again with this version of the program: it registers anew",
        ));
    }
    let entries: Vec<&HostEntry> =
        directory.entries.iter().filter(|entry| entry.answering_host() == old).collect();
    if entries.is_empty() && directory.entries.iter().all(|entry| entry.description.host_id != old) {
        return Err(refused(
            format!("the Restate server knows no host {old}"),
            "`synthdev runs list --backend restate` shows the hosts of runs",
        ));
    }
    let Some(heir) = directory.home_of(new).filter(|_| old != new) else {
        return Err(refused(
            format!("{new} takes no runs: no worker with this name has registered, or it has left"),
            "start one: `synthdev worker --host-id NAME`",
        ));
    };
    if let Some(foreign) = entries.iter().find(|entry| !can_take_over(&entry.description, &heir.description))
    {
        return Err(refused(
            format!(
                "{new} works in {} and has not the files of the runs of {}, {}",
                heir.description.project.path, foreign.description.host_id, foreign.description.project.path
            ),
            "set the same backend.restate.snapshot_remote at both, before runs begin",
        ));
    }
    Ok((entries, heir))
}

async fn move_service(
    client: &RestateClient,
    entry: &HostEntry,
    heir: &HostEntry,
) -> Result<(), StepRefusal> {
    let is_there = client.reaches(&entry.uri).await?;
    let left = if is_there { client.ask_to_leave(&entry.service).await } else { Ok(()) };
    let moved = match left {
        Ok(()) => move_left_service(client, entry, heir).await,
        Err(refused) => Err(refused),
    };
    if moved.is_err() && is_there {
        // one that cannot be told takes them when it is started again
        let _ = client.ask_to_take(&entry.service).await;
    }
    moved
}

/// The server calls the new host, or the old one as before.
async fn move_left_service(
    client: &RestateClient,
    entry: &HostEntry,
    heir: &HostEntry,
) -> Result<(), StepRefusal> {
    let uri = service_uri(heir.base(), &heir.description.host_id, &entry.service);
    let moved = match client.move_service(&entry.deployment, &uri).await {
        // it may have given them up earlier
        Ok(()) => client.ask_to_take(&entry.service).await,
        Err(refused) => Err(refused),
    };
    if moved.is_err() {
        // where they are then is looked up
        let _ = client.move_service(&entry.deployment, &entry.uri).await;
    }
    moved
}

async fn host_of(client: &RestateClient, service: &str) -> Option<String> {
    let directory = client.directory().await.ok()?;
    directory.of_service(service).map(|entry| entry.answering_host().to_owned())
}

fn refused(message: String, hint: &str) -> StepRefusal {
    StepRefusal { message, hint: Some(hint.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host_directory::UnreadableEntry;
    use crate::host_directory::tests::{description, entry_of};

    #[test]
    fn what_cannot_be_moved_is_refused_before_anything_is() {
        let home = |host: &str, remote: &str| {
            entry_of("http://h:1", host, 1, host, description(host, "git:1", host, remote))
        };
        let entries = vec![home("a", "r"), home("b", "r"), home("c", "")];
        let unreadable =
            UnreadableEntry { answering_host: "d".to_owned(), message: "SynthdevRun.d.1 ...".to_owned() };
        let directory = HostDirectory { entries, unreadable: vec![unreadable] };
        for (old, new, words) in [
            ("a", "b", ""),
            ("a", "a", "a takes no runs"),
            ("a", "x", "x takes no runs"),
            ("x", "a", "knows no host x"),
            ("a", "c", "has not the files"),
            ("d", "a", "SynthdevRun.d.1"),
        ] {
            let checked = check_move(&directory, old, new);
            let told = checked.as_ref().err().map_or("", |refused| &refused.message);
            assert!(told.is_empty() == words.is_empty() && told.contains(words), "{old} {new}: {told}");
        }
    }
}
