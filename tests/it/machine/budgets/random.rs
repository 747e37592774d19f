//! A thousand random runs: prices, budgets of the run, of states and of agents, branches beside each other, and answers
//! of any length up to what was asked for. No budget is ever passed, and one that is raised leads to the same end.

use std::collections::BTreeMap;

use super::*;
use crate::sim::luck::Luck;
use synthdev::domain::ids::CallId;
use synthdev::domain::model::ModelRequest;

const SEEDS: u64 = 1_000;

/// Branches of a few states each, one agent a branch; then one state more.
fn program(luck: &mut Luck) -> Workflow {
    let branches = luck.random_between(1, 5);
    let length = luck.random_between(1, 4);
    let name = |at: usize| format!("b{at}");
    let first = |branch: usize| 1 + branch * (length + 1);
    let end = 1 + branches * (length + 1);
    let spec = ParallelSpec {
        branches: (0..branches).map(|at| BranchSpec { name: name(at), start: StateIx(first(at)) }).collect(),
        join: JoinPolicy::All,
        on_error: BranchErrors::FailFast,
        max_concurrency: None,
        merge: Default::default(),
    };
    let speaks = |agent: usize| StateBody::Agent {
        agent: AgentIx(agent),
        function: AgentFunction::SendUserMessage,
        input: ValueSource::Text("do it".to_owned()),
    };
    let mut states =
        vec![StateSpec { budget: budget(luck, 35, 5), ..state("start", StateBody::Parallel(spec), end) }];
    for branch in 0..branches {
        for step in 0..length {
            let name = format!("start.{}/s{step}", name(branch));
            let one = state(&name, speaks(branch), first(branch) + step + 1);
            states.push(StateSpec { budget: budget(luck, 15, 1), ..one });
        }
        let name = format!("start.{}/stop", name(branch));
        states.push(StateSpec { name, terminal: true, ..StateSpec::default() });
    }
    states.push(state("after", speaks(0), end + 1));
    let mut whole = Workflow { budget: budget(luck, 85, 6), ..workflow(states) };
    whole.agents = (0..branches)
        .map(|at| {
            let price = TokenPrice {
                input: luck.random_between(0, 50) as f64,
                output: luck.random_between(0, 200) as f64,
                cached: luck.random_chance(50).then_some(1.5),
                written: luck.random_chance(50).then(|| luck.random_between(1, 80) as f64),
            };
            let mut agent =
                AgentSpec { id: format!("a{at}"), budget: budget(luck, 25, 3), ..whole.agents[0].clone() };
            agent.choice.model = format!("m{}", luck.random_below(3));
            agent.choice.price = luck.random_chance(85).then_some(price);
            agent.choice.max_output = Some(luck.random_between(300, 90_000) as u64);
            agent.choice.parameters = ModelParameters {
                max_output_tokens: luck.random_chance(60).then(|| luck.random_between(10, 3_000) as u64),
                ..ModelParameters::default()
            };
            agent
        })
        .collect();
    whole
}

/// Tokens, dollars, both or nothing; for about so many calls.
fn budget(luck: &mut Luck, percent: usize, calls: usize) -> Budget {
    let mut budget = Budget::default();
    if luck.random_chance(percent) {
        budget.tokens.hard = luck.random_chance(60).then(|| (luck.random_between(150, 3_000) * calls) as u64);
        budget.cost_usd.hard =
            luck.random_chance(60).then(|| (luck.random_between(1, 300) * calls) as f64 / 1_000.0);
    }
    budget
}

/// What was used, by whose budget it counts for.
#[derive(Default)]
struct Account {
    tokens: u64,
    usd: f64,
}

impl Account {
    fn add_usage(&mut self, usage: &TokenUsage, price: Option<TokenPrice>) {
        self.tokens += usage.total();
        self.usd += price.map_or(0.0, |price| price.cost_usd(usage));
    }
}

struct Judge {
    workflow: Workflow,
    accounts: BTreeMap<String, Account>,
    /// Hard ends that were raised, by owner and kind.
    raised: BTreeMap<(String, String), f64>,
    /// Calls by state that are under way at once, at most.
    max_concurrent: usize,
}

impl Judge {
    fn new(workflow: &Workflow) -> Self {
        Self {
            workflow: workflow.clone(),
            accounts: BTreeMap::new(),
            raised: BTreeMap::new(),
            max_concurrent: 0,
        }
    }

    /// Whose budgets a call counts for. A state's one is for one visit, which is one call here.
    fn budget_owners(&self, call: CallId, request: &ModelRequest) -> Vec<(String, Budget, String)> {
        let named = |name: &str| self.workflow.states.iter().find(|state| state.name == name);
        let agent = self.workflow.agents.iter().find(|agent| agent.id == request.agent).unwrap();
        let state = named(&request.state).unwrap();
        let mut owners = vec![
            ("run".to_owned(), self.workflow.budget, "run".to_owned()),
            (format!("agent {}", agent.id), agent.budget, format!("agent {}", agent.id)),
            (state.name.clone(), state.budget, format!("{} {call}", state.name)),
        ];
        if state.name != "after" {
            owners.push(("start".to_owned(), self.workflow.states[0].budget, "start".to_owned()));
        }
        owners
    }

