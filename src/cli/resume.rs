//! `resume`: what was typed as an answer, and what is told where nothing was set going.

use std::io::{self, Write};

use anyhow::Result;
use serde_json::{Value, json};

use crate::headless::{HeadlessOutput, resume_command};
use crate::output::{TerminalSafeWriter, print_stderr, question_rows, safe_name};
use crate::{exit, json_output};
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::{OpenPause, PauseReason, RunProgress, RunSummary};
use synthdev_domain::workflow::plain_text;

/// Nothing was started: the run waits for an answer of the user. The exit code.
///
/// # Errors
/// stdout cannot be written.
pub fn report_open_questions(run: &RunId, open: &[OpenPause], show: HeadlessOutput) -> Result<u8> {
    let spent = open.iter().all(|pause| matches!(pause.reason, PauseReason::Budget | PauseReason::Limit));
    let code = if spent { exit::LIMIT } else { exit::PAUSED };
    if show.json {
        let told = json!({"run_id": run, "status": "paused", "pauses": open});
        json_output::write_json_line(&told, &mut io::stdout().lock())?;
        return Ok(code);
    }
    print_stderr(format_args!(
        "run {run} waits for {} answer{}:",
        open.len(),
        if open.len() == 1 { "" } else { "s" }
    ));
    let several = open.len() > 1;
    for pause in open {
        let lead = format!("  {} ({})", safe_name(&pause.state), pause.reason.as_str());
        print_stderr(question_rows(&lead, pause).join("\n"));
        if let Some(command) = resume_command(run, pause, several) {
            print_stderr(format_args!("    {command}"));
        }
        if pause.reason == PauseReason::Budget {
            print_stderr(
                "    the amount is added to what it has used; to add the original budget again: --past-limits",
            );
        }
    }
    Ok(code)
}

/// The outcome of an answer that was given before, in the same way. `answer` is the recorded one. The exit code.
///
/// # Errors
/// stdout cannot be written.
pub fn report_repeated_answer(run: &RunSummary, answer: &str, show: HeadlessOutput) -> Result<u8> {
    let RunProgress { status, output, .. } = &run.progress;
    print_stderr(format_args!(
        "this was answered before, with the same results; run {0} is {1} now: synthdev runs show {0}",
        run.id,
        status.as_str()
    ));
    if show.json {
        let mut said: Value = serde_json::from_str(answer)?;
        said["duplicate"] = true.into();
        said["status"] = status.as_str().into();
        said["output"] = output.clone().unwrap_or_default();
        json_output::write_json_line(&said, &mut io::stdout().lock())?;
    } else if let Some(output) = output.as_ref().filter(|_| !show.events) {
        writeln!(TerminalSafeWriter(&mut io::stdout().lock()), "{}", plain_text(output))?;
    }
    Ok(exit::COMPLETED)
}

/// `name-` and 48 hexadecimal digits.
pub fn is_token(text: &str) -> bool {
    text.rsplit_once('-')
        .is_some_and(|(_, luck)| luck.len() == 48 && luck.bytes().all(|byte| byte.is_ascii_hexdigit()))
}
