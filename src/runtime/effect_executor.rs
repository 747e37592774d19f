//! Performs effects through ports. Each runs as a task and sends its answer to the driver as one input. For a question
//! to the user the answer arrives as a `RunCommand`.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use serde_json::json;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use super::context_window;
use super::driver_message::{DriverMessage, PartialReplies, PartialReply};
use super::network_access::NetworkAnswer;
use super::retry;
use super::runtime_context::RuntimeContext;
use synthdev_domain::approval::ApprovalDecision;
use synthdev_domain::cost::AttemptUsage;
use synthdev_domain::ids::{CallId, RunId, SnapshotId, Timestamp};
use synthdev_domain::journal::{JournalRow, JournalRowKind};
use synthdev_domain::model::{DeltaKind, ModelError, ModelRequest};
use synthdev_domain::script::ScriptJob;
use synthdev_domain::secret::REDACTION_MARK;
use synthdev_domain::tool::{RerunPolicy, ToolInvocation, ToolOutcome, ToolPreview, ToolRisk};
use synthdev_engine::effect::{Effect, UserQuestion};
use synthdev_engine::event::RunEvent;
use synthdev_engine::input::{Input, UserAnswer};
use synthdev_ports::model::DeltaSink;
use synthdev_ports::run_store::StoreError;
use synthdev_ports::tool::ToolProgressSink;

#[derive(Clone)]
pub(super) struct EffectExecutor {
    pub(super) run: RunId,
    pub(super) context: Arc<RuntimeContext>,
    pub(super) inbox_sender: UnboundedSender<DriverMessage>,
    pub(super) partial_replies: PartialReplies,
    pub(super) is_interactive: bool,
    /// This process has asked for a snapshot of the run already.
    pub(super) has_snapshot: Arc<AtomicBool>,
    /// The last one that this process took for the run.
    pub(super) last_snapshot: Arc<Mutex<Option<SnapshotId>>>,
    /// It was started by this process, not resumed.
    pub(super) is_new_run: bool,
}

impl EffectExecutor {
    /// Begins an effect; the handle stops it. Effects that only wait for the user start no task.
    pub(super) fn perform_effect(&self, effect: Effect) -> Option<(CallId, AbortHandle)> {
        let me = self.clone();
        let (call, task) = match effect {
            Effect::TakeSnapshot { call, label, note } => {
                (call, self.spawn_effect(async move { me.take_snapshot(call, label, note).await }))
            }
            Effect::Evaluate { call, job } => {
                (call, self.spawn_effect(async move { me.evaluate_script(call, job).await }))
            }
            Effect::CallModel { call, request } => {
                (call, self.spawn_effect(async move { me.call_model(call, &request).await }))
            }
            Effect::RunTool { call, invocation, risk } => {
                (call, self.spawn_effect(async move { me.run_tool(call, invocation, risk).await }))
            }
            Effect::CheckTool { call, invocation, risk } => {
                (call, self.spawn_effect(async move { me.check_tool(call, &invocation, risk).await }))
            }
            Effect::AskApproval { call, state, invocation, risk, deadline: until, is_checked } => (
                call,
                self.spawn_effect(async move {
                    if is_checked && me.refuse_tool(call, &invocation, risk).await {
                        return;
                    }
                    me.request_approval(call, state, &invocation, risk, until).await;
                }),
            ),
            Effect::AskPerson { call, question } => {
                self.answer_headless(call, &question);
                return None;
            }
            Effect::SetTimer { call, delay_ms, .. } => (
                call,
                self.spawn_effect(async move {
                    tokio::time::sleep(Duration::from_millis(delay_ms)).await;
                    me.send_input(Input::Elapsed { call });
                }),
            ),
            Effect::Abort { .. } | Effect::Finish => return None,
        };
        Some((call, task))
    }

    fn spawn_effect(&self, work: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        let inbox_sender = self.inbox_sender.clone();
        let guarded = async move {
            if AssertUnwindSafe(work).catch_unwind().await.is_err() {
                let _ = inbox_sender.send(DriverMessage::EffectPanicked);
            }
        };
        tokio::spawn(guarded).abort_handle()
    }

    pub(super) fn send_input(&self, input: Input) {
        // A closed inbox means that the run is over and the answer is not needed.
        let _ = self.inbox_sender.send(DriverMessage::Input(input));
    }

    pub(super) fn publish_event(&self, event: RunEvent) {
        self.context.bus.publish(&self.run, self.context.ports.clock.now(), event);
    }

    async fn evaluate_script(&self, call: CallId, job: ScriptJob) {
        self.send_input(match self.context.ports.scripts.evaluate(job).await {
            Ok(outcome) => Input::Evaluated { call, outcome },
            Err(error) => Input::ScriptFailed { call, error },
        });
    }

