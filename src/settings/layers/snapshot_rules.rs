//! The settings of snapshots. They are the user's alone: a project must not take away the way back.

use super::project_restriction::ProjectRestriction;
use super::rule::{SettingRule, setting_rule};
use super::value_type::SettingValueType;

pub const EXCLUDE: SettingRule = setting_rule(
    "snapshots.exclude",
    SettingValueType::TextList,
    &["SYNTHDEV_SNAPSHOT_EXCLUDE"],
    &[],
    r#"[".env", ".env.local", ".env.*.local"]"#,
    "patterns that snapshots leave out (keys do not belong in git); private copies are kept",
)
.with_project_restriction(ProjectRestriction::NotSet);

pub const KEEP: SettingRule = setting_rule(
    "snapshots.keep",
    SettingValueType::Integer { min: 0, max: 100_000 },
    &["SYNTHDEV_SNAPSHOT_KEEP"],
    &[],
    "50",
    "snapshots of a project that stay, the newest ones with all of their runs; 0: all",
)
.with_project_restriction(ProjectRestriction::NotSet);

pub const KEEP_DAYS: SettingRule = setting_rule(
    "snapshots.keep_days",
    SettingValueType::Integer { min: 0, max: 36_500 },
    &["SYNTHDEV_SNAPSHOT_KEEP_DAYS"],
    &[],
    "0",
    "days after which a snapshot goes; 0: never because of its age",
)
.with_project_restriction(ProjectRestriction::NotSet);
