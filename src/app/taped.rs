//! Tests that are answered from a recording, and how such a recording is made (MODEL-16).

use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::cassettes::{self, header, here, roles};
use super::scenes::Words;
use super::sources;
use super::wiring;
use super::world::World;
use crate::adapters::providers::cassette::{BadCassette, Cassette, Player, Recorder};
use crate::config::beside;
use crate::config::catalog::Catalog;
use crate::config::fields::At;
use crate::config::source::SourceFile;
use crate::config::test_file::Scenario;
use crate::domain::diagnostic::{Diagnostic, Severity};
use crate::domain::place::Layer;
use crate::domain::workflow::Program;

/// Where recordings are played, or made.
pub(super) struct Studio<'a> {
    pub(super) world: &'a World,
    /// While something is recorded: with real models.
    pub(super) catalog: &'a Catalog,
    /// The same without models.
    pub(super) plain: LazyCell<Catalog, Box<dyn FnOnce() -> Catalog + 'a>>,
    pub(super) record: bool,
    pub(super) made: BTreeSet<PathBuf>,
}

/// Why a test is not played.
pub(super) enum Refusal {
    Found(Vec<Diagnostic>),
    Skipped(String),
}

impl Studio<'_> {
    /// The program of a test with a recording, and what its models say.
    pub(super) fn words(
        &mut self,
        file: &SourceFile,
        test: &Scenario,
        path: &At<String>,
        workflow: &str,
    ) -> Result<(Program, Words), Refusal> {
        let problem = |message: String, hint: Option<String>| {
            Refusal::Found(vec![test.cassette_problem(file, message, hint)])
        };
        let of_file = |bad: BadCassette| match bad.0.split_once("\nhint: ") {
            Some((message, hint)) => problem(message.to_owned(), Some(hint.to_owned())),
            None => problem(bad.0, None),
        };
        let name = beside::name(file, &path.value).map_err(|(message, hint)| problem(message, hint))?;
        let program = checked(&self.plain, workflow)?;
        let target = if file.layer == Layer::CommandLine { file.name.as_str() } else { workflow };
        let again = format!("synthdev test --record {target}");
        let Some(place) = self.place(file, &name) else {
            if self.record {
                return Err(Refusal::Skipped("a shipped test is recorded from its own file".to_owned()));
            }
            let shipped = name.strip_prefix("built-in:workflows/").and_then(sources::shipped_recording);
            let text = shipped.ok_or_else(|| problem(format!("there is no {name}"), None))?;
            let cassette = Cassette::read(text, &name).map_err(of_file)?;
            return Ok(self.played(cassette, name, again, &program));
        };
        if !self.record {
            if !place.exists() {
                return Err(problem(
                    format!("there is no {}", place.display()),
                    Some(format!("record it: {again}")),
                ));
            }
            let cassette = Cassette::open(&place).map_err(of_file)?;
            return Ok(self.played(cassette, path.value.clone(), again, &program));
        }
        if !self.made.insert(place.clone()) {
            return Err(problem("another test is recorded in this file, too".to_owned(), None));
        }
        let asking = checked(self.catalog, workflow)?;
        let models = wiring::wire(&self.world.project, &self.world.dirs.data, self.catalog, None).providers;
        let here = here(self.catalog, &[&self.world.project]);
        let header = header(&program, &asking);
        let recorder = Recorder::create(&place, &header, roles(&asking), here, models as Arc<_>);
        Ok((asking, Words::Recorded(recorder.map_err(of_file)?.waiting())))
    }

    fn played(&self, cassette: Cassette, name: String, again: String, program: &Program) -> (Program, Words) {
        let (program, playing) = cassettes::playing(&cassette.header, name, again, program);
        let here = here(&self.plain, &[&self.world.project]);
        let player = Player::new(cassette, playing, roles(&program), here);
        (program, Words::Played(player.instantly()))
    }

    /// `None`: among what is shipped.
    fn place(&self, file: &SourceFile, name: &str) -> Option<PathBuf> {
        match file.layer {
            Layer::BuiltIn => None,
            Layer::User => Some(self.world.dirs.config.join(name.strip_prefix("user:").unwrap_or(name))),
            Layer::Project => Some(self.world.project.join(name)),
            _ => Some(Path::new(name).to_owned()),
        }
    }
}

fn checked(catalog: &Catalog, workflow: &str) -> Result<Program, Refusal> {
    match catalog.check(workflow) {
        Ok((program, _)) => Ok(program),
        Err(found) => {
            let errors = found.into_iter().filter(|finding| finding.severity == Severity::Error);
            Err(Refusal::Found(errors.collect()))
        }
    }
}
