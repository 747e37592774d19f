//! Branches and loop bodies for random programs: states at the end of the list, reached only through their owner.

use std::collections::BTreeMap;

use serde_json::json;
use synthdev::domain::agent::AgentSpec;
use synthdev::domain::ids::{ScriptIx, StateIx};
use synthdev::domain::workflow::{
    BranchErrors, BranchSpec, ForEachSpec, JoinPolicy, MergeRule, ParallelSpec, StateBody, StateSpec,
    Transition, ValueSource,
};

use super::super::luck::Luck;

/// Turns some of the first `inner` states into forks, and a few states of bodies into forks again.
pub fn add_bodies(
    luck: &mut Luck,
    states: &mut Vec<StateSpec>,
    inner: usize,
    agents: &[AgentSpec],
    of: (usize, usize),
) {
    let mut owners: Vec<usize> = (0..inner).filter(|_| luck.random_chance(18)).collect();
    let mut deeper = 2;
    while let Some(owner) = owners.pop() {
        let first = states.len();
        let work = if luck.random_chance(50) {
            parallel(luck, states, owner, agents, of)
        } else {
            foreach(luck, states, owner, agents, of)
        };
        states[owner].work = work;
        states[owner].expects.clear();
        if deeper > 0 && luck.random_chance(30) {
            deeper -= 1;
            owners.extend((first..states.len()).find(|at| !states[*at].terminal));
        }
    }
}

fn parallel(
    luck: &mut Luck,
    states: &mut Vec<StateSpec>,
    owner: usize,
    agents: &[AgentSpec],
    of: (usize, usize),
) -> StateBody {
    let branches: Vec<BranchSpec> = (0..luck.random_between(1, 4))
        .map(|at| {
            let name = format!("b{at}");
            let start = body(luck, states, &format!("{}.{name}", states[owner].name.clone()), agents, of);
            BranchSpec { name, start }
        })
        .collect();
    let rules = [MergeRule::First, MergeRule::Last, MergeRule::Append, MergeRule::Sum, MergeRule::Object];
    let merge = ["result", "other"].map(|key| (key.to_owned(), luck.pick_item(&rules)));
    let count = u32::try_from(luck.random_between(1, branches.len())).unwrap();
    StateBody::Parallel(ParallelSpec {
        branches,
        join: luck.pick_item(&[JoinPolicy::All, JoinPolicy::All, JoinPolicy::Any, JoinPolicy::Count(count)]),
        on_error: luck.pick_item(&[BranchErrors::FailFast, BranchErrors::Collect]),
        max_concurrency: luck.random_chance(30).then(|| u32::try_from(luck.random_between(1, 3)).unwrap()),
        merge: if luck.random_chance(85) { BTreeMap::from(merge) } else { BTreeMap::new() },
    })
}

fn foreach(
    luck: &mut Luck,
    states: &mut Vec<StateSpec>,
    owner: usize,
    agents: &[AgentSpec],
    of: (usize, usize),
) -> StateBody {
    let items: Vec<_> = (0..luck.random_below(6)).map(|at| json!(at)).collect();
    let start = body(luck, states, &states[owner].name.clone(), agents, of);
    StateBody::ForEach(ForEachSpec {
        items: if luck.random_chance(90) {
            ValueSource::Value(json!(items))
        } else {
            ValueSource::Script(ScriptIx(3))
        },
        each: "item".to_owned(),
        at: "index".to_owned(),
        start,
        needs: luck.pick_item(&[vec![], vec!["*".to_owned()], vec!["task".to_owned(), "no.such".to_owned()]]),
        max_concurrency: luck.random_chance(50).then(|| u32::try_from(luck.random_between(1, 3)).unwrap()),
        tolerated_failures: u32::try_from(luck.random_below(3)).unwrap(),
        tolerated_percent: luck.pick_item(&[0.0, 50.0, 100.0]),
        handed_out: None,
        sub_agent: None,
    })
}

/// One or two states and their end.
fn body(
    luck: &mut Luck,
    states: &mut Vec<StateSpec>,
    scope: &str,
    agents: &[AgentSpec],
    of: (usize, usize),
) -> StateIx {
    let (start, count) = (states.len(), luck.random_between(1, 2));
    for at in 0..count {
        let mut state = super::state(luck, at, count, agents, of, false);
        state.name = format!("{scope}/s{at}");
        state.transitions = (0..luck.random_between(1, 2))
            .map(|_| Transition {
                target: StateIx(start + luck.random_below(count + 1)),
                ..super::transition(luck, 1)
            })
            .collect();
        states.push(state);
    }
    let mut end = super::stop(luck);
    end.name = format!("{scope}/stop");
    states.push(end);
    StateIx(start)
}
