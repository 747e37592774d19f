//! An agent that does not give its decision as a call: a reminder with a forced choice, a request for structured
//! output, then an error; each once in a turn. A decision that was truncated at the output limit is asked for once more
//! with its required members only: a model that finds no end in an optional text can still decide.
//!
//! What worked for a model is where its next decision in this run begins, unless the catalogue or an earlier run says
//! more. An agent without other tools is then asked so at once; one with tools may use them first.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::decision_checks::{
    MAX_REPAIRS, TRUNCATED_DECISION, UNREPAIRED, check_arguments, invalid_decision, parsing_tool,
};
use super::{Machine, NextHandler};
use crate::agent_turn::{AgentTurn, RequiredOnlyCause};
use crate::run_spec::{REMEMBERS_DECISIONS_SINCE, SHORTENS_DECISIONS_SINCE};
use synthdev_domain::agent::AgentSpec;
use synthdev_domain::context::AnsweredCall;
use synthdev_domain::decision_source::DecisionSource;
use synthdev_domain::message::ToolCall;
use synthdev_domain::model::{DecisionMemory, FinishReason, ModelChoice, ModelError, ToolChoice};
use synthdev_domain::run_error::RunError;
use synthdev_domain::tool::ParsingTool;

impl Machine {
    /// How models gave their decisions in this run, where it was not by a plain call.
    pub fn decision_memory(&self) -> &DecisionMemory {
        &self.decisions
    }

    /// Where the agent's decision is asked for first: what the model needed before.
    fn decision_start(&self, choice: &ModelChoice) -> DecisionSource {
        if self.core.spec.machine_version < REMEMBERS_DECISIONS_SINCE {
            return DecisionSource::Call;
        }
        self.decisions.source_for(choice).max(choice.decision_start)
    }

    pub(super) fn remember_decision(&mut self, agent: &AgentSpec, source: DecisionSource) {
        if self.core.spec.machine_version >= REMEMBERS_DECISIONS_SINCE {
            self.decisions.remember(&agent.choice, source);
        }
    }

    /// The parsing tools that the state waits for and the agent has.
    fn expected_decisions(&self, agent: &AgentSpec) -> Vec<String> {
        let Some((_, state)) = self.core.current_state() else { return Vec::new() };
        let offered = |name: &&String| parsing_tool(agent, name).is_some();
        state.expects.iter().filter(offered).cloned().collect()
    }

    /// A new turn of an agent that has nothing to do but to decide begins as its model needs it.
    pub(super) fn begin_with_known_choice(&mut self, agent: &AgentSpec) {
        if !agent.tools.is_empty() {
            return;
        }
        let expected = self.expected_decisions(agent);
        if expected.is_empty() {
            return;
        }
        match self.decision_start(&agent.choice) {
            DecisionSource::Call => {}
            DecisionSource::Reminder => {
                if let Some(turn) = self.core.frame_mut().and_then(|frame| frame.agent_turn.as_mut()) {
                    turn.choice = forced_choice(&expected);
                }
            }
            DecisionSource::StructuredOutput => {
                self.ask_structured(agent, expected);
            }
        }
    }

    /// A text, which is the decision if it was asked for as structured output.
    pub(super) fn final_text(
        &mut self,
        agent: &AgentSpec,
        text: String,
        finish: FinishReason,
    ) -> NextHandler {
        let turn = self.core.frame().and_then(|frame| frame.agent_turn.as_ref());
        if let Some(tools) = turn.and_then(|turn| turn.choice.structured_tools().map(<[String]>::to_vec)) {
            return self.take_structured_answer(agent, &tools, text, finish);
        }
        if self.core.current_state().is_none() {
            return NextHandler::Wait;
        }
        let expected = self.expected_decisions(agent);
        let skips_reminder = self.decision_start(&agent.choice) == DecisionSource::StructuredOutput;
        let Some(turn) = self.core.frame_mut().and_then(|frame| frame.agent_turn.as_mut()) else {
            return NextHandler::Wait;
        };
        turn.add_reply(text.clone(), Vec::new(), Vec::new());
        if expected.is_empty() {
            let asks = self.ask_for_result();
            return if asks {
                NextHandler::CallModel
            } else {
                NextHandler::end_turn(text, Vec::new(), Vec::new())
            };
        }
        let was_nudged = turn.was_nudged;
        if (was_nudged || skips_reminder) && self.ask_structured(agent, expected.clone()) {
            return NextHandler::CallModel;
        }
        if was_nudged {
            return self.missing_after_reminder(agent, &expected);
        }
        self.remind_to_decide(&expected)
    }

