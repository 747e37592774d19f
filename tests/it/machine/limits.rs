//! Limits lead to `on_limit`, to a `catch`, to a question to the user, or to a pause.

use super::*;
use synthdev::domain::workflow::WorkflowLimits;

/// Speaks for ever; `last` is where a limit may lead.
fn looping(
    limits: WorkflowLimits,
    on_limit: Option<usize>,
    change: impl Fn(StateSpec) -> StateSpec,
) -> Vec<Workflow> {
    let start = change(state("start", agent_state(), 0));
    let states = vec![start, state("last", StateBody::None, 2)];
    vec![Workflow { limits, on_limit: on_limit.map(StateIx), ..workflow(states) }]
}

fn repeat_answers(times: usize) -> Vec<Act> {
    vec![Act::Says("words"); times]
}

#[test]
fn each_limit_leads_where_the_workflow_says() {
    let none = WorkflowLimits::default();
    let steps = WorkflowLimits { max_steps: 2, ..none };
    let visits = WorkflowLimits { max_visits: 2, ..none };
    let calls = WorkflowLimits { max_model_calls: Some(2), ..none };
    let same = |state: StateSpec| state;
    let three = |state: StateSpec| StateSpec { max_visits: Some(3), ..state };
    let caught = |state: StateSpec| {
        with_recovery(
            state,
            RecoveryPolicy { catch: vec![catch_rule(&["limit"], 1)], ..RecoveryPolicy::default() },
        )
    };
    let own = |state: StateSpec| StateSpec { on_limit: Some(StateIx(1)), ..state };
    let last = ["enter last", "enter stop", "end completed"];
    let went = |by: &'static str| [&[by], &last[..]].concat();
    let rounds = ["enter start", "model", "enter start 2", "model"];
    let rows: Vec<(&str, Vec<Workflow>, usize, Vec<&str>)> = vec![
        ("steps", looping(steps, None, same), 2, vec!["end paused limit"]),
        ("steps, led on", looping(steps, Some(1), same), 2, went("on_limit takes limit to last")),
        ("visits, led on", looping(visits, Some(1), same), 2, went("on_limit takes limit to last")),
        ("visits, by the state", looping(visits, None, own), 2, went("on_limit takes limit to last")),
        ("visits, caught", looping(visits, None, caught), 2, went("catch takes limit to last")),
        ("calls", looping(calls, None, same), 2, vec!["enter start 3", "end paused limit"]),
        (
            "calls, led on",
            looping(calls, Some(1), same),
            2,
            [&["enter start 3"], &went("on_limit takes limit to last")[..]].concat(),
        ),
        (
            "a state's own number",
            looping(visits, None, three),
            3,
            vec!["enter start 3", "model", "end paused limit"],
        ),
    ];
    for (about, workflows, times, rest) in rows {
        check_story(about, workflows, false, repeat_answers(times), &[&rounds[..], &rest].concat());
    }
}

#[test]
fn on_limit_is_taken_once() {
    let limits = WorkflowLimits { max_visits: 1, ..WorkflowLimits::default() };
    let states = vec![state("start", agent_state(), 0), state("last", agent_state(), 0)];
    let one = Workflow { limits, on_limit: Some(StateIx(1)), ..workflow(states) };
    let expected =
        ["enter start", "model", "on_limit takes limit to last", "enter last", "model", "end paused limit"];
    check_story("back to the loop", vec![one], false, repeat_answers(2), &expected);
}

#[test]
fn each_state_has_its_own_way_out() {
    let own = |state: StateSpec, target| StateSpec {
        max_visits: Some(1),
        on_limit: Some(StateIx(target)),
        ..state
    };
    let states = vec![
        own(state("start", StateBody::None, 0), 1),
        own(state("second", StateBody::None, 1), 2),
        state("last", StateBody::None, 3),
    ];
    let expected = [
        "enter start",
        "on_limit takes limit to second",
        "enter second",
        "on_limit takes limit to last",
        "enter last",
        "enter stop",
        "end completed",
    ];
    check_story("two loops", vec![workflow(states)], false, Vec::new(), &expected);
}

#[test]
fn a_person_grants_the_same_again() {
    let calls = WorkflowLimits { max_model_calls: Some(1), ..WorkflowLimits::default() };
    let acts = vec![
        Act::Says("one"),
        Act::Answers(UserAnswer::Continue),
        Act::Says("two"),
        Act::Answers(UserAnswer::Stop),
    ];
    let expected = [
        "enter start",
        "model",
        "enter start 2",
        "ask max_model_calls",
        "model",
        "enter start 3",
        "ask max_model_calls",
        "end paused limit",
    ];
    check_story("calls", looping(calls, None, |state| state), true, acts, &expected);
}

#[test]
fn a_limit_inside_a_child_can_be_taken_by_its_parent() {
    let root = |on_limit| Workflow {
        on_limit,
        limits: WorkflowLimits { max_model_calls: Some(1), ..WorkflowLimits::default() },
        ..workflow(vec![state("start", child(), 2), state("last", StateBody::None, 2)])
    };
    let inner = || Workflow { name: "inner".to_owned(), ..workflow(vec![state("start", agent_state(), 0)]) };
    let begin = ["enter start", "enter inner/start", "model", "enter inner/start 2"];
    let rows = [
        (None, vec!["end paused limit"]),
        (Some(StateIx(1)), vec!["on_limit takes limit to last", "enter last", "enter stop", "end completed"]),
    ];
    for (on_limit, rest) in rows {
        check_story(
            "child",
            vec![root(on_limit), inner()],
            false,
            repeat_answers(1),
            &[&begin[..], &rest].concat(),
        );
    }
}
