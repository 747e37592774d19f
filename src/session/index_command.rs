//! `/index`: what is to be done, doing it away from the screen, and how far that is.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::watch;

use super::{TuiBackend, run_blocking};
use synthdev_bootstrap::wiring;
use synthdev_domain::project_index::{SizeLimit, summary_requests};
use synthdev_service::project_indexing::{
    IndexingError, IndexingProgress, IndexingProposal, SMALL_TASK_LEVEL, StopSignal, build_index,
    propose_indexing,
};
use synthdev_service::session::{IndexingRequest, IndexingResponse};

impl TuiBackend {
    pub(crate) fn handle_indexing(&self, asked: IndexingRequest) -> BoxFuture<'static, IndexingResponse> {
        match asked {
            IndexingRequest::Look(limit) => self.scan_project(limit),
            IndexingRequest::Go => self.make_index(),
            IndexingRequest::More => {
                let indexing = Arc::clone(&self.indexing);
                Box::pin(async move { indexing.next_progress().await })
            }
        }
    }

    fn scan_project(&self, limit: SizeLimit) -> BoxFuture<'static, IndexingResponse> {
        let refused = |why: String| Box::pin(std::future::ready(IndexingResponse::Refused(why)));
        let (catalog, wired) = (self.current_catalog(), self.current_runtime());
        if self.context.shipped_only {
            return refused("the demo leaves nothing behind: it makes no index".to_owned());
        }
        if wired
            .providers
            .scripted_model()
            .is_some_and(|script| !script.has_replies_for(summary_requests::ASKER))
        {
            return refused("this session uses scripted replies: no model can describe files".to_owned());
        }
        let port = wiring::project_index(&self.context.project, &self.context.dirs.data, &catalog);
        let (shown, stopped) = (Arc::clone(&self.indexing), self.stop_signal());
        Box::pin(async move {
            let proposed = run_blocking(move || {
                propose_indexing(Arc::new(port), limit, &catalog).map_err(|error| indexing_error_text(&error))
            });
            match proposed.await {
                Ok(IndexingProposal::UpToDate(report)) => IndexingResponse::Done(report),
                Ok(IndexingProposal::Free(job)) => {
                    // what costs nothing is done at once
                    IndexingResponse::Done(Box::new(build_index(&wired.handle, job, &|_| {}, stopped).await))
                }
                Ok(IndexingProposal::Priced { job, lines }) => {
                    *shown.proposed_job.lock().unwrap_or_else(PoisonError::into_inner) = Some(job);
                    IndexingResponse::Proposal(lines)
                }
                Err(why) => IndexingResponse::Refused(why),
            }
        })
    }

    fn make_index(&self) -> BoxFuture<'static, IndexingResponse> {
        let taken = self.indexing.proposed_job.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(work) = taken else {
            let why = "the index was already built: /index checks for changes".to_owned();
            return Box::pin(std::future::ready(IndexingResponse::Refused(why)));
        };
        if self.indexing.is_running.swap(true, Ordering::Relaxed) {
            let why = "an index is being built: wait until it is done, then use /index".to_owned();
            return Box::pin(std::future::ready(IndexingResponse::Refused(why)));
        }
        let (wired, stopped, indexing) =
            (self.current_runtime(), self.stop_signal(), Arc::clone(&self.indexing));
        Box::pin(async move {
            let of = work.plan.to_describe.len() + work.plan.directories.len();
            let (tell, watched) =
                watch::channel(IndexingResponse::At(IndexingProgress { done_count: 0, total_count: of }));
            *indexing.running_job.lock().await = Some(watched);
            tokio::spawn(async move {
                let told = |at: IndexingProgress| drop(tell.send_replace(IndexingResponse::At(at)));
                let report = build_index(&wired.handle, work, &told, stopped).await;
                tell.send_replace(IndexingResponse::Done(Box::new(report)));
            });
            IndexingResponse::At(IndexingProgress { done_count: 0, total_count: of })
        })
    }

    fn stop_signal(&self) -> StopSignal {
        self.canceller.wait_stopped().boxed().shared()
    }
}

fn indexing_error_text(error: &IndexingError) -> String {
    match error {
        IndexingError::NoModel(_) => format!("{error}: /configure {SMALL_TASK_LEVEL} sets one up"),
        IndexingError::Unreadable(_) => error.to_string(),
    }
}
