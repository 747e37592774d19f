//! Which conversations of a project can be reopened, and what is said of everything else.

use super::*;
use synthdev::domain::journal::RunQuery;
use synthdev::domain::workflow::CONVERSATION_WORKFLOW;
use synthdev::service::conversations::{
    ConversationError, find_conversation, last_conversation, list_conversations, list_workflow_runs,
};
use synthdev::service::history_cleanup::{CleanupLimits, HistoryCleanup};
use synthdev::service::run_place::RunOperation;
use synthdev::service::run_resume::check_resumable;

/// Another process of the same user.
fn other_process(world: &World, project: &str) -> RuntimeHandle {
    let store = Arc::new(SqliteStore::new(world.directory.path().join("data/runs.sqlite")));
    let options = RuntimeOptions { project: project.to_owned(), ..RuntimeOptions::default() };
    RuntimeHandle::new(RuntimePorts { store, ..world.ports.clone() }, options)
}

/// A conversation, or a workflow of the same name.
fn talk(server: &ModelServer, conversational: bool) -> Arc<Workflow> {
    let speak = StateBody::Agent {
        agent: AgentIx(0),
        function: AgentFunction::SendUserMessage,
        input: ValueSource::Human,
    };
    let mut own =
        (*workflow(ParameterType::String, speak, Vec::new(), vec![agent(0, &server.base_url)])).clone();
    (own.name, own.conversational) = (CONVERSATION_WORKFLOW.to_owned(), conversational);
    if conversational {
        own.states[0].transitions = transitions_to(0);
    }
    Arc::new(own)
}

async fn next_question(world: &mut World) -> CallId {
    let seen = world.events_until(|event| matches!(event, RunEvent::PersonAsked { .. })).await;
    match seen.last() {
        Some(RunEvent::PersonAsked { call, .. }) => *call,
        other => panic!("{other:?}"),
    }
}

