//! Results of steps: what each type needs, and what it means for the run.

use serde_json::{Value, json};

use super::super::llm_reply::{located_message, parse_error, parse_reply};
use synthdev_domain::ids::CallId;
use synthdev_domain::journal::OpenPause;
use synthdev_domain::model::{DELEGATED_MODEL, ModelReply};
use synthdev_domain::tool::{ToolInvocation, ToolOutcome};
use synthdev_domain::workflow::{PauseKind, PauseSpec, plain_text};
use synthdev_service::delegated_work::task_queue::{TaskStep, TaskStepWork, step_id};
use synthdev_service::run_steering::{Input, UserAnswer, validate_answer};

/// Larger results are refused: what is large belongs into a file, and its path into the result.
pub(crate) const MOST_BYTES: usize = 1 << 20;

/// What a result means for the run.
///
/// # Errors
/// Everything that is wrong with it, for the sub-agent.
pub(crate) fn as_input(step: &TaskStep, result: &Value) -> Result<Input, String> {
    let call = step.call;
    match &step.work {
        TaskStepWork::Tool(invocation) if invocation.tool == "mcp" => {
            mcp_outcome(invocation, step.schema.as_ref(), result)
                .map(|outcome| Input::ToolDone { call, outcome })
        }
        TaskStepWork::Tool(_) => shell_outcome(result).map(|outcome| Input::ToolDone { call, outcome }),
        TaskStepWork::Prompt(pause) => prompt_answer(pause, result)
            .map(|value| Input::Answered { call, answer: UserAnswer::Value { value } }),
        TaskStepWork::Model(request) => match result.get("error").filter(|error| !error.is_null()) {
            Some(Value::Object(details)) => {
                let error = parse_error(details);
                Ok(Input::ModelFailed { call, error, attempts: 1, used: Vec::new(), again: false })
            }
            Some(_) => Err("`error` must be an object with `message` and `type`".to_owned()),
            None => parse_reply(&answer_id(call), request, result)
                // whatever model the settings name: the sub-agent's own one has answered, at a price that is not known
                .map(|reply| ModelReply { model: Some(DELEGATED_MODEL.to_owned()), ..reply })
                .map(|reply| Input::Replied { call, reply })
                // the sub-agent knows its fields without the `data.` prefix
                .map_err(|why| why.replace("`data.", "`").replace("`data`", "the result")),
        },
    }
}

fn answer_id(call: CallId) -> String {
    step_id(call)
}

/// Whether an exit code is a failure is the state's to say.
fn shell_outcome(result: &Value) -> Result<ToolOutcome, String> {
    let mut problems = Vec::new();
    let mut text = |name: &str| match &result[name] {
        Value::String(text) => text.clone(),
        Value::Null => {
            problems.push(format!("`{name}` is missing"));
            String::new()
        }
        _ => {
            problems.push(format!("`{name}` must be a text"));
            String::new()
        }
    };
    let (stdout, stderr) = (text("stdout"), text("stderr"));
    let code = result["exit_code"].as_i64();
    if code.is_none() {
        let what = if result["exit_code"].is_null() { "is missing" } else { "must be a whole number" };
        problems.push(format!("`exit_code` {what}"));
    }
    let Some(code) = code.filter(|_| problems.is_empty()) else {
        return Err(format!("a shell result needs stdout, stderr and exit_code: {}", problems.join("; ")));
    };
    Ok(ToolOutcome {
        ok: code == 0,
        content: [stdout.as_str(), stderr.as_str()].concat(),
        summary: format!("exit {code}"),
        data: Some(json!({"exit_code": code, "stdout": stdout, "stderr": stderr, "timed_out": false})),
        ..ToolOutcome::default()
    })
}

