//! Calls of one reply that run side by side: what begins together, in which order the answers stand, and what stops them.

use super::agents::{SPAWN, last_request, returns, team};
use super::*;
use synthdev::domain::agent_team::AgentLimits;
use synthdev::domain::tool::{MULTICALL, ToolRisk, ToolSpec, multicall_tool};
use synthdev::engine::input::ResumeInput;
use synthdev::engine::steering::Breakpoint;

/// A writer with one tool that reads, one that writes, and `multicall`.
fn reader() -> RunSpec {
    let tool = |name: &str, risk| ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        parameters: json!({"type": "object"}),
        risk,
        repeat: None,
    };
    let mut work = workflow(vec![state("work", agent_state(), 1)]);
    work.agents[0].tools =
        [tool("look", ToolRisk::Read), tool("write", ToolRisk::Write), multicall_tool()].into();
    work.agents[0].max_tool_rounds = 5;
    let mut spec = spec(vec![work], true);
    spec.approvals.tools.insert("write".to_owned(), ToolPermission::Allow);
    spec
}

/// One `multicall` of these tools; the argument of each is its number.
fn all(tools: &[&str]) -> Act {
    let call = |(nth, tool): (usize, &&str)| json!({"tool": tool, "arguments": {"n": nth + 1}});
    let calls: Vec<Value> = tools.iter().enumerate().map(call).collect();
    Act::CallsAll(vec![(MULTICALL, json!({"calls": calls}))])
}

/// The numbers of the calls that run now.
fn running(play: &Play) -> Vec<u64> {
    let number = |effect: &Effect| match effect {
        Effect::RunTool { invocation, .. } => invocation.arguments["n"].as_u64(),
        _ => None,
    };
    play.pending.iter().filter_map(number).collect()
}

/// The call with this number ends.
fn ends(play: &mut Play, number: u64) {
    let call = play.take_call(|effect| match effect {
        Effect::RunTool { invocation, .. } => invocation.arguments["n"] == number,
        _ => false,
    });
    let outcome = ToolOutcome { ok: true, content: format!("answer {number}"), ..ToolOutcome::default() };
    play.clock += 1;
    play.feed_input(Input::ToolDone { call, outcome });
}

/// Plays one `multicall`: each step is the call that ends, and what runs afterwards.
fn check_calls(about: &str, spec: RunSpec, tools: &[&str], first: &[u64], steps: &[(u64, &[u64])]) {
    let mut play = Play::from_spec(spec);
    play.perform_act(all(tools));
    assert_eq!(running(&play), first, "{about}: begun first");
    for (number, then) in steps {
        ends(&mut play, *number);
        assert_eq!(running(&play), *then, "{about}: after call {number}");
    }
    let request = last_request(&play);
    let answer = request.last().unwrap();
    let places: Vec<Option<usize>> =
        (1..=steps.len()).map(|number| answer.find(&format!("answer {number}"))).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{about}: {answer}");
    play.perform_act(Act::Says("fine"));
    assert_eq!(play.finish_and_replay().last().unwrap(), "end completed", "{about}");
}

#[test]
fn what_only_reads_runs_together_and_is_answered_in_order() {
    let asked = || {
        let mut spec = reader();
        spec.approvals.tools.insert("look".to_owned(), ToolPermission::Deny);
        spec
    };
    let old = || RunSpec { machine_version: 14, ..reader() };
    let stopped = || {
        let mut spec = reader();
        spec.stops.points.push(Breakpoint::before_tool("other"));
        spec
    };
    check_calls("three", reader(), &["look"; 3], &[1, 2, 3], &[(3, &[1, 2]), (1, &[2]), (2, &[])]);
    check_calls(
        "a writing call waits for all before it, and keeps those behind it back",
        reader(),
        &["look", "look", "write", "look", "look"],
        &[1, 2],
        &[(2, &[1]), (1, &[3]), (3, &[4, 5]), (4, &[5]), (5, &[])],
    );
    check_calls(
        "a writing call first",
        reader(),
        &["write", "look", "look"],
        &[1],
        &[(1, &[2, 3]), (2, &[3]), (3, &[])],
    );
    check_calls("an older run", old(), &["look"; 2], &[1], &[(1, &[2]), (2, &[])]);
    check_calls("a tool has a breakpoint", stopped(), &["look"; 2], &[1], &[(1, &[2]), (2, &[])]);
    let mut play = Play::from_spec(asked());
    play.perform_act(all(&["look", "write", "look"]));
    assert_eq!(running(&play), [2], "denied calls begin nothing");
    ends(&mut play, 2);
    assert_eq!(last_request(&play).last().unwrap().matches("denied by the approval policy").count(), 2);
}

