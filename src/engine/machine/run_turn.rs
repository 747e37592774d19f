//! An agent's turn: what its input becomes, the next model request, and how the turn ends.

use std::sync::Arc;

use serde_json::Value;

use super::build_prompt::{PromptBuilder, WindowUpdate};
use super::next_handler::TurnEnd;
use super::{CallFrame, CallId, Effect, Machine, NextHandler, RunEvent, WaitState};
use crate::agent_turn::{AgentTurn, TurnEntry};
use crate::call_frame::{TurnContinuation, WorkResult, workflow_author};
use crate::conversation::LiveConversation;
use crate::prompt;
use crate::replay_skips::SkippedCallKind;
use crate::run_spec::TELLS_BEGUN_SINCE;
use synthdev_domain::agent::{AgentSpec, MemoryPolicy};
use synthdev_domain::context::{ContextEntry, ContextSpec, ConversationSide, MessageAuthor, TrimPolicy};
use synthdev_domain::ids::AgentIx;
use synthdev_domain::message::{ChatMessage, ChatRole, ToolCall};
use synthdev_domain::model::{ModelChoice, ModelRequest, ToolChoice};
use synthdev_domain::run_error::RunError;
use synthdev_domain::workflow::{AgentFunction, StateBody};

impl Machine {
    pub(super) fn begin_turn(&mut self, ix: AgentIx, input: Option<String>) -> NextHandler {
        let Some(workflow) = self.core.workflow() else { return NextHandler::Wait };
        let Some(agent) = workflow.agent(ix) else { return NextHandler::Wait };
        let Some(frame) = self.core.frame_mut() else { return NextHandler::Wait };
        let length = frame.conversations.get(agent.context.0).map_or(0, LiveConversation::length);
        let continues =
            frame.agent_memory(ix).and_then(|memory| memory.continuation.take()).is_some_and(|earlier| {
                earlier.context_length == length && (earlier.input == input || input.is_none())
            });
        let state = frame.state;
        if continues
            && !frame.visit.work_restarted
            && let Some(visits) = frame.visits.get_mut(state.0)
        {
            *visits = visits.saturating_sub(1);
        }
        let private = agent.receives_input_privately();
        let stores_input = !private && !continues && input.is_some();
        // An agent does not need a message again that it remembers.
        let directive = private && input.is_some() && !(continues && agent.memory == MemoryPolicy::Private);
        let forced = agent.parsing_tools.iter().find(|tool| tool.parsing_only);
        let turn = AgentTurn {
            input: input.clone(),
            stores_input,
            directive,
            input_role: workflow_author(&workflow),
            entries: std::mem::take(&mut frame.visit.rounds),
            allowed: agent.max_tool_rounds,
            choice: forced.map_or(ToolChoice::Auto, |tool| ToolChoice::Named(tool.name.clone())),
            ..AgentTurn::new(ix, agent)
        };
        frame.agent_turn = Some(turn);
        self.begin_with_known_choice(agent);
        if let Some(text) = input.filter(|_| stores_input || directive) {
            self.core.emit_event(RunEvent::MessageAdded {
                context: context_name(&workflow, agent),
                author: workflow_author(&workflow),
                role: ChatRole::User,
                text,
                private,
                call: None,
            });
        }
        self.call_model()
    }

    /// `addUserMessage`: adds one shared entry. Calls no model and keeps the agents' last replies.
    pub(super) fn add_message(&mut self, ix: AgentIx, text: String) -> NextHandler {
        let Some(workflow) = self.core.workflow() else { return NextHandler::Wait };
        let Some(agent) = workflow.agent(ix) else { return NextHandler::Wait };
        let author = match agent.side {
            ConversationSide::User => MessageAuthor::Agent(agent.id.clone()),
            ConversationSide::Assistant => workflow_author(&workflow),
        };
        if let Some(conversation) =
            self.core.frame_mut().and_then(|frame| frame.conversation_mut(agent.context))
        {
            conversation.push(ContextEntry::text(author.clone(), ChatRole::User, text.clone()));
        }
        let context = context_name(&workflow, agent);
        self.core.emit_event(RunEvent::MessageAdded {
            context,
            author,
            role: ChatRole::User,
            text,
            private: false,
            call: None,
        });
        self.set_result(None, Some(&agent.id), Vec::new());
        NextHandler::ChooseTransition
    }

