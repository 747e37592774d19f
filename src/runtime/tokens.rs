//! Resume tokens: the right to answer one pause, once, for a time (rules B2 to B8, B15).

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::handle::Handle;
use super::reopen;
use super::resume::{Going, ResumeError, Spent};
use crate::domain::approval::Decision;
use crate::domain::ids::{CallId, RunId, Timestamp};
use crate::domain::journal::{OpenPause, PauseReason, TokenRecord};
use crate::engine::input::Answer;
use crate::ports::run_store::StoreError;

/// B4.
pub const DEFAULT_TTL_SECONDS: u64 = 1_800;
/// Answers that do not fit before a token is worth nothing (B8).
const TRIES: u32 = 5;

/// A token as it is given away; nothing keeps it but its holder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Token {
    pub text: String,
    pub expires: Timestamp,
}

/// What came of an answer with a token.
#[derive(Clone, PartialEq, Debug)]
pub struct Redemption {
    pub run: RunId,
    /// Given, but not asked for (B9).
    pub ignored: Vec<String>,
    /// It was answered so before; nothing happened now (B7).
    pub duplicate: Option<String>,
}

#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum TokenError {
    #[error("this resume token is unknown: it was mistyped, forged, or its run is gone")]
    Unknown,
    #[error("token_expired: the token expired at {0:?}; run {1} still waits")]
    Expired(Timestamp, RunId),
    #[error("this token no longer fits: the run went on, or its definition changed")]
    Stale,
    #[error("{problem}; {left} {} left", if *left == 1 { "try is" } else { "tries are" })]
    Unfit { problem: String, left: u32 },
    #[error("this token was used with {TRIES} answers that do not fit: it is worth nothing now")]
    Spent,
    #[error(transparent)]
    Resume(#[from] ResumeError),
}

impl From<StoreError> for TokenError {
    fn from(error: StoreError) -> Self {
        Self::Resume(ResumeError::Store(error))
    }
}

impl TokenError {
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown => Some("`synthdev runs list --status paused` shows what waits".to_owned()),
            Self::Expired(_, run) => {
                Some(format!("whoever owns the run answers it with: synthdev resume {run}"))
            }
            Self::Stale | Self::Spent => {
                Some("resume the run by its id; a new pause gives a new token".to_owned())
            }
            Self::Unfit { .. } => Some("the token stays valid".to_owned()),
            Self::Resume(error) => error.hint(),
        }
    }
}

