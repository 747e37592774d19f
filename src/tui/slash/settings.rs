//! Commands that change how the program behaves: models, keys, colours, trust.

use super::argument_kind::SlashArgument;
use super::command::{SlashAction, SlashCommand};
use super::simple_arguments::{optional_name, parse_switch};
use synthdev_service::definition_views::model_selector::LEVELS;

pub(super) const CONFIGURE: SlashCommand = SlashCommand {
    name: "configure",
    aliases: &["setup"],
    usage: "[LEVEL]",
    description: "set up a model: provider, key, model",
    long_help: "Asks for the provider, the key and the model, tests them and saves them in your settings; \
        the new model answers your next message. Without a level: base, and which models smart and fast \
        use. Esc cancels.\nExample: /configure fast",
    argument: SlashArgument::Words(&[
        ("base", "the model of your conversations"),
        ("smart", "the model of demanding work"),
        ("fast", "the model of small tasks"),
    ]),
    parse_arguments: parse_level,
};

pub(super) const KEYS: SlashCommand = SlashCommand {
    name: "keys",
    aliases: &[],
    usage: "",
    description: "list all keys with their actions and sources",
    long_help: "Other keys: keyboard.json beside your settings.json, as {\"graph\": [\"Alt+G\", \"F3\"]}. \
        Two actions in one area cannot share a key; synthdev reports errors in the file when it starts.",
    argument: SlashArgument::None,
    parse_arguments: |_| Ok(SlashAction::Keys),
};

pub(super) const THEME: SlashCommand = SlashCommand {
    name: "theme",
    aliases: &[],
    usage: "[NAME]",
    description: "choose the colours of the screen",
    long_help: "For this session; the setting \"theme\" keeps it. auto and high-contrast look at COLORFGBG, else ask the terminal; \
        dark16 and light16 use the sixteen colours of the terminal only, plain none; own is theme.json beside your \
        settings.json. NO_COLOR wins over all of them.",
    argument: SlashArgument::Theme,
    parse_arguments: |rest| Ok(SlashAction::Theme(optional_name(rest))),
};

pub(super) const MOUSE: SlashCommand = SlashCommand {
    name: "mouse",
    aliases: &[],
    usage: "[on|off]",
    description: "let the mouse scroll, choose panes and copy",
    long_help: "On unless the setting \"mouse\" turns it off. The wheel scrolls what is below it, a click gives a pane the keys, \
        what is dragged over is copied; with Shift most terminals select text by themselves. This changes it for the session.",
    argument: SlashArgument::Switch,
    parse_arguments: |rest| Ok(SlashAction::Mouse(parse_switch("mouse", rest)?)),
};

pub(super) const TRUST: SlashCommand = SlashCommand::new(
    "trust",
    "[yes|no]",
    "choose whether to use this project's definitions",
    "Without an argument: asks, or shows what is trusted. no: this session ignores the definitions.",
    SlashArgument::Words(&[("yes", "use them"), ("no", "this session ignores them")]),
    |rest| match rest {
        "" => Ok(SlashAction::Trust(None)),
        "yes" => Ok(SlashAction::Trust(Some(true))),
        "no" => Ok(SlashAction::Trust(Some(false))),
        other => Err(format!("/trust is yes or no, not `{other}`")),
    },
);

pub(super) const VIM: SlashCommand = SlashCommand::new(
    "vim",
    "[on|off]",
    "use vi keys in the input box",
    "For this session; the setting \"vim\" keeps it. docs/repl.md lists the keys.",
    SlashArgument::Switch,
    |rest| Ok(SlashAction::Vim(parse_switch("vim", rest)?)),
);

fn parse_level(rest: &str) -> Result<SlashAction, String> {
    match rest {
        "" => Ok(SlashAction::Configure("base".to_owned())),
        level if LEVELS.contains(&level) => Ok(SlashAction::Configure(level.to_owned())),
        other => Err(format!("there is no level {other}: it is one of {}", LEVELS.join(", "))),
    }
}
