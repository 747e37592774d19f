//! Runs of which a server keeps the journal, asked for by a process that does not drive them: they are brought into the
//! history, followed, answered and ended here as any run.
//!
//! Refuses what the server has no way for: other definitions, breakpoints, rewinds.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::unbounded_channel;
use tokio::time::timeout;

use super::followed_run::{FollowStart, FollowedRun};
use super::handle::RuntimeHandle;
use super::load_for_resume::{LoadScope, load_for_resume};
use super::resume::{ResumeError, ResumeRequest, check_answers, check_resumable};
use super::runtime_context::RuntimeContext;
use super::server_copy::{CLAIMS, complete_copy};
use synthdev_domain::ids::RunId;
use synthdev_ports::run_server::{RunServer, ServerAnswers};
use synthdev_ports::run_store::{RemoteRunAction, RunStore, StoreError, remote_run_error};

/// A look at a run that the user names: what is here already must not wait long for a server that is away.
const LOOK_PATIENCE: Duration = Duration::from_secs(5);

/// The letters of a whole id: fewer are a part of one, which only this history can complete.
const ID_LETTERS: usize = 12;

impl RuntimeHandle {
    /// Reaches runs of which this server keeps the journal.
    #[must_use]
    pub fn with_run_server(&self, server: Arc<dyn RunServer>) -> Self {
        let run_server = Some(server);
        Self { context: Arc::new(RuntimeContext { run_server, ..RuntimeContext::clone(&self.context) }) }
    }

    /// Whether there is a server to ask.
    pub fn reaches_run_server(&self) -> bool {
        self.context.run_server.is_some()
    }

    /// Whether a server keeps the run, and can be asked.
    ///
    /// # Errors
    /// The history cannot be read.
    pub fn is_at_server(&self, run: &RunId) -> Result<bool, StoreError> {
        Ok(self.keeping_server(run)?.is_some())
    }

    pub(super) fn keeping_server(&self, run: &RunId) -> Result<Option<Arc<dyn RunServer>>, StoreError> {
        let Some(server) = &self.context.run_server else { return Ok(None) };
        Ok(self.ports().store.keeper(run)?.map(|_| Arc::clone(server)))
    }

    /// Brings the copy of the run up to date that the user names, or makes one of a run that only the server has. Where the
    /// server cannot tell, it stays as it is.
    pub async fn refresh_from_server(&self, name: &str) {
        if !self.reaches_run_server() {
            return;
        }
        let name = name.trim();
        let run = match self.ports().store.find(name) {
            Ok(known) => {
                let is_over = known.progress.status.is_over() && known.progress.pauses.is_empty();
                let goes_on = !is_over && self.is_at_server(&known.id).unwrap_or(false);
                goes_on.then_some(known.id)
            }
            Err(_) => is_whole_id(name).then(|| RunId::from(name)),
        };
        if let Some(run) = run {
            let _ = timeout(LOOK_PATIENCE, self.fetch_from_server(&run)).await;
        }
    }

    /// Copies what the server has of a run into the history, unless its worker writes it there.
    ///
    /// # Errors
    /// There is no server, it does not know the run or cannot be reached, the run has not begun, or the history cannot be
    /// written.
    pub async fn fetch_from_server(&self, run: &RunId) -> Result<(), StoreError> {
        let server = self.known_server(run)?;
        let store = &self.ports().store;
        let is_known = store.find(run.as_str()).is_ok_and(|found| found.id == *run);
        if is_known && store.keeper(run)?.is_none() {
            return Ok(());
        }
        match complete_copy(&**store, &*server, run, CLAIMS).await {
            Ok(Some(_)) => Ok(()),
            Ok(None) => Err(StoreError {
                message: format!("run {run} has not begun yet: it waits for a worker with a free slot"),
                hint: Some("`synthdev runs list --backend restate` shows when it has".to_owned()),
            }),
            Err(refused) if is_known && server.is_unknown_run(&refused) => Err(forgotten_run_error(run)),
            Err(refused) => Err(refused),
        }
    }

    /// Follows a run at the server from here on, as one that this process drives: its events come to the subscribers.
    /// `warnings` are told with its beginning.
    ///
    /// # Errors
    /// There is no server.
    pub fn follow_at_server(&self, run: &RunId, warnings: Vec<String>) -> Result<(), StoreError> {
        self.known_server(run)?;
        self.launch_follower(run, FollowStart { warnings, ..FollowStart::default() });
        Ok(())
    }

    fn known_server(&self, run: &RunId) -> Result<Arc<dyn RunServer>, StoreError> {
        self.context.run_server.clone().ok_or_else(|| StoreError {
            message: format!("no server is known that could have run {run}"),
            hint: Some("set backend.restate.ingress and backend.restate.admin to its addresses".to_owned()),
        })
    }

