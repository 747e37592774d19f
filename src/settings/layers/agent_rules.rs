//! The settings of agents that start agents. A project only lowers them.

use super::project_restriction::ProjectRestriction;
use super::rule::{SettingRule, setting_rule};
use super::value_type::SettingValueType;

pub const MAX_DEPTH: SettingRule = setting_rule(
    "agents.max_depth",
    SettingValueType::Integer { min: 1, max: 10 },
    &[],
    &[],
    "3",
    "levels of agents that agents start",
)
.with_project_restriction(ProjectRestriction::Lower);

pub const MAX_ALIVE: SettingRule = setting_rule(
    "agents.max_alive",
    SettingValueType::Integer { min: 1, max: 500 },
    &[],
    &[],
    "16",
    "agents started by agents that work at the same time in a run",
)
.with_project_restriction(ProjectRestriction::Lower);
