//! All roles: merged field by field over the files, found by name, with the tools they
//! may use. A role whose file has an error cannot be used; every other role can.

pub mod merge;

use std::collections::BTreeMap;

use self::merge::RoleKey;
use super::role_file::read_roles;
use synthdev_domain::diagnostic::Diagnostic;
use synthdev_domain::role::Role;
use synthdev_domain::tool::{ASK_PERSON, ToolSpec};
use synthdev_language::did_you_mean;
use synthdev_language::source::SourceFile;
use synthdev_language::tool_patterns::{ToolPattern, is_excluded, unknown_tool};

/// Roles by group and name.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RoleSet {
    roles: BTreeMap<RoleKey, Role>,
    broken_roles: BTreeMap<RoleKey, Vec<Diagnostic>>,
}

/// Why a name gives no role.
#[derive(Clone, PartialEq, Debug)]
pub enum RoleLookup {
    Unknown {
        name: String,
        suggestion: Option<String>,
        known_names: Vec<String>,
    },
    /// Full names that fit, of one layer, each with its file.
    Ambiguous {
        name: String,
        matches: Vec<(String, String)>,
    },
    /// There is one, but its file has errors.
    Broken {
        name: String,
        diagnostics: Vec<Diagnostic>,
    },
}

impl RoleSet {
    /// Reads and merges all files: lower layers first, inside a layer by file name. `tools` are all
    /// tools there are, for W09.
    pub fn load(files: &[SourceFile], tools: &[ToolSpec]) -> (Self, Vec<Diagnostic>) {
        let mut ordered: Vec<&SourceFile> = files.iter().collect();
        ordered.sort_by(|a, b| a.layer.cmp(&b.layer).then_with(|| a.name.cmp(&b.name)));
        let mut diagnostics = Vec::new();
        let mut parts = Vec::new();
        for file in ordered {
            let (mut read, mut found) = read_roles(file);
            parts.append(&mut read);
            diagnostics.append(&mut found);
        }
        let merged = merge::merge_roles(parts, tools, &mut diagnostics);
        (Self { roles: merged.roles, broken_roles: merged.broken_roles }, diagnostics)
    }

    /// Usable roles, by full name.
    pub fn iter(&self) -> impl Iterator<Item = &Role> {
        self.roles.iter().filter(|(key, _)| !self.broken_roles.contains_key(*key)).map(|(_, role)| role)
    }

    /// All group names; the empty one is the group of plain files.
    pub fn groups(&self) -> Vec<&str> {
        let mut groups: Vec<&str> = self.roles.keys().map(|key| key.group.as_str()).collect();
        groups.dedup();
        groups
    }

    /// By full name (`group.name`), or by plain name: the role of the highest layer that has one of that name, in
    /// whichever group. Two of that layer are an error: which of them counts would be chance.
    pub fn find_role(&self, name: &str) -> Result<&Role, RoleLookup> {
        if let Some((group, plain)) = name.split_once('.') {
            return self.checked_role(&RoleKey { group: group.to_owned(), name: plain.to_owned() });
        }
        let fits: Vec<_> = self.roles.iter().filter(|(key, _)| key.name == name).collect();
        let highest = fits.iter().map(|(_, role)| role.layer).max();
        let of_layer: Vec<_> = fits.into_iter().filter(|(_, role)| Some(role.layer) == highest).collect();
        match of_layer.as_slice() {
            [] => Err(self.unknown_role(name)),
            [(key, _)] => self.checked_role(key),
            many => {
                let fits = many.iter().map(|(_, role)| (role.full_name(), last_file(role))).collect();
                Err(RoleLookup::Ambiguous { name: name.to_owned(), matches: fits })
            }
        }
    }

    /// Other roles with the same plain name, each by its full name and its file.
    pub fn namesakes(&self, role: &Role) -> Vec<(String, String)> {
        let others = self.iter().filter(|other| other.name == role.name && other.group != role.group);
        others.map(|other| (other.full_name(), last_file(other))).collect()
    }

    fn checked_role(&self, key: &RoleKey) -> Result<&Role, RoleLookup> {
        let broken = |diagnostics: &Vec<Diagnostic>| RoleLookup::Broken {
            name: key.name.clone(),
            diagnostics: diagnostics.clone(),
        };
        match (self.broken_roles.get(key), self.roles.get(key)) {
            (Some(diagnostics), _) => Err(broken(diagnostics)),
            (None, Some(role)) => Ok(role),
            (None, None) if key.group.is_empty() => Err(self.unknown_role(&key.name)),
            (None, None) => Err(self.unknown_role(&format!("{}.{}", key.group, key.name))),
        }
    }

