//! `keyboard.json`: other keys for actions, checked against everything else that the keys mean.
//!
//! A finding leaves the action its built-in keys; nothing here stops the program.

use std::ops::Range;

use super::{ACTIONS, KeyBindingOrigin, KeyBindingScope, KeyBindings, KeyChord};
use synthdev_domain::diagnostic::Diagnostic;
use synthdev_service::definition_views::did_you_mean::suggest_or_list;
use synthdev_service::definition_views::json::JsonNode;
use synthdev_service::definition_views::source::{FileDiagnostics, SourceFile};

/// Beside the user's settings.json. Not keys.json: that holds the keys of providers.
pub const FILE: &str = "keyboard.json";

/// A binding as it was written.
struct KeyBindingOverride {
    action: usize,
    chords: Vec<(KeyChord, Range<usize>)>,
}

/// The keys with what the file changes, and what is wrong with the file.
pub fn read_keyboard_file(file: &SourceFile) -> (KeyBindings, Vec<Diagnostic>) {
    let mut findings = FileDiagnostics::new(file);
    let mut keymap = KeyBindings::default();
    let Some(root) = JsonNode::parse(file, &mut findings) else { return (keymap, findings.list) };
    let Some(members) = root.members() else {
        let found = format!("must be an object of actions and keys, found {}", root.kind_name());
        findings.add_error("K01", root.span.clone(), found, None);
        return (keymap, findings.list);
    };
    let mut wanted: Vec<KeyBindingOverride> = Vec::new();
    for member in members.iter().filter(|member| member.key != "$schema") {
        let Some(action) = ACTIONS.iter().position(|row| row.name == member.key) else {
            let names: Vec<&str> = ACTIONS.iter().map(|row| row.name).collect();
            let message = format!("there is no action `{}`", member.key);
            let hint = suggest_or_list(&member.key, "actions", &names);
            findings.add_error("K01", member.key_span.clone(), message, hint);
            continue;
        };
        if ACTIONS[action].is_fixed {
            let message = format!("the key of `{}` cannot be changed", member.key);
            findings.add_error("K02", member.key_span.clone(), message, None);
            continue;
        }
        if let Some(chords) = read_chords(action, &member.value, &mut findings) {
            wanted.push(KeyBindingOverride { action, chords });
        }
    }
    let mut free = without_conflicts(wanted, &mut findings);
    take_from_built_in(&mut keymap, &mut free, &mut findings);
    for KeyBindingOverride { action, chords } in free {
        let chords = chords.into_iter().map(|(chord, _)| chord).collect();
        keymap.keys[action] = (chords, KeyBindingOrigin::File(file.name.clone()));
    }
    (keymap, findings.list)
}

/// The chords of one action; `None`: one cannot be used, and the built-in keys stay.
fn read_chords(
    action: usize,
    value: &JsonNode,
    findings: &mut FileDiagnostics<'_>,
) -> Option<Vec<(KeyChord, Range<usize>)>> {
    let items: Vec<&JsonNode> = match value.items() {
        Some(items) => items.iter().collect(),
        None => vec![value],
    };
    let row = &ACTIONS[action];
    let mut chords = Vec::new();
    for item in items {
        let read = item.as_str().ok_or_else(|| format!("a key must be a text, found {}", item.kind_name()));
        let read = read.and_then(KeyChord::parse).and_then(|chord| match chord {
            chord if chord.is_text() && !row.binding_scope.accepts_letters() => {
                Err(format!("`{chord}` would be typed: use it with Ctrl or Alt"))
            }
            chord if is_reserved(chord, row.binding_scope) => {
                Err(format!("`{chord}` has a meaning that cannot be changed"))
            }
            chord => Ok(chord),
        });
        match read {
            Ok(chord) => chords.push((chord, item.span.clone())),
            Err(message) => {
                findings.add_error("K03", item.span.clone(), message, None);
                return None;
            }
        }
    }
    Some(chords)
}

/// Keys that stop, leave and send there.
fn is_reserved(chord: KeyChord, place: KeyBindingScope) -> bool {
    let there = ACTIONS.iter().filter(|row| {
        row.is_fixed && (row.binding_scope == KeyBindingScope::Editor) == (place == KeyBindingScope::Editor)
    });
    let fixed = there.flat_map(|row| row.keys).copied();
    fixed
        .chain(if place == KeyBindingScope::Editor { "Enter" } else { "Ctrl+C" }.split_whitespace())
        .any(|key| KeyChord::parse(key) == Ok(chord))
}

/// Of two actions that want one key in one place, the first gets it.
fn without_conflicts(
    wanted: Vec<KeyBindingOverride>,
    findings: &mut FileDiagnostics<'_>,
) -> Vec<KeyBindingOverride> {
    let mut free: Vec<KeyBindingOverride> = Vec::new();
    for mut one in wanted {
        let place = ACTIONS[one.action].binding_scope;
        one.chords.retain(|(chord, span)| {
            let taken = free.iter().find(|other| {
                ACTIONS[other.action].binding_scope.overlaps_with(place)
                    && other.chords.iter().any(|(key, _)| key == chord)
            });
            if let Some(other) = taken {
                let message = format!("{chord} is already the key of `{}`", ACTIONS[other.action].name);
                findings.add_error(
                    "K04",
                    span.clone(),
                    message,
                    Some("give each a key of its own".to_owned()),
                );
            }
            taken.is_none()
        });
        free.push(one);
    }
    free
}

