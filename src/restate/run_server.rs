//! The server of runs as a client of it sees it: where a run is, what its worker tells of it, how it is answered and ended.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::sleep;

use super::journaled_step::{
    FollowAnswer, FollowRequest, ProjectPlace, ResumeAnswer, RunAnswer, RunEnd, StepRefusal,
};
use super::server_client::{PlacedRun, RestateAddresses, RestateClient};
use super::workflow_service::NOT_WAITING;
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::{RunHeader, RunProgress};
use synthdev_ports::run_server::{FollowCursor, RunNews, RunServer, ServerAnswers};
use synthdev_ports::run_store::StoreError;

/// Between two looks at a run; its worker answers the next one when there is something to see.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);
/// A run that has just been suspended takes answers a moment later.
const BETWEEN_ANSWERS: Duration = Duration::from_millis(50);
const ANSWERS: u32 = 40;
/// Until a run that was told to end has ended.
const BETWEEN_END_LOOKS: Duration = Duration::from_millis(50);
const END_LOOKS: u32 = 200;
/// So begins what is said of a run that the server does not have.
const UNKNOWN_RUN: &str = "the Restate server has no run ";

/// From where the server is asked.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClientPlace {
    /// Distinguishes the history of this machine from others.
    pub history: String,
    pub project: ProjectPlace,
}

pub struct RestateRunServer {
    addresses: RestateAddresses,
    find_place: Box<dyn Fn() -> ClientPlace + Send + Sync>,
    client: OnceLock<Result<RestateClient, StepRefusal>>,
    place: OnceLock<ClientPlace>,
    /// Runs that were asked about.
    placed: Mutex<HashMap<RunId, PlacedRun>>,
}

impl RestateRunServer {
    /// Nothing is looked up before it is asked for something.
    pub fn new(
        addresses: RestateAddresses,
        find_place: impl Fn() -> ClientPlace + Send + Sync + 'static,
    ) -> Self {
        Self {
            addresses,
            find_place: Box::new(find_place),
            client: OnceLock::new(),
            place: OnceLock::new(),
            placed: Mutex::default(),
        }
    }

    /// A run that this process has submitted: it need not be looked for.
    pub fn place_run(&self, run: PlacedRun) {
        self.lock().insert(run.id.clone(), run);
    }

    fn client(&self) -> Result<&RestateClient, StoreError> {
        let client = self.client.get_or_init(|| RestateClient::new(self.addresses.clone()));
        client.as_ref().map_err(|refused| store_error(refused.clone()))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, PlacedRun>> {
        self.placed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn find(&self, run: &RunId) -> Result<PlacedRun, StoreError> {
        if let Some(known) = self.lock().get(run) {
            return Ok(known.clone());
        }
        let found = self.client()?.find_run(run).await.map_err(store_error)?;
        self.lock().insert(run.clone(), found.clone());
        Ok(found)
    }

    /// As the header belongs into the history here: in the project of this machine, if it is the same one.
    fn local_header(&self, header: RunHeader, project: &str) -> RunHeader {
        let own = &self.place().project;
        let pid = std::process::id();
        if own.identity.is_empty() || own.identity != project {
            return RunHeader { pid, worktree: None, ..header };
        }
        RunHeader { pid, worktree: None, project: own.path.clone(), ..header }
    }

    fn place(&self) -> &ClientPlace {
        self.place.get_or_init(|| (self.find_place)())
    }

    async fn news(&self, run: &RunId, known: FollowCursor, looks_only: bool) -> Result<RunNews, StoreError> {
        let (client, placed) = (self.client()?, self.find(run).await?);
        let FollowCursor { rows, version, transient } = known;
        let asked = FollowRequest { rows, version, transient, looks_only };
        let told = client.follow(&placed, asked).await.map_err(store_error)?;
        let mut news = self.to_news(known, told);
        if has_content(&news) {
            return Ok(news);
        }
        match client.outcome(&placed).await.map_err(store_error)? {
            None => {}
            Some(RunEnd::HandedOver { handed_over_to: service }) => {
                self.lock().insert(run.clone(), PlacedRun { service, id: run.clone() });
                (news.cursor.version, news.has_more) = (None, true);
            }
            Some(RunEnd::Ended(progress)) => {
                // rows may have come since they were read
                let again = FollowRequest { version: None, looks_only: true, ..asked };
                let told = client.follow(&placed, again).await.map_err(store_error)?;
                news = self.to_news(known, told);
                if !has_content(&news) {
                    (news.is_over, news.progress) = (true, Some(*progress));
                }
            }
        }
        Ok(news)
    }

    fn to_news(&self, known: FollowCursor, told: FollowAnswer) -> RunNews {
        let FollowAnswer { header, rows, has_more, version, progress, refused, .. } = told;
        let cursor = FollowCursor {
            rows: known.rows + rows.len() as u64,
            version,
            transient: known.transient.map(|_| told.transient_seen),
        };
        let transient = told.transient.iter().filter_map(|event| serde_json::to_value(event).ok());
        let history = &self.place().history;
        RunNews {
            cursor,
            header: header.map(|header| self.local_header(*header, &told.project)),
            rows,
            has_more,
            progress,
            transient: transient.collect(),
            is_same_history: !history.is_empty() && *history == told.history,
            refused: refused.map(|refused| (refused.number, store_error(refused.refusal))),
            is_over: false,
        }
    }

    async fn give_answer(&self, run: &RunId, given: &ServerAnswers) -> Result<u64, StoreError> {
        let (client, placed) = (self.client()?, self.find(run).await?);
        let answers = given.answers.iter().cloned();
        let answers = answers.map(|(call, answer)| Ok((call, serde_json::from_value(answer)?)));
        let answers: Result<Vec<_>, serde_json::Error> = answers.collect();
        let answers = answers.map_err(|error| StoreError {
            message: format!("the answer cannot be sent to the server: {error}"),
            hint: None,
        })?;
        let decisions = given.decisions.clone();
        let answer =
            ResumeAnswer { answers, decisions, approves_all: given.approves_all, ..ResumeAnswer::default() };
        let answer = RunAnswer::Resume(answer);
        for _ in 0..ANSWERS {
            match client.answer(&placed, &answer).await {
                Err(refused) if refused.message.contains(NOT_WAITING) => sleep(BETWEEN_ANSWERS).await,
                answered => return answered.map_err(store_error),
            }
        }
        client.answer(&placed, &answer).await.map_err(store_error)
    }

    async fn end_run(&self, run: &RunId) -> Result<bool, StoreError> {
        let client = self.client()?;
        let ended = cancel_run(client, run).await.map_err(store_error)?;
        Ok(ended.is_some())
    }
}

impl RunServer for RestateRunServer {
    fn address(&self) -> &str {
        &self.addresses.ingress
    }

    fn is_unknown_run(&self, refused: &StoreError) -> bool {
        refused.message.starts_with(UNKNOWN_RUN)
    }

    fn look<'a>(&'a self, run: &'a RunId, known: FollowCursor) -> BoxFuture<'a, Result<RunNews, StoreError>> {
        Box::pin(self.news(run, known, true))
    }

    fn follow<'a>(
        &'a self,
        run: &'a RunId,
        known: FollowCursor,
    ) -> BoxFuture<'a, Result<RunNews, StoreError>> {
        Box::pin(async move {
            sleep(BETWEEN_LOOKS).await;
            self.news(run, known, false).await
        })
    }

