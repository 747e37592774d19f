//! Entries of a transcript. Texts are cleaned here, once, so that nothing unclean can be laid out.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use similar::TextDiff;

use super::tool_input::ToolInput;
use crate::agent_identity::AgentIdentity;
use crate::text::{clean_text, one_line};
use synthdev_domain::context::ConversationSide;
use synthdev_domain::ids::Timestamp;

/// Two texts that have little in common are not compared for longer.
const DIFF_TIME: Duration = Duration::from_millis(20);

/// How loud a thing is, and in which colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum ItemTone {
    Plain,
    Dim,
    Human,
    Accent,
    Good,
    Warning,
    Bad,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum BlockBodyStyle {
    Plain,
    Dim,
    Markdown,
    Diff,
}

/// A title, a text below it, dim lines at the end; each part may be empty.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TranscriptBlock {
    pub tone: ItemTone,
    pub title: String,
    pub body: String,
    pub style: BlockBodyStyle,
    pub foot: Vec<String>,
    /// It is a card: a bar at the left, in the colour of this agent.
    #[serde(default)]
    pub card: Option<AgentIdentity>,
}

/// An agent's turn. While `open`, text is appended to it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AgentReplyItem {
    pub agent: String,
    #[serde(default)]
    pub identity: AgentIdentity,
    pub side: ConversationSide,
    pub model: String,
    /// Its branch, if other branches may run at the same time; else empty.
    pub branch: String,
    /// Shown apart, folded to a line.
    pub reasoning: String,
    pub text: String,
    pub open: bool,
    pub interrupted: bool,
    /// The end of what came, of text and of reasoning, if it cannot be cleaned yet.
    pub held: [String; 2],
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum ToolStatus {
    Running,
    Done,
    Failed,
    Stopped,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ToolItem {
    pub agent: String,
    #[serde(default)]
    pub identity: AgentIdentity,
    pub tool: String,
    pub input: ToolInput,
    pub status: ToolStatus,
    /// When the call began, as far as its seconds are counted on screen.
    #[serde(default)]
    pub started_at: Option<Timestamp>,
    /// How it went; while it runs, what it reported last.
    pub summary: String,
    /// The whole result, shown with the details.
    pub content: String,
    /// Milliseconds; `None`: it has not ended.
    pub took_ms: Option<u64>,
    /// What it changes in a file.
    pub change: Option<Box<ToolFileDiff>>,
}

/// An edit as a unified diff.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ToolFileDiff {
    pub diff: String,
    /// Line number of its first line in the file; 1 until that is known. `None`: it is a patch of several files.
    pub first_line: Option<usize>,
    /// The file; empty: the diff names its files.
    #[serde(default)]
    pub path: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum TranscriptItem {
    Block(TranscriptBlock),
    Reply(AgentReplyItem),
    Tool(ToolItem),
    Line {
        tone: ItemTone,
        text: String,
    },
    /// `── resumed ──`.
    Rule(String),
    /// `code → review`
    Transition(TransitionPath),
    /// Only visible with the details: data changes, script logs.
    Detail(String),
}

/// The states that a run went through with nothing to show between them. Empty: a later item has them.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TransitionPath {
    pub states: Vec<String>,
    /// One of the inner states is no script.
    pub has_other_states: bool,
}

impl ToolItem {
    /// The call has ended: its status and its output.
    pub fn finish_call(&mut self, ok: bool, summary: &str, content: &str, took_ms: u64) {
        self.status = if ok { ToolStatus::Done } else { ToolStatus::Failed };
        self.summary = one_line(summary);
        self.content = clean_text(content).into_owned();
        self.took_ms = Some(took_ms);
        if let Some(change) = &mut self.change {
            let about = self.content.lines().next().and_then(|line| serde_json::from_str::<Value>(line).ok());
            let line = about.as_ref().and_then(|about| about["line"].as_u64());
            if change.first_line.is_some() {
                change.first_line = Some(line.and_then(|line| usize::try_from(line).ok()).unwrap_or(1));
            }
        }
    }
}

impl ToolFileDiff {
    /// The larger a text, the less its diff is looked at.
    const MOST: usize = 64 * 1024;

    /// Of a call that puts one text in the place of another, or applies a patch.
    pub fn from_arguments(arguments: &Value) -> Option<Self> {
        let text = |name: &str| {
            arguments.get(name).and_then(Value::as_str).map(|text| clean_text(text).into_owned())
        };
        if let Some(patch) = text("patch").filter(|patch| patch.len() <= Self::MOST) {
            return Some(Self { diff: patch, first_line: None, path: String::new() });
        }
        let (old, new) = (text("old_text")?, text("new_text").unwrap_or_default());
        if old.len() + new.len() > Self::MOST {
            return None;
        }
        let ended = |text: String| if text.is_empty() || text.ends_with('\n') { text } else { text + "\n" };
        let (old, new) = (ended(old), ended(new));
        let diff = TextDiff::configure().timeout(DIFF_TIME).diff_lines(&old, &new).unified_diff().to_string();
        let path = text("file_path").or_else(|| text("path")).unwrap_or_default();
        (!diff.is_empty()).then_some(Self { diff, first_line: Some(1), path })
    }

