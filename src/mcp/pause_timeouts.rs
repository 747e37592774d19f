//! Questions to clients whose time is up where the workflow says what follows without an answer: its `default`, or the
//! state of its `on_timeout`. All others wait on.
//!
//! Looked after by every server of the project: also what another one asked, before it ended, moves on.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::backend::McpBackend;
use synthdev_domain::ids::{CallId, RunId, Timestamp};
use synthdev_domain::journal::{OpenPause, RunQuery, RunStatus, RunSummary};
use synthdev_service::run_list::find_runs;
use synthdev_service::run_resume::{DEFAULT_TTL_SECONDS, resume_run};

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(500);
/// A run that could not be resumed is tried again after this time.
const AGAIN_MS: i64 = 60_000;

/// How long a token for a pause is to last, in seconds.
pub(super) fn token_lifetime_seconds(pause: &OpenPause, now: Timestamp) -> u64 {
    match timeout_at(pause) {
        Some(end) => remaining_ms(now, end).div_ceil(1_000).max(1),
        None => ttl_ms(pause).div_ceil(1_000).max(1),
    }
}

/// Seconds from one time to another for messages: whole seconds, at least one.
pub(super) fn whole_seconds(now: Timestamp, end: Timestamp) -> u64 {
    (remaining_ms(now, end).saturating_add(500) / 1_000).max(1)
}

fn remaining_ms(now: Timestamp, end: Timestamp) -> u64 {
    u64::try_from(end.0.saturating_sub(now.0)).unwrap_or(0)
}

/// When the run continues without an answer, if it ever does.
fn timeout_at(pause: &OpenPause) -> Option<Timestamp> {
    let ttl = i64::try_from(ttl_ms(pause)).unwrap_or(i64::MAX);
    let moves = pause.action.as_ref().is_some_and(|asked| asked.moves_on);
    moves.then(|| Timestamp(pause.since.0.saturating_add(ttl)))
}

fn ttl_ms(pause: &OpenPause) -> u64 {
    let declared = pause.action.as_ref().and_then(|asked| asked.ttl_ms);
    declared.unwrap_or(DEFAULT_TTL_SECONDS * 1_000)
}

/// Resumes runs whose pause has timed out, as long as the server runs.
pub(super) async fn run_timeout_loop(backend: Arc<dyn McpBackend>) {
    let (mut seen, mut waiting) = (None, Vec::new());
    let mut tried: HashMap<(RunId, CallId), Timestamp> = HashMap::new();
    loop {
        let (now, changes) = (backend.handle().now(), backend.handle().history_changes());
        if changes.is_none() || changes != seen {
            (seen, waiting) = (changes, timed_questions(&*backend));
        }
        tried.retain(|_, at| at.0.saturating_add(AGAIN_MS) > now.0);
        for (end, run, call) in &waiting {
            let pause = (run.clone(), *call);
            if *end > now || tried.contains_key(&pause) {
                continue;
            }
            tried.insert(pause, now);
            if let Err(why) = resume_after_timeout(&*backend, run, *call).await {
                tracing::warn!(%run, "no answer came in time, and the run cannot continue: {why}");
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// What runs of this project wait for until a certain time.
fn timed_questions(backend: &dyn McpBackend) -> Vec<(Timestamp, RunId, CallId)> {
    let query = RunQuery {
        project: Some(backend.project().to_owned()),
        statuses: vec![RunStatus::Paused],
        ..RunQuery::default()
    };
    let paused = find_runs(backend.handle(), &query).unwrap_or_default();
    let of_run = |run: RunSummary| {
        let timed = |pause: &OpenPause| Some((timeout_at(pause)?, run.id.clone(), pause.call));
        run.progress.pauses.iter().filter_map(timed).collect::<Vec<_>>()
    };
    paused.into_iter().flat_map(of_run).collect()
}

async fn resume_after_timeout(backend: &dyn McpBackend, run: &RunId, call: CallId) -> Result<(), String> {
    let summary = backend.handle().summary(run.as_str()).map_err(|error| error.message)?;
    let open = |pause: &OpenPause| pause.call == call;
    if summary.progress.status != RunStatus::Paused || !summary.progress.pauses.iter().any(open) {
        return Ok(());
    }
    let (handle, mut going) = backend.prepare_resume(&summary).map_err(|reason| reason.message)?;
    going.timed_out = vec![call];
    resume_run(&handle, run, going).await.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use synthdev_domain::delegation::DelegationRequest;
    use synthdev_domain::journal::PauseReason;

    #[test]
    fn a_token_lasts_as_long_as_the_question() {
        let pause = |action: Option<DelegationRequest>| OpenPause {
            call: CallId(1),
            state: "ask".to_owned(),
            reason: PauseReason::Input,
            message: String::new(),
            kind: None,
            choices: Vec::new(),
            required_outputs: Vec::new(),
            schema: None,
            default: None,
            action: action.map(Box::new),
            since: Timestamp(1_000),
        };
        let asked =
            |ttl_ms, moves_on| Some(DelegationRequest { ttl_ms, moves_on, ..DelegationRequest::default() });
        for (action, now, lasts_s) in [
            (None, 9_000, 1_800),
            (asked(Some(1), false), 9_000, 1),
            (asked(Some(60_000), false), 9_000, 60),
            (asked(Some(60_000), true), 1_000, 60),
            (asked(Some(60_000), true), 31_500, 30),
            (asked(Some(60_000), true), 61_500, 1),
            (asked(None, true), 801_000, 1_000),
        ] {
            assert_eq!(
                token_lifetime_seconds(&pause(action.clone()), Timestamp(now)),
                lasts_s,
                "{action:?} at {now}"
            );
        }
    }
}
