//! Token counts as this protocol reports them: what was read from the cache and what was written into it stands beside
//! the fresh tokens, not among them.

use serde_json::Value;

use crate::adapters::providers::tokens::{complete, whole};
use crate::domain::cost::Usage;

/// What was reported; each part may be missing.
#[derive(Clone, Copy, Default, Debug)]
pub struct Reported {
    fresh: Option<u64>,
    written: Option<u64>,
    read: Option<u64>,
    completion: Option<u64>,
}

impl Reported {
    /// Takes what a usage object holds. Reports count from the start of the answer, and later ones may leave out or set
    /// to nothing what an earlier one said: the largest counts.
    pub fn absorb(&mut self, usage: &Value) {
        let count = |key: &str| usage.get(key).and_then(whole);
        self.fresh = self.fresh.max(count("input_tokens"));
        self.written = self.written.max(count("cache_creation_input_tokens"));
        self.read = self.read.max(count("cache_read_input_tokens"));
        self.completion = self.completion.max(count("output_tokens"));
    }

    /// The counts, and whether a part of them had to be estimated. A report of nothing but zeros is no report.
    pub fn complete(self, prompt_bytes: usize, completion_bytes: usize) -> (Usage, bool) {
        let (cached, written) = (self.read.unwrap_or(0), self.written.unwrap_or(0));
        let prompt = self.fresh.unwrap_or(0).saturating_add(written).saturating_add(cached);
        let reported = Usage { prompt, cached, written, ..Usage::default() };
        complete(reported, self.completion, (prompt_bytes, completion_bytes))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_parts_of_a_prompt_are_added_up() {
        let rows = [
            (
                vec![json!({"input_tokens": 10, "output_tokens": 1}), json!({"output_tokens": 5})],
                (10, 5, 0, 0),
                false,
            ),
            (
                vec![
                    json!({"input_tokens": 3, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 100,
                        "output_tokens": 2}),
                    json!({"input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 7}),
                ],
                (123, 7, 100, 20),
                false,
            ),
            (vec![json!({"output_tokens": 7, "input_tokens": null})], (25, 7, 0, 0), true),
            (vec![json!({"input_tokens": 0, "output_tokens": 0})], (25, 2, 0, 0), true),
            (vec![], (25, 2, 0, 0), true),
        ];
        for (reports, (prompt, completion, cached, written), estimated) in rows {
            let mut reported = Reported::default();
            for report in &reports {
                reported.absorb(report);
            }
            let expected = (Usage { prompt, completion, cached, written, ..Usage::default() }, estimated);
            assert_eq!(reported.complete(100, 8), expected, "{reports:?}");
        }
    }
}
