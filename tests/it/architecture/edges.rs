//! Every path of a file, as written and as it resolves inside the workspace.
//!
//! Counts `use` trees with groups, inline paths, and paths inside macro calls. Leaves out code under `#[cfg(test)]`
//! and visibilities such as `pub(in crate::x)`.

use std::collections::BTreeSet;

use proc_macro2::TokenTree;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{ImplItemFn, Item, ItemMod, ItemUse, Macro, Signature, UseTree, Visibility};

use super::source::{Module, Source};
use super::syntax::{attributes, flatten_tokens, is_punct, is_test};

/// Of the crate names of the members.
const MEMBER_PREFIX: &str = "synthdev_";

#[derive(Debug)]
pub(super) struct Edge {
    pub(super) line: usize,
    /// Its first part is the member; `None` for a path that leaves the workspace.
    pub(super) target: Option<Module>,
    pub(super) written: Vec<String>,
    /// The name it gets in this module, for a `use` that is no glob.
    pub(super) name: Option<String>,
    pub(super) public: bool,
}

#[derive(Default)]
pub(super) struct Paths {
    pub(super) edges: Vec<Edge>,
    /// Lines where something is async.
    pub(super) asyncs: Vec<usize>,
    module: Module,
    children: BTreeSet<String>,
    public: bool,
}

impl Paths {
    pub(super) fn from_source(source: &Source, module: &Module) -> Self {
        let mut paths = Self {
            module: module.clone(),
            children: declared_modules(&source.file.items),
            ..Self::default()
        };
        paths.visit_file(&source.file);
        paths
    }

    fn add_path(&mut self, written: Vec<String>, line: usize, name: Option<String>) {
        let target = self.resolve_path(&written);
        self.edges.push(Edge { line, target, written, name, public: self.public });
    }

    fn resolve_path(&self, written: &[String]) -> Option<Module> {
        let (first, rest) = written.split_first()?;
        match first.as_str() {
            "crate" => Some([self.module.get(..1).unwrap_or_default(), rest].concat()),
            "self" => Some([&self.module, rest].concat()),
            "super" => {
                let ups = written.iter().take_while(|name| *name == "super").count();
                let base = self.module.len().checked_sub(ups)?;
                Some([&self.module[..base], &written[ups..]].concat())
            }
            name if name.starts_with(MEMBER_PREFIX) => {
                let member = name.trim_start_matches(MEMBER_PREFIX).to_owned();
                Some([&[member], rest].concat())
            }
            name if self.children.contains(name) => Some([&self.module, written].concat()),
            _ => None,
        }
    }

    fn add_leaves(&mut self, tree: &UseTree, path: &[String]) {
        let with = |name: &syn::Ident| [path, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(tree) => self.add_leaves(&tree.tree, &with(&tree.ident)),
            UseTree::Name(tree) if tree.ident == "self" => {
                self.add_path(path.to_vec(), tree.span().start().line, path.last().cloned());
            }
            UseTree::Name(tree) => {
                self.add_path(with(&tree.ident), tree.span().start().line, Some(tree.ident.to_string()));
            }
            UseTree::Rename(tree) => {
                let path = if tree.ident == "self" { path.to_vec() } else { with(&tree.ident) };
                self.add_path(path, tree.span().start().line, Some(tree.rename.to_string()));
            }
            UseTree::Glob(tree) => self.add_path(path.to_vec(), tree.span().start().line, None),
            UseTree::Group(tree) => tree.items.iter().for_each(|item| self.add_leaves(item, path)),
        }
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if !is_test(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        let Some((_, items)) = &item.content else { return };
        let outer = std::mem::replace(&mut self.children, declared_modules(items));
        self.module.push(item.ident.to_string());
        items.iter().for_each(|item| self.visit_item(item));
        self.module.pop();
        self.children = outer;
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.public = !matches!(item.vis, Visibility::Inherited);
        self.add_leaves(&item.tree, &[]);
        self.public = false;
    }

    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 {
            let written = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            self.add_path(written, path.span().start().line, None);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast Macro) {
        let tokens = flatten_tokens(&item.tokens);
        let mut at = 0;
        while at < tokens.len() {
            let (written, line) = read_path(&tokens, &mut at);
            if written.len() > 1 {
                self.add_path(written, line, None);
            }
        }
        visit::visit_macro(self, item);
    }

    fn visit_signature(&mut self, signature: &'ast Signature) {
        self.asyncs.extend(signature.asyncness.map(|word| word.span.start().line));
        visit::visit_signature(self, signature);
    }

    fn visit_expr_async(&mut self, block: &'ast syn::ExprAsync) {
        self.asyncs.push(block.async_token.span.start().line);
        visit::visit_expr_async(self, block);
    }
}

/// The modules that these items declare.
fn declared_modules(items: &[Item]) -> BTreeSet<String> {
    items
        .iter()
        .filter_map(|item| if let Item::Mod(module) = item { Some(module.ident.to_string()) } else { None })
        .collect()
}

/// `a::b::c` from `at` on; moves `at` behind it, or by one token when no path starts there.
fn read_path(tokens: &[TokenTree], at: &mut usize) -> (Vec<String>, usize) {
    let mut written = Vec::new();
    let line = tokens[*at].span().start().line;
    while let Some(TokenTree::Ident(ident)) = tokens.get(*at) {
        written.push(ident.to_string());
        *at += 1;
        let more = is_punct(tokens.get(*at), ':') && is_punct(tokens.get(*at + 1), ':');
        if !more || !matches!(tokens.get(*at + 2), Some(TokenTree::Ident(_))) {
            return (written, line);
        }
        *at += 2;
    }
    *at += 1;
    (written, line)
}
