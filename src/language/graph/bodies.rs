//! Which states are the body of which branch or loop. The list of states is flat; the names of a body begin with the
//! name of its owner.

use std::collections::HashMap;

use super::model::GraphGroup;
use synthdev_domain::ids::StateIx;
use synthdev_domain::workflow::{StateBody, Workflow};

/// A body and how the names of its states begin.
pub(super) struct GraphBody {
    pub(super) group: GraphGroup,
    pub(super) prefix: String,
}

pub(super) struct GraphBodies {
    pub(super) list: Vec<GraphBody>,
    /// Per state: the innermost body.
    pub(super) body_of_state: Vec<Option<usize>>,
}

pub(super) fn group_bodies(workflow: &Workflow) -> GraphBodies {
    let mut list: Vec<GraphBody> = Vec::new();
    for (owner, state) in workflow.states.iter().enumerate() {
        match &state.work {
            StateBody::Parallel(parallel) => {
                let branches = parallel.branches.iter();
                list.extend(branches.filter_map(|one| body_group(workflow, owner, &one.name, one.start)));
            }
            StateBody::ForEach(each) => list.extend(body_group(workflow, owner, &each.each, each.start)),
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
    GraphBodies { list, body_of_state: of_state }
}

fn body_group(workflow: &Workflow, owner: usize, name: &str, start: StateIx) -> Option<GraphBody> {
    let first = &workflow.state(start)?.name;
    let end = first.rfind('/')? + 1;
    let group = GraphGroup { owner, name: name.to_owned(), parent: None, start: start.0 };
    Some(GraphBody { group, prefix: first[..end].to_owned() })
}
