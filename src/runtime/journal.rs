//! Writes a run's rows: the input, then the intents of what it led to, in one transaction.
//!
//! What a script gave can be worked out again from the inputs before it, so such rows wait for the next one that
//! cannot: a chain of states that only run scripts costs one write, and a kill loses nothing that was paid for.

use std::sync::Arc;

use serde_json::json;

use super::{event_digest, search_text};
use synthdev_domain::ids::{CallId, RunId, Timestamp};
use synthdev_domain::journal::{JournalRow, JournalRowKind, RunProgress};
use synthdev_engine::effect::Effect;
use synthdev_engine::event::StepEvent;
use synthdev_engine::input::Input;
use synthdev_engine::machine::MachineOutput;
use synthdev_ports::run_store::{RunStore, StoreError};

/// Rows that wait at most, and for how long in milliseconds: readers want to see where a run is.
const MOST_HELD: usize = 64;
const LONGEST_HELD_MS: i64 = 50;
/// Bytes of rows that are kept for a store that cannot be written: then the run is left. A journal has no holes.
const MOST_UNWRITTEN: usize = 16 << 20;

/// Whether the rows are in the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum JournalWrite {
    Written,
    /// It can wait, or there was nothing to write.
    Held,
}

pub(super) struct RunJournal {
    run: RunId,
    store: Arc<dyn RunStore>,
    pending_rows: Vec<JournalRow>,
    /// Lists may show something else since the last write.
    at_boundary: bool,
    flushed_at: Timestamp,
    /// What lists were to show with rows that could not be written.
    unwritten_progress: Option<RunProgress>,
    /// The preview of the run after the next write.
    next_preview: Option<String>,
    /// Added to the row of the next input.
    next_mark: Option<String>,
    /// Bytes of the rows recorded since they were last asked for.
    recorded_bytes: usize,
    /// The last write failed: held rows should be in the store.
    is_behind: bool,
}

impl RunJournal {
    pub(super) fn new(run: RunId, store: Arc<dyn RunStore>) -> Self {
        Self {
            run,
            store,
            pending_rows: Vec::new(),
            at_boundary: false,
            flushed_at: Timestamp(0),
            unwritten_progress: None,
            next_preview: None,
            next_mark: None,
            recorded_bytes: 0,
            is_behind: false,
        }
    }

    /// The next input is the result of a step that a sub-agent did.
    pub(super) fn set_mark(&mut self, mark: String) {
        self.next_mark = Some(mark);
    }

    /// Of the input that is recorded next.
    pub(super) fn mark(&self) -> Option<String> {
        self.next_mark.clone()
    }

    /// Sets the preview that goes with the next write; no input comes between.
    pub(super) fn set_preview(&mut self, preview: Option<String>) {
        self.next_preview = preview;
    }

    /// # Errors
    /// The store cannot be written: the rows are kept, and written before the next ones.
    pub(super) fn record(
        &mut self,
        at: Timestamp,
        input: &Input,
        output: &MachineOutput,
        boundary: bool,
        progress: &dyn Fn() -> Option<RunProgress>,
    ) -> Result<JournalWrite, StoreError> {
        let from = self.pending_rows.len();
        let MachineOutput { effects, events } = output;
        input_rows(at, input, effects, events, &mut self.pending_rows)?;
        if let (Some(mark), Some(row)) = (self.next_mark.take(), self.pending_rows.get_mut(from)) {
            put_mark(&mut row.body, &mark);
        }
        self.recorded_bytes += self.pending_rows[from..].iter().map(|row| row.body.len()).sum::<usize>();
        self.at_boundary |= boundary;
        let late = at.0.saturating_sub(self.flushed_at.0) >= LONGEST_HELD_MS;
        let can_wait = can_wait(input, effects) && self.next_preview.is_none();
        if can_wait && !late && self.pending_rows.len() < MOST_HELD {
            return Ok(JournalWrite::Held);
        }
        self.flushed_at = at;
        let progress = std::mem::take(&mut self.at_boundary).then(progress).flatten();
        self.write_pending(progress)
    }

    /// Calls that are made once more.
    ///
    /// # Errors
    /// As `record`.
    pub(super) fn record_repeats<'a>(
        &mut self,
        at: Timestamp,
        effects: impl Iterator<Item = (&'a Effect, u32)>,
    ) -> Result<JournalWrite, StoreError> {
        self.pending_rows.extend(effects.filter_map(|(effect, attempt)| intent_row(at, effect, attempt)));
        self.flush()
    }

    /// Writes what waits.
    ///
    /// # Errors
    /// As `record`.
    pub(super) fn flush(&mut self) -> Result<JournalWrite, StoreError> {
        if self.pending_rows.is_empty() && self.next_preview.is_none() {
            Ok(JournalWrite::Held)
        } else {
            self.write_pending(None)
        }
    }

    /// Something could not be written, and still waits.
    pub(super) fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// Bytes of the rows since the last call of this.
    pub(super) fn take_recorded_bytes(&mut self) -> usize {
        std::mem::take(&mut self.recorded_bytes)
    }

