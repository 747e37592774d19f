//! `pause` states, and messages that the user sends without a question.

use super::*;
use synthdev::domain::delegation::DelegationSpec;
use synthdev::domain::workflow::{PauseKind, PauseSpec};
use synthdev::engine::input::{ResumeInput, RewindInput};
use synthdev::engine::run_spec::CLOSES_ANSWERED_SINCE;

fn pause(kind: PauseKind) -> PauseSpec {
    PauseSpec {
        kind,
        message: ValueSource::Text("well?".to_owned()),
        choices: Vec::new(),
        schema: None,
        required_outputs: Vec::new(),
        default: None,
        ttl_ms: None,
        on_timeout: None,
        request: None,
    }
}

fn single_pause_workflow(pause: PauseSpec) -> Vec<Workflow> {
    use synthdev::domain::workflow::StateOutputSpec;
    let store = Some(StateOutputSpec { key: Some("said".to_owned()), schema: None });
    let start = StateSpec { store, ..state("start", StateBody::Pause(pause), 2) };
    vec![workflow(vec![start, state("other", StateBody::None, 2)])]
}

fn text(text: &str) -> Act {
    Act::Answers(UserAnswer::Text { text: text.to_owned() })
}

fn value(value: Value) -> Act {
    Act::Answers(UserAnswer::Value { value })
}

