//! Breakpoints, step mode, pausing, and values that are set while a run is stopped.

use super::*;
use synthdev::domain::tool::{ToolRisk, ToolSpec};
use synthdev::domain::workflow::{
    ActionExpectation, ActionSpec, BranchErrors, BranchSpec, JoinPolicy, ParallelSpec, PauseKind, PauseSpec,
};
use synthdev::engine::input::ResumeInput;
use synthdev::engine::steering::{Breakpoint, BreakpointSet};

/// `start`, then `review`, then the end.
fn two_state_workflow() -> Vec<Workflow> {
    vec![workflow(vec![state("start", agent_state(), 1), state("review", agent_state(), 2)])]
}

fn with_breakpoints(
    step: bool,
    points: Vec<Breakpoint>,
    workflows: Vec<Workflow>,
    interactive: bool,
) -> Play {
    Play::from_spec(RunSpec { stops: BreakpointSet { step, points }, ..spec(workflows, interactive) })
}

fn play_acts(mut play: Play, acts: Vec<Act>) -> Vec<String> {
    acts.into_iter().for_each(|act| play.perform_act(act));
    play.finish_and_replay()
}

fn break_at(state: &str) -> Act {
    Act::Steers(SteeringAction::Break { point: Breakpoint::before_state(state) })
}

fn set_value(path: &str, value: Value) -> Act {
    let path = path.split('.').map(str::to_owned).collect();
    Act::Steers(SteeringAction::Set { call: None, set: vec![(path, value)] })
}

const GO: fn() -> Act = || Act::Steers(SteeringAction::Continue);
const STEP: fn() -> Act = || Act::Steers(SteeringAction::Step);
const PAUSE: fn() -> Act = || Act::Steers(SteeringAction::Pause);
const SAYS: fn() -> Act = || Act::Says("words");

fn resume_input(present: bool) -> Input {
    Input::Resumed(Box::new(ResumeInput { present, ..ResumeInput::default() }))
}

#[test]
fn a_run_stands_before_a_state_and_goes_on() {
    let told = play_acts(
        Play::new(two_state_workflow(), true),
        vec![break_at("review"), SAYS(), set_value("task.limit", json!(3)), GO(), SAYS()],
    );
    let expected = [
        "enter start",
        "model",
        "breaks state review",
        "stands at review: state review",
        r#"set {"task":{"limit":3}}"#,
        "enter review",
        "model",
        "enter stop",
        "end completed",
    ];
    assert_eq!(told, expected);
    // taken away in time
    let gone = Act::Steers(SteeringAction::Unbreak { point: Breakpoint::before_state("review") });
    let told =
        play_acts(Play::new(two_state_workflow(), true), vec![break_at("review"), gone, SAYS(), SAYS()]);
    assert_eq!(told[2..5], ["breaks state review", "breaks ", "enter review"]);
}

#[test]
fn a_pause_lets_what_runs_end() {
    let told = play_acts(Play::new(two_state_workflow(), true), vec![PAUSE(), SAYS(), GO(), SAYS()]);
    let expected = [
        "enter start",
        "model",
        "stands before review",
        "enter review",
        "model",
        "enter stop",
        "end completed",
    ];
    assert_eq!(told, expected);
    // a continue before the run has stopped is not too early
    let told = play_acts(Play::new(two_state_workflow(), true), vec![PAUSE(), GO(), SAYS(), SAYS()]);
    assert!(!told.iter().any(|line| line.starts_with("stands")), "{told:?}");
}

#[test]
fn who_lets_others_have_it_begins_nothing_new() {
    const PARK: fn() -> Act = || Act::Steers(SteeringAction::Park);
    let parked = ["enter start", "model", "end paused paused"];
    let mut one = Play::new(two_state_workflow(), true);
    [PARK(), PARK(), SAYS()].into_iter().for_each(|act| one.perform_act(act));
    assert_eq!(one.lines, parked);
    one.feed_input(resume_input(true));
    one.perform_act(SAYS());
    assert_eq!(one.finish_and_replay()[3..], ["enter review", "model", "enter stop", "end completed"]);
    // what only takes time need not be waited for, and is not forgotten
    let again = RecoveryPolicy { retry: vec![retry_rule(&["*"], 2, 0)], ..RecoveryPolicy::default() };
    let mut one =
        Play::new(vec![workflow(vec![with_recovery(state("start", agent_state(), 1), again)])], false);
    let broken = Act::Breaks(ModelError::Transport { detail: "no line".to_owned() });
    [broken, PARK()].into_iter().for_each(|act| one.perform_act(act));
    assert_eq!(one.lines[3..], ["end paused paused"]);
    one.feed_input(resume_input(false));
    one.perform_act(Act::Time);
    one.perform_act(SAYS());
    assert_eq!(one.finish_and_replay()[4..], ["model", "enter stop", "end completed"]);
}

