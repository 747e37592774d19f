//! A type is found by its name: each name of the library belongs to one type, and says more than one word unless it is a
//! noun of the domain.

use std::collections::BTreeMap;

use proc_macro2::Ident;
use syn::visit::{self, Visit};
use syn::{Block, ItemEnum, ItemStruct, ItemTrait, ItemType};

use super::source::{Source, Tree};

/// What users and documents call these things.
pub(super) const DOMAIN_NOUNS: &[&str] = &[
    "Branch",
    "Breakpoint",
    "Budget",
    "Context",
    "Diagnostic",
    "Effect",
    "Input",
    "Machine",
    "Role",
    "Timestamp",
    "Transition",
    "Workflow",
];

pub(super) fn check_type_names(tree: &Tree, nouns: &[&str]) -> Vec<String> {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in tree.sources.iter().filter(|source| source.module.is_some()) {
        let mut types = TypeNames { source, places: &mut places };
        types.visit_file(&source.file);
    }
    let mut found = Vec::new();
    for (name, places) in &places {
        if places.len() > 1 {
            let others = places[1..].join(", ");
            found.push(format!("{}: `{name}` is also the name of another type: {others}", places[0]));
        }
        if word_count(name) < 2 && !nouns.contains(&name.as_str()) {
            found.push(format!("{}: `{name}` is one word: say what kind of it", places[0]));
        }
    }
    for noun in nouns.iter().filter(|noun| !places.contains_key(**noun)) {
        found.push(format!("`{noun}` is in the list of domain nouns and is the name of no type"));
    }
    found
}

/// `HTTPServer` and `HttpServer` have two.
fn word_count(name: &str) -> usize {
    let letters: Vec<char> = name.chars().collect();
    let begins = |at: &usize| {
        letters[*at].is_uppercase()
            && (*at == 0
                || !letters[at - 1].is_uppercase()
                || letters.get(at + 1).is_some_and(|next| next.is_lowercase()))
    };
    (0..letters.len()).filter(begins).count()
}

struct TypeNames<'a> {
    source: &'a Source,
    places: &'a mut BTreeMap<String, Vec<String>>,
}

impl TypeNames<'_> {
    fn add_name(&mut self, name: &Ident) {
        let place = format!("{}:{}", self.source.path, name.span().start().line);
        self.places.entry(name.to_string()).or_default().push(place);
    }
}

impl<'ast> Visit<'ast> for TypeNames<'_> {
    /// Types inside of a function are read where they stand.
    fn visit_block(&mut self, _: &'ast Block) {}

    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        self.add_name(&item.ident);
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast ItemEnum) {
        self.add_name(&item.ident);
        visit::visit_item_enum(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        self.add_name(&item.ident);
        visit::visit_item_trait(self, item);
    }

    fn visit_item_type(&mut self, item: &'ast ItemType) {
        self.add_name(&item.ident);
        visit::visit_item_type(self, item);
    }
}
