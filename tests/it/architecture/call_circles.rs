//! Circles of `self.method()` calls between files: an object whose files all call each other is one file in pieces.
//!
//! Counts the `impl` blocks of one type in several files of a layer. Calls through a field belong to the field's type.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{Expr, ExprMethodCall, ImplItem, Item, ItemImpl, Type};

use super::cycles::strong_components;
use super::source::Tree;
use super::syntax::{attributes, is_test};

/// Most files of one type that may call each other in a circle.
const MAX_FILES: usize = 3;

/// A type that may have larger circles, and why.
pub(super) type CircleExemption = (&'static str, &'static str);

pub(super) fn check_call_circles(tree: &Tree, exempt: &[CircleExemption]) -> Vec<String> {
    let mut types: BTreeMap<(String, String), Vec<(usize, &ItemImpl)>> = BTreeMap::new();
    for (source, module) in tree.shipped_modules() {
        let layer = module.first().cloned().unwrap_or_default();
        for item in source.file.items.iter().filter(|item| !is_test(attributes(item))) {
            let Item::Impl(block) = item else { continue };
            if let Some(name) = type_name(&block.self_ty) {
                types.entry((layer.clone(), name)).or_default().push((tree.modules[module], block));
            }
        }
    }
    let mut used = BTreeSet::new();
    let mut found = Vec::new();
    for ((_, name), blocks) in &types {
        for knot in strong_components(&call_graph(blocks)) {
            let files: Vec<&str> = knot.iter().map(|file| tree.sources[*file].path.as_str()).collect();
            if files.len() <= MAX_FILES {
                continue;
            }
            if exempt.iter().any(|(exempted, _)| exempted == name) {
                used.insert(name.as_str());
                continue;
            }
            found.push(format!(
                "{}:1: {} files of `{name}` call each other in a circle, at most {MAX_FILES} may: {}",
                files[0],
                files.len(),
                files.join(", ")
            ));
        }
    }
    let unused = exempt.iter().filter(|(name, _)| !used.contains(name));
    found
        .extend(unused.map(|(name, reason)| format!("{name}: this exemption is no longer needed: {reason}")));
    found
}

fn type_name(of: &Type) -> Option<String> {
    let Type::Path(path) = of else { return None };
    path.path.segments.last().map(|segment| segment.ident.to_string())
}

/// From a file to the files whose methods it calls on `self`.
fn call_graph(blocks: &[(usize, &ItemImpl)]) -> BTreeMap<usize, BTreeMap<usize, usize>> {
    let methods = |block: &ItemImpl| {
        let names = block.items.iter().filter_map(|item| match item {
            ImplItem::Fn(method) => Some(method.sig.ident.to_string()),
            _ => None,
        });
        names.collect::<Vec<_>>()
    };
    let homes: BTreeMap<String, usize> = blocks
        .iter()
        .flat_map(|(file, block)| methods(block).into_iter().map(|name| (name, *file)))
        .collect();
    let mut graph: BTreeMap<usize, BTreeMap<usize, usize>> = BTreeMap::new();
    for (file, block) in blocks {
        let mut calls = SelfCalls { names: BTreeSet::new() };
        calls.visit_item_impl(block);
        let to = graph.entry(*file).or_default();
        for home in calls.names.iter().filter_map(|name| homes.get(name)).filter(|home| *home != file) {
            to.insert(*home, 1);
        }
    }
    graph
}

struct SelfCalls {
    names: BTreeSet<String>,
}

impl Visit<'_> for SelfCalls {
    fn visit_expr_method_call(&mut self, call: &ExprMethodCall) {
        if matches!(call.receiver.as_ref(), Expr::Path(path) if path.path.is_ident("self")) {
            self.names.insert(call.method.to_string());
        }
        visit::visit_expr_method_call(self, call);
    }
}
