//! Budgets: counted for the run and for every state; never passed by more than one call (FSM-16, MODEL-12).

use super::*;
use crate::sim::luck::Luck;
use synthdev::domain::model::ModelParameters;
use synthdev::domain::workflow::{Branch, BranchErrors, Budget, Cap, Join, Parallel, Wait};

fn tokens(soft: Option<u64>, hard: u64) -> Budget {
    Budget { tokens: Cap { soft, hard: Some(hard) }, ..Budget::default() }
}

/// Speaks for ever; `last` speaks once.
fn looping(budget: Budget, on_limit: Option<usize>) -> Workflow {
    let states = vec![state("start", speak(), 0), state("last", speak(), 2)];
    Workflow { budget, on_limit: on_limit.map(StateIx), ..workflow(states) }
}

const ROUNDS: [&str; 4] = ["enter start", "model", "enter start 2", "model"];

#[test]
fn the_run_stops_before_the_next_call() {
    let costs = || vec![Act::Costs(50), Act::Costs(60)];
    let paused = [&ROUNDS[..], &["end paused budget_exceeded"]].concat();
    check("tokens", vec![looping(tokens(None, 100), None)], false, costs(), &paused);
    let dollars = Budget { cost_usd: Cap { soft: None, hard: Some(99.5) }, ..Budget::default() };
    check("dollars", vec![looping(dollars, None)], false, costs(), &paused);
    let time = Budget { duration_ms: Cap { soft: None, hard: Some(100) }, ..Budget::default() };
    let slow = vec![Act::Costs(2), Act::Passes(150), Act::Costs(2)];
    check("duration", vec![looping(time, None)], false, slow, &paused);
    let warned = [&ROUNDS[..], &["budget run tokens 110"], &paused[4..]].concat();
    check("soft", vec![looping(tokens(Some(80), 100), None)], false, costs(), &warned);
    let unknown = {
        let mut one = looping(dollars, None);
        one.agents[0].choice.price = None;
        one
    };
    let told =
        ["enter start", "model", "warning price_unknown", "enter start 2", "model", "enter start 3", "model"];
    check("no price", vec![unknown], false, costs(), &told);
}

#[test]
fn time_counts_without_a_model_call() {
    let wait = |target| state("start", Work::Wait(Wait::For(Given::Value(json!(1)))), target);
    let time = Budget { duration_ms: Cap { soft: Some(1_500), hard: Some(2_500) }, ..Budget::default() };
    let one = |on_limit: Option<usize>| {
        let states = vec![wait(0), state("last", Work::None, 2)];
        vec![Workflow { budget: time, on_limit: on_limit.map(StateIx), ..workflow(states) }]
    };
    let begin = [
        "enter start",
        "waits until 2000",
        "enter start 2",
        "waits until 3001",
        "budget run duration 2002",
        "enter start 3",
        "waits until 4002",
    ];
    let end = ["enter stop", "end completed"];
    let led = [&["on_limit takes budget_exceeded to last", "enter last"], &end[..]].concat();
    let times = |times: usize| vec![Act::Time; times];
    let rows = [
        ("paused", one(None), false, times(3), vec!["end paused budget_exceeded"]),
        ("led on", one(Some(1)), false, times(3), led),
        (
            "asked",
            one(None),
            true,
            [times(3), vec![Act::Answers(Answer::Continue)]].concat(),
            vec!["ask budget.duration", "enter start 4", "waits until 5004"],
        ),
    ];
    for (about, workflows, interactive, acts, rest) in rows {
        check(about, workflows, interactive, acts, &[&begin[..], &rest].concat());
    }
    // the end of a workflow needs no budget
    let late = vec![Act::Passes(9_000), Act::Time];
    let ending = vec![Workflow { budget: time, ..workflow(vec![wait(1)]) }];
    check("too late to stop", ending, false, late, &[&begin[..2], &end].concat());
}

#[test]
fn branches_that_ask_the_same_are_granted_it_once() {
    let mut play = Play::new(vec![fan(2, tokens(None, 100), 10)], true);
    let asked = |play: &Play| play.lines.iter().filter(|line| *line == "ask budget.tokens").count();
    for tokens in [60, 60, 10] {
        play.act(Act::Costs(tokens));
    }
    assert_eq!(asked(&play), 2, "{:#?}", play.lines);
    for act in [Act::Answers(Answer::Continue), Act::Answers(Answer::Continue)] {
        play.act(act);
    }
    // 130 are used and the end is at 230, not at 330
    for tokens in [40, 40, 30] {
        play.act(Act::Costs(tokens));
    }
    assert_eq!(asked(&play), 4, "{:#?}", play.lines);
}

