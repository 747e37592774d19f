//! Gathers the texts of all layers: embedded, user, project (only when trusted), `--config`.

use std::path::Path;

use anyhow::{Context, Result};
use include_dir::{Dir, include_dir};

use super::trust;
use super::world::World;
use crate::adapters::disk::{self, Read};
use crate::cli::words::name;
use crate::config::catalog::Sources;
use crate::config::settings::layers::Overrides;
use crate::config::source::SourceFile;
use crate::config::trust::Verdict;
use crate::domain::place::Layer;

static CONFIG: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/config");
static ROLES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/roles");
static WORKFLOWS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/workflows");

/// Everything that was read, and what could not be.
pub(super) struct Gathered {
    pub(super) sources: Sources,
    /// `path: why`, one a file that could not be read.
    pub(super) unreadable: Vec<String>,
    /// Whether the project layer is among the sources, or waits for a decision.
    pub(super) verdict: Verdict,
}

/// A shipped file by its path below `config/`.
pub(super) fn shipped(path: &str) -> Option<&'static str> {
    CONFIG.get_file(path)?.contents_utf8()
}

/// The files of the demo's project: name and text.
pub(super) fn demo_project() -> Vec<(String, &'static str)> {
    let files = CONFIG.get_dir("demo/project").map(|dir| dir.files()).into_iter().flatten();
    files
        .filter_map(|file| Some((file.path().file_name()?.to_str()?.to_owned(), file.contents_utf8()?)))
        .collect()
}

pub(super) fn gather(world: &World, overrides: Overrides, trusted: bool) -> Result<Gathered> {
    let mut gathered = Gathered {
        sources: Sources {
            environment: world.environment.clone(),
            command_line: overrides,
            ..Sources::default()
        },
        unreadable: Vec::new(),
        verdict: Verdict::Trusted,
    };
    built_in(&mut gathered.sources);
    gathered.layer(&world.dirs.config, Layer::User, "user:");
    let project = trust::project_files(&world.project);
    gathered.verdict = trust::decide(world, &project, trusted)?;
    if gathered.verdict == Verdict::Trusted {
        gathered.project(world);
    }
    if let Some(path) = &world.extra_settings {
        let text = disk::read(path).with_context(|| format!("--config {} cannot be read", path.display()))?;
        let file = SourceFile::new(Layer::CommandLine, path.display().to_string(), text);
        gathered.sources.settings.push(file);
    }
    Ok(gathered)
}

fn built_in(sources: &mut Sources) {
    let file = |path: &str| {
        let text = CONFIG.get_file(path).and_then(|file| file.contents_utf8()).unwrap_or_default();
        SourceFile::new(Layer::BuiltIn, format!("built-in:config/{path}"), text)
    };
    sources.settings.push(file("settings.json"));
    sources.models.push(file("models.json"));
    for (dir, name, into) in
        [(&ROLES, "roles", &mut sources.roles), (&WORKFLOWS, "workflows", &mut sources.workflows)]
    {
        for file in dir.files().filter(|file| file.path().extension().is_some_and(|e| e == "json")) {
            let label = format!("built-in:{name}/{}", file.path().display());
            into.push(SourceFile::new(Layer::BuiltIn, label, file.contents_utf8().unwrap_or_default()));
        }
    }
}

impl Gathered {
    fn project(&mut self, world: &World) {
        self.layer(&world.project.join(trust::FOLDER), Layer::Project, ".synthdev/");
        self.dotenv(&world.project.join(".env"), Layer::Project, ".env");
    }

    fn layer(&mut self, directory: &Path, layer: Layer, label: &str) {
        for name in ["settings.json", "models.json"] {
            let Some(text) = self.text(disk::read_if_there(&directory.join(name)), &format!("{label}{name}"))
            else {
                continue;
            };
            let file = SourceFile::new(layer, format!("{label}{name}"), text);
            if name == "settings.json" { &mut self.sources.settings } else { &mut self.sources.models }
                .push(file);
        }
        for folder in ["roles", "workflows"] {
            for Read { name, text } in disk::read_tree(&directory.join(folder)) {
                let label = format!("{label}{folder}/{name}");
                let Some(text) = self.text(text.map(Some), &label) else { continue };
                let file = SourceFile::new(layer, label, text);
                if folder == "roles" { &mut self.sources.roles } else { &mut self.sources.workflows }
                    .push(file);
            }
        }
        if layer == Layer::User {
            self.dotenv(&directory.join(".env"), layer, "user:.env");
        }
    }

    fn dotenv(&mut self, path: &Path, layer: Layer, label: &str) {
        if let Some(text) = self.text(disk::read_if_there(path), label) {
            self.sources.dotenv.push(SourceFile::new(layer, label, text));
        }
    }

    /// A file that cannot be read is told and hides nothing else.
    fn text(&mut self, read: std::io::Result<Option<String>>, label: &str) -> Option<String> {
        read.unwrap_or_else(|error| {
            self.unreadable.push(format!("{}: {error}", name(label)));
            None
        })
    }
}
