//! Events of runs become items, dialogs and facts of the panel.

use serde_json::{Map, Value};

use super::{approvals, history, resuming, steering, submit, withdrawn_dialog};
use crate::dialog::{AskedToolCall, QuestionDialog};
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::report;
use crate::run_view::{CallCost, CallSpeaker, ReplySpeaker, RunView, StoppedAt};
use crate::text::{clean_text, format_count, format_duration, one_line};
use crate::transcript::item::{BlockBodyStyle, ItemTone, TranscriptBlock, TranscriptItem};
use synthdev_domain::context::MessageAuthor;
use synthdev_domain::ids::{CallId, RunId, SnapshotId, Timestamp};
use synthdev_domain::snapshot::SkippedPath;
use synthdev_engine::effect::UserQuestion;
use synthdev_engine::event::RunEvent;
use synthdev_engine::steering::BreakpointSet;
use synthdev_settings::models::resolve::SCRIPTED;

mod branches;
mod model_calls;
mod recovery;
mod run_end;
pub mod speaker_lines;
mod tool_events;

pub fn on_published_event(
    model: &mut UiModel,
    run: &RunId,
    at: Timestamp,
    event: RunEvent,
) -> Vec<UiCommand> {
    let end = speaker_lines::announce_run(model, run);
    let ends = matches!(event, RunEvent::Finished { .. });
    let asked = withdrawn_dialog::front_question(model).filter(|_| ends);
    let written = model.is_answer_written();
    let cmds = on_run_event(model, run, at, event);
    withdrawn_dialog::note_withdrawal(model, asked, written, at);
    speaker_lines::record_speaker(model, run, end);
    cmds
}

fn run_started(model: &mut UiModel, run: &RunId, at: Timestamp, event: RunEvent) -> Vec<UiCommand> {
    let RunEvent::RunStarted { workflow, inputs, chat, .. } = &event else { return Vec::new() };
    let commands = on_run_started(model, run, at, workflow, inputs, *chat);
    if let Some(view) = model.run_mut(run) {
        view.apply_event(at, &event);
    }
    let RunEvent::RunStarted { budget, .. } = event else { return commands };
    if let Some(view) = model.run_mut(run) {
        view.budget = budget.map(|budget| *budget).unwrap_or_default();
    }
    commands
}

fn on_run_event(model: &mut UiModel, run: &RunId, at: Timestamp, event: RunEvent) -> Vec<UiCommand> {
    if matches!(event, RunEvent::RunStarted { .. }) {
        return run_started(model, run, at, event);
    }
    if model.find_run(run).is_none() {
        return Vec::new();
    }
    if let RunEvent::Resumed { again, notes, .. } = &event {
        history::on_resumed(model, run, at, again.len(), notes);
    }
    if let Some(view) = model.run_mut(run) {
        if matches!(event, RunEvent::Returned { .. }) {
            // it was stopped until the rewind
            view.worked_ms = view.elapsed_ms(view.last_event_at).unwrap_or(view.worked_ms);
            view.busy_since = None;
        }
        view.last_event_at = view.last_event_at.max(at);
        view.apply_event(at, &event);
    }
    if let RunEvent::ToolFinished { call, .. } = &event {
        // a question about the network of its command is over with it
        model.dialogs.retain(|dialog| !dialog.matches_call(run, *call));
    }
    show_event(model, run, at, event)
}

