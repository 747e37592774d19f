//! Writes a run's rows: the input, then the intents of what it led to, in one transaction.

use std::sync::Arc;

use serde_json::json;

use crate::domain::ids::{RunId, Timestamp};
use crate::domain::journal::{Row, RowKind, RunProgress};
use crate::engine::effect::Effect;
use crate::engine::input::Input;
use crate::ports::run_store::{RunStore, StoreError};

pub(super) struct Journal {
    pub(super) run: RunId,
    pub(super) store: Arc<dyn RunStore>,
}

impl Journal {
    /// # Errors
    /// The store cannot be written.
    pub(super) fn record(
        &self,
        at: Timestamp,
        input: &Input,
        effects: &[Effect],
        progress: Option<&RunProgress>,
    ) -> Result<(), StoreError> {
        let body = serde_json::to_string(input).map_err(|error| StoreError {
            message: format!("an input cannot be written: {error}"),
            hint: None,
        })?;
        let mut rows = Vec::with_capacity(1 + effects.len());
        rows.push(Row::new(RowKind::Input, at, input.answers(), body));
        rows.extend(effects.iter().filter_map(|effect| intent(at, effect)));
        self.store.append(&self.run, &rows, progress)
    }
}

/// Scripts have no effect outside the machine, so they need no intent; nor do questions.
fn intent(at: Timestamp, effect: &Effect) -> Option<Row> {
    let (call, body) = match effect {
        Effect::TakeSnapshot { call, label, .. } => {
            (call, json!({"effect": "take_snapshot", "label": label}))
        }
        Effect::CallModel { call, request } => (
            call,
            json!({
                "effect": "call_model", "agent": request.agent, "state": request.state,
                "model": request.choice.model, "messages": request.messages.len(),
            }),
        ),
        Effect::RunTool { call, invocation, risk } => (
            call,
            json!({
                "effect": "run_tool", "agent": invocation.agent, "tool": invocation.tool,
                "risk": risk, "arguments": invocation.arguments,
            }),
        ),
        Effect::Evaluate { .. }
        | Effect::Abort { .. }
        | Effect::AskApproval { .. }
        | Effect::AskPerson { .. }
        | Effect::SetTimer { .. }
        | Effect::Finish => return None,
    };
    Some(Row::new(RowKind::Intent, at, Some(*call), body.to_string()))
}
