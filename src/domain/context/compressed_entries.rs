//! Old entries of a conversation, compressed: they are rarely read again, and decompress to what they were.
//!
//! A copy shares the bytes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ContextEntry;

/// Entries from the first on, in the order in which they were added.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CompressedEntries {
    parts: Arc<Vec<Arc<CompressedChunk>>>,
    length: usize,
}

#[derive(Debug, Serialize, Deserialize)]
struct CompressedChunk {
    entries: usize,
    #[serde(with = "crate::base64_text")]
    bytes: Vec<u8>,
}

/// The quickest: conversations become a third of what they are, and a hundred thousand messages take half a second.
const LEVEL: u8 = 1;

/// JSON is read no deeper than 128 levels, and a part puts a few around a server's opaque reasoning block.
const DEEPEST: usize = 100;

impl CompressedEntries {
    /// Whether entries can be read again once they are packed.
    pub fn can_compress(entries: &[ContextEntry]) -> bool {
        entries.iter().flat_map(|entry| &entry.sealed).all(|sealed| is_flat(&sealed.block, DEEPEST))
    }

    pub fn len(&self) -> usize {
        self.length
    }

    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The more at once, the smaller.
    pub fn push(&mut self, entries: &[ContextEntry]) {
        // an entry has no keys but texts: it can always be written
        let text = serde_json::to_vec(entries).unwrap_or_default();
        let mut bytes = miniz_oxide::deflate::compress_to_vec(&text, LEVEL);
        bytes.shrink_to_fit();
        Arc::make_mut(&mut self.parts).push(Arc::new(CompressedChunk { entries: entries.len(), bytes }));
        self.length += entries.len();
    }

    /// All of them; only a part is unpacked at a time.
    pub fn entries(&self) -> impl Iterator<Item = ContextEntry> {
        self.parts.iter().flat_map(|part| part.entries())
    }
}

/// No deeper than so many levels.
fn is_flat(value: &Value, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else { return false };
    match value {
        Value::Array(items) => items.iter().all(|item| is_flat(item, below)),
        Value::Object(fields) => fields.values().all(|field| is_flat(field, below)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

impl CompressedChunk {
    fn entries(&self) -> Vec<ContextEntry> {
        // our own bytes, that never left the memory
        let text = miniz_oxide::inflate::decompress_to_vec(&self.bytes).unwrap_or_default();
        let entries: Vec<ContextEntry> = serde_json::from_slice(&text).unwrap_or_default();
        debug_assert_eq!(entries.len(), self.entries, "what was packed can be read");
        entries
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::context::{AnsweredCall, MessageAuthor};
    use crate::message::{ChatRole, OpaqueBlock, ToolCall};

    #[test]
    fn entries_come_back_as_they_were() {
        let call =
            ToolCall { id: "c".into(), name: "t".into(), arguments: "{not json".into(), original: None };
        let answered = AnsweredCall { call, answer: "\u{1b}[2J größer\0".into(), ok: false };
        let sealed =
            OpaqueBlock { after: 1, block: json!({"type": "thinking", "n": 0.1, "list": [null, -1]}) };
        let said = ContextEntry::text(MessageAuthor::Agent("a".into()), ChatRole::Assistant, "schön\r\n");
        let entries = [
            ContextEntry { calls: vec![answered], sealed: vec![sealed], interrupted: true, ..said.clone() },
            ContextEntry { pinned: true, to: Some("b".into()), author: MessageAuthor::Human, ..said.clone() },
            ContextEntry::text(MessageAuthor::Start, ChatRole::System, ""),
            ContextEntry::text(MessageAuthor::Script, ChatRole::User, "x".repeat(70_000)),
        ];
        let mut packed = CompressedEntries::default();
        assert!(packed.is_empty());
        packed.push(&entries[..1]);
        let before = packed.clone();
        packed.push(&entries[1..]);
        assert_eq!(packed.entries().collect::<Vec<_>>(), entries);
        assert_eq!((before.entries().count(), before.len(), packed.len()), (1, 1, 4));
    }

    #[test]
    fn what_is_too_deep_to_be_read_again_is_not_taken() {
        for (levels, taken) in [(1, true), (DEEPEST - 1, true), (DEEPEST, false), (200, false)] {
            let block = (0..levels).fold(json!(1), |inner, _| Value::Array(vec![inner]));
            let said = ContextEntry::text(MessageAuthor::Script, ChatRole::User, "x");
            let entries = [ContextEntry { sealed: vec![OpaqueBlock { after: 0, block }], ..said }];
            assert_eq!(CompressedEntries::can_compress(&entries), taken, "{levels}");
            if taken {
                let mut packed = CompressedEntries::default();
                packed.push(&entries);
                assert_eq!(packed.entries().collect::<Vec<_>>(), entries);
            }
        }
    }
}
