//! `submit_step_result`: what a sub-agent has done, one step or several.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::arguments::ToolArguments;
use super::super::error::{McpCallError, invalid_request_error};
use super::super::steps::{MOST_BYTES, MOST_STEPS, SubAgentError, as_input};
use super::find_task::{find_task, worker_id};
use super::next_step::next_steps;
use super::tool_call::McpToolCall;
use synthdev_service::delegated_work::task_queue::{StepSubmission, StepSubmitter, SubmitOutcome};

const FURTHER: &str = "further_results";

pub(super) async fn submit_step(mut call: McpToolCall<'_>) -> Result<Value, McpCallError> {
    let given = call.arguments.take();
    let required = ["workflow_id", "step_id", "result"];
    let optional = ["worker_id", "expected_version", FURTHER, "next", "max_steps"];
    let mut arguments = ToolArguments::from_request(given, &required, &optional)?;
    let id = arguments.text("workflow_id")?.unwrap_or_default();
    let step = arguments.text("step_id")?.unwrap_or_default();
    let worker = worker_id(&mut arguments)?;
    let goes_on = arguments.flag("next", false)?;
    let most = arguments.take_count("max_steps", 1, MOST_STEPS)?;
    let further = parse_further_results(arguments.remove_value(FURTHER))?;
    let expected = match arguments.remove_value("expected_version") {
        Value::Null => None,
        value => Some(value.as_u64().ok_or_else(|| {
            let data = json!({"type": "wrong_argument", "argument": "expected_version"});
            invalid_request_error("`expected_version` must be a whole number", data)
        })?),
    };
    let result = arguments.remove_value("result");
    let mut hand_in = StepResultSubmitter {
        call: &call,
        id: &id,
        worker: &worker,
        expected,
        counted_steps: BTreeSet::new(),
    };
    let mut told = hand_in.submit_to_json(&step, &result).await;
    let accepted = told["status"] == "accepted";
    if !further.is_empty() {
        told[FURTHER] = hand_in.submit_all(&further).await;
    }
    if goes_on && accepted {
        told["next"] =
            next_steps(&call, &id, &worker, most).await.unwrap_or_else(|fault| fault.into_json("error"));
    }
    Ok(told)
}

/// A step by its id, and what it came to.
type SubmittedStepResult = (String, Value);

/// A value that is no list of results is refused as a whole: no result is handed in.
fn parse_further_results(given: Value) -> Result<Vec<SubmittedStepResult>, McpCallError> {
    let wrong = |argument: &str, expected: &str| {
        let data = json!({"type": "wrong_argument", "argument": argument});
        invalid_request_error(format!("`{argument}` must be {expected}"), data)
    };
    let most = MOST_STEPS - 1;
    let items = match given {
        Value::Null => Vec::new(),
        Value::Array(items) if items.len() <= most => items,
        _ => return Err(wrong(FURTHER, &format!("a list of at most {most} results"))),
    };
    let read = |(at, item): (usize, Value)| {
        let expected = "an object with `step_id`, a text, and `result`, and nothing else";
        parse_submitted(item).ok_or_else(|| wrong(&format!("{FURTHER}[{at}]"), expected))
    };
    items.into_iter().enumerate().map(read).collect()
}

fn parse_submitted(item: Value) -> Option<SubmittedStepResult> {
    let Value::Object(mut fields) = item else { return None };
    let (step, result) = (fields.remove("step_id")?, fields.remove("result")?);
    let Value::String(step) = step else { return None };
    (fields.is_empty() && !result.is_null()).then_some((step, result))
}

/// The results of one call, one after the other: one that is refused does not keep the others out.
struct StepResultSubmitter<'c> {
    call: &'c McpToolCall<'c>,
    id: &'c str,
    worker: &'c str,
    /// The version of the task that the client expects before this call.
    expected: Option<u64>,
    /// Steps that this call, or an earlier equal one, has completed: they are not counted against `expected`.
    counted_steps: BTreeSet<String>,
}

impl StepResultSubmitter<'_> {
    async fn submit_all(&mut self, results: &[SubmittedStepResult]) -> Value {
        let mut all = Vec::new();
        for (step, result) in results {
            let mut told = json!({"step_id": step});
            let said = self.submit_to_json(step, result).await;
            if let (Some(told), Value::Object(said)) = (told.as_object_mut(), said) {
                told.extend(said);
            }
            all.push(told);
        }
        Value::Array(all)
    }

    async fn submit_to_json(&mut self, step: &str, result: &Value) -> Value {
        match self.submit_result(step, result).await {
            Ok(SubmitOutcome::Accepted) => json!({"status": "accepted"}),
            Ok(SubmitOutcome::Duplicate) => json!({"status": "accepted", "duplicate": true}),
            Err(fault) => fault.into_json("message"),
        }
    }

    async fn submit_result(&mut self, step: &str, result: &Value) -> Result<SubmitOutcome, SubAgentError> {
        let bytes = result.to_string().len();
        if bytes > MOST_BYTES {
            let text = format!(
                "`result` has {bytes} bytes, at most {MOST_BYTES} are taken: write what is large into a file and give its path"
            );
            return Err(SubAgentError::new("too_large", text));
        }
        let id = self.id;
        find_task(self.call.backend, id).await?;
        let handle = self.call.backend.handle();
        let now = handle.now();
        if let Some(heard) = handle.task_broker().acknowledge_step(id, step, now) {
            return heard.map_err(SubAgentError::from_submit_error);
        }
        let expected = self.expected.map(|version| version.saturating_add(self.counted_steps.len() as u64));
        let who = StepSubmitter { worker: self.worker, expected_version: expected };
        let taken = match handle
            .task_broker()
            .check_submission(id, step, who, result, now)
            .map_err(SubAgentError::from_submit_error)?
        {
            StepSubmission::Duplicate => SubmitOutcome::Duplicate,
            StepSubmission::Open(open) => {
                let input = as_input(&open, result).map_err(|why| {
                    let left = handle.reject_result(id, &open, &why);
                    let next = if left == 0 {
                        "the step has failed"
                    } else {
                        "the step stays yours: submit it again"
                    };
                    SubAgentError::new("validation_failed", format!("{why}; {next}"))
                        .with_field("tries_left", json!(left))
                })?;
                handle
                    .submit_result(id, step, who, result, input)
                    .await
                    .map_err(SubAgentError::from_submit_error)?
            }
        };
        // a client that has read the task since an earlier call includes the steps of that call in `expected`
        let stands = handle.task_broker().task_status(id).map_or(0, |look| look.version);
        let known = taken == SubmitOutcome::Duplicate && expected.is_some_and(|expected| expected >= stands);
        if !known {
            self.counted_steps.insert(step.to_owned());
        }
        Ok(taken)
    }
}
