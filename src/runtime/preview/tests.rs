use serde_json::{Map, json};

use super::*;
use synthdev_domain::context::MessageAuthor;
use synthdev_domain::ids::CallId;
use synthdev_domain::journal::RunStatus;
use synthdev_domain::message::ChatRole;

fn run_started() -> RunEvent {
    RunEvent::RunStarted {
        workflow: "w".to_owned(),
        definition: String::new(),
        inputs: Map::new(),
        chat: false,
        budget: None,
        replayed: false,
    }
}

fn message_event(text: &str) -> RunEvent {
    RunEvent::MessageAdded {
        context: "c".to_owned(),
        author: MessageAuthor::Workflow,
        role: ChatRole::User,
        text: text.to_owned(),
        private: false,
        call: None,
    }
}

fn model_replied(agent: &str, model: &str, cost_usd: Option<f64>) -> RunEvent {
    RunEvent::Replied {
        call: CallId(1),
        agent: agent.to_owned(),
        side: ConversationSide::Assistant,
        text: "ok".to_owned(),
        reasoning: String::new(),
        tool_calls: Vec::new(),
        model: model.to_owned(),
        usage: TokenUsage { prompt: 100, completion: 10, ..TokenUsage::default() },
        cost_usd,
        duration_ms: 1,
        estimated: false,
    }
}

fn run_resumed() -> RunEvent {
    RunEvent::Resumed { present: true, again: Vec::new(), definition: None, notes: Vec::new() }
}

fn run_finished(path: usize) -> RunEvent {
    RunEvent::Finished {
        status: RunStatus::Paused,
        output: None,
        error: None,
        path: vec!["state".to_owned(); path],
        snapshot: None,
        usage: TokenUsage::default(),
        cost_usd: None,
    }
}

fn at_each_second(events: Vec<RunEvent>) -> RecentEvents {
    let mut ring = RecentEvents::default();
    for (second, event) in (0..).zip(events) {
        ring.record_events(Timestamp(second * 1_000), &[event.into()]);
    }
    ring
}

fn stored_preview(ring: &RecentEvents) -> Option<RunPreview> {
    ring.to_preview_json().map(|text| {
        assert!(text.len() <= BYTES, "{}", text.len());
        serde_json::from_str(&text).unwrap()
    })
}

#[test]
fn the_last_events_are_kept_and_the_others_counted() {
    for (heard, kept) in
        [(0, None), (1, None), (EVENTS, None), (EVENTS + 1, Some(EVENTS)), (5_000, Some(EVENTS))]
    {
        let events: Vec<RunEvent> = (0..heard).map(|at| message_event(&at.to_string())).collect();
        let preview = stored_preview(&at_each_second(events.clone()));
        assert_eq!(preview.as_ref().map(|preview| preview.events.len()), kept, "{heard}");
        let Some(preview) = preview else { continue };
        assert_eq!(preview.before.events as usize, heard - EVENTS);
        let left: Vec<RunEvent> = preview.events.into_iter().map(|(_, event)| event).collect();
        assert_eq!(left, events[heard - EVENTS..]);
    }
}

#[test]
fn it_is_no_larger_than_allowed_whatever_happened() {
    let long = message_event(&"\u{1}ü\"".repeat(TEXT));
    let wide = RunEvent::DataChanged {
        state: "s".to_owned(),
        set: (0..50_000).map(|at| (format!("key {at}"), json!(at))).collect(),
        removed: Vec::new(),
    };
    let many = |event: &RunEvent| vec![event.clone(); EVENTS];
    for (events, least) in [
        // a long text is cut, and many of them leave less room
        (vec![long.clone(); 8], None),
        (many(&long), Some(10)),
        ([vec![run_started()], many(&message_event("short")), vec![long.clone()]].concat(), Some(EVENTS)),
        // what can neither be cut nor has room ends it
        (
            [many(&message_event("early")), vec![wide.clone()], vec![message_event("late"); 3]].concat(),
            Some(3),
        ),
        ([many(&message_event("early")), vec![wide.clone()]].concat(), None),
        // a long path has no part in it
        ([many(&message_event("early")), vec![run_finished(100_000)]].concat(), Some(EVENTS)),
    ] {
        let heard = events.len();
        let preview = stored_preview(&at_each_second(events));
        assert_eq!(preview.is_some(), least.is_some(), "{least:?}");
        let Some((preview, least)) = preview.zip(least) else { continue };
        assert!(preview.events.len() >= least, "{} of {least}", preview.events.len());
        assert_eq!(preview.events.len() + preview.before.events as usize, heard);
    }
}

#[test]
fn what_was_left_out_is_summed_up() {
    let mut events = vec![
        run_started(),
        model_replied("coder", "m-1", Some(0.5)),
        model_replied("reviewer", "m-2", None),
        model_replied("coder", "m-3", Some(0.25)),
        run_finished(3),
        message_event("while nobody was there"),
        run_resumed(),
    ];
    let begun = events.len();
    events.extend((0..EVENTS).map(|at| message_event(&at.to_string())));
    let before = stored_preview(&at_each_second(events)).unwrap().before;
    assert_eq!(before.events as usize, begun);
    let sums: Vec<_> =
        before.agents.iter().map(|sum| (&*sum.name, &*sum.model, sum.usage.prompt, sum.cost_usd)).collect();
    assert_eq!(sums, [("coder", "m-3", 200, Some(0.75)), ("reviewer", "m-2", 100, None)]);
    assert_eq!((before.worked_ms, before.since), (4_000, Some(Timestamp(6_000))));
    assert!(!before.chat);
    // a process that died worked until its last event
    let events = [
        vec![run_started(), message_event("1"), message_event("2"), run_resumed()],
        vec![message_event("x"); EVENTS],
    ]
    .concat();
    assert_eq!(stored_preview(&at_each_second(events)).unwrap().before.worked_ms, 2_000);
}

#[test]
fn a_run_that_goes_on_keeps_what_it_had() {
    let events: Vec<RunEvent> =
        [vec![run_started(), model_replied("coder", "m", None)], vec![message_event("x"); 400]].concat();
    let told = events.iter().cloned().enumerate();
    let again = RecentEvents::from_events(
        told.map(|(second, event)| (Timestamp(second as i64 * 1_000), event.into())),
    );
    assert_eq!(again.to_preview_json(), at_each_second(events).to_preview_json());
}
