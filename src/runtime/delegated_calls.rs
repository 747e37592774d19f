//! Model calls that a client makes: each stays open until the client answers it.
//!
//! Owned by one process. When it dies, the crash rule repeats the call as a new interaction; the old id answers that,
//! too.

mod durable_ids;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::{oneshot, watch};

use self::durable_ids::{DurableIdParts, RunSeedCache};
pub use self::durable_ids::{TTL, may_belong_to_run};
use super::handle::RuntimeHandle;
use super::resume_tokens::{hash_text, sort_keys};
use super::runtime_context::RuntimePorts;
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::model::{ModelError, ModelReply, ModelRequest};
use synthdev_ports::clock::{ClockPort, IdSource};
use synthdev_ports::model::{DeltaSink, ModelPort};
use synthdev_ports::run_store::RunStore;

/// The provider whose models are the client's.
pub const PROVIDER: &str = "agentllm";
/// Answered calls that are kept, so that a repeated answer gets the same reply.
const REMEMBERED: usize = 1_000;
/// Answers that do not fit before the call fails.
const TRIES: u32 = 5;

/// A call that waits for its answer.
#[derive(Clone, PartialEq, Debug)]
pub struct DelegatedCall {
    pub id: String,
    pub run: RunId,
    pub request: ModelRequest,
    pub expires_at: Timestamp,
}

/// The outcome of an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DelegatedAnswerOutcome {
    Taken,
    /// It was answered so before; nothing happened now.
    Duplicate,
    /// It was answered otherwise before: the first answer counts.
    Conflict,
    Unknown,
}

#[derive(Default)]
struct DelegatedCallTable {
    pending_calls: BTreeMap<String, PendingDelegatedCall>,
    /// Oldest first: id, run, hash of the answer.
    answered_calls: Vec<(String, RunId, String)>,
    /// Ids of a process that died, each with the one that was asked in its place.
    successor_ids: BTreeMap<String, String>,
    /// How many were asked.
    asked_count: u64,
}

struct PendingDelegatedCall {
    call: DelegatedCall,
    number: u64,
    failed_tries: u32,
    /// A sampling request for this call is in progress.
    is_claimed: bool,
    answer: oneshot::Sender<Result<ModelReply, ModelError>>,
}

/// All open ones of this process.
pub struct DelegatedCalls {
    table: Mutex<DelegatedCallTable>,
    count: watch::Sender<u64>,
}

impl Default for DelegatedCalls {
    fn default() -> Self {
        Self { table: Mutex::default(), count: watch::Sender::new(0) }
    }
}

impl DelegatedCalls {
    /// Of one run, in the order in which they were asked.
    pub fn open_calls(&self, run: &RunId) -> Vec<DelegatedCall> {
        let table = self.table();
        let mut own: Vec<&PendingDelegatedCall> =
            table.pending_calls.values().filter(|one| one.call.run == *run).collect();
        own.sort_by_key(|one| one.number);
        own.into_iter().map(|one| one.call.clone()).collect()
    }

    /// Whether a run has an open call that no sampling request has claimed.
    pub fn has_unclaimed_call(&self, run: &RunId) -> bool {
        self.table().pending_calls.values().any(|one| one.call.run == *run && !one.is_claimed)
    }

