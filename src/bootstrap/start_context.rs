//! What this start finds: directory, user directories, environment, flags.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};

pub use synthdev_adapters::file_io::UserDirs;
use synthdev_settings::layers::read_layers::SettingOverrides;

/// What a front-end was told when it was started.
#[derive(Default)]
pub struct StartOptions {
    /// The project, if it is not the current directory.
    pub directory: Option<PathBuf>,
    /// Settings that this start overrides.
    pub overrides: SettingOverrides,
    /// A file of settings that is above all others.
    pub extra_settings: Option<PathBuf>,
    /// The project's own files are trusted from now on.
    pub trust: bool,
    /// Lines instead of a screen.
    pub line_mode: bool,
}

/// What this start has found.
#[derive(Clone)]
pub struct StartContext {
    /// The project, canonical.
    pub project: PathBuf,
    pub dirs: UserDirs,
    pub environment: BTreeMap<String, String>,
    pub overrides: SettingOverrides,
    /// `--config FILE`
    pub extra_settings: Option<PathBuf>,
    /// `--trust`
    pub trust: bool,
    /// `--linear`
    pub line_mode: bool,
    /// Only what is shipped counts (the demo): no file of the user or the project.
    pub shipped_only: bool,
}

impl StartContext {
    /// # Errors
    /// The directory is none, or no project can be in it; or there is no home directory.
    pub fn find_project(options: StartOptions) -> Result<Self> {
        let start = match &options.directory {
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
        if options.directory.is_some() {
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
            overrides: options.overrides,
            extra_settings: options.extra_settings,
            trust: options.trust,
            line_mode: options.line_mode,
            shipped_only: false,
        })
    }

    /// Every level answers from the scripted replies.
    pub fn scripted_overrides(&self, flag: &str) -> SettingOverrides {
        let mut overrides = self.overrides.clone();
        for level in ["base", "smart", "fast"] {
            overrides.set_override(&format!("levels.{level}.provider"), "scripted", flag);
        }
        overrides
    }
}
