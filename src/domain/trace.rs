//! The trace of a run: how often it entered each state and took each transition, and the cost of each.
//!
//! Owns the counting only; a reader of the run's events calls it with what happened.

use std::collections::BTreeMap;

/// Keys are path names of states as events give them: `child_workflow/state`, `owner.branch/state`. Items of a
/// `foreach` count together: `owner[3]/state` is `owner/state`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RunTrace {
    states: BTreeMap<String, TraceCounts>,
    exits: BTreeMap<(String, StateExit), TraceCounts>,
    /// Entered and not left yet, in order of entry, with the numbers of items.
    active_states: Vec<String>,
    /// The agents of the active states.
    speakers: Vec<(String, String)>,
    /// Open calls of workflows: the calling state, the workflow.
    calls: Vec<(String, String)>,
    /// Spent in each active state since it was entered.
    open_counts: BTreeMap<String, TraceCounts>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TraceCounts {
    pub count: u32,
    pub tokens: u64,
    /// `None` as soon as one price is unknown.
    pub cost_usd: Option<f64>,
}

impl Default for TraceCounts {
    fn default() -> Self {
        Self { count: 0, tokens: 0, cost_usd: Some(0.0) }
    }
}

impl TraceCounts {
    fn add_spending(&mut self, tokens: u64, cost_usd: Option<f64>) {
        self.tokens = self.tokens.saturating_add(tokens);
        self.cost_usd = self.cost_usd.zip(cost_usd).map(|(sum, one)| sum + one);
    }
}

/// Whose states are meant: those of the workflow that was started, or of one that it calls (wherever it is called).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceScope<'a> {
    Root,
    Called(&'a str),
}

impl TraceScope<'_> {
    fn is_state(self, path: &str, state: &str) -> bool {
        match self {
            Self::Root => path == state,
            Self::Called(workflow) => path
                .strip_suffix(state)
                .and_then(|before| before.strip_suffix('/'))
                .and_then(|before| before.strip_suffix(workflow))
                .is_some_and(|before| before.is_empty() || before.ends_with('/')),
        }
    }
}

/// How a state was left.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum StateExit {
    /// Position in the state's list of transitions, from 0.
    Transition(usize),
    /// `catch`, `on_error`, `on_limit` and the like: where it led, as a path name.
    Exception(String),
}

impl RunTrace {
    /// What a state was used for; `None` if it was never entered.
    pub fn state_counts(&self, part: TraceScope<'_>, name: &str) -> Option<TraceCounts> {
        if part == TraceScope::Root {
            return self.states.get(name).copied();
        }
        sum_counts(
            self.states.iter().filter(|(path, _)| part.is_state(path, name)).map(|(_, passage)| passage),
        )
    }

    /// What a way was used for: by position among the transitions, or by the name of the state where an error led.
    pub fn exit_counts(&self, part: TraceScope<'_>, from: &str, way: &StateExit) -> Option<TraceCounts> {
        if part == TraceScope::Root {
            return self.exits.get(&(from.to_owned(), way.clone())).copied();
        }
        let same = |taken: &StateExit| match (taken, way) {
            (StateExit::Transition(one), StateExit::Transition(other)) => one == other,
            (StateExit::Exception(path), StateExit::Exception(name)) => part.is_state(path, name),
            (StateExit::Transition(_), StateExit::Exception(_))
            | (StateExit::Exception(_), StateExit::Transition(_)) => false,
        };
        let found = self.exits.iter().filter(|((path, taken), _)| part.is_state(path, from) && same(taken));
        sum_counts(found.map(|(_, passage)| passage))
    }

    /// Whether the run is in this state now, or ended there.
    pub fn is_in(&self, part: TraceScope<'_>, name: &str) -> bool {
        self.active_states.iter().any(|path| part.is_state(&without_index(path), name))
    }

