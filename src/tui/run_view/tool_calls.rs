//! Tool calls of a run, with their approvals and results, folded as events come.
//!
//! Owns the last `MOST` calls with the beginning of their texts; earlier ones are only counted.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

use crate::json_text;
use crate::text::{clean_text, format_count, one_line};
use synthdev_domain::approval::ApprovalDecision;
use synthdev_domain::ids::{CallId, Timestamp};
use synthdev_service::run_events::RunEvent;

/// Calls that are kept.
pub const MOST: usize = 500;
/// Bytes of arguments and of a result.
const TEXT: usize = 4 << 10;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ToolCallStatus {
    /// Waits for a yes.
    Asked,
    /// The yes is there; it begins in a moment.
    Allowed,
    Running,
    Done,
    Failed,
    Refused,
    /// The run was stopped before the call was answered.
    Stopped,
}

/// The user's decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallApproval {
    Allowed,
    /// This and every later call of the tool.
    Always,
    Denied,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToolCallEntry {
    /// Counted from the first call of the run.
    pub number: u64,
    pub at: Timestamp,
    pub agent: String,
    pub tool: String,
    pub status: ToolCallStatus,
    pub approval: Option<CallApproval>,
    /// `path=src/lib.rs`, one line.
    pub arguments_line: String,
    /// In full, a line each.
    pub arguments: String,
    pub summary: String,
    pub content: String,
    pub duration_ms: Option<u64>,
}

#[derive(Clone, Debug, Default)]
pub struct ToolCallLog {
    calls: VecDeque<ToolCallEntry>,
    dropped_count: u64,
    /// By the call that asks or runs.
    open_calls: HashMap<CallId, u64>,
    /// Counts changes.
    pub version: u64,
}

