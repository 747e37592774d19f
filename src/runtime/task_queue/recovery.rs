//! Rebuilds the tasks of runs from their journals, and limits how many are kept for runs without a driver.
//!
//! The process that resumes a run sets its tasks once; any other reader may rebuild them from the journal, but never
//! replaces what a driver has reported meanwhile.

use std::sync::Arc;

use super::broker::{BrokerState, TaskBroker};
use super::run_tasks::{RunRevision, RunTasks};
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_engine::event::RunEvent;
use synthdev_engine::input::Input;
use synthdev_engine::replay::StepwiseReplay;
use synthdev_engine::run_spec::RunSpec;

/// Runs without a driver whose tasks are kept; those of others are read again on demand.
const KEPT: usize = 16;

/// An input of a journal.
pub(crate) struct JournaledInput<'j> {
    pub(crate) at: Timestamp,
    pub(crate) input: &'j Input,
    /// What makes it the same as another result, if a sub-agent gave it.
    pub(crate) dedup_mark: Option<&'j str>,
}

/// A resume in progress: while this lives, only it may set the tasks of the run.
pub(crate) struct ResumeGuard<'d> {
    broker: &'d TaskBroker,
    run: RunId,
}

impl Drop for ResumeGuard<'_> {
    fn drop(&mut self) {
        let mut table = self.broker.lock_state();
        let left = table.resuming.remove(&self.run).unwrap_or(0).saturating_sub(1);
        if left > 0 {
            table.resuming.insert(self.run.clone(), left);
        }
        drop(table);
        self.broker.notify_watchers();
    }
}

impl TaskBroker {
    /// Before a run is claimed; to be kept until it is driven, or will not be.
    pub(crate) fn begin_resume(&self, run: &RunId) -> ResumeGuard<'_> {
        *self.lock_state().resuming.entry(run.clone()).or_insert(0) += 1;
        ResumeGuard { broker: self, run: run.clone() }
    }

    /// Whether this process is resuming the run.
    pub(crate) fn is_resuming(&self, run: &RunId) -> bool {
        self.lock_state().resuming.contains_key(run)
    }

    /// Waits until no resume of the run is in progress: only then it is known whether this process drives it.
    pub(crate) async fn wait_until_resumed(&self, run: &RunId) {
        let mut news = self.watch();
        while self.is_resuming(run) {
            // the sender lives as long as `self`
            let _ = news.changed().await;
        }
    }

    /// Rebuilds the tasks of a run that is resumed from its journal. Leases begin again.
    pub(crate) fn recover_tasks<'j>(
        &self,
        now: Timestamp,
        run: &RunId,
        spec: &Arc<RunSpec>,
        journal: impl Iterator<Item = JournaledInput<'j>> + Clone,
    ) {
        let Some(run_tasks) = self.replay_tasks(now, run, spec, journal) else { return };
        let mut table = self.lock_state();
        table.idle_runs.retain(|idle| idle != run);
        table.insert_tasks(run, run_tasks);
        drop(table);
        self.notify_watchers();
    }

    /// The same for a run that another process drives, or none. `false`: this process drives or resumes it by now, and
    /// the result was dropped.
    pub(crate) fn recover_idle_tasks<'j>(
        &self,
        now: Timestamp,
        run: &RunId,
        stand: RunRevision,
        spec: &Arc<RunSpec>,
        journal: impl Iterator<Item = JournaledInput<'j>> + Clone,
        driven: impl Fn(&RunId) -> bool,
    ) -> bool {
        let Some(mut run_tasks) = self.replay_tasks(now, run, spec, journal) else { return true };
        run_tasks.journal_revision = Some(stand);
        let mut table = self.lock_state();
        if table.resuming.contains_key(run) || driven(run) {
            return false;
        }
        table.insert_tasks(run, run_tasks);
        table.keep_idle(run, driven);
        drop(table);
        self.notify_watchers();
        true
    }

    /// Whether nothing has happened to a run since its journal was read.
    pub(crate) fn is_current(&self, run: &RunId, stand: RunRevision) -> bool {
        self.lock_state().runs.get(run).is_some_and(|run_tasks| run_tasks.journal_revision == Some(stand))
    }

    /// This process does not drive the run any more.
    pub(crate) fn mark_idle(&self, run: &RunId, driven: impl Fn(&RunId) -> bool) {
        self.lock_state().keep_idle(run, driven);
    }

    fn replay_tasks<'j>(
        &self,
        now: Timestamp,
        run: &RunId,
        spec: &Arc<RunSpec>,
        journal: impl Iterator<Item = JournaledInput<'j>> + Clone,
    ) -> Option<RunTasks> {
        let lease_ms = Some(self.lock_state().lease_ms).filter(|lease_ms| *lease_ms > 0)?;
        let mut run_tasks = RunTasks::new(run.clone(), lease_ms);
        let mut replay =
            StepwiseReplay::skipping_answered(Arc::clone(spec), journal.clone().map(|past| past.input));
        let mut journal = journal.peekable();
        while let Some(JournaledInput { at, input, dedup_mark: submitted }) = journal.next() {
            let answered = input.answered_call().zip(submitted);
            let whose = answered.and_then(|(call, _)| replay.machine.task_for_call(call));
            let next = journal.peek().map(|next| next.input);
            let told = replay.feed_input(at, input.clone(), next).iter().map(|(_, event)| &event.event);
            let events: Vec<RunEvent> = told.filter(|event| affects_tasks(event)).cloned().collect();
            if let Some((call, mark)) = answered {
                run_tasks.complete_step(call, whose, Some(mark.to_owned()));
                run_tasks.acknowledge_all(whose);
            }
            run_tasks.apply_events(&spec.program, events.iter());
            run_tasks.sync_with_machine(now, &replay.machine);
        }
        let machine = &replay.machine;
        replay.open_effects().for_each(|effect| run_tasks.offer_effect(machine, effect));
        Some(run_tasks)
    }
}

