//! What random programs do about errors, time, money and people.

use serde_json::{Value, json};
use synthdev::domain::ids::{ScriptIx, StateIx};
use synthdev::domain::tool::ToolRisk;
use synthdev::domain::workflow::{
    ActionExpectation, ActionSpec, Budget, BudgetCap, CatchRule, OnError, PauseKind, PauseSpec,
    RecoveryPolicy, RetryBackoff, RetryRule, StateBody, StateSpec, ValueSource, WaitSpec, Workflow,
};

use super::super::luck::Luck;

/// States are reached only within their own list: the workflow's, or that of a branch or loop body.
pub fn add_remedies(luck: &mut Luck, workflow: &mut Workflow) {
    let scope = |state: &StateSpec| state.name.rsplit_once('/').map(|(scope, _)| scope.to_owned());
    let scopes: Vec<Option<String>> = workflow.states.iter().map(scope).collect();
    for at in 0..workflow.states.len() {
        let near: Vec<StateIx> =
            (0..scopes.len()).filter(|other| scopes[*other] == scopes[at]).map(StateIx).collect();
        let state = &mut workflow.states[at];
        let plain = matches!(state.work, StateBody::Agent { .. } | StateBody::None) && !state.terminal;
        if plain && luck.random_chance(25) {
            state.work = action(luck, &near);
            state.expects.clear();
        }
        if luck.random_chance(50) {
            state.recovery = recovery(luck, &near);
        }
        state.timeout_ms = luck.random_chance(12).then_some(500);
        state.budget = if luck.random_chance(12) { budget(luck) } else { Budget::default() };
        state.max_visits = luck.random_chance(10).then(|| u32::try_from(luck.random_below(4)).unwrap());
        state.on_limit = luck.random_chance(10).then(|| luck.pick_item(&near));
    }
    let main: Vec<StateIx> = (0..=workflow.stop.0).map(StateIx).collect();
    workflow.budget = if luck.random_chance(20) { budget(luck) } else { Budget::default() };
    workflow.timeout_ms = luck.random_chance(12).then_some(5_000);
    let go = OnError::Go(luck.pick_item(&main));
    workflow.on_error = luck.pick_item(&[OnError::Fail, OnError::Fail, OnError::Continue, go]);
    workflow.on_limit = luck.random_chance(20).then(|| luck.pick_item(&main));
    workflow.lenient = luck.random_chance(12);
    workflow.resume = luck.random_chance(20).then(|| luck.pick_item(&main));
    workflow.limits.max_model_calls =
        luck.random_chance(20).then(|| u32::try_from(luck.random_below(9)).unwrap());
}

fn errors(luck: &mut Luck) -> Vec<String> {
    let names =
        ["*", "model.*", "tool", "script", "sub_workflow_failed", "limit", "timeout", "budget_exceeded"];
    (0..luck.random_between(1, 2)).map(|_| luck.pick_item(&names).to_owned()).collect()
}

fn recovery(luck: &mut Luck, near: &[StateIx]) -> RecoveryPolicy {
    let retry = |luck: &mut Luck| RetryRule {
        errors: errors(luck),
        max_attempts: u32::try_from(luck.random_below(4)).unwrap(),
        backoff: RetryBackoff {
            delay_ms: luck.pick_item(&[0, 1_000]),
            factor: luck.pick_item(&[1.0, 2.0, f64::MAX]),
            max_delay_ms: 60_000,
            jitter: luck.random_chance(50),
        },
    };
    let catch = |luck: &mut Luck| CatchRule {
        errors: errors(luck),
        key: luck.random_chance(50).then(|| "error".to_owned()),
        before: luck.random_chance(40).then_some(ScriptIx(1)),
        target: luck.pick_item(near),
    };
    let policies = [OnError::Fail, OnError::Continue, OnError::Go(luck.pick_item(near))];
    RecoveryPolicy {
        retry: (0..luck.random_below(3)).map(|_| retry(luck)).collect(),
        catch: (0..luck.random_below(3)).map(|_| catch(luck)).collect(),
        fallback: luck.random_chance(15).then(|| json!("instead")),
        on_error: luck.random_chance(25).then(|| luck.pick_item(&policies)),
    }
}

fn budget(luck: &mut Luck) -> Budget {
    let mut budget = Budget::default();
    let amount = luck.random_between(0, 120);
    match luck.random_below(3) {
        0 => budget.tokens = BudgetCap { soft: Some(amount as u64 / 2), hard: Some(amount as u64) },
        1 => budget.cost_usd = BudgetCap { soft: None, hard: Some(amount as f64) },
        _ => budget.duration_ms = BudgetCap { soft: Some(20), hard: luck.random_chance(70).then_some(90) },
    }
    budget
}

fn action(luck: &mut Luck, near: &[StateIx]) -> StateBody {
    let input = luck.pick_item(&[
        ValueSource::Absent,
        ValueSource::Text("7".to_owned()),
        ValueSource::Script(ScriptIx(3)),
    ]);
    match luck.random_below(5) {
        0 | 1 => StateBody::Action(ActionSpec {
            tool: "shell".to_owned(),
            risk: luck.pick_item(&[ToolRisk::Read, ToolRisk::Write, ToolRisk::Execute]),
            arguments: (0..luck.random_below(3)).map(|at| (vec![format!("a{at}")], input.clone())).collect(),
            expect: luck.pick_item(&[
                ActionExpectation::Ok,
                ActionExpectation::Any,
                ActionExpectation::OneOf(vec![0, 1]),
            ]),
        }),
        2 | 3 => StateBody::Pause(pause(luck, input, near)),
        _ if luck.random_chance(60) => StateBody::Wait(if luck.random_chance(50) {
            WaitSpec::For(input)
        } else {
            WaitSpec::Until(input)
        }),
        _ => StateBody::Fail { error: "own.error".to_owned(), cause: input },
    }
}

fn pause(luck: &mut Luck, message: ValueSource, near: &[StateIx]) -> PauseSpec {
    let kinds = [
        PauseKind::Approval,
        PauseKind::Text,
        PauseKind::Text,
        PauseKind::Number,
        PauseKind::Choice,
        PauseKind::Outputs,
    ];
    PauseSpec {
        kind: luck.pick_item(&kinds),
        message,
        choices: vec!["hello".to_owned(), "no".to_owned()],
        schema: luck.random_chance(10).then(|| json!({"type": "string"})),
        required_outputs: Vec::new(),
        default: luck.pick_item(&[None, None, Some(Value::from("hello"))]),
        ttl_ms: luck.random_chance(30).then_some(700),
        on_timeout: luck.random_chance(50).then(|| luck.pick_item(near)),
        request: None,
    }
}
