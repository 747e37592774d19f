//! How much of a conversation has a place in the model's own window, beside the prompt, the tools and an answer: what
//! cannot be taken is not sent.

use super::group::Scene;
use crate::domain::context::CHARACTERS_A_TOKEN;
use crate::engine::sight::Sight;

/// As the limit is called to people.
pub(super) const NAME: &str = "the model's window";
/// Where nothing says how long an answer may be, this part of the window is for it.
const ANSWER: u64 = 5;

/// Characters; `None` where the window is not known.
pub(super) fn room(scene: &Scene<'_>) -> Option<usize> {
    let choice = &scene.agent.choice;
    let window = choice.context_size?;
    let most = window / 2;
    let answer = choice.parameters.max_output_tokens.unwrap_or(window / ANSWER).min(most);
    let tokens = usize::try_from(window - answer).unwrap_or(usize::MAX);
    let whole = tokens.saturating_mul(CHARACTERS_A_TOKEN);
    let known = scene.thread.sights.get(&scene.turn.agent).and_then(Sight::around);
    Some(whole.saturating_sub(known.unwrap_or_else(|| around(scene))))
}

/// Characters of a request that are not the conversation.
pub(super) fn around(scene: &Scene<'_>) -> usize {
    let agent = scene.agent;
    let prompt: usize = agent.system_prompt.len() + scene.brief.parts(agent.without).map(str::len).sum::<usize>();
    let examples: usize = agent.examples.iter().map(|message| message.content.len()).sum();
    let tools = agent.tools.iter().map(|tool| (&tool.description, &tool.parameters));
    let decisions = agent.parsing_tools.iter().map(|tool| (&tool.description, &tool.parameters));
    let tools: usize = tools.chain(decisions).map(|(text, form)| text.len() + form.to_string().len()).sum();
    prompt + examples + tools
}
