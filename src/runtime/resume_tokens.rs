//! Resume tokens: the right to answer one pause, once, for a time.

use std::time::Duration;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::handle::RuntimeHandle;
use super::load_for_resume::{LoadScope, load_for_resume};
use super::resume::{ResumeError, ResumeRequest, SpentToken, upgraded_machine};
use synthdev_domain::approval::ApprovalDecision;
use synthdev_domain::ids::{CallId, RunId, Timestamp};
use synthdev_domain::journal::{OpenPause, PauseReason, RunStatus, TokenRecord};
use synthdev_engine::answer_validation::requested_increase;
use synthdev_engine::input::UserAnswer;
use synthdev_ports::run_store::StoreError;

pub const DEFAULT_TTL_SECONDS: u64 = 1_800;
/// Answers that do not fit before a token is worth nothing.
const TRIES: u32 = 5;
/// How long to wait for another process that uses the same token at the same time: milliseconds between looks, and
/// looks.
const LOOK_AGAIN_MS: u64 = 20;
const LOOKS: usize = 100;

/// A token as the client gets it; the store keeps only its hash.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResumeToken {
    pub text: String,
    pub expires_at: Timestamp,
}

/// The outcome of an answer with a token.
#[derive(Clone, PartialEq, Debug)]
pub struct RedeemOutcome {
    pub run: RunId,
    /// Given, but not asked for.
    pub ignored_names: Vec<String>,
    /// It was answered so before; nothing happened now. The recorded answer, JSON: `run`, `state`, and the `outputs`
    /// that were declared.
    pub earlier_answer: Option<String>,
}

#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum TokenError {
    #[error(
        "this resume token is unknown: it was mistyped or forged, or its run is gone or went back behind it"
    )]
    Unknown,
    #[error("token_expired: the token expired at {} UTC; run {} still waits", .0.format_utc(), .1)]
    Expired(Timestamp, RunId),
    #[error("token_expired: the token expired at {} UTC; run {run} no longer waits for it: it is {}", .at.format_utc(), .status.as_str())]
    Late { at: Timestamp, run: RunId, status: RunStatus },
    #[error("this token no longer fits: the run went on, or its definition changed")]
    Stale,
    #[error("{problem}; {remaining_tries} {} left", if *remaining_tries == 1 { "try is" } else { "tries are" })]
    Unfit { problem: String, remaining_tries: u32 },
    #[error("the answer for state `{}` is not for the client that has its token", .0.state)]
    Forbidden(Box<OpenPause>),
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
            Self::Expired(_, run) => Some(format!("answer it with: synthdev resume {run}")),
            Self::Late { run, .. } => Some(format!("what came of it: synthdev runs show {run}")),
            Self::Stale | Self::Spent => {
                Some("resume the run by its id; a new pause gives a new token".to_owned())
            }
            Self::Unfit { .. } | Self::Forbidden(_) => Some("the token stays valid".to_owned()),
            Self::Resume(error) => error.hint(),
        }
    }
}

/// Milliseconds by which the timer of a pause may run out before its token.
const MOMENT_MS: i64 = 2_000;

