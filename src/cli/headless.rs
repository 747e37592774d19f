//! A run without a screen: events while it runs, one object at the end, an exit code.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;

use super::data;
use super::exit;
use super::moments;
use super::words::{Clean, cost, name, names, one_line, tell, tokens};
use crate::domain::cost::Usage;
use crate::domain::failure::{Failure, TAKEN_OVER};
use crate::domain::ids::{RunId, SnapshotId, Timestamp};
use crate::domain::journal::{OpenPause, PauseReason, RunStatus};
use crate::domain::snapshot::Worktree;
use crate::domain::workflow::plain_text;
use crate::engine::event::{Published, RunEvent};
use crate::runtime::command::Command;
use crate::runtime::handle::Handle;
use crate::runtime::tokens::DEFAULT_TTL_SECONDS;

/// What is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Show {
    /// One final JSON object.
    pub json: bool,
    /// One JSON event a line.
    pub events: bool,
    /// Progress for people, on stderr.
    pub progress: bool,
}

/// The final object of `run --json`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FinalReport {
    /// `None`: nothing was started.
    pub run_id: Option<RunId>,
    pub workflow: String,
    pub status: RunStatus,
    pub output: Option<Value>,
    pub path: Vec<String>,
    pub snapshot: Option<SnapshotId>,
    pub usage: Usage,
    pub cost_usd: Option<f64>,
    pub warnings: Vec<Value>,
    pub error: Option<Failure>,
    /// What it waits for, with a token for each.
    pub pauses: Vec<PauseReport>,
    /// Where it worked, if apart from the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<Worktree>,
}

impl Default for FinalReport {
    fn default() -> Self {
        Self {
            run_id: None,
            workflow: String::new(),
            status: RunStatus::Running,
            output: None,
            path: Vec::new(),
            snapshot: None,
            usage: Usage::default(),
            cost_usd: None,
            warnings: Vec::new(),
            error: None,
            pauses: Vec::new(),
            worktree: None,
        }
    }
}

/// Who wants the program to stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interrupt {
    /// The person: the run is cancelled.
    Person,
    /// The system, or the terminal went away: the run is left as it is, to be taken up again.
    System,
}

pub type Interrupts = UnboundedReceiver<Interrupt>;

/// What the run waits for, in its final object.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PauseReport {
    #[serde(flatten)]
    pub pause: OpenPause,
    /// Answers this pause once: `synthdev resume TOKEN --results JSON` (B3).
    pub resume_token: Option<String>,
    pub expires_at: Option<Timestamp>,
    pub expires_in_seconds: Option<u64>,
}

/// Stays with a run to its end. `events` were subscribed to before it was set going. `leftovers` is asked at the end
/// for warnings of the model (unused scripted replies).
///
/// # Errors
/// stdout cannot be written.
pub async fn follow(
    handle: &Handle,
    run: RunId,
    mut events: UnboundedReceiver<Published>,
    mut show: Show,
    mut interrupts: Interrupts,
    leftovers: &(dyn Fn() -> Vec<String> + Sync),
) -> anyhow::Result<FinalReport> {
    let mut report = FinalReport { run_id: Some(run.clone()), ..FinalReport::default() };
    loop {
        tokio::select! {
            biased;
            Some(who) = interrupts.recv() => match who {
                Interrupt::Person => handle.send(&run, Command::Cancel),
                Interrupt::System => {
                    leave(handle, &run, &mut report).await;
                    return Ok(report);
                }
            },
            event = events.recv() => {
                let Some(published) = event else { break };
                if published.run != run {
                    continue;
                }
                let printed = if show.events { print_event(&published) } else { Ok(()) };
                if take(&mut report, &published, show) {
                    break;
                }
                match printed {
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                        // Nobody reads any more: the run ends as if cancelled, recorded and with its tools.
                        show.events = false;
                        handle.send(&run, Command::Cancel);
                    }
                    printed => printed?,
                }
            }
        }
    }
    if matches!(report.status, RunStatus::Paused | RunStatus::Failed) {
        report.pauses = pauses(handle, &run);
    }
    if let Ok(summary) = handle.summary(run.as_str()) {
        // a run that was resumed began earlier
        (report.workflow, report.worktree) = (summary.workflow, summary.worktree);
    }
    for text in leftovers().into_iter().filter(|_| report.pauses.is_empty()) {
        report.warnings.push(serde_json::json!({"code": "unused_reply", "text": text}));
        if show.progress {
            tell(format_args!("warning: {text}"));
        }
    }
    Ok(report)
}

