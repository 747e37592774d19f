//! Repeats the listing of a connected server's tools, resources and prompts: once after it was connected, and
//! whenever it says that they have changed. Its calls go on meanwhile. Does not keep a connection open.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};
use tokio::task::{AbortHandle, spawn_blocking};

use super::connection::McpConnection;
use super::known_tools::KnownTools;
use super::server_listing::list_connection;
use synthdev_domain::mcp_server::McpServerConfig;

/// When the tools of a new connection are listed first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstListing {
    AtOnce,
    /// The caller lists them itself.
    ByCaller,
}

/// A connection in use. Dropping it closes the connection.
pub(super) struct LiveConnection {
    pub(super) connection: Arc<McpConnection>,
    refresh: AbortHandle,
}

impl Drop for LiveConnection {
    fn drop(&mut self) {
        self.refresh.abort();
    }
}

/// What the tools of a connection are listed with.
struct ToolRefresh {
    known: Arc<KnownTools>,
    server: McpServerConfig,
    connection: Weak<McpConnection>,
    changed: Arc<Notify>,
}

impl LiveConnection {
    /// Also returns a receiver that resolves after the first listing; `None` if the caller lists itself.
    pub(super) fn begin(
        connection: McpConnection,
        known: &Arc<KnownTools>,
        server: &McpServerConfig,
        first: FirstListing,
    ) -> (Self, Option<oneshot::Receiver<()>>) {
        let connection = Arc::new(connection);
        let refresh = ToolRefresh {
            known: Arc::clone(known),
            server: server.clone(),
            connection: Arc::downgrade(&connection),
            changed: connection.list_changes(),
        };
        let (listed, listing) = oneshot::channel();
        let (listed, listing) =
            if first == FirstListing::AtOnce { (Some(listed), Some(listing)) } else { (None, None) };
        let task = tokio::spawn(refresh.run(listed));
        (Self { connection, refresh: task.abort_handle() }, listing)
    }
}

impl ToolRefresh {
    async fn run(self, first_listed: Option<oneshot::Sender<()>>) {
        if let Some(listed) = first_listed {
            self.list_again().await;
            let _ = listed.send(());
        }
        loop {
            self.changed.notified().await;
            self.list_again().await;
        }
    }

    async fn list_again(&self) {
        let Some(connection) = self.connection.upgrade() else { return };
        // a server that answers one request after the other ends its call first
        let limit = Duration::from_millis(self.server.start_timeout_ms + self.server.call_timeout_ms);
        let listing = list_connection(&self.server, &connection, limit).await;
        drop(connection);
        if let Err(why) = &listing.tools {
            // what is known and stored stays in use
            tracing::debug!(server = self.server.name, "tools were not listed again: {why}");
            return;
        }
        let (known, server) = (Arc::clone(&self.known), self.server.clone());
        let _ = spawn_blocking(move || known.add_listing(&server, &listing)).await;
    }
}
