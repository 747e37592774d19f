//! What can be written at a place of a file: keys and words of its schema, names of the file and of the catalogue.

use serde_json::Value;

use super::json_tree::{EditorJsonPosition, EditorJsonSlot, EditorJsonStep, EditorJsonTree};
use super::schema_lookup::SchemaLookup;
use synthdev_domain::run_error::ERROR_NAMES;
use synthdev_service::session::{CatalogSymbols, EditFileKind};

/// Most candidates that are kept: a longer list is not read.
const MOST: usize = 200;

/// Something that can be put in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EditorCandidate {
    pub label: String,
    pub description: String,
    /// Replaces the text of the range.
    pub text: String,
}

/// The candidates at a place, and the bytes that one takes the place of.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EditorCompletion {
    pub start: usize,
    pub end: usize,
    pub list: Vec<EditorCandidate>,
    pub selected: usize,
}

/// What fits at byte `at`; `None`: nothing is known.
pub fn complete_at(
    text: &str,
    at: usize,
    schema: &Value,
    known: &CatalogSymbols,
    what: EditFileKind,
) -> Option<EditorCompletion> {
    let tree = EditorJsonTree::parse_text(text);
    let empty = EditorJsonTree::Other { range: 0..0 };
    let spot = tree.as_ref().unwrap_or(&empty).position_at(at);
    let written = text.get(spot.range.start.min(at)..at).unwrap_or_default();
    if spot.slot == EditorJsonSlot::Value
        && written.starts_with('"')
        && let Some(offer) = in_script(written, at, tree.as_ref(), known)
    {
        return Some(offer);
    }
    let typed = written.trim_start_matches('"').to_lowercase();
    let meaning = SchemaLookup::at_path(schema, tree.as_ref(), &spot.path, &spot.enclosing);
    let mut list = match spot.slot {
        EditorJsonSlot::Key => key_candidates(&meaning, &spot, text),
        EditorJsonSlot::Value => value_candidates(&meaning, &spot, tree.as_ref(), known, what),
    };
    list.retain(|candidate| candidate.label.to_lowercase().contains(&typed));
    list.sort_by_key(|candidate| !candidate.label.to_lowercase().starts_with(&typed));
    list.truncate(MOST);
    (!list.is_empty()).then_some(EditorCompletion {
        start: spot.range.start,
        end: spot.range.end.min(text.len()),
        list,
        selected: 0,
    })
}

/// The description at byte `at`: of a key, or of the key of a value.
pub fn describe_at(text: &str, at: usize, schema: &Value) -> Option<String> {
    let tree = EditorJsonTree::parse_text(text)?;
    let mut spot = tree.position_at(at);
    let mut here = spot.enclosing.last().map(|object| object.entries()).unwrap_or_default().iter();
    let key = here.find(|entry| entry.key_range == spot.range).filter(|_| spot.slot == EditorJsonSlot::Key);
    // between keys it is the object itself
    spot.path.extend(key.map(|entry| EditorJsonStep::Key(entry.key.clone())));
    let last = spot.path.iter().rev().find_map(|step| match step {
        EditorJsonStep::Key(key) => Some(key.clone()),
        EditorJsonStep::Item => None,
    })?;
    let meaning = SchemaLookup::at_path(schema, Some(&tree), &spot.path, &spot.enclosing);
    meaning.description().map(|about| format!("{last}: {about}"))
}

fn key_candidates(
    meaning: &SchemaLookup<'_>,
    spot: &EditorJsonPosition<'_>,
    text: &str,
) -> Vec<EditorCandidate> {
    let here = text.get(spot.range.clone()).unwrap_or_default().trim_matches('"');
    let colon = if spot.has_colon { "" } else { ": " };
    let fits = meaning.missing_keys(spot.enclosing.last().copied(), Some(here)).into_iter();
    fits.map(|fit| EditorCandidate {
        text: format!("\"{}\"{colon}", fit.word),
        description: if fit.required { format!("needed · {}", fit.description) } else { fit.description },
        label: fit.word,
    })
    .collect()
}

