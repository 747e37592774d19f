//! Steps for sub-agents: their order, and which worker holds one for how long.
//!
//! Owns order, dependencies and leases. Every operation takes the same time however many steps there are, except for
//! the few priorities, a search among the ends of leases and the steps of one batch. Knows nothing about the content of
//! a step, and reads no clock.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::hash::Hash;

use synthdev_domain::ids::Timestamp;

/// Leases of a step before it fails.
pub const ATTEMPTS: u32 = 3;
/// Steps that may be open at once.
pub const LIMIT: usize = 1_000;

#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EnqueueError {
    #[error("queue_full: {LIMIT} steps are open")]
    Full,
    #[error("the step is known already")]
    Known,
}

/// A leased step, with the end of the lease and the number of the attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepLease<K> {
    pub step: K,
    pub attempt: u32,
    pub expires_at: Timestamp,
    pub lease_ms: u64,
}

/// Whether a worker may hand in the result of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LeaseOwnership {
    /// The step is leased to this worker, or to none.
    Theirs,
    /// The step is leased to another worker by now.
    Lost,
    /// A step that it depends on is not done yet: it was never leased.
    Blocked,
    Unknown,
}

/// A lease that ran out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExpiredLease<K> {
    pub step: K,
    /// The step has used up its attempts: the caller must fail it; until then no worker gets it.
    pub is_exhausted: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum LeasePhase {
    /// Steps that it waits for.
    Blocked(usize),
    Ready,
    Leased {
        /// By position.
        worker: usize,
        expires_at: Timestamp,
    },
    Spent,
}

#[derive(Clone, Debug)]
struct LeasedStep<K> {
    priority: i32,
    lease_ms: u64,
    attempt: u32,
    phase: LeasePhase,
    /// Steps that wait for this one.
    waiting_steps: Vec<K>,
}

#[derive(Clone, Debug)]
pub struct LeaseQueue<K> {
    limit: usize,
    steps: HashMap<K, LeasedStep<K>>,
    /// Larger priorities first; within one in the order of arrival. May name steps that are not ready any more.
    ready_steps: BTreeMap<Reverse<i32>, VecDeque<K>>,
    /// All workers that have had a step, by name.
    workers: HashMap<String, usize>,
    /// The steps of each worker, in the order of their leases: one step, or those of one batch.
    held_by_worker: Vec<Vec<K>>,
    ends: BTreeSet<(Timestamp, K)>,
    completed: u64,
}

impl<K> Default for LeaseQueue<K> {
    fn default() -> Self {
        Self::new(LIMIT)
    }
}

impl<K> LeaseQueue<K> {
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            steps: HashMap::new(),
            ready_steps: BTreeMap::new(),
            workers: HashMap::new(),
            held_by_worker: Vec::new(),
            ends: BTreeSet::new(),
            completed: 0,
        }
    }

    /// Steps that are not done, leased or not.
    pub fn open_count(&self) -> usize {
        self.steps.len()
    }

    pub fn in_progress(&self) -> usize {
        self.held_by_worker.iter().map(Vec::len).sum()
    }

    pub fn completed_count(&self) -> u64 {
        self.completed
    }
}

impl<K: Copy + Ord + Hash> LeaseQueue<K> {
    /// Adds a step. It becomes ready when all open steps of `after` are done; `lease_ms` is the length of its leases.
    ///
    /// # Errors
    /// Too many are open, or this one is: nothing was added.
    pub fn enqueue(
        &mut self,
        step: K,
        priority: i32,
        after: &[K],
        lasts_ms: u64,
    ) -> Result<(), EnqueueError> {
        if self.steps.contains_key(&step) {
            return Err(EnqueueError::Known);
        }
        if self.steps.len() >= self.limit {
            return Err(EnqueueError::Full);
        }
        let mut waits = 0;
        for before in after.iter().collect::<BTreeSet<_>>() {
            if let Some(before) = self.steps.get_mut(before) {
                before.waiting_steps.push(step);
                waits += 1;
            }
        }
        let place = if waits == 0 { LeasePhase::Ready } else { LeasePhase::Blocked(waits) };
        self.steps.insert(
            step,
            LeasedStep { priority, lease_ms: lasts_ms, attempt: 0, phase: place, waiting_steps: Vec::new() },
        );
        if waits == 0 {
            self.ready_steps.entry(Reverse(priority)).or_default().push_back(step);
        }
        Ok(())
    }