    fn missing_after_reminder(&self, agent: &AgentSpec, expected: &[String]) -> NextHandler {
        let (id, names) = (&agent.id, expected.join(" or "));
        let turn = self.core.frame().and_then(|frame| frame.agent_turn.as_ref());
        let detail = match turn.and_then(|turn| turn.structured_problem.as_deref()) {
            Some(problem) => format!("`{id}` never called {names}, also when it was reminded, and {problem}"),
            None => format!("`{id}` answered in words twice and never called {names}"),
        };
        missing_decision(detail, turn)
    }

    fn remind_to_decide(&mut self, expected: &[String]) -> NextHandler {
        let Some(turn) = self.core.frame_mut().and_then(|frame| frame.agent_turn.as_mut()) else {
            return NextHandler::Wait;
        };
        turn.was_nudged = true;
        turn.choice = forced_choice(expected);
        turn.push_private_note(&format!("Now give your decision by calling {}.", expected.join(" or ")));
        NextHandler::CallModel
    }

    /// Whether the decision is asked for as structured output; once for each turn.
    pub(super) fn ask_structured(&mut self, agent: &AgentSpec, tools: Vec<String>) -> bool {
        let is_known = self.core.spec.asks_structured();
        let takes_several = self.core.spec.machine_version >= REMEMBERS_DECISIONS_SINCE;
        let Some(choice) = ToolChoice::structured(tools)
            .filter(|choice| takes_several || !matches!(choice, ToolChoice::StructuredOneOf(_)))
        else {
            return false;
        };
        let Some(form) = form_in_words(&choice, &agent.parsing_tools) else { return false };
        let Some(turn) = self.core.frame_mut().and_then(|frame| frame.agent_turn.as_mut()) else {
            return false;
        };
        if !is_known || turn.asked_structured {
            return false;
        }
        turn.asked_structured = true;
        turn.choice = choice;
        turn.push_private_note(&format!("Answer now with one JSON object and nothing else. {form}"));
        true
    }

    /// Whether the decision is asked for as structured output with its required members only; once for each turn. A
    /// truncated text is not kept: the model would only repeat it.
    pub(super) fn ask_required_only(
        &mut self,
        agent: &AgentSpec,
        tools: Vec<String>,
        cause: RequiredOnlyCause,
    ) -> bool {
        if self.core.spec.machine_version < SHORTENS_DECISIONS_SINCE {
            return false;
        }
        let short: Vec<ParsingTool> =
            agent.parsing_tools.iter().map(ParsingTool::with_required_only).collect();
        let Some(choice) = ToolChoice::structured(tools) else { return false };
        let Some(form) = form_in_words(&choice, &short) else { return false };
        let Some(turn) = self.core.frame_mut().and_then(|frame| frame.agent_turn.as_mut()) else {
            return false;
        };
        if turn.required_only.is_some() {
            return false;
        }
        turn.asked_structured = true;
        turn.required_only = Some(cause);
        turn.choice = choice;
        turn.push_private_note(&format!(
            "Your answer was cut before it was whole. Answer again, as short as possible, with one JSON object and \
             nothing else. {form}"
        ));
        true
    }

