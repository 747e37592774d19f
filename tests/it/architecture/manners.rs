//! What must never be there: `mod.rs`, names that say nothing, exceptions without a reason, unfinished code, paths of
//! one machine. These hold for tests and benches too.

use proc_macro2::TokenTree;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ItemMod, Lit, Macro, Meta};

use super::source::{Source, Tree};
use super::syntax::{flatten_tokens, is_punct, names};

const EMPTY_NAMES: &[&str] = &["util", "utils", "helper", "helpers", "manager", "common", "types", "misc"];
const UNFINISHED: &[&str] = &["todo", "unimplemented"];
/// How the reason of an ignored test begins.
const TIERS: [&str; 2] = ["slow: ", "tool: "];

/// Written in two parts, so that this file does not find itself.
pub(super) const MACHINE_PATHS: [&str; 2] = [concat!("/wo", "rk/"), concat!("/ro", "ot/")];

pub(super) fn check_manners(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for source in &tree.sources {
        let mut manners = Manners { source, findings: Vec::new() };
        manners.file_name();
        manners.visit_file(&source.file);
        found.append(&mut manners.findings);
    }
    found
}

/// Absolute paths of the machine something was written on. Takes every text file of the package.
pub(super) fn machine_paths(texts: &[(String, String)]) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in texts {
        for (number, line) in text.lines().enumerate() {
            for needle in MACHINE_PATHS.iter().filter(|needle| starts_there(line, needle)) {
                found.push(format!("{path}:{}: `{needle}` is a path of one machine", number + 1));
            }
        }
    }
    found
}

/// Whether a path in the line starts with the needle; a match inside of a path does not count.
fn starts_there(line: &str, needle: &str) -> bool {
    line.match_indices(needle).any(|(at, _)| {
        !line[..at].ends_with(|before: char| {
            before.is_alphanumeric() || matches!(before, '.' | '_' | '-' | '}' | '~')
        })
    })
}

fn has_tier(ignore: &Meta) -> bool {
    let Meta::NameValue(reason) = ignore else { return false };
    let Expr::Lit(literal) = &reason.value else { return false };
    matches!(&literal.lit, Lit::Str(text) if TIERS.iter().any(|tier| text.value().starts_with(tier)))
}

struct Manners<'a> {
    source: &'a Source,
    findings: Vec<String>,
}

impl Manners<'_> {
    fn add_finding(&mut self, line: usize, what: &str) {
        self.findings.push(format!("{}:{line}: {what}", self.source.path));
    }

    fn file_name(&mut self) {
        let mut names = self.source.path.trim_end_matches(".rs").rsplit('/');
        let name = names.next().unwrap_or_default().to_owned();
        if name == "mod" {
            let parent = names.next().unwrap_or_default().to_owned();
            self.add_finding(1, &format!("no mod.rs: write `{parent}.rs` beside the directory"));
        }
        self.name(&name, 1);
    }

    fn name(&mut self, name: &str, line: usize) {
        if EMPTY_NAMES.contains(&name) {
            self.add_finding(line, &format!("`{name}` says nothing: name the concept"));
        }
    }
}

impl<'ast> Visit<'ast> for Manners<'_> {
    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        let line = attribute.pound_token.span.start().line;
        if attribute.path().is_ident("ignore") && !has_tier(&attribute.meta) {
            self.add_finding(line, "ignore without a tier: `slow: …` or `tool: …`");
        }
        let Meta::List(list) = &attribute.meta else { return };
        let nested = list.path.is_ident("cfg_attr");
        for word in ["allow", "expect"] {
            let there = list.path.is_ident(word) || nested && names(&list.tokens, word);
            if there && !names(&list.tokens, "reason") {
                self.add_finding(line, &format!("{word} without a reason"));
            }
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if item.content.is_some() {
            self.name(&item.ident.to_string(), item.ident.span().start().line);
        }
        visit::visit_item_mod(self, item);
    }

    fn visit_macro(&mut self, item: &'ast Macro) {
        for word in UNFINISHED {
            if item.path.is_ident(word) {
                self.add_finding(item.bang_token.span.start().line, &format!("{word}!"));
            }
        }
        let tokens = flatten_tokens(&item.tokens);
        for (at, token) in tokens.iter().enumerate() {
            if let TokenTree::Ident(ident) = token
                && UNFINISHED.iter().any(|word| ident == word)
                && is_punct(tokens.get(at + 1), '!')
            {
                self.add_finding(ident.span().start().line, &format!("{ident}!"));
            }
        }
    }
}
