//! Which states are the body of which branch or loop. Bodies stand flat in the list of states; their names begin
//! with the name of the owner.

use std::collections::HashMap;

use super::model::Group;
use crate::domain::ids::StateIx;
use crate::domain::workflow::{Work, Workflow};

/// A body and how the names of its states begin.
pub(super) struct Body {
    pub(super) group: Group,
    pub(super) prefix: String,
}

pub(super) struct Groups {
    pub(super) list: Vec<Body>,
    /// Per state: the innermost body.
    pub(super) of_state: Vec<Option<usize>>,
}

pub(super) fn groups(workflow: &Workflow) -> Groups {
    let mut list: Vec<Body> = Vec::new();
    for (owner, state) in workflow.states.iter().enumerate() {
        match &state.work {
            Work::Parallel(parallel) => {
                let branches = parallel.branches.iter();
                list.extend(branches.filter_map(|one| body(workflow, owner, &one.name, one.start)));
            }
            Work::ForEach(each) => list.extend(body(workflow, owner, &each.each, each.start)),
            _ => {}
        }
    }
    let bodies: HashMap<&str, usize> =
        list.iter().enumerate().map(|(at, body)| (body.prefix.as_str(), at)).collect();
    // a prefix ends with a slash: the last slash with a body before it is the innermost one's
    let innermost = |name: &str| {
        let ends = name.rmatch_indices('/').map(|(at, _)| at + 1);
        ends.filter_map(|end| bodies.get(&name[..end])).next().copied()
    };
    let of_state: Vec<Option<usize>> = workflow.states.iter().map(|state| innermost(&state.name)).collect();
    for body in &mut list {
        body.group.parent = of_state.get(body.group.owner).copied().flatten();
    }
    Groups { list, of_state }
}

fn body(workflow: &Workflow, owner: usize, name: &str, start: StateIx) -> Option<Body> {
    let first = &workflow.state(start)?.name;
    let end = first.rfind('/')? + 1;
    let group = Group { owner, name: name.to_owned(), parent: None, start: start.0 };
    Some(Body { group, prefix: first[..end].to_owned() })
}
