//! The hosts that a server knows: what each registered with, and which of them answers for whose runs.
//!
//! The server keeps the directory: an entry is a deployment there. Refuses to know how one is read or written.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::journaled_step::{ProjectPlace, StepRefusal};
use super::run_host_names::{parse_service, parse_service_uri};
use synthdev_domain::terminal_safe::redact_url;

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
    ///
    /// # Errors
    /// It is one of ours, and does not say what a host says.
    fn read(found: &Value) -> Option<Result<Self, UnreadableEntry>> {
        let uri = found["uri"].as_str()?;
        let (_, answering_host, service) = parse_service_uri(uri)?;
        let (host_id, _) = parse_service(service)?;
        let unreadable = |why: String| UnreadableEntry {
            answering_host: answering_host.to_owned(),
            message: format!(
                "the entry of {service} at {} in the server's list of workers cannot be read: {why}",
                redact_url(uri)
            ),
        };
        Some(match serde_json::from_value::<HostDescription>(found["metadata"].clone()) {
            Err(error) => Err(unreadable(error.to_string())),
            Ok(description) if description.host_id != host_id => {
                Err(unreadable(format!("it says that it is of {}", description.host_id)))
            }
            Ok(description) => match found["id"].as_str() {
                None => Err(unreadable("it has no id".to_owned())),
                Some(deployment) => Ok(Self {
                    deployment: deployment.to_owned(),
                    uri: uri.to_owned(),
                    service: service.to_owned(),
                    description,
                }),
            },
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

/// One that another version of the program may have written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnreadableEntry {
    /// The host that answers for the service, as its address says.
    pub answering_host: String,
    pub message: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HostDirectory {
    pub entries: Vec<HostEntry>,
    /// Their runs are neither moved nor taken over.
    pub unreadable: Vec<UnreadableEntry>,
}

impl HostDirectory {
    /// What the server answers when it is asked for its deployments; those of other services are left out.
    ///
    /// # Errors
    /// It is not a list of them.
    pub(crate) fn read(answer: &str) -> Result<Self, StepRefusal> {
        let told: Result<Value, _> = serde_json::from_str(answer);
        let deployments = match &told {
            Ok(told) => told["deployments"].as_array().ok_or("it has no deployments".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        let deployments = deployments.map_err(|why| StepRefusal {
            message: format!("the server's list of workers cannot be read: {why}"),
            hint: Some(
                "`synthdev backend doctor` says whether this is a server of the right version".to_owned(),
            ),
        })?;
        let mut directory = Self::default();
        for read in deployments.iter().filter_map(HostEntry::read) {
            match read {
                Ok(entry) => directory.entries.push(entry),
                Err(unreadable) => directory.unreadable.push(unreadable),
            }
        }
        Ok(directory)
    }

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
        own.map(HostEntry::number).max().map_or(1, |last| last.saturating_add(1))
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
pub(crate) mod tests {
    use serde_json::json;

    use super::*;
    use crate::run_host_names::{service_name, service_uri};

    pub(crate) fn description(
        host_id: &str,
        identity: &str,
        directory: &str,
        remote: &str,
    ) -> HostDescription {
        let text = str::to_owned;
        HostDescription {
            host_id: text(host_id),
            project: ProjectPlace { identity: text(identity), path: text("/p"), directory: text(directory) },
            slots: text("2"),
            snapshot_remote: text(remote),
            version: String::new(),
        }
    }

    /// The service of a host, for which `answering` answers.
    pub(crate) fn entry_of(
        base: &str,
        host_id: &str,
        number: u64,
        answering: &str,
        description: HostDescription,
    ) -> HostEntry {
        let service = service_name(host_id, number);
        let (deployment, uri) = (format!("dp_{service}"), service_uri(base, answering, &service));
        HostEntry { deployment, uri, service, description }
    }

    fn entry(host_id: &str, number: u64, answering: &str) -> HostEntry {
        entry_of("http://h:1", host_id, number, answering, description(host_id, "git:1", "d", ""))
    }

    #[test]
    fn new_runs_go_to_hosts_that_answer_for_themselves() {
        let entries = vec![entry("a", 1, "b"), entry("a", 2, "a"), entry("b", 1, "b"), entry("c", 1, "b")];
        let directory = HostDirectory { entries, unreadable: Vec::new() };
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
    fn an_entry_that_cannot_be_read_is_named() {
        let good = serde_json::to_value(description("a", "git:1", "d", "")).unwrap();
        let mut other = good.clone();
        other["host_id"] = json!("b");
        let ours = "http://user:secret@h:1/a/SynthdevRun.a.1";
        for (uri, metadata, readable, words) in [
            (ours, good.clone(), 1, ""),
            ("http://h:1/greeter", json!({}), 0, ""),
            (ours, json!({}), 0, "SynthdevRun.a.1"),
            (ours, json!({"host_id": "a"}), 0, "missing field"),
            (ours, other, 0, "of b"),
        ] {
            let answer =
                json!({"deployments": [{"id": "dp_1", "uri": uri, "metadata": metadata}, {"arn": "x"}]});
            let directory = HostDirectory::read(&answer.to_string()).unwrap();
            let told = directory.unreadable.first().map_or("", |entry| &entry.message);
            assert_eq!((directory.entries.len(), told.is_empty()), (readable, words.is_empty()), "{told}");
            assert!(told.contains(words) && !told.contains("secret"), "{told}");
        }
        for wrong in ["", "[]", "{\"deployments\": 7}"] {
            let refused = HostDirectory::read(wrong).unwrap_err();
            assert!(refused.message.contains("cannot be read"), "{refused}");
        }
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
