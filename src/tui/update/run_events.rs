//! Events of runs become items, dialogs and facts of the panel.

use super::{
    addressee, approvals, history, resuming, running_commands, steering, submit, unread_input,
    withdrawn_dialog,
};
use crate::dialog::{AskedToolCall, QuestionDialog};
use crate::layers::ScreenLayer;
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::report;
use crate::run_view::{CallCost, CallSpeaker, ReplySpeaker, RunView, StoppedAt};
use crate::text::{clean_text, one_line};
use crate::transcript::item::{BlockBodyStyle, ItemTone, TranscriptBlock, TranscriptItem};
use synthdev_domain::context::MessageAuthor;
use synthdev_domain::ids::{CallId, RunId, Timestamp};
use synthdev_service::event_description::describe_event;
use synthdev_service::run_events::RunEvent;
use synthdev_service::run_steering::{BreakpointSet, UserQuestion};
use synthdev_service::setting_values::models::resolve::SCRIPTED;

mod branches;
mod event_items;
mod model_calls;
mod run_end;
pub mod speaker_lines;
mod tool_events;

/// Entries within which the input of a run stands above a message that repeats it.
const INPUT_WITHIN: usize = 20;

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
    let RunEvent::RunStarted { workflow, inputs, chat, budget, .. } = &event else { return Vec::new() };
    if model.find_run(run).is_none() {
        model.runs.push(RunView::new(run.clone(), &one_line(workflow), *chat));
    }
    model.finished_run = None;
    if *chat {
        model.chat = Some(run.clone());
    } else {
        model.workflow = Some(run.clone());
        model.watched_run = None;
        model.breakpoints = BreakpointSet::default();
        addressee::on_workflow_shown(model, &one_line(workflow));
        let title = describe_event(at, &event).title;
        let input = inputs.values().map(report::value_text).collect::<Vec<_>>().join("\n");
        model.add_item(TranscriptItem::Block(TranscriptBlock::new(ItemTone::Human, &title, &input)));
    }
    if let Some(view) = model.run_mut(run) {
        view.busy_since = Some(at);
        view.chat = *chat;
        view.apply_event(at, &event);
        view.budget = budget.as_deref().cloned().unwrap_or_default();
    }
    Vec::new()
}

fn on_run_event(model: &mut UiModel, run: &RunId, at: Timestamp, event: RunEvent) -> Vec<UiCommand> {
    if matches!(event, RunEvent::RunStarted { .. }) {
        return run_started(model, run, at, event);
    }
    if model.find_run(run).is_none() {
        return Vec::new();
    }
    if matches!(event, RunEvent::Resumed { .. }) {
        history::on_resumed(model, run, at, &describe_event(at, &event));
    }
    if let Some(view) = model.run_mut(run) {
        if matches!(event, RunEvent::Rewound { .. }) {
            // it was stopped until the rewind
            view.worked_ms = view.elapsed_ms(view.last_event_at).unwrap_or(view.worked_ms);
            view.busy_since = None;
        }
        view.last_event_at = view.last_event_at.max(at);
        view.apply_event(at, &event);
    }
    if let RunEvent::ToolFinished { call, .. } = &event {
        // a question about the network of its command is over with it
        withdrawn_dialog::remove_dialogs(model, |dialog| dialog.matches_call(run, *call));
    }
    let mut cmds = running_commands::on_event(model, run, &event);
    cmds.extend(show_event(model, run, at, event));
    cmds
}

