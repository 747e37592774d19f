//! The one table of settings: path in the file, shape, environment names, flags, default.
//! Reading, `config show`, help texts and documentation are readers of it.

use super::agent_rules;
#[cfg(feature = "restate")]
use super::backend_rules;
use super::project_restriction::{PERMISSIONS, ProjectRestriction};
pub use super::rule::SettingRule;
use super::rule::setting_rule;
use super::sandbox_rules;
use super::screen_rules;
use super::snapshot_rules;
use super::value_type::SettingValueType;
use synthdev_domain::secret_names::{has_key_prefix, is_key_shaped, is_secret_name};

/// Every setting, in the order in which `config show` prints them.
pub const RULES: &[SettingRule] = &[
    setting_rule(
        "levels.base.provider",
        SettingValueType::Text,
        &["SYNTHDEV_PROVIDER", "SYNTHDEV_BASE_PROVIDER"],
        &["--provider"],
        "",
        "provider of the base level",
    ),
    setting_rule(
        "levels.base.base_url",
        SettingValueType::Url,
        &["SYNTHDEV_BASE_URL"],
        &["--base-url", "--url"],
        "",
        "base URL of the base level",
    ),
    setting_rule(
        "levels.base.model",
        SettingValueType::Text,
        &["SYNTHDEV_BASE_MODEL", "SYNTHDEV_MODEL"],
        &["--base-model", "--model"],
        "",
        "model of the base level",
    ),
    setting_rule(
        "levels.base.api_key",
        SettingValueType::Secret,
        &["SYNTHDEV_API_KEY", "SYNTHDEV_BASE_API_KEY"],
        &["--api-key"],
        "",
        "key of the base level",
    ),
    setting_rule(
        "levels.base.fallback",
        SettingValueType::TextList,
        &["SYNTHDEV_BASE_FALLBACK"],
        &[],
        "",
        "levels that are asked while the server of the base level stays down",
    ),
    setting_rule(
        "levels.smart.provider",
        SettingValueType::Text,
        &["SYNTHDEV_SMART_PROVIDER"],
        &["--smart-provider"],
        "",
        "provider of the smart level",
    ),
    setting_rule(
        "levels.smart.base_url",
        SettingValueType::Url,
        &["SYNTHDEV_SMART_BASE_URL", "SYNTHDEV_SMART_URL"],
        &["--smart-base-url", "--smart-url"],
        "",
        "base URL of the smart level",
    ),
    setting_rule(
        "levels.smart.model",
        SettingValueType::Text,
        &["SYNTHDEV_SMART_MODEL"],
        &["--smart-model"],
        "",
        "model of the smart level",
    ),
    setting_rule(
        "levels.smart.api_key",
        SettingValueType::Secret,
        &["SYNTHDEV_SMART_API_KEY"],
        &["--smart-api-key"],
        "",
        "key of the smart level",
    ),
    setting_rule(
        "levels.smart.fallback",
        SettingValueType::TextList,
        &["SYNTHDEV_SMART_FALLBACK"],
        &[],
        "",
        "levels that are asked while the server of the smart level stays down",
    ),
    setting_rule(
        "levels.fast.provider",
        SettingValueType::Text,
        &["SYNTHDEV_FAST_PROVIDER"],
        &["--fast-provider"],
        "",
        "provider of the fast level",
    ),
    setting_rule(
        "levels.fast.base_url",
        SettingValueType::Url,
        &["SYNTHDEV_FAST_BASE_URL", "SYNTHDEV_FAST_URL"],
        &["--fast-base-url", "--fast-url"],
        "",
        "base URL of the fast level",
    ),
    setting_rule(
        "levels.fast.model",
        SettingValueType::Text,
        &["SYNTHDEV_FAST_MODEL"],
        &["--fast-model"],
        "",
        "model of the fast level",
    ),
    setting_rule(
        "levels.fast.api_key",
        SettingValueType::Secret,
        &["SYNTHDEV_FAST_API_KEY"],
        &["--fast-api-key"],
        "",
        "key of the fast level",
    ),
    setting_rule(
        "levels.fast.fallback",
        SettingValueType::TextList,
        &["SYNTHDEV_FAST_FALLBACK"],
        &[],
        "",
        "levels that are asked while the server of the fast level stays down",
    ),
    setting_rule(
        "keys.*",
        SettingValueType::Secret,
        &[],
        &[],
        "",
        "key of a provider, by the provider's name",
    ),
    setting_rule(
        "parameters.temperature",
        SettingValueType::Real { min: 0.0, max: 2.0 },
        &["SYNTHDEV_TEMPERATURE"],
        &["--temperature"],
        "",
        "sampling temperature",
    ),
    setting_rule(
        "parameters.top_p",
        SettingValueType::Real { min: 0.0, max: 1.0 },
        &["SYNTHDEV_TOP_P"],
        &[],
        "",
        "nucleus sampling",
    ),
    setting_rule(
        "parameters.top_k",
        SettingValueType::Integer { min: 0, max: 1_000_000 },
        &["SYNTHDEV_TOP_K"],
        &[],
        "",
        "sampling among the k likeliest tokens",
    ),
    setting_rule(
        "parameters.frequency_penalty",
        SettingValueType::Real { min: -2.0, max: 2.0 },
        &["SYNTHDEV_FREQUENCY_PENALTY"],
        &[],
        "",
        "penalty for frequent tokens",
    ),
    setting_rule(
        "parameters.presence_penalty",
        SettingValueType::Real { min: -2.0, max: 2.0 },
        &["SYNTHDEV_PRESENCE_PENALTY"],
        &[],
        "",
        "penalty for tokens already there",
    ),
    setting_rule(
        "parameters.repetition_penalty",
        SettingValueType::Real { min: 0.0, max: 2.0 },
        &["SYNTHDEV_REPETITION_PENALTY"],
        &[],
        "",
        "repetition penalty of local servers",
    ),
    setting_rule(
        "parameters.max_output_tokens",
        SettingValueType::Integer { min: 1, max: 10_000_000 },
        &["SYNTHDEV_MAX_OUTPUT_TOKENS"],
        &[],
        "",
        "limit of one answer",
    ),
    setting_rule(
        "parameters.reasoning_effort",
        SettingValueType::Text,
        &["SYNTHDEV_REASONING_EFFORT"],
        &[],
        "",
        "reasoning effort, in the provider's words",
    ),
    setting_rule(
        "max_tool_calls",
        SettingValueType::Integer { min: 1, max: 200 },
        &["SYNTHDEV_MAX_TOOL_CALLS"],
        &["--max-tool-calls"],
        "50",
        "tool rounds before asking to go on",
    )
    .with_project_restriction(ProjectRestriction::Lower),
    setting_rule(
        "verbosity",
        SettingValueType::Integer { min: 0, max: 5 },
        &["SYNTHDEV_VERBOSITY_LEVEL", "SYNTHDEV_VERBOSITY"],
        &["--verbosity"],
        "2",
        "how much is logged and shown, 0 to 5",
    ),
    setting_rule(
        "approvals.read",
        SettingValueType::Permission,
        &["SYNTHDEV_APPROVE_READ"],
        &[],
        "\"allow\"",
        "tools that only read",
    )
    .with_project_restriction(PERMISSIONS),
    setting_rule(
        "approvals.write",
        SettingValueType::Permission,
        &["SYNTHDEV_APPROVE_WRITE"],
        &[],
        "\"ask\"",
        "tools that change files",
    )
    .with_project_restriction(PERMISSIONS),
    setting_rule(
        "approvals.execute",
        SettingValueType::Permission,
        &["SYNTHDEV_APPROVE_EXECUTE"],
        &[],
        "\"ask\"",
        "tools that run commands",
    )
    .with_project_restriction(PERMISSIONS),
    setting_rule(
        "approvals.tools.*",
        SettingValueType::Permission,
        &[],
        &[],
        "",
        "one tool, by name; wins over the three above",
    )
    .with_project_restriction(PERMISSIONS),
    setting_rule(
        "approvals.deadline_seconds",
        SettingValueType::Integer { min: 0, max: 86_400 },
        &["SYNTHDEV_APPROVAL_DEADLINE_SECONDS"],
        &[],
        "0",
        "seconds after which an approval without an answer is denied; 0: it waits",
    ),
    setting_rule(
        "default_role",
        SettingValueType::Text,
        &["SYNTHDEV_DEFAULT_ROLE", "SYNTHDEV_ROLE"],
        &["--role"],
        "\"coder\"",
        "role of the single-agent mode",
    ),
    setting_rule(
        "prompt.environment",
        SettingValueType::Flag,
        &["SYNTHDEV_PROMPT_ENVIRONMENT"],
        &[],
        "true",
        "tell agents the system, the directory and the date (environment.md)",
    ),
    setting_rule(
        "prompt.files",
        SettingValueType::Integer { min: 0, max: 2_000 },
        &["SYNTHDEV_PROMPT_FILES"],
        &[],
        "0",
        "tell them the names of so many files of the project, too",
    ),
    setting_rule(
        "prompt.agents_md",
        SettingValueType::Flag,
        &["SYNTHDEV_PROMPT_AGENTS_MD"],
        &[],
        "true",
        "give agents the AGENTS.md of the user and of a trusted project",
    )
    .with_project_restriction(ProjectRestriction::Lower),
    setting_rule(
        "prompt.agents_md_limit",
        SettingValueType::Integer { min: 100, max: 1_000_000 },
        &["SYNTHDEV_PROMPT_AGENTS_MD_LIMIT"],
        &[],
        "32000",
        "characters of one AGENTS.md; the rest is left out",
    ),
    setting_rule(
        "timeouts.connect_seconds",
        SettingValueType::Integer { min: 1, max: 3600 },
        &["SYNTHDEV_CONNECT_SECONDS"],
        &[],
        "10",
        "connecting to a provider",
    ),
    setting_rule(
        "timeouts.idle_seconds",
        SettingValueType::Integer { min: 1, max: 86_400 },
        &["SYNTHDEV_IDLE_SECONDS"],
        &[],
        "120",
        "silence of a provider during an answer",
    ),
    setting_rule(
        "timeouts.call_seconds",
        SettingValueType::Integer { min: 1, max: 86_400 },
        &["SYNTHDEV_CALL_SECONDS"],
        &[],
        "3600",
        "one answer of a model, from the question to its last word",
    ),
    setting_rule(
        "retry.attempts",
        SettingValueType::Integer { min: 1, max: 100 },
        &["SYNTHDEV_RETRY_ATTEMPTS"],
        &[],
        "5",
        "how often a model is asked before giving up, the first time included",
    ),
    setting_rule(
        "retry.first_delay_ms",
        SettingValueType::Integer { min: 0, max: 3_600_000 },
        &["SYNTHDEV_RETRY_FIRST_DELAY_MS"],
        &[],
        "1000",
        "longest wait before the second attempt; doubled for each further one",
    ),
    setting_rule(
        "retry.longest_delay_ms",
        SettingValueType::Integer { min: 0, max: 3_600_000 },
        &["SYNTHDEV_RETRY_LONGEST_DELAY_MS"],
        &[],
        "60000",
        "longest wait before an attempt; a server that asks for a longer one ends the attempts",
    ),
    setting_rule(
        "tools.terminal_timeout_seconds",
        SettingValueType::Integer { min: 1, max: 86_400 },
        &["SYNTHDEV_TERMINAL_TIMEOUT_SECONDS"],
        &[],
        "120",
        "one terminal command",
    ),
    setting_rule(
        "tools.output_limit_bytes",
        SettingValueType::Integer { min: 256, max: 100_000_000 },
        &["SYNTHDEV_TOOL_OUTPUT_LIMIT_BYTES"],
        &[],
        "65536",
        "largest answer of a tool to a model",
    ),
    snapshot_rules::EXCLUDE,
    snapshot_rules::KEEP,
    snapshot_rules::KEEP_DAYS,
    #[cfg(feature = "restate")]
    backend_rules::INGRESS,
    #[cfg(feature = "restate")]
    backend_rules::ADMIN,
    #[cfg(feature = "restate")]
    backend_rules::AUTH_TOKEN,
    #[cfg(feature = "restate")]
    backend_rules::SNAPSHOT_REMOTE,
    agent_rules::MAX_DEPTH,
    agent_rules::MAX_ALIVE,
    sandbox_rules::MODE,
    sandbox_rules::NETWORK,
    sandbox_rules::WORKFLOW_PORTS,
    sandbox_rules::LAYER,
    sandbox_rules::WRITABLE,
    sandbox_rules::READ_ONLY,
    sandbox_rules::HIDDEN,
    sandbox_rules::READABLE,
    sandbox_rules::MAX_PROCESSES,
    sandbox_rules::MAX_MEMORY_MB,
    sandbox_rules::MAX_FILE_MB,
    setting_rule(
        "theme",
        SettingValueType::Text,
        &["SYNTHDEV_THEME"],
        &[],
        "\"auto\"",
        "colours of the screen: auto, dark, light, dark16, light16, high-contrast, plain; own is your theme.json",
    ),
    setting_rule(
        "mouse",
        SettingValueType::Flag,
        &["SYNTHDEV_MOUSE"],
        &[],
        "true",
        "the mouse scrolls what is below it, chooses panes and copies what is dragged over; with Shift the terminal selects",
    ),
    screen_rules::NOTIFICATIONS,
    setting_rule(
        "reduced_motion",
        SettingValueType::Flag,
        &["SYNTHDEV_REDUCED_MOTION"],
        &[],
        "false",
        "nothing on the screen moves by itself: no running seconds, answers come in larger pieces",
    ),
    setting_rule(
        "cmd.add_output",
        SettingValueType::Flag,
        &["SYNTHDEV_CMD_ADD_OUTPUT"],
        &[],
        "false",
        "what /cmd prints goes along with your next text, without /cmd add",
    )
    .with_project_restriction(ProjectRestriction::Lower),
    screen_rules::VIM,
    screen_rules::INPUT_PREFIX,
];

