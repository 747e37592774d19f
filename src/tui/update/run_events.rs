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
use crate::transcript::open_reply;
use synthdev_config::models::resolve::SCRIPTED;
use synthdev_domain::context::MessageAuthor;
use synthdev_domain::ids::{CallId, RunId, Timestamp};
use synthdev_domain::model::DeltaKind;
use synthdev_engine::effect::UserQuestion;
use synthdev_engine::event::RunEvent;
use synthdev_engine::steering::BreakpointSet;

mod branches;
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
    let written = model.dialogs.front().is_some_and(QuestionDialog::is_written);
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
    match event {
        asked @ (RunEvent::NetworkAsked { .. } | RunEvent::UnsandboxedAsked { .. }) => {
            return QuestionDialog::about_sandbox(run, asked)
                .map_or_else(Vec::new, |dialog| approvals::queue_question(model, dialog));
        }
        RunEvent::Finished { status, output, error, path, snapshot, .. } => {
            return run_end::on_run_finished(
                model,
                run,
                status,
                output,
                error.map(|error| *error),
                path,
                snapshot,
            );
        }
        RunEvent::Resumed { .. } => return resuming::release_held_commands(model, run),
        RunEvent::PersonAsked { call, question } => return on_question(model, run, call, &question),
        RunEvent::ApprovalAsked { call, state, agent, tool, risk, arguments, preview, until } => {
            let asked = AskedToolCall {
                agent: &agent,
                tool: &tool,
                arguments: &arguments,
                preview: preview.as_deref(),
            };
            let mut dialog = QuestionDialog::for_approval(run.clone(), call, asked, risk);
            dialog.deadline = until;
            // another one than the state that the screen shows: a branch
            let other =
                model.find_run(run).is_some_and(|view| view.branch_for_state(&one_line(&state)).is_some());
            return approvals::queue_question(model, dialog.with_asking_state(&state, other));
        }
        RunEvent::Breakpoints { step, points } => {
            steering::stops_changed(model, run, BreakpointSet { step, points });
        }
        RunEvent::TakenBack { text } => steering::on_text_returned(model, run, &text),
        RunEvent::Heard { text } => steering::on_text_read(model, run, &text),
        // The next event reports a refusal.
        RunEvent::ApprovalAnswered { call, .. } | RunEvent::PersonAnswered { call } => {
            submit::on_question_answered(model, run, call);
            steering::on_breakpoint_left(model, run, call);
            model.dialogs.retain(|dialog| !dialog.matches_call(run, call));
        }
        other => on_machine_event(model, run, at, other),
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
    run_end::close_open(model, run);
    if let Some(view) = model.run_mut(run) {
        view.awaiting_text = Some(call);
        view.activity.clear();
        view.busy_since = None;
    }
    submit::deliver_chat_text(model)
}