/// Two branches of two states; `a` asks first, `b` speaks.
fn asking_branches() -> Vec<Workflow> {
    let branch = |name: &str, start| BranchSpec { name: name.to_owned(), start: StateIx(start) };
    let ending = |name: &str| StateSpec { name: name.to_owned(), terminal: true, ..StateSpec::default() };
    let fork = ParallelSpec {
        branches: vec![branch("a", 1), branch("b", 4)],
        join: JoinPolicy::All,
        on_error: BranchErrors::FailFast,
        max_concurrency: None,
        merge: Default::default(),
    };
    let ask = PauseSpec {
        kind: PauseKind::Text,
        message: ValueSource::Text("What now?".to_owned()),
        choices: Vec::new(),
        schema: None,
        required_outputs: Vec::new(),
        default: None,
        ttl_ms: None,
        on_timeout: None,
        request: None,
    };
    vec![workflow(vec![
        state("start", StateBody::Parallel(fork), 7),
        state("start.a/ask", StateBody::Pause(ask), 2),
        state("start.a/c", agent_state(), 3),
        ending("start.a/stop"),
        state("start.b/y", agent_state(), 5),
        state("start.b/d", agent_state(), 6),
        ending("start.b/stop"),
    ])]
}

#[test]
fn what_was_answered_while_it_is_parked_is_answered() {
    let text = |text: &str| UserAnswer::Text { text: text.to_owned() };
    let mut one = Play::new(asking_branches(), true);
    one.perform_act(Act::Steers(SteeringAction::Park));
    let open = one.machine.open_pauses();
    one.perform_act(Act::Answers(text("first")));
    assert_eq!(one.machine.open_pauses(), [], "nobody is asked any more");
    // neither of these is for the question that was answered
    one.feed_input(Input::Answered { call: open[0].call, answer: text("second") });
    one.perform_act(Act::Said("third"));
    one.perform_act(SAYS());
    assert_eq!(one.lines.last().unwrap(), "end paused paused", "{:?}", one.lines);
    let stands = one.machine.open_pauses();
    assert_eq!((stands.len(), stands[0].needs_no_answer()), (1, false), "a person was there");
    one.feed_input(resume_input(false));
    [SAYS(), SAYS()].into_iter().for_each(|act| one.perform_act(act));
    let told = one.finish_and_replay();
    let entered = |state: &str| told.iter().filter(|line| *line == &format!("enter {state}")).count();
    assert_eq!((entered("start.a/ask"), entered("start.a/c"), entered("start.b/d")), (1, 1, 1), "{told:?}");
    assert_eq!(told.last().unwrap(), "end completed");
}

#[test]
fn time_that_is_up_sets_nothing_going_that_was_paused() {
    let mut flow = asking_branches();
    let StateBody::Pause(ask) = &mut flow[0].states[1].work else { panic!() };
    (ask.ttl_ms, ask.default) = (Some(1_000), Some(json!("nobody")));
    let mut one = Play::new(flow, true);
    one.perform_act(Act::Steers(SteeringAction::Park));
    one.perform_act(SAYS());
    assert_eq!(one.lines.last().unwrap(), "end paused input_required", "{:?}", one.lines);
    let open = one.machine.open_pauses()[0].call;
    // its process is gone
    one.pending.clear();
    one.feed_input(Input::Resumed(Box::new(ResumeInput { elapsed: vec![open], ..ResumeInput::default() })));
    assert_eq!(one.lines.last().unwrap(), "end paused paused", "{:?}", one.lines);
    assert!(
        one.machine.open_pauses()[0].needs_no_answer() && !one.lines.contains(&"enter start.b/d".to_owned())
    );
    one.feed_input(resume_input(false));
    [SAYS(), SAYS()].into_iter().for_each(|act| one.perform_act(act));
    assert_eq!(one.finish_and_replay().last().unwrap(), "end completed");
}

