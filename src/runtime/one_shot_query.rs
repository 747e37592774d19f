//! A query to a model outside of runs: it has no journal and no events. Retries, the window, fallback models and costs
//! work as for every other call; the caller uses the answer.

use std::future::ready;
use std::sync::{Mutex, PoisonError};

use futures_util::FutureExt;

use super::driver_message::PartialReply;
use super::handle::RuntimeHandle;
use super::{context_window, retry};
use synthdev_domain::cost::{AttemptUsage, CostEntry};
use synthdev_domain::ids::Timestamp;
use synthdev_domain::model::{DeltaKind, ModelChoice, ModelError, ModelReply, ModelRequest, add_charge};
use synthdev_ports::model::DeltaSink;

/// How it ended.
#[derive(Debug)]
pub enum OneShotOutcome {
    Answered(ModelReply),
    Failed(ModelError),
    Stopped,
}

#[derive(Debug)]
pub struct OneShotReport {
    pub outcome: OneShotOutcome,
    /// What all attempts came to, also those that gave no answer.
    pub costs: Vec<CostEntry>,
}

impl RuntimeHandle {
    /// Asks until there is an answer, a lasting error, or `stopped` resolves, which closes the connection. Request and
    /// answer are redacted.
    pub async fn ask_model(&self, request: ModelRequest, stopped: impl Future<Output = ()>) -> OneShotReport {
        let request = self.context.redactor.clean_data(request);
        let meter = OneShotCostMeter::new(request.choice.clone());
        let ended = tokio::select! {
            biased;
            () = stopped => OneShotOutcome::Stopped,
            result = self.call_with_fallback(request.clone(), &meter) => match result {
                Ok(reply) => OneShotOutcome::Answered(ModelReply { text: self.context.redactor.redact_text(reply.text), ..reply }),
                Err(error) => OneShotOutcome::Failed(error),
            },
        };
        let spent = meter.into_cost_entries(&request, self.context.ports.clock.now());
        OneShotReport { outcome: ended, costs: spent }
    }

    async fn call_with_fallback(
        &self,
        mut request: ModelRequest,
        meter: &OneShotCostMeter,
    ) -> Result<ModelReply, ModelError> {
        let mut others = request.choice.fallback.len();
        loop {
            let result = self.call_with_retries(&request, meter).await;
            meter.finish_model(result.as_ref().ok());
            match result {
                Err(error) if error.is_transient() && others > 0 && request.choice.switch_to_fallback() => {
                    others -= 1;
                    meter.switch_model(request.choice.clone());
                }
                result => return result,
            }
        }
    }

    async fn call_with_retries(
        &self,
        request: &ModelRequest,
        meter: &OneShotCostMeter,
    ) -> Result<ModelReply, ModelError> {
        let request = context_window::fit_to_window(request)?;
        let ports = &self.context.ports;
        let random = || ports.ids.seed();
        let allowed = || ready(true).boxed();
        let again = |_, _, _: &ModelError| meter.record_failed_attempt();
        let policy = self.context.options.retry;
        retry::call_with_retries(&*ports.models, &request, meter, policy, &random, &allowed, &again)
            .await
            .result
    }
}

/// The usage of all attempts, whichever model was called.
struct OneShotCostMeter(Mutex<OneShotCostTally>);

struct OneShotCostTally {
    choice: ModelChoice,
    partial_reply: PartialReply,
    /// Usage of finished attempts, with the model of each.
    finished_attempts: Vec<(ModelChoice, AttemptUsage)>,
}

impl OneShotCostMeter {
    fn new(choice: ModelChoice) -> Self {
        Self(Mutex::new(OneShotCostTally {
            choice,
            partial_reply: PartialReply::default(),
            finished_attempts: Vec::new(),
        }))
    }

    fn with_tally<T>(&self, act: impl FnOnce(&mut OneShotCostTally) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn record_failed_attempt(&self) {
        self.with_tally(|counted| counted.partial_reply.fail_attempt());
    }

    fn switch_model(&self, choice: ModelChoice) {
        self.with_tally(|counted| counted.choice = choice);
    }

    /// The last attempt at this model is over; an answer knows for itself what it used.
    fn finish_model(&self, reply: Option<&ModelReply>) {
        self.with_tally(|counted| {
            let streamed = std::mem::take(&mut counted.partial_reply);
            let used = match reply {
                None => streamed.total_usage(),
                Some(reply) => {
                    let own = AttemptUsage {
                        usage: reply.usage,
                        estimated: reply.usage_estimated,
                        model: reply.model.clone(),
                        price: reply.price,
                    };
                    reply.failed.iter().cloned().chain(streamed.failed_usage()).chain([own]).collect()
                }
            };
            let choice = counted.choice.clone();
            counted.finished_attempts.extend(used.into_iter().map(|used| (choice.clone(), used)));
        });
    }

    /// One line for each model.
    fn into_cost_entries(self, request: &ModelRequest, at: Timestamp) -> Vec<CostEntry> {
        // one that was stopped is not over
        self.finish_model(None);
        let over = self.0.into_inner().unwrap_or_else(PoisonError::into_inner).finished_attempts;
        let mut entries: Vec<CostEntry> = Vec::new();
        for (asked, used) in over {
            let cost_usd = asked.price_for(&used).map(|price| price.cost_usd(&used.usage));
            let attempt = CostEntry {
                agent: request.agent.clone(),
                role: request.agent.clone(),
                state: request.state.clone(),
                model: used.model.unwrap_or(asked.model),
                usage: used.usage,
                cost_usd,
                at,
                estimated: used.estimated,
            };
            add_charge(&mut entries, attempt);
        }
        entries
    }
}

impl DeltaSink for OneShotCostMeter {
    fn delta(&self, _: DeltaKind, _: &str) {}

    fn report_usage(&self, used: AttemptUsage) {
        self.with_tally(|counted| counted.partial_reply.set_usage(used));
    }
}
