//! How a model is asked to think, which depends on its age: up to Claude 4.5 with a budget of tokens, from 4.6 on with
//! an effort that the model spends as it sees fit. Old models refuse an effort, and new ones a budget.

use serde_json::{Map, Value, json};

use synthdev_domain::model::{ModelChoice, ToolChoice};

/// The first generation that thinks without a budget.
const ADAPTIVE: (u32, u32) = (4, 6);
/// The smallest budget that is taken.
const LEAST: u64 = 1_024;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ThinkingMode {
    Off,
    /// At most so many tokens.
    Budget(u64),
    /// An effort in the protocol's words.
    Adaptive(String),
}

impl ThinkingMode {
    /// `answer_tokens`: the longest reply, thinking included. `lacks_signed_thinking`: the model is in the middle of a
    /// turn that began without a signed thinking block.
    pub fn for_request(
        choice: &ModelChoice,
        tool_choice: &ToolChoice,
        answer_tokens: u64,
        lacks_signed_thinking: bool,
    ) -> Self {
        // A tool can only be forced on a model that does not think first.
        let forced = matches!(tool_choice, ToolChoice::Required | ToolChoice::Named(_));
        if forced || !choice.parameters.requests_reasoning() {
            return Self::Off;
        }
        let effort = choice.parameters.reasoning_effort.as_deref().unwrap_or_default();
        let effort = effort.trim().to_ascii_lowercase();
        if model_generation(&choice.model).is_none_or(|age| age >= ADAPTIVE) {
            return Self::Adaptive(if effort == "minimal" { "low".to_owned() } else { effort });
        }
        let wanted = match effort.as_str() {
            "minimal" => LEAST,
            "low" => 4_096,
            "high" => 24_576,
            "xhigh" | "max" => 49_152,
            _ => 10_240,
        };
        // Half of the reply stays for text.
        let budget = wanted.min(answer_tokens / 2);
        if lacks_signed_thinking || budget < LEAST { Self::Off } else { Self::Budget(budget) }
    }

    /// Writes it into the body of a request.
    pub fn write_to(&self, body: &mut Map<String, Value>) {
        match self {
            Self::Off => {}
            Self::Budget(tokens) => {
                body.insert("thinking".to_owned(), json!({ "type": "enabled", "budget_tokens": tokens }));
            }
            Self::Adaptive(effort) => {
                // Without `display`, the newest models return no thinking text.
                let thinking = json!({ "type": "adaptive", "display": "summarized" });
                body.insert("thinking".to_owned(), thinking);
                body.insert("output_config".to_owned(), json!({ "effort": effort }));
            }
        }
    }
}

/// Major and minor version in a model's name. `None`: a Claude model without a number, which only new ones are. Other
/// models with this protocol use its oldest form.
fn model_generation(model: &str) -> Option<(u32, u32)> {
    let model = model.to_ascii_lowercase();
    if !model.contains("claude") {
        return Some((0, 0));
    }
    let parts: Vec<&str> = model.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    // Longer numbers are dates.
    let number = |part: &&str| part.parse::<u32>().ok().filter(|_| part.len() <= 2);
    let at = parts.iter().position(|part| number(part).is_some())?;
    Some((number(&parts[at])?, parts.get(at + 1).and_then(number).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use synthdev_domain::model::ModelParameters;

    #[test]
    fn the_generation_is_in_the_name() {
        let rows = [
            ("claude-3-5-haiku-20241022", Some((3, 5))),
            ("claude-3-7-sonnet-latest", Some((3, 7))),
            ("claude-opus-4-20250514", Some((4, 0))),
            ("claude-opus-4-5-20251101", Some((4, 5))),
            ("anthropic/claude-sonnet-4.6", Some((4, 6))),
            ("eu.anthropic.claude-sonnet-4-20250514-v1:0", Some((4, 0))),
            ("claude-opus-5", Some((5, 0))),
            ("claude-next", None),
            ("some-local-model-70b", Some((0, 0))),
        ];
        for (model, expected) in rows {
            assert_eq!(model_generation(model), expected, "{model}");
        }
    }

    #[test]
    fn thinking_is_asked_for_as_each_model_takes_it() {
        let forced = ToolChoice::Named("decide".to_owned());
        let adaptive = |effort: &str| ThinkingMode::Adaptive(effort.to_owned());
        let auto = ToolChoice::Auto;
        let rows = [
            ("claude-sonnet-4-5", Some("low"), &auto, 32_000, false, ThinkingMode::Budget(4_096)),
            ("claude-sonnet-4-5", Some("High"), &auto, 32_000, false, ThinkingMode::Budget(16_000)),
            ("claude-sonnet-4-5", Some("high"), &auto, 2_000, false, ThinkingMode::Off),
            ("claude-sonnet-4-5", Some("high"), &auto, 32_000, true, ThinkingMode::Off),
            ("claude-sonnet-4-5", Some("high"), &forced, 32_000, false, ThinkingMode::Off),
            ("claude-sonnet-4-5", Some("none"), &auto, 32_000, false, ThinkingMode::Off),
            ("claude-sonnet-4-5", None, &auto, 32_000, false, ThinkingMode::Off),
            ("claude-opus-4-7", Some("minimal"), &auto, 2_000, true, adaptive("low")),
            ("claude-opus-4-7", Some("xhigh"), &auto, 2_000, false, adaptive("xhigh")),
            ("claude-opus-4-7", Some("high"), &ToolChoice::Required, 2_000, false, ThinkingMode::Off),
            ("mine", Some("odd"), &auto, 32_000, false, ThinkingMode::Budget(10_240)),
        ];
        for (model, effort, tool_choice, tokens, lacks_signed_thinking, expected) in rows {
            let parameters =
                ModelParameters { reasoning_effort: effort.map(str::to_owned), ..ModelParameters::default() };
            let choice = ModelChoice { model: model.to_owned(), parameters, ..ModelChoice::default() };
            let found = ThinkingMode::for_request(&choice, tool_choice, tokens, lacks_signed_thinking);
            assert_eq!(found, expected, "{model} {effort:?} {tokens}");
        }
    }
}
