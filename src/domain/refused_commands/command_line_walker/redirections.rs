//! Redirections of a command: what it reads, the files that it writes, and the words after them.

use tree_sitter::Node;

use super::{CommandLineWalker, RedirectedCommand};
use crate::refused_commands::pipe_content::PipeContent;
use crate::refused_commands::placeholders::DOWNLOADED;
use crate::refused_commands::shell_state::ShellState;
use crate::refused_commands::syntax_tree::{child_nodes, field_nodes, is_word, named_children, node_text};
use crate::refused_commands::word_expansion::{expand_assignment, expand_heredoc, expand_word};

impl CommandLineWalker<'_> {
    pub(super) fn walk_redirected(
        &mut self,
        node: Node<'_>,
        source: &str,
        shell: &mut ShellState,
        input: PipeContent,
    ) -> PipeContent {
        let body = node.child_by_field_name("body");
        let redirects =
            named_children(node).into_iter().filter(|child| Some(*child) != body).collect::<Vec<_>>();
        let mut redirected =
            RedirectedCommand { input, command_words: Vec::new(), nodes_after_heredoc: Vec::new() };
        for redirect in redirects {
            self.apply_redirection(redirect, source, shell, &mut redirected);
        }
        let RedirectedCommand { input, command_words: words, nodes_after_heredoc: behind } = redirected;
        let mut flow = match body {
            Some(body) if body.kind() == "command" => self.walk_command(body, source, shell, input, &words),
            Some(body) => self.walk_statement(body, source, shell, input),
            None => PipeContent::Unknown,
        };
        for next in behind {
            let piped = next.kind() == "pipeline";
            flow = self.walk_statement(next, source, shell, if piped { flow } else { PipeContent::Unknown });
        }
        flow
    }

    pub(super) fn apply_redirection<'t>(
        &mut self,
        node: Node<'t>,
        source: &str,
        shell: &ShellState,
        to: &mut RedirectedCommand<'t>,
    ) {
        match node.kind() {
            "file_redirect" => {
                let writes =
                    child_nodes(node).iter().any(|token| !token.is_named() && token.kind().contains('>'));
                // the grammar takes words behind a redirection for more of its files
                for (at, file) in field_nodes(node, "destination").into_iter().enumerate() {
                    let words = expand_word(file, source, shell, self);
                    match words.first() {
                        Some(_) if at > 0 => to.command_words.extend(words),
                        Some(target) if writes => self.check_device_write(target, shell),
                        Some(target) if target.starts_with(DOWNLOADED) => to.input = PipeContent::Downloaded,
                        _ => to.input = PipeContent::Unknown,
                    }
                }
            }
            "herestring_redirect" => {
                let words = named_children(node)
                    .into_iter()
                    .flat_map(|word| expand_assignment(word, source, shell, self));
                to.input = PipeContent::Text(words.collect::<Vec<_>>().join(" "));
            }
            "heredoc_redirect" => self.read_heredoc(node, source, shell, to),
            _ => {}
        }
    }

    fn read_heredoc<'t>(
        &mut self,
        node: Node<'t>,
        source: &str,
        shell: &ShellState,
        to: &mut RedirectedCommand<'t>,
    ) {
        let mut literal = false;
        for child in named_children(node) {
            match child.kind() {
                "heredoc_start" => literal = node_text(child, source).contains(['\'', '"', '\\']),
                "heredoc_body" if literal => {
                    to.input = PipeContent::Text(node_text(child, source).to_owned())
                }
                "heredoc_body" => to.input = PipeContent::Text(expand_heredoc(child, source, shell, self)),
                "file_redirect" | "herestring_redirect" => {
                    let read = to.input.clone();
                    self.apply_redirection(child, source, shell, to);
                    to.input = read;
                }
                "heredoc_end" => {}
                kind if is_word(kind) => to.command_words.extend(expand_word(child, source, shell, self)),
                _ => to.nodes_after_heredoc.push(child),
            }
        }
    }
}
