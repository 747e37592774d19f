//! One process asks another to pause or end a run that it drives: a run is the same in every process that shows it.
//!
//! The requester gets a reply when it is done: the run can be claimed then. Refuses to let other processes answer,
//! approve or send messages in a run: they resume it for that.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::active_runs::ActiveRuns;
use super::command::{ControlAction, ControlOrigin};
use super::driver_message::DriverMessage;
use super::handle::RuntimeHandle;
use super::runtime_context::RuntimeContext;
use super::task_queue::TaskBroker;
use synthdev_domain::ids::RunId;
use synthdev_ports::run_store::{DriverAnswers, DriverRequest, RemoteRunAction, StoreError};

/// The outcome of pausing a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PauseOutcome {
    /// No process drives it now.
    Done,
    /// Its driver has the command, and work was still in progress when the time to wait was over; the other process, if
    /// any.
    Told(Option<u32>),
    /// The process that drives it has not received the command by then.
    Unheard(u32),
}

/// A driver that does not listen is asked again so often, and so much later.
const TRIES: u32 = 150;
const SOON: Duration = Duration::from_millis(20);

/// A driver that does not reply within this time does not listen. The requester tries for much longer.
const AT_ONCE: Duration = Duration::from_millis(200);

#[derive(Serialize, Deserialize)]
struct ControlRequest {
    run: RunId,
    control: ControlAction,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ControlReply {
    /// The request was received; the outcome follows.
    Heard,
    /// The run is not driven there any more.
    Done,
    /// It was not driven there when that was asked.
    NotDriven,
    /// It is a conversation: only its own user controls it.
    Conversation,
    /// It is not understood there: that program is an older one.
    #[serde(other)]
    Unknown,
}

/// Serves requests of other processes about the runs of this process, until none can be driven any more.
async fn serve_control_requests(
    mut requests: BoxStream<'static, DriverRequest>,
    runs: Weak<ActiveRuns>,
    broker: Arc<TaskBroker>,
) {
    while let Some(DriverRequest { text, answers }) = requests.next().await {
        let (Some(runs), broker) = (runs.upgrade(), Arc::clone(&broker)) else { return };
        tokio::spawn(async move {
            // the requester may have gone
            let tell = |answer: ControlReply| serde_json::to_string(&answer).map(|told| answers.send(told));
            let _ = tell(ControlReply::Heard);
            let told = match serde_json::from_str::<ControlRequest>(&text) {
                Ok(ControlRequest { run, control }) => {
                    let carried = async {
                        broker.wait_until_resumed(&run).await;
                        request_control(&runs, &run, control, ControlOrigin::Others).await
                    };
                    tokio::select! {
                        told = carried => told,
                        // the driver keeps the command, but no requester waits for the outcome
                        () = answers.closed() => return,
                    }
                }
                Err(_) => ControlReply::Unknown,
            };
            let _ = tell(told);
        });
    }
}

async fn request_control(
    runs: &ActiveRuns,
    run: &RunId,
    control: ControlAction,
    whose: ControlOrigin,
) -> ControlReply {
    let Some(inbox_sender) = runs.outbox_for(run) else { return ControlReply::NotDriven };
    let (answer, taken) = oneshot::channel();
    // one that ends in that moment does not answer
    if inbox_sender.send(DriverMessage::Control(control, whose, answer)).is_ok() && taken.await == Ok(false) {
        return ControlReply::Conversation;
    }
    runs.wait_until_left(run, &inbox_sender).await;
    ControlReply::Done
}

impl RuntimeHandle {
    /// From the first run of this process on others may ask for it. A command that is done at once has no use for that.
    pub(super) fn listen_for_control(&self) {
        let RuntimeContext { ports, runs, task_broker: broker, .. } = &*self.context;
        runs.ensure_listener(|| {
            let (store, runs, broker) =
                (Arc::downgrade(&ports.store), Arc::downgrade(runs), Arc::clone(broker));
            let hearing = async move {
                sleep(AT_ONCE).await;
                let Some(requests) = store.upgrade().map(|store| store.requests()) else { return };
                serve_control_requests(requests, runs, broker).await;
            };
            tokio::spawn(hearing).abort_handle()
        });
    }

