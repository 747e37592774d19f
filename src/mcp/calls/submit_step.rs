//! `submit_step_result`: what a sub-agent has done (S4.5, S4.16, D5 to D10).

use serde_json::{Value, json};

use super::super::arguments::Arguments;
use super::super::refusal::{Refusal, invalid};
use super::super::steps::{Fault, MOST_BYTES, as_input};
use super::call::Call;
use super::next_step::next;
use super::reach::{reach, worker};
use crate::runtime::errands::{Submission, Taken};

pub(super) async fn submit_step(mut call: Call<'_>) -> Result<Value, Refusal> {
    let given = call.arguments.take();
    let required = ["workflow_id", "step_id", "result"];
    let mut arguments = Arguments::read(given, &required, &["worker_id", "expected_version", "next"])?;
    let id = arguments.text("workflow_id")?.unwrap_or_default();
    let step = arguments.text("step_id")?.unwrap_or_default();
    let worker = worker(&mut arguments)?;
    let goes_on = arguments.flag("next", false)?;
    let expected = match arguments.take("expected_version") {
        Value::Null => None,
        value => Some(value.as_u64().ok_or_else(|| {
            let data = json!({"type": "wrong_argument", "argument": "expected_version"});
            invalid("`expected_version` must be a whole number", data)
        })?),
    };
    let result = arguments.take("result");
    let bytes = result.to_string().len();
    if bytes > MOST_BYTES {
        let text = format!(
            "`result` has {bytes} bytes, at most {MOST_BYTES} are taken: write what is large into a file and give its path"
        );
        return Ok(Fault::new("too_large", text).told("message"));
    }
    let mut told = match submit(&call, (&id, &step), (&worker, expected), &result).await {
        Ok(accepted) => accepted,
        Err(fault) => return Ok(fault.told("message")),
    };
    if goes_on {
        told["next"] = next(&call, &id, &worker).await.unwrap_or_else(|fault| fault.told("error"));
    }
    Ok(told)
}

async fn submit(
    call: &Call<'_>,
    (id, step): (&str, &str),
    who: (&str, Option<u64>),
    result: &Value,
) -> Result<Value, Fault> {
    reach(call.backend, id).await?;
    let handle = call.backend.handle();
    let now = handle.ports().clock.now();
    if let Some(heard) = handle.desk().acknowledge(id, step, now) {
        return heard.map(accepted).map_err(Fault::of);
    }
    let open = match handle.desk().submission(id, step, who, (result, now)).map_err(Fault::of)? {
        Submission::Duplicate => return Ok(accepted(Taken::Duplicate)),
        Submission::Open(open) => open,
    };
    let input = as_input(&open, result).map_err(|why| {
        let left = handle.misfit(id, &open, &why);
        let failed = left == Some(0);
        let next = if failed { "the step has failed" } else { "the step stays yours: submit it again" };
        let fault = Fault::new("validation_failed", format!("{why}; {next}"));
        match left {
            Some(left) => fault.with("tries_left", json!(left)),
            None => fault,
        }
    })?;
    handle.submit(id, step, who, result, input).await.map(accepted).map_err(Fault::of)
}

fn accepted(taken: Taken) -> Value {
    match taken {
        Taken::Accepted => json!({"status": "accepted"}),
        Taken::Duplicate => json!({"status": "accepted", "duplicate": true}),
    }
}
