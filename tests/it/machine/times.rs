//! Time limits of states and workflows, and `wait`.

use super::*;
use synthdev::domain::workflow::{BranchErrors, BranchSpec, JoinPolicy, OnError, ParallelSpec, WaitSpec};

const SLOW: &str = "end failed timeout";

fn timed(ms: u64, recovery: RecoveryPolicy) -> StateSpec {
    StateSpec { timeout_ms: Some(ms), ..with_recovery(state("start", agent_state(), 2), recovery) }
}

fn two_state_workflow(start: StateSpec) -> Vec<Workflow> {
    vec![workflow(vec![start, state("other", StateBody::None, 2)])]
}

#[test]
fn a_visit_may_take_so_long_with_all_its_attempts() {
    let caught = RecoveryPolicy { catch: vec![catch_rule(&["timeout"], 1)], ..RecoveryPolicy::default() };
    let retried = RecoveryPolicy { retry: vec![retry_rule(&["model"], 5, 400)], ..RecoveryPolicy::default() };
    let timely = RecoveryPolicy { retry: vec![retry_rule(&["timeout"], 2, 0)], ..RecoveryPolicy::default() };
    let rows = [
        ("in time", RecoveryPolicy::default(), vec![Act::Says("done")], vec!["enter stop", "end completed"]),
        ("too late", RecoveryPolicy::default(), vec![Act::Time], vec![SLOW]),
        (
            "caught",
            caught,
            vec![Act::Time],
            vec!["catch takes timeout to other", "enter other", "enter stop", "end completed"],
        ),
        (
            "the waits between attempts count",
            retried,
            vec![broken_model(), Act::Time, broken_model(), Act::Time],
            vec![
                "retry 2/5 in 400 after model.transport",
                "model",
                "retry 3/5 in 800 after model.transport",
                SLOW,
            ],
        ),
        (
            "tried again with new time where a rule says so",
            timely,
            vec![Act::Time, Act::Time, Act::Time],
            vec!["retry 2/2 in 0 after timeout", "model", SLOW],
        ),
    ];
    for (about, recovery, acts, rest) in rows {
        let expected = [&["enter start", "model"], &rest[..]].concat();
        check_story(about, two_state_workflow(timed(500, recovery)), false, acts, &expected);
    }
}

#[test]
fn a_state_that_runs_out_of_time_stops_all_that_it_started() {
    let branch = |name: &str, start| BranchSpec { name: name.to_owned(), start: StateIx(start) };
    let both = ParallelSpec {
        branches: vec![branch("a", 2), branch("b", 4)],
        join: JoinPolicy::All,
        on_error: BranchErrors::FailFast,
        max_concurrency: None,
        merge: Default::default(),
    };
    let caught = RecoveryPolicy { catch: vec![catch_rule(&["timeout"], 1)], ..RecoveryPolicy::default() };
    let fork = StateSpec {
        timeout_ms: Some(500),
        ..with_recovery(state("start", StateBody::Parallel(both), 6), caught)
    };
    let end = |name: &str| StateSpec { name: name.to_owned(), terminal: true, ..StateSpec::default() };
    let inner = Workflow { name: "inner".to_owned(), ..workflow(vec![state("start", agent_state(), 1)]) };
    let root = workflow(vec![
        fork,
        state("other", StateBody::None, 6),
        state("start.a/start", agent_state(), 3),
        end("start.a/stop"),
        state("start.b/start", child(), 5),
        end("start.b/stop"),
    ]);
    let expected = [
        "enter start",
        "enter start.a/start",
        "model",
        "enter start.b/start",
        "enter start.b/inner/start",
        "model",
        "catch takes timeout to other",
        "enter other",
        "enter stop",
        "end completed",
    ];
    check_story("branches", vec![root, inner], false, vec![Act::Time], &expected);
}

#[test]
fn a_workflow_may_take_so_long() {
    let inner = |timeout_ms, on_error| Workflow {
        name: "inner".to_owned(),
        timeout_ms,
        on_error,
        ..workflow(vec![
            with_recovery(
                state("start", agent_state(), 2),
                // a rule of one state is not for the time of the whole
                RecoveryPolicy { catch: vec![catch_rule(&["*"], 1)], ..RecoveryPolicy::default() },
            ),
            state("last", agent_state(), 2),
        ])
    };
    let root = |timeout_ms| Workflow { timeout_ms, ..workflow(vec![state("start", child(), 1)]) };
    let begin = ["enter start", "enter inner/start", "model"];
    let rows = [
        (
            vec![root(None), inner(Some(50), OnError::Fail)],
            vec![Act::Time],
            vec!["end failed sub_workflow_failed"],
        ),
        (vec![root(Some(50)), inner(None, OnError::Fail)], vec![Act::Time], vec![SLOW]),
        (
            vec![root(None), inner(Some(50), OnError::Go(StateIx(1)))],
            vec![Act::Time, Act::Says("in short")],
            vec![
                "on_error takes timeout to inner/last",
                "enter inner/last",
                "model",
                "enter inner/stop",
                "enter stop",
                "end completed",
            ],
        ),
        (
            vec![root(Some(50)), inner(Some(40), OnError::Fail)],
            vec![Act::Says("done")],
            vec!["enter inner/stop", "enter stop", "end completed"],
        ),
    ];
    for (workflows, acts, rest) in rows {
        check_story("timeout of a workflow", workflows, false, acts, &[&begin[..], &rest].concat());
    }
}

#[test]
fn late_timers_change_nothing() {
    let mut play = Play::new(two_state_workflow(timed(500, RecoveryPolicy::default())), true);
    let (_, late) = play.timers[0];
    play.perform_act(Act::Says("done"));
    let told = play.lines.len();
    play.feed_input(Input::Elapsed { call: late });
    assert_eq!(play.finish_and_replay().len(), told);
}

#[test]
fn a_person_who_is_asked_about_an_error_has_all_the_time() {
    let acts = vec![Act::Time, Act::Passes(100_000), Act::Answers(UserAnswer::Continue), Act::Time];
    let mut play = Play::new(two_state_workflow(timed(500, RecoveryPolicy::default())), true);
    for act in acts {
        play.perform_act(act);
    }
    let expected = ["enter start", "model", "ask failed timeout", "model", "ask failed timeout"];
    assert_eq!(play.finish_and_replay(), expected);
}

#[test]
fn waiting_takes_its_time() {
    let text = |text: &str| ValueSource::Text(text.to_owned());
    let done = |line: &'static str| vec![line, "enter stop", "end completed"];
    let rows = [
        (WaitSpec::For(ValueSource::Value(json!(2.5))), vec![Act::Time], done("waits until 3500")),
        (WaitSpec::For(text("PT1M")), vec![Act::Time], done("waits until 61000")),
        (WaitSpec::Until(text("1970-01-01T00:00:05Z")), vec![Act::Time], done("waits until 5000")),
        (WaitSpec::Until(ValueSource::Value(json!(1))), vec![Act::Time], done("waits until 1000")),
        (WaitSpec::For(text("a while")), vec![], vec!["end failed validation"]),
        (WaitSpec::Until(text("tomorrow")), vec![], vec!["end failed validation"]),
        (
            WaitSpec::For(ValueSource::Script(INPUT)),
            vec![Act::Values(vec![None])],
            vec!["end failed validation"],
        ),
    ];
    for (wait, acts, rest) in rows {
        let about = format!("{wait:?}");
        let start = state("start", StateBody::Wait(wait), 1);
        check_story(
            &about,
            vec![workflow(vec![start])],
            false,
            acts,
            &[&["enter start"], &rest[..]].concat(),
        );
    }
}
