//! A run of which a server keeps the journal, as a process follows it that does not drive it.
//!
//! Its rows go into a machine of this process, which makes the events of them that the driver publishes where the run works;
//! so every front-end sees it as a run of its own. Commands go to the server. Questions are asked here while a user is
//! present, although the run is suspended there. Refuses to perform any effect.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::sleep;

use super::command::{ControlAction, RunCommand};
use super::driver::EventPublisher;
use super::driver_message::DriverMessage;
use super::journal_replay::{self, load_definition};
use super::runtime_context::RuntimeContext;
use super::server_copy::{CLAIMS, CopyState, complete_copy, write_news};
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::journal::{JournalRow, JournalRowKind, RunHeader, RunProgress, RunStatus};
use synthdev_domain::run_error::RunError;
use synthdev_engine::asked_approval::asked_approval;
use synthdev_engine::event::{RunEvent, StepEvent};
use synthdev_engine::input::{Input, ResumeInput};
use synthdev_engine::replay::StepwiseReplay;
use synthdev_ports::run_server::{FollowCursor, RunNews, RunServer, ServerAnswers};
use synthdev_ports::run_store::StoreError;

/// The code of a warning: what was asked of the server was not done.
const REFUSED: &str = "server";

/// Between two looks at a run that has come to its end, and how many.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);
const END_LOOKS: u32 = 50;

/// How a process begins to follow a run.
#[derive(Debug, Default)]
pub(super) struct FollowStart {
    /// A user can be asked.
    pub(super) is_present: bool,
    /// The user has taken the run up: one that needs no answer goes on.
    pub(super) resumes: bool,
    /// The answer that it was given, by its number.
    pub(super) answered: Option<u64>,
    /// Of its definition.
    pub(super) warnings: Vec<String>,
}

pub(super) struct FollowedRun {
    run: RunId,
    context: Arc<RuntimeContext>,
    server: Arc<dyn RunServer>,
    publisher: EventPublisher,
    start: FollowStart,
    /// As of the rows that are known; `None`: the run has not begun.
    replay: Option<StepwiseReplay>,
    cursor: FollowCursor,
    /// Another process wrote the history in the meantime: it may lack rows.
    is_copy_behind: bool,
    /// As the server last said.
    progress: Option<RunProgress>,
    is_asking: bool,
    /// What the user has answered since, for the next time that the run waits.
    given: ServerAnswers,
    /// The user has seen that the run goes on.
    hides_resumption: bool,
    /// The end of the run, until all of its rows are there.
    held_end: Option<(Timestamp, StepEvent)>,
    /// At the server, before it is waited for again.
    looks_left: u32,
}

/// Whether it is still followed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FollowState {
    Goes,
    Over,
}

impl FollowedRun {
    pub(super) fn new(
        run: RunId,
        context: Arc<RuntimeContext>,
        server: Arc<dyn RunServer>,
        start: FollowStart,
    ) -> Self {
        let publisher = EventPublisher::new(run.clone(), Arc::clone(&context));
        // pieces of answers are for those who look at them
        let transient = context.bus.has_delta_subscribers().then_some(0);
        let cursor = FollowCursor { transient, ..FollowCursor::default() };
        Self {
            run,
            context,
            server,
            publisher,
            start,
            replay: None,
            cursor,
            is_copy_behind: false,
            progress: None,
            is_asking: false,
            given: ServerAnswers::default(),
            hides_resumption: false,
            held_end: None,
            looks_left: 0,
        }
    }

    /// Until the run ends, waits for a user who is not here, or is left.
    pub(super) async fn follow_to_end(mut self, mut inbox: UnboundedReceiver<DriverMessage>) {
        if let Err(error) = self.follow(&mut inbox).await {
            self.break_off(error);
        }
    }

