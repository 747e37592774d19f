//! Words of rows that are committed and wait, in memory, for the search index.

use std::collections::HashMap;

/// Bytes that wait at most. What is beyond is left to the next search.
const WAITING_LIMIT: usize = 4 << 20;
/// Bytes worth a transaction of the index, which takes a few milliseconds: other writers wait for it, and so does the end of
/// a run. A longer text is left to the next search.
const BATCH_BYTES: usize = 64 << 10;

/// Words of rows that are committed and not in the index yet.
#[derive(Debug, Default)]
pub(super) struct SearchIndexQueue {
    runs: HashMap<i64, QueuedIndexRows>,
    bytes: usize,
}

/// An unbroken range of a run's rows.
#[derive(Debug)]
pub(super) struct QueuedIndexRows {
    pub(super) key: i64,
    pub(super) from: i64,
    /// One after the last.
    pub(super) upto: i64,
    pub(super) texts: Vec<(i64, String)>,
}

impl SearchIndexQueue {
    /// Rows from `from` on. What does not follow what waits already, or is too much, is left to the next search.
    pub(super) fn push(&mut self, key: i64, from: i64, words: impl Iterator<Item = Option<String>>) {
        let waiting = self.runs.entry(key).or_insert_with(|| QueuedIndexRows {
            key,
            from,
            upto: from,
            texts: Vec::new(),
        });
        if waiting.upto != from {
            return;
        }
        for text in words {
            let is_long = text.as_ref().is_some_and(|text| text.len() > BATCH_BYTES);
            if self.bytes > WAITING_LIMIT || is_long {
                return;
            }
            if let Some(text) = text {
                self.bytes += text.len();
                waiting.texts.push((waiting.upto, text));
            }
            waiting.upto += 1;
        }
    }

    /// A part of one run that is worth a transaction.
    pub(super) fn take_batch(&mut self) -> Option<QueuedIndexRows> {
        let key = *self.runs.keys().next()?;
        let mut all = self.runs.remove(&key)?;
        let mut bytes = 0;
        let fits = all.texts.iter().position(|(_, text)| {
            bytes += text.len();
            bytes > BATCH_BYTES
        });
        if let Some(fits) = fits.filter(|fits| *fits > 0) {
            let texts = all.texts.split_off(fits);
            let from = texts.first().map_or(all.upto, |(seq, _)| *seq);
            self.runs.insert(key, QueuedIndexRows { key, from, upto: all.upto, texts });
            all.upto = from;
        }
        self.bytes -= all.texts.iter().map(|(_, text)| text.len()).sum::<usize>();
        Some(all)
    }
}
