//! Workflow mode: what the person asks of the run in front while it goes on.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::active_run::{active_run, nothing_runs, send};
use super::{approvals, history};
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::run_view::pane_data::RunDefinitionState;
use crate::run_view::{MessageWithdrawal, RunView, StoppedAt};
use crate::slash::closest;
use crate::slash::steering::{PendingTextAction, SteerAction};
use crate::text::{dollars, duration, fit, format_count, one_line, thousands};
use crate::transcript::item::{ItemTone, TranscriptBlock, TranscriptItem};
use synthdev_domain::ids::RunId;
use synthdev_engine::steering::{Breakpoint, BreakpointSet, SteeringAction};
use synthdev_runtime::command::{ControlAction, RunCommand};

mod set;

/// What is shown of a queued text in a list.
const SHOWN: usize = 60;

pub fn act(model: &mut UiModel, steer: SteerAction) -> Vec<UiCommand> {
    match steer {
        SteerAction::Pause => pause(model),
        SteerAction::Continue => continue_run(model),
        SteerAction::Step => step(model),
        SteerAction::Stop => stop(model),
        SteerAction::Control(run, control) => elsewhere(model, run, control),
        SteerAction::Status => {
            let text = status(model);
            model.say(TranscriptItem::report("Status", &text));
            Vec::new()
        }
        SteerAction::Break(point) => add(model, point),
        SteerAction::Breaks => {
            let text = breaks(model);
            model.say(TranscriptItem::report("Breakpoints", &text));
            Vec::new()
        }
        SteerAction::Unbreak(which) => remove(model, which),
        SteerAction::Set { path, value, anyway } => set::set(model, path, value, anyway),
        SteerAction::Pending(which) => pending(model, which),
        SteerAction::Approvals(None) => {
            let text = approvals::list(model);
            model.say(TranscriptItem::report("What waits for you", &text));
            Vec::new()
        }
        SteerAction::Approvals(Some((at, verdict))) => approvals::decide(model, at, verdict),
    }
}

fn pause(model: &mut UiModel) -> Vec<UiCommand> {
    let Some(run) = active_run(model) else { return nothing_runs(model) };
    if let Some(stand) = run.stands.first() {
        let text = format!("it stands still already, {}", stand.place());
        model.say(TranscriptItem::note(&text));
        return Vec::new();
    }
    let id = run.id.clone();
    let of = if run.state.is_empty() { String::new() } else { format!(" {}", run.state) };
    model.say(TranscriptItem::note(&format!("state{of} comes to its end; then it stands still")));
    send(id, SteeringAction::Pause)
}

fn step(model: &mut UiModel) -> Vec<UiCommand> {
    let Some(run) = active_run(model) else {
        model.stops.step = true;
        model.say(TranscriptItem::note("the next workflow that is started stands before each of its states"));
        return vec![UiCommand::Stops(model.stops.clone())];
    };
    send(run.id.clone(), SteeringAction::Step)
}

pub fn continue_run(model: &mut UiModel) -> Vec<UiCommand> {
    match active_run(model) {
        Some(run) => send(run.id.clone(), SteeringAction::Continue),
        None if model.stops.step => {
            model.stops.step = false;
            model.say(TranscriptItem::note("the next workflow goes on without stopping at each state"));
            vec![UiCommand::Stops(model.stops.clone())]
        }
        None => nothing_runs(model),
    }
}

/// The run in front hears it as if it had not been named.
fn elsewhere(model: &mut UiModel, run: String, control: ControlAction) -> Vec<UiCommand> {
    if active_run(model).is_some_and(|front| front.id.as_str() == run) {
        return match control {
            ControlAction::Pause => pause(model),
            ControlAction::Cancel => stop(model),
        };
    }
    model.hint = Some(format!("telling run {}, and waiting up to 10 s …", one_line(&run)));
    vec![UiCommand::Control(run, control)]
}

