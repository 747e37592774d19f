//! A run that a server keeps, followed, answered and ended by a process that does not drive it. Two histories are two machines;
//! the server is one that only hands on what the first one has.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::*;
use synthdev::domain::journal::JournalRow;
use synthdev::ports::run_server::{FollowCursor, RunNews, RunServer, ServerAnswers};
use synthdev::ports::run_store::StoreError;
use synthdev::runtime::cancel::CancelOutcome;
use synthdev::runtime::resume::ResumeRequest;

/// Hands on what another machine has, a few rows at a time.
struct HandingServer {
    handle: RuntimeHandle,
    store: Arc<dyn RunStore>,
    /// The other machine has the same history as the one that asks.
    shares_history: bool,
    faults: Arc<ServerFaults>,
}

/// What goes wrong between a client and the server.
#[derive(Default)]
struct ServerFaults {
    /// The client is cut off at this look; 0: at none.
    cut_at_look: AtomicU32,
    /// The run never hears of answers.
    loses_answers: AtomicBool,
}

/// Bytes of rows that are handed on at once: one row.
const FEW_BYTES: usize = 1;

impl HandingServer {
    fn news(&self, run: &RunId, known: FollowCursor) -> Result<RunNews, StoreError> {
        let rows = self.store.rows_since(run, known.rows, FEW_BYTES)?;
        let next = known.rows + rows.len() as u64;
        let progress = self.handle.summary(run.as_str())?.progress;
        Ok(RunNews {
            cursor: FollowCursor { rows: next, ..known },
            header: (known.rows == 0).then(|| self.store.load(run).unwrap().0),
            has_more: next < self.store.row_count(run)?,
            is_over: progress.status.is_over() && rows.is_empty(),
            rows,
            progress: Some(progress),
            is_same_history: self.shares_history,
            ..RunNews::default()
        })
    }
}

impl RunServer for HandingServer {
    fn address(&self) -> &str {
        "http://there"
    }

    fn is_unknown_run(&self, refused: &StoreError) -> bool {
        refused.message.contains("no run")
    }

    fn look<'a>(&'a self, run: &'a RunId, known: FollowCursor) -> BoxFuture<'a, Result<RunNews, StoreError>> {
        let before = self.faults.cut_at_look.load(Ordering::Relaxed);
        self.faults.cut_at_look.store(before.saturating_sub(1), Ordering::Relaxed);
        let cut_off = StoreError { message: "cut off".to_owned(), hint: None };
        std::future::ready(if before == 1 { Err(cut_off) } else { self.news(run, known) }).boxed()
    }

    fn follow<'a>(
        &'a self,
        run: &'a RunId,
        known: FollowCursor,
    ) -> BoxFuture<'a, Result<RunNews, StoreError>> {
        async move {
            tokio::time::sleep(Duration::from_millis(2)).await;
            self.news(run, known)
        }
        .boxed()
    }

    fn answer<'a>(
        &'a self,
        run: &'a RunId,
        given: &'a ServerAnswers,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        async move {
            if self.faults.loses_answers.load(Ordering::Relaxed) {
                return Ok(1);
            }
            let read =
                |(call, answer): &(CallId, Value)| (*call, serde_json::from_value(answer.clone()).unwrap());
            let answers = given.answers.iter().map(read).collect();
            let decisions = given.decisions.clone();
            let resumed = self.handle.resume(run, ResumeRequest { answers, decisions, ..Default::default() });
            resumed.await.map(|()| 1).map_err(|error| StoreError { message: error.to_string(), hint: None })
        }
        .boxed()
    }

    fn cancel<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<bool, StoreError>> {
        async move {
            self.handle.cancel(run).await?;
            self.handle.wait_until_released(run).await;
            Ok(true)
        }
        .boxed()
    }
}

/// A machine where runs work without a user, and one that reaches them.
struct TwoMachines {
    there: World,
    here: World,
    faults: Arc<ServerFaults>,
}