    /// Resets the whole context, for all its agents, to its starting messages.
    pub(super) fn clear_conversation(&mut self, ix: AgentIx) -> NextHandler {
        let Some(workflow) = self.core.workflow() else { return NextHandler::Wait };
        let Some(agent) = workflow.agent(ix) else { return NextHandler::Wait };
        let Some(frame) = self.core.frame_mut() else { return NextHandler::Wait };
        if let Some((conversation, spec)) =
            frame.conversation_mut(agent.context).zip(workflow.contexts.get(agent.context.0))
        {
            conversation.reset_to_start(spec);
        }
        self.set_result(None, Some(&agent.id), Vec::new());
        NextHandler::ChooseTransition
    }

    fn warn_about_shortening(&mut self, trimmed: Option<String>, shortened: Option<String>) {
        for (code, text) in [("context_trimmed", trimmed), ("context_shortened", shortened)] {
            text.into_iter().for_each(|text| self.core.emit_warning(code, text));
        }
    }

    /// Asks the agent of the current visit, with its prompt as of now.
    pub(super) fn call_model(&mut self) -> NextHandler {
        self.deliver_team_messages();
        if self.breakpoints.stop_before_call(&mut self.core, &self.ledger) {
            return NextHandler::Wait;
        }
        if let Err(next) = self.budgets.check_model_call(&mut self.core) {
            return next;
        }
        let Some(workflow) = self.core.workflow() else { return NextHandler::Wait };
        let state = self.core.state_name();
        let spared =
            self.core.replay_skips.skips_call(CallId(self.core.last_call + 1), SkippedCallKind::Model);
        let spec = Arc::clone(&self.core.spec);
        let Some(CallFrame { agent_turn: Some(turn), conversations, .. }) = self.core.frame_mut() else {
            return NextHandler::Wait;
        };
        let Some(agent) = workflow.agent(turn.agent) else { return NextHandler::Wait };
        let places = workflow.contexts.get(agent.context.0).zip(conversations.get_mut(agent.context.0));
        let Some((context, conversation)) = places else { return NextHandler::Wait };
        let builder = PromptBuilder {
            workflow: &workflow,
            agent,
            context,
            system_context: &spec.brief,
            version: spec.machine_version,
        };
        let moved = match builder.update_window(conversation, turn, spared) {
            WindowUpdate::Summarize(asked) => return self.call_for_summary(agent, context, asked),
            WindowUpdate::Moved(text) => Some(text),
            WindowUpdate::Stands => None,
        };
        let (messages, outline) = match builder.build_messages(conversation, turn, spared) {
            Ok(seen) => seen,
            Err(overflow) => return NextHandler::fail(too_long(&overflow, context, &agent.choice)),
        };
        turn.requested_model = (!agent.choice.fallback.is_empty()).then(|| Box::new(agent.choice.clone()));
        let cut = builder.new_shortening_warning(conversation, turn, outline.shortened_count);
        let mut request = messages.map(|messages| model_request(agent, state.clone(), messages, turn));
        self.warn_about_shortening(moved, cut);
        if let Err(next) = self.budgets.fit_budgets(&mut self.core, agent, request.as_mut()) {
            return next;
        }
        self.budgets.reserve_budget(&mut self.core, request.as_ref());
        let call = self.core.next_call();
        self.core.emit_event(RunEvent::ModelCalled {
            call,
            state,
            role: self.role_for_event(agent),
            agent: self.core.speaker_name(&agent.id),
            side: agent.side,
            model: agent.choice.model.clone(),
            provider: agent.choice.provider.clone(),
            messages: outline.messages,
        });
        if let Some(request) = request {
            self.core.push_effect(Effect::CallModel { call, request: Arc::new(request) });
        }
        self.core.branches.current.wait_state = WaitState::Model(call);
        NextHandler::Wait
    }