    /// Claims an open call; `None` if it is claimed already. Another client can answer it nevertheless; the first
    /// answer counts.
    pub fn claim(&self, id: &str) -> Option<DelegatedCallClaim<'_>> {
        let mut table = self.table();
        let waiting = table.pending_calls.get_mut(id).filter(|waiting| !waiting.is_claimed)?;
        waiting.is_claimed = true;
        let interaction = waiting.call.clone();
        Some(DelegatedCallClaim { interactions: self, call: interaction })
    }

    /// The id of an open or answered call of this process: `id` itself, or its successor.
    pub fn resolve(&self, id: &str) -> Option<String> {
        let table = self.table();
        let id = table.successor_ids.get(id).map_or(id, String::as_str);
        let known = table.pending_calls.contains_key(id)
            || table.answered_calls.iter().any(|(known, ..)| known == id);
        known.then(|| id.to_owned())
    }

    /// Maps an id of a process that died to this run's call with the same content, if it is open already.
    pub fn adopt_id(&self, id: &str, run: &RunId) -> Option<String> {
        let what = DurableIdParts::parse(id)?.content_hash;
        let mut table = self.table();
        let same = |waiting: &&PendingDelegatedCall| {
            let open = &waiting.call;
            let asks = DurableIdParts::parse(&open.id).is_some_and(|parts| parts.content_hash == what);
            open.run == *run && asks && !table.successor_ids.values().any(|heir| *heir == open.id)
        };
        let heir = table.pending_calls.values().filter(same).min_by_key(|waiting| waiting.number);
        let heir = heir.map(|waiting| waiting.call.id.clone())?;
        table.successor_ids.insert(id.to_owned(), heir.clone());
        Some(heir)
    }

    pub fn find(&self, id: &str) -> Option<DelegatedCall> {
        self.table().pending_calls.get(id).map(|one| one.call.clone())
    }

    /// The run of one that was answered.
    pub fn run_for_answered(&self, id: &str) -> Option<RunId> {
        self.table().answered_calls.iter().find(|(known, ..)| known == id).map(|(_, run, _)| run.clone())
    }

    /// Changes whenever something is asked.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.count.subscribe()
    }

    /// Hands in an answer. `said` is the whole answer, to distinguish a repetition, in any order of its keys, from
    /// another answer.
    pub fn answer(
        &self,
        id: &str,
        said: &Value,
        answer: Result<ModelReply, ModelError>,
    ) -> DelegatedAnswerOutcome {
        let said = hash_text(&sort_keys(said.clone()).to_string());
        let mut table = self.table();
        if let Some((.., before)) = table.answered_calls.iter().find(|(known, ..)| known == id) {
            return if *before == said {
                DelegatedAnswerOutcome::Duplicate
            } else {
                DelegatedAnswerOutcome::Conflict
            };
        }
        let Some(waiting) = table.pending_calls.remove(id) else { return DelegatedAnswerOutcome::Unknown };
        table.answered_calls.push((id.to_owned(), waiting.call.run, said));
        if table.answered_calls.len() > REMEMBERED {
            table.answered_calls.remove(0);
        }
        // the driver does not wait any more if the run was cancelled at this moment
        let _ = waiting.answer.send(answer);
        DelegatedAnswerOutcome::Taken
    }

    /// Counts an answer that does not fit; how many more may come. With the last one the call fails.
    pub fn count_misfit(&self, id: &str, why: &str) -> u32 {
        let mut table = self.table();
        let Some(waiting) = table.pending_calls.get_mut(id) else { return 0 };
        waiting.failed_tries += 1;
        let left = TRIES.saturating_sub(waiting.failed_tries);
        if left == 0
            && let Some(waiting) = table.pending_calls.remove(id)
        {
            let detail = format!("the client gave {TRIES} answers that do not fit: {why}");
            let _ = waiting.answer.send(Err(ModelError::Unfit { detail }));
        }
        left
    }

    fn ask_client(&self, interaction: DelegatedCall) -> oneshot::Receiver<Result<ModelReply, ModelError>> {
        let (answer, answered) = oneshot::channel();
        let mut table = self.table();
        let number = table.asked_count;
        table.asked_count += 1;
        table.pending_calls.insert(
            interaction.id.clone(),
            PendingDelegatedCall { call: interaction, number, failed_tries: 0, is_claimed: false, answer },
        );
        drop(table);
        self.count.send_modify(|count| *count += 1);
        answered
    }

    fn withdraw(&self, id: &str) {
        self.table().pending_calls.remove(id);
    }

    fn table(&self) -> MutexGuard<'_, DelegatedCallTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The models of one run: a client answers those of the provider `agentllm`, all others go to the inner port.
