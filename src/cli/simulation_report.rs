//! Output for simulated runs: lines for users, objects for programs. On stdout, as it is the requested result.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Value, json};

use crate::output::{TerminalSafeWriter, cost_text, first_line, join_names, safe_name, tokens_text};
use crate::{exit, json_output};
use synthdev_domain::workflow::plain_text;
use synthdev_service::session::EditorSimulatedRun;
use synthdev_service::workflow_tests::expectations::ExpectationFailure;
use synthdev_service::workflow_tests::{SimulationVerdict, TestCaseReport, TestResult};

/// The line of the summary.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct TestCounts {
    pub passed: usize,
    pub failed: usize,
    pub skipped: usize,
    /// Files that cannot be used.
    pub unusable: usize,
}

/// `simulate` without replies: the runs as lines, or as one JSON object; the exit code.
///
/// # Errors
/// stdout cannot be written.
pub fn write_simulated_runs(
    all: &[EditorSimulatedRun],
    text: Option<String>,
    out: &mut dyn Write,
) -> io::Result<u8> {
    match text {
        Some(text) => writeln!(TerminalSafeWriter(out), "{text}")?,
        None => {
            let run = |one: &EditorSimulatedRun| {
                json!({"workflow": one.workflow, "test": one.test_name, "status": one.status, "skipped": one.is_skipped,
                       "path": one.path, "calls": one.calls, "problems": one.problems, "notes": one.notes})
            };
            let runs: Vec<Value> = all.iter().map(run).collect();
            json_output::write_json_line(&json!({"runs": runs}), out)?;
        }
    }
    let is_sound = all.iter().all(|one| one.problems.is_empty());
    Ok(if is_sound { exit::COMPLETED } else { exit::FAILED })
}

/// `simulate`: the path, the end and what does not hold; the exit code.
///
/// # Errors
/// stdout cannot be written.
pub fn write_simulation(judged: &SimulationVerdict, as_json: bool, out: &mut dyn Write) -> io::Result<u8> {
    let code = if judged.problems.is_empty() { exit::COMPLETED } else { exit::FAILED };
    if as_json {
        json_output::write_json_line(&verdict_json(judged), out)?;
        return Ok(code);
    }
    let (facts, out) = (&judged.facts, &mut TerminalSafeWriter(out));
    writeln!(out, "path      {}", join_names(&facts.path, " > "))?;
    writeln!(out, "status    {}", facts.status.as_str())?;
    if let Some(output) = &facts.output {
        writeln!(out, "output    {}", plain_text(output))?;
    }
    if let Some(error) = &facts.error {
        writeln!(out, "error     {}: {} {}", error.code, error.title, error.detail)?;
    }
    for (code, text) in &facts.warnings {
        writeln!(out, "warning   {code}: {text}")?;
    }
    for (state, text) in &facts.logs {
        writeln!(out, "log       {}: {text}", safe_name(state))?;
    }
    writeln!(
        out,
        "calls     {}, {}, cost {}",
        facts.calls,
        tokens_text(&facts.usage),
        cost_text(facts.cost_usd)
    )?;
    if !judged.problems.is_empty() {
        writeln!(out, "\n{}", simulation_legend(judged.problems.len()))?;
        write_problems(&judged.problems, out)?;
    }
    Ok(code)
}

