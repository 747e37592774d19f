//! A run without a screen: events while it runs, one object at the end, an exit code.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;

use super::event_lines::event_line;
use super::exit;
use super::json_output;
use super::output::{
    TerminalSafeWriter, WIDTH, awaited_answer, cost_text, join_names, paint_diff, print_stderr,
    print_stderr_styled, question_rows, safe_name, terminal_safe, tokens_text,
};
use synthdev_domain::cost::TokenUsage;
use synthdev_domain::ids::{RunId, SnapshotId, Timestamp};
use synthdev_domain::journal::{OpenPause, PauseReason, RunStatus};
use synthdev_domain::run_error::{RunError, TAKEN_OVER};
use synthdev_domain::snapshot::RunWorktree;
use synthdev_domain::workflow::plain_text;
use synthdev_service::event_description::{EventKind, describe_event};
use synthdev_service::run_control::command_driven_run;
use synthdev_service::run_events::{
    DEFINITION_WARNING, EventReceiver, PublishedEvent, RunEvent, RuntimeHandle,
};
use synthdev_service::run_resume::DEFAULT_TTL_SECONDS;
use synthdev_service::run_steering::RunCommand;

/// The error of a request that is not in a recording.
const DRIFT: &str = "model.drift";

/// What is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HeadlessOutput {
    /// One final JSON object.
    pub json: bool,
    /// One JSON event a line.
    pub events: bool,
    /// Progress for the user, on stderr.
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
    pub usage: TokenUsage,
    pub cost_usd: Option<f64>,
    pub warnings: Vec<Value>,
    pub error: Option<RunError>,
    /// What it waits for, with a token for each.
    pub pauses: Vec<PauseReport>,
    /// Where it worked, if apart from the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<RunWorktree>,
    /// There is something that an undo would bring back.
    #[serde(skip)]
    pub files_changed: bool,
    /// The recording that answered instead of models.
    #[serde(skip)]
    pub played: Option<String>,
    /// Where it runs, if not in this process: commands that go on with it name that.
    #[serde(skip)]
    pub backend: Option<&'static str>,
}

impl FinalReport {
    /// The end of the run is not in the history.
    fn is_unrecorded(&self) -> bool {
        self.warnings.iter().any(|warning| warning["code"] == "unrecorded")
    }
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
            usage: TokenUsage::default(),
            cost_usd: None,
            warnings: Vec::new(),
            error: None,
            pauses: Vec::new(),
            worktree: None,
            files_changed: false,
            played: None,
            backend: None,
        }
    }
}

/// The source of a request to stop the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InterruptSource {
    /// The user: the run is cancelled.
    Person,
    /// The system, or the terminal was closed: the run is left as it is, and can be resumed.
    System,
}

pub type InterruptReceiver = UnboundedReceiver<InterruptSource>;

/// What the run waits for, in its final object.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PauseReport {
    #[serde(flatten)]
    pub pause: OpenPause,
    /// Answers this pause once: `synthdev resume TOKEN --results JSON`.
    pub resume_token: Option<String>,
    pub expires_at: Option<Timestamp>,
    pub expires_in_seconds: Option<u64>,
}