fn value_candidates(
    meaning: &SchemaLookup<'_>,
    spot: &EditorJsonPosition<'_>,
    tree: Option<&EditorJsonTree>,
    known: &CatalogSymbols,
    what: EditFileKind,
) -> Vec<EditorCandidate> {
    let words = meaning.values().into_iter().map(|fit| EditorCandidate {
        label: fit.word.trim_matches('"').to_owned(),
        text: fit.word,
        description: fit.description,
    });
    let names = name_candidates(&spot.path, tree, known, what).into_iter().map(|(name, about)| {
        EditorCandidate { text: Value::String(name.clone()).to_string(), label: name, description: about }
    });
    let mut list: Vec<EditorCandidate> = Vec::new();
    for candidate in names.chain(words) {
        if !list.iter().any(|one| one.label == candidate.label) {
            list.push(candidate);
        }
    }
    list
}

/// Names that a value of this key can be, with a word about each.
fn name_candidates(
    path: &[EditorJsonStep],
    tree: Option<&EditorJsonTree>,
    known: &CatalogSymbols,
    what: EditFileKind,
) -> Vec<(String, String)> {
    let last = path.iter().rev().find_map(|step| match step {
        EditorJsonStep::Key(key) => Some(key.as_str()),
        EditorJsonStep::Item => None,
    });
    let in_agents = path.iter().any(|step| *step == EditorJsonStep::Key("agents".to_owned()));
    match last.unwrap_or_default() {
        "target" | "on_limit" | "on_timeout" | "on_error" | "on_no_match" => {
            names_in_list(tree, "states", "name", "state")
        }
        "agent" if what == EditFileKind::Workflow => agent_names(tree),
        "context" if in_agents => names_in_list(tree, "contexts", "name", "context"),
        "agent_role" => known.roles.clone(),
        "sub_workflow" => known.workflows.clone(),
        "errors" => error_names(tree),
        "tool" => {
            let mut all = used_tools(tree);
            all.extend(known.tools.iter().map(|tool| (tool.name.clone(), tool.description.clone())));
            all
        }
        "included_tools" | "excluded_tools" | "includedTools" | "excludedTools" => {
            known.tools.iter().map(|tool| (tool.name.clone(), tool.description.clone())).collect()
        }
        _ => Vec::new(),
    }
}

/// What the objects of every list of this name are called.
fn names_in_list(tree: Option<&EditorJsonTree>, list: &str, key: &str, word: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    if let Some(tree) = tree {
        tree.for_each_object("", &mut |at, object| {
            let name = object.get(key).and_then(EditorJsonTree::text).filter(|_| at == list);
            if let Some(name) = name.filter(|name| !found.iter().any(|(known, _)| known == name)) {
                found.push((name.to_owned(), word.to_owned()));
            }
        });
    }
    if list == "states" && !found.iter().any(|(name, _)| name == "stop") {
        found.push(("stop".to_owned(), "the end".to_owned()));
    }
    found
}

/// Every name of an error, the kinds of them, and those of the file's own `fail` states.
fn error_names(tree: Option<&EditorJsonTree>) -> Vec<(String, String)> {
    let row = |name: &str, about: &str| (name.to_owned(), about.to_owned());
    let mut kinds: Vec<&str> = ERROR_NAMES.iter().filter_map(|name| Some(name.split_once('.')?.0)).collect();
    kinds.dedup();
    let mut found = vec![row("*", "every error")];
    found.extend(kinds.iter().map(|kind| row(&format!("{kind}.*"), "every error of this kind")));
    if let Some(tree) = tree {
        tree.for_each_object("", &mut |at, object| {
            let is_fail = object.get("type").and_then(EditorJsonTree::text) == Some("fail");
            let name =
                object.get("error").and_then(EditorJsonTree::text).filter(|_| at == "states" && is_fail);
            found.extend(name.map(|name| row(name, "of this file")));
        });
    }
    found.extend(ERROR_NAMES.iter().map(|name| row(name, "error")));
    found
}

fn agent_names(tree: Option<&EditorJsonTree>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    if let Some(tree) = tree {
        tree.for_each_object("", &mut |at, object| {
            let name = object.get("name").or_else(|| object.get("agent_role")).and_then(EditorJsonTree::text);
            if let Some(name) = name.filter(|_| at == "agents") {
                let role = object.get("agent_role").and_then(EditorJsonTree::text).unwrap_or_default();
                found.push((name.to_owned(), format!("agent, role {role}")));
            }
        });
    }
    found
}

