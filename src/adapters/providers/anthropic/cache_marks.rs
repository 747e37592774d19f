//! Where a request may be cut for the provider's cache: after what never changes (tools and system text), and after
//! the last two user turns, so that the next request finds the one and writes the other.
//!
//! A mark is no part of what is cached: that it moves on from request to request does not disturb the prefix.

use serde_json::{Value, json};

use super::conversation::AnthropicTurn;

/// User turns that are marked, from the last. With the one mark before them this stays below the protocol's four.
const TURNS: usize = 2;

/// Marks the ends of a request's parts.
pub fn set_cache_marks(tools: &mut [Value], system: &mut [Value], turns: &mut [AnthropicTurn]) {
    // Tools come before the system text: one mark after that covers both.
    if let Some(fixed) = system.last_mut().or(tools.last_mut()) {
        set_cache_mark(fixed);
    }
    let asked = turns.iter_mut().rev().filter(|turn| turn.user);
    for last in asked.take(TURNS).filter_map(|turn| turn.blocks.last_mut()) {
        set_cache_mark(last);
    }
}

fn set_cache_mark(block: &mut Value) {
    if let Value::Object(members) = block {
        members.insert("cache_control".to_owned(), json!({ "type": "ephemeral" }));
    }
}
