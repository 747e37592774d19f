//! Runs that are ended for good while something else happens to them.

use std::future::Future;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use super::sub_agents::watched_world;
use super::*;
use synthdev::domain::project_lock::LockHolder;
use synthdev::engine::event::PublishedEvent;
use synthdev::ports::lock::{LockError, ProjectLock, ProjectLockGuard};
use synthdev::runtime::cancel::CancelOutcome;
use synthdev::runtime::resume::ResumeRequest;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_being_taken_up_is_told_to_end_once_it_is_driven() {
    let (world, store) = watched_world();
    let mut asks = two_branches([StateBody::None, StateBody::None]);
    Arc::get_mut(&mut asks).unwrap().states[0].work = pause_state("Ship it?");
    let (handle, mut events) = (world.handle.clone(), world.handle.subscribe(false));
    let run = handle.start(spec(&asks, false)).unwrap();
    let status = |handle: &RuntimeHandle, run: &RunId| handle.summary(run.as_str()).unwrap().progress.status;
    let ended = |published: &PublishedEvent| matches!(&published.event, RunEvent::Finished { .. });
    while !events.recv().await.is_some_and(|published| ended(&published)) {}
    assert_eq!(status(&handle, &run), RunStatus::Paused);
    // somebody ends it in the moment in which it belongs to this process, and nobody drives it yet
    let cancelling = Arc::new(Mutex::new(None));
    let (ends, of, kept) = (handle.clone(), run.clone(), Arc::clone(&cancelling));
    store.at_claim(move || {
        let (ends, of) = (ends.clone(), of.clone());
        let mut cancel = Box::pin(async move { ends.cancel(&of).await });
        let early = cancel.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(early, Poll::Pending), "{early:?}");
        *kept.lock().unwrap() = Some(tokio::spawn(cancel));
    });
    handle.resume(&run, ResumeRequest { user_present: true, ..ResumeRequest::default() }).await.unwrap();
    let cancelling = cancelling.lock().unwrap().take().unwrap();
    assert_eq!(cancelling.await.unwrap(), Ok(CancelOutcome::Told));
    while !events.recv().await.is_some_and(|published| ended(&published)) {}
    assert_eq!(status(&handle, &run), RunStatus::Cancelled);
    while handle.running_runs().contains(&run) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // what has ended, has
    let again = handle.cancel(&run).await.unwrap_err();
    assert_eq!(again.message, format!("run {run} is cancelled already"));
}

/// A lock that takes its time to be released, and says when it is.
struct SlowLock(Arc<AtomicBool>);

impl ProjectLock for SlowLock {
    fn try_lock(&self, _: &LockHolder) -> Result<ProjectLockGuard, LockError> {
        Ok(ProjectLockGuard::new(SlowGuard(Arc::clone(&self.0))))
    }
}

struct SlowGuard(Arc<AtomicBool>);

impl Drop for SlowGuard {
    fn drop(&mut self) {
        std::thread::sleep(Duration::from_millis(100));
        self.0.store(true, Ordering::SeqCst);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_whose_end_is_read_keeps_no_other_from_the_files() {
    for command in ["true", "exit 1"] {
        let world = World::new();
        let released = Arc::new(AtomicBool::new(false));
        let handle = RuntimeHandle::new(
            RuntimePorts { lock: Some(Arc::new(SlowLock(Arc::clone(&released)))), ..world.ports.clone() },
            RuntimeOptions::default(),
        );
        let mut events = handle.subscribe(false);
        let flow = workflow(ParameterType::Object, shell(command), Vec::new(), Vec::new());
        let mut spec = spec(&flow, true);
        spec.approvals = spec.approvals.approving_all();
        handle.start(spec).unwrap();
        let ended = |published: &PublishedEvent| matches!(&published.event, RunEvent::Finished { .. });
        while !events.recv().await.is_some_and(|published| ended(&published)) {}
        assert!(released.load(Ordering::SeqCst), "{command}");
    }
}
