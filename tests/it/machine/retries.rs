//! What a retry does again, and what it must not.

use super::*;
use synthdev::domain::tool::{ToolRisk, ToolSpec};
use synthdev::domain::workflow::{ActionExpectation, ActionSpec, StateOutputSpec};

fn shell() -> StateBody {
    let (tool, risk, arguments) = ("shell".to_owned(), ToolRisk::Read, Vec::new());
    StateBody::Action(ActionSpec { tool, risk, arguments, expect: ActionExpectation::Ok })
}

fn script_ran() -> Act {
    Act::Tool(ToolOutcome { ok: true, content: "the words".to_owned(), ..ToolOutcome::default() })
}

fn retry_all(max_attempts: u32) -> RecoveryPolicy {
    RecoveryPolicy { retry: vec![retry_rule(&["*"], max_attempts, 0)], ..RecoveryPolicy::default() }
}

/// Leaves only where the condition holds.
fn guarded(work: StateBody, recovery: RecoveryPolicy) -> StateSpec {
    let transitions = vec![Transition { target: StateIx(1), condition: Some(CONDITION), before: None }];
    StateSpec { transitions, ..with_recovery(state("start", work, 1), recovery) }
}

#[test]
fn work_that_is_done_is_not_done_again() {
    let begin = ["enter start", "run shell {}", "retry 2/3 in 0 after expression"];
    let again = ["retry 3/3 in 0 after expression"];
    let rows = [
        ("at last", vec![Act::Chooses(0)], vec!["enter stop", "end completed"]),
        ("never", vec![Act::Throws(CONDITION)], vec!["end failed expression"]),
    ];
    for (about, last, rest) in rows {
        let acts = vec![script_ran(), Act::Throws(CONDITION), Act::Time, Act::Throws(CONDITION), Act::Time];
        let expected = [&begin[..], &again, &rest].concat();
        let one = vec![workflow(vec![guarded(shell(), retry_all(3))])];
        check_story(about, one, false, [acts, last].concat(), &expected);
    }
}

#[test]
fn a_result_that_does_not_fit_is_asked_for_again() {
    let store = Some(StateOutputSpec { key: None, schema: Some(json!({"type": "integer"})) });
    let start = StateSpec { store, ..with_recovery(state("start", agent_state(), 1), retry_all(2)) };
    let expected =
        ["enter start", "model", "retry 2/2 in 0 after validation", "model", "enter stop", "end completed"];
    let acts = vec![Act::Says("many"), Act::Time, Act::Says("7")];
    check_story("validation", vec![workflow(vec![start])], false, acts, &expected);
}

#[test]
fn a_state_that_is_being_left_is_not_tried_again() {
    let before = CatchRule { before: Some(BEFORE), ..catch_rule(&["tool.failed"], 1) };
    let start =
        with_recovery(state("start", shell(), 1), RecoveryPolicy { catch: vec![before], ..retry_all(1) });
    let start = StateSpec {
        recovery: RecoveryPolicy { retry: vec![retry_rule(&["script"], 3, 0)], ..start.recovery },
        ..start
    };
    let failed = Act::Tool(ToolOutcome { ok: false, ..ToolOutcome::default() });
    let expected = ["enter start", "run shell {}", "catch takes tool.failed to stop", "end failed script"];
    let acts = vec![failed, Act::Throws(BEFORE)];
    check_story("before of a catch", vec![workflow(vec![start])], false, acts, &expected);
}

#[test]
fn a_person_who_tries_again_asks_the_agent_but_repeats_no_step() {
    let rows = [
        (agent_state(), vec![Act::Says("what?")], vec!["model", "enter stop", "end completed"]),
        (shell(), vec![script_ran()], vec!["enter stop", "end completed"]),
    ];
    for (work, mut acts, rest) in rows {
        let about = format!("{work:?}");
        let first = if rest.len() == 3 { "model" } else { "run shell {}" };
        let nothing = |chosen| if chosen { Act::Chooses(0) } else { Act::Chooses(9) };
        let again = if rest.len() == 3 { vec![Act::Says("this")] } else { Vec::new() };
        acts.extend([nothing(false), Act::Answers(UserAnswer::Continue)]);
        acts.extend(again);
        acts.push(nothing(true));
        let expected = [&["enter start", first, "ask failed no_transition"], &rest[..]].concat();
        check_story(
            &about,
            vec![workflow(vec![guarded(work, RecoveryPolicy::default())])],
            true,
            acts,
            &expected,
        );
    }
}

#[test]
fn the_next_attempt_sees_what_the_tools_of_the_last_one_did() {
    let tool = ToolSpec {
        name: "deploy".to_owned(),
        description: String::new(),
        parameters: json!({"type": "object"}),
        risk: ToolRisk::Read,
        repeat: None,
    };
    for side in [ConversationSide::Assistant, ConversationSide::User] {
        let mut one = workflow(vec![
            with_recovery(state("start", agent_state(), 1), retry_all(2)),
            state("next", agent_state(), 2),
        ]);
        one.agents[0].side = side;
        one.agents[0].tools = [tool.clone()].into();
        let mut other = one.agents[0].clone();
        (other.id, other.side) = ("other".to_owned(), ConversationSide::Assistant);
        one.agents.push(other);
        one.states[1].work = StateBody::Agent {
            agent: AgentIx(1),
            function: AgentFunction::SendUserMessage,
            input: ValueSource::Text("and you".to_owned()),
        };
        let mut play = Play::new(vec![one], false);
        let seen = |play: &Play| {
            let Some(Effect::CallModel { request, .. }) = play.pending.last() else {
                panic!("{:?}", play.lines)
            };
            request.messages.iter().filter(|message| message.content.contains("deployed it")).count()
        };
        for act in [
            Act::Calls("deploy"),
            Act::Tool(ToolOutcome { ok: true, content: "deployed it".to_owned(), ..ToolOutcome::default() }),
        ] {
            play.perform_act(act);
        }
        assert_eq!(seen(&play), 1, "{side:?}");
        play.perform_act(broken_model());
        play.perform_act(Act::Time);
        assert_eq!(seen(&play), 1, "{side:?}, tried again");
        // a decision is for the agent alone: no other agent sees its work
        play.perform_act(Act::Says("done"));
        assert_eq!(play.lines.iter().filter(|line| line.starts_with("run ")).count(), 1);
        play.perform_act(Act::Says("me too"));
        play.finish_and_replay();
    }
}

#[test]
fn private_work_of_a_state_that_was_left_is_seen_by_nobody() {
    let mut one = workflow(vec![
        with_recovery(
            state("start", agent_state(), 1),
            RecoveryPolicy { catch: vec![catch_rule(&["*"], 1)], ..RecoveryPolicy::default() },
        ),
        state("next", agent_state(), 2),
    ]);
    one.agents[0].side = ConversationSide::User;
    one.agents[0].tools = [ToolSpec {
        name: "deploy".to_owned(),
        description: String::new(),
        parameters: json!({"type": "object"}),
        risk: ToolRisk::Read,
        repeat: None,
    }]
    .into();
    let mut play = Play::new(vec![one], false);
    play.perform_act(Act::Calls("deploy"));
    play.perform_act(Act::Tool(ToolOutcome {
        ok: true,
        content: "deployed it".to_owned(),
        ..ToolOutcome::default()
    }));
    play.perform_act(broken_model());
    let Some(Effect::CallModel { request, .. }) = play.pending.last() else { panic!("{:?}", play.lines) };
    assert!(request.messages.iter().all(|message| !message.content.contains("deployed it")));
    play.perform_act(Act::Says("done"));
    play.finish_and_replay();
}