/// Calls of tools with a name of their own.
fn used_tools(tree: Option<&EditorJsonTree>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    if let Some(tree) = tree {
        tree.for_each_object("", &mut |at, object| {
            if at == "use"
                && let Some(tools) = object.get("tools")
            {
                found.extend(
                    tools.entries().iter().map(|entry| (entry.key.clone(), "of `use.tools`".to_owned())),
                );
            }
        });
    }
    found
}

/// Inside a script: what follows `function.` and `common_data.`.
fn in_script(
    written: &str,
    at: usize,
    tree: Option<&EditorJsonTree>,
    known: &CatalogSymbols,
) -> Option<EditorCompletion> {
    let chain_from = written
        .rfind(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.')))
        .map_or(0, |at| at + written[at..].chars().next().map_or(1, char::len_utf8));
    let chain: Vec<&str> = written[chain_from..].split('.').collect();
    let chain = if chain.first() == Some(&"this") { &chain[1..] } else { &chain[..] };
    let plain = |names: &[String], about: &str| -> Vec<(String, String)> {
        names.iter().map(|name| (name.clone(), about.to_owned())).collect()
    };
    let all: Vec<(String, String)> = match chain {
        ["function", _] => {
            known.function_tools().map(|tool| (tool.name.clone(), tool.description.clone())).collect()
        }
        ["function", _, _] => vec![("arguments".to_owned(), "what it was called with".to_owned())],
        ["function", name, "arguments", _] => {
            let tool = known.function_tools().find(|tool| tool.name == *name)?;
            plain(&tool.arguments, "argument")
        }
        ["common_data", _] => data_names(tree),
        _ => return None,
    };
    let typed = chain.last().copied().unwrap_or_default();
    let fitting = all.into_iter().filter(|(name, _)| name.to_lowercase().starts_with(&typed.to_lowercase()));
    let list: Vec<EditorCandidate> = fitting
        .map(|(name, about)| EditorCandidate { label: name.clone(), description: about, text: name })
        .take(MOST)
        .collect();
    (!list.is_empty()).then_some(EditorCompletion { start: at - typed.len(), end: at, list, selected: 0 })
}

/// Variables and inputs.
fn data_names(tree: Option<&EditorJsonTree>) -> Vec<(String, String)> {
    let mut found = names_in_list(tree, "input", "name", "input");
    if let Some(tree) = tree {
        tree.for_each_object("", &mut |_, object| {
            let variables = object.get("variables").map(EditorJsonTree::entries).unwrap_or_default();
            found.extend(variables.iter().map(|entry| (entry.key.clone(), "variable".to_owned())));
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use synthdev_service::session::ToolSymbol;
    use synthdev_service::setting_values::schema::FileSchema;

    fn catalog_symbols() -> CatalogSymbols {
        let tool = |name: &str, arguments: &[&str]| ToolSymbol {
            name: name.into(),
            description: "a tool".into(),
            arguments: arguments.iter().map(|name| (*name).to_owned()).collect(),
        };
        CatalogSymbols {
            roles: vec![("coder".into(), "writes".into())],
            workflows: vec![("plan".into(), String::new())],
            tools: vec![tool("read_file", &["path"])],
            parsing: vec![tool("review_work", &["improvement_needed", "work_summary"])],
        }
    }

    fn offered_words(marked: &str, schema: FileSchema) -> Vec<String> {
        let at = marked.find('|').unwrap();
        let text = marked.replace('|', "");
        let what = if schema == FileSchema::Role { EditFileKind::Role } else { EditFileKind::Workflow };
        let offer = complete_at(&text, at, &schema.value(), &catalog_symbols(), what).unwrap_or_default();
        offer.list.into_iter().map(|candidate| candidate.text).collect()
    }

    #[test]
    fn keys_words_and_names_are_offered_where_they_fit() {
        let check = |marked: &str, expected: &[&str]| {
            assert_eq!(offered_words(marked, FileSchema::Workflow), expected, "{marked}");
        };
        check("{\"workflow_na|\"}", &["\"workflow_name\": "]);
        check("{\"limi|\": {}}", &["\"limits\"", "\"on_limit\""]);
        check("{\"start_condition\": |}", &["\"immediate\"", "\"on_user_input\""]);
        check("{\"start_condition\": \"on|\"}", &["\"on_user_input\""]);
        check("{\"lenient\": t|}", &["true"]);
        check("{\"contexts\": [{\"na|", &["\"name\": "]);
        check(
            "{\"states\": [{\"name\": \"go\", \"transition\": [{\"target\": \"|\"}]}]}",
            &["\"go\"", "\"stop\""],
        );
        check("{\"agents\": [{\"agent_role\": \"|\"}]}", &["\"coder\""]);
        check("{\"contexts\": [{\"name\": \"c\"}], \"agents\": [{\"context\": |}]}", &["\"c\""]);
        check(
            "{\"agents\": [{\"agent_role\": \"coder\", \"name\": \"bob\"}], \"states\": [{\"agent\": \"|\"}]}",
            &["\"bob\""],
        );
        check("{\"agents\": [{\"included_tools\": [\"r|\"]}]}", &["\"read_file\""]);
        check("{\"states\": [{\"type\": \"parallel\", \"bran|\"}]}", &["\"branches\": "]);
        check("{\"states\": [{\"type\": \"foreach\", \"bran|\"}]}", &[]);
        check("[{\"workflow_name\": \"x\", \"descr|\"}]", &["\"description\": "]);
        check("{\"states\": [{\"retry\": {\"errors\": [\"tool.f|\"]}}]}", &["\"tool.failed\""]);
        check("{\"states\": [{\"retry\": [{\"errors\": \"model.*|\"}]}]}", &["\"model.*\""]);
        check(
            "{\"states\": [{\"type\": \"fail\", \"error\": \"out_of_milk\"}, {\"catch\": {\"errors\": [\"out_|\"]}}]}",
            &["\"out_of_milk\""],
        );
        check("|", &[]);
    }

    #[test]
    fn scripts_know_functions_and_data() {
        let check = |script: &str, expected: &[&str]| {
            let text = format!(
                "{{\"input\": {{\"name\": \"task\"}}, \"variables\": {{\"tries\": 0}}, \
                 \"states\": [{{\"transition\": [{{\"condition\": \"{script}\"}}]}}]}}"
            );
            assert_eq!(offered_words(&text, FileSchema::Workflow), expected, "{script}");
        };
        check("!function.re|", &["review_work", "read_file"]);
        check("function.review_work.a|", &["arguments"]);
        check("function.review_work.arguments.w|", &["work_summary"]);
        check("this.common_data.|", &["task", "tries"]);
        check("function.none.arguments.|", &[]);
        check("é common_data.tr|", &["tries"]);
    }

    #[test]
    fn roles_have_their_own_keys() {
        assert_eq!(offered_words("{\"mine\": {\"lev|\"}}", FileSchema::Role), ["\"level\": "]);
        assert_eq!(
            offered_words("{\"mine\": {\"level\": \"s|\"}}", FileSchema::Role),
            ["\"smart\"", "\"base\"", "\"fast\""]
        );
        assert_eq!(
            offered_words("{\"mine\": {\"includedTools\": [|]}}", FileSchema::Role),
            ["\"read_file\""]
        );
    }

    #[test]
    fn keys_and_values_are_described() {
        let schema = FileSchema::Workflow.value();
        let check = |marked: &str, expected: &str| {
            let at = marked.find('|').unwrap();
            let found = describe_at(&marked.replace('|', ""), at, &schema).unwrap_or_default();
            assert!(
                found.starts_with(expected) && !expected.is_empty() || found == expected,
                "{marked}: {found}"
            );
        };
        check("{\"limi|ts\": {}}", "limits: How far a run may go");
        check("{\"limits\": {\"max_steps\": 1|0}}", "max_steps: States visited; each branch");
        check("{\"states\": [{\"transition\": [{\"tar|get\": \"x\"}]}]}", "target: ");
        check("{\"start_condition\": \"imm|\"}", "start_condition: When a workflow that was chosen begins");
        check("{\"none\": |1}", "");
        check("|{}", "");
        check("{\"limits\": {|}}", "limits: How far");
    }
}
