//! Starts a command in the background and follows it to its end: keeps what it prints, and ends it when that is due.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use super::background_commands::{BackgroundCommand, CommandEnd, CommandRecord, OutputRedaction};
use super::held_output::HeldOutput;
use super::path_guard::error_reason;
use super::process::{
    BackgroundProcess, FinishedProcess, ProcessEvent, ProcessExit, ProcessJob, start_background,
};
use super::tool_context::ToolContext;
use synthdev_domain::ids::RunId;

/// A line that is not ended, such as a question, is passed on when nothing follows for so long.
const LINE_PAUSE: Duration = Duration::from_millis(40);

/// Bytes of the end of the output in which denials are looked for.
const LOOKED_AT: usize = 64 * 1024;

/// Starts a command of a run. `limit`: it is stopped after that.
///
/// # Errors
/// Why it cannot run, for the model.
pub(super) fn start_command(
    project: &ToolContext,
    run: Option<&RunId>,
    job: &ProcessJob<'_>,
    record: CommandRecord,
    limit: Option<Duration>,
) -> Result<Arc<BackgroundCommand>, String> {
    let commands = &project.background_commands;
    let start = || {
        start_background(project, job)
            .map_err(|error| format!("the command could not be started: {}", error_reason(&error)))
    };
    let (command, process) = commands.add(run, record, start)?;
    tokio::spawn(supervise(process, Arc::clone(&command), limit, commands.redaction()));
    Ok(command)
}

/// Runs until the command has ended and all that it printed is kept.
async fn supervise(
    mut process: BackgroundProcess,
    command: Arc<BackgroundCommand>,
    limit: Option<Duration>,
    redaction: OutputRedaction,
) {
    let mut held = HeldOutput::new(command.record().terminal);
    let keep = |text: String| command.append(&redaction(text));
    let deadline = limit.map(|limit| Instant::now() + limit);
    let (exit, why) = loop {
        tokio::select! {
            event = process.next_event() => match event {
                ProcessEvent::Printed(bytes) => keep(held.push(&bytes)),
                ProcessEvent::Exited(exit) => break (exit, None),
            },
            () = sleep(LINE_PAUSE), if held.has_line_start() => keep(held.take_line_start()),
            () = command.stop_requested() => break (ProcessExit::TimedOut, Some("stopped".to_owned())),
            () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                let seconds = limit.unwrap_or_default().as_secs();
                break (ProcessExit::TimedOut, Some(format!("timed out after {seconds} s")));
            }
        }
    };
    let printed = command.last_output(LOOKED_AT);
    let FinishedProcess { rest, leftovers, denials } = process.finish_process(&exit, &printed).await;
    command.close_input().await;
    let mut last = held.push(&rest);
    last.push_str(&held.take_all());
    let notice = leftovers.notice_text().filter(|_| why.is_none()).map(|text| format!("[notice] {text}"));
    for line in notice.into_iter().chain(denials.lines) {
        if !last.is_empty() && !last.ends_with('\n') {
            last.push('\n');
        }
        last.push_str(&line);
    }
    keep(last);
    let code = if let ProcessExit::Status(status) = &exit { status.code() } else { None };
    let end = CommandEnd::new(why.unwrap_or_else(|| exit.description()), code);
    command.finish(CommandEnd { network_denied: denials.network, ..end });
}
