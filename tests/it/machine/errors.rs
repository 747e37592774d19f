//! `retry`, `catch`, `fallback`, `on_error` and a person.

use super::*;
use synthdev::domain::workflow::OnError;

fn one(recovery: RecoveryPolicy) -> Vec<Workflow> {
    let other = state("other", StateBody::None, 2);
    vec![workflow(vec![with(state("start", speak(), 2), recovery), other])]
}

fn retrying(rules: Vec<RetryRule>) -> RecoveryPolicy {
    RecoveryPolicy { retry: rules, ..RecoveryPolicy::default() }
}

fn catching(rules: Vec<CatchRule>) -> RecoveryPolicy {
    RecoveryPolicy { catch: rules, ..RecoveryPolicy::default() }
}

const FAILED: &str = "end failed model.transport";

#[test]
fn a_state_is_tried_again_as_often_as_its_rule_says() {
    let rows = [
        (
            "works at last",
            vec![retry(&["model.*"], 3, 100)],
            vec![broken(), Act::Time, broken(), Act::Time, Act::Says("done")],
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
            vec![retry(&["tool.failed"], 9, 0), retry(&["*"], 2, 0)],
            vec![broken(), Act::Time, broken()],
            vec!["enter start", "model", "retry 2/2 in 0 after model.transport", "model", FAILED],
        ),
        ("no rule fits", vec![retry(&["tool"], 9, 0)], vec![broken()], vec!["enter start", "model", FAILED]),
        ("one attempt", vec![retry(&["*"], 1, 0)], vec![broken()], vec!["enter start", "model", FAILED]),
    ];
    for (about, rules, acts, expected) in rows {
        check(about, one(retrying(rules)), false, acts, &expected);
    }
}

#[test]
fn attempts_are_counted_anew_at_the_next_visit() {
    let rule = vec![retry(&["*"], 2, 0)];
    let start =
        StateSpec { transitions: choices(&[0, 1]), ..with(state("start", speak(), 1), retrying(rule)) };
    let again = ["enter start 2", "model", "retry 2/2 in 0 after model.transport", "model"];
    let expected = [
        &["enter start", "model", "retry 2/2 in 0 after model.transport", "model"],
        &again[..],
        &["enter stop", "end completed"],
    ]
    .concat();
    let round = [broken(), Act::Time, Act::Says("words")];
    let acts = [&round[..], &[Act::Chooses(0)], &round[..], &[Act::Chooses(1)]].concat();
    check("self-transition", vec![workflow(vec![start])], false, acts, &expected);
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
        ..with(state("start", speak(), 1), retrying(vec![retry(&["*"], 3, 0)]))
    };
    let acts = vec![Act::Throws(ACTION), Act::Time, Act::Ran, broken(), Act::Time, Act::Says("done")];
    let expected = [
        "enter start",
        "retry 2/3 in 0 after script",
        "model",
        "retry 3/3 in 0 after model.transport",
        "model",
        "enter stop",
        "end completed",
    ];
    check("from the script or from the input", vec![workflow(vec![start])], false, acts, &expected);
}

#[test]
fn the_first_catch_that_fits_leads_elsewhere() {
    let key = CatchRule { key: Some("error".to_owned()), ..catch(&["model"], 1) };
    let set = r#"set {"error":{"name":"model.transport","title":"The model call failed","detail":"no line","state":"start","agent":"writer"}}"#;
    let before = CatchRule { before: Some(BEFORE), ..catch(&["*"], 1) };
    let rows = [
        (
            "with the error as data",
            catching(vec![catch(&["tool"], 2), key]),
            vec![broken()],
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
            RecoveryPolicy { retry: vec![retry(&["*"], 2, 0)], ..catching(vec![catch(&["*"], 1)]) },
            vec![broken(), Act::Time, broken()],
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
            catching(vec![before.clone()]),
            vec![broken(), Act::Ran],
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
            catching(vec![before]),
            vec![broken(), Act::Throws(BEFORE)],
            vec!["enter start", "model", "catch takes model.transport to other", "end failed script"],
        ),
    ];
    for (about, recovery, acts, expected) in rows {
        check(about, one(recovery), false, acts, &expected);
    }
}