    async fn follow(&mut self, inbox: &mut UnboundedReceiver<DriverMessage>) -> Result<(), StoreError> {
        self.load_known().await?;
        self.publish_opening();
        let server = Arc::clone(&self.server);
        // one that has just been submitted has nothing to see yet
        let mut news = match self.replay {
            Some(_) => server.look(&self.run, self.cursor).await?,
            None => RunNews { cursor: self.cursor, ..RunNews::default() },
        };
        while self.apply_news(news).await? == FollowState::Goes {
            news = tokio::select! {
                biased;
                message = inbox.recv() => {
                    let Some(message) = message else { return Ok(()) };
                    if self.pass_on(message) == FollowState::Over {
                        return Ok(());
                    }
                    RunNews { cursor: self.cursor, ..RunNews::default() }
                }
                news = self.next_news(&*server) => news?,
            };
            self.looks_left = self.looks_left.saturating_sub(1);
        }
        Ok(())
    }

    /// A run that has come to its end is looked at until the server knows that, too: nothing further comes.
    async fn next_news(&self, server: &dyn RunServer) -> Result<RunNews, StoreError> {
        let is_at_end = self.held_end.is_some() && self.looks_left > 0;
        if !is_at_end {
            return server.follow(&self.run, self.cursor).await;
        }
        sleep(BETWEEN_LOOKS).await;
        server.look(&self.run, self.cursor).await
    }

    /// The rows that are in the history already: their events have been seen.
    async fn load_known(&mut self) -> Result<(), StoreError> {
        let (store, run) = (Arc::clone(&self.context.ports.store), self.run.clone());
        if !store.find(run.as_str()).is_ok_and(|found| found.id == run) {
            return Ok(());
        }
        let loading = tokio::task::spawn_blocking(move || {
            let (header, rows) = store.load(&run)?;
            let inputs = parse_inputs(&rows)?;
            let answered = inputs.iter().map(|(_, input)| input);
            let mut replay = StepwiseReplay::skipping_answered(load_definition(&header)?, answered);
            for (at, input) in inputs {
                replay.feed_input(at, input, None);
                replay.events.clear();
            }
            Ok((replay, rows.len() as u64))
        });
        let (replay, rows) = loading.await.unwrap_or_else(|broken| {
            Err(StoreError { message: format!("the run cannot be read: {broken}"), hint: None })
        })?;
        (self.replay, self.cursor.rows) = (Some(replay), rows);
        Ok(())
    }

    fn publish_opening(&mut self) {
        let now = self.context.ports.clock.now();
        let warnings = std::mem::take(&mut self.start.warnings);
        let mut events = Vec::new();
        if self.start.is_present {
            let nothing = Vec::new;
            let going =
                RunEvent::Resumed { present: true, again: Vec::new(), definition: None, notes: nothing() };
            events.push(going.into());
        }
        self.publisher.publish_opening(now, events, warnings);
    }

    async fn apply_news(&mut self, news: RunNews) -> Result<FollowState, StoreError> {
        let known = self.cursor.rows;
        self.copy_news(known, &news).await?;
        self.cursor = news.cursor;
        if let (None, Some(header)) = (&self.replay, &news.header) {
            self.begin_replay(header)?;
        }
        for (at, input) in parse_inputs(&news.rows)? {
            self.apply_input(at, input);
        }
        for event in news.transient {
            self.publish_transient(event);
        }
        if let Some(progress) = news.progress {
            self.progress = Some(progress);
        }
        if let Some((number, refused)) =
            news.refused.filter(|(number, _)| self.start.answered == Some(*number))
        {
            tracing::debug!(run = %self.run, number, "the run did not take the answer");
            (self.start.answered, self.is_asking, self.hides_resumption) = (None, false, false);
            self.warn(&refused);
        }
        if !news.rows.is_empty() || news.has_more {
            return Ok(FollowState::Goes);
        }
        self.settle(news.is_over).await
    }

    /// Rows that could not be written are read again then.
    async fn copy_news(&mut self, known: u64, news: &RunNews) -> Result<(), StoreError> {
        let store = Arc::clone(&self.context.ports.store);
        let state = if self.is_copy_behind {
            complete_copy(&*store, &*self.server, &self.run, 0).await?.unwrap_or(CopyState::Complete)
        } else {
            write_news(&*store, &self.run, self.server.address(), known, news)?
        };
        self.is_copy_behind = state == CopyState::Behind;
        Ok(())
    }