/// Events of snapshots, states and scripts.
fn on_machine_event(model: &mut UiModel, run: &RunId, at: Timestamp, event: RunEvent) {
    match event {
        // In a conversation a failed call is no end: it comes as a warning.
        RunEvent::Warning { code, text } if code.starts_with("model.") => {
            model.add_item(TranscriptItem::line(ItemTone::Bad, &format!("✗ {text}")));
        }
        RunEvent::Warning { text, .. } => {
            model.add_item(TranscriptItem::warning_item(&text));
        }
        RunEvent::SnapshotTaken { id, files, skipped, .. } => {
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
        RunEvent::SnapshotFailed { reason } => {
            model.add_item(TranscriptItem::warning_item(&format!("no snapshot: {reason}")));
        }
        RunEvent::StateEntered { state, agent, .. } => on_state_entered(model, run, &state, agent),
        RunEvent::Transitioned { from, to, .. } => on_transition(model, run, &from, &to),
        RunEvent::DataChanged { set, removed, .. } => {
            steering::on_resume_input_read(model, run, &set);
            let mut parts: Vec<String> =
                set.iter().map(|(key, value)| format!("{key} = {}", report::value_text(value))).collect();
            parts.extend(removed.iter().map(|key| format!("{key} removed")));
            model.add_item(TranscriptItem::detail_item(&format!("data: {}", one_line(&parts.join(", ")))));
        }
        RunEvent::ScriptLog { text, .. } => {
            model.add_item(TranscriptItem::detail_item(&format!("log: {text}")));
        }
        event @ (RunEvent::Forked { .. }
        | RunEvent::BranchStarted { .. }
        | RunEvent::BranchFinished { .. }
        | RunEvent::Joined { .. }
        | RunEvent::Retrying { .. }
        | RunEvent::Caught { .. }
        | RunEvent::Stored { .. }
        | RunEvent::BudgetWarning { .. }
        | RunEvent::BudgetRaised { .. }
        | RunEvent::Waiting { .. }
        | RunEvent::Queued { .. }) => branches::on_branch_event(model, run, at, event),
        RunEvent::Returned { step, state, fork_of, .. } => {
            let of = fork_of.map(|run| format!("fork of {run}, ")).unwrap_or_default();
            model.add_item(TranscriptItem::rule(&format!("{of}back before step {step}: {state}")));
        }
        RunEvent::ChildStarted { workflow, .. } => {
            model.add_item(TranscriptItem::rule(&format!("{workflow} begins")));
        }
        RunEvent::ChildFinished { workflow, .. } => {
            model.add_item(TranscriptItem::rule(&format!("{workflow} is done")));
        }
        other => on_conversation_event(model, run, at, other),
    }
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

/// Events of messages, models and tools.
fn on_conversation_event(model: &mut UiModel, run: &RunId, at: Timestamp, event: RunEvent) {
    match event {
        RunEvent::MessageAdded { author, text, private, .. } => on_message(model, author, &text, private),
        RunEvent::ModelCalled { call, state, agent, role, side, model: name, provider, .. } => {
            if let Some(view) = model.run_mut(run) {
                let (agent, name) = (one_line(&agent), one_line(&name));
                view.agent_mut(&agent, side).model.clone_from(&name);
                view.activity = format!("{agent} thinks");
                view.busy_since.get_or_insert(at);
                let (state, role) = (one_line(&state), one_line(&role));
                let scripted = provider == SCRIPTED;
                let speaker = CallSpeaker { agent, side, model: name, state, role, is_scripted: scripted };
                view.speakers.insert(call, speaker.clone());
                view.speaker = Some(speaker);
            }
        }
        RunEvent::Delta { call, kind, text } => on_delta(model, run, call, kind, &text),
        RunEvent::ModelRetry { call, agent, attempt, delay_ms, reason } => {
            let text = format!("{agent}: {reason}; attempt {attempt} in {}", format_duration(delay_ms));
            on_retry(model, run, call, &text);
        }
        RunEvent::SummaryCalled { call, agent, context, .. } => {
            if let Some(view) = model.run_mut(run) {
                view.activity = format!("{} sums up {}", one_line(&agent), one_line(&context));
                view.busy_since.get_or_insert(at);
                view.summarizing_calls.insert(call);
            }
        }
        // The next event has the reason: the run's end, or the warning of a conversation.
        RunEvent::ModelFailed { call, spent, .. } => {
            if let Some(view) = model.run_mut(run) {
                view.charge_all(call, &spent);
            }
            run_end::interrupt_reply(model, run, call);
        }
        RunEvent::ModelStopped { call, spent, .. } => {
            if let Some(view) = model.run_mut(run) {
                view.charge_all(call, &spent);
            }
            run_end::stop_reply(model, run, call);
        }
        other => on_model_answered(model, run, other),
    }
}

/// Answers of models, which are paid for.
fn on_model_answered(model: &mut UiModel, run: &RunId, event: RunEvent) {
    match event {
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
            ..
        } => {
            let speaker = ReplySpeaker { agent: &agent, side, model: &name };
            record_call_cost(model, run, call, speaker, CallCost { usage, cost_usd, estimated });
            on_model_reply(model, run, call, speaker, &text, &reasoning);
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
            ..
        } => {
            let speaker = ReplySpeaker { agent: &agent, side, model: &name };
            record_call_cost(model, run, call, speaker, CallCost { usage, cost_usd, estimated });
            if entries > 0 {
                model.add_item(TranscriptItem::note_item(&format!(
                    "{agent} summed up {entries} messages of {context}"
                )));
                model.add_item(TranscriptItem::detail_item(&format!("summary: {text}")));
            }
        }
        other => tool_events::on_tool_event(model, run, other),
    }
}

/// A call is over, and this was paid for it.
fn record_call_cost(
    model: &mut UiModel,
    run: &RunId,
    call: CallId,
    speaker: ReplySpeaker<'_>,
    cost: CallCost,
) {
    let Some(view) = model.run_mut(run) else { return };
    view.retry.remove(&call);
    view.summarizing_calls.remove(&call);
    let (agent, name) = (one_line(speaker.agent), one_line(speaker.model));
    view.charge_call(call, ReplySpeaker { agent: &agent, model: &name, ..speaker }, cost);
}

/// The call is retried from its start: its streamed text is void. One line counts all attempts.
fn on_retry(model: &mut UiModel, run: &RunId, call: CallId, text: &str) {
    let Some(view) = model.run_mut(run) else { return };
    let (started, told) = (view.replies.get(&call).copied(), view.retry.get(&call).copied());
    if let Some(speaker) = view.speakers.get(&call) {
        view.activity = format!("{} asks again", speaker.agent);
    }
    if let Some(at) = started {
        model.transcript.edit_item(at, |item| {
            if let TranscriptItem::Reply(reply) = item {
                reply.text.clear();
                reply.reasoning.clear();
                reply.held = [String::new(), String::new()];
            }
        });
    }
    let item = TranscriptItem::warning_item(text);
    match told {
        Some(at) => model.transcript.edit_item(at, |old| *old = item),
        None => {
            let at = model.add_item(item);
            if let Some(view) = model.run_mut(run) {
                view.retry.insert(call, at);
            }
        }
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

fn on_delta(model: &mut UiModel, run: &RunId, call: CallId, kind: DeltaKind, text: &str) {
    let Some(view) = model.runs.iter_mut().find(|view| view.id == *run) else { return };
    if view.summarizing_calls.contains(&call) {
        return;
    }
    let at = match view.replies.get(&call) {
        Some(at) => *at,
        None => {
            let Some(speaker) = view.speakers.get(&call) else { return };
            let branch = view.branch_for_state(&speaker.state).map(|line| line.name.clone());
            let reply = open_reply(&speaker.agent, speaker.side, &speaker.model, branch.as_deref());
            let at = model.transcript.push(reply);
            view.replies.insert(call, at);
            at
        }
    };
    match kind {
        DeltaKind::Text => {
            if let Some(speaker) = view.speakers.get(&call).filter(|_| !view.activity.ends_with(" writes")) {
                view.activity = format!("{} writes", speaker.agent);
            }
            model.transcript.append_to_reply(at, text);
        }
        DeltaKind::Reasoning => model.transcript.append_reasoning(at, text),
    }
}

/// The whole answer replaces what had streamed; a turn of calls only leaves no empty item.
fn on_model_reply(
    model: &mut UiModel,
    run: &RunId,
    call: CallId,
    speaker: ReplySpeaker<'_>,
    text: &str,
    reasoning: &str,
) {
    let Some(view) = model.run_mut(run) else { return };
    let known = view.replies.remove(&call);
    let state = view.speakers.remove(&call).map(|speaker| speaker.state).unwrap_or_default();
    let branch = view.branch_for_state(&state).map(|line| line.name.clone());
    if known.is_none() && text.trim().is_empty() && reasoning.trim().is_empty() {
        return;
    }
    let ReplySpeaker { agent, side, model: name } = speaker;
    let at = known.unwrap_or_else(|| model.transcript.push(open_reply(agent, side, name, branch.as_deref())));
    model.transcript.close_reply(
        at,
        &one_line(name),
        clean_text(text.trim_end()),
        clean_text(reasoning.trim_end()),
    );
}