    /// The step that this worker has, as long as its lease lasts; else the next one that is ready, which is then theirs.
    pub fn lease(&mut self, worker: &str, now: Timestamp) -> Option<StepLease<K>> {
        if let Some(held) = self.held_by(worker, now).next() {
            return Some(held);
        }
        let step = self.first_ready()?;
        let worker = self.worker_number(worker);
        // leases that are over and were not given back yet
        if let Some(held) = self.held_by_worker.get_mut(worker) {
            held.clear();
        }
        self.lease_step(step, worker, now)
    }

    /// All steps that this worker has; if it has none, the next ready step with those that follow it directly and are
    /// `alike`, at most `most`. A step that was leased before is handed out alone: the end of a batch must not count as
    /// an attempt of steps that no worker has begun.
    pub fn lease_batch(
        &mut self,
        worker: &str,
        now: Timestamp,
        most: usize,
        alike: impl Fn(K, K) -> bool,
    ) -> Vec<StepLease<K>> {
        let mut batch: Vec<StepLease<K>> = self.held_by(worker, now).collect();
        if !batch.is_empty() {
            return batch;
        }
        let Some(first) = self.lease(worker, now) else { return batch };
        batch.push(first);
        let worker = self.worker_number(worker);
        while first.attempt == 1 && batch.len() < most {
            let next = self.first_ready().filter(|step| alike(first.step, *step));
            let fresh = |step: &K| self.steps.get(step).is_some_and(|found| found.attempt == 0);
            let Some(next) = next.filter(fresh) else { break };
            batch.extend(self.lease_step(next, worker, now));
        }
        batch
    }

    /// A worker that hands in the result of a step of its batch is alive: renews its other leases, as if they were
    /// handed out now.
    pub fn renew_batch_leases(&mut self, step: K, worker: &str, now: Timestamp) {
        let (own, others): (Vec<_>, Vec<_>) = self.held_by(worker, now).partition(|held| held.step == step);
        if own.is_empty() {
            return;
        }
        for StepLease { step, expires_at: before, lease_ms: lasts_ms, .. } in others {
            let Some(found) = self.steps.get_mut(&step) else { continue };
            if let LeasePhase::Leased { expires_at: expires, .. } = &mut found.phase {
                *expires = lease_end(now, lasts_ms);
                self.ends.remove(&(before, step));
                self.ends.insert((*expires, step));
            }
        }
    }

    /// Whether this worker has a step.
    pub fn has_lease(&self, worker: &str, now: Timestamp) -> bool {
        self.held_by(worker, now).next().is_some()
    }

    /// Whether this worker may hand in the result of a step.
    pub fn ownership(&self, step: K, worker: &str) -> LeaseOwnership {
        match self.steps.get(&step).map(|step| &step.phase) {
            None => LeaseOwnership::Unknown,
            Some(LeasePhase::Blocked(_)) => LeaseOwnership::Blocked,
            Some(LeasePhase::Leased { worker: theirs, .. }) if self.workers.get(worker) != Some(theirs) => {
                LeaseOwnership::Lost
            }
            Some(LeasePhase::Leased { .. } | LeasePhase::Ready) => LeaseOwnership::Theirs,
            Some(LeasePhase::Spent) => LeaseOwnership::Lost,
        }
    }

    /// The step is done: what waited for it may begin. `false`: it was not open.
    pub fn complete(&mut self, step: K) -> bool {
        let known = self.remove(step);
        self.completed += u64::from(known);
        known
    }

    /// The step is not wanted any more; what waited for it waits no longer.
    pub fn withdraw_step(&mut self, step: K) -> bool {
        self.remove(step)
    }

    /// Leases that are over by now: their steps come first again, or are spent.
    pub fn expire_leases(&mut self, now: Timestamp) -> Vec<ExpiredLease<K>> {
        let mut ended = Vec::new();
        while let Some((end, step)) = self.ends.first().copied().filter(|(end, _)| *end <= now) {
            self.ends.remove(&(end, step));
            ended.push(step);
        }
        // each goes to the front, so this order hands out the first one first again
        let back = ended
            .into_iter()
            .rev()
            .filter_map(|step| Some(ExpiredLease { step, is_exhausted: self.give_back(step)? }));
        let mut over: Vec<ExpiredLease<K>> = back.collect();
        over.reverse();
        over
    }

