//! Every case again, with its run on a Restate server: the same journal, the same output. One server and one worker
//! drive all of them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use synthdev::domain::ids::RunId;
use synthdev::domain::journal::RunProgress;
use synthdev::engine::run_spec::RunSpec;
use synthdev::ports::run_store::RunStore;
use synthdev::restate::host_directory::HostDescription;
use synthdev::restate::host_watch::enroll;
use synthdev::restate::journaled_step::{ProjectPlace, ResumeAnswer, RunEnd, RunSubmission, StepRefusal};
use synthdev::restate::server_client::{PlacedRun, RestateAddresses, RestateClient};
use synthdev::restate::worker::{RunHost, RunWorker, StoreWrapper, WorkerOptions};
use synthdev::restate::worker_server::{open_listener, serve_runs};
use synthdev::runtime::command::RunCommand;
use synthdev::runtime::handle::RuntimeHandle;
use synthdev::runtime::resume::ResumeRequest;
use tokio::runtime::Handle;

use super::{Case, CaseBackend, FILES, InProcess, play_case};
use crate::support::journal_rows::{comparable_rows, text_without_chance};
use crate::support::model_server::Dialect;
use crate::support::restate_server::RestateServer;
use crate::support::stage::{Stage, Texts};
use crate::support::wire::Wire;

fn project() -> ProjectPlace {
    ProjectPlace { identity: "conformance".to_owned(), ..ProjectPlace::default() }
}

/// The stage of the case that is played.
struct PlayedStage {
    handle: RuntimeHandle,
    store: Arc<dyn RunStore>,
}

/// A host of one stage after the other.
struct StageHost {
    stage: Mutex<Option<PlayedStage>>,
    /// Reads nothing: the cases are followed on their stages.
    idle: Stage,
    project: ProjectPlace,
}

impl StageHost {
    fn handle(&self) -> RuntimeHandle {
        self.stage.lock().unwrap().as_ref().unwrap().handle.clone()
    }
}

impl RunHost for StageHost {
    fn project(&self) -> &ProjectPlace {
        &self.project
    }

    fn store(&self) -> Arc<dyn RunStore> {
        Arc::clone(&self.stage.lock().unwrap().as_ref().unwrap().store)
    }

    fn reader(&self) -> &RuntimeHandle {
        &self.idle.handle
    }

    fn open_runtime(
        &self,
        _: &RunId,
        _: Option<&str>,
        _: bool,
        wrap: StoreWrapper<'_>,
    ) -> Result<RuntimeHandle, StepRefusal> {
        Ok(self.handle().with_wrapped_store(wrap))
    }

    fn start(&self, handle: &RuntimeHandle, run: RunId, spec: RunSpec) -> Result<(), StepRefusal> {
        let started = handle.start_as(run, spec, None);
        started.map(drop).map_err(|error| StepRefusal { message: error.message, hint: error.hint })
    }

    fn resume<'a>(
        &'a self,
        handle: &'a RuntimeHandle,
        run: &'a RunId,
        _: Option<&'a ResumeAnswer>,
    ) -> BoxFuture<'a, Result<(), StepRefusal>> {
        async move {
            let resumed = handle.resume(run, ResumeRequest::default()).await;
            resumed.map_err(|error| StepRefusal { message: error.to_string(), hint: error.hint() })
        }
        .boxed()
    }

    fn check_answer(&self, _: &RunId, _: &ResumeAnswer) -> Result<(), StepRefusal> {
        Ok(())
    }

    fn end_driven(&self, handle: &RuntimeHandle, run: &RunId) {
        handle.send_command(run, RunCommand::End);
    }

    fn cancel_suspended<'a>(
        &'a self,
        _: &'a RuntimeHandle,
        _: &'a RunId,
    ) -> BoxFuture<'a, Result<(), StepRefusal>> {
        std::future::ready(Ok(())).boxed()
    }

    fn leave(&self, handle: &RuntimeHandle, run: &RunId) {
        handle.send_command(run, RunCommand::Leave);
    }
}

/// A worker of this process that gets no run.
pub(crate) fn idle_worker(host_id: &str, drivers: Handle) -> Arc<RunWorker> {
    let host = StageHost { stage: Mutex::default(), idle: Stage::new(&Texts::default()), project: project() };
    let options = WorkerOptions {
        host_id: host_id.to_owned(),
        server: String::new(),
        slots: 1,
        identity_key: None,
        drivers,
    };
    Arc::new(RunWorker::new(Arc::new(host), options))
}

/// A server, and a worker of this process.
struct OnRestate {
    host: Arc<StageHost>,
    client: RestateClient,
    service: String,
    _server: RestateServer,
}

impl OnRestate {
    async fn start() -> Self {
        let server = RestateServer::start();
        let addresses =
            RestateAddresses { ingress: server.ingress(), admin: server.admin(), auth_token: None };
        let client = RestateClient::new(addresses).unwrap();
        let host = Arc::new(StageHost {
            stage: Mutex::default(),
            idle: Stage::new(&Texts::default()),
            project: project(),
        });
        let options = WorkerOptions {
            host_id: "here".to_owned(),
            server: server.ingress(),
            slots: 1,
            identity_key: None,
            drivers: Handle::current(),
        };
        let worker = Arc::new(RunWorker::new(Arc::clone(&host) as Arc<dyn RunHost>, options));
        let listener = open_listener("127.0.0.1:0".parse().unwrap(), None).unwrap();
        let address = listener.local_addr().unwrap();
        worker.clock().measure(&client).await.unwrap();
        tokio::spawn(serve_runs(worker, listener, std::future::pending()));
        let description = HostDescription {
            host_id: "here".to_owned(),
            project: project(),
            slots: "1".to_owned(),
            snapshot_remote: String::new(),
            version: String::new(),
        };
        let service = enroll(&client, &format!("http://{address}"), &description).await.unwrap();
        Self { host, client, service, _server: server }
    }
}

