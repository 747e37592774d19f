//! Steps of sub-agents at the edges: in the moment in which their run ends, beside others that go back, and how little of
//! a long run is read for them.

use super::*;
use synthdev::adapters::sqlite::SqliteStore;
use synthdev::domain::ids::Timestamp;
use synthdev::domain::model::{DeltaKind, ModelRequest, ToolChoice};
use synthdev::domain::tool::ToolOutcome;
use synthdev::domain::workflow::SubAgents;
use synthdev::engine;
use synthdev::engine::steering::SteeringAction;
use synthdev::ports::model::{DeltaSink, ModelPort};
use synthdev::runtime::delegated_calls::{DelegatedCalls, DelegatingModelPort, PROVIDER};
use synthdev::runtime::leases::LIMIT;
use synthdev::runtime::task_queue::{
    AssignedStep, DelegatedTaskStatus, NextAssignment, StepSubmitter, TaskOutcome, TaskTimeouts, step_id,
};

use crate::support::watched_store::Watched;

const SOON: Duration = Duration::from_millis(5);

/// Each item is a task with one command.
fn tasks(items: &[&str]) -> Arc<Workflow> {
    loop_workflow(&json!(items), None, SubAgents::Items)
}

fn loop_workflow(items: &Value, max_concurrency: Option<u32>, sub_agents: SubAgents) -> Arc<Workflow> {
    let fork = StateBody::ForEach(ForEachSpec {
        items: ValueSource::Value(items.clone()),
        each: "item".into(),
        at: "index".into(),
        start: StateIx(2),
        needs: Vec::new(),
        max_concurrency,
        tolerated_failures: 0,
        tolerated_percent: 0.0,
        handed_out: (sub_agents == SubAgents::Items).then(Vec::new),
        sub_agent: None,
    });
    let command = StateBody::Action(ActionSpec {
        tool: "shell".into(),
        risk: ToolRisk::Execute,
        arguments: vec![(vec!["command".into()], ValueSource::Text("check".into()))],
        expect: ActionExpectation::Ok,
    });
    let mut flow = workflow(ParameterType::Array, fork, vec![("fork".into(), command)], Vec::new());
    let own = Arc::get_mut(&mut flow).unwrap();
    own.sub_agents = sub_agents;
    own.limits.max_concurrency = max_concurrency.unwrap_or(own.limits.max_concurrency);
    flow
}

pub fn watched_world() -> (World, Arc<Watched>) {
    let mut seen = None;
    let world = World::with_store(|store: SqliteStore| {
        let store = Arc::new(Watched::new(store));
        seen = Some(Arc::clone(&store));
        store
    });
    (world, seen.unwrap())
}

async fn next_step_for(handle: &RuntimeHandle, id: &str) -> AssignedStep {
    for _ in 0..1_000 {
        if let NextAssignment::Step(handed, _) =
            handle.task_broker().next_assignment(id, "w", 1, Timestamp(0))
        {
            return *handed;
        }
        tokio::time::sleep(SOON).await;
    }
    panic!("no step of {id}");
}

