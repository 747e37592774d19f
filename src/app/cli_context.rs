//! What this start finds: directory, user directories, environment, flags.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};

use synthdev_adapters::file_io::UserDirs;
use synthdev_cli::args::{CliArgs, SettingFlags};
use synthdev_domain::sandbox::SandboxMode;
use synthdev_settings::layers::read_layers::SettingOverrides;

#[derive(Clone)]
pub(super) struct CliContext {
    /// The project, canonical.
    pub(super) project: PathBuf,
    pub(super) dirs: UserDirs,
    pub(super) environment: BTreeMap<String, String>,
    pub(super) overrides: SettingOverrides,
    /// `--config FILE`
    pub(super) extra_settings: Option<PathBuf>,
    /// `--trust`
    pub(super) trust: bool,
    /// `--linear`
    pub(super) line_mode: bool,
    /// Only what is shipped counts (the demo): no file of the user or the project.
    pub(super) shipped_only: bool,
}

impl CliContext {
    pub(super) fn find_project(cli: &CliArgs) -> Result<Self> {
        let start = match &cli.directory {
            Some(directory) => directory.clone(),
            None => std::env::current_dir().context("the current directory cannot be read")?,
        };
        let project = std::fs::canonicalize(&start)
            .with_context(|| format!("there is no directory {}", start.display()))?;
        if !project.is_dir() {
            anyhow::bail!("{} is not a directory", start.display());
        }
        if project.iter().any(|part| part.eq_ignore_ascii_case(".git")) {
            anyhow::bail!(
                "{} is inside the .git directory, where synthdev does not work\n\
                 hint: start in the project that holds the .git directory, or name it with -C",
                project.display()
            );
        }
        if cli.directory.is_some() {
            // Files named on the command line are meant from there, too.
            std::env::set_current_dir(&project)
                .with_context(|| format!("{} cannot be entered", start.display()))?;
        }
        let dirs = UserDirs::find().context("no home directory: set HOME")?;
        Ok(Self {
            project,
            dirs,
            environment: std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
                .collect(),
            overrides: setting_overrides(&cli.settings),
            extra_settings: cli.settings.config.clone(),
            trust: cli.settings.trust,
            line_mode: cli.linear,
            shipped_only: false,
        })
    }

    /// Every level answers from the scripted replies.
    pub(super) fn scripted_overrides(&self, flag: &str) -> SettingOverrides {
        let mut overrides = self.overrides.clone();
        for level in ["base", "smart", "fast"] {
            overrides.set_override(&format!("levels.{level}.provider"), "scripted", flag);
        }
        overrides
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
