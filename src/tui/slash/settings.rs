//! Commands that change how the program behaves: models, keys, colours, trust.

use super::command::{SlashAction, SlashArgument, SlashCommand};
use super::simple_arguments::{named, switch};
use synthdev_config::settings::rules::LEVELS;

pub(super) const CONFIGURE: SlashCommand = SlashCommand {
    name: "configure",
    aliases: &[],
    usage: "[LEVEL]",
    about: "set up a model: provider, key, model",
    more: "Asks for the provider, the key and the model, tries them and saves them in your settings; the next text \
           is answered by the new model. Without a level: base, and which models smart and fast use. Esc leaves \
           everything as it was.\nExample: /configure fast",
    argument: SlashArgument::None,
    parse: parse_level,
};

pub(super) const KEYS: SlashCommand = SlashCommand {
    name: "keys",
    aliases: &[],
    usage: "",
    about: "every key, what it does, where it is from",
    more: "Other keys: keyboard.json beside your settings.json, as {\"graph\": [\"Alt+G\", \"F3\"]}. Two actions \
           cannot have one key in one place; what is wrong with the file is told at the start.",
    argument: SlashArgument::None,
    parse: |_| Ok(SlashAction::Keys),
};

pub(super) const THEME: SlashCommand = SlashCommand {
    name: "theme",
    aliases: &[],
    usage: "[NAME]",
    about: "colours: auto, dark, light, light16, plain",
    more: "For this session; the setting \"theme\" keeps it. auto looks at COLORFGBG, else asks the terminal; light16 uses the sixteen \
           colours of the terminal only. NO_COLOR wins over all of them.",
    argument: SlashArgument::Theme,
    parse: |rest| Ok(SlashAction::Theme(named(rest))),
};

pub(super) const MOUSE: SlashCommand = SlashCommand {
    name: "mouse",
    aliases: &[],
    usage: "[on|off]",
    about: "the mouse scrolls and chooses panes, or selects text",
    more: "For this session; the setting \"mouse\" keeps it. While it is on, most terminals select text with Shift.",
    argument: SlashArgument::Switch,
    parse: |rest| Ok(SlashAction::Mouse(switch("mouse", rest)?)),
};

pub(super) const TRUST: SlashCommand = SlashCommand::new(
    ("trust", "[yes|no]"),
    "whether this project's own definitions are used",
    "Without a word: asks, or says what is trusted. no: they are left out in this session.",
    SlashArgument::None,
    |rest| match rest {
        "" => Ok(SlashAction::Trust(None)),
        "yes" => Ok(SlashAction::Trust(Some(true))),
        "no" => Ok(SlashAction::Trust(Some(false))),
        other => Err(format!("/trust is yes or no, not `{other}`")),
    },
);

pub(super) const VIM: SlashCommand = SlashCommand::new(
    ("vim", "[on|off]"),
    "keys as in vi in the input box",
    "For this session; the setting \"vim\" keeps it.",
    SlashArgument::Switch,
    |rest| Ok(SlashAction::Vim(switch("vim", rest)?)),
);

fn parse_level(rest: &str) -> Result<SlashAction, String> {
    match rest {
        "" => Ok(SlashAction::Configure("base".to_owned())),
        level if LEVELS.contains(&level) => Ok(SlashAction::Configure(level.to_owned())),
        other => Err(format!("there is no level {other}: it is one of {}", LEVELS.join(", "))),
    }
}
