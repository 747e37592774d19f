//! Budgets: counted for the run, every state and every agent; never passed.

mod items;
mod paid;
mod random;
mod worlds;

use super::*;
use synthdev::domain::model::ModelParameters;
use synthdev::domain::protocol::ModelProtocol;
use synthdev::domain::workflow::{
    BranchErrors, BranchSpec, Budget, BudgetCap, JoinPolicy, ParallelSpec, WaitSpec,
};
use synthdev::engine::run_spec::MEASURES_SINCE;

/// Of a thousand random stories, every tenth one is restored: writing and reading states is most of their time.
fn restored_inputs(seed: u64) -> usize {
    if seed.is_multiple_of(10) { RESTORED_INPUTS } else { 0 }
}

fn tokens(soft: Option<u64>, hard: u64) -> Budget {
    Budget { tokens: BudgetCap { soft, hard: Some(hard) }, ..Budget::default() }
}

/// Speaks for ever; `last` speaks once.
fn looping(budget: Budget, on_limit: Option<usize>) -> Workflow {
    let states = vec![state("start", agent_state(), 0), state("last", agent_state(), 2)];
    Workflow { budget, on_limit: on_limit.map(StateIx), ..workflow(states) }
}

const ROUNDS: [&str; 4] = ["enter start", "model", "enter start 2", "model"];

#[test]
fn the_run_stops_before_the_next_call() {
    let costs = || vec![Act::Costs(50_000), Act::Costs(60_000)];
    let paused = |what: &'static str| [&ROUNDS[..], &[what, "end paused budget_exceeded"]].concat();
    let (tokens_told, cost_told) = ("budget run tokens 110000", "budget run cost_usd 110000");
    check_story("tokens", vec![looping(tokens(None, 100_000), None)], false, costs(), &paused(tokens_told));
    let dollars = Budget { cost_usd: BudgetCap { soft: None, hard: Some(99_999.5) }, ..Budget::default() };
    check_story("dollars", vec![looping(dollars, None)], false, costs(), &paused(cost_told));
    let time = Budget { duration_ms: BudgetCap { soft: None, hard: Some(100) }, ..Budget::default() };
    let slow = vec![Act::Costs(2), Act::Passes(150), Act::Costs(2)];
    check_story("duration", vec![looping(time, None)], false, slow, &paused("budget run duration 152"));
    check_story(
        "soft",
        vec![looping(tokens(Some(90_000), 100_000), None)],
        false,
        costs(),
        &paused(tokens_told),
    );
    let early = ["enter start", "model", "budget run tokens 50000", "enter start 2", "model"];
    let early = [&early[..], &["end paused budget_exceeded"]].concat();
    check_story("told once", vec![looping(tokens(Some(9), 100_000), None)], false, costs(), &early);
    let unknown = {
        let mut one = looping(dollars, None);
        one.agents[0].choice.price = None;
        one
    };
    let told =
        ["enter start", "warning price_unknown", "model", "enter start 2", "model", "enter start 3", "model"];
    check_story("no price", vec![unknown], false, costs(), &told);
}

/// The longest answer that the oldest call asks for.
fn longest_answer(play: &Play) -> Option<u64> {
    let Some(Effect::CallModel { request, .. }) = play.pending.first() else { panic!("{:?}", play.pending) };
    request.choice.parameters.max_output_tokens
}

#[test]
fn a_call_is_made_shorter_or_not_at_all() {
    let budget = || tokens(None, 100_000);
    let mut play = Play::new(vec![looping(budget(), None)], true);
    assert_eq!(
        longest_answer(&play),
        Some(8_192),
        "there is room for all that a model of no name is asked for"
    );
    play.perform_act(Act::Costs(95_000));
    // three messages of two tokens, eight around each
    assert_eq!(longest_answer(&play), Some(100_000 - 95_000 - 30));
    play.perform_act(Act::Costs(4_700));
    assert_eq!(play.lines.last().unwrap(), "ask budget.tokens", "300 are left, of which the prompt has 50");
    let pauses = play.machine.progress();
    assert!(pauses.usage.total() < 100_000);
    play.perform_act(Act::Answers(UserAnswer::Continue));
    assert_eq!(longest_answer(&play), Some(8_192), "the same again");
    play.finish_and_replay();

    // a warning reports an answer of a few hundred tokens; one without a limit cannot be made shorter
    let mut play = Play::new(vec![looping(tokens(None, 1_000), None)], false);
    assert_eq!(longest_answer(&play), Some(990));
    assert_eq!(play.lines, ["enter start", "warning answer_capped", "model"]);
    play.perform_act(Act::Costs(900));
    assert_eq!(play.lines.last().unwrap(), "end paused budget_exceeded");
    let error = play.machine.progress().error.unwrap();
    assert!(
        error.detail.contains("has used 900 tokens of 1000 tokens; the next call needs room for"),
        "{error:?}"
    );
    let mut uncapped = looping(tokens(None, 1_000), None);
    uncapped.agents[0].choice.uncapped = true;
    let play = Play::new(vec![uncapped], false);
    assert_eq!(play.lines, ["enter start", "end paused budget_exceeded"]);
}

