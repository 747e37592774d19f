//! Goes through a line as a shell would, without running anything.
//!
//! Owns order: what `cd`, assignments and functions mean for the commands behind them. What a single program does is
//! `judge`'s business.

mod redirections;

use std::rc::Rc;

use tree_sitter::Node;

use super::fork_bombs::is_fork_bomb;
use super::input::RefusedCommandInput;
use super::options::{base_name, operands};
use super::pipe_content::PipeContent;
use super::placeholders::{DOWNLOADED, UNKNOWN, is_mark};
use super::program_rules::{self, is_download, judge_program, parse_find};
use super::protected_paths::CommandLocation;
use super::risks::{CommandFindings, CommandRisk};
use super::shell_state::ShellState;
use super::syntax_tree::{
    child_nodes, field_nodes, in_background, is_too_deep, is_word, named_children, node_text, parse_line,
};
use super::word_expansion::{CommandSubstitution, as_written, expand_assignment, expand_word};
use super::wrappers::{WrappedCommand, parse_wrapper};

/// Lines inside of lines, calls inside of calls.
const DEEPEST: usize = 12;
/// Commands that are looked at.
const MOST_STEPS: usize = 4_000;
/// Room for one line, and for those inside of it.
const STACK: (usize, usize) = (2 * 1024 * 1024, 16 * 1024 * 1024);

pub(super) struct CommandLineWalker<'a> {
    input: &'a RefusedCommandInput<'a>,
    pub(super) findings: CommandFindings,
    steps: usize,
    depth: usize,
}

impl CommandSubstitution for CommandLineWalker<'_> {
    fn run_substitution(&mut self, node: Node<'_>, source: &str, shell: &ShellState) -> PipeContent {
        let mut inner = shell.clone();
        let written = node_text(node, source);
        if let Some(quoted) = written.strip_prefix('`') {
            let line =
                quoted.trim_end_matches('`').replace("\\`", "`").replace("\\$", "$").replace("\\\\", "\\");
            return self.walk_source(&line, &mut inner, PipeContent::Unknown);
        }
        let flow = self.walk_children(node, source, &mut inner, PipeContent::Unknown);
        if node.kind() == "process_substitution" { flow.through_filter() } else { flow }
    }
}

impl<'a> CommandLineWalker<'a> {
    pub(super) fn new(input: &'a RefusedCommandInput<'a>) -> Self {
        Self { input, findings: CommandFindings::default(), steps: 0, depth: 0 }
    }

    pub(super) fn walk_line(&mut self, line: &str) {
        let line = line.replace(is_mark, "_");
        let mut shell = self.shell();
        self.walk_source(&line, &mut shell, PipeContent::Unknown);
    }

    pub(super) fn walk_program(&mut self, program: &str, arguments: &[String]) {
        let words = std::iter::once(program.to_owned()).chain(arguments.iter().cloned()).collect();
        let mut shell = self.shell();
        self.run_command(words, &mut shell, PipeContent::Unknown, false);
    }

    fn shell(&self) -> ShellState {
        ShellState::new(self.input.directory.to_str(), self.input.home.and_then(|home| home.to_str()))
    }

    fn walk_source(&mut self, line: &str, shell: &mut ShellState, input: PipeContent) -> PipeContent {
        if self.depth >= DEEPEST {
            return PipeContent::Unknown;
        }
        self.depth += 1;
        let flow = stacker::maybe_grow(STACK.0, STACK.1, || match parse_line(line) {
            Some(tree) if !is_too_deep(&tree) => self.walk_children(tree.root_node(), line, shell, input),
            _ => PipeContent::Unknown,
        });
        self.depth -= 1;
        flow
    }

    /// One statement after the other.
    fn walk_children(
        &mut self,
        node: Node<'_>,
        source: &str,
        shell: &mut ShellState,
        input: PipeContent,
    ) -> PipeContent {
        let mut flow = PipeContent::Unknown;
        for child in named_children(node) {
            let given = input.clone();
            flow = if in_background(child) {
                self.walk_statement(child, source, &mut shell.clone(), given);
                flow
            } else {
                let next = self.walk_statement(child, source, shell, given);
                flow.followed_by(next)
            };
        }
        flow
    }