/// Adds the line of the event, and what changes with it.
fn show_event(model: &mut UiModel, run: &RunId, at: Timestamp, event: RunEvent) -> Vec<UiCommand> {
    if matches!(event, RunEvent::Delta { .. } | RunEvent::ToolProgress { .. }) {
        // a piece of an answer or a report of progress is no line of its own, and there are thousands
        return show_change(model, run, at, event, "");
    }
    let words = describe_event(at, &event);
    if let RunEvent::Decided { agent, arguments, .. } = &event {
        let identity = model.find_run(run).map(|view| view.roster.identity(agent)).unwrap_or_default();
        model.add_item(event_items::decision_card(&words, arguments, identity));
    }
    let (line, title) = (event_items::event_item(&words), words.title);
    match (&event, line) {
        (RunEvent::ModelRetry { call, .. }, Some(line)) => model_calls::on_retry(model, run, *call, line),
        // ten thousand good items are no news
        (RunEvent::BranchFinished { branch, error: None, .. }, _) if branch.starts_with('[') => {
            model.add_item(TranscriptItem::detail_item(&one_line(&title)));
        }
        (_, line) => model.add_items(line),
    }
    show_change(model, run, at, event, &title)
}

/// `title`: the words for the event.
#[expect(clippy::too_many_lines, reason = "one arm for each event")]
fn show_change(
    model: &mut UiModel,
    run: &RunId,
    at: Timestamp,
    event: RunEvent,
    title: &str,
) -> Vec<UiCommand> {
    match event {
        RunEvent::Finished { status, output, error, path, snapshot, .. } => {
            let error = error.map(|error| *error);
            return run_end::on_run_finished(model, run, status, output, error, path, snapshot);
        }
        RunEvent::ConversationCompacted { before_tokens, after_tokens } => {
            if let Some(view) = model.run_mut(run) {
                view.reduce_window_use(before_tokens.saturating_sub(after_tokens));
            }
        }
        RunEvent::Resumed { .. } => return resuming::release_held_commands(model, run),
        RunEvent::SnapshotTaken { id, skipped, .. } => {
            if let Some(view) = model.run_mut(run) {
                view.snapshot_facts.note_snapshot(&skipped);
                view.snapshot = Some(one_line(&id.as_str().chars().take(8).collect::<String>()));
            }
        }
        RunEvent::SnapshotProgress { done_files, total_files, elapsed_ms } => {
            if let Some(view) = model.run_mut(run) {
                view.snapshot_facts.note_progress(title, done_files, total_files, elapsed_ms);
            }
        }
        RunEvent::SnapshotFailed { .. } => {
            if let Some(view) = model.run_mut(run) {
                view.snapshot_facts.progress_forms.clear();
            }
        }
        RunEvent::StateEntered { state, agent, .. } => on_state_entered(model, run, &state, agent),
        RunEvent::Transitioned { from, to, .. } => on_transition(model, run, &from, &to, title),
        RunEvent::DataChanged { set, .. } => steering::on_resume_input_read(model, run, &set),
        RunEvent::BranchStarted { state, branch, .. } => {
            branches::on_branch_started(model, run, &state, &branch);
        }
        RunEvent::BranchFinished { state, branch, .. } => {
            branches::on_branch_over(model, run, &state, Some(&branch));
        }
        RunEvent::Joined { state, .. } => branches::on_branch_over(model, run, &state, None),
        RunEvent::BudgetRaised { scope, what, hard } => {
            if let Some(view) = model.run_mut(run).filter(|_| scope == "run") {
                view.raise_budget(&what, hard);
            }
        }
        RunEvent::Breakpoints { step, points } => {
            if let Some(view) = model.run_mut(run) {
                view.breakpoints = BreakpointSet { step, points };
            }
        }
        RunEvent::Queued { text } => on_text_queued(model, run, text, title),
        RunEvent::Heard { text } => steering::on_text_read(model, run, &text),
        RunEvent::TakenBack { text } => steering::on_text_returned(model, run, &text),
        RunEvent::MessageAdded { author, text, private: true, .. } => {
            on_private_message(model, run, &author, &text);
        }
        RunEvent::MessageAdded { author, text, .. } => on_message(model, run, author, &text, title),
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
            let cost = CallCost { usage, cost_usd, estimated };
            if let Some(view) = model.run_mut(run) {
                view.record_window_use(call, &usage);
            }
            model_calls::record_call_cost(model, run, call, speaker, cost);
            model_calls::on_model_reply(model, run, call, speaker, &text, &reasoning);
        }
        RunEvent::SummaryCalled { call, .. } => model_calls::on_summary_called(model, run, at, call, title),
        RunEvent::ContextSummarized {
            call,
            agent,
            side,
            entries,
            text,
            model: name,
            usage,
            cost_usd,
            estimated,
            ..
        } => {
            let speaker = ReplySpeaker { agent: &agent, side, model: &name };
            let cost = CallCost { usage, cost_usd, estimated };
            model_calls::record_call_cost(model, run, call, speaker, cost);
            if entries > 0 {
                model.add_item(TranscriptItem::note_item(&one_line(title)));
                model.add_item(TranscriptItem::detail_item(&format!("summary: {text}")));
            }
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
            if let Some(view) = model.run_mut(run) {
                view.snapshot_facts.note_tool_call();
            }
            tool_events::on_tool_started(model, run, at, call, &agent, &tool, &arguments);
        }
        RunEvent::ToolProgress { call, text } => tool_events::show_progress(model, run, call, &text),
        RunEvent::ToolFinished { call, ok, summary, content, duration_ms, .. } => {
            let place = model.run_mut(run).and_then(|view| view.tools.remove(&call));
            if let Some(place) = place {
                tool_events::finish_tool_item(model, place, ok, &summary, &content, duration_ms);
            }
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
        RunEvent::ApprovalAnswered { call, .. } | RunEvent::PersonAnswered { call, .. } => {
            submit::on_question_answered(model, run, call);
            steering::on_breakpoint_left(model, run, call);
            withdrawn_dialog::remove_dialogs(model, |dialog| dialog.matches_call(run, call));
            // the lines of line mode have both already
            let is_shown = !model.line_mode;
            let answered = model.run_mut(run).and_then(|view| view.open_pauses.take_answered(call));
            model.add_items(answered.filter(|_| is_shown));
        }
        // its line says all
        RunEvent::RunStarted { .. }
        | RunEvent::ConversationRenamed { .. }
        | RunEvent::Warning { .. }
        | RunEvent::Rewound { .. }
        | RunEvent::ScriptLog { .. }
        | RunEvent::ChildStarted { .. }
        | RunEvent::ChildFinished { .. }
        | RunEvent::AgentSpawned { .. }
        | RunEvent::AgentEnded { .. }
        | RunEvent::AgentMessaged { .. }
        | RunEvent::TeamNote { .. }
        | RunEvent::TeamTask { .. }
        | RunEvent::Forked { .. }
        | RunEvent::Retrying { .. }
        | RunEvent::Caught { .. }
        | RunEvent::Stored { .. }
        | RunEvent::BudgetWarning { .. }
        | RunEvent::Waiting { .. }
        | RunEvent::ModelRetry { .. }
        | RunEvent::ToolRefused { .. }
        | RunEvent::Decided { .. } => {}
    }
    Vec::new()
}