/// What the tool answers is known where the state says what it takes.
fn mcp_outcome(
    invocation: &ToolInvocation,
    schema: Option<&Value>,
    result: &Value,
) -> Result<ToolOutcome, String> {
    let given = |name: &str| result.get(name).filter(|value| !value.is_null());
    match (given("data"), given("error")) {
        (Some(data), None) => {
            let problems = schema.map(|schema| schema_mismatches(schema, data)).unwrap_or_default();
            if !problems.is_empty() {
                return Err(format!("`data` does not fit what the step takes: {}", problems.join("; ")));
            }
            Ok(ToolOutcome {
                ok: true,
                content: plain_text(data),
                summary: format!("{} answered", plain_text(&invocation.arguments["tool"])),
                data: Some(data.clone()),
                ..ToolOutcome::default()
            })
        }
        (None, Some(error)) => {
            let text = error["message"].as_str().map_or_else(|| plain_text(error), str::to_owned);
            Ok(ToolOutcome { content: text.clone(), summary: text, ..ToolOutcome::default() })
        }
        (None, None) => Err("an mcp_call result needs `data` or `error`".to_owned()),
        (Some(_), Some(_)) => Err("an mcp_call result has `data` or `error`, not both".to_owned()),
    }
}

/// Everything that does not fit, with its place. A text may hold the JSON that is wanted, and a schema that cannot be
/// used is for the run to complain of.
fn schema_mismatches(schema: &Value, data: &Value) -> Vec<String> {
    let Ok(validator) = jsonschema::validator_for(schema) else { return Vec::new() };
    if data.is_string() {
        return Vec::new();
    }
    validator.iter_errors(data).map(|error| located_message(&error)).collect()
}

