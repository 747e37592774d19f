//! What stands between a run and its models while they are recorded, or instead of them.

use std::sync::Arc;

use crate::adapters::providers::cassette::{Player, Recorder};
use crate::ports::model::ModelPort;

#[derive(Clone)]
pub enum Deck {
    Recorder(Arc<Recorder>),
    Player(Arc<Player>),
}

impl Deck {
    /// What the runtime asks.
    pub(super) fn port(&self) -> Arc<dyn ModelPort> {
        match self {
            Self::Recorder(recorder) => recorder.clone(),
            Self::Player(player) => player.clone(),
        }
    }
}
