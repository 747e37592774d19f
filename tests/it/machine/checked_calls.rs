//! A call that its tool refuses is answered before anybody is asked about it. Runs of earlier versions are replayed with
//! the question.

use super::agents::last_request;
use super::*;
use synthdev::domain::tool::{MULTICALL, ToolRisk, ToolSpec, multicall_tool};
use synthdev::engine::run_spec::{
    CHECKS_CALLS_SINCE, CHECKS_ONLY_WHERE_ASKED_SINCE, CHECKS_WHERE_ASKED_SINCE,
};

/// A writer whose one tool needs an approval.
fn executor(machine_version: u32, interactive: bool) -> Play {
    let mut work = workflow(vec![state("work", agent_state(), 1)]);
    let execute = ToolSpec {
        name: "execute".to_owned(),
        description: String::new(),
        parameters: json!({"type": "object"}),
        risk: ToolRisk::Execute,
        repeat: None,
    };
    work.agents[0].tools = [execute, multicall_tool()].into();
    Play::from_spec(RunSpec { machine_version, ..spec(vec![work], interactive) })
}

#[test]
fn a_call_that_is_refused_is_answered_before_anybody_is_asked() {
    let wrong = || json!({"wrong": "invalid arguments: `command` is missing"});
    let several = || vec![("execute", json!({"n": 1})), ("execute", wrong()), ("execute", json!({"n": 3}))];
    let inner: Vec<Value> =
        several().iter().map(|(tool, arguments)| json!({"tool": tool, "arguments": arguments})).collect();
    let batch = || vec![(MULTICALL, json!({"calls": inner}))];
    let asked = |arguments: Value| format!("approve execute {arguments}");
    let around = [asked(json!({"n": 1})), asked(json!({"n": 3}))];
    let all = [asked(json!({"n": 1})), asked(wrong()), asked(json!({"n": 3}))];
    let (now, before) = (MACHINE_VERSION, CHECKS_CALLS_SINCE - 1);
    let apart = CHECKS_WHERE_ASKED_SINCE - 1;
    let rows = [
        ("one alone", now, vec![("execute", wrong())], &[][..]),
        ("one of several", now, several(), &around),
        ("one of a multicall", now, batch(), &around),
        ("one of several, checked by an effect of its own", apart, several(), &around),
        ("one of several, of a run that began earlier", before, several(), &all),
    ];
    for (about, version, calls, expected) in rows {
        let mut play = executor(version, true);
        play.perform_act(Act::CallsAll(calls));
        for _ in expected {
            play.perform_act(Act::Approves(ApprovalDecision::Deny { reason: None }));
        }
        let told = last_request(&play).concat();
        let mentions = told.matches("`command` is missing").count();
        assert_eq!(mentions == 2, version >= apart, "{about}: {told}");
        play.perform_act(Act::Says("done"));
        let lines = play.finish_and_replay();
        let asked: Vec<&String> = lines.iter().filter(|line| line.starts_with("approve ")).collect();
        assert_eq!(asked, expected.iter().collect::<Vec<_>>(), "{about}");
        assert_eq!(lines.last().map(String::as_str), Some("end completed"), "{about}");
    }
}

#[test]
fn an_earlier_run_without_a_user_goes_on_after_a_call_that_is_refused() {
    let wrong = || Act::CallsAll(vec![("execute", json!({"wrong": "no such file"}))]);
    let rows = [
        (MACHINE_VERSION, false),
        (CHECKS_ONLY_WHERE_ASKED_SINCE - 1, true),
        (CHECKS_CALLS_SINCE - 1, false),
    ];
    for (version, goes_on) in rows {
        let mut play = executor(version, false);
        play.perform_act(wrong());
        if goes_on {
            play.perform_act(Act::Says("done"));
        }
        let end = if goes_on { "end completed" } else { "end paused tool.denied" };
        assert_eq!(play.finish_and_replay().last().map(String::as_str), Some(end), "{version}");
    }
}

/// The check of a step answers as the step would.
#[test]
fn a_step_that_is_refused_fails_as_if_it_had_run() {
    use synthdev::domain::workflow::{ActionExpectation, ActionSpec};
    let step = ActionSpec {
        tool: "shell".to_owned(),
        risk: ToolRisk::Execute,
        arguments: vec![(owned_names(&["wrong"]), ValueSource::Text("it has no command".to_owned()))],
        expect: ActionExpectation::Ok,
    };
    let play = || workflow(vec![state("start", StateBody::Action(step.clone()), 1)]);
    let expected = ["enter start", "ask failed tool.failed"];
    check_story("asked", vec![play()], true, Vec::new(), &expected);
    check_story("nobody there", vec![play()], false, Vec::new(), &["enter start", "end paused tool.denied"]);
}

/// The journal of a run has one row for a call that the user allows, as before calls were checked.
#[test]
fn an_asked_call_that_passes_its_check_has_no_row_of_its_own() {
    let rows = [
        ("a user is there", MACHINE_VERSION, true, false),
        ("nobody is there", MACHINE_VERSION, false, false),
        ("nobody was there in an earlier run", CHECKS_ONLY_WHERE_ASKED_SINCE - 1, false, true),
        ("an earlier run", CHECKS_WHERE_ASKED_SINCE - 1, true, true),
        ("one that checks nothing", CHECKS_CALLS_SINCE - 1, true, false),
    ];
    for (about, version, interactive, has_row) in rows {
        let mut play = executor(version, interactive);
        play.perform_act(Act::CallsAll(vec![("execute", json!({"n": 1}))]));
        let checks =
            play.inputs.iter().filter(|(_, input)| matches!(input, Input::ToolChecked { .. })).count();
        assert_eq!(checks, usize::from(has_row), "{about}");
    }
}
