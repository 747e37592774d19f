//! Actions of the run itself within a task, which its sub-agent only acknowledges, if requested (`ack_steps`).
//!
//! The run does not wait for an acknowledgement. They come before further steps, in the order of the actions. No
//! journal has them: a process that resumes the run repeats those since the last result.

use std::collections::VecDeque;
use std::mem::discriminant;

use serde_json::{Map, Value};

const BEGINNING: &str = "ack-";

/// Something that was done.
#[derive(Clone, PartialEq, Debug)]
pub struct StepAck {
    /// Counted within the task, from 1; the same in every process.
    pub number: u64,
    /// The state of the action, without the path around its task.
    pub state: String,
    pub action: AckedAction,
}

#[derive(Clone, PartialEq, Debug)]
pub enum AckedAction {
    /// These values were set, and those are gone.
    Set { set: Map<String, Value>, removed: Vec<String> },
    /// The task is complete, with this result.
    Returned(Value),
}

/// The pending acknowledgements of one task.
#[derive(Clone, Default, Debug)]
pub(super) struct PendingAcks {
    open_acks: VecDeque<StepAck>,
    ack_count: u64,
}

impl StepAck {
    /// What it is called outside.
    pub fn id(&self) -> String {
        format!("{BEGINNING}{}", self.number)
    }
}

/// The number of one by what it is called outside.
pub(super) fn parse_ack_id(step_id: &str) -> Option<u64> {
    let number = step_id.strip_prefix(BEGINNING)?.parse().ok()?;
    (format!("{BEGINNING}{number}") == step_id).then_some(number)
}

impl PendingAcks {
    pub(super) fn add_ack(&mut self, state: String, done: AckedAction) {
        self.ack_count += 1;
        self.open_acks.push_back(StepAck { number: self.ack_count, state, action: done });
    }

    pub(super) fn first_open(&self) -> Option<&StepAck> {
        self.open_acks.front()
    }

    /// The first and those of its kind that come right after it.
    pub(super) fn first_batch(&self) -> impl Iterator<Item = &StepAck> {
        let kind = self.first_open().map(|ack| discriminant(&ack.action));
        self.open_acks.iter().take_while(move |ack| Some(discriminant(&ack.action)) == kind)
    }

    pub(super) fn open_count(&self) -> usize {
        self.open_acks.len()
    }

    /// Marks one as acknowledged: whether this was the first time. `None`: the number is unknown.
    pub(super) fn acknowledge(&mut self, number: u64) -> Option<bool> {
        if let Some(at) = self.open_acks.iter().position(|ack| ack.number == number) {
            self.open_acks.remove(at);
            return Some(true);
        }
        (1..=self.ack_count).contains(&number).then_some(false)
    }

    /// The result of a later step acknowledges all.
    pub(super) fn clear_open(&mut self) {
        self.open_acks.clear();
    }

    /// Drops those that were acknowledged `before` the journal was read again.
    pub(super) fn drop_acknowledged(&mut self, before: &Self) {
        self.open_acks.retain(|ack| {
            ack.number > before.ack_count || before.open_acks.iter().any(|open| open.number == ack.number)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending_acks(count: u64) -> PendingAcks {
        let mut acks = PendingAcks::default();
        for number in 1..=count {
            acks.add_ack(format!("s{number}"), AckedAction::Returned(Value::Null));
        }
        acks
    }

    #[test]
    fn each_is_told_once_and_in_order() {
        let mut acks = pending_acks(2);
        assert_eq!(acks.first_open().map(StepAck::id).as_deref(), Some("ack-1"));
        let rows = [(0, None), (1, Some(true)), (1, Some(false)), (3, None)];
        for (number, expected) in rows {
            assert_eq!(acks.acknowledge(number), expected, "{number}");
        }
        assert_eq!((acks.open_count(), acks.first_open().map(|ack| ack.number)), (1, Some(2)));
        acks.clear_open();
        assert_eq!((acks.open_count(), acks.acknowledge(2)), (0, Some(false)));
    }

    #[test]
    fn what_was_heard_is_not_told_again() {
        let mut before = pending_acks(3);
        before.acknowledge(2);
        let mut read = pending_acks(4);
        read.drop_acknowledged(&before);
        let left: Vec<u64> = read.open_acks.iter().map(|ack| ack.number).collect();
        assert_eq!(left, [1, 3, 4]);
    }

    #[test]
    fn those_of_one_kind_come_together() {
        let mut acks = pending_acks(2);
        acks.add_ack("set".to_owned(), AckedAction::Set { set: Map::new(), removed: Vec::new() });
        acks.add_ack("end".to_owned(), AckedAction::Returned(Value::Null));
        let first = |acks: &PendingAcks| acks.first_batch().map(|ack| ack.number).collect::<Vec<_>>();
        assert_eq!(first(&acks), [1, 2]);
        acks.acknowledge(1);
        acks.acknowledge(2);
        assert_eq!(first(&acks), [3]);
        acks.clear_open();
        assert!(first(&acks).is_empty());
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        assert_eq!(parse_ack_id("ack-12"), Some(12));
        for wrong in ["", "12", "ack-", "ack-012", "ack-+1", "step-1", "ack--1"] {
            assert_eq!(parse_ack_id(wrong), None, "{wrong}");
        }
    }
}
