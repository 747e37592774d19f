//! A host among others: it registers, watches those whose runs it could take over, and does so when one is gone.
//!
//! Hosts watch each other over connections, which cost the server nothing. It has the last word: a host that it still
//! reaches is not gone. Correctness does not rest on this: the server calls one host at a time for a run.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::host_directory::{HostDescription, HostDirectory, HostEntry, can_take_over};
use super::journaled_step::StepRefusal;
use super::run_host_names::{service_name, service_uri, socket_address};
use super::server_client::RestateClient;
use super::worker::RunWorker;

/// A host that comes later is watched after this.
const BETWEEN_DIRECTORIES: Duration = Duration::from_secs(1);
/// A host answers a connection within this, and keeps it for as long.
const PROBE: Duration = Duration::from_millis(250);
/// A host that did not answer is asked again after this.
const AGAIN: Duration = Duration::from_millis(30);
/// So often it does not answer before the server is asked about it.
const MISSES: u32 = 2;
/// So soon the server reaches one that lives.
const LAST_CHANCE: Duration = Duration::from_millis(200);
/// One that the server reaches, and this host does not.
const REACHED_BY_SERVER: Duration = Duration::from_secs(1);
/// Each survivor waits so long for those before it.
const RANK_DELAY: Duration = Duration::from_millis(600);
/// What the server had not noticed yet is hastened later.
const HASTENED_AFTER: [Duration; 4] =
    [Duration::ZERO, Duration::from_millis(150), Duration::from_millis(400), Duration::from_secs(1)];

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
        format!("works at {}", known.base())
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

/// What a host does to the runs of another, for its log.
pub type HostTeller = Arc<dyn Fn(String) + Send + Sync>;

pub struct HostWatch {
    pub client: RestateClient,
    pub worker: Arc<RunWorker>,
    /// Where the server reaches this host.
    pub base: String,
    pub description: HostDescription,
    pub service: String,
    pub tell: HostTeller,
    /// All services that it answers for, as far as it knows.
    pub answered: HashSet<String>,
    /// Another host has taken this one for gone.
    pub is_ousted: bool,
}

impl HostWatch {
    /// Does not end by itself.
    pub async fn watch_hosts(mut self) {
        let (mut watched, mut gone) = (HashSet::new(), JoinSet::new());
        let mut next = Instant::now();
        loop {
            tokio::select! {
                () = sleep_until(next) => {
                    next = Instant::now() + BETWEEN_DIRECTORIES;
                    // a server that cannot be reached is asked again
                    let Ok(directory) = self.client.directory().await else { continue };
                    self.stay_enrolled(&directory).await;
                    for base in self.others(&directory) {
                        if let Some(address) = socket_address(&base)
                            && watched.insert(base.clone())
                        {
                            gone.spawn(async move {
                                wait_until_silent(&address).await;
                                base
                            });
                        }
                    }
                }
                Some(Ok(base)) = gone.join_next(), if !gone.is_empty() => {
                    if !self.take_over(&base).await {
                        sleep(REACHED_BY_SERVER).await;
                    }
                    // watched again if something is still there
                    watched.remove(&base);
                }
            }
        }
    }

    /// Other hosts may have taken this one for gone, or have been given its runs by hand.
    async fn stay_enrolled(&mut self, directory: &HostDirectory) {
        let own = self.description.host_id.as_str();
        let is_lost = |service: &String| {
            directory.of_service(service).is_some_and(|entry| entry.answering_host() != own)
        };
        let lost: Vec<String> = self.answered.extract_if(|service| is_lost(service)).collect();
        self.answered.extend(directory.answered_by(own).map(|entry| entry.service.clone()));
        for service in lost.into_iter().filter(|service| !self.worker.has_left(service)) {
            self.is_ousted |= service == self.service;
            // drivers whose rows the server does not take any more
            let worker = Arc::clone(&self.worker);
            tokio::spawn(async move { worker.leave_service(&service).await });
        }
        if self.is_ousted
            && let Ok(service) = enroll(&self.client, &self.base, &self.description).await
        {
            self.is_ousted = false;
            self.answered.insert(service.clone());
            self.service = service;
            (self.tell)("another host took the runs of this one; it takes new ones again".to_owned());
        }
    }

    /// Addresses of hosts whose runs could go on here.
    fn others(&self, directory: &HostDirectory) -> HashSet<String> {
        let others = directory.entries.iter().filter(|entry| self.is_heir_of(entry));
        others.map(|entry| entry.base().to_owned()).collect()
    }

    fn is_heir_of(&self, entry: &HostEntry) -> bool {
        entry.base() != self.base
            && entry.answering_host() != self.description.host_id
            && can_take_over(&entry.description, &self.description)
    }

    /// `false`: it is not gone, or that is not known yet.
    async fn take_over(&self, base: &str) -> bool {
        let Ok(directory) = self.client.directory().await else { return false };
        let of_it = |entry: &&HostEntry| entry.base() == base && self.is_heir_of(entry);
        let Some(first) = directory.entries.iter().find(of_it) else { return true };
        if self.client.reaches_within(&first.uri, LAST_CHANCE).await.unwrap_or(true) {
            return false;
        }
        let mut directory = directory.clone();
        let before = self.survivors_before(&directory, base);
        if before > 0 {
            sleep(RANK_DELAY * before).await;
            let Ok(later) = self.client.directory().await else { return false };
            directory = later;
        }
        // a host may have those of others before it, too
        let moves = directory.entries.iter().filter(of_it).map(|entry| self.take_service(entry));
        join_all(moves).await.into_iter().all(|moved| moved)
    }

    async fn take_service(&self, entry: &HostEntry) -> bool {
        let uri = service_uri(&self.base, &self.description.host_id, &entry.service);
        if self.client.move_service(&entry.deployment, &uri).await.is_err() {
            return false;
        }
        self.worker.take_service(&entry.service);
        let (client, service) = (self.client.clone(), entry.service.clone());
        tokio::spawn(async move { hasten_calls(&client, &service).await });
        let host = entry.answering_host();
        (self.tell)(format!("host {host} is gone: its runs ({}) go on here", entry.service));
        true
    }

    /// How many other hosts would take over before this one.
    fn survivors_before(&self, directory: &HostDirectory, lost: &str) -> u32 {
        let others = directory.takers(&self.description.project.identity);
        let before = others
            .iter()
            .filter(|entry| entry.base() != lost && entry.description.host_id < self.description.host_id);
        u32::try_from(before.count()).unwrap_or(u32::MAX).min(100)
    }
}

/// The server would call again by itself, but later.
pub async fn hasten_calls(client: &RestateClient, service: &str) {
    for after in HASTENED_AFTER {
        sleep(after).await;
        // it calls by itself what is not hastened
        let _ = client.hasten(service).await;
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
