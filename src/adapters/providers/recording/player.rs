//! A model port that answers from a recording, and from nothing else: no network, no key.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::watch;

use super::format::{ModelRecording, RecordedCall, RecordedOutcome, RecordedPartialReply};
use super::matcher::RecordedCallMatcher;
use super::mismatch::{self, PlayedRecording};
use super::normalize::{RequestNormalizer, RolesByAgent};
use synthdev_domain::model::{DeltaKind, ModelError, ModelReply, ModelRequest};
use synthdev_ports::model::{DeltaSink, ModelPort};
use synthdev_ports::simulation::ScriptedModelPort;

/// How long a reply waits for another call to finish before it gives up the recorded order.
const ORDER_TIMEOUT: Duration = Duration::from_secs(1);
/// How much later the next reply is played: the run should have processed the one before.
const HEADWAY: Duration = Duration::from_millis(20);
/// How much later than when it was recorded a call that was stopped gives up.
const GRACE: Duration = Duration::from_secs(10);

pub struct ModelCallPlayer {
    matcher: Mutex<RecordedCallMatcher>,
    recording: PlayedRecording,
    normalizer: RequestNormalizer,
    roles: RolesByAgent,
    /// Moves whenever a call is over.
    call_finished: watch::Sender<()>,
    missed_requests: Mutex<Vec<String>>,
    skips_delays: bool,
}

impl ModelCallPlayer {
    /// `roles`: of the workflow as it is now.
    pub fn new(
        cassette: ModelRecording,
        playing: PlayedRecording,
        roles: RolesByAgent,
        here: RequestNormalizer,
    ) -> Self {
        Self {
            matcher: Mutex::new(RecordedCallMatcher::new(cassette.calls)),
            recording: playing,
            normalizer: here,
            roles,
            call_finished: watch::Sender::new(()),
            missed_requests: Mutex::default(),
            skips_delays: false,
        }
    }

    /// For simulated time: the recorded times give the order of the replies, and no reply waits.
    #[must_use]
    pub fn without_delays(self) -> Self {
        Self { skips_delays: true, ..self }
    }

    /// A call that the run has had its reply to before it is played on.
    pub fn skip_earlier_call(&self, request: &ModelRequest) {
        let asked = self.normalizer.normalize_request(request, &self.roles);
        let mut matcher = self.lock_matcher();
        if let Some((at, _)) = matcher.match_call(&asked, &request.state) {
            matcher.mark_over(at);
        }
    }

    /// The recording as it was named.
    pub fn name(&self) -> &str {
        &self.recording.name
    }

    /// The replies that no call asked for, a line each.
    pub fn unused_answers(&self) -> Vec<String> {
        let matcher = self.lock_matcher();
        let left = matcher
            .calls()
            .filter(|(call, taken)| !taken && !matches!(call.outcome, RecordedOutcome::Stopped { .. }));
        left.map(|(call, _)| format!("recorded call {} of agent `{}`", call.call, call.request.agent))
            .collect()
    }

    /// What was asked and is not in the recording, a line each.
    pub fn missed_requests(&self) -> Vec<String> {
        self.missed_requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn lock_matcher(&self) -> MutexGuard<'_, RecordedCallMatcher> {
        self.matcher.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn answer_request(
        &self,
        request: &ModelRequest,
        sink: &dyn DeltaSink,
    ) -> Result<ModelReply, ModelError> {
        let asked = self.normalizer.normalize_request(request, &self.roles);
        let taken = self.lock_matcher().match_call(&asked, &request.state);
        let Some((at, call)) = taken else {
            let matcher = self.lock_matcher();
            let (line, detail) =
                mismatch::describe_mismatch(&asked, &request.state, &matcher, &self.recording);
            self.missed_requests.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            return Err(ModelError::Drift { detail });
        };
        let _turn = PlaybackTurn { player: self, call_index: at };
        if !self.skips_delays {
            self.wait_for(at).await;
        }
        let pieces = |partial: &RecordedPartialReply| {
            let RecordedPartialReply { text, reasoning, used } =
                self.normalizer.from_recorded_form(partial.clone());
            stream_reply(sink, &reasoning, &text);
            used.into_iter().for_each(|used| sink.report_usage(used));
        };
        match &call.outcome {
            RecordedOutcome::Reply(reply) => {
                let reply = self.normalizer.from_recorded_form(reply.clone());
                stream_reply(sink, &reply.reasoning, &reply.text);
                Ok(reply)
            }
            RecordedOutcome::Error(error) => {
                pieces(&call.partial_reply);
                Err(self.normalizer.from_recorded_form(error.clone()))
            }
            RecordedOutcome::Stopped { after_ms } => {
                pieces(&call.partial_reply);
                if !self.skips_delays {
                    tokio::time::sleep(Duration::from_millis(*after_ms).saturating_add(GRACE)).await;
                }
                Err(self.unanswered_error(request, &call))
            }
        }
    }

    /// Until every call that was over earlier is over again, or nothing more happens.
    async fn wait_for(&self, at: usize) {
        let mut moved = self.call_finished.subscribe();
        let mut waited = false;
        while !self.lock_matcher().is_turn(at) {
            waited = true;
            if tokio::time::timeout(ORDER_TIMEOUT, moved.changed()).await.is_err() {
                self.lock_matcher().release_earlier_calls(at);
                self.call_finished.send_replace(());
                return;
            }
        }
        if waited {
            // the reply before this one is still on its way into the run
            tokio::time::sleep(HEADWAY).await;
        }
    }

    fn unanswered_error(&self, request: &ModelRequest, call: &RecordedCall) -> ModelError {
        let detail = format!(
            "agent `{}` in state `{}` waits for call {} of {}, which was stopped before it was answered when it was \
             recorded, and is not stopped now\n{}",
            request.agent,
            request.state,
            call.call,
            self.recording.name,
            self.recording.record_again_command()
        );
        ModelError::Drift { detail }
    }
}

fn stream_reply(sink: &dyn DeltaSink, reasoning: &str, text: &str) {
    for (kind, text) in [(DeltaKind::Reasoning, reasoning), (DeltaKind::Text, text)] {
        if !text.is_empty() {
            sink.delta(kind, text);
        }
    }
}

impl ScriptedModelPort for ModelCallPlayer {
    /// None where the run has left the recording: then what is missing counts.
    fn unused_replies(&self) -> Vec<String> {
        if self.missed_requests().is_empty() { self.unused_answers() } else { Vec::new() }
    }
}

impl ModelPort for ModelCallPlayer {
    fn call<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a dyn DeltaSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(self.answer_request(request, sink))
    }
}

/// A call that is being answered; once it is answered or cancelled, the next one may start.
struct PlaybackTurn<'a> {
    player: &'a ModelCallPlayer,
    call_index: usize,
}

impl Drop for PlaybackTurn<'_> {
    fn drop(&mut self) {
        self.player.lock_matcher().mark_over(self.call_index);
        self.player.call_finished.send_replace(());
    }
}
