//! Threads of control: a run is one, every branch and item is one of its own with a count of steps of its own.
//! A child workflow runs in the thread of the state that calls it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use serde_json::Value;

use super::usage_amount::{PerCallUsage, UNBOUNDED, UsageAmount, attempts, times};
use super::visit_bounds::{self, VisitLimitSource};
use synthdev_domain::workflow::{StateBody, StateSpec, ValueSource, WorkflowProgram};

/// Workflows inside each other that are followed.
const DEEPEST: usize = 64;

/// A workflow and one of its states.
type ProgramStateKey = (usize, usize);
/// Where a thread begins: how deep, in which workflow, at which state.
type BranchEntry = (usize, usize, usize);

pub(super) struct BranchEstimator<'p> {
    program: &'p WorkflowProgram,
    limited: VisitLimitSource,
    steps: u64,
    calls: PerCallUsage,
    frames: HashMap<BranchEntry, Rc<FrameVisits>>,
    lanes: BTreeMap<BranchEntry, Rc<BranchEstimate>>,
    notes: Vec<String>,
    noted: HashSet<String>,
}

/// Everything that one entry into a workflow or body visits, children included, and how often.
type FrameVisits = BTreeMap<ProgramStateKey, VisitEstimate>;

#[derive(Clone)]
struct VisitEstimate {
    visits: u64,
    /// Threads that one visit begins, and how many of each.
    forks: Vec<(BranchEntry, u64)>,
    each: UsageAmount,
}

struct BranchEstimate {
    frame: Rc<FrameVisits>,
    total: UsageAmount,
}

impl<'p> BranchEstimator<'p> {
    pub(super) fn new(program: &'p WorkflowProgram, limited: VisitLimitSource) -> Self {
        let steps = program.workflows.first().map_or(0, |root| {
            let counts = limited == VisitLimitSource::Default || root.limits.declared.steps;
            if counts { u64::from(root.limits.max_steps) } else { UNBOUNDED }
        });
        Self {
            program,
            limited,
            steps,
            calls: PerCallUsage::default(),
            frames: HashMap::new(),
            lanes: BTreeMap::new(),
            notes: Vec::new(),
            noted: HashSet::new(),
        }
    }

    /// What a run uses in all, how often it visits each state, and what is to be said of that.
    pub(super) fn run(&mut self) -> (UsageAmount, BTreeMap<ProgramStateKey, u64>, Vec<String>) {
        let Some(root) = self.program.workflows.first() else { return Default::default() };
        let entry = (0, 0, root.start.0);
        let total = self.lane(entry).total;
        let mut visits: BTreeMap<ProgramStateKey, u64> = BTreeMap::new();
        let mut open: BTreeMap<BranchEntry, u64> = BTreeMap::from([(entry, 1)]);
        // threads only begin deeper ones
        while let Some((entry, number)) = open.pop_first() {
            let lane = self.lane(entry);
            for (key, visited) in lane.frame.iter() {
                let all = times(visited.visits.min(self.steps), number);
                let sum = visits.entry(*key).or_default();
                *sum = sum.saturating_add(all);
                for (fork, each) in &visited.forks {
                    let sum = open.entry(*fork).or_default();
                    *sum = sum.saturating_add(times(all, *each));
                }
            }
        }
        (total, visits, std::mem::take(&mut self.notes))
    }

    fn lane(&mut self, entry: BranchEntry) -> Rc<BranchEstimate> {
        if let Some(known) = self.lanes.get(&entry) {
            return Rc::clone(known);
        }
        let frame = self.frame(entry);
        let mut each: Vec<(u64, UsageAmount)> = Vec::with_capacity(frame.len());
        for visited in frame.values() {
            let mut amount = visited.each;
            for (fork, number) in &visited.forks {
                amount = amount.plus(self.lane(*fork).total.times(*number));
            }
            each.push((visited.visits, amount));
        }
        let lane = Rc::new(BranchEstimate { frame, total: most(&each, self.steps) });
        self.lanes.insert(entry, Rc::clone(&lane));
        lane
    }

