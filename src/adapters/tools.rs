//! Tools that run in the project.
//!
//! Owns: which tools there are, checking a call's arguments, running it, and the one shape of every answer. Refuses:
//! deciding which agent may call what (the engine's business) and asking the user (the front-ends').
//!
//! An answer's text is one line of JSON — `success`, `tool`, `time_ms`, `error` when there is one, then what the tool
//! reports about itself — followed, where there is more, by plain text exactly as found: a file's lines are not
//! escaped, so that a model can quote them back.

mod action_schema;
mod apply_patch;
mod arguments;
mod atomic_replace;
mod background_commands;
mod background_supervisor;
mod calculate;
mod call_previews;
mod confined_tool;
mod edit_file;
pub(crate) mod encoding;
pub(crate) mod environment;
mod exact_search;
mod execute_script;
mod execute_terminal;
mod expected_effect;
mod explain_codebase;
mod get_time;
mod glob;
mod held_output;
pub(crate) mod http_request;
mod list_directory;
mod load_file;
mod mcp_call;
mod own_tool;
mod path_guard;
mod plan_effect;
mod planned_change;
pub(crate) mod process;
mod read_files;
mod read_output;
mod retained_output;
pub mod scripted;
mod send_input;
mod shell;
mod stop_command;
mod tool_answer;
mod tool_context;
mod tool_settings;
mod truncated_output;
mod unique_match;
mod user_images;
mod web_fetch;
mod write_file;

use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;

use crate::mcp_client::NoMcpServers;
use synthdev_domain::ids::RunId;
use synthdev_domain::sandbox::NetworkAccess;
use synthdev_domain::tool::{
    InterruptedCallStatus, PlannedFileEdit, RerunPolicy, RunningCommand, ToolInvocation, ToolOutcome,
    ToolPreview, ToolSpec,
};
use synthdev_ports::mcp::McpPort;
use synthdev_ports::tool::{NoToolProgress, ToolPort, ToolProgressSink};

use action_schema::action_schema;
use background_commands::BackgroundCommands;
pub use background_commands::OutputRedaction;
use confined_tool::ConfinedTool;
use mcp_call::McpCallArguments;
use path_guard::ProjectPathGuard;
use process::CommandConfinement;
use tool_answer::ToolAnswer;
use tool_context::ToolContext;
pub use tool_settings::ToolSettings;

/// All tools of one project (files, search, commands, scripts, the web, tools that users define, tools of MCP servers),
/// and the actions that only workflows take (`shell`, `http_request`, `mcp`): those run by name, and no agent is
/// offered them.
pub struct ProjectTools {
    specs: Vec<ToolSpec>,
    project: Arc<ToolContext>,
    clients: http_request::HttpRequestClients,
    servers: Arc<dyn McpPort>,
}

impl ProjectTools {
    /// Never fails: a root that does not exist shows in every tool's answer.
    pub fn new(settings: ToolSettings) -> Self {
        let policy = (!settings.typed_by_user).then(|| Arc::clone(&settings.sandbox));
        let own_tools = ConfinedTool::all(&settings.own_tools, &settings.sandbox);
        let project = ToolContext {
            path_guard: ProjectPathGuard::new(&settings.root, &settings.hidden_paths, policy)
                .without_recording(settings.recording),
            terminal_timeout: settings.terminal_timeout,
            cap: settings.output_cap_bytes,
            strip_env: settings.strip_env,
            sandbox: settings.sandbox,
            prestarted_sandboxes: process::PrestartedSandboxes::default(),
            liveness: settings.liveness,
            script_slots: Semaphore::new(execute_script::SCRIPTS_AT_ONCE),
            home: settings.home.map(|home| home.canonicalize().unwrap_or(home)),
            typed_by_user: settings.typed_by_user,
            key_servers: settings.key_servers,
            own_tools,
            background_commands: BackgroundCommands::new(settings.command_outputs, settings.output_redaction),
            image_store: settings.image_store,
            indexed_project: settings.indexed_project.unwrap_or(settings.root),
        };
        let mut specs = vec![
            read_files::tool_spec(),
            list_directory::tool_spec(),
            exact_search::tool_spec(),
            glob::tool_spec(),
            explain_codebase::tool_spec(),
            write_file::tool_spec(),
            edit_file::tool_spec(),
            apply_patch::tool_spec(),
            calculate::tool_spec(),
            get_time::tool_spec(),
            execute_script::tool_spec(),
            web_fetch::tool_spec(),
            execute_terminal::tool_spec(settings.terminal_timeout),
            read_output::tool_spec(),
            send_input::tool_spec(),
            stop_command::tool_spec(),
        ];
        specs.extend(settings.own_tools.iter().map(|tool| tool.spec.clone()));
        let clients = http_request::HttpRequestClients::default();
        Self { specs, project: Arc::new(project), clients, servers: Arc::new(NoMcpServers) }
    }