    /// Ends the visit: the reply enters the context, scripts can read it, the transitions are evaluated. A user seat's
    /// decision stays private.
    pub(super) fn end_turn(&mut self, end: TurnEnd) -> NextHandler {
        if let Some(next) = self.await_own_agents() {
            return next;
        }
        let TurnEnd { text, calls, decision } = end;
        let Some(workflow) = self.core.workflow() else { return NextHandler::Wait };
        let asked = self.excludes_from_context();
        let stores = self.core.current_state().is_some_and(|(_, state)| state.store.is_some());
        let names_call = self.core.spec.names_calls_of_messages();
        let Some(frame) = self.core.frame_mut() else { return NextHandler::Wait };
        let Some(turn) = frame.agent_turn.take() else { return NextHandler::Wait };
        let Some(agent) = workflow.agent(turn.agent) else { return NextHandler::Wait };
        let (ix, side) = (turn.agent, turn.side);
        let call = turn.answered_call.filter(|_| names_call);
        let private = asked || (side == ConversationSide::User && !decision.is_empty());
        let ran_tools = decision.is_empty() && !calls.is_empty();
        let input = turn.input.clone().filter(|_| ran_tools);
        if let Some(conversation) = frame.conversation_mut(agent.context) {
            turn.commit_to(conversation, private, agent.memory == MemoryPolicy::Private);
        }
        let context_length = frame.conversations.get(agent.context.0).map_or(0, LiveConversation::length);
        if let Some(memory) = frame.agent_memory(ix) {
            memory.continuation = ran_tools.then_some(TurnContinuation { input, context_length });
        }
        frame.agent_replied = true;
        // mostly the agent's last known reply
        let known = frame.agent_memory(ix).and_then(|memory| memory.last_response.clone());
        let said = known.filter(|known| **known == *text).unwrap_or_else(|| text.as_str().into());
        frame.last_response = Some(Arc::clone(&said));
        frame.last_tool_calls.clone_from(&calls);
        let result = if stores { turn_result(&text, &decision) } else { Value::Null };
        frame.last_parsing_calls = decision;
        if !text.trim().is_empty() && !private {
            self.core.emit_event(RunEvent::MessageAdded {
                context: context_name(&workflow, agent),
                author: MessageAuthor::Agent(self.core.speaker_name(&agent.id)),
                role: side.stored_role(),
                text,
                private: false,
                call,
            });
        }
        self.set_result(Some(said), Some(&agent.id), calls);
        NextHandler::StoreResult(result)
    }

    pub(super) fn set_result(&mut self, text: Option<Arc<str>>, agent: Option<&str>, calls: Vec<ToolCall>) {
        let agent = agent.map(str::to_owned);
        if let Some(frame) = self.core.frame_mut() {
            frame.result = Some(WorkResult::Visit { text, agent, calls });
        }
    }

    /// A visit that cannot continue: completed turns stay in the context (their tools have acted), a call that failed
    /// at once leaves no trace. Private work is kept for the next attempt alone, so that it does not repeat what its
    /// tools have done.
    pub(super) fn drop_visit(&mut self) {
        if self.core.workflow().is_some_and(|workflow| !workflow.conversational) {
            self.stop_agents_of_frame();
        }
        let Some(workflow) = self.core.workflow() else { return };
        let asked = self.excludes_from_context();
        let tells_begun = self.core.spec.machine_version >= TELLS_BEGUN_SINCE;
        self.core.stop_concurrent_calls();
        let Some(frame) = self.core.frame_mut() else { return };
        let Some(mut turn) = frame.agent_turn.take() else { return };
        turn.close_open(tells_begun);
        let Some(agent) = workflow.agent(turn.agent) else { return };
        let (ix, input) = (turn.agent, turn.input.clone());
        if turn.side == ConversationSide::User || asked {
            frame.visit.rounds = executed_rounds(turn.entries, agent);
        } else if turn.has_replied()
            && let Some(conversation) = frame.conversation_mut(agent.context)
        {
            turn.commit_to(conversation, false, agent.memory == MemoryPolicy::Private);
            // the same input continues from here
            let ran_tools = conversation.log.entries.last().is_some_and(|entry| !entry.calls.is_empty());
            let context_length = conversation.length();
            if let Some(memory) = frame.agent_memory(ix).filter(|_| ran_tools && !workflow.conversational) {
                memory.continuation = Some(TurnContinuation { input, context_length });
            }
        } else {
            // a failed call does not lose the user's guidance
            frame.visit.rounds = turn.entries.into_iter().filter(is_guidance).collect();
        }
        frame.clear_last_answer();
    }

