//! Functions that start themselves again until the machine stops.

use tree_sitter::Node;

use super::syntax_tree::{in_background, named, text};

/// Whether a function calls itself in both ends of a pipe, or in the background before it looks at anything.
pub(super) fn is_fork_bomb(name: &str, body: Node<'_>, source: &str) -> bool {
    let whole = FunctionRecursion { name, source };
    whole.doubles(body) || whole.goes_on(body)
}

struct FunctionRecursion<'a> {
    name: &'a str,
    source: &'a str,
}

impl FunctionRecursion<'_> {
    fn calls(&self, node: Node<'_>) -> bool {
        node.kind() == "command"
            && node.child_by_field_name("name").is_some_and(|name| text(name, self.source) == self.name)
    }

    /// How often it is called somewhere below.
    fn count(&self, node: Node<'_>) -> usize {
        let mut open = vec![node];
        let mut count = 0;
        while let Some(next) = open.pop() {
            count += usize::from(self.calls(next));
            open.extend(named(next));
        }
        count
    }

    fn doubles(&self, node: Node<'_>) -> bool {
        let mut open = vec![node];
        while let Some(next) = open.pop() {
            if next.kind() == "pipeline" && self.count(next) >= 2 {
                return true;
            }
            open.extend(named(next));
        }
        false
    }

    /// Calls itself in the background where no condition stands before it.
    fn goes_on(&self, body: Node<'_>) -> bool {
        named(body).into_iter().any(|child| match child.kind() {
            "command" => self.calls(child) && in_background(child),
            "pipeline" => self.count(child) > 0 && in_background(child),
            "compound_statement" | "subshell" | "do_group" => self.goes_on(child),
            "while_statement" if self.is_endless(child) => self.goes_on(child),
            _ => false,
        })
    }

    fn is_endless(&self, node: Node<'_>) -> bool {
        let condition = node.child_by_field_name("condition");
        condition.is_some_and(|condition| matches!(text(condition, self.source), "true" | ":" | "[ 1 ]"))
    }
}