    fn answer<'a>(
        &'a self,
        run: &'a RunId,
        given: &'a ServerAnswers,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(self.give_answer(run, given))
    }

    fn cancel<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(self.end_run(run))
    }
}

/// How a run ended.
#[derive(Clone, PartialEq, Debug)]
pub enum CancelledRun {
    Ended(Box<RunProgress>),
    /// It had not begun.
    Withdrawn,
}

/// Ends a run for good and waits for its end, but not for long; `None`: it works on for now.
///
/// # Errors
/// The server does not know it or cannot be reached, or it has ended.
pub async fn cancel_run(client: &RestateClient, run: &RunId) -> Result<Option<CancelledRun>, StepRefusal> {
    let mut placed = client.find_run(run).await?;
    while let Err(refused) = client.cancel(&placed).await {
        // it may have been handed over in that moment
        let now = client.find_run(run).await?;
        if now == placed {
            return Err(refused);
        }
        placed = now;
    }
    for _ in 0..END_LOOKS {
        // one that had not begun ends with a refusal
        match client.outcome(&placed).await {
            Ok(None | Some(RunEnd::HandedOver { .. })) => sleep(BETWEEN_END_LOOKS).await,
            Ok(Some(RunEnd::Ended(progress))) => return Ok(Some(CancelledRun::Ended(progress))),
            Err(_) => return Ok(Some(CancelledRun::Withdrawn)),
        }
    }
    Ok(None)
}

/// There is something in it before the end of the run.
fn has_content(news: &RunNews) -> bool {
    !news.rows.is_empty() || news.has_more || !news.transient.is_empty()
}

fn store_error(refused: StepRefusal) -> StoreError {
    StoreError { message: refused.message, hint: refused.hint }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_run_that_the_server_does_not_have_is_told_from_a_server_that_is_away() {
        let away = "http://127.0.0.1:9".to_owned();
        let addresses = RestateAddresses { ingress: away.clone(), admin: away, auth_token: None };
        let server = RestateRunServer::new(addresses, ClientPlace::default);
        // no run has such an id: the server is not asked
        for (run, is_unknown) in [("no/run", true), ("aaaaaaaaaaaa", false)] {
            let refused = server.look(&RunId::from(run), FollowCursor::default()).await.unwrap_err();
            assert_eq!(server.is_unknown_run(&refused), is_unknown, "{refused}");
        }
    }
}