    /// Whether what the current state's agent says is kept from its context.
    fn excludes_from_context(&self) -> bool {
        let asks = |work: &StateBody| matches!(work, StateBody::Agent { function: AgentFunction::Ask, .. });
        self.core.current_state().is_some_and(|(_, state)| asks(&state.work))
    }
}

/// The entries up to the last executed tool call, and the user's guidance after it.
fn executed_rounds(mut entries: Vec<TurnEntry>, agent: &AgentSpec) -> Vec<TurnEntry> {
    let decides = |name: &str| agent.parsing_tools.iter().any(|tool| tool.name == name);
    let acted = |turn: &TurnEntry| turn.entry.calls.iter().any(|answered| !decides(&answered.call.name));
    let since = entries.split_off(entries.iter().rposition(acted).map_or(0, |last| last + 1));
    entries.extend(since.into_iter().filter(is_guidance));
    entries
}

/// What the user said to the agent, and what it heard of agents that it started.
fn is_guidance(turn: &TurnEntry) -> bool {
    turn.entry.author == MessageAuthor::Human
        || turn.entry.author == MessageAuthor::Workflow && !turn.private
        || turn.is_foreign
}

pub(super) fn context_name(workflow: &synthdev_domain::workflow::Workflow, agent: &AgentSpec) -> String {
    workflow.contexts.get(agent.context.0).map(|context| context.name.clone()).unwrap_or_default()
}

fn too_long(overflow: &prompt::ContextOverflow, context: &ContextSpec, choice: &ModelChoice) -> RunError {
    let (title, what, hint) = if context.trim == TrimPolicy::Error {
        (
            "The conversation is too long",
            "the view of the conversation, which `trim: \"error\"` forbids to cut, has",
            "clear the conversation earlier, or let it be cut: \"trim\": \"drop_oldest\" or \"summarize\"",
        )
    } else {
        (
            "The conversation cannot be cut to its limit",
            "starting and pinned messages and the input, which are never cut, have",
            "raise the limit of the context, or shorten the input, the starting_messages or pin_first",
        )
    };
    let (limit, length) = (overflow.limit, overflow.length);
    let (allowed, hint) = match choice.context_size.filter(|_| overflow.field == prompt::WINDOW) {
        Some(window) => (
            format!(
                "the window of {} has {window} tokens, which leaves {limit} characters for `{}`: it was not sent",
                choice.model, context.name
            ),
            match limit {
                0 => {
                    "the prompt and the tools of its role fill the window: choose a model with a larger window, or a role with fewer tools"
                }
                _ => {
                    "shorten the input, the starting_messages or pin_first, or choose a model with a larger window"
                }
            },
        ),
        None => (format!("{} of `{}` allows {limit}", overflow.field, context.name), hint),
    };
    RunError::new("context_overflow", title, format!("{what} {length} characters; {allowed}")).with_hint(hint)
}

/// What `output` keeps of a visit: the arguments of its decision, else its text.
fn turn_result(text: &str, decision: &[ToolCall]) -> Value {
    let arguments = decision.first().and_then(|call| serde_json::from_str(&call.arguments).ok());
    arguments.unwrap_or_else(|| Value::from(text))
}

fn model_request(
    agent: &AgentSpec,
    state: String,
    messages: Vec<ChatMessage>,
    turn: &AgentTurn,
) -> ModelRequest {
    ModelRequest {
        agent: agent.id.clone(),
        state,
        choice: agent.choice.clone(),
        messages,
        tools: agent.tools.clone(),
        parsing_tools: turn.offered_parsing_tools(agent),
        tool_choice: turn.choice.clone(),
        answer_schema: None,
    }
}
