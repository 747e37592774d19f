//! Events are put into words by the service alone: front-ends render its descriptions.
//!
//! Checked is what can be seen in one file: texts in the arms of an event, and how many events a file tells apart. A
//! helper in another file that is given the fields of one event is not seen; a file that needs many events is, and
//! says in a list why.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Arm, ExprIf, LitStr, Macro, Pat, Path};

use super::source::Tree;
use super::syntax::{attributes, flatten_tokens, is_punct, is_test};

/// Members that show events.
const FRONT_ENDS: &[&str] = &["tui", "cli", "mcp", "commands", "session"];

/// Events that one file may put into words of its own.
const OWN_WORDS: usize = 2;

/// Events that a file may tell apart without a reason.
const TOLD_APART: usize = 5;

/// A file that folds events into a state, and what it makes of them.
pub(super) type EventFold = (&'static str, &'static str);

pub(super) fn check_event_words(tree: &Tree, folds: &[EventFold]) -> Vec<String> {
    let mut found = Vec::new();
    let mut needed = BTreeSet::new();
    for (source, module) in tree.shipped_modules() {
        if !module.first().is_some_and(|member| FRONT_ENDS.contains(&member.as_str())) {
            continue;
        }
        let mut events = EventArms::default();
        for item in source.file.items.iter().filter(|item| !is_test(attributes(item))) {
            events.visit_item(item);
        }
        let path = source.path.as_str();
        let names = |set: &BTreeSet<String>| set.iter().cloned().collect::<Vec<_>>().join(", ");
        if events.in_words.len() > OWN_WORDS {
            let named = names(&events.in_words);
            found.push(format!("{path}:1: puts events into words: render `describe_event` for {named}"));
        }
        if events.named.len() > TOLD_APART {
            needed.insert(path);
            if !folds.iter().any(|(fold, _)| *fold == path) {
                let named = names(&events.named);
                found.push(format!(
                    "{path}:1: tells many events apart: choose by `EventKind`, or say why: {named}"
                ));
            }
        }
    }
    let unneeded = folds.iter().filter(|(path, _)| !needed.contains(path));
    found.extend(unneeded.map(|(path, why)| format!("{path}: this exemption is no longer needed: {why}")));
    found
}

/// Events by name.
#[derive(Default)]
struct EventArms {
    named: BTreeSet<String>,
    /// Those with a text in an arm or branch of theirs.
    in_words: BTreeSet<String>,
}

impl Visit<'_> for EventArms {
    fn visit_path(&mut self, path: &Path) {
        self.named.extend(event_name(path));
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &Macro) {
        self.named.extend(names_in_tokens(&called.tokens));
        visit::visit_macro(self, called);
    }

    fn visit_arm(&mut self, arm: &Arm) {
        let mut body = TextSearch::default();
        body.visit_expr(&arm.body);
        self.record_text(&body, |names| names.visit_pat(&arm.pat));
        visit::visit_arm(self, arm);
    }

    fn visit_expr_if(&mut self, branch: &ExprIf) {
        let mut body = TextSearch::default();
        body.visit_block(&branch.then_branch);
        self.record_text(&body, |names| names.visit_expr(&branch.cond));
        visit::visit_expr_if(self, branch);
    }
}

impl EventArms {
    fn record_text(&mut self, body: &TextSearch, visit: impl FnOnce(&mut PatternNames)) {
        if body.found {
            let mut names = PatternNames::default();
            visit(&mut names);
            self.in_words.extend(names.names);
        }
    }
}

/// Events in patterns.
#[derive(Default)]
struct PatternNames {
    names: BTreeSet<String>,
}

impl Visit<'_> for PatternNames {
    fn visit_pat(&mut self, pattern: &Pat) {
        match pattern {
            Pat::Struct(pattern) => self.names.extend(event_name(&pattern.path)),
            Pat::Path(pattern) => self.names.extend(event_name(&pattern.path)),
            _ => {}
        }
        visit::visit_pat(self, pattern);
    }
}

/// Whether there is a text of words: one with a space outside of its placeholders.
#[derive(Default)]
struct TextSearch {
    found: bool,
}

impl Visit<'_> for TextSearch {
    fn visit_lit_str(&mut self, literal: &LitStr) {
        self.found |= has_words(&literal.value());
    }

    fn visit_macro(&mut self, called: &Macro) {
        let literals = flatten_tokens(&called.tokens);
        self.found |= literals.iter().any(|token| match token {
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                text.starts_with('"') && has_words(&text)
            }
            _ => false,
        });
    }
}

fn has_words(text: &str) -> bool {
    let mut depth = 0_usize;
    text.chars().any(|c| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ' ' && depth == 0
    })
}

/// `Warning` of `RunEvent::Warning`.
fn event_name(path: &Path) -> Option<String> {
    let mut last = path.segments.iter().rev();
    let (name, owner) = (last.next()?, last.next()?);
    (owner.ident == "RunEvent").then(|| name.ident.to_string())
}

fn names_in_tokens(tokens: &TokenStream) -> Vec<String> {
    let tokens = flatten_tokens(tokens);
    let name = |at: usize| match (tokens.get(at), tokens.get(at + 3)) {
        (Some(TokenTree::Ident(owner)), Some(TokenTree::Ident(name)))
            if owner == "RunEvent" && is_punct(tokens.get(at + 1), ':') =>
        {
            Some(name.to_string())
        }
        _ => None,
    };
    (0..tokens.len()).filter_map(name).collect()
}
