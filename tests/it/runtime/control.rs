//! A run that another process drives: paused there to be taken up here, or ended. Two stores on one file are two processes.

use super::*;
use synthdev::bootstrap::wiring;
use synthdev::engine::steering::SteeringAction;
use synthdev::runtime::cancel::CancelOutcome;
use synthdev::runtime::control_requests::PauseOutcome;
use synthdev::runtime::resume::ResumeRequest;
use synthdev::settings::catalog::{ConfigCatalog, ConfigSources};

/// Another process of the same user.
fn other_process(world: &World) -> RuntimeHandle {
    let store = Arc::new(SqliteStore::new(world.directory.path().join("data/runs.sqlite")));
    RuntimeHandle::new(RuntimePorts { store, ..world.ports.clone() }, RuntimeOptions::default())
}

fn workflow_with(work: StateBody, agents: Vec<AgentSpec>) -> Arc<Workflow> {
    workflow(ParameterType::String, work, Vec::new(), agents)
}

fn agent_state() -> StateBody {
    StateBody::Agent {
        agent: AgentIx(0),
        function: AgentFunction::SendUserMessage,
        input: ValueSource::Text("Who are you?".into()),
    }
}

fn user_resume_request() -> ResumeRequest {
    ResumeRequest { user_present: true, ..ResumeRequest::default() }
}

fn status(handle: &RuntimeHandle, run: &RunId) -> RunStatus {
    handle.summary(run.as_str()).unwrap().progress.status
}

