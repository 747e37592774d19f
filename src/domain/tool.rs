//! Tools: what a model may call, how risky it is, and its result.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ids::RunId;
use super::required_schema::required_schema;
use super::sandbox::RoleNetwork;
use super::secret::{REDACTION_MARK, SecretText};

/// The effects that a tool can have; decides approval and what recovery does after a crash.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolRisk {
    /// Changes nothing; may be repeated.
    Read,
    /// Changes files of the project; can be compared by content hash and undone by a snapshot.
    Write,
    /// Anything else: a command.
    Execute,
}

impl ToolRisk {
    /// What a crash means for a tool that declares nothing else.
    pub fn default_rerun_policy(self) -> RerunPolicy {
        match self {
            Self::Read => RerunPolicy::Safe,
            Self::Write => RerunPolicy::Compare,
            Self::Execute => RerunPolicy::Ask,
        }
    }
}

/// What recovery does with a call that has begun and whose result is missing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RerunPolicy {
    /// It is run again: a second time does no more than the first.
    Safe,
    /// It changes files: recovery compares the expected effect with the files as they are now. A call without an
    /// expected effect would have failed, and runs again.
    Compare,
    /// It is unknown whether it took effect: the user decides.
    Ask,
}

/// A tool as models see it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// JSON Schema of the arguments (an object).
    pub parameters: Value,
    pub risk: ToolRisk,
    /// Where a repeat is less or more harmful than the risk suggests. Serialised only if declared, because the hash of
    /// a pinned definition depends on what is serialised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<RerunPolicy>,
}

impl ToolSpec {
    /// What a crash means for a call whose arguments do not matter; else ask the tools themselves.
    pub fn rerun_policy(&self) -> RerunPolicy {
        self.repeat.unwrap_or_else(|| self.risk.default_rerun_policy())
    }
}

/// A structured decision: recorded and answered by us, never executed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ParsingTool {
    pub name: String,
    pub description: String,
    pub parameters: Value,
    /// The agent may call nothing else: its tool choice is forced from the start.
    #[serde(default)]
    pub parsing_only: bool,
}

impl ParsingTool {
    /// The same with the required members of its arguments only.
    pub fn with_required_only(&self) -> Self {
        Self { parameters: required_schema(&self.parameters), ..self.clone() }
    }
}

/// An agent asks the user with it. The engine answers the call itself: no tool runs.
pub const ASK_PERSON: &str = "request_users_input";

/// The tool by that name. Only roles that list it by its name have it.
pub fn ask_user_tool() -> ToolSpec {
    ToolSpec {
        name: ASK_PERSON.to_owned(),
        description: "Ask the person a question and wait for the answer. Use it only when you cannot go on without it. \
            With choices, the answer is one of them."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "question": {"type": "string", "description": "What you want to know"},
                "choices": {"type": "array", "items": {"type": "string"}, "description": "Possible answers"}
            },
            "required": ["question"],
            "additionalProperties": false
        }),
        risk: ToolRisk::Read,
        repeat: None,
    }
}

/// Holds several calls. The engine unfolds it: no tool runs.
pub const MULTICALL: &str = "multicall";

/// Most calls that one `multicall` holds.
pub const MULTICALL_LIMIT: usize = 16;

/// The tool by that name.
pub fn multicall_tool() -> ToolSpec {
    ToolSpec {
        name: MULTICALL.to_owned(),
        description: "Make several tool calls at once and get all results together, in their order. Each runs once, under \
            its own approval; calls that only read run side by side; one that fails does not stop the others. Use it for calls that do \
            not depend on each other's results. Example: {\"calls\": [{\"tool\": \"read_files\", \"arguments\": \
            {\"file_paths\": [\"a.rs\"]}}, {\"tool\": \"glob\", \"arguments\": {\"pattern\": \"*.toml\"}}]}."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "calls": {
                    "type": "array", "minItems": 1, "maxItems": MULTICALL_LIMIT,
                    "description": "The calls, in the order of their results",
                    "items": {
                        "type": "object",
                        "properties": {
                            "tool": {"type": "string", "description": "The name of one of your other tools"},
                            "arguments": {"type": "object", "description": "What this tool takes"}
                        },
                        "required": ["tool"],
                        "additionalProperties": false
                    }
                }
            },
            "required": ["calls"],
            "additionalProperties": false
        }),
        risk: ToolRisk::Read,
        repeat: None,
    }
}

/// Runs a script of an agent, which reads files if the agent may.
pub const EXECUTE_SCRIPT: &str = "execute_script";

/// Reads files of the project.
pub const READ_FILES: &str = "read_files";

/// The caller of a tool where no agent is: a step of the workflow itself.
pub const ASKED_BY: &str = "workflow";

