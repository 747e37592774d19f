//! One row of the table of settings.

use super::project_restriction::ProjectRestriction;
use super::value_type::SettingValueType;

/// One setting. A path that ends in `.*` means a family with free last parts.
#[derive(Clone, Copy, Debug)]
pub struct SettingRule {
    /// Dotted path in settings.json.
    pub path: &'static str,
    pub value_type: SettingValueType,
    /// Environment names, the strongest first (those of other programs and our own).
    pub env: &'static [&'static str],
    /// Command line flags, our own spelling first.
    pub flags: &'static [&'static str],
    /// JSON text; empty for "not set".
    pub default: &'static str,
    pub description: &'static str,
    /// What a project's files may do to it: what keeps the user safe is only made stricter by them.
    pub project_restriction: ProjectRestriction,
}

impl SettingRule {
    pub(super) const fn with_project_restriction(self, project_may: ProjectRestriction) -> Self {
        Self { project_restriction: project_may, ..self }
    }
}

pub(super) const fn setting_rule(
    path: &'static str,
    shape: SettingValueType,
    env: &'static [&'static str],
    flags: &'static [&'static str],
    default: &'static str,
    about: &'static str,
) -> SettingRule {
    SettingRule {
        path,
        value_type: shape,
        env,
        flags,
        default,
        description: about,
        project_restriction: ProjectRestriction::Set,
    }
}
