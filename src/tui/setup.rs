//! The dialog that sets up a model: a provider, its key, a model for each level, a trial, then it is saved.
//!
//! All state of it; `update::setup` changes it, `view::setup` draws it. Nothing outside changes before the last step.
//! Refuses: showing a key, and knowing any server or file.

use std::fmt;
use std::net::Ipv4Addr;

use synthdev_domain::secret::SecretText;
use synthdev_service::session::{SetupModel, SetupServer};
use synthdev_service::setting_values::setup::LevelSetup;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetupStep {
    Place,
    Key,
    Model,
    Smart,
    Fast,
    Trial,
}

/// A line of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SetupChoice {
    Discover,
    Place(usize),
    /// What was typed, as an address.
    Address,
    /// What was typed, as a model's name.
    Typed,
    Model(usize),
    AsBase,
}

#[derive(Clone, PartialEq, Eq)]
pub struct SetupDialog {
    /// Distinguishes replies for this dialog from late ones for another.
    pub number: u64,
    /// The level that is set up: base, smart or fast.
    pub level: String,
    /// Nothing else is wanted: the program ends with the dialog.
    pub exits_after: bool,
    /// It came unbidden, at a start without a model.
    pub at_first_start: bool,
    pub step: SetupStep,
    pub servers: Vec<SetupServer>,
    pub models: Vec<SetupModel>,
    /// What is typed: a filter, an address, a model's name, or the key.
    pub typed_text: String,
    /// Characters of it before the cursor.
    pub cursor: usize,
    pub selected: usize,
    /// What is waited for.
    pub waiting_for: Option<&'static str>,
    pub problem: Option<String>,
    /// What was assumed of what was typed.
    pub assumption: Option<String>,
    /// The chosen server.
    pub chosen_server: Option<SetupServer>,
    pub key: Option<SecretText>,
    pub model: String,
    /// A level with a model of its own.
    pub smart_model: Option<String>,
    pub fast_model: Option<String>,
    /// How the trial went.
    pub outcome: Option<Result<String, String>>,
    /// The search for servers on this machine is done.
    pub discovery_done: bool,
}

impl fmt::Debug for SetupDialog {
    /// Without what is typed: it may be a key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SetupDialog")
            .field("level", &self.level)
            .field("step", &self.step)
            .finish_non_exhaustive()
    }
}

impl SetupDialog {
    pub fn new(level: String, alone: bool, places: Vec<SetupServer>) -> Self {
        Self {
            number: 0,
            level,
            exits_after: alone,
            at_first_start: false,
            step: SetupStep::Place,
            servers: places,
            models: Vec::new(),
            typed_text: String::new(),
            cursor: 0,
            selected: 0,
            waiting_for: None,
            problem: None,
            assumption: None,
            chosen_server: None,
            key: None,
            model: String::new(),
            smart_model: None,
            fast_model: None,
            outcome: None,
            discovery_done: false,
        }
    }

    /// Puts another text in the place of what was typed, with the cursor at its end.
    pub fn set_text(&mut self, text: String) {
        self.cursor = text.chars().count();
        (self.typed_text, self.selected) = (text, 0);
    }

    /// Writes at the cursor.
    pub fn insert_text(&mut self, text: &str) {
        let at = self.byte_at(self.cursor);
        self.typed_text.insert_str(at, text);
        self.cursor += text.chars().count();
        self.selected = 0;
    }

    /// Removes the character at this place, counted from the first.
    pub fn delete_at(&mut self, place: usize) {
        let at = self.byte_at(place);
        if at < self.typed_text.len() {
            self.typed_text.remove(at);
            self.cursor -= usize::from(place < self.cursor);
            self.selected = 0;
        }
    }

    /// What stands before the cursor.
    pub fn text_before_cursor(&self) -> &str {
        &self.typed_text[..self.byte_at(self.cursor)]
    }

    fn byte_at(&self, place: usize) -> usize {
        self.typed_text.char_indices().nth(place).map_or(self.typed_text.len(), |(at, _)| at)
    }