/// One execution of a tool that has been permitted, checked and approved.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ToolInvocation {
    /// The caller: for logs and for tools that keep per-agent state.
    pub agent: String,
    pub tool: String,
    pub arguments: Value,
    /// The network access that the agent's role sets; absent: as the settings have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<RoleNetwork>,
    /// Ports of the machine's loopback that its command reaches with the network off: those of the workflow.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub loopback_ports: BTreeSet<u16>,
    /// The script of this call may read files of the project; only set for [`EXECUTE_SCRIPT`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reads_files: bool,
    /// The arguments of the model, where `arguments` has a key redacted: JSON text. The tool gets these; they are never
    /// stored.
    #[serde(skip)]
    pub original: Option<SecretText>,
    /// The run that executes it, set by its driver: what a call leaves running ends with the run. Never stored.
    #[serde(skip)]
    pub run: Option<RunId>,
}

impl ToolInvocation {
    /// The call with its original arguments, without redaction, for execution.
    #[must_use]
    pub fn with_original_arguments(mut self) -> Self {
        let original = self.original.take();
        if let Some(arguments) = original.and_then(|text| serde_json::from_str(text.expose_secret()).ok()) {
            self.arguments = arguments;
        }
        self
    }

    /// Whether its arguments contain the redaction mark: the key behind the mark is unknown.
    pub fn has_redaction_mark(&self) -> bool {
        has_redaction_mark(&self.arguments)
    }
}

fn has_redaction_mark(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(REDACTION_MARK),
        Value::Array(items) => items.iter().any(has_redaction_mark),
        Value::Object(map) => {
            map.iter().any(|(key, value)| key.contains(REDACTION_MARK) || has_redaction_mark(value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// What a tool did. A failure is a normal outcome: its text is sent to the model.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ToolOutcome {
    pub ok: bool,
    /// The answer for the model, capped in size with a notice.
    pub content: String,
    /// One line for the user: `12 lines of src/lib.rs`, `exit 1 in 0.4 s`.
    pub summary: String,
    pub duration_ms: u64,
    /// Paths that changed, relative to the project; empty for a command (unknown).
    #[serde(default)]
    pub changed: Vec<String>,
    /// What a step's transitions read: `{exit_code, stdout, stderr}`, `{status, headers, body}`, or a server's data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// It failed because the sandbox keeps the network off. Nothing follows from it later, so it is not written down.
    #[serde(skip)]
    pub network_denied: bool,
    /// The tool did not run: no sandbox works on this machine, and the user has not allowed it without one. The summary
    /// explains this.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lacks_sandbox: bool,
}

impl ToolOutcome {
    /// The content without the JSON line about the call that precedes it for models.
    pub fn body(&self) -> &str {
        strip_result_header(&self.content)
    }
}

/// A tool's answer without the JSON line about the call; any other text as it is.
pub fn strip_result_header(content: &str) -> &str {
    let (first, rest) = content.split_once('\n').unwrap_or((content, ""));
    let about = first.starts_with("{\"") && first.ends_with('}') && first.contains("\"success\":");
    if about { rest } else { content }
}

/// The expected effect of a call on the files that it changes, most often one: stored before the call begins, for
/// recovery after a crash.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PlannedFileEdit {
    /// Relative to the project, free of links.
    pub path: String,
    /// SHA-256 of the file as the call finds it, in lower-case hex. `None`: there is no such file.
    pub before: Option<String>,
    /// The same of the file as the call leaves it. `None`: it removes the file.
    pub after: Option<String>,
    /// What the tool will answer if nothing comes between; its time is 0. Kept because an edit that is done cannot be
    /// worked out again: the text it replaced is gone.
    pub outcome: ToolOutcome,
    /// What it changes besides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_files: Vec<PlannedFileState>,
}

/// One file before and after a call: SHA-256 in lower-case hex. `None`: there is no file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PlannedFileState {
    /// Relative to the project, free of links.
    pub path: String,
    pub before: Option<String>,
    pub after: Option<String>,
}

/// The status of a call that was begun and has no result.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InterruptedCallStatus {
    /// Nothing has happened yet: it is run.
    NotBegun,
    /// It is finished, and this is its result.
    Done(ToolOutcome),
    /// The file matches neither its old nor its expected content, or cannot be read: the user decides. `reason` says
    /// why.
    Unclear { reason: String },
}

/// What the sandbox opens for a command beyond what it opens for all commands.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CommandReach {
    /// The network, because the definition of its tool wants it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub network: bool,
    /// Paths as they are written in the definition: `~` is the home directory, relative ones are of the project.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writable: Vec<String>,
    /// Paths that are hidden from other commands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readable: Vec<String>,
}

impl CommandReach {
    /// Nothing more than all commands.
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// A command that an agent has left running.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunningCommand {
    /// What the agent calls it: `c1`.
    pub id: String,
    /// The command line, with secrets hidden.
    pub command: String,
    /// Milliseconds since it began.
    pub elapsed_ms: u64,
}

/// What an approval dialog shows before a tool runs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum ToolPreview {
    /// A unified diff of one file.
    Diff {
        path: String,
        diff: String,
    },
    Command {
        command: String,
        cwd: String,
        warning: Option<String>,
        /// Ports of this machine that it reaches although the network is off.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        ports: BTreeSet<u16>,
        /// It runs on after the call.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        background: bool,
        /// What the sandbox opens for it besides.
        #[serde(default, skip_serializing_if = "CommandReach::is_usual")]
        reach: CommandReach,
    },
    Text {
        text: String,
    },
}