    fn count_usage(&mut self, seed: u64, call: CallId, request: &ModelRequest, usage: &TokenUsage) {
        for (owner, budget, account) in self.budget_owners(call, request) {
            let account = self.accounts.entry(account).or_default();
            account.add_usage(usage, request.choice.price);
            let end = |kind: &str, hard: Option<f64>| {
                let raised = self.raised.get(&(owner.clone(), kind.to_owned())).copied();
                raised.or(hard).unwrap_or(f64::INFINITY)
            };
            let tokens = end("tokens", budget.tokens.hard.map(|tokens| tokens as f64));
            assert!(
                account.tokens as f64 <= tokens,
                "seed {seed}: {owner} used {} of {tokens}",
                account.tokens
            );
            let usd = end("cost_usd", budget.cost_usd.hard);
            assert!(account.usd <= usd + 1e-9, "seed {seed}: {owner} used ${} of ${usd}", account.usd);
        }
    }
}

/// Anything up to what the call may use.
fn usage(luck: &mut Luck, request: &ModelRequest) -> TokenUsage {
    let up_to = |luck: &mut Luck, most: u64| match luck.random_below(4) {
        0 => most,
        _ => luck.random_between(0, usize::try_from(most).unwrap()) as u64,
    };
    let most = request.choice.parameters.max_output_tokens.unwrap_or(request.choice.answer_tokens());
    let prompt = up_to(luck, request.tokens_at_most());
    let cached = up_to(luck, prompt);
    let written = up_to(luck, prompt - cached);
    // most answers are short, so that a run gets far
    let completion = if luck.random_chance(70) { up_to(luck, most.min(200)) } else { up_to(luck, most) };
    TokenUsage { prompt, completion, cached, written, ..TokenUsage::default() }
}

/// Plays a run to its end, granting more whenever it is asked for, or not at all.
fn play_run(seed: u64, workflow: &Workflow, luck: &mut Luck, grants: bool) -> (Play, Judge) {
    let mut play = Play::new(vec![workflow.clone()], grants);
    play.restored_inputs = restored_inputs(seed);
    let mut judge = Judge::new(workflow);
    while !play.machine.is_over_or_suspended() {
        let calls = play.pending.iter().filter(|effect| matches!(effect, Effect::CallModel { .. })).count();
        judge.max_concurrent = judge.max_concurrent.max(calls);
        let at = luck.random_below(play.pending.len());
        let effect = play.pending.remove(at);
        play.clock += 1;
        match effect {
            Effect::CallModel { call, request } => {
                let usage = usage(luck, &request);
                judge.count_usage(seed, call, &request, &usage);
                play.feed_input(Input::Replied {
                    call,
                    reply: ModelReply { usage, ..text_reply("words", 2) },
                });
            }
            Effect::AskPerson { call, .. } => {
                play.feed_input(Input::Answered { call, answer: UserAnswer::Continue })
            }
            other => panic!("seed {seed}: {other:?}"),
        }
        for (owner, what, hard) in play.raised.drain(..) {
            judge.raised.insert((owner, what), hard);
        }
    }
    (play, judge)
}

#[test]
fn a_thousand_runs_never_pass_a_budget_and_end_the_same_when_it_is_raised() {
    let (mut paused, mut raised, mut beside, mut nearly) = (0, 0, 0, 0);
    for seed in 0..SEEDS {
        let workflow = program(&mut Luck::new(seed));
        let free = {
            let mut free = workflow.clone();
            free.budget = Budget::default();
            free.states.iter_mut().for_each(|state| state.budget = Budget::default());
            free.agents.iter_mut().for_each(|agent| agent.budget = Budget::default());
            free
        };
        let entered = |play: &Play| {
            let mut lines: Vec<String> =
                play.lines.iter().filter(|line| line.starts_with("enter ")).cloned().collect();
            lines.sort();
            lines
        };
        let (whole, _) = play_run(seed, &free, &mut Luck::new(seed + 7_000), false);
        assert_eq!(whole.lines.last().unwrap(), "end completed", "seed {seed}");

        let (alone, judge) = play_run(seed, &workflow, &mut Luck::new(seed + 8_000), false);
        let progress = alone.machine.progress();
        beside += usize::from(judge.max_concurrent > 1);
        if progress.status.as_str() == "paused" {
            paused += 1;
            assert_eq!(progress.error.as_ref().unwrap().code, "budget_exceeded", "seed {seed}");
            nearly += usize::from(progress.usage.total() > 0);
        }

        let (granted, judge) = play_run(seed, &workflow, &mut Luck::new(seed + 9_000), true);
        assert_eq!(granted.lines.last().unwrap(), "end completed", "seed {seed}: {:#?}", granted.lines);
        assert_eq!(entered(&granted), entered(&whole), "seed {seed}");
        let ledger = granted.machine.ledger();
        assert_eq!(ledger.entries.len(), whole.machine.ledger().entries.len(), "seed {seed}");
        raised += usize::from(!judge.raised.is_empty());
        if seed % 25 == 0 {
            alone.finish_and_replay();
            granted.finish_and_replay();
        }
    }
    assert!(
        paused > 250 && raised > 250 && beside > 300 && nearly > 150,
        "{paused} {raised} {beside} {nearly}"
    );
}
