//! A model's answer: decisions, ordinary calls, or the final text.

use serde_json::Value;

use super::decision_checks::{
    MAX_REPAIRS, TRUNCATED_DECISION, UNREPAIRED, check_arguments, invalid_decision, parsing_tool,
};
use super::multicall::{is_multicall, unfold_call};
use super::{CallId, Machine, NextHandler, PendingQuestion, RunEvent, WaitState};
use crate::agent_turn::{AgentTurn, OpenReply, RequiredOnlyCause, with_unique_ids};
use crate::model_caller::ModelCaller;
use crate::run_spec::REMEMBERS_DECISIONS_SINCE;
use synthdev_domain::agent::AgentSpec;
use synthdev_domain::approval::ToolPermission;
use synthdev_domain::context::AnsweredCall;
use synthdev_domain::cost::AttemptUsage;
use synthdev_domain::decision_source::DecisionSource;
use synthdev_domain::message::{OpaqueBlock, ToolCall};
use synthdev_domain::model::{FinishReason, ModelError, ModelReply};
use synthdev_domain::run_error::RunError;
use synthdev_domain::tool::{MULTICALL, ToolRisk};

impl Machine {
    pub(super) fn on_replied(&mut self, call: CallId, mut reply: ModelReply) -> NextHandler {
        if self.core.branches.current.wait_state != WaitState::Model(call) {
            return NextHandler::Wait;
        }
        let Some(agent) = self.current_caller() else { return NextHandler::Wait };
        if let Some(covering) = self.pending_summary_coverage() {
            return self.on_summary(call, &agent, covering, &reply);
        }
        if let Some(turn) = self.core.frame_mut().and_then(|frame| frame.agent_turn.as_mut()) {
            turn.answered_call = Some(call);
        }
        reply.tool_calls = with_unique_ids(std::mem::take(&mut reply.tool_calls), call.0);
        self.account_reply(call, &agent, &reply);
        self.warn_substitution(agent.model_choice(), &reply);
        if reply.finish == FinishReason::Length {
            let text = format!("the answer of `{}` was cut at the model's output limit", agent.id);
            self.core.emit_warning("output_cut", text);
        }
        let (parsing, ordinary): (Vec<&ToolCall>, Vec<&ToolCall>) =
            reply.tool_calls.iter().partition(|call| parsing_tool(&agent, &call.name).is_some());
        let parsing: Vec<ToolCall> = parsing.into_iter().cloned().collect();
        let has_ordinary = !ordinary.is_empty();
        self.remember_last_response(&reply.text, &reply.tool_calls, &parsing);
        if has_ordinary {
            self.open_reply(&agent, reply)
        } else if !parsing.is_empty() {
            self.decide_next_step(&agent, reply.text, reply.finish, parsing, reply.sealed)
        } else if reply.text.trim().is_empty() {
            if let Some(words) = self.last_words_of_agent() {
                return NextHandler::end_turn(words, Vec::new(), Vec::new());
            }
            let detail =
                format!("`{}` answered with neither text nor a tool call", agent.model_choice().model);
            let hint = ModelError::Empty { detail: String::new() }.hint();
            NextHandler::fail(
                RunError::new("model.empty", "The model answered nothing", detail).with_hint(hint),
            )
        } else {
            self.final_text(&agent, reply.text, reply.finish)
        }
    }

    fn account_reply(&mut self, call: CallId, agent: &ModelCaller, reply: &ModelReply) {
        let charge = self.charge_reply(agent, reply);
        self.core.emit_event(RunEvent::Replied {
            call,
            agent: agent.speaker.clone(),
            side: agent.side,
            text: reply.text.clone(),
            reasoning: reply.reasoning.clone(),
            tool_calls: reply.tool_calls.clone(),
            model: reply.model.as_ref().unwrap_or(&agent.model_choice().model).clone(),
            usage: charge.usage,
            cost_usd: charge.cost_usd,
            duration_ms: reply.duration_ms,
            estimated: charge.estimated,
        });
    }