    /// Pauses a run, in whichever process it is driven: work in progress completes, and nothing new begins. A run
    /// without a driver stays as it is. `max_wait`: how long to wait for the outcome.
    ///
    /// # Errors
    /// It is a conversation, its driver cannot be reached, or the store cannot be read.
    pub async fn pause(&self, run: &RunId, max_wait: Duration) -> Result<PauseOutcome, StoreError> {
        self.task_broker().wait_until_resumed(run).await;
        if self.context.runs.drives_run(run) {
            if self.is_at_server(run)? {
                self.ensure_not_remote(run, RemoteRunAction::Change)?;
            }
            let here = timeout(
                max_wait,
                request_control(&self.context.runs, run, ControlAction::Pause, ControlOrigin::Own),
            )
            .await;
            return match here {
                Ok(ControlReply::Conversation) => Err(conversation_error(run, "here")),
                Ok(
                    ControlReply::Done
                    | ControlReply::Heard
                    | ControlReply::NotDriven
                    | ControlReply::Unknown,
                ) => Ok(PauseOutcome::Done),
                Err(_) => Ok(PauseOutcome::Told(None)),
            };
        }
        Ok(match self.ask_driver(run, ControlAction::Pause, max_wait).await? {
            Some(told) => told,
            None => {
                self.ensure_not_remote(run, RemoteRunAction::Change)?;
                PauseOutcome::Done
            }
        })
    }

    /// Until this process does not drive the run: it has given back the project's files, too.
    pub async fn wait_until_released(&self, run: &RunId) {
        if let Some(inbox_sender) = self.context.runs.outbox_for(run) {
            self.context.runs.wait_until_left(run, &inbox_sender).await;
        }
    }

    /// `None`: no other process drives it.
    pub(super) async fn ask_driver(
        &self,
        run: &RunId,
        control: ControlAction,
        max_wait: Duration,
    ) -> Result<Option<PauseOutcome>, StoreError> {
        let asked = serde_json::to_string(&ControlRequest { run: run.clone(), control }).unwrap_or_default();
        let until = Instant::now() + max_wait;
        let (mut tries, mut asks) = (TRIES, 0_u32);
        while let Some(DriverAnswers { pid, answers }) = self.ports().store.ask_driver(run, asked.clone())? {
            asks += 1;
            let mut heard = false;
            let told = match timeout_at(until, last_reply(answers, &mut heard)).await {
                Ok(told) => told,
                Err(_) if heard => return Ok(Some(PauseOutcome::Told(Some(pid)))),
                Err(_) => return Ok(Some(PauseOutcome::Unheard(pid))),
            };
            match told {
                Some(ControlReply::Done) => return Ok(Some(PauseOutcome::Done)),
                Some(ControlReply::Conversation) => {
                    return Err(conversation_error(run, "in another process"));
                }
                // it is ending, or only writes something into the run
                Some(ControlReply::NotDriven | ControlReply::Heard) | None if tries > 0 => {
                    tries -= 1;
                    sleep(SOON).await;
                }
                _ => return Err(unresponsive_driver_error(run, pid)),
            }
        }
        // its process may have ended with it, before it could answer
        Ok((asks > 0).then_some(PauseOutcome::Done))
    }
}

/// The last reply; `None`: there is none that can be parsed.
async fn last_reply(mut answers: BoxStream<'static, String>, heard: &mut bool) -> Option<ControlReply> {
    let mut last = None;
    while let Some(told) = answers.next().await {
        last = serde_json::from_str(&told).ok();
        *heard |= last == Some(ControlReply::Heard);
    }
    last
}

fn unresponsive_driver_error(run: &RunId, pid: u32) -> StoreError {
    StoreError {
        message: format!("run {run} belongs to process {pid}, which does not let go of it"),
        hint: Some("do it there, or end that process: then the run is free".to_owned()),
    }
}

fn conversation_error(run: &RunId, place: &str) -> StoreError {
    StoreError {
        message: format!("run {run} is a conversation that goes on {place}"),
        hint: Some("it ends with /exit in the session that talks in it".to_owned()),
    }
}