/// The rule for a dotted path, families included.
pub fn find_rule(path: &str) -> Option<&'static SettingRule> {
    RULES.iter().find(|rule| match rule.path.strip_suffix('*') {
        Some(prefix) => path.strip_prefix(prefix).is_some_and(|last| !last.is_empty()),
        None => rule.path == path,
    })
}

/// The rule that a flag sets: `--base-model`.
pub fn find_rule_by_flag(flag: &str) -> Option<&'static SettingRule> {
    RULES.iter().find(|rule| rule.flags.contains(&flag))
}

/// Possible names directly below a dotted prefix (empty: top level); none if it is no object.
pub fn child_names(prefix: &str) -> Vec<&'static str> {
    let mut names = Vec::new();
    for rule in RULES {
        let below = if prefix.is_empty() {
            Some(rule.path)
        } else {
            rule.path.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('.'))
        };
        let name = below.and_then(|rest| rest.split('.').next());
        if let Some(name) = name.filter(|name| !names.contains(name)) {
            names.push(name);
        }
    }
    names
}

/// A setting of earlier versions, which nothing reads any more.
pub struct RetiredSetting {
    pub path: &'static str,
    pub env: &'static str,
}

pub const RETIRED: [RetiredSetting; 1] =
    [RetiredSetting { path: "prompt_enhancement", env: "SYNTHDEV_ENABLE_PROMPT_ENHANCEMENT" }];

/// Every environment name that sets something.
pub fn environment_names() -> impl Iterator<Item = (&'static str, &'static SettingRule)> {
    RULES.iter().flat_map(|rule| rule.env.iter().map(move |name| (*name, rule)))
}

/// Whether a variable of a `.env` file holds a key, which is never shown. Our own settings hold one where they say so.
pub fn is_key_variable(variable: &str, value: &str) -> bool {
    match environment_names().find(|(name, _)| *name == variable) {
        Some((_, rule)) => rule.value_type == SettingValueType::Secret || has_key_prefix(value),
        None => is_secret_name(variable) || is_key_shaped(value),
    }
}

/// Keys whose values may be printed beside a caret.
pub fn is_harmless(key: &str) -> bool {
    let named = |rule: &&SettingRule| rule.path.rsplit('.').next() == Some(key);
    RULES.iter().find(named).is_some_and(|rule| rule.value_type != SettingValueType::Secret)
        || key == "$schema"
}