/// A key that the file assigns elsewhere is removed from its built-in action; a note says so.
fn take_from_built_in(
    keymap: &mut KeyBindings,
    free: &mut [KeyBindingOverride],
    findings: &mut FileDiagnostics<'_>,
) {
    for one in free.iter() {
        let place = ACTIONS[one.action].binding_scope;
        for (at, row) in ACTIONS.iter().enumerate() {
            let theirs = free.iter().any(|other| other.action == at);
            if theirs || !row.binding_scope.overlaps_with(place) {
                continue;
            }
            keymap.keys[at].0.retain(|key| {
                let taken = one.chords.iter().find(|(chord, _)| chord == key);
                if let Some((chord, span)) = taken {
                    let message =
                        format!("{chord} is now `{}` and no longer `{}`", ACTIONS[one.action].name, row.name);
                    let hint = format!("\"{}\": [\"…\"] gives that another key", row.name);
                    findings.add_warning("K05", span.clone(), message, Some(hint));
                }
                taken.is_none()
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keymap::{KeyAction, KeyFocusState};
    use crate::layout::PaneKind;
    use synthdev_domain::source_location::ConfigLayer;

    fn keys_from_text(text: &str) -> (KeyBindings, Vec<String>) {
        let (keymap, found) =
            read_keyboard_file(&SourceFile::new(ConfigLayer::User, "user:keyboard.json", text));
        (keymap, found.into_iter().map(|one| format!("{} {}", one.code, one.message)).collect())
    }

    #[test]
    fn a_file_changes_keys_or_says_why_not() {
        let check = |text: &str, expected: &[&str]| {
            let (_, found) = keys_from_text(text);
            assert_eq!(found.len(), expected.len(), "{text}: {found:?}");
            for (found, expected) in found.iter().zip(expected) {
                assert!(found.contains(expected), "{text}: {found} instead of {expected}");
            }
        };
        check("{}", &[]);
        check("{\"graph\": [\"Alt+G\", \"F3\"], \"costs\": \"Alt+C\", \"zoom\": []}", &[]);
        check("{\"grph\": [\"Alt+G\"]}", &["K01 there is no action `grph`"]);
        check("[]", &["K01 must be an object"]);
        check("{", &["C01"]);
        check("{\"graph\": [\"Alt+Gx\"]}", &["K03 there is no key `Gx`"]);
        check("{\"graph\": [\"g\"]}", &["K03 `g` would be typed"]);
        check("{\"graph\": [3]}", &["K03 a key must be a text"]);
        check("{\"stop\": [\"Alt+S\"]}", &["K02 the key of `stop` cannot be changed"]);
        check("{\"graph\": [\"Ctrl+C\"]}", &["K03 `Ctrl+C` has a meaning"]);
        check("{\"graph\": \"Alt+G\", \"costs\": \"Alt+G\"}", &["K04 Alt+G is already the key of `graph`"]);
        check("{\"graph\": \"Alt+3\"}", &["K05 Alt+3 is now `graph` and no longer `agents`"]);
        check("{\"graph\": \"Alt+3\", \"agents\": \"Alt+2\"}", &[]);
        check("{\"copy\": \"c\", \"search\": \"s\"}", &[]);
        check("{\"editor_save\": \"Alt+2\"}", &[]);
        check("{\"editor_save\": \"Ctrl+Q\"}", &["K03 `Ctrl+Q` has a meaning"]);
        check(
            "{\"editor_save\": \"Ctrl+F\"}",
            &["K05 Ctrl+F is now `editor_save` and no longer `editor_find`"],
        );
        check(
            "{\"text_undo\": \"Ctrl+R\"}",
            &["K05 Ctrl+R is now `text_undo` and no longer `search_history`"],
        );
    }

    #[test]
    fn keys_of_the_file_are_used() {
        let (keymap, _) =
            keys_from_text("{\"graph\": [\"Alt+G\"], \"costs\": [\"Alt+3\"], \"data\": [\"bad\"]}");
        let meant = |key: &str| keymap.action(KeyChord::parse(key).unwrap(), KeyFocusState::default());
        assert_eq!(meant("Alt+G"), Some(KeyAction::Show(PaneKind::Graph)));
        assert_eq!(meant("Alt+2"), None, "its built-in key is gone");
        assert_eq!(meant("Alt+3"), Some(KeyAction::Show(PaneKind::Costs)));
        assert_eq!(meant("F4"), Some(KeyAction::Show(PaneKind::Agents)), "its other key stays");
        assert_eq!(meant("Alt+4"), Some(KeyAction::Show(PaneKind::Data)), "a bad line changes nothing");
        assert!(keymap.table().contains("user:keyboard.json"));
        let (broken, _) = keys_from_text("{\"graph\": ");
        assert_eq!(
            broken.action(KeyChord::parse("Alt+2").unwrap(), KeyFocusState::default()),
            Some(KeyAction::Show(PaneKind::Graph))
        );
    }
}
