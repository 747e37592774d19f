//! Resolves a state's path name to its workflow and to the prefix of its name.

use synthdev_domain::workflow::{StateSpec, Workflow, WorkflowProgram, without_item_index};

pub(super) struct LocatedState<'p> {
    pub(super) workflow: &'p Workflow,
    pub(super) state: &'p StateSpec,
    /// Prefix of its workflow's state names: `""`, or `each[2]/child/`.
    pub(super) prefix: String,
}

/// `None` for a name that is not of this program.
pub(super) fn find_state<'p>(program: &'p WorkflowProgram, path: &str) -> Option<LocatedState<'p>> {
    let in_root = program.workflows.first().and_then(|root| {
        let state = find_state_in(root, path)?;
        Some(LocatedState { workflow: root, state, prefix: String::new() })
    });
    // the innermost workflow begins behind the last segment that names one and whose rest is a state of it
    let ends = path.match_indices('/').map(|(at, _)| at + 1);
    let inner = |end: usize| {
        let (prefix, rest) = path.split_at(end);
        let name = prefix.trim_end_matches('/').rsplit('/').next()?;
        let workflow = program.workflows.iter().find(|workflow| workflow.name == name)?;
        let state = find_state_in(workflow, rest)?;
        Some(LocatedState { workflow, state, prefix: prefix.to_owned() })
    };
    in_root.or_else(|| ends.filter_map(inner).next_back())
}

fn find_state_in<'w>(workflow: &'w Workflow, path: &str) -> Option<&'w StateSpec> {
    let name = without_item_index(path);
    workflow.states.iter().find(|state| state.name == name)
}

/// The body that contains a state: its path without the last name.
pub(super) fn body_of_path(path: &str) -> &str {
    path.rfind('/').map_or("", |at| &path[..=at])
}

/// A body and all those around it, the innermost first, as far as they belong to one workflow.
pub(super) fn enclosing_prefixes<'p>(path: &'p str, prefix: &str) -> Vec<&'p str> {
    let mut bodies = Vec::new();
    let mut current = body_of_path(path);
    loop {
        bodies.push(current);
        if current.len() <= prefix.len() {
            return bodies;
        }
        current = body_of_path(&current[..current.len() - 1]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_end_where_their_workflow_begins() {
        let rows: [(&str, &str, &[&str]); 4] = [
            ("a", "", &[""]),
            ("a.b/c", "", &["a.b/", ""]),
            ("w/each[1]/in.a/s", "w/", &["w/each[1]/in.a/", "w/each[1]/", "w/"]),
            ("a.b/w/s", "a.b/w/", &["a.b/w/"]),
        ];
        for (path, prefix, expected) in rows {
            assert_eq!(enclosing_prefixes(path, prefix), expected, "{path}");
        }
    }
}
