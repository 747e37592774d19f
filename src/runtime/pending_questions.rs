//! Questions about calls of runs, from being asked to being answered. Only of this process.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use tokio::sync::oneshot;

use synthdev_domain::ids::{CallId, RunId};

/// `A` is what is answered. One question for each call.
pub(super) struct PendingQuestions<A>(Mutex<BTreeMap<(RunId, CallId), oneshot::Sender<A>>>);

impl<A> Default for PendingQuestions<A> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<A> PendingQuestions<A> {
    /// The answer. Those whose askers are gone are forgotten.
    pub(super) fn ask(&self, run: &RunId, call: CallId) -> oneshot::Receiver<A> {
        let (answer, answered) = oneshot::channel();
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pending.retain(|_, waiting| !waiting.is_closed());
        pending.insert((run.clone(), call), answer);
        answered
    }

    /// An answer to a question that is not asked is dropped.
    pub(super) fn answer(&self, run: &RunId, call: CallId, answer: A) {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&(run.clone(), call));
        if let Some(waiting) = waiting {
            let _ = waiting.send(answer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_reaches_the_one_who_asked_and_nobody_else() {
        let (run, other) = (RunId::from("r1"), RunId::from("r2"));
        let questions = PendingQuestions::default();
        let mut first = questions.ask(&run, CallId(1));
        let mut second = questions.ask(&run, CallId(2));
        questions.answer(&other, CallId(1), "another run");
        questions.answer(&run, CallId(3), "another call");
        assert!(first.try_recv().is_err() && second.try_recv().is_err());
        questions.answer(&run, CallId(2), "yes");
        questions.answer(&run, CallId(2), "again");
        assert_eq!((first.try_recv().ok(), second.try_recv().ok()), (None, Some("yes")));
        drop(first);
        drop(questions.ask(&other, CallId(1)));
        let _third = questions.ask(&run, CallId(3));
        assert_eq!(questions.0.lock().unwrap().len(), 1, "nobody waits for the others");
    }
}