#[test]
fn what_was_allowed_and_held_is_judged_again_where_it_arrives() {
    let arguments = vec![(vec!["command".to_owned()], ValueSource::Script(ScriptIx(0)))];
    let shell = ActionSpec {
        tool: "shell".to_owned(),
        risk: ToolRisk::Execute,
        arguments,
        expect: ActionExpectation::Ok,
    };
    for (arrived, then) in [(false, "run shell"), (true, "approve shell")] {
        let flow = vec![workflow(vec![state("start", StateBody::Action(shell.clone()), 1)])];
        let mut spec = spec(flow, true);
        spec.approvals = spec.approvals.approving_all();
        let mut one = Play::from_spec(spec);
        one.perform_act(Act::Steers(SteeringAction::Park));
        one.perform_act(Act::Values(vec![Some(json!("touch x"))]));
        assert_eq!(one.lines[1..], ["end paused paused"], "{arrived}");
        let approvals = ApprovalPolicy { execute: ToolPermission::Ask, ..ApprovalPolicy::default() };
        let approvals = arrived.then_some(approvals);
        one.feed_input(Input::Resumed(Box::new(ResumeInput {
            present: true,
            approvals,
            arrived,
            ..ResumeInput::default()
        })));
        assert!(one.lines.last().unwrap().starts_with(then), "{arrived}: {:?}", one.lines);
    }
}

#[test]
fn step_by_step() {
    let told = play_acts(
        with_breakpoints(true, vec![], two_state_workflow(), true),
        vec![STEP(), SAYS(), STEP(), SAYS()],
    );
    let expected = [
        "breaks step ",
        "stands before start",
        "enter start",
        "model",
        "stands before review",
        "enter review",
        "model",
        "enter stop",
        "end completed",
    ];
    assert_eq!(told, expected, "the end is no state to stand before");
    // any answer goes on as well, and step mode stays
    let told = play_acts(
        with_breakpoints(true, vec![], two_state_workflow(), true),
        vec![Act::Answers(UserAnswer::Continue), SAYS()],
    );
    assert_eq!(told[4..], ["stands before review"]);
    // until it is left
    let told =
        play_acts(with_breakpoints(true, vec![], two_state_workflow(), true), vec![GO(), SAYS(), SAYS()]);
    assert_eq!(told[2..4], ["breaks ", "enter start"]);
}

#[test]
fn where_nobody_is_there_it_is_parked_and_taken_up_by_whoever_comes() {
    let mut play = with_breakpoints(true, vec![], two_state_workflow(), false);
    assert_eq!(play.lines, ["breaks step ", "end paused paused"]);
    let open = play.machine.open_pauses();
    assert_eq!((open.len(), open[0].state.as_str()), (1, "start"));
    play.feed_input(resume_input(false));
    play.perform_act(SAYS());
    assert_eq!(play.lines[2..], ["enter start", "model", "end paused paused"]);
    // the user sees the run's position and decides how it continues
    play.feed_input(resume_input(true));
    play.perform_act(set_value("x", json!(1)));
    play.perform_act(GO());
    play.perform_act(SAYS());
    let expected = [
        "stands before review",
        r#"set {"x":1}"#,
        "breaks ",
        "enter review",
        "model",
        "enter stop",
        "end completed",
    ];
    assert_eq!(play.finish_and_replay()[5..], expected);
}

#[test]
fn it_stands_before_a_tool() {
    let step = |risk| {
        StateBody::Action(ActionSpec {
            tool: "shell".to_owned(),
            risk,
            arguments: vec![],
            expect: ActionExpectation::Ok,
        })
    };
    let work = |risk| vec![workflow(vec![state("start", step(risk), 1)])];
    let done = || Act::Tool(ToolOutcome { ok: true, ..ToolOutcome::default() });
    let point = || vec![Breakpoint::before_tool("shell"), Breakpoint::before_tool("other")];
    let told = play_acts(with_breakpoints(false, point(), work(ToolRisk::Read), true), vec![GO(), done()]);
    let expected =
        ["enter start", "stands at start: tool shell", "run shell {}", "enter stop", "end completed"];
    assert_eq!(told[1..], expected);
    // it is approved after that
    let told = play_acts(
        with_breakpoints(false, point(), work(ToolRisk::Execute), true),
        vec![STEP(), Act::Approves(ApprovalDecision::Allow), done()],
    );
    assert_eq!(told[2..5], ["stands at start: tool shell", "approve shell {}", "run shell {}"]);
    // that it stood before the step says nothing about the state that follows
    let both = || vec![Breakpoint::before_tool("shell"), Breakpoint::before_state("review")];
    let then =
        || vec![workflow(vec![state("start", step(ToolRisk::Read), 1), state("review", agent_state(), 2)])];
    let told = play_acts(with_breakpoints(false, both(), then(), true), vec![GO(), done(), GO(), SAYS()]);
    assert_eq!(told[4..6], ["stands at review: state review", "enter review"]);
    // runs of before go on as they were recorded
    let old = RunSpec {
        machine_version: 5,
        stops: BreakpointSet { step: false, points: both() },
        ..spec(then(), true)
    };
    let told = play_acts(Play::from_spec(old), vec![GO(), done(), SAYS()]);
    assert_eq!(told[4..6], ["enter review", "model"]);
}