    /// Accesses the partial result of a call; `None` if the call was stopped.
    fn with_partial_reply<T>(&self, call: CallId, look: impl FnOnce(&mut PartialReply) -> T) -> Option<T> {
        self.partial_replies.lock().unwrap_or_else(PoisonError::into_inner).get_mut(&call).map(look)
    }

    /// After an attempt that was paid for, its budgets may have no room for another one.
    fn may_repeat(&self, call: CallId) -> BoxFuture<'static, bool> {
        let paid = self.with_partial_reply(call, |streamed| {
            streamed.fail_attempt();
            !streamed.failed_usage().is_empty()
        });
        if paid != Some(true) {
            return ready(true).boxed();
        }
        let (answer, allowed) = oneshot::channel();
        let _ = self.inbox_sender.send(DriverMessage::MayRepeat { call, answer });
        // there is no answer when the run is over
        async move { allowed.await.unwrap_or(false) }.boxed()
    }

    async fn call_model(&self, call: CallId, request: &ModelRequest) {
        self.partial_replies
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(call, PartialReply::default());
        let request = match context_window::fit_to_window(request) {
            Ok(request) => request,
            Err(error) => {
                return self.send_input(Input::ModelFailed {
                    call,
                    error,
                    attempts: 0,
                    used: Vec::new(),
                    again: false,
                });
            }
        };
        let request = &*request;
        // The journal is synced while the model works: one sync a call, which adds no delay.
        let store = Arc::clone(&self.context.ports.store);
        let synced = tokio::task::spawn_blocking(move || store.sync());
        let deltas = self.context.bus.has_delta_subscribers();
        let sink = RedactingDeltaSink { call, executor: self, deltas, held_text: Mutex::default() };
        let waiting = |attempt: u32, delay: Duration, error: &ModelError| {
            sink.release_held_text();
            self.with_partial_reply(call, PartialReply::fail_attempt);
            self.publish_event(RunEvent::ModelRetry {
                call,
                agent: request.agent.clone(),
                attempt,
                delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
                reason: self.context.redactor.redact_text(error.to_string()),
            });
        };
        let ports = &self.context.ports;
        let random = || ports.ids.seed();
        let policy = self.context.options.retry;
        let allowed = || self.may_repeat(call);
        let tried =
            retry::call_with_retries(&*ports.models, request, &sink, policy, &random, &allowed, &waiting)
                .await;
        let retry::RetryOutcome { result, attempts, would_retry: again } = tried;
        sink.release_held_text();
        let _ = synced.await;
        let used = |which: fn(&PartialReply) -> Vec<AttemptUsage>| {
            self.with_partial_reply(call, |streamed| which(streamed)).unwrap_or_default()
        };
        self.send_input(match result {
            Ok(mut reply) => {
                // a recording may contain failed attempts of its own
                reply.failed.extend(used(PartialReply::failed_usage));
                Input::Replied { call, reply }
            }
            Err(error) => {
                Input::ModelFailed { call, error, attempts, used: used(PartialReply::total_usage), again }
            }
        });
    }

    async fn run_tool(&self, call: CallId, invocation: ToolInvocation, risk: ToolRisk) {
        let executed = self.executed_call(&invocation);
        if risk != ToolRisk::Read && executed.has_redaction_mark() {
            return self.send_input(Input::ToolDone { call, outcome: refused_for_mark(&executed.tool) });
        }
        let unsandboxed = match self.without_sandbox(call, &invocation, &executed).await {
            Ok(unsandboxed) => unsandboxed,
            Err(outcome) => return self.send_input(Input::ToolDone { call, outcome }),
        };
        if let Err(error) = self.record_begun(call, &executed).await {
            let effect = Effect::RunTool { call, invocation, risk };
            let _ = self.inbox_sender.send(DriverMessage::NotBegun(Box::new(effect), error));
            return;
        }
        // a call without a sandbox was asked about just now
        if !unsandboxed {
            self.warn_of_unasked_risk(&executed, risk).await;
        }
        let mut outcome = if unsandboxed {
            self.context.ports.tools.run_without_sandbox(&executed).await
        } else {
            self.execute_tool(call, &executed).await
        };
        outcome.content = self.context.redactor.redact_text(outcome.content);
        outcome.summary = self.context.redactor.redact_text(outcome.summary);
        self.send_input(Input::ToolDone { call, outcome });
    }

    /// A call as the tools get it.
    pub(super) fn executed_call(&self, invocation: &ToolInvocation) -> ToolInvocation {
        ToolInvocation { run: Some(self.run.clone()), ..invocation.clone().with_original_arguments() }
    }

    /// Whether the call is executed without a sandbox, because none works on this machine and the user allowed this
    /// one.
    ///
    /// # Errors
    /// The call must not be executed: the outcome to return instead.
    async fn without_sandbox(
        &self,
        call: CallId,
        invocation: &ToolInvocation,
        executed: &ToolInvocation,
    ) -> Result<bool, ToolOutcome> {
        let Some(reason) = self.context.ports.tools.lacks_sandbox(executed) else { return Ok(false) };
        if !self.is_interactive {
            return Err(not_executed(&executed.tool, &reason));
        }
        if self.context.sandbox_exceptions.unsandboxed_commands.consume_permission(&self.run, executed)
            || self.ask_unsandboxed_command(call, None, invocation, executed, &reason).await
        {
            return Ok(true);
        }
        Err(not_executed(&executed.tool, &format!("{reason}, and the user denied this call without one")))
    }

    async fn ask_unsandboxed_command(
        &self,
        call: CallId,
        until: Option<Timestamp>,
        invocation: &ToolInvocation,
        executed: &ToolInvocation,
        reason: &str,
    ) -> bool {
        let preview = self.context.ports.tools.preview_call(executed).await;
        let answered = self.context.sandbox_exceptions.unsandboxed_commands.ask_permission(&self.run, call);
        self.publish_event(RunEvent::UnsandboxedAsked {
            call,
            agent: invocation.agent.clone(),
            tool: invocation.tool.clone(),
            arguments: self.context.redactor.clean_data(invocation.arguments.clone()),
            preview: preview.map(|preview| Box::new(self.redact_preview(preview))),
            reason: reason.to_owned(),
            until,
        });
        answered.await.unwrap_or(false)
    }

    /// Executes a tool; if its command lacks the network and the user allows it, executes it once more with the
    /// network.
    async fn execute_tool(&self, call: CallId, executed: &ToolInvocation) -> ToolOutcome {
        let RuntimeContext { ports, sandbox_exceptions: exceptions, .. } = &*self.context;
        let network = &exceptions.network;
        let progress = ToolProgressPublisher { call, executor: self };
        if network.is_granted(&self.run) {
            return ports.tools.run_reporting(executed, true, &progress).await;
        }
        let outcome = ports.tools.run_reporting(executed, false, &progress).await;
        if !outcome.network_denied || !self.is_interactive {
            return outcome;
        }
        let answered = network.ask_network(&self.run, call);
        self.publish_event(RunEvent::NetworkAsked {
            call,
            agent: executed.agent.clone(),
            tool: executed.tool.clone(),
            arguments: self.context.redactor.clean_data(executed.arguments.clone()),
        });
        match answered.await {
            Ok(NetworkAnswer::Call | NetworkAnswer::Run) => ports.tools.run_with_network(executed).await,
            Ok(NetworkAnswer::Deny) | Err(_) => outcome,
        }
    }

    /// Writes the `Begun` row of a call with consequences, with the planned change of its file if there is one.
    ///
    /// # Errors
    /// It cannot be written: the call must not begin.
    async fn record_begun(&self, call: CallId, invocation: &ToolInvocation) -> Result<(), StoreError> {
        let tools = &self.context.ports.tools;
        let repeat = tools.rerun_policy(invocation);
        let planned = match repeat {
            RerunPolicy::Safe => return Ok(()),
            RerunPolicy::Compare => match tools.plan_file_edit(invocation).await {
                None => return Ok(()),
                planned => planned,
            },
            RerunPolicy::Ask => None,
        };
        let planned = self.context.redactor.clean_data(planned);
        let body = serde_json::to_string(&planned).map_err(|error| StoreError {
            message: format!("what a tool will do cannot be written: {error}"),
            hint: None,
        })?;
        let row = JournalRow::new(JournalRowKind::Begun, self.context.ports.clock.now(), Some(call), body);
        self.context.ports.store.append(&self.run, &[row], None)?;
        if repeat == RerunPolicy::Ask {
            // a command must not run twice: that it begins is on the disk before it does
            let store = Arc::clone(&self.context.ports.store);
            let _ = tokio::task::spawn_blocking(move || store.sync()).await;
        }
        Ok(())
    }

    async fn request_approval(
        &self,
        call: CallId,
        state: String,
        invocation: &ToolInvocation,
        risk: ToolRisk,
        until: Option<Timestamp>,
    ) {
        let executed = self.executed_call(invocation);
        if let Some(reason) = self.context.ports.tools.refusal_reason(&executed) {
            // the user is not asked for what no answer allows
            let reason = self.context.redactor.redact_text(reason);
            return self.send_input(Input::Approved { call, decision: ApprovalDecision::Refuse { reason } });
        }
        self.note_risky_question(&executed, risk).await;
        if !self.is_interactive {
            // the run is suspended until a user answers
            return;
        }
        if let Some(reason) = self.context.ports.tools.lacks_sandbox(&executed) {
            // one question for both: the approval, and that nothing holds the command
            let allowed = self.ask_unsandboxed_command(call, until, invocation, &executed, &reason).await;
            if allowed {
                self.context.sandbox_exceptions.unsandboxed_commands.remember_approval(&self.run, &executed);
            }
            let decision =
                if allowed { ApprovalDecision::Allow } else { ApprovalDecision::Deny { reason: None } };
            return self.send_input(Input::Approved { call, decision });
        }
        let preview = self.context.ports.tools.preview_call(&executed).await;
        self.publish_event(RunEvent::ApprovalAsked {
            call,
            state,
            agent: invocation.agent.clone(),
            tool: invocation.tool.clone(),
            risk,
            arguments: invocation.arguments.clone(),
            preview: preview.map(|preview| Box::new(self.redact_preview(preview))),
            until,
        });
    }

    fn redact_preview(&self, preview: ToolPreview) -> ToolPreview {
        match preview {
            ToolPreview::Diff { path, diff } => {
                ToolPreview::Diff { path, diff: self.context.redactor.redact_text(diff) }
            }
            ToolPreview::Text { text } => ToolPreview::Text { text: self.context.redactor.redact_text(text) },
            ToolPreview::Command { command, cwd, warning, ports, background, reach } => {
                let command = self.context.redactor.redact_text(command);
                ToolPreview::Command { command, cwd, warning, ports, background, reach }
            }
        }
    }

    /// Headless: a conversation without a user ends; any other question stays open and the run is suspended.
    fn answer_headless(&self, call: CallId, question: &UserQuestion) {
        if !self.is_interactive && *question == UserQuestion::Message {
            self.send_input(Input::Answered { call, answer: UserAnswer::Stop });
        }
    }
}

