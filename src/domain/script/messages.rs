//! The messages of a context as scripts see them. A long conversation is only put together if a script asks for it.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::context::ContextEntry;
use crate::context::compressed_entries::CompressedEntries;

/// A message of a context as scripts see it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ScriptMessage {
    pub role: String,
    pub content: String,
    /// Index of the entry that this came from; `None` for one that the script added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<usize>,
}

/// Shared: a copy costs nothing that grows with the conversation.
#[derive(Clone, Debug, Default)]
pub struct ContextMessages {
    compressed: CompressedEntries,
    recent: Arc<Vec<ScriptMessage>>,
}

impl ContextMessages {
    /// `late` are those behind `early`.
    pub fn new(early: CompressedEntries, late: Arc<Vec<ScriptMessage>>) -> Self {
        Self { compressed: early, recent: late }
    }

    pub fn len(&self) -> usize {
        self.compressed.len() + self.recent.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn iter(&self) -> impl Iterator<Item = Cow<'_, ScriptMessage>> {
        let early = self.compressed.entries().enumerate();
        let early = early.map(|(at, entry)| Cow::Owned(ScriptMessage::from_entry(at, &entry)));
        early.chain(self.recent.iter().map(Cow::Borrowed))
    }

    pub fn to_vec(&self) -> Vec<ScriptMessage> {
        self.iter().map(Cow::into_owned).collect()
    }
}

impl ScriptMessage {
    /// `at`: its place in the conversation.
    pub fn from_entry(at: usize, entry: &ContextEntry) -> Self {
        Self { role: entry.role.as_str().to_owned(), content: entry.text.clone(), origin: Some(at) }
    }
}

impl From<Vec<ScriptMessage>> for ContextMessages {
    fn from(messages: Vec<ScriptMessage>) -> Self {
        Self { compressed: CompressedEntries::default(), recent: Arc::new(messages) }
    }
}

impl PartialEq for ContextMessages {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Serialize for ContextMessages {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for ContextMessages {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::from)
    }
}
