//! The settings of the input box and of notifications.

use super::project_restriction::ProjectRestriction;
use super::rule::{SettingRule, setting_rule};
use super::value_type::SettingValueType;

pub const VIM: SettingRule = setting_rule(
    "vim",
    SettingValueType::Flag,
    &["SYNTHDEV_VIM"],
    &[],
    "false",
    "keys as in vi in the input box",
);

pub const NOTIFICATIONS: SettingRule = setting_rule(
    "notifications",
    SettingValueType::Flag,
    &["SYNTHDEV_NOTIFICATIONS"],
    &[],
    "true",
    "when another window is in front, the terminal tells that a run ended or a question waits",
);

/// The user's alone: what a project writes there could pass for words of the program.
pub const INPUT_PREFIX: SettingRule = setting_rule(
    "input_prefix",
    SettingValueType::Text,
    &["SYNTHDEV_INPUT_PREFIX"],
    &[],
    "\"❯\"",
    "what stands before the text in the input box, up to 16 columns",
)
.with_project_restriction(ProjectRestriction::NotSet);