/// An answer of any length would pass a hard budget: it gets an end wherever one counts.
#[test]
fn a_hard_budget_ends_the_answers_of_models_of_which_nothing_is_known() {
    let dollars = Budget { cost_usd: BudgetCap { soft: None, hard: Some(1e9) }, ..Budget::default() };
    let soft = Budget { tokens: BudgetCap { soft: Some(9), hard: None }, ..Budget::default() };
    let time = Budget { duration_ms: BudgetCap { soft: None, hard: Some(100_000) }, ..Budget::default() };
    let hard = || tokens(None, 1_000_000);
    let unknown = ModelChoice {
        price: Some(TokenPrice { input: 1.0, output: 1.0, ..TokenPrice::default() }),
        ..ModelChoice::default()
    };
    let free = ModelChoice { price: None, ..unknown.clone() };
    let window = ModelChoice { context_size: Some(20_000), ..unknown.clone() };
    let large = ModelChoice { context_size: Some(200_000), ..unknown.clone() };
    let known = ModelChoice { max_output: Some(16_000), ..unknown.clone() };
    let more = ModelChoice { max_output: Some(64_000), ..unknown.clone() };
    let mut set = unknown.clone();
    set.parameters.max_output_tokens = Some(5);
    let uncapped = ModelChoice { uncapped: true, ..unknown.clone() };
    let (now, before) = (MACHINE_VERSION, MEASURES_SINCE - 1);
    let rows = [
        ("tokens", hard(), &unknown, now, Some(8_192)),
        ("dollars", dollars, &unknown, now, Some(8_192)),
        ("no price", dollars, &free, now, None),
        ("nothing", Budget::default(), &unknown, now, None),
        ("soft", soft, &unknown, now, None),
        ("time", time, &unknown, now, None),
        ("a window", hard(), &window, now, Some(10_000)),
        ("a large window", hard(), &large, now, Some(32_000)),
        ("no more than that", hard(), &known, now, None),
        ("more than that", hard(), &more, now, Some(32_000)),
        ("set", hard(), &set, now, Some(5)),
        ("cannot be limited", hard(), &uncapped, now, None),
        ("before", hard(), &unknown, before, None),
        ("more, before", hard(), &more, before, Some(32_000)),
    ];
    for (about, budget, choice, version, expected) in rows {
        let mut one = looping(budget, None);
        one.agents[0].choice = choice.clone();
        let spec = RunSpec { machine_version: version, ..spec(vec![one], false) };
        assert_eq!(longest_answer(&Play::from_spec(spec)), expected, "{about}");
    }
}

/// Some servers refuse limits below one of their own: what cannot be asked for is not asked for.
#[test]
fn what_is_left_has_room_for_the_least_that_can_be_asked_for() {
    // the first prompt is taken for 10 tokens
    for (about, protocol, left, set, expected) in [
        ("the least", ModelProtocol::Responses, 26, None, Some(16)),
        ("less", ModelProtocol::Responses, 25, None, None),
        ("set to less", ModelProtocol::Responses, 26, Some(3), Some(3)),
        ("set to less, and less is left", ModelProtocol::Responses, 25, Some(3), None),
        ("a single one", ModelProtocol::Chat, 11, None, Some(1)),
        ("none", ModelProtocol::Chat, 10, None, None),
    ] {
        let mut one = looping(tokens(None, left), None);
        one.agents[0].choice.protocol = protocol;
        one.agents[0].choice.parameters.max_output_tokens = set;
        let play = Play::new(vec![one], false);
        let asked = (!play.pending.is_empty()).then(|| longest_answer(&play)).flatten();
        assert_eq!(asked, expected, "{about}");
        let told = if expected.is_some() { "model" } else { "end paused budget_exceeded" };
        assert_eq!(play.lines.last().unwrap(), told, "{about}");
    }
}

