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

/// How long an answer waits for those that came before it when nothing happens.
const PATIENCE: Duration = Duration::from_secs(1);
/// What an answer gets ahead of the one after it.
const HEADWAY: Duration = Duration::from_millis(20);
/// How much later than when it was recorded a call that was stopped gives up.
const GRACE: Duration = Duration::from_secs(10);

pub struct ModelCallPlayer {
    shelf: Mutex<RecordedCallMatcher>,
    playing: PlayedRecording,
    here: RequestNormalizer,
    roles: RolesByAgent,
    /// Moves whenever a call is over.
    moved: watch::Sender<()>,
    misses: Mutex<Vec<String>>,
    instant: bool,
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
            shelf: Mutex::new(RecordedCallMatcher::new(cassette.calls)),
            playing,
            here,
            roles,
            moved: watch::Sender::new(()),
            misses: Mutex::default(),
            instant: false,
        }
    }

    /// For simulated time: the answers' own times tell their order, and nobody waits.
    #[must_use]
    pub fn instantly(self) -> Self {
        Self { instant: true, ..self }
    }

    /// A call that the run has had its answer to before it is played on.
    pub fn skip_earlier_call(&self, request: &ModelRequest) {
        let asked = self.here.normalize_request(request, &self.roles);
        let mut shelf = self.shelf();
        if let Some((at, _)) = shelf.match_call(&asked, &request.state) {
            shelf.end(at);
        }
    }

    /// The recording as it was named.
    pub fn name(&self) -> &str {
        &self.playing.name
    }

    /// The answers that nobody asked for, a line each.
    pub fn unused(&self) -> Vec<String> {
        let shelf = self.shelf();
        let left = shelf
            .calls()
            .filter(|(call, taken)| !taken && !matches!(call.outcome, RecordedOutcome::Stopped { .. }));
        left.map(|(call, _)| format!("recorded call {} of agent `{}`", call.call, call.asked.agent)).collect()
    }

    /// What was asked and is not in the recording, a line each.
    pub fn misses(&self) -> Vec<String> {
        self.misses.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn shelf(&self) -> MutexGuard<'_, RecordedCallMatcher> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn answer(&self, request: &ModelRequest, sink: &dyn DeltaSink) -> Result<ModelReply, ModelError> {
        let asked = self.here.normalize_request(request, &self.roles);
        let taken = self.shelf().match_call(&asked, &request.state);
        let Some((at, call)) = taken else {
            let shelf = self.shelf();
            let (line, detail) = mismatch::describe_mismatch(&asked, &request.state, &shelf, &self.playing);
            self.misses.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            return Err(ModelError::Drift { detail });
        };
        let _turn = PlaybackTurn { player: self, at };
        if !self.instant {
            self.wait_for(at).await;
        }
        let pieces = |partial: &RecordedPartialReply| {
            let RecordedPartialReply { text, reasoning, used } =
                self.here.from_recorded_form(partial.clone());
            say(sink, &reasoning, &text);
            used.into_iter().for_each(|used| sink.report_usage(used));
        };
        match &call.outcome {
            RecordedOutcome::Reply(reply) => {
                let reply = self.here.from_recorded_form(reply.clone());
                say(sink, &reply.reasoning, &reply.text);
                Ok(reply)
            }
            RecordedOutcome::Error(error) => {
                pieces(&call.partial);
                Err(self.here.from_recorded_form(error.clone()))
            }
            RecordedOutcome::Stopped { after_ms } => {
                pieces(&call.partial);
                if !self.instant {
                    tokio::time::sleep(Duration::from_millis(*after_ms).saturating_add(GRACE)).await;
                }
                Err(self.unanswered(request, &call))
            }
        }
    }

    /// Until every call that was over earlier is over again, or nothing more happens.
    async fn wait_for(&self, at: usize) {
        let mut moved = self.moved.subscribe();
        let mut waited = false;
        while !self.shelf().is_turn(at) {
            waited = true;
            if tokio::time::timeout(PATIENCE, moved.changed()).await.is_err() {
                self.shelf().release_earlier_calls(at);
                self.moved.send_replace(());
                return;
            }
        }
        if waited {
            // the answer before this one is still on its way into the run
            tokio::time::sleep(HEADWAY).await;
        }
    }

    fn unanswered(&self, request: &ModelRequest, call: &RecordedCall) -> ModelError {
        let detail = format!(
            "agent `{}` in state `{}` waits for call {} of {}, which was stopped before it was answered when it was \
             recorded, and is not stopped now\n{}",
            request.agent,
            request.state,
            call.call,
            self.playing.name,
            self.playing.again()
        );
        ModelError::Drift { detail }
    }
}

fn say(sink: &dyn DeltaSink, reasoning: &str, text: &str) {
    for (kind, text) in [(DeltaKind::Reasoning, reasoning), (DeltaKind::Text, text)] {
        if !text.is_empty() {
            sink.delta(kind, text);
        }
    }
}

impl ModelPort for ModelCallPlayer {
    fn call<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a dyn DeltaSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(self.answer(request, sink))
    }
}

/// A call that is being answered; answered or given up, the next one may come.
struct PlaybackTurn<'a> {
    player: &'a ModelCallPlayer,
    at: usize,
}

impl Drop for PlaybackTurn<'_> {
    fn drop(&mut self) {
        self.player.shelf().end(self.at);
        self.player.moved.send_replace(());
    }
}
