//! What reaches a driver.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tokio::sync::oneshot::Sender;

use super::command::{ControlAction, ControlOrigin, RunCommand};
use super::redact::SecretRedactor;
use synthdev_domain::cost::AttemptUsage;
use synthdev_domain::ids::CallId;
use synthdev_domain::number_format::format_thousands;
use synthdev_engine::effect::Effect;
use synthdev_engine::input::Input;
use synthdev_ports::lock::{LockError, ProjectLockGuard};
use synthdev_ports::run_store::StoreError;

/// What reaches a driver.
pub(super) enum DriverMessage {
    Command(RunCommand),
    Input(Input),
    /// An effect did not begin, because the store refused to take down that it would.
    NotBegun(Box<Effect>, StoreError),
    /// An attempt at a model call has failed that is paid for: may there be another one?
    MayRepeat {
        call: CallId,
        answer: Sender<bool>,
    },
    /// It is to be paused or ended: whether that is done.
    Control(ControlAction, ControlOrigin, Sender<bool>),
    /// The project's files are the run's to change, or the lock cannot be asked.
    ProjectLock(Result<ProjectLockGuard, LockError>),
    /// A sub-agent's result.
    Submitted(Box<SubmittedResult>),
    /// A task that performed an effect panicked: its answer will never come.
    EffectPanicked,
}

/// The result of a sub-agent's step.
pub(super) struct SubmittedResult {
    pub(super) call: CallId,
    pub(super) input: Input,
    /// Identifies equal results; stored in the journal with the input.
    pub(super) dedup_mark: String,
    /// Whether it is written down.
    pub(super) answer: Sender<bool>,
}

/// Partial replies of the model calls in progress; kept when the user cancels. A call that is not in it was stopped: a
/// piece that arrives later is dropped.
pub(super) type PartialReplies = Arc<Mutex<BTreeMap<CallId, PartialReply>>>;

/// Most bytes that are kept of an unfinished reply. An interrupt takes effect at once, however much has streamed: the
/// kept text is redacted, recorded and shown to the model first.
pub(super) const MOST_KEPT: usize = 256 << 10;

/// The partial result of one model call.
#[derive(Default, Debug)]
pub(super) struct PartialReply {
    /// Of the attempt under way, its beginning.
    text: String,
    /// Bytes that came after that and are not kept.
    discarded_bytes: usize,
    /// Usage of the current attempt, as far as it is known.
    current_usage: Option<AttemptUsage>,
    /// By those that failed before it.
    failed_usage: Vec<AttemptUsage>,
}

impl PartialReply {
    /// More of the text.
    pub(super) fn push_text(&mut self, text: &str) {
        let room = MOST_KEPT - self.text.len();
        // what follows a gap is no part of the beginning
        let end = if self.discarded_bytes == 0 { text.floor_char_boundary(text.len().min(room)) } else { 0 };
        self.text.push_str(&text[..end]);
        self.discarded_bytes += text.len() - end;
    }

    /// The text, redacted and with a note about what is missing; `None`: there is none.
    pub(super) fn redacted_text(&self, redactor: &SecretRedactor) -> Option<String> {
        if self.text.is_empty() {
            return None;
        }
        let text = redactor.clean_cut(self.text.clone());
        let beyond = format_thousands(self.discarded_bytes as u64);
        let told = || format!("{text}\n\n[… {beyond} bytes more had streamed: they are not kept]");
        Some(if self.discarded_bytes == 0 { text } else { told() })
    }

    /// Later reports replace earlier ones.
    pub(super) fn set_usage(&mut self, used: AttemptUsage) {
        self.current_usage = Some(used);
    }

    /// The attempt has failed, and another begins: what streamed is void, what it used is paid for.
    pub(super) fn fail_attempt(&mut self) {
        self.text.clear();
        self.discarded_bytes = 0;
        self.failed_usage.extend(self.current_usage.take());
    }

    /// What the failed attempts used; an answer knows for itself what it used.
    pub(super) fn failed_usage(&self) -> Vec<AttemptUsage> {
        self.failed_usage.clone()
    }

    /// Takes the usage of failed attempts, to record it.
    pub(super) fn drain_failed_usage(&mut self) -> Vec<AttemptUsage> {
        std::mem::take(&mut self.failed_usage)
    }

    /// What all attempts used.
    pub(super) fn total_usage(&self) -> Vec<AttemptUsage> {
        self.failed_usage.iter().chain(&self.current_usage).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_a_flood_is_kept_and_the_rest_counted() {
        let plain = SecretRedactor::new(Vec::new());
        let keyed = SecretRedactor::new(vec!["sk-0123456789abcdef".to_owned()]);
        for piece in [1, 7, 1_000, 3 * MOST_KEPT] {
            let mut streamed = PartialReply::default();
            let text = "ab ü ".repeat(MOST_KEPT / 3);
            let mut rest = text.as_str();
            while !rest.is_empty() {
                let (next, later) = rest.split_at(rest.ceil_char_boundary(piece.min(rest.len())));
                streamed.push_text(next);
                rest = later;
            }
            let said = streamed.redacted_text(&plain).unwrap();
            let (kept, told) = said.split_once("\n\n[… ").unwrap();
            assert!(text.starts_with(kept) && (MOST_KEPT - 1..=MOST_KEPT).contains(&kept.len()), "{piece}");
            assert_eq!(
                told,
                format!(
                    "{} bytes more had streamed: they are not kept]",
                    format_thousands((text.len() - kept.len()) as u64)
                )
            );
            streamed.fail_attempt();
            assert_eq!(streamed.redacted_text(&plain), None, "the next attempt begins anew");
            streamed.push_text("so far");
            assert_eq!(streamed.redacted_text(&plain).as_deref(), Some("so far"));
        }
        // a key that the cut goes through
        let mut streamed = PartialReply::default();
        streamed.push_text(&"x".repeat(MOST_KEPT - 12));
        streamed.push_text("sk-0123456789abcdef and more");
        assert!(!streamed.redacted_text(&keyed).unwrap().contains("sk-01"), "most of a key is one");
    }
}