#[test]
fn calls_of_a_reply_beside_a_multicall_wait_for_their_turn() {
    let mut play = Play::from_spec(reader());
    let inner =
        json!({"calls": [{"tool": "look", "arguments": {"n": 2}}, {"tool": "look", "arguments": {"n": 3}}]});
    play.perform_act(Act::CallsAll(vec![
        ("look", json!({"n": 1})),
        (MULTICALL, inner),
        ("look", json!({"n": 4})),
    ]));
    assert_eq!(running(&play), [1]);
    ends(&mut play, 1);
    assert_eq!(running(&play), [2, 3]);
    ends(&mut play, 3);
    ends(&mut play, 2);
    assert_eq!(running(&play), [4]);
    ends(&mut play, 4);
    play.perform_act(Act::Says("fine"));
    assert_eq!(play.finish_and_replay().last().unwrap(), "end completed");
}

#[test]
fn a_time_limit_stops_all_of_them_and_keeps_what_was_answered() {
    let mut spec = reader();
    let workflow = Arc::make_mut(&mut spec.program.workflows[0]);
    workflow.states[0].timeout_ms = Some(1_000);
    workflow.states[0].recovery.retry = vec![retry_rule(&["timeout"], 2, 10)];
    let mut play = Play::from_spec(spec);
    play.perform_act(all(&["look"; 3]));
    ends(&mut play, 2);
    play.perform_act(Act::Time);
    assert_eq!(running(&play), Vec::<u64>::new());
    play.perform_act(Act::Time);
    let answer = last_request(&play).join("\n");
    assert!(answer.contains("answer 2"), "{answer}");
    assert_eq!(answer.matches("interrupted while this call ran").count(), 2, "{answer}");
    play.perform_act(Act::Says("fine"));
    assert_eq!(play.finish_and_replay().last().unwrap(), "end completed");
}

#[test]
fn calls_that_a_crash_left_open_are_asked_about_one_by_one() {
    let mut play = Play::from_spec(reader());
    play.perform_act(all(&["look"; 3]));
    ends(&mut play, 2);
    let open: Vec<CallId> = play.pending.drain(..).filter_map(|effect| effect_call(&effect)).collect();
    let unclear = open.into_iter().map(|call| (call, "who knows".to_owned())).collect();
    let resumed = ResumeInput { present: true, unclear, ..ResumeInput::default() };
    play.feed_input(Input::Resumed(Box::new(resumed)));
    let asks =
        |play: &Play| play.pending.iter().filter(|effect| matches!(effect, Effect::AskPerson { .. })).count();
    assert_eq!((asks(&play), running(&play)), (1, vec![]), "{:#?}", play.lines);
    let answer = |text: &str| Act::Answers(UserAnswer::Text { text: text.to_owned() });
    play.perform_act(answer("repeat"));
    assert_eq!((asks(&play), running(&play)), (0, vec![1]), "{:#?}", play.lines);
    ends(&mut play, 1);
    assert_eq!((asks(&play), running(&play)), (1, vec![]), "{:#?}", play.lines);
    play.perform_act(answer("skip"));
    let request = last_request(&play).join("\n");
    for part in ["answer 1", "answer 2", "it was not repeated"] {
        assert!(request.contains(part), "no `{part}` in {request}");
    }
    play.perform_act(Act::Says("fine"));
    assert_eq!(play.finish_and_replay().last().unwrap(), "end completed");
}

#[test]
fn agents_that_one_reply_starts_work_together() {
    let spawns = |count| Act::CallsAll(vec![(SPAWN, json!({"role": "coder", "task": "t"})); count]);
    let report = |number: u64| {
        format!(
            "spawn_agent gives {{\"agent\":\"coder-{number}\",\"status\":\"completed\",\"result\":{number},\"files\":[\"a.rs\"]}}"
        )
    };
    // the second ends first
    let mut play = Play::new(team(AgentLimits { max_depth: 3, max_alive: 2 }), false);
    play.perform_act(spawns(3));
    assert_eq!(play.pending.len(), 2, "one more than may run at once waits: {:#?}", play.lines);
    play.pending.reverse();
    for number in [2, 1, 3] {
        play.perform_act(returns(json!(number)));
    }
    play.perform_act(Act::Says("fine"));
    let lines = play.finish_and_replay();
    let told: Vec<&String> = lines
        .iter()
        .filter(|line| line.contains("spawn") || line.starts_with("coder-") || line.starts_with("end"))
        .collect();
    let expected = [
        "writer spawns coder-1".to_owned(),
        "writer spawns coder-2".to_owned(),
        "coder-2 completed 2".to_owned(),
        "coder-1 completed 1".to_owned(),
        report(1),
        report(2),
        "writer spawns coder-3".to_owned(),
        "coder-3 completed 3".to_owned(),
        report(3),
        "end completed".to_owned(),
    ];
    assert_eq!(told, expected.iter().collect::<Vec<_>>());

    let mut play = Play::new(team(AgentLimits::default()), false);
    play.perform_act(spawns(3));
    play.feed_input(Input::Cancelled { partial: Vec::new(), end: true, used: Vec::new() });
    let lines = play.finish_and_replay();
    assert_eq!(lines.iter().filter(|line| line.contains("cancelled (it was")).count(), 3, "{lines:#?}");
}