/// The mark replaces a key that the model has never seen. The tool would take it for the text itself: a file would lose
/// its key, a command would mean another path.
pub(super) fn refused_for_mark(tool: &str) -> ToolOutcome {
    let problem = format!(
        "nothing was executed: the arguments hold `{REDACTION_MARK}`, which stands for a key that is hidden from you. Leave \
         that part of the file alone (edit other lines), or let a command read the key from its variable"
    );
    ToolOutcome {
        content: json!({"success": false, "tool": tool, "time_ms": 0, "error": problem}).to_string(),
        summary: format!("refused: the arguments hold `{REDACTION_MARK}` instead of a key"),
        ..ToolOutcome::default()
    }
}

fn not_executed(tool: &str, reason: &str) -> ToolOutcome {
    let problem = format!("nothing was executed: {reason}");
    ToolOutcome {
        content: json!({"success": false, "tool": tool, "time_ms": 0, "error": problem}).to_string(),
        summary: problem,
        lacks_sandbox: true,
        ..ToolOutcome::default()
    }
}

/// Publishes how far a tool has come.
struct ToolProgressPublisher<'a> {
    call: CallId,
    executor: &'a EffectExecutor,
}

impl ToolProgressSink for ToolProgressPublisher<'_> {
    fn report_progress(&self, text: &str) {
        let text = self.executor.context.redactor.redact_text(text.to_owned());
        self.executor.publish_event(RunEvent::ToolProgress { call: self.call, text });
    }
}

