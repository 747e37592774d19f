//! What models were asked in a run so far, and what they answered: for those who record or play it from there on.

use std::sync::Arc;

use super::handle::Handle;
use super::{reopen, window};
use crate::domain::ids::RunId;
use crate::domain::model::{ModelError, ModelReply, ModelRequest};
use crate::engine::effect::Effect;
use crate::engine::input::Input;
use crate::engine::replay::Tape;
use crate::ports::run_store::StoreError;

/// What a run was like before it is taken up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Before {
    /// Its agents were told where they work: their requests are of this place and time.
    pub told_of_here: bool,
}

impl Handle {
    /// Tells every call that was answered, in the order of the answers; one that failed several times, as often. What
    /// the run went back behind is not among them. Keys are removed, as they are everywhere.
    ///
    /// # Errors
    /// Unknown id, or unreadable rows.
    pub fn exchanged(
        &self,
        run: &RunId,
        tell: &mut dyn FnMut(ModelRequest, Result<ModelReply, ModelError>),
    ) -> Result<Before, StoreError> {
        let story = reopen::read(&*self.ports().store, run)?;
        let mut tape = Tape::new(Arc::clone(&story.spec));
        for (at, entry) in story.entries.iter().enumerate() {
            let (call, answer, times) = match &entry.input {
                Input::Replied { call, reply } => (Some(*call), Some(Ok(reply.clone())), 1),
                Input::ModelFailed { call, error, attempts, .. } => {
                    (Some(*call), Some(Err(error.clone())), (*attempts).max(1))
                }
                _ => (None, None, 0),
            };
            let asked = tape.open().find_map(|effect| match effect {
                Effect::CallModel { call: open, request } if Some(*open) == call => Some(request),
                _ => None,
            });
            // one that does not fit its window was refused unasked
            let sent = asked.and_then(|request| window::fitting(request).ok());
            if let (Some(request), Some(answer)) = (sent, answer) {
                let request = self.shared.redactor.clean_data(request.into_owned());
                for _ in 0..times {
                    tell(request.clone(), answer.clone());
                }
            }
            let next = story.entries.get(at + 1).map(|entry| &entry.input);
            tape.feed(entry.at, entry.input.clone(), next);
        }
        Ok(Before { told_of_here: !story.spec.brief.is_empty() })
    }
}