pub struct DelegatingModelPort {
    run: RunId,
    interactions: Arc<DelegatedCalls>,
    direct_model: Arc<dyn ModelPort>,
    clock: Arc<dyn ClockPort>,
    ids: Arc<dyn IdSource>,
    store: Arc<dyn RunStore>,
    seed: RunSeedCache,
}

impl DelegatingModelPort {
    /// For the models of one run that is driven under these ports.
    pub fn new(run: RunId, interactions: Arc<DelegatedCalls>, ports: &RuntimePorts) -> Self {
        Self {
            run,
            interactions,
            direct_model: Arc::clone(&ports.models),
            clock: Arc::clone(&ports.clock),
            ids: Arc::clone(&ports.ids),
            store: Arc::clone(&ports.store),
            seed: RunSeedCache::default(),
        }
    }
}

impl RuntimeHandle {
    /// For one run: models of the provider `agentllm` are the client's.
    #[must_use]
    pub fn with_delegated_models(&self, run: &RunId, interactions: Arc<DelegatedCalls>) -> Self {
        self.with_models(Arc::new(DelegatingModelPort::new(run.clone(), interactions, self.ports())))
    }

    /// Whether this run gave an id out, and it still counts.
    pub fn is_interaction_id_valid(&self, run: &RunId, id: &str) -> bool {
        durable_ids::is_id_valid(&*self.ports().store, run, id, self.now())
    }

    /// What models have answered in a run, as far as it is written down.
    pub fn recorded_replies(&self, run: &RunId) -> Vec<ModelReply> {
        durable_ids::recorded_replies(&*self.ports().store, run)
    }
}

impl ModelPort for DelegatingModelPort {
    fn call<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a dyn DeltaSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        if request.choice.provider != PROVIDER {
            return self.direct_model.call(request, sink);
        }
        Box::pin(self.delegate_call(request))
    }

    fn request_body(&self, request: &ModelRequest) -> Option<Value> {
        if request.choice.provider == PROVIDER { None } else { self.direct_model.request_body(request) }
    }
}

impl DelegatingModelPort {
    async fn delegate_call(&self, request: &ModelRequest) -> Result<ModelReply, ModelError> {
        let begun = self.clock.now();
        let ttl = i64::try_from(TTL.as_millis()).unwrap_or(i64::MAX);
        let seed = self.seed.get_or_load(&*self.store, &self.run, self.ids.seed());
        let interaction = DelegatedCall {
            id: durable_ids::new_durable_id(&self.run, seed, request, begun, self.ids.seed()),
            run: self.run.clone(),
            request: request.clone(),
            expires_at: Timestamp(begun.0.saturating_add(ttl)),
        };
        // dropping this future withdraws the call
        let _open = OpenCallGuard { interactions: &self.interactions, id: interaction.id.clone() };
        let answered = self.interactions.ask_client(interaction);
        // after this time the call fails, and is repeated when the run is resumed
        let silent = || ModelError::Delegated {
            transient: false,
            detail: format!("the client did not answer within {} minutes", TTL.as_secs() / 60),
        };
        let answer = tokio::time::timeout(TTL, answered).await;
        let mut reply = answer.map_err(|_| silent())?.map_err(|_| silent())??;
        reply.duration_ms = u64::try_from(self.clock.now().0.saturating_sub(begun.0)).unwrap_or(0);
        Ok(reply)
    }
}

/// A claimed call; when this is dropped without an answer the call can be claimed again.
pub struct DelegatedCallClaim<'i> {
    interactions: &'i DelegatedCalls,
    pub call: DelegatedCall,
}

impl Drop for DelegatedCallClaim<'_> {
    fn drop(&mut self) {
        let mut table = self.interactions.table();
        if let Some(waiting) = table.pending_calls.get_mut(&self.call.id) {
            waiting.is_claimed = false;
            drop(table);
            self.interactions.count.send_modify(|count| *count += 1);
        }
    }
}

struct OpenCallGuard<'i> {
    interactions: &'i DelegatedCalls,
    id: String,
}

impl Drop for OpenCallGuard<'_> {
    fn drop(&mut self) {
        self.interactions.withdraw(&self.id);
    }
}