fn prompt_answer(pause: &OpenPause, result: &Value) -> Result<Value, String> {
    let kind = pause.kind.as_deref().unwrap_or("text");
    let parsed: PauseKind = serde_json::from_value(json!(kind)).unwrap_or(PauseKind::Text);
    let (names, expected): (&[&str], &str) = match parsed {
        PauseKind::Outputs => (&[], "an object"),
        PauseKind::Boolean | PauseKind::Approval => (&["confirmed"], "true or false"),
        PauseKind::Choice => (&["choice", "input"], "one of the choices"),
        PauseKind::Number => (&["input"], "a number"),
        PauseKind::Text => (&["input"], "a text"),
    };
    let value = if names.is_empty() {
        result.clone()
    } else {
        let found = names.iter().find_map(|name| result.get(*name)).filter(|value| !value.is_null());
        found.cloned().ok_or_else(|| format!("`{}` is missing ({expected})", names[0]))?
    };
    let right = match parsed {
        PauseKind::Outputs => value.is_object(),
        PauseKind::Boolean | PauseKind::Approval => value.is_boolean(),
        PauseKind::Number => value.is_number(),
        PauseKind::Choice | PauseKind::Text => value.is_string(),
    };
    if !right {
        let name = names.first().map_or_else(|| "the result".to_owned(), |name| format!("`{name}`"));
        return Err(format!("{name} must be {expected}"));
    }
    let asked = PauseSpec {
        choices: pause.choices.clone(),
        schema: pause.schema.clone(),
        required_outputs: pause.required_outputs.clone(),
        ..PauseSpec::new(parsed)
    };
    validate_answer(&asked, UserAnswer::Value { value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use synthdev_domain::ids::Timestamp;
    use synthdev_domain::journal::PauseReason;

    fn tool(name: &str) -> TaskStepWork {
        let arguments = json!({"command": "ls", "server": "s", "tool": "t"});
        TaskStepWork::Tool(ToolInvocation {
            agent: "workflow".to_owned(),
            tool: name.to_owned(),
            arguments,
            network: None,
            loopback_ports: std::collections::BTreeSet::new(),
            reads_files: false,
            original: None,
            run: None,
        })
    }

    fn asks(kind: &str) -> TaskStepWork {
        TaskStepWork::Prompt(Box::new(OpenPause {
            call: CallId(1),
            state: "ask".to_owned(),
            reason: PauseReason::Input,
            message: "What?".to_owned(),
            kind: Some(kind.to_owned()),
            choices: vec!["a".to_owned(), "b".to_owned()],
            required_outputs: if kind == "outputs" { vec!["x".to_owned()] } else { Vec::new() },
            schema: None,
            default: None,
            action: None,
            since: Timestamp(0),
        }))
    }

    fn judge_result(work: TaskStepWork, result: &Value) -> Result<Value, String> {
        let schema = Some(json!({"properties": {"n": {"type": "integer"}}}));
        let step = TaskStep { call: CallId(1), state: "s".to_owned(), work, schema, rejected_answers: 0 };
        as_input(&step, result).map(|input| match input {
            Input::ToolDone { outcome, .. } => json!([outcome.ok, outcome.data]),
            Input::Answered { answer: UserAnswer::Value { value }, .. } => value,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn each_type_has_its_own_needs() {
        let ran = |code: i64| json!({"stdout": "o", "stderr": "", "exit_code": code});
        let data = |code: i64| json!({"stdout": "o", "stderr": "", "exit_code": code, "timed_out": false});
        let rows: Vec<(TaskStepWork, Value, Result<Value, &str>)> = vec![
            (tool("shell"), ran(0), Ok(json!([true, data(0)]))),
            (tool("shell"), ran(3), Ok(json!([false, data(3)]))),
            (tool("shell"), json!({"stdout": "o", "exit_code": 0}), Err("`stderr` is missing")),
            (
                tool("shell"),
                json!({"stdout": 1, "stderr": "", "exit_code": 0}),
                Err("`stdout` must be a text"),
            ),
            (tool("shell"), json!({"stdout": "", "stderr": "", "exit_code": "0"}), Err("a whole number")),
            (tool("shell"), json!({"stdout": "", "stderr": "", "exit_code": 1.5}), Err("a whole number")),
            (tool("shell"), json!("done"), Err("`exit_code` is missing")),
            (tool("shell"), Value::Null, Err("needs stdout, stderr and exit_code")),
            (tool("mcp"), json!({"data": {"n": 1}}), Ok(json!([true, {"n": 1}]))),
            (
                tool("mcp"),
                json!({"data": {"n": "x"}}),
                Err("`data` does not fit what the step takes: /n: \"x\" is not"),
            ),
            (tool("mcp"), json!({"data": "plain words"}), Ok(json!([true, "plain words"]))),
            (tool("mcp"), json!({"data": false}), Ok(json!([true, false]))),
            (tool("mcp"), json!({"error": {"message": "no"}}), Ok(json!([false, null]))),
            (tool("mcp"), json!({"data": 1, "error": "no"}), Err("not both")),
            (tool("mcp"), json!({"data": null}), Err("needs `data` or `error`")),
            (tool("mcp"), json!([]), Err("needs `data` or `error`")),
            (asks("boolean"), json!({"confirmed": false}), Ok(json!(false))),
            (asks("boolean"), json!({"confirmed": "yes"}), Err("true or false")),
            (asks("boolean"), json!({"input": true}), Err("`confirmed` is missing")),
            (asks("text"), json!({"input": "words"}), Ok(json!("words"))),
            (asks("text"), json!({"input": 3}), Err("a text")),
            (asks("text"), json!({"input": ""}), Ok(json!(""))),
            (asks("number"), json!({"input": 3}), Ok(json!(3))),
            (asks("number"), json!({"input": "3"}), Err("a number")),
            (asks("choice"), json!({"choice": "b"}), Ok(json!("b"))),
            (asks("choice"), json!({"choice": "c"}), Err("`c` is none of")),
            (asks("choice"), json!({}), Err("`choice` is missing")),
            (asks("outputs"), json!({"x": 1, "y": 2}), Ok(json!({"x": 1}))),
            (asks("outputs"), json!({"y": 2}), Err("x")),
            (asks("outputs"), json!("x"), Err("an object")),
        ];
        for (work, result, expected) in rows {
            let got = judge_result(work.clone(), &result);
            match (&got, &expected) {
                (Ok(got), Ok(expected)) => assert_eq!(got, expected, "{work:?} {result}"),
                (Err(why), Err(part)) => assert!(why.contains(part), "{why}\n{work:?} {result}"),
                _ => panic!("{got:?} {expected:?} {result}"),
            }
        }
    }
}
