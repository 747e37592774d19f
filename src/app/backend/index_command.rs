//! `/index`: what is to be done, doing it away from the screen, and how far that is.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::watch;

use super::indexing_session::IndexingSession;
use super::suggest::LEVEL;
use super::{TuiBackend, run_blocking};
use crate::bootstrap::{self, WiredRuntime};
use crate::index::plan_index;
use synthdev_adapters::project_index::ProjectIndex;
use synthdev_domain::model::ModelChoice;
use synthdev_domain::project_index::report::proposal_lines;
use synthdev_domain::project_index::{IndexPlan, SizeLimit, summary_requests};
use synthdev_runtime::indexing::{IndexingJob, IndexingProgress, StopSignal};
use synthdev_service::session::{IndexingReply, IndexingRequest};

impl TuiBackend {
    pub(super) fn handle_indexing(&self, asked: IndexingRequest) -> BoxFuture<'static, IndexingReply> {
        match asked {
            IndexingRequest::Look(limit) => self.scan_project(limit),
            IndexingRequest::Go => self.make_index(),
            IndexingRequest::More => {
                let indexing = Arc::clone(&self.indexing);
                Box::pin(async move { indexing.next_progress().await })
            }
        }
    }

    fn scan_project(&self, limit: SizeLimit) -> BoxFuture<'static, IndexingReply> {
        let refused = |why: String| Box::pin(std::future::ready(IndexingReply::Refused(why)));
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
        let choice = match catalog.model_for_level(LEVEL) {
            Ok(choice) => choice,
            Err(missing) => return refused(format!("{}: /configure {LEVEL} sets one up", missing.message)),
        };
        let port = bootstrap::project_index(&self.context.project, &self.context.dirs.data, &catalog);
        let (shown, stopped) = (Arc::clone(&self.indexing), self.stop_signal());
        Box::pin(async move {
            let looked = port.clone();
            match run_blocking(move || plan_index(&looked, limit)).await {
                Ok(plan) => propose_indexing(&shown, &wired, port, plan, choice, stopped).await,
                Err(why) => IndexingReply::Refused(why),
            }
        })
    }

    fn make_index(&self) -> BoxFuture<'static, IndexingReply> {
        let taken = self.indexing.proposed_job.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(work) = taken else {
            let why = "the index was already built: /index checks for changes".to_owned();
            return Box::pin(std::future::ready(IndexingReply::Refused(why)));
        };
        if self.indexing.is_running.swap(true, Ordering::Relaxed) {
            let why = "an index is being built: wait until it is done, then use /index".to_owned();
            return Box::pin(std::future::ready(IndexingReply::Refused(why)));
        }
        let (wired, stopped, indexing) =
            (self.current_runtime(), self.stop_signal(), Arc::clone(&self.indexing));
        Box::pin(async move {
            let of = work.plan.to_describe.len() + work.plan.directories.len();
            let (tell, watched) =
                watch::channel(IndexingReply::At(IndexingProgress { done_count: 0, total_count: of }));
            *indexing.running_job.lock().await = Some(watched);
            tokio::spawn(async move {
                let told = |at: IndexingProgress| drop(tell.send_replace(IndexingReply::At(at)));
                let report = wired.handle.build_index(work, &told, stopped).await;
                tell.send_replace(IndexingReply::Done(Box::new(report)));
            });
            IndexingReply::At(IndexingProgress { done_count: 0, total_count: of })
        })
    }

    fn stop_signal(&self) -> StopSignal {
        self.canceller.wait_stopped().boxed().shared()
    }
}

/// What costs nothing is done at once.
async fn propose_indexing(
    indexing: &IndexingSession,
    wired: &WiredRuntime,
    port: ProjectIndex,
    plan: IndexPlan,
    choice: ModelChoice,
    stopped: StopSignal,
) -> IndexingReply {
    let estimate = plan.estimate_cost(choice.price);
    let lines = proposal_lines(&plan, &choice.model, &estimate);
    let work = IndexingJob { port: Arc::new(port), plan, choice };
    if estimate.calls == 0 {
        return IndexingReply::Done(Box::new(wired.handle.build_index(work, &|_| {}, stopped).await));
    }
    *indexing.proposed_job.lock().unwrap_or_else(PoisonError::into_inner) = Some(work);
    IndexingReply::Proposal(lines)
}
