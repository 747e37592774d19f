//! Small questions about syntax that several checks ask.

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ExprCall, Item, Lit, Meta};

pub(super) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Whether this is only compiled for tests.
pub(super) fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let Meta::List(list) = &attribute.meta else { return attribute.path().is_ident("test") };
        list.path.is_ident("cfg") && names(&list.tokens, "test") && !names(&list.tokens, "not")
    })
}

/// Whether the name occurs anywhere in the tokens.
pub(super) fn names(tokens: &TokenStream, name: &str) -> bool {
    flatten_tokens(tokens).iter().any(|token| matches!(token, TokenTree::Ident(ident) if ident == name))
}

/// All tokens in order, groups opened.
pub(super) fn flatten_tokens(tokens: &TokenStream) -> Vec<TokenTree> {
    let mut all = Vec::new();
    for token in tokens.clone() {
        if let TokenTree::Group(group) = &token {
            let inner = flatten_tokens(&group.stream());
            all.push(token);
            all.extend(inner);
        } else {
            all.push(token);
        }
    }
    all
}

pub(super) fn is_punct(token: Option<&TokenTree>, mark: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == mark)
}

/// First arguments of `owner::function(…)` that are texts; code under `#[cfg(test)]` left out.
pub(super) fn first_literals(file: &syn::File, owner: &str, function: &str) -> Vec<String> {
    let mut calls = Calls { owner, function, findings: Vec::new() };
    calls.visit_file(file);
    calls.findings
}

struct Calls<'a> {
    owner: &'a str,
    function: &'a str,
    findings: Vec<String>,
}

impl<'ast> Visit<'ast> for Calls<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_expr_call(&mut self, call: &'ast ExprCall) {
        if let Expr::Path(path) = call.func.as_ref()
            && path
                .path
                .segments
                .iter()
                .map(|segment| segment.ident.to_string())
                .eq([self.owner, self.function])
            && let Some(Expr::Lit(literal)) = call.args.first()
            && let Lit::Str(text) = &literal.lit
        {
            self.findings.push(text.value());
        }
        visit::visit_expr_call(self, call);
    }
}