impl TwoMachines {
    fn new() -> Self {
        let (there, mut here) = (World::new(), World::new());
        let faults = Arc::<ServerFaults>::default();
        let server = HandingServer {
            handle: there.handle.clone(),
            store: Arc::clone(&there.ports.store),
            shares_history: false,
            faults: Arc::clone(&faults),
        };
        here.handle = here.handle.with_run_server(Arc::new(server));
        Self { there, here, faults }
    }

    /// A run that waits for an answer there.
    async fn ask_there(&mut self) -> RunId {
        let asks = workflow(ParameterType::String, pause_state("Ship it?"), Vec::new(), Vec::new());
        let run = self.there.handle.start(spec(&asks, false)).unwrap();
        assert_eq!(self.there.events_to_end().await.1, RunStatus::Paused);
        run
    }

    /// A run that works there for a minute.
    fn nap_there(&self) -> RunId {
        let wait = StateBody::Wait(WaitSpec::For(ValueSource::Value(json!(60))));
        let naps = workflow(ParameterType::String, wait, Vec::new(), Vec::new());
        self.there.handle.start(spec(&naps, false)).unwrap()
    }

    fn rows(world: &World, run: &RunId) -> Vec<JournalRow> {
        world.ports.store.load(run).unwrap().1
    }

    fn check_copy(&self, run: &RunId) {
        assert_eq!(Self::rows(&self.here, run), Self::rows(&self.there, run));
        let summary = |world: &World| world.handle.summary(run.as_str()).unwrap().progress;
        assert_eq!(summary(&self.here), summary(&self.there));
        let events = |world: &World| world.handle.load_record(run.as_str()).unwrap().events;
        assert_eq!(events(&self.here), events(&self.there));
    }
}

