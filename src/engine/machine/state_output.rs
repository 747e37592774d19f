//! The result of a state's work: what scripts read as `context`, and where `output` puts it.

use serde_json::{Value, json};

use super::{Machine, NextHandler, RunEvent};
use crate::call_frame::WorkResult;
use synthdev_domain::run_error::RunError;
use synthdev_domain::workflow::{StateOutputSpec, strip_code_fence};

impl Machine {
    /// Work without an agent is done.
    pub(super) fn work_done(&mut self, success: bool, value: Value) -> NextHandler {
        if let Some(frame) = self.core.frame_mut() {
            frame.result = Some(WorkResult::Value(
                json!({"success": success, "result": value, "agent": null, "toolCalls": []}),
            ));
        }
        self.store_result(value)
    }

    /// Checks and stores the result by the rules of `output`, then evaluates the transitions.
    pub(super) fn store_result(&mut self, value: Value) -> NextHandler {
        let Some((_, state)) = self.core.current_state() else { return NextHandler::Wait };
        if let Some(store) = &state.store {
            match fit_output(store, value) {
                Ok(value) => self.store_output(store, value),
                Err(problem) => {
                    let detail = format!("the result of state `{}`: {problem}", self.core.state_name());
                    return NextHandler::fail(
                        RunError::new("validation", "A result does not fit its schema", detail)
                            .with_hint("see \"output\" of the state; \"retry\": [{\"errors\": [\"validation\"]}] asks again"),
                    );
                }
            }
        }
        NextHandler::ChooseTransition
    }

    fn store_output(&mut self, store: &StateOutputSpec, value: Value) {
        let Some(key) = store.key.clone() else { return };
        let state = self.core.state_name();
        let Some(frame) = self.core.frame_mut() else { return };
        let set = serde_json::Map::from_iter([(key.clone(), value.clone())]);
        frame.set_data(&set, &[]);
        self.core.emit_event(RunEvent::Stored { state: state.clone(), key, value });
        self.core.emit_event(RunEvent::DataChanged { state, set, removed: Vec::new() });
    }
}

/// A text that should be something else is read as JSON first, also from inside a fenced block.
fn fit_output(store: &StateOutputSpec, value: Value) -> Result<Value, String> {
    let Some(schema) = &store.schema else { return Ok(value) };
    let validator =
        jsonschema::validator_for(schema).map_err(|error| format!("the schema is broken: {error}"))?;
    if validator.is_valid(&value) {
        return Ok(value);
    }
    let parsed = value.as_str().and_then(|text| serde_json::from_str::<Value>(strip_code_fence(text)).ok());
    let value = match parsed {
        Some(parsed) if validator.is_valid(&parsed) => return Ok(parsed),
        Some(parsed) => parsed,
        None => value,
    };
    let problems: Vec<String> = validator
        .iter_errors(&value)
        .map(|error| match error.instance_path().to_string() {
            at if at.is_empty() => error.to_string(),
            at => format!("{at}: {error}"),
        })
        .collect();
    Err(problems.join("; "))
}