    /// Keeps what is wrong with the calls of the last repair, for the error.
    pub(super) fn keep_refused_calls(&mut self, problem: String) {
        if self.core.spec.machine_version < SHORTENS_DECISIONS_SINCE {
            return;
        }
        if let Some(turn) = self.core.frame_mut().and_then(|frame| frame.agent_turn.as_mut()) {
            turn.refused_calls = Some(problem.into());
        }
    }

    /// What happens where a request for structured output had no answer: the server refuses it, or the model found no
    /// end or no word. `None`: it is another error.
    pub(super) fn on_refused_structured(
        &mut self,
        agent: &AgentSpec,
        error: &ModelError,
    ) -> Option<NextHandler> {
        let turn = self.core.frame()?.agent_turn.as_ref()?;
        let tools = turn.choice.structured_tools()?.to_vec();
        let is_refused = matches!(error, ModelError::Refused { .. } | ModelError::Protocol { .. });
        let found_no_end = matches!(error, ModelError::Repetition { .. } | ModelError::CallTimeout { .. });
        let gave_nothing = found_no_end || matches!(error, ModelError::Empty { .. });
        let has_calls = turn.refused_calls.is_some();
        if found_no_end && self.ask_required_only(agent, tools.clone(), RequiredOnlyCause::NoEnd) {
            return Some(NextHandler::CallModel);
        }
        let goes_on = has_calls || self.may_remind();
        let problem = if is_refused {
            format!("its server refuses structured output: {error}")
        } else if gave_nothing && goes_on && self.core.spec.machine_version >= SHORTENS_DECISIONS_SINCE {
            format!("its structured output did not come: {error}")
        } else {
            return None;
        };
        Some(self.remind_or_fail(agent, &tools, problem))
    }

    /// Whether structured output came first in this turn, so that the reminder is still to come.
    fn may_remind(&self) -> bool {
        let turn = self.core.frame().and_then(|frame| frame.agent_turn.as_ref());
        self.core.spec.machine_version >= REMEMBERS_DECISIONS_SINCE
            && turn.is_some_and(|turn| !turn.was_nudged && turn.repair_count == 0)
    }

    /// The reminder, where structured output came first; else the error.
    fn remind_or_fail(&mut self, agent: &AgentSpec, tools: &[String], problem: String) -> NextHandler {
        let may_remind = self.may_remind();
        let keeps_problem = self.core.spec.machine_version >= SHORTENS_DECISIONS_SINCE;
        let Some(turn) = self.core.frame_mut().and_then(|frame| frame.agent_turn.as_mut()) else {
            return NextHandler::Wait;
        };
        if let Some(calls) = turn.refused_calls.as_deref().filter(|_| !may_remind) {
            let hint = hint_after(turn, UNREPAIRED);
            return invalid_decision(format!("{calls}\n{problem}"), hint);
        }
        if !may_remind {
            let detail = format!("`{}` never called {}, and {problem}", agent.id, tools.join(" or "));
            return missing_decision(detail, Some(&*turn));
        }
        turn.structured_problem = keeps_problem.then(|| problem.into());
        self.decisions.forget(&agent.choice);
        self.remind_to_decide(tools)
    }

    /// The text as the arguments of the tool.
    fn take_structured_answer(
        &mut self,
        agent: &AgentSpec,
        tools: &[String],
        text: String,
        finish: FinishReason,
    ) -> NextHandler {
        let decision = match structured_decision(agent, tools, &text) {
            Ok(decision) => decision,
            Err(problem) => return self.on_unfit_answer(agent, tools, text, finish, &problem),
        };
        let Some(turn) = self.core.frame_mut().and_then(|frame| frame.agent_turn.as_mut()) else {
            return NextHandler::Wait;
        };
        let id = format!("structured_{}", turn.entries.len());
        let decision = ToolCall { id, ..decision };
        let answered = AnsweredCall { call: decision.clone(), answer: "recorded".to_owned(), ok: true };
        turn.add_reply(String::new(), vec![answered], Vec::new());
        self.accept_decision(agent, "", vec![decision])
    }