#[test]
fn a_run_of_before_is_looked_at_when_its_budget_is_used_up() {
    let mut old = spec(vec![looping(tokens(None, 1_000), None)], false);
    old.machine_version = 3;
    let mut play = Play::from_spec(old);
    for _ in 0..2 {
        assert_eq!(longest_answer(&play), None);
        play.perform_act(Act::Costs(600));
    }
    let told = [&ROUNDS[..], &["end paused budget_exceeded"]].concat();
    assert_eq!(play.finish_and_replay(), told);
}

/// Two agents take turns; the second one has a budget.
fn two_agents_workflow(budget: Budget, on_limit: Option<usize>) -> Workflow {
    let critic = StateBody::Agent {
        agent: AgentIx(1),
        function: AgentFunction::SendUserMessage,
        input: ValueSource::Text("look at it".to_owned()),
    };
    let states =
        vec![state("start", agent_state(), 1), state("judge", critic, 0), state("last", agent_state(), 3)];
    let mut one = Workflow { on_limit: on_limit.map(StateIx), ..workflow(states) };
    let own = AgentSpec { id: "critic".to_owned(), budget, ..one.agents[0].clone() };
    one.agents.push(own);
    one
}

#[test]
fn an_agent_s_budget_is_for_its_calls_in_the_whole_run() {
    let acts = || [5_000, 60_000, 7_000, 60_000, 9_000].map(Act::Costs).to_vec();
    let begin = ["enter start", "model", "enter judge", "model", "enter start 2", "model"];
    let then = ["enter judge 2", "model", "budget agent critic tokens 120000", "enter start 3", "model"];
    let rest = ["enter judge 3", "end paused budget_exceeded"];
    let expected = [&begin[..], &then, &rest].concat();
    check_story("paused", vec![two_agents_workflow(tokens(None, 100_000), None)], false, acts(), &expected);
    let led = ["enter judge 3", "on_limit takes budget_exceeded to last", "enter last", "model"];
    let expected = [&begin[..], &then, &led].concat();
    check_story(
        "led on",
        vec![two_agents_workflow(tokens(None, 100_000), Some(2))],
        false,
        acts(),
        &expected,
    );
    let asked = ["enter judge 3", "ask budget.tokens", "model", "enter start 4", "model"];
    let expected = [&begin[..], &then, &asked].concat();
    let more = [acts(), vec![Act::Answers(UserAnswer::Continue), Act::Costs(50_000)]].concat();
    check_story("raised", vec![two_agents_workflow(tokens(None, 100_000), None)], true, more, &expected);
}

#[test]
fn time_counts_without_a_model_call() {
    let wait = |target| state("start", StateBody::Wait(WaitSpec::For(ValueSource::Value(json!(1)))), target);
    let time =
        Budget { duration_ms: BudgetCap { soft: Some(1_500), hard: Some(2_500) }, ..Budget::default() };
    let one = |on_limit: Option<usize>| {
        let states = vec![wait(0), state("last", StateBody::None, 2)];
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
            [times(3), vec![Act::Answers(UserAnswer::Continue)]].concat(),
            vec!["ask budget.duration", "enter start 4", "waits until 5004"],
        ),
    ];
    for (about, workflows, interactive, acts, rest) in rows {
        check_story(about, workflows, interactive, acts, &[&begin[..], &rest].concat());
    }
    // the end of a workflow needs no budget
    let late = vec![Act::Passes(9_000), Act::Time];
    let ending = vec![Workflow { budget: time, ..workflow(vec![wait(1)]) }];
    check_story("too late to stop", ending, false, late, &[&begin[..2], &end].concat());
}

