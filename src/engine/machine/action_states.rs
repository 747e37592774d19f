//! `tool`, `mcp`, `shell` and `http` states: one permitted action outside, without a model.
//!
//! The same rules of permission, approval and snapshots hold as for a tool that an agent calls.

use serde_json::{Map, Value};

use super::guidance_files::UNASKED;
use super::{Machine, NextHandler};
use synthdev_domain::approval::ToolPermission;
use synthdev_domain::run_error::RunError;
use synthdev_domain::tool::{ASKED_BY, EXECUTE_SCRIPT, ToolInvocation, ToolOutcome};
use synthdev_domain::workflow::{ActionExpectation, ActionSpec, StateBody, ValueSource};

/// The tool whose headers may be secrets.
const HTTP: &str = "http_request";

impl Machine {
    pub(super) fn begin_action(&mut self, step: &ActionSpec, values: &[Option<Value>]) -> NextHandler {
        let arguments = match build_arguments(step, values) {
            Ok(arguments) => arguments,
            Err(problem) => {
                let detail = format!("state `{}`: {problem}", self.core.state_name());
                return NextHandler::fail(
                    RunError::new("input_undefined", "An argument of a step cannot be used", detail)
                        .with_hint(
                            "set the value in an earlier state, or give a default: `common_data.x ?? \"\"`",
                        ),
                );
            }
        };
        let invocation = ToolInvocation {
            agent: ASKED_BY.to_owned(),
            tool: step.tool.clone(),
            arguments: arguments.into(),
            network: None,
            loopback_ports: self.core.loopback_ports(&self.core.branches.current),
            reads_files: step.tool == EXECUTE_SCRIPT,
            original: None,
            run: None,
        };
        if let Some(frame) = self.core.frame_mut() {
            frame.visit.step = Some((invocation, step.risk));
        }
        if self.breakpoints.stop_before_tool(&mut self.core, &step.tool) {
            NextHandler::Wait
        } else {
            self.permit_action()
        }
    }

    /// Runs the step at hand, asks, or denies it.
    pub(super) fn permit_action(&mut self) -> NextHandler {
        let Some((invocation, risk)) = self.core.frame().and_then(|frame| frame.visit.step.clone()) else {
            return NextHandler::Wait;
        };
        let own = self.approvals.tools.get(&self.core.approval_name(&invocation.tool)).copied();
        let rule = own.unwrap_or_else(|| self.approvals.permission_for(&invocation.tool, risk));
        match self.guarded_permission(rule, &invocation, risk) {
            ToolPermission::Allow => NextHandler::run_tool(invocation, risk),
            // the client that runs it asks its own users
            ToolPermission::Ask if self.is_delegated_call(&invocation) => {
                NextHandler::run_tool(invocation, risk)
            }
            ToolPermission::Ask => self.ask_approval(invocation, risk),
            ToolPermission::Deny if rule == ToolPermission::Allow => self.action_denied(UNASKED),
            ToolPermission::Deny => self.action_denied("the approval policy denies it"),
        }
    }

    pub(super) fn action_denied(&mut self, why: &str) -> NextHandler {
        let step = self.core.frame_mut().and_then(|frame| frame.visit.step.take());
        let tool = step.map(|(invocation, _)| invocation.tool).unwrap_or_default();
        let detail = format!("state `{}` wants to run `{tool}`: {why}", self.core.state_name());
        NextHandler::fail(
            RunError::new("tool.denied", "A step was not allowed", detail)
                .with_hint("approve it, run with --yes, or allow it in settings: \"approvals\""),
        )
    }

    /// The user skips the step without knowing whether it took effect.
    pub(super) fn skip_action(&mut self) -> NextHandler {
        if let Some(frame) = self.core.frame_mut() {
            frame.visit.step = None;
        }
        NextHandler::WorkDone(false, Value::Null)
    }

