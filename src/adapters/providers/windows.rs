//! The windows of models that neither settings nor the catalogue know, as the servers near by tell them.
//!
//! Owns: asking each server once for each model, however many runs start at once. Refuses: asking servers outside of
//! this machine and its private network, waiting for long, and failing: a window that is not told stays unknown.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;

use crate::domain::model::ModelChoice;

use super::address::is_local;
use super::model_listing;
use super::transport::ProviderTransport;

/// What a server has answered; inside, nothing: it does not tell.
type Told = Arc<OnceCell<Option<u64>>>;

/// By base URL and model.
#[derive(Debug, Default)]
pub struct Windows(Mutex<BTreeMap<(String, String), Told>>);

impl Windows {
    /// Without asking: what is set, else what the server has told. `None`: it is to be asked.
    pub fn known(&self, choice: &ModelChoice) -> Option<Option<u64>> {
        if choice.context_size.is_some() || !is_local(&choice.base_url) {
            return Some(choice.context_size);
        }
        self.of(choice).get().copied()
    }

    /// The same; a server that has told nothing yet is asked. One that cannot be reached, or is busy, is asked again the
    /// next time.
    pub async fn told(&self, http: &ProviderTransport, choice: &ModelChoice) -> Option<u64> {
        if let Some(known) = self.known(choice) {
            return known;
        }
        let told = self.of(choice);
        let asked = told.get_or_try_init(async || {
            let key = http.key(choice).map_err(drop)?;
            match model_listing::window(http, choice, key).await {
                Ok(window) => Ok(window),
                Err(error) if error.is_transient() => Err(()),
                Err(_) => Ok(None),
            }
        });
        tokio::time::timeout(http.patience().window, asked).await.ok()?.ok().copied().flatten()
    }

    fn of(&self, choice: &ModelChoice) -> Told {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry((choice.base_url.clone(), choice.model.clone())).or_default())
    }
}