#[expect(clippy::too_many_lines, reason = "one arm for each event")]
fn show_event(model: &mut UiModel, run: &RunId, at: Timestamp, event: RunEvent) -> Vec<UiCommand> {
    match event {
        // shown by `run_started`
        RunEvent::RunStarted { .. } => {}
        // In a conversation a failed call is no end: it comes as a warning.
        RunEvent::Warning { code, text } if code.starts_with("model.") => {
            model.add_item(TranscriptItem::line(ItemTone::Bad, &format!("✗ {text}")));
        }
        RunEvent::Warning { text, .. } => {
            model.add_item(TranscriptItem::warning_item(&text));
        }
        RunEvent::Finished { status, output, error, path, snapshot, .. } => {
            let error = error.map(|error| *error);
            return run_end::on_run_finished(model, run, status, output, error, path, snapshot);
        }
        RunEvent::Resumed { .. } => return resuming::release_held_commands(model, run),
        RunEvent::Returned { step, state, fork_of, .. } => {
            let of = fork_of.map(|run| format!("fork of {run}, ")).unwrap_or_default();
            model.add_item(TranscriptItem::rule(&format!("{of}back before step {step}: {state}")));
        }
        RunEvent::SnapshotTaken { id, files, skipped, .. } => {
            on_snapshot_taken(model, run, &id, files, &skipped);
        }
        RunEvent::SnapshotFailed { reason } => {
            model.add_item(TranscriptItem::warning_item(&format!("no snapshot: {reason}")));
        }
        RunEvent::StateEntered { state, agent, .. } => on_state_entered(model, run, &state, agent),
        RunEvent::Transitioned { from, to, .. } => on_transition(model, run, &from, &to),
        RunEvent::DataChanged { set, removed, .. } => on_data_changed(model, run, &set, &removed),
        RunEvent::ScriptLog { text, .. } => {
            model.add_item(TranscriptItem::detail_item(&format!("log: {text}")));
        }
        RunEvent::ChildStarted { workflow, .. } => {
            model.add_item(TranscriptItem::rule(&format!("{workflow} begins")));
        }
        RunEvent::ChildFinished { workflow, .. } => {
            model.add_item(TranscriptItem::rule(&format!("{workflow} is done")));
        }
        RunEvent::Forked { state, branches, total } => {
            model.add_item(branches::forked_item(&state, &branches, total));
        }
        RunEvent::BranchStarted { state, branch, .. } => {
            branches::on_branch_started(model, run, &state, &branch);
        }
        RunEvent::BranchFinished { state, branch, error, .. } => {
            branches::on_branch_finished(model, run, &state, &branch, error.as_deref());
        }
        RunEvent::Joined { state, succeeded, failed, stopped } => {
            branches::on_branch_over(model, run, &state, None);
            model.add_item(branches::joined_item(&state, succeeded, failed, stopped));
        }
        RunEvent::Retrying { state, attempt, max_attempts, delay_ms, error } => {
            model.add_item(recovery::retrying_item(&state, attempt, max_attempts, delay_ms, &error));
        }
        RunEvent::Caught { state, error, by, target } => {
            model.add_item(recovery::caught_item(&state, &error, &by, target.as_deref()));
        }
        RunEvent::Stored { key, value, .. } => {
            let text = one_line(&format!("{key} = {}", report::value_text(&value)));
            model.add_item(TranscriptItem::detail_item(&text));
        }
        RunEvent::BudgetWarning { scope, what, spent, soft, hard } => {
            model.add_item(recovery::budget_warning_item(&scope, &what, spent, soft, hard));
        }
        RunEvent::BudgetRaised { scope, what, hard } => {
            if let Some(view) = model.run_mut(run).filter(|_| scope == "run") {
                view.raise_budget(&what, hard);
            }
            model.add_item(recovery::budget_raised_item(&scope, &what, hard));
        }
        RunEvent::Waiting { state, until } => {
            let left = u64::try_from(until.0.saturating_sub(at.0)).unwrap_or(0);
            let text = format!("{state} waits {}", format_duration(left));
            model.add_item(TranscriptItem::note_item(&text));
        }
        RunEvent::Breakpoints { step, points } => {
            steering::stops_changed(model, run, BreakpointSet { step, points });
        }
        RunEvent::Queued { text } => on_text_queued(model, run, text),
        RunEvent::Heard { text } => steering::on_text_read(model, run, &text),
        RunEvent::TakenBack { text } => steering::on_text_returned(model, run, &text),
        RunEvent::MessageAdded { author, text, private, .. } => on_message(model, author, &text, private),
        RunEvent::ModelCalled { call, state, agent, role, side, model: name, provider, .. } => {
            let speaker = CallSpeaker {
                agent: one_line(&agent),
                side,
                model: one_line(&name),
                state: one_line(&state),
                role: one_line(&role),
                is_scripted: provider == SCRIPTED,
            };
            model_calls::on_model_called(model, run, at, call, speaker);
        }
        RunEvent::Delta { call, kind, text } => model_calls::on_delta(model, run, call, kind, &text),
        RunEvent::ModelRetry { call, agent, attempt, delay_ms, reason } => {
            let text = format!("{agent}: {reason}; attempt {attempt} in {}", format_duration(delay_ms));
            model_calls::on_retry(model, run, call, &text);
        }
        RunEvent::Replied {
            call,
            agent,
            side,
            text,
            reasoning,
            model: name,
            usage,
            cost_usd,
            estimated,
            tool_calls: _,
            duration_ms: _,
        } => {
            let speaker = ReplySpeaker { agent: &agent, side, model: &name };
            let cost = CallCost { usage, cost_usd, estimated };
            model_calls::record_call_cost(model, run, call, speaker, cost);
            model_calls::on_model_reply(model, run, call, speaker, &text, &reasoning);
        }
        RunEvent::SummaryCalled { call, agent, context, .. } => {
            model_calls::on_summary_called(model, run, at, call, &agent, &context);
        }
        RunEvent::ContextSummarized {
            call,
            agent,
            side,
            context,
            entries,
            text,
            model: name,
            usage,
            cost_usd,
            estimated,
            duration_ms: _,
        } => {
            let speaker = ReplySpeaker { agent: &agent, side, model: &name };
            let cost = CallCost { usage, cost_usd, estimated };
            model_calls::record_call_cost(model, run, call, speaker, cost);
            model_calls::on_context_summarized(model, &agent, &context, entries, &text);
        }
        // The next event has the reason: the run's end, or the warning of a conversation.
        RunEvent::ModelFailed { call, spent, .. } => {
            model_calls::charge_attempts(model, run, call, &spent);
            run_end::interrupt_reply(model, run, call);
        }
        RunEvent::ModelStopped { call, spent, .. } => {
            model_calls::charge_attempts(model, run, call, &spent);
            run_end::stop_reply(model, run, call);
        }
        RunEvent::ToolStarted { call, agent, tool, arguments } => {
            tool_events::on_tool_started(model, run, call, &agent, &tool, &arguments);
        }
        RunEvent::ToolFinished { call, ok, summary, content, duration_ms, .. } => {
            let place = model.run_mut(run).and_then(|view| view.tools.remove(&call));
            if let Some(place) = place {
                tool_events::finish_tool_item(model, place, ok, &summary, &content, duration_ms);
            }
        }
        RunEvent::ToolRefused { agent, tool, reason } => {
            let text = format!("✗ {tool} refused for {agent}: {reason}");
            model.add_item(TranscriptItem::line(ItemTone::Bad, &text));
        }
        RunEvent::Decided { agent, tool, arguments } => {
            let text = format!("◆ {agent} decides {tool}: {}", report::decision_text(&arguments));
            model.add_item(TranscriptItem::line(ItemTone::Accent, &text));
        }
        RunEvent::ApprovalAsked { call, state, agent, tool, risk, arguments, preview, until } => {
            let (arguments, preview) = (&arguments, preview.as_deref());
            let asked = AskedToolCall { agent: &agent, tool: &tool, arguments, preview };
            let mut dialog = QuestionDialog::for_approval(run.clone(), call, asked, risk);
            dialog.deadline = until;
            // another one than the state that the screen shows: a branch
            let other =
                model.find_run(run).is_some_and(|view| view.branch_for_state(&one_line(&state)).is_some());
            return approvals::queue_question(model, dialog.with_asking_state(&state, other));
        }
        RunEvent::NetworkAsked { call, agent, tool, arguments } => {
            let asked = AskedToolCall { agent: &agent, tool: &tool, arguments: &arguments, preview: None };
            let dialog = QuestionDialog::for_network(run.clone(), call, asked);
            return approvals::queue_question(model, dialog);
        }
        RunEvent::UnsandboxedAsked { call, agent, tool, arguments, preview, reason, until } => {
            let (arguments, preview) = (&arguments, preview.as_deref());
            let asked = AskedToolCall { agent: &agent, tool: &tool, arguments, preview };
            let mut dialog = QuestionDialog::for_unsandboxed_command(run.clone(), call, asked, &reason);
            dialog.deadline = until;
            return approvals::queue_question(model, dialog);
        }
        RunEvent::PersonAsked { call, question } => return on_question(model, run, call, &question),
        // The next event reports a refusal.
        RunEvent::ApprovalAnswered { call, .. } | RunEvent::PersonAnswered { call } => {
            submit::on_question_answered(model, run, call);
            steering::on_breakpoint_left(model, run, call);
            model.dialogs.retain(|dialog| !dialog.matches_call(run, call));
        }
    }
    Vec::new()
}

