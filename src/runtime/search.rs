//! Full-text search over messages and actions of all runs, with the position of each hit.
//!
//! A hit names its state only as far as its row does: nothing is replayed for a list of hits.

mod snippet;

use serde::Serialize;
use serde_json::Value;

use super::handle::RuntimeHandle;
use super::search_text::{self, SearchText};
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::journal::{JournalRow, JournalRowKind, SearchHit, SearchQuery};
use synthdev_engine::input::Input;
use synthdev_ports::run_store::StoreError;

pub use super::search_text::SearchTextKind;
pub use snippet::SearchSnippet;

/// One place where all words of a search were found.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SearchMatch {
    pub run: RunId,
    pub workflow: String,
    pub started: Timestamp,
    /// Time of the message or action.
    pub at: Timestamp,
    /// The row's number in its run, from 1; 0 is what the run was started with.
    pub row: u64,
    pub kind: SearchTextKind,
    /// Of the tool that was called or the variable that was set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The model that wrote it, as the server names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(flatten)]
    pub snippet: SearchSnippet,
}

impl RuntimeHandle {
    /// Newest run first, and in it what happened last. `width` is how long a snippet may be, in characters.
    ///
    /// # Errors
    /// The store cannot be read, or the missing part of its index cannot be written.
    pub fn search(&self, query: &SearchQuery, width: usize) -> Result<Vec<SearchMatch>, StoreError> {
        let hits = self.ports().store.search(query, &search_text::row_search_text)?;
        let terms = snippet::parse_terms(&query.text);
        Ok(hits.into_iter().map(|hit| to_search_match(hit, &terms, width)).collect())
    }
}

fn parse_input(row: &JournalRow) -> Option<Input> {
    if row.kind != JournalRowKind::Input {
        return None;
    }
    serde_json::from_str(&row.body).ok()
}

fn to_search_match(hit: SearchHit, terms: &[snippet::SearchTerm], width: usize) -> SearchMatch {
    let mut parts = search_text::parts_of_row(&hit.row);
    if hit.seq == 0 {
        let text = serde_json::from_str::<Value>(&hit.row.body).ok();
        let text = text.and_then(|text| text.as_str().map(str::to_owned)).unwrap_or_default();
        // the name of the workflow is found, too
        let in_input = !snippet::snippet_around(&text, terms, width).marks.is_empty();
        let text = if in_input { text } else { format!("{}: {text}", hit.workflow) };
        parts = vec![SearchText { kind: SearchTextKind::Input, name: None, text }];
    }
    // the part with most of the words; the first of several
    let mut best: Option<(SearchText, SearchSnippet)> = None;
    for part in parts {
        let shown = match &part.name {
            Some(name) => snippet::snippet_around(&format!("{name} {}", part.text), terms, width),
            None => snippet::snippet_around(&part.text, terms, width),
        };
        if best.as_ref().is_none_or(|(_, before)| shown.marks.len() > before.marks.len()) {
            best = Some((part, shown));
        }
    }
    let (kind, name, snippet) = match best {
        Some((part, snippet)) => (part.kind, part.name, snippet),
        None => (SearchTextKind::Message, None, SearchSnippet::default()),
    };
    let model = match parse_input(&hit.row) {
        Some(Input::Replied { reply, .. }) => reply.model,
        _ => None,
    };
    SearchMatch {
        run: hit.run,
        workflow: hit.workflow,
        started: hit.started,
        at: hit.row.at,
        row: hit.seq,
        kind,
        name,
        model,
        snippet,
    }
}
