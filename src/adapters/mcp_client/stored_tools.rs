//! The stored tools, resources and prompts: what servers listed last, one file for each in the data directory. Roles
//! can name them, and a run can begin, before the server was started. A changed name, layer or transport makes a new file.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::file_io;
use synthdev_domain::mcp_server::{
    McpCallRecord, McpPromptDescription, McpResourceDescription, McpServerConfig, McpToolDescription,
};
use synthdev_ports::mcp::{McpServerListing, McpServerRecords};

/// Larger files are ignored (bytes).
const LARGEST_FILE: u64 = 16 << 20;

/// After a failed listing, runs do not ask the server again for this long.
const FAILURE_COUNTS: Duration = Duration::from_secs(10 * 60);

/// Marks the file of the last call.
const CALL: &str = ".call";

/// The file that is written whenever the tools of a server are others than before.
const CHANGE_MARK: &str = "changed";

/// The directory of these files; beside each is one for how the last call went.
#[derive(Clone, Debug)]
pub struct StoredMcpTools {
    directory: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct StoredListing {
    server: String,
    #[serde(default)]
    tools: Vec<McpToolDescription>,
    #[serde(default)]
    resources: Vec<McpResourceDescription>,
    #[serde(default)]
    prompts: Vec<McpPromptDescription>,
    /// Why it listed none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
}

impl StoredMcpTools {
    pub fn new(data_directory: &std::path::Path) -> Self {
        Self { directory: data_directory.join("mcp-tools") }
    }

    /// This file changes with the tools of any server: users of the stored tools look at it.
    pub fn change_mark(&self) -> PathBuf {
        self.directory.join(CHANGE_MARK)
    }

    /// Best effort: without it the server is asked again.
    pub(super) fn store_listing(&self, server: &McpServerConfig, listing: &McpServerListing) {
        let before = self.stored_tools(server).and_then(Result::ok);
        let is_new = listing.tools.as_ref().is_ok_and(|tools| before.as_ref() != Some(tools));
        let (tools, failure) = match &listing.tools {
            Ok(tools) => (tools.clone(), None),
            // tools that were listed once stay stored: the server may only be down
            Err(_) if before.is_some() => return,
            Err(failure) => (Vec::new(), Some(failure.clone())),
        };
        let (resources, prompts) = (listing.resources.clone(), listing.prompts.clone());
        let stored = StoredListing { server: server.name.clone(), tools, resources, prompts, failure };
        self.write(server, "", &stored);
        if is_new {
            self.mark_change();
        }
    }

    fn mark_change(&self) {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        if let Err(error) = file_io::write_private(&self.change_mark(), &now.as_nanos().to_string()) {
            tracing::warn!(%error, "open sessions do not see yet that the tools of an MCP server changed");
        }
    }

    /// Best effort, too: nothing depends on it.
    pub(super) fn store_call(&self, server: &McpServerConfig, record: &McpCallRecord) {
        self.write(server, CALL, record);
    }

    /// What is stored, and how old it is.
    fn read(&self, server: &McpServerConfig) -> Option<(StoredListing, Duration)> {
        let path = self.path(server, "");
        let metadata = std::fs::metadata(&path).ok().filter(|metadata| metadata.len() <= LARGEST_FILE)?;
        let stored = serde_json::from_slice(&std::fs::read(&path).ok()?).ok()?;
        let age = SystemTime::now().duration_since(metadata.modified().ok()?).unwrap_or_default();
        Some((stored, age))
    }

    fn write(&self, server: &McpServerConfig, what: &str, stored: &impl Serialize) {
        let text = serde_json::to_string(stored).unwrap_or_default();
        let written = file_io::ensure_private_directory(&self.directory)
            .and_then(|()| file_io::write_private(&self.path(server, what), &text));
        if let Err(error) = written {
            tracing::warn!(%error, server = server.name, "the answer of an MCP server was not stored");
        }
    }

    fn path(&self, server: &McpServerConfig, what: &str) -> PathBuf {
        let text = format!("{} {} {:?}", server.name, server.layer, server.transport);
        let hash: String =
            Sha256::digest(text.as_bytes()).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        self.directory.join(format!("{hash}{what}.json"))
    }
}

impl McpServerRecords for StoredMcpTools {
    fn stored_tools(&self, server: &McpServerConfig) -> Option<Result<Vec<McpToolDescription>, String>> {
        let (stored, age) = self.read(server)?;
        match stored.failure {
            None => Some(Ok(stored.tools)),
            Some(failure) => (age < FAILURE_COUNTS).then_some(Err(failure)),
        }
    }

    fn stored_resources(&self, server: &McpServerConfig) -> Vec<McpResourceDescription> {
        self.read(server).map(|(stored, _)| stored.resources).unwrap_or_default()
    }

    fn stored_prompts(&self, server: &McpServerConfig) -> Vec<McpPromptDescription> {
        self.read(server).map(|(stored, _)| stored.prompts).unwrap_or_default()
    }

    fn last_call(&self, server: &McpServerConfig) -> Option<McpCallRecord> {
        serde_json::from_slice(&std::fs::read(self.path(server, CALL)).ok()?).ok()
    }

    fn forget(&self, server: &McpServerConfig) {
        // absent is what is wanted
        let _ = std::fs::remove_file(self.path(server, ""));
    }
}
