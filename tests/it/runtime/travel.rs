//! Steps of recorded runs are gone back to, in place and as forks: the files are those of that moment, byte for byte,
//! and the same replies lead to the same events, with the same words and data shown to models and scripts on the way.

mod beside;
mod broken;
mod recorded;
mod stage;
mod watched;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use synthdev::domain::ids::RunId;
use synthdev::domain::journal::RunStatus;
use synthdev::engine::event::RunEvent;
use synthdev::runtime::time_travel::{ReplayVerdict, RunStep, StepChanges};

use self::recorded::Recorded;
use self::stage::{Stage, program};
use self::watched::Tree;

/// Restored steps of each recorded run; four runs.
const TIMES: usize = 24;
/// One of so many goes on to its end.
const GO_ON: usize = 3;

/// A run as it was the first time.
struct Original {
    run: RunId,
    steps: Vec<RunStep>,
    events: Vec<Value>,
    trees: Vec<Tree>,
    /// How many tools had run when each step began, or when its fork did.
    tools: Vec<usize>,
    model_requests: Vec<Value>,
    script_scopes: Vec<Value>,
    output: Option<Value>,
}

impl Original {
    async fn record_run(stage: &mut Stage, recorded: &Recorded) -> Self {
        let run = stage.record_run(program(&recorded.workflows)).await;
        let (steps, record) =
            (stage.handle.steps(&run).unwrap(), stage.handle.load_record(run.as_str()).unwrap());
        Self {
            tools: tools(record.events.iter().map(|(_, event)| &event.event)),
            events: events(stage, &run),
            output: record.summary.progress.output,
            trees: stage.trees.lock().unwrap().clone(),
            model_requests: stage.model_requests.take_values(),
            script_scopes: stage.script_scopes.take_values(),
            run,
            steps,
        }
    }

    fn files_at(&self, step: &RunStep) -> &Tree {
        &self.trees[self.tools[step.step as usize - 1]]
    }
}

fn tools<'a>(events: impl Iterator<Item = &'a RunEvent>) -> Vec<usize> {
    let (mut done, mut forked, mut all) = (0, None, Vec::new());
    for event in events {
        match event {
            RunEvent::ToolFinished { .. } => done += 1,
            RunEvent::Forked { .. } => forked = Some(done),
            RunEvent::Joined { .. } => forked = None,
            RunEvent::StateEntered { .. } => all.push(forked.unwrap_or(done)),
            _ => {}
        }
    }
    all
}

/// The events of a run, without ids, times, money (what was paid stays paid) and snapshots, which are taken beside it.
fn events(stage: &Stage, run: &RunId) -> Vec<Value> {
    let told = stage.handle.load_record(run.as_str()).unwrap().events;
    let mut all: Vec<Value> =
        told.iter().map(|(_, event)| serde_json::to_value(&event.event).unwrap()).collect();
    all.retain(|event| {
        let beside = ["returned", "resumed", "snapshot_taken", "snapshot_failed"];
        !beside.iter().any(|name| event["event"] == *name)
    });
    for event in &mut all {
        let fields = event.as_object_mut().unwrap();
        for name in ["call", "duration_ms", "summary", "usage", "cost_usd", "snapshot"] {
            fields.remove(name);
        }
    }
    all
}

/// Branches do not wait for each other: the same things happen, in any order.
fn sort_values(mut values: Vec<Value>) -> Vec<Value> {
    for value in &mut values {
        if let Some(path) = value.get_mut("path").and_then(Value::as_array_mut) {
            path.sort_by_key(Value::to_string);
        }
    }
    values.sort_by_key(Value::to_string);
    values
}

#[track_caller]
fn assert_same(now: &[Value], then: &[Value], what: &str) {
    let first = (0..now.len().max(then.len())).find(|at| now.get(*at) != then.get(*at));
    if let Some(at) = first {
        let shown = |all: &[Value]| all.get(at).map(Value::to_string);
        panic!("{what}: at {at} of {}:\nnow  {:?}\nthen {:?}", then.len(), shown(now), shown(then));
    }
}

/// The last of them, as many as there are of the others.
fn last_values(all: &[Value], part: &[Value]) -> Vec<Value> {
    all[all.len().saturating_sub(part.len())..].to_vec()
}

/// Small and repeatable.
struct Luck(u64);

impl Luck {
    fn random_below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}

/// Somebody works in the project between two journeys.
fn change_project(stage: &Stage, luck: &mut Luck) -> String {
    let project = stage.project();
    let names: Vec<String> = stage.tree().into_keys().collect();
    for _ in 0..=luck.random_below(4) {
        let path = project.join(&names[luck.random_below(names.len())]);
        let is_file = fs::symlink_metadata(&path).is_ok_and(|about| about.is_file());
        match luck.random_below(5) {
            0 => drop(fs::remove_file(&path)),
            1 if is_file => fs::write(&path, format!("meddled {}", luck.random_below(1_000))).unwrap(),
            2 if is_file => fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap(),
            3 if is_file => {
                fs::remove_file(&path).unwrap();
                std::os::unix::fs::symlink("nowhere", &path).unwrap();
            }
            _ => {
                let new = project.join(format!("new-{}/deep", luck.random_below(5)));
                fs::create_dir_all(&new).unwrap();
                fs::write(new.join("file.txt"), "new").unwrap();
            }
        }
    }
    let ignored = format!("ignored {}", luck.random_below(1_000));
    fs::write(project.join("ignored.log"), &ignored).unwrap();
    ignored
}