    pub(super) fn on_action_done(&mut self, outcome: ToolOutcome) -> NextHandler {
        let Some((_, state)) = self.core.current_state() else { return NextHandler::Wait };
        let StateBody::Action(step) = &state.work else { return NextHandler::Wait };
        if let Some(frame) = self.core.frame_mut() {
            frame.visit.step = None;
        }
        let data = outcome.data.as_ref();
        if data.is_some_and(|data| data["timed_out"] == Value::Bool(true)) {
            return self.action_failed("tool.timeout", "A step took too long", step, &outcome);
        }
        let expected = match &step.expect {
            ActionExpectation::Ok => outcome.ok,
            ActionExpectation::Any => true,
            ActionExpectation::OneOf(codes) => {
                data.and_then(result_code).is_some_and(|code| codes.contains(&code))
            }
        };
        if !expected {
            return self.action_failed("tool.failed", "A step failed", step, &outcome);
        }
        let success = outcome.ok || matches!(step.expect, ActionExpectation::OneOf(_));
        NextHandler::WorkDone(success, outcome.data.unwrap_or(Value::String(outcome.content)))
    }

    fn action_failed(
        &mut self,
        code: &str,
        title: &str,
        step: &ActionSpec,
        outcome: &ToolOutcome,
    ) -> NextHandler {
        let came =
            outcome.data.as_ref().and_then(result_code).map_or(String::new(), |code| format!(" ({code})"));
        let summary = outcome.summary.trim();
        let what = if summary.is_empty() { String::new() } else { format!(": {summary}") };
        let detail = format!("`{}`{came}{what}\n{}", step.tool, last_lines(outcome));
        let hint = match &step.expect {
            ActionExpectation::Ok | ActionExpectation::Any => {
                "say what counts as success (\"expect_exit\", \"expect_status\"), or what follows (\"catch\")"
            }
            ActionExpectation::OneOf(_) => "only the codes that the state expects count as success",
        };
        NextHandler::fail(RunError::new(code, title, detail.trim_end()).with_hint(hint))
    }
}

/// The integer by which a structured result is judged.
fn result_code(data: &Value) -> Option<i64> {
    data["exit_code"].as_i64().or_else(|| data["status"].as_i64())
}

const LINES: usize = 20;
const CHARACTERS: usize = 2_000;

/// The end of the action's output: of the error output if there is any.
fn last_lines(outcome: &ToolOutcome) -> String {
    let data = outcome.data.as_ref();
    let part = |key: &str| data.and_then(|data| data[key].as_str()).filter(|text| !text.trim().is_empty());
    let body = || outcome.body();
    let text = part("stderr").or_else(|| part("stdout")).or_else(|| part("body")).unwrap_or_else(body);
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let tail = lines[lines.len().saturating_sub(LINES)..].join("\n");
    let length = tail.chars().count();
    tail.chars().skip(length.saturating_sub(CHARACTERS)).collect()
}

/// Arguments by path; `values` are those of the scripts among them, in order.
fn build_arguments(step: &ActionSpec, values: &[Option<Value>]) -> Result<Map<String, Value>, String> {
    let mut values = values.iter();
    let mut all = Value::Object(Map::new());
    for (path, input) in &step.arguments {
        let value = match input {
            ValueSource::Script(_) => values.next().cloned().flatten(),
            ValueSource::Text(text) => Some(Value::String(text.clone())),
            ValueSource::Value(value) => Some(value.clone()),
            ValueSource::Absent | ValueSource::Human => None,
        };
        let value = value.ok_or_else(|| format!("`{}` evaluates to undefined", path.join(".")))?;
        let computed =
            matches!(input, ValueSource::Script(_)) && !matches!(value, Value::String(_) | Value::Number(_));
        if step.tool == HTTP && computed && path.first().is_some_and(|first| first == "headers") {
            // an object would name a variable of the environment: only the file may do that
            return Err(format!("`{}` must evaluate to a text or a number", path.join(".")));
        }
        set_at_path(&mut all, path, value);
    }
    if let Value::Object(arguments) = all {
        Ok(arguments)
    } else {
        Err("the arguments are no object".to_owned())
    }
}

