//! Why a run waits, and why its output is refused: in words that name who is asked and what to do next. Runs of earlier
//! versions keep their words, which are part of their digests.

use super::*;
use synthdev::domain::delegation::DelegationSpec;
use synthdev::domain::parameter::ParameterType;
use synthdev::domain::run_error::RunError;
use synthdev::domain::workflow::{PauseKind, PauseSpec, StateOutputSpec, WaitSpec, WorkflowParameter};

/// The error of a run of this version, which is the same when it is replayed.
fn error_of(workflows: &[Workflow], version: u32) -> RunError {
    let play = Play::from_spec(RunSpec { machine_version: version, ..spec(workflows.to_vec(), false) });
    let error = play.machine.progress().error.expect("the run has an error");
    play.finish_and_replay();
    error
}

fn question(kind: PauseKind) -> PauseSpec {
    PauseSpec { message: ValueSource::Text("well?".to_owned()), ..PauseSpec::new(kind) }
}

#[test]
fn the_reason_of_a_pause_names_who_is_asked() {
    let request = Some(Box::new(DelegationSpec { waits: true, ..DelegationSpec::default() }));
    let delegated = PauseSpec { request, ..question(PauseKind::Outputs) };
    let rows = [
        (question(PauseKind::Text), "an answer", "answer it with `synthdev resume`"),
        (question(PauseKind::Approval), "the user's answer", "answer it with `synthdev resume`"),
        (delegated, "the client's answer", "an MCP client answers it with `resume_workflow`"),
    ];
    for (pause, asked, hint) in rows {
        let flow = [workflow(vec![state("start", StateBody::Pause(pause), 1)])];
        let error = error_of(&flow, MACHINE_VERSION);
        assert_eq!(error.detail, format!("state `start` waits for {asked}: well?"));
        assert!(error.hint.as_ref().is_some_and(|text| text.starts_with(hint)), "{error:?}");
        let old = error_of(&flow, 17);
        assert_eq!(old.detail, "state `start` waits for a person's answer: well?");
        assert_eq!(
            old.hint.as_deref(),
            Some("answer it with `synthdev resume`, or give the state a \"default\"")
        );
    }
}

#[test]
fn a_task_without_an_answer_that_fits_says_how_to_mend_the_state() {
    let flow = [workflow(vec![state("start", StateBody::Pause(question(PauseKind::Text)), 1)])];
    for (version, hint) in [(MACHINE_VERSION, Some("say in the message of the state")), (17, None)] {
        let spec = RunSpec { machine_version: version, ..spec(flow.to_vec(), true) };
        let mut play = Play::from_spec(spec);
        play.perform_act(Act::Answers(UserAnswer::Unfit { detail: "three answers do not fit".to_owned() }));
        let asked = play.take_effect(|effect| matches!(effect, Effect::AskPerson { .. }));
        let Effect::AskPerson { question: UserQuestion::Failed { failure: error }, .. } = asked else {
            panic!("{asked:?}");
        };
        assert_eq!(error.title, "No answer fits what the state asks for", "{version}");
        assert_eq!((error.code.as_str(), error.detail.as_str()), ("validation", "three answers do not fit"));
        let starts = error.hint.as_deref().zip(hint).map(|(told, start)| told.starts_with(start));
        assert_eq!((starts, error.hint.is_some()), (hint.map(|_| true), hint.is_some()), "{error:?}");
        play.finish_and_replay();
    }
}

fn number(name: &str) -> WorkflowParameter {
    let (kind, description) = (ParameterType::Number, String::new());
    WorkflowParameter {
        name: name.to_owned(),
        kind,
        description,
        required: true,
        default: None,
        schema: None,
    }
}

#[test]
fn a_value_that_is_missing_or_does_not_fit_says_what_to_do() {
    let answered = PauseSpec { default: Some(json!("words")), ..question(PauseKind::Text) };
    let store = Some(StateOutputSpec { key: Some("result".to_owned()), schema: None });
    let sets = StateSpec { store, ..state("start", StateBody::Pause(answered), 1) };
    let wait = |value| StateBody::Wait(WaitSpec::For(ValueSource::Value(value)));
    let passes = vec![("size".to_owned(), ValueSource::Text("large".to_owned()))];
    let rows = [
        (sets, "The output does not fit", "a value that fits, or change the type or schema of \"output\""),
        (
            state("start", StateBody::None, 1),
            "The output is missing",
            "set `common_data.result` in a state before the end",
        ),
        (state("start", wait(json!("soon")), 1), "It is not clear how long to wait", "such as PT5M"),
        (
            state("start", StateBody::Child { workflow: WorkflowIx(1), inputs: passes }, 1),
            "A child workflow's input has the wrong type",
            "change the type or schema of the input `size` of `w`",
        ),
    ];
    for (start, title, hint) in rows {
        let flow = Workflow { output: Some(number("result")), ..workflow(vec![start]) };
        let child =
            Workflow { inputs: vec![number("size")], ..workflow(vec![state("start", StateBody::None, 1)]) };
        let flows = [flow, child];
        let error = error_of(&flows, MACHINE_VERSION);
        assert_eq!((error.code.as_str(), error.title.as_str()), ("validation", title));
        assert!(error.hint.as_ref().is_some_and(|text| text.contains(hint)), "{error:?}");
        assert_eq!(error_of(&flows, 17), RunError { hint: None, ..error });
    }
}
