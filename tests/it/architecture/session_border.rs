//! The border between a session and the program behind it: what the screen asks is data, not methods and not commands.

use syn::{Item, ItemTrait, TraitItem};

use super::source::Tree;
use super::syntax::{attributes, is_test};

/// Commands of the screen: its questions, and what it does with runs and its own terminal.
const COMMANDS: (&str, &str, usize) = ("src/tui/msg.rs", "UiCommand", 10);

/// What the program implements for a session: a new question is a variant of a request.
const SERVICES: &[(&str, &str)] =
    &[("src/service/session.rs", "SessionService"), ("src/tui/display.rs", "DisplayService")];

/// The other traits of the screen.
const OTHERS: &[(&str, &str)] = &[("src/tui/program/terminal_control.rs", "TerminalControl")];

pub(super) fn check_session_border(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for (source, module) in tree.shipped_modules() {
        let path = source.path.as_str();
        for item in source.file.items.iter().filter(|item| !is_test(attributes(item))) {
            match item {
                Item::Enum(item) if (path, item.ident.to_string().as_str()) == (COMMANDS.0, COMMANDS.1) => {
                    let (name, count, most) = (COMMANDS.1, item.variants.len(), COMMANDS.2);
                    if count > most {
                        found.push(format!(
                            "{path}: {count} variants of `{name}`, at most {most}: a question is a request"
                        ));
                    }
                }
                Item::Trait(item) => found.extend(trait_finding(path, module, item)),
                _ => {}
            }
        }
    }
    found
}

fn trait_finding(path: &str, module: &[String], item: &ItemTrait) -> Option<String> {
    let name = item.ident.to_string();
    if SERVICES.contains(&(path, &name)) {
        let methods = item.items.iter().filter(|item| matches!(item, TraitItem::Fn(_))).count();
        return (methods != 1).then(|| {
            format!("{path}: `{name}` has {methods} methods: a question is a variant of its request")
        });
    }
    let screen = module.first().is_some_and(|member| member == "tui") && !OTHERS.contains(&(path, &name));
    screen.then(|| format!("{path}: `{name}` is one more trait of the screen: ask the service"))
}
