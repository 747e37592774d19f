//! A new workflow or role: the text it begins with is chosen, then it gets a name.

use super::EditFileKind;
use synthdev_domain::source_location::ConfigLayer;

/// A text that a new file can begin with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewFileTemplate {
    pub file_kind: EditFileKind,
    pub name: String,
    pub description: String,
    /// The file whose workflow or role is copied; `None`: a small pattern made for this.
    pub copied_from: Option<String>,
}

/// What can be begun with.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NewFileTemplates {
    pub list: Vec<NewFileTemplate>,
    /// The project has a directory for definitions of its own.
    pub project: bool,
}

/// What becomes of a pattern.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewFileRequest {
    pub pattern: NewFileTemplate,
    pub name: String,
    pub layer: ConfigLayer,
}

/// The pattern is chosen, and named.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewFileNaming {
    pub pattern: NewFileTemplate,
    pub name: String,
    /// Why the name cannot be had.
    pub problem: Option<String>,
    /// Whether it is free is being looked up.
    pub check_pending: bool,
}

/// In front of everything else, as the list of files.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NewFilePicker {
    pub patterns: NewFileTemplates,
    pub typed_filter: String,
    pub selected: usize,
    /// The name that was wanted from the start.
    pub requested_name: String,
    pub naming_step: Option<NewFileNaming>,
}

impl NewFilePicker {
    /// The patterns that fit what was typed.
    pub fn matching_templates(&self) -> Vec<&NewFileTemplate> {
        let wanted = self.typed_filter.to_lowercase();
        let fits = |pattern: &&NewFileTemplate| {
            [&pattern.name, &pattern.description]
                .into_iter()
                .any(|text| text.to_lowercase().contains(&wanted))
        };
        self.patterns.list.iter().filter(fits).collect()
    }

    pub fn selected_layer(&self) -> ConfigLayer {
        if self.patterns.project { ConfigLayer::Project } else { ConfigLayer::User }
    }

    /// The name of the resulting file.
    pub fn file(&self) -> Option<String> {
        let naming = self.naming_step.as_ref()?;
        Some(file_name(naming.pattern.file_kind, self.selected_layer(), &naming.name))
    }
}

/// How a file of that name is called in findings.
pub fn file_name(what: EditFileKind, layer: ConfigLayer, name: &str) -> String {
    let folder = match what {
        EditFileKind::Workflow => "workflows",
        EditFileKind::Role => "roles",
    };
    let above = if layer == ConfigLayer::Project { ".synthdev/" } else { "user:" };
    format!("{above}{folder}/{name}.json")
}
