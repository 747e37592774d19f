//! A thousand worlds in which much goes wrong: items that fail and are tolerated, branches whose failures are collected,
//! calls of which no answer comes, `catch` and `on_limit` that lead on, children that have ways out of their own, and
//! somebody who gives more from outside.
//!
//! The judge keeps its own sums: what it charges itself must stay within what the files declare, a tenth for each
//! workflow that can be led on, and what was given. It asks the machine for nothing but its ledger at the end.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::sim::luck::Luck;
use synthdev::domain::cost::AttemptUsage;
use synthdev::domain::journal::PauseReason;
use synthdev::domain::model::ModelRequest;
use synthdev::domain::workflow::ForEachSpec;
use synthdev::engine::input::ResumeInput;

const SEEDS: u64 = 1_000;

fn agent_state(agent: usize) -> StateBody {
    let input = ValueSource::Text("do it".to_owned());
    StateBody::Agent { agent: AgentIx(agent), function: AgentFunction::SendUserMessage, input }
}

fn budget(luck: &mut Luck, percent: usize, calls: usize) -> Budget {
    let mut budget = Budget::default();
    if luck.random_chance(percent) {
        budget.tokens.hard = luck.random_chance(60).then(|| (luck.random_between(150, 2_000) * calls) as u64);
        budget.cost_usd.hard =
            luck.random_chance(60).then(|| (luck.random_between(1, 200) * calls) as f64 / 1_000.0);
    }
    budget
}

/// One of them at random: a way out of the state for what its calls may meet.
fn with_random_exit(luck: &mut Luck, state: StateSpec, target: usize) -> StateSpec {
    match luck.random_below(4) {
        0 => StateSpec { on_limit: Some(StateIx(target)), ..state },
        1 => with_recovery(
            state,
            RecoveryPolicy {
                catch: vec![catch_rule(&["budget_exceeded", "model.transport"], target)],
                ..RecoveryPolicy::default()
            },
        ),
        _ => state,
    }
}

/// A loop whose items may fail, branches whose failures are collected, a child that is called again and again.
fn program(luck: &mut Luck) -> Vec<Workflow> {
    let many = u32::try_from(luck.random_between(1, 8)).unwrap();
    let each = ForEachSpec {
        items: ValueSource::Value((0..many).map(Value::from).collect()),
        each: "item".to_owned(),
        at: "index".to_owned(),
        start: StateIx(1),
        needs: Vec::new(),
        max_concurrency: Some(u32::try_from(luck.random_between(1, 4)).unwrap()),
        tolerated_failures: u32::try_from(luck.random_between(0, 8)).unwrap(),
        tolerated_percent: 0.0,
        handed_out: None,
        sub_agent: None,
    };
    let branches = ParallelSpec {
        branches: (0..2)
            .map(|at| BranchSpec { name: format!("b{at}"), start: StateIx(5 + 2 * at) })
            .collect(),
        join: JoinPolicy::All,
        on_error: luck.pick_item(&[BranchErrors::FailFast, BranchErrors::Collect]),
        max_concurrency: None,
        merge: Default::default(),
    };
    let stop = |name: &str| StateSpec { name: name.to_owned(), terminal: true, ..StateSpec::default() };
    let mut states = vec![state("start", StateBody::ForEach(each), 4)];
    let item = state("start/s", agent_state(luck.random_below(2)), 2);
    states.push(with_random_exit(luck, item, 2));
    states.push(state("start/rescue", agent_state(luck.random_below(2)), 3));
    states.push(stop("start/stop"));
    states.push(state("fan", StateBody::Parallel(branches), 9));
    for at in 0..2 {
        states.push(state(&format!("fan.b{at}/s"), agent_state(luck.random_below(2)), 6 + 2 * at));
        states.push(stop(&format!("fan.b{at}/stop")));
    }
    let child_again = StateSpec { max_visits: Some(4), ..state("again", child(), 10) };
    let round = Transition { target: StateIx(9), condition: Some(CONDITION), before: None };
    let on = Transition { target: StateIx(10), condition: None, before: None };
    states.push(with_random_exit(luck, StateSpec { transitions: vec![round, on], ..child_again }, 10));
    states.push(state("after", agent_state(luck.random_below(2)), 11));
    let mut root = Workflow { budget: budget(luck, 85, 8), ..workflow(states) };
    root.on_limit = luck.random_chance(40).then_some(StateIx(10));
    let inner = vec![state("start", agent_state(0), 1), state("last", agent_state(0), 2)];
    let mut inner = Workflow { name: "inner".to_owned(), ..workflow(inner) };
    inner.on_limit = luck.random_chance(50).then_some(StateIx(1));
    let agent = |id: &str, of: &Workflow, luck: &mut Luck| {
        let mut agent = AgentSpec { id: id.to_owned(), budget: budget(luck, 40, 4), ..of.agents[0].clone() };
        agent.choice.price = Some(TokenPrice {
            input: luck.random_between(0, 50) as f64,
            output: luck.random_between(0, 200) as f64,
            ..TokenPrice::default()
        });
        agent.choice.max_output = Some(luck.random_between(300, 20_000) as u64);
        agent
    };
    root.agents = vec![agent("a", &root, luck), agent("b", &root, luck)];
    inner.agents = vec![agent("c", &inner, luck)];
    vec![root, inner]
}

