//! What must hold of a run that was killed and taken up again, compared with one that was left alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;
use std::time::{Duration, SystemTime};

use rusqlite::Connection;
use serde_json::Value;
use synthdev::adapters::sqlite::SqliteStore;
use synthdev::domain::journal::RunStatus;
use synthdev::ports::run_store::RunStore;

use super::super::cli::world::World;
use super::moment::{self, Seen};
use super::scene;
use super::session::Session;

/// What does not depend on when it was killed.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Result {
    output: Value,
    /// States of the whole workflow and of each branch in order; how branches interleave is chance.
    path: BTreeMap<String, Vec<String>>,
    warnings: Value,
    /// What was paid for: calls that were made once more because their answer was lost count once.
    usage: Value,
    /// Every file of the project.
    files: Vec<(String, String)>,
    /// Numbers of the commands that took effect.
    effects: Vec<u32>,
}

impl Result {
    pub(super) fn from_session(session: &Session, report: &Value) -> Self {
        let text = fs::read_to_string(session.world.root().join("effects")).unwrap();
        let mut effects: Vec<u32> = text.lines().map(|line| line.parse().unwrap()).collect();
        effects.sort_unstable();
        let files = World::files(&session.world.project());
        let files = files.into_iter().filter(|(path, _)| !path.starts_with(".git/"));
        Self {
            output: report["output"].clone(),
            path: by_lane(&report["path"]),
            warnings: report["warnings"].clone(),
            usage: report["usage"].clone(),
            files: files.map(|(path, bytes)| (path, String::from_utf8(bytes).unwrap())).collect(),
            effects,
        }
    }

    pub(super) fn effects(&self) -> &[u32] {
        &self.effects
    }
}

fn by_lane(path: &Value) -> BTreeMap<String, Vec<String>> {
    let mut lanes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for state in path.as_array().unwrap() {
        let state = state.as_str().unwrap();
        let lane = state.rsplit_once('/').map_or("", |(lane, _)| lane);
        lanes.entry(lane.to_owned()).or_default().push(state.to_owned());
    }
    lanes
}

/// Everything but the result.
pub(super) fn check_session(session: &Session, report: &Value) {
    let run = report["run_id"].as_str().unwrap();
    assert_asked_once(session);
    assert_replays_same(session, run);
    store_is_sound(session, run);
    project_is_sound(session, report["snapshot"].as_str().unwrap());
    if session.isolated {
        session.world.run_program(&["runs", "discard", run]).code(0);
    }
}

/// A call whose answer is in the journal is never made again, and one that is made again asks the same.
fn assert_asked_once(session: &Session) {
    let asked = session.trigger.request_marks();
    let mut bodies: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (at, (mark, body)) in asked.iter().enumerate() {
        let by_then = session.replayed_replies.get(mark);
        assert!(by_then.is_none_or(|count| at < *count), "{mark} was asked again though its answer was kept");
        bodies.entry(mark).or_default().push(body);
    }
    let attempts = attempts(&moment::rows(&session.trigger.database));
    for (mark, bodies) in &bodies {
        let different: BTreeSet<&&str> = bodies.iter().collect();
        assert_eq!(different.len(), 1, "{mark} was asked in different words: {different:#?}");
        let attempts = attempts.get(*mark).copied().unwrap_or(0);
        assert!(bodies.len() <= attempts, "{mark}: {} requests, {attempts} intents", bodies.len());
    }
    let requests = session.server.requests();
    let refused: Vec<&String> = requests.iter().filter_map(|request| request.rejection.as_ref()).collect();
    assert!(refused.is_empty(), "{refused:?}");
}

/// Intents of each call of the model, by the mark of its answer.
fn attempts(rows: &[Seen]) -> BTreeMap<String, usize> {
    let mut intents: BTreeMap<i64, usize> = BTreeMap::new();
    let mut attempts = BTreeMap::new();
    for row in rows {
        let Some(call) = row.call else { continue };
        if row.kind == "intent" && row.body.contains("\"call_model\"") {
            *intents.entry(call).or_default() += 1;
        }
        if row.kind == "input" && row.body.contains("\"input\":\"replied\"") {
            let before = attempts.insert(scene::find_mark(&row.body).unwrap(), intents[&call]);
            assert_eq!(before, None, "one answer, kept once: {}", row.body);
        }
    }
    attempts
}

/// Replaying the journal leads to the same events.
fn assert_replays_same(session: &Session, run: &str) {
    let told = session.world.run_program(&["runs", "replay", run, "--json"]);
    assert_eq!(told.code, Some(0), "{}{}", told.stdout, told.stderr);
}

fn store_is_sound(session: &Session, run: &str) {
    let connection = Connection::open(&session.trigger.database).unwrap();
    let sound = connection.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0)).unwrap();
    assert_eq!(sound, "ok");
    drop(connection);
    let summary = SqliteStore::new(session.trigger.database.clone()).find(run).unwrap();
    assert_eq!(summary.progress.status, RunStatus::Completed);
    assert!(summary.progress.pauses.is_empty());
}

fn project_is_sound(session: &Session, snapshot: &str) {
    let world = &session.world;
    let mut fsck = Command::new("git");
    world.isolate_command(&mut fsck);
    let done = fsck.args(["fsck", "--strict", "--no-dangling", "--no-progress"]).output().unwrap();
    let told = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
    assert!(done.status.success() && told.is_empty(), "git fsck: {told}");
    // the run can still be undone as a whole
    world.git(&["diff", "--quiet", "HEAD", &format!("refs/synthdev/snapshots/{snapshot}")]);
    world.git(&["diff", "--quiet", "--cached", "HEAD"]);
    let left = World::files(&world.root().join("tmp"));
    assert!(left.is_empty(), "left behind: {left:?}");
    assert_no_locks(world);
}

/// A lock of ours that a kill left is removed by the next snapshot, once it is old enough to be nobody's.
fn assert_no_locks(world: &World) {
    let git = world.project().join(".git");
    let locks = || {
        let files = World::files(&git).into_iter().map(|(path, _)| path);
        files.filter(|path| path.ends_with(".lock")).collect::<Vec<String>>()
    };
    let left = locks();
    if left.is_empty() {
        return;
    }
    for path in left {
        let file = fs::File::options().append(true).open(git.join(path)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    }
    world.run_program(&["snapshot", "create", "afterwards"]).code(0);
    assert_eq!(locks(), [""; 0], "left behind");
}

/// The number of the last row of an undisturbed run.
pub(super) fn last_row(session: &Session) -> usize {
    moment::rows(&session.trigger.database).len()
}
