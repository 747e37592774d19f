//! The rows of the chart: one for each agent, in each branch, item or called workflow in which it works on its own.
//!
//! Owns which row a call belongs to. A tool call does not name its branch: it belongs to the row whose reply asked for it.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::Value;

use super::busy_buckets::BusyBuckets;
use super::{BarKind, BarMark};
use crate::text::one_line;
use synthdev_domain::message::ToolCall;

/// Rows of the chart; what needs more is in the last one.
pub const MOST_TRACKS: usize = 500;
/// Tool calls of replies that have not begun.
const MOST_PENDING: usize = 1_000;

/// A row of the chart.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TimelineTrack {
    /// Empty: it belongs to no agent.
    pub agent: String,
    /// `[3] coder`
    pub label: String,
    pub call_count: u64,
    /// Milliseconds of all bars, by kind.
    pub total_ms: [u64; super::busy_buckets::KINDS],
    pub buckets: BusyBuckets,
    /// What failed or was cut off, in order.
    marks: Vec<(u64, BarMark)>,
    /// Path name of the state in which a model worked last.
    state: String,
}

/// A tool call that a reply asked for.
#[derive(Clone, PartialEq, Debug)]
struct PendingTool {
    track: u32,
    agent: String,
    call: ToolCall,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct TimelineTracks {
    list: Vec<TimelineTrack>,
    /// By branch, name, and whether that is an agent.
    indexes: HashMap<(String, String, bool), u32>,
    /// The rows of each agent.
    by_agent: HashMap<String, Vec<u32>>,
    /// What the path names of states of open branches begin with.
    open_scopes: HashSet<String>,
    pending_tools: VecDeque<PendingTool>,
    /// Path name of the state that was entered last.
    entered_state: String,
}

impl TimelineTrack {
    pub fn add_bar(&mut self, kind: BarKind, start_ms: u64, end_ms: u64, mark: Option<BarMark>) {
        self.buckets.add_bar(kind as usize, start_ms, end_ms);
        self.total_ms[kind as usize] += end_ms.saturating_sub(start_ms);
        if let Some(mark) = mark {
            // in the last column of the bar, which may be the last one of the chart
            self.marks.push((end_ms.saturating_sub(1).max(start_ms), mark));
        }
    }

    /// The last mark between two moments.
    pub fn mark_between(&self, from_ms: u64, to_ms: u64) -> Option<BarMark> {
        let end = self.marks.partition_point(|(at, _)| *at < to_ms);
        let last = self.marks[..end].last();
        last.filter(|(at, _)| *at >= from_ms).map(|(_, mark)| *mark)
    }
}

impl TimelineTracks {
    pub fn as_slice(&self) -> &[TimelineTrack] {
        &self.list
    }

    pub fn get_mut(&mut self, track: u32) -> Option<&mut TimelineTrack> {
        self.list.get_mut(track as usize)
    }

    pub fn open_scope(&mut self, scope: String) {
        self.open_scopes.insert(scope);
    }

    pub fn close_scope(&mut self, scope: &str) {
        self.open_scopes.remove(scope);
    }

    pub fn enter_state(&mut self, state: &str) {
        state.clone_into(&mut self.entered_state);
    }

    /// The row of an agent in a state. An empty agent is what no agent does; `label` names it then.
    pub fn track_of_agent(&mut self, state: &str, agent: &str, label: &str) -> u32 {
        let scope = self.scope_of_state(state).to_owned();
        let name = if agent.is_empty() { label } else { agent };
        let key = (scope, name.to_owned(), !agent.is_empty());
        if let Some(track) = self.indexes.get(&key) {
            return *track;
        }
        if self.list.len() >= MOST_TRACKS {
            return self.last_track();
        }
        let track = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        let (branch, name) = (short_scope(&key.0), one_line(name));
        let label = if branch.is_empty() { name } else { format!("{branch} {name}") };
        self.list.push(TimelineTrack { agent: one_line(agent), label, ..TimelineTrack::default() });
        if !agent.is_empty() {
            self.by_agent.entry(agent.to_owned()).or_default().push(track);
        }
        self.indexes.insert(key, track);
        track
    }

    /// A model works there.
    pub fn begin_model_call(&mut self, track: u32, state: &str) {
        self.pending_tools.retain(|pending| pending.track != track);
        if let Some(row) = self.get_mut(track) {
            state.clone_into(&mut row.state);
            row.call_count += 1;
        }
    }

    /// The tools that a reply asks for belong to its row.
    pub fn expect_tools(&mut self, track: u32, agent: &str, calls: &[ToolCall]) {
        let is_only = self.by_agent.get(agent).is_none_or(|tracks| tracks.len() < 2);
        if is_only || self.pending_tools.len() + calls.len() > MOST_PENDING {
            return;
        }
        let pending = |call: &ToolCall| PendingTool { track, agent: agent.to_owned(), call: call.clone() };
        self.pending_tools.extend(calls.iter().map(pending));
    }

