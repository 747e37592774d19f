//! Threads of control: a run is one, every branch and item is one of its own with a count of steps of its own.
//! A child workflow runs in the thread of the state that calls it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use serde_json::Value;

use super::usage_amount::{PerCallUsage, UNBOUNDED, UsageAmount, max_attempts, saturating_product};
use super::visit_bounds::{self, VisitLimitSource};
use synthdev_domain::ids::StateIx;
use synthdev_domain::workflow::{StateBody, StateSpec, ValueSource, WorkflowProgram};

/// Workflows inside each other that are followed.
const DEEPEST: usize = 64;

/// A workflow and one of its states, by their positions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct ProgramStateKey {
    pub(super) workflow: usize,
    pub(super) state: usize,
}

/// Where a thread begins.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct BranchEntry {
    depth: usize,
    workflow: usize,
    start: usize,
}

pub(super) struct BranchEstimator<'p> {
    program: &'p WorkflowProgram,
    limited: VisitLimitSource,
    steps: u64,
    calls: PerCallUsage,
    frame_visits: HashMap<BranchEntry, Rc<FrameVisits>>,
    branch_estimates: BTreeMap<BranchEntry, Rc<BranchEstimate>>,
    notes: Vec<String>,
    noted_texts: HashSet<String>,
}

/// Everything that one entry into a workflow or body visits, children included, and how often.
type FrameVisits = BTreeMap<ProgramStateKey, VisitEstimate>;

