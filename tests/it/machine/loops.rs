//! A limit that one branch or item reaches is its own as far as failures are tolerated; what children gave outlives
//! the join.

use super::*;
use synthdev::domain::workflow::{BranchErrors, BranchSpec, ForEachSpec, JoinPolicy, ParallelSpec, WaitSpec};

/// Two items whose only state waits, and may be visited once.
fn items(tolerated_failures: u32, on_limit: Option<usize>) -> Workflow {
    let spec = ForEachSpec {
        items: ValueSource::Value(json!(["a", "b"])),
        each: "item".to_owned(),
        at: "index".to_owned(),
        start: StateIx(1),
        needs: Vec::new(),
        max_concurrency: Some(1),
        tolerated_failures,
        tolerated_percent: 0.0,
        handed_out: None,
        sub_agent: None,
    };
    let ending = StateSpec { name: "start/stop".to_owned(), terminal: true, ..StateSpec::default() };
    let again = Transition { target: StateIx(1), condition: Some(CONDITION), before: None };
    let end = Transition { target: StateIx(2), condition: None, before: None };
    let body = StateSpec {
        max_visits: Some(1),
        transitions: vec![again, end],
        ..state("start/s", StateBody::Wait(WaitSpec::For(ValueSource::Value(json!(1)))), 2)
    };
    let mut one = workflow(vec![
        state("start", StateBody::ForEach(spec), 4),
        body,
        ending,
        state("last", StateBody::None, 4),
    ]);
    one.on_limit = on_limit.map(StateIx);
    one
}

#[test]
fn a_limit_of_one_item_is_tolerated_as_any_failure() {
    let begin = ["enter start", "enter start[0]/s", "waits until 2000"];
    let second =
        ["enter start[1]/s", "waits until 3002", "enter start[1]/stop", "enter stop", "end completed"];
    let on = ["on_limit takes limit to last", "enter last", "enter stop", "end completed"];
    let one = vec![Act::Time, Act::Chooses(0)];
    let both = || [one.clone(), vec![Act::Time, Act::Chooses(1)]].concat();
    let rows = [
        ("tolerated", items(1, None), false, both(), second.to_vec()),
        ("before the way out of the whole loop", items(1, Some(3)), false, both(), second.to_vec()),
        ("not tolerated", items(0, None), false, one.clone(), vec!["end paused limit"]),
        ("not tolerated, led on", items(0, Some(3)), false, one.clone(), on.to_vec()),
        ("a person is asked", items(1, None), true, one.clone(), vec!["ask max_visits"]),
    ];
    for (about, workflow, interactive, acts, rest) in rows {
        check_story(about, vec![workflow], interactive, acts, &[&begin[..], &rest].concat());
    }
}

#[test]
fn a_limit_of_the_run_is_not_one_item_s() {
    let mut one = items(2, None);
    one.limits.max_model_calls = Some(0);
    one.states[1].work = agent_state();
    check_story(
        "calls",
        vec![one],
        false,
        Vec::new(),
        &["enter start", "enter start[0]/s", "end paused limit"],
    );
}

#[test]
fn what_a_child_gave_in_a_branch_is_the_last_of_the_run() {
    let branch = |name: &str, start| BranchSpec { name: name.to_owned(), start: StateIx(start) };
    let spec = ParallelSpec {
        branches: vec![branch("a", 1), branch("b", 3)],
        join: JoinPolicy::All,
        on_error: BranchErrors::FailFast,
        max_concurrency: None,
        merge: Default::default(),
    };
    let ending = |name: &str| StateSpec { name: name.to_owned(), terminal: true, ..StateSpec::default() };
    let asked = StateSpec { script: Some(ACTION), ..state("after", StateBody::None, 6) };
    let root = workflow(vec![
        state("start", StateBody::Parallel(spec), 5),
        state("start.a/s", child(), 2),
        ending("start.a/stop"),
        state("start.b/s", agent_state(), 4),
        ending("start.b/stop"),
        asked,
    ]);
    let mut inner = Workflow { name: "inner".to_owned(), ..workflow(vec![]) };
    inner.states[0].output = ValueSource::Text("from the child".to_owned());
    let mut play = Play::new(vec![root, inner], false);
    play.perform_act(Act::Says("words"));
    let Some(Effect::Evaluate { job, .. }) = play.pending.last() else { panic!("{:?}", play.lines) };
    assert_eq!(job.scope.sub_workflow_result, Some(json!("from the child")));
}
