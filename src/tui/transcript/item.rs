//! What stands in a transcript. Texts are cleaned here, once, so that nothing unclean can be laid out.

use crate::domain::context::Side;
use crate::tui::text::{clean, one_line};

/// How loud a thing is, and in which colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tone {
    Plain,
    Dim,
    Human,
    Accent,
    Good,
    Warning,
    Bad,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Body {
    Plain,
    Dim,
    Markdown,
    Diff,
}

/// A title, a text below it, dim lines at the end; each part may be empty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    pub tone: Tone,
    pub title: String,
    pub body: String,
    pub style: Body,
    pub foot: Vec<String>,
}

/// An agent's turn. While `open`, text is appended to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reply {
    pub agent: String,
    pub side: Side,
    pub model: String,
    /// Where it speaks, if others may speak at the same time; else empty.
    pub branch: String,
    /// Shown apart, folded to a line (MODEL-5).
    pub reasoning: String,
    pub text: String,
    pub open: bool,
    pub interrupted: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ToolStatus {
    Running,
    Done,
    Failed,
    Stopped,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToolItem {
    pub agent: String,
    pub tool: String,
    /// `path=src/lib.rs`, one line.
    pub arguments: String,
    pub status: ToolStatus,
    pub summary: String,
    /// The whole result, shown with the details.
    pub content: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Item {
    Block(Block),
    Reply(Reply),
    Tool(ToolItem),
    Line {
        tone: Tone,
        text: String,
    },
    /// `── code → review ──`.
    Rule(String),
    /// Only visible with the details: data changes, script logs.
    Detail(String),
}

impl Block {
    pub fn new(tone: Tone, title: &str, body: &str) -> Self {
        Self {
            tone,
            title: one_line(title),
            body: clean(body.trim_end()).into_owned(),
            style: Body::Plain,
            foot: Vec::new(),
        }
    }

    #[must_use]
    pub fn style(mut self, style: Body) -> Self {
        self.style = style;
        self
    }

    #[must_use]
    pub fn foot(mut self, line: impl AsRef<str>) -> Self {
        self.foot.push(clean(line.as_ref()).into_owned());
        self
    }
}

impl Item {
    pub fn line(tone: Tone, text: &str) -> Self {
        Self::Line { tone, text: clean(text).into_owned() }
    }

    pub fn warning(text: &str) -> Self {
        Self::line(Tone::Warning, &format!("! {text}"))
    }

    pub fn note(text: &str) -> Self {
        Self::line(Tone::Dim, text)
    }

    pub fn rule(text: &str) -> Self {
        Self::Rule(one_line(text))
    }

    pub fn detail(text: &str) -> Self {
        Self::Detail(clean(text).into_owned())
    }

    pub fn report(title: &str, body: &str) -> Self {
        Self::Block(Block::new(Tone::Accent, title, body))
    }

    pub fn error(title: &str, body: &str) -> Self {
        Self::Block(Block::new(Tone::Bad, &format!("✗ {title}"), body))
    }

    /// What it says, as it was said.
    pub fn text(&self) -> String {
        match self {
            Self::Block(block) => {
                let parts = [block.title.as_str(), &block.body].into_iter();
                let parts = parts.chain(block.foot.iter().map(String::as_str));
                parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
            }
            Self::Reply(reply) => reply.text.clone(),
            Self::Tool(tool) => {
                let head = format!("{} {} {}", tool.agent, tool.tool, tool.arguments);
                let parts = [head.trim(), &tool.summary, &tool.content].into_iter();
                parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
            }
            Self::Line { text, .. } | Self::Rule(text) | Self::Detail(text) => text.clone(),
        }
    }

    /// Wants an empty row before and after it.
    pub fn is_block(&self) -> bool {
        matches!(self, Self::Block(_) | Self::Reply(_) | Self::Rule(_))
    }
}
