//! The branches of a `parallel` state, or the items of a `foreach` state, while they run.
//!
//! Items are begun as places become free, so that ten thousand of them need the memory of a few.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::call_frame::{AgentMemory, CallFrame};
use super::conversation::LiveConversation;
use synthdev_domain::run_error::RunError;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ParallelProgress {
    pub kind: ParallelKind,
    /// The next branch or item to begin.
    pub next_position: usize,
    pub total: usize,
    /// Running branches, by position.
    pub running_branches: BTreeMap<usize, u64>,
    pub max_running: usize,
    /// By position; `None` while it has not ended.
    #[serde(with = "crate::optional_value::list")]
    pub outputs: Vec<Option<Value>>,
    pub succeeded_count: usize,
    pub failed_count: usize,
    pub first_failure: Option<(usize, Box<RunError>)>,
    /// What each branch left, by position. Items leave nothing but their output.
    pub branch_writes: BTreeMap<usize, BranchWrites>,
    /// A tool that changes files ran inside.
    pub files_touched: bool,
    /// The output of a child that the last branch or item with one has started, with its position.
    pub child: Option<(usize, Value)>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ParallelKind {
    Branches,
    Items(Arc<Vec<Value>>),
}

/// What a branch wrote, to be merged at the join.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BranchWrites {
    pub data: Arc<Map<String, Value>>,
    pub written_keys: BTreeSet<String>,
    pub conversations: Vec<LiveConversation>,
    pub agents: Vec<AgentMemory>,
    /// The last visit of an agent inside, if there was one.
    pub last_answer: Option<LastAnswer>,
}

/// `last_agent_response` and its like.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LastAnswer {
    pub response: Option<Arc<str>>,
    pub calls: Vec<synthdev_domain::message::ToolCall>,
    pub parsing: Vec<synthdev_domain::message::ToolCall>,
}

impl ParallelProgress {
    pub fn new(kind: ParallelKind, total: usize, places: usize) -> Self {
        Self {
            kind,
            next_position: 0,
            total,
            running_branches: BTreeMap::new(),
            max_running: places.max(1),
            outputs: vec![None; total],
            succeeded_count: 0,
            failed_count: 0,
            first_failure: None,
            branch_writes: BTreeMap::new(),
            files_touched: false,
            child: None,
        }
    }

    /// Notes what the child of a branch or item gave. `inherited`: what the branch began with is not its own.
    pub fn record_child_output(&mut self, at: usize, inherited: Option<&Value>, frame: Option<&CallFrame>) {
        let output =
            frame.and_then(|frame| frame.child_result.as_ref()).filter(|output| Some(*output) != inherited);
        let last = self.child.as_ref().is_none_or(|(earlier, _)| *earlier < at);
        if let Some(output) = output.filter(|_| last) {
            self.child = Some((at, output.clone()));
        }
    }

    /// A position that may begin now.
    pub fn start_next(&mut self) -> Option<usize> {
        if self.next_position >= self.total || self.running_branches.len() >= self.max_running {
            return None;
        }
        self.next_position += 1;
        Some(self.next_position - 1)
    }

    pub fn is_done(&self) -> bool {
        self.next_position >= self.total && self.running_branches.is_empty()
    }

    pub fn stopped_count(&self) -> usize {
        self.total - self.succeeded_count - self.failed_count
    }
}

/// A failed branch or item in a collected result.
pub fn failed_output(failure: &RunError) -> Value {
    json!({"error": {"name": failure.code, "title": failure.title, "detail": failure.detail, "state": failure.state}})
}

impl BranchWrites {
    pub fn from_frame(frame: CallFrame) -> Self {
        let answer = LastAnswer {
            response: frame.last_response,
            calls: frame.last_tool_calls,
            parsing: frame.last_parsing_calls,
        };
        let last = Some(answer).filter(|_| frame.agent_replied);
        Self {
            data: frame.data,
            written_keys: frame.written_keys,
            conversations: frame.conversations,
            agents: frame.agents,
            last_answer: last,
        }
    }
}
