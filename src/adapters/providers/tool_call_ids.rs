//! Ids of calls as strict servers take them: letters, digits, `_` and `-`, not too long, and no id twice in a
//! conversation. Other models' ids are none of that.

use std::collections::{HashSet, VecDeque};

/// The longest that OpenAI takes.
const LIMIT: usize = 64;

#[derive(Default, Debug)]
pub struct CallIds {
    taken_ids: HashSet<String>,
    /// Of calls that wait for their results, which follow in the same order.
    pending_ids: VecDeque<String>,
}

impl CallIds {
    /// The id to send for the next call.
    pub fn assign_call_id(&mut self, id: &str) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
        let wanted: String = id.chars().take(LIMIT).map(plain).collect();
        let wanted = if wanted.is_empty() { "call".to_owned() } else { wanted };
        let mut id = wanted.clone();
        let mut number = 2;
        while !self.taken_ids.insert(id.clone()) {
            let ending = format!("_{number}");
            let kept = wanted.len().min(LIMIT - ending.len());
            id = format!("{}{ending}", &wanted[..kept]);
            number += 1;
        }
        self.pending_ids.push_back(id.clone());
        id
    }

    /// The id of the call that the next result answers.
    pub fn take_result_id(&mut self) -> String {
        self.pending_ids.pop_front().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_plain_short_and_never_taken_twice() {
        let long = "x".repeat(70);
        let rows = [
            ("a.b", "a_b".to_owned()),
            ("a_b", "a_b_2".to_owned()),
            ("a.b", "a_b_3".to_owned()),
            ("", "call".to_owned()),
            (&long, "x".repeat(64)),
            (&long, format!("{}_2", "x".repeat(62))),
            ("ä", "_".to_owned()),
        ];
        let mut ids = CallIds::default();
        for (id, expected) in &rows {
            assert_eq!(ids.assign_call_id(id), *expected, "{id}");
        }
        for (id, expected) in &rows {
            assert_eq!(ids.take_result_id(), *expected, "{id}");
        }
    }
}
