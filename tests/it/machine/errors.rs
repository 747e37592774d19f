//! `retry`, `catch`, `fallback`, `on_error` and questions to the user.

use super::*;
use synthdev::domain::workflow::OnError;

fn single_state_workflow(recovery: RecoveryPolicy) -> Vec<Workflow> {
    let other = state("other", StateBody::None, 2);
    vec![workflow(vec![with_recovery(state("start", agent_state(), 2), recovery), other])]
}

fn with_retries(rules: Vec<RetryRule>) -> RecoveryPolicy {
    RecoveryPolicy { retry: rules, ..RecoveryPolicy::default() }
}

fn with_catches(rules: Vec<CatchRule>) -> RecoveryPolicy {
    RecoveryPolicy { catch: rules, ..RecoveryPolicy::default() }
}

const FAILED: &str = "end failed model.transport";

#[test]
fn a_state_is_tried_again_as_often_as_its_rule_says() {
    let rows = [
        (
            "works at last",
            vec![retry_rule(&["model.*"], 3, 100)],
            vec![broken_model(), Act::Time, broken_model(), Act::Time, Act::Says("done")],
            vec![
                "enter start",
                "model",
                "retry 2/3 in 100 after model.transport",
                "model",
                "retry 3/3 in 200 after model.transport",
                "model",
                "enter stop",
                "end completed",
            ],
        ),
        (
            "all attempts fail",
            vec![retry_rule(&["tool.failed"], 9, 0), retry_rule(&["*"], 2, 0)],
            vec![broken_model(), Act::Time, broken_model()],
            vec!["enter start", "model", "retry 2/2 in 0 after model.transport", "model", FAILED],
        ),
        (
            "no rule fits",
            vec![retry_rule(&["tool"], 9, 0)],
            vec![broken_model()],
            vec!["enter start", "model", FAILED],
        ),
        (
            "one attempt",
            vec![retry_rule(&["*"], 1, 0)],
            vec![broken_model()],
            vec!["enter start", "model", FAILED],
        ),
    ];
    for (about, rules, acts, expected) in rows {
        check_story(about, single_state_workflow(with_retries(rules)), false, acts, &expected);
    }
}

#[test]
fn attempts_are_counted_anew_at_the_next_visit() {
    let rule = vec![retry_rule(&["*"], 2, 0)];
    let start = StateSpec {
        transitions: choices(&[0, 1]),
        ..with_recovery(state("start", agent_state(), 1), with_retries(rule))
    };
    let again = ["enter start 2", "model", "retry 2/2 in 0 after model.transport", "model"];
    let expected = [
        &["enter start", "model", "retry 2/2 in 0 after model.transport", "model"],
        &again[..],
        &["enter stop", "end completed"],
    ]
    .concat();
    let round = [broken_model(), Act::Time, Act::Says("words")];
    let acts = [&round[..], &[Act::Chooses(0)], &round[..], &[Act::Chooses(1)]].concat();
    check_story("self-transition", vec![workflow(vec![start])], false, acts, &expected);
}

/// One guarded transition per target.
fn choices(targets: &[usize]) -> Vec<Transition> {
    let one =
        |target: &usize| Transition { target: StateIx(*target), condition: Some(CONDITION), before: None };
    targets.iter().map(one).collect()
}

#[test]
fn a_script_that_failed_is_run_again_and_one_that_did_not_is_not() {
    let start = StateSpec {
        script: Some(ACTION),
        ..with_recovery(state("start", agent_state(), 1), with_retries(vec![retry_rule(&["*"], 3, 0)]))
    };
    let acts = vec![Act::Throws(ACTION), Act::Time, Act::Ran, broken_model(), Act::Time, Act::Says("done")];
    let expected = [
        "enter start",
        "retry 2/3 in 0 after script",
        "model",
        "retry 3/3 in 0 after model.transport",
        "model",
        "enter stop",
        "end completed",
    ];
    check_story("from the script or from the input", vec![workflow(vec![start])], false, acts, &expected);
}