/// Follows a run to its end. The subscription `events` begins before the run is started. Calls `leftovers` at the end
/// for warnings of the model (unused scripted replies). A failure to write events is reported once and ends nothing.
///
/// # Errors
/// None of its own.
pub async fn follow_run(
    handle: &RuntimeHandle,
    run: RunId,
    mut events: EventReceiver,
    mut show: HeadlessOutput,
    mut interrupts: InterruptReceiver,
    leftovers: &(dyn Fn() -> Vec<String> + Sync),
) -> anyhow::Result<FinalReport> {
    let mut report = FinalReport { run_id: Some(run.clone()), ..FinalReport::default() };
    loop {
        tokio::select! {
            biased;
            Some(who) = interrupts.recv() => match who {
                InterruptSource::Person => command_driven_run(handle, &run, RunCommand::Cancel),
                InterruptSource::System => {
                    detach_from_run(handle, &run, &mut report).await;
                    return Ok(report);
                }
            },
            event = events.recv() => {
                let Some(published) = event else { break };
                if published.run != run {
                    continue;
                }
                let printed = print_event(&published, show);
                if apply_event(&mut report, &published, show) {
                    break;
                }
                match printed {
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                        // The reader has closed stdout: the run ends as if cancelled, recorded and with its tools.
                        show.events = false;
                        command_driven_run(handle, &run, RunCommand::Cancel);
                    }
                    Err(error) => {
                        // this is no failure of the run: it continues, and the history has all of it
                        show.events = false;
                        print_stderr(lost_output_message("an event", &error, &run));
                    }
                    Ok(()) => {}
                }
            }
        }
    }
    if matches!(report.status, RunStatus::Paused | RunStatus::Failed) {
        report.pauses = pause_reports(handle, &run);
    }
    if let Ok(summary) = handle.summary(run.as_str()) {
        // a run that was resumed began earlier
        (report.workflow, report.worktree) = (summary.workflow, summary.worktree);
    }
    for text in leftovers().into_iter().filter(|_| report.pauses.is_empty()) {
        report.warnings.push(serde_json::json!({"code": "unused_reply", "text": text}));
        if show.progress {
            print_stderr(format_args!("warning: {text}"));
        }
    }
    Ok(report)
}

