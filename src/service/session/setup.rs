//! The dialog that sets up a model: a provider, its key, a model for each level, a trial, then it is saved.

use synthdev_settings::setup::LevelSetup;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SetupRequest {
    /// Which providers there are. `at_first_start`: only if no model can be asked as things are.
    Open {
        level: String,
        at_first_start: bool,
        exits_after: bool,
    },
    /// Which servers run on this machine.
    Discover,
    /// Which models a server has.
    Offers(LevelSetup),
    /// Whether it works.
    Try(Vec<LevelSetup>),
    Save(Vec<LevelSetup>),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SetupResponse {
    /// Nothing is missing: no dialog.
    Unneeded,
    Opened {
        level: String,
        at_first_start: bool,
        exits_after: bool,
        servers: Vec<SetupServer>,
    },
    Discovered(Vec<SetupServer>),
    Offers {
        models: Vec<SetupModel>,
        problem: Option<String>,
    },
    Tried(Result<String, String>),
    /// What to say.
    Saved(Result<String, String>),
}

/// A server that can be chosen.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SetupServer {
    /// A provider's name in the catalogue; empty for an address.
    pub provider: String,
    pub base_url: String,
    /// For display: `3 models`, `key set: OPENAI_API_KEY`, `wants a key`.
    pub note: String,
    pub needs_key: bool,
    /// Where its key is set already.
    pub key_source: Option<String>,
}

/// A model that can be chosen.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SetupModel {
    pub name: String,
    /// Window and price, for display.
    pub note: String,
}