    fn walk_statement(
        &mut self,
        node: Node<'_>,
        source: &str,
        shell: &mut ShellState,
        input: PipeContent,
    ) -> PipeContent {
        match node.kind() {
            "ERROR" => self.walk_uncertain(|walker| walker.walk_children(node, source, shell, input)),
            "command" if node.has_error() => {
                self.walk_uncertain(|walker| walker.walk_command(node, source, shell, input, &[]))
            }
            "command" => self.walk_command(node, source, shell, input, &[]),
            "list" => self.walk_list(node, source, shell, input),
            "pipeline" => self.walk_pipeline(node, source, shell, input),
            "redirected_statement" => self.walk_redirected(node, source, shell, input),
            "subshell" => self.walk_children(node, source, &mut shell.clone(), input),
            "for_statement" => self.for_each(node, source, shell, input),
            "function_definition" => self.define_function(node, source, shell),
            "variable_assignment" => self.assign_variables(node, source, shell),
            "case_item" => {
                let first = field_nodes(node, "value").len();
                named_children(node).into_iter().skip(first).fold(PipeContent::Unknown, |flow, child| {
                    flow.followed_by(self.walk_statement(child, source, shell, input.clone()))
                })
            }
            kind if is_word(kind) => {
                expand_word(node, source, shell, self);
                PipeContent::Unknown
            }
            _ => self.walk_children(node, source, shell, input),
        }
    }

    /// What is only guessed at is no reason to refuse.
    fn walk_uncertain(&mut self, look: impl FnOnce(&mut Self) -> PipeContent) -> PipeContent {
        let before = self.findings.refusal.take();
        let flow = look(self);
        self.findings.refusal = before;
        flow
    }

    fn walk_list(
        &mut self,
        node: Node<'_>,
        source: &str,
        shell: &mut ShellState,
        input: PipeContent,
    ) -> PipeContent {
        let parts = child_nodes(node);
        let either = parts.iter().any(|part| part.kind() == "||");
        let before = shell.directory.clone();
        let mut flow = PipeContent::Unknown;
        for (at, part) in parts.into_iter().filter(|part| part.is_named()).enumerate() {
            let given = if at == 0 { input.clone() } else { PipeContent::Unknown };
            // the right side of `||` runs after the first command has failed
            let after = shell.directory.clone();
            if either && at > 0 {
                shell.directory.clone_from(&before);
            }
            let next = self.walk_statement(part, source, shell, given);
            flow = flow.followed_by(next);
            if either && at > 0 && shell.directory == before {
                shell.directory = after;
            }
        }
        flow
    }

    fn walk_pipeline(
        &mut self,
        node: Node<'_>,
        source: &str,
        shell: &mut ShellState,
        input: PipeContent,
    ) -> PipeContent {
        named_children(node)
            .into_iter()
            .fold(input, |flow, part| self.walk_statement(part, source, &mut shell.clone(), flow))
    }

    fn check_device_write(&mut self, target: &str, shell: &ShellState) {
        if let Some(device) = self.location(shell).device_path(target) {
            self.findings.add_risk(CommandRisk::WritesDevice);
            self.findings.add_refusal(format!("writes to the device {device}"));
        }
    }