fn on_run_started(
    model: &mut UiModel,
    run: &RunId,
    at: Timestamp,
    workflow: &str,
    inputs: &Map<String, Value>,
    chat: bool,
) -> Vec<UiCommand> {
    if model.find_run(run).is_none() {
        model.runs.push(RunView::new(run.clone(), &one_line(workflow), chat));
    }
    if let Some(view) = model.run_mut(run) {
        view.busy_since = Some(at);
        view.chat = chat;
    }
    if chat {
        model.chat = Some(run.clone());
    } else {
        model.workflow = Some(run.clone());
        model.watched_run = None;
        model.breakpoints = BreakpointSet::default();
        let input = inputs.values().map(report::value_text).collect::<Vec<_>>().join("\n");
        model.add_item(TranscriptItem::Block(TranscriptBlock::new(
            ItemTone::Human,
            &format!("workflow {workflow}"),
            &input,
        )));
    }
    Vec::new()
}

fn on_question(model: &mut UiModel, run: &RunId, call: CallId, question: &UserQuestion) -> Vec<UiCommand> {
    if let UserQuestion::Break { state, point } = question {
        let stand = StoppedAt { call, state: one_line(state), breakpoint: point.clone() };
        steering::on_run_stopped(model, run, stand);
        return Vec::new();
    }
    let chat = model.find_run(run).is_some_and(|view| view.chat);
    if let Some(dialog) = QuestionDialog::question(run.clone(), call, question, chat) {
        approvals::notify_waiting(model, Some(run), &dialog.title);
        model.dialogs.push_back(dialog);
        return Vec::new();
    }
    // The turn is over: whatever was still open was cut off.
    let open_calls: Vec<CallId> =
        model.find_run(run).map(|view| view.speakers.keys().copied().collect()).unwrap_or_default();
    open_calls.into_iter().for_each(|call| run_end::stop_reply(model, run, call));
    run_end::close_open(model, run);
    if let Some(view) = model.run_mut(run) {
        view.awaiting_text = Some(call);
        view.activity.clear();
        view.busy_since = None;
    }
    submit::deliver_chat_text(model)
}