/// Goes to a step with its files, in place or as a fork, and looks around. `kept`: the test restores the files itself,
/// and the run does not know of it.
fn check_travel(
    stage: &Stage,
    original: &Original,
    step: &RunStep,
    (fork, kept): (bool, bool),
    luck: &mut Luck,
) -> RunId {
    let (index, ignored) = (stage.index(), change_project(stage, luck));
    let snapshot = step.files.clone().unwrap();
    let store = &*stage.ports.snapshots;
    let files = if kept {
        store.restore(&snapshot).unwrap();
        None
    } else {
        Some(snapshot)
    };
    let changes = StepChanges { files, ..StepChanges::default() };
    let run = if fork {
        stage.handle.fork(&original.run, step.step, changes, store).unwrap().0
    } else {
        stage.handle.rewind(&original.run, step.step, changes, store).unwrap();
        original.run.clone()
    };
    assert_eq!(&stage.tree(), original.files_at(step), "files of step {} ({})", step.step, step.state);
    assert_eq!(stage.index(), index, "the user's index");
    assert_eq!(fs::read_to_string(stage.project().join("ignored.log")).unwrap(), ignored);
    run
}

impl Stage {
    /// It waits before the step, with the data of then.
    fn assert_before_step(&self, run: &RunId, step: &RunStep) {
        let record = self.handle.load_record(run.as_str()).unwrap();
        let origin = record.summary.origin.unwrap().run;
        assert_eq!(record.summary.progress.status, RunStatus::Paused);
        let data = |run| self.handle.data_before(run, step.step).unwrap();
        assert_eq!(data(run), data(&origin));
        assert_eq!(
            self.handle.steps(run).unwrap().last().map(|last| (last.step, last.visit)),
            Some((step.step, 0))
        );
    }
}

/// `unordered`: branches go on beside each other. `go_on`: one of so many goes on to its end.
async fn check_all_travels(recorded: Recorded, seed: u64, unordered: bool, go_on: usize) {
    let mut stage = Stage::new(&recorded.replies);
    let original = Original::record_run(&mut stage, &recorded).await;
    let mut luck = Luck(seed);
    for time in 0..TIMES {
        let step = &original.steps[luck.random_below(original.steps.len())];
        let on = time % go_on == 0;
        // inside of branches it goes back as a whole, or without its files; then what a branch had done by then does
        // not come back, and it goes on elsewhere
        let whole = step.within.is_some() && luck.random_below(2) == 0;
        let step = &if whole {
            stage.handle.step_with_files(&original.run, step.step).unwrap()
        } else {
            step.clone()
        };
        let kept = step.within.is_some();
        let fork = kept || !on || luck.random_below(2) == 0;
        let run = check_travel(&stage, &original, step, (fork, kept), &mut luck);
        let what = format!("seed {seed}, time {time}: step {} ({}), fork: {fork}", step.step, step.state);
        if !on {
            stage.assert_before_step(&run, step);
            continue;
        }
        stage.continue_run(&run).await;
        let (models, scripts) = (stage.model_requests.take_values(), stage.script_scopes.take_values());
        let now = events(&stage, &run);
        let saw = [(&models, &original.model_requests), (&scripts, &original.script_scopes)];
        if unordered {
            assert_same(&sort_values(now), &sort_values(original.events.clone()), &what);
            for (now, then) in saw {
                if step.within.is_none() {
                    assert_same(&sort_values(now.clone()), &sort_values(last_values(then, now)), &what);
                } else {
                    assert!(now.iter().all(|one| then.contains(one)), "{what}: {now:#?}");
                }
            }
        } else {
            assert_same(&now, &original.events, &what);
            saw.iter().for_each(|(now, then)| assert_same(now, &last_values(then, now), &what));
        }
        let record = stage.handle.load_record(run.as_str()).unwrap();
        assert_eq!(record.summary.progress.output, original.output, "{what}");
        assert!(matches!(stage.handle.verify_replay(&run), Ok(ReplayVerdict::Same { .. })), "{what}");
        if step.within.is_none() {
            assert_eq!(&stage.tree(), original.trees.last().unwrap(), "{what}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_step_of_a_linear_run() {
    check_all_travels(recorded::linear_program(), 1, false, GO_ON).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_step_of_a_loop() {
    check_all_travels(recorded::looping_program(), 2, false, GO_ON).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_step_of_children() {
    check_all_travels(recorded::nested_program(), 3, false, GO_ON).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_step_around_and_inside_of_branches() {
    check_all_travels(recorded::parallel_program(), 4, true, GO_ON).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "slow: every restored step goes on to its end"]
async fn every_step_goes_on_to_its_end() {
    check_all_travels(recorded::linear_program(), 1, false, 1).await;
    check_all_travels(recorded::looping_program(), 2, false, 1).await;
    check_all_travels(recorded::nested_program(), 3, false, 1).await;
    check_all_travels(recorded::parallel_program(), 4, true, 1).await;
}