/// What one owner of a budget may use and has used.
struct Account {
    budget: Budget,
    /// Tokens and dollars.
    used: [f64; 2],
    granted: [f64; 2],
}

struct Judge {
    seed: u64,
    accounts: BTreeMap<String, Account>,
    /// How many workflows can be led on: each is given a tenth of an end, once.
    exit_count: usize,
    total: TokenUsage,
}

impl Judge {
    fn new(seed: u64, workflows: &[Workflow]) -> Self {
        let mut budgets = BTreeMap::from([("the run".to_owned(), workflows[0].budget)]);
        for agent in workflows.iter().flat_map(|one| &one.agents) {
            budgets.insert(format!("agent {}", agent.id), agent.budget);
        }
        let account = |budget| Account { budget, used: [0.0; 2], granted: [0.0; 2] };
        let leads = |one: &&Workflow| {
            one.on_limit.is_some()
                || one.states.iter().any(|state| state.on_limit.is_some() || !state.recovery.catch.is_empty())
        };
        Self {
            seed,
            accounts: budgets.into_iter().map(|(owner, budget)| (owner, account(budget))).collect(),
            exit_count: workflows.iter().filter(leads).count(),
            total: TokenUsage::default(),
        }
    }

    fn count_usage(&mut self, request: &ModelRequest, usage: &TokenUsage) {
        let (seed, ways) = (self.seed, self.exit_count as f64);
        self.total.add(usage);
        let usd = request.choice.price.unwrap().cost_usd(usage);
        for owner in ["the run".to_owned(), format!("agent {}", request.agent)] {
            let account = self.accounts.get_mut(&owner).unwrap();
            account.used[0] += usage.total() as f64;
            account.used[1] += usd;
            let hard = [account.budget.tokens.hard.map(|tokens| tokens as f64), account.budget.cost_usd.hard];
            for (kind, hard) in hard.into_iter().enumerate().filter_map(|(kind, hard)| Some((kind, hard?))) {
                let end = hard * (1.0 + ways / 10.0) + account.granted[kind] + 1e-6;
                let spent = account.used[kind];
                assert!(
                    spent <= end,
                    "seed {seed}: {owner} used {spent} of {hard}, {ways} ways, up to {end}"
                );
            }
        }
    }
}

fn usage(luck: &mut Luck, request: &ModelRequest) -> TokenUsage {
    let up_to = |luck: &mut Luck, most: u64| match luck.random_below(4) {
        0 => most,
        _ => luck.random_between(0, usize::try_from(most).unwrap()) as u64,
    };
    let most = request.choice.parameters.max_output_tokens.unwrap_or(request.choice.answer_tokens());
    let completion = if luck.random_chance(70) { up_to(luck, most.min(200)) } else { up_to(luck, most) };
    TokenUsage { prompt: up_to(luck, request.tokens_at_most()), completion, ..TokenUsage::default() }
}