#[test]
fn it_stands_once_when_so_much_was_spent() {
    let point = vec![
        Breakpoint::after_spending(5.0).unwrap(),
        Breakpoint::after_spending(8.0).unwrap(),
        Breakpoint::after_spending(1e6).unwrap(),
    ];
    let told =
        play_acts(with_breakpoints(false, point, two_state_workflow(), true), vec![SAYS(), GO(), SAYS()]);
    let expected = [
        "breaks spend $1000000.00",
        "stands at review: spend $8.00",
        "enter review",
        "model",
        "enter stop",
        "end completed",
    ];
    assert_eq!(told[3..], expected);
}

#[test]
fn an_end_of_time_does_not_enter_the_state_it_stands_before() {
    let timed = Workflow { timeout_ms: Some(1_000), ..two_state_workflow().remove(0) };
    let told = play_acts(Play::new(vec![timed], true), vec![break_at("review"), SAYS(), Act::Time]);
    assert_eq!(told[3..], ["stands at review: state review", "ask failed timeout"]);
    // the time of the state before is over
    let state = StateSpec { timeout_ms: Some(1_000), ..state("start", agent_state(), 1) };
    let mut workflow = two_state_workflow().remove(0);
    workflow.states[0] = state;
    let mut standing = Play::new(vec![workflow], true);
    standing.perform_act(break_at("review"));
    standing.perform_act(SAYS());
    assert!(standing.timers.is_empty());
    let end = Input::Cancelled { partial: Vec::new(), end: true, used: Vec::new() };
    standing.feed_input(end);
    assert_eq!(standing.finish_and_replay()[4..], ["end cancelled"]);
}

#[test]
fn while_one_branch_stands_the_others_stand_before_their_next_state() {
    let branch = |name: &str, start| BranchSpec { name: name.to_owned(), start: StateIx(start) };
    let ending = |name: &str| StateSpec { name: name.to_owned(), terminal: true, ..StateSpec::default() };
    let spec = ParallelSpec {
        branches: vec![branch("a", 1), branch("b", 4)],
        join: JoinPolicy::All,
        on_error: BranchErrors::FailFast,
        max_concurrency: None,
        merge: Default::default(),
    };
    let states = vec![
        state("start", StateBody::Parallel(spec), 7),
        state("start.a/x", agent_state(), 2),
        state("start.a/c", agent_state(), 3),
        ending("start.a/stop"),
        state("start.b/y", agent_state(), 5),
        state("start.b/d", agent_state(), 6),
        ending("start.b/stop"),
    ];
    let told = play_acts(
        Play::new(vec![workflow(states)], true),
        vec![break_at("c"), SAYS(), SAYS(), set_value("x", json!(1)), GO(), SAYS(), SAYS()],
    );
    let told: Vec<&str> = told.iter().map(String::as_str).filter(|line| *line != "model").collect();
    let expected = [
        "enter start",
        "enter start.a/x",
        "enter start.b/y",
        "breaks state c",
        "stands at start.a/c: state c",
        "stands before start.b/d",
        r#"set {"x":1}"#,
    ];
    assert_eq!(told[..7], expected);
    let mut both = told[7..9].to_vec();
    both.sort_unstable();
    assert_eq!(both, ["enter start.a/c", "enter start.b/d"]);
    assert_eq!(told.last(), Some(&"end completed"));
}

#[test]
fn values_are_set_only_while_it_stands_still() {
    let told =
        play_acts(Play::new(two_state_workflow(), true), vec![set_value("x", json!(1)), SAYS(), SAYS()]);
    assert_eq!(told[2], "warning set");
    assert!(!told.iter().any(|line| line.starts_with("set ")), "{told:?}");
}

