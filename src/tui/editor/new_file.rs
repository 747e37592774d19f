//! A new workflow or role: the text it begins with is chosen, then it gets a name.

use synthdev_domain::source_location::ConfigLayer;
use synthdev_service::session::{NewFileTemplate, NewFileTemplates, definition_file_name};

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
        Some(definition_file_name(naming.pattern.file_kind, self.selected_layer(), &naming.name))
    }
}