    /// The typed address: one without a scheme gets `http` on this machine and in private networks, and `https` elsewhere,
    /// as a key is sent there.
    pub fn typed_address(&self) -> String {
        let typed = self.typed_text.trim().trim_end_matches('/');
        let host = typed.split('/').next().unwrap_or_default();
        let (name, port) = host.rsplit_once(':').unwrap_or((host, ""));
        let has_port = !port.is_empty() && port.chars().all(|c| c.is_ascii_digit());
        let is_near = match name.parse::<Ipv4Addr>() {
            Ok(number) => number.is_private() || number.is_loopback() || number.is_link_local(),
            Err(_) => name == "localhost" || name.ends_with(".localhost") || has_port && !name.contains('.'),
        };
        match () {
            () if typed.contains("://") || typed.contains(char::is_whitespace) || name.is_empty() => {
                typed.to_owned()
            }
            () if is_near => format!("http://{typed}"),
            () if name.contains('.') && (has_port || !host.contains(':')) => format!("https://{typed}"),
            () => typed.to_owned(),
        }
    }

    /// The lines of the step's list that fit what was typed.
    pub fn choices(&self) -> Vec<SetupChoice> {
        let wanted = self.typed_text.trim().to_lowercase();
        let fits = |text: &str| text.to_lowercase().contains(&wanted);
        let mut list = Vec::new();
        match self.step {
            SetupStep::Place => {
                if !self.discovery_done && wanted.is_empty() {
                    list.push(SetupChoice::Discover);
                }
                let places = self.servers.iter().enumerate();
                let fitting = places.filter(|(_, place)| fits(&place.provider) || fits(&place.base_url));
                list.extend(fitting.map(|(at, _)| SetupChoice::Place(at)));
                if list.is_empty() || wanted.contains("://") {
                    list.push(SetupChoice::Address);
                }
            }
            SetupStep::Model | SetupStep::Smart | SetupStep::Fast => {
                if self.step != SetupStep::Model && wanted.is_empty() {
                    list.push(SetupChoice::AsBase);
                }
                let models = self.models.iter().enumerate();
                list.extend(
                    models.filter(|(_, model)| fits(&model.name)).map(|(at, _)| SetupChoice::Model(at)),
                );
                let exact = self.models.iter().any(|model| model.name == self.typed_text.trim());
                if !wanted.is_empty() && !exact {
                    list.push(SetupChoice::Typed);
                }
            }
            SetupStep::Key | SetupStep::Trial => {}
        }
        list
    }

    /// What was chosen so far, for the level itself.
    pub fn own_setup(&self) -> LevelSetup {
        let place = self.chosen_server.clone().unwrap_or_default();
        let custom = place.provider.is_empty();
        LevelSetup {
            level: self.level.clone(),
            provider: (!custom).then(|| place.provider.clone()),
            base_url: custom.then(|| place.base_url.clone()),
            key: self.key.clone(),
            model: (!self.model.is_empty()).then(|| self.model.clone()),
            same_as_base: false,
        }
    }

    /// Everything that was chosen.
    pub fn all_setups(&self) -> Vec<LevelSetup> {
        let mut all = vec![self.own_setup()];
        if self.level == "base" {
            for (level, model) in [("smart", &self.smart_model), ("fast", &self.fast_model)] {
                let level = level.to_owned();
                // what the level had of its own belonged to another server
                all.push(LevelSetup { level: level.clone(), same_as_base: true, ..LevelSetup::default() });
                if model.is_some() {
                    all.push(LevelSetup { level, model: model.clone(), ..LevelSetup::default() });
                }
            }
        }
        all
    }

    /// The steps of this dialog, in order.
    pub fn steps(&self) -> &'static [SetupStep] {
        if self.level == "base" {
            &[
                SetupStep::Place,
                SetupStep::Key,
                SetupStep::Model,
                SetupStep::Smart,
                SetupStep::Fast,
                SetupStep::Trial,
            ]
        } else {
            &[SetupStep::Place, SetupStep::Key, SetupStep::Model, SetupStep::Trial]
        }
    }
}
