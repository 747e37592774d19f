//! The tools that servers listed last, one file for each server in the data directory: roles can name them, and a run can
//! begin, before the server was started. A server that is configured in another way is another one.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::file_io;
use synthdev_domain::mcp_server::{McpServerConfig, McpToolDescription};

/// More is read of no list.
const LARGEST_LIST: u64 = 16 << 20;

/// For so long a server that did not answer is not asked again by a run.
const FAILURE_COUNTS: Duration = Duration::from_secs(10 * 60);

/// Where the lists are kept.
#[derive(Clone, Debug)]
pub struct McpToolLists {
    directory: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct StoredToolList {
    server: String,
    #[serde(default)]
    tools: Vec<McpToolDescription>,
    /// Why there is no list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
}

impl McpToolLists {
    pub fn new(data_directory: &std::path::Path) -> Self {
        Self { directory: data_directory.join("mcp-tools") }
    }

    /// What the server answered last: its tools, or why there were none (for some minutes). `None`: it was not asked yet.
    pub fn load(&self, server: &McpServerConfig) -> Option<Result<Vec<McpToolDescription>, String>> {
        let path = self.path(server);
        let known = std::fs::metadata(&path).ok().filter(|known| known.len() <= LARGEST_LIST)?;
        let stored: StoredToolList = serde_json::from_slice(&std::fs::read(&path).ok()?).ok()?;
        match stored.failure {
            None => Some(Ok(stored.tools)),
            Some(failure) => {
                let age = SystemTime::now().duration_since(known.modified().ok()?).unwrap_or_default();
                (age < FAILURE_COUNTS).then_some(Err(failure))
            }
        }
    }

    /// The server counts as never asked.
    pub fn forget(&self, server: &McpServerConfig) {
        // absent is what is wanted
        let _ = std::fs::remove_file(self.path(server));
    }

    /// Best effort: without it the server is asked again.
    pub(super) fn store(&self, server: &McpServerConfig, listed: &Result<Vec<McpToolDescription>, String>) {
        let stored = match listed {
            Ok(tools) => StoredToolList { server: server.name.clone(), tools: tools.clone(), failure: None },
            Err(failure) => {
                // a list that was good once is kept: the server may only be down
                if matches!(self.load(server), Some(Ok(_))) {
                    return;
                }
                StoredToolList {
                    server: server.name.clone(),
                    tools: Vec::new(),
                    failure: Some(failure.clone()),
                }
            }
        };
        let text = serde_json::to_string(&stored).unwrap_or_default();
        let written = file_io::ensure_private_directory(&self.directory)
            .and_then(|()| file_io::write_private(&self.path(server), &text));
        if let Err(error) = written {
            tracing::warn!(%error, server = server.name, "the list of tools was not stored");
        }
    }

    fn path(&self, server: &McpServerConfig) -> PathBuf {
        let text = format!("{} {} {:?}", server.name, server.layer, server.transport);
        let hash: String =
            Sha256::digest(text.as_bytes()).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        self.directory.join(format!("{hash}.json"))
    }
}