    /// With these servers behind `mcp` steps.
    #[must_use]
    pub fn with_servers(self, servers: Arc<dyn McpPort>) -> Self {
        Self { servers, ..self }
    }

    /// The arguments as the tool's own type, or the reason why they are invalid.
    fn read_arguments<T: DeserializeOwned>(&self, invocation: &ToolInvocation) -> Result<T, String> {
        let offered = self.specs.iter().find(|spec| spec.name == invocation.tool);
        match offered {
            Some(spec) => arguments::parse_arguments(&spec.parameters, &invocation.arguments),
            None => arguments::parse_arguments(&action_schema(&invocation.tool), &invocation.arguments),
        }
    }

    fn has_schema(&self, name: &str) -> bool {
        self.specs.iter().any(|spec| spec.name == name) || !action_schema(name).is_null()
    }

    /// Why no answer of the user lets a call run. What wrong arguments are answered is in `call_previews.rs`.
    fn judge<T: DeserializeOwned>(
        &self,
        invocation: &ToolInvocation,
        refusal: impl FnOnce(&ToolContext, &T) -> Option<String>,
    ) -> Option<String> {
        refusal(&self.project, &self.read_arguments(invocation).ok()?)
    }

    /// # Errors
    /// Wrong arguments.
    async fn answer_call(
        &self,
        invocation: &ToolInvocation,
        confinement: CommandConfinement<'_>,
        progress: &dyn ToolProgressSink,
    ) -> Result<ToolAnswer, String> {
        let confinement = if self.project.typed_by_user { CommandConfinement::Nothing } else { confinement };
        let (project, run) = (&self.project, invocation.run.as_ref());
        let answer = match invocation.tool.as_str() {
            read_files::NAME => read_files::run_tool(project, self.read_arguments(invocation)?).await,
            list_directory::NAME => list_directory::run_tool(project, self.read_arguments(invocation)?).await,
            exact_search::NAME => exact_search::run_tool(project, self.read_arguments(invocation)?).await,
            glob::NAME => glob::run_tool(project, self.read_arguments(invocation)?).await,
            explain_codebase::NAME => {
                explain_codebase::run_tool(project, self.read_arguments(invocation)?).await
            }
            write_file::NAME => write_file::run_tool(project, &self.read_arguments(invocation)?),
            edit_file::NAME => edit_file::run_tool(project, &self.read_arguments(invocation)?),
            apply_patch::NAME => apply_patch::run_tool(project, &self.read_arguments(invocation)?),
            calculate::NAME => calculate::run_tool(&self.read_arguments(invocation)?),
            get_time::NAME => get_time::run_tool(&self.read_arguments(invocation)?, jiff::Timestamp::now()),
            execute_script::NAME => {
                let arguments = self.read_arguments(invocation)?;
                execute_script::run_tool(project, arguments, invocation.reads_files).await
            }
            web_fetch::NAME => {
                web_fetch::run_tool(project, self.read_arguments(invocation)?, invocation, confinement).await
            }
            execute_terminal::NAME => {
                let arguments = self.read_arguments(invocation)?;
                execute_terminal::run_tool(project, arguments, run, confinement, progress).await
            }
            read_output::NAME => read_output::run_tool(project, self.read_arguments(invocation)?, run).await,
            send_input::NAME => {
                let network = project.network_for(invocation).is_open();
                send_input::run_tool(project, self.read_arguments(invocation)?, run, network).await
            }
            stop_command::NAME => {
                stop_command::run_tool(project, self.read_arguments(invocation)?, run).await
            }
            _ => self.answer_action(invocation, confinement, progress).await?,
        };
        Ok(answer)
    }

