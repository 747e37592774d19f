//! Servers of the model context protocol. Owns what happens while none can be configured: every call is refused with
//! what to do instead.
//! Refuses to pretend: a step that needs a server fails, it is never skipped.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::Value;

use synthdev_ports::mcp::{McpError, McpPort};

/// No server is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoMcpServers;

impl McpPort for NoMcpServers {
    fn call<'a>(
        &'a self,
        server: &'a str,
        _tool: &'a str,
        _arguments: &'a Value,
    ) -> BoxFuture<'a, Result<Value, McpError>> {
        let error = McpError::UnknownServer {
            server: server.to_owned(),
            hint: "this version cannot start MCP servers yet, a later one will read them from the settings; \
                   until then use a `shell` or `http` state, or `simulate` with scripted results"
                .to_owned(),
        };
        std::future::ready(Err(error)).boxed()
    }
}
