//! What can happen to the screen, and what it wants done.

use std::sync::Arc;

use ratatui::crossterm::event::{KeyEvent, MouseEvent};

use crate::display::{DisplayRequest, DisplayResponse};
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_service::run_events::PublishedEvent;
use synthdev_service::run_steering::RunCommand;
use synthdev_service::session::{FilePosition, SessionRequest, SessionResponse};

/// Time comes in with the message: `update` reads no clock.
#[derive(Clone, Debug)]
pub enum UiMessage {
    Key(KeyEvent, Timestamp),
    Paste(String),
    Resize(u16, u16),
    /// The terminal reported its background: is it light?
    Background(bool),
    /// The terminal's window got the keys, or another one has them.
    Focus(bool),
    Mouse(MouseEvent),
    Run(PublishedEvent),
    /// Once a second while something runs, for the elapsed time.
    Tick(Timestamp),
    /// The history has changed.
    Stirred(Timestamp),
    Answered(SessionResponse),
    Displayed(DisplayResponse),
}

/// What the screen does itself, and the two kinds of questions that it has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UiCommand {
    Ask(SessionRequest),
    Display(DisplayRequest),
    Send(RunId, RunCommand),
    /// Into the terminal's clipboard.
    Copy(String),
    Mouse(bool),
    /// Tells a user who looks at another window.
    Notify(String),
    /// Opens this text in the user's own editor, which gets the terminal.
    External {
        number: u64,
        name: String,
        text: Arc<str>,
    },
    /// Opens a file of the project in the user's own editor, which gets the terminal.
    OpenFile(FilePosition),
    Quit,
}

impl UiCommand {
    pub fn ask(request: impl Into<SessionRequest>) -> Self {
        Self::Ask(request.into())
    }

    /// It begins something with the project's own definitions, or without them.
    pub fn depends_on_trust(&self) -> bool {
        matches!(self, Self::Ask(request) if request.depends_on_trust())
    }
}

impl UiMessage {
    pub fn answered(response: impl Into<SessionResponse>) -> Self {
        Self::Answered(response.into())
    }
}