    /// What only workflows do, and tools that are not ours.
    ///
    /// # Errors
    /// Wrong arguments.
    async fn answer_action(
        &self,
        invocation: &ToolInvocation,
        confinement: CommandConfinement<'_>,
        progress: &dyn ToolProgressSink,
    ) -> Result<ToolAnswer, String> {
        let run = invocation.run.as_ref();
        let answer = match invocation.tool.as_str() {
            shell::NAME => {
                let arguments = self.read_arguments(invocation)?;
                shell::run_tool(&self.project, arguments, run, confinement, progress).await
            }
            http_request::NAME => {
                let arguments = self.read_arguments(invocation)?;
                http_request::run_tool(&self.clients, &self.project, &arguments).await
            }
            mcp_call::NAME => {
                mcp_call::run_tool(&*self.servers, self.read_arguments(invocation)?, progress).await
            }
            other => match (self.project.own_tools.get(other), self.servers.find_tool(other)) {
                (Some(tool), _) => {
                    let arguments = &invocation.arguments;
                    own_tool::run_tool(&self.project, tool, arguments, run, confinement, progress).await
                }
                (None, Some((address, _))) => {
                    let arguments = McpCallArguments::of_agent(address, invocation.arguments.clone());
                    mcp_call::run_tool(&*self.servers, arguments, progress).await
                }
                (None, None) => ToolAnswer::failure(self.no_such_tool(other)),
            },
        };
        Ok(answer)
    }

    /// Work on files, off the async workers. `None`: it broke, or the program ends.
    async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&ToolContext) -> T + Send + 'static,
    ) -> Option<T> {
        let project = Arc::clone(&self.project);
        tokio::task::spawn_blocking(move || work(&project)).await.ok()
    }

    fn no_such_tool(&self, name: &str) -> String {
        let known: Vec<&str> = self.specs.iter().map(|spec| spec.name.as_str()).collect();
        format!("there is no tool `{name}`; there are: {}", known.join(", "))
    }
}

impl ToolPort for ProjectTools {
    fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    fn preview_call<'a>(&'a self, invocation: &'a ToolInvocation) -> BoxFuture<'a, Option<ToolPreview>> {
        self.build_preview(invocation).boxed()
    }

    fn refusal_reason(&self, invocation: &ToolInvocation) -> Option<String> {
        let network = self.project.network_for(invocation).is_open();
        match invocation.tool.as_str() {
            read_files::NAME => self.judge(invocation, read_files::refusal),
            list_directory::NAME => self.judge(invocation, list_directory::refusal),
            exact_search::NAME => self.judge(invocation, exact_search::refusal),
            glob::NAME => self.judge(invocation, glob::refusal),
            explain_codebase::NAME => self.judge(invocation, explain_codebase::refusal),
            write_file::NAME => self.judge(invocation, write_file::refusal),
            edit_file::NAME => self.judge(invocation, edit_file::refusal),
            apply_patch::NAME => self.judge(invocation, apply_patch::refusal),
            web_fetch::NAME => {
                self.judge(invocation, |project, call| web_fetch::refusal(project, call, invocation))
            }
            execute_terminal::NAME => self
                .judge(invocation, |project, call| execute_terminal::command_refusal(project, call, network)),
            send_input::NAME => {
                self.judge(invocation, |project, call| send_input::refusal(project, call, network))
            }
            shell::NAME => {
                self.judge(invocation, |project, call| shell::command_refusal(project, call, network))
            }
            other => own_tool::command_refusal(&self.project, self.project.own_tools.get(other)?, network),
        }
    }

    fn check_call<'a>(&'a self, invocation: &'a ToolInvocation) -> BoxFuture<'a, Option<ToolOutcome>> {
        self.failed_check(invocation).boxed()
    }

