//! How many scripted replies a run has had: they are not given again.

use std::collections::BTreeMap;

use synthdev_domain::ids::RunId;
use synthdev_engine::event::RunEvent;
use synthdev_ports::run_store::StoreError;
use synthdev_runtime::handle::RuntimeHandle;

/// Replies by agent.
///
/// # Errors
/// The run cannot be read.
pub fn count_used_replies(
    handle: &RuntimeHandle,
    run: &RunId,
) -> Result<BTreeMap<String, usize>, StoreError> {
    let mut used = BTreeMap::new();
    for (_, event) in handle.load_record(run.as_str())?.events {
        let (agent, replies) = match event.event {
            RunEvent::Replied { agent, .. } | RunEvent::ContextSummarized { agent, .. } => (agent, 1),
            RunEvent::ModelFailed { agent, attempts, .. } => (agent, attempts as usize),
            _ => continue,
        };
        *used.entry(agent).or_default() += replies;
    }
    for agent in handle.agents_answered_before_rewind(run)? {
        *used.entry(agent).or_default() += 1;
    }
    Ok(used)
}
