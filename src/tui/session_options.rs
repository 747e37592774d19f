//! What a session of the screen begins with; filled by the composition root.

use std::sync::Arc;

use crate::display::DisplayService;
use crate::keymap::KeyBindings;
use crate::notification::NotificationFormat;
use crate::theme::ColorTheme;
use synthdev_domain::ids::RunId;
use synthdev_service::run_events::EventReceiver;
use synthdev_service::session::{SetupRequest, StatusFacts};

/// What a session begins with.
pub struct SessionOptions {
    pub service: Arc<dyn DisplayService>,
    pub facts: StatusFacts,
    /// The project is removed at the end: a run that is left cannot be continued.
    pub is_demo: bool,
    /// Every event of every run, deltas included.
    pub events: EventReceiver,
    pub start: Option<FirstAction>,
    pub trust: Option<TrustQuestion>,
    /// A model is set up first.
    pub setup: Option<SetupRequest>,
    /// Lines above the start line.
    pub banner_lines: Vec<String>,
    pub theme: ColorTheme,
    pub keymap: KeyBindings,
    /// The terminal knows links (OSC 8).
    pub hyperlinks: bool,
    /// The mouse scrolls and chooses panes.
    pub mouse: bool,
    /// How a user who looks at another window is told; `None`: not at all.
    pub notifications: Option<NotificationFormat>,
    /// Reduced motion.
    pub reduced_motion: bool,
    /// Results and data are shown from the start.
    pub details: bool,
    /// Keys as in vi in the input box.
    pub vim: bool,
    /// What stands before the text in the input box.
    pub input_prefix: String,
    /// The terminal is asked for its background, and the theme goes by it.
    pub asks_background: bool,
}

/// What happens without a key pressed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FirstAction {
    Workflow {
        name: String,
        input: String,
    },
    /// Reopens a conversation.
    Conversation(RunId),
    /// The user chooses what is resumed.
    ChooseConversation,
}

/// A project's own definitions are new or changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TrustQuestion {
    pub files: Vec<String>,
    /// What is new since they were trusted last; may be empty.
    pub changes: String,
}