    fn plan_file_edit<'a>(
        &'a self,
        invocation: &'a ToolInvocation,
    ) -> BoxFuture<'a, Option<PlannedFileEdit>> {
        self.expected_effect(invocation).boxed()
    }

    fn check_interrupted_call<'a>(
        &'a self,
        invocation: &'a ToolInvocation,
        planned: &'a PlannedFileEdit,
    ) -> BoxFuture<'a, InterruptedCallStatus> {
        async move {
            let (call, expected) = (invocation.clone(), planned.clone());
            let examined = self
                .run_blocking(move |project| {
                    expected_effect::examine_outcome(&project.path_guard, &call, &expected)
                })
                .await;
            let broken = || InterruptedCallStatus::Unclear {
                reason: format!("`{}` could not be looked at", planned.path),
            };
            examined.unwrap_or_else(broken)
        }
        .boxed()
    }

    fn rerun_policy(&self, invocation: &ToolInvocation) -> RerunPolicy {
        match invocation.tool.as_str() {
            http_request::NAME => self
                .read_arguments(invocation)
                .map_or(RerunPolicy::Ask, |arguments| http_request::rerun_policy(&arguments)),
            mcp_call::NAME => self
                .read_arguments(invocation)
                .map_or(RerunPolicy::Ask, |arguments| mcp_call::rerun_policy(&*self.servers, &arguments)),
            name => {
                let own = self.specs.iter().find(|spec| spec.name == name).map(ToolSpec::rerun_policy);
                let of_server = || Some(self.servers.find_tool(name)?.1.rerun_policy());
                own.or_else(of_server).unwrap_or(RerunPolicy::Ask)
            }
        }
    }

    fn run<'a>(&'a self, invocation: &'a ToolInvocation) -> BoxFuture<'a, ToolOutcome> {
        self.run_reporting(invocation, false, &NoToolProgress)
    }

    fn run_with_network<'a>(&'a self, invocation: &'a ToolInvocation) -> BoxFuture<'a, ToolOutcome> {
        self.run_reporting(invocation, true, &NoToolProgress)
    }

    fn run_reporting<'a>(
        &'a self,
        invocation: &'a ToolInvocation,
        with_network: bool,
        progress: &'a dyn ToolProgressSink,
    ) -> BoxFuture<'a, ToolOutcome> {
        async move {
            let invocation = self.project.with_tool_ports(invocation);
            let confinement = self.command_confinement(&invocation, with_network);
            self.run_and_describe(&invocation, confinement, progress).await
        }
        .boxed()
    }

    fn lacks_sandbox(&self, invocation: &ToolInvocation) -> Option<String> {
        let executes = matches!(invocation.tool.as_str(), execute_terminal::NAME | shell::NAME)
            || self.project.own_tools.contains_key(&invocation.tool);
        if !executes || self.project.typed_by_user {
            return None;
        }
        self.project.sandbox.prepare_current().err()
    }

    fn attach_images(&self, text: String) -> BoxFuture<'_, String> {
        let kept = text.clone();
        let attaching = self.run_blocking(move |project| user_images::attach_images(project, text));
        async move { attaching.await.unwrap_or(kept) }.boxed()
    }

    fn end_run<'a>(&'a self, run: &'a RunId, is_final: bool) -> BoxFuture<'a, ()> {
        self.project.background_commands.end_run(run, is_final).boxed()
    }

    fn running_commands(&self, run: &RunId) -> Vec<RunningCommand> {
        self.project.background_commands.running(run).iter().map(|command| command.to_running()).collect()
    }

    fn wait_command_end<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, ()> {
        self.project.background_commands.wait_end(run).boxed()
    }

    fn stop_running_command(&self, run: &RunId, id: &str) -> bool {
        let running = self.project.background_commands.running(run);
        let found = running.iter().find(|command| command.id() == id);
        found.map(|command| command.stop()).is_some()
    }

    fn run_without_sandbox<'a>(&'a self, invocation: &'a ToolInvocation) -> BoxFuture<'a, ToolOutcome> {
        self.run_and_describe(invocation, CommandConfinement::Nothing, &NoToolProgress).boxed()
    }
}

impl ProjectTools {
    /// What holds a command. A role whose network is off has none, whatever was allowed to others of the run.
    fn command_confinement<'a>(
        &self,
        invocation: &'a ToolInvocation,
        network: bool,
    ) -> CommandConfinement<'a> {
        match self.project.network_for(invocation) {
            reach if network && reach.access != NetworkAccess::Off => CommandConfinement::WithNetwork,
            reach => CommandConfinement::Policy(reach),
        }
    }

    async fn run_and_describe(
        &self,
        invocation: &ToolInvocation,
        confinement: CommandConfinement<'_>,
        progress: &dyn ToolProgressSink,
    ) -> ToolOutcome {
        let started = Instant::now();
        let mut answer =
            self.answer_call(invocation, confinement, progress).await.unwrap_or_else(ToolAnswer::failure);
        // only an agent can read on; but what a script gets of a server's result can be cut, too
        if invocation.tool == mcp_call::NAME || action_schema(&invocation.tool).is_null() {
            answer = retained_output::retain_long_answer(&self.project, invocation, answer).await;
        }
        answer.into_outcome(&invocation.tool, started.elapsed(), self.project.cap)
    }
}
