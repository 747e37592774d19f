//! Steps: one action outside, permitted, judged, its result in `context`.

use super::*;
use synthdev::domain::tool::ToolRisk;
use synthdev::domain::workflow::{ActionExpectation, ActionSpec};

fn step(risk: ToolRisk, expect: ActionExpectation, arguments: Vec<(Vec<String>, ValueSource)>) -> StateBody {
    StateBody::Action(ActionSpec { tool: "shell".to_owned(), risk, arguments, expect })
}

fn done(ok: bool, data: Option<Value>) -> Act {
    Act::Tool(ToolOutcome { ok, content: "the words".to_owned(), data, ..ToolOutcome::default() })
}

fn exit(code: i64) -> Act {
    done(code == 0, Some(json!({"exit_code": code, "stdout": "", "stderr": "why"})))
}

fn single_state_workflow(work: StateBody) -> Vec<Workflow> {
    use synthdev::domain::workflow::StateOutputSpec;
    let store = Some(StateOutputSpec { key: Some("came".to_owned()), schema: None });
    vec![workflow(vec![StateSpec { store, ..state("start", work, 1) }])]
}

#[test]
fn what_counts_as_success() {
    let any = || ActionExpectation::Any;
    let two = || ActionExpectation::OneOf(vec![0, 2]);
    let came = |line: &'static str| vec![line, "enter stop", "end completed"];
    let failed = vec!["end failed tool.failed"];
    let code = |code: &'static str| came(code);
    let rows = [
        (ActionExpectation::Ok, exit(0), code(r#"set {"came":{"exit_code":0,"stdout":"","stderr":"why"}}"#)),
        (ActionExpectation::Ok, exit(1), failed.clone()),
        (ActionExpectation::Ok, done(true, None), code(r#"set {"came":"the words"}"#)),
        (any(), exit(1), code(r#"set {"came":{"exit_code":1,"stdout":"","stderr":"why"}}"#)),
        (two(), exit(2), code(r#"set {"came":{"exit_code":2,"stdout":"","stderr":"why"}}"#)),
        (two(), exit(1), failed.clone()),
        (two(), done(true, None), failed.clone()),
        (
            ActionExpectation::OneOf(vec![404]),
            done(false, Some(json!({"status": 404}))),
            code(r#"set {"came":{"status":404}}"#),
        ),
        (any(), done(false, Some(json!({"timed_out": true}))), vec!["end failed tool.timeout"]),
    ];
    for (expect, outcome, rest) in rows {
        let about = format!("{expect:?} {outcome:?}");
        let work = step(ToolRisk::Read, expect, Vec::new());
        check_story(
            &about,
            single_state_workflow(work),
            false,
            vec![outcome],
            &[&["enter start", "run shell {}"], &rest[..]].concat(),
        );
    }
}

#[test]
fn arguments_are_evaluated() {
    let path = |path: &str| path.split('.').map(str::to_owned).collect::<Vec<_>>();
    let arguments = vec![
        (path("command"), ValueSource::Text("make".to_owned())),
        (path("args.0"), ValueSource::Script(INPUT)),
        (path("args.1"), ValueSource::Script(INPUT)),
    ];
    let work = || step(ToolRisk::Read, ActionExpectation::Ok, arguments.clone());
    let values = |last| Act::Values(vec![Some(json!("-C")), last]);
    let run = r#"run shell {"command":"make","args":["-C","dir"]}"#;
    let expected = ["enter start", run, r#"set {"came":"the words"}"#, "enter stop", "end completed"];
    check_story(
        "built",
        single_state_workflow(work()),
        false,
        vec![values(Some(json!("dir"))), done(true, None)],
        &expected,
    );
    let expected = ["enter start", "end failed input_undefined"];
    check_story("undefined", single_state_workflow(work()), false, vec![values(None)], &expected);
}

#[test]
fn a_step_needs_permission_like_any_tool() {
    let twice = |work: StateBody| {
        let start = StateSpec {
            transitions: vec![
                Transition { target: StateIx(0), condition: Some(CONDITION), before: None },
                Transition { target: StateIx(1), condition: None, before: None },
            ],
            ..state("start", work, 1)
        };
        vec![workflow(vec![start])]
    };
    let acts = |decision: ApprovalDecision| vec![Act::Approves(decision)];
    let asked = ["enter start", "approve shell {}"];
    let denied = [&asked[..], &["ask failed tool.denied"]].concat();
    let execute = || step(ToolRisk::Execute, ActionExpectation::Ok, Vec::new());
    check_story("denied", twice(execute()), true, acts(ApprovalDecision::Deny { reason: None }), &denied);
    check_story("nobody there", twice(execute()), false, vec![], &["enter start", "end paused tool.denied"]);
    let rest = ["run shell {}", "enter start 2"];
    let always = [&asked[..], &rest, &["run shell {}", "enter stop", "end completed"]].concat();
    let once = [&asked[..], &rest, &["approve shell {}"]].concat();
    let both = |decision: ApprovalDecision| vec![Act::Approves(decision), done(true, None), Act::Chooses(0)];
    let finish = [done(true, None), Act::Chooses(1)];
    check_story(
        "always",
        twice(execute()),
        true,
        [both(ApprovalDecision::AllowTool), finish.to_vec()].concat(),
        &always,
    );
    check_story("once", twice(execute()), true, both(ApprovalDecision::Allow), &once);
}

#[test]
fn a_failed_step_can_be_caught_and_says_why() {
    let caught = RecoveryPolicy {
        catch: vec![CatchRule { key: Some("why".to_owned()), ..catch_rule(&["tool.failed"], 1) }],
        ..RecoveryPolicy::default()
    };
    let start =
        with_recovery(state("start", step(ToolRisk::Read, ActionExpectation::Ok, Vec::new()), 1), caught);
    let mut play = Play::new(vec![workflow(vec![start])], false);
    play.perform_act(exit(3));
    let told = play.finish_and_replay();
    let data = told.iter().find(|line| line.starts_with("set ")).unwrap();
    assert!(data.contains("(3)") && data.contains("why"), "{data}");
    assert_eq!(told.last().unwrap(), "end completed");
}

#[test]
fn a_run_that_ends_in_a_branch_can_be_cancelled_while_its_snapshot_is_made() {
    use synthdev::domain::workflow::{BranchErrors, BranchSpec, JoinPolicy, ParallelSpec};
    let branch = |name: &str, start| BranchSpec { name: name.to_owned(), start: StateIx(start) };
    let spec = ParallelSpec {
        branches: vec![branch("a", 1)],
        join: JoinPolicy::All,
        on_error: BranchErrors::FailFast,
        max_concurrency: None,
        merge: Default::default(),
    };
    let loops = StateSpec { max_visits: Some(1), ..state("start.a/s", StateBody::None, 1) };
    let one = Workflow {
        snapshot: SnapshotPolicy::Required,
        ..workflow(vec![state("start", StateBody::Parallel(spec), 2), loops])
    };
    // the snapshot before the run is not there yet when the branch reaches its limit
    let mut play = Play::new(vec![one], false);
    assert_eq!(play.lines, ["enter start", "enter start.a/s"]);
    assert!(!play.machine.is_over_or_suspended());
    play.feed_input(Input::Cancelled { partial: Vec::new(), end: false, used: Vec::new() });
    assert!(play.machine.is_over_or_suspended(), "{:?}", play.lines);
}

#[test]
fn an_agent_is_told_of_an_interrupted_call_whether_it_had_begun() {
    use synthdev::domain::message::{ChatRole, ToolCall};
    use synthdev::domain::tool::ToolSpec;
    let before = "interrupted before this call ran";
    let began = "interrupted while this call ran: it began at 1970-01-01 00:00:01 UTC and was stopped; ";
    let effect = format!("{began}it may have had an effect: look before you repeat it");
    let nothing = format!("{began}it changes nothing");
    for (version, risk, first) in [
        (MACHINE_VERSION, ToolRisk::Execute, effect.as_str()),
        (MACHINE_VERSION, ToolRisk::Read, nothing.as_str()),
        (9, ToolRisk::Execute, before),
    ] {
        let function = AgentFunction::SendUserMessage;
        let listens = StateBody::Agent { agent: AgentIx(0), function, input: ValueSource::Human };
        let mut chat = workflow(vec![state("chat", listens, 0)]);
        chat.conversational = true;
        let (name, description, parameters) = ("look".to_owned(), String::new(), json!({}));
        chat.agents[0].tools = [ToolSpec { name, description, parameters, risk, repeat: None }].into();
        let mut spec = RunSpec { machine_version: version, ..spec(vec![chat], true) };
        spec.approvals.execute = ToolPermission::Allow;
        let mut play = Play::from_spec(spec);
        let says = |text: &str| Act::Answers(UserAnswer::Text { text: text.to_owned() });
        play.perform_act(says("look twice"));
        let model = |effect: &Effect| matches!(effect, Effect::CallModel { .. });
        let call = |id: &str| ToolCall {
            id: id.to_owned(),
            name: "look".to_owned(),
            arguments: "{}".to_owned(),
            original: None,
        };
        let tool_calls = vec![call("c1"), call("c2")];
        let input = Input::Replied {
            call: play.take_call(model),
            reply: ModelReply { tool_calls, ..text_reply("", 10) },
        };
        play.feed_input(input);
        play.feed_input(Input::Cancelled { partial: Vec::new(), end: false, used: Vec::new() });
        play.perform_act(says("and now?"));
        let Effect::CallModel { request, .. } = play.take_effect(model) else { panic!("no model call") };
        let told = request.messages.iter().filter(|message| message.role == ChatRole::Tool);
        let told: Vec<&str> = told.map(|message| message.content.as_str()).collect();
        assert_eq!(told, [first, before], "{version} {risk:?}");
    }
}
