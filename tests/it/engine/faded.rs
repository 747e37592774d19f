//! Who only looks at a long run holds the texts that its agents still see, and no others.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use synthdev::domain::ids::Timestamp;
use synthdev::domain::model::ModelReply;
use synthdev::domain::script::{ScopePatch, ScriptMessage, ScriptOutcome, TriedGuard};
use synthdev::engine::effect::Effect;
use synthdev::engine::event::{RunEvent, StepEvent};
use synthdev::engine::input::Input;
use synthdev::engine::machine::Machine;
use synthdev::engine::replay::replay_inputs;
use synthdev::engine::run_spec::RunSpec;
use synthdev::engine::streaming_replay::{NeedsFullReplay, StreamingReplay};

use super::super::support::stage::{Stage, Texts, spec};

/// To write a machine out as text takes as long as all of its inputs do.
const LOOK_EVERY: usize = 8;

fn short() -> Value {
    json!({"name": "talk", "max_length": 2_000})
}

/// So many inputs of two agents in turn; a view has room for about ten of their messages.
fn play_inputs(inputs: usize, context: &Value) -> (Arc<RunSpec>, Vec<(Timestamp, Input)>) {
    let turn = |name: &str, agent: &str, next: &str| json!({"name": name, "agent": agent, "input": "common_data.task", "transition": [{"target": next}]});
    let workflow = json!({
        "workflow_name": "case", "snapshot": "off",
        "input": {"name": "task", "type": "string"},
        "limits": {"max_steps": 5_000, "max_visits": 5_000, "max_model_calls": 5_000},
        "contexts": [context],
        "agents": [
            {"name": "one", "agent_role": "writer", "context": "talk", "role": "assistant"},
            {"name": "two", "agent_role": "writer", "context": "talk", "role": "user"}],
        "states": [turn("start", "one", "other"), turn("other", "two", "start"), {"name": "stop"}]
    });
    let Texts { roles, .. } = super::texts(&json!({}), json!({}));
    let stage = Stage::new(&Texts { roles, workflows: vec![workflow.to_string()], ..Texts::default() });
    let program = stage.catalog.program("case").unwrap_or_else(|found| panic!("{found:#?}"));
    let spec = Arc::new(spec(program, Map::from_iter([("task".to_owned(), json!("t"))])));
    let mut machine = Machine::new(Arc::clone(&spec));
    let mut all = vec![(Timestamp(0), Input::Started { seed: 1 })];
    while all.len() < inputs {
        let (at, input) = all.last().unwrap().clone();
        let effect = machine.handle_input(at, input).effects.pop().expect("it goes on");
        let input = match effect {
            Effect::CallModel { call, .. } => {
                let text = format!("{} {}", all.len(), "and so it goes on. ".repeat(10));
                Input::Replied { call, reply: ModelReply { text, ..ModelReply::default() } }
            }
            Effect::Evaluate { call, .. } => Input::Evaluated {
                call,
                outcome: ScriptOutcome {
                    chosen: Some(0),
                    values: vec![Some(json!("go on"))],
                    tried: vec![TriedGuard { held: true, value: "true".to_owned() }],
                    ..ScriptOutcome::default()
                },
            },
            other => panic!("nobody answers {other:?}"),
        };
        all.push((Timestamp(at.0 + 1), input));
    }
    (spec, all)
}

#[test]
fn old_texts_are_let_go_of_and_nothing_is_told_differently() {
    let (spec, inputs) = play_inputs(800, &short());
    let whole = replay_inputs(Arc::clone(&spec), inputs.clone());
    let trimmed = |(_, event): &&(_, StepEvent)| matches!(&**event, RunEvent::Warning { code, .. } if code == "context_trimmed");
    assert!(whole.events.iter().filter(trimmed).count() > 5, "views have moved on");
    let mut kept = Vec::new();
    for every in [1, 7, 100_000] {
        let (mut look, mut events) =
            (StreamingReplay::new(Arc::clone(&spec)).with_compaction(every), Vec::new());
        for (at, input) in inputs.clone() {
            assert_eq!(look.feed_input(at, input, &mut |at, event| events.push((at, event))), Ok(()));
        }
        let machine = look.finish(&mut |at, event| events.push((at, event)));
        assert!(events == whole.events, "every {every}");
        assert_eq!(machine.progress(), whole.machine.progress());
        kept.push(format!("{machine:?}").matches("and so it goes on.").count());
    }
    assert!(kept[0] < kept[2] / 10, "{kept:?}");
}

