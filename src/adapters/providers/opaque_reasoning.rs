//! Opaque reasoning blocks (`OpaqueBlock`), put back in their original positions in a reply. A conversation may hold
//! blocks of several providers, because an agent's model can change: each provider gets only its own.

use serde_json::Value;

use synthdev_domain::message::{ChatMessage, OpaqueBlock};

/// Removes the opaque reasoning blocks of all other types.
pub fn retain_types(messages: &mut [ChatMessage], types: &[&str]) {
    for message in messages {
        message.sealed.retain(|one| one.block["type"].as_str().is_some_and(|kind| types.contains(&kind)));
    }
}

/// The readable parts with the opaque reasoning blocks back in their places; a block is never the last part.
pub fn insert_sealed(parts: Vec<Value>, sealed: &[OpaqueBlock]) -> Vec<Value> {
    let last = parts.len().saturating_sub(1);
    let mut woven = Vec::with_capacity(parts.len() + sealed.len());
    for (at, part) in parts.into_iter().enumerate() {
        let here = sealed.iter().filter(|one| one.after.min(last) == at);
        woven.extend(here.map(|one| one.block.clone()));
        woven.push(part);
    }
    woven
}
