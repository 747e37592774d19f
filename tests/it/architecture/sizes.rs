//! Walls: 500 lines a file without its tests, 60 lines of code a function, 1,500 lines for the member that wires.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, ImplItemFn, Item, ItemFn, Signature, TraitItemFn};

use super::source::{Source, Tree};
use super::syntax::{attributes, is_test, names};

const FILE_WALL: usize = 500;
const FUNCTION_WALL: usize = 60;
/// Wiring that grows has taken over something else. Its tests count.
const MEMBER_WALLS: &[(&str, usize)] = &[("bootstrap", 1500)];

pub(super) fn check_sizes(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for (source, _) in tree.shipped_modules() {
        let lines = source.text.lines().count() - test_lines(&source.file.items);
        if lines > FILE_WALL {
            found.push(format!(
                "{}:{lines}: {lines} lines without tests, the wall is {FILE_WALL}",
                source.path
            ));
        }
        let mut functions = Functions { source, lines: source.text.lines().collect(), findings: Vec::new() };
        functions.visit_file(&source.file);
        found.append(&mut functions.findings);
    }
    found.extend(MEMBER_WALLS.iter().filter_map(|(member, wall)| member_over_wall(tree, member, *wall)));
    found
}

fn member_over_wall(tree: &Tree, member: &str, wall: usize) -> Option<String> {
    let folder = format!("src/{member}/");
    let files = tree.sources.iter().filter(|source| source.path.starts_with(&folder));
    let lines: usize = files.map(|source| source.text.lines().count()).sum();
    (lines >= wall)
        .then(|| format!("{folder}: {lines} lines with tests, it stays below {wall}: it is wiring only"))
}

fn test_lines(items: &[Item]) -> usize {
    let span = |item: &Item| item.span().end().line + 1 - item.span().start().line;
    items.iter().filter(|item| is_test(attributes(item))).map(span).sum()
}

struct Functions<'a> {
    source: &'a Source,
    lines: Vec<&'a str>,
    findings: Vec<String>,
}

impl Functions<'_> {
    fn measure_function(&mut self, attributes: &[Attribute], signature: &Signature, body: &Block) {
        let reasoned = attributes.iter().any(|attribute| match &attribute.meta {
            syn::Meta::List(list) => names(&list.tokens, "too_many_lines"),
            _ => false,
        });
        let (first, last) =
            (body.brace_token.span.open().start().line, body.brace_token.span.close().start().line);
        let code = self.lines[first..last.max(first + 1) - 1]
            .iter()
            .map(|line| line.trim())
            .filter(|line| !line.is_empty() && !line.starts_with("//"))
            .count();
        if code > FUNCTION_WALL && !reasoned {
            let (path, line, name) =
                (&self.source.path, signature.fn_token.span.start().line, &signature.ident);
            self.findings.push(format!(
                "{path}:{line}: `{name}` has {code} lines of code, the wall is {FUNCTION_WALL}"
            ));
        }
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.measure_function(&item.attrs, &item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.measure_function(&item.attrs, &item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        if let Some(body) = &item.default {
            self.measure_function(&item.attrs, &item.sig, body);
        }
        visit::visit_trait_item_fn(self, item);
    }
}
