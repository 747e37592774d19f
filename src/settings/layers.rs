//! Layered settings: built-in < user < project < environment < command line, every effective value
//! with its origin. Refuses to print a key, and to read anything but the texts it is given.

mod agent_rules;
#[cfg(feature = "restate")]
mod backend_rules;
pub mod environment;
pub mod explain;
pub mod origin;
pub mod project_guard;
pub mod project_restriction;
pub mod read_layers;
mod rule;
pub mod rules;
mod sandbox_rules;
mod screen_rules;
mod snapshot_rules;
pub mod value_type;

use std::collections::BTreeMap;

use serde_json::Value;

use self::environment::EnvironmentVars;
use self::origin::SettingOrigin;
use self::project_guard::UserValues;
use self::read_layers::{LayerSetting, SettingOverrides, read_environment, read_file, read_overrides};
use self::rules::RULES;
use self::value_type::SettingValue;
use super::redaction::SecretText;
use super::system_context::SystemContextOptions;
use synthdev_domain::agent_team::AgentLimits;
use synthdev_domain::approval::{ApprovalPolicy, ToolPermission};
use synthdev_domain::diagnostic::Diagnostic;
use synthdev_domain::model::ModelParameters;
use synthdev_domain::sandbox::{NetworkAccess, ProcessLimits, SandboxLayer, SandboxMode, SandboxSettings};
use synthdev_domain::snapshot::SnapshotLimits;
use synthdev_domain::source_location::ConfigLayer;
use synthdev_language::source::SourceFile;

/// An effective value and where it was decided.
#[derive(Clone, PartialEq, Debug)]
pub struct EffectiveSetting {
    pub setting_value: SettingValue,
    pub origin: SettingOrigin,
}

/// All effective settings by dotted path.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct EffectiveSettings {
    values: BTreeMap<String, EffectiveSetting>,
    /// Values for the same path in weaker layers, the weakest first.
    weaker_values: BTreeMap<String, Vec<EffectiveSetting>>,
}

/// One line of `config show`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SettingRow {
    pub path: String,
    /// JSON text, `not set`, or for a key `set (SYNTHDEV_API_KEY, environment)`.
    pub value: String,
    /// Empty where nothing is set.
    pub origin: String,
    pub description: String,
}

impl EffectiveSettings {
    /// Reads all layers. Files may come in any order; within a layer a later file wins.
    /// A bad value is reported and leaves the value of the layer below.
    pub fn load(
        files: &[SourceFile],
        environment: &EnvironmentVars,
        overrides: &SettingOverrides,
    ) -> (Self, Vec<Diagnostic>) {
        let defaults = default_settings();
        let mut diagnostics = Vec::new();
        let mut ordered: Vec<&SourceFile> = files.iter().collect();
        ordered.sort_by_key(|file| file.layer);
        let mut given = Vec::new();
        for file in ordered {
            given.append(&mut read_file(file, &mut diagnostics));
        }
        given.append(&mut read_environment(environment, &mut diagnostics));
        given.append(&mut read_overrides(overrides, &mut diagnostics));
        let built_in = defaults.iter().map(|(path, setting)| (path.as_str(), &setting.setting_value));
        let own = UserValues::from_layers(built_in, &given);
        let taken: Vec<Result<LayerSetting, _>> =
            given.iter().cloned().map(|one| own.apply_restriction(one)).collect();
        let mut settings = Self { values: defaults, weaker_values: BTreeMap::new() };
        for one in taken {
            let one = match one {
                Ok(one) => one,
                Err(refusal) => {
                    diagnostics.push(*refusal);
                    continue;
                }
            };
            let setting = EffectiveSetting { setting_value: one.setting_value, origin: one.origin };
            if let Some(below) = settings.values.insert(one.path.clone(), setting) {
                settings.weaker_values.entry(one.path).or_default().push(below);
            }
        }
        (settings, diagnostics)
    }

    /// The effective value of a path, if anything sets it.
    pub fn get(&self, path: &str) -> Option<&EffectiveSetting> {
        self.values.get(path)
    }

    /// A field of a level as that level itself sets it: provider, base_url, model or api_key.
    pub fn own_level_setting(&self, level: &str, field: &str) -> Option<&EffectiveSetting> {
        self.get(&format!("levels.{level}.{field}"))
    }

    /// A field of a level, or of base where the level has none.
    pub fn level_setting(&self, level: &str, field: &str) -> Option<&EffectiveSetting> {
        self.own_level_setting(level, field).or_else(|| self.own_level_setting("base", field))
    }

