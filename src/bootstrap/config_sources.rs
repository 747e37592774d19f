//! Gathers the texts of all layers: embedded, user, project (only when trusted), `--config`.

use std::path::Path;

use anyhow::{Context, Result};
use include_dir::{Dir, include_dir};

use crate::start_context::StartContext;
use crate::trust::{self, ProjectFiles};
use synthdev_adapters::file_io::{self, FileReadResult};
use synthdev_domain::source_location::ConfigLayer;
use synthdev_domain::terminal_safe::escape_name;
use synthdev_language::companion_files::CompanionReader;
use synthdev_language::source::SourceFile;
use synthdev_language::test_file::ENDING;
use synthdev_settings::catalog::ConfigSources;
use synthdev_settings::layers::read_layers::SettingOverrides;
use synthdev_settings::mcp_environment::servers_from_environment;
use synthdev_settings::mcp_servers::MCP_FILE;
use synthdev_settings::own_tools::TOOLS_FOLDER;
use synthdev_settings::setup::KEYS_FILE;
use synthdev_settings::system_context::{GUIDANCE, TEMPLATE};
use synthdev_settings::trust::TrustVerdict;

static CONFIG: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../config");
static ROLES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../roles");
static WORKFLOWS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../workflows");

/// Everything that was read, and what could not be.
pub struct GatheredSources {
    pub sources: ConfigSources,
    /// Test files of the same layers.
    pub tests: Vec<SourceFile>,
    /// Files that could not be read, and why.
    pub unreadable_files: Vec<(String, String)>,
    /// Whether the project layer is among the sources, or waits for a decision.
    pub trust: TrustVerdict,
    /// The project's own files as they were judged.
    pub project: ProjectFiles,
}

/// A shipped file by its path below `config/`.
pub fn shipped_file(path: &str) -> Option<&'static str> {
    CONFIG.get_file(path)?.contents_utf8()
}

/// A recording of the shipped tests, by its path below `workflows/`.
pub fn shipped_recording(path: &str) -> Option<&'static [u8]> {
    Some(WORKFLOWS.get_file(path)?.contents())
}

/// The files of the demo's project: name and text.
pub fn demo_project() -> Vec<(String, &'static str)> {
    let files = CONFIG.get_dir("demo/project").map(|dir| dir.files()).into_iter().flatten();
    files
        .filter_map(|file| Some((file.path().file_name()?.to_str()?.to_owned(), file.contents_utf8()?)))
        .collect()
}

/// All layers of this start.
///
/// # Errors
/// The file of settings that was named cannot be read, or the decision about the project's own files cannot.
pub fn gather_sources(
    context: &StartContext,
    overrides: SettingOverrides,
    trusted: bool,
) -> Result<GatheredSources> {
    let mut gathered = GatheredSources::shipped(context, overrides);
    if context.shipped_only {
        return Ok(gathered);
    }
    gathered.add_layer(&context.dirs.config, ConfigLayer::User, "user:");
    gathered.sources.mcp_files.extend(servers_from_environment(&context.environment));
    gathered.project = trust::project_files(&context.project);
    gathered.trust = trust::decide_trust(context, &gathered.project, trusted)?;
    if let Some(left_out) = gathered.trust.excluded_files().map(<[String]>::to_vec) {
        gathered.use_project(&left_out);
    }
    gathered.extra_settings(context)?;
    Ok(gathered)
}

/// What there would be if these files of the project were trusted.
pub fn gather_as_if_trusted(context: &StartContext, files: &ProjectFiles) -> Result<ConfigSources> {
    let mut gathered = GatheredSources::shipped(context, context.overrides.clone());
    gathered.add_layer(&context.dirs.config, ConfigLayer::User, "user:");
    gathered.sources.mcp_files.extend(servers_from_environment(&context.environment));
    gathered.project = files.clone();
    gathered.use_project(&[]);
    gathered.extra_settings(context)?;
    Ok(gathered.sources)
}

