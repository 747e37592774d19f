//! What no answer came of is paid for all the same, and everything at the price of what served it.

use super::*;
use synthdev::domain::cost::{AttemptUsage, CostEntry};

fn attempt_usage(tokens: u64, estimated: bool) -> AttemptUsage {
    let usage = TokenUsage { prompt: tokens, ..TokenUsage::default() };
    AttemptUsage { usage, estimated, ..AttemptUsage::default() }
}

fn ledger(play: &Play) -> Vec<CostEntry> {
    play.machine.ledger().entries.iter().collect()
}

fn take_model_call(play: &mut Play) -> CallId {
    play.take_call(|effect| matches!(effect, Effect::CallModel { .. }))
}

fn error() -> ModelError {
    ModelError::Transport { detail: "cut".to_owned() }
}

/// (tokens, dollars, estimated)
fn ledger_sums(play: &Play) -> (u64, Option<f64>, bool) {
    let progress = play.machine.progress();
    (progress.usage.total(), progress.cost_usd, ledger(play).iter().any(|entry| entry.estimated))
}

#[test]
fn attempts_of_which_no_answer_came_are_charged() {
    let one = || vec![looping(tokens(None, 100_000), None)];
    let mut play = Play::new(one(), false);
    let call = take_model_call(&mut play);
    let attempts = vec![attempt_usage(300, false), attempt_usage(200, true)];
    play.feed_input(Input::ModelFailed {
        call,
        error: error(),
        attempts: 2,
        used: attempts.clone(),
        again: false,
    });
    assert_eq!(ledger_sums(&play), (500, Some(500.0), true));
    let [entry] = &ledger(&play)[..] else { panic!("{:?}", ledger(&play)) };
    assert_eq!((entry.agent.as_str(), entry.state.as_str()), ("writer", "start"));
    play.finish_and_replay();

    // an answer after them counts with them, in one line
    let mut play = Play::new(one(), false);
    let call = take_model_call(&mut play);
    play.feed_input(Input::Replied {
        call,
        reply: ModelReply { failed: attempts, ..text_reply("words", 40) },
    });
    assert_eq!((ledger_sums(&play), ledger(&play).len()), ((540, Some(540.0), true), 1));
    play.finish_and_replay();

    // and the budget knows: the next call is not made
    let mut play = Play::new(vec![looping(tokens(None, 1_000), None)], false);
    let call = take_model_call(&mut play);
    play.feed_input(Input::Replied {
        call,
        reply: ModelReply { failed: vec![attempt_usage(980, false)], ..text_reply("a", 10) },
    });
    assert_eq!(play.lines.last().unwrap(), "end paused budget_exceeded");
    play.finish_and_replay();
}

#[test]
fn what_is_stopped_is_charged() {
    // by the user
    let mut play = Play::new(vec![fan_workflow(2, tokens(None, 100_000), 10)], false);
    let calls: Vec<CallId> = play.pending.iter().filter_map(effect_call).collect();
    let by_calls = calls.iter().map(|call| (*call, attempt_usage(70, true))).collect();
    play.feed_input(Input::Cancelled { partial: Vec::new(), end: true, used: by_calls });
    assert_eq!(ledger_sums(&play), (140, Some(140.0), true));
    assert_eq!(ledger(&play)[1].state, "start.b1/s");
    play.finish_and_replay();

    // by a time limit: the driver reports the usage right after
    let slow = StateSpec { timeout_ms: Some(1_000), ..state("start", agent_state(), 0) };
    let mut play = Play::new(vec![workflow(vec![slow])], false);
    let call = play.pending.iter().find_map(effect_call).unwrap();
    play.perform_act(Act::Time);
    assert_eq!(play.lines.last().unwrap(), "end failed timeout");
    play.feed_input(Input::Stopped { call, used: vec![attempt_usage(70, true), attempt_usage(30, false)] });
    assert_eq!(ledger_sums(&play), (100, Some(100.0), true));
    // nobody is charged twice, nor for what was not stopped
    play.feed_input(Input::Stopped { call, used: vec![attempt_usage(70, true)] });
    play.feed_input(Input::Stopped { call: CallId(99), used: vec![attempt_usage(70, true)] });
    assert_eq!(ledger_sums(&play).0, 100);
    play.finish_and_replay();
}

