//! Workflow mode: what the user does with the active run.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::active_run::{active_run, note_pause_request, report_no_active_run, steer_commands};
use super::{approvals, history, running_commands};
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::run_view::pane_data::RunDefinitionState;
use crate::run_view::{MessageWithdrawal, RunView, StoppedAt};
use crate::slash::steering::{PendingTextAction, SteerAction};
use crate::text::{
    fit_to_columns, format_count, format_dollars, format_thousands, one_line, window_fill_text,
};
use crate::transcript::item::{ItemTone, TranscriptBlock, TranscriptItem};
use synthdev_domain::ids::RunId;
use synthdev_service::definition_views::did_you_mean::closest_word;
use synthdev_service::event_description::breakpoint_list;
use synthdev_service::run_control::RunControlOutcome;
use synthdev_service::run_steering::{Breakpoint, ControlAction, RunCommand, SteeringAction};
use synthdev_service::session::{RunRequest, StartRequest};

mod set;

/// Most characters of a queued text in a list.
const SHOWN: usize = 60;
const TAKEN_BACK: &str = "taken back: Enter sends it again";

pub fn run_steer_action(model: &mut UiModel, steer: SteerAction) -> Vec<UiCommand> {
    match steer {
        SteerAction::Pause => match active_run(model).map(|run| run.id.clone()) {
            Some(run) => pause_run(model, run),
            None => report_no_active_run(model),
        },
        SteerAction::Continue => continue_run(model),
        SteerAction::Step => step_run(model),
        SteerAction::Stop => match active_run(model).map(|run| run.id.clone()) {
            Some(run) => stop_run(model, run),
            None => report_no_active_run(model),
        },
        SteerAction::Control(run, control) => control_run_by_id(model, run, control),
        SteerAction::Status => {
            let text = status_text(model);
            model.add_item(TranscriptItem::report_item("Status", &text));
            Vec::new()
        }
        SteerAction::Break(point) => add_breakpoint(model, point),
        SteerAction::Breaks => {
            let text = breakpoints_text(model);
            model.add_item(TranscriptItem::report_item("Breakpoints", &text));
            Vec::new()
        }
        SteerAction::Unbreak(which) => remove_breakpoint(model, which),
        SteerAction::Set { path, value, force: anyway } => set::set_value(model, path, value, anyway),
        SteerAction::Pending(which) => edit_pending_texts(model, which),
        SteerAction::Approvals(None) => {
            let text = approvals::approvals_text(model);
            model.add_item(TranscriptItem::report_item("What waits for you", &text));
            Vec::new()
        }
        SteerAction::Approvals(Some((at, verdict))) => approvals::decide_approval(model, at, verdict),
        SteerAction::RevokeApproval(name) => approvals::revoke_allowed(model, &name),
    }
}

/// Stops a run of this session before its next state, whether it is in front or was named.
fn pause_run(model: &mut UiModel, run: RunId) -> Vec<UiCommand> {
    let stand = model.find_run(&run).and_then(|view| view.stopped_at.first());
    if let Some(stand) = stand {
        let text = format!("run {run} is already stopped, {}", stand.stop_location());
        model.add_item(TranscriptItem::note_item(&text));
        return Vec::new();
    }
    let in_front = active_run(model).is_some_and(|view| view.id == run);
    model.add_item(TranscriptItem::note_item(&stop_requested_text(&run, in_front)));
    note_pause_request(model, &run);
    steer_commands(run, SteeringAction::Pause)
}

/// A run of this session stops before its next state. /step and /continue act on the run in front.
pub fn stop_requested_text(run: &RunId, in_front: bool) -> String {
    let told = RunControlOutcome::StopRequested(run.clone());
    if in_front {
        return format!("{told}: /step and /continue go on");
    }
    format!("{told}: /watch {run}, then /continue")
}

fn step_run(model: &mut UiModel) -> Vec<UiCommand> {
    let Some(run) = active_run(model).map(|run| run.id.clone()) else {
        model.breakpoints.step = true;
        model.add_item(TranscriptItem::note_item("the next workflow stops before each of its states"));
        return vec![UiCommand::ask(StartRequest::Breakpoints(model.breakpoints.clone()))];
    };
    release_run(model, run, SteeringAction::Step)
}

/// What was asked of the run before is over.
fn release_run(model: &mut UiModel, run: RunId, steering: SteeringAction) -> Vec<UiCommand> {
    if let Some(view) = model.run_mut(&run) {
        view.is_pause_requested = false;
    }
    steer_commands(run, steering)
}

