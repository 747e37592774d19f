//! Where a run has been: how often each state was entered and each way taken, and what was spent there.
//!
//! Owns the counting only; what happened is told by whoever reads a run's events.

use std::collections::BTreeMap;

/// Keys are path names of states as events give them: `child_workflow/state`, `owner.branch/state`. Items of a
/// `foreach` count together: `owner[3]/state` is `owner/state`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Trail {
    pub states: BTreeMap<String, Passage>,
    pub ways: BTreeMap<(String, Way), Passage>,
    /// Entered and not left yet, in order of entry; once a run is over, where it ended.
    pub active: Vec<String>,
    /// Who speaks in the states that are active.
    speakers: Vec<(String, String)>,
    /// Open calls of workflows: the calling state, the workflow.
    calls: Vec<(String, String)>,
    /// Spent in each active state since it was entered.
    open: BTreeMap<String, Passage>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Passage {
    pub count: u32,
    pub tokens: u64,
    /// `None` as soon as one price is unknown.
    pub cost_usd: Option<f64>,
}

impl Default for Passage {
    fn default() -> Self {
        Self { count: 0, tokens: 0, cost_usd: Some(0.0) }
    }
}

impl Passage {
    fn spend(&mut self, tokens: u64, cost_usd: Option<f64>) {
        self.tokens = self.tokens.saturating_add(tokens);
        self.cost_usd = self.cost_usd.zip(cost_usd).map(|(sum, one)| sum + one);
    }
}

/// How a state was left.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Way {
    /// Position in the state's list of transitions, from 0.
    Transition(usize),
    /// `catch`, `on_error`, `on_limit` and the like: where it led, as a path name.
    Exception(String),
}

impl Trail {
    pub fn entered(&mut self, state: &str, agent: Option<&str>) {
        let state = without_index(state);
        self.states.entry(state.clone()).or_default().count += 1;
        self.open.insert(state.clone(), Passage::default());
        if let Some(agent) = agent {
            self.speakers.push((agent.to_owned(), state.clone()));
        }
        self.active.push(state);
    }

    pub fn left(&mut self, state: &str, way: Way) {
        let state = without_index(state);
        let spent = self.open.get(&state).copied().unwrap_or_default();
        self.forget(&state);
        let passage = self.ways.entry((state, way)).or_default();
        passage.count += 1;
        passage.spend(spent.tokens, spent.cost_usd);
    }

    pub fn called(&mut self, state: &str, workflow: &str) {
        self.calls.push((without_index(state), workflow.to_owned()));
    }

    /// A called workflow is over: nothing in it is active any more.
    pub fn returned(&mut self, state: &str, workflow: &str) {
        let state = without_index(state);
        let call = self.calls.iter().rposition(|(from, name)| *from == state && name == workflow);
        if let Some(at) = call {
            self.calls.remove(at);
        }
        let before = format!("{workflow}/");
        self.leave_all(|active| is_below(active, &before));
    }

    /// A body is over: `owner.branch/` or `owner/`.
    pub fn closed(&mut self, body: &str) {
        let body = without_index(body);
        self.leave_all(|active| active.starts_with(&body));
    }

    /// A model answered `agent`. What cannot be placed is not counted.
    pub fn spent(&mut self, agent: &str, tokens: u64, cost_usd: Option<f64>) {
        let Some((_, state)) = self.speakers.iter().rev().find(|(speaker, _)| speaker == agent) else {
            return;
        };
        let mut states = vec![state.clone()];
        // every state that called the workflow in which this was said pays as well
        for (caller, workflow) in self.calls.iter().rev() {
            let inside = states.last().is_some_and(|state| is_below(state, &format!("{workflow}/")));
            if inside && !states.contains(caller) {
                states.push(caller.clone());
            }
        }
        for state in states {
            self.states.entry(state.clone()).or_default().spend(tokens, cost_usd);
            self.open.entry(state).or_default().spend(tokens, cost_usd);
        }
    }

    fn forget(&mut self, state: &str) {
        if let Some(at) = self.active.iter().rposition(|one| one == state) {
            self.active.remove(at);
        }
        if let Some(at) = self.speakers.iter().rposition(|(_, one)| one == state) {
            self.speakers.remove(at);
        }
        self.open.remove(state);
    }

    fn leave_all(&mut self, gone: impl Fn(&str) -> bool) {
        let left: Vec<String> = self.active.iter().filter(|one| gone(one)).cloned().collect();
        for state in left {
            self.forget(&state);
        }
    }
}

/// Whether a state's path runs through a workflow.
fn is_below(state: &str, workflow: &str) -> bool {
    state.match_indices(workflow).any(|(at, _)| at == 0 || state[..at].ends_with('/'))
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
        let mut trail = Trail::default();
        trail.entered("start", None);
        trail.left("start", Way::Transition(0));
        for way in [1, 0] {
            trail.entered("code", Some("coder"));
            trail.spent("coder", 100, Some(0.5));
            trail.spent("stranger", 9, Some(9.0));
            trail.left("code", Way::Transition(way));
        }
        trail.entered("nested", None);
        trail.called("nested", "child");
        trail.entered("child/start", Some("coder"));
        trail.spent("coder", 7, None);
        assert_eq!(trail.active, ["nested", "child/start"]);
        trail.returned("nested", "child");
        assert_eq!(trail.active, ["nested"]);
        let state = |name: &str| trail.states[name];
        assert_eq!(state("code"), Passage { count: 2, tokens: 200, cost_usd: Some(1.0) });
        assert_eq!(state("nested"), Passage { count: 1, tokens: 7, cost_usd: None });
        assert_eq!(state("child/start").tokens, 7);
        let way = &trail.ways[&("code".to_owned(), Way::Transition(1))];
        assert_eq!(*way, Passage { count: 1, tokens: 100, cost_usd: Some(0.5) });
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
        let mut trail = Trail::default();
        trail.entered("each[0]/say", Some("coder"));
        trail.entered("each[1]/say", Some("coder"));
        trail.closed("each[0]/");
        assert_eq!(trail.active, Vec::<String>::new());
        assert_eq!(trail.states["each/say"].count, 2);
    }
}