    /// The row of a tool call, and the path name of its state. `is_of_workflow`: a state calls it, no agent.
    pub fn track_of_tool(
        &mut self,
        agent: &str,
        tool: &str,
        arguments: &Value,
        is_of_workflow: bool,
    ) -> (u32, String) {
        if is_of_workflow {
            let state = self.entered_state.clone();
            return (self.track_of_agent(&state, "", "workflow"), state);
        }
        let track = self.pending_track(agent, tool, arguments).or_else(|| self.track_of_name(agent));
        let track = track.unwrap_or_else(|| {
            let state = self.entered_state.clone();
            self.track_of_agent(&state, agent, "")
        });
        (track, self.list.get(track as usize).map(|row| row.state.clone()).unwrap_or_default())
    }

    /// The row that an agent has used last.
    pub fn track_of_name(&self, agent: &str) -> Option<u32> {
        self.by_agent.get(agent)?.last().copied()
    }

    fn pending_track(&mut self, agent: &str, tool: &str, arguments: &Value) -> Option<u32> {
        let is_same = |pending: &PendingTool| pending.agent == agent && pending.call.name == tool;
        let has_arguments = |pending: &PendingTool| {
            serde_json::from_str::<Value>(&pending.call.arguments).is_ok_and(|value| value == *arguments)
        };
        let exact = self.pending_tools.iter().position(|pending| is_same(pending) && has_arguments(pending));
        let found = exact.or_else(|| self.pending_tools.iter().position(is_same))?;
        self.pending_tools.remove(found).map(|pending| pending.track)
    }

    fn last_track(&mut self) -> u32 {
        if let Some(last) = self.list.last_mut() {
            (last.agent, last.label) = (String::new(), "further rows".to_owned());
        }
        u32::try_from(self.list.len().saturating_sub(1)).unwrap_or(u32::MAX)
    }

    /// What the path name of the innermost open branch begins with; empty: no branch.
    fn scope_of_state<'s>(&self, state: &'s str) -> &'s str {
        let ends = state.rmatch_indices('/').map(|(at, _)| &state[..=at]);
        ends.into_iter().find(|scope| self.open_scopes.contains(*scope)).unwrap_or_default()
    }
}

/// `planning/each[3]/split.alpha/` is `[3].alpha`.
fn short_scope(scope: &str) -> String {
    let parts = scope.split('/').filter_map(|part| part.find(['[', '.']).map(|at| &part[at..]));
    let all: String = parts.collect();
    all.strip_prefix('.').map(str::to_owned).unwrap_or(all)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(name: &str, arguments: &Value) -> ToolCall {
        ToolCall { id: "t".into(), name: name.into(), arguments: arguments.to_string(), original: None }
    }

    fn labels(tracks: &TimelineTracks) -> Vec<&str> {
        tracks.as_slice().iter().map(|track| track.label.as_str()).collect()
    }

    #[test]
    fn an_agent_has_a_row_in_each_branch() {
        let mut tracks = TimelineTracks::default();
        tracks.open_scope("each[3]/".into());
        tracks.open_scope("each[3]/split.alpha/".into());
        for state in ["start", "planning/draft", "each[3]/work", "each[3]/split.alpha/look", "start"] {
            tracks.track_of_agent(state, "coder", "");
        }
        for label in ["you", "waits", "you"] {
            tracks.track_of_agent("ask", "", label);
        }
        assert_eq!(labels(&tracks), ["coder", "[3] coder", "[3].alpha coder", "you", "waits"]);
    }

    #[test]
    fn a_tool_belongs_to_the_row_whose_reply_asked_for_it() {
        let mut tracks = TimelineTracks::default();
        tracks.open_scope("each[0]/".into());
        tracks.open_scope("each[1]/".into());
        let first = tracks.track_of_agent("each[0]/work", "coder", "");
        let second = tracks.track_of_agent("each[1]/work", "coder", "");
        tracks.begin_model_call(first, "each[0]/work");
        tracks.begin_model_call(second, "each[1]/work");
        let (one, other) = (json!({"path": "a"}), json!({"path": "b"}));
        tracks.expect_tools(first, "coder", &[call("read", &one)]);
        tracks.expect_tools(second, "coder", &[call("read", &other)]);
        assert_eq!(tracks.track_of_tool("coder", "read", &other, false), (second, "each[1]/work".into()));
        // the arguments were changed by the user
        assert_eq!(tracks.track_of_tool("coder", "read", &json!({}), false).0, first);
        assert_eq!(tracks.track_of_tool("unlisted", "read", &one, false).0, 2);
        tracks.enter_state("build");
        assert_eq!(tracks.track_of_tool("workflow", "shell", &one, true), (3, "build".into()));
        assert_eq!(labels(&tracks), ["[0] coder", "[1] coder", "unlisted", "workflow"]);
    }

    #[test]
    fn ten_thousand_items_share_the_last_row() {
        let mut tracks = TimelineTracks::default();
        for at in 0..10_000 {
            tracks.open_scope(format!("each[{at}]/"));
            tracks.track_of_agent(&format!("each[{at}]/work"), "coder", "");
            tracks.close_scope(&format!("each[{at}]/"));
        }
        assert_eq!(tracks.as_slice().len(), MOST_TRACKS);
        assert_eq!(labels(&tracks)[MOST_TRACKS - 1], "further rows");
    }
}
