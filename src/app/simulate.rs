//! `simulate`: one scripted run of a workflow, and what it did.

use std::io::{IsTerminal, stdout};
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::findings;
use super::runs::{inputs_of, load, read_workflow, runtime};
use super::scenes::Scene;
use super::world::World;
use crate::adapters::disk;
use crate::adapters::javascript::Host;
use crate::cli::args::SimulateArgs;
use crate::cli::simulate::report::simulated;
use crate::cli::words::tell_painted;
use crate::config::catalog::Catalog;
use crate::config::render::{Paint, render};
use crate::config::source::SourceFile;
use crate::config::test_file::{self, Scenario};
use crate::config::workflow_file;
use crate::domain::diagnostic::{Diagnostic, Severity};
use crate::domain::place::Layer;
use crate::domain::workflow::Program;

pub(super) fn simulate(world: &World, args: SimulateArgs) -> Result<u8> {
    let script = read_file(&args.replies, "replies")?;
    let workflow = Path::new(&args.workflow);
    let is_file = workflow.extension().is_some_and(|ending| ending == "json");
    let file = is_file.then(|| read_workflow(workflow)).transpose()?;
    let (catalog, _) = load(world, world.scripted("simulate"), file.clone())?;
    findings::sound(&catalog)?;
    let scenario = match only_test(&script)? {
        Ok(scenario) => scenario,
        Err(found) => return Err(unusable(&catalog, std::slice::from_ref(&script), &found)),
    };
    if scenario.cassette.is_some() {
        bail!("{0} names a cassette: it is played as a test\nhint: synthdev test {0}", script.name);
    }
    let name = match &file {
        None => args.workflow.clone(),
        Some(file) => match tested_workflow(file, &scenario) {
            Some(name) => name,
            None => bail!("{} holds no workflow", file.name),
        },
    };
    let program = match catalog.check(&name) {
        Ok((program, _)) => program,
        Err(found) => return Err(findings::refused(&catalog, &found)),
    };
    let inputs = inputs(&program, &args)?;
    let scene = match Scene::new(&catalog, &script, &scenario, &program, inputs, None) {
        Ok(scene) => scene,
        Err(found) => return Err(unusable(&catalog, std::slice::from_ref(&script), &found)),
    };
    let judged = runtime()?.block_on(scene.play(&Host::default()));
    Ok(simulated(&judged, args.json, &mut stdout().lock())?)
}

/// The one that the script names, if the file has it; else its first.
fn tested_workflow(file: &SourceFile, scenario: &Scenario) -> Option<String> {
    let mut names: Vec<String> = workflow_file::index(file).0.into_iter().map(|head| head.name).collect();
    let wanted =
        scenario.workflow.as_ref().and_then(|wanted| names.iter().position(|name| *name == wanted.value));
    (!names.is_empty()).then(|| names.swap_remove(wanted.unwrap_or(0)))
}

/// Findings on stderr, and as the error of a file that cannot be used. `files`: those that the catalogue does not know.
pub(super) fn unusable(catalog: &Catalog, files: &[SourceFile], found: &[Diagnostic]) -> anyhow::Error {
    let paint = if std::io::stderr().is_terminal() { Paint::Ansi } else { Paint::Plain };
    tell_painted(&render(found, &text_of(catalog, files), paint));
    findings::told(found)
}

/// A file's text by its name, of these files or the catalogue's.
pub(super) fn text_of<'a>(
    catalog: &'a Catalog,
    files: &'a [SourceFile],
) -> impl Fn(&str) -> Option<String> + 'a {
    |name| {
        let own = files.iter().find(|file| file.name == name).map(|file| file.text.to_string());
        own.or_else(|| catalog.printable(name))
    }
}

pub(super) fn read_file(path: &Path, what: &str) -> Result<SourceFile> {
    let shown = path.display().to_string();
    let text = disk::read(path).with_context(|| format!("the {what} file {shown} cannot be read"))?;
    Ok(SourceFile::new(Layer::CommandLine, shown, text))
}

/// A replies file is a test file with one test.
fn only_test(file: &SourceFile) -> Result<Result<Scenario, Vec<Diagnostic>>> {
    let (mut tests, found) = test_file::read(file);
    if found.iter().any(|finding| finding.severity == Severity::Error) {
        return Ok(Err(found));
    }
    match (tests.pop(), tests.len()) {
        (Some(test), 0) => Ok(Ok(test)),
        (None, _) => bail!("{} holds no test", file.name),
        (Some(_), more) => bail!("{0} holds {1} tests\nhint: synthdev test {0}", file.name, more + 1),
    }
}

/// What was typed; `None` leaves it to the file.
fn inputs(
    program: &Program,
    args: &SimulateArgs,
) -> Result<Option<serde_json::Map<String, serde_json::Value>>> {
    if args.input.is_none() && args.inputs.is_empty() && args.input_file.is_none() {
        return Ok(None);
    }
    match inputs_of(program, args.input.as_deref(), &args.inputs, args.input_file.as_deref())? {
        Ok(values) => Ok(Some(values)),
        Err(error) => bail!("{}\nhint: {}", error.message, error.hint),
    }
}
