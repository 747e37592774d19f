//! `SteeringAction::Compact`: the user has a conversation summed up.
//!
//! One model call in a turn of its own, which says nothing in the conversation. Only a summary that is shorter than what
//! it replaces is taken; whatever else comes of the call leaves the conversation as it was.

use std::sync::Arc;

use super::build_prompt::PromptBuilder;
use super::{CallFrame, CallId, Machine, NextHandler, PendingQuestion, RunEvent, WaitState};
use crate::agent_turn::{AgentTurn, SummaryCoverage};
use crate::conversation::{ConversationSummary, LiveConversation};
use crate::effect::UserQuestion;
use crate::replay_skips::SkippedCallKind;
use synthdev_domain::agent::AgentSpec;
use synthdev_domain::ids::ContextIx;
use synthdev_domain::workflow::StateBody;

impl Machine {
    /// The turn under way only sums the conversation up.
    pub(super) fn is_compacting(&self) -> bool {
        self.core
            .frame()
            .and_then(|frame| frame.agent_turn.as_ref())
            .is_some_and(|turn| turn.compaction.is_some())
    }

    pub(super) fn on_compaction_wanted(&mut self, keep: String) -> NextHandler {
        let waits =
            matches!(self.core.branches.current.wait_state, WaitState::Person(_, PendingQuestion::Message));
        if !self.core.is_chat() || !waits {
            self.core
                .emit_warning("compact", "only a conversation that waits for a message can be summed up");
            return NextHandler::Wait;
        }
        let Some((workflow, state)) = self.core.current_state() else { return NextHandler::Wait };
        let StateBody::Agent { agent: ix, .. } = state.work else { return NextHandler::Wait };
        let Some(agent) = workflow.agent(ix) else { return NextHandler::Wait };
        let turn = AgentTurn::for_compaction(ix, agent, keep.trim());
        // the message is asked for again when it is done
        self.withdraw_pending();
        self.core.branches.current.wait_state = WaitState::New;
        self.core.branches.current.was_shown = false;
        if let Some(frame) = self.core.frame_mut() {
            frame.agent_turn = Some(turn);
        }
        NextHandler::CallModel
    }

    /// Also once more after a failed attempt, and after a budget was raised.
    pub(super) fn call_for_compaction(&mut self) -> NextHandler {
        if let Err(next) = self.budgets.check_model_call(&mut self.core) {
            return next;
        }
        let next_call = CallId(self.core.last_call + 1);
        let spared = self.core.replay_skips.skips_call(next_call, SkippedCallKind::Model);
        let Some((workflow, ix)) = self.compacting_agent() else { return NextHandler::Wait };
        let Some(agent) = workflow.agent(ix) else { return NextHandler::Wait };
        let Some(context) = workflow.contexts.get(agent.context.0) else { return NextHandler::Wait };
        let asked = self.with_compaction_turn(agent, |builder, conversation, turn| {
            let keep = turn.compaction.as_deref().unwrap_or_default();
            builder.compaction_request(conversation, turn, keep, spared)
        });
        match asked.flatten() {
            Some(asked) => self.call_for_summary(agent, context, asked),
            None => self.abandon_compaction("nothing was said since the last summary"),
        }
    }

    /// Takes the summary if it saves something.
    pub(super) fn finish_compaction(
        &mut self,
        context: ContextIx,
        covering: SummaryCoverage,
        text: String,
    ) -> NextHandler {
        if text.is_empty() {
            return self.abandon_compaction("the model wrote nothing");
        }
        let Some((workflow, ix)) = self.compacting_agent() else { return NextHandler::Wait };
        let Some(agent) = workflow.agent(ix) else { return NextHandler::Wait };
        let before_tokens = self.compaction_tokens(agent);
        let summary = ConversationSummary::new(covering.covered_count, covering.replaced_count, text);
        let earlier = self.replace_summary(context, Some(summary));
        let after_tokens = self.compaction_tokens(agent);
        if after_tokens >= before_tokens {
            self.replace_summary(context, earlier);
            return self.abandon_compaction("the summary is not shorter than what was said");
        }
        self.core.emit_event(RunEvent::ConversationCompacted { before_tokens, after_tokens });
        self.end_compaction()
    }

    /// The conversation stays as it was.
    pub(super) fn abandon_compaction(&mut self, why: &str) -> NextHandler {
        self.core
            .emit_warning("compact", format!("the conversation was not summed up, it is as it was: {why}"));
        self.end_compaction()
    }

    fn end_compaction(&mut self) -> NextHandler {
        if let Some(frame) = self.core.frame_mut() {
            frame.agent_turn = None;
        }
        self.core.ask_user(PendingQuestion::Message, UserQuestion::Message)
    }

    fn replace_summary(
        &mut self,
        context: ContextIx,
        summary: Option<ConversationSummary>,
    ) -> Option<ConversationSummary> {
        let conversation = self.core.frame_mut()?.conversation_mut(context)?;
        std::mem::replace(&mut conversation.summary, summary)
    }

    fn compaction_tokens(&self, agent: &AgentSpec) -> u64 {
        let tokens = self.with_compaction_turn(agent, |builder, conversation, turn| {
            builder.conversation_tokens(conversation, turn)
        });
        tokens.unwrap_or(0)
    }

    /// Tokens that the next prompt of the turn under way has of its conversation, by estimate.
    pub(super) fn tokens_of_turn(&self) -> u64 {
        let Some((workflow, ix)) = self.compacting_agent() else { return 0 };
        workflow.agent(ix).map_or(0, |agent| self.compaction_tokens(agent))
    }

    fn compacting_agent(
        &self,
    ) -> Option<(Arc<synthdev_domain::workflow::Workflow>, synthdev_domain::ids::AgentIx)> {
        let ix = self.core.frame()?.agent_turn.as_ref()?.agent;
        Some((self.core.workflow()?, ix))
    }

    fn with_compaction_turn<T>(
        &self,
        agent: &AgentSpec,
        work: impl FnOnce(&PromptBuilder<'_>, &LiveConversation, &AgentTurn) -> T,
    ) -> Option<T> {
        let workflow = self.core.workflow()?;
        let Some(CallFrame { agent_turn: Some(turn), conversations, .. }) = self.core.frame() else {
            return None;
        };
        let context = workflow.contexts.get(agent.context.0)?;
        let conversation = conversations.get(agent.context.0)?;
        let builder = PromptBuilder {
            workflow: &workflow,
            agent,
            context,
            system_context: &self.core.spec.brief,
            version: self.core.spec.machine_version,
        };
        Some(work(&builder, conversation, turn))
    }
}