    /// How many lines it adds, and how many it removes.
    pub fn line_counts(&self) -> (usize, usize) {
        let starts =
            |line: &&str, sign: &str, header: &str| line.starts_with(sign) && !line.starts_with(header);
        let added = self.diff.lines().filter(|line| starts(line, "+", "+++ ")).count();
        let removed = self.diff.lines().filter(|line| starts(line, "-", "--- ")).count();
        (added, removed)
    }
}

impl TranscriptBlock {
    pub fn new(tone: ItemTone, title: &str, body: &str) -> Self {
        Self {
            tone,
            title: one_line(title),
            body: clean_text(body.trim_end()).into_owned(),
            style: BlockBodyStyle::Plain,
            foot: Vec::new(),
            card: None,
        }
    }

    /// Something that an agent is told, or decides.
    #[must_use]
    pub fn as_card(mut self, agent: AgentIdentity) -> Self {
        self.card = Some(agent);
        self
    }

    #[must_use]
    pub fn style(mut self, style: BlockBodyStyle) -> Self {
        self.style = style;
        self
    }

    #[must_use]
    pub fn without_footers(mut self) -> Self {
        self.foot.clear();
        self
    }

    #[must_use]
    pub fn with_footer(mut self, line: impl AsRef<str>) -> Self {
        self.foot.push(clean_text(line.as_ref()).into_owned());
        self
    }
}

impl TranscriptItem {
    pub fn line(tone: ItemTone, text: &str) -> Self {
        Self::Line { tone, text: clean_text(text).into_owned() }
    }

    pub fn warning_item(text: &str) -> Self {
        Self::line(ItemTone::Warning, &format!("! {text}"))
    }

    pub fn note_item(text: &str) -> Self {
        Self::line(ItemTone::Dim, text)
    }

    pub fn rule(text: &str) -> Self {
        Self::Rule(one_line(text))
    }

    /// The states, in their order.
    pub fn transition(states: &[&str]) -> Self {
        let states = states.iter().map(|state| one_line(state)).collect();
        Self::Transition(TransitionPath { states, has_other_states: false })
    }

    pub fn detail_item(text: &str) -> Self {
        Self::Detail(clean_text(text).into_owned())
    }

    pub fn report_item(title: &str, body: &str) -> Self {
        Self::Block(TranscriptBlock::new(ItemTone::Accent, title, body))
    }

    pub fn error(title: &str, body: &str) -> Self {
        Self::Block(TranscriptBlock::new(ItemTone::Bad, &format!("✗ {title}"), body))
    }

    /// Its text, unformatted.
    pub fn text(&self) -> String {
        match self {
            Self::Block(block) => {
                let parts = [block.title.as_str(), &block.body].into_iter();
                let parts = parts.chain(block.foot.iter().map(String::as_str));
                parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
            }
            Self::Reply(reply) => reply.text.clone(),
            Self::Tool(tool) => {
                let head = format!("{} {} {}", tool.agent, tool.tool, tool.input.line);
                let parts = [head.trim(), &tool.input.rest, &tool.summary, &tool.content].into_iter();
                parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
            }
            Self::Line { text, .. } | Self::Rule(text) | Self::Detail(text) => text.clone(),
            Self::Transition(path) => path.states.join(" → "),
        }
    }

    /// How long its texts are together.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Block(block) => {
                block.title.len() + block.body.len() + block.foot.iter().map(String::len).sum::<usize>()
            }
            Self::Reply(reply) => {
                reply.agent.len() + reply.model.len() + reply.reasoning.len() + reply.text.len()
            }
            Self::Tool(tool) => {
                let change = tool.change.as_ref().map_or(0, |change| change.diff.len());
                tool.input.line.len()
                    + tool.input.rest.len()
                    + tool.summary.len()
                    + tool.content.len()
                    + change
            }
            Self::Line { text, .. } | Self::Rule(text) | Self::Detail(text) => text.len(),
            Self::Transition(path) => path.states.iter().map(String::len).sum(),
        }
    }

    /// Takes no room, unless the details are shown.
    pub fn is_hidden(&self) -> bool {
        matches!(self, Self::Detail(_)) || matches!(self, Self::Transition(path) if path.states.is_empty())
    }

    /// Wants an empty row before and after it.
    pub fn is_block(&self) -> bool {
        matches!(self, Self::Block(_) | Self::Reply(_) | Self::Rule(_))
    }
}
