//! The stored preview of a long run that pauses is the end of what its journal says.

use serde_json::json;
use synthdev::domain::ids::{CallId, RunId, Timestamp};
use synthdev::engine::event::{RunEvent, StepEvent};
use synthdev::engine::input::UserAnswer;
use synthdev::runtime::command::RunCommand;
use synthdev::runtime::preview::{EVENTS, INPUTS, RunPreview};
use synthdev::runtime::resume::ResumeRequest;
use synthdev::runtime::time_travel::StepChanges;
use synthdev::tui::past_run::{PastRun, SHOWN};
use synthdev::tui::transcript::item::TranscriptItem;
use synthdev::tui::update::past_run::{fold_events, from_preview};

use super::super::support::stage::{Stage, spec};
use super::{question, texts};

/// The writer answers, a script loops, the user is asked; and all of that once more.
fn looping_stage(rounds: usize) -> Stage {
    let round = |name: &str, target: &str| {
        json!({"name": name, "action": {"script": "common_data.count += 1"}, "transition": [
            {"target": name, "condition": format!("common_data.count % {rounds} != 0")}, {"target": target}]})
    };
    let gate = |name: &str, target: &str| {
        json!({"name": name, "type": "pause", "kind": "text", "message": {"text": "go on?"},
            "output": {"as": "said"}, "transition": [{"target": target}]})
    };
    let states = json!([
        {"name": "start", "agent": "writer", "input": "'write'", "transition": [{"target": "first"}]},
        round("first", "gate"),
        gate("gate", "second"),
        round("second", "last"),
        gate("last", "stop"),
        {"name": "stop", "input": "'done'"}]);
    let limits = json!({"max_steps": 5_000, "max_visits": 5_000});
    let more = json!({"input": null, "snapshot": "off", "variables": {"count": 0}, "limits": limits, "states": states});
    Stage::new(&texts(&more, json!({"writer": [{"text": "Once."}]})))
}

pub(super) async fn parked_run(rounds: usize) -> (Stage, RunId) {
    let mut stage = looping_stage(rounds);
    let program = stage.catalog.program("case").unwrap_or_else(|found| panic!("{found:#?}"));
    let run = stage.start_run(spec(program, serde_json::Map::new()));
    stage.wait_end().await;
    wait_idle(&stage).await;
    (stage, run)
}

/// What is written when a run ends is written.
pub(super) async fn wait_idle(stage: &Stage) {
    while !stage.handle.running_runs().is_empty() {
        tokio::task::yield_now().await;
    }
}

pub(super) async fn answer_question(stage: &mut Stage, run: &RunId, present: bool) {
    let call = open_call(stage, run);
    let answers = vec![(call, UserAnswer::Text { text: "yes".into() })];
    stage
        .handle
        .resume(run, ResumeRequest { answers, user_present: present, ..ResumeRequest::default() })
        .await
        .unwrap();
}

fn open_call(stage: &Stage, run: &RunId) -> CallId {
    stage.handle.open_pauses(run, None).unwrap()[0].call
}

fn without_steps(events: Vec<(Timestamp, StepEvent)>) -> Vec<(Timestamp, RunEvent)> {
    events.into_iter().map(|(at, event)| (at, event.event)).collect()
}

/// The glance is the end of the story, and looks like it.
fn check_preview(stage: &Stage, run: &RunId) {
    let record = stage.handle.load_record(run.as_str()).unwrap();
    let glance = stage.handle.load_preview(run).expect("it was stored");
    let from = record.events.len() - EVENTS;
    assert_eq!(glance.before.events as usize, from);
    let whole_events = without_steps(record.events);
    let mut last = whole_events[from..].to_vec();
    for (_, event) in &mut last {
        if let RunEvent::Finished { path, .. } = event {
            path.clear();
        }
    }
    assert_eq!(glance.events, last);
    assert_eq!(glance.before.agents.len(), 1, "the writer spoke before");

    let past = from_preview(&record.summary, glance, &[]);
    let whole = fold_events(run, whole_events, record.ledger);
    let same = whole.items.len().min(past.items.len());
    assert!((20..=SHOWN).contains(&same));
    assert_eq!(last_items(&past, same), last_items(&whole, same));
    let (seen, known) = (&past.view, &whole.view);
    assert_eq!((&seen.state, &seen.workflow, seen.chat), (&known.state, &known.workflow, known.chat));
    assert_eq!((&seen.agents, &seen.path), (&known.agents, &known.path));
    assert_eq!(
        (seen.worked_ms, seen.busy_since, seen.is_over),
        (known.worked_ms, known.busy_since, known.is_over)
    );
    assert_eq!(
        (seen.ledger.usage(), seen.ledger.cost_usd().is_some()),
        (known.ledger.usage(), known.ledger.cost_usd().is_some())
    );
    assert!(seen.session_costs.entries.is_empty());
}

