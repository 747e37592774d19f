//! Hands the rows of a run from its driver, which waits, to the workflow at the server, which journals them.
//!
//! One batch is under way at a time. It stays here until the server has it: an attempt of the workflow that is cut off
//! takes nothing with it, and the next attempt finds the same batch.

use std::collections::{HashSet, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::journaled_step::{JournaledStep, SharedFiles, StepRefusal};
use super::long_bodies::{SplitRows, split_rows};
use synthdev_domain::journal::{JournalRow, RunHeader, RunProgress};
use synthdev_ports::run_store::StoreError;

pub(crate) struct RunOutbox {
    host: String,
    /// No other outbox has it: steps of another session are not this one's.
    session: String,
    files_at: String,
    state: Mutex<OutboxState>,
    /// For the workflow.
    step_ready: Notify,
    /// For the driver.
    step_journaled: Condvar,
    /// For those who follow the run.
    rows_written: Notify,
}

#[derive(Default)]
struct OutboxState {
    /// Steps of the workflow that are at the server.
    journaled: u64,
    /// As many of them as the worker's own store has, and more than an earlier session can have had.
    written: u64,
    /// The rows of a batch, with what comes before them.
    pending: VecDeque<JournaledStep>,
    /// Parts of long bodies that are there.
    known_parts: HashSet<String>,
    header: Option<RunHeader>,
    /// What comes after the rows.
    end: Option<JournaledStep>,
    /// No step is journaled any more.
    closed: bool,
    /// Why, if it is not that the worker ends.
    reason: Option<String>,
}

impl RunOutbox {
    /// `journaled`: so many steps are at the server already.
    pub(crate) fn new(host: String, files_at: String, journaled: u64) -> Self {
        Self {
            host,
            session: uuid::Uuid::new_v4().simple().to_string(),
            files_at,
            state: Mutex::new(OutboxState { journaled, written: journaled, ..OutboxState::default() }),
            step_ready: Notify::new(),
            step_journaled: Condvar::new(),
            rows_written: Notify::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, OutboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server has them from earlier sessions.
    pub(crate) fn set_known_parts(&self, hashes: HashSet<String>) {
        self.lock().known_parts = hashes;
    }

    /// Goes with the first rows.
    pub(crate) fn set_header(&self, header: RunHeader) {
        self.lock().header = Some(header);
    }

    /// Waits until the server has the rows. The caller is not on a thread that others need. `files`: where those of the
    /// moment are, if they may have changed.
    ///
    /// # Errors
    /// The worker gives the run up: the rows may be at the server or not.
    pub(crate) fn journal_rows(
        &self,
        rows: &[JournalRow],
        files: Option<SharedFiles>,
    ) -> Result<(), StoreError> {
        let mut state = self.lock();
        while !state.pending.is_empty() && !state.closed {
            state = self.step_journaled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let header = state.header.take().map(Box::new);
        let SplitRows { parts, rows, long_bodies } = split_rows(rows, &mut state.known_parts, &self.session);
        state.pending.extend(parts);
        let (host, session, files_at) = (self.host.clone(), self.session.clone(), self.files_at.clone());
        state.pending.push_back(JournaledStep::Rows {
            header,
            rows,
            host,
            session,
            files_at,
            files,
            long_bodies,
        });
        let until = state.journaled + state.pending.len() as u64;
        self.step_ready.notify_waiters();
        while state.journaled < until && !state.closed {
            state = self.step_journaled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.journaled >= until { Ok(()) } else { Err(abandoned_run_error()) }
    }

    pub(crate) fn end(&self, progress: RunProgress) {
        self.finish(JournaledStep::Ended { progress: Box::new(progress), session: self.session.clone() });
    }

    pub(crate) fn refuse(&self, refusal: StepRefusal) {
        self.finish(JournaledStep::Refused { refusal, session: self.session.clone() });
    }

    fn finish(&self, step: JournaledStep) {
        self.lock().end = Some(step);
        self.step_ready.notify_waiters();
    }

    /// The run is given up here; it goes on from what the server has.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.step_ready.notify_waiters();
        self.step_journaled.notify_all();
        self.rows_written.notify_waiters();
    }

    /// The same, with what went wrong.
    pub(crate) fn close_because(&self, refused: &StepRefusal) {
        self.lock().reason = Some(refused.message.clone());
        self.close();
    }

    pub(crate) fn reason(&self) -> Option<String> {
        self.lock().reason.clone()
    }

    /// The worker's own store has the rows, too.
    pub(crate) fn mark_written(&self) {
        self.lock().written += 1;
        self.rows_written.notify_waiters();
    }

    /// Grows with what readers of the worker's store can see.
    pub(crate) fn version(&self) -> u64 {
        self.lock().written
    }

    /// Until readers can see more than in this version, or nothing comes any more.
    pub(crate) async fn wait_for_news(&self, version: u64) {
        loop {
            let written = self.rows_written.notified();
            tokio::pin!(written);
            written.as_mut().enable();
            {
                let state = self.lock();
                if state.closed || state.written != version {
                    return;
                }
            }
            written.await;
        }
    }

    pub(crate) async fn wait_until_closed(&self) {
        loop {
            let written = self.rows_written.notified();
            tokio::pin!(written);
            written.as_mut().enable();
            if self.lock().closed {
                return;
            }
            written.await;
        }
    }

    /// Steps that the server has, with their numbers, before the next one is asked for. If another session wrote one of them,
    /// the driver is not told of its own before it either: it would begin what comes next.
    pub(crate) fn mark_replayed(&self, steps: &[(u64, JournaledStep)]) {
        let from = self.journaled();
        if steps.iter().any(|(number, step)| *number >= from && step.session() != self.session) {
            self.close_for_other();
            return;
        }
        for (number, step) in steps {
            self.mark_journaled(*number, step);
        }
    }

    fn close_for_other(&self) {
        self.lock().reason = Some("another host has gone on with it".to_owned());
        self.close();
    }

    /// Steps at the server.
    pub(crate) fn journaled(&self) -> u64 {
        self.lock().journaled
    }

    /// The step with this number, when it is there; `None`: nothing comes any more.
    pub(crate) async fn step(&self, number: u64) -> Option<JournaledStep> {
        loop {
            let ready = self.step_ready.notified();
            tokio::pin!(ready);
            ready.as_mut().enable();
            {
                let state = self.lock();
                if state.closed || number < state.journaled {
                    return None;
                }
                if number == state.journaled
                    && let Some(step) = state.pending.front().or(state.end.as_ref())
                {
                    return Some(step.clone());
                }
            }
            ready.await;
        }
    }

    /// The step with this number is at the server; said once or more often. `false`: that is nothing new, or another
    /// session wrote it. Then the run has gone on elsewhere, and what is still here never takes effect.
    pub(crate) fn mark_journaled(&self, number: u64, step: &JournaledStep) -> bool {
        let mut state = self.lock();
        if state.journaled != number {
            return false;
        }
        if step.session() != self.session {
            drop(state);
            self.close_for_other();
            return false;
        }
        state.journaled += 1;
        state.pending.pop_front();
        drop(state);
        self.step_journaled.notify_all();
        // the next one may be there already
        self.step_ready.notify_waiters();
        true
    }
}

fn abandoned_run_error() -> StoreError {
    StoreError {
        message: "this worker has given the run up".to_owned(),
        hint: Some("the Restate server goes on with it when a worker is there".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;
    use std::time::Duration;

    use super::*;
    use synthdev_domain::ids::Timestamp;
    use synthdev_domain::journal::JournalRowKind;

    fn row(body: &str) -> JournalRow {
        JournalRow::new(JournalRowKind::Input, Timestamp(7), None, body)
    }

    fn bodies(step: Option<JournaledStep>) -> Vec<String> {
        match step {
            Some(JournaledStep::Rows { rows, .. }) => rows.into_iter().map(|row| row.body).collect(),
            other => panic!("{other:?} has no rows"),
        }
    }

    #[tokio::test]
    async fn rows_wait_until_they_are_journaled_and_stay_until_then() {
        let outbox = Arc::new(RunOutbox::new("here".to_owned(), String::new(), 3));
        let driver = {
            let outbox = Arc::clone(&outbox);
            thread::spawn(move || {
                (outbox.journal_rows(&[row("a"), row("b")], None), outbox.journal_rows(&[row("c")], None))
            })
        };
        let first = outbox.step(3).await;
        assert_eq!(bodies(first.clone()), ["a", "b"]);
        assert_eq!(
            bodies(outbox.step(3).await),
            ["a", "b"],
            "an attempt was cut off: the next one finds them"
        );
        assert!(!driver.is_finished());
        let first = first.unwrap();
        assert!(outbox.mark_journaled(3, &first));
        assert!(!outbox.mark_journaled(3, &first), "it is known");
        let second = outbox.step(4).await;
        assert_eq!(bodies(second.clone()), ["c"]);
        assert!(outbox.step(3).await.is_none(), "the server asks for what it has: its attempt is an old one");
        assert!(outbox.mark_journaled(4, &second.unwrap()));
        let (first, second) = driver.join().unwrap();
        assert_eq!((first, second, outbox.journaled()), (Ok(()), Ok(()), 5));
    }

    #[tokio::test]
    async fn the_end_comes_after_the_rows() {
        let outbox = Arc::new(RunOutbox::new("here".to_owned(), String::new(), 0));
        let driver = {
            let outbox = Arc::clone(&outbox);
            thread::spawn(move || outbox.journal_rows(&[row("a")], None))
        };
        assert_eq!(bodies(outbox.step(0).await), ["a"]);
        outbox.refuse(StepRefusal { message: "no".to_owned(), hint: None });
        let rows = outbox.step(0).await;
        assert_eq!(bodies(rows.clone()), ["a"]);
        assert!(outbox.mark_journaled(0, &rows.unwrap()));
        assert!(matches!(outbox.step(1).await, Some(JournaledStep::Refused { .. })));
        driver.join().unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_step_of_another_session_is_not_taken_for_the_one_that_waits_here() {
        let outbox = |journaled| Arc::new(RunOutbox::new("here".to_owned(), String::new(), journaled));
        let append = |outbox: &Arc<RunOutbox>, body: &'static str| {
            let outbox = Arc::clone(outbox);
            thread::spawn(move || outbox.journal_rows(&[row(body)], None))
        };
        // a host that was cut off waits with a step; the one that got the run wrote another under that number
        let (cut_off, heir) = (outbox(3), outbox(3));
        let waiting = append(&cut_off, "lost");
        cut_off.step(3).await.unwrap();
        let gone_on = append(&heir, "kept");
        let step = heir.step(3).await.unwrap();
        assert!(heir.mark_journaled(3, &step));
        gone_on.join().unwrap().unwrap();
        assert!(!cut_off.mark_journaled(3, &step));
        assert!(waiting.join().unwrap().is_err(), "its rows are at the server");
        assert_eq!((cut_off.journaled(), cut_off.step(3).await.is_none()), (3, true));
        assert_eq!(cut_off.reason().as_deref(), Some("another host has gone on with it"));
    }

    #[tokio::test]
    async fn a_driver_is_not_told_of_its_step_where_another_session_went_on_from_there() {
        let (cut_off, heir) =
            ["here", "there"].map(|host| RunOutbox::new(host.to_owned(), String::new(), 3)).into();
        let (cut_off, heir): (Arc<RunOutbox>, Arc<RunOutbox>) = (Arc::new(cut_off), Arc::new(heir));
        let waiting = {
            let outbox = Arc::clone(&cut_off);
            thread::spawn(move || outbox.journal_rows(&[row("a")], None))
        };
        let own = cut_off.step(3).await.unwrap();
        let other = JournaledStep::Ended {
            progress: Box::new(RunProgress::new(Timestamp(1))),
            session: heir.session.clone(),
        };
        cut_off.mark_replayed(&[(3, own.clone()), (4, other)]);
        assert!(waiting.join().unwrap().is_err(), "it goes on from its step");
        assert_eq!(cut_off.journaled(), 3);
    }

    #[tokio::test]
    async fn a_run_that_is_given_up_journals_nothing_more() {
        let outbox = Arc::new(RunOutbox::new("here".to_owned(), String::new(), 0));
        let driver = {
            let outbox = Arc::clone(&outbox);
            thread::spawn(move || outbox.journal_rows(&[row("a")], None))
        };
        outbox.step(0).await.unwrap();
        let waiting = tokio::time::timeout(Duration::from_millis(20), outbox.step(1)).await;
        assert!(waiting.is_err(), "there is no step 1 yet");
        outbox.close();
        assert!(outbox.step(0).await.is_none());
        assert!(driver.join().unwrap().is_err());
        assert!(outbox.journal_rows(&[row("b")], None).is_err());
    }
}
