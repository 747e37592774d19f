//! `runs list`: one run a line, in eighty columns.

use std::cell::RefCell;
use std::io::{self, Write};

use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use super::columns::{cut_to_columns, fit_to_columns, format_age, money_text};
use crate::json_output;
use crate::output::{TerminalSafeWriter, awaited_answer};
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::journal::{OpenPause, RunOrigin, RunOriginKind, RunStatus, RunSummary, run_tree};
use synthdev_domain::number_format::{format_count, format_duration};
use synthdev_service::run_agents::StartedAgent;

/// How the list is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RunListOptions {
    pub json: bool,
    /// Runs that came from another one below it.
    pub tree: bool,
    /// Not all runs were asked for.
    pub is_filtered: bool,
    /// Prints column names, for a terminal. Output for programs has a run in its first line.
    pub has_header: bool,
}

/// A run with the agents that its agents have started.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ListedRun {
    #[serde(flatten)]
    pub run: RunSummary,
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "serialize_agents")]
    pub agents: Vec<StartedAgent>,
}

impl From<RunSummary> for ListedRun {
    fn from(run: RunSummary) -> Self {
        Self { run, agents: Vec::new() }
    }
}

fn serialize_agents<S: Serializer>(agents: &[StartedAgent], serializer: S) -> Result<S::Ok, S::Error> {
    agents_json(agents).serialize(serializer)
}

/// Each agent with those that it has started.
fn agents_json(agents: &[StartedAgent]) -> Value {
    let row = |agent: &StartedAgent| {
        json!({
            "name": agent.name, "role": agent.role, "status": agent.status.as_str(),
            "started": agent.started, "duration_ms": agent.duration_ms, "tokens": agent.tokens,
            "cost_usd": agent.cost_usd, "agents": agents_json(&agent.agents)
        })
    };
    agents.iter().map(row).collect()
}

const WIDTH: usize = 80;
/// Columns of a workflow's name.
const NAME: usize = 17;
/// Open questions that are shown of one run.
const MOST_PAUSES: usize = 3;

/// # Errors
/// stdout cannot be written.
pub fn write_run_list(
    runs: impl Iterator<Item = ListedRun>,
    shown: RunListOptions,
    now: Timestamp,
    out: &mut dyn Write,
) -> io::Result<()> {
    if shown.json {
        return if shown.tree {
            json_output::write_pretty_json(&nested_json(&runs.collect::<Vec<_>>())?, out)
        } else {
            json_output::write_pretty_json(&StreamedRunList(RefCell::new(runs)), out)
        };
    }
    let (out, mut runs) = (&mut TerminalSafeWriter(out), runs.peekable());
    if runs.peek().is_none() {
        return match shown.is_filtered {
            true => writeln!(out, "no runs match"),
            false => writeln!(out, "no runs yet: synthdev run NAME \"task\", or synthdev demo"),
        };
    }
    if shown.tree {
        return write_tree(&runs.collect::<Vec<_>>(), shown.has_header, now, out);
    }
    write_heading(shown.has_header, 0, out)?;
    runs.try_for_each(|listed| run_line(&listed.run, "", 0, false, now, out))
}

/// A list that is written while it is read.
struct StreamedRunList<I>(RefCell<I>);

impl<I: Iterator<Item = ListedRun>> Serialize for StreamedRunList<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(&mut *self.0.borrow_mut())
    }
}

fn write_tree(runs: &[ListedRun], named: bool, now: Timestamp, out: &mut dyn Write) -> io::Result<()> {
    let order = order_as_tree(runs);
    let branches = run_tree::tree_prefixes(&order);
    let most = branches.iter().map(|branch| branch.chars().count()).max().unwrap_or(0);
    write_heading(named, most, out)?;
    let mut rows = order.iter().zip(&branches);
    rows.try_for_each(|((at, _), branch)| {
        run_line(&runs[*at].run, branch, most, true, now, out)?;
        let lines = agent_lines(&runs[*at].agents);
        let gap = " ".repeat(12 + most + 2);
        lines.iter().try_for_each(|line| writeln!(out, "{gap}{}", cut_indented_line(line, gap.len())))
    })
}

/// The line without what is beyond the width; it keeps its indentation.
fn cut_indented_line(line: &str, before: usize) -> String {
    let text = line.trim_start();
    let indent = line.len() - text.len();
    let room = WIDTH.saturating_sub(before + indent).max(8);
    format!("{}{}", " ".repeat(indent), cut_to_columns(text, room))
}

/// A line for each agent, indented below the one that started it.
pub fn agent_lines(agents: &[StartedAgent]) -> Vec<String> {
    let mut lines = Vec::new();
    push_agent_lines(agents, 0, &mut lines);
    lines
}

fn push_agent_lines(agents: &[StartedAgent], depth: usize, lines: &mut Vec<String>) {
    for agent in agents {
        let tokens = format_count(agent.tokens, "token");
        lines.push(format!(
            "{}{} ({})  {}  {}  {}  {tokens}",
            "  ".repeat(depth),
            agent.name,
            agent.role,
            agent.status.as_str(),
            format_duration(agent.duration_ms),
            money_text(agent.cost_usd),
        ));
        push_agent_lines(&agent.agents, depth + 1, lines);
    }
}

fn write_heading(named: bool, most: usize, out: &mut dyn Write) -> io::Result<()> {
    if !named {
        return Ok(());
    }
    let (run, age, status, cost) = ("run", "age", "status", "cost");
    let gap = " ".repeat(most);
    writeln!(out, "{run:<12}{gap}  {age:>4}  {status:<11}  {cost:>8}  {:<NAME$}  input", "workflow")
}

