//! `configure`: what was typed as options is tried and then saved; without options, the dialog of the terminal
//! interface.

use std::io::{IsTerminal, Read, Write};

use anyhow::{Context, Result, anyhow, bail};

use super::diagnostics;
use super::load_config::load_catalog;
use super::run_command::build_runtime;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_cli::args::{ConfigureArgs, ModelLevelArg, SettingFlags};
use synthdev_cli::exit;
use synthdev_cli::output::{TerminalSafeWriter, print_stderr};
use synthdev_domain::secret::SecretText;
use synthdev_service::model_setup::{SetupPlan, SetupPorts, plan_setup, try_model};
use synthdev_session::local_setup_ports::LocalSetupPorts;
use synthdev_session::{self, TuiStartup};
use synthdev_settings::layers::read_layers::SettingOverrides;
use synthdev_settings::layers::rules::find_rule_by_flag;
use synthdev_settings::layers::value_type::SettingValue;
use synthdev_settings::setup::{LevelSetup, SettingChange, parse_key};

/// Longer texts are no key.
const LONGEST_KEY: u64 = 64 * 1024;

pub(crate) fn run_configure_command(context: StartContext, args: &ConfigureArgs) -> Result<u8> {
    let generic = other_setting_changes(&args.flags)?;
    let (catalog, _) = load_catalog(&context, SettingOverrides::default(), None)?;
    let setups = level_setups(args)?;
    if setups.is_empty() && generic.is_empty() {
        if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
            return synthdev_session::run_interactive(
                context,
                TuiStartup { setup: true, ..TuiStartup::default() },
            );
        }
        bail!(
            "there is nothing to save: no option names a provider, model or key\nhint: synthdev configure \
                --provider NAME --model MODEL --key-stdin; in a \
             terminal, without options, it asks"
        );
    }
    let ports = LocalSetupPorts { context, overrides: SettingOverrides::default() };
    let plan = plan_setup(&ports, &catalog, &setups, generic)?;
    diagnostics::ensure_sound(&plan.catalog)?;
    for setup in &setups {
        if let Some(above) = plan.override_notice(setup) {
            print_stderr(format_args!("warning: level {}: {above}", setup.level));
        }
    }
    if !args.no_test && !try_levels(&ports, &plan, &setups)? {
        return Ok(exit::FAILED);
    }
    let written = plan.save_files(&ports)?;
    let mut stdout = std::io::stdout().lock();
    let mut out = TerminalSafeWriter(&mut stdout);
    match written.as_slice() {
        [] => writeln!(out, "nothing to save: it was so already")?,
        files => writeln!(out, "saved: {}", files.join(", "))?,
    }
    Ok(exit::COMPLETED)
}

/// Sends a short request to the model of each changed level and reports the result.
fn try_levels(ports: &LocalSetupPorts, plan: &SetupPlan, setups: &[LevelSetup]) -> Result<bool> {
    let runtime = build_runtime()?;
    let models = ports.model_port(&plan.catalog);
    let mut stdout = std::io::stdout().lock();
    for (level, choice) in plan.model_choices(setups)? {
        match runtime.block_on(try_model(models.as_ref(), choice)) {
            Ok(text) => writeln!(TerminalSafeWriter(&mut stdout), "{level}: {text}")?,
            Err(error) => {
                print_stderr(format_args!("error: level {level}: {error}"));
                print_stderr("nothing was saved; use --no-test to save anyway");
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn level_setups(args: &ConfigureArgs) -> Result<Vec<LevelSetup>> {
    let flags = &args.flags;
    let piped = if args.key_stdin { Some(piped_key()?) } else { None };
    let rows = [
        (ModelLevelArg::Base, "base", &flags.provider, &flags.base_url, &flags.api_key, &flags.base_model),
        (
            ModelLevelArg::Smart,
            "smart",
            &flags.smart_provider,
            &flags.smart_url,
            &flags.smart_api_key,
            &flags.smart_model,
        ),
        (
            ModelLevelArg::Fast,
            "fast",
            &flags.fast_provider,
            &flags.fast_url,
            &flags.fast_api_key,
            &flags.fast_model,
        ),
    ];
    let mut setups = Vec::new();
    for (level, name, provider, base_url, typed, model) in rows {
        let typed = typed.as_deref().map(parse_key).transpose().map_err(|error| anyhow!(error))?;
        let piped = piped.clone().filter(|_| level == args.level);
        if typed.is_some() && piped.is_some() {
            bail!("level {name}: the key was given twice\nhint: either as an option or with --key-stdin");
        }
        let setup = LevelSetup {
            level: name.to_owned(),
            provider: provider.clone(),
            base_url: base_url.as_ref().map(|url| url.trim().trim_end_matches('/').to_owned()),
            key: piped.or(typed),
            model: model.clone(),
            same_as_base: false,
        };
        if setup != (LevelSetup { level: name.to_owned(), ..LevelSetup::default() }) {
            setups.push(setup);
        }
    }
    Ok(setups)
}

fn piped_key() -> Result<SecretText> {
    let mut text = String::new();
    std::io::stdin().lock().take(LONGEST_KEY).read_to_string(&mut text).context("the key cannot be read")?;
    parse_key(&text).map_err(|error| anyhow!(error))
}

/// Settings that are no model's.
fn other_setting_changes(flags: &SettingFlags) -> Result<Vec<SettingChange>> {
    let rows = [
        ("--temperature", &flags.temperature),
        ("--max-tool-calls", &flags.max_tool_calls),
        ("--role", &flags.role),
        ("--verbosity", &flags.verbosity),
    ];
    let mut changes = Vec::new();
    for (flag, text) in rows {
        let (Some(text), Some(rule)) = (text, find_rule_by_flag(flag)) else { continue };
        match rule.value_type.check_text(text) {
            Ok(SettingValue::Plain(value)) => changes.push(SettingChange {
                path: rule.path.split('.').map(str::to_owned).collect(),
                value: Some(value),
            }),
            Ok(SettingValue::Secret { .. }) => {}
            Err((_, why)) => bail!("{flag} {why}"),
        }
    }
    Ok(changes)
}