#[test]
fn a_script_that_rewrites_a_conversation_needs_all_of_it() {
    let (spec, mut inputs) = play_inputs(400, &short());
    let message = ScriptMessage { role: "user".to_owned(), content: "new".to_owned(), origin: Some(0) };
    let is_evaluated = |(_, input): &(Timestamp, Input)| matches!(input, Input::Evaluated { .. });
    let place = inputs.iter().rposition(is_evaluated).unwrap();
    let Input::Evaluated { outcome, .. } = &mut inputs[place].1 else { unreachable!() };
    let contexts = [("talk".to_owned(), vec![message])].into_iter().collect();
    outcome.patch = ScopePatch { contexts, ..ScopePatch::default() };
    let feed = |every: usize| {
        let mut look = StreamingReplay::new(Arc::clone(&spec)).with_compaction(every);
        inputs.iter().try_for_each(|(at, input)| look.feed_input(*at, input.clone(), &mut |_, _| {}))?;
        Ok(format!("{:?}", look.finish(&mut |_, _| {})))
    };
    // compaction is due when the script's result is known already, but not applied
    let known = place + 1;
    assert_eq!(feed(known), feed(100_000), "nothing is dropped before a rewrite");
    assert_eq!(feed(1), Err(NeedsFullReplay));
}

/// Where scripts may look at a conversation, the old part of it is packed: they see and change all of it as before.
#[test]
fn scripts_see_all_of_a_conversation_that_was_packed() {
    for pinned in [0, 2] {
        let context = json!({"name": "talk", "max_length": 2_000, "pin_first": pinned});
        let (spec, inputs) = play_inputs(360, &context);
        let (mut whole, mut brief) = (Machine::new(Arc::clone(&spec)), Machine::new(spec));
        let (mut seen, mut rewritten, mut packed) = (Vec::new(), 0, 0);
        for (number, (at, mut input)) in inputs.into_iter().enumerate() {
            if let (Input::Evaluated { outcome, .. }, true) = (&mut input, number / 150 > rewritten) {
                rewritten += 1;
                let mut messages: Vec<ScriptMessage> = std::mem::take(&mut seen);
                assert!(messages.len() > 50, "{}", messages.len());
                // one is gone, one is changed, all others stay what they were
                messages.remove(3);
                messages[7].content.push_str(" (changed)");
                outcome.patch.contexts = vec![("talk".to_owned(), messages)];
            }
            let told = [&mut whole, &mut brief].map(|machine| machine.handle_input(at, input.clone()));
            for effect in &told[0].effects {
                if let Effect::Evaluate { job, .. } = effect {
                    seen = job.scope.contexts[0].messages.to_vec();
                }
            }
            let told = told.map(|output| {
                let effects = output.effects.into_iter().map(|effect| match effect {
                    Effect::Evaluate { call, job } => {
                        format!("{call} {:?}", job.scope.contexts[0].messages.to_vec())
                    }
                    other => format!("{other:?}"),
                });
                (effects.collect::<Vec<_>>(), output.events)
            });
            assert_eq!(told[0], told[1], "{number}");
            brief.pack_old();
            if number % LOOK_EVERY == 0 {
                let held = [&whole, &brief]
                    .map(|machine| format!("{machine:?}").matches("and so it goes on.").count());
                packed += usize::from(held[1] < held[0] / 3);
            }
        }
        assert_eq!(rewritten, 2);
        let least = 100 / LOOK_EVERY;
        assert!(packed > least, "at {packed} looks it has held less than a third");
    }
}

/// Whoever drives a run forgets as well: what models are asked stays the same, with what is always shown to them.
#[test]
fn models_are_asked_the_same_whatever_was_forgotten() {
    let pinned = json!({"name": "talk", "max_length": 2_000, "pin_first": 2,
        "starting_messages": [{"role": "user", "content": "the first word"}]});
    for context in [short(), pinned] {
        let (spec, inputs) = play_inputs(600, &context);
        let (mut whole, mut brief) = (Machine::new(Arc::clone(&spec)), Machine::new(spec));
        let asked = |machine: &mut Machine, at, input: &Input| {
            let effects = machine.handle_input(at, input.clone()).effects;
            let calls = effects.into_iter().filter(|effect| matches!(effect, Effect::CallModel { .. }));
            format!("{:?}", calls.collect::<Vec<_>>())
        };
        let mut forgot = false;
        for (at, input) in &inputs {
            assert_eq!(asked(&mut brief, *at, input), asked(&mut whole, *at, input), "{context}");
            forgot = brief.forget_old();
        }
        assert!(forgot, "{context}");
    }
}
