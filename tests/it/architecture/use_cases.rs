//! A use case has one entry: what the service does for all front-ends, none of them asks of the runtime itself. Front-ends
//! import the service and values of the domain.

use std::collections::BTreeSet;

use syn::visit::{self, Visit};
use syn::{Expr, ExprMethodCall, Member};

use super::edges::Paths;
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
    // pausing and ending
    "pause",
    "cancel",
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
    "restore_snapshot",
    "lock_files",
    // the index
    "build_index",
];

/// A front-end imports `service` and `domain`. What it still imports besides, with the reason; a row goes when its last
/// import does.
pub(super) const STILL_IMPORTED: &[ImportRow<'_>] = &[
    ("cli", &["runtime::command", "runtime::handle", "engine::event"], "it follows a run by its events"),
    ("cli", &["engine::input", "engine::trace"], "it puts events and graphs of runs into words"),
    ("cli", &["engine::steering"], "breakpoints are typed"),
    ("cli", &["runtime::resume_tokens"], "the lifetime of a token is told"),
    (
        "cli",
        &["language::cost_estimate", "language::graph", "language::render", "language::test_file"],
        "it draws and prices definitions, and compares runs with tests",
    ),
    ("cli", &["settings::models"], "it lists models"),
    (
        "tui",
        &["runtime::command", "runtime::handle", "runtime::network_access", "engine::event"],
        "it follows runs by their events and steers them",
    ),
    ("tui", &["runtime::preview"], "it shows the end of a long run"),
    (
        "tui",
        &["engine::effect", "engine::input", "engine::steering", "engine::trace"],
        "it asks the questions of a run and takes the answers",
    ),
    (
        "tui",
        &[
            "language::did_you_mean",
            "language::graph",
            "language::json",
            "language::model_selector",
            "language::source",
        ],
        "it edits and draws definitions",
    ),
    ("tui", &["settings::models", "settings::schema", "settings::setup"], "it edits settings"),
    (
        "mcp",
        &["runtime::delegated_calls", "runtime::task_queue", "engine::machine"],
        "clients do model calls and tasks of runs",
    ),
    (
        "mcp",
        &["runtime::command", "runtime::handle", "engine::event", "engine::steering"],
        "it follows runs by their events and steers them",
    ),
    (
        "mcp",
        &["runtime::resume_tokens", "engine::answer_validation", "engine::input"],
        "it gives tokens for questions",
    ),
    ("mcp", &["language::inputs"], "it reads the input of a workflow"),
];

/// A front-end, modules of other members, and why it imports them.
pub(super) type ImportRow<'a> = (&'a str, &'a [&'a str], &'a str);

/// Members that show and parse.
const FRONT_ENDS: &[&str] = &["cli", "tui", "mcp"];

/// What they may import.
const OPEN_TO_ALL: &[&str] = &["domain", "service"];

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

pub(super) fn check_front_end_imports(tree: &Tree, exempt: &[ImportRow<'_>]) -> Vec<String> {
    let allowed = |member: &str, module: &str| {
        exempt.iter().any(|(front, modules, _)| *front == member && modules.contains(&module))
    };
    let (mut found, mut used) = (Vec::new(), BTreeSet::new());
    for (source, module) in tree.shipped_modules() {
        let Some(member) = module.first().filter(|member| FRONT_ENDS.contains(&member.as_str())) else {
            continue;
        };
        for edge in Paths::from_source(source, module).edges {
            let Some([other, inner, ..]) = edge.target.as_deref() else { continue };
            if other == member || OPEN_TO_ALL.contains(&other.as_str()) {
                continue;
            }
            let imported = format!("{other}::{inner}");
            if !allowed(member, &imported) {
                let (path, line) = (&source.path, edge.line);
                found.push(format!("{path}:{line}: {member} must not import {imported}: ask the service"));
            }
            used.insert((member.clone(), imported));
        }
    }
    for (member, modules, _) in exempt {
        let idle =
            modules.iter().filter(|module| !used.contains(&((*member).to_owned(), (**module).to_owned())));
        found
            .extend(idle.map(|module| format!("{member} does not import {module} any more: remove its row")));
    }
    found.sort();
    found.dedup();
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