impl OnRestate {
    fn placed(&self, run: &RunId) -> PlacedRun {
        PlacedRun { service: self.service.clone(), id: run.clone() }
    }
}

impl CaseBackend for OnRestate {
    fn start_run<'a>(&'a self, stage: &'a Stage, spec: RunSpec) -> BoxFuture<'a, RunId> {
        async move {
            let (handle, store) = (stage.handle.clone(), Arc::clone(&stage.ports.store));
            let run = handle.draw_run_id();
            *self.host.stage.lock().unwrap() = Some(PlayedStage { handle, store });
            let submission =
                RunSubmission { project: project(), spec, replies: None, handed_over_by: Vec::new() };
            self.client.submit(&self.placed(&run), &submission).await.unwrap();
            run
        }
        .boxed()
    }
}

/// What came of a run, without chance.
#[derive(PartialEq)]
struct PlayedRun {
    rows: (Vec<String>, Vec<String>),
    end: String,
}

fn read_run(stage: &Stage, run: &RunId) -> (PlayedRun, RunProgress) {
    let (_, rows) = stage.ports.store.load(run).unwrap();
    let progress = stage.handle.summary(run.as_str()).unwrap().progress;
    let output = progress.output.clone().map(text_without_chance);
    let error = progress.error.as_ref().map(|error| &error.code);
    let end = format!("{:?} {output:?} {error:?} {:?}", progress.status, progress.path);
    (PlayedRun { rows: comparable_rows(&rows), end }, progress)
}

/// Where two runs of the same case differ.
fn differences(here: &PlayedRun, there: &PlayedRun) -> String {
    let lines = |run: &PlayedRun| -> Vec<String> {
        let (rows, snapshots) = &run.rows;
        rows.iter().chain(snapshots).chain([&run.end]).cloned().collect()
    };
    let (ours, theirs) = (lines(here), lines(there));
    let mut pairs = ours.iter().zip(&theirs);
    let first = pairs.find(|(one, other)| one != other);
    match first {
        Some((one, other)) => format!("here: {one}\n    there: {other}"),
        None => format!("{} rows here, {} there", ours.len(), theirs.len()),
    }
}

/// Branches go on beside each other: which one is first is chance on both sides. So a case is played until a run of one
/// side is a run of the other; one without branches has one journal only.
const PLAYS: usize = 200;

/// A case in this process and at the server: what is wrong, and how often it was played, if there was a run.
async fn compare(case: &Case, backend: &OnRestate) -> (Vec<String>, Option<usize>) {
    let (mut all_here, mut all_there) = (Vec::new(), Vec::new());
    for plays in 1..=PLAYS {
        let wire = Wire::new(Dialect::ALL[0]).await;
        let (_, here) = play_case(case, &wire, &InProcess).await;
        let Some((stage, run)) = here else { return (Vec::new(), None) };
        all_here.push(read_run(&stage, &run).0);
        let wire = Wire::new(Dialect::ALL[0]).await;
        let (mut problems, there) = play_case(case, &wire, backend).await;
        let (stage, run) = there.unwrap();
        let (there, progress) = read_run(&stage, &run);
        all_there.push(there);
        if progress.status.is_over() && progress.pauses.is_empty() {
            problems.extend(server_problems(backend, &run, &progress).await);
        }
        if !problems.is_empty() || all_here.iter().any(|here| all_there.contains(here)) {
            return (problems, Some(plays));
        }
    }
    (vec![differences(&all_here[0], &all_there[0])], Some(PLAYS))
}

/// The end as the server knows it.
async fn server_problems(backend: &OnRestate, run: &RunId, progress: &RunProgress) -> Option<String> {
    for _ in 0..500 {
        match backend.client.outcome(&backend.placed(run)).await {
            Ok(None | Some(RunEnd::HandedOver { .. })) => tokio::time::sleep(Duration::from_millis(10)).await,
            Ok(Some(RunEnd::Ended(there))) => {
                let same = there.status == progress.status && there.output == progress.output;
                return (!same).then(|| format!("the server has {:?} {:?}", there.status, there.output));
            }
            Err(refused) => return Some(format!("the server: {}", refused.message)),
        }
    }
    Some("the server does not know the end".to_owned())
}

#[test]
#[ignore = "tool: needs node and npm, and the registry of npm"]
fn every_case_has_the_same_journal_and_output_on_a_restate_server() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    let (mut failed, mut count, mut at_once) = (Vec::new(), 0, 0);
    runtime.block_on(async {
        let backend = OnRestate::start().await;
        for (file, text) in FILES {
            let cases: Vec<Case> = serde_json::from_str(text).unwrap();
            for case in &cases {
                let (problems, plays) = compare(case, &backend).await;
                count += usize::from(plays.is_some());
                at_once += usize::from(plays == Some(1));
                if plays > Some(1) {
                    println!("{file}: {} — {}: {plays:?} plays", case.rule, case.about);
                }
                if !problems.is_empty() {
                    let problems = problems.join("\n    ");
                    failed.push(format!("{file}: {} — {}\n    {problems}", case.rule, case.about));
                }
            }
        }
    });
    println!("{} of {count} cases agree, {at_once} at once", count - failed.len());
    assert!(failed.is_empty(), "{} of {count} cases differ:\n\n{}\n", failed.len(), failed.join("\n\n"));
}
