//! The sandbox of a project: what this start knows of the places that its policy speaks of, and how the policy is shown.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;

use super::loading::load;
use super::world::World;
use crate::adapters::disk::UserDirs;
use crate::adapters::sandbox::Sandbox;
use crate::adapters::sandbox::policy::{SandboxPlaces, linked_repository};
use crate::cli::args::{SandboxArgs, SandboxQuestion};
use crate::cli::exit;
use crate::cli::sandbox::{self as report, SandboxReport};
use crate::cli::words::{Clean, print_json};
use crate::config::catalog::Catalog;

/// `root`: the project, or a run's worktree of it.
pub(super) fn sandbox(root: &Path, data: &Path, catalog: &Catalog) -> Arc<Sandbox> {
    Arc::new(Sandbox::new(catalog.settings().sandbox(), places(root, data)))
}

fn places(root: &Path, data: &Path) -> SandboxPlaces {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let search_path = std::env::var_os("PATH").unwrap_or_default();
    SandboxPlaces {
        root: root.to_owned(),
        repository: linked_repository(root),
        home: variable("HOME"),
        data: data.to_owned(),
        configuration: UserDirs::find().map(|dirs| dirs.config).unwrap_or_default(),
        search_path: std::env::split_paths(&search_path).filter(|path| path.is_absolute()).collect(),
        cargo_home: variable("CARGO_HOME"),
        go_path: variable("GOPATH"),
        cache_home: variable("XDG_CACHE_HOME"),
        helper: std::env::current_exe().unwrap_or_default(),
    }
}

/// The policy, and whether something holds it.
pub(super) fn describe(sandbox: &Sandbox) -> SandboxReport {
    let (layer, gaps, problem) = match sandbox.ready() {
        Ok(Some(ready)) => (Some(ready.layer().name()), ready.layer().gaps(), None),
        Ok(None) => (None, &[][..], None),
        Err(problem) => (None, &[][..], Some(problem)),
    };
    let policy = sandbox.policy();
    SandboxReport {
        mode: policy.mode.as_str(),
        network: policy.network.as_str(),
        layer,
        gaps: gaps.iter().map(|gap| (*gap).to_owned()).collect(),
        problem,
        rules: policy.describe(),
    }
}

/// `synthdev sandbox`
pub(super) fn show(world: &World, args: &SandboxArgs) -> Result<u8> {
    let (catalog, _) = load(world, world.overrides.clone(), None)?;
    let sandbox = sandbox(&world.project, &world.dirs.data, &catalog);
    if let Some(SandboxQuestion::Explain { path }) = &args.question {
        let policy = sandbox.policy();
        let (access, reason) = policy.access(&world.project.join(path));
        let explained = report::explanation(path, access.as_str(), reason, policy.mode.as_str());
        if args.json {
            print_json(&explained.json());
        } else {
            writeln!(Clean(&mut std::io::stdout().lock()), "{}", explained.text())?;
        }
        return Ok(exit::COMPLETED);
    }
    let report = describe(&sandbox);
    if args.json {
        print_json(&report.json());
    } else {
        writeln!(Clean(&mut std::io::stdout().lock()), "{}", report.text())?;
    }
    Ok(if report.problem.is_some() { exit::FAILED } else { exit::COMPLETED })
}
