//! Redirections of a command: what it reads, the files that it writes, and words that stand behind them.

use tree_sitter::Node;

use super::{CommandLineWalker, RedirectedCommand};
use crate::refused_commands::pipe_content::PipeContent;
use crate::refused_commands::placeholders::DOWNLOADED;
use crate::refused_commands::shell_state::ShellState;
use crate::refused_commands::syntax_tree::{children, fields, is_word, named, text};
use crate::refused_commands::word_expansion::{assigned, document, expanded};

impl CommandLineWalker<'_> {
    pub(super) fn redirected(
        &mut self,
        node: Node<'_>,
        source: &str,
        shell: &mut ShellState,
        input: PipeContent,
    ) -> PipeContent {
        let body = node.child_by_field_name("body");
        let redirects = named(node).into_iter().filter(|child| Some(*child) != body).collect::<Vec<_>>();
        let mut redirected = RedirectedCommand { input, words: Vec::new(), behind: Vec::new() };
        for redirect in redirects {
            self.redirect(redirect, source, shell, &mut redirected);
        }
        let RedirectedCommand { input, words, behind } = redirected;
        let mut flow = match body {
            Some(body) if body.kind() == "command" => self.command(body, source, shell, input, &words),
            Some(body) => self.statement(body, source, shell, input),
            None => PipeContent::Unknown,
        };
        for next in behind {
            let piped = next.kind() == "pipeline";
            flow = self.statement(next, source, shell, if piped { flow } else { PipeContent::Unknown });
        }
        flow
    }

    pub(super) fn redirect<'t>(
        &mut self,
        node: Node<'t>,
        source: &str,
        shell: &ShellState,
        to: &mut RedirectedCommand<'t>,
    ) {
        match node.kind() {
            "file_redirect" => {
                let writes =
                    children(node).iter().any(|token| !token.is_named() && token.kind().contains('>'));
                // the grammar takes words behind a redirection for more of its files
                for (at, file) in fields(node, "destination").into_iter().enumerate() {
                    let words = expanded(file, source, shell, self);
                    match words.first() {
                        Some(_) if at > 0 => to.words.extend(words),
                        Some(target) if writes => self.written(target, shell),
                        Some(target) if target.starts_with(DOWNLOADED) => to.input = PipeContent::Downloaded,
                        _ => to.input = PipeContent::Unknown,
                    }
                }
            }
            "herestring_redirect" => {
                let words = named(node).into_iter().flat_map(|word| assigned(word, source, shell, self));
                to.input = PipeContent::Text(words.collect::<Vec<_>>().join(" "));
            }
            "heredoc_redirect" => self.heredoc(node, source, shell, to),
            _ => {}
        }
    }

    fn heredoc<'t>(
        &mut self,
        node: Node<'t>,
        source: &str,
        shell: &ShellState,
        to: &mut RedirectedCommand<'t>,
    ) {
        let mut literal = false;
        for child in named(node) {
            match child.kind() {
                "heredoc_start" => literal = text(child, source).contains(['\'', '"', '\\']),
                "heredoc_body" if literal => to.input = PipeContent::Text(text(child, source).to_owned()),
                "heredoc_body" => to.input = PipeContent::Text(document(child, source, shell, self)),
                "file_redirect" | "herestring_redirect" => {
                    let read = to.input.clone();
                    self.redirect(child, source, shell, to);
                    to.input = read;
                }
                "heredoc_end" => {}
                kind if is_word(kind) => to.words.extend(expanded(child, source, shell, self)),
                _ => to.behind.push(child),
            }
        }
    }
}
