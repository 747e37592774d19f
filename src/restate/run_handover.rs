//! Finds another host for runs that wait for a slot: a host that comes late gets work.

use std::time::Duration;

use tokio::sync::Mutex;

use super::host_directory::{HostDescription, by_free_slots};
use super::journaled_step::StepRefusal;
use super::server_client::RestateClient;

/// Between two looks, of all runs that wait together.
const BETWEEN_LOOKS: Duration = Duration::from_millis(300);

pub(crate) struct HandoverFinder {
    client: RestateClient,
    own: HostDescription,
    /// One run looks at a time, each in its turn.
    turn: Mutex<()>,
}

impl HandoverFinder {
    pub(crate) fn new(client: RestateClient, own: HostDescription) -> Self {
        Self { client, own, turn: Mutex::new(()) }
    }

    /// Until a host that has not had the run has a free slot; its service.
    pub(crate) async fn wait_for_place(&self, handed_over_by: &[String]) -> String {
        loop {
            let _turn = self.turn.lock().await;
            tokio::time::sleep(BETWEEN_LOOKS).await;
            // a server that cannot be reached is asked again
            if let Ok(Some(service)) = self.find_place(handed_over_by).await {
                return service;
            }
        }
    }

    async fn find_place(&self, handed_over_by: &[String]) -> Result<Option<String>, StepRefusal> {
        let directory = self.client.directory().await?;
        let mut others = directory.takers(&self.own.project.identity);
        others.retain(|entry| {
            entry.description.host_id != self.own.host_id && !handed_over_by.contains(&entry.service)
        });
        if others.is_empty() {
            return Ok(None);
        }
        let active = self.client.active_runs().await?;
        let ranked = by_free_slots(others, |service| active.get(service).copied().unwrap_or(0));
        for (entry, free) in ranked {
            if free > 0 && self.client.reaches(&entry.uri).await? {
                return Ok(Some(entry.service.clone()));
            }
        }
        Ok(None)
    }
}