    fn frame(&mut self, entry: BranchEntry) -> Rc<FrameVisits> {
        if let Some(known) = self.frames.get(&entry) {
            return Rc::clone(known);
        }
        let (depth, at, start) = entry;
        let program = self.program;
        let mut frame = FrameVisits::new();
        // how often each child is called: many states may call the same one
        let mut called: BTreeMap<usize, u64> = BTreeMap::new();
        if let Some(workflow) = program.workflows.get(at) {
            for (index, visits) in visit_bounds::visits(workflow, start, self.limited) {
                let state = &workflow.states[index];
                let forks = self.forks(entry, state);
                let each = self.calls.per_visit((at, workflow), state);
                add(&mut frame, (at, index), VisitEstimate { visits, forks, each });
                if let StateBody::Child { workflow: child, .. } = &state.work {
                    let sum = called.entry(child.0).or_default();
                    *sum = sum.saturating_add(times(visits, attempts(state)));
                }
            }
        }
        for (child, number) in called {
            let inside = self.child(depth + 1, child);
            for (key, visited) in inside.iter() {
                let visits = times(visited.visits, number);
                add(&mut frame, *key, VisitEstimate { visits, ..visited.clone() });
            }
        }
        let frame = Rc::new(frame);
        self.frames.insert(entry, Rc::clone(&frame));
        frame
    }

    fn child(&mut self, depth: usize, at: usize) -> Rc<FrameVisits> {
        let Some(child) = self.program.workflows.get(at) else { return Rc::default() };
        if depth > child.limits.max_depth as usize {
            return Rc::default();
        }
        if depth > DEEPEST {
            self.note(format!("`{}` inside itself is counted {DEEPEST} levels deep", child.name));
            return Rc::default();
        }
        self.frame((depth, at, child.start.0))
    }

    fn forks(&mut self, (depth, at, _): BranchEntry, state: &StateSpec) -> Vec<(BranchEntry, u64)> {
        let again = attempts(state);
        if depth >= DEEPEST {
            return Vec::new();
        }
        match &state.work {
            StateBody::Parallel(spec) => {
                spec.branches.iter().map(|branch| ((depth + 1, at, branch.start.0), again)).collect()
            }
            StateBody::ForEach(spec) => {
                let items = match &spec.items {
                    ValueSource::Value(Value::Array(items)) => items.len() as u64,
                    _ => self.listed(at, &spec.items).unwrap_or_else(|| {
                        self.note(format!("how many items `{}` has is not known before it runs", state.name));
                        UNBOUNDED
                    }),
                };
                vec![((depth + 1, at, spec.start.0), times(items, again))]
            }
            _ => Vec::new(),
        }
    }

    /// The length of a list that is written out in the file.
    fn listed(&self, at: usize, items: &ValueSource) -> Option<u64> {
        let ValueSource::Script(script) = items else { return None };
        let source = &self.program.workflows.get(at)?.scripts.get(script.0)?.source;
        let list: Vec<Value> = serde_json::from_str(source.trim()).ok()?;
        Some(list.len() as u64)
    }

    fn note(&mut self, note: String) {
        if self.noted.insert(note.clone()) {
            self.notes.push(note);
        }
    }
}

fn add(frame: &mut FrameVisits, key: ProgramStateKey, more: VisitEstimate) {
    match frame.get_mut(&key) {
        Some(known) => known.visits = known.visits.saturating_add(more.visits),
        None => {
            frame.insert(key, more);
        }
    }
}

/// The most that `steps` visits can use: the dearest states first. Each figure has a worst case of its own.
fn most(each: &[(u64, UsageAmount)], steps: u64) -> UsageAmount {
    let order = |by: &dyn Fn(&UsageAmount) -> f64| {
        let mut order: Vec<usize> = (0..each.len()).collect();
        order.sort_by(|a, b| by(&each[*b].1).total_cmp(&by(&each[*a].1)));
        let mut left = steps;
        let mut sum = UsageAmount::default();
        for at in order {
            let (visits, amount) = each[at];
            let taken = visits.min(left);
            if left != UNBOUNDED {
                left -= taken;
            }
            sum = sum.plus(amount.times(taken));
        }
        sum
    };
    #[expect(clippy::cast_precision_loss, reason = "only the order counts")]
    let number = |value: u64| value as f64;
    UsageAmount {
        calls: order(&|amount| number(amount.calls)).calls,
        prompt: order(&|amount| number(amount.prompt)).prompt,
        answer: order(&|amount| number(amount.answer)).answer,
        usd: order(&|amount| amount.usd).usd,
    }
}
