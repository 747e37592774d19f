//! Functions that start themselves again until the machine stops.

use tree_sitter::Node;

use super::syntax_tree::{in_background, named_children, node_text};

/// Whether a function calls itself in both ends of a pipe, or in the background before it looks at anything.
pub(super) fn is_fork_bomb(name: &str, body: Node<'_>, source: &str) -> bool {
    let whole = FunctionRecursion { name, source };
    whole.calls_itself_in_pipe(body) || whole.restarts_in_background(body)
}

struct FunctionRecursion<'a> {
    name: &'a str,
    source: &'a str,
}

impl FunctionRecursion<'_> {
    fn calls(&self, node: Node<'_>) -> bool {
        node.kind() == "command"
            && node.child_by_field_name("name").is_some_and(|name| node_text(name, self.source) == self.name)
    }

    /// How often it is called somewhere below.
    fn count_calls(&self, node: Node<'_>) -> usize {
        let mut open = vec![node];
        let mut count = 0;
        while let Some(next) = open.pop() {
            count += usize::from(self.calls(next));
            open.extend(named_children(next));
        }
        count
    }

    fn calls_itself_in_pipe(&self, node: Node<'_>) -> bool {
        let mut open = vec![node];
        while let Some(next) = open.pop() {
            if next.kind() == "pipeline" && self.count_calls(next) >= 2 {
                return true;
            }
            open.extend(named_children(next));
        }
        false
    }

    /// Whether the body calls itself in the background without a condition before the call.
    fn restarts_in_background(&self, body: Node<'_>) -> bool {
        named_children(body).into_iter().any(|child| match child.kind() {
            "command" => self.calls(child) && in_background(child),
            "pipeline" => self.count_calls(child) > 0 && in_background(child),
            "compound_statement" | "subshell" | "do_group" => self.restarts_in_background(child),
            "while_statement" if self.is_endless(child) => self.restarts_in_background(child),
            _ => false,
        })
    }

    fn is_endless(&self, node: Node<'_>) -> bool {
        let condition = node.child_by_field_name("condition");
        condition.is_some_and(|condition| matches!(node_text(condition, self.source), "true" | ":" | "[ 1 ]"))
    }
}
