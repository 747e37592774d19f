//! Prompt cache breakpoints (`cache_control`): one on the last block of the system text (on the last tool where there
//! is no system text), and one on the last block of each of the last two user turns. The next request reads the cache
//! up to one of these, and writes it up to a new one.
//!
//! A breakpoint is not part of the cached content: moving it from request to request does not change the prefix.

use serde_json::{Value, json};

use super::conversation::AnthropicTurn;

/// User turns that get a breakpoint, from the last. With the one before them this stays below the protocol's four.
const TURNS: usize = 2;

/// Sets the breakpoints of a request.
pub fn set_cache_marks(tools: &mut [Value], system: &mut [Value], turns: &mut [AnthropicTurn]) {
    // Tools come before the system text: one breakpoint after that covers both.
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