impl RuntimeHandle {
    /// A token for one open pause of a run.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn issue_token(
        &self,
        run: &RunId,
        call: CallId,
        ttl_seconds: u64,
    ) -> Result<ResumeToken, StoreError> {
        let store = &self.ports().store;
        let summary = store.find(run.as_str())?;
        let random = [self.ports().ids.seed(), self.ports().ids.seed(), self.ports().ids.seed()];
        let random: String = random.iter().map(|part| format!("{part:016x}")).collect();
        let text = format!("{}-{random}", summary.workflow.replace(char::is_whitespace, "_"));
        let created = self.ports().clock.now();
        let ttl = i64::try_from(ttl_seconds.max(1)).unwrap_or(i64::MAX).saturating_mul(1_000);
        let expires = Timestamp(created.0.saturating_add(ttl));
        store.issue_token(&TokenRecord {
            hash: hash_text(&text),
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
        Ok(ResumeToken { text, expires_at: expires })
    }

    /// Whether a token still gives the right to answer its pause.
    pub fn is_token_valid(&self, token: &ResumeToken) -> bool {
        let store = &self.ports().store;
        let Ok(Some(record)) = store.token(&hash_text(&token.text)) else { return false };
        let open = record.used.is_none() && record.tries < TRIES;
        let same =
            || store.find(record.run.as_str()).is_ok_and(|run| run.definition_hash == record.definition_hash);
        open && self.ports().clock.now() < record.expires && same()
    }

    /// Which run a token is for.
    ///
    /// # Errors
    /// It is unknown.
    pub fn run_for_token(&self, token: &str) -> Result<RunId, TokenError> {
        self.pause_for_token(token).map(|(run, _)| run)
    }

    /// Which pause of which run a token is for.
    ///
    /// # Errors
    /// It is unknown.
    pub fn pause_for_token(&self, token: &str) -> Result<(RunId, CallId), TokenError> {
        let record = self.ports().store.token(&hash_text(token.trim()))?;
        record.map(|record| (record.run, record.call)).ok_or(TokenError::Unknown)
    }

    /// Answers the pause of the token and resumes the run. `may` checks that pause in its present state, whatever the
    /// run's status is.
    ///
    /// # Errors
    /// The token or the results are not accepted: nothing was changed.
    pub async fn redeem(
        &self,
        token: &str,
        results: Value,
        going: ResumeRequest,
        may: &(dyn Fn(&OpenPause) -> bool + Sync),
    ) -> Result<RedeemOutcome, TokenError> {
        let record = self.ports().store.token(&hash_text(token.trim()))?.ok_or(TokenError::Unknown)?;
        let results = self.context.redactor.clean_data(results);
        if record.used.is_some() {
            return used_before(record, &results);
        }
        let hash = record.hash.clone();
        let error = match self.redeem_unused(record, results.clone(), going, may).await {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        // whatever went wrong: if another process was faster, that is the reason
        match self.used_meanwhile(&hash, &error).await? {
            Some(record) => used_before(record, &results),
            None => Err(error),
        }
    }

    async fn redeem_unused(
        &self,
        record: TokenRecord,
        results: Value,
        mut given: ResumeRequest,
        may: &(dyn Fn(&OpenPause) -> bool + Sync),
    ) -> Result<RedeemOutcome, TokenError> {
        let store = &self.ports().store;
        let run = record.run.clone();
        if record.tries >= TRIES {
            return Err(TokenError::Spent);
        }
        let now = self.ports().clock.now();
        let progress = store.find(run.as_str())?.progress;
        let waits = progress.pauses.iter().any(|pause| pause.call == record.call)
            && progress.status == RunStatus::Paused;
        // what counts without an answer does so a moment before its token ends
        let ended = !waits && now.0.saturating_add(MOMENT_MS) >= record.expires.0;
        if ended || now >= record.expires {
            let (at, status) = (record.expires, progress.status);
            return Err(if waits {
                TokenError::Expired(at, run)
            } else {
                TokenError::Late { at, run, status }
            });
        }
        let scope = LoadScope::for_definition(given.program.as_ref());
        let machine = load_for_resume(&**store, &run, scope)?.machine;
        let machine = upgraded_machine(&machine, given.program.as_ref())?;
        let same = store.find(run.as_str())?.definition_hash == record.definition_hash;
        let pause =
            machine.open_pauses().into_iter().find(|pause| pause.call == record.call).filter(|_| same);
        let pause = pause.ok_or(TokenError::Stale)?;
        if !may(&pause) {
            return Err(TokenError::Forbidden(Box::new(pause)));
        }
        let declared = &declared_names(&pause, &results);
        let (ignored, results_hash) = (ignored_names(declared, &results), results_hash(declared, &results));
        let fits = answer_to(&pause, results, &mut given).and_then(|()| {
            given.answers.iter().try_for_each(|(call, answer)| machine.validate_answer_to(*call, answer))
        });
        if let Err(problem) = fits {
            let left = TRIES.saturating_sub(store.count_failed_try(&record.hash)?);
            return Err(if left == 0 {
                TokenError::Spent
            } else {
                TokenError::Unfit { problem, remaining_tries: left }
            });
        }
        let answer =
            json!({"run": run, "state": pause.state, "accepted": true, "outputs": declared}).to_string();
        given.token = Some(SpentToken { hash: record.hash, results_hash, answer });
        match self.resume(&run, given).await {
            Ok(()) => Ok(RedeemOutcome { run, ignored_names: ignored, earlier_answer: None }),
            Err(ResumeError::Duplicate { answer }) => {
                Ok(RedeemOutcome { run, ignored_names: ignored, earlier_answer: Some(answer) })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The token, if it is used by now. A process that is about to use it drives the run already, so this takes a
    /// moment.
    async fn used_meanwhile(
        &self,
        hash: &str,
        error: &TokenError,
    ) -> Result<Option<TokenRecord>, StoreError> {
        let store = &self.ports().store;
        for _ in 0..LOOKS {
            let Some(record) = store.token(hash)? else { return Ok(None) };
            if record.used.is_some() {
                return Ok(Some(record));
            }
            let driven = matches!(error, TokenError::Resume(ResumeError::Store(_)))
                && store.find(record.run.as_str())?.progress.status == RunStatus::Running;
            if !driven {
                return Ok(None);
            }
            tokio::time::sleep(Duration::from_millis(LOOK_AGAIN_MS)).await;
        }
        Ok(None)
    }
}

/// The reply to an answer that was given before.
fn used_before(record: TokenRecord, results: &Value) -> Result<RedeemOutcome, TokenError> {
    let answer = record.answer.unwrap_or_default();
    let outputs =
        serde_json::from_str::<Value>(&answer).ok().and_then(|answer| answer.get("outputs").cloned());
    let declared: Vec<String> =
        outputs.and_then(|names| serde_json::from_value(names).ok()).unwrap_or_default();
    if record.results_hash != Some(results_hash(&declared, results)) {
        return Err(ResumeError::Conflict.into());
    }
    Ok(RedeemOutcome {
        run: record.run,
        ignored_names: ignored_names(&declared, results),
        earlier_answer: Some(answer),
    })
}

/// Puts results into the field that the pause expects.
///
/// # Errors
/// They are of another kind than the question.
pub fn answer_to(pause: &OpenPause, results: Value, going: &mut ResumeRequest) -> Result<(), String> {
    match pause.reason {
        PauseReason::Approval => {
            let decision = approval_decision(&results).ok_or_else(|| {
                format!(
                    "{results}: say {{\"decision\": \"allow\"}} or {{\"decision\": \"deny\", \"reason\": …}}"
                )
            })?;
            going.decisions.push((pause.call, decision));
        }
        PauseReason::Input if pause.kind.as_deref() == Some("outputs") => {
            going.answers.push((pause.call, UserAnswer::Value { value: results }));
        }
        PauseReason::Input => {
            let value = match answer_key(&results) {
                Some(name) => results[name].clone(),
                None => results,
            };
            going.answers.push((pause.call, UserAnswer::Value { value }));
        }
        PauseReason::UncertainEffect => {
            going.answers.push((pause.call, UserAnswer::Value { value: results }))
        }
        PauseReason::Error => going.answers.push((pause.call, UserAnswer::Continue)),
        PauseReason::Limit if is_as_much_again(&unwrap_answer(results.clone())) => {
            going.answers.push((pause.call, UserAnswer::Continue));
        }
        PauseReason::Limit => {
            return Err("say \"continue\" for as much again; without an answer the run waits".to_owned());
        }
        PauseReason::Budget => going.answers.push((pause.call, budget_answer(results)?)),
        PauseReason::User | PauseReason::Delegate => {}
    }
    Ok(())
}

/// An increase of a budget: the given amount, or the same again for a plain yes. No other text spends anything.
fn budget_answer(results: Value) -> Result<UserAnswer, String> {
    let said = unwrap_answer(results);
    let again = is_as_much_again(&said);
    let answer = if again { UserAnswer::Continue } else { UserAnswer::Value { value: said } };
    if again || requested_increase(&answer).is_some() {
        return Ok(answer);
    }
    Err("how much more? Say {\"budget\": …} in dollars, tokens or seconds, or \"continue\" for as much again; \
         without an answer the run waits"
        .to_owned())
}

fn is_as_much_again(said: &Value) -> bool {
    match said {
        Value::Bool(yes) => *yes,
        Value::String(word) => word.trim() == "continue",
        Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => false,
    }
}

/// What counts of results, by name.
fn declared_names(pause: &OpenPause, results: &Value) -> Vec<String> {
    let single = pause.reason == PauseReason::Input && pause.kind.as_deref() != Some("outputs");
    match answer_key(results).filter(|_| single) {
        Some(name) => vec![name.to_owned()],
        None => pause.required_outputs.clone(),
    }
}

/// The field of an object that holds a single answer: for a question whose value is no object.
pub fn answer_key(results: &Value) -> Option<&'static str> {
    ["answer", "value"].into_iter().find(|name| results.get(name).is_some_and(|value| !value.is_null()))
}

/// `{"answer": x}` and `{"value": x}` are x.
fn unwrap_answer(results: Value) -> Value {
    let Value::Object(fields) = &results else { return results };
    let only = (fields.len() == 1).then(|| fields.get("answer").or_else(|| fields.get("value"))).flatten();
    only.cloned().unwrap_or(results)
}

/// The word with which an approval is answered.
pub fn decision_word(results: &Value) -> Option<&str> {
    match results {
        Value::Bool(true) => Some("allow"),
        Value::Bool(false) => Some("deny"),
        Value::String(word) => Some(word),
        other => other["decision"].as_str(),
    }
}

/// What an answer to an approval decides; `None`: it is none.
pub fn approval_decision(results: &Value) -> Option<ApprovalDecision> {
    match decision_word(results)? {
        "allow" | "approve" | "yes" => Some(ApprovalDecision::Allow),
        // the second is what was written before the screen kept `always` for a rule in the settings
        "run" | "always" => Some(ApprovalDecision::AllowTool),
        "deny" | "no" => {
            Some(ApprovalDecision::Deny { reason: results["reason"].as_str().map(str::to_owned) })
        }
        _ => None,
    }
}

fn ignored_names(declared: &[String], results: &Value) -> Vec<String> {
    let extra = |name: &&String| !declared.is_empty() && !declared.contains(name);
    results.as_object().map(|fields| fields.keys().filter(extra).cloned().collect()).unwrap_or_default()
}

/// The hash that makes two answers equal: over their declared keys, in any order. `{"answer": x}` is x, as front-ends send it.
fn results_hash(declared: &[String], results: &Value) -> String {
    let taken = match results {
        Value::Object(fields) if !declared.is_empty() => {
            let fields = fields.iter().filter(|(name, _)| declared.contains(name));
            Value::Object(fields.map(|(name, value)| (name.clone(), value.clone())).collect())
        }
        other => other.clone(),
    };
    hash_text(&sort_keys(unwrap_answer(taken)).to_string())
}

/// With the keys of all objects in order.
pub(super) fn sort_keys(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<(String, Value)> =
                fields.into_iter().map(|(name, value)| (name, sort_keys(value))).collect();
            fields.sort_by(|one, other| one.0.cmp(&other.0));
            Value::Object(Map::from_iter(fields))
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sort_keys).collect()),
        plain => plain,
    }
}

pub(super) fn hash_text(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_grows_by_an_amount_or_by_the_one_word() {
        let amount = |value: Value| Some(UserAnswer::Value { value });
        let rows = [
            (json!(5), amount(json!(5))),
            (json!({"budget": 0.5}), amount(json!({"budget": 0.5}))),
            (json!({"answer": {"budget": 0.5}}), amount(json!({"budget": 0.5}))),
            (json!("continue"), Some(UserAnswer::Continue)),
            (json!(true), Some(UserAnswer::Continue)),
            (json!({"answer": "continue"}), Some(UserAnswer::Continue)),
            (json!({"value": true}), Some(UserAnswer::Continue)),
            (json!("no"), None),
            (json!(""), None),
            (json!(false), None),
            (Value::Null, None),
            (json!({}), None),
            (json!([]), None),
            (json!({"decision": "deny"}), None),
            (json!({"answer": "no"}), None),
            (json!({"budget": -5}), None),
            (json!({"budget": "much"}), None),
        ];
        for (said, expected) in rows {
            assert_eq!(budget_answer(said.clone()).ok(), expected, "{said}");
        }
    }

    #[test]
    fn answers_are_the_same_whatever_their_order_and_whatever_was_not_asked_for() {
        let declared = ["plan".to_owned(), "size".to_owned()];
        let first = json!({"plan": {"a": [{"x": 1, "y": 2}], "b": 2}, "size": 3});
        let rows = [
            (json!({"size": 3, "plan": {"b": 2, "a": [{"y": 2, "x": 1}]}}), true),
            (json!({"size": 3, "extra": 0, "plan": {"b": 2, "a": [{"y": 2, "x": 1}]}}), true),
            (json!({"size": 4, "plan": {"b": 2, "a": [{"y": 2, "x": 1}]}}), false),
            (json!({"size": 3, "plan": {"b": 2, "a": [{"y": 1, "x": 2}]}}), false),
            (json!({"size": 3}), false),
        ];
        for (results, same) in rows {
            let equal = results_hash(&declared, &results) == results_hash(&declared, &first);
            assert_eq!(equal, same, "{results}");
        }
        let single = |declared: &str, results: Value| results_hash(&[declared.to_owned()], &results);
        assert_eq!(
            single("answer", json!({"answer": "blue", "extra": 0})),
            results_hash(&[], &json!("blue"))
        );
        assert_eq!(results_hash(&[], &json!({"value": "blue"})), results_hash(&[], &json!("blue")));
        assert_ne!(results_hash(&[], &json!({"answer": "blue", "b": 1})), results_hash(&[], &json!("blue")));
        // a value of any form, where nothing is declared
        assert_eq!(results_hash(&[], &json!({"b": 1, "a": 2})), results_hash(&[], &json!({"a": 2, "b": 1})));
        assert_ne!(results_hash(&[], &json!({"b": 1})), results_hash(&[], &json!({"b": 1, "c": 1})));
        assert_ne!(results_hash(&[], &json!([1, 2])), results_hash(&[], &json!([2, 1])));
    }
}
