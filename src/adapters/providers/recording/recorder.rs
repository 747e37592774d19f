//! Records model replies: a model port that writes the calls that go through it into a recording (cassette).
//!
//! The file grows beside its place (`partial_file.rs`), a line for each call that is over, and takes its place when the
//! recording is finished: an earlier recording stays whole until then, and what was recorded before a crash can be
//! played. A line that cannot be written stops the recording, never the run. Refuses to replace what is no recording.
//! A recording is a header and one line of JSON per call: the normalized request, and the reply or the error.
//! `format.rs` has the lines, `player.rs` plays them, `matcher.rs` finds the call that a request repeats.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;

use super::format::{
    ModelRecording, RecordedCall, RecordedOutcome, RecordedPartialReply, RecordingError, RecordingHeader,
    call_line, header_line,
};
use super::normalize::{NormalizedRequest, RequestNormalizer, RolesByAgent};
use super::partial_file::PartialRecordingFile;
use synthdev_domain::cost::AttemptUsage;
use synthdev_domain::model::{DeltaKind, ModelError, ModelReply, ModelRequest};
use synthdev_ports::model::{DeltaSink, ModelPort};
use synthdev_ports::simulation::ScriptedModelPort;

/// Between attempts of a run whose own clock does not wait.
const USUAL_WAIT: Duration = Duration::from_secs(2);
const LONGEST_WAIT: Duration = Duration::from_secs(60);

pub struct ModelCallRecorder {
    inner_model: Arc<dyn ModelPort>,
    normalizer: RequestNormalizer,
    roles: RolesByAgent,
    begun_calls: AtomicU64,
    recording_writer: Mutex<RecordingWriter>,
    waits_for_retries: bool,
}

/// A recording that did not take its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnfinishedRecording {
    /// The file as it was named.
    pub name: String,
    /// Path of the incomplete file.
    pub part: String,
    pub calls: u64,
    /// There is an earlier one in its place.
    pub replaces_earlier: bool,
}

impl std::fmt::Display for UnfinishedRecording {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, part, calls, replaces_earlier: replaces } = self;
        let stays = if *replaces { "stays as it was" } else { "is not written" };
        let plural = if *calls == 1 { "" } else { "s" };
        write!(f, "{name} {stays}: what was recorded until then, {calls} model call{plural}, is in {part}")
    }
}

struct RecordingWriter {
    path: PathBuf,
    part: PartialRecordingFile,
    /// The last line of each agent.
    last_by_agent: BTreeMap<String, (u64, NormalizedRequest)>,
    calls: u64,
    /// Those of them that were made while it was recorded.
    own_calls: u64,
    write_error: Option<String>,
    /// It is in its place, or was abandoned.
    is_over: bool,
}

impl ModelCallRecorder {
    /// Begins a recording of what `inner` is asked.
    ///
    /// # Errors
    /// There is another kind of file, or none can be made there.
    pub fn create_file(
        path: &Path,
        header: &RecordingHeader,
        roles: RolesByAgent,
        here: RequestNormalizer,
        inner: Arc<dyn ModelPort>,
    ) -> Result<Self, RecordingError> {
        let name = path.display();
        if fs::metadata(path).is_ok_and(|found| found.len() > 0 || !found.is_file()) && !is_recording(path) {
            return Err(RecordingError(format!(
                "{name} is there and is no recording: it is not replaced\nhint: name another file, for example \
                 {}.cassette.jsonl",
                header.workflow
            )));
        }
        let cannot =
            |error: &dyn std::fmt::Display| RecordingError(format!("{name} cannot be recorded: {error}"));
        let line = header_line(&here.to_recorded_form(header.clone())).map_err(|error| cannot(&error))?;
        let mut part = PartialRecordingFile::create_beside(path)?;
        part.write_text(&line).map_err(|error| {
            part.remove_file();
            cannot(&error)
        })?;
        let path = path.to_owned();
        let writer = RecordingWriter {
            path,
            part,
            last_by_agent: BTreeMap::new(),
            calls: 0,
            own_calls: 0,
            write_error: None,
            is_over: false,
        };
        Ok(Self {
            inner_model: inner,
            normalizer: here,
            roles,
            begun_calls: AtomicU64::new(0),
            recording_writer: Mutex::new(writer),
            waits_for_retries: false,
        })
    }