/// Reserves `most` columns for branches, so that the other columns line up.
fn run_line(
    run: &RunSummary,
    indent: &str,
    most: usize,
    tree: bool,
    now: Timestamp,
    out: &mut dyn Write,
) -> io::Result<()> {
    let progress = &run.progress;
    let (id, id_room) = (format!("{indent}{}", run.id), 12 + most);
    let first = format!(
        "{id:<id_room$}  {:>4}  {:<11}  {:>8}  {}  ",
        format_age(run.started, now),
        progress.status_word(),
        money_text(progress.cost_usd),
        fit_to_columns(&run.workflow, NAME)
    );
    let room = WIDTH.saturating_sub(UnicodeWidthStr::width(first.as_str())).max(8);
    writeln!(out, "{}", format!("{first}{}", cut_to_columns(&run.input, room)).trim_end())?;
    let below = id_room + 2;
    let mut more = |text: &str| writeln!(out, "{}{}", " ".repeat(below), cut_to_columns(text, WIDTH - below));
    if let Some(origin) = run.origin.as_ref().filter(|_| tree) {
        more(&origin_text(origin, &run.id))?;
    }
    if matches!(progress.status, RunStatus::Paused | RunStatus::Running) && !progress.is_left() {
        for pause in progress.pauses.iter().take(MOST_PAUSES) {
            more(&pause_text(pause))?;
        }
        let hidden = progress.pauses.len().saturating_sub(MOST_PAUSES);
        if hidden > 0 {
            more(&format!("and for {hidden} more"))?;
        }
    }
    Ok(())
}

fn pause_text(pause: &OpenPause) -> String {
    let message = cut_to_columns(&pause.message, WIDTH);
    format!("waits {} in {}: {message}", awaited_answer(pause), pause.state)
}

/// Where a run came from, in words.
pub fn origin_text(origin: &RunOrigin, own: &RunId) -> String {
    let at = origin.step.map_or_else(String::new, |step| format!(" at step {step}"));
    match origin.kind {
        RunOriginKind::Fork | RunOriginKind::ForkOfImport => format!("fork of {}{at}", origin.run),
        RunOriginKind::Child => format!("started by {}", origin.run),
        RunOriginKind::Import if origin.run == *own => "imported".to_owned(),
        RunOriginKind::Import if origin.step.is_some() => {
            format!("imported; there a fork of {}{at}", origin.run)
        }
        RunOriginKind::Import => format!("imported; there started by {}", origin.run),
    }
}

fn order_as_tree(runs: &[ListedRun]) -> Vec<(usize, usize)> {
    run_tree::order_as_tree(
        runs.iter().map(|ListedRun { run, .. }| (&run.id, run.origin.as_ref().map(|origin| &origin.run))),
    )
}

/// The same as objects with `children`.
fn nested_json(runs: &[ListedRun]) -> io::Result<Value> {
    // levels of JSON that every reader takes
    const LEVELS: usize = 24;
    let mut open: Vec<(usize, Value)> = Vec::new();
    let mut tops = Vec::new();
    let mut close = |open: &mut Vec<(usize, Value)>, depth: usize| {
        while open.last().is_some_and(|(own, _)| *own >= depth) {
            let Some((_, done)) = open.pop() else { break };
            match open.last_mut() {
                Some((_, Value::Object(parent))) => {
                    if let Some(list) = parent.get_mut("children").and_then(Value::as_array_mut) {
                        list.push(done);
                    }
                }
                _ => tops.push(done),
            }
        }
    };
    for (at, depth) in order_as_tree(runs) {
        let depth = depth.min(LEVELS);
        close(&mut open, depth);
        let mut run = serde_json::to_value(&runs[at])?;
        run["children"] = Value::Array(Vec::new());
        open.push((depth, run));
    }
    close(&mut open, 0);
    Ok(Value::Array(tops))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_columns_stand_above_them() {
        let summary = |id: &str, origin: Option<RunOrigin>| RunSummary {
            id: RunId::from(id),
            workflow: "coder".into(),
            definition_hash: String::new(),
            input: "a task".into(),
            project: String::new(),
            started: Timestamp(0),
            origin,
            worktree: None,
            progress: synthdev_domain::journal::RunProgress::new(Timestamp(0)),
        };
        let of = |run: &str| Some(RunOrigin { run: RunId::from(run), kind: RunOriginKind::Fork, step: None });
        let runs = [summary("aaaaaaaaaaaa", None), summary("bbbbbbbbbbbb", of("aaaaaaaaaaaa"))];
        for tree in [false, true] {
            let mut out = Vec::new();
            let shown = RunListOptions { tree, has_header: true, ..RunListOptions::default() };
            write_run_list(runs.clone().into_iter().map(ListedRun::from), shown, Timestamp(0), &mut out)
                .unwrap();
            let text = String::from_utf8(out).unwrap();
            let mut lines = text.lines();
            let head = lines.next().unwrap();
            let column =
                |line: &str, word: &str| line.find(word).map(|at| line[..at].chars().count()).unwrap();
            for line in lines.filter(|line| line.contains("now")) {
                for (title, value) in [("status", "running"), ("workflow", "coder"), ("input", "a task")] {
                    assert_eq!(column(head, title), column(line, value), "{title}\n{text}");
                }
            }
        }
    }
}