#[test]
fn a_fallback_becomes_the_result() {
    use synthdev::domain::workflow::StateOutputSpec;
    let fallback = RecoveryPolicy { fallback: Some(json!(["none"])), ..RecoveryPolicy::default() };
    let store = |schema: Option<Value>| Some(StateOutputSpec { key: Some("found".to_owned()), schema });
    let with_store =
        |schema| StateSpec { store: store(schema), ..with(state("start", speak(), 1), fallback.clone()) };
    let start = ["enter start", "model", "fallback takes model.transport to -"];
    let rows = [
        (None, vec![r#"set {"found":["none"]}"#, "enter stop", "end completed"]),
        // it must fit as any other result, and counts once
        (Some(json!({"type": "string"})), vec!["end failed validation"]),
    ];
    for (schema, rest) in rows {
        let expected = [&start[..], &rest].concat();
        check("fallback", vec![workflow(vec![with_store(schema)])], false, vec![broken()], &expected);
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
        let workflows = one(recovery).into_iter().map(|one| Workflow { on_error, ..one }).collect();
        check(&about, workflows, false, vec![broken()], &[&begin[..], &rest].concat());
    }
}

#[test]
fn continue_counts_once_in_a_visit() {
    let start = StateSpec {
        transitions: choices(&[1]),
        ..with(
            state("start", speak(), 1),
            RecoveryPolicy { on_error: Some(OnError::Continue), ..RecoveryPolicy::default() },
        )
    };
    let acts = vec![broken(), Act::Throws(CONDITION)];
    let expected = [
        "enter start",
        "model",
        "warning passed_over",
        "on_error takes model.transport to -",
        "end failed expression",
    ];
    check("a condition that breaks after it", vec![workflow(vec![start])], false, acts, &expected);
}

/// A root that starts a child, and how that ends.
fn family(recovery: RecoveryPolicy) -> Vec<Workflow> {
    let root = workflow(vec![with(state("start", child(), 2), recovery), state("other", StateBody::None, 2)]);
    let inner = Workflow { name: "inner".to_owned(), ..workflow(vec![state("start", speak(), 1)]) };
    vec![root, inner]
}

#[test]
fn the_error_of_a_child_arrives_at_its_parent() {
    let begin = ["enter start", "enter inner/start", "model"];
    let rows = [
        (
            retrying(vec![retry(&["sub_workflow_failed"], 2, 5)]),
            vec![broken(), Act::Time, Act::Says("done")],
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
            catching(vec![catch(&["sub_workflow_failed"], 1)]),
            vec![broken()],
            vec!["catch takes sub_workflow_failed to other", "enter other", "enter stop", "end completed"],
        ),
        // the cause is not what the parent sees
        (catching(vec![catch(&["model"], 1)]), vec![broken()], vec!["end failed sub_workflow_failed"]),
    ];
    for (recovery, acts, rest) in rows {
        let about = format!("{recovery:?}");
        check(&about, family(recovery), false, acts, &[&begin[..], &rest].concat());
    }
}

#[test]
fn a_person_can_have_it_tried_again_where_it_failed() {
    let asked = ["enter start", "enter inner/start", "model", "ask failed model.transport"];
    let rows = [
        (
            vec![broken(), Act::Answers(UserAnswer::Continue), Act::Says("done")],
            vec!["model", "enter inner/stop", "enter stop", "end completed"],
        ),
        (vec![broken(), Act::Answers(UserAnswer::Stop)], vec!["end failed sub_workflow_failed"]),
    ];
    for (acts, rest) in rows {
        let about = format!("{acts:?}");
        check(&about, family(RecoveryPolicy::default()), true, acts, &[&asked[..], &rest].concat());
    }
    // a parent that deals with it is not asked about
    let caught = ["catch takes sub_workflow_failed to other", "enter other", "enter stop", "end completed"];
    let expected = [&asked[..3], &caught].concat();
    check("no question", family(catching(vec![catch(&["*"], 1)])), true, vec![broken()], &expected);
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
    check("lenient", one(true), false, acts, &expected);
    check("strict", one(false), false, vec![Act::Throws(ACTION)], &["enter start", "end failed script"]);
}

#[test]
fn a_fail_state_has_its_own_error() {
    let fail = |cause| StateBody::Fail { error: "shop.closed".to_owned(), cause };
    let catches = RecoveryPolicy { catch: vec![catch(&["shop"], 1)], ..RecoveryPolicy::default() };
    let rows = [
        (
            Given::Text("on Sundays".to_owned()),
            RecoveryPolicy::default(),
            vec![],
            vec!["end failed shop.closed"],
        ),
        (
            Given::Script(INPUT),
            catches,
            vec![Act::Values(vec![Some(json!("today"))])],
            vec!["catch takes shop.closed to other", "enter other", "enter stop", "end completed"],
        ),
    ];
    for (cause, recovery, acts, rest) in rows {
        let start = with(state("start", fail(cause), 2), recovery);
        let expected = [&["enter start"], &rest[..]].concat();
        // what the author declared is not asked about, even where somebody is there
        for interactive in [false, true] {
            let states = vec![start.clone(), state("other", StateBody::None, 2)];
            check("fail", vec![workflow(states)], interactive, acts.clone(), &expected);
        }
    }
}

/// A decision that was cut at the output limit is no fault of its schema.
#[test]
fn a_decision_that_was_cut_says_so() {
    let rows = [
        (FinishReason::ToolCalls, "simplify the tool's schema"),
        (FinishReason::Length, "max_output_tokens"),
    ];
    for (finish, says) in rows {
        let mut one = workflow(vec![state("start", speak(), 1)]);
        one.agents[0].parsing_tools = serde_json::from_value(json!([
            {"name": "verdict", "description": "", "parameters": {"type": "object", "required": ["good"]}}
        ]))
        .unwrap();
        let mut play = Play::new(vec![one], true);
        for _ in 0..3 {
            let call = play.call(|effect| matches!(effect, Effect::CallModel { .. }));
            let arguments = "{\"go".to_owned();
            let tool_calls =
                vec![ToolCall { id: "c".to_owned(), name: "verdict".to_owned(), arguments, original: None }];
            play.feed(Input::Replied { call, reply: ModelReply { tool_calls, finish, ..reply("", 10) } });
        }
        let asked = play.take(|effect| matches!(effect, Effect::AskPerson { .. }));
        let Effect::AskPerson { question: UserQuestion::Failed { failure }, .. } = asked else {
            panic!("{asked:?}")
        };
        let hint = failure.hint.clone().unwrap_or_default();
        assert_eq!((failure.code.as_str(), hint.contains(says)), ("parsing_tool_invalid", true), "{hint}");
    }
}