impl BrokerState {
    fn insert_tasks(&mut self, run: &RunId, run_tasks: RunTasks) {
        let before = self.runs.insert(run.clone(), run_tasks);
        let mut before = before.map(|before| before.entries).unwrap_or_default();
        for (branch_id, entry) in
            self.runs.get_mut(run).into_iter().flat_map(|run_tasks| &mut run_tasks.entries)
        {
            match before.remove(branch_id) {
                Some(known) => {
                    // a sub-agent that has asked before is still in contact
                    entry.has_contact |= known.has_contact;
                    entry.acks.drop_acknowledged(&known.acks);
                }
                // a sub-agent of a task that has ended only needs the result
                None if entry.outcome.is_some() => entry.acks.clear_open(),
                None => {}
            }
        }
        self.register_ids(run);
    }

    /// Keeps the tasks of the last runs without a driver.
    fn keep_idle(&mut self, run: &RunId, driven: impl Fn(&RunId) -> bool) {
        if !self.runs.contains_key(run) {
            return;
        }
        self.idle_runs.retain(|idle| idle != run);
        self.idle_runs.push_back(run.clone());
        if self.idle_runs.len() <= KEPT {
            return;
        }
        let Some(oldest) = self.idle_runs.pop_front() else { return };
        if self.resuming.contains_key(&oldest) || driven(&oldest) {
            return;
        }
        let run_tasks = self.runs.remove(&oldest);
        for id in run_tasks.iter().flat_map(|run_tasks| run_tasks.branch_ids.keys()) {
            self.ids.remove(id);
        }
    }
}

fn affects_tasks(event: &RunEvent) -> bool {
    matches!(
        event,
        RunEvent::DataChanged { .. }
            | RunEvent::BranchFinished { .. }
            | RunEvent::Finished { .. }
            | RunEvent::Resumed { .. }
    )
}
