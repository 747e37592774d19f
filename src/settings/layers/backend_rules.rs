//! Where a Restate server is. A project must not send the user's runs elsewhere.

use super::project_restriction::ProjectRestriction;
use super::rule::{SettingRule, setting_rule};
use super::value_type::SettingValueType;

pub const INGRESS: SettingRule = setting_rule(
    "backend.restate.ingress",
    SettingValueType::Url,
    &["SYNTHDEV_RESTATE_INGRESS"],
    &[],
    r#""http://127.0.0.1:8080""#,
    "where the Restate server takes runs",
)
.with_project_restriction(ProjectRestriction::NotSet);

pub const ADMIN: SettingRule = setting_rule(
    "backend.restate.admin",
    SettingValueType::Url,
    &["SYNTHDEV_RESTATE_ADMIN"],
    &[],
    r#""http://127.0.0.1:9070""#,
    "where the Restate server takes workers",
)
.with_project_restriction(ProjectRestriction::NotSet);

pub const AUTH_TOKEN: SettingRule = setting_rule(
    "backend.restate.auth_token",
    SettingValueType::Secret,
    &["SYNTHDEV_RESTATE_AUTH_TOKEN"],
    &[],
    "",
    "token that the Restate server asks for",
)
.with_project_restriction(ProjectRestriction::NotSet);

pub const SNAPSHOT_REMOTE: SettingRule = setting_rule(
    "backend.restate.snapshot_remote",
    SettingValueType::Text,
    &["SYNTHDEV_RESTATE_SNAPSHOT_REMOTE"],
    &[],
    "",
    "git repository for the files of runs that other workers may go on with",
)
.with_project_restriction(ProjectRestriction::NotSet);
