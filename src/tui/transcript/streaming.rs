//! Replies while they stream: text is appended as it comes, and closed when it is whole or cut off.

use std::borrow::Cow;

use super::TranscriptList;
use super::item::{AgentReplyItem, TranscriptItem};
use crate::agent_identity::AgentIdentity;
use crate::text::{clean_first, clean_text, one_line};
use synthdev_domain::context::ConversationSide;
use synthdev_domain::terminal_safe;

impl TranscriptList {
    /// Appends what streams to an open reply, cleaned; only what may still change is laid out again.
    pub fn append_to_reply(&mut self, at: usize, text: &str) {
        self.grow_part(at, 0, text);
    }

    /// As `append_to_reply`, for what it thinks.
    pub fn append_reasoning(&mut self, at: usize, text: &str) {
        self.grow_part(at, 1, text);
    }

    /// A reply is whole. What streamed as it is in the end is not laid out again.
    pub fn close_reply(&mut self, at: usize, model: &str, text: Cow<'_, str>, reasoning: Cow<'_, str>) {
        let Some(entry) = self.entries.get_mut(at) else { return };
        let TranscriptItem::Reply(reply) = &mut entry.item else { return };
        let same = reply.model == model && !text.is_empty() && reply.text.trim_end() == text;
        reply.open = false;
        reply.held = [String::new(), String::new()];
        if same && reply.reasoning.trim_end() == reasoning {
            reply.text.truncate(text.len());
            return;
        }
        self.edit_item(at, |item| {
            if let TranscriptItem::Reply(reply) = item {
                model.clone_into(&mut reply.model);
                (reply.text, reply.reasoning) = (text.into_owned(), reasoning.into_owned());
            }
        });
    }

    /// A reply was cut off. What is laid out of it stays.
    pub fn interrupt_reply(&mut self, at: usize) {
        let Some(entry) = self.entries.get_mut(at) else { return };
        let TranscriptItem::Reply(reply) = &mut entry.item else { return };
        (reply.open, reply.interrupted, entry.has_grown) = (false, true, true);
    }

    fn grow_part(&mut self, at: usize, part: usize, text: &str) {
        let Some(entry) = self.entries.get_mut(at) else { return };
        let TranscriptItem::Reply(reply) = &mut entry.item else { return };
        let before = reply.text.len() + reply.reasoning.len();
        let to = if part == 0 { &mut reply.text } else { &mut reply.reasoning };
        let held = &mut reply.held[part];
        if held.is_empty() && terminal_safe::complete_prefix_length(text) == text.len() {
            to.push_str(&clean_text(text));
        } else {
            held.push_str(text);
            let end = terminal_safe::complete_prefix_length(held);
            to.push_str(&clean_first(held, end));
            held.drain(..end);
        }
        self.weight += reply.text.len() + reply.reasoning.len() - before;
        entry.has_grown = true;
    }
}

/// An empty open reply of an agent; `branch` is its branch, if other branches may run at the same time.
pub fn open_reply(
    agent: &str,
    identity: AgentIdentity,
    side: ConversationSide,
    model: &str,
    branch: Option<&str>,
) -> TranscriptItem {
    TranscriptItem::Reply(AgentReplyItem {
        agent: one_line(agent),
        identity,
        side,
        model: one_line(model),
        branch: branch.map(one_line).unwrap_or_default(),
        reasoning: String::new(),
        text: String::new(),
        open: true,
        interrupted: false,
        held: [String::new(), String::new()],
    })
}
