//! Clients that made a handshake: each has a conversation of its own with the server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::ClientJsonRpcMessage;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::super::backend::McpBackend;
use super::super::server::serve_client;
use super::super::transport::{ClientPresence, HttpExchange, McpTransport, ResponseRouter};

/// Sessions at once. When there are more, the one that was silent longest ends; its client begins anew.
const MOST: usize = 100;
/// Silent for longer, a session ends.
const SILENCE: Duration = Duration::from_secs(60 * 60);
/// Messages of a client that wait to be dealt with.
const INBOX: usize = 64;

/// A conversation with one client.
pub(super) struct McpSession {
    pub(super) inbox: mpsc::Sender<ClientJsonRpcMessage>,
    pub(super) router: Arc<ResponseRouter>,
    presence: Arc<ClientPresence>,
    last_activity: Mutex<Instant>,
}

impl McpSession {
    /// Begins to listen to a client.
    pub(super) fn open_session(backend: &Arc<dyn McpBackend>) -> Self {
        Self::with_router(backend, ResponseRouter::default(), Arc::default())
    }

    /// The same for one request.
    pub(super) fn for_single_request(backend: &Arc<dyn McpBackend>, presence: &Arc<ClientPresence>) -> Self {
        Self::with_router(backend, ResponseRouter::for_single_request(), Arc::clone(presence))
    }

    fn with_router(
        backend: &Arc<dyn McpBackend>,
        desk: ResponseRouter,
        presence: Arc<ClientPresence>,
    ) -> Self {
        let (inbox, received) = mpsc::channel(INBOX);
        let desk = Arc::new(desk);
        let wire = McpTransport::Exchange(HttpExchange { inbox: received, router: Arc::clone(&desk) });
        let (backend, present, answers) = (Arc::clone(backend), Arc::clone(&presence), Arc::clone(&desk));
        tokio::spawn(async move {
            if let Err(error) = serve_client(backend, wire, present).await {
                tracing::debug!(error, "a client sent an invalid first message");
            }
            answers.close_all();
        });
        Self { inbox, router: desk, presence, last_activity: Mutex::new(Instant::now()) }
    }

    fn touch_activity(&self) {
        *self.last_activity.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn silent_for(&self) -> Duration {
        self.last_activity.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    fn is_over(&self) -> bool {
        self.inbox.is_closed() || (self.silent_for() > SILENCE && !self.router.is_busy())
    }
}

#[derive(Default)]
pub(super) struct McpSessionTable {
    sessions: Mutex<HashMap<String, Arc<McpSession>>>,
}

impl McpSessionTable {
    /// `None`: all that there may be are busy.
    pub(super) fn try_insert(&self, id: String, session: Arc<McpSession>) -> Option<()> {
        let mut all = self.lock_sessions();
        all.retain(|_, session| {
            let over = session.is_over();
            if over {
                session.presence.mark_gone();
            }
            !over
        });
        if all.len() >= MOST {
            let idle = all.iter().filter(|(_, session)| !session.router.is_busy());
            let silent = idle.max_by_key(|(_, session)| session.silent_for()).map(|(id, _)| id.clone());
            let ended = all.remove(&silent?)?;
            ended.presence.mark_gone();
        }
        all.insert(id, session);
        Some(())
    }

    pub(super) fn get(&self, id: &str) -> Option<Arc<McpSession>> {
        let session = self.lock_sessions().get(id).filter(|session| !session.inbox.is_closed()).cloned()?;
        session.touch_activity();
        Some(session)
    }

    /// The client ends its session; its runs continue.
    pub(super) fn remove_session(&self, id: &str) -> bool {
        let Some(ended) = self.lock_sessions().remove(id) else { return false };
        ended.presence.mark_gone();
        ended.router.close_all();
        true
    }

    /// The server stops: this must not cancel any run.
    pub(super) fn mark_shutting_down(&self) {
        self.lock_sessions().values().for_each(|session| session.presence.mark_gone());
    }

    pub(super) fn close(&self) {
        self.lock_sessions().drain().for_each(|(_, session)| session.router.close_all());
    }

    fn lock_sessions(&self) -> MutexGuard<'_, HashMap<String, Arc<McpSession>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