pub fn continue_run(model: &mut UiModel) -> Vec<UiCommand> {
    match active_run(model).map(|run| run.id.clone()) {
        Some(run) => release_run(model, run, SteeringAction::Continue),
        None if model.breakpoints.step => {
            model.breakpoints.step = false;
            model
                .add_item(TranscriptItem::note_item("the next workflow runs without stopping at each state"));
            vec![UiCommand::ask(StartRequest::Breakpoints(model.breakpoints.clone()))]
        }
        None => report_no_active_run(model),
    }
}

/// Handles a run of this session as if it were in front and had not been named. The beginning of an id may be that of a
/// run which is not shown here: the history resolves it, or refuses it.
fn control_run_by_id(model: &mut UiModel, run: String, control: ControlAction) -> Vec<UiCommand> {
    if control == ControlAction::Cancel
        && let Some(cmds) = running_commands::stop_command(model, &run)
    {
        return cmds;
    }
    let live = model.live_runs().find(|live| live.id.as_str() == run).map(|live| live.id.clone());
    if let Some(live) = live {
        return match control {
            ControlAction::Pause => pause_run(model, live),
            ControlAction::Cancel => stop_run(model, live),
        };
    }
    model.hint = Some(format!("contacting run {}, waiting up to 10 s …", one_line(&run)));
    vec![UiCommand::ask(RunRequest::Control(run, control))]
}

/// Shows the outcome of pausing or ending a run.
pub fn on_run_controlled(model: &mut UiModel, control: ControlAction, told: Result<String, String>) {
    model.hint = None;
    let title = match control {
        ControlAction::Pause => "The run is not paused from here",
        ControlAction::Cancel => "The run is not ended from here",
    };
    match told {
        Ok(text) => model.add_item(TranscriptItem::note_item(&text)),
        Err(why) => model.add_item(TranscriptItem::Block(TranscriptBlock::new(ItemTone::Bad, title, &why))),
    };
}

fn stop_run(model: &mut UiModel, id: RunId) -> Vec<UiCommand> {
    model.hint = Some("stopping …".to_owned());
    if let Some(view) = model.run_mut(&id) {
        view.is_cancelling = true;
    }
    vec![UiCommand::Send(id, RunCommand::Cancel)]
}

fn add_breakpoint(model: &mut UiModel, point: Breakpoint) -> Vec<UiCommand> {
    if let Some(problem) = unknown_state_hint(model, &point) {
        model.add_item(TranscriptItem::line(ItemTone::Bad, &problem));
        return Vec::new();
    }
    if let Some(run) = active_run(model).map(|run| run.id.clone()) {
        return steer_commands(run, SteeringAction::Break { point });
    }
    if !model.breakpoints.points.contains(&point) {
        model.breakpoints.points.push(point);
    }
    let text = format!(
        "for the next workflow that starts or is resumed: {}",
        breakpoint_list(model.breakpoints.step, &model.breakpoints.points)
    );
    model.add_item(TranscriptItem::note_item(&one_line(&text)));
    vec![UiCommand::ask(StartRequest::Breakpoints(model.breakpoints.clone()))]
}

