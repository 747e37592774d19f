//! What a host does when another one is gone: it takes the runs over for which it is the first heir that is left.
//!
//! Hosts are in a ring, in the order of their names: the runs of one go to the next host after it that can have their
//! files. Each host is watched by the three next ones, however many there are. Refuses to take over what the server reaches, and
//! looks again right before it does.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::sleep;

use super::host_directory::{HostDescription, HostDirectory, HostEntry, can_take_over};
use super::run_host_names::service_uri;
use super::server_client::RestateClient;
use super::worker::RunWorker;

/// So many hosts watch one. When all of them are gone with it, the next ones take over theirs first, then its own.
const WATCHERS: usize = 3;
/// So soon the server reaches one that lives.
const LAST_CHANCE: Duration = Duration::from_millis(200);
/// Each survivor waits so long for those before it.
const RANK_DELAY: Duration = Duration::from_millis(600);
/// What the server had not noticed yet is hastened later.
const HASTENED_AFTER: [Duration; 4] =
    [Duration::ZERO, Duration::from_millis(150), Duration::from_millis(400), Duration::from_secs(1)];

/// What a host does to the runs of another, for its log.
pub type HostTeller = Arc<dyn Fn(String) + Send + Sync>;

/// A host as the heir of others.
#[derive(Clone)]
pub struct HostHeir {
    pub client: RestateClient,
    pub worker: Arc<RunWorker>,
    /// Where the server reaches this host.
    pub base: String,
    pub description: HostDescription,
    pub tell: HostTeller,
}

impl HostHeir {
    fn is_heir_of(&self, entry: &HostEntry) -> bool {
        entry.base() != self.base
            && entry.answering_host() != self.description.host_id
            && can_take_over(&entry.description, &self.description)
    }

    /// Addresses of the hosts that this one watches.
    pub(crate) fn watched_bases<'d>(&self, directory: &'d HostDirectory) -> Vec<&'d str> {
        let takers = directory.takers(&self.description.project.identity);
        let is_watched = |entry: &&HostEntry| {
            self.is_heir_of(entry) && heirs_before(&takers, entry, &self.description) < WATCHERS
        };
        let mut bases: Vec<&str> = directory.entries.iter().filter(is_watched).map(HostEntry::base).collect();
        bases.sort_unstable();
        bases.dedup();
        bases
    }

    /// Services at an address that could go on here, and how many hosts take them over before this one; `None`: the
    /// server does not say.
    async fn inheritance(&self, base: &str) -> Option<(Vec<HostEntry>, usize)> {
        let directory = self.client.directory().await.ok()?;
        let takers = directory.takers(&self.description.project.identity);
        let of_it = |entry: &&HostEntry| entry.base() == base && self.is_heir_of(entry);
        let found: Vec<HostEntry> = directory.entries.iter().filter(of_it).cloned().collect();
        let before = found.iter().map(|entry| heirs_before(&takers, entry, &self.description)).min();
        Some((found, before.unwrap_or(0)))
    }

    /// A server that does not answer takes no rows of the other host either: nothing is to be done yet.
    async fn is_reached(&self, entry: &HostEntry) -> bool {
        self.client.reaches_within(&entry.uri, LAST_CHANCE).await.unwrap_or(true)
    }

    /// `false`: the host at the address is not gone, or that is not known yet.
    pub(crate) async fn take_over(&self, base: &str) -> bool {
        let Some((lost, before)) = self.inheritance(base).await else { return false };
        let Some(first) = lost.first() else { return true };
        if self.is_reached(first).await {
            return false;
        }
        if before > 0 {
            sleep(RANK_DELAY.saturating_mul(u32::try_from(before).unwrap_or(u32::MAX))).await;
            if self.is_reached(first).await {
                return false;
            }
        }
        // another heir may have them, or the host has them again at another address
        let Some((lost, _)) = self.inheritance(base).await else { return false };
        let own = self.clone();
        // goes on when this host stops watching the other one, as it does when its runs are moved
        let moving = tokio::spawn(async move {
            join_all(lost.iter().map(|entry| own.take_service(entry))).await.into_iter().all(|moved| moved)
        });
        moving.await.unwrap_or(false)
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
}

