//! A use case has one entry: what the service does for all front-ends, none of them asks of the runtime itself.

use syn::visit::{self, Visit};
use syn::{Expr, ExprMethodCall, Member};

use super::source::Tree;
use super::syntax::{attributes, is_test};

/// Methods of `RuntimeHandle` behind a use case of the service.
const BEHIND_SERVICE: &[&str] = &[
    // time travel
    "undo",
    "rewind",
    "fork",
    "step_with_files",
    "concurrent_states_after",
    "data_before",
    // reading runs
    "steps",
    "find_step",
    "explain_step",
    "verify_replay",
    "inspect_call",
    "context_statistics",
    "diff_runs",
    // pausing and ending
    "pause",
    "cancel",
    "send_command",
    // resuming
    "resume",
    "redeem",
    "open_pauses",
    "try_upgrade",
    "agents_answered_before_rewind",
    // lists and searches
    "find_runs",
    "list_runs",
    "search",
    // a run as a file
    "export",
    "import",
    // starting
    "start",
    "start_as",
    "ensure_files_consistent",
    // stored files, worktrees
    "accept_present_files",
    "take_within_limits",
    "restore_snapshot",
    "lock_files",
    "with_lock_timing",
    "with_shared_lock",
    // the index
    "build_index",
];

/// Members that may call them.
const SERVED_BY: &[&str] = &["service", "runtime"];

pub(super) fn check_use_cases(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for (source, module) in tree.shipped_modules() {
        if module.first().is_some_and(|member| SERVED_BY.contains(&member.as_str())) {
            continue;
        }
        let mut calls = HandleCalls::default();
        for item in source.file.items.iter().filter(|item| !is_test(attributes(item))) {
            calls.visit_item(item);
        }
        let path = &source.path;
        found.extend(calls.found.into_iter().map(|(line, method)| {
            format!("{path}:{line}: `{method}` of the runtime is a use case: call the service")
        }));
    }
    found
}

/// Calls on something that is called a handle.
#[derive(Default)]
struct HandleCalls {
    found: Vec<(usize, String)>,
}

impl Visit<'_> for HandleCalls {
    fn visit_expr_method_call(&mut self, call: &ExprMethodCall) {
        let method = call.method.to_string();
        if last_name(&call.receiver).as_deref() == Some("handle") && BEHIND_SERVICE.contains(&method.as_str())
        {
            self.found.push((call.method.span().start().line, method));
        }
        visit::visit_expr_method_call(self, call);
    }
}

/// `handle` of `self.wired.handle`, `handle` and `wired.handle()`.
fn last_name(receiver: &Expr) -> Option<String> {
    match receiver {
        Expr::Field(field) => match &field.member {
            Member::Named(name) => Some(name.to_string()),
            Member::Unnamed(_) => None,
        },
        Expr::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()),
        Expr::MethodCall(call) => Some(call.method.to_string()),
        Expr::Reference(reference) => last_name(&reference.expr),
        Expr::Paren(inner) => last_name(&inner.expr),
        _ => None,
    }
}