/// The last items. Of a path that ended earlier only a part is known at a glance.
fn last_items(past: &PastRun, count: usize) -> Vec<TranscriptItem> {
    let mut items = past.items[past.items.len() - count..].to_vec();
    let ends = items
        .iter()
        .filter(|item| matches!(item, TranscriptItem::Block(block) if !block.foot.is_empty()))
        .count();
    let blocks = items.iter_mut().filter_map(|item| match item {
        TranscriptItem::Block(block) if !block.foot.is_empty() => Some(block),
        _ => None,
    });
    blocks
        .take(ends.saturating_sub(1))
        .for_each(|block| block.foot.retain(|line| !line.starts_with("start →")));
    items
}

#[tokio::test]
async fn it_is_stored_at_every_pause_and_at_the_end() {
    let (mut stage, run) = parked_run(100).await;
    check_preview(&stage, &run);
    let first = stage.handle.load_preview(&run);
    answer_question(&mut stage, &run, false).await;
    stage.wait_end().await;
    wait_idle(&stage).await;
    check_preview(&stage, &run);
    assert_ne!(stage.handle.load_preview(&run), first);
    answer_question(&mut stage, &run, false).await;
    stage.wait_end().await;
    wait_idle(&stage).await;
    check_preview(&stage, &run);
    assert_eq!(stage.run_faults(&run), Vec::<String>::new());
}

#[tokio::test]
async fn a_run_that_is_left_has_one_and_one_that_goes_on_has_an_earlier_one() {
    let (mut stage, run) = parked_run(100).await;
    answer_question(&mut stage, &run, true).await;
    question(&mut stage).await;
    let first = stage.handle.load_preview(&run).unwrap();
    assert!(first.since > 0 && first.since < 300, "{} rows since", first.since);
    stage.handle.send_command(&run, RunCommand::Leave);
    wait_idle(&stage).await;
    check_preview(&stage, &run);

    let (stage, run) = parked_run(100).await;
    let snapshots = stage.ports.snapshots.clone();
    stage.handle.rewind(&run, 2, StepChanges::default(), &*snapshots).unwrap();
    assert_eq!(stage.handle.load_preview(&run), None, "it went back to where it was short");
    assert!(stage.handle.load_record(run.as_str()).is_ok());

    let (stage, run) = parked_run(100).await;
    stage.handle.rewind(&run, 90, StepChanges::default(), &*snapshots).unwrap();
    check_preview(&stage, &run);
    let (fork, _) = stage.handle.fork(&run, 85, StepChanges::default(), &*snapshots).unwrap();
    check_preview(&stage, &fork);
    stage.handle.cancel(&fork).await.unwrap();
    check_preview(&stage, &fork);
    let mut file = Vec::new();
    stage.handle.export(fork.as_str(), "test", &mut file).unwrap();
    let elsewhere = self::looping_stage(100);
    elsewhere.handle.import(&mut &file[..]).unwrap();
    check_preview(&elsewhere, &fork);
}

/// Nobody was there to store its end.
#[tokio::test]
async fn a_run_that_was_killed_has_one_of_not_long_before() {
    let (mut stage, run) = parked_run(1_200).await;
    answer_question(&mut stage, &run, true).await;
    question(&mut stage).await;
    let glance = stage.handle.load_preview(&run).unwrap();
    // each input is a row, and each call has a second one
    assert!((1..=2 * u64::from(INPUTS)).contains(&glance.since), "{} rows since", glance.since);
    let record = stage.handle.load_record(run.as_str()).unwrap();
    let from = usize::try_from(glance.before.events).unwrap();
    let whole_events = without_steps(record.events);
    assert_eq!(glance.events, whole_events[from..from + EVENTS]);
    assert!(from + EVENTS < whole_events.len(), "more has happened");
    let mut past = from_preview(&record.summary, glance.clone(), &[]);
    assert!(past.is_outdated && !past.view.is_over);
    past = from_preview(&record.summary, RunPreview { since: 0, ..glance }, &[]);
    assert!(!past.is_outdated);

    // what is too old to be of use is not shown
    let connection = rusqlite::Connection::open(stage.history_path()).unwrap();
    connection.execute("UPDATE glances SET seq = 1", []).unwrap();
    assert_eq!(stage.handle.load_preview(&run), None);
}

#[tokio::test]
async fn a_short_run_needs_none() {
    let (stage, run) = parked_run(3).await;
    assert_eq!(stage.handle.load_preview(&run), None);
    assert_eq!(stage.handle.load_preview(&RunId::from("nobody")), None);
}

#[tokio::test]
async fn one_that_cannot_be_understood_is_none() {
    let (stage, run) = parked_run(100).await;
    let broken: [&str; 4] = ["", "{", "{\"before\":{},\"events\":[]}", "[[1,{\"event\":\"of the future\"}]]"];
    for body in broken {
        let connection = rusqlite::Connection::open(stage.history_path()).unwrap();
        connection.execute("UPDATE glances SET body = ?1", [body]).unwrap();
        assert_eq!(stage.handle.load_preview(&run), None, "{body}");
    }
    assert!(stage.handle.load_record(run.as_str()).is_ok());
}