#[test]
fn the_first_catch_that_fits_leads_elsewhere() {
    let key = CatchRule { key: Some("error".to_owned()), ..catch_rule(&["model"], 1) };
    let set = r#"set {"error":{"name":"model.transport","title":"The model call failed","detail":"no line","state":"start","agent":"writer"}}"#;
    let before = CatchRule { before: Some(BEFORE), ..catch_rule(&["*"], 1) };
    let rows = [
        (
            "with the error as data",
            with_catches(vec![catch_rule(&["tool"], 2), key]),
            vec![broken_model()],
            vec![
                "enter start",
                "model",
                set,
                "catch takes model.transport to other",
                "enter other",
                "enter stop",
                "end completed",
            ],
        ),
        (
            "after the retries",
            RecoveryPolicy {
                retry: vec![retry_rule(&["*"], 2, 0)],
                ..with_catches(vec![catch_rule(&["*"], 1)])
            },
            vec![broken_model(), Act::Time, broken_model()],
            vec![
                "enter start",
                "model",
                "retry 2/2 in 0 after model.transport",
                "model",
                "catch takes model.transport to other",
                "enter other",
                "enter stop",
                "end completed",
            ],
        ),
        (
            "its before runs first",
            with_catches(vec![before.clone()]),
            vec![broken_model(), Act::Ran],
            vec![
                "enter start",
                "model",
                "catch takes model.transport to other",
                "enter other",
                "enter stop",
                "end completed",
            ],
        ),
        (
            "an error of its before is not caught again",
            with_catches(vec![before]),
            vec![broken_model(), Act::Throws(BEFORE)],
            vec!["enter start", "model", "catch takes model.transport to other", "end failed script"],
        ),
    ];
    for (about, recovery, acts, expected) in rows {
        check_story(about, single_state_workflow(recovery), false, acts, &expected);
    }
}