/// The driver stops between two inputs: nothing is half done but what runs outside.
async fn leave(handle: &Handle, run: &RunId, report: &mut FinalReport) {
    handle.send(run, Command::Leave);
    let deadline = std::time::Duration::from_millis(500);
    let left = async {
        while handle.running().contains(run) {
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    };
    let _ = tokio::time::timeout(deadline, left).await;
    report.status = RunStatus::Interrupted;
    if let Ok(summary) = handle.summary(run.as_str()) {
        report.workflow = summary.workflow;
        (report.path, report.usage) = (summary.progress.path, summary.progress.usage);
        (report.cost_usd, report.snapshot) = (summary.progress.cost_usd, summary.progress.snapshot);
    }
}

/// A token for each, but for what needs none: only its owner can say that a failed run is tried again.
fn pauses(handle: &Handle, run: &RunId) -> Vec<PauseReport> {
    let open = handle.summary(run.as_str()).map(|summary| summary.progress.pauses).unwrap_or_default();
    let with_token = |pause: OpenPause| {
        let wanted = !matches!(pause.reason, PauseReason::User | PauseReason::Error);
        let token = wanted.then(|| handle.issue_token(run, pause.call, DEFAULT_TTL_SECONDS).ok()).flatten();
        PauseReport {
            pause,
            expires_at: token.as_ref().map(|token| token.expires),
            expires_in_seconds: token.as_ref().map(|_| DEFAULT_TTL_SECONDS),
            resume_token: token.map(|token| token.text),
        }
    };
    open.into_iter().map(with_token).collect()
}

fn print_event(published: &Published) -> io::Result<()> {
    let mut out = io::stdout().lock();
    data::line(published, &mut out)
}

/// Folds one event into the report; `true` at the end.
fn take(report: &mut FinalReport, published: &Published, show: Show) -> bool {
    if show.progress {
        progress(&published.event);
    }
    match &published.event {
        RunEvent::RunStarted { workflow, .. } => report.workflow.clone_from(workflow),
        RunEvent::Resumed { .. } => (report.error, report.pauses) = (None, Vec::new()),
        RunEvent::Warning { code, text } => {
            if code == "no_snapshot" {
                // The same reason, now with its consequence.
                report.warnings.retain(|earlier| earlier["code"] != "snapshot_failed");
            }
            report.warnings.push(serde_json::json!({"code": code, "text": text}));
        }
        RunEvent::SnapshotFailed { reason } => {
            report.warnings.push(serde_json::json!({"code": "snapshot_failed", "text": reason}));
        }
        RunEvent::Finished { status, output, error, path, snapshot, usage, cost_usd } => {
            report.status = *status;
            report.output.clone_from(output);
            report.error = error.as_deref().cloned();
            report.path.clone_from(path);
            report.snapshot.clone_from(snapshot);
            report.usage = *usage;
            report.cost_usd = *cost_usd;
            return true;
        }
        _ => {}
    }
    false
}

fn progress(event: &RunEvent) {
    match event {
        RunEvent::StateEntered { state, agent, .. } => match agent {
            Some(agent) => tell(format_args!("● {} ({})", name(state), name(agent))),
            None => tell(format_args!("● {}", name(state))),
        },
        RunEvent::ToolFinished { tool, ok, summary, .. } => {
            let mark = if *ok { "✓" } else { "✗" };
            tell(format_args!("    {mark} {}: {}", name(tool), one_line(summary, 100)));
        }
        RunEvent::ToolRefused { tool, reason, .. } => {
            tell(format_args!("    ✗ {}: {}", name(tool), one_line(reason, 100)))
        }
        RunEvent::Replied { agent, text, .. } if !text.trim().is_empty() => {
            tell(format_args!("    {}: {}", name(agent), one_line(text, 100)));
        }
        RunEvent::ContextSummarized { agent, context, entries, .. } if *entries > 0 => {
            tell(format_args!("    {}: summed up {entries} messages of {}", name(agent), name(context)));
        }
        RunEvent::Decided { tool, arguments, .. } => {
            tell(format_args!("    → {} {}", name(tool), one_line(&arguments.to_string(), 100)));
        }
        RunEvent::ModelRetry { attempt, delay_ms, reason, .. } => {
            tell(format_args!("    model: {}; attempt {attempt} in {delay_ms} ms", one_line(reason, 100)));
        }
        RunEvent::Warning { text, .. } => tell(format_args!("warning: {text}")),
        RunEvent::SnapshotFailed { reason } => tell(format_args!("warning: no snapshot: {reason}")),
        // the state that it enters says as much
        RunEvent::BranchStarted { .. } => {}
        other => {
            if let Some(line) = moments::line(other) {
                tell(format_args!("    {line}"));
            }
        }
    }
}

/// Prints the end of a run and gives its exit code.
///
/// # Errors
/// stdout cannot be written.
pub fn conclude(report: &FinalReport, show: Show) -> io::Result<u8> {
    match print_end(report, show) {
        // A reader that left early changes nothing about how the run ended.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        printed => printed?,
    }
    if show.progress {
        tell(ending(report));
    }
    Ok(exit::of(report.status, report.error.as_ref()))
}

fn print_end(report: &FinalReport, show: Show) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if show.json {
        return data::line(report, &mut out);
    }
    match &report.output {
        Some(output) if !show.events => writeln!(Clean(&mut out), "{}", plain_text(output)),
        _ => Ok(()),
    }
}

