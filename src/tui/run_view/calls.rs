//! Calls of tools in a run, with what was asked and answered about them, folded as events come.
//!
//! Owns the last `MOST` calls with the beginning of their texts; earlier ones are only counted.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

use crate::domain::approval::Decision;
use crate::domain::ids::{CallId, Timestamp};
use crate::engine::event::RunEvent;
use crate::tui::text::{clean, one_line};
use crate::tui::values;

/// Calls that are kept.
pub const MOST: usize = 500;
/// Bytes of arguments and of a result.
const TEXT: usize = 4 << 10;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// Waits for a yes.
    Asked,
    /// The yes is there; it begins in a moment.
    Allowed,
    Running,
    Done,
    Failed,
    Refused,
    /// The run stood still before it answered.
    Stopped,
}

/// What a person said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Approval {
    Allowed,
    /// This and every later call of the tool.
    Always,
    Denied,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// Counted from the first call of the run.
    pub number: u64,
    pub at: Timestamp,
    pub agent: String,
    pub tool: String,
    pub status: Status,
    pub approval: Option<Approval>,
    /// `path=src/lib.rs`, one line.
    pub short: String,
    /// In full, a line each.
    pub arguments: String,
    pub summary: String,
    pub content: String,
    pub duration_ms: Option<u64>,
}

#[derive(Clone, Debug, Default)]
pub struct Calls {
    calls: VecDeque<Call>,
    earlier: u64,
    /// By the call that asks or runs.
    open: HashMap<CallId, u64>,
    /// Counts changes.
    pub version: u64,
}

impl Calls {
    pub fn earlier(&self) -> u64 {
        self.earlier
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Call> {
        self.calls.iter()
    }

    /// Calls that wait for a yes.
    pub fn asked(&self) -> usize {
        self.calls.iter().filter(|call| call.status == Status::Asked).count()
    }

    pub fn hear(&mut self, at: Timestamp, event: &RunEvent) {
        match event {
            RunEvent::ApprovalAsked { call, agent, tool, arguments, .. } => {
                self.push(*call, at, (agent, tool), arguments, Status::Asked);
            }
            RunEvent::ApprovalAnswered { call, decision, .. } => self.answered(*call, decision),
            RunEvent::PersonAnswered { call } => {
                // withdrawn: nobody waits for it
                self.change(*call, |call| {
                    if call.status == Status::Asked {
                        call.status = Status::Stopped;
                    }
                });
            }
            RunEvent::ToolStarted { call, agent, tool, arguments } => {
                let (agent, tool) = (one_line(agent), one_line(tool));
                let allowed = |call: &&mut Call| {
                    call.status == Status::Allowed && call.agent == agent && call.tool == tool
                };
                match self.calls.iter_mut().rev().find(allowed) {
                    Some(known) => {
                        (known.status, known.at) = (Status::Running, at);
                        self.open.insert(*call, known.number);
                        self.version += 1;
                    }
                    None => self.push(*call, at, (&agent, &tool), arguments, Status::Running),
                }
            }
            RunEvent::ToolFinished { call, ok, summary, content, duration_ms, .. } => {
                self.change(*call, |call| {
                    call.status = if *ok { Status::Done } else { Status::Failed };
                    call.summary = one_line(summary);
                    call.content = cut(content);
                    call.duration_ms = Some(*duration_ms);
                });
            }
            RunEvent::ToolRefused { agent, tool, reason } => self.refused(at, agent, tool, reason),
            RunEvent::Finished { .. } | RunEvent::Returned { .. } => {
                for number in std::mem::take(&mut self.open).into_values() {
                    let running = |call: &&mut Call| {
                        matches!(call.status, Status::Asked | Status::Allowed | Status::Running)
                    };
                    if let Some(call) = self.numbered(number).filter(running) {
                        call.status = Status::Stopped;
                    }
                }
                self.version += 1;
            }
            _ => {}
        }
    }

    fn answered(&mut self, call: CallId, decision: &Decision) {
        self.change(call, |call| {
            (call.status, call.approval) = match decision {
                Decision::Allow => (Status::Allowed, Some(Approval::Allowed)),
                Decision::AllowTool => (Status::Allowed, Some(Approval::Always)),
                Decision::Deny { reason } => {
                    call.summary = reason.as_deref().map(one_line).unwrap_or_default();
                    (Status::Refused, Some(Approval::Denied))
                }
                Decision::Refuse { reason } => {
                    call.summary = one_line(reason);
                    (Status::Refused, Some(Approval::Denied))
                }
                Decision::Stop => (Status::Stopped, None),
            };
        });
    }

    /// A denied call is told once more, with the reason that the model gets.
    fn refused(&mut self, at: Timestamp, agent: &str, tool: &str, reason: &str) {
        let (agent, tool, reason) = (one_line(agent), one_line(tool), one_line(reason));
        let told = self.calls.back_mut().filter(|call| {
            call.approval == Some(Approval::Denied) && call.agent == agent && call.tool == tool
        });
        if let Some(call) = told {
            call.summary = reason;
            self.version += 1;
            return;
        }
        let number = self.add(at, (&agent, &tool), &Value::Null, Status::Refused);
        if let Some(call) = self.numbered(number) {
            call.summary = reason;
        }
    }

    fn push(&mut self, call: CallId, at: Timestamp, who: (&str, &str), arguments: &Value, status: Status) {
        let number = self.add(at, who, arguments, status);
        self.open.insert(call, number);
    }

    fn add(&mut self, at: Timestamp, (agent, tool): (&str, &str), arguments: &Value, status: Status) -> u64 {
        if self.calls.len() >= MOST {
            self.calls.pop_front();
            self.earlier += 1;
        }
        self.version += 1;
        let number = self.earlier + self.calls.len() as u64;
        self.calls.push_back(Call {
            number,
            at,
            agent: one_line(agent),
            tool: one_line(tool),
            status,
            approval: None,
            short: if arguments.is_null() { String::new() } else { values::arguments(arguments) },
            arguments: lines(arguments),
            summary: String::new(),
            content: String::new(),
            duration_ms: None,
        });
        number
    }

    fn change(&mut self, call: CallId, change: impl FnOnce(&mut Call)) {
        let number = self.open.remove(&call);
        if let Some(call) = number.and_then(|number| self.numbered(number)) {
            change(call);
            self.version += 1;
        }
    }

    fn numbered(&mut self, number: u64) -> Option<&mut Call> {
        let at = number.checked_sub(self.earlier).and_then(|at| usize::try_from(at).ok())?;
        self.calls.get_mut(at)
    }
}

/// `path: src/lib.rs`, a line each; longer texts below their name.
fn lines(arguments: &Value) -> String {
    let Value::Object(map) = arguments else { return String::new() };
    let lines = map.iter().map(|(name, value)| format!("{name}: {}", values::value_text(value)));
    cut(&lines.collect::<Vec<_>>().join("\n"))
}

fn cut(text: &str) -> String {
    let end = text.floor_char_boundary(TEXT);
    let rest = text.len() - end;
    let cut = clean(text[..end].trim_end());
    if rest > 0 {
        format!("{cut}\n… {rest} bytes more: see the conversation with the details on")
    } else {
        cut.into_owned()
    }
}