    fn location<'s>(&self, shell: &'s ShellState) -> CommandLocation<'s>
    where
        'a: 's,
    {
        CommandLocation { input: self.input, directory: shell.directory.as_deref() }
    }

    fn for_each(
        &mut self,
        node: Node<'_>,
        source: &str,
        shell: &mut ShellState,
        input: PipeContent,
    ) -> PipeContent {
        let values = field_nodes(node, "value");
        let words: Vec<String> = if values.is_empty() {
            shell.values("@").unwrap_or_else(|| vec![UNKNOWN.to_string()])
        } else {
            values.into_iter().flat_map(|value| expand_word(value, source, shell, self)).collect()
        };
        if let Some(name) = node.child_by_field_name("variable") {
            shell.set_variable(node_text(name, source), words);
        }
        let body = node.child_by_field_name("body");
        body.map_or(PipeContent::Unknown, |body| self.walk_children(body, source, shell, input))
    }

    fn define_function(&mut self, node: Node<'_>, source: &str, shell: &mut ShellState) -> PipeContent {
        let (Some(name), Some(body)) = (node.child_by_field_name("name"), node.child_by_field_name("body"))
        else {
            return PipeContent::Unknown;
        };
        let name = node_text(name, source);
        if is_fork_bomb(name, body, source) {
            self.findings.add_risk(CommandRisk::ForkBomb);
            self.findings
                .add_refusal(format!("the function `{name}` starts itself again and again (a fork bomb)"));
        }
        Rc::make_mut(&mut shell.functions).insert(name.to_owned(), node_text(body, source).to_owned());
        PipeContent::Unknown
    }

    fn assign_variables(&mut self, node: Node<'_>, source: &str, shell: &mut ShellState) -> PipeContent {
        if let Some(name) = node.child_by_field_name("name") {
            let name = node_text(name, source).split('[').next().unwrap_or_default();
            let values = match node.child_by_field_name("value") {
                Some(value) => expand_assignment(value, source, shell, self),
                None => vec![String::new()],
            };
            let adds = child_nodes(node).iter().any(|token| token.kind() == "+=");
            shell.set_variable(name, if adds { vec![UNKNOWN.to_string()] } else { values });
        }
        PipeContent::Unknown
    }

    fn walk_command(
        &mut self,
        node: Node<'_>,
        source: &str,
        shell: &mut ShellState,
        input: PipeContent,
        more: &[String],
    ) -> PipeContent {
        let mut to = RedirectedCommand { input, command_words: Vec::new(), nodes_after_heredoc: Vec::new() };
        let (mut words, mut own) = (Vec::new(), None);
        for child in named_children(node) {
            match child.kind() {
                "variable_assignment" => {
                    let own = own.get_or_insert_with(|| shell.clone());
                    self.assign_variables(child, source, own);
                }
                kind if kind.ends_with("redirect") => self.apply_redirection(child, source, shell, &mut to),
                "subshell" => drop(self.walk_statement(child, source, shell, PipeContent::Unknown)),
                "ERROR" => {}
                _ => words.extend(expand_word(child, source, shell, self)),
            }
        }
        words.append(&mut to.command_words);
        words.extend_from_slice(more);
        // variables before a command are seen by it alone
        let before = own.map(|own| std::mem::replace(&mut shell.variables, own.variables));
        let flow = self.run_command(words, shell, to.input, false);
        if let Some(before) = before {
            shell.variables = before;
        }
        flow
    }

    /// `each`: it is run for every file below its arguments.
    fn run_command(
        &mut self,
        words: Vec<String>,
        shell: &mut ShellState,
        input: PipeContent,
        each: bool,
    ) -> PipeContent {
        self.steps += 1;
        let Some((program, arguments)) = words.split_first() else { return input };
        if self.steps > MOST_STEPS {
            return PipeContent::Unknown;
        }
        if program.starts_with(DOWNLOADED) {
            return self.runs_download();
        }
        if let Some(body) = shell.functions.get(program).cloned() {
            let earlier = std::mem::replace(&mut shell.positional, words.clone());
            let flow = self.walk_source(&body, shell, input);
            shell.positional = earlier;
            return flow;
        }
        let standpoint = self.location(shell);
        // a program of the project may have any name
        let own = standpoint.absolute_path(program).is_some_and(|path| standpoint.is_in_project(&path));
        let name = if program.contains('/') && own { program } else { base_name(program) };
        if self.run_builtin(name, arguments, shell) {
            return PipeContent::Unknown;
        }
        if name == "find" {
            return self.run_find(arguments, shell);
        }
        judge_program(name, arguments, self.location(shell), each, &mut self.findings);
        match parse_wrapper(name, arguments) {
            Some(inner) => self.run_wrapped(name, inner, arguments, shell, input),
            None if is_download(name, arguments) => PipeContent::Downloaded,
            None => program_rules::program_output(name, arguments, self.location(shell), input),
        }
    }

    fn runs_download(&mut self) -> PipeContent {
        self.findings.add_risk(CommandRisk::RunsDownload);
        if self.input.network {
            self.findings.add_refusal("runs what it downloads, unread");
        }
        PipeContent::Unknown
    }

    /// Whether it is one that changes what the shell knows.
    fn run_builtin(&mut self, name: &str, arguments: &[String], shell: &mut ShellState) -> bool {
        match name {
            "cd" | "pushd" | "chdir" => {
                let directory = match operands(arguments).first() {
                    None => self.input.home.and_then(|home| home.to_str()).map(str::to_owned),
                    Some(&"-") => shell.earlier_directory.clone(),
                    Some(to) => self.location(shell).absolute_path(to),
                };
                shell.enter_directory(directory);
            }
            "popd" => {
                let earlier = shell.earlier_directory.clone();
                shell.enter_directory(earlier);
            }
            "set" => {
                if let Some(at) = arguments.iter().position(|argument| argument == "--") {
                    let zero = shell.positional.first().cloned().unwrap_or_default();
                    let rest = arguments.iter().skip(at + 1).cloned();
                    shell.positional = std::iter::once(zero).chain(rest).collect();
                }
            }
            "alias" => {
                for (alias, line) in arguments.iter().filter_map(|argument| argument.split_once('=')) {
                    // without this `alias rm='rm -i'` would call itself
                    if line.split_whitespace().next() != Some(alias) {
                        Rc::make_mut(&mut shell.functions).insert(alias.to_owned(), format!("{line} \"$@\""));
                    }
                }
            }
            "read" | "unset" => {
                for variable in operands(arguments) {
                    shell.set_variable(variable, vec![UNKNOWN.to_string()]);
                }
            }
            _ => return false,
        }
        true
    }

    fn run_find(&mut self, arguments: &[String], shell: &mut ShellState) -> PipeContent {
        let search = parse_find(arguments);
        if search.deletes {
            self.findings.add_risk(CommandRisk::DeletesData);
        }
        if search.is_narrowed {
            for command in search.commands {
                let words = command.iter().map(|word| word.replace("{}", &UNKNOWN.to_string())).collect();
                self.run_command(words, &mut shell.clone(), PipeContent::Unknown, false);
            }
            return PipeContent::Unknown;
        }
        if search.deletes {
            for start in &search.start_paths {
                if let Some(what) = self.location(shell).protected_directory(start) {
                    self.findings.add_refusal(format!("deletes {what} recursively"));
                }
            }
        }
        for command in search.commands {
            for start in &search.start_paths {
                let words = command.iter().map(|word| word.replace("{}", start)).collect();
                self.run_command(words, &mut shell.clone(), PipeContent::Unknown, true);
            }
        }
        PipeContent::Paths(search.start_paths)
    }

    fn run_wrapped(
        &mut self,
        name: &str,
        inner: WrappedCommand,
        arguments: &[String],
        shell: &mut ShellState,
        input: PipeContent,
    ) -> PipeContent {
        if self.depth >= DEEPEST {
            return PipeContent::Unknown;
        }
        match inner {
            WrappedCommand::Command(words) if name == "xargs" || name == "parallel" => {
                let each = matches!(input, PipeContent::Paths(_));
                let words = program_rules::xargs_command(words, arguments, &input);
                self.run_command(words, &mut shell.clone(), PipeContent::Unknown, each)
            }
            WrappedCommand::Command(words) => {
                self.depth += 1;
                let flow = self.run_command(words, &mut shell.clone(), input, false);
                self.depth -= 1;
                flow
            }
            WrappedCommand::Line(line, _) if matches!(name, "eval" | "trap") => {
                self.walk_source(&as_written(&line), shell, input)
            }
            WrappedCommand::Line(line, positional) => {
                let mut own = ShellState { positional, functions: Default::default(), ..shell.clone() };
                self.walk_source(&as_written(&line), &mut own, input)
            }
            WrappedCommand::File(file) if file.contains(DOWNLOADED) => self.runs_download(),
            WrappedCommand::File(_) => PipeContent::Unknown,
            WrappedCommand::Input(_) | WrappedCommand::Interpreter
                if matches!(input, PipeContent::Downloaded) =>
            {
                self.runs_download()
            }
            WrappedCommand::Interpreter => PipeContent::Unknown,
            WrappedCommand::Input(more) => match input {
                PipeContent::Text(line) => {
                    let positional = std::iter::once(name.to_owned()).chain(more).collect();
                    let mut own = ShellState { positional, functions: Default::default(), ..shell.clone() };
                    self.walk_source(&as_written(&line), &mut own, PipeContent::Unknown)
                }
                _ => PipeContent::Unknown,
            },
        }
    }
}

/// What redirections do to a command.
struct RedirectedCommand<'t> {
    input: PipeContent,
    /// Words that belong to the command.
    command_words: Vec<String>,
    /// Nodes that follow the start of a heredoc on its line.
    nodes_after_heredoc: Vec<Node<'t>>,
}