fn add_built_in(sources: &mut ConfigSources, tests: &mut Vec<SourceFile>) {
    let file = |path: &str| {
        let text = CONFIG.get_file(path).and_then(|file| file.contents_utf8()).unwrap_or_default();
        SourceFile::new(ConfigLayer::BuiltIn, format!("built-in:config/{path}"), text)
    };
    sources.settings.push(file("settings.json"));
    sources.models.push(file("models.json"));
    sources.templates.push(file(TEMPLATE));
    for (dir, name, into) in
        [(&ROLES, "roles", &mut sources.roles), (&WORKFLOWS, "workflows", &mut sources.workflows)]
    {
        for file in dir.files().filter(|file| file.path().extension().is_some_and(|e| e == "json")) {
            let label = format!("built-in:{name}/{}", file.path().display());
            let into = if label.ends_with(ENDING) { &mut *tests } else { &mut *into };
            into.push(SourceFile::new(ConfigLayer::BuiltIn, label, file.contents_utf8().unwrap_or_default()));
        }
    }
    texts_below(&WORKFLOWS, &mut sources.texts);
}

/// Script files and prompts of the shipped workflows.
fn texts_below(directory: &Dir<'_>, into: &mut Vec<SourceFile>) {
    let is_text = |ending: &std::ffi::OsStr| ending != "json" && ending != "jsonl";
    for file in directory.files().filter(|file| file.path().extension().is_none_or(is_text)) {
        let label = format!("built-in:workflows/{}", file.path().display());
        into.push(SourceFile::new(ConfigLayer::BuiltIn, label, file.contents_utf8().unwrap_or_default()));
    }
    directory.dirs().for_each(|inner| texts_below(inner, into));
}

impl GatheredSources {
    /// What every project has.
    fn shipped(context: &StartContext, overrides: SettingOverrides) -> Self {
        let mut gathered = Self {
            sources: ConfigSources {
                environment: context.environment.clone(),
                command_line: overrides,
                ..ConfigSources::default()
            },
            tests: Vec::new(),
            unreadable_files: Vec::new(),
            trust: TrustVerdict::Trusted,
            project: ProjectFiles::default(),
        };
        add_built_in(&mut gathered.sources, &mut gathered.tests);
        gathered.sources.reader = Some(CompanionReader::new(|file, path| {
            let directory = Path::new(&file.name).parent().unwrap_or(Path::new(""));
            file_io::read_file_below(directory, path).map_err(|error| error.to_string())
        }));
        gathered
    }

    /// The file of `--config`.
    fn extra_settings(&mut self, context: &StartContext) -> Result<()> {
        let Some(path) = &context.extra_settings else { return Ok(()) };
        let text = file_io::read_text_file(path)
            .with_context(|| format!("--config {} cannot be read", path.display()))?;
        let file = SourceFile::new(ConfigLayer::CommandLine, path.display().to_string(), text);
        self.sources.settings.push(file);
        Ok(())
    }

    /// A line for each file that could not be read.
    pub fn not_read(&self) -> Vec<String> {
        self.unreadable_files.iter().map(|(file, why)| format!("{}: {why}", escape_name(file))).collect()
    }