/// What came of that.
pub fn controlled(model: &mut UiModel, control: ControlAction, told: Result<String, String>) {
    model.hint = None;
    let title = match control {
        ControlAction::Pause => "The run is not paused from here",
        ControlAction::Cancel => "The run is not ended from here",
    };
    match told {
        Ok(text) => model.say(TranscriptItem::note(&text)),
        Err(why) => model.say(TranscriptItem::Block(TranscriptBlock::new(ItemTone::Bad, title, &why))),
    };
}

fn stop(model: &mut UiModel) -> Vec<UiCommand> {
    let Some(id) = active_run(model).map(|run| run.id.clone()) else { return nothing_runs(model) };
    model.hint = Some("stopping …".to_owned());
    if let Some(view) = model.run_mut(&id) {
        view.stopping = true;
    }
    vec![UiCommand::Send(id, RunCommand::Cancel)]
}

fn add(model: &mut UiModel, point: Breakpoint) -> Vec<UiCommand> {
    if let Some(problem) = unknown(model, &point) {
        model.say(TranscriptItem::line(ItemTone::Bad, &problem));
        return Vec::new();
    }
    if let Some(run) = active_run(model).map(|run| run.id.clone()) {
        return send(run, SteeringAction::Break { point });
    }
    if !model.stops.points.contains(&point) {
        model.stops.points.push(point);
    }
    let text = format!("for the next workflow that is started: {}", points(&model.stops));
    model.say(TranscriptItem::note(&one_line(&text)));
    vec![UiCommand::Stops(model.stops.clone())]
}