#[test]
fn a_model_that_answers_in_another_s_place_has_its_own_price() {
    let price = |input: f64| TokenPrice { input: input * 1_000_000.0, ..TokenPrice::default() };
    let world = |version: u32| {
        let mut one = looping(
            Budget { cost_usd: BudgetCap { soft: None, hard: Some(10_000.0) }, ..Budget::default() },
            None,
        );
        let choice = &mut one.agents[0].choice;
        (choice.model, choice.base_url) = ("gpt-4.1".to_owned(), "http://here/v1".to_owned());
        choice.price = Some(price(1.0));
        Play::from_spec(RunSpec { machine_version: version, ..spec(vec![one], false) })
    };
    let rows = [
        ("gpt-4.1", None, MACHINE_VERSION, Some(10.0)),
        ("gpt-4.1-2025-04-14", None, MACHINE_VERSION, Some(10.0)),
        ("openai/gpt-4.1:latest", None, MACHINE_VERSION, Some(10.0)),
        ("gpt-4.1-mini", Some(price(0.5)), MACHINE_VERSION, Some(5.0)),
        ("gpt-5", None, MACHINE_VERSION, None),
        // as runs of before were charged
        ("gpt-5", None, 4, Some(10.0)),
    ];
    for (served, price, version, cost) in rows {
        let mut play = world(version);
        let call = take_model_call(&mut play);
        let usage = TokenUsage { prompt: 10, ..TokenUsage::default() };
        let model = Some(served.to_owned());
        play.feed_input(Input::Replied {
            call,
            reply: ModelReply { model, price, usage, ..text_reply("a", 10) },
        });
        assert_eq!(ledger(&play)[0].cost_usd, cost, "{served} {version}");
        assert_eq!(ledger(&play)[0].model, served);
        play.finish_and_replay();
    }
    // what is not known costs the budget what was asked for, in the run as in the agent: it ends all the same
    let mut play = world(MACHINE_VERSION);
    for _ in 0..2 {
        let call = take_model_call(&mut play);
        let usage = TokenUsage { prompt: 5_000, ..TokenUsage::default() };
        play.feed_input(Input::Replied {
            call,
            reply: ModelReply { model: Some("gpt-5".to_owned()), usage, ..text_reply("a", 10) },
        });
    }
    assert_eq!(ledger_sums(&play), (10_000, None, false));
    assert_eq!(play.lines.last().unwrap(), "end paused budget_exceeded", "{:?}", play.lines);
    // a dearer one that has answered may do so again: the next call is judged by its price
    let mut play = world(MACHINE_VERSION);
    let call = take_model_call(&mut play);
    let usage = TokenUsage { prompt: 1, ..TokenUsage::default() };
    let model = Some("gpt-5".to_owned());
    let reply = ModelReply { model, price: Some(price(9_000.0)), usage, ..text_reply("a", 10) };
    play.feed_input(Input::Replied { call, reply });
    assert_eq!(play.lines.last().unwrap(), "end paused budget_exceeded", "{:?}", play.lines);
}

#[test]
fn a_stopped_call_is_paid_for_where_it_was_made() {
    let soft = tokens(Some(50), 100_000);
    let timed =
        |work: StateBody| StateSpec { timeout_ms: Some(1_000), budget: soft, ..state("start", work, 0) };
    let stopped = |play: &mut Play| {
        let call = play.pending.iter().find_map(effect_call).unwrap();
        play.perform_act(Act::Time);
        play.feed_input(Input::Stopped { call, used: vec![attempt_usage(70, false)] });
        assert_eq!(ledger_sums(play).0, 70);
        play.lines.iter().filter(|line| line.starts_with("budget")).cloned().collect::<Vec<String>>()
    };
    // where the next state has been entered by then, it pays nothing
    let led_on = with_recovery(
        timed(agent_state()),
        RecoveryPolicy { catch: vec![catch_rule(&["timeout"], 1)], ..RecoveryPolicy::default() },
    );
    let next = StateSpec { budget: soft, ..state("next", agent_state(), 2) };
    let last = StateSpec { name: "last".to_owned(), terminal: true, ..StateSpec::default() };
    let mut play = Play::new(vec![workflow(vec![led_on, next, last])], false);
    assert_eq!(stopped(&mut play), Vec::<String>::new(), "{:?}", play.lines);
    assert!(play.lines.contains(&"enter next".to_owned()), "{:?}", play.lines);
    play.finish_and_replay();

    // nested forks are gone: the enclosing scopes pay
    let fork = |name: &str, start: usize| {
        StateBody::Parallel(ParallelSpec {
            branches: vec![BranchSpec { name: name.to_owned(), start: StateIx(start) }],
            join: JoinPolicy::All,
            on_error: BranchErrors::FailFast,
            max_concurrency: None,
            merge: Default::default(),
        })
    };
    let states = vec![
        timed(fork("b", 1)),
        state("start.b/mid", fork("c", 2), 1),
        state("start.b/mid.c/s", agent_state(), 2),
    ];
    let mut play = Play::new(vec![workflow(states)], true);
    assert_eq!(stopped(&mut play), ["budget start tokens 70"], "{:?}", play.lines);
    play.finish_and_replay();
}