    /// Exactly the texts that were judged: a file that changed since is not looked at again.
    fn use_project(&mut self, left_out: &[String]) {
        self.sources.git_leads_out = self.project.has_other_outside_links(left_out);
        let counts = |name: &str| !left_out.iter().any(|out| out == name);
        for (name, text) in self.project.readable_files.iter().filter(|(name, _)| counts(name)) {
            let inside = name.strip_prefix(trust::FOLDER).map(|rest| rest.trim_start_matches('/'));
            let file = SourceFile::new(ConfigLayer::Project, name.clone(), text.clone());
            let into = match inside {
                None if name == MCP_FILE => &mut self.sources.mcp_files,
                None => &mut self.sources.dotenv,
                Some("settings.json") => &mut self.sources.settings,
                Some("models.json") => &mut self.sources.models,
                Some(TEMPLATE) => &mut self.sources.templates,
                Some(rest) if rest.starts_with("roles/") => &mut self.sources.roles,
                Some(rest) if rest.starts_with("tools/") => &mut self.sources.tools,
                Some(rest) if !rest.ends_with(".json") => &mut self.sources.texts,
                Some(_) => &mut self.sources.workflows,
            };
            into.push(file);
        }
        match self.project.guidance.as_ref().filter(|_| counts(GUIDANCE)) {
            Some(Ok(text)) => {
                self.sources.guidance.push(SourceFile::new(ConfigLayer::Project, GUIDANCE, text.as_str()));
            }
            Some(Err(why)) => self.unreadable_files.push((GUIDANCE.to_owned(), why.clone())),
            None => {}
        }
        self.unreadable_files.extend(self.project.unreadable_files.iter().cloned());
        for (name, text) in &self.project.tests {
            match text {
                Ok(text) => {
                    self.tests.push(SourceFile::new(ConfigLayer::Project, name.clone(), text.as_str()))
                }
                Err(why) => self.unreadable_files.push((name.clone(), why.clone())),
            }
        }
    }

    fn add_layer(&mut self, directory: &Path, layer: ConfigLayer, label: &str) {
        for name in ["settings.json", KEYS_FILE, "models.json"] {
            let Some(text) = self
                .read_text(file_io::read_file_if_exists(&directory.join(name)), &format!("{label}{name}"))
            else {
                continue;
            };
            let file = SourceFile::new(layer, format!("{label}{name}"), text);
            if name == "models.json" { &mut self.sources.models } else { &mut self.sources.settings }
                .push(file);
        }
        for folder in ["roles", TOOLS_FOLDER, "workflows"] {
            for FileReadResult { name, text } in file_io::read_tree(&directory.join(folder)) {
                let label = format!("{label}{folder}/{name}");
                let Some(text) = self.read_text(text.map(Some), &label) else { continue };
                let file = SourceFile::new(layer, label, text);
                match folder {
                    "roles" => &mut self.sources.roles,
                    TOOLS_FOLDER => &mut self.sources.tools,
                    _ if file.name.ends_with(ENDING) => &mut self.tests,
                    _ => &mut self.sources.workflows,
                }
                .push(file);
            }
        }
        for FileReadResult { name, text } in file_io::read_text_tree(&directory.join("workflows")) {
            // a directory that cannot be read was reported once already
            if text.is_err() && name.ends_with('.') {
                continue;
            }
            let label = format!("{label}workflows/{name}");
            if let Some(text) = self.read_text(text.map(Some), &label) {
                self.sources.texts.push(SourceFile::new(layer, label, text));
            }
        }
        for name in [TEMPLATE, GUIDANCE] {
            let label = format!("{label}{name}");
            let Some(text) = self.read_text(file_io::read_file_if_exists(&directory.join(name)), &label)
            else {
                continue;
            };
            let into =
                if name == TEMPLATE { &mut self.sources.templates } else { &mut self.sources.guidance };
            into.push(SourceFile::new(layer, label, text));
        }
        if layer == ConfigLayer::User {
            self.add_dotenv(&directory.join(".env"), layer, "user:.env");
        }
    }

    fn add_dotenv(&mut self, path: &Path, layer: ConfigLayer, label: &str) {
        if let Some(text) = self.read_text(file_io::read_file_if_exists(path), label) {
            self.sources.dotenv.push(SourceFile::new(layer, label, text));
        }
    }

    /// Records a file that cannot be read; the other files are still loaded.
    fn read_text(&mut self, read: std::io::Result<Option<String>>, label: &str) -> Option<String> {
        read.unwrap_or_else(|error| {
            self.unreadable_files.push((label.to_owned(), error.to_string()));
            None
        })
    }
}