    /// After a passing error it waits as long as a run would: for runs on a simulated clock.
    #[must_use]
    pub fn with_retry_delays(self) -> Self {
        Self { waits_for_retries: true, ..self }
    }

    /// The file as it was named.
    pub fn name(&self) -> String {
        self.lock_writer().path.display().to_string()
    }

    /// Moves the file to its place; returns the number of calls in it.
    ///
    /// # Errors
    /// Something could not be written: the incomplete file stays beside its place.
    pub fn finish_recording(&self) -> Result<u64, RecordingError> {
        let mut writer = self.lock_writer();
        writer.is_over = true;
        let part = writer.part.name();
        let placed = match writer.write_error.take() {
            Some(failed) => Err(failed),
            None => writer.part.move_to(&writer.path).map_err(|error| error.to_string()),
        };
        let (calls, name) = (writer.calls, writer.path.display());
        placed.map(|()| calls).map_err(|why| {
            RecordingError(format!(
                "the recording {name} is not complete: {why}\nhint: what there is of it is {part}"
            ))
        })
    }

    /// The run did not come to the end that was to be recorded: what was recorded before stays in its place. Without
    /// any call of its own it is as if there had been no recording: then nothing is left.
    pub fn abandon_recording(&self) -> Option<UnfinishedRecording> {
        let mut writer = self.lock_writer();
        writer.discard_if_empty();
        if writer.own_calls == 0 {
            return None;
        }
        let (name, part) = (writer.path.display().to_string(), writer.part.name());
        Some(UnfinishedRecording { name, part, calls: writer.calls, replaces_earlier: writer.path.exists() })
    }

    /// A call that was made and is over before the recording begins; `used`: by one that was not answered.
    pub fn record_earlier_call(
        &self,
        request: &ModelRequest,
        outcome: RecordedOutcome,
        used: Option<AttemptUsage>,
    ) {
        let call = self.begun_calls.fetch_add(1, Ordering::Relaxed) + 1;
        if let RecordedOutcome::Error(ModelError::Drift { .. }) = outcome {
            return;
        }
        self.write_call(
            request,
            call,
            outcome,
            RecordedPartialReply { used, ..RecordedPartialReply::default() },
        );
        let mut writer = self.lock_writer();
        writer.own_calls = writer.own_calls.saturating_sub(1);
    }

    fn lock_writer(&self) -> std::sync::MutexGuard<'_, RecordingWriter> {
        self.recording_writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_call(
        &self,
        request: &ModelRequest,
        call: u64,
        outcome: RecordedOutcome,
        partial: RecordedPartialReply,
    ) {
        let recorded = RecordedCall {
            call,
            state: self.normalizer.to_recorded_form(request.state.clone()),
            request: self.normalizer.normalize_request(request, &self.roles),
            outcome: self.normalizer.to_recorded_form(outcome),
            partial_reply: self.normalizer.to_recorded_form(partial),
        };
        self.lock_writer().append_call(recorded);
    }
}

/// A run that was never begun leaves nothing behind.
impl Drop for RecordingWriter {
    fn drop(&mut self) {
        self.discard_if_empty();
    }
}

impl RecordingWriter {
    /// What was paid for stays.
    fn discard_if_empty(&mut self) {
        if !std::mem::replace(&mut self.is_over, true) && self.own_calls == 0 {
            self.part.remove_file();
        }
    }

    fn append_call(&mut self, recorded: RecordedCall) {
        if self.write_error.is_some() {
            return;
        }
        let before = self.last_by_agent.get(&recorded.request.agent).map(|(call, asked)| (*call, asked));
        let line = call_line(&recorded, before).map_err(|error| error.to_string());
        let written = line.and_then(|line| self.part.write_text(&line).map_err(|error| error.to_string()));
        self.write_error = written.err();
        self.calls += 1;
        self.own_calls += 1;
        self.last_by_agent.insert(recorded.request.agent.clone(), (recorded.call, recorded.request));
    }
}

