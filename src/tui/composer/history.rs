//! What was sent before: one after the other with Up and Down, or searched.

const MOST: usize = 2_000;
/// Texts that are not given to be kept yet.
const WAITING: usize = 100;

#[derive(Clone, Debug, Default)]
pub struct ComposerHistory {
    sent: Vec<String>,
    /// Position while going through it, and what was typed before.
    recall_position: Option<(usize, String)>,
    search: Option<ComposerHistorySearch>,
    recall_state: InputRecallState,
    /// Up was pressed where nothing was before this text: what comes from earlier sessions is shown at once.
    retry_text: Option<String>,
    /// Texts of this session that are to be kept.
    unsaved_texts: Vec<String>,
}

/// What was sent in earlier sessions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum InputRecallState {
    #[default]
    Unread,
    Wanted,
    Asked,
    Known,
}

/// A search in progress.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ComposerHistorySearch {
    pub search_words: String,
    /// The entry that is shown.
    found_entry: Option<usize>,
    draft: String,
}

impl ComposerHistory {
    pub fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// Whether nothing was ever sent, as far as that is known.
    pub fn is_known_empty(&self) -> bool {
        self.sent.is_empty() && self.recall_state == InputRecallState::Known
    }

    /// Whether the input of earlier sessions is requested now; returns `true` once.
    pub fn take_recall_request(&mut self) -> bool {
        let wants = self.recall_state == InputRecallState::Wanted;
        if wants {
            self.recall_state = InputRecallState::Asked;
        }
        wants
    }

    /// `false`: it is known.
    pub fn request_recall(&mut self) -> bool {
        if self.recall_state == InputRecallState::Unread {
            self.recall_state = InputRecallState::Wanted;
        }
        self.recall_state != InputRecallState::Known
    }

    /// It comes before what was sent in this session, of which nothing comes twice.
    pub fn add_recalled_texts(&mut self, texts: Vec<String>) {
        self.recall_state = InputRecallState::Known;
        let mut before: Vec<String> = Vec::with_capacity(texts.len());
        for text in texts {
            if before.last() != Some(&text) && !self.sent.contains(&text) {
                before.push(text);
            }
        }
        let count = before.len();
        before.append(&mut self.sent);
        self.sent = before;
        if let Some(recall) = &mut self.recall_position {
            recall.0 += count;
        }
        if let Some(at) = self.search.as_mut().and_then(|search| search.found_entry.as_mut()) {
            *at += count;
        }
    }

    /// The text at which Up found nothing.
    pub fn take_retry_text(&mut self) -> Option<String> {
        self.retry_text.take()
    }

    /// A text of this session is to be there in later ones.
    pub fn keep_for_later_sessions(&mut self, text: String) {
        if self.unsaved_texts.len() < WAITING {
            self.unsaved_texts.push(text);
        }
    }

    pub fn take_unsaved_texts(&mut self) -> Vec<String> {
        std::mem::take(&mut self.unsaved_texts)
    }

    pub fn remember_text(&mut self, text: &str) {
        self.recall_position = None;
        if self.sent.last().is_none_or(|last| last != text) {
            self.sent.push(text.to_owned());
        }
        if self.sent.len() > MOST {
            self.sent.remove(0);
        }
    }

    /// Entries that hold one of these are of no use any more.
    pub fn forget_containing(&mut self, gone: &[String]) {
        if !gone.is_empty() {
            self.sent.retain(|text| !gone.iter().any(|name| text.contains(name)));
            (self.recall_position, self.search) = (None, None);
        }
    }

    /// The text has become one of its own.
    pub fn settle_position(&mut self) {
        self.recall_position = None;
    }

    /// The entry before the one that is shown; `None`: there is none.
    pub fn older_entry(&mut self, shown: &str) -> Option<&str> {
        let _ = self.request_recall();
        let before = self.recall_position.as_ref().map_or(self.sent.len(), |recall| recall.0).checked_sub(1);
        if before.is_none() && self.recall_state != InputRecallState::Known {
            self.retry_text = Some(shown.to_owned());
        }
        let at = before?;
        let draft = self.recall_position.take().map_or_else(|| shown.to_owned(), |recall| recall.1);
        self.recall_position = Some((at, draft));
        Some(&self.sent[at])
    }

    /// The entry after the one that is shown, at the end what was typed before; `None`: none is shown.
    pub fn newer_entry(&mut self) -> Option<String> {
        let (at, draft) = self.recall_position.take()?;
        let Some(text) = self.sent.get(at + 1) else { return Some(draft) };
        self.recall_position = Some((at + 1, draft));
        Some(text.clone())
    }

    pub fn is_searching(&self) -> bool {
        self.search.is_some()
    }

    pub fn start_search(&mut self, draft: &str) {
        self.recall_position = None;
        let _ = self.request_recall();
        self.search = Some(ComposerHistorySearch {
            search_words: String::new(),
            found_entry: None,
            draft: draft.to_owned(),
        });
    }

    /// Other words: the newest entry that holds them, in any case, else what was typed before the search.
    pub fn update_search(&mut self, change: impl FnOnce(&mut String)) -> Option<&str> {
        let search = self.search.as_mut()?;
        change(&mut search.search_words);
        search.found_entry = None;
        self.search_on(true);
        let search = self.search.as_ref()?;
        Some(search.found_entry.map_or(&search.draft, |at| &self.sent[at]))
    }

    /// The next hit, among the older ones or the newer ones; `None`: there is none, the shown one stays.
    pub fn search_on(&mut self, older: bool) -> Option<&str> {
        let search = self.search.as_mut()?;
        let words = search.search_words.to_lowercase();
        if words.is_empty() {
            return None;
        }
        let shown = search.found_entry.map(|at| self.sent[at].as_str());
        let fits = |at: &usize| {
            // the same text once more is no other hit
            self.sent[*at].to_lowercase().contains(&words) && Some(self.sent[*at].as_str()) != shown
        };
        let hit = match (older, search.found_entry) {
            (true, at) => (0..at.unwrap_or(self.sent.len())).rev().find(fits),
            (false, Some(at)) => (at + 1..self.sent.len()).find(fits),
            (false, None) => None,
        };
        search.found_entry = hit.or(search.found_entry);
        hit.map(|at| self.sent[at].as_str())
    }

    /// Ends the search; gives back what was typed before it.
    pub fn end_search(&mut self) -> Option<String> {
        self.search.take().map(|search| search.draft)
    }

    /// For the line above the box: the words, and whether something has them.
    pub fn search_line(&self) -> Option<String> {
        let search = self.search.as_ref()?;
        Some(match (search.found_entry, search.search_words.is_empty()) {
            (Some(_), _) => {
                format!("history: {} · Enter takes it · Ctrl+R older · Esc back", search.search_words)
            }
            (None, true) => "history: type a part of what was sent · Esc back".to_owned(),
            (None, false) => format!("history: no match for `{}` · Esc back", search.search_words),
        })
    }
}