    fn begin_replay(&mut self, header: &RunHeader) -> Result<(), StoreError> {
        self.replay = Some(StepwiseReplay::new(load_definition(header)?));
        Ok(())
    }

    fn apply_input(&mut self, at: Timestamp, input: Input) {
        let Some(replay) = &mut self.replay else { return };
        if matches!(input, Input::Resumed(_)) {
            (self.start.answered, self.is_asking, self.held_end) = (None, false, None);
        }
        replay.feed_input(at, input, None);
        for (at, event) in std::mem::take(&mut replay.events) {
            match &event.event {
                // more of it may come: what its calls cost until they were stopped
                RunEvent::Finished { .. } => {
                    (self.held_end, self.looks_left) = (Some((at, event)), END_LOOKS);
                }
                RunEvent::Resumed { .. } if std::mem::take(&mut self.hides_resumption) => {}
                _ => self.publisher.publish_events(at, vec![event]),
            }
        }
    }

    /// What is in no journal. A piece of an answer that has come whole meanwhile is void.
    fn publish_transient(&self, event: serde_json::Value) {
        let Ok(event) = serde_json::from_value::<RunEvent>(event) else { return };
        let call = match &event {
            RunEvent::Delta { call, .. }
            | RunEvent::ModelRetry { call, .. }
            | RunEvent::ToolProgress { call, .. } => Some(*call),
            _ => None,
        };
        let awaits = |call| self.replay.as_ref().is_some_and(|replay| replay.machine.awaits_call(call));
        if call.is_none_or(awaits) {
            let now = self.context.ports.clock.now();
            self.context.bus.publish(&self.run, now, event);
        }
    }

    /// All rows are known: what the run waits for, if it stands.
    async fn settle(&mut self, is_over: bool) -> Result<FollowState, StoreError> {
        let stands = self.replay.as_ref().is_some_and(|replay| replay.machine.is_over_or_suspended());
        let Some(progress) = self.progress.clone().filter(|_| stands || is_over) else {
            return Ok(FollowState::Goes);
        };
        // the server has not told the run of the answer yet
        if !is_over && (progress.status == RunStatus::Running || self.start.answered.is_some()) {
            return Ok(FollowState::Goes);
        }
        if progress.awaits_answer() && !is_over && self.start.is_present {
            if !self.given.is_empty() {
                self.send_answers().await;
                return Ok(FollowState::Goes);
            }
            if self.is_asking || self.ask() {
                return Ok(FollowState::Goes);
            }
            if std::mem::take(&mut self.start.resumes) {
                self.send_answers().await;
                return Ok(FollowState::Goes);
            }
        }
        if self.is_copy_behind {
            complete_copy(&*self.context.ports.store, &*self.server, &self.run, CLAIMS).await?;
        }
        self.publish_end(progress);
        Ok(FollowState::Over)
    }

    /// The questions as the run asks them when its user is present. `false`: it has none.
    fn ask(&mut self) -> bool {
        let Some(replay) = &self.replay else { return false };
        let now = self.context.ports.clock.now();
        // its own machine stays suspended, as the run does
        let mut machine = replay.machine.clone();
        let taken_up = Input::Resumed(Box::new(ResumeInput { present: true, ..ResumeInput::default() }));
        let output = machine.handle_input(now, taken_up);
        let approvals = output.effects.iter().filter_map(|effect| asked_approval(effect, None));
        let approvals: Vec<StepEvent> = approvals.map(StepEvent::from).collect();
        let mut asked = output.events;
        asked.retain(|event| matches!(event.event, RunEvent::PersonAsked { .. }));
        asked.extend(approvals);
        self.is_asking = !asked.is_empty();
        self.publisher.publish_events(now, asked);
        self.is_asking
    }