fn on_snapshot_taken(
    model: &mut UiModel,
    run: &RunId,
    id: &SnapshotId,
    files: usize,
    skipped: &[SkippedPath],
) {
    let short: String = id.as_str().chars().take(8).collect();
    let mut text = format!("snapshot {short}, {}", format_count(files as u64, "file"));
    if let Some(first) = skipped.first() {
        let more = skipped.len();
        text.push_str(&format!("; {more} not covered: {} ({})", first.path, first.reason));
    }
    model.add_item(TranscriptItem::note_item(&text));
    if let Some(view) = model.run_mut(run) {
        view.snapshot = Some(one_line(&short));
    }
}

fn on_data_changed(model: &mut UiModel, run: &RunId, set: &Map<String, Value>, removed: &[String]) {
    steering::on_resume_input_read(model, run, set);
    let mut parts: Vec<String> =
        set.iter().map(|(key, value)| format!("{key} = {}", report::value_text(value))).collect();
    parts.extend(removed.iter().map(|key| format!("{key} removed")));
    model.add_item(TranscriptItem::detail_item(&format!("data: {}", one_line(&parts.join(", ")))));
}

fn on_text_queued(model: &mut UiModel, run: &RunId, text: String) {
    // a resumed run reports it again
    if let Some(view) = model.run_mut(run).filter(|view| !view.outbox.contains(&text)) {
        view.outbox.push_back(text);
    }
    model.add_item(TranscriptItem::note_item(
        "queued: the workflow reads it at its next pause, or gives it back when it ends · Up takes it back",
    ));
}