#[test]
fn an_answer_that_fits_is_the_result() {
    let outputs = PauseSpec { required_outputs: owned_names(&["a", "b"]), ..pause(PauseKind::Outputs) };
    let rows = [
        (pause(PauseKind::Text), vec![text("fine")], vec![r#"set {"said":"fine"}"#]),
        (pause(PauseKind::Approval), vec![value(json!(false))], vec![r#"set {"said":false}"#]),
        (
            pause(PauseKind::Number),
            vec![text("many"), text("7")],
            vec!["ask again: `many` is no number", r#"set {"said":7}"#],
        ),
        (
            outputs,
            vec![value(json!({"x": 1})), value(json!({"a": 1, "b": 2, "x": 3}))],
            vec!["ask again: missing: a, b", r#"set {"said":{"a":1,"b":2}}"#],
        ),
    ];
    for (pause, acts, rest) in rows {
        let about = format!("{pause:?}");
        let expected = [&["enter start", "ask well?"], &rest[..], &["enter stop", "end completed"]].concat();
        check_story(&about, single_pause_workflow(pause), true, acts, &expected);
    }
}

#[test]
fn a_default_of_several_values_stands_under_their_names() {
    let outputs = || PauseSpec {
        required_outputs: owned_names(&["a", "b"]),
        default: Some(json!({"a": 1, "b": 2})),
        ..pause(PauseKind::Outputs)
    };
    let flow = |pause: PauseSpec| vec![workflow(vec![state("start", StateBody::Pause(pause), 1)])];
    let took = [r#"set {"a":1,"b":2}"#, "enter stop", "end completed"];
    check_story("at once", flow(outputs()), false, vec![], &[&["enter start"], &took[..]].concat());
    let timed = PauseSpec { ttl_ms: Some(500), ..outputs() };
    let late = [&["enter start", "ask well?", "warning pause_timeout"], &took[..]].concat();
    check_story("after a while", flow(timed.clone()), true, vec![Act::Time], &late);
    // a pause that asks a program outside asks it first
    let asked = PauseSpec {
        request: Some(Box::new(DelegationSpec { waits: true, ..DelegationSpec::default() })),
        ..timed
    };
    check_story("outside", flow(asked), false, vec![], &["enter start", "end paused input_required"]);
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story from its beginning to its end, or one table")]
fn without_an_answer() {
    let with_default = || PauseSpec { default: Some(json!("d")), ..pause(PauseKind::Text) };
    let ttl = |pause: PauseSpec| PauseSpec { ttl_ms: Some(500), ..pause };
    let led = PauseSpec { on_timeout: Some(StateIx(1)), ..ttl(pause(PauseKind::Text)) };
    let end = ["enter stop", "end completed"];
    let took = [&[r#"set {"said":"d"}"#], &end[..]].concat();
    let rows = [
        ("headless, with a default", with_default(), false, vec![], took.clone()),
        ("headless, without", pause(PauseKind::Text), false, vec![], vec!["end paused input_required"]),
        ("headless, with time for an answer", ttl(with_default()), false, vec![], took.clone()),
        ("headless, in time", ttl(pause(PauseKind::Text)), false, vec![], vec!["end paused input_required"]),
        (
            "headless, elsewhere after a while",
            led.clone(),
            false,
            vec![Act::Time],
            [&["waits until 1500", "on_timeout takes timeout to other", "enter other"], &end[..]].concat(),
        ),
        (
            "the default after a while",
            ttl(with_default()),
            true,
            vec![Act::Time],
            [&["ask well?", "warning pause_timeout"], &took[..]].concat(),
        ),
        (
            "elsewhere after a while",
            led,
            true,
            vec![Act::Time],
            [&["ask well?", "on_timeout takes timeout to other", "enter other"], &end[..]].concat(),
        ),
        (
            "too late",
            ttl(pause(PauseKind::Text)),
            true,
            vec![Act::Time, Act::Answers(UserAnswer::Stop)],
            vec!["ask well?", "ask failed timeout", "end failed timeout"],
        ),
        (
            "answered in time",
            ttl(with_default()),
            true,
            vec![text("t")],
            [&["ask well?", r#"set {"said":"t"}"#], &end[..]].concat(),
        ),
        (
            "stopped",
            pause(PauseKind::Text),
            true,
            vec![Act::Answers(UserAnswer::Stop)],
            vec!["ask well?", "end paused input_required"],
        ),
    ];
    for (about, pause, interactive, acts, rest) in rows {
        check_story(
            about,
            single_pause_workflow(pause),
            interactive,
            acts,
            &[&["enter start"], &rest[..]].concat(),
        );
    }
}

#[test]
fn words_that_nobody_asked_for() {
    let said = || Act::Said("by the way");
    let words = r#"set {"said":"by the way"}"#;
    let end = ["enter stop", "end completed"];
    // a pause that waits for words takes them
    let taken = [&["enter start", "ask well?", words], &end[..]].concat();
    check_story("waiting", single_pause_workflow(pause(PauseKind::Text)), true, vec![said()], &taken);
    // any other question does not
    let kept = ["enter start", "ask well?", "queued by the way"];
    check_story("a yes or no", single_pause_workflow(pause(PauseKind::Approval)), true, vec![said()], &kept);
    // kept for the next pause
    let later = || {
        let mut workflow = single_pause_workflow(pause(PauseKind::Text)).remove(0);
        workflow.states[0].transitions[0].target = StateIx(2);
        workflow.states[1] = state("other", agent_state(), 0);
        workflow.start = StateIx(1);
        workflow
    };
    let begin = ["enter other", "model", "queued by the way"];
    let expected = [&begin[..], &["enter start", "ask well?", words], &end].concat();
    check_story("the next pause", vec![later()], true, vec![said(), Act::Says("done")], &expected);
    // or for the state `resume`, at the next transition
    let resumed = Workflow { resume: Some(StateIx(2)), ..later() };
    let expected = [&begin[..], &[r#"set {"resume_input":"by the way"}"#], &end].concat();
    check_story("resume", vec![resumed], true, vec![said(), Act::Says("done")], &expected);
}

#[test]
fn outputs_without_a_place_stand_under_their_names() {
    let outputs = PauseSpec { required_outputs: owned_names(&["a"]), ..pause(PauseKind::Outputs) };
    let start = state("start", StateBody::Pause(outputs), 1);
    let expected = ["enter start", "ask well?", r#"set {"a":"plan"}"#, "enter stop", "end completed"];
    check_story("outputs", vec![workflow(vec![start])], true, vec![text("plan")], &expected);
}

/// The run stands right after a question, and a user who can be asked resumes it.
#[test]
fn a_question_that_was_answered_before_a_rewound_step_is_not_asked_again() {
    let asked_again = ["enter start", "ask well?", "ask well?", "enter stop", "end completed"];
    let once = ["enter start", "ask well?", "enter stop", "end completed"];
    let rows = [(CLOSES_ANSWERED_SINCE - 1, &asked_again[..]), (MACHINE_VERSION, &once[..])];
    for (machine_version, expected) in rows {
        for kind in [PauseKind::Text, PauseKind::Approval] {
            let flow = single_pause_workflow(pause(kind));
            let mut play = Play::from_spec(RunSpec { machine_version, ..spec(flow, true) });
            play.perform_act(text("yes"));
            let kept = play.inputs.len();
            let (rewound, resumed) = (
                RewindInput { step: 2, kept, ..RewindInput::default() },
                ResumeInput { present: true, ..ResumeInput::default() },
            );
            let later = [Input::Rewound(Box::new(rewound)), Input::Resumed(Box::new(resumed))];
            let later = later.into_iter().map(|input| (Timestamp(play.clock), input));
            let inputs = play.inputs.iter().cloned().chain(later);
            let told = replay_inputs(Arc::clone(&play.spec), inputs);
            let lines: Vec<String> = told.events.iter().filter_map(|(_, event)| line(event)).collect();
            let lines: Vec<String> = lines.into_iter().filter(|line| !line.starts_with("set ")).collect();
            assert_eq!(lines, expected, "{machine_version}, {kind:?}");
            assert!(told.machine.is_over_or_suspended());
        }
    }
}