    /// The agent's own last response, whichever agent writes next.
    fn remember_last_response(&mut self, text: &str, calls: &[ToolCall], parsing: &[ToolCall]) {
        let Some(frame) = self.core.frame_mut() else { return };
        let Some(ix) = frame.agent_turn.as_ref().map(|turn| turn.agent) else { return };
        if let Some(memory) = frame.agent_memory(ix) {
            memory.replies += 1;
            memory.last_response = Some(text.into());
            memory.last_tool_calls = calls.to_vec();
            memory.last_parsing_calls = parsing.to_vec();
        }
    }

    /// Ordinary calls run first; a parsing call beside them is put off, except in the last round.
    fn open_reply(&mut self, agent: &AgentSpec, reply: ModelReply) -> NextHandler {
        let Some(turn) = self.core.frame_mut().and_then(|frame| frame.agent_turn.as_mut()) else {
            return NextHandler::Wait;
        };
        let last_round = turn.rounds + 1 >= turn.allowed;
        let denies_multicall =
            self.approvals.permission_for(MULTICALL, ToolRisk::Read) == ToolPermission::Deny;
        let mut open = OpenReply {
            text: reply.text,
            calls: Vec::with_capacity(reply.tool_calls.len()),
            pending_calls: std::collections::VecDeque::new(),
            edited_call: None,
            running_since: None,
            concurrent_calls: Vec::new(),
            batches: Vec::new(),
            decision: Vec::new(),
            opaque_blocks: reply.sealed,
        };
        for call in reply.tool_calls {
            if is_multicall(agent, &call.name) {
                unfold_call(&mut open, agent, call, denies_multicall);
                continue;
            }
            let at = open.calls.len();
            let mut answered = AnsweredCall { call, answer: String::new(), ok: false };
            match parsing_tool(agent, &answered.call.name) {
                None => open.pending_calls.push_back(at),
                Some(tool) if last_round && check_arguments(tool, &answered.call.arguments).is_ok() => {
                    "recorded".clone_into(&mut answered.answer);
                    answered.ok = true;
                    open.decision.push(answered.call.clone());
                }
                Some(_) => {
                    "deferred: decide after you have read the results of the other calls"
                        .clone_into(&mut answered.answer);
                }
            }
            open.calls.push(answered);
        }
        turn.open_reply = Some(open);
        if turn.rounds >= turn.allowed {
            let allowed = turn.allowed;
            let text = format!("`{}` has used tools in {allowed} rounds of this visit", agent.id);
            return NextHandler::limit(PendingQuestion::ToolRounds, "max_tool_rounds", allowed, text);
        }
        NextHandler::ContinueRound
    }

    /// Only parsing calls: a decision if all are valid, otherwise the model may repair it twice.
    fn decide_next_step(
        &mut self,
        agent: &AgentSpec,
        text: String,
        finish: FinishReason,
        calls: Vec<ToolCall>,
        sealed: Vec<OpaqueBlock>,
    ) -> NextHandler {
        let problems: Vec<Option<String>> = calls
            .iter()
            .map(|call| {
                let tool = parsing_tool(agent, &call.name)?;
                check_arguments(tool, &call.arguments).err()
            })
            .collect();
        let valid = problems.iter().all(Option::is_none);
        let answered = answer_decisions(&calls, &problems);
        let Some(turn) = self.core.frame_mut().and_then(|frame| frame.agent_turn.as_mut()) else {
            return NextHandler::Wait;
        };
        turn.add_reply(text.clone(), answered, sealed);
        if valid {
            return self.accept_decision(agent, &text, calls);
        }
        turn.repair_count += 1;
        if turn.repair_count <= MAX_REPAIRS {
            return NextHandler::CallModel;
        }
        let mut refused: Vec<String> = calls.iter().map(|call| call.name.clone()).collect();
        if self.core.spec.machine_version >= REMEMBERS_DECISIONS_SINCE {
            refused.sort();
            refused.dedup();
        }
        let detail = calls
            .iter()
            .zip(&problems)
            .filter_map(|(call, problem)| problem.as_ref().map(|p| format!("{}: {p}", call.name)))
            .collect::<Vec<_>>()
            .join("\n");
        let was_truncated = finish == FinishReason::Length;
        let asks_again = if was_truncated {
            self.ask_required_only(agent, refused, RequiredOnlyCause::OutputLimit)
        } else {
            self.ask_structured(agent, refused)
        };
        if asks_again {
            self.keep_refused_calls(detail);
            return NextHandler::CallModel;
        }
        invalid_decision(detail, if was_truncated { TRUNCATED_DECISION } else { UNREPAIRED })
    }

