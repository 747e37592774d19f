//! Which files changed between two snapshots of a run although nothing that the run did then can have changed them: a user's
//! edits between two turns of a conversation.
//!
//! Known only where every tool that ran meanwhile names its file. Where a command or a foreign tool ran, every change counts as
//! the run's.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

use serde_json::Value;

use synthdev_domain::command_preview::TERMINAL;
use synthdev_domain::ids::{CallId, SnapshotId};
use synthdev_engine::event::RunEvent;

/// Tools that change the file of this argument, and no other.
const FILE_TOOLS: [&str; 2] = ["write_file", "edit_file"];
const PATH: &str = "file_path";

/// What ran between two snapshots.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SnapshotSpan {
    pub(super) before: SnapshotId,
    pub(super) after: SnapshotId,
    /// The files that tools may have changed; `None`: any file.
    may_change: Option<BTreeSet<String>>,
    /// Of these a tool says that it did.
    changed: BTreeSet<String>,
}

impl SnapshotSpan {
    /// Of the files that differ between the two, those that the run may have changed.
    pub(super) fn own_files(&self, differing: BTreeSet<String>) -> BTreeSet<String> {
        match &self.may_change {
            // a name that differs from that of the snapshot (a link, another root) would blame the wrong one
            Some(named) if self.changed.is_subset(&differing) => &differing & named,
            _ => differing,
        }
    }
}

/// The spans between the snapshots that the events tell of, the first one at `first`. `None`: they begin with another.
pub(super) fn snapshot_spans<'e>(
    events: impl Iterator<Item = &'e RunEvent>,
    first: &SnapshotId,
    is_read_only: impl Fn(&str) -> bool,
) -> Option<Vec<SnapshotSpan>> {
    let mut spans = Vec::new();
    let mut last: Option<SnapshotId> = None;
    let mut open: BTreeMap<CallId, RunningTool> = BTreeMap::new();
    let (mut may_change, mut changed) = (Some(BTreeSet::new()), BTreeSet::new());
    for event in events {
        match event {
            RunEvent::SnapshotTaken { id, .. } => {
                match last.replace(id.clone()) {
                    None if id != first => return None,
                    None => {}
                    Some(before) => {
                        let (may_change, changed) = (may_change, std::mem::take(&mut changed));
                        spans.push(SnapshotSpan { before, after: id.clone(), may_change, changed });
                    }
                }
                may_change = open.values().map(|tool| tool.file.clone()).collect();
            }
            RunEvent::ToolStarted { call, tool, arguments, .. } if !is_read_only(tool) => {
                let tool = RunningTool::of_call(tool, arguments);
                match (&mut may_change, &tool.file) {
                    (Some(named), Some(file)) => drop(named.insert(file.clone())),
                    _ => may_change = None,
                }
                open.insert(*call, tool);
            }
            RunEvent::ToolFinished { call, ok, .. } if open.get(call).is_some_and(|tool| tool.ends) => {
                let file = open.remove(call).and_then(|tool| tool.file);
                changed.extend(file.filter(|_| *ok));
            }
            RunEvent::Rewound { .. } => may_change = None,
            _ => {}
        }
    }
    Some(spans)
}

/// A tool that may change files.
struct RunningTool {
    /// The only one that it can change.
    file: Option<String>,
    /// Nothing of it goes on after its result.
    ends: bool,
}

impl RunningTool {
    fn of_call(tool: &str, arguments: &Value) -> Self {
        if FILE_TOOLS.contains(&tool) {
            let path = arguments.get(PATH).and_then(Value::as_str);
            return Self { file: path.and_then(plain_path), ends: true };
        }
        let runs_on = arguments.get("background").is_some_and(|wanted| *wanted != Value::Bool(false));
        Self { file: None, ends: tool == TERMINAL && !runs_on }
    }
}

/// The path as snapshots name it; `None`: it may lead elsewhere.
fn plain_path(path: &str) -> Option<String> {
    let mut names = Vec::new();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) => names.push(name.to_str()?),
            Component::CurDir => {}
            _ => return None,
        }
    }
    Some(names.join("/"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn taken(id: &str) -> RunEvent {
        RunEvent::SnapshotTaken { id: SnapshotId::from(id), label: String::new(), files: 1, skipped: vec![] }
    }

    fn started(call: u64, tool: &str, arguments: Value) -> RunEvent {
        RunEvent::ToolStarted { call: CallId(call), agent: "a".into(), tool: tool.into(), arguments }
    }

    fn ended(call: u64, tool: &str, ok: bool) -> RunEvent {
        let (summary, content) = (String::new(), String::new());
        let (agent, tool) = ("a".into(), tool.into());
        RunEvent::ToolFinished { call: CallId(call), agent, tool, ok, summary, content, duration_ms: 1 }
    }

    /// What counts as the run's of `a` and `b`, which differ between each two snapshots.
    fn own(events: &[RunEvent]) -> Option<Vec<String>> {
        let read_only = |tool: &str| tool == "read_files";
        let spans = snapshot_spans(events.iter(), &SnapshotId::from("s0"), read_only)?;
        let differing = || ["a", "b"].map(str::to_owned).into();
        let own = |span: &SnapshotSpan| span.own_files(differing()).into_iter().collect::<Vec<_>>().join(" ");
        Some(spans.iter().map(own).collect())
    }

    #[test]
    fn only_what_a_tool_can_have_changed_is_the_runs() {
        let write = |call, path: &str| {
            [started(call, "write_file", json!({"file_path": path})), ended(call, "write_file", true)]
        };
        let command = |call, more: Value| [started(call, TERMINAL, more), ended(call, TERMINAL, true)];
        let rows: Vec<(&str, Vec<RunEvent>, &[&str])> = vec![
            ("nothing ran", vec![], &["", ""]),
            ("a file", write(1, "a").to_vec(), &["a", ""]),
            ("the same, written otherwise", write(1, "./a").to_vec(), &["a", ""]),
            ("a tool that only reads", vec![started(1, "read_files", json!({}))], &["", ""]),
            ("a path that may be elsewhere", write(1, "../a").to_vec(), &["a b", ""]),
            ("a path that did not differ", write(1, "c").to_vec(), &["a b", ""]),
            ("a tool that failed", vec![write(1, "c")[0].clone(), ended(1, "write_file", false)], &["", ""]),
            ("a tool that runs on", vec![write(1, "a")[0].clone()], &["a", "a"]),
            ("a command", command(1, json!({"command": "make"})).to_vec(), &["a b", ""]),
            ("one that runs on", command(1, json!({"background": true})).to_vec(), &["a b", "a b"]),
            ("a foreign tool", vec![started(1, "x__y", json!({})), ended(1, "x__y", true)], &["a b", "a b"]),
        ];
        for (name, between, expected) in rows {
            let events = [vec![taken("s0")], between, vec![taken("s1"), taken("s2")]].concat();
            assert_eq!(own(&events).unwrap(), expected, "{name}");
        }
        assert_eq!(own(&[taken("other"), taken("s1")]), None);
    }
}
