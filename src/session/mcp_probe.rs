//! MCP servers of this machine: asked for their tools, reported on the screen, and their texts in what the user types.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::error_text::to_slash_commands;
use super::{TuiBackend, run_blocking};
use crate::local_setup_ports::LocalSetupPorts;
use synthdev_bootstrap::mcp_servers::StoredMcpTools;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring;
use synthdev_domain::terminal_safe::escape_name;
use synthdev_ports::mcp::McpServerListing;
use synthdev_service::file_mentions::{FileMentionText, resolve_file_mentions};
use synthdev_service::mcp_configuration::McpServerChange;
use synthdev_service::mcp_servers::{
    McpServerProbe, mcp_report_text, mcp_server_reports, mcp_tools_text, test_mcp_server,
};
use synthdev_service::mcp_texts::{McpCompletions, mcp_completions, prompt_message, with_resources};
use synthdev_settings::catalog::ConfigCatalog;

/// Starts the servers of a configuration for one question.
pub struct LocalMcpProbe<'c> {
    pub context: &'c StartContext,
    pub catalog: &'c ConfigCatalog,
}

impl McpServerProbe for LocalMcpProbe<'_> {
    fn list_tools<'a>(&'a self, names: &'a [String]) -> BoxFuture<'a, Vec<McpServerListing>> {
        Box::pin(wiring::list_mcp_servers(self.context, self.catalog, names))
    }
}

impl TuiBackend {
    /// The text with the files and the resources that it names.
    pub(crate) fn text_with_resources(
        &self,
        text: String,
    ) -> BoxFuture<'static, Result<FileMentionText, String>> {
        let (catalog, servers) = (self.current_catalog(), Arc::clone(&self.current_runtime().mcp_servers));
        let project = self.context.project.clone();
        // looking for files takes the time of a disk
        let found = run_blocking(move || {
            Ok(resolve_file_mentions(&text, |path| project.join(path).symlink_metadata().is_ok()))
        });
        Box::pin(async move {
            let found = found.await?;
            let expanded = with_resources(&found.text, catalog.mcp_servers(), &*servers).await;
            let text = expanded.map_err(|error| error.to_string())?;
            Ok(FileMentionText { text, ..found })
        })
    }

    pub(crate) fn message_of_prompt(
        &self,
        name: String,
        words: String,
    ) -> BoxFuture<'static, Result<String, String>> {
        let (catalog, servers) = (self.current_catalog(), Arc::clone(&self.current_runtime().mcp_servers));
        let records = StoredMcpTools::new(&self.context.dirs.data);
        Box::pin(async move {
            let message = prompt_message(&name, &words, catalog.mcp_servers(), &records, &*servers).await;
            message.map_err(|error| error.to_string())
        })
    }

    /// Names of stored resources and prompts; no server is asked.
    pub(crate) fn mcp_names(&self) -> BoxFuture<'static, McpCompletions> {
        let (catalog, records) = (self.current_catalog(), StoredMcpTools::new(&self.context.dirs.data));
        // reading files takes the time of a disk
        let names = run_blocking(move || Ok(mcp_completions(catalog.mcp_servers(), &records)));
        Box::pin(async move { names.await.unwrap_or_default() })
    }

    /// Until the servers were asked that were there when the session began.
    pub(crate) fn wait_for_servers(&self) -> BoxFuture<'static, ()> {
        let mut asked = self.first_servers.is_done.subscribe();
        Box::pin(async move { drop(asked.wait_for(|is_done| *is_done).await) })
    }

    /// Changes the user's settings. A server that was added is asked for its tools.
    pub(crate) fn change_mcp_servers(
        &self,
        change: McpServerChange,
    ) -> BoxFuture<'static, Result<(String, String), String>> {
        if self.demo.is_some() || self.context.shipped_only {
            let why = "the demo leaves your settings as they are: nothing was changed".to_owned();
            return Box::pin(std::future::ready(Err(why)));
        }
        let ports = LocalSetupPorts { context: self.context.clone(), overrides: self.overrides.clone() };
        let files = match change.plan(&ports).and_then(|plan| plan.save_files(&ports)) {
            Ok(files) => files.join(", "),
            Err(error) => return Box::pin(std::future::ready(Err(to_slash_commands(&error.to_string())))),
        };
        // changed files of the project wait for the answer of the user
        self.reload_config(false);
        let (context, catalog) = (self.context.clone(), self.current_catalog());
        Box::pin(async move {
            let name = escape_name(change.server()).into_owned();
            let mut lines = change.notes();
            lines.push(match &change {
                McpServerChange::Remove(_) => {
                    format!("{files}: `{name}` was removed; what begins from now on has no tools of it")
                }
                McpServerChange::Add(_) => format!("{files}: `{name}` was added"),
            });
            if let McpServerChange::Add(addition) = &change {
                lines.push(tools_of_added(&context, &catalog, &addition.name).await);
            }
            Ok((format!("MCP server {name}"), lines.join("\n")))
        })
    }

    /// All servers, or what one lists that is started for it.
    pub(crate) fn mcp_page(
        &self,
        tested: Option<String>,
    ) -> BoxFuture<'static, Result<(String, String), String>> {
        let (context, catalog) = (self.context.clone(), self.current_catalog());
        let servers = Arc::clone(&self.current_runtime().mcp_servers);
        Box::pin(async move {
            let records = StoredMcpTools::new(&context.dirs.data);
            let Some(name) = tested else {
                let connected = |name: &str| servers.is_connected(name);
                let reports = mcp_server_reports(catalog.mcp_servers(), &records, &connected);
                return Ok(("MCP servers".to_owned(), to_slash_commands(&mcp_report_text(&reports))));
            };
            let probe = LocalMcpProbe { context: &context, catalog: &catalog };
            let listing = test_mcp_server(catalog.mcp_servers(), &name, &records, &probe).await;
            let listing =
                listing.map_err(|error| to_slash_commands(&format!("{error}\nhint: {}", error.hint())))?;
            let text = catalog.mcp_servers().get(&name).map(|server| mcp_tools_text(server, &listing));
            Ok((format!("MCP server {name}"), text.unwrap_or_default()))
        })
    }
}

/// What a server lists that has just been added, and who has its tools.
async fn tools_of_added(context: &StartContext, catalog: &ConfigCatalog, name: &str) -> String {
    let Some(server) = catalog.mcp_servers().get(name) else {
        return "it counts as soon as you have decided about the project's changed files: /trust asks"
            .to_owned();
    };
    let records = StoredMcpTools::new(&context.dirs.data);
    let probe = LocalMcpProbe { context, catalog };
    match test_mcp_server(catalog.mcp_servers(), name, &records, &probe).await {
        Ok(listing) => format!(
            "{}\nwhat begins from now on has them; a conversation that is open keeps its tools: /clear begins another one",
            mcp_tools_text(server, &listing)
        ),
        Err(error) => to_slash_commands(&format!("{error}\nhint: {}", error.hint())),
    }
}