    /// Ends a run at its server. `None`: no server keeps it, or only a process of this machine can tell.
    pub(super) async fn cancel_at_server(&self, run: &RunId) -> Option<Result<bool, StoreError>> {
        if self.context.drives_run(run) {
            return None;
        }
        let server = match self.keeping_server(run) {
            Ok(server) => server?,
            Err(error) => return Some(Err(error)),
        };
        match server.cancel(run).await {
            Ok(has_ended) => {
                // what lists show of it
                let _ = self.fetch_from_server(run).await;
                Some(Ok(has_ended))
            }
            // its worker is here, and hears of it without the server
            Err(_) if self.ports().store.driver_pid(run).is_some() => None,
            Err(refused) => Some(Err(server_run_error(&**self.store(), run, refused))),
        }
    }

    fn store(&self) -> &Arc<dyn RunStore> {
        &self.ports().store
    }

    /// Answers a run at its server and follows it from here on; one that works is only followed.
    ///
    /// # Errors
    /// It has ended, an answer does not fit, the server cannot do it or cannot be reached. Then nothing was changed.
    pub(super) async fn resume_at_server(
        &self,
        server: Arc<dyn RunServer>,
        run: &RunId,
        going: ResumeRequest,
    ) -> Result<(), ResumeError> {
        let is_plain = going.program.is_none() && going.breakpoints.is_none() && going.timed_out.is_empty();
        if !is_plain {
            return Err(remote_run_error(run, server.address(), RemoteRunAction::Change).into());
        }
        let fetched = self.fetch_from_server(run).await;
        fetched.map_err(|refused| server_run_error(&**self.store(), run, refused))?;
        let loaded = load_for_resume(&**self.store(), run, LoadScope::Machine)?;
        check_resumable(run, loaded.machine.status(), &loaded.journaled_run, &loaded.machine)?;
        check_answers(&loaded.machine, &going)?;
        let present = going.user_present;
        let given = server_answers(going)?;
        let mut start = FollowStart { is_present: present, resumes: true, ..FollowStart::default() };
        let is_asked = given.is_empty() && present;
        if loaded.machine.is_over_or_suspended() && !is_asked {
            let answered = server.answer(run, &given).await;
            let number = answered.map_err(|refused| server_run_error(&**self.store(), run, refused))?;
            start.answered = Some(number);
        }
        self.launch_follower(run, start);
        Ok(())
    }

    /// Whether a run would take these answers. Changes nothing.
    ///
    /// # Errors
    /// It would not, or cannot be read.
    pub fn check_answers(&self, run: &RunId, going: &ResumeRequest) -> Result<(), ResumeError> {
        check_answers(&load_for_resume(&**self.store(), run, LoadScope::Machine)?.machine, going)
    }

    fn launch_follower(&self, run: &RunId, start: FollowStart) {
        let Some(server) = self.context.run_server.clone() else { return };
        if self.context.drives_run(run) {
            return;
        }
        let (sender, inbox) = unbounded_channel();
        let shared = Arc::clone(&self.context);
        shared.runs.insert_run(run.clone(), sender.clone(), Arc::clone(&shared.ports.tools));
        let own = run.clone();
        tokio::spawn(async move {
            FollowedRun::new(own.clone(), Arc::clone(&shared), server, start).follow_to_end(inbox).await;
            shared.runs.remove_run(&own, &sender);
        });
    }
}

fn is_whole_id(name: &str) -> bool {
    name.len() >= ID_LETTERS && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-')
}

/// The copy stays as it is: how the run ended is not known.
fn forgotten_run_error(run: &RunId) -> StoreError {
    StoreError {
        message: format!(
            "the Restate server has no run {run} any more: it ended there, and was forgotten since"
        ),
        hint: Some(format!(
            "the history here has it as it was last seen: `synthdev runs show {run}` shows that, and \
             `synthdev runs delete {run}` removes it; backend.restate.ingress and backend.restate.admin must \
             be the addresses of its server"
        )),
    }
}

/// What a user reads who did not name the server.
fn server_run_error(store: &dyn RunStore, run: &RunId, refused: StoreError) -> StoreError {
    match store.keeper(run) {
        Ok(Some(keeper)) => StoreError {
            message: format!("run {run} is kept by the Restate server at {keeper}: {}", refused.message),
            hint: refused.hint,
        },
        _ => refused,
    }
}

/// # Errors
/// An answer cannot be written down: a bug.
fn server_answers(going: ResumeRequest) -> Result<ServerAnswers, StoreError> {
    // where no user is present, approvals come along only to allow everything
    let approves_all = !going.user_present && going.approvals.is_some();
    let answers = going.answers.into_iter().map(|(call, answer)| Ok((call, serde_json::to_value(answer)?)));
    let answers: Result<Vec<_>, serde_json::Error> = answers.collect();
    let answers = answers.map_err(|error| StoreError {
        message: format!("the answer cannot be sent to the server: {error}"),
        hint: None,
    })?;
    Ok(ServerAnswers { answers, decisions: going.decisions, approves_all })
}
