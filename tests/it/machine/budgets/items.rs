//! Limits that many items or children reach: a failing item raises no limit, and `on_limit` raises a limit once for each
//! workflow, even if each branch counts by its own sums.

use super::*;
use synthdev::domain::workflow::ForEachSpec;
use synthdev::engine::input::ResumeInput;

/// So many items one after the other, each of which speaks once; as many may fail.
fn items(many: u32, budget: Budget) -> Workflow {
    let spec = ForEachSpec {
        items: ValueSource::Value((0..many).map(Value::from).collect()),
        each: "item".to_owned(),
        at: "index".to_owned(),
        start: StateIx(1),
        needs: Vec::new(),
        max_concurrency: Some(1),
        tolerated_failures: many,
        tolerated_percent: 0.0,
        handed_out: None,
        sub_agent: None,
    };
    let ending = StateSpec { name: "start/stop".to_owned(), terminal: true, ..StateSpec::default() };
    let mut one = workflow(vec![
        state("start", StateBody::ForEach(spec), 3),
        state("start/s", agent_state(), 2),
        ending,
    ]);
    one.agents[0].budget = budget;
    one
}

/// Every call uses so much; what all of them used, and how the run ended.
fn play_all(spec: RunSpec, each: u64) -> (u64, Play) {
    let mut play = Play::from_spec(spec);
    let mut used = 0;
    while play.pending.iter().any(|effect| matches!(effect, Effect::CallModel { .. })) {
        play.perform_act(Act::Costs(each));
        used += each;
    }
    (used, play)
}

fn spec_of_version(workflows: Vec<Workflow>, machine_version: u32) -> RunSpec {
    RunSpec { machine_version, ..spec(workflows, false) }
}

#[test]
fn a_failing_item_gives_its_agent_nothing() {
    // an item that fails for the budget of its agent moved its end by a tenth, which let some of the others speak
    for (version, most) in [(MACHINE_VERSION, 1_000), (4, u64::MAX)] {
        let one = items(100, tokens(None, 1_000));
        let (used, play) = play_all(spec_of_version(vec![one], version), 90);
        assert!(used <= most, "version {version}: {used}");
        assert_eq!(play.raised.is_empty(), version == MACHINE_VERSION, "{:?}", play.raised);
        assert_eq!(play.lines.last().unwrap(), "end completed");
        play.finish_and_replay();
    }
}

#[test]
fn children_that_are_led_on_share_a_tenth() {
    let root = || {
        let again = StateSpec { max_visits: Some(100), ..state("start", child(), 0) };
        Workflow { budget: tokens(None, 1_000), ..workflow(vec![again]) }
    };
    // each child speaks until its way out is taken, and ends with one word more
    let inner = || Workflow {
        name: "inner".to_owned(),
        on_limit: Some(StateIx(1)),
        ..workflow(vec![state("start", agent_state(), 0), state("last", agent_state(), 2)])
    };
    for (version, most) in [(MACHINE_VERSION, 1_100), (4, u64::MAX)] {
        let (used, play) = play_all(spec_of_version(vec![root(), inner()], version), 40);
        assert!(used > 700 && used <= most, "version {version}: {used}");
        assert_eq!(play.raised.len() > 1, version == 4, "{:?}", play.raised);
        play.finish_and_replay();
    }
}

#[test]
fn a_person_gives_so_much_more() {
    let more = |amount: Value| Act::Answers(UserAnswer::Value { value: amount });
    let rows = [
        // 990 are used
        (json!(500), Some(1_490.0)),
        (json!({"budget": 250.0}), Some(1_240.0)),
        // so much was left already
        (json!(10), None),
        (json!(5), None),
        // what is no amount is as much again
        (json!("continue"), Some(2_000.0)),
    ];
    for (amount, end) in rows {
        let mut play = Play::new(vec![looping(tokens(None, 1_000), None)], true);
        play.perform_act(Act::Costs(990));
        assert_eq!(play.lines.last().unwrap(), "ask budget.tokens");
        play.perform_act(more(amount.clone()));
        let raised: Vec<_> =
            end.map(|end| ("run".to_owned(), "tokens".to_owned(), end)).into_iter().collect();
        assert_eq!(play.raised, raised, "{amount}");
        play.finish_and_replay();
    }
    // as much again is enough for the call that asked for it, however small the budget was
    let mut small = looping(tokens(None, 100), None);
    small.agents[0].choice.max_output = Some(32_000);
    small.agents[0].choice.parameters.max_output_tokens = Some(20_000);
    small.agents[0].system_prompt = "long ".repeat(400);
    let mut play = Play::new(vec![small], true);
    play.perform_act(Act::Answers(UserAnswer::Continue));
    assert_eq!(play.lines.iter().filter(|line| *line == "ask budget.tokens").count(), 1, "{:?}", play.lines);
    // branches that wait for the same are given it once
    let mut play =
        Play::from_spec(spec_of_version(vec![fan_workflow(3, tokens(None, 100), 10)], MACHINE_VERSION));
    for _ in 0..3 {
        play.perform_act(Act::Costs(40));
    }
    assert_eq!(play.lines.last().unwrap(), "end paused budget_exceeded");
    let pauses = play.machine.open_pauses();
    assert!(pauses.len() > 1 && pauses[0].kind.as_deref() == Some("tokens"), "{pauses:?}");
    let answer = UserAnswer::Value { value: json!({"budget": 200}) };
    let answers = pauses.iter().map(|pause| (pause.call, answer.clone())).collect();
    play.feed_input(Input::Resumed(Box::new(ResumeInput { answers, ..ResumeInput::default() })));
    let used = play.machine.progress().usage.total();
    assert_eq!(play.raised, [("run".to_owned(), "tokens".to_owned(), used as f64 + 200.0)]);
}
