//! Summarizing before a prompt would leave something out (`trim: "summarize"`): one call of the agent's own model
//! inside its turn. If it fails, the turn continues without a summary.

use std::sync::Arc;

use super::{CallId, Effect, Machine, NextHandler, RunEvent, WaitState};
use crate::agent_turn::{SummarizationState, SummaryCoverage, SummaryPart};
use crate::conversation::ConversationSummary;
use crate::model_caller::ModelCaller;
use crate::prompt::summary;
use synthdev_domain::agent::AgentSpec;
use synthdev_domain::context::ContextSpec;
use synthdev_domain::model::{ModelError, ModelReply, ModelRequest, ToolChoice};

impl Machine {
    /// Asks the model that the context names, or else the agent's own, for a summary of the part that has to make room.
    /// The next answer is taken for it.
    pub(super) fn call_for_summary(
        &mut self,
        agent: &AgentSpec,
        context: &ContextSpec,
        asked: SummaryRequest,
    ) -> NextHandler {
        let choice = context.summary.as_deref().unwrap_or(&agent.choice);
        let state = self.core.state_name();
        let mut request = asked.messages.map(|messages| ModelRequest {
            agent: agent.id.clone(),
            state,
            choice: choice.clone(),
            messages,
            tools: [].into(),
            parsing_tools: Vec::new(),
            tool_choice: ToolChoice::Auto,
            answer_schema: None,
        });
        if let Err(next) = self.budgets.fit_budgets(&mut self.core, agent, request.as_mut()) {
            return next;
        }
        if let Some(turn) = self.core.frame_mut().and_then(|frame| frame.agent_turn.as_mut()) {
            turn.summarization = SummarizationState::Asked(asked.coverage);
            turn.requested_model = (!choice.fallback.is_empty()).then(|| Box::new(choice.clone()));
        }
        self.budgets.reserve_budget(&mut self.core, request.as_ref());
        let call = self.core.next_call();
        self.core.emit_event(RunEvent::SummaryCalled {
            call,
            role: self.role_for_event(agent),
            agent: self.core.speaker_name(&agent.id),
            context: context.name.clone(),
            model: choice.model.clone(),
            entries: asked.coverage.replaced_count,
        });
        if let Some(request) = request {
            self.core.push_effect(Effect::CallModel { call, request: Arc::new(request) });
        }
        self.core.branches.current.wait_state = WaitState::Model(call);
        NextHandler::Wait
    }

    /// The role of the agent in events; empty for runs older than this field.
    pub(super) fn role_for_event(&self, agent: &AgentSpec) -> String {
        if self.core.spec.checks_budgets_ahead() { agent.role.clone() } else { String::new() }
    }

    /// The part that the pending model call summarizes; `None` if the call is the agent's own.
    pub(super) fn pending_summary_coverage(&self) -> Option<SummaryCoverage> {
        match self.core.frame()?.agent_turn.as_ref()?.summarization {
            SummarizationState::Asked(covering) => Some(covering),
            SummarizationState::Free | SummarizationState::GivenUp => None,
        }
    }

    pub(super) fn on_summary(
        &mut self,
        call: CallId,
        agent: &ModelCaller,
        covering: SummaryCoverage,
        reply: &ModelReply,
    ) -> NextHandler {
        let Some(workflow) = self.core.workflow() else { return NextHandler::Wait };
        let Some(context) = workflow.contexts.get(agent.context.0) else { return NextHandler::Wait };
        let choice = agent.model_choice();
        let charge = self.charge_reply(agent, reply);
        self.warn_substitution(choice, reply);
        let text = summary::truncate_summary(&reply.text, covering);
        let is_compacting = self.is_compacting();
        // one that the user wants tells itself what it saves
        let is_taken = !is_compacting && !text.is_empty();
        let saved_tokens = if is_taken { self.take_summary(agent, covering, &text) } else { 0 };
        self.core.emit_event(RunEvent::ContextSummarized {
            call,
            agent: agent.speaker.clone(),
            side: agent.side,
            context: context.name.clone(),
            entries: if text.is_empty() { 0 } else { covering.replaced_count },
            saved_tokens,
            text: text.clone(),
            model: reply.model.as_ref().unwrap_or(&choice.model).clone(),
            usage: charge.usage,
            cost_usd: charge.cost_usd,
            duration_ms: reply.duration_ms,
            estimated: charge.estimated,
        });
        if is_compacting {
            return self.finish_compaction(agent.context, covering, text);
        }
        if text.is_empty() {
            return self.without_summary(&agent.id, &context.name, "the model wrote nothing");
        }
        NextHandler::CallModel
    }

    /// Later prompts show the summary. Returns the tokens that the next one has less of the conversation, by estimate.
    fn take_summary(&mut self, agent: &ModelCaller, covering: SummaryCoverage, text: &str) -> u64 {
        let before = self.tokens_of_turn();
        let text = text.to_owned();
        let Some(frame) = self.core.frame_mut() else { return 0 };
        let summary = Some(ConversationSummary::new(covering.covered_count, covering.replaced_count, text));
        match covering.part {
            SummaryPart::Log => {
                if let Some(conversation) = frame.conversation_mut(agent.context) {
                    conversation.summary = summary;
                }
            }
            SummaryPart::Visit => {
                if let Some(turn) = frame.agent_turn.as_mut() {
                    turn.record = summary;
                }
            }
        }
        if let Some(turn) = frame.agent_turn.as_mut() {
            turn.summarization = SummarizationState::Free;
        }
        before.saturating_sub(self.tokens_of_turn())
    }

    pub(super) fn on_summary_failed(&mut self, agent: &AgentSpec, error: &ModelError) -> NextHandler {
        if self.is_compacting() {
            return self.abandon_compaction(&error.to_string());
        }
        let Some(workflow) = self.core.workflow() else { return NextHandler::Wait };
        let context = workflow.contexts.get(agent.context.0).map(|context| context.name.clone());
        self.without_summary(&agent.id, &context.unwrap_or_default(), &error.to_string())
    }

    /// Leaves out the oldest entries instead, with a warning.
    fn without_summary(&mut self, agent: &str, context: &str, why: &str) -> NextHandler {
        if let Some(turn) = self.core.frame_mut().and_then(|frame| frame.agent_turn.as_mut()) {
            turn.summarization = SummarizationState::GivenUp;
        }
        let text = format!(
            "the beginning of `{context}` could not be summed up for `{agent}`, it is left out: {why}"
        );
        self.core.emit_warning("summary_failed", text);
        NextHandler::CallModel
    }
}

/// The request for a summary.
pub(super) struct SummaryRequest {
    pub(super) coverage: SummaryCoverage,
    /// `None`: no model will be called.
    pub(super) messages: Option<Vec<synthdev_domain::message::ChatMessage>>,
}