#[test]
fn words_are_taken_back_until_they_are_read() {
    let back = || Act::Steers(SteeringAction::TakeBack { text: "by the way".to_owned() });
    let told = play_acts(
        Play::new(two_state_workflow(), true),
        vec![Act::Said("by the way"), back(), back(), SAYS(), SAYS()],
    );
    assert_eq!(told[2..5], ["queued by the way", "taken back by the way", "enter review"]);
}

#[test]
fn an_approval_that_nobody_answers_is_a_no_after_its_time() {
    let step = ActionSpec {
        tool: "shell".to_owned(),
        risk: ToolRisk::Execute,
        arguments: vec![],
        expect: ActionExpectation::Ok,
    };
    let limited = |seconds| {
        let spec = spec(vec![workflow(vec![state("start", StateBody::Action(step.clone()), 1)])], true);
        let approvals = ApprovalPolicy { deadline_s: seconds, ..spec.approvals.clone() };
        Play::from_spec(RunSpec { approvals, ..spec })
    };
    let told = play_acts(limited(60), vec![Act::Time]);
    assert_eq!(told, ["enter start", "approve shell {}", "ask failed tool.denied"]);
    let mut answered = limited(60);
    let until = |play: &Play| match play.pending.last() {
        Some(Effect::AskApproval { deadline: until, .. }) => *until,
        other => panic!("{other:?}"),
    };
    assert_eq!(until(&answered), Some(Timestamp(61_000)));
    // who comes back has all the time again, however late it is; the timer of before is no longer waited for
    for (version, until, timers) in [(MACHINE_VERSION, 905_000, (1, 1)), (5, 61_000, (0, 0))] {
        let old = Arc::new(RunSpec { machine_version: version, ..RunSpec::clone(&answered.spec) });
        let mut reopened = replay_inputs(old, answered.inputs.clone()).machine;
        let effects = reopened.handle_input(Timestamp(845_000), resume_input(true)).effects;
        let again = effects.iter().find_map(|effect| match effect {
            Effect::AskApproval { deadline: until, .. } => *until,
            _ => None,
        });
        assert_eq!(again, Some(Timestamp(until)), "{version}");
        let stopped = effects.iter().filter(|effect| matches!(effect, Effect::Abort { .. })).count();
        let set = effects.iter().filter(|e| matches!(e, Effect::SetTimer { delay_ms: 60_000, .. })).count();
        assert_eq!((stopped, set), timers, "{version}");
    }
    answered.perform_act(Act::Approves(ApprovalDecision::Allow));
    assert!(answered.timers.is_empty());
    assert_eq!(until(&limited(0)), None);
}

#[test]
fn a_script_takes_what_it_read_and_no_other_text() {
    use synthdev::domain::script::ScopePatch;
    for (version, heard) in [(MACHINE_VERSION, &["heard one"][..]), (10, &["heard one", "heard three"])] {
        let looking = StateSpec { script: Some(ACTION), ..state("start", StateBody::None, 1) };
        let states = vec![state("first", agent_state(), 1), looking];
        let spec = RunSpec { machine_version: version, ..spec(vec![workflow(states)], true) };
        let mut play = Play::from_spec(spec);
        ["one", "two", "three"].into_iter().for_each(|text| play.perform_act(Act::Said(text)));
        play.perform_act(SAYS());
        let offer = play.take_effect(|effect| matches!(effect, Effect::Evaluate { .. }));
        let Effect::Evaluate { call, .. } = offer else { panic!("{offer:?}") };
        play.perform_act(Act::Steers(SteeringAction::TakeBack { text: "two".to_owned() }));
        let patch = ScopePatch { heard: 2, ..ScopePatch::default() };
        play.feed_input(Input::Evaluated {
            call,
            outcome: ScriptOutcome { patch, ..ScriptOutcome::default() },
        });
        let read: Vec<&String> = play.lines.iter().filter(|line| line.starts_with("heard")).collect();
        assert_eq!(read, heard, "{version}");
    }
}

