//! Words that no name and no comment of the library has, because the field has a better one.

use proc_macro2::Ident;
use syn::visit::{self, Visit};
use syn::{
    Block, ImplItemFn, Item, ItemEnum, ItemFn, ItemMod, ItemStruct, ItemTrait, ItemType, TraitItemFn,
    Visibility,
};

use super::lexer::{PieceKind, pieces};
use super::source::{Source, Tree};
use super::syntax::{attributes, is_test};

/// A word that must not be part of a name, and what to say.
const FORBIDDEN: &[(&str, &str)] = &[
    ("anybody", "user"),
    ("aside", "private message, lookup"),
    ("begins", "start"),
    ("briefing", "system context"),
    ("carried", "inflight"),
    ("cassette", "recording"),
    ("commanded", "command"),
    ("dear", "cost"),
    ("deck", "recorder"),
    ("deed", "action"),
    ("desk", "task broker"),
    ("ear", "watcher"),
    ("ends", "finish"),
    ("envelope", "cost estimate"),
    ("errand", "task"),
    ("errands", "tasks"),
    ("exchanged", "model exchange"),
    ("farewell", "exit message"),
    ("fault", "error, diagnostic"),
    ("foresight", "effect preview"),
    ("given", "provided"),
    ("glance", "preview"),
    ("goes", "continue, resume"),
    ("going", "resume"),
    ("handed", "assigned"),
    ("hear", "event, listen"),
    ("heard", "event, received"),
    ("homes", "key scopes"),
    ("human", "user"),
    ("kept", "retained, checkpoint"),
    ("lane", "branch"),
    ("lanes", "branches"),
    ("lasting", "durable"),
    ("learnt", "server quirks"),
    ("looked", "read, query"),
    ("looking", "inspect"),
    ("luck", "random, seed"),
    ("mail", "driver message"),
    ("manners", "settings"),
    ("moment", "timestamp"),
    ("moments", "timestamps"),
    ("neutral", "normalized"),
    ("nobody", "none, user"),
    ("parked", "suspended"),
    ("parking", "suspend"),
    ("patience", "timeout"),
    ("person", "user"),
    ("playing", "session"),
    ("purse", "budget usage"),
    ("rehearsal", "dry run"),
    ("resting", "suspended"),
    ("revived", "recovered"),
    ("rise", "resume"),
    ("risen", "resumed"),
    ("rising", "resuming"),
    ("said", "message, text"),
    ("scene", "prompt sources"),
    ("seats", "agents"),
    ("shelf", "files, registry"),
    ("sight", "context index"),
    ("somebody", "user"),
    ("spared", "skipped"),
    ("speaking", "caller"),
    ("spoken", "reply"),
    ("spot", "entry, position"),
    ("stands", "state, status"),
    ("stay", "visit"),
    ("stirs", "file watch"),
    ("story", "journaled run"),
    ("studio", "recorder"),
    ("surroundings", "context"),
    ("survey", "probe"),
    ("tape", "recording"),
    ("taped", "recorded"),
    ("tell", "report"),
    ("told", "report, message"),
    ("trail", "trace"),
    ("trouble", "error"),
    ("unpriced", "missing price"),
    ("whereabouts", "state path"),
    ("who", "user, caller"),
    ("whoever", "user, caller"),
    ("wish", "request, selector"),
    ("withheld", "held"),
];

/// Who acts is a part of the program or the user.
const VAGUE_SUBJECTS: [&str; 4] = ["nobody", "somebody", "whoever", "anybody"];

/// Names of types, modules and functions that other files can call.
pub(super) fn check_names(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for (source, module) in tree.shipped_modules() {
        let mut names = Names { source, findings: Vec::new() };
        names.check_name(module.last().map_or("", String::as_str), 1);
        names.visit_file(&source.file);
        found.append(&mut names.findings);
    }
    found
}

/// Comments of shipped files.
pub(super) fn check_comments(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for (source, _) in tree.shipped_modules() {
        let comments = pieces(&source.text).into_iter().filter(|piece| piece.kind == PieceKind::Comment);
        for (comment, line) in comments.flat_map(|piece| piece.text.lines().zip(piece.line..)) {
            let words = comment.split(|letter: char| !letter.is_alphanumeric());
            for word in words.map(str::to_lowercase).filter(|word| VAGUE_SUBJECTS.contains(&word.as_str())) {
                let path = &source.path;
                found.push(format!("{path}:{line}: `{word}` in a comment: say which part, or the user"));
            }
        }
    }
    found
}

/// `HTTPServer`, `HttpServer` and `http_server` have the same words.
fn words_of_name(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (at, letter) in letters.iter().enumerate() {
        let begins = letter.is_uppercase()
            && at > 0
            && (!letters[at - 1].is_uppercase()
                || letters.get(at + 1).is_some_and(|next| next.is_lowercase()));
        if *letter == '_' || begins {
            words.push(String::new());
        }
        words
            .last_mut()
            .into_iter()
            .for_each(|word| word.extend(letter.to_lowercase().filter(|c| *c != '_')));
    }
    words
}

struct Names<'a> {
    source: &'a Source,
    findings: Vec<String>,
}

impl Names<'_> {
    fn check_name(&mut self, name: &str, line: usize) {
        for word in words_of_name(name) {
            if let Some((_, better)) = FORBIDDEN.iter().find(|(forbidden, _)| *forbidden == word) {
                let path = &self.source.path;
                self.findings.push(format!("{path}:{line}: `{name}` says `{word}`: write {better}"));
            }
        }
    }

    fn check_ident(&mut self, name: &Ident) {
        self.check_name(&name.to_string(), name.span().start().line);
    }

    fn check_function(&mut self, visibility: &Visibility, name: &Ident) {
        if !matches!(visibility, Visibility::Inherited) {
            self.check_ident(name);
        }
    }
}

impl<'ast> Visit<'ast> for Names<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    /// Skips the bodies of functions: the items in them are private.
    fn visit_block(&mut self, _: &'ast Block) {}

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if item.content.is_some() {
            self.check_ident(&item.ident);
        }
        visit::visit_item_mod(self, item);
    }

    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        self.check_ident(&item.ident);
    }

    fn visit_item_enum(&mut self, item: &'ast ItemEnum) {
        self.check_ident(&item.ident);
    }

    fn visit_item_type(&mut self, item: &'ast ItemType) {
        self.check_ident(&item.ident);
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        self.check_ident(&item.ident);
        visit::visit_item_trait(self, item);
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.check_function(&item.vis, &item.sig.ident);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.check_function(&item.vis, &item.sig.ident);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        self.check_ident(&item.sig.ident);
    }
}
