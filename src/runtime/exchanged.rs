//! What models were asked in a run so far, and what they answered: for those who record or play it from there on.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::handle::Handle;
use super::{reopen, window};
use crate::domain::ids::RunId;
use crate::domain::journal::RunHeader;
use crate::domain::model::{ModelError, ModelReply, ModelRequest};
use crate::engine::effect::Effect;
use crate::engine::input::Input;
use crate::engine::replay::Tape;
use crate::engine::spec::RunSpec;
use crate::ports::run_store::{RowRef, RunReader, StoreError};

/// The first thing that is read of a run.
#[derive(Default)]
struct Head(Option<RunHeader>);

impl RunReader for Head {
    fn header(&mut self, header: RunHeader) -> ControlFlow<()> {
        self.0 = Some(header);
        ControlFlow::Break(())
    }

    fn row(&mut self, _: RowRef<'_>) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}

impl Handle {
    /// What a run was started with, without a look at what came of it.
    ///
    /// # Errors
    /// Unknown id, or a run of a newer program.
    pub fn begun_with(&self, run: &RunId) -> Result<Arc<RunSpec>, StoreError> {
        let mut head = Head::default();
        self.ports().store.read(run, &mut head)?;
        let unread = || StoreError { message: format!("run {run} cannot be read"), hint: None };
        reopen::definition(&head.0.ok_or_else(unread)?)
    }

    /// Tells every call that was answered, in the order of the answers; one that failed several times, as often. What
    /// the run went back behind is not among them. Keys are removed, as they are everywhere.
    ///
    /// # Errors
    /// Unknown id, or unreadable rows.
    pub fn exchanged(
        &self,
        run: &RunId,
        tell: &mut dyn FnMut(ModelRequest, Result<ModelReply, ModelError>),
    ) -> Result<(), StoreError> {
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
        Ok(())
    }
}
