//! A host among others: it registers, and watches those whose runs it could take over (`host_takeover`).
//!
//! Hosts watch each other over connections, which cost the server nothing. It has the last word: a host that it still
//! reaches is not gone. Correctness does not rest on this: the server calls one host at a time for a run.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::host_directory::{HostDescription, HostDirectory, HostEntry, can_take_over};
use super::host_takeover::HostHeir;
use super::journaled_step::StepRefusal;
use super::run_host_names::{service_name, service_uri, socket_address};
use super::server_client::RestateClient;
use synthdev_domain::terminal_safe::redact_url;

/// A host that comes later is watched after this.
const BETWEEN_DIRECTORIES: Duration = Duration::from_secs(1);
/// A host answers a connection within this, and keeps it for as long.
const PROBE: Duration = Duration::from_millis(250);
/// A host that did not answer is asked again after this.
const AGAIN: Duration = Duration::from_millis(30);
/// So often it does not answer before the server is asked about it.
const MISSES: u32 = 2;
/// One that the server reaches, and this host does not.
const REACHED_BY_SERVER: Duration = Duration::from_secs(1);

/// Registers a host; the service that it has from now on. One that comes back keeps the service that it had, and with it
/// its runs, unless another host has taken them over.
///
/// # Errors
/// Another host has this name, or the server cannot be reached.
pub async fn enroll(
    client: &RestateClient,
    base: &str,
    description: &HostDescription,
) -> Result<String, StepRefusal> {
    let host_id = description.host_id.as_str();
    let directory = client.directory().await?;
    let service = match directory.home_of(host_id) {
        None => service_name(host_id, directory.next_number(host_id)),
        Some(known) => {
            check_same_host(client, base, description, known).await?;
            known.service.clone()
        }
    };
    for entry in directory.answered_by(host_id).filter(|entry| entry.base() != base) {
        client.move_service(&entry.deployment, &service_uri(base, host_id, &entry.service)).await?;
    }
    client.register_host(base, &service, description).await?;
    Ok(service)
}

async fn check_same_host(
    client: &RestateClient,
    base: &str,
    description: &HostDescription,
    known: &HostEntry,
) -> Result<(), StepRefusal> {
    let host_id = &description.host_id;
    let taken = if known.base() != base && client.reaches(&known.uri).await? {
        format!("works at {}", redact_url(known.base()))
    } else if !can_take_over(&known.description, description) {
        format!("has runs of {}", known.description.project.path)
    } else {
        return Ok(());
    };
    Err(StepRefusal {
        message: format!("another worker with the name {host_id} {taken}"),
        hint: Some("give this one a name of its own with --host-id".to_owned()),
    })
}

pub struct HostWatch {
    heir: HostHeir,
    service: String,
    /// All services that it answers for, as far as it knows.
    answered: HashSet<String>,
    /// Another host has taken this one for gone.
    is_ousted: bool,
    /// Entries of the directory that cannot be read: each is told once.
    told: HashSet<String>,
}

impl HostWatch {
    pub fn new(heir: HostHeir, service: String) -> Self {
        let answered = HashSet::from([service.clone()]);
        Self { heir, service, answered, is_ousted: false, told: HashSet::new() }
    }

    /// Does not end by itself.
    pub async fn watch_hosts(mut self) {
        let (mut watched, mut gone) = (HashMap::<String, AbortHandle>::new(), JoinSet::new());
        let mut next = Instant::now();
        loop {
            tokio::select! {
                () = sleep_until(next) => {
                    next = Instant::now() + BETWEEN_DIRECTORIES;
                    // a server that cannot be reached is asked again
                    let Ok(directory) = self.heir.client.directory().await else { continue };
                    self.stay_enrolled(&directory).await;
                    self.tell_unreadable(&directory);
                    self.keep_time().await;
                    let bases = self.heir.watched_bases(&directory);
                    watched.retain(|base, watching| {
                        let stays = bases.contains(&base.as_str());
                        if !stays {
                            watching.abort();
                        }
                        stays
                    });
                    for base in bases {
                        if !watched.contains_key(base) && let Some(address) = socket_address(base) {
                            let watching = watch_host(self.heir.clone(), base.to_owned(), address);
                            watched.insert(base.to_owned(), gone.spawn(watching));
                        }
                    }
                }
                // one that is not watched any more ends with an error
                Some(ended) = gone.join_next(), if !gone.is_empty() => {
                    if let Ok(base) = ended {
                        watched.remove(&base);
                    }
                }
            }
        }
    }

