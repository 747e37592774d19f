//! Where a value came from, for `config show --origin` and for provenance lines.

use std::fmt;
use std::ops::Range;

use synthdev_domain::source_location::{ConfigLayer, SourceLocation};

/// The layer, and inside it the environment name, flag or place in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SettingOrigin {
    pub layer: ConfigLayer,
    /// Environment name or flag.
    pub name: Option<String>,
    /// Position in a settings or `.env` file.
    pub place: Option<SourceLocation>,
    /// Bytes of the name in that file.
    pub span: Range<usize>,
    /// It is in a file of the project, which the user who runs it need not have written.
    pub is_from_project: bool,
}

impl SettingOrigin {
    pub fn built_in_default() -> Self {
        Self { layer: ConfigLayer::BuiltIn, name: None, place: None, span: 0..0, is_from_project: false }
    }

    pub fn from_file(layer: ConfigLayer, place: SourceLocation, span: Range<usize>) -> Self {
        Self { layer, name: None, place: Some(place), span, is_from_project: layer == ConfigLayer::Project }
    }

    /// An environment name of the process, or a flag.
    pub fn from_name(layer: ConfigLayer, name: &str) -> Self {
        Self { layer, name: Some(name.to_owned()), place: None, span: 0..0, is_from_project: false }
    }

    /// A name in the `.env` of a layer.
    pub fn from_dotenv(name: &str, layer: ConfigLayer, place: SourceLocation, span: Range<usize>) -> Self {
        Self {
            layer: ConfigLayer::Environment,
            name: Some(name.to_owned()),
            ..Self::from_file(layer, place, span)
        }
    }
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.name, &self.place) {
            (Some(name), Some(place)) => write!(f, "{name} ({}:{})", place.file, place.line),
            (Some(name), None) => write!(f, "{name} ({})", self.layer),
            (None, Some(place)) => write!(f, "{}:{} ({})", place.file, place.line, self.layer),
            (None, None) => write!(f, "{}", self.layer),
        }
    }
}
