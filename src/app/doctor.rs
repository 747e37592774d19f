//! `doctor`: whether everything that a run needs is in order, and how to mend what is not. Writes nothing; every wait
//! has a deadline.

mod place;
mod screen;

use std::io::Write;

use anyhow::Result;

use super::runs::runtime;
use super::sources;
use super::survey::{Ask, Survey};
use super::trust;
use super::wiring;
use super::world::World;
use crate::adapters::machine;
use crate::cli::doctor::{Line, State, report, text};
use crate::cli::models::{Seen, hint};
use crate::cli::words::Clean;
use crate::cli::{data, exit};
use crate::config::catalog::Catalog;
use crate::config::models::servers::Used;
use crate::config::render::compact;
use crate::config::settings::rules::LEVELS;
use crate::config::setup::KEYS_FILE;
use crate::domain::diagnostic::{Diagnostic, Severity};

const CONFIGURATION: &str = "configuration";
const MODELS: &str = "models";

pub(super) fn doctor(world: &World, offline: bool, as_json: bool) -> Result<u8> {
    let mut lines = screen::terminal(world);
    let runtime = runtime()?;
    let gathered = sources::gather(world, world.overrides.clone(), world.trust);
    let leads_out = gathered.as_ref().is_ok_and(|gathered| gathered.sources.git_leads_out);
    lines.extend(runtime.block_on(place::git(world, wiring::outside_files(leads_out))));
    lines.extend(place::store(world));
    // what cannot even be gathered is a finding like any other
    match gathered {
        Ok(gathered) => {
            let notice = trust::notice(&gathered.verdict);
            let unreadable = gathered.not_read();
            let catalog = Catalog::load(gathered.sources, wiring::specs(&world.project));
            lines.push(place::sandbox(world, &catalog));
            lines.extend(runtime.block_on(models(&catalog, offline)));
            lines.extend(configuration(world, &catalog, notice, &unreadable));
        }
        Err(error) => {
            let fix = "see that the file is there and can be read";
            lines.push(Line::problem(CONFIGURATION, format!("{error:#}"), fix));
        }
    }
    let report = report(lines);
    let mut stdout = std::io::stdout().lock();
    if as_json {
        data::pretty(&report, &mut stdout)?;
    } else {
        Clean(&mut stdout).write_all(text(&report).as_bytes())?;
    }
    Ok(if report.state == State::Problem { exit::FAILED } else { exit::COMPLETED })
}

/// Each level's model and key, then the servers that they ask.
async fn models(catalog: &Catalog, offline: bool) -> Vec<Line> {
    let mut lines = Vec::new();
    for level in LEVELS {
        match catalog.choice(level) {
            Ok(choice) => {
                let text = format!("{level}: {} of {}", choice.model, choice.provider);
                lines.push(Line::ok(MODELS, text));
            }
            Err(missing) => {
                let fix = missing.hint.clone().unwrap_or_default();
                let named = fix.contains("synthdev configure");
                let fix = if named { fix } else { format!("`synthdev configure` sets one up; or {fix}") };
                lines.push(Line::problem(MODELS, missing.message.clone(), fix));
                // the others lack the same
                break;
            }
        }
    }
    let servers = catalog.servers().into_iter().filter(|server| !server.levels.is_empty()).collect();
    let ask = if offline { Ask::Nobody } else { Ask::Used };
    let seen = Survey::new(catalog).of(servers, ask).await;
    lines.extend(seen.iter().map(server));
    lines
}

fn server(seen: &Seen) -> Line {
    let server = &seen.server;
    let key = match &server.key_from {
        Some(from) => format!("key from {from}"),
        None => match &server.kept_back {
            Some(why) => format!("no key: {why}"),
            None => "no key needed".to_owned(),
        },
    };
    let place = format!("{} at {}, {key}", server.provider, server.base_url);
    match &seen.answer {
        None => Line::ok(MODELS, format!("{place}; not asked")),
        Some(Err(error)) => Line::problem(MODELS, format!("{place}: {error}"), hint(server, error)),
        Some(Ok(list)) => {
            let has = |model: &str| {
                list.iter().any(|one| one.name == model || one.name == format!("{model}:latest"))
            };
            let missing = server.levels.iter().find(|used| !list.is_empty() && !has(&used.model));
            match missing {
                None => Line::ok(MODELS, format!("{place}; it answers")),
                Some(Used { level, model }) => Line::warning(
                    MODELS,
                    format!("{place}; it answers, but its list does not name {model}"),
                    format!(
                        "see `synthdev models --provider {}`; set the model of {level} with `/configure {level}`",
                        server.provider
                    ),
                ),
            }
        }
    }
}

fn configuration(
    world: &World,
    catalog: &Catalog,
    notice: Option<String>,
    unreadable: &[String],
) -> Vec<Line> {
    let mut lines = Vec::new();
    for finding in catalog.diagnostics().iter().filter(|finding| finding.severity > Severity::Info) {
        let text = compact(&Diagnostic { hint: None, ..finding.clone() });
        let fix = finding.hint.clone().unwrap_or_else(|| "`synthdev check` shows the place".to_owned());
        lines.push(match finding.severity {
            Severity::Error => Line::problem(CONFIGURATION, text, fix),
            Severity::Warning | Severity::Info => Line::warning(CONFIGURATION, text, fix),
        });
    }
    for line in unreadable {
        let fix = "correct the file or its rights";
        lines.push(Line::problem(CONFIGURATION, format!("not read: {line}"), fix));
    }
    for name in ["settings.json", KEYS_FILE, ".env"] {
        let file = world.dirs.config.join(name);
        if machine::open_to_others(&file)
            && (name == KEYS_FILE || holds_key(catalog, &format!("user:{name}")))
        {
            let text = format!("{} holds a key and others can read it", file.display());
            lines.push(Line::warning(CONFIGURATION, text, format!("chmod 600 '{}'", file.display())));
        }
    }
    if let Some(notice) = notice {
        lines.push(Line::warning(
            CONFIGURATION,
            notice,
            "look at it with `synthdev trust`, then start once with --trust",
        ));
    }
    if lines.is_empty() {
        let (workflows, roles) = (catalog.workflows().len(), catalog.roles().iter().count());
        let text = format!("{workflows} workflows and {roles} roles, nothing wrong with their files");
        lines.push(Line::ok(CONFIGURATION, text));
    }
    lines.push(Line::ok(CONFIGURATION, format!("your files are in {}", world.dirs.config.display())));
    lines
}

/// A key in force was set in this file.
fn holds_key(catalog: &Catalog, file: &str) -> bool {
    let shown = catalog.settings().show();
    shown.iter().any(|line| line.value.starts_with("set (") && line.origin.contains(file))
}
