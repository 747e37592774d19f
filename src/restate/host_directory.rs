//! The hosts that a server knows: what each registered with, and which of them answers for whose runs.
//!
//! The server keeps the directory: an entry is a deployment there. Refuses to know how one is read or written.

use serde::{Deserialize, Serialize};

use super::journaled_step::ProjectPlace;
use super::run_host_names::{parse_service, parse_service_uri};

/// What a host registers with; texts, as the server keeps them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HostDescription {
    pub host_id: String,
    #[serde(flatten)]
    pub project: ProjectPlace,
    /// Runs at the same time.
    pub slots: String,
    /// Snapshots of its runs go to this git remote; empty: to none.
    #[serde(default)]
    pub snapshot_remote: String,
    /// Of the program.
    #[serde(default)]
    pub version: String,
}

/// One service, and where the server calls it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostEntry {
    /// Of the deployment at the server.
    pub deployment: String,
    pub uri: String,
    pub service: String,
    /// The host that registered it.
    pub description: HostDescription,
}

impl HostEntry {
    /// `None`: it is not one of ours.
    pub(crate) fn new(deployment: &str, uri: &str, description: HostDescription) -> Option<Self> {
        let (_, _, service) = parse_service_uri(uri)?;
        let (host_id, _) = parse_service(service)?;
        (host_id == description.host_id).then(|| Self {
            deployment: deployment.to_owned(),
            uri: uri.to_owned(),
            service: service.to_owned(),
            description,
        })
    }

    fn parts(&self) -> (&str, &str) {
        parse_service_uri(&self.uri).map_or(("", ""), |(base, host_id, _)| (base, host_id))
    }

    /// Where the server reaches the host that answers now.
    pub fn base(&self) -> &str {
        self.parts().0
    }

    /// The host that answers now.
    pub fn answering_host(&self) -> &str {
        self.parts().1
    }

    /// Whether its own host answers: only then it takes new runs.
    pub fn is_at_home(&self) -> bool {
        self.answering_host() == self.description.host_id
    }

    pub fn number(&self) -> u64 {
        parse_service(&self.service).map_or(0, |(_, number)| number)
    }

    pub fn slots(&self) -> usize {
        self.description.slots.parse().unwrap_or(0)
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HostDirectory {
    pub entries: Vec<HostEntry>,
}

impl HostDirectory {
    /// Those that take new runs of a project, the newest of each host.
    pub fn takers(&self, identity: &str) -> Vec<&HostEntry> {
        let mut takers: Vec<&HostEntry> = self.entries.iter().filter(|entry| entry.is_at_home()).collect();
        takers.retain(|entry| entry.description.project.identity == identity);
        takers.sort_by_key(|entry| (entry.description.host_id.clone(), std::cmp::Reverse(entry.number())));
        takers.dedup_by(|one, other| one.description.host_id == other.description.host_id);
        takers
    }

    /// The newest entry of a host that answers for itself.
    pub fn home_of(&self, host_id: &str) -> Option<&HostEntry> {
        let own = self.entries.iter().filter(|entry| entry.is_at_home());
        own.filter(|entry| entry.description.host_id == host_id).max_by_key(|entry| entry.number())
    }

    /// All that a host answers for.
    pub fn answered_by<'d>(&'d self, host_id: &'d str) -> impl Iterator<Item = &'d HostEntry> {
        self.entries.iter().filter(move |entry| entry.answering_host() == host_id)
    }

    pub fn of_service(&self, service: &str) -> Option<&HostEntry> {
        self.entries.iter().find(|entry| entry.service == service)
    }

    /// The number of a host's next service.
    pub fn next_number(&self, host_id: &str) -> u64 {
        let own = self.entries.iter().filter(|entry| entry.description.host_id == host_id);
        own.map(HostEntry::number).max().map_or(1, |last| last + 1)
    }
}

/// Whether a host of `heir` can go on with runs that one of `lost` began: it needs their files.
pub fn can_take_over(lost: &HostDescription, heir: &HostDescription) -> bool {
    if lost.project.identity != heir.project.identity {
        return false;
    }
    let same_remote = !lost.snapshot_remote.is_empty() && lost.snapshot_remote == heir.snapshot_remote;
    lost.project.directory == heir.project.directory || same_remote
}

/// Those with the most free slots first; `active`: how many runs of a service are under way.
pub fn by_free_slots(takers: Vec<&HostEntry>, active: impl Fn(&str) -> usize) -> Vec<(&HostEntry, isize)> {
    let free = |entry: &HostEntry| {
        let slots = isize::try_from(entry.slots()).unwrap_or(isize::MAX);
        slots.saturating_sub_unsigned(active(&entry.service))
    };
    let mut all: Vec<_> = takers.into_iter().map(|entry| (entry, free(entry))).collect();
    all.sort_by_key(|(entry, free)| (std::cmp::Reverse(*free), entry.description.host_id.clone()));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_host_names::{service_name, service_uri};

    fn description(host_id: &str, identity: &str, directory: &str, remote: &str) -> HostDescription {
        let text = str::to_owned;
        HostDescription {
            host_id: text(host_id),
            project: ProjectPlace { identity: text(identity), path: text("/p"), directory: text(directory) },
            slots: text("2"),
            snapshot_remote: text(remote),
            version: String::new(),
        }
    }

    fn entry(host_id: &str, number: u64, answering: &str) -> HostEntry {
        let service = service_name(host_id, number);
        let uri = service_uri("http://h:1", answering, &service);
        HostEntry::new(&format!("dp_{service}"), &uri, description(host_id, "git:1", "d", "")).unwrap()
    }

    #[test]
    fn new_runs_go_to_hosts_that_answer_for_themselves() {
        let entries = vec![entry("a", 1, "b"), entry("a", 2, "a"), entry("b", 1, "b"), entry("c", 1, "b")];
        let directory = HostDirectory { entries };
        let takers: Vec<&str> =
            directory.takers("git:1").iter().map(|entry| entry.service.as_str()).collect();
        assert_eq!(takers, ["SynthdevRun.a.2", "SynthdevRun.b.1"]);
        assert!(directory.takers("git:2").is_empty());
        assert_eq!((directory.next_number("a"), directory.next_number("d")), (3, 1));
        assert_eq!(directory.answered_by("b").count(), 3);
        let active = |service: &str| if service == "SynthdevRun.a.2" { 3 } else { 1 };
        let ranked = by_free_slots(directory.takers("git:1"), active);
        let ranked: Vec<_> = ranked.iter().map(|(entry, free)| (entry.service.as_str(), *free)).collect();
        assert_eq!(ranked, [("SynthdevRun.b.1", 1), ("SynthdevRun.a.2", -1)]);
    }

    #[test]
    fn runs_move_where_their_files_are() {
        let lost = description("a", "git:1", "d1", "");
        for (heir, can) in [
            (description("b", "git:1", "d1", ""), true),
            (description("b", "git:1", "d2", ""), false),
            (description("b", "git:1", "d2", "remote"), false),
            (description("b", "git:2", "d1", ""), false),
        ] {
            assert_eq!(can_take_over(&lost, &heir), can, "{heir:?}");
        }
        let pushed = description("a", "git:1", "d1", "remote");
        assert!(can_take_over(&pushed, &description("b", "git:1", "d2", "remote")));
    }
}
