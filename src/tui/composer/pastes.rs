//! Long pastes: a placeholder in the text, the whole of it when the text is sent.

use std::ops::Range;

use crate::text::format_count;

/// Every placeholder begins so.
const BEGINNING: &str = "[pasted ";

/// A paste of this many lines or bytes is folded.
const FOLD_LINES: usize = 30;
const FOLD_BYTES: usize = 8_000;
/// What is larger is not shown in the input box; it is sent whole all the same.
const SHOWN_BYTES: usize = 64_000;
const SHOWN_LINES: usize = 2_000;
/// What all of them may weigh together, in bytes.
const KEPT_BYTES: usize = 32 << 20;

#[derive(Clone, Debug, Default)]
pub struct FoldedPastes {
    /// Placeholders with their texts, the oldest first.
    list: Vec<(String, String)>,
    fold_count: usize,
}

impl FoldedPastes {
    /// The placeholder for a text; `None`: it is short enough to be shown.
    pub fn fold_text(&mut self, text: &str) -> Option<String> {
        let lines = text.lines().count();
        if lines < FOLD_LINES && text.len() < FOLD_BYTES {
            return None;
        }
        self.fold_count += 1;
        let name = format!("{BEGINNING}{} #{}]", format_count(lines as u64, "line"), self.fold_count);
        self.list.push((name.clone(), text.to_owned()));
        Some(name)
    }

    /// The text with everything that was pasted into it.
    pub fn expand_all(&self, shown: &str) -> String {
        let mut text = String::with_capacity(shown.len());
        let mut done = 0;
        for (at, paste) in self.find_placeholders(shown) {
            text.push_str(&shown[done..at]);
            text.push_str(&paste.1);
            done = at + paste.0.len();
        }
        text.push_str(&shown[done..]);
        text
    }

    /// The byte ranges of the placeholders in a text.
    pub fn placeholder_ranges(&self, shown: &str) -> impl Iterator<Item = Range<usize>> {
        self.find_placeholders(shown).map(|(at, (name, _))| at..at + name.len())
    }

    /// One pass from the left, so that a placeholder inside a pasted text stays as it is.
    fn find_placeholders(&self, shown: &str) -> impl Iterator<Item = (usize, &(String, String))> {
        let mut behind = 0;
        shown.match_indices(BEGINNING).filter_map(move |(at, _)| {
            let paste = self.list.iter().find(|(name, _)| at >= behind && shown[at..].starts_with(name))?;
            behind = at + paste.0.len();
            Some((at, paste))
        })
    }

    /// The text behind a placeholder: the one at this byte, else the last; with its position.
    ///
    /// # Errors
    /// There is none, or its text is too long for the box.
    pub fn placeholder_at(&self, text: &str, byte: usize) -> Result<(usize, &str, &str), String> {
        let places = self.list.iter().filter_map(|(name, whole)| Some((text.rfind(name)?, name, whole)));
        let places: Vec<(usize, &String, &String)> = places.collect();
        let here = places.iter().find(|(at, name, _)| (*at..=*at + name.len()).contains(&byte));
        let Some((at, name, whole)) = here.or_else(|| places.iter().max_by_key(|(at, ..)| *at)) else {
            return Err("there is no folded paste in the text".to_owned());
        };
        if whole.len() > SHOWN_BYTES || whole.lines().count() > SHOWN_LINES {
            return Err(format!("{name} is too long to be shown here; it is sent whole"));
        }
        Ok((*at, name, whole))
    }

    /// Forgets the oldest when they weigh too much; the placeholders of those that are gone.
    pub fn trim_oldest(&mut self) -> Vec<String> {
        let mut weight: usize = self.list.iter().map(|(_, text)| text.len()).sum();
        let mut gone = Vec::new();
        while weight > KEPT_BYTES && self.list.len() > 1 {
            let (name, text) = self.list.remove(0);
            weight -= text.len();
            gone.push(name);
        }
        gone
    }
}