/// The end of a run in words: status, path, tokens, cost, how to undo, what went wrong and what to do.
pub fn ending(report: &FinalReport) -> String {
    let mut lines = Vec::new();
    if report.run_id.is_some() {
        lines.push(format!("{}: {}", report.status.as_str(), names(&report.path, " > ")));
        lines.push(format!("{}, cost {}", tokens(&report.usage), cost(report.cost_usd)));
    }
    if let Some(error) = &report.error {
        lines.extend(trouble(error, report));
    }
    if let Some(run) = &report.run_id {
        lines.extend(go_on(run, report));
        lines.push(format!("run {run}: synthdev runs show {run}"));
    }
    if let (Some(run), Some(tree)) = (&report.run_id, &report.worktree) {
        lines.push(format!("its files are in {} on branch {}", name(&tree.path), name(&tree.branch)));
        lines.push(format!("bring them here: synthdev runs merge {run}"));
        lines.push(format!("throw them away: synthdev runs discard {run}"));
    } else if let Some(snapshot) = &report.snapshot {
        lines.push(format!("undo the file changes: synthdev snapshot restore {snapshot}"));
    }
    lines.join("\n")
}

/// What went wrong; that nobody was there to approve a tool is no error of anything.
fn trouble(error: &Failure, report: &FinalReport) -> Vec<String> {
    let state = error.state.as_ref().map(|state| format!("in state {}: ", name(state))).unwrap_or_default();
    let agent = error.agent.as_ref().map(|agent| format!("agent {}: ", name(agent))).unwrap_or_default();
    let detail = format!("  {state}{agent}{}", error.detail);
    if report.status == RunStatus::Paused && error.root().code == "tool.denied" {
        let resume =
            report.run_id.as_ref().map_or_else(String::new, |run| format!(", or synthdev resume {run}"));
        return vec![format!("needs approval: nobody is here to give it; --yes allows{resume}"), detail];
    }
    let place = error.place.as_ref().map(|place| format!(" ({place})")).unwrap_or_default();
    let mut lines = vec![format!("error[{}]: {}{place}", error.code, error.title), detail];
    lines.extend(error.hint.as_ref().map(|hint| format!("  hint: {hint}")));
    lines
}

/// How a run that waits, or was left, is taken up again.
fn go_on(run: &RunId, report: &FinalReport) -> Vec<String> {
    let mut lines = Vec::new();
    for PauseReport { pause, resume_token, .. } in &report.pauses {
        let what = if pause.message.is_empty() {
            String::new()
        } else {
            format!(": {}", one_line(&pause.message, 160))
        };
        lines.push(format!("waits in {} for {}{what}", name(&pause.state), pause.reason.as_str()));
        lines.extend(resume_token.as_ref().map(|token| format!("  token (30 minutes): {token}")));
    }
    let answer = report.pauses.iter().find_map(|report| example(&report.pause));
    let state = if report.pauses.len() > 1 { " --state STATE" } else { "" };
    let elsewhere = report.error.as_ref().is_some_and(|error| error.code == TAKEN_OVER);
    let resumable = report.status == RunStatus::Interrupted && !elsewhere || !report.pauses.is_empty();
    if resumable {
        let answer = answer.map_or_else(String::new, |answer| format!("{state} --results '{answer}'"));
        lines.push(format!("go on: synthdev resume {run}{answer}"));
    }
    lines
}

/// What an answer looks like; `None`: none is needed.
pub fn example(pause: &OpenPause) -> Option<String> {
    Some(match (pause.reason, pause.kind.as_deref()) {
        (PauseReason::Approval, _) => r#"{"decision": "allow"}"#.to_owned(),
        (PauseReason::UncertainEffect, _) => r#"{"decision": "repeat"}"#.to_owned(),
        (PauseReason::Input, Some("approval" | "boolean")) => "true".to_owned(),
        (PauseReason::Input, Some("number")) => "1".to_owned(),
        (PauseReason::Input, Some("choice")) => format!("{:?}", pause.choices.first()?),
        (PauseReason::Input, Some("outputs")) => {
            let fields = pause.required_outputs.iter().map(|name| format!("{name:?}: …"));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        (PauseReason::Input, _) => "\"your words\"".to_owned(),
        (
            PauseReason::Error
            | PauseReason::Limit
            | PauseReason::Budget
            | PauseReason::User
            | PauseReason::Delegate,
            _,
        ) => {
            return None;
        }
    })
}