async fn wait_finished(events: &mut EventReceiver) -> (RunStatus, Option<Value>) {
    loop {
        let event = tokio::time::timeout(PATIENCE, events.recv()).await.expect("a hang").unwrap().event;
        if let RunEvent::Finished { status, output, .. } = event {
            return (status, output);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_for_a_person_there_is_answered_here() {
    let mut world = World::new();
    let here = other_process(&world);
    let run = world.start_run(&workflow_with(pause_state("Ship it?"), Vec::new()));
    world.events_until(|event| matches!(event, RunEvent::PersonAsked { .. })).await;
    assert_eq!(here.pause(&run, PATIENCE).await, Ok(PauseOutcome::Done));
    let (seen, there, _) = world.events_to_end().await;
    let said = seen.iter().any(|event| matches!(event, RunEvent::Warning { code, .. } if code == "control"));
    assert_eq!((there, said), (RunStatus::Paused, true));
    let open = here.summary(run.as_str()).unwrap().progress.pauses;
    assert_eq!((open.len(), open[0].message.as_str()), (1, "Ship it?"));
    // an answer there comes too late
    world.handle.send_command(&run, RunCommand::Answer { call: open[0].call, answer: UserAnswer::Continue });
    let mut events = here.subscribe(false);
    let answers = vec![(open[0].call, UserAnswer::Text { text: "yes".into() })];
    here.resume(&run, ResumeRequest { answers, ..user_resume_request() }).await.unwrap();
    assert_eq!(wait_finished(&mut events).await, (RunStatus::Completed, Some(json!("yes"))));
    // nobody drives it, so nobody is asked
    assert_eq!(here.pause(&run, PATIENCE).await, Ok(PauseOutcome::Done));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_under_way_there_comes_to_its_end_first() {
    let mut world = World::new();
    let here = other_process(&world);
    let (ready, times) = (world.directory.path().join("go"), world.directory.path().join("times"));
    let command = format!(
        "echo once >> '{}'; until [ -e '{}' ]; do sleep 0.01; done",
        times.display(),
        ready.display()
    );
    let waits = StateBody::Action(ActionSpec {
        tool: "execute_terminal".into(),
        risk: ToolRisk::Execute,
        arguments: vec![(vec!["command".into()], ValueSource::Text(command))],
        expect: ActionExpectation::Ok,
    });
    let touch = StateBody::Action(ActionSpec {
        tool: "execute_terminal".into(),
        risk: ToolRisk::Execute,
        arguments: vec![(vec!["command".into()], ValueSource::Text("true".into()))],
        expect: ActionExpectation::Ok,
    });
    let mut flow = workflow_with(waits, Vec::new());
    let states = &mut Arc::get_mut(&mut flow).unwrap().states;
    states[0].transitions = transitions_to(2);
    states.push(StateSpec {
        name: "second".into(),
        work: touch,
        transitions: transitions_to(1),
        ..StateSpec::default()
    });
    let mut spec = spec(&flow, true);
    spec.approvals = spec.approvals.approving_all();
    let run = world.handle.start(spec).unwrap();
    while !times.exists() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let own = std::process::id();
    // on a busy machine it takes a while until the request arrives
    let first = loop {
        match here.pause(&run, Duration::from_millis(100)).await {
            Ok(PauseOutcome::Unheard(pid)) => assert_eq!(pid, own),
            told => break told,
        }
    };
    assert_eq!(first, Ok(PauseOutcome::Told(Some(own))));
    assert_eq!(status(&here, &run), RunStatus::Running);
    std::fs::write(ready, "").unwrap();
    // who gave up waiting finds it paused, before what comes next
    assert_eq!(here.pause(&run, PATIENCE).await, Ok(PauseOutcome::Done));
    assert_eq!(world.events_to_end().await.1, RunStatus::Paused);
    let stands = here.summary(run.as_str()).unwrap().progress;
    assert_eq!((stands.path, stands.pauses[0].state.as_str()), (vec!["fork".into()], "second"));
    let mut events = here.subscribe(false);
    here.resume(&run, user_resume_request()).await.unwrap();
    assert_eq!(wait_finished(&mut events).await.0, RunStatus::Completed);
    assert_eq!(std::fs::read_to_string(times).unwrap(), "once\n");
    assert!(here.verify_replay(&run).is_ok_and(|verdict| format!("{verdict:?}").starts_with("Same")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_only_takes_time_there_goes_on_here() {
    let mut world = World::new();
    let here = other_process(&world);
    let run = world
        .start_run(&workflow_with(StateBody::Wait(WaitSpec::For(ValueSource::Value(json!(1)))), Vec::new()));
    world.events_until(|event| matches!(event, RunEvent::Waiting { .. })).await;
    assert_eq!(here.pause(&run, PATIENCE).await, Ok(PauseOutcome::Done));
    assert_eq!(status(&here, &run), RunStatus::Paused);
    let mut events = here.subscribe(false);
    here.resume(&run, ResumeRequest::default()).await.unwrap();
    assert_eq!(wait_finished(&mut events).await.0, RunStatus::Completed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_ended_from_elsewhere_whatever_it_does() {
    let stalls = vec![("m-0", vec![Behaviour::text("never").with_stall()])];
    let server = ModelServer::start_per_model(stalls).await;
    let mut chat = workflow_with(agent_state(), vec![agent(0, &server.base_url)]);
    let own = Arc::get_mut(&mut chat).unwrap();
    own.conversational = true;
    let rows: [(&str, Arc<Workflow>); 4] = [
        ("asks", workflow_with(pause_state("Ship it?"), Vec::new())),
        ("waits", workflow_with(StateBody::Wait(WaitSpec::For(ValueSource::Value(json!(60)))), Vec::new())),
        ("asks a model", workflow_with(agent_state(), vec![agent(0, &server.base_url)])),
        ("talks", chat),
    ];
    for (what, workflow) in rows {
        let mut world = World::new();
        let here = other_process(&world);
        let run = world.start_run(&workflow);
        let begun = |event: &RunEvent| {
            let asked = matches!(event, RunEvent::PersonAsked { .. } | RunEvent::ModelCalled { .. });
            asked || matches!(event, RunEvent::Waiting { .. })
        };
        world.events_until(begun).await;
        if what == "talks" {
            let refused = here.pause(&run, PATIENCE).await.unwrap_err();
            let said = format!("run {run} is a conversation that goes on in another process");
            assert_eq!(refused.message, said);
            assert_eq!(here.cancel(&run).await.unwrap_err().message, said);
            assert_eq!(status(&here, &run), RunStatus::Running);
            continue;
        }
        assert_eq!(here.cancel(&run).await, Ok(CancelOutcome::Done), "{what}");
        let ended = (world.events_to_end().await.1, status(&here, &run));
        assert_eq!(ended, (RunStatus::Cancelled, RunStatus::Cancelled), "{what}");
        let again = here.cancel(&run).await.unwrap_err();
        assert_eq!(again.message, format!("run {run} is cancelled already"), "{what}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_driver_that_hears_nothing_is_named() {
    let mut world = World::new();
    let here = other_process(&world);
    let run = world.start_run(&workflow_with(pause_state("Ship it?"), Vec::new()));
    world.events_until(|event| matches!(event, RunEvent::PersonAsked { .. })).await;
    // as an older program, or one on a system without sockets
    let drivers = world.directory.path().join("data/drivers");
    let socket = || {
        let mut files = std::fs::read_dir(&drivers).unwrap().flatten().map(|file| file.path());
        files.find(|file| file.extension().is_some())
    };
    while socket().is_none() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let place = socket().unwrap();
    std::fs::remove_file(&place).unwrap();
    let own = std::process::id();
    // as a process that was stopped
    let stopped = std::os::unix::net::UnixListener::bind(&place).unwrap();
    assert_eq!(here.pause(&run, Duration::from_millis(20)).await, Ok(PauseOutcome::Unheard(own)));
    drop(stopped);
    // one that has it in its hands and does not drive it
    let idle = world.handle.start(spec(&workflow_with(pause_state("And this?"), Vec::new()), false)).unwrap();
    while world.handle.running_runs().contains(&idle) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    world.ports.store.claim(&idle).unwrap();
    // each is asked for seconds: all at once
    let told = tokio::join!(here.cancel(&run), here.pause(&run, PATIENCE), here.cancel(&idle));
    let refusal = |run: &RunId| format!("run {run} belongs to process {own}, which does not let go of it");
    assert_eq!(told.0.unwrap_err().message, refusal(&run));
    assert_eq!(told.1.unwrap_err().message, refusal(&run));
    assert_eq!(told.2.unwrap_err().message, refusal(&idle));
    assert_eq!(status(&here, &run), RunStatus::Running);
    // here it is
    assert_eq!(world.handle.pause(&run, PATIENCE).await, Ok(PauseOutcome::Done));
    assert_eq!(status(&here, &run), RunStatus::Paused);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_who_want_it_each_gets_it_once_it_is_free() {
    let mut world = World::new();
    let run = world.start_run(&workflow_with(pause_state("Ship it?"), Vec::new()));
    world.events_until(|event| matches!(event, RunEvent::PersonAsked { .. })).await;
    let others: Vec<RuntimeHandle> = (0..8).map(|_| other_process(&world)).collect();
    let taking = others.iter().map(|here| async {
        let paused = here.pause(&run, PATIENCE).await;
        (paused, here.resume(&run, user_resume_request()).await)
    });
    let told = futures_util::future::join_all(taking).await;
    assert!(told.iter().all(|(paused, _)| *paused == Ok(PauseOutcome::Done)), "{told:?}");
    assert!(told.iter().any(|(_, resumed)| resumed.is_ok()), "{told:?}");
    // one of them has it in the end
    let driving = others.iter().filter(|here| here.running_runs().contains(&run)).count();
    assert_eq!((driving, status(&world.handle, &run)), (1, RunStatus::Running));
    let ends = others.iter().find(|here| !here.running_runs().contains(&run)).unwrap();
    assert_eq!(ends.cancel(&run).await, Ok(CancelOutcome::Done));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_stands_is_left_as_it_stands() {
    let mut world = World::new();
    let here = other_process(&world);
    let mut flow = spec(&workflow_with(pause_state("Ship it?"), Vec::new()), true);
    flow.stops.step = true;
    let run = world.handle.start(flow).unwrap();
    world.events_until(|event| matches!(event, RunEvent::PersonAsked { .. })).await;
    assert_eq!(here.pause(&run, PATIENCE).await, Ok(PauseOutcome::Done));
    let mut events = here.subscribe(false);
    here.resume(&run, user_resume_request()).await.unwrap();
    here.send_command(&run, RunCommand::Steer(SteeringAction::Continue));
    let asked = |event: &RunEvent| {
        matches!(event, RunEvent::PersonAsked { question: UserQuestion::Pause { .. }, .. })
    };
    while !asked(&events.recv().await.unwrap().event) {}
    assert_eq!(here.cancel(&run).await, Ok(CancelOutcome::Told));
}

#[tokio::test]
async fn files_read_again_and_worktrees_keep_the_one_store_that_others_ask() {
    let directory = crate::support::temporary::temp_directory();
    let catalog = ConfigCatalog::load(ConfigSources::default(), wiring::tool_specs(directory.path()));
    let (project, data) = (directory.path(), directory.path().join("data"));
    let wired = wiring::wire_runtime(project, &data, &catalog, wiring::RunModels::default());
    let again = wiring::rewire_runtime(&wired, project, &data, &catalog, wiring::RunModels::default());
    let place = wiring::WorktreeLocation { project, worktree: &project.join("tree") };
    let beside = wiring::wire_beside(&again, place, &data, &catalog);
    let store = |wired: &wiring::WiredRuntime| Arc::clone(&wired.ports.store);
    assert!([&again, &beside].iter().all(|other| Arc::ptr_eq(&store(other), &store(&wired))));
}