    /// Tool rounds before the run asks the user whether to continue, 1 to 200.
    pub fn max_tool_calls(&self) -> u32 {
        self.number("max_tool_calls")
    }

    /// Where the Restate server takes runs, where it takes workers, and the token that it asks for.
    #[cfg(feature = "restate")]
    pub fn restate_server(&self) -> (&str, &str, Option<&SecretText>) {
        let url = |path: &str| self.text(path).unwrap_or_default();
        let token = self.get("backend.restate.auth_token").and_then(EffectiveSetting::secret);
        (url("backend.restate.ingress"), url("backend.restate.admin"), token)
    }

    /// A git repository for the files of runs that other hosts may go on with.
    #[cfg(feature = "restate")]
    pub fn restate_snapshot_remote(&self) -> Option<&str> {
        self.text("backend.restate.snapshot_remote").map(str::trim).filter(|remote| !remote.is_empty())
    }

    /// How many agents agents may start.
    pub fn agent_limits(&self) -> AgentLimits {
        AgentLimits { max_depth: self.number("agents.max_depth"), max_alive: self.number("agents.max_alive") }
    }

    /// 0 to 5.
    pub fn verbosity(&self) -> u8 {
        self.number("verbosity")
    }

    pub fn default_role(&self) -> &str {
        self.text("default_role").unwrap_or_default()
    }

    /// Name of the screen's theme; whether there is such a theme is for the screen to say.
    pub fn theme_name(&self) -> &str {
        self.text("theme").unwrap_or_default()
    }

    /// The mouse scrolls and chooses panes, instead of selecting text.
    pub fn is_mouse_enabled(&self) -> bool {
        self.value("mouse").and_then(Value::as_bool).unwrap_or_default()
    }

    /// A user who looks at another window is told that something ended or waits.
    pub fn is_notification_enabled(&self) -> bool {
        self.value("notifications").and_then(Value::as_bool).unwrap_or_default()
    }

    /// Nothing on the screen moves by itself.
    pub fn reduced_motion(&self) -> bool {
        self.value("reduced_motion").and_then(Value::as_bool).unwrap_or_default()
    }

    /// Keys as in vi in the input box.
    pub fn is_vim_enabled(&self) -> bool {
        self.value("vim").and_then(Value::as_bool).unwrap_or_default()
    }

    /// What stands before the text in the input box.
    pub fn input_prefix(&self) -> &str {
        self.value("input_prefix").and_then(Value::as_str).unwrap_or_default()
    }

    /// The output of a command of the user is added to their next message.
    pub fn adds_output(&self) -> bool {
        self.value("cmd.add_output").and_then(Value::as_bool).unwrap_or_default()
    }

    /// The parts of the system context that agents get.
    pub fn system_context_options(&self) -> SystemContextOptions {
        let flag = |path: &str| self.value(path).and_then(Value::as_bool).unwrap_or_default();
        SystemContextOptions {
            environment: flag("prompt.environment"),
            guidance: flag("prompt.agents_md"),
            guidance_limit: self.number("prompt.agents_md_limit"),
        }
    }

    /// The number of names of the project's files in the system context.
    pub fn prompt_files(&self) -> usize {
        self.number("prompt.files")
    }

    pub fn connect_seconds(&self) -> u64 {
        self.number("timeouts.connect_seconds")
    }

    pub fn idle_seconds(&self) -> u64 {
        self.number("timeouts.idle_seconds")
    }

    /// Of one call of a model, answered or not.
    pub fn call_seconds(&self) -> u64 {
        self.number("timeouts.call_seconds")
    }

    /// How often a model call is made at most, from 1.
    pub fn retry_attempts(&self) -> u32 {
        self.number("retry.attempts")
    }

    /// Milliseconds; doubled for each further attempt.
    pub fn retry_first_delay_ms(&self) -> u64 {
        self.number("retry.first_delay_ms")
    }

    /// Milliseconds; a server that asks for more ends the attempts.
    pub fn retry_longest_delay_ms(&self) -> u64 {
        self.number("retry.longest_delay_ms")
    }

    pub fn terminal_timeout_seconds(&self) -> u64 {
        self.number("tools.terminal_timeout_seconds")
    }

    /// Bytes of one tool answer.
    pub fn output_limit_bytes(&self) -> usize {
        self.number("tools.output_limit_bytes")
    }