/// `test`: a line a test in the given order, what does not hold below it, and the summary; the exit code.
/// `found`: what is wrong with files, as data.
///
/// # Errors
/// stdout cannot be written.
pub fn write_test_report(
    tests: &[TestCaseReport],
    found: &Value,
    unusable: usize,
    as_json: bool,
    out: &mut dyn Write,
) -> io::Result<u8> {
    let counts = count_results(tests, unusable);
    let code = match counts {
        TestCounts { unusable: 1.., .. } => exit::USAGE,
        TestCounts { failed: 1.., .. } => exit::FAILED,
        _ => exit::COMPLETED,
    };
    if as_json {
        let rows: Vec<Value> = tests.iter().map(test_json).collect();
        let report = json!({"passed": counts.passed, "failed": counts.failed, "skipped": counts.skipped,
                            "unusable": counts.unusable, "tests": rows, "findings": found});
        json_output::write_pretty_json(&report, out)?;
        return Ok(code);
    }
    let out = &mut TerminalSafeWriter(out);
    for test in tests {
        let title = format!("{} › {}", safe_name(&test.workflow), safe_name(&test.name));
        match &test.result {
            TestResult::Skipped(why) => writeln!(out, "skip  {title} ({why})")?,
            TestResult::Ran(judged) if judged.problems.is_empty() => writeln!(out, "ok    {title}")?,
            TestResult::Ran(judged) => {
                writeln!(
                    out,
                    "FAIL  {title}\n  {}: {}",
                    safe_name(&test.file),
                    simulation_legend(judged.problems.len())
                )?;
                write_problems(&judged.problems, out)?;
                if judged.problems.iter().all(|problem| problem.what != "path") {
                    writeln!(
                        out,
                        "    its path: {}",
                        first_line(&join_names(&judged.facts.path, " > "), 200)
                    )?;
                }
            }
        }
    }
    writeln!(out, "{}", count_summary(counts))?;
    Ok(code)
}

fn verdict_json(judged: &SimulationVerdict) -> Value {
    let facts = &judged.facts;
    json!({
        "passed": judged.problems.is_empty(),
        "status": facts.status,
        "path": facts.path,
        "visits": facts.visits.iter().map(|(state, count)| (state.clone(), json!(count))).collect::<serde_json::Map<_, _>>(),
        "data": facts.data,
        "output": facts.output,
        "error": facts.error,
        "warnings": facts.warnings.iter().map(|(code, text)| json!({"code": code, "text": text})).collect::<Vec<_>>(),
        "logs": facts.logs.iter().map(|(state, text)| json!({"state": state, "text": text})).collect::<Vec<_>>(),
        "calls": facts.calls,
        "usage": facts.usage,
        "cost_usd": facts.cost_usd,
        "problems": judged.problems.iter().map(failure_json).collect::<Vec<_>>(),
    })
}

fn failure_json(failure: &ExpectationFailure) -> Value {
    json!({"what": failure.what, "expected": failure.expected, "actual": failure.actual, "text": failure.text})
}

fn test_json(test: &TestCaseReport) -> Value {
    let mut row = match &test.result {
        TestResult::Ran(judged) => verdict_json(judged),
        TestResult::Skipped(why) => json!({"skipped": why}),
    };
    row["file"] = json!(test.file);
    row["workflow"] = json!(test.workflow);
    row["name"] = json!(test.name);
    row
}

fn count_results(tests: &[TestCaseReport], unusable: usize) -> TestCounts {
    let mut counts = TestCounts { unusable, ..TestCounts::default() };
    for test in tests {
        match &test.result {
            TestResult::Skipped(_) => counts.skipped += 1,
            TestResult::Ran(judged) if judged.problems.is_empty() => counts.passed += 1,
            TestResult::Ran(_) => counts.failed += 1,
        }
    }
    counts
}

fn count_summary(counts: TestCounts) -> String {
    let mut text = format!("{} passed", counts.passed);
    for (number, word) in [(counts.failed, "failed"), (counts.skipped, "skipped")] {
        if number > 0 {
            text.push_str(&format!(", {number} {word}"));
        }
    }
    match counts.unusable {
        0 => {}
        1 => text.push_str(", 1 file cannot be used"),
        more => text.push_str(&format!(", {more} files cannot be used")),
    }
    text
}

fn simulation_legend(count: usize) -> String {
    let noun = if count == 1 { "expectation does" } else { "expectations do" };
    format!("{count} {noun} not hold (- expected, + came)")
}

fn write_problems(problems: &[ExpectationFailure], out: &mut dyn Write) -> io::Result<()> {
    for problem in problems {
        for line in problem.text.lines() {
            writeln!(out, "    {line}")?;
        }
    }
    Ok(())
}
