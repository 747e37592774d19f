//! `/index`: what is to be done, doing it away from the screen, and how far that is.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::watch;

use super::indexing::Indexing;
use super::suggest::LEVEL;
use super::{Desk, away};
use crate::adapters::project_index::ProjectIndex;
use crate::app::index::look;
use crate::app::wiring::{self, Wired};
use crate::domain::model::ModelChoice;
use crate::domain::project_index::report::proposal;
use crate::domain::project_index::{Plan, SizeLimit, asking};
use crate::runtime::indexing::{Progress, Stopped, Work};
use crate::tui::backend::{IndexAsked, IndexTold};

impl Desk {
    pub(super) fn index(&self, asked: IndexAsked) -> BoxFuture<'static, IndexTold> {
        match asked {
            IndexAsked::Look(limit) => self.look_at_project(limit),
            IndexAsked::Go => self.make_index(),
            IndexAsked::More => {
                let indexing = Arc::clone(&self.indexing);
                Box::pin(async move { indexing.more().await })
            }
        }
    }

    fn look_at_project(&self, limit: SizeLimit) -> BoxFuture<'static, IndexTold> {
        let refused = |why: String| Box::pin(std::future::ready(IndexTold::Refused(why)));
        let (catalog, wired) = (self.catalog(), self.wired());
        if self.world.shipped_only {
            return refused("the demo leaves nothing behind: it makes no index".to_owned());
        }
        if wired.providers.scripted().is_some_and(|script| !script.knows(asking::ASKER)) {
            return refused("here the words are scripted: nobody can be asked about files".to_owned());
        }
        let choice = match catalog.choice(LEVEL) {
            Ok(choice) => choice,
            Err(missing) => return refused(format!("{}: /configure {LEVEL} sets one up", missing.message)),
        };
        let port = wiring::project_index(&self.world.project, &self.world.dirs.data, &catalog);
        let (shown, stopped) = (Arc::clone(&self.indexing), self.stopped());
        Box::pin(async move {
            let looked = port.clone();
            match away(move || look(&looked, limit)).await {
                Ok(plan) => proposed(&shown, &wired, (port, plan, choice), stopped).await,
                Err(why) => IndexTold::Refused(why),
            }
        })
    }

    fn make_index(&self) -> BoxFuture<'static, IndexTold> {
        let taken = self.indexing.shown.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(work) = taken else {
            let why = "the index is not made twice: /index looks again".to_owned();
            return Box::pin(std::future::ready(IndexTold::Refused(why)));
        };
        if self.indexing.going.swap(true, Ordering::Relaxed) {
            let why = "an index is being made: wait for its end, then /index".to_owned();
            return Box::pin(std::future::ready(IndexTold::Refused(why)));
        }
        let (wired, stopped, indexing) = (self.wired(), self.stopped(), Arc::clone(&self.indexing));
        Box::pin(async move {
            let of = work.plan.changed.len() + work.plan.directories.len();
            let (tell, watched) = watch::channel(IndexTold::At(Progress { done: 0, of }));
            *indexing.made.lock().await = Some(watched);
            tokio::spawn(async move {
                let told = |at: Progress| drop(tell.send_replace(IndexTold::At(at)));
                let report = wired.handle.index(work, &told, stopped).await;
                tell.send_replace(IndexTold::Done(Box::new(report)));
            });
            IndexTold::At(Progress { done: 0, of })
        })
    }

    fn stopped(&self) -> Stopped {
        self.stopper.stopped().boxed().shared()
    }
}

/// What costs nothing is done at once.
async fn proposed(
    indexing: &Indexing,
    wired: &Wired,
    (port, plan, choice): (ProjectIndex, Plan, ModelChoice),
    stopped: Stopped,
) -> IndexTold {
    let estimate = plan.estimate(choice.price);
    let lines = proposal(&plan, &choice.model, &estimate);
    let work = Work { port: Arc::new(port), plan, choice };
    if estimate.calls == 0 {
        return IndexTold::Done(Box::new(wired.handle.index(work, &|_| {}, stopped).await));
    }
    *indexing.shown.lock().unwrap_or_else(PoisonError::into_inner) = Some(work);
    IndexTold::Proposal(lines)
}