fn status_here(machines: &TwoMachines, run: &RunId) -> RunStatus {
    machines.here.handle.summary(run.as_str()).unwrap().progress.status
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_has_each_row_once_and_nobody_here_need_drive_it() {
    let mut machines = TwoMachines::new();
    let unknown = RunId::from("aaaaaaaaaaaa");
    assert!(machines.here.handle.fetch_from_server(&unknown).await.is_err());
    let run = machines.ask_there().await;
    for _ in 0..2 {
        machines.here.handle.fetch_from_server(&run).await.unwrap();
        machines.check_copy(&run);
    }
    // two processes of this machine copy at once
    let other = SqliteStore::new(machines.here.directory.path().join("data/runs.sqlite"));
    machines.here.ports.store.delete(std::slice::from_ref(&run)).unwrap();
    let ports = RuntimePorts { store: Arc::new(other), ..machines.here.ports.clone() };
    let server = HandingServer {
        handle: machines.there.handle.clone(),
        store: Arc::clone(&machines.there.ports.store),
        shares_history: false,
        faults: Arc::default(),
    };
    let second = RuntimeHandle::new(ports, RuntimeOptions::default()).with_run_server(Arc::new(server));
    for _ in 0..2 {
        let (one, two) =
            tokio::join!(machines.here.handle.fetch_from_server(&run), second.fetch_from_server(&run));
        assert!(one.is_ok() || two.is_ok(), "{one:?} {two:?}");
    }
    machines.check_copy(&run);

    let works = machines.nap_there();
    machines.here.handle.refresh_from_server(works.as_str()).await;
    assert_eq!(status_here(&machines, &works), RunStatus::Running);
    assert_eq!(machines.here.handle.driver_pid(&works), None);
    let listed = machines.here.handle.list_runs(0).unwrap();
    let works_in_list = listed.iter().find(|listed| listed.id == works).unwrap();
    assert_eq!(works_in_list.progress.status, RunStatus::Running);
    // what the server has no way for
    let paused = machines.here.handle.pause(&works, PATIENCE).await.unwrap_err();
    assert!(paused.message.contains("is kept by the Restate server at http://there"), "{paused}");
    assert_eq!(machines.here.handle.cancel(&works).await, Ok(CancelOutcome::Done));
    machines.check_copy(&works);
    assert_eq!(status_here(&machines, &works), RunStatus::Cancelled);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_history_that_the_worker_writes_gets_nothing() {
    let mut machines = TwoMachines::new();
    let run = machines.ask_there().await;
    let server = HandingServer {
        handle: machines.there.handle.clone(),
        store: Arc::clone(&machines.there.ports.store),
        shares_history: true,
        faults: Arc::default(),
    };
    let here = machines.here.handle.with_run_server(Arc::new(server));
    here.fetch_from_server(&run).await.unwrap();
    assert!(here.summary(run.as_str()).is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_who_is_present_is_asked_here_and_the_run_goes_on_there() {
    let mut machines = TwoMachines::new();
    let run = machines.ask_there().await;
    let here = machines.here.handle.clone();
    here.fetch_from_server(&run).await.unwrap();
    let present = || ResumeRequest { user_present: true, ..ResumeRequest::default() };
    here.resume(&run, present()).await.unwrap();
    let asked = machines.here.events_until(|event| matches!(event, RunEvent::PersonAsked { .. })).await;
    let resumed =
        |events: &[RunEvent]| events.iter().filter(|event| matches!(event, RunEvent::Resumed { .. })).count();
    assert_eq!(resumed(&asked), 1);
    let Some(RunEvent::PersonAsked { call, .. }) = asked.last() else { panic!("{asked:#?}") };
    assert!(here.running_runs().contains(&run));
    let rows = TwoMachines::rows(&machines.there, &run).len();
    here.send_command(
        &run,
        RunCommand::Answer { call: *call, answer: UserAnswer::Text { text: "yes".into() } },
    );
    let (seen, status, output) = machines.here.events_to_end().await;
    assert_eq!((status, output), (RunStatus::Completed, Some(json!("yes"))));
    // the user has seen that it goes on
    assert_eq!(resumed(&seen), 0, "{seen:#?}");
    assert!(seen.iter().any(|event| matches!(event, RunEvent::PersonAnswered { .. })), "{seen:#?}");
    assert!(TwoMachines::rows(&machines.there, &run).len() > rows);
    here.wait_until_released(&run).await;
    machines.check_copy(&run);
    let over = here.resume(&run, present()).await.unwrap_err();
    assert!(over.to_string().contains("is completed"), "{over}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_of_a_client_is_checked_first_and_a_token_gives_one() {
    let mut machines = TwoMachines::new();
    let run = machines.ask_there().await;
    let here = machines.here.handle.clone();
    here.fetch_from_server(&run).await.unwrap();
    let before = TwoMachines::rows(&machines.there, &run);
    let answers = vec![(CallId(99), UserAnswer::Continue)];
    assert!(here.resume(&run, ResumeRequest { answers, ..ResumeRequest::default() }).await.is_err());
    assert_eq!(TwoMachines::rows(&machines.there, &run), before, "nothing was changed");
    let open = here.summary(run.as_str()).unwrap().progress.pauses;
    let token = here.issue_token(&run, open[0].call, 60).unwrap();
    let given = json!({"answer": "by token"});
    here.redeem(&token.text, given, ResumeRequest::default(), &|_| true).await.unwrap();
    let (_, status, output) = machines.here.events_to_end().await;
    assert_eq!((status, output), (RunStatus::Completed, Some(json!("by token"))));
    machines.check_copy(&run);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_follows_hears_what_the_driver_tells_and_may_leave() {
    let mut machines = TwoMachines::new();
    let run = machines.nap_there();
    let here = machines.here.handle.clone();
    here.follow_at_server(&run, vec!["a note".to_owned()]).unwrap();
    let seen = machines.here.events_until(|event| matches!(event, RunEvent::Waiting { .. })).await;
    assert!(seen.iter().any(|event| matches!(event, RunEvent::RunStarted { .. })), "{seen:#?}");
    assert!(seen.iter().any(|event| matches!(event, RunEvent::Warning { text, .. } if text == "a note")));
    here.send_command(&run, RunCommand::Leave);
    here.wait_until_released(&run).await;
    assert_eq!(machines.there.handle.summary(run.as_str()).unwrap().progress.status, RunStatus::Running);
    // followed again it ends from here
    here.resume(&run, ResumeRequest::default()).await.unwrap();
    here.send_command(&run, RunCommand::End);
    assert_eq!(machines.here.events_to_end().await.1, RunStatus::Cancelled);
    here.wait_until_released(&run).await;
    machines.check_copy(&run);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_that_was_cut_off_is_completed_later() {
    let mut machines = TwoMachines::new();
    let run = machines.ask_there().await;
    let open = machines.there.handle.summary(run.as_str()).unwrap().progress.pauses;
    let answers = vec![(open[0].call, UserAnswer::Text { text: "yes".into() })];
    machines.there.handle.resume(&run, ResumeRequest { answers, ..ResumeRequest::default() }).await.unwrap();
    assert_eq!(machines.there.events_to_end().await.1, RunStatus::Completed);
    machines.there.handle.wait_until_released(&run).await;
    machines.faults.cut_at_look.store(2, Ordering::Relaxed);
    assert!(machines.here.handle.fetch_from_server(&run).await.is_err());
    let copied = TwoMachines::rows(&machines.here, &run).len();
    assert!(copied < TwoMachines::rows(&machines.there, &run).len(), "{copied} rows were copied");
    assert_eq!(status_here(&machines, &run), RunStatus::Running);
    machines.here.handle.refresh_from_server(run.as_str()).await;
    machines.check_copy(&run);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_that_another_process_kept_from_the_copy_are_read_again() {
    let mut machines = TwoMachines::new();
    let run = machines.ask_there().await;
    machines.here.handle.fetch_from_server(&run).await.unwrap();
    let other = SqliteStore::new(machines.here.directory.path().join("data/runs.sqlite"));
    other.claim_remote(&run).unwrap();
    machines.there.handle.cancel(&run).await.unwrap();
    let before = TwoMachines::rows(&machines.here, &run);
    machines.here.handle.follow_at_server(&run, Vec::new()).unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(TwoMachines::rows(&machines.here, &run), before);
    other.release(&run);
    assert_eq!(machines.here.events_to_end().await.1, RunStatus::Cancelled);
    machines.check_copy(&run);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_over_is_followed_no_more_though_it_never_took_an_answer() {
    let mut machines = TwoMachines::new();
    let run = machines.ask_there().await;
    machines.faults.loses_answers.store(true, Ordering::Relaxed);
    let here = machines.here.handle.clone();
    here.fetch_from_server(&run).await.unwrap();
    here.resume(&run, ResumeRequest { user_present: true, ..ResumeRequest::default() }).await.unwrap();
    let asked = machines.here.events_until(|event| matches!(event, RunEvent::PersonAsked { .. })).await;
    let Some(RunEvent::PersonAsked { call, .. }) = asked.last() else { panic!("{asked:#?}") };
    let answer = UserAnswer::Text { text: "yes".into() };
    here.send_command(&run, RunCommand::Answer { call: *call, answer });
    here.send_command(&run, RunCommand::End);
    assert_eq!(machines.here.events_to_end().await.1, RunStatus::Cancelled);
    here.wait_until_released(&run).await;
    machines.check_copy(&run);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_its_server_has_forgotten_is_said_to_be() {
    let mut machines = TwoMachines::new();
    let run = machines.ask_there().await;
    let here = &machines.here.handle;
    here.fetch_from_server(&run).await.unwrap();
    machines.there.handle.wait_until_released(&run).await;
    machines.there.ports.store.delete(std::slice::from_ref(&run)).unwrap();
    let refused = here.resume(&run, ResumeRequest::default()).await.unwrap_err();
    assert!(
        refused.to_string().contains("has no run") && refused.to_string().contains("any more"),
        "{refused}"
    );
    let refused = here.fetch_from_server(&run).await.unwrap_err();
    assert!(refused.hint.unwrap().contains(&format!("runs show {run}")));
}
