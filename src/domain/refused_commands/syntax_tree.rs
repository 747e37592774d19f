//! The grammar: the one place that meets the parser.

use tree_sitter::{Node, Parser, Tree};

/// The tree of a line; parts that do not parse are nodes of their own in it.
pub(super) fn parse_line(line: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    parser.parse(line, None)
}

pub(super) fn node_text<'s>(node: Node<'_>, source: &'s str) -> &'s str {
    source.get(node.byte_range()).unwrap_or_default()
}

/// Every child, with the tokens between.
pub(super) fn child_nodes<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).collect()
}

pub(super) fn named_children<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    child_nodes(node).into_iter().filter(|child| child.is_named() && child.kind() != "comment").collect()
}

pub(super) fn field_nodes<'t>(node: Node<'t>, name: &str) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.children_by_field_name(name, &mut cursor).filter(Node::is_named).collect()
}

/// Whether `&` follows the statement.
pub(super) fn in_background(node: Node<'_>) -> bool {
    node.next_sibling().is_some_and(|next| next.kind() == "&")
}

/// Deeper than any real script; the code that walks the tree recurses.
const DEEPEST: usize = 300;

pub(super) fn is_too_deep(tree: &Tree) -> bool {
    let mut cursor = tree.walk();
    let mut depth = 0;
    loop {
        if cursor.goto_first_child() {
            depth += 1;
            if depth > DEEPEST {
                return true;
            }
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return false;
            }
            depth -= 1;
        }
    }
}

/// Whether a node is one word of a command.
pub(super) fn is_word(kind: &str) -> bool {
    matches!(
        kind,
        "word"
            | "string"
            | "raw_string"
            | "ansi_c_string"
            | "translated_string"
            | "concatenation"
            | "number"
            | "simple_expansion"
            | "expansion"
            | "command_substitution"
            | "process_substitution"
            | "arithmetic_expansion"
            | "brace_expression"
    )
}
