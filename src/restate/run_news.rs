//! What a worker tells those who follow a run: its rows, what lists show of it, and pieces of what is being done.

use std::time::Duration;

use tokio::time::timeout;

use super::journaled_step::{FollowAnswer, FollowRequest, StepRefusal};
use super::run_session::{RunSession, store_refusal};
use super::worker::RunWorker;
use synthdev_domain::ids::RunId;
use synthdev_runtime::run_definition::read_header;

/// Who follows a run and knows all of it is answered when there is more, or after this.
const FOLLOW_PATIENCE: Duration = Duration::from_secs(20);
/// The same while the worker does not drive the run: it may be over.
const BEGIN_PATIENCE: Duration = Duration::from_secs(1);
/// Rows of one moment are told together; the end at once.
const TOGETHER: Duration = Duration::from_millis(20);
/// About as much is in one answer.
const MOST_BYTES: usize = 4 << 20;

impl RunWorker {
    /// Until there is something new for who asks, but not for long.
    pub(crate) async fn wait_for_news(&self, run: &RunId, asked: FollowRequest) {
        if asked.looks_only {
            return;
        }
        let begun = timeout(BEGIN_PATIENCE, self.wait_for_session(run));
        let cell = match self.session_cell(run) {
            Some(cell) => cell,
            // it has left the run since, or the caller has read nothing yet
            None if asked.version.is_some() || asked.rows == 0 && self.is_known(run) => return,
            None => match begun.await {
                Ok(cell) => cell,
                Err(_) => return,
            },
        };
        let Some(session) = cell.get() else { return };
        let _ = timeout(FOLLOW_PATIENCE, wait_in_session(session, asked)).await;
    }

    /// What happened in a run since the caller last asked.
    ///
    /// # Errors
    /// The run cannot be read.
    pub(crate) fn follow(&self, run: &RunId, asked: FollowRequest) -> Result<FollowAnswer, StepRefusal> {
        let cell = self.session_cell(run);
        let session = cell.as_ref().and_then(|cell| cell.get());
        let version = session.map(|session| session.outbox.version());
        let mut told = FollowAnswer {
            version,
            history: self.host().history(),
            project: self.host().project().identity.clone(),
            ..FollowAnswer::default()
        };
        let is_unchanged = version.is_some() && version == asked.version;
        if !is_unchanged && self.is_known(run) {
            self.read_rows(run, asked, &mut told)?;
        }
        // read after the rows: those who follow know the calls whose pieces these are
        if let (Some(session), Some(seen)) = (session, asked.transient) {
            (told.transient, told.transient_seen) = session.transient.since(seen);
        }
        Ok(told)
    }

    fn read_rows(
        &self,
        run: &RunId,
        asked: FollowRequest,
        told: &mut FollowAnswer,
    ) -> Result<(), StepRefusal> {
        let store = self.host().store();
        if asked.rows == 0 {
            told.header = read_header(&*store, run).map_err(store_refusal)?.map(Box::new);
        }
        // read before the rows: a copy that has it has all rows that it speaks of
        let progress = self.host().reader().summary(run.as_str()).map_err(store_refusal)?.progress;
        told.rows = store.rows_since(run, asked.rows, MOST_BYTES).map_err(store_refusal)?;
        let known = asked.rows + told.rows.len() as u64;
        told.has_more = known < store.row_count(run).map_err(store_refusal)?;
        if told.has_more {
            // the rest is read although no row is new by then
            told.version = None;
        } else {
            told.progress = Some(progress);
        }
        Ok(())
    }
}

async fn wait_in_session(session: &RunSession, asked: FollowRequest) {
    let rows = async {
        if let Some(version) = asked.version {
            session.outbox.wait_for_news(version).await;
            let _ = timeout(TOGETHER, session.outbox.wait_until_closed()).await;
        }
    };
    match asked.transient {
        Some(seen) => {
            tokio::select! {
                () = rows => {}
                () = session.transient.wait_beyond(seen) => {}
            }
        }
        None => rows.await,
    }
}
