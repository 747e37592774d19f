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
use synthdev_engine::event::RunEvent;
use synthdev_engine::input::Input;
use synthdev_ports::run_store::{RunStore, StoreError};

/// Rows that wait at most, and for how long in milliseconds: readers want to see where a run is.
const MOST_HELD: usize = 64;
const LONGEST_HELD_MS: i64 = 50;
/// Bytes of rows that are kept for a store that cannot be written: then the run is left. A journal has no holes.
const MOST_UNWRITTEN: usize = 16 << 20;

/// Where what was recorded is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum JournalWrite {
    Written,
    /// It can wait, or there was nothing to write.
    Held,
}

pub(super) struct RunJournal {
    run: RunId,
    store: Arc<dyn RunStore>,
    held: Vec<JournalRow>,
    /// Lists may show something else since the last write.
    boundary: bool,
    flushed: Timestamp,
    /// What lists were to show with rows that could not be written.
    unwritten: Option<RunProgress>,
    /// What a reader is to see first of the run as it is after what is written next.
    glance: Option<String>,
    /// Stands with the next input.
    mark: Option<String>,
    /// The last write failed: what is held should be in the store.
    behind: bool,
}

impl RunJournal {
    pub(super) fn new(run: RunId, store: Arc<dyn RunStore>) -> Self {
        Self {
            run,
            store,
            held: Vec::new(),
            boundary: false,
            flushed: Timestamp(0),
            unwritten: None,
            glance: None,
            mark: None,
            behind: false,
        }
    }

    /// The next input is the result of a step that a sub-agent did.
    pub(super) fn marks(&mut self, mark: String) {
        self.mark = Some(mark);
    }

    /// Of the input that is recorded next.
    pub(super) fn mark(&self) -> Option<String> {
        self.mark.clone()
    }

    /// What a reader sees first of the run, if that is to go with what is written next: no input comes between.
    pub(super) fn comes_to(&mut self, glance: Option<String>) {
        self.glance = glance;
    }

    /// # Errors
    /// The store cannot be written: what was to be written is kept, and goes before the next.
    pub(super) fn record(
        &mut self,
        at: Timestamp,
        input: &Input,
        (effects, events): (&[Effect], &[RunEvent]),
        boundary: bool,
        progress: &dyn Fn() -> Option<RunProgress>,
    ) -> Result<JournalWrite, StoreError> {
        let from = self.held.len();
        rows(at, input, effects, events, &mut self.held)?;
        if let (Some(mark), Some(row)) = (self.mark.take(), self.held.get_mut(from)) {
            put_mark(&mut row.body, &mark);
        }
        self.boundary |= boundary;
        let late = at.0.saturating_sub(self.flushed.0) >= LONGEST_HELD_MS;
        let can_wait = can_wait(input, effects) && self.glance.is_none();
        if can_wait && !late && self.held.len() < MOST_HELD {
            return Ok(JournalWrite::Held);
        }
        self.flushed = at;
        let progress = std::mem::take(&mut self.boundary).then(progress).flatten();
        self.write(progress)
    }

    /// Calls that are made once more.
    ///
    /// # Errors
    /// As `record`.
    pub(super) fn again<'a>(
        &mut self,
        at: Timestamp,
        effects: impl Iterator<Item = (&'a Effect, u32)>,
    ) -> Result<JournalWrite, StoreError> {
        self.held.extend(effects.filter_map(|(effect, attempt)| intent(at, effect, attempt)));
        self.flush()
    }

    /// Writes what waits.
    ///
    /// # Errors
    /// As `record`.
    pub(super) fn flush(&mut self) -> Result<JournalWrite, StoreError> {
        if self.held.is_empty() && self.glance.is_none() { Ok(JournalWrite::Held) } else { self.write(None) }
    }

    /// Something could not be written, and still waits.
    pub(super) fn is_behind(&self) -> bool {
        self.behind
    }

    /// More waits than can be kept.
    pub(super) fn is_full(&self) -> bool {
        self.behind && self.held.iter().map(|row| row.body.len()).sum::<usize>() > MOST_UNWRITTEN
    }

    /// Rows that cannot be written now are written before the next ones: a run is its inputs in order.
    fn write(&mut self, progress: Option<RunProgress>) -> Result<JournalWrite, StoreError> {
        let progress = progress.or_else(|| self.unwritten.take());
        let written = match &self.glance {
            Some(glance) => self.store.append_with_preview(&self.run, &self.held, progress.as_ref(), glance),
            None => self.store.append(&self.run, &self.held, progress.as_ref()),
        };
        self.behind = written.is_err();
        if self.behind {
            self.unwritten = progress;
        } else {
            self.held.clear();
            self.glance = None;
        }
        written.map(|()| JournalWrite::Written)
    }
}

/// The rows of one input.
///
/// # Errors
/// A value that has no JSON form.
pub(super) fn rows(
    at: Timestamp,
    input: &Input,
    effects: &[Effect],
    events: &[RunEvent],
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
    into.extend(effects.iter().filter_map(|effect| intent(at, effect, 1)));
    Ok(())
}

/// Field of an input's row that a sub-agent gave.
const MARK: &str = ",\"submitted\":\"";

/// The input itself does not hold it: a result means the same whoever gave it.
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
pub(super) fn intent(at: Timestamp, effect: &Effect, attempt: u32) -> Option<JournalRow> {
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
        // what somebody wrote into a result is no mark
        for said in [r#","submitted":"ab12""#, r#"{"a":1,"submitted":"ab12"}"#] {
            let answer = synthdev_engine::input::UserAnswer::Text { text: said.to_owned() };
            let body = serde_json::to_string(&Input::Answered { call: CallId(3), answer }).unwrap();
            assert_eq!(mark_in(&body), None, "{body}");
        }
        let nested = r#"{"input":"tool_done","outcome":{"a":1,"submitted":"ab12"}}"#;
        assert_eq!(mark_in(nested), None);
    }
}
