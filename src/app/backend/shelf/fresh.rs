//! What a new file can begin with, and its text under a name that is free.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};

use super::{Checker, Shelf, known};
use crate::app::templates::{ROLE, WORKFLOWS, check_name, filled};
use crate::app::trust::FOLDER;
use crate::config::json::Node;
use crate::config::role_file::read_roles;
use crate::config::source::{Findings, SourceFile};
use crate::config::workflow_file::{definitions, name_of};
use crate::tui::editor::fresh::{Pattern, Patterns, Wish, file_name};
use crate::tui::editor::{Begun, EditFile, Opened, What};

impl Shelf {
    /// Small patterns first, then what there is to copy.
    pub(super) fn patterns(&self, checker: &Checker) -> Patterns {
        let catalog = &checker.catalog;
        let pattern = |what: What, name: &str, about: &str, from: Option<&str>| Pattern {
            what,
            name: name.to_owned(),
            about: about.to_owned(),
            from: from.map(str::to_owned),
        };
        let small = WORKFLOWS.iter().map(|one| pattern(What::Workflow, one.name, one.about, None));
        let role = pattern(What::Role, "role", "a role: prompt, tools, and how it decides", None);
        let workflows = catalog.workflows().iter();
        let workflows = workflows
            .map(|one| pattern(What::Workflow, &one.name, &one.description, Some(one.place.file.as_str())));
        let roles = catalog.roles().iter().filter_map(|one| {
            let file = &one.places.last()?.file;
            Some(pattern(What::Role, &one.name, &one.description, Some(file.as_str())))
        });
        Patterns {
            list: small.chain([role]).chain(workflows).chain(roles).collect(),
            project: self.world.project.join(FOLDER).is_dir(),
        }
    }

    /// The text of a new file, not written yet.
    pub(super) fn begin(&self, checker: &Checker, wish: &Wish) -> Result<Begun> {
        let Wish { pattern, name, layer } = wish;
        let word = word(pattern.what);
        check_name(word, name)?;
        let file = file_name(pattern.what, *layer, name);
        let path = self.path(&file)?.ok_or_else(|| anyhow!("{file} is no file of yours"))?;
        if path.exists() {
            bail!("{file} is already there: choose another name");
        }
        let files = self.files(checker);
        let same = |other: &&EditFile| other.what == pattern.what && other.defines.contains(name);
        if let Some(other) = files.iter().filter(|other| other.layer == *layer).find(same) {
            bail!("there is already a {word} {name}, in {}: choose another name", other.name);
        }
        let other = files.iter().find(same);
        let note = other.map(|other| match other.layer > *layer {
            true => format!("the {word} of that name in {} takes precedence over it", other.name),
            false => format!("it takes precedence over the {word} of that name in {}", other.name),
        });
        let text = text_of(checker, pattern, name, &path)?;
        let made = EditFile {
            name: file,
            layer: *layer,
            what: pattern.what,
            defines: vec![name.clone()],
            problem: None,
        };
        let opened =
            Opened { file: made, text: text.into(), known: known(&checker.catalog), external: false };
        Ok(Begun { opened, note })
    }
}

fn text_of(checker: &Checker, pattern: &Pattern, name: &str, path: &Path) -> Result<String> {
    let directory = path.parent().unwrap_or(path);
    let Some(from) = &pattern.from else {
        let text = match pattern.what {
            What::Role => Some(ROLE),
            What::Workflow => WORKFLOWS.iter().find(|one| one.name == pattern.name).map(|one| one.text),
        };
        let text = text.ok_or_else(|| anyhow!("there is no pattern {}", pattern.name))?;
        return Ok(filled(text, (word(pattern.what), name), directory));
    };
    let catalog = &checker.catalog;
    let files = match pattern.what {
        What::Workflow => catalog.workflow_files(),
        What::Role => catalog.role_files(),
    };
    let file = files.iter().find(|file| file.name == *from).with_context(|| format!("{from} is gone"))?;
    let copied = match pattern.what {
        What::Workflow => workflow_text(file, &pattern.name, name),
        What::Role => role_text(file, &pattern.name, name),
    };
    copied.with_context(|| format!("{} is no longer in {from}", pattern.name))
}

fn word(what: What) -> &'static str {
    match what {
        What::Workflow => "workflow",
        What::Role => "role",
    }
}

/// One workflow of a file under another name; comments before it stay with a file that holds nothing else.
fn workflow_text(file: &SourceFile, wanted: &str, name: &str) -> Option<String> {
    let root = Node::parse(file, &mut Findings::new(file))?;
    let node = definitions(&root).find(|node| name_of(node).is_some_and(|found| found.value == wanted))?;
    let span = name_of(node)?.span;
    let whole = if node.span == root.span { 0..file.text.len() } else { node.span.clone() };
    let (before, after) = (file.text.get(whole.start..span.start)?, file.text.get(span.end..whole.end)?);
    Some(format!("{before}\"{name}\"{}\n", after.trim_end()))
}

/// One role of a file under another name.
fn role_text(file: &SourceFile, wanted: &str, name: &str) -> Option<String> {
    let part = read_roles(file).0.into_iter().find(|part| part.name == wanted)?;
    let root = Node::parse(file, &mut Findings::new(file))?;
    let member = root.members()?.iter().find(|member| member.key_span == part.span)?;
    let text = file.text.get(member.value.span.clone())?;
    Some(format!("{{\n  \"{name}\": {text}\n}}\n"))
}