async fn wait_task_status(
    handle: &RuntimeHandle,
    id: &str,
    wanted: impl Fn(&DelegatedTaskStatus) -> bool,
) -> DelegatedTaskStatus {
    for _ in 0..1_000 {
        if let Some(look) = handle.task_broker().task_status(id).filter(&wanted) {
            return look;
        }
        tokio::time::sleep(SOON).await;
    }
    panic!("{:?}", handle.task_broker().task_status(id));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_reads_of_the_end_gets_no_step_any_more() {
    for (cancelled, status, code) in
        [(false, RunStatus::Failed, "workflow_failed"), (true, RunStatus::Cancelled, "workflow_cancelled")]
    {
        let (mut world, store) = watched_world();
        let handle = world.handle.clone();
        handle.serve_sub_agents(TaskTimeouts::default());
        let run = handle.start(spec(&tasks(&["a"]), false)).unwrap();
        let id = handle.task_broker().open_tasks(&run)[0].id.clone();
        let handed = next_step_for(&handle, &id).await;
        // the end is in the store, but the driver of the run has done nothing after it yet
        let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
        let (asks, noted, of) = (handle.clone(), Arc::clone(&seen), id.clone());
        store.at_end(move || {
            let desk = asks.task_broker();
            let look = desk.task_status(&of).unwrap();
            noted.lock().unwrap().push((
                desk.next_assignment(&of, "w", 1, Timestamp(0)),
                look.current_step,
                look.remaining_steps,
            ));
        });
        if cancelled {
            handle.send_command(&run, RunCommand::Cancel);
        } else {
            let left: Vec<_> = (0..5).map(|_| handle.reject_result(&id, &handed.step, "no")).collect();
            assert_eq!(left, [4, 3, 2, 1, 0]);
        }
        assert_eq!(world.events_to_end().await.1, status);
        assert_eq!(*seen.lock().unwrap(), [(NextAssignment::Waiting, None, Some(0))], "{code}");
        let after = handle.task_broker().next_assignment(&id, "w", 1, Timestamp(0));
        assert!(
            matches!(&after, NextAssignment::Ended(TaskOutcome::Failed { code: told, .. }) if told == code),
            "{after:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_goes_back_is_not_taken_for_another_one() {
    let world = World::new();
    let handle = &world.handle;
    handle.serve_sub_agents(TaskTimeouts::default());
    let run = handle.start(spec(&tasks(&["a", "b"]), false)).unwrap();
    let ids: Vec<String> = handle.task_broker().open_tasks(&run).into_iter().map(|task| task.id).collect();
    for id in &ids {
        next_step_for(handle, id).await;
    }
    let (lane, name) = (handle.task_broker().task_status(&ids[0]).unwrap().branch_id, "here".to_owned());
    handle.send_command(&run, RunCommand::Steer(SteeringAction::Keep { lane, name: name.clone() }));
    handle.send_command(&run, RunCommand::Steer(SteeringAction::GoBack { lane, name }));
    let back = wait_task_status(handle, &ids[0], |look| look.restore_count > 0).await;
    let other = handle.task_broker().task_status(&ids[1]).unwrap();
    assert_eq!((back.restore_count, other.restore_count), (1, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_has_no_room_in_the_queue_comes_later() {
    const ITEMS: usize = LIMIT + 3;
    let world = World::new();
    let handle = &world.handle;
    handle.serve_sub_agents(TaskTimeouts::default());
    let items: Vec<usize> = (0..ITEMS).collect();
    let at_once = u32::try_from(ITEMS).ok();
    let run = handle.start(spec(&loop_workflow(&json!(items), at_once, SubAgents::Run), false)).unwrap();
    let id = handle.task_broker().open_tasks(&run)[0].id.clone();
    let open = wait_task_status(handle, &id, |look| look.remaining_steps == Some(ITEMS)).await;
    assert_eq!(open.completed.len(), 0);
    let next = |at: usize| handle.task_broker().next_assignment(&id, &format!("w{at}"), 1, Timestamp(0));
    let mut seen = std::collections::BTreeSet::new();
    for at in 0..ITEMS {
        match next(at) {
            NextAssignment::Step(handed, _) => assert!(seen.insert(handed.step.call), "{handed:?}"),
            NextAssignment::Waiting => assert!(at >= LIMIT, "{at}"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(seen.len(), LIMIT);
    let calls: Vec<CallId> = seen.iter().copied().take(ITEMS - LIMIT).collect();
    for (at, call) in calls.into_iter().enumerate() {
        let outcome = ToolOutcome { ok: true, ..ToolOutcome::default() };
        let input = engine::input::Input::ToolDone { call, outcome };
        let (step, worker) = (step_id(call), format!("w{at}"));
        let who = StepSubmitter { worker: &worker, expected_version: None };
        handle.submit_result(&id, &step, who, &json!("done"), input).await.unwrap();
        let NextAssignment::Step(handed, _) = next(LIMIT + at) else { panic!("none came") };
        assert!(seen.insert(handed.step.call), "{handed:?}");
    }
    assert_eq!(seen.len(), ITEMS, "none was lost");
}

struct Nowhere;

impl DeltaSink for Nowhere {
    fn delta(&self, _: DeltaKind, _: &str) {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_long_run_only_its_beginning_is_read_for_a_delegated_call() {
    const ITEMS: usize = 200;
    let nap = StateBody::Wait(WaitSpec::For(ValueSource::Value(json!(0.001))));
    let fork = StateBody::ForEach(ForEachSpec {
        items: ValueSource::Script(ScriptIx(0)),
        each: "item".into(),
        at: "index".into(),
        start: StateIx(2),
        needs: Vec::new(),
        max_concurrency: Some(10),
        tolerated_failures: 0,
        tolerated_percent: 0.0,
        handed_out: None,
        sub_agent: None,
    });
    let mut long = workflow(ParameterType::Array, fork, vec![("fork".into(), nap)], Vec::new());
    let source = format!("Array.from({{length: {ITEMS}}}, (_, at) => at)");
    Arc::get_mut(&mut long).unwrap().scripts = Arc::new(vec![script(&source)]);
    let (mut world, store) = watched_world();
    let run = world.start_run(&long);
    world.events_to_end().await;
    let before = store.rows();
    assert!(store.load(&run).unwrap().1.len() > ITEMS);
    let read = store.rows();
    assert!(read - before > ITEMS, "what is read is counted");
    let interactions = Arc::new(DelegatedCalls::default());
    let models = DelegatingModelPort::new(run.clone(), Arc::clone(&interactions), &world.ports);
    let request = ModelRequest {
        agent: "a".into(),
        state: "s".into(),
        choice: ModelChoice { provider: PROVIDER.into(), ..ModelChoice::default() },
        messages: Vec::new(),
        tools: [].into(),
        parsing_tools: Vec::new(),
        tool_choice: ToolChoice::Auto,
        answer_schema: None,
    };
    let asking = tokio::spawn(async move { models.call(&request, &Nowhere).await });
    while !interactions.has_unclaimed_call(&run) {
        tokio::time::sleep(SOON).await;
    }
    assert_eq!(store.rows() - read, 1);
    let id = interactions.open_calls(&run)[0].id.clone();
    assert!(world.handle.is_interaction_id_valid(&run, &id), "it is known again by what was read");
    assert_eq!(store.rows() - read, 2);
    asking.abort();
}