async fn say_and_leave(world: &mut World, workflow: &Arc<Workflow>, text: &str) -> RunId {
    let run = world.start_run(workflow);
    let call = next_question(world).await;
    let answer = UserAnswer::Text { text: text.to_owned() };
    world.handle.send_command(&run, RunCommand::Answer { call, answer });
    next_question(world).await;
    world.handle.send_command(&run, RunCommand::Leave);
    world.events_to_end().await;
    world.handle.wait_until_released(&run).await;
    run
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conversations_are_listed_by_their_last_use_with_their_first_words() {
    let answers = (0..8).map(|_| Behaviour::text("ok")).collect();
    let server = ModelServer::start_per_model(vec![("m-0", answers)]).await;
    let mut world = World::new();
    let chat = talk(&server, true);
    let here = RuntimeOptions::default().project;
    assert_eq!(last_conversation(&world.handle, &here), Err(ConversationError::Nothing));
    let first = say_and_leave(&mut world, &chat, "Why does the parser fail?").await;
    let second = say_and_leave(&mut world, &chat, "Write the changelog").await;
    let same_name = world.start_run(&talk(&server, false));
    next_question(&mut world).await;
    let titles = |handle: &RuntimeHandle| {
        let list = list_conversations(handle, &here).unwrap();
        list.into_iter().map(|line| (line.run.id, line.run.input, line.role)).collect::<Vec<_>>()
    };
    let line = |run: &RunId, title: &str| (run.clone(), title.to_owned(), "r".to_owned());
    let expected = [line(&second, "Write the changelog"), line(&first, "Why does the parser fail?")];
    assert_eq!(titles(&world.handle), expected);
    // one that is used again comes first, and keeps its first words
    let request = synthdev::runtime::resume::ResumeRequest { user_present: true, ..Default::default() };
    world.handle.resume(&first, request).await.unwrap();
    let call = next_question(&mut world).await;
    let answer = UserAnswer::Text { text: "and now?".to_owned() };
    world.handle.send_command(&first, RunCommand::Answer { call, answer });
    next_question(&mut world).await;
    // where it is open it is not offered; elsewhere it is marked
    assert_eq!(titles(&world.handle), [line(&second, "Write the changelog")]);
    let there = other_process(&world, &here);
    let list = list_conversations(&there, &here).unwrap();
    assert_eq!((list[0].run.id.clone(), list[0].is_open_elsewhere), (first.clone(), true));
    assert_eq!(last_conversation(&there, &here), Err(ConversationError::OpenElsewhere(first.clone())));
    let waiting = RunQuery { statuses: vec![RunStatus::Running, RunStatus::Paused], ..RunQuery::default() };
    let workflows = list_workflow_runs(&there, &waiting).unwrap();
    assert_eq!(workflows.into_iter().map(|run| run.id).collect::<Vec<_>>(), [same_name]);
    world.handle.send_command(&first, RunCommand::Leave);
    world.events_to_end().await;
    world.handle.wait_until_released(&first).await;
    assert_eq!(last_conversation(&there, &here), Ok(first.clone()));
    assert_eq!(titles(&there)[0], line(&first, "Why does the parser fail?"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_conversation_to_reopen_says_what_to_do() {
    let answers = (0..8).map(|_| Behaviour::text("ok")).collect();
    let server = ModelServer::start_per_model(vec![("m-0", answers)]).await;
    let mut world = World::new();
    let here = RuntimeOptions::default().project;
    let chat = say_and_leave(&mut world, &talk(&server, true), "hello").await;
    let over = say_and_leave(&mut world, &talk(&server, true), "bye").await;
    world.handle.cancel(&over).await.unwrap();
    let open = world.start_run(&talk(&server, true));
    next_question(&mut world).await;
    let gate =
        world.start_run(&workflow(ParameterType::String, pause_state("Ship it?"), Vec::new(), Vec::new()));
    next_question(&mut world).await;
    let there = other_process(&world, &here);
    assert_eq!(find_conversation(&there, &here, &chat.as_str()[..chat.as_str().len() - 1]), Ok(chat.clone()));
    let rows = [
        // the project of these runs has no directory
        (
            find_conversation(&there, "/elsewhere", chat.as_str()),
            "which is not on this machine",
            format!("synthdev runs export {chat}"),
        ),
        (
            find_conversation(&there, &here, open.as_str()),
            "is open in another process",
            format!("--resume {open}"),
        ),
        (find_conversation(&there, &here, over.as_str()), "is cancelled", format!("runs fork {over}")),
        (
            find_conversation(&there, &here, gate.as_str()),
            "of the workflow many",
            format!("synthdev resume {gate}"),
        ),
    ];
    for (found, message, hint) in rows {
        let error = found.unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
        assert!(error.hint().unwrap().contains(&hint), "{error} {:?}", error.hint());
    }
    // nor is it resumed as a run
    let summary = there.summary(open.as_str()).unwrap();
    let error = check_resumable(&there, &summary, &here, RunOperation::Resume, |_| true).unwrap_err();
    assert_eq!(error.to_string(), format!("conversation {open} is open in another process"));
    assert!(error.hint().unwrap().contains("leave it there with /exit"), "{:?}", error.hint());
    let error = check_resumable(&there, &summary, "/elsewhere", RunOperation::Resume, |_| true).unwrap_err();
    assert_eq!(error.hint(), Some(format!("synthdev -C {here} --resume {open}")));
    let unknown = find_conversation(&there, &here, "nothing-such").unwrap_err();
    assert!(matches!(unknown, ConversationError::Store(_)), "{unknown:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_conversations_are_removed_though_they_have_no_end() {
    let answers = (0..8).map(|_| Behaviour::text("ok")).collect();
    let server = ModelServer::start_per_model(vec![("m-0", answers)]).await;
    let mut world = World::new();
    let left = say_and_leave(&mut world, &talk(&server, true), "hello").await;
    let open = world.start_run(&talk(&server, true));
    next_question(&mut world).await;
    let cleanup = HistoryCleanup {
        store: &*world.ports.store,
        snapshots: &*world.ports.snapshots,
        is_present: &|_| false,
    };
    let limits = CleanupLimits { keep: Some(0), ..CleanupLimits::default() };
    let report = cleanup.remove_old_runs(limits, world.handle.now(), true).unwrap();
    assert_eq!((report.runs, report.open_count), (vec![left.clone()], 1));
    assert!(world.handle.summary(left.as_str()).is_err() && world.handle.summary(open.as_str()).is_ok());
}