fn on_question(model: &mut UiModel, run: &RunId, call: CallId, question: &UserQuestion) -> Vec<UiCommand> {
    if let UserQuestion::Break { state, point } = question {
        let stand = StoppedAt { call, state: one_line(state), breakpoint: point.clone() };
        return steering::on_run_stopped(model, run, stand);
    }
    let chat = model.find_run(run).is_some_and(|view| view.chat);
    if let Some(dialog) = QuestionDialog::question(run.clone(), call, question, chat) {
        approvals::notify_waiting(model, Some(run), &dialog.title);
        model.push_question(dialog);
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

fn on_text_queued(model: &mut UiModel, run: &RunId, text: String, title: &str) {
    // a resumed run reports it again
    if let Some(view) = model.run_mut(run).filter(|view| !view.outbox.contains(&text)) {
        view.outbox.push_back(text);
    }
    let way = model.find_run(run).map(|view| unread_input::reading_text(view, model.line_mode));
    let is_key_wanted = model.is_open(ScreenLayer::KeyQuestion);
    let back = match (model.line_mode, is_key_wanted) {
        (true, _) => "/pending drop N takes it back",
        (false, true) => "/pending edit takes it back",
        (false, false) => "Up takes it back",
    };
    model.add_item(TranscriptItem::note_item(&format!("{title}: {} · {back}", way.unwrap_or_default())));
}

/// A step from state to state: a quiet line of its own kind, or a note where several threads take steps.
fn on_transition(model: &mut UiModel, run: &RunId, from: &str, to: &str, title: &str) {
    // whatever it had started is over, joined or not
    branches::on_branch_over(model, run, from, None);
    let Some(view) = model.find_run(run).filter(|view| !view.chat) else { return };
    match view.branch_for_state(&one_line(from)) {
        None => {
            let from_script = view.state_work.ran_only_script(from);
            model.transcript.push_transition(from, to, from_script);
        }
        Some(branch) if branch.is_item() => {
            model.add_item(TranscriptItem::detail_item(title));
        }
        Some(_) => {
            model.add_item(TranscriptItem::note_item(title));
        }
    }
}

fn on_state_entered(model: &mut UiModel, run: &RunId, state: &str, agent: Option<String>) {
    // in a conversation only agents that the agent has started are elsewhere: they have lines of their own
    let Some(view) = model.run_mut(run).filter(|view| !view.chat || !state.contains('/')) else { return };
    let first = view.path.is_empty();
    view.state = one_line(state);
    view.add_to_path(&one_line(state));
    view.activity = agent.map(|agent| one_line(&agent)).unwrap_or_default();
    if first && !view.chat {
        model.add_item(TranscriptItem::transition(&[state]));
    }
}

/// An instruction for the agent of the present state.
fn on_private_message(model: &mut UiModel, run: &RunId, author: &MessageAuthor, text: &str) {
    let view = model.find_run(run);
    let agent = view.and_then(|view| {
        let name = view.state_work.agent()?;
        Some((name, view.roster.identity(name)))
    });
    let card = event_items::private_card(author, agent, text);
    model.add_item(card);
}

fn on_message(model: &mut UiModel, run: &RunId, author: MessageAuthor, text: &str, title: &str) {
    if author == MessageAuthor::Human {
        addressee::on_text_shown(model, run);
    }
    let item = match author {
        MessageAuthor::Human => submit::user_message(text),
        // A reply was shown as it came; a message of an agent that is no reply (sent without a call) was not.
        MessageAuthor::Agent(name) if !already_shown(model, &name, text) => TranscriptItem::Block(
            TranscriptBlock::new(ItemTone::Accent, &name, text).style(BlockBodyStyle::Markdown),
        ),
        MessageAuthor::Agent(_) => return,
        MessageAuthor::Workflow | MessageAuthor::Start if is_run_input(model, text) => {
            TranscriptItem::detail_item(&format!("{title}: the input of the run"))
        }
        MessageAuthor::Workflow | MessageAuthor::Script => {
            TranscriptItem::Block(TranscriptBlock::new(ItemTone::Dim, title, text))
        }
        MessageAuthor::Start => {
            TranscriptItem::Block(TranscriptBlock::new(ItemTone::Dim, title, text).style(BlockBodyStyle::Dim))
        }
    };
    model.add_item(item);
}

/// The text stands above as what the user has given the run.
fn is_run_input(model: &UiModel, text: &str) -> bool {
    let text = clean_text(text.trim_end());
    let mut shown = model.transcript.items().rev().take(INPUT_WITHIN);
    let given = shown.find_map(|item| match item {
        TranscriptItem::Block(block) if block.tone == ItemTone::Human => Some(&block.body),
        _ => None,
    });
    !text.is_empty() && given.is_some_and(|given| *given == *text)
}

fn already_shown(model: &UiModel, name: &str, text: &str) -> bool {
    let (name, text) = (one_line(name), clean_text(text.trim_end()));
    model.transcript.items().rev().take(100).any(|item| match item {
        TranscriptItem::Reply(reply) => reply.agent == name && reply.text.trim_end() == text,
        _ => false,
    })
}
