//! A run without a screen: events while it runs, one object at the end, an exit code.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;

use super::exit;
use super::moments;
use super::words::{Clean, cost, name, names, one_line, tell, tokens};
use crate::domain::cost::Usage;
use crate::domain::failure::Failure;
use crate::domain::ids::{RunId, SnapshotId};
use crate::domain::journal::RunStatus;
use crate::domain::workflow::plain_text;
use crate::engine::event::{Published, RunEvent};
use crate::engine::spec::RunSpec;
use crate::runtime::command::Command;
use crate::runtime::handle::Handle;

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
        }
    }
}

/// Resolves when the person or the system wants the program to stop.
pub type Interrupts = UnboundedReceiver<()>;

/// Starts the run and stays with it to its end. `leftovers` is asked at the end for warnings of the model
/// (unused scripted replies).
///
/// # Errors
/// stdout cannot be written, or the run cannot be recorded.
pub async fn run(
    handle: &Handle,
    spec: RunSpec,
    mut show: Show,
    mut interrupts: Interrupts,
    leftovers: &(dyn Fn() -> Vec<String> + Sync),
) -> anyhow::Result<FinalReport> {
    let mut events = handle.subscribe(show.events);
    let run = handle.start(spec).map_err(|error| match error.hint {
        Some(hint) => anyhow::anyhow!("{}\nhint: {hint}", error.message),
        None => anyhow::anyhow!("{}", error.message),
    })?;
    let mut report = FinalReport { run_id: Some(run.clone()), ..FinalReport::default() };
    loop {
        tokio::select! {
            biased;
            Some(()) = interrupts.recv() => handle.send(&run, Command::Cancel),
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
    for text in leftovers() {
        report.warnings.push(serde_json::json!({"code": "unused_reply", "text": text}));
        if show.progress {
            tell(format_args!("warning: {text}"));
        }
    }
    Ok(report)
}

fn print_event(published: &Published) -> io::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, published)?;
    out.write_all(b"\n")
}

/// Folds one event into the report; `true` at the end.
fn take(report: &mut FinalReport, published: &Published, show: Show) -> bool {
    if show.progress {
        progress(&published.event);
    }
    match &published.event {
        RunEvent::RunStarted { workflow, .. } => report.workflow.clone_from(workflow),
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
            report.error.clone_from(error);
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
        serde_json::to_writer(&mut out, report)?;
        return out.write_all(b"\n");
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
        let place = error.place.as_ref().map(|place| format!(" ({place})")).unwrap_or_default();
        lines.push(format!("error[{}]: {}{place}", error.code, error.title));
        let state =
            error.state.as_ref().map(|state| format!("in state {}: ", name(state))).unwrap_or_default();
        let agent = error.agent.as_ref().map(|agent| format!("agent {}: ", name(agent))).unwrap_or_default();
        lines.push(format!("  {state}{agent}{}", error.detail));
        if let Some(hint) = &error.hint {
            lines.push(format!("  hint: {hint}"));
        }
    }
    if let Some(run) = &report.run_id {
        lines.push(format!("run {run}: synthdev runs show {run}"));
    }
    if let Some(snapshot) = &report.snapshot {
        lines.push(format!("undo the file changes: synthdev snapshot restore {snapshot}"));
    }
    lines.join("\n")
}