/// The driver stops between two inputs: nothing is half done but what runs outside.
async fn detach_from_run(handle: &RuntimeHandle, run: &RunId, report: &mut FinalReport) {
    command_driven_run(handle, run, RunCommand::Leave);
    let deadline = std::time::Duration::from_millis(500);
    let left = async {
        while handle.running_runs().contains(run) {
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    };
    let _ = tokio::time::timeout(deadline, left).await;
    report.status = RunStatus::Interrupted;
    if let Ok(summary) = handle.summary(run.as_str()) {
        report.workflow = summary.workflow;
        report.path = summary.progress.path.iter().map(ToString::to_string).collect();
        report.usage = summary.progress.usage;
        (report.cost_usd, report.snapshot) = (summary.progress.cost_usd, summary.progress.snapshot);
    }
}

/// A token for each, but for what needs none: only its owner can say that a failed run is tried again.
fn pause_reports(handle: &RuntimeHandle, run: &RunId) -> Vec<PauseReport> {
    let open = handle.summary(run.as_str()).map(|summary| summary.progress.pauses).unwrap_or_default();
    let with_token = |pause: OpenPause| {
        let wanted = !matches!(pause.reason, PauseReason::User | PauseReason::Error);
        let token = wanted.then(|| handle.issue_token(run, pause.call, DEFAULT_TTL_SECONDS).ok()).flatten();
        PauseReport {
            pause,
            expires_at: token.as_ref().map(|token| token.expires_at),
            expires_in_seconds: token.as_ref().map(|_| DEFAULT_TTL_SECONDS),
            resume_token: token.map(|token| token.text),
        }
    };
    open.into_iter().map(with_token).collect()
}

/// States that a resumed run does not enter again: printed first, as others are when they are entered.
pub fn print_retried_states(open: &[OpenPause], show: HeadlessOutput) {
    for pause in open.iter().filter(|pause| show.progress && pause.reason == PauseReason::Error) {
        print_stderr(format_args!("● {} (again)", safe_name(&pause.state)));
    }
}

/// Prints an event as a line of `--events`.
///
/// # Errors
/// stdout cannot be written.
pub fn print_event(published: &PublishedEvent, show: HeadlessOutput) -> io::Result<()> {
    if !show.events {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    json_output::write_json_line(published, &mut out)
}

/// Folds one event into the report, and says what is worth a line; `true` at the end.
pub fn apply_event(report: &mut FinalReport, published: &PublishedEvent, show: HeadlessOutput) -> bool {
    if show.progress {
        log_progress(published);
    }
    match &published.event {
        RunEvent::RunStarted { workflow, .. } => report.workflow.clone_from(workflow),
        RunEvent::Resumed { .. } => (report.error, report.pauses) = (None, Vec::new()),
        RunEvent::Warning { code, text } => {
            if code == "no_snapshot" {
                // The same reason, now with its consequence.
                report.warnings.retain(|earlier| earlier["code"] != "snapshot_failed");
            }
            if code == DEFINITION_WARNING && !show.progress {
                print_stderr(format_args!("warning: {text}"));
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

/// What a run does meanwhile: the outcome of each step, and what goes wrong.
fn log_progress(published: &PublishedEvent) {
    let words = describe_event(published.at, &published.event);
    if let RunEvent::SnapshotProgress { elapsed_ms, .. } = published.event {
        if is_worth_a_line(elapsed_ms) && io::stderr().is_terminal() {
            print_stderr(format_args!("    {}", event_line(&words)));
        }
        return;
    }
    match words.kind {
        EventKind::State | EventKind::Warning => print_stderr(event_line(&words)),
        // a turn of calls alone: its calls are shown
        EventKind::Reply if words.detail.trim().is_empty() => {}
        EventKind::Nested
        | EventKind::BranchEnd
        | EventKind::Recovery
        | EventKind::Wait
        | EventKind::Control
        | EventKind::QueuedText
        | EventKind::Reply
        | EventKind::Summary
        | EventKind::ToolResult
        | EventKind::ToolRefusal
        | EventKind::Decision => print_stderr(format_args!("    {}", event_line(&words))),
        _ => {}
    }
}

/// Reports come every half a second.
fn is_worth_a_line(elapsed_ms: u64) -> bool {
    elapsed_ms >= 2_000 && elapsed_ms % 2_000 < 500
}

/// The message about output that could not be written.
fn lost_output_message(what: &str, error: &io::Error, run: &RunId) -> String {
    format!(
        "error: {what} could not be written to stdout: {error}\nhint: synthdev runs show {run} --json has all of it"
    )
}

/// Prints the end of a run and gives its exit code: how the run ended, also where that could not be written. A result that
/// is neither printed nor recorded is lost, and a failure.
///
/// # Errors
/// Nothing was started, and stdout cannot be written.
pub fn print_result(report: &FinalReport, show: HeadlessOutput) -> io::Result<u8> {
    match (print_end(report, show), &report.run_id) {
        // A reader that left early changes nothing about how the run ended.
        (Err(error), _) if error.kind() == io::ErrorKind::BrokenPipe => {}
        (Err(error), Some(run)) if report.is_unrecorded() => {
            print_stderr(format_args!(
                "error: the result could not be written to stdout: {error}\nhint: the history does not have it either: \
                 make room on the disk, then `synthdev resume {run}` does again what is missing"
            ));
            return Ok(exit::FAILED);
        }
        (Err(error), Some(run)) => print_stderr(lost_output_message("the result", &error, run)),
        (printed, _) => printed?,
    }
    if show.progress {
        let text = terminal_safe(&result_text(report));
        let differs = report.error.as_ref().is_some_and(|error| error.root_cause().code == DRIFT);
        let colour = differs && io::stderr().is_terminal();
        print_stderr_styled(&if colour { paint_diff(&text) } else { text });
    }
    Ok(exit::exit_code(report.status, report.error.as_ref()))
}

fn print_end(report: &FinalReport, show: HeadlessOutput) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if show.json {
        return json_output::write_json_line(report, &mut out);
    }
    match &report.output {
        Some(output) if !show.events => writeln!(TerminalSafeWriter(&mut out), "{}", plain_text(output)),
        _ => Ok(()),
    }
}

/// The end of a run in words: status, path, tokens, cost, how to undo, what went wrong and what to do.
pub fn result_text(report: &FinalReport) -> String {
    let mut lines = Vec::new();
    if report.run_id.is_some() {
        let status = report.status.as_str();
        lines.push(format!("{status}: {}", short_path(&report.path, WIDTH - status.len() - 2)));
        lines.push(format!("{}, cost {}", tokens_text(&report.usage), cost_text(report.cost_usd)));
    }
    if let Some(error) = &report.error {
        lines.extend(error_lines(error, report));
    }
    if let Some(run) = &report.run_id {
        lines.extend(resume_hints(run, report));
        lines.push(format!("run {run}: synthdev runs show {run}"));
    }
    if let (Some(run), Some(tree)) = (&report.run_id, &report.worktree) {
        lines.push(format!(
            "its files are in {} on branch {}",
            safe_name(&tree.path),
            safe_name(&tree.branch)
        ));
        lines.push(format!("bring them here: synthdev runs merge {run}"));
        lines.push(format!("discard them: synthdev runs discard {run}"));
    } else if let Some(run) = report.run_id.as_ref().filter(|_| report.files_changed) {
        lines.push(format!("undo the file changes: synthdev runs undo {run}"));
    }
    lines.join("\n")
}

/// The error as lines; a tool that had no user to approve it is no error.
fn error_lines(error: &RunError, report: &FinalReport) -> Vec<String> {
    let state =
        error.state.as_ref().map(|state| format!("in state {}: ", safe_name(state))).unwrap_or_default();
    let agent = error.agent.as_ref().map(|agent| format!("agent {}: ", safe_name(agent))).unwrap_or_default();
    let detail = format!("  {state}{agent}{}", error.detail);
    if report.status == RunStatus::Paused && error.root_cause().code == "tool.denied" {
        let resume =
            report.run_id.as_ref().map_or_else(String::new, |run| format!(", or synthdev resume {run}"));
        let needed =
            format!("needs approval, and no terminal is attached to ask for it; --yes allows{resume}");
        // the pauses are printed in full below
        return if report.pauses.is_empty() { vec![needed, detail] } else { vec![needed] };
    }
    let place = error.place.as_ref().map(|place| format!(" ({place})")).unwrap_or_default();
    let mut lines = vec![format!("error[{}]: {}{place}", error.code, error.title), detail];
    lines.extend(error.hint.as_ref().map(|hint| format!("  hint: {hint}")));
    lines
}

/// How to resume a run that waits, or was left: for each pause what it waits for, and the whole command.
fn resume_hints(run: &RunId, report: &FinalReport) -> Vec<String> {
    let mut lines = Vec::new();
    let differs = report.error.as_ref().is_some_and(|error| error.root_cause().code == DRIFT);
    if report.played.is_some() && differs {
        // it would only differ again
        return vec![
            "it cannot continue: revert the difference or record it again, as described above".to_owned(),
        ];
    }
    let play = report.played.as_ref().map_or_else(String::new, |file| format!(" --replay {file}"));
    let play = report.backend.map_or(play, |backend| format!(" --backend {backend}"));
    let several = report.pauses.len() > 1;
    for PauseReport { pause, resume_token, .. } in &report.pauses {
        let waits = format!("waits {} in {}", awaited_answer(pause), safe_name(&pause.state));
        lines.extend(question_rows(&waits, pause));
        let answer = resume_command(run, pause, true).filter(|_| several);
        lines.extend(answer.map(|command| format!("  answer: {command}{play}")));
        lines.extend(resume_token.as_ref().map(|token| format!("  token (30 minutes): {token}")));
    }
    let answers: Vec<String> =
        report.pauses.iter().filter_map(|report| resume_command(run, &report.pause, false)).collect();
    let elsewhere = report.error.as_ref().is_some_and(|error| error.code == TAKEN_OVER);
    match (answers.as_slice(), report.pauses.len()) {
        ([], 0) if report.status != RunStatus::Interrupted || elsewhere => {}
        ([only], 1) => lines.push(format!("go on: {only}{play}")),
        // each has a command of its own
        (answers, open) if open > 1 && answers.len() == open => {}
        _ => lines.push(format!("go on: synthdev resume {run}{play}")),
    }
    lines
}

/// The command that answers a pause; `None`: no answer is needed. Its state is quoted where a shell would read more
/// into it.
pub fn resume_command(run: &RunId, pause: &OpenPause, with_state: bool) -> Option<String> {
    let plain = |c: char| c.is_alphanumeric() || "_-./".contains(c);
    let state = Some(safe_name(&pause.state)).filter(|_| with_state).map(|state| {
        let quoted = if state.chars().all(plain) { state } else { format!("'{state}'") };
        format!(" --state {quoted}")
    });
    let answer = match (pause.reason, pause.kind.as_deref()) {
        (PauseReason::Budget, Some("tokens")) => "--budget +100000".to_owned(),
        (PauseReason::Budget, Some("duration")) => "--budget +600".to_owned(),
        (PauseReason::Budget, _) => "--budget +1.00".to_owned(),
        (PauseReason::Limit, _) => "--past-limits".to_owned(),
        _ => format!("--results '{}'", example_answer(pause)?),
    };
    Some(format!("synthdev resume {run}{} {answer}", state.unwrap_or_default()))
}

/// The path of a run in one line: of a long one the beginning and the end.
fn short_path(path: &[String], room: usize) -> String {
    let mut shown = join_names(path, " > ");
    for side in (1..=path.len().saturating_sub(1) / 2).rev() {
        if shown.chars().count() <= room {
            break;
        }
        let (first, last) = (&path[..side], &path[path.len() - side..]);
        let hidden = path.len() - 2 * side;
        shown = format!("{} > … {hidden} more > {}", join_names(first, " > "), join_names(last, " > "));
    }
    shown
}

/// What an answer looks like; `None`: none is needed.
fn example_answer(pause: &OpenPause) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use synthdev_domain::ids::CallId;

    fn pause(state: &str, reason: PauseReason, kind: Option<&str>) -> PauseReport {
        let pause = OpenPause {
            call: CallId(1),
            state: state.to_owned(),
            reason,
            message: "the workflow wants to use".to_owned(),
            kind: kind.map(str::to_owned),
            choices: Vec::new(),
            required_outputs: Vec::new(),
            schema: None,
            default: None,
            action: None,
            since: Timestamp(0),
        };
        PauseReport { pause, resume_token: None, expires_at: None, expires_in_seconds: None }
    }

    #[test]
    fn every_pause_has_its_own_command() {
        let error = || pause("fan.left/start", PauseReason::Error, None);
        let approval = |state: &str| pause(state, PauseReason::Approval, None);
        let ask = || pause("ok", PauseReason::Input, Some("approval"));
        let allow = r#"--results '{"decision": "allow"}'"#;
        for (pauses, expected) in [
            (vec![ask()], vec!["waits for approval in ok: ", "go on: synthdev resume r1 --results 'true'"]),
            (vec![error()], vec!["waits to be tried again in fan.left/start: ", "go on: synthdev resume r1"]),
            (
                vec![error(), approval("fan.right/start")],
                vec![
                    "waits to be tried again in fan.left/start: ",
                    "waits for approval in fan.right/start: ",
                    &format!("  answer: synthdev resume r1 --state fan.right/start {allow}"),
                    "go on: synthdev resume r1",
                ],
            ),
            (
                vec![approval("each[0]/a"), ask()],
                vec![
                    "waits for approval in each[0]/a: ",
                    &format!("  answer: synthdev resume r1 --state 'each[0]/a' {allow}"),
                    "waits for approval in ok: ",
                    "  answer: synthdev resume r1 --state ok --results 'true'",
                ],
            ),
        ] {
            let report = FinalReport { pauses, ..FinalReport::default() };
            let lines = resume_hints(&RunId::from("r1"), &report);
            assert_eq!(lines.len(), expected.len(), "{lines:#?}");
            for (line, part) in lines.iter().zip(expected) {
                let message = part.ends_with(": ");
                assert!(if message { line.starts_with(part) } else { line == part }, "{line} is not {part}");
                assert!(!message || line.chars().count() <= WIDTH, "{line}");
            }
        }
    }

    #[test]
    fn a_long_path_is_shortened_in_its_middle() {
        let path = |count: usize| (1..=count).map(|at| format!("state{at}")).collect::<Vec<_>>();
        for (count, room, expected) in [
            (0, 10, ""),
            (2, 10, "state1 > state2"),
            (3, 30, "state1 > state2 > state3"),
            (3, 20, "state1 > … 1 more > state3"),
            (30, 60, "state1 > state2 > … 26 more > state29 > state30"),
        ] {
            assert_eq!(short_path(&path(count), room), expected);
        }
    }
}