    pub(super) fn accept_decision(
        &mut self,
        agent: &AgentSpec,
        text: &str,
        decision: Vec<ToolCall>,
    ) -> NextHandler {
        if let Some(next) = self.await_own_agents() {
            return next;
        }
        let turn = self.core.frame().and_then(|frame| frame.agent_turn.as_ref());
        let source = turn.map_or_else(DecisionSource::default, AgentTurn::decision_source);
        self.remember_decision(agent, source);
        for call in &decision {
            let arguments = serde_json::from_str(&call.arguments).unwrap_or(Value::Null);
            self.core.emit_event(RunEvent::Decided {
                agent: agent.id.clone(),
                tool: call.name.clone(),
                arguments,
                source,
            });
        }
        if decision.len() > 1 {
            let names: Vec<&str> = decision.iter().map(|call| call.name.as_str()).collect();
            let text = format!("`{}` decided more than once in one answer: {}", agent.id, names.join(", "));
            self.core.emit_warning("several_decisions", text);
        }
        NextHandler::end_turn(text.to_owned(), decision.clone(), decision)
    }

    pub(super) fn on_model_failed(
        &mut self,
        call: CallId,
        error: &ModelError,
        attempts: u32,
        used: &[AttemptUsage],
        again: bool,
    ) -> NextHandler {
        if self.core.branches.current.wait_state != WaitState::Model(call) {
            return NextHandler::Wait;
        }
        let Some(agent) = self.current_caller() else { return NextHandler::Wait };
        let spent = self.charge_attempts(&agent, used).entries;
        self.core.emit_event(RunEvent::ModelFailed {
            call,
            agent: agent.speaker.clone(),
            code: error.code().to_owned(),
            reason: error.to_string(),
            attempts,
            spent,
        });
        if again {
            return self.call_once_more();
        }
        // replies of a file or a recording that do not fit the run (`Drift`) are no failure of a model
        if self.pending_summary_coverage().is_some() && !matches!(error, ModelError::Drift { .. }) {
            return if self.try_fallback_model(&agent, error) {
                NextHandler::CallModel
            } else {
                self.on_summary_failed(&agent, error)
            };
        }
        if self.try_fallback_model(&agent, error) {
            return NextHandler::CallModel;
        }
        if let Some(next) = self.on_refused_structured(&agent, error) {
            return next;
        }
        let tries = if attempts > 1 { format!(" (after {attempts} attempts)") } else { String::new() };
        let failure = RunError::new(error.code(), "The model call failed", format!("{error}{tries}"))
            .with_hint(error.hint());
        NextHandler::fail(failure)
    }
}

fn answer_decisions(calls: &[ToolCall], problems: &[Option<String>]) -> Vec<AnsweredCall> {
    let all_valid = problems.iter().all(Option::is_none);
    calls
        .iter()
        .zip(problems)
        .map(|(call, problem)| AnsweredCall {
            call: call.clone(),
            answer: match problem {
                None if all_valid => "recorded".to_owned(),
                None => "not recorded: another call of this answer was invalid; call again".to_owned(),
                Some(problem) => format!("invalid arguments, call again: {problem}"),
            },
            ok: problem.is_none() && all_valid,
        })
        .collect()
}
