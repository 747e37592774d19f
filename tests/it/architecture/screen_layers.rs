//! One list orders the layers of the screen: no other file looks at the field of a layer to find out what is in front.

use syn::visit::{self, Visit};
use syn::{Expr, ExprField, ExprMethodCall, Member};

use super::source::Tree;
use super::syntax::{attributes, is_test};

/// A field of `UiModel` that holds a layer, and how the paths of the files begin that may use it.
const LAYER_FIELDS: &[(&str, &[&str])] = &[
    ("setup", &["src/tui/update/setup.rs", "src/tui/view/setup.rs"]),
    ("edit", &["src/tui/update/editor", "src/tui/view/editor"]),
    ("history_browser", &["src/tui/update/history_browser", "src/tui/view/history_browser"]),
    (
        "key_help",
        &[
            "src/tui/update.rs",
            "src/tui/update/key_help.rs",
            "src/tui/update/layer_input.rs",
            "src/tui/view/key_help.rs",
        ],
    ),
];

/// Files that answer, show or change the question in front.
const QUESTION_FILES: &[&str] = &[
    "src/tui/line_mode",
    "src/tui/update/answer_words.rs",
    "src/tui/update/approvals.rs",
    "src/tui/update/dialog_keys.rs",
    "src/tui/update/draft_keys.rs",
    "src/tui/update/key_help.rs",
    "src/tui/update/question_keys.rs",
    "src/tui/update/question_replies.rs",
    "src/tui/update/session_keys.rs",
    "src/tui/update/withdrawn_dialog.rs",
    "src/tui/view/dialog.rs",
];

pub(super) fn check_screen_layers(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for (source, module) in tree.shipped_modules() {
        let path = source.path.as_str();
        if module.first().is_none_or(|member| member != "tui") || path == "src/tui/layers.rs" {
            continue;
        }
        let mut uses = LayerUses { path, found: Vec::new() };
        for item in source.file.items.iter().filter(|item| !is_test(attributes(item))) {
            uses.visit_item(item);
        }
        let message = |(line, what): &(usize, String)| {
            format!("{path}:{line}: `model.{what}` tells what is in front: ask the list in src/tui/layers.rs")
        };
        found.extend(uses.found.iter().map(message));
    }
    found
}

struct LayerUses<'a> {
    path: &'a str,
    found: Vec<(usize, String)>,
}

impl LayerUses<'_> {
    fn is_below(&self, places: &[&str]) -> bool {
        places.iter().any(|place| self.path.starts_with(place))
    }
}

impl Visit<'_> for LayerUses<'_> {
    fn visit_expr_field(&mut self, expr: &ExprField) {
        let name = model_field(expr);
        let owners = LAYER_FIELDS.iter().find(|(field, _)| name.as_deref() == Some(*field));
        if let Some((field, owners)) = owners
            && !self.is_below(owners)
        {
            self.found.push((expr.dot_token.spans[0].start().line, field.to_string()));
        }
        visit::visit_expr_field(self, expr);
    }

    fn visit_expr_method_call(&mut self, call: &ExprMethodCall) {
        if let Expr::Field(field) = call.receiver.as_ref()
            && model_field(field).as_deref() == Some("dialogs")
            && (call.method == "front" || call.method == "front_mut")
            && !self.is_below(QUESTION_FILES)
        {
            self.found.push((call.method.span().start().line, format!("dialogs.{}()", call.method)));
        }
        visit::visit_expr_method_call(self, call);
    }
}

/// `setup` of `model.setup` and `self.model.setup`.
fn model_field(expr: &ExprField) -> Option<String> {
    let is_model = match expr.base.as_ref() {
        Expr::Path(path) => path.path.is_ident("model"),
        Expr::Field(base) => matches!(&base.member, Member::Named(name) if name == "model"),
        _ => false,
    };
    match &expr.member {
        Member::Named(name) if is_model => Some(name.to_string()),
        Member::Named(_) | Member::Unnamed(_) => None,
    }
}