#[test]
fn a_fallback_becomes_the_result() {
    use synthdev::domain::workflow::StateOutputSpec;
    let fallback = RecoveryPolicy { fallback: Some(json!(["none"])), ..RecoveryPolicy::default() };
    let store = |schema: Option<Value>| Some(StateOutputSpec { key: Some("found".to_owned()), schema });
    let with_store = |schema| StateSpec {
        store: store(schema),
        ..with_recovery(state("start", agent_state(), 1), fallback.clone())
    };
    let start = ["enter start", "model", "fallback takes model.transport to -"];
    let rows = [
        (None, vec![r#"set {"found":["none"]}"#, "enter stop", "end completed"]),
        // it must fit as any other result, and counts once
        (Some(json!({"type": "string"})), vec!["end failed validation"]),
    ];
    for (schema, rest) in rows {
        let expected = [&start[..], &rest].concat();
        check_story(
            "fallback",
            vec![workflow(vec![with_store(schema)])],
            false,
            vec![broken_model()],
            &expected,
        );
    }
}

#[test]
fn on_error_of_the_state_and_then_of_the_workflow() {
    let own = |on_error| RecoveryPolicy { on_error: Some(on_error), ..RecoveryPolicy::default() };
    let none = RecoveryPolicy::default;
    let begin = ["enter start", "model"];
    let go = ["on_error takes model.transport to other", "enter other", "enter stop", "end completed"];
    let on = ["warning passed_over", "on_error takes model.transport to -", "enter stop", "end completed"];
    let rows = [
        (own(OnError::Go(StateIx(1))), OnError::Fail, go.to_vec()),
        (own(OnError::Continue), OnError::Fail, on.to_vec()),
        (own(OnError::Fail), OnError::Continue, vec![FAILED]),
        (none(), OnError::Go(StateIx(1)), go.to_vec()),
        (none(), OnError::Continue, on.to_vec()),
        (none(), OnError::Fail, vec![FAILED]),
        // its own target fails: not taken again
        (none(), OnError::Go(StateIx(0)), vec![FAILED]),
    ];
    for (recovery, on_error, rest) in rows {
        let about = format!("{:?} then {on_error:?}", recovery.on_error);
        let workflows =
            single_state_workflow(recovery).into_iter().map(|one| Workflow { on_error, ..one }).collect();
        check_story(&about, workflows, false, vec![broken_model()], &[&begin[..], &rest].concat());
    }
}

#[test]
fn continue_counts_once_in_a_visit() {
    let start = StateSpec {
        transitions: choices(&[1]),
        ..with_recovery(
            state("start", agent_state(), 1),
            RecoveryPolicy { on_error: Some(OnError::Continue), ..RecoveryPolicy::default() },
        )
    };
    let acts = vec![broken_model(), Act::Throws(CONDITION)];
    let expected = [
        "enter start",
        "model",
        "warning passed_over",
        "on_error takes model.transport to -",
        "end failed expression",
    ];
    check_story("a condition that breaks after it", vec![workflow(vec![start])], false, acts, &expected);
}

/// A root that starts a child, and how that ends.
fn parent_and_child(recovery: RecoveryPolicy) -> Vec<Workflow> {
    let root = workflow(vec![
        with_recovery(state("start", child(), 2), recovery),
        state("other", StateBody::None, 2),
    ]);
    let inner = Workflow { name: "inner".to_owned(), ..workflow(vec![state("start", agent_state(), 1)]) };
    vec![root, inner]
}

#[test]
fn the_error_of_a_child_arrives_at_its_parent() {
    let begin = ["enter start", "enter inner/start", "model"];
    let rows = [
        (
            with_retries(vec![retry_rule(&["sub_workflow_failed"], 2, 5)]),
            vec![broken_model(), Act::Time, Act::Says("done")],
            vec![
                "retry 2/2 in 5 after sub_workflow_failed",
                "enter inner/start",
                "model",
                "enter inner/stop",
                "enter stop",
                "end completed",
            ],
        ),
        (
            with_catches(vec![catch_rule(&["sub_workflow_failed"], 1)]),
            vec![broken_model()],
            vec!["catch takes sub_workflow_failed to other", "enter other", "enter stop", "end completed"],
        ),
        // the cause is not what the parent sees
        (
            with_catches(vec![catch_rule(&["model"], 1)]),
            vec![broken_model()],
            vec!["end failed sub_workflow_failed"],
        ),
    ];
    for (recovery, acts, rest) in rows {
        let about = format!("{recovery:?}");
        check_story(&about, parent_and_child(recovery), false, acts, &[&begin[..], &rest].concat());
    }
}

#[test]
fn a_person_can_have_it_tried_again_where_it_failed() {
    let asked = ["enter start", "enter inner/start", "model", "ask failed model.transport"];
    let rows = [
        (
            vec![broken_model(), Act::Answers(UserAnswer::Continue), Act::Says("done")],
            vec!["model", "enter inner/stop", "enter stop", "end completed"],
        ),
        (vec![broken_model(), Act::Answers(UserAnswer::Stop)], vec!["end failed sub_workflow_failed"]),
    ];
    for (acts, rest) in rows {
        let about = format!("{acts:?}");
        check_story(
            &about,
            parent_and_child(RecoveryPolicy::default()),
            true,
            acts,
            &[&asked[..], &rest].concat(),
        );
    }
    // a parent that deals with it is not asked about
    let caught = ["catch takes sub_workflow_failed to other", "enter other", "enter stop", "end completed"];
    let expected = [&asked[..3], &caught].concat();
    check_story(
        "no question",
        parent_and_child(with_catches(vec![catch_rule(&["*"], 1)])),
        true,
        vec![broken_model()],
        &expected,
    );
}

#[test]
fn a_lenient_workflow_logs_scripts_that_throw_and_goes_on() {
    let start = StateSpec {
        script: Some(ACTION),
        transitions: vec![Transition {
            target: StateIx(1),
            condition: Some(CONDITION),
            before: Some(BEFORE),
        }],
        ..state("start", StateBody::None, 1)
    };
    let one = |lenient| vec![Workflow { lenient, ..workflow(vec![start.clone()]) }];
    let acts = vec![Act::Throws(ACTION), Act::Throws(BEFORE), Act::Chooses(0)];
    let expected = [
        "enter start",
        "warning script_passed_over",
        "warning script_passed_over",
        "enter stop",
        "end completed",
    ];
    check_story("lenient", one(true), false, acts, &expected);
    check_story(
        "strict",
        one(false),
        false,
        vec![Act::Throws(ACTION)],
        &["enter start", "end failed script"],
    );
}

#[test]
fn a_fail_state_has_its_own_error() {
    let fail = |cause| StateBody::Fail { error: "shop.closed".to_owned(), cause };
    let catches = RecoveryPolicy { catch: vec![catch_rule(&["shop"], 1)], ..RecoveryPolicy::default() };
    let rows = [
        (
            ValueSource::Text("on Sundays".to_owned()),
            RecoveryPolicy::default(),
            vec![],
            vec!["end failed shop.closed"],
        ),
        (
            ValueSource::Script(INPUT),
            catches,
            vec![Act::Values(vec![Some(json!("today"))])],
            vec!["catch takes shop.closed to other", "enter other", "enter stop", "end completed"],
        ),
    ];
    for (cause, recovery, acts, rest) in rows {
        let start = with_recovery(state("start", fail(cause), 2), recovery);
        let expected = [&["enter start"], &rest[..]].concat();
        // what the author declared is not asked about, even where somebody is there
        for interactive in [false, true] {
            let states = vec![start.clone(), state("other", StateBody::None, 2)];
            check_story("fail", vec![workflow(states)], interactive, acts.clone(), &expected);
        }
    }
}