#[test]
fn what_a_script_reads_waits_no_longer() {
    use synthdev::domain::script::ScopePatch;
    let looking = StateSpec { script: Some(ACTION), ..state("start", StateBody::None, 1) };
    let mut play = Play::new(vec![workflow(vec![state("first", agent_state(), 1), looking])], true);
    for text in ["one", "two"] {
        play.perform_act(Act::Said(text));
    }
    play.perform_act(SAYS());
    let Effect::Evaluate { call, job } = play.take_effect(|effect| matches!(effect, Effect::Evaluate { .. }))
    else {
        unreachable!()
    };
    assert_eq!(job.scope.said, ["one", "two"]);
    let patch = ScopePatch { heard: 1, ..ScopePatch::default() };
    play.feed_input(Input::Evaluated { call, outcome: ScriptOutcome { patch, ..ScriptOutcome::default() } });
    assert!(play.lines.contains(&"heard one".to_owned()), "{:?}", play.lines);
    play.perform_act(Act::Steers(SteeringAction::TakeBack { text: "one".to_owned() }));
    play.perform_act(Act::Steers(SteeringAction::TakeBack { text: "two".to_owned() }));
    assert_eq!(play.lines.last().unwrap(), "taken back two");
}

#[test]
fn what_one_script_was_offered_no_other_takes() {
    use synthdev::domain::script::ScopePatch;
    let branch = |name: &str, start| BranchSpec { name: name.to_owned(), start: StateIx(start) };
    let ending = |name: &str| StateSpec { name: name.to_owned(), terminal: true, ..StateSpec::default() };
    let looking = |name, next| StateSpec { script: Some(ACTION), ..state(name, StateBody::None, next) };
    let spec = ParallelSpec {
        branches: vec![branch("a", 2), branch("b", 4)],
        join: JoinPolicy::All,
        on_error: BranchErrors::FailFast,
        max_concurrency: None,
        merge: Default::default(),
    };
    let states = vec![
        state("first", agent_state(), 1),
        state("start", StateBody::Parallel(spec), 6),
        looking("start.a/x", 3),
        ending("start.a/stop"),
        looking("start.b/y", 5),
        ending("start.b/stop"),
    ];
    let mut play = Play::new(vec![workflow(states)], true);
    ["one", "two"].into_iter().for_each(|text| play.perform_act(Act::Said(text)));
    play.perform_act(SAYS());
    let next = |play: &mut Play| match play.take_effect(|effect| matches!(effect, Effect::Evaluate { .. })) {
        Effect::Evaluate { call, job } => (call, job.scope.said),
        other => panic!("{other:?}"),
    };
    let (first, second) = (next(&mut play), next(&mut play));
    assert_eq!((first.1.len(), second.1.len()), (2, 0));
    // what is gone meanwhile is not made up for by what came meanwhile
    play.perform_act(Act::Said("three"));
    play.perform_act(Act::Steers(SteeringAction::TakeBack { text: "one".to_owned() }));
    let patch = ScopePatch { heard: 2, ..ScopePatch::default() };
    play.feed_input(Input::Evaluated {
        call: first.0,
        outcome: ScriptOutcome { patch, ..Default::default() },
    });
    let heard: Vec<&String> = play.lines.iter().filter(|line| line.starts_with("heard")).collect();
    assert_eq!(heard, ["heard two"]);
    play.perform_act(Act::Steers(SteeringAction::TakeBack { text: "three".to_owned() }));
    play.feed_input(Input::Evaluated { call: second.0, outcome: ScriptOutcome::default() });
    assert!(play.finish_and_replay().contains(&"taken back three".to_owned()));
}