#[derive(Clone)]
struct VisitEstimate {
    visits: u64,
    /// Threads that one visit begins, and how many of each.
    branch_entries: Vec<(BranchEntry, u64)>,
    usage_per_visit: UsageAmount,
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
            frame_visits: HashMap::new(),
            branch_estimates: BTreeMap::new(),
            notes: Vec::new(),
            noted_texts: HashSet::new(),
        }
    }

    /// The usage of a run in all, the number of visits of each state, and notes about both.
    pub(super) fn estimate_run(&mut self) -> (UsageAmount, BTreeMap<ProgramStateKey, u64>, Vec<String>) {
        let Some(root) = self.program.workflows.first() else { return Default::default() };
        let entry = BranchEntry { depth: 0, workflow: 0, start: root.start.0 };
        let total = self.estimate_branch(entry).total;
        let mut visits: BTreeMap<ProgramStateKey, u64> = BTreeMap::new();
        let mut open: BTreeMap<BranchEntry, u64> = BTreeMap::from([(entry, 1)]);
        // threads only begin deeper ones
        while let Some((entry, number)) = open.pop_first() {
            let lane = self.estimate_branch(entry);
            for (key, visited) in lane.frame.iter() {
                let all = saturating_product(visited.visits.min(self.steps), number);
                let sum = visits.entry(*key).or_default();
                *sum = sum.saturating_add(all);
                for (fork, each) in &visited.branch_entries {
                    let sum = open.entry(*fork).or_default();
                    *sum = sum.saturating_add(saturating_product(all, *each));
                }
            }
        }
        (total, visits, std::mem::take(&mut self.notes))
    }

    fn estimate_branch(&mut self, entry: BranchEntry) -> Rc<BranchEstimate> {
        if let Some(known) = self.branch_estimates.get(&entry) {
            return Rc::clone(known);
        }
        let frame = self.frame_visits(entry);
        let mut each: Vec<(u64, UsageAmount)> = Vec::with_capacity(frame.len());
        for visited in frame.values() {
            let mut amount = visited.usage_per_visit;
            for (fork, number) in &visited.branch_entries {
                amount = amount.sum_with(self.estimate_branch(*fork).total.multiply_by(*number));
            }
            each.push((visited.visits, amount));
        }
        let lane = Rc::new(BranchEstimate { frame, total: max_usage(&each, self.steps) });
        self.branch_estimates.insert(entry, Rc::clone(&lane));
        lane
    }

    fn frame_visits(&mut self, entry: BranchEntry) -> Rc<FrameVisits> {
        if let Some(known) = self.frame_visits.get(&entry) {
            return Rc::clone(known);
        }
        let BranchEntry { depth, workflow: at, start } = entry;
        let program = self.program;
        let mut frame = FrameVisits::new();
        // how often each child is called: many states may call the same one
        let mut called: BTreeMap<usize, u64> = BTreeMap::new();
        if let Some(workflow) = program.workflows.get(at) {
            for (index, visits) in visit_bounds::max_visits(workflow, start, self.limited) {
                let state = &workflow.states[index];
                let forks = self.branch_entries(entry, state);
                let each = self.calls.per_visit(at, workflow, state);
                add_visits(
                    &mut frame,
                    ProgramStateKey { workflow: at, state: index },
                    VisitEstimate { visits, branch_entries: forks, usage_per_visit: each },
                );
                if let StateBody::Child { workflow: child, .. } = &state.work {
                    let sum = called.entry(child.0).or_default();
                    *sum = sum.saturating_add(saturating_product(visits, max_attempts(state)));
                }
            }
        }
        for (child, number) in called {
            let inside = self.child_visits(depth + 1, child);
            for (key, visited) in inside.iter() {
                let visits = saturating_product(visited.visits, number);
                add_visits(&mut frame, *key, VisitEstimate { visits, ..visited.clone() });
            }
        }
        let frame = Rc::new(frame);
        self.frame_visits.insert(entry, Rc::clone(&frame));
        frame
    }

    fn child_visits(&mut self, depth: usize, at: usize) -> Rc<FrameVisits> {
        let Some(child) = self.program.workflows.get(at) else { return Rc::default() };
        if depth > child.limits.max_depth as usize {
            return Rc::default();
        }
        if depth > DEEPEST {
            self.add_note(format!("`{}` inside itself is counted {DEEPEST} levels deep", child.name));
            return Rc::default();
        }
        self.frame_visits(BranchEntry { depth, workflow: at, start: child.start.0 })
    }

    fn branch_entries(&mut self, from: BranchEntry, state: &StateSpec) -> Vec<(BranchEntry, u64)> {
        let again = max_attempts(state);
        if from.depth >= DEEPEST {
            return Vec::new();
        }
        let below = |start: StateIx| BranchEntry { depth: from.depth + 1, start: start.0, ..from };
        match &state.work {
            StateBody::Parallel(spec) => {
                spec.branches.iter().map(|branch| (below(branch.start), again)).collect()
            }
            StateBody::ForEach(spec) => {
                let items = match &spec.items {
                    ValueSource::Value(Value::Array(items)) => items.len() as u64,
                    _ => self.literal_list_length(from.workflow, &spec.items).unwrap_or_else(|| {
                        self.add_note(format!(
                            "how many items `{}` has is not known before it runs",
                            state.name
                        ));
                        UNBOUNDED
                    }),
                };
                vec![(below(spec.start), saturating_product(items, again))]
            }
            _ => Vec::new(),
        }
    }

    /// The length of a list that is written out in the file.
    fn literal_list_length(&self, at: usize, items: &ValueSource) -> Option<u64> {
        let ValueSource::Script(script) = items else { return None };
        let source = &self.program.workflows.get(at)?.scripts.get(script.0)?.source;
        let list: Vec<Value> = serde_json::from_str(source.trim()).ok()?;
        Some(list.len() as u64)
    }

    fn add_note(&mut self, note: String) {
        if self.noted_texts.insert(note.clone()) {
            self.notes.push(note);
        }
    }
}

fn add_visits(frame: &mut FrameVisits, key: ProgramStateKey, more: VisitEstimate) {
    match frame.get_mut(&key) {
        Some(known) => known.visits = known.visits.saturating_add(more.visits),
        None => {
            frame.insert(key, more);
        }
    }
}

/// The most that `steps` visits can use: the dearest states first. Each figure has a worst case of its own.
fn max_usage(each: &[(u64, UsageAmount)], steps: u64) -> UsageAmount {
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
            sum = sum.sum_with(amount.multiply_by(taken));
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