/// How a call ends: with an answer, with none, or with the end of the run.
fn random_answer(luck: &mut Luck, judge: &mut Judge, call: CallId, request: &ModelRequest) -> Input {
    let usage = usage(luck, request);
    judge.count_usage(request, &usage);
    if luck.random_chance(20) {
        let error = ModelError::Transport { detail: "cut".to_owned() };
        let used = vec![AttemptUsage { usage, estimated: luck.random_chance(50), ..AttemptUsage::default() }];
        return Input::ModelFailed { call, error, attempts: 1, used, again: luck.random_chance(30) };
    }
    Input::Replied { call, reply: ModelReply { usage, ..text_reply("words", 2) } }
}

/// Somebody takes the run up again from outside and gives more, each owner the same amount once.
fn grant_more(luck: &mut Luck, judge: &mut Judge, play: &Play) -> Input {
    let (tokens, usd) =
        (luck.random_between(100, 3_000) as f64, luck.random_between(1, 500) as f64 / 1_000.0);
    let mut given = BTreeSet::new();
    let answers = play.machine.open_pauses().into_iter().map(|pause| {
        if pause.reason != PauseReason::Budget {
            return (pause.call, UserAnswer::Continue);
        }
        let owner = pause.message.split(" has used ").next().unwrap().to_owned();
        let kind = usize::from(pause.kind.as_deref() == Some("cost_usd"));
        let more = if kind == 0 { tokens } else { usd };
        if given.insert((owner.clone(), kind)) {
            judge.accounts.get_mut(&owner).unwrap().granted[kind] += more;
        }
        (pause.call, UserAnswer::Value { value: json!({"budget": more}) })
    });
    Input::Resumed(Box::new(ResumeInput { answers: answers.collect(), ..ResumeInput::default() }))
}

#[test]
fn a_thousand_worlds_where_much_goes_wrong_stay_within_their_budgets() {
    let (mut failed, mut led, mut gave, mut parked) = (0, 0, 0, 0);
    for seed in 0..SEEDS {
        let luck = &mut Luck::new(seed + 40_000);
        let workflows = program(luck);
        let mut judge = Judge::new(seed, &workflows);
        let mut play = Play::new(workflows, false);
        play.restored_inputs = restored_inputs(seed);
        let mut gifts = luck.random_below(4);
        loop {
            if play.pending.is_empty() {
                let ended = play.machine.progress().status.as_str() == "completed";
                parked += usize::from(!ended && gifts == 0);
                if ended || gifts == 0 || play.machine.open_pauses().is_empty() {
                    break;
                }
                gifts -= 1;
                gave += 1;
                let more = grant_more(luck, &mut judge, &play);
                play.clock += 1;
                play.feed_input(more);
                continue;
            }
            let at = luck.random_below(play.pending.len());
            play.clock += 1;
            let input = match play.pending.remove(at) {
                Effect::CallModel { call, request } => random_answer(luck, &mut judge, call, &request),
                Effect::Evaluate { call, .. } => {
                    let chosen = Some(usize::from(luck.random_chance(50)));
                    Input::Evaluated { call, outcome: ScriptOutcome { chosen, ..ScriptOutcome::default() } }
                }
                other => panic!("seed {seed}: {other:?}"),
            };
            play.feed_input(input);
        }
        // nothing that was used is missing, and nothing is there twice
        assert_eq!(play.machine.progress().usage, judge.total, "seed {seed}");
        failed += usize::from(play.lines.iter().any(|line| line.contains("model.transport")));
        led += usize::from(play.lines.iter().any(|line| line.contains("takes budget_exceeded")));
        if seed % 25 == 0 {
            play.finish_and_replay();
        }
    }
    assert!(failed > 150 && led > 150 && gave > 300 && parked > 150, "{failed} {led} {gave} {parked}");
}