impl ToolCallLog {
    pub fn dropped_count(&self) -> u64 {
        self.dropped_count
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &ToolCallEntry> {
        self.calls.iter()
    }

    /// Calls that wait for a yes.
    pub fn pending_approval_count(&self) -> usize {
        self.calls.iter().filter(|call| call.status == ToolCallStatus::Asked).count()
    }

    pub fn apply_event(&mut self, at: Timestamp, event: &RunEvent) {
        match event {
            RunEvent::ApprovalAsked { call, agent, tool, arguments, .. } => {
                self.push(*call, at, agent, tool, arguments, ToolCallStatus::Asked);
            }
            RunEvent::ApprovalAnswered { call, decision, .. } => self.on_answered(*call, decision),
            RunEvent::PersonAnswered { call, .. } => {
                // withdrawn: the run does not need the answer
                self.change_call(*call, |call| {
                    if call.status == ToolCallStatus::Asked {
                        call.status = ToolCallStatus::Stopped;
                    }
                });
            }
            RunEvent::ToolStarted { call, agent, tool, arguments } => {
                let (agent, tool) = (one_line(agent), one_line(tool));
                let allowed = |call: &&mut ToolCallEntry| {
                    call.status == ToolCallStatus::Allowed && call.agent == agent && call.tool == tool
                };
                match self.calls.iter_mut().rev().find(allowed) {
                    Some(known) => {
                        (known.status, known.at) = (ToolCallStatus::Running, at);
                        self.open_calls.insert(*call, known.number);
                        self.version += 1;
                    }
                    None => self.push(*call, at, &agent, &tool, arguments, ToolCallStatus::Running),
                }
            }
            RunEvent::ToolFinished { call, ok, summary, content, duration_ms, .. } => {
                self.change_call(*call, |call| {
                    call.status = if *ok { ToolCallStatus::Done } else { ToolCallStatus::Failed };
                    call.summary = one_line(summary);
                    call.content = cut_text(content);
                    call.duration_ms = Some(*duration_ms);
                });
            }
            RunEvent::ToolRefused { agent, tool, reason } => self.on_refused(at, agent, tool, reason),
            RunEvent::Finished { .. } | RunEvent::Rewound { .. } => {
                for number in std::mem::take(&mut self.open_calls).into_values() {
                    let running = |call: &&mut ToolCallEntry| {
                        matches!(
                            call.status,
                            ToolCallStatus::Asked | ToolCallStatus::Allowed | ToolCallStatus::Running
                        )
                    };
                    if let Some(call) = self.find_by_number(number).filter(running) {
                        call.status = ToolCallStatus::Stopped;
                    }
                }
                self.version += 1;
            }
            _ => {}
        }
    }

    fn on_answered(&mut self, call: CallId, decision: &ApprovalDecision) {
        self.change_call(call, |call| {
            (call.status, call.approval) = match decision {
                ApprovalDecision::Allow | ApprovalDecision::AllowEdited { .. } => {
                    (ToolCallStatus::Allowed, Some(CallApproval::Allowed))
                }
                ApprovalDecision::AllowTool => (ToolCallStatus::Allowed, Some(CallApproval::Always)),
                ApprovalDecision::Deny { reason } => {
                    call.summary = reason.as_deref().map(one_line).unwrap_or_default();
                    (ToolCallStatus::Refused, Some(CallApproval::Denied))
                }
                ApprovalDecision::Refuse { reason } => {
                    call.summary = one_line(reason);
                    (ToolCallStatus::Refused, Some(CallApproval::Denied))
                }
                ApprovalDecision::Stop => (ToolCallStatus::Stopped, None),
            };
        });
    }

    /// A denied call is shown once more, with the reason that the model gets.
    fn on_refused(&mut self, at: Timestamp, agent: &str, tool: &str, reason: &str) {
        let (agent, tool, reason) = (one_line(agent), one_line(tool), one_line(reason));
        let told = self.calls.back_mut().filter(|call| {
            call.approval == Some(CallApproval::Denied) && call.agent == agent && call.tool == tool
        });
        if let Some(call) = told {
            call.summary = reason;
            self.version += 1;
            return;
        }
        let number = self.add_call(at, &agent, &tool, &Value::Null, ToolCallStatus::Refused);
        if let Some(call) = self.find_by_number(number) {
            call.summary = reason;
        }
    }

    fn push(
        &mut self,
        call: CallId,
        at: Timestamp,
        agent: &str,
        tool: &str,
        arguments: &Value,
        status: ToolCallStatus,
    ) {
        let number = self.add_call(at, agent, tool, arguments, status);
        self.open_calls.insert(call, number);
    }

    fn add_call(
        &mut self,
        at: Timestamp,
        agent: &str,
        tool: &str,
        arguments: &Value,
        status: ToolCallStatus,
    ) -> u64 {
        if self.calls.len() >= MOST {
            self.calls.pop_front();
            self.dropped_count += 1;
        }
        self.version += 1;
        let number = self.dropped_count + self.calls.len() as u64;
        self.calls.push_back(ToolCallEntry {
            number,
            at,
            agent: one_line(agent),
            tool: one_line(tool),
            status,
            approval: None,
            arguments_line: if arguments.is_null() {
                String::new()
            } else {
                json_text::arguments_line(arguments)
            },
            arguments: argument_lines(arguments),
            summary: String::new(),
            content: String::new(),
            duration_ms: None,
        });
        number
    }

    fn change_call(&mut self, call: CallId, change: impl FnOnce(&mut ToolCallEntry)) {
        let number = self.open_calls.remove(&call);
        if let Some(call) = number.and_then(|number| self.find_by_number(number)) {
            change(call);
            self.version += 1;
        }
    }

    fn find_by_number(&mut self, number: u64) -> Option<&mut ToolCallEntry> {
        let at = number.checked_sub(self.dropped_count).and_then(|at| usize::try_from(at).ok())?;
        self.calls.get_mut(at)
    }
}

/// `path: src/lib.rs`, a line each; longer texts below their name.
fn argument_lines(arguments: &Value) -> String {
    let Value::Object(map) = arguments else { return String::new() };
    let lines = map.iter().map(|(name, value)| format!("{name}: {}", json_text::value_text(value)));
    cut_text(&lines.collect::<Vec<_>>().join("\n"))
}

fn cut_text(text: &str) -> String {
    let end = text.floor_char_boundary(TEXT);
    let rest = text.len() - end;
    let cut = clean_text(text[..end].trim_end());
    if rest > 0 {
        format!(
            "{cut}\n… {}: see the conversation with the details on",
            format_count(rest as u64, "more byte")
        )
    } else {
        cut.into_owned()
    }
}