#[test]
fn branches_that_ask_the_same_are_granted_it_once() {
    let mut play = Play::new(vec![fan_workflow(2, tokens(None, 100), 10)], true);
    let asked = |play: &Play| play.lines.iter().filter(|line| *line == "ask budget.tokens").count();
    for tokens in [60, 60] {
        play.perform_act(Act::Costs(tokens));
    }
    assert_eq!(asked(&play), 2, "{:#?}", play.lines);
    for act in [Act::Answers(UserAnswer::Continue), Act::Answers(UserAnswer::Continue)] {
        play.perform_act(act);
    }
    // 120 are used and the end is at 220, not at 320
    for tokens in [60, 50] {
        play.perform_act(Act::Costs(tokens));
    }
    assert_eq!(asked(&play), 4, "{:#?}", play.lines);
}

#[test]
fn on_limit_has_a_tenth_to_end_well() {
    let led =
        ["on_limit takes budget_exceeded to last", "enter last", "model", "enter stop", "end completed"];
    let expected = |told: &'static str| [&ROUNDS[..], &[told], &led].concat();
    let acts = vec![Act::Costs(50_000), Act::Costs(55_000), Act::Says("in short")];
    let told = expected("budget run tokens 105000");
    check_story("led on", vec![looping(tokens(None, 100_000), Some(1))], false, acts, &told);
    // whatever the last call has used beyond the end
    let acts = vec![Act::Costs(50_000), Act::Costs(500_000), Act::Says("in short")];
    let told = expected("budget run tokens 550000");
    check_story("far beyond", vec![looping(tokens(None, 100_000), Some(1))], false, acts, &told);
    let time = Budget { duration_ms: BudgetCap { soft: None, hard: Some(100) }, ..Budget::default() };
    let acts = vec![Act::Costs(2), Act::Passes(5_000), Act::Costs(2), Act::Says("in short")];
    let told = expected("budget run duration 5002");
    check_story("far too late", vec![looping(time, Some(1))], false, acts, &told);
}

#[test]
fn a_person_grants_the_same_again() {
    let (costs, go, stop) =
        (Act::Costs(100_000), Act::Answers(UserAnswer::Continue), Act::Answers(UserAnswer::Stop));
    let acts = vec![costs.clone(), go, costs, stop];
    let told =
        ["budget run tokens 100000", "ask budget.tokens", "enter start 2", "model", "ask budget.tokens"];
    let expected = [&ROUNDS[..2], &told, &["end paused budget_exceeded"]].concat();
    check_story("tokens", vec![looping(tokens(None, 100_000), None)], true, acts, &expected);
}

#[test]
fn a_state_s_budget_is_for_one_visit_with_all_that_it_starts() {
    let start = StateSpec {
        budget: tokens(None, 100_000),
        ..with_recovery(
            state("start", child(), 1),
            RecoveryPolicy { catch: vec![catch_rule(&["budget_exceeded"], 1)], ..RecoveryPolicy::default() },
        )
    };
    let root = workflow(vec![start, state("other", agent_state(), 2)]);
    let inner = Workflow { name: "inner".to_owned(), ..workflow(vec![state("start", agent_state(), 0)]) };
    let expected = [
        "enter start",
        "enter inner/start",
        "model",
        "budget start tokens 100000",
        "catch takes budget_exceeded to other",
        "enter other",
        "model",
        "enter stop",
        "end completed",
    ];
    check_story("a child", vec![root, inner], false, vec![Act::Costs(100_000), Act::Costs(500)], &expected);
}

/// Branches that speak for ever, and a budget for all of them together.
fn fan_workflow(branches: usize, budget: Budget, answer: u64) -> Workflow {
    let name = |at: usize| format!("b{at}");
    let spec = ParallelSpec {
        branches: (0..branches).map(|at| BranchSpec { name: name(at), start: StateIx(1 + at) }).collect(),
        join: JoinPolicy::All,
        on_error: BranchErrors::FailFast,
        max_concurrency: None,
        merge: Default::default(),
    };
    let mut states = vec![state("start", StateBody::Parallel(spec), branches + 1)];
    states.extend((0..branches).map(|at| state(&format!("start.{}/s", name(at)), agent_state(), 1 + at)));
    let mut one = Workflow { budget, ..workflow(states) };
    one.limits.max_visits = 1_000;
    one.limits.max_steps = 10_000;
    one.agents[0].choice.parameters =
        ModelParameters { max_output_tokens: Some(answer), ..ModelParameters::default() };
    one
}