    /// Patterns that snapshots leave out, in the way of `.gitignore`.
    pub fn snapshot_exclude(&self) -> Vec<String> {
        let items = self.value("snapshots.exclude").and_then(Value::as_array);
        items.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// How many snapshots of a project stay.
    pub fn snapshot_limits(&self) -> SnapshotLimits {
        SnapshotLimits { keep: self.number("snapshots.keep"), keep_days: self.number("snapshots.keep_days") }
    }

    pub fn sandbox(&self) -> SandboxSettings {
        let texts = |path: &str| {
            let items = self.value(path).and_then(Value::as_array);
            items.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        SandboxSettings {
            mode: self.text("sandbox.mode").and_then(SandboxMode::from_name).unwrap_or_default(),
            network: self.text("sandbox.network").and_then(NetworkAccess::from_name).unwrap_or_default(),
            network_is_locked: self.get("sandbox.network").is_some_and(|setting| {
                setting.origin.is_from_project || setting.origin.layer == ConfigLayer::CommandLine
            }),
            ports_are_closed: self.value("sandbox.workflow_ports") == Some(&Value::Bool(false)),
            layer: self.text("sandbox.layer").and_then(SandboxLayer::from_name).unwrap_or_default(),
            writable: texts("sandbox.writable"),
            read_only: texts("sandbox.read_only"),
            hidden: texts("sandbox.hidden"),
            readable: texts("sandbox.readable"),
            limits: ProcessLimits {
                processes: self.number("sandbox.max_processes"),
                memory_mb: self.number("sandbox.max_memory_mb"),
                file_mb: self.number("sandbox.max_file_mb"),
            },
        }
    }

    pub fn approval_policy(&self) -> ApprovalPolicy {
        let fallback = ApprovalPolicy::default();
        let rule = |path: &str| self.text(path).and_then(parse_permission);
        let tools = self.settings_below("approvals.tools.").filter_map(|(tool, setting)| {
            match &setting.setting_value {
                SettingValue::Plain(value) => Some((tool.to_owned(), parse_permission(value.as_str()?)?)),
                SettingValue::Secret { .. } => None,
            }
        });
        ApprovalPolicy {
            read: rule("approvals.read").unwrap_or(fallback.read),
            write: rule("approvals.write").unwrap_or(fallback.write),
            execute: rule("approvals.execute").unwrap_or(fallback.execute),
            tools: tools.collect(),
            deadline_s: self.number("approvals.deadline_seconds"),
        }
    }

    /// The parameters as set; `models` decides whether a model accepts them.
    pub fn parameters(&self) -> ModelParameters {
        let real = |name: &str| self.value(&format!("parameters.{name}")).and_then(Value::as_f64);
        let whole = |name: &str| self.value(&format!("parameters.{name}")).and_then(Value::as_u64);
        ModelParameters {
            temperature: real("temperature"),
            top_p: real("top_p"),
            top_k: whole("top_k"),
            frequency_penalty: real("frequency_penalty"),
            presence_penalty: real("presence_penalty"),
            repetition_penalty: real("repetition_penalty"),
            max_output_tokens: whole("max_output_tokens"),
            reasoning_effort: self.text("parameters.reasoning_effort").map(str::to_owned),
        }
    }

    /// Keys of providers set in files: (provider, key).
    pub fn provider_keys(&self) -> impl Iterator<Item = (&str, &SecretText)> {
        self.settings_below("keys.").filter_map(|(provider, setting)| Some((provider, setting.secret()?)))
    }

    /// All values for a path, the strongest first.
    pub fn all_values(&self, path: &str) -> impl Iterator<Item = &EffectiveSetting> {
        let below = self.weaker_values.get(path).into_iter().flatten().rev();
        self.get(path).into_iter().chain(below)
    }

    /// Every setting for `config show`, in the table's order; families after their prefix, levels with
    /// what they inherit. Never a key.
    pub fn setting_rows(&self) -> Vec<SettingRow> {
        let mut lines = Vec::new();
        for rule in RULES {
            if let Some(prefix) = rule.path.strip_suffix('*') {
                let members = self.settings_below(prefix);
                lines.extend(
                    members.map(|(name, one)| {
                        setting_row(format!("{prefix}{name}"), Some(one), rule.description)
                    }),
                );
                continue;
            }
            let mut line = setting_row(rule.path.to_owned(), self.get(rule.path), rule.description);
            if self.get(rule.path).is_none() {
                self.show_inherited(&mut line);
            }
            lines.push(line);
        }
        lines
    }

    fn show_inherited(&self, line: &mut SettingRow) {
        let field = line.path.strip_prefix("levels.").and_then(|rest| rest.split_once('.'));
        let Some((level, field)) = field.filter(|(level, _)| *level != "base") else { return };
        if has_own_provider(self, level) && matches!(field, "base_url" | "api_key") {
            return;
        }
        if let Some(base) = self.own_level_setting("base", field) {
            let inherited = setting_row(line.path.clone(), Some(base), &line.description);
            line.value = inherited.value;
            line.origin = format!("from base: {}", inherited.origin);
        }
    }

    fn settings_below<'s>(
        &'s self,
        prefix: &'s str,
    ) -> impl Iterator<Item = (&'s str, &'s EffectiveSetting)> {
        self.values.iter().filter_map(move |(path, setting)| Some((path.strip_prefix(prefix)?, setting)))
    }

    fn value(&self, path: &str) -> Option<&Value> {
        match &self.get(path)?.setting_value {
            SettingValue::Plain(value) => Some(value),
            SettingValue::Secret { .. } => None,
        }
    }

    fn text(&self, path: &str) -> Option<&str> {
        self.value(path)?.as_str()
    }

    /// Numbers have defaults in the table and were range-checked, so the fallback is never met.
    fn number<T: TryFrom<u64> + Default>(&self, path: &str) -> T {
        self.value(path)
            .and_then(Value::as_u64)
            .and_then(|number| T::try_from(number).ok())
            .unwrap_or_default()
    }
}

impl EffectiveSetting {
    /// The text of a plain string.
    pub fn as_str(&self) -> Option<&str> {
        match &self.setting_value {
            SettingValue::Plain(value) => value.as_str(),
            SettingValue::Secret { .. } => None,
        }
    }

    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let items = match &self.setting_value {
            SettingValue::Plain(value) => value.as_array(),
            SettingValue::Secret { .. } => None,
        };
        items.into_iter().flatten().filter_map(Value::as_str)
    }

