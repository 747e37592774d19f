//! A model port that answers from a recording, and from nothing else: no network, no key.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::watch;

use super::format::{Cassette, Outcome, Partial, Recorded};
use super::miss::{self, Playing};
use super::neutral::{Here, Roles};
use super::shelf::Shelf;
use crate::domain::model::{DeltaKind, ModelError, ModelReply, ModelRequest};
use crate::ports::model::{DeltaSink, ModelPort};

/// How long an answer waits for those that came before it when nothing happens.
const PATIENCE: Duration = Duration::from_secs(1);
/// What an answer gets ahead of the one after it.
const HEADWAY: Duration = Duration::from_millis(20);
/// How much later than when it was recorded a call that was stopped gives up.
const GRACE: Duration = Duration::from_secs(10);

pub struct Player {
    shelf: Mutex<Shelf>,
    playing: Playing,
    here: Here,
    roles: Roles,
    /// Moves whenever a call is over.
    moved: watch::Sender<()>,
    misses: Mutex<Vec<String>>,
    instant: bool,
}

impl Player {
    /// `roles`: of the workflow as it is now.
    pub fn new(cassette: Cassette, playing: Playing, roles: Roles, here: Here) -> Self {
        Self {
            shelf: Mutex::new(Shelf::new(cassette.calls)),
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
    pub fn made_before(&self, request: &ModelRequest) {
        let asked = self.here.asked(request, &self.roles);
        let mut shelf = self.shelf();
        if let Some((at, _)) = shelf.take(&asked, &request.state) {
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
        let left =
            shelf.calls().filter(|(call, taken)| !taken && !matches!(call.outcome, Outcome::Stopped { .. }));
        left.map(|(call, _)| format!("recorded call {} of agent `{}`", call.call, call.asked.agent)).collect()
    }

    /// What was asked and is not in the recording, a line each.
    pub fn misses(&self) -> Vec<String> {
        self.misses.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn answer(&self, request: &ModelRequest, sink: &dyn DeltaSink) -> Result<ModelReply, ModelError> {
        let asked = self.here.asked(request, &self.roles);
        let taken = self.shelf().take(&asked, &request.state);
        let Some((at, call)) = taken else {
            let shelf = self.shelf();
            let (line, detail) = miss::told(&asked, &request.state, &shelf, &self.playing);
            self.misses.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            return Err(ModelError::Drift { detail });
        };
        let _turn = Turn { player: self, at };
        if !self.instant {
            self.wait_for(at).await;
        }
        let pieces = |partial: &Partial| {
            let Partial { text, reasoning, used } = self.here.inward(partial.clone());
            say(sink, &reasoning, &text);
            used.into_iter().for_each(|used| sink.used(used));
        };
        match &call.outcome {
            Outcome::Reply(reply) => {
                let reply = self.here.inward(reply.clone());
                say(sink, &reply.reasoning, &reply.text);
                Ok(reply)
            }
            Outcome::Error(error) => {
                pieces(&call.partial);
                Err(self.here.inward(error.clone()))
            }
            Outcome::Stopped { after_ms } => {
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
                self.shelf().give_up_before(at);
                self.moved.send_replace(());
                return;
            }
        }
        if waited {
            // the answer before this one is still on its way into the run
            tokio::time::sleep(HEADWAY).await;
        }
    }

    fn unanswered(&self, request: &ModelRequest, call: &Recorded) -> ModelError {
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

impl ModelPort for Player {
    fn call<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a dyn DeltaSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(self.answer(request, sink))
    }
}

/// A call that is being answered; answered or given up, the next one may come.
struct Turn<'a> {
    player: &'a Player,
    at: usize,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.player.shelf().end(self.at);
        self.player.moved.send_replace(());
    }
}