    pub fn record_entered(&mut self, state: &str, agent: Option<&str>) {
        self.states.entry(without_index(state)).or_default().count += 1;
        self.open_counts.insert(state.to_owned(), TraceCounts::default());
        if let Some(agent) = agent {
            self.speakers.push((agent.to_owned(), state.to_owned()));
        }
        self.active_states.push(state.to_owned());
    }

    pub fn record_left(&mut self, state: &str, way: StateExit) {
        let spent = self.open_counts.get(state).copied().unwrap_or_default();
        self.forget_state(state);
        let way = match way {
            StateExit::Exception(target) => StateExit::Exception(without_index(&target)),
            StateExit::Transition(at) => StateExit::Transition(at),
        };
        let passage = self.exits.entry((without_index(state), way)).or_default();
        passage.count += 1;
        passage.add_spending(spent.tokens, spent.cost_usd);
    }

    pub fn record_called(&mut self, state: &str, workflow: &str) {
        self.calls.push((state.to_owned(), workflow.to_owned()));
    }

    /// A called workflow is over: nothing in it is active any more.
    pub fn record_returned(&mut self, state: &str, workflow: &str) {
        let call = self.calls.iter().rposition(|(from, name)| from == state && name == workflow);
        if let Some(at) = call {
            self.calls.remove(at);
        }
        let parent = state.rfind('/').map_or("", |end| &state[..=end]);
        self.record_closed(&format!("{parent}{workflow}/"));
    }

    /// A body is over: everything that begins with `owner.branch/` or `owner[3]/`.
    pub fn record_closed(&mut self, body: &str) {
        let left: Vec<String> =
            self.active_states.iter().filter(|one| one.starts_with(body)).cloned().collect();
        for state in left {
            self.forget_state(&state);
        }
    }

    /// All bodies of a state are over, stopped ones included.
    pub fn record_joined(&mut self, owner: &str) {
        self.record_closed(&format!("{owner}["));
        let bodies = format!("{owner}.");
        let inside = |path: &String| path.strip_prefix(&bodies).is_some_and(|rest| rest.contains('/'));
        let left: Vec<String> = self.active_states.iter().filter(|path| inside(path)).cloned().collect();
        left.iter().for_each(|state| self.forget_state(state));
    }

    /// A model answered `agent`. What cannot be placed is not counted.
    pub fn record_spent(&mut self, agent: &str, tokens: u64, cost_usd: Option<f64>) {
        let Some((_, state)) = self.speakers.iter().rev().find(|(speaker, _)| speaker == agent) else {
            return;
        };
        let mut states = vec![state.clone()];
        // the cost also counts for every state that called the workflow of this agent
        for (caller, workflow) in self.calls.iter().rev() {
            let inside = states.last().is_some_and(|state| is_below(state, workflow));
            if inside && !states.contains(caller) {
                states.push(caller.clone());
            }
        }
        for state in states {
            self.states.entry(without_index(&state)).or_default().add_spending(tokens, cost_usd);
            self.open_counts.entry(state).or_default().add_spending(tokens, cost_usd);
        }
    }

    fn forget_state(&mut self, state: &str) {
        if let Some(at) = self.active_states.iter().rposition(|one| one == state) {
            self.active_states.remove(at);
        }
        if let Some(at) = self.speakers.iter().rposition(|(_, one)| one == state) {
            self.speakers.remove(at);
        }
        self.open_counts.remove(state);
    }
}

fn sum_counts<'p>(found: impl Iterator<Item = &'p TraceCounts>) -> Option<TraceCounts> {
    found.copied().reduce(|mut all, one| {
        all.count += one.count;
        all.add_spending(one.tokens, one.cost_usd);
        all
    })
}

/// Whether a state's path runs through a workflow: `a/workflow/state`.
fn is_below(state: &str, workflow: &str) -> bool {
    let parts: Vec<&str> = state.split('/').collect();
    parts[..parts.len() - 1].contains(&workflow)
}