/// A state that the workflow in front does not have, as far as its definition is known.
fn unknown(model: &UiModel, point: &Breakpoint) -> Option<String> {
    let Breakpoint::State { state } = point else { return None };
    let run = active_run(model)?;
    let RunDefinitionState::Known(drawing) = &run.watch.drawing else { return None };
    let ends = |name: &str| {
        name.strip_suffix(state.as_str()).is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    // a called workflow's states and items have longer names in the run
    let last = state.rsplit('/').next().unwrap_or(state);
    if drawing.states().any(|name| ends(name) || name.rsplit('/').next() == Some(last)) {
        return None;
    }
    let tail = closest(state, drawing.states())
        .map_or_else(|| "the graph (Alt+2) shows them".to_owned(), |name| format!("did you mean {name}?"));
    Some(format!("{} has no state {} — {tail}", run.workflow, one_line(state)))
}

fn remove(model: &mut UiModel, which: Option<usize>) -> Vec<UiCommand> {
    let run = active_run(model).map(|run| (run.id.clone(), run.stops.points.clone()));
    let (id, list) = match run {
        Some((id, list)) => (Some(id), list),
        None => (None, model.stops.points.clone()),
    };
    let gone: Vec<Breakpoint> = match which {
        None => list,
        Some(at) => list.into_iter().skip(at - 1).take(1).collect(),
    };
    if gone.is_empty() {
        model.say(TranscriptItem::warning("there is no such breakpoint: /breaks lists them"));
        return Vec::new();
    }
    let Some(id) = id else {
        model.stops.points.retain(|point| !gone.contains(point));
        let text = breaks(model);
        model.say(TranscriptItem::report("Breakpoints", &text));
        return vec![UiCommand::Stops(model.stops.clone())];
    };
    gone.into_iter().flat_map(|point| send(id.clone(), SteeringAction::Unbreak { point })).collect()
}

fn breaks(model: &UiModel) -> String {
    let (whose, stops) = match active_run(model) {
        Some(run) => (format!("of {} {}", run.workflow, run.id), &run.stops),
        None => ("for the next workflow that is started".to_owned(), &model.stops),
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

/// `before every state, state review, spend $0.50`; empty: nowhere.
fn points(stops: &BreakpointSet) -> String {
    let every = stops.step.then(|| "before every state".to_owned());
    every.into_iter().chain(stops.points.iter().map(Breakpoint::to_string)).collect::<Vec<_>>().join(", ")
}

/// Where it stands still was changed.
pub fn stops_changed(model: &mut UiModel, run: &RunId, stops: BreakpointSet) {
    let text = match points(&stops) {
        none if none.is_empty() => "no breakpoints".to_owned(),
        some => format!("stands still: {some}"),
    };
    model.say(TranscriptItem::note(&one_line(&text)));
    if let Some(view) = model.run_mut(run) {
        view.stops = stops;
    }
}

/// The run stands still. Says where and why, and what can be done.
pub fn on_run_stopped(model: &mut UiModel, run: &RunId, stand: StoppedAt) {
    let several = model.several();
    let Some(view) = model.run_mut(run) else { return };
    let why = match &stand.point {
        Some(point @ Breakpoint::State { .. }) => format!(" (breakpoint: {point})"),
        Some(_) | None => String::new(),
    };
    let who = if several { format!("{} {} ", view.workflow, view.id) } else { String::new() };
    let text = match stand.point {
        Some(Breakpoint::Now) => format!(
            "{who}interrupted in {} · type what shall be different, or /continue as it was, or /stop",
            stand.state
        ),
        _ => format!("{who}stands {}{why} · /step /continue /set /stop", stand.place()),
    };
    let interrupted = std::mem::take(&mut view.interrupting);
    view.stands.retain(|known| known.call != stand.call);
    view.stands.push(stand);
    if interrupted {
        // "interrupting …" is over; what is said of another run is not
        model.hint = None;
    }
    model.say(TranscriptItem::warning(&one_line(&text)));
}

/// A stand was left.
pub fn on_stop_left(model: &mut UiModel, run: &RunId, call: synthdev_domain::ids::CallId) {
    if let Some(view) = model.run_mut(run) {
        view.stands.retain(|stand| stand.call != call);
    }
}

/// Up on an empty line: the newest text that nobody has read yet comes back.
pub fn take_back_newest(model: &mut UiModel) -> Option<Vec<UiCommand>> {
    let newest = active_run(model)?.outbox.len().checked_sub(1)?;
    Some(take_back(model, newest, true))
}

fn pending(model: &mut UiModel, which: PendingTextAction) -> Vec<UiCommand> {
    let Some(run) = active_run(model) else {
        return if which == PendingTextAction::List { vec![history::pending()] } else { nothing_runs(model) };
    };
    let count = run.outbox.len();
    match which {
        PendingTextAction::List => {
            let text = waiting(run);
            let text = if text.is_empty() { "nothing waits to be read".to_owned() } else { text };
            model.say(TranscriptItem::report("Pending", &text));
            vec![history::pending()]
        }
        PendingTextAction::Edit(at) => match at.unwrap_or(count).checked_sub(1).filter(|at| *at < count) {
            Some(at) => take_back(model, at, true),
            None => no_such_text(model),
        },
        PendingTextAction::Drop(None) if count > 0 => {
            (0..count).rev().flat_map(|at| take_back(model, at, false)).collect()
        }
        PendingTextAction::Drop(at) => match at.and_then(|at| at.checked_sub(1)).filter(|at| *at < count) {
            Some(at) => take_back(model, at, false),
            None => no_such_text(model),
        },
    }
}

fn no_such_text(model: &mut UiModel) -> Vec<UiCommand> {
    model.say(TranscriptItem::warning("no such text waits to be read: /pending lists them"));
    Vec::new()
}

/// Numbered, a line each.
fn waiting(run: &RunView) -> String {
    let lines = run.outbox.iter().enumerate();
    let lines = lines.map(|(at, text)| format!("{:>2} {}", at + 1, fit(&one_line(text), SHOWN)));
    lines.collect::<Vec<_>>().join("\n")
}

/// Asks for the text at this position; it is back when the run says so, which may have read it meanwhile.
fn take_back(model: &mut UiModel, at: usize, edit: bool) -> Vec<UiCommand> {
    let Some(id) = active_run(model).map(|run| run.id.clone()) else { return Vec::new() };
    let Some(run) = model.run_mut(&id) else { return Vec::new() };
    let Some(text) = run.outbox.get(at).cloned() else { return Vec::new() };
    let there = run.outbox.iter().filter(|queued| **queued == text).count();
    if run.taking.iter().filter(|taking| taking.text == text).count() >= there {
        return Vec::new();
    }
    run.taking.push(MessageWithdrawal { text: text.clone(), edit });
    send(id, SteeringAction::TakeBack { text })
}

/// The run gave a text back.
pub fn given_back(model: &mut UiModel, run: &RunId, text: &str) {
    no_longer_waits(model, run, text);
    let Some(taking) = taken(model, run, text) else { return };
    if taking.edit && model.composer.is_empty() {
        model.composer.set(text);
        model.hint = Some("taken back: Enter sends it again".to_owned());
    } else {
        model.composer.remember(text);
        let what = if taking.edit { "taken back" } else { "dropped" };
        model.hint = Some(format!("{what}; it is in the history: Up"));
    }
}

/// The run has read a text, also one that was asked back too late.
pub fn read(model: &mut UiModel, run: &RunId, text: &str) {
    no_longer_waits(model, run, text);
    let left = model.run(run).is_some_and(|view| view.outbox.iter().any(|queued| queued == text));
    if !left && taken(model, run, text).is_some() {
        model.hint = Some("the workflow has read it already".to_owned());
    }
}

/// The workflow took up what was said at its state `resume`.
pub fn on_resume_input_read(model: &mut UiModel, run: &RunId, set: &Map<String, Value>) {
    if let Some(text) = set.get("resume_input").and_then(Value::as_str) {
        read(model, run, text);
    }
}

/// Words wait no longer.
fn no_longer_waits(model: &mut UiModel, run: &RunId, text: &str) {
    let Some(view) = model.run_mut(run).filter(|view| !view.chat) else { return };
    if let Some(at) = view.outbox.iter().position(|queued| queued == text) {
        view.outbox.remove(at);
    }
}

fn taken(model: &mut UiModel, run: &RunId, text: &str) -> Option<MessageWithdrawal> {
    let taking = &mut model.run_mut(run)?.taking;
    let at = taking.iter().position(|taking| taking.text == text)?;
    Some(taking.remove(at))
}

/// `/status`
fn status(model: &UiModel) -> String {
    let Some(run) = active_run(model) else {
        let next = points(&model.stops);
        let next =
            if next.is_empty() { String::new() } else { format!("\nthe next workflow stands still: {next}") };
        return format!("no workflow runs · mode {}{next}", model.mode());
    };
    let mut text = format!("{} {}", run.workflow, run.id);
    let doing = match run.stands.as_slice() {
        [] if run.activity.is_empty() => "working".to_owned(),
        [] => run.activity.clone(),
        stands => format!("stands {}", stands.iter().map(StoppedAt::place).collect::<Vec<_>>().join(", ")),
    };
    let _ = write!(text, "\nstate     {} · {doing}", run.state);
    if let Some(at_once) = run.at_once() {
        let _ = write!(text, " · {at_once}");
    }
    if let Some(ms) = run.elapsed(model.now) {
        let _ = write!(text, "\nelapsed   {}", duration(ms));
    }
    let spent = run.ledger.usage().total();
    let _ = write!(text, "\nspent     {} tokens · {}", thousands(spent), dollars(run.ledger.cost_usd()));
    let _ = write!(text, "\nsteps     {}", run.path.len());
    let points = points(&run.stops);
    if !points.is_empty() {
        let _ = write!(text, "\nbreaks    {points}");
    }
    let asked = model.dialogs.iter().filter(|dialog| dialog.run() == Some(&run.id)).count();
    if asked > 0 {
        let _ = write!(text, "\nwaits     for you: {} (/approvals)", format_count(asked as u64, "question"));
    }
    if !run.outbox.is_empty() {
        let _ = write!(text, "\npending   {} (/pending)", format_count(run.outbox.len() as u64, "text"));
    }
    let others = model.live().filter(|other| other.id != run.id).count();
    if others > 0 {
        let _ = write!(text, "\nbeside    {} (/runs)", format_count(others as u64, "other run"));
    }
    text
}