    /// When the next lease ends.
    pub fn next_end(&self) -> Option<Timestamp> {
        self.ends.first().map(|(end, _)| *end)
    }

    /// The leases of a worker that last, in the order in which they were given.
    fn held_by(&self, worker: &str, now: Timestamp) -> impl Iterator<Item = StepLease<K>> {
        let held = self.workers.get(worker).and_then(|worker| self.held_by_worker.get(*worker));
        held.into_iter().flatten().filter_map(move |step| match self.steps.get(step)? {
            LeasedStep {
                attempt,
                lease_ms: lasts_ms,
                phase: LeasePhase::Leased { expires_at: expires, .. },
                ..
            } if *expires > now => {
                Some(StepLease { step: *step, attempt: *attempt, expires_at: *expires, lease_ms: *lasts_ms })
            }
            _ => None,
        })
    }

    fn worker_number(&mut self, worker: &str) -> usize {
        if let Some(known) = self.workers.get(worker) {
            return *known;
        }
        self.held_by_worker.push(Vec::new());
        self.workers.insert(worker.to_owned(), self.held_by_worker.len() - 1);
        self.held_by_worker.len() - 1
    }

    fn give_back(&mut self, step: K) -> Option<bool> {
        let found = self.steps.get_mut(&step)?;
        let LeasePhase::Leased { worker, .. } = found.phase else { return None };
        forget_lease(&mut self.held_by_worker, worker, step);
        let spent = found.attempt >= ATTEMPTS;
        found.phase = if spent { LeasePhase::Spent } else { LeasePhase::Ready };
        if !spent {
            self.ready_steps.entry(Reverse(found.priority)).or_default().push_front(step);
        }
        Some(spent)
    }

    /// The next ready step, without leasing it.
    fn first_ready(&mut self) -> Option<K> {
        loop {
            let mut first = self.ready_steps.first_entry()?;
            let Some(step) = first.get().front().copied() else {
                first.remove();
                continue;
            };
            if self.steps.get(&step).is_some_and(|found| found.phase == LeasePhase::Ready) {
                return Some(step);
            }
            first.get_mut().pop_front();
        }
    }

    /// Gives the first step that is ready to a worker.
    fn lease_step(&mut self, step: K, worker: usize, now: Timestamp) -> Option<StepLease<K>> {
        let found = self.steps.get_mut(&step)?;
        if let Some(queue) = self.ready_steps.get_mut(&Reverse(found.priority)) {
            queue.pop_front();
        }
        let expires = lease_end(now, found.lease_ms);
        found.attempt += 1;
        found.phase = LeasePhase::Leased { worker, expires_at: expires };
        self.held_by_worker.get_mut(worker)?.push(step);
        self.ends.insert((expires, step));
        Some(StepLease { step, attempt: found.attempt, expires_at: expires, lease_ms: found.lease_ms })
    }

    fn remove(&mut self, step: K) -> bool {
        let Some(found) = self.steps.remove(&step) else { return false };
        if let LeasePhase::Leased { worker, expires_at: expires } = found.phase {
            forget_lease(&mut self.held_by_worker, worker, step);
            self.ends.remove(&(expires, step));
        }
        for follower in found.waiting_steps {
            let Some(waiting) = self.steps.get_mut(&follower) else { continue };
            let LeasePhase::Blocked(others) = &mut waiting.phase else { continue };
            *others -= 1;
            if *others == 0 {
                waiting.phase = LeasePhase::Ready;
                self.ready_steps.entry(Reverse(waiting.priority)).or_default().push_back(follower);
            }
        }
        true
    }
}

fn lease_end(now: Timestamp, lasts_ms: u64) -> Timestamp {
    Timestamp(now.0.saturating_add(i64::try_from(lasts_ms).unwrap_or(i64::MAX)))
}

/// A worker that lost a step may have another one by now.
fn forget_lease<K: PartialEq>(held: &mut [Vec<K>], worker: usize, step: K) {
    if let Some(has) = held.get_mut(worker) {
        has.retain(|has| *has != step);
    }
}

#[cfg(test)]
mod tests;