    /// The server's clock is asked now and then, together with the directory.
    async fn keep_time(&self) {
        let clock = self.heir.worker.clock();
        if clock.is_measurement_due() {
            // what is known stays right for long
            let _ = clock.measure(&self.heir.client).await;
        }
    }

    fn tell_unreadable(&mut self, directory: &HostDirectory) {
        for entry in &directory.unreadable {
            if self.told.insert(entry.message.clone()) {
                (self.heir.tell)(format!("{}; no host takes its runs over", entry.message));
            }
        }
    }

    /// Other hosts may have taken this one for gone, or have been given its runs by hand.
    async fn stay_enrolled(&mut self, directory: &HostDirectory) {
        let HostHeir { client, worker, base, description, tell } = &self.heir;
        let own = description.host_id.as_str();
        let is_lost = |service: &String| {
            directory.of_service(service).is_some_and(|entry| entry.answering_host() != own)
        };
        let lost: Vec<String> = self.answered.extract_if(|service| is_lost(service)).collect();
        self.answered.extend(directory.answered_by(own).map(|entry| entry.service.clone()));
        for service in lost.into_iter().filter(|service| !worker.has_left(service)) {
            self.is_ousted |= service == self.service;
            // drivers whose rows the server does not take any more
            let worker = Arc::clone(worker);
            tokio::spawn(async move { worker.abandon_service(&service).await });
        }
        for entry in directory.answered_by(own).filter(|entry| worker.has_left_in_vain(&entry.service)) {
            worker.take_service(&entry.service);
            tell(format!("no host took the runs of {}: they go on here", entry.service));
        }
        if self.is_ousted
            && let Ok(service) = enroll(client, base, description).await
        {
            self.is_ousted = false;
            self.answered.insert(service.clone());
            self.service = service;
            tell("another host took the runs of this one; it takes new ones again".to_owned());
        }
    }
}

/// Until the runs of the host at an address go on elsewhere; the address.
async fn watch_host(heir: HostHeir, base: String, address: String) -> String {
    loop {
        wait_until_silent(&address).await;
        if heir.take_over(&base).await {
            return base;
        }
        sleep(REACHED_BY_SERVER).await;
    }
}

/// Until nothing answers at the address.
async fn wait_until_silent(address: &str) {
    let mut misses = 0;
    while misses < MISSES {
        match timeout(PROBE, TcpStream::connect(address)).await {
            Ok(Ok(connection)) => {
                misses = 0;
                keep_connection(connection).await;
            }
            Ok(Err(_)) | Err(_) => {
                misses += 1;
                sleep(AGAIN).await;
            }
        }
    }
}

/// A killed process closes it at once; a lost machine does not answer the next one.
async fn keep_connection(mut connection: TcpStream) {
    let closed = async {
        let mut read = [0; 256];
        while connection.read(&mut read).await.is_ok_and(|count| count > 0) {}
    };
    let _ = timeout(PROBE, closed).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn a_closed_address_is_noticed_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let accepting = tokio::spawn(async move {
            let mut open = Vec::new();
            loop {
                open.push(listener.accept().await.unwrap());
            }
        });
        let silent = tokio::spawn(async move { wait_until_silent(&address).await });
        sleep(PROBE * 3).await;
        assert!(!silent.is_finished(), "it answers");
        accepting.abort();
        let began = Instant::now();
        timeout(Duration::from_secs(5), silent).await.unwrap().unwrap();
        assert!(began.elapsed() < PROBE, "{:?}", began.elapsed());
    }
}