struct RedactingDeltaSink<'a> {
    call: CallId,
    executor: &'a EffectExecutor,
    deltas: bool,
    /// The end of what streamed, which may be the beginning of a key.
    held_text: Mutex<Option<(DeltaKind, String)>>,
}

impl RedactingDeltaSink<'_> {
    /// The held text is the start of no key after all: passes it on.
    fn release_held_text(&self) {
        let held = self.held_text.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((kind, text)) = held {
            self.emit_text(kind, self.executor.context.redactor.clean_cut(text));
        }
    }

    fn emit_text(&self, kind: DeltaKind, text: String) {
        if !text.is_empty() {
            self.executor.publish_event(RunEvent::Delta { call: self.call, kind, text });
        }
    }
}

impl DeltaSink for RedactingDeltaSink<'_> {
    fn report_usage(&self, used: AttemptUsage) {
        self.executor.with_partial_reply(self.call, |streamed| streamed.set_usage(used));
    }

    fn delta(&self, kind: DeltaKind, text: &str) {
        if kind == DeltaKind::Text {
            self.executor.with_partial_reply(self.call, |streamed| streamed.push_text(text));
        }
        if !self.deltas {
            return;
        }
        let mut held = self.held_text.lock().unwrap_or_else(PoisonError::into_inner);
        let before = match held.take() {
            Some((same, before)) if same == kind => before,
            Some((other, before)) => {
                self.emit_text(other, before);
                String::new()
            }
            None => String::new(),
        };
        let redactor = &self.executor.context.redactor;
        let mut clean = redactor.redact_text(before + text);
        let open = clean.split_off(redactor.settled_length(&clean));
        if !open.is_empty() {
            *held = Some((kind, open));
        }
        self.emit_text(kind, clean);
    }
}
