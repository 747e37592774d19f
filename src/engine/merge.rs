//! What branches wrote becomes one: always in the order of the branches, never in the order in which they ended.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::call_frame::AgentMemory;
use super::conversation::LiveConversation;
use super::parallel::BranchWrites;
use synthdev_domain::script::LOOPS;
use synthdev_domain::workflow::MergeRule;

/// Two branches that cannot both be right.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BranchConflict {
    /// The key, or the context.
    pub subject: String,
    pub first_branch: String,
    pub second_branch: String,
}

/// A branch and what it left under a key; `None` if it removed it.
type KeyWrite<'b> = (&'b str, Option<&'b Value>);

type KeyChanges = (Map<String, Value>, Vec<String>);

/// Keys to set and to remove.
///
/// # Errors
/// Two branches wrote a key that `rules` does not name.
pub fn merge_data(
    base: &Map<String, Value>,
    branches: &[(&str, &BranchWrites)],
    rules: &BTreeMap<String, MergeRule>,
) -> Result<KeyChanges, BranchConflict> {
    let mut writers: Vec<(&String, Vec<KeyWrite<'_>>)> = Vec::new();
    for (name, leaving) in branches {
        for key in leaving.written_keys.iter().filter(|key| *key != LOOPS) {
            let value = leaving.data.get(key);
            match writers.iter_mut().find(|(known, _)| *known == key) {
                Some((_, list)) => list.push((name, value)),
                None => writers.push((key, vec![(name, value)])),
            }
        }
    }
    let (mut set, mut removed) = KeyChanges::default();
    for (key, list) in writers {
        let value = match list.as_slice() {
            [(_, only)] => only.cloned(),
            many => {
                let Some(rule) = rules.get(key) else {
                    let name = |at: usize| many.get(at).map_or("", |writer| writer.0).to_owned();
                    return Err(BranchConflict {
                        subject: key.clone(),
                        first_branch: name(0),
                        second_branch: name(1),
                    });
                };
                let values: Vec<Option<&Value>> = many.iter().map(|(_, value)| *value).collect();
                merge_value(*rule, base.get(key), &values)
            }
        };
        match value {
            Some(value) => {
                set.insert(key.clone(), value);
            }
            None => removed.push(key.clone()),
        }
    }
    Ok((set, removed))
}

fn merge_value(rule: MergeRule, base: Option<&Value>, values: &[Option<&Value>]) -> Option<Value> {
    let present = || values.iter().filter_map(|value| *value);
    match rule {
        MergeRule::First => values.first().copied().flatten().cloned(),
        MergeRule::Last => values.last().copied().flatten().cloned(),
        MergeRule::Append => Some(Value::Array(present().fold(as_list(base), |mut all, value| {
            all.extend(added_items(base, value));
            all
        }))),
        MergeRule::Sum => Some(sum_values(base, &present().collect::<Vec<_>>())),
        MergeRule::Object => {
            let mut all = base.and_then(Value::as_object).cloned().unwrap_or_default();
            for value in present().filter_map(Value::as_object) {
                apply_changes(base.and_then(Value::as_object), value, &mut all);
            }
            Some(Value::Object(all))
        }
    }
}

fn as_list(base: Option<&Value>) -> Vec<Value> {
    let Some(value) = base.filter(|value| !value.is_null()) else { return Vec::new() };
    value.as_array().cloned().unwrap_or_else(|| vec![value.clone()])
}

/// What a branch added to the list that it began with.
fn added_items(base: Option<&Value>, value: &Value) -> Vec<Value> {
    let before = as_list(base);
    let Some(items) = value.as_array() else { return vec![value.clone()] };
    let same = items.iter().zip(&before).take_while(|(item, old)| item == old).count();
    items[same..].to_vec()
}

/// What a branch did to an object: keys that it left alone say nothing.
fn apply_changes(base: Option<&Map<String, Value>>, own: &Map<String, Value>, to: &mut Map<String, Value>) {
    let old = |key: &str| base.and_then(|base| base.get(key));
    for (key, value) in own.iter().filter(|(key, value)| old(key) != Some(value)) {
        to.insert(key.clone(), value.clone());
    }
    for key in base.into_iter().flat_map(Map::keys).filter(|key| !own.contains_key(*key)) {
        to.shift_remove(key);
    }
}

/// Whole numbers stay whole.
fn sum_values(base: Option<&Value>, values: &[&Value]) -> Value {
    let whole = |value: &Value| value.as_i64();
    let start = base.map_or(Some(0), whole);
    let exact = start.and_then(|start| {
        values.iter().try_fold(start, |total, value| total.checked_add(whole(value)?.checked_sub(start)?))
    });
    exact.map_or_else(
        || {
            let start = base.and_then(Value::as_f64).unwrap_or(0.0);
            let total = values
                .iter()
                .filter_map(|value| value.as_f64())
                .fold(start, |total, value| total + value - start);
            Value::from(total)
        },
        Value::from,
    )
}

/// The new messages of each branch follow what all of them had before; a branch that rewrote a context is the only one
/// that may have changed it.
///
/// # Errors
/// A context was rewritten by one branch and changed by another.
pub fn merge_conversations(
    base: &[LiveConversation],
    names: &[&str],
    branches: &[(&str, &BranchWrites)],
) -> Result<Vec<LiveConversation>, BranchConflict> {
    let mut all = Vec::with_capacity(base.len());
    for (at, before) in base.iter().enumerate() {
        let length = before.length();
        let own: Vec<(&str, &LiveConversation)> = branches
            .iter()
            .filter_map(|(name, leaving)| Some((*name, leaving.conversations.get(at)?)))
            .collect();
        let asides = before.private_messages.len();
        let changed = |conversation: &LiveConversation| {
            conversation.base.is_none()
                || conversation.length() > length
                || conversation.private_messages.len() > asides
        };
        let touched: Vec<&(&str, &LiveConversation)> =
            own.iter().filter(|(_, conversation)| changed(conversation)).collect();
        let rewriter = touched.iter().find(|(_, conversation)| conversation.base.is_none());
        let mut merged = before.clone();
        match (rewriter, touched.as_slice()) {
            (Some((_, conversation)), [_]) => merged = (*conversation).clone(),
            (Some((first, _)), many) => {
                let second = many.iter().find(|(name, _)| name != first).map_or("", |(name, _)| *name);
                return Err(BranchConflict {
                    subject: names.get(at).copied().unwrap_or_default().to_owned(),
                    first_branch: (*first).to_owned(),
                    second_branch: second.to_owned(),
                });
            }
            (None, many) => {
                for (_, conversation) in many {
                    merged.append_branch(conversation, length, asides);
                }
            }
        }
        merged.base = before.base.filter(|_| rewriter.is_none());
        all.push(merged);
    }
    Ok(all)
}

/// An agent's memory comes from the last branch in which it answered.
pub fn merge_memories(base: &[AgentMemory], branches: &[(&str, &BranchWrites)]) -> Vec<AgentMemory> {
    base.iter()
        .enumerate()
        .map(|(at, before)| {
            let spoke = |memory: &&AgentMemory| memory.replies != before.replies;
            let later = branches.iter().rev().filter_map(|(_, leaving)| leaving.agents.get(at));
            let mut memory = later.clone().find(spoke).unwrap_or(before).clone();
            memory.replies = later.map(|one| one.replies).fold(before.replies, u64::max);
            // a branch's context is not the one that it would continue in
            memory.continuation = None;
            memory
        })
        .collect()
}

#[cfg(test)]
mod tests;
