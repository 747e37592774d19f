//! The file: its lines, and how they are written and read.
//!
//! The first line is the header. Every other line is one call; its request has only the difference to another call of
//! the same agent (`like`), so that a long conversation takes no more space than it has messages. An incomplete last
//! line is the end of a recording that was stopped; any other unreadable line is refused with its number.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::normalize::{NormalizedRequest, NormalizedTool};
use crate::file_io;
use synthdev_domain::cost::AttemptUsage;
use synthdev_domain::message::ChatMessage;
use synthdev_domain::model::{ModelChoice, ModelError, ModelParameters, ModelReply, ToolChoice};

/// Incremented when an older program would misread the format.
pub const FORMAT: u32 = 1;

/// A larger file is no recording.
const LARGEST: u64 = 512 * 1024 * 1024;

/// Why a file cannot be played.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct RecordingError(pub String);

/// The first line.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RecordingHeader {
    /// The format's version. `cassette` is the older name of a recording and part of the file format.
    pub cassette: u32,
    /// Name and version of the program that recorded.
    pub program: String,
    pub workflow: String,
    /// Hash of the definition, without the models that were chosen for it.
    pub definition: String,
    pub agents: Vec<RecordedAgent>,
    /// The agent that summarizes a context with a level of its own; its name replaces the agent's. Absent in older
    /// recordings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub summaries: Vec<RecordedAgent>,
}

/// An agent, and the model that it used.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RecordedAgent {
    pub workflow: String,
    pub agent: String,
    pub role: String,
    /// What files and settings ask for, whatever model is there: a change of it is a change of the request.
    pub plain: RecordedModelSettings,
    /// The model in full, without its address and the name of its key.
    pub choice: ModelChoice,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct RecordedModelSettings {
    pub level: String,
    pub parameters: ModelParameters,
}

/// A whole recording.
#[derive(Debug)]
pub struct ModelRecording {
    pub header: RecordingHeader,
    pub calls: Vec<Arc<RecordedCall>>,
    /// Its end is missing: the program was stopped while it wrote.
    pub is_truncated: bool,
}

/// One call, in the form that is compared and played.
#[derive(Debug)]
pub struct RecordedCall {
    /// By the time it was begun, from 1.
    pub call: u64,
    pub state: String,
    pub request: NormalizedRequest,
    pub outcome: RecordedOutcome,
    pub partial_reply: RecordedPartialReply,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedOutcome {
    Reply(ModelReply),
    Error(ModelError),
    /// The call was stopped before its reply came.
    Stopped {
        after_ms: u64,
    },
}

/// What had arrived of a reply that never became whole.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct RecordedPartialReply {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    /// What it used, as far as that is known; nothing in older recordings, which did not store it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<AttemptUsage>,
}

impl RecordedPartialReply {
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.reasoning.is_empty() && self.used.is_none()
    }
}

#[derive(Serialize, Deserialize)]
struct RecordingLine {
    call: u64,
    agent: String,
    role: String,
    state: String,
    level: String,
    #[serde(default)]
    parameters: ModelParameters,
    #[serde(default)]
    tool_choice: ToolChoice,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    like: Option<SharedRequestPrefix>,
    /// Those behind `like`'s.
    messages: Vec<ChatMessage>,
    /// `None`: those of `like`'s call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<NormalizedTool>>,
    #[serde(default, skip_serializing_if = "RecordedPartialReply::is_empty")]
    partial: RecordedPartialReply,
    #[serde(flatten)]
    outcome: RecordedOutcome,
}

/// The request begins as that of another line.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct SharedRequestPrefix {
    call: u64,
    /// So many of its messages.
    messages: usize,
}

/// The line of the header, with its end.
pub fn header_line(header: &RecordingHeader) -> serde_json::Result<String> {
    Ok(serde_json::to_string(header)? + "\n")
}

/// The line of a call, with its line end; `before`: number and request of an earlier line of this agent.
pub fn call_line(
    recorded: &RecordedCall,
    before: Option<(u64, &NormalizedRequest)>,
) -> serde_json::Result<String> {
    let asked = &recorded.request;
    let same = |other: &NormalizedRequest| {
        let pairs = other.messages.iter().zip(&asked.messages);
        pairs.take_while(|(one, other)| one == other).count()
    };
    let before = before.map(|(call, other)| (SharedRequestPrefix { call, messages: same(other) }, other));
    let before = before.filter(|(like, other)| like.messages > 0 || other.tools == asked.tools);
    let known = before.as_ref().map_or(0, |(like, _)| like.messages);
    let tools = before.as_ref().is_none_or(|(_, other)| other.tools != asked.tools);
    let line = RecordingLine {
        call: recorded.call,
        agent: asked.agent.clone(),
        role: asked.role.clone(),
        state: recorded.state.clone(),
        level: asked.level.clone(),
        parameters: asked.parameters.clone(),
        tool_choice: asked.tool_choice.clone(),
        like: before.map(|(like, _)| like),
        messages: asked.messages.iter().skip(known).map(|message| (**message).clone()).collect(),
        tools: tools.then(|| asked.tools.clone()),
        partial: recorded.partial_reply.clone(),
        outcome: recorded.outcome.clone(),
    };
    Ok(serde_json::to_string(&line)? + "\n")
}