    fn unknown_role(&self, name: &str) -> RoleLookup {
        let known: Vec<String> = self.iter().map(Role::full_name).collect();
        let plain = self.roles.keys().map(|key| key.name.as_str());
        let names = known.iter().map(String::as_str).chain(plain);
        let suggestion = did_you_mean::closest_word(name, names).map(str::to_owned);
        RoleLookup::Unknown { name: name.to_owned(), suggestion, known_names: known }
    }
}

fn last_file(role: &Role) -> String {
    role.places.last().map_or_else(String::new, |place| place.file.clone())
}

impl RoleLookup {
    pub fn message(&self) -> String {
        match self {
            Self::Unknown { name, .. } => format!("there is no role `{name}`"),
            Self::Ambiguous { name, matches: fits } => {
                let each = fits.iter().map(|(full, file)| format!("{full} ({file})"));
                format!("the role `{name}` is in several groups: {}", each.collect::<Vec<_>>().join(", "))
            }
            Self::Broken { name, diagnostics } => {
                let first = diagnostics.first().map(|one| format!(": {}: {}", one.place, one.message));
                format!("the role `{name}` has errors in its file{}", first.unwrap_or_default())
            }
        }
    }

    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown { suggestion: Some(close), .. } => Some(format!("did you mean `{close}`?")),
            Self::Unknown { known_names: known, .. } if known.is_empty() => None,
            Self::Unknown { known_names: known, .. } => Some(format!("known roles: {}", known.join(", "))),
            Self::Ambiguous { matches: fits, .. } => {
                fits.iter().find(|(full, _)| full.contains('.')).map(|(full, _)| {
                    format!("write the group too, for example `{full}`, or give one of the two another name")
                })
            }
            Self::Broken { .. } => Some("`synthdev check` shows every problem with its line".to_owned()),
        }
    }
}

/// The tools of a role, in the order of `tools`, and warnings for the user: no list at all means no tools; a name that
/// no tool has (W09).
pub fn tools_for(role: &Role, tools: &[ToolSpec]) -> (Vec<ToolSpec>, Vec<String>) {
    let (texts, include) = match (&role.included_tools, &role.excluded_tools) {
        (Some(included), _) => (included, true),
        (None, Some(excluded)) => (excluded, false),
        (None, None) => {
            let warning = format!(
                "role `{}` has neither includedTools nor excludedTools: it gets no tools",
                role.full_name()
            );
            return (Vec::new(), vec![warning]);
        }
    };
    let mut warnings = Vec::new();
    let mut patterns = Vec::new();
    for text in texts {
        match ToolPattern::parse(text) {
            Ok(pattern) => {
                warnings.extend(unknown_tool(text, &pattern, tools).map(|(message, hint)| {
                    let hint = hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
                    format!("role `{}`: {message}{hint}", role.full_name())
                }));
                patterns.push(pattern);
            }
            Err(why) => {
                warnings.push(format!("role `{}`: the tool pattern `{text}` {why}", role.full_name()))
            }
        }
    }
    // An unreadable pattern in an exclusion could let a forbidden tool through: the role gets no tools then.
    if !include && patterns.len() < texts.len() {
        return (Vec::new(), warnings);
    }
    // a role must name the tool that can stop the run for an answer: neither `*` nor an exclusion of others gives it
    let named = include && texts.iter().any(|text| text == ASK_PERSON);
    let allowed = |tool: &&ToolSpec| named || tool.name != ASK_PERSON;
    let matched = |tool: &&ToolSpec| {
        if include {
            return patterns.iter().any(|pattern| pattern.matches_name(&tool.name));
        }
        !is_excluded(&patterns, &tool.name)
    };
    (tools.iter().filter(allowed).filter(matched).cloned().collect(), warnings)
}

/// The tool patterns of a role that fit no tool, as written (W09).
pub fn unmatched_patterns(role: &Role, tools: &[ToolSpec]) -> Vec<String> {
    let texts = role.included_tools.iter().chain(&role.excluded_tools).flatten();
    let unmatched = |text: &&String| {
        ToolPattern::parse(text).is_ok_and(|pattern| unknown_tool(text, &pattern, tools).is_some())
    };
    texts.filter(unmatched).cloned().collect()
}