    pub fn secret(&self) -> Option<&SecretText> {
        match &self.setting_value {
            SettingValue::Secret { key, .. } => Some(key),
            SettingValue::Plain(_) => None,
        }
    }

    /// The server that a key was saved for, if it is recorded.
    pub fn key_origin(&self) -> Option<&str> {
        match &self.setting_value {
            SettingValue::Secret { home, .. } => home.as_deref(),
            SettingValue::Plain(_) => None,
        }
    }
}

/// Whether a level names a provider of its own: then base's URL and key are for a different server.
pub fn has_own_provider(settings: &EffectiveSettings, level: &str) -> bool {
    let own = settings.own_level_setting(level, "provider").and_then(EffectiveSetting::as_str);
    own.is_some() && own != settings.own_level_setting("base", "provider").and_then(EffectiveSetting::as_str)
}

/// `config show` as text: `path = value`, with `--origin` a third column.
pub fn show_text(lines: &[SettingRow], with_origin: bool) -> String {
    let path_width = lines.iter().map(|line| line.path.len()).max().unwrap_or(0);
    let value_width = lines.iter().map(|line| line.value.chars().count()).max().unwrap_or(0).min(48);
    let mut text = String::new();
    for line in lines {
        let row = if with_origin {
            format!("{:path_width$}  {:value_width$}  {}", line.path, line.value, line.origin)
        } else {
            format!("{:path_width$}  {}", line.path, line.value)
        };
        text.push_str(row.trim_end());
        text.push('\n');
    }
    text
}

fn default_settings() -> BTreeMap<String, EffectiveSetting> {
    let known = RULES.iter().filter(|rule| !rule.default.is_empty());
    known
        .filter_map(|rule| {
            let value = serde_json::from_str(rule.default).ok()?;
            Some((
                rule.path.to_owned(),
                EffectiveSetting {
                    setting_value: SettingValue::Plain(value),
                    origin: SettingOrigin::built_in_default(),
                },
            ))
        })
        .collect()
}

fn setting_row(path: String, setting: Option<&EffectiveSetting>, about: &str) -> SettingRow {
    let about = about.to_owned();
    let Some(setting) = setting else {
        return SettingRow { path, value: "not set".to_owned(), origin: String::new(), description: about };
    };
    let origin = setting.origin.to_string();
    let value = match &setting.setting_value {
        SettingValue::Plain(value) => value.to_string(),
        SettingValue::Secret { home, .. } => {
            let name = setting.origin.name.clone();
            let place = setting.origin.place.as_ref().map(|place| place.file.clone());
            let from = name.or(place).unwrap_or_else(|| "built-in".to_owned());
            let home = home.as_ref().map(|home| format!(", for {home}")).unwrap_or_default();
            format!("set ({from}, {}){home}", setting.origin.layer)
        }
    };
    SettingRow { path, value, origin, description: about }
}

fn parse_permission(text: &str) -> Option<ToolPermission> {
    match text {
        "allow" => Some(ToolPermission::Allow),
        "ask" => Some(ToolPermission::Ask),
        "deny" => Some(ToolPermission::Deny),
        _ => None,
    }
}