/// A step from state to state: a rule, or a quiet line where several threads take steps.
fn on_transition(model: &mut UiModel, run: &RunId, from: &str, to: &str) {
    // whatever it had started is over, joined or not
    branches::on_branch_over(model, run, from, None);
    let Some(view) = model.find_run(run).filter(|view| !view.chat) else { return };
    let text = format!("{from} → {to}");
    let item = match view.branch_for_state(&one_line(from)) {
        None => TranscriptItem::rule(&text),
        Some(branch) if branch.is_item() => TranscriptItem::detail_item(&text),
        Some(_) => TranscriptItem::note_item(&text),
    };
    model.add_item(item);
}

fn on_state_entered(model: &mut UiModel, run: &RunId, state: &str, agent: Option<String>) {
    let Some(view) = model.run_mut(run) else { return };
    let first = view.path.is_empty();
    view.state = one_line(state);
    view.add_to_path(&one_line(state));
    view.activity = agent.map(|agent| one_line(&agent)).unwrap_or_default();
    if first && !view.chat {
        model.add_item(TranscriptItem::rule(state));
    }
}

fn on_message(model: &mut UiModel, author: MessageAuthor, text: &str, private: bool) {
    let item = match author {
        MessageAuthor::Human => submit::user_message(text),
        // A reply was shown as it came; a message of an agent that is no reply (sent without a call) was not.
        MessageAuthor::Agent(name) if !already_shown(model, &name, text) => TranscriptItem::Block(
            TranscriptBlock::new(ItemTone::Accent, &name, text).style(BlockBodyStyle::Markdown),
        ),
        MessageAuthor::Agent(_) => return,
        MessageAuthor::Workflow if private => TranscriptItem::Block(
            TranscriptBlock::new(ItemTone::Dim, "to this agent only", text).style(BlockBodyStyle::Dim),
        ),
        MessageAuthor::Workflow => {
            TranscriptItem::Block(TranscriptBlock::new(ItemTone::Dim, "workflow", text))
        }
        MessageAuthor::Script => TranscriptItem::Block(TranscriptBlock::new(ItemTone::Dim, "script", text)),
        MessageAuthor::Start => TranscriptItem::Block(
            TranscriptBlock::new(ItemTone::Dim, "start", text).style(BlockBodyStyle::Dim),
        ),
    };
    model.add_item(item);
}

fn already_shown(model: &UiModel, name: &str, text: &str) -> bool {
    let (name, text) = (one_line(name), clean_text(text.trim_end()));
    model.transcript.items().rev().take(100).any(|item| match item {
        TranscriptItem::Reply(reply) => reply.agent == name && reply.text.trim_end() == text,
        _ => false,
    })
}
