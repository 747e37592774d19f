//! Calls, tokens and dollars of one visit, and arithmetic in which nothing overflows.

use std::collections::HashMap;

use synthdev_domain::agent::{AgentSpec, ToolLoop};
use synthdev_domain::context::{CHARACTERS_A_TOKEN, TrimPolicy};
use synthdev_domain::cost::{TokenPrice, TokenUsage};
use synthdev_domain::workflow::{AgentFunction, StateBody, StateSpec, Workflow};

/// Means "without end".
pub(super) const UNBOUNDED: u64 = u64::MAX;
/// A decision that does not fit its schema may be repaired twice; a missing one is asked for once as a call and once as
/// structured output.
const REPAIRS: u64 = 2;
const NUDGES: u64 = 2;

#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct UsageAmount {
    pub(super) calls: u64,
    pub(super) prompt: u64,
    /// 0 where answers have no limit.
    pub(super) answer: u64,
    /// 0 where there is no price.
    pub(super) usd: f64,
}

impl UsageAmount {
    pub(super) fn multiply_by(self, number: u64) -> Self {
        Self {
            calls: saturating_product(self.calls, number),
            prompt: saturating_product(self.prompt, number),
            answer: saturating_product(self.answer, number),
            usd: times_usd(self.usd, number),
        }
    }

    pub(super) fn sum_with(self, other: Self) -> Self {
        Self {
            calls: self.calls.saturating_add(other.calls),
            prompt: self.prompt.saturating_add(other.prompt),
            answer: self.answer.saturating_add(other.answer),
            usd: self.usd + other.usd,
        }
    }

    pub(super) fn max_per_part(self, other: Self) -> Self {
        Self {
            calls: self.calls.max(other.calls),
            prompt: self.prompt.max(other.prompt),
            answer: self.answer.max(other.answer),
            usd: self.usd.max(other.usd),
        }
    }

    pub(super) fn min_per_part(self, other: Self) -> Self {
        Self {
            calls: self.calls.min(other.calls),
            prompt: self.prompt.min(other.prompt),
            answer: self.answer.min(other.answer),
            usd: self.usd.min(other.usd),
        }
    }
}

pub(super) fn saturating_product(one: u64, number: u64) -> u64 {
    one.saturating_mul(number)
}

#[expect(clippy::cast_precision_loss, reason = "dollars of a worst case need no more digits")]
fn times_usd(one: f64, number: u64) -> f64 {
    match (one > 0.0, number) {
        (false, _) | (_, 0) => 0.0,
        (true, UNBOUNDED) => f64::INFINITY,
        (true, number) => one * number as f64,
    }
}

/// What one call of each agent can use, by workflow and agent: it is worked out once, however many states ask it.
#[derive(Default)]
pub(super) struct PerCallUsage(HashMap<(usize, usize), UsageAmount>);

impl PerCallUsage {
    /// What one visit of a state asks of a model itself, retries included; nothing for children and branches.
    pub(super) fn per_visit(&mut self, at: usize, workflow: &Workflow, state: &StateSpec) -> UsageAmount {
        let StateBody::Agent { agent: index, function: AgentFunction::SendUserMessage, .. } = &state.work
        else {
            return UsageAmount::default();
        };
        let Some(agent) = workflow.agent(*index) else { return UsageAmount::default() };
        let call = *self.0.entry((at, index.0)).or_insert_with(|| per_call(workflow, agent));
        call.multiply_by(max_requests(workflow, agent, state)).multiply_by(max_attempts(state))
    }
}

/// The most requests of one try of a state's work.
fn max_requests(workflow: &Workflow, agent: &AgentSpec, state: &StateSpec) -> u64 {
    let rounds = match agent.tool_loop {
        ToolLoop::Auto if !agent.tools.is_empty() => u64::from(agent.max_tool_rounds),
        ToolLoop::Auto | ToolLoop::Step => 0,
    };
    let repairs = if agent.parsing_tools.is_empty() { 0 } else { REPAIRS };
    let nudges = if state.expects.is_empty() { 0 } else { NUDGES };
    // each request may need a summary before it
    let sums = workflow.contexts.get(agent.context.0).is_some_and(|one| one.trim == TrimPolicy::Summarize);
    (1 + rounds + repairs + nudges) * if sums { 2 } else { 1 }
}

/// How often the work of one visit may be tried.
pub(super) fn max_attempts(state: &StateSpec) -> u64 {
    let again = state.recovery.retry.iter().map(|rule| u64::from(rule.max_attempts.saturating_sub(1)));
    again.fold(1, u64::saturating_add)
}

/// The longest request of an agent with its longest answer.
pub(super) fn per_call(workflow: &Workflow, agent: &AgentSpec) -> UsageAmount {
    let context = workflow.contexts.get(agent.context.0).map_or(0, |context| context.limit().0);
    let examples: usize = agent.examples.iter().map(|message| text_length(&message.content)).sum();
    let tools = agent.tools.iter().map(|tool| (&tool.name, &tool.description, &tool.parameters));
    let decisions = agent.parsing_tools.iter().map(|tool| (&tool.name, &tool.description, &tool.parameters));
    let tools: usize = tools
        .chain(decisions)
        .map(|(name, text, schema)| text_length(name) + text_length(text) + schema.to_string().len())
        .sum();
    let reminder = agent.reminder.as_deref().map_or(0, text_length);
    let characters = context
        .saturating_add(text_length(&agent.system_prompt))
        .saturating_add(examples)
        .saturating_add(tools)
        .saturating_add(reminder);
    let prompt = u64::try_from(characters.div_ceil(CHARACTERS_A_TOKEN)).unwrap_or(UNBOUNDED);
    let prompt = prompt.min(agent.choice.context_size.unwrap_or(UNBOUNDED));
    let answer = agent.choice.parameters.max_output_tokens.unwrap_or(0);
    let dearest = |price: TokenPrice| TokenPrice { input: price.max_input_price(), ..price };
    let usage = TokenUsage { prompt, completion: answer, ..TokenUsage::default() };
    let usd = agent.choice.price.map_or(0.0, |price| dearest(price).cost_usd(&usage));
    UsageAmount { calls: 1, prompt, answer, usd }
}

fn text_length(text: &str) -> usize {
    text.chars().count()
}