#[test]
fn an_agent_asks_the_person_and_reads_the_answer() {
    let ask = |choices: Value| {
        let mut asking = workflow(vec![state("start", agent_state(), 1)]);
        asking.agents[0].tools = [synthdev::domain::tool::ask_user_tool()].into();
        let mut play = Play::new(vec![asking], true);
        let arguments = json!({"question": "Which one?", "choices": choices}).to_string();
        let call = |id: &str, arguments: &str| ToolCall {
            id: id.to_owned(),
            name: "request_users_input".to_owned(),
            arguments: arguments.to_owned(),
            original: None,
        };
        let tool_calls = vec![call("a", &arguments), call("b", "{}"), call("c", "{\"question\": \"Sure?\"}")];
        let Effect::CallModel { call, .. } =
            play.take_effect(|effect| matches!(effect, Effect::CallModel { .. }))
        else {
            unreachable!()
        };
        play.feed_input(Input::Replied { call, reply: ModelReply { tool_calls, ..text_reply("", 10) } });
        play
    };
    let text = |text: &str| Act::Answers(UserAnswer::Value { value: json!(text) });
    let mut play = ask(json!([]));
    // words that nobody asked for answer it as well; several questions come one after the other
    play.perform_act(Act::Said("the first"));
    play.perform_act(text("yes"));
    let Effect::CallModel { request, .. } = play.pending.last().unwrap() else {
        panic!("{:?}", play.pending)
    };
    let results: Vec<&str> = request
        .messages
        .iter()
        .filter(|message| message.role == synthdev::domain::message::ChatRole::Tool)
        .map(|message| message.content.as_str())
        .collect();
    assert_eq!(results.len(), 3);
    assert_eq!((results[0], results[2]), ("the first", "yes"));
    assert!(results[1].contains("`question` is missing"), "{results:?}");
    play.perform_act(SAYS());
    let told = play.finish_and_replay();
    assert!(told.contains(&"ask writer asks: Which one?".to_owned()), "{told:?}");
    // one of several; a wrong one is asked again
    let mut play = ask(json!(["red", "blue"]));
    play.perform_act(text("green"));
    assert!(play.lines.last().unwrap().starts_with("ask again: `green` is none of"), "{:?}", play.lines);
    play.perform_act(text("BLUE"));
    assert_eq!(play.lines.last().unwrap(), "ask writer asks: Sure?");
}

#[test]
fn a_limit_at_the_door_does_not_make_it_stand_twice() {
    let mut limited = two_state_workflow().remove(0);
    limited.limits.max_steps = 1;
    let point = vec![Breakpoint::before_state("review")];
    let told = play_acts(
        with_breakpoints(false, point, vec![limited], true),
        vec![SAYS(), GO(), Act::Answers(UserAnswer::Continue), SAYS()],
    );
    assert_eq!(told[3..7], ["stands at review: state review", "ask max_steps", "enter review", "model"]);
}

#[test]
fn models_are_interrupted_and_asked_again() {
    let interrupt = || Act::Steers(SteeringAction::Interrupt { partial: Vec::new() });
    let word = || Act::Answers(UserAnswer::Text { text: "shorter".to_owned() });
    let told = play_acts(Play::new(two_state_workflow(), true), vec![interrupt(), word(), SAYS(), SAYS()]);
    let expected = [
        "enter start",
        "model",
        "stands at start: interrupted",
        "model",
        "enter review",
        "model",
        "enter stop",
        "end completed",
    ];
    assert_eq!(told, expected, "it goes on once, and stands nowhere else");
    let told = play_acts(Play::new(two_state_workflow(), true), vec![interrupt(), GO(), SAYS(), SAYS()]);
    assert_eq!(told, expected);
    // a running tool finishes; then the run stops, before the model is called again
    let tool = || Act::Tool(ToolOutcome { ok: true, ..ToolOutcome::default() });
    let mut one = two_state_workflow();
    one[0].agents[0].tools = [ToolSpec {
        name: "look".to_owned(),
        description: String::new(),
        parameters: json!({"type": "object"}),
        risk: ToolRisk::Read,
        repeat: None,
    }]
    .into();
    let told =
        play_acts(Play::new(one, true), vec![Act::Calls("look"), interrupt(), tool(), GO(), SAYS(), SAYS()]);
    let lines: Vec<&str> = told.iter().map(String::as_str).collect();
    let at = lines.iter().position(|line| *line == "stands at start: interrupted").unwrap();
    assert!(lines[at - 1].starts_with("run look"), "{lines:?}");
    assert_eq!(lines[at + 1..], expected[3..]);
}

#[test]
fn guidance_outlives_a_call_that_fails() {
    let cut = || ModelError::Transport { detail: "cut".to_owned() };
    let word = || Act::Answers(UserAnswer::Text { text: "shorter".to_owned() });
    let mut play = Play::new(two_state_workflow(), true);
    let again = Act::Answers(UserAnswer::Continue);
    for act in
        [Act::Steers(SteeringAction::Interrupt { partial: Vec::new() }), word(), Act::Breaks(cut()), again]
    {
        play.perform_act(act);
    }
    let asked = play.pending.iter().find_map(|effect| match effect {
        Effect::CallModel { request, .. } => Some(&request.messages),
        _ => None,
    });
    let said = asked.expect("it is asked again").iter().any(|message| message.content.contains("shorter"));
    assert!(said, "{asked:#?}");
    for act in [SAYS(), SAYS()] {
        play.perform_act(act);
    }
    play.finish_and_replay();
}