/// Numbers in a path are positions of a list, where there is none yet or one already.
fn set_at_path(into: &mut Value, path: &[String], value: Value) {
    let [key, rest @ ..] = path else {
        *into = value;
        return;
    };
    let position = key.parse::<usize>().ok().filter(|at| *at < 10_000 && !into.is_object());
    if let Some(at) = position {
        if !into.is_array() {
            *into = Value::Array(Vec::new());
        }
        if let Value::Array(items) = into {
            if items.len() <= at {
                items.resize(at + 1, Value::Null);
            }
            set_at_path(&mut items[at], rest, value);
        }
        return;
    }
    if !into.is_object() {
        *into = Value::Object(Map::new());
    }
    if let Value::Object(fields) = into {
        set_at_path(fields.entry(key.clone()).or_insert(Value::Null), rest, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use synthdev_domain::ids::ScriptIx;
    use synthdev_domain::tool::ToolRisk;

    fn built(rows: &[(&str, ValueSource)], values: &[Option<Value>]) -> Result<Value, String> {
        let path = |path: &str| path.split('.').filter(|key| !key.is_empty()).map(str::to_owned).collect();
        let step = ActionSpec {
            tool: "t".to_owned(),
            risk: ToolRisk::Read,
            arguments: rows.iter().map(|(at, input)| (path(at), input.clone())).collect(),
            expect: ActionExpectation::Ok,
        };
        build_arguments(&step, values).map(Value::Object)
    }

    #[test]
    fn arguments_are_built_by_path() {
        let text = |text: &str| ValueSource::Text(text.to_owned());
        let script = || ValueSource::Script(ScriptIx(0));
        let got = built(
            &[
                ("command", text("make")),
                ("args.0", text("-C")),
                ("args.1", script()),
                ("env.A", script()),
                ("headers.7", text("a key")),
                ("headers.x", ValueSource::Value(json!(1))),
            ],
            &[Some(json!("dir")), Some(Value::Null)],
        );
        let expected = json!({"command": "make", "args": ["-C", "dir"], "env": {"A": null},
            "headers": {"x": 1}});
        assert_eq!(got, Ok(expected));
        assert_eq!(built(&[("", script())], &[Some(json!({"a": 1}))]), Ok(json!({"a": 1})));
        assert!(built(&[("", script())], &[Some(json!("text"))]).is_err());
        assert!(built(&[("a.b", script())], &[None]).unwrap_err().contains("a.b"));
    }

    #[test]
    fn only_the_file_names_a_secret() {
        let step = |input| ActionSpec {
            tool: HTTP.to_owned(),
            risk: ToolRisk::Execute,
            arguments: vec![(vec!["headers".to_owned(), "x".to_owned()], input)],
            expect: ActionExpectation::Ok,
        };
        let secret = json!({"env": "KEY"});
        let given = build_arguments(&step(ValueSource::Value(secret.clone())), &[]).unwrap();
        assert_eq!(Value::from(given), json!({"headers": {"x": secret}}));
        let computed = step(ValueSource::Script(ScriptIx(0)));
        assert!(build_arguments(&computed, &[Some(secret)]).unwrap_err().contains("headers.x"));
        assert!(build_arguments(&computed, &[Some(json!("text"))]).is_ok());
    }

    #[test]
    fn the_end_of_the_error_output_is_told() {
        let long = (0..50).map(|line| format!("line {line}")).collect::<Vec<_>>().join("\n");
        let outcome = ToolOutcome {
            data: Some(json!({"exit_code": 1, "stdout": "out", "stderr": long})),
            content: "all".to_owned(),
            ..ToolOutcome::default()
        };
        let told = last_lines(&outcome);
        assert!(told.starts_with("line 30\n") && told.ends_with("line 49"), "{told}");
        assert_eq!(last_lines(&ToolOutcome { data: None, ..outcome.clone() }), "all");
        let silent = ToolOutcome {
            data: Some(json!({"exit_code": 3, "stdout": "", "stderr": "\n"})),
            content: "{\"success\":false,\"tool\":\"shell\",\"time_ms\":2,\"error\":\"exit code 3\"}"
                .to_owned(),
            ..outcome
        };
        assert_eq!(last_lines(&silent), "", "the line for models is no output");
    }
}
