//! Every question is closed, even if its answer is no longer needed; every fork reports its end.

use super::*;
use synthdev::domain::tool::ToolRisk;
use synthdev::domain::workflow::{
    ActionExpectation, ActionSpec, BranchErrors, BranchSpec, JoinPolicy, ParallelSpec, PauseKind, PauseSpec,
};

fn approval() -> StateBody {
    let (tool, risk) = ("shell".to_owned(), ToolRisk::Execute);
    StateBody::Action(ActionSpec { tool, risk, arguments: Vec::new(), expect: ActionExpectation::Ok })
}

fn question() -> StateBody {
    StateBody::Pause(PauseSpec {
        kind: PauseKind::Approval,
        message: ValueSource::Text("well?".to_owned()),
        choices: Vec::new(),
        schema: None,
        required_outputs: Vec::new(),
        default: None,
        ttl_ms: None,
        on_timeout: None,
        request: None,
    })
}

/// One branch speaks, the other one asks.
fn fork(asks: StateBody, timeout_ms: Option<u64>) -> Workflow {
    let branch = |name: &str, start| BranchSpec { name: name.to_owned(), start: StateIx(start) };
    let spec = ParallelSpec {
        branches: vec![branch("a", 1), branch("b", 3)],
        join: JoinPolicy::Any,
        on_error: BranchErrors::FailFast,
        max_concurrency: None,
        merge: Default::default(),
    };
    let ending = |name: &str| StateSpec { name: name.to_owned(), terminal: true, ..StateSpec::default() };
    workflow(vec![
        StateSpec { timeout_ms, ..state("start", StateBody::Parallel(spec), 5) },
        state("start.a/s", agent_state(), 2),
        ending("start.a/stop"),
        state("start.b/s", asks, 4),
        ending("start.b/stop"),
    ])
}

#[test]
fn a_question_that_is_overtaken_is_closed_and_every_fork_ends() {
    let cancel = || Input::Cancelled { partial: Vec::new(), end: true, used: Vec::new() };
    for asks in [approval(), question()] {
        let ways = ["joined", "timed out", "cancelled"];
        for way in ways {
            let mut play = Play::new(vec![fork(asks.clone(), Some(500))], true);
            let asked = play
                .pending
                .iter()
                .find(|effect| matches!(effect, Effect::AskApproval { .. } | Effect::AskPerson { .. }));
            let asked = asked.and_then(effect_call).unwrap_or_else(|| panic!("{:?}", play.pending));
            match way {
                "joined" => play.perform_act(Act::Says("done")),
                "timed out" => play.perform_act(Act::Time),
                _ => play.feed_input(cancel()),
            }
            let ReplayResult { events, .. } = replay_inputs(Arc::clone(&play.spec), play.inputs.clone());
            let closed = events.iter().filter(|(_, event)| **event == RunEvent::question_withdrawn(asked));
            assert_eq!(closed.count(), 1, "{way}: {asks:?}");
            let joined =
                events.iter().filter(|(_, event)| matches!(**event, RunEvent::Joined { .. })).count();
            assert_eq!(joined, usize::from(way != "cancelled"), "{way}: {asks:?}");
            assert!(!play.pending.iter().any(|effect| effect_call(effect) == Some(asked)), "{way}");
        }
    }
}