    async fn send_answers(&mut self) {
        let given = std::mem::take(&mut self.given);
        match self.server.answer(&self.run, &given).await {
            Ok(number) => {
                self.start.answered = Some(number);
                (self.start.resumes, self.hides_resumption) = (false, true);
            }
            Err(refused) => {
                self.is_asking = false;
                self.warn(&refused);
            }
        }
    }

    fn publish_end(&mut self, progress: RunProgress) {
        let at = progress.updated;
        let (at, event) =
            self.held_end.take().unwrap_or_else(|| (at, RunEvent::run_finished(progress.clone()).into()));
        self.publisher.publish_end(at, vec![event], &progress);
    }

    /// A message for the driver.
    fn pass_on(&mut self, message: DriverMessage) -> FollowState {
        match message {
            DriverMessage::Command(RunCommand::Leave) => return FollowState::Over,
            DriverMessage::Command(RunCommand::Cancel | RunCommand::End) => self.cancel(),
            DriverMessage::Control(ControlAction::Cancel, _, answer) => {
                self.cancel();
                let _ = answer.send(true);
            }
            DriverMessage::Command(RunCommand::Answer { call, answer }) => match serde_json::to_value(answer)
            {
                Ok(answer) => self.given.answers.push((call, answer)),
                Err(error) => self.warn(&StoreError { message: error.to_string(), hint: None }),
            },
            DriverMessage::Command(RunCommand::Approve { call, decision }) => {
                self.given.decisions.push((call, decision));
            }
            DriverMessage::Command(
                RunCommand::Interrupt
                | RunCommand::AllowNetwork { .. }
                | RunCommand::AllowUnsandboxed { .. }
                | RunCommand::Steer(_)
                | RunCommand::Say { .. },
            )
            | DriverMessage::Control(ControlAction::Pause, ..) => self.refuse_command(),
            DriverMessage::Input(_)
            | DriverMessage::NotBegun(..)
            | DriverMessage::MayRepeat { .. }
            | DriverMessage::ProjectLock(_)
            | DriverMessage::Submitted(_)
            | DriverMessage::EffectPanicked => {}
        }
        FollowState::Goes
    }

    /// Its end comes as that of any run.
    fn cancel(&self) {
        let (server, run, context) = (Arc::clone(&self.server), self.run.clone(), Arc::clone(&self.context));
        tokio::spawn(async move {
            if let Err(refused) = server.cancel(&run).await {
                EventPublisher::new(run, context).publish_warning(REFUSED, refusal_text(&refused));
            }
        });
    }

    fn refuse_command(&self) {
        let text = "this run works at a server: from here it can be answered and ended, and nothing else";
        self.publisher.publish_warning(REFUSED, text.to_owned());
    }

    fn warn(&self, refused: &StoreError) {
        self.publisher.publish_warning(REFUSED, refusal_text(refused));
    }

    /// The run goes on without this process, which cannot see it any more.
    fn break_off(&self, error: StoreError) {
        let status = if self.replay.is_some() { RunStatus::Interrupted } else { RunStatus::Failed };
        let now = self.context.ports.clock.now();
        let mut told = RunError::new("backend", "The run is not followed any more", error.message);
        told.hint = error.hint;
        let known = self.progress.clone().unwrap_or_else(|| RunProgress::new(now));
        let progress = RunProgress { status, error: Some(told), updated: now, pauses: Vec::new(), ..known };
        self.publisher.publish_events(now, vec![RunEvent::run_finished(progress).into()]);
    }
}

fn refusal_text(refused: &StoreError) -> String {
    match &refused.hint {
        Some(hint) => format!("{}: {hint}", refused.message),
        None => refused.message.clone(),
    }
}

/// # Errors
/// A row is unreadable.
fn parse_inputs(rows: &[JournalRow]) -> Result<Vec<(Timestamp, Input)>, StoreError> {
    let inputs = rows.iter().filter(|row| row.kind == JournalRowKind::Input);
    inputs.map(|row| Ok((row.at, journal_replay::parse_stored("journal", &row.body)?))).collect()
}
