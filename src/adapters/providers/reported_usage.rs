//! Token counts as servers report them, and an estimate where they do not. In both of OpenAI's protocols, and in those
//! of compatible servers, cached tokens are part of the prompt tokens; Anthropic reports tokens read from the cache and
//! written into it beside the fresh tokens.

use serde_json::Value;

use synthdev_domain::cost::TokenUsage;

use super::token_estimate::{estimate_tokens, parse_count};

/// What was reported; each part may be missing.
#[derive(Clone, Copy, Default, Debug)]
pub struct ReportedUsage {
    /// All prompt tokens, cached ones included. From OpenAI's protocols.
    prompt: Option<u64>,
    /// Prompt tokens neither read from nor written to the cache. From Anthropic's protocol.
    uncached: Option<u64>,
    cached: Option<u64>,
    cache_writes: Option<u64>,
    completion: Option<u64>,
    reasoning: Option<u64>,
}

impl ReportedUsage {
    /// Takes a usage object of chat completions or of Responses, both OpenAI's protocols; later reports replace earlier
    /// ones, part by part.
    pub fn absorb_openai_usage(&mut self, value: &Value) {
        let count = |paths: &[&str]| paths.iter().find_map(|path| parse_count(value.pointer(path)?));
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

    /// Takes a usage object of Anthropic's. Reports count from the start of the reply, and later ones may leave out or
    /// reset what an earlier one had: the largest counts.
    pub fn absorb_anthropic_usage(&mut self, usage: &Value) {
        let count = |key: &str| usage.get(key).and_then(parse_count);
        self.uncached = self.uncached.max(count("input_tokens"));
        self.cache_writes = self.cache_writes.max(count("cache_creation_input_tokens"));
        self.cached = self.cached.max(count("cache_read_input_tokens"));
        self.completion = self.completion.max(count("output_tokens"));
    }

    /// The counts, and whether a part of them had to be estimated. A report of nothing but zeros is no report.
    pub fn complete_with_estimates(self, prompt_bytes: usize, completion_bytes: usize) -> (TokenUsage, bool) {
        let (cached, written) = (self.cached.unwrap_or(0), self.cache_writes.unwrap_or(0));
        let apart = || self.uncached.unwrap_or(0).saturating_add(written).saturating_add(cached);
        let counted = self.uncached.is_some() || self.cache_writes.is_some();
        let prompt = self.prompt.or_else(|| counted.then(apart)).filter(|count| *count > 0);
        let completion = self.completion.filter(|count| *count > 0 || completion_bytes == 0);
        let usage = TokenUsage {
            prompt: prompt.unwrap_or_else(|| estimate_tokens(prompt_bytes)),
            completion: completion.unwrap_or_else(|| estimate_tokens(completion_bytes)),
            cached,
            written,
            reasoning: self.reasoning.unwrap_or(0),
        };
        (usage, prompt.is_none() || completion.is_none())
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
            let mut reported = ReportedUsage::default();
            reported.absorb_openai_usage(&report);
            let expected =
                (TokenUsage { prompt, completion, cached, reasoning, ..TokenUsage::default() }, estimated);
            assert_eq!(reported.complete_with_estimates(100, 8), expected, "{report}");
        }
    }

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
            let mut reported = ReportedUsage::default();
            for report in &reports {
                reported.absorb_anthropic_usage(report);
            }
            let expected =
                (TokenUsage { prompt, completion, cached, written, ..TokenUsage::default() }, estimated);
            assert_eq!(reported.complete_with_estimates(100, 8), expected, "{reports:?}");
        }
    }
}