/// `each[12]/say` → `each/say`.
fn without_index(state: &str) -> String {
    let mut out = String::with_capacity(state.len());
    let mut rest = state;
    while let Some(at) = rest.find('[') {
        let digits = rest[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
        let end = at + 1 + digits;
        let is_index = digits > 0 && rest[end..].starts_with(']');
        let next = if is_index { end + 1 } else { at + 1 };
        out.push_str(if is_index { &rest[..at] } else { &rest[..next] });
        rest = &rest[next..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visits_ways_and_costs_are_counted_where_they_happened() {
        let mut trail = RunTrace::default();
        trail.record_entered("start", None);
        trail.record_left("start", StateExit::Transition(0));
        for way in [1, 0] {
            trail.record_entered("code", Some("coder"));
            trail.record_spent("coder", 100, Some(0.5));
            trail.record_spent("stranger", 9, Some(9.0));
            trail.record_left("code", StateExit::Transition(way));
        }
        trail.record_entered("nested", None);
        trail.record_called("nested", "child");
        trail.record_entered("child/start", Some("coder"));
        trail.record_spent("coder", 7, None);
        let child = TraceScope::Called("child");
        assert!(trail.is_in(TraceScope::Root, "nested") && trail.is_in(child, "start"));
        assert!(!trail.is_in(TraceScope::Root, "start") && !trail.is_in(TraceScope::Root, "code"));
        trail.record_returned("nested", "child");
        assert!(trail.is_in(TraceScope::Root, "nested") && !trail.is_in(child, "start"));
        let passage = |count, tokens, cost_usd| Some(TraceCounts { count, tokens, cost_usd });
        assert_eq!(trail.state_counts(TraceScope::Root, "code"), passage(2, 200, Some(1.0)));
        assert_eq!(trail.state_counts(TraceScope::Root, "nested"), passage(1, 7, None));
        assert_eq!(trail.state_counts(child, "start"), passage(1, 7, None));
        assert_eq!(trail.state_counts(TraceScope::Root, "never"), None);
        assert_eq!(
            trail.exit_counts(TraceScope::Root, "code", &StateExit::Transition(1)),
            passage(1, 100, Some(0.5))
        );
        assert_eq!(trail.exit_counts(TraceScope::Root, "code", &StateExit::Transition(2)), None);
    }

    #[test]
    fn a_called_workflow_is_counted_wherever_it_is_called() {
        let mut trail = RunTrace::default();
        for path in ["child/a", "other/child/a", "grandchild/a", "child/b.x/a"] {
            trail.record_entered(path, None);
            trail.record_left(path, StateExit::Exception(path.replace("/a", "/give_up")));
        }
        let child = TraceScope::Called("child");
        assert_eq!(trail.state_counts(child, "a").map(|one| one.count), Some(2));
        assert_eq!(trail.state_counts(child, "b.x/a").map(|one| one.count), Some(1));
        let way = StateExit::Exception("give_up".to_owned());
        assert_eq!(trail.exit_counts(child, "a", &way).map(|one| one.count), Some(2));
        assert_eq!(trail.exit_counts(TraceScope::Root, "a", &way), None);
    }

    #[test]
    fn items_count_together() {
        let rows = [
            ("each[12]/say", "each/say"),
            ("a.b[0]/c[1]/d", "a.b/c/d"),
            ("x[y]/z", "x[y]/z"),
            ("x[", "x["),
            ("[3]", ""),
        ];
        for (given, expected) in rows {
            assert_eq!(without_index(given), expected, "{given}");
        }
        let mut trail = RunTrace::default();
        trail.record_entered("each[0]/say", Some("coder"));
        trail.record_entered("each[1]/say", Some("coder"));
        trail.record_closed("each[0]/");
        assert!(trail.is_in(TraceScope::Root, "each/say"), "one item still runs");
        trail.record_closed("each[1]/");
        assert!(!trail.is_in(TraceScope::Root, "each/say"));
        assert_eq!(trail.state_counts(TraceScope::Root, "each/say").map(|one| one.count), Some(2));
    }
}
