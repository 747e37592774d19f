//! Models: the one `ModelPort` of the program, which sends each request to where its `choice` points.
//!
//! `scripted` is answered from a file (`scripted.rs`), every other provider name speaks the chat completions
//! of OpenAI at its base URL (`openai.rs`). Refuses: retries (the runtime's), keys in any text (CFG-20).

pub mod openai;
mod patience;
pub mod scripted;

use std::collections::BTreeMap;

use futures_util::future::BoxFuture;

use crate::domain::model::{ModelError, ModelReply, ModelRequest};
use crate::domain::secret::Secret;
use crate::ports::model::{DeltaSink, ModelPort};

pub use patience::Patience;

use openai::OpenAi;
use scripted::ScriptedModel;

/// The provider name that is answered from a replies file.
pub const SCRIPTED: &str = "scripted";

/// Every model that a run can ask. Making one opens nothing, reads nothing and builds no TLS (MODEL-18).
#[derive(Debug)]
pub struct Providers {
    openai: OpenAi,
    scripted: Option<ScriptedModel>,
}

impl Providers {
    /// `keys`: the key ring; a `ModelChoice` holds only the name of its key (CFG-20).
    pub fn new(keys: BTreeMap<String, Secret>, patience: Patience) -> Self {
        Self { openai: OpenAi::new(keys, patience), scripted: None }
    }

    /// Keys are sent to these base URLs' servers only: a recorded run may name others (CFG-20).
    #[must_use]
    pub fn with_homes(mut self, homes: BTreeMap<String, Vec<String>>) -> Self {
        self.openai = self.openai.with_homes(homes);
        self
    }

    /// Answers the provider `scripted` from this script.
    #[must_use]
    pub fn with_scripted(mut self, script: ScriptedModel) -> Self {
        self.scripted = Some(script);
        self
    }

    /// The script, to ask it what was not used.
    pub fn scripted(&self) -> Option<&ScriptedModel> {
        self.scripted.as_ref()
    }
}

impl ModelPort for Providers {
    fn call<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a dyn DeltaSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            if request.choice.provider != SCRIPTED {
                return self.openai.call(request, sink).await;
            }
            match &self.scripted {
                Some(script) => script.call(request, sink).await,
                None => Err(ModelError::Drift {
                    detail: format!(
                        "agent `{}` asks the scripted model, but no replies file was given",
                        request.agent
                    ),
                }),
            }
        })
    }
}
