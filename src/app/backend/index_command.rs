//! `/index`: what is to be done, doing it away from the screen, and how far that is.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::watch;

use super::indexing_session::IndexingSession;
use super::suggest::LEVEL;
use super::{TuiBackend, away};
use crate::bootstrap::{self, WiredRuntime};
use crate::index::plan_index;
use synthdev_adapters::project_index::ProjectIndex;
use synthdev_domain::model::ModelChoice;
use synthdev_domain::project_index::report::proposal;
use synthdev_domain::project_index::{IndexPlan, SizeLimit, summary_requests};
use synthdev_runtime::indexing::{IndexingJob, IndexingProgress, StopSignal};
use synthdev_tui::backend::{IndexingReply, IndexingRequest};

impl TuiBackend {
    pub(super) fn index(&self, asked: IndexingRequest) -> BoxFuture<'static, IndexingReply> {
        match asked {
            IndexingRequest::Look(limit) => self.look_at_project(limit),
            IndexingRequest::Go => self.make_index(),
            IndexingRequest::More => {
                let indexing = Arc::clone(&self.indexing);
                Box::pin(async move { indexing.more().await })
            }
        }
    }

    fn look_at_project(&self, limit: SizeLimit) -> BoxFuture<'static, IndexingReply> {
        let refused = |why: String| Box::pin(std::future::ready(IndexingReply::Refused(why)));
        let (catalog, wired) = (self.catalog(), self.wired());
        if self.world.shipped_only {
            return refused("the demo leaves nothing behind: it makes no index".to_owned());
        }
        if wired.providers.scripted().is_some_and(|script| !script.knows(summary_requests::ASKER)) {
            return refused(
                "the answers of this session are scripted: no model can be asked about files".to_owned(),
            );
        }
        let choice = match catalog.model_for_level(LEVEL) {
            Ok(choice) => choice,
            Err(missing) => return refused(format!("{}: /configure {LEVEL} sets one up", missing.message)),
        };
        let port = bootstrap::project_index(&self.world.project, &self.world.dirs.data, &catalog);
        let (shown, stopped) = (Arc::clone(&self.indexing), self.stopped());
        Box::pin(async move {
            let looked = port.clone();
            match away(move || plan_index(&looked, limit)).await {
                Ok(plan) => proposed(&shown, &wired, (port, plan, choice), stopped).await,
                Err(why) => IndexingReply::Refused(why),
            }
        })
    }

    fn make_index(&self) -> BoxFuture<'static, IndexingReply> {
        let taken = self.indexing.shown.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(work) = taken else {
            let why = "the index is not made twice: /index looks again".to_owned();
            return Box::pin(std::future::ready(IndexingReply::Refused(why)));
        };
        if self.indexing.going.swap(true, Ordering::Relaxed) {
            let why = "an index is being made: wait for its end, then /index".to_owned();
            return Box::pin(std::future::ready(IndexingReply::Refused(why)));
        }
        let (wired, stopped, indexing) = (self.wired(), self.stopped(), Arc::clone(&self.indexing));
        Box::pin(async move {
            let of = work.plan.changed.len() + work.plan.directories.len();
            let (tell, watched) = watch::channel(IndexingReply::At(IndexingProgress { done: 0, of }));
            *indexing.made.lock().await = Some(watched);
            tokio::spawn(async move {
                let told = |at: IndexingProgress| drop(tell.send_replace(IndexingReply::At(at)));
                let report = wired.handle.build_index(work, &told, stopped).await;
                tell.send_replace(IndexingReply::Done(Box::new(report)));
            });
            IndexingReply::At(IndexingProgress { done: 0, of })
        })
    }

    fn stopped(&self) -> StopSignal {
        self.stopper.stopped().boxed().shared()
    }
}

/// What costs nothing is done at once.
async fn proposed(
    indexing: &IndexingSession,
    wired: &WiredRuntime,
    (port, plan, choice): (ProjectIndex, IndexPlan, ModelChoice),
    stopped: StopSignal,
) -> IndexingReply {
    let estimate = plan.estimate(choice.price);
    let lines = proposal(&plan, &choice.model, &estimate);
    let work = IndexingJob { port: Arc::new(port), plan, choice };
    if estimate.calls == 0 {
        return IndexingReply::Done(Box::new(wired.handle.build_index(work, &|_| {}, stopped).await));
    }
    *indexing.shown.lock().unwrap_or_else(PoisonError::into_inner) = Some(work);
    IndexingReply::Proposal(lines)
}
