//! Token counts as OpenAI and those who follow it report them, in both of its protocols, and an estimate where they
//! do not.

use serde_json::Value;

use crate::domain::cost::Usage;

use super::tokens::{complete, whole};

/// What was reported; each part may be missing.
#[derive(Clone, Copy, Default, Debug)]
pub struct Reported {
    prompt: Option<u64>,
    completion: Option<u64>,
    cached: Option<u64>,
    reasoning: Option<u64>,
}

impl Reported {
    /// Takes what a usage object holds; later reports replace earlier ones, part by part.
    pub fn absorb(&mut self, value: &Value) {
        let count = |paths: &[&str]| paths.iter().find_map(|path| whole(value.pointer(path)?));
        let cached = [
            "/prompt_tokens_details/cached_tokens",
            "/input_tokens_details/cached_tokens",
            "/prompt_cache_hit_tokens",
            "/cached_tokens",
        ];
        self.prompt = count(&["/prompt_tokens", "/input_tokens"]).or(self.prompt);
        self.completion = count(&["/completion_tokens", "/output_tokens"]).or(self.completion);
        self.cached = count(&cached).or(self.cached);
        let reasoning = [
            "/completion_tokens_details/reasoning_tokens",
            "/output_tokens_details/reasoning_tokens",
            "/reasoning_tokens",
        ];
        self.reasoning = count(&reasoning).or(self.reasoning);
    }

    /// The counts, and whether a part of them had to be estimated. A report of nothing but zeros is no report.
    pub fn complete(self, prompt_bytes: usize, completion_bytes: usize) -> (Usage, bool) {
        let reported = Usage {
            prompt: self.prompt.unwrap_or(0),
            cached: self.cached.unwrap_or(0),
            reasoning: self.reasoning.unwrap_or(0),
            ..Usage::default()
        };
        complete(reported, self.completion, (prompt_bytes, completion_bytes))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reports_of_every_dialect() {
        let rows = [
            (json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}), (10, 5, 0, 0), false),
            (
                json!({"prompt_tokens": 10, "completion_tokens": 5,
                    "prompt_tokens_details": {"cached_tokens": 8},
                    "completion_tokens_details": {"reasoning_tokens": 3}}),
                (10, 5, 8, 3),
                false,
            ),
            (
                json!({"prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 4}),
                (9, 1, 4, 0),
                false,
            ),
            (json!({"input_tokens": 7.0, "output_tokens": 2}), (7, 2, 0, 0), false),
            (
                json!({"input_tokens": 10, "input_tokens_details": {"cached_tokens": 8},
                    "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 3}}),
                (10, 5, 8, 3),
                false,
            ),
            (json!({"prompt_tokens": 10, "prompt_tokens_details": null}), (10, 2, 0, 0), true),
            (json!({"prompt_tokens": 0, "completion_tokens": 0}), (25, 2, 0, 0), true),
            (json!({}), (25, 2, 0, 0), true),
        ];
        for (report, (prompt, completion, cached, reasoning), estimated) in rows {
            let mut reported = Reported::default();
            reported.absorb(&report);
            let expected = (Usage { prompt, completion, cached, reasoning, ..Usage::default() }, estimated);
            assert_eq!(reported.complete(100, 8), expected, "{report}");
        }
    }
}