/// A state that the workflow in front does not have, as far as its definition is known.
fn unknown_state_hint(model: &UiModel, point: &Breakpoint) -> Option<String> {
    let Breakpoint::State { state } = point else { return None };
    let run = active_run(model)?;
    let RunDefinitionState::Known(drawing) = &run.pane_data.definition else { return None };
    let ends = |name: &str| {
        name.strip_suffix(state.as_str()).is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    // a called workflow's states and items have longer names in the run
    let last = state.rsplit('/').next().unwrap_or(state);
    if drawing.states().any(|name| ends(name) || name.rsplit('/').next() == Some(last)) {
        return None;
    }
    let tail = closest_word(state, drawing.states())
        .map_or_else(|| "the graph (Alt+2) shows them".to_owned(), |name| format!("did you mean {name}?"));
    Some(format!("{} has no state {} — {tail}", run.workflow, one_line(state)))
}

fn remove_breakpoint(model: &mut UiModel, which: Option<usize>) -> Vec<UiCommand> {
    let run = active_run(model).map(|run| (run.id.clone(), run.breakpoints.points.clone()));
    let (id, list) = match run {
        Some((id, list)) => (Some(id), list),
        None => (None, model.breakpoints.points.clone()),
    };
    let gone: Vec<Breakpoint> = match which {
        None => list,
        Some(at) => list.into_iter().skip(at - 1).take(1).collect(),
    };
    if gone.is_empty() {
        model.add_item(TranscriptItem::warning_item("there is no such breakpoint: /breaks lists them"));
        return Vec::new();
    }
    let Some(id) = id else {
        model.breakpoints.points.retain(|point| !gone.contains(point));
        let text = breakpoints_text(model);
        model.add_item(TranscriptItem::report_item("Breakpoints", &text));
        return vec![UiCommand::ask(StartRequest::Breakpoints(model.breakpoints.clone()))];
    };
    gone.into_iter().flat_map(|point| steer_commands(id.clone(), SteeringAction::Unbreak { point })).collect()
}

fn breakpoints_text(model: &UiModel) -> String {
    let (whose, stops) = match active_run(model) {
        Some(run) => (format!("of {} {}", run.workflow, run.id), &run.breakpoints),
        None => ("for the next workflow that starts or is resumed".to_owned(), &model.breakpoints),
    };
    let mut text = String::new();
    if stops.step {
        text.push_str("   before every state (/continue leaves step mode)\n");
    }
    for (at, point) in stops.points.iter().enumerate() {
        let _ = writeln!(text, "{:>2} {}", at + 1, one_line(&point.to_string()));
    }
    if text.is_empty() {
        text.push_str("none: /break STATE, /break tool NAME, /break spend 0.50\n");
    }
    format!("{whose}\n{text}").trim_end().to_owned()
}

/// The run has stopped. Shows where and why, and the available commands. Where the user has interrupted it, unread texts
/// come back as guidance.
pub fn on_run_stopped(model: &mut UiModel, run: &RunId, stand: StoppedAt) -> Vec<UiCommand> {
    let several = model.has_several_live_runs();
    let Some(view) = model.run_mut(run) else { return Vec::new() };
    let why = match &stand.breakpoint {
        Some(point @ Breakpoint::State { .. }) => format!(" (breakpoint: {point})"),
        Some(_) | None => String::new(),
    };
    let who = if several { format!("{} {} ", view.workflow, view.id) } else { String::new() };
    let text = match stand.breakpoint {
        Some(Breakpoint::Now) => format!(
            "{who}interrupted in {} · type new guidance, or /continue without it, or /stop",
            stand.state
        ),
        _ => format!("{who}stopped {}{why} · /step /continue /set /stop", stand.stop_location()),
    };
    let interrupted = std::mem::take(&mut view.is_interrupting);
    view.is_pause_requested &= stand.breakpoint == Some(Breakpoint::Now);
    let gets_guidance = interrupted && stand.breakpoint == Some(Breakpoint::Now);
    view.stopped_at.retain(|known| known.call != stand.call);
    view.stopped_at.push(stand);
    if interrupted {
        // clears "interrupting …"; without an interrupt the hint may be about another run
        model.hint = None;
    }
    model.add_item(TranscriptItem::warning_item(&one_line(&text)));
    let in_front = active_run(model).is_some_and(|front| front.id == *run);
    if !gets_guidance || !in_front || model.line_mode || !model.composer.is_empty() {
        return Vec::new();
    }
    let count = active_run(model).map_or(0, |front| front.outbox.len());
    (0..count).flat_map(|at| withdraw_text(model, at, true)).collect()
}

/// A branch has continued from a breakpoint.
pub fn on_breakpoint_left(model: &mut UiModel, run: &RunId, call: synthdev_domain::ids::CallId) {
    if let Some(view) = model.run_mut(run) {
        view.stopped_at.retain(|stand| stand.call != call);
    }
}

/// Up on an empty line: withdraws the newest unread text into the input box.
pub fn withdraw_newest_text(model: &mut UiModel) -> Option<Vec<UiCommand>> {
    let Some(run) = active_run(model) else { return take_back_message(model) };
    let newest = run.outbox.len().checked_sub(1)?;
    Some(withdraw_text(model, newest, true))
}

/// A message that waits here until the agent has answered the one before.
fn take_back_message(model: &mut UiModel) -> Option<Vec<UiCommand>> {
    let chat = model.chat.clone()?;
    let text = model.run_mut(&chat)?.outbox.pop_back()?;
    model.composer.set_text(&text);
    model.hint = Some(TAKEN_BACK.to_owned());
    Some(Vec::new())
}

/// The chat whose messages wait for the answer before them.
fn chat_with_messages(model: &UiModel) -> Option<&RunView> {
    model.find_run(model.chat.as_ref()?).filter(|chat| !chat.outbox.is_empty())
}

fn edit_pending_texts(model: &mut UiModel, which: PendingTextAction) -> Vec<UiCommand> {
    let Some(run) = active_run(model).or_else(|| chat_with_messages(model)) else {
        return if which == PendingTextAction::List {
            vec![history::pending_command()]
        } else {
            report_no_active_run(model)
        };
    };
    let count = run.outbox.len();
    match which {
        PendingTextAction::List => {
            let text = pending_texts_list(run);
            let text = if text.is_empty() { "nothing waits to be read".to_owned() } else { text };
            model.add_item(TranscriptItem::report_item("Pending", &text));
            vec![history::pending_command()]
        }
        PendingTextAction::Edit(at) => match at.unwrap_or(count).checked_sub(1).filter(|at| *at < count) {
            Some(at) => withdraw_text(model, at, true),
            None => no_such_text(model),
        },
        PendingTextAction::Drop(None) if count > 0 => {
            (0..count).rev().flat_map(|at| withdraw_text(model, at, false)).collect()
        }
        PendingTextAction::Drop(at) => match at.and_then(|at| at.checked_sub(1)).filter(|at| *at < count) {
            Some(at) => withdraw_text(model, at, false),
            None => no_such_text(model),
        },
    }
}

fn no_such_text(model: &mut UiModel) -> Vec<UiCommand> {
    model.add_item(TranscriptItem::warning_item("no such text waits to be read: /pending lists them"));
    Vec::new()
}

/// Numbered, a line each.
fn pending_texts_list(run: &RunView) -> String {
    let lines = run.outbox.iter().enumerate();
    let lines = lines.map(|(at, text)| format!("{:>2} {}", at + 1, fit_to_columns(&one_line(text), SHOWN)));
    lines.collect::<Vec<_>>().join("\n")
}

/// Withdraws the text at this position; it comes back when the run confirms, which may have read it meanwhile.
fn withdraw_text(model: &mut UiModel, at: usize, edit: bool) -> Vec<UiCommand> {
    let Some(id) = active_run(model).map(|run| run.id.clone()) else {
        return withdraw_message(model, at, edit);
    };
    let Some(run) = model.run_mut(&id) else { return Vec::new() };
    let Some(text) = run.outbox.get(at).cloned() else { return Vec::new() };
    let there = run.outbox.iter().filter(|queued| **queued == text).count();
    if run.withdrawals.iter().filter(|taking| taking.text == text).count() >= there {
        return Vec::new();
    }
    run.withdrawals.push(MessageWithdrawal { text: text.clone(), edit });
    steer_commands(id, SteeringAction::TakeBack { text })
}

/// A message of the chat waits here: no run has it.
fn withdraw_message(model: &mut UiModel, at: usize, edit: bool) -> Vec<UiCommand> {
    let Some(chat) = model.chat.clone() else { return Vec::new() };
    let text = model.run_mut(&chat).and_then(|chat| chat.outbox.remove(at));
    let Some(text) = text else { return Vec::new() };
    if edit && model.composer.is_empty() {
        model.composer.set_text(&text);
        model.hint = Some(TAKEN_BACK.to_owned());
    } else {
        model.composer.remember_text(&text);
        let what = if edit { "taken back" } else { "dropped" };
        model.hint = Some(format!("{what}; it is in the history: Up"));
    }
    Vec::new()
}

/// The run gave a text back.
pub fn on_text_returned(model: &mut UiModel, run: &RunId, text: &str) {
    no_longer_waits(model, run, text);
    let Some(taking) = take_withdrawal(model, run, text) else { return };
    // several that came back for an interrupted agent are one text
    let before = model.returned_text.clone().filter(|before| *before == model.composer.text());
    let interrupted = model.find_run(run).is_some_and(RunView::is_interrupted);
    if taking.edit && interrupted && (model.composer.is_empty() || before.is_some()) {
        let text = before.map_or_else(|| text.to_owned(), |before| format!("{before}\n{text}"));
        model.composer.set_text(&text);
        model.returned_text = Some(model.composer.text());
        // the agent may be another one than when the text was typed
        let agent = model.find_run(run).and_then(|view| view.speaker.as_ref());
        let agent = agent.map_or("the interrupted agent", |speaker| &speaker.agent);
        model.hint = Some(format!("taken back: Enter gives it to {agent}"));
    } else if taking.edit && model.composer.is_empty() {
        model.composer.set_text(text);
        model.hint = Some(TAKEN_BACK.to_owned());
    } else {
        model.composer.remember_text(text);
        let what = if taking.edit { "taken back" } else { "dropped" };
        model.hint = Some(format!("{what}; it is in the history: Up"));
    }
}

/// The run has read a text, also one that was asked back too late.
pub fn on_text_read(model: &mut UiModel, run: &RunId, text: &str) {
    no_longer_waits(model, run, text);
    let left = model.find_run(run).is_some_and(|view| view.outbox.iter().any(|queued| queued == text));
    if !left && take_withdrawal(model, run, text).is_some() {
        model.hint = Some("the workflow has read it already".to_owned());
    }
}

/// The workflow's state `resume` has taken the queued text.
pub fn on_resume_input_read(model: &mut UiModel, run: &RunId, set: &Map<String, Value>) {
    if let Some(text) = set.get("resume_input").and_then(Value::as_str) {
        on_text_read(model, run, text);
    }
}

/// Words wait no longer.
fn no_longer_waits(model: &mut UiModel, run: &RunId, text: &str) {
    let Some(view) = model.run_mut(run).filter(|view| !view.chat) else { return };
    if let Some(at) = view.outbox.iter().position(|queued| queued == text) {
        view.outbox.remove(at);
    }
}

fn take_withdrawal(model: &mut UiModel, run: &RunId, text: &str) -> Option<MessageWithdrawal> {
    let taking = &mut model.run_mut(run)?.withdrawals;
    let at = taking.iter().position(|taking| taking.text == text)?;
    Some(taking.remove(at))
}

/// `/status`
fn status_text(model: &UiModel) -> String {
    let Some(run) = active_run(model) else {
        let next = breakpoint_list(model.breakpoints.step, &model.breakpoints.points);
        let next = if next.is_empty() { String::new() } else { format!("\nthe next workflow stops: {next}") };
        let window = model.watched_run().and_then(window_line).unwrap_or_default();
        let put_off: String =
            approvals::put_off_runs(model).map(|run| format!("\n{}", approvals::put_off_text(run))).collect();
        return format!("no workflow runs · mode {}{window}{next}{put_off}", model.mode());
    };
    let mut text = format!("{} {}", run.workflow, run.id);
    let timed_wait = run.describe_timed_wait(model.now, false);
    let doing = match run.stopped_at.as_slice() {
        [] if timed_wait.is_some() => timed_wait.unwrap_or_default(),
        [] if run.activity.is_empty() => "working".to_owned(),
        [] => run.activity.clone(),
        stands => {
            format!("stopped: {}", stands.iter().map(StoppedAt::stop_location).collect::<Vec<_>>().join(", "))
        }
    };
    let _ = write!(text, "\nstate     {} · {doing}", run.state);
    if let Some(at_once) = run.concurrency_label() {
        let _ = write!(text, " · {at_once}");
    }
    if let Some(elapsed) = run.describe_elapsed(model.now) {
        let _ = write!(text, "\nelapsed   {elapsed}");
    }
    let spent = run.ledger.usage().total();
    let _ = write!(
        text,
        "\nspent     {} tokens · {}",
        format_thousands(spent),
        format_dollars(run.ledger.cost_usd())
    );
    text.push_str(&window_line(run).unwrap_or_default());
    let _ = write!(text, "\nsteps     {}", run.path.len());
    let points = breakpoint_list(run.breakpoints.step, &run.breakpoints.points);
    if !points.is_empty() {
        let _ = write!(text, "\nbreaks    {points}");
    }
    let asked = model.dialogs.iter().filter(|dialog| dialog.run_id() == Some(&run.id)).count();
    if asked > 0 {
        let _ = write!(text, "\nwaits     for you: {} (/approvals)", format_count(asked as u64, "question"));
    }
    if !run.outbox.is_empty() {
        let _ = write!(text, "\npending   {} (/pending)", format_count(run.outbox.len() as u64, "text"));
    }
    let others = model.live_runs().filter(|other| other.id != run.id).count();
    if others > 0 {
        let _ = write!(text, "\nbeside    {} (/runs)", format_count(others as u64, "other run"));
    }
    text
}

/// What the last request and its answer took of the window of their model; `None`: it is not known.
fn window_line(run: &RunView) -> Option<String> {
    let (used, window) = run.window_fill()?;
    let model = &run.window_use.as_ref()?.model;
    Some(format!(
        "\nwindow    {} · {} of {} tokens · {model}",
        window_fill_text(used, window),
        format_thousands(used),
        format_thousands(window)
    ))
}