#[test]
fn on_limit_has_a_tenth_to_end_well() {
    let led =
        ["on_limit takes budget_exceeded to last", "enter last", "model", "enter stop", "end completed"];
    let acts = vec![Act::Costs(50), Act::Costs(55), Act::Says("in short")];
    let expected = [&ROUNDS[..], &led].concat();
    check("led on", vec![looping(tokens(None, 100), Some(1))], false, acts, &expected);
    // whatever the last call has used beyond the end
    let acts = vec![Act::Costs(50), Act::Costs(500), Act::Says("in short")];
    check("far beyond", vec![looping(tokens(None, 100), Some(1))], false, acts, &expected);
    let time = Budget { duration_ms: Cap { soft: None, hard: Some(100) }, ..Budget::default() };
    let acts = vec![Act::Costs(2), Act::Passes(5_000), Act::Costs(2), Act::Says("in short")];
    check("far too late", vec![looping(time, Some(1))], false, acts, &expected);
}

#[test]
fn a_person_grants_the_same_again() {
    let acts =
        vec![Act::Costs(100), Act::Answers(Answer::Continue), Act::Costs(100), Act::Answers(Answer::Stop)];
    let asked =
        ["ask budget.tokens", "enter start 2", "model", "ask budget.tokens", "end paused budget_exceeded"];
    let expected = [&ROUNDS[..2], &asked].concat();
    check("tokens", vec![looping(tokens(None, 100), None)], true, acts, &expected);
}

#[test]
fn a_state_s_budget_is_for_one_visit_with_all_that_it_starts() {
    let start = State {
        budget: tokens(None, 100),
        ..with(
            state("start", child(), 1),
            Recovery { catch: vec![catch(&["budget_exceeded"], 1)], ..Recovery::default() },
        )
    };
    let root = workflow(vec![start, state("other", speak(), 2)]);
    let inner = Workflow { name: "inner".to_owned(), ..workflow(vec![state("start", speak(), 0)]) };
    let expected = [
        "enter start",
        "enter inner/start",
        "model",
        "catch takes budget_exceeded to other",
        "enter other",
        "model",
        "enter stop",
        "end completed",
    ];
    check("a child", vec![root, inner], false, vec![Act::Costs(100), Act::Costs(500)], &expected);
}

/// Branches that speak for ever, and a budget for all of them together.
fn fan(branches: usize, budget: Budget, answer: u64) -> Workflow {
    let name = |at: usize| format!("b{at}");
    let spec = Parallel {
        branches: (0..branches).map(|at| Branch { name: name(at), start: StateIx(1 + at) }).collect(),
        join: Join::All,
        on_error: BranchErrors::FailFast,
        max_concurrency: None,
        merge: Default::default(),
    };
    let mut states = vec![state("start", Work::Parallel(spec), branches + 1)];
    states.extend((0..branches).map(|at| state(&format!("start.{}/s", name(at)), speak(), 1 + at)));
    let mut one = Workflow { budget, ..workflow(states) };
    one.limits.max_visits = 1_000;
    one.limits.max_steps = 10_000;
    one.agents[0].choice.parameters =
        ModelParameters { max_output_tokens: Some(answer), ..ModelParameters::default() };
    one
}

#[test]
fn a_thousand_runs_pass_their_budget_by_one_call_at_most() {
    let (mut beside, mut passed) = (0, 0);
    for seed in 0..1_000 {
        let mut luck = Luck::new(seed);
        let hard = u64::try_from(luck.between(200, 4_000)).unwrap();
        let longest = luck.between(10, 600);
        let mut play = Play::new(
            vec![fan(luck.between(1, 5), tokens(None, hard), u64::try_from(longest).unwrap())],
            false,
        );
        let (mut spent, mut largest) = (0, 0);
        while !play.machine.is_over() {
            let calls: Vec<usize> = (0..play.pending.len()).collect();
            beside += usize::from(calls.len() > 1);
            let at = luck.pick(&calls);
            play.pending.swap(0, at);
            let Effect::CallModel { request, .. } = &play.pending[0] else { panic!("{:?}", play.pending) };
            // never more than was reserved: the words of the prompt and the longest answer
            let words: usize = request.messages.iter().map(|message| message.content.len()).sum();
            let used = u64::try_from(luck.between(2, longest + words / 4)).unwrap();
            (spent, largest) = (spent + used, largest.max(used));
            play.act(Act::Costs(used));
        }
        assert!(
            spent >= hard && spent < hard + largest,
            "seed {seed}: {spent} of {hard}, at most {largest} a call"
        );
        assert_eq!(play.machine.progress().error.unwrap().code, "budget_exceeded");
        passed += usize::from(spent > hard);
    }
    assert!(beside > 1_000 && passed > 500, "{beside} times beside each other, {passed} passed");
}