    /// A structured answer that is no decision.
    fn on_unfit_answer(
        &mut self,
        agent: &AgentSpec,
        tools: &[String],
        text: String,
        finish: FinishReason,
        problem: &str,
    ) -> NextHandler {
        let is_truncated = finish == FinishReason::Length;
        if is_truncated && self.ask_required_only(agent, tools.to_vec(), RequiredOnlyCause::OutputLimit) {
            return NextHandler::CallModel;
        }
        let Some(turn) = self.core.frame_mut().and_then(|frame| frame.agent_turn.as_mut()) else {
            return NextHandler::Wait;
        };
        if turn.repair_count > MAX_REPAIRS {
            let hint = hint_after(turn, UNREPAIRED);
            return invalid_decision(format!("{}: {problem}", tools.join(" or ")), hint);
        }
        turn.add_reply(text, Vec::new(), Vec::new());
        self.remind_or_fail(agent, tools, format!("its structured output does not fit: {problem}"))
    }
}

/// What the answer means and its schema, for the agent. `None`: no structured output of a tool that is known.
fn form_in_words(choice: &ToolChoice, parsing_tools: &[ParsingTool]) -> Option<String> {
    let schema = choice.structured_schema(parsing_tools)?;
    let meaning = match choice {
        ToolChoice::StructuredOneOf(names) => format!("as the call of {}", names.join(" or ")),
        ToolChoice::Structured(name) => format!("as the arguments of {name}"),
        ToolChoice::Auto | ToolChoice::Required | ToolChoice::Named(_) => return None,
    };
    Some(format!("It is taken {meaning}. Its schema: {schema}"))
}

fn forced_choice(expected: &[String]) -> ToolChoice {
    match expected {
        [one] => ToolChoice::Named(one.clone()),
        _ => ToolChoice::Required,
    }
}

/// The call that a structured answer stands for, without an id.
fn structured_decision(agent: &AgentSpec, tools: &[String], text: &str) -> Result<ToolCall, String> {
    let object = json_object_in(text);
    let (name, arguments) = match tools {
        [only] => (only.clone(), object.to_owned()),
        _ => {
            let answer: ChosenDecision =
                serde_json::from_str(object).map_err(|error| format!("not valid JSON: {error}"))?;
            (answer.decision.tool, answer.decision.arguments.to_string())
        }
    };
    let declared = tools
        .contains(&name)
        .then(|| parsing_tool(agent, &name))
        .flatten()
        .ok_or_else(|| format!("`{name}` is none of {}", tools.join(", ")))?;
    check_arguments(declared, &arguments)?;
    Ok(ToolCall { id: String::new(), name, arguments, original: None })
}

/// The answer where one of several decisions is asked for; [`ToolChoice::structured_schema`] has its schema.
#[derive(Serialize, Deserialize)]
struct ChosenDecision {
    decision: ChosenCall,
}

#[derive(Serialize, Deserialize)]
struct ChosenCall {
    tool: String,
    #[serde(default)]
    arguments: Value,
}

/// The hint of an error after all requests: of the output limit, where it truncated the decision.
fn hint_after(turn: &AgentTurn, otherwise: &'static str) -> &'static str {
    match turn.required_only {
        Some(RequiredOnlyCause::OutputLimit) => TRUNCATED_DECISION,
        Some(RequiredOnlyCause::NoEnd) | None => otherwise,
    }
}

fn missing_decision(detail: String, turn: Option<&AgentTurn>) -> NextHandler {
    let tell_the_role = "say in the role's systemMessage that this tool must be called, or use another model";
    let hint = turn.map_or(tell_the_role, |turn| hint_after(turn, tell_the_role));
    NextHandler::fail(
        RunError::new("parsing_tool_missing", "The decision is missing", detail).with_hint(hint),
    )
}

/// From the first brace to the last: some models put words or a fence around it.
fn json_object_in(text: &str) -> &str {
    match (text.find('{'), text.rfind('}')) {
        (Some(first), Some(last)) if first < last => &text[first..=last],
        _ => text,
    }
}
