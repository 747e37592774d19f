//! The flags of the command line that are meant for every command, as values of the start.

use synthdev_bootstrap::start_context::StartOptions;
use synthdev_cli::args::{CliArgs, SettingFlags};
use synthdev_domain::sandbox::SandboxMode;
use synthdev_settings::layers::read_layers::SettingOverrides;

pub(crate) fn start_options(cli: &CliArgs) -> StartOptions {
    StartOptions {
        directory: cli.directory.clone(),
        overrides: setting_overrides(&cli.settings),
        extra_settings: cli.settings.config.clone(),
        trust: cli.settings.trust,
        line_mode: cli.linear,
    }
}

fn setting_overrides(flags: &SettingFlags) -> SettingOverrides {
    let mut overrides = SettingOverrides::default();
    let rows = [
        ("--provider", &flags.provider),
        ("--api-key", &flags.api_key),
        ("--base-url", &flags.base_url),
        ("--base-model", &flags.base_model),
        ("--smart-provider", &flags.smart_provider),
        ("--smart-api-key", &flags.smart_api_key),
        ("--smart-url", &flags.smart_url),
        ("--smart-model", &flags.smart_model),
        ("--fast-provider", &flags.fast_provider),
        ("--fast-api-key", &flags.fast_api_key),
        ("--fast-url", &flags.fast_url),
        ("--fast-model", &flags.fast_model),
        ("--temperature", &flags.temperature),
        ("--max-tool-calls", &flags.max_tool_calls),
        ("--role", &flags.role),
        ("--verbosity", &flags.verbosity),
        ("--sandbox", &flags.sandbox),
        ("--sandbox-network", &flags.sandbox_network),
    ];
    if flags.no_sandbox {
        overrides.set_override("sandbox.mode", SandboxMode::Off.as_str(), "--no-sandbox");
    }
    for (flag, value) in rows {
        if let Some(text) = value {
            overrides.set_flag(flag, text);
        }
    }
    overrides
}
