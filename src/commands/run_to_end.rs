//! Staying with a run to its end: a runtime of its own, signals, leftovers of a script.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

use anyhow::Result;

use super::read_only::error_with_hint;
use super::recordings;
use synthdev_bootstrap::active_recording::ActiveRecording;
pub(crate) use synthdev_bootstrap::async_runtime::{build_runtime, runtime_with_threads};
use synthdev_bootstrap::scripted_models::ScriptedModel;
use synthdev_bootstrap::wiring::WiredRuntime;
use synthdev_cli::headless::{self, FinalReport, HeadlessOutput, InterruptSource};
use synthdev_cli::output::print_stderr;
use synthdev_domain::ids::RunId;
use synthdev_engine::run_spec::RunSpec;
use synthdev_ports::simulation::ScriptedModelPort;
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_service::run_start::{RunStartError, start_run};

/// Runs a spec to its end on a runtime of its own, with Ctrl+C as cancel.
pub(crate) fn drive_spec(wired: &WiredRuntime, spec: RunSpec, show: HeadlessOutput) -> Result<FinalReport> {
    follow_run(wired, show, async |handle| start_run(handle, spec).map_err(start_error))
}

/// Why a run was not started.
pub(crate) fn start_error(error: RunStartError) -> anyhow::Error {
    error_with_hint(&error.to_string(), error.hint())
}

/// Starts a run on a runtime of its own and follows it to its end, with Ctrl+C as cancel.
pub(crate) fn follow_run(
    wired: &WiredRuntime,
    show: HeadlessOutput,
    go: impl AsyncFnOnce(&RuntimeHandle) -> Result<RunId>,
) -> Result<FinalReport> {
    match follow_run_if(wired, show, async |handle| {
        go(handle).await.map(ControlFlow::<Infallible, _>::Continue)
    })? {
        ControlFlow::Continue(report) => Ok(report),
        ControlFlow::Break(never) => match never {},
    }
}

/// The same; `go` may find that there is nothing to set going, and say something else.
pub(crate) fn follow_run_if<T>(
    wired: &WiredRuntime,
    show: HeadlessOutput,
    go: impl AsyncFnOnce(&RuntimeHandle) -> Result<ControlFlow<T, RunId>>,
) -> Result<ControlFlow<T, FinalReport>> {
    let runtime = build_runtime()?;
    let report = runtime.block_on(async {
        let interrupts = interrupt_receiver();
        let (providers, deck) = (Arc::clone(&wired.providers), wired.recording.clone());
        let leftovers = move || match &deck {
            Some(ActiveRecording::Player(player)) => never_used(player.unused_replies()),
            _ => unused_replies(providers.scripted_model()),
        };
        let events = wired.handle.subscribe(show.events);
        match go(&wired.handle).await? {
            ControlFlow::Break(other) => Ok(ControlFlow::Break(other)),
            ControlFlow::Continue(run) => {
                let followed = headless::follow_run(&wired.handle, run, events, show, interrupts, &leftovers);
                let mut report = followed.await?;
                report.files_changed = show.progress && files_changed(wired, &report);
                recordings::finish_recording(wired.recording.as_ref(), &mut report, show);
                Ok(ControlFlow::Continue(report))
            }
        }
    });
    if let (Some(ActiveRecording::Recorder(recorder)), Err(_)) = (&wired.recording, &report) {
        recorder.abandon_recording().iter().for_each(|left| print_stderr(format_args!("warning: {left}")));
    }
    wired.handle.index_texts();
    // A snapshot or search that a cancel left behind is not waited for.
    runtime.shutdown_background();
    report
}

/// Ctrl+C, and the signals by which a system ends programs.
pub(crate) fn interrupt_receiver() -> headless::InterruptReceiver {
    let (to, from) = tokio::sync::mpsc::unbounded_channel();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let kinds = [
            (SignalKind::interrupt(), InterruptSource::Person),
            (SignalKind::terminate(), InterruptSource::System),
            (SignalKind::hangup(), InterruptSource::System),
        ];
        for (kind, who) in kinds {
            let to = to.clone();
            if let Ok(mut stream) = signal(kind) {
                tokio::spawn(async move { while stream.recv().await.is_some() && to.send(who).is_ok() {} });
            }
        }
    }
    #[cfg(not(unix))]
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() && to.send(InterruptSource::Person).is_ok() {}
    });
    from
}

/// Whether an undo would change anything. Undo is offered if that is unknown.
fn files_changed(wired: &WiredRuntime, report: &FinalReport) -> bool {
    let store = &wired.ports.snapshots;
    let before = report.snapshot.as_ref().filter(|_| report.worktree.is_none());
    before.is_some_and(|before| store.changes(before, None).map_or(true, |files| !files.is_empty()))
}

fn unused_replies(script: Option<&ScriptedModel>) -> Vec<String> {
    let unused = script.map(ScriptedModel::unused_replies).unwrap_or_default();
    never_used(unused.into_iter().map(|(agent, at)| format!("reply {} of `{agent}`", at + 1)).collect())
}

fn never_used(what: Vec<String>) -> Vec<String> {
    what.into_iter().map(|what| format!("{what} was never used")).collect()
}