#[test]
fn the_time_of_a_state_rests_while_a_person_says_what_shall_be_different() {
    let interrupt = || Act::Steers(SteeringAction::Interrupt { partial: Vec::new() });
    let word = || Act::Answers(UserAnswer::Text { text: "shorter".to_owned() });
    let timed = |state: StateSpec, ms| StateSpec { timeout_ms: Some(ms), ..state };
    let rows: [(u32, Act, i64, &[i64]); 3] = [
        (MACHINE_VERSION, word(), 3_600_000, &[20_000, 50_000]),
        (MACHINE_VERSION, GO(), 3_600_000, &[20_000, 50_000]),
        (7, word(), 5_000, &[15_000, 45_000]),
    ];
    for (version, goes_on, typed, left) in rows {
        let inner = Workflow {
            name: "inner".to_owned(),
            ..workflow(vec![timed(state("start", agent_state(), 1), 30_000)])
        };
        let outer = workflow(vec![timed(state("start", child(), 1), 60_000)]);
        let mut play =
            Play::from_spec(RunSpec { machine_version: version, ..spec(vec![outer, inner], true) });
        let begun = play.clock;
        play.perform_act(Act::Passes(10_000 - 1));
        play.perform_act(interrupt());
        assert_eq!(play.timers.is_empty(), version == MACHINE_VERSION, "{version}");
        play.perform_act(Act::Passes(typed - 1));
        play.perform_act(goes_on);
        let mut ends: Vec<i64> = play.timers.iter().map(|(at, _)| at - play.clock).collect();
        ends.sort_unstable();
        assert_eq!(ends, left, "{version} {}", play.clock - begun);
        play.perform_act(SAYS());
        play.finish_and_replay();
    }
}

#[test]
fn time_that_is_up_frees_nobody_who_stands_elsewhere() {
    use synthdev::domain::delegation::DelegationSpec;
    use synthdev::domain::workflow::{PauseKind, PauseSpec};
    let branch = |name: &str, start| BranchSpec { name: name.to_owned(), start: StateIx(start) };
    let ending = |name: &str| StateSpec { name: name.to_owned(), terminal: true, ..StateSpec::default() };
    let parallel = ParallelSpec {
        branches: vec![branch("a", 1), branch("b", 3)],
        join: JoinPolicy::All,
        on_error: BranchErrors::FailFast,
        max_concurrency: None,
        merge: Default::default(),
    };
    let delegate = PauseSpec {
        kind: PauseKind::Outputs,
        message: ValueSource::Text("well?".to_owned()),
        choices: Vec::new(),
        schema: None,
        required_outputs: owned_names(&["x"]),
        default: Some(json!({"x": 1})),
        ttl_ms: Some(1_000),
        on_timeout: None,
        request: Some(Box::new(DelegationSpec { waits: true, ..DelegationSpec::default() })),
    };
    let states = vec![
        state("start", StateBody::Parallel(parallel), 5),
        state("start.a/ask", StateBody::Pause(delegate), 2),
        ending("start.a/stop"),
        state("start.b/look", agent_state(), 4),
        ending("start.b/stop"),
    ];
    let stands = |play: &Play| play.machine.open_pauses().iter().any(|pause| pause.state == "start.b/look");
    for (version, stays) in [(MACHINE_VERSION, true), (7, false)] {
        let stops = BreakpointSet { step: false, points: vec![Breakpoint::before_state("look")] };
        let spec = RunSpec { machine_version: version, stops, ..spec(vec![workflow(states.clone())], false) };
        let mut play = Play::from_spec(spec);
        assert!(play.lines.last().unwrap().starts_with("end paused"), "{:?}", play.lines);
        assert!(stands(&play), "{:?}", play.lines);
        let asked =
            play.machine.open_pauses().into_iter().find(|pause| pause.state == "start.a/ask").unwrap();
        let elapsed = vec![asked.call];
        play.feed_input(Input::Resumed(Box::new(ResumeInput { elapsed, ..ResumeInput::default() })));
        assert_eq!(stands(&play), stays, "{version}: {:?}", play.lines);
        assert!(play.lines.contains(&"warning pause_timeout".to_owned()), "{:?}", play.lines);
        if stays {
            // a resume without a user continues past the breakpoint
            play.feed_input(resume_input(false));
        }
        play.perform_act(SAYS());
        assert_eq!(play.lines.last().unwrap(), "end completed", "{version}");
        play.finish_and_replay();
    }
}
