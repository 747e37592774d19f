use serde_json::json;

use super::*;
use crate::parallel::LastAnswer;
use synthdev_domain::context::{ContextEntry, MessageAuthor};
use synthdev_domain::message::ChatRole;

fn map(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

/// A branch that began with `base` and left `after`; a key that is gone was removed.
fn branch_writes(base: &Value, after: &Value) -> BranchWrites {
    let (base, after) = (map(base.clone()), map(after.clone()));
    let keys = base.keys().chain(after.keys());
    let written = keys.filter(|key| base.get(*key) != after.get(*key)).cloned().collect();
    BranchWrites {
        data: after.into(),
        written_keys: written,
        conversations: Vec::new(),
        agents: Vec::new(),
        last_answer: None,
    }
}

fn check(base: Value, branches: &[Value], rules: &[(&str, MergeRule)], expected: Result<Value, &str>) {
    let left: Vec<BranchWrites> = branches.iter().map(|after| branch_writes(&base, after)).collect();
    let named: Vec<(&str, &BranchWrites)> = ["a", "b", "c"].into_iter().zip(&left).collect();
    let rules = rules.iter().map(|(key, rule)| ((*key).to_owned(), *rule)).collect();
    let got = merge_data(&map(base), &named, &rules).map(|(set, removed)| json!([set, removed])).map_err(
        |conflict| format!("{} {} {}", conflict.subject, conflict.first_branch, conflict.second_branch),
    );
    assert_eq!(got, expected.map_err(str::to_owned));
}

#[test]
fn what_branches_wrote_is_joined_by_rule_and_else_refused() {
    let of = |key: &str| json!({"x": key});
    check(json!({}), &[json!({"p": 1}), json!({"q": 2})], &[], Ok(json!([{"p": 1, "q": 2}, []])));
    check(json!({"p": 1, "x": 0}), &[json!({"x": 0}), json!({"p": 1, "x": 0})], &[], Ok(json!([{}, ["p"]])));
    check(json!({}), &[of("1"), json!({}), of("1")], &[], Err("x a c"));
    check(json!({}), &[of("1"), of("2")], &[("y", MergeRule::Last)], Err("x a b"));
    check(json!({}), &[of("1"), of("2")], &[("x", MergeRule::Last)], Ok(json!([{"x": "2"}, []])));
    check(json!({}), &[of("1"), of("2")], &[("x", MergeRule::First)], Ok(json!([{"x": "1"}, []])));
    let append = [("x", MergeRule::Append)];
    let list = |items: Value| json!({"x": items});
    let rows = [
        (json!([0]), json!([0, 1]), json!([0, 2]), json!([0, 1, 2])),
        (json!([0]), json!([9]), json!([0, 2]), json!([0, 9, 2])),
        (json!("s"), json!("t"), json!(["u"]), json!(["s", "t", "u"])),
    ];
    for (base, one, two, both) in rows {
        check(list(base), &[list(one), list(two)], &append, Ok(json!([{"x": both}, []])));
    }
    let sum = [("x", MergeRule::Sum)];
    check(list(json!(10)), &[list(json!(11)), list(json!(13))], &sum, Ok(json!([{"x": 14}, []])));
    check(list(json!(0.5)), &[list(json!(1.0)), list(json!(0.0))], &sum, Ok(json!([{"x": 0.5}, []])));
    let edits = [list(json!([{"id": 1}, 2])), list(json!([{"id": 9}]))];
    check(list(json!([{"id": 1}])), &edits, &append, Ok(json!([{"x": [{"id": 1}, 2, {"id": 9}]}, []])));
    let own = [list(json!({"n": 5, "o": 1})), list(json!({"n": 0, "m": 2}))];
    let merged = json!([{"x": {"n": 5, "m": 2}}, []]);
    check(list(json!({"n": 0, "o": 1})), &own, &[("x", MergeRule::Object)], Ok(merged));
    let objects = [list(json!({"k": 1})), list(json!({"k": 2, "l": 3}))];
    check(json!({}), &objects, &[("x", MergeRule::Object)], Ok(json!([{"x": {"k": 2, "l": 3}}, []])));
}

fn text_entry(text: &str) -> ContextEntry {
    ContextEntry::text(MessageAuthor::Script, ChatRole::User, text)
}

fn conversation_of(texts: &[&str]) -> LiveConversation {
    let mut conversation = LiveConversation::default();
    texts.iter().for_each(|text| conversation.push(text_entry(text)));
    conversation
}

#[test]
fn what_branches_said_follows_in_their_order() {
    let base = conversation_of(&["before"]);
    let branch = |words: &[&str]| {
        let mut own = base.branch();
        words.iter().for_each(|text| own.push(text_entry(text)));
        BranchWrites { conversations: vec![own], ..branch_writes(&json!({}), &json!({})) }
    };
    let mut rewritten = branch(&[]);
    rewritten.conversations[0].replace_entries(vec![text_entry("new")]);
    let texts = |conversations: &[LiveConversation]| -> Vec<String> {
        conversations[0].log.entries.iter().map(|entry| entry.text.clone()).collect()
    };
    let join = |branches: &[&BranchWrites]| {
        let named: Vec<(&str, &BranchWrites)> =
            ["a", "b"].into_iter().zip(branches.iter().copied()).collect();
        merge_conversations(std::slice::from_ref(&base), &["talk"], &named)
            .map(|conversations| texts(&conversations))
    };
    let (one, two, silent) = (branch(&["1", "2"]), branch(&["3"]), branch(&[]));
    assert_eq!(join(&[&one, &two]).unwrap(), ["before", "1", "2", "3"]);
    assert_eq!(join(&[&two, &one]).unwrap(), ["before", "3", "1", "2"]);
    assert_eq!(join(&[&rewritten, &silent]).unwrap(), ["new"]);
    let conflict = join(&[&one, &rewritten]).unwrap_err();
    assert_eq!(
        (conflict.subject, conflict.first_branch, conflict.second_branch),
        ("talk".into(), "b".into(), "a".into())
    );
}

#[test]
fn an_agent_remembers_the_last_branch_in_which_it_spoke() {
    let memory = |text: &str, replies| AgentMemory {
        last_response: Some(text.into()),
        replies,
        ..AgentMemory::default()
    };
    let base = vec![memory("before", 2)];
    let branch = |own: AgentMemory| BranchWrites {
        agents: vec![own],
        last_answer: Some(LastAnswer::default()),
        ..branch_writes(&json!({}), &json!({}))
    };
    let (spoke, silent) = (branch(memory("inside", 3)), branch(memory("before", 2)));
    let last = |branches: &[(&str, &BranchWrites)]| {
        merge_memories(&base, branches)[0].last_response.clone().unwrap()
    };
    assert_eq!(last(&[("a", &spoke), ("b", &silent)]).as_ref(), "inside");
    assert_eq!(last(&[("a", &silent)]).as_ref(), "before");
}
