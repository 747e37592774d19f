//! A key of a workflow file is declared once: no reader takes a key that no declaration has, no declaration has a key that
//! no reader takes, and no list of keys stands beside the declarations.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{
    Expr, ExprCall, ExprMethodCall, FnArg, ImplItemFn, Item, ItemConst, ItemFn, ItemStatic, Lit, LitStr, Pat,
    Signature, Type,
};

use super::source::{Source, Tree};
use super::syntax::{attributes, is_test};

/// The modules whose files are read by key.
const READERS: [&str; 2] = ["language", "workflow_file"];
/// What makes a declaration; its first argument is the key.
const DECLARES: &str = "declared_key";
/// Methods of a node that take a key.
const LOOKUPS: [&str; 2] = ["get", "member"];
/// So many keys in a row are a list of what an object may hold.
const LIST: usize = 3;

pub(super) fn check_declared_keys(tree: &Tree) -> Vec<String> {
    let sources: Vec<&Source> = tree
        .shipped_modules()
        .filter(|(_, module)| module.iter().map(String::as_str).take(2).eq(READERS))
        .map(|(source, _)| source)
        .collect();
    let mut functions = KeyFunctions::default();
    visit_shipped(&sources, &mut |_, item| functions.visit_item(item));
    let mut keys = Keys { functions: functions.position, ..Keys::default() };
    visit_shipped(&sources, &mut |path, item| {
        path.clone_into(&mut keys.path);
        keys.visit_item(item);
    });
    keys.findings()
}

fn visit_shipped(sources: &[&Source], visit: &mut dyn FnMut(&str, &Item)) {
    for source in sources {
        let shipped = source.file.items.iter().filter(|item| !is_test(attributes(item)));
        shipped.for_each(|item| visit(&source.path, item));
    }
}

/// Functions with a parameter `key: &str`, and which argument it is.
#[derive(Default)]
struct KeyFunctions {
    position: BTreeMap<String, usize>,
}

impl KeyFunctions {
    fn note_function(&mut self, signature: &Signature) {
        let typed = signature.inputs.iter().filter_map(|input| match input {
            FnArg::Typed(input) => Some(input),
            FnArg::Receiver(_) => None,
        });
        let position = typed.enumerate().find(|(_, input)| {
            let named = matches!(input.pat.as_ref(), Pat::Ident(name) if name.ident == "key");
            named && matches!(input.ty.as_ref(), Type::Reference(_))
        });
        self.position.extend(position.map(|(at, _)| (signature.ident.to_string(), at)));
    }
}

impl Visit<'_> for KeyFunctions {
    fn visit_item_fn(&mut self, function: &ItemFn) {
        self.note_function(&function.sig);
    }

    fn visit_impl_item_fn(&mut self, function: &ImplItemFn) {
        self.note_function(&function.sig);
    }
}

/// A key with its place.
type KeyPlace = (String, String);

#[derive(Default)]
struct Keys {
    functions: BTreeMap<String, usize>,
    path: String,
    inside_function: bool,
    declared: Vec<KeyPlace>,
    read: Vec<KeyPlace>,
    /// Every text in a function.
    named: BTreeSet<String>,
    lists: Vec<(Vec<String>, String)>,
}

impl Keys {
    fn findings(&self) -> Vec<String> {
        let declared: BTreeSet<&str> = self.declared.iter().map(|(key, _)| key.as_str()).collect();
        let unread = self
            .declared
            .iter()
            .filter(|(key, _)| !self.named.contains(key))
            .map(|(key, place)| format!("{place}: the key `{key}` is declared and never read"));
        let unknown =
            self.read.iter().filter(|(key, _)| !declared.contains(key.as_str())).map(|(key, place)| {
                format!("{place}: the key `{key}` is read and not declared: add it to its object")
            });
        let lists = self
            .lists
            .iter()
            .filter(|(keys, _)| keys.len() >= LIST && keys.iter().all(|key| declared.contains(key.as_str())));
        let lists = lists.map(|(keys, place)| {
            format!("{place}: a list of the keys {}: take them from their declarations", keys.join(", "))
        });
        unread.chain(unknown).chain(lists).collect()
    }

    fn place(&self, literal: &LitStr) -> String {
        format!("{}:{}", self.path, literal.span().start().line)
    }

    fn note_read(&mut self, argument: Option<&Expr>) {
        if let Some(literal) = argument.and_then(text) {
            self.read.push((literal.value(), self.place(literal)));
        }
    }

    fn note_list(&mut self, value: &Expr) {
        let items = match value {
            Expr::Reference(inner) => return self.note_list(&inner.expr),
            Expr::Array(array) => &array.elems,
            _ => return,
        };
        let texts: Vec<&LitStr> = items.iter().filter_map(text).collect();
        if let Some(first) = texts.first().filter(|_| texts.len() == items.len()) {
            self.lists.push((texts.iter().map(|text| text.value()).collect(), self.place(first)));
        }
    }
}

impl Visit<'_> for Keys {
    fn visit_item_fn(&mut self, function: &ItemFn) {
        self.inside_function = true;
        visit::visit_item_fn(self, function);
        self.inside_function = false;
    }

    fn visit_impl_item_fn(&mut self, function: &ImplItemFn) {
        self.inside_function = true;
        visit::visit_impl_item_fn(self, function);
        self.inside_function = false;
    }

    fn visit_item_const(&mut self, item: &ItemConst) {
        self.note_list(&item.expr);
        visit::visit_item_const(self, item);
    }

    fn visit_item_static(&mut self, item: &ItemStatic) {
        self.note_list(&item.expr);
        visit::visit_item_static(self, item);
    }

    fn visit_lit_str(&mut self, literal: &LitStr) {
        if self.inside_function {
            self.named.insert(literal.value());
        }
    }

    fn visit_expr_call(&mut self, call: &ExprCall) {
        let name = match call.func.as_ref() {
            Expr::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()),
            _ => None,
        };
        let name = name.unwrap_or_default();
        if name == DECLARES {
            if let Some(literal) = call.args.first().and_then(text) {
                self.declared.push((literal.value(), self.place(literal)));
            }
            return; // what it says about the key names no key that is read
        }
        if let Some(at) = self.functions.get(&name) {
            self.note_read(call.args.iter().nth(*at));
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_expr_method_call(&mut self, call: &ExprMethodCall) {
        let name = call.method.to_string();
        let at = if LOOKUPS.contains(&name.as_str()) { Some(&0) } else { self.functions.get(&name) };
        if let Some(at) = at {
            self.note_read(call.args.iter().nth(*at));
        }
        visit::visit_expr_method_call(self, call);
    }
}

fn text(argument: &Expr) -> Option<&LitStr> {
    match argument {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}