/// How many of those that take new runs are between the host that answers for a service and this one: they take it over
/// first.
fn heirs_before(takers: &[&HostEntry], entry: &HostEntry, own: &HostDescription) -> usize {
    let lost = entry.answering_host();
    let place = |host_id: &str| (host_id <= lost, host_id.to_owned());
    let own_place = place(&own.host_id);
    let is_before = |taker: &&&HostEntry| {
        taker.base() != entry.base()
            && can_take_over(&entry.description, &taker.description)
            && place(&taker.description.host_id) < own_place
    };
    takers.iter().filter(is_before).count()
}

/// The server would call again by itself, but later.
pub async fn hasten_calls(client: &RestateClient, service: &str) {
    for after in HASTENED_AFTER {
        sleep(after).await;
        // it calls by itself what is not hastened
        let _ = client.hasten(service).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host_directory::tests::{description, entry_of};

    /// One letter for each host, in directories of their own where they have no remote.
    fn directory(hosts: &[(&str, &str)]) -> HostDirectory {
        let entry = |(host, remote): &(&str, &str)| {
            let base = format!("http://{host}:1");
            entry_of(&base, host, 1, host, description(host, "git:1", host, remote))
        };
        HostDirectory { entries: hosts.iter().map(entry).collect(), ..HostDirectory::default() }
    }

    fn watchers<'d>(directory: &'d HostDirectory, lost: &str) -> Vec<&'d str> {
        let takers = directory.takers("git:1");
        let lost = directory.home_of(lost).unwrap();
        let mut heirs: Vec<(usize, &str)> = takers
            .iter()
            .filter(|taker| {
                taker.base() != lost.base() && can_take_over(&lost.description, &taker.description)
            })
            .map(|taker| (heirs_before(&takers, lost, &taker.description), &*taker.description.host_id))
            .collect();
        heirs.sort_unstable();
        heirs.into_iter().filter(|(before, _)| *before < WATCHERS).map(|(_, host)| host).collect()
    }

    #[test]
    fn each_host_is_watched_by_the_three_after_it() {
        let shared = |hosts: &[&'static str]| -> Vec<(&str, &str)> {
            hosts.iter().map(|host| (*host, "remote")).collect()
        };
        for (hosts, lost, wanted) in [
            (shared(&["a", "b"]), "a", &["b"][..]),
            (shared(&["a", "b"]), "b", &["a"]),
            (shared(&["a", "b", "c", "d", "e", "f"]), "b", &["c", "d", "e"]),
            (shared(&["a", "b", "c", "d", "e", "f"]), "e", &["f", "a", "b"]),
            (shared(&["f", "e", "d", "c", "b", "a"]), "f", &["a", "b", "c"]),
            // those that cannot have its files do not count
            (vec![("a", "r"), ("b", ""), ("c", "r"), ("d", "s"), ("e", "r")], "a", &["c", "e"]),
            (vec![("a", ""), ("b", "r")], "a", &[]),
        ] {
            assert_eq!(watchers(&directory(&hosts), lost), wanted, "{hosts:?} without {lost}");
        }
    }

    #[test]
    fn runs_go_to_the_next_host_that_is_left() {
        let mut all = directory(&[("a", "r"), ("b", "r"), ("c", "r"), ("d", "r"), ("e", "r")]);
        // d is gone and e has its runs, then e is gone: a is next
        let taken = entry_of("http://e:1", "d", 1, "e", description("d", "git:1", "d", "r"));
        all.entries[3] = taken.clone();
        let takers = all.takers("git:1");
        let ranks: Vec<usize> =
            takers.iter().map(|taker| heirs_before(&takers, &taken, &taker.description)).collect();
        assert_eq!(takers.len(), 4);
        assert_eq!(ranks[..3], [0, 1, 2], "a, b, c");
    }
}