impl ModelRecording {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, is no recording, is damaged, or was written by a newer program.
    pub fn open_file(path: &Path) -> Result<Self, RecordingError> {
        let name = path.display();
        let file = file_io::open_large(path, LARGEST)
            .map_err(|error| RecordingError(format!("the recording {name} cannot be read: {error}")))?;
        Self::from_reader(file, &name.to_string())
    }

    /// Reads a text; `name` is for errors.
    ///
    /// # Errors
    /// As [`ModelRecording::open_file`].
    pub fn from_reader(mut text: impl BufRead, name: &str) -> Result<Self, RecordingError> {
        let mut number = 1;
        let Some((first, _)) = next_line(&mut text, name, number)? else {
            return Err(RecordingError(format!("{name} is empty: it is no recording")));
        };
        let header = parse_header(&first, name)?;
        let mut calls: Vec<Arc<RecordedCall>> = Vec::new();
        let mut at: BTreeMap<u64, usize> = BTreeMap::new();
        let mut torn = false;
        while let Some((line, whole)) = next_line(&mut text, name, number + 1)? {
            number += 1;
            if line.trim().is_empty() {
                continue;
            }
            let earlier = |call: u64| at.get(&call).map(|at| &*calls[*at]);
            match parse_call(&line, earlier) {
                Ok(recorded) if at.contains_key(&recorded.call) => {
                    return Err(damaged_error(name, number, &format!("call {} stands twice", recorded.call)));
                }
                Ok(recorded) => {
                    at.insert(recorded.call, calls.len());
                    calls.push(Arc::new(recorded));
                }
                Err(_) if !whole => torn = true,
                Err(why) => return Err(damaged_error(name, number, &why)),
            }
        }
        Ok(Self { header, calls, is_truncated: torn })
    }
}

/// A line and whether its end is there.
fn next_line(
    text: &mut impl BufRead,
    name: &str,
    number: usize,
) -> Result<Option<(String, bool)>, RecordingError> {
    let mut bytes = Vec::new();
    let read = text.read_until(b'\n', &mut bytes);
    read.map_err(|error| RecordingError(format!("the recording {name} cannot be read: {error}")))?;
    if bytes.is_empty() {
        return Ok(None);
    }
    let whole = bytes.ends_with(b"\n");
    match String::from_utf8(bytes) {
        Ok(line) => Ok(Some((line, whole))),
        // the cut may be within a letter
        Err(_) if !whole => Ok(Some((String::from("cut off"), false))),
        Err(_) => Err(damaged_error(name, number, "it is no UTF-8 text")),
    }
}

fn parse_header(line: &str, name: &str) -> Result<RecordingHeader, RecordingError> {
    let value: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
    match value.get("cassette").and_then(serde_json::Value::as_u64) {
        None => Err(RecordingError(format!(
            "{name} is no recording of model calls: its first line is not the header"
        ))),
        Some(version) if version > u64::from(FORMAT) => Err(RecordingError(format!(
            "{name} was recorded by a newer program (format {version}, this program reads {FORMAT})\nhint: update \
             synthdev, or record it again"
        ))),
        Some(_) => serde_json::from_value(value).map_err(|error| damaged_error(name, 1, &error.to_string())),
    }
}

fn damaged_error(name: &str, line: usize, why: &str) -> RecordingError {
    RecordingError(format!("{name}:{line}: the recording is damaged: {why}\nhint: record it again"))
}

fn parse_call<'a>(
    line: &str,
    earlier: impl FnOnce(u64) -> Option<&'a RecordedCall>,
) -> Result<RecordedCall, String> {
    let line: RecordingLine = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let mut messages = Vec::new();
    let mut tools = line.tools;
    if let Some(like) = line.like {
        let before = earlier(like.call).ok_or_else(|| format!("call {} does not stand above", like.call))?;
        let known = before.request.messages.get(..like.messages);
        let known = known.ok_or_else(|| format!("call {} has fewer messages", like.call))?;
        messages.extend(known.iter().cloned());
        tools = tools.or_else(|| Some(before.request.tools.clone()));
    }
    messages.extend(line.messages.into_iter().map(Arc::new));
    let asked = NormalizedRequest {
        agent: line.agent,
        role: line.role,
        level: line.level,
        parameters: line.parameters,
        messages,
        tools: tools.unwrap_or_default(),
        tool_choice: line.tool_choice,
    };
    Ok(RecordedCall {
        call: line.call,
        state: line.state,
        request: asked,
        outcome: line.outcome,
        partial_reply: line.partial,
    })
}
