//! What a run does meanwhile, as progress notifications: for clients that asked for them.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::future::BoxFuture;
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};

use synthdev_service::event_description::{EventKind, EventSeverity, describe_event};
use synthdev_service::run_events::PublishedEvent;

/// Steps that wait until the client has read those before them.
const KEPT: usize = 256;
/// How long the answer of a request waits for the rest of its progress.
const LAST_MOMENT: Duration = Duration::from_millis(200);

pub(super) struct ProgressNotifier {
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
    count: u32,
    /// The notification that is being sent; this takes as long as the client takes to read.
    current_send: Option<BoxFuture<'static, ()>>,
    /// What comes after it.
    pending: VecDeque<ProgressNotificationParam>,
}

impl ProgressNotifier {
    pub(super) fn from_context(context: &RequestContext<RoleServer>) -> Self {
        let (peer, token) = (context.peer.clone(), context.meta.get_progress_token());
        Self { peer, token, count: 0, current_send: None, pending: VecDeque::new() }
    }

    /// One step further. A client that reads slowly misses the oldest ones.
    pub(super) fn queue_event(&mut self, event: &PublishedEvent) {
        let (Some(token), Some(line)) = (&self.token, progress_line(event)) else { return };
        self.count += 1;
        let told = ProgressNotificationParam::new(token.clone(), f64::from(self.count)).with_message(line);
        self.pending.push_back(told);
        if self.pending.len() > KEPT {
            self.pending.pop_front();
        }
    }

    /// Whether anything is still to be sent.
    pub(super) fn is_busy(&self) -> bool {
        self.current_send.is_some() || !self.pending.is_empty()
    }

    /// Sends one notification. Cancel-safe: the next call continues an unfinished send.
    pub(super) async fn send_progress(&mut self) {
        if self.current_send.is_none()
            && let Some(told) = self.pending.pop_front()
        {
            let peer = self.peer.clone();
            let sending = async move {
                let _ = peer.notify_progress(told).await;
            };
            self.current_send = Some(Box::pin(sending));
        }
        if let Some(sending) = &mut self.current_send {
            sending.await;
            self.current_send = None;
        }
    }

    /// The rest, before the request is answered; a client that does not read is not waited for.
    pub(super) async fn finish_progress(mut self) {
        let rest = async {
            while self.is_busy() {
                self.send_progress().await;
            }
        };
        let _ = tokio::time::timeout(LAST_MOMENT, rest).await;
    }
}

/// Each state, call and reply, and what goes wrong.
fn progress_line(published: &PublishedEvent) -> Option<String> {
    let words = describe_event(published.at, &published.event);
    match (words.kind, words.severity) {
        (EventKind::State | EventKind::ToolCall | EventKind::Reply | EventKind::Wait, _) => Some(words.title),
        (_, EventSeverity::Warning | EventSeverity::Bad) => Some(words.line()),
        _ => None,
    }
}
