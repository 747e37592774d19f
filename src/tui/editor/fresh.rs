//! A new workflow or role: the text it begins with is chosen, then it gets a name.

use super::What;
use crate::domain::place::Layer;

/// A text that a new file can begin with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern {
    pub what: What,
    pub name: String,
    pub about: String,
    /// The file whose workflow or role is copied; `None`: a small pattern made for this.
    pub from: Option<String>,
}

/// What can be begun with.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Patterns {
    pub list: Vec<Pattern>,
    /// The project has a directory for definitions of its own.
    pub project: bool,
}

/// What becomes of a pattern.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wish {
    pub pattern: Pattern,
    pub name: String,
    pub layer: Layer,
}

/// The pattern is chosen, and named.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Naming {
    pub pattern: Pattern,
    pub name: String,
    /// Why the name cannot be had.
    pub problem: Option<String>,
    /// Whether it is free is being looked up.
    pub asked: bool,
}

/// In front of everything else, as the list of files.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fresh {
    pub patterns: Patterns,
    pub typed: String,
    pub selected: usize,
    /// The name that was wanted from the start.
    pub wanted: String,
    pub naming: Option<Naming>,
}

impl Fresh {
    /// The patterns that fit what was typed.
    pub fn fitting(&self) -> Vec<&Pattern> {
        let wanted = self.typed.to_lowercase();
        let fits = |pattern: &&Pattern| {
            [&pattern.name, &pattern.about].into_iter().any(|text| text.to_lowercase().contains(&wanted))
        };
        self.patterns.list.iter().filter(fits).collect()
    }

    pub fn layer(&self) -> Layer {
        if self.patterns.project { Layer::Project } else { Layer::User }
    }

    /// The file that comes of it.
    pub fn file(&self) -> Option<String> {
        let naming = self.naming.as_ref()?;
        Some(file_name(naming.pattern.what, self.layer(), &naming.name))
    }
}

/// How a file of that name is called in findings.
pub fn file_name(what: What, layer: Layer, name: &str) -> String {
    let folder = match what {
        What::Workflow => "workflows",
        What::Role => "roles",
    };
    let above = if layer == Layer::Project { ".synthdev/" } else { "user:" };
    format!("{above}{folder}/{name}.json")
}
