//! `configure`: what was typed as options is tried and then saved; without options, the dialog of the terminal
//! interface.

use std::io::{IsTerminal, Read, Write};

use anyhow::{Context, Result, anyhow, bail};

use super::backend::{self, TuiStartup};
use super::cli_context::CliContext;
use super::diagnostics;
use super::load_config::load_catalog;
use super::model_setup::{self, ConfigCandidate};
use super::run_command::build_runtime;
use synthdev_cli::args::{ConfigureArgs, ModelLevelArg, SettingFlags};
use synthdev_cli::exit;
use synthdev_cli::output::{TerminalSafeWriter, print_stderr};
use synthdev_domain::secret::SecretText;
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_settings::layers::read_layers::SettingOverrides;
use synthdev_settings::layers::rules::find_rule_by_flag;
use synthdev_settings::layers::value_type::SettingValue;
use synthdev_settings::layers::{EffectiveSetting, has_own_provider};
use synthdev_settings::setup::{LevelSetup, SettingChange, parse_key};

/// Longer texts are no key.
const LONGEST_KEY: u64 = 64 * 1024;

pub(super) fn run_configure_command(world: CliContext, args: &ConfigureArgs) -> Result<u8> {
    let generic = other_setting_changes(&args.flags)?;
    let (catalog, _) = load_catalog(&world, SettingOverrides::default(), None)?;
    let setups = level_setups(args)?;
    if setups.is_empty() && generic.is_empty() {
        if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
            return backend::run_interactive(world, TuiStartup { setup: true, ..TuiStartup::default() });
        }
        bail!(
            "there is nothing to save: no option names a provider, model or key\nhint: synthdev configure \
                --provider NAME --model MODEL --key-stdin; in a \
             terminal, without options, it asks"
        );
    }
    model_setup::check_setups(&setups, catalog.models())?;
    let setups: Vec<LevelSetup> = setups.into_iter().map(|setup| complete_setup(&catalog, setup)).collect();
    let mut changes = model_setup::setup_changes(&catalog, &setups);
    changes.settings.extend(generic);
    let candidate = ConfigCandidate::with_changes(&world, SettingOverrides::default(), &changes)?;
    diagnostics::ensure_sound(&candidate.catalog)?;
    for setup in &setups {
        if let Some(above) = candidate.override_notice(setup) {
            print_stderr(format_args!("warning: level {}: {above}", setup.level));
        }
    }
    if !args.no_test && !try_levels(&candidate, &setups)? {
        return Ok(exit::FAILED);
    }
    let written = candidate.save_files()?;
    let mut stdout = std::io::stdout().lock();
    let mut out = TerminalSafeWriter(&mut stdout);
    match written.as_slice() {
        [] => writeln!(out, "nothing to save: it was so already")?,
        files => writeln!(out, "saved: {}", files.join(", "))?,
    }
    Ok(exit::COMPLETED)
}

/// Sends a short request to each changed level and reports the result.
fn try_levels(candidate: &ConfigCandidate, setups: &[LevelSetup]) -> Result<bool> {
    let runtime = build_runtime()?;
    let mut stdout = std::io::stdout().lock();
    for setup in setups.iter().filter(|setup| !setup.same_as_base) {
        let choice = candidate.model_choice(setup)?;
        match runtime.block_on(candidate.try_model(choice)) {
            Ok(text) => writeln!(TerminalSafeWriter(&mut stdout), "{}: {text}", setup.level)?,
            Err(text) => {
                print_stderr(format_args!("error: level {}: {text}", setup.level));
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

/// A key alone belongs to the provider that the level has now.
fn complete_setup(catalog: &ConfigCatalog, setup: LevelSetup) -> LevelSetup {
    if setup.key.is_none() || setup.provider.is_some() || setup.base_url.is_some() {
        return setup;
    }
    let settings = catalog.settings();
    let level = &setup.level;
    let url = settings.own_level_setting(level, "base_url").or_else(|| {
        settings.own_level_setting("base", "base_url").filter(|_| !has_own_provider(settings, level))
    });
    let named =
        settings.level_setting(level, "provider").and_then(EffectiveSetting::as_str).map(str::to_owned);
    let now = named.or_else(|| catalog.model_for_level(level).ok().map(|choice| choice.provider));
    let provider = now.filter(|name| url.is_none() && catalog.models().provider(name).is_some());
    LevelSetup { provider, ..setup }
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