    /// More waits than can be kept.
    pub(super) fn is_full(&self) -> bool {
        self.is_behind && self.pending_rows.iter().map(|row| row.body.len()).sum::<usize>() > MOST_UNWRITTEN
    }

    /// Rows that cannot be written now are written before the next ones: a run is its inputs in order.
    fn write_pending(&mut self, progress: Option<RunProgress>) -> Result<JournalWrite, StoreError> {
        let progress = progress.or_else(|| self.unwritten_progress.take());
        let written = match &self.next_preview {
            Some(preview) => {
                self.store.append_with_preview(&self.run, &self.pending_rows, progress.as_ref(), preview)
            }
            None => self.store.append(&self.run, &self.pending_rows, progress.as_ref()),
        };
        self.is_behind = written.is_err();
        if self.is_behind {
            self.unwritten_progress = progress;
        } else {
            self.pending_rows.clear();
            self.next_preview = None;
        }
        written.map(|()| JournalWrite::Written)
    }
}

/// The rows of one input.
///
/// # Errors
/// A value that has no JSON form.
pub(super) fn input_rows(
    at: Timestamp,
    input: &Input,
    effects: &[Effect],
    events: &[StepEvent],
    into: &mut Vec<JournalRow>,
) -> Result<(), StoreError> {
    let body = serde_json::to_string(input).map_err(|error| StoreError {
        message: format!("an input cannot be written: {error}"),
        hint: None,
    })?;
    into.push(JournalRow {
        words: search_text::input_search_text(input),
        digest: Some(event_digest::digest_events(events)),
        ..JournalRow::new(JournalRowKind::Input, at, input.answered_call(), body)
    });
    into.extend(effects.iter().filter_map(|effect| intent_row(at, effect, 1)));
    Ok(())
}

/// Field of an input's row that a sub-agent gave.
const MARK: &str = ",\"submitted\":\"";

/// The mark is no part of the input: a result means the same, whichever worker gave it.
fn put_mark(body: &mut String, mark: &str) {
    if body.ends_with('}') && mark.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        body.pop();
        body.push_str(MARK);
        body.push_str(mark);
        body.push_str("\"}");
    }
}

/// What makes the result in a row the same as another one, if a sub-agent gave it.
pub(super) fn mark_in(body: &str) -> Option<String> {
    let (before, mark) = body.strip_suffix("\"}")?.rsplit_once(MARK)?;
    let whole = !before.is_empty() && mark.bytes().all(|byte| byte.is_ascii_hexdigit());
    whole.then(|| mark.to_owned())
}

fn can_wait(input: &Input, effects: &[Effect]) -> bool {
    let script = matches!(input, Input::Evaluated { .. } | Input::ScriptFailed { .. });
    script && effects.iter().all(|effect| matches!(effect, Effect::Evaluate { .. } | Effect::Abort { .. }))
}

/// Whether an effect must not begin before it is written that it will.
pub(super) fn needs_intent(effect: &Effect) -> bool {
    matches!(effect, Effect::TakeSnapshot { .. } | Effect::CallModel { .. } | Effect::RunTool { .. })
}

/// Scripts have no effect outside the machine, so they need no intent; nor do questions.
pub(super) fn intent_row(at: Timestamp, effect: &Effect, attempt: u32) -> Option<JournalRow> {
    let (call, mut body): (&CallId, _) = match effect {
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
        | Effect::CheckTool { .. }
        | Effect::AskApproval { .. }
        | Effect::AskPerson { .. }
        | Effect::SetTimer { .. }
        | Effect::Finish => return None,
    };
    let mut words = None;
    if attempt > 1 {
        body["attempt"] = attempt.into();
    } else if let Effect::RunTool { invocation, .. } = effect {
        words = search_text::call_search_text(invocation);
    }
    Some(JournalRow { words, ..JournalRow::new(JournalRowKind::Intent, at, Some(*call), body.to_string()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_found_only_where_one_was_put() {
        let input = Input::Elapsed { call: CallId(3) };
        let plain = serde_json::to_string(&input).unwrap();
        let mut marked = plain.clone();
        put_mark(&mut marked, "ab12");
        assert_eq!((mark_in(&marked).as_deref(), mark_in(&plain)), (Some("ab12"), None));
        assert_eq!(serde_json::from_str::<Input>(&marked).unwrap(), input);
        // text in a result is no mark
        for said in [r#","submitted":"ab12""#, r#"{"a":1,"submitted":"ab12"}"#] {
            let answer = synthdev_engine::input::UserAnswer::Text { text: said.to_owned() };
            let body = serde_json::to_string(&Input::Answered { call: CallId(3), answer }).unwrap();
            assert_eq!(mark_in(&body), None, "{body}");
        }
        let nested = r#"{"input":"tool_done","outcome":{"a":1,"submitted":"ab12"}}"#;
        assert_eq!(mark_in(nested), None);
    }
}