impl Handle {
    /// A token for one open pause of a run.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn issue_token(&self, run: &RunId, call: CallId, ttl_seconds: u64) -> Result<Token, StoreError> {
        let store = &self.ports().store;
        let summary = store.find(run.as_str())?;
        let luck = [self.ports().ids.seed(), self.ports().ids.seed(), self.ports().ids.seed()];
        let luck: String = luck.iter().map(|part| format!("{part:016x}")).collect();
        let text = format!("{}-{luck}", summary.workflow.replace(char::is_whitespace, "_"));
        let created = self.ports().clock.now();
        let ttl = i64::try_from(ttl_seconds.max(1)).unwrap_or(i64::MAX).saturating_mul(1_000);
        let expires = Timestamp(created.0.saturating_add(ttl));
        store.issue_token(&TokenRecord {
            hash: hash(&text),
            run: run.clone(),
            call,
            definition_hash: summary.definition_hash,
            created,
            expires,
            tries: 0,
            used: None,
            results_hash: None,
            answer: None,
        })?;
        Ok(Token { text, expires })
    }

    /// Which run a token is for.
    ///
    /// # Errors
    /// It is unknown.
    pub fn run_of(&self, token: &str) -> Result<RunId, TokenError> {
        let record = self.ports().store.token(&hash(token.trim()))?;
        record.map(|record| record.run).ok_or(TokenError::Unknown)
    }

    /// Answers the pause that the token is for, and goes on.
    ///
    /// # Errors
    /// The token or the results are not accepted: nothing was changed.
    pub async fn redeem(&self, token: &str, results: Value, going: Going) -> Result<Redemption, TokenError> {
        let store = &self.ports().store;
        let record = store.token(&hash(token.trim()))?.ok_or(TokenError::Unknown)?;
        let results = self.shared.redactor.clean_data(results);
        let results_hash = hash(&results.to_string());
        let run = record.run.clone();
        if record.used.is_some() {
            return match record.answer.filter(|_| record.results_hash.as_deref() == Some(&results_hash)) {
                Some(answer) => Ok(Redemption { run, ignored: Vec::new(), duplicate: Some(answer) }),
                None => Err(ResumeError::Conflict.into()),
            };
        }
        if record.tries >= TRIES {
            return Err(TokenError::Spent);
        }
        if self.ports().clock.now() >= record.expires {
            return Err(TokenError::Expired(record.expires, run));
        }
        let machine = reopen::read(&**store, &run)?.play().machine;
        let same = store.find(run.as_str())?.definition_hash == record.definition_hash;
        let pause = machine.pauses().into_iter().find(|pause| pause.call == record.call).filter(|_| same);
        let pause = pause.ok_or(TokenError::Stale)?;
        let (mut given, ignored) = (going, ignored(&pause, &results));
        let fits = answer_to(&pause, results, &mut given).and_then(|()| {
            given.answers.iter().try_for_each(|(call, answer)| machine.would_take(*call, answer))
        });
        if let Err(problem) = fits {
            let left = TRIES.saturating_sub(store.count_try(&record.hash)?);
            return Err(if left == 0 { TokenError::Spent } else { TokenError::Unfit { problem, left } });
        }
        let answer = json!({"run": run, "state": pause.state, "accepted": true}).to_string();
        given.token = Some(Spent { hash: record.hash, results_hash, answer });
        match self.resume(&run, given).await {
            Ok(()) => Ok(Redemption { run, ignored, duplicate: None }),
            Err(ResumeError::Duplicate { answer }) => {
                Ok(Redemption { run, ignored, duplicate: Some(answer) })
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Puts results where the pause wants them.
///
/// # Errors
/// They are of another kind than what is asked.
pub fn answer_to(pause: &OpenPause, results: Value, going: &mut Going) -> Result<(), String> {
    match pause.reason {
        PauseReason::Approval => {
            let decision = decision(&results).ok_or_else(|| {
                format!(
                    "{results}: say {{\"decision\": \"allow\"}} or {{\"decision\": \"deny\", \"reason\": …}}"
                )
            })?;
            going.decisions.push((pause.call, decision));
        }
        PauseReason::Input if pause.kind.as_deref() == Some("outputs") => {
            going.answers.push((pause.call, Answer::Value { value: results }));
        }
        PauseReason::Input => going.answers.push((pause.call, Answer::Value { value: bare(results) })),
        PauseReason::UncertainEffect => going.answers.push((pause.call, Answer::Value { value: results })),
        PauseReason::Error | PauseReason::Limit | PauseReason::Budget => {
            going.answers.push((pause.call, Answer::Continue));
        }
        PauseReason::User | PauseReason::Delegate => {}
    }
    Ok(())
}

/// `{"answer": x}` and `{"value": x}` are x.
fn bare(results: Value) -> Value {
    let Value::Object(fields) = &results else { return results };
    let only = (fields.len() == 1).then(|| fields.get("answer").or_else(|| fields.get("value"))).flatten();
    only.cloned().unwrap_or(results)
}

fn decision(results: &Value) -> Option<Decision> {
    let word = match results {
        Value::Bool(true) => "allow",
        Value::Bool(false) => "deny",
        Value::String(word) => word.as_str(),
        other => other["decision"].as_str()?,
    };
    match word {
        "allow" | "approve" | "yes" => Some(Decision::Allow),
        "always" => Some(Decision::AllowTool),
        "deny" | "no" => Some(Decision::Deny { reason: results["reason"].as_str().map(str::to_owned) }),
        _ => None,
    }
}

fn ignored(pause: &OpenPause, results: &Value) -> Vec<String> {
    let declared = &pause.required_outputs;
    let extra = |name: &&String| !declared.is_empty() && !declared.contains(name);
    results.as_object().map(|fields| fields.keys().filter(extra).cloned().collect()).unwrap_or_default()
}

fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