fn is_recording(path: &Path) -> bool {
    match ModelRecording::open_file(path) {
        Ok(_) => true,
        // one that is damaged or newer may be replaced, too
        Err(_) => fs::File::open(path).is_ok_and(|mut file| {
            let mut first = [0; 12];
            std::io::Read::read_exact(&mut file, &mut first).is_ok() && first.starts_with(b"{\"cassette\":")
        }),
    }
}

impl ScriptedModelPort for ModelCallRecorder {
    fn end_recording(&self, keep: bool) -> Option<String> {
        match keep {
            true => self.finish_recording().err().map(|bad| bad.to_string()),
            false => self.abandon_recording().map(|left| format!("the test has failed, so {left}")),
        }
    }
}

impl ModelPort for ModelCallRecorder {
    fn call<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a dyn DeltaSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            let call = self.begun_calls.fetch_add(1, Ordering::Relaxed) + 1;
            let heard = PartialReplySink { sink, partial_reply: Mutex::default() };
            let mut ongoing = OngoingModelCall {
                recorder: self,
                request,
                partial_sink: &heard,
                call,
                started_at: Instant::now(),
                is_over: false,
            };
            let answer = self.inner_model.call(request, &heard).await;
            ongoing.finish_call(&answer);
            if let Err(error) = answer.as_ref()
                && self.waits_for_retries
                && error.is_transient()
            {
                let retry_after = error.retry_after_ms().map_or(USUAL_WAIT, Duration::from_millis);
                tokio::time::sleep(retry_after.min(LONGEST_WAIT)).await;
            }
            answer
        })
    }
}

/// `None` for what is no reply of a model: the script beside the run is wrong.
fn recorded_outcome(answer: &Result<ModelReply, ModelError>) -> Option<RecordedOutcome> {
    match answer {
        Ok(reply) => Some(RecordedOutcome::Reply(reply.clone())),
        Err(ModelError::Drift { .. }) => None,
        Err(error) => Some(RecordedOutcome::Error(error.clone())),
    }
}

/// A call on its way; dropped before its end it was stopped.
struct OngoingModelCall<'a> {
    recorder: &'a ModelCallRecorder,
    request: &'a ModelRequest,
    partial_sink: &'a PartialReplySink<'a>,
    call: u64,
    started_at: Instant,
    is_over: bool,
}

impl OngoingModelCall<'_> {
    fn finish_call(&mut self, answer: &Result<ModelReply, ModelError>) {
        self.is_over = true;
        let Some(outcome) = recorded_outcome(answer) else { return };
        let partial =
            if answer.is_ok() { RecordedPartialReply::default() } else { self.partial_sink.take_partial() };
        self.recorder.write_call(self.request, self.call, outcome, partial);
    }
}

impl Drop for OngoingModelCall<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            let after_ms = u64::try_from(self.started_at.elapsed().as_millis()).unwrap_or(u64::MAX);
            let outcome = RecordedOutcome::Stopped { after_ms };
            self.recorder.write_call(self.request, self.call, outcome, self.partial_sink.take_partial());
        }
    }
}

/// Passes pieces on and keeps them, joined.
struct PartialReplySink<'a> {
    sink: &'a dyn DeltaSink,
    partial_reply: Mutex<RecordedPartialReply>,
}

impl PartialReplySink<'_> {
    fn take_partial(&self) -> RecordedPartialReply {
        std::mem::take(&mut self.partial_reply.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl DeltaSink for PartialReplySink<'_> {
    fn report_usage(&self, used: AttemptUsage) {
        self.partial_reply.lock().unwrap_or_else(PoisonError::into_inner).used = Some(used.clone());
        self.sink.report_usage(used);
    }

    fn delta(&self, kind: DeltaKind, text: &str) {
        self.sink.delta(kind, text);
        let mut so_far = self.partial_reply.lock().unwrap_or_else(PoisonError::into_inner);
        match kind {
            DeltaKind::Text => so_far.text.push_str(text),
            DeltaKind::Reasoning => so_far.reasoning.push_str(text),
        }
    }
}
