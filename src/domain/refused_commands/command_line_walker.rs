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
use super::program_rules::{self, is_download, judge, search};
use super::protected_paths::CommandLocation;
use super::risks::{CommandFindings, CommandRisk};
use super::shell_state::ShellState;
use super::syntax_tree::{children, fields, in_background, is_too_deep, is_word, named, parsed, text};
use super::word_expansion::{CommandSubstitution, as_written, assigned, expanded};
use super::wrappers::{WrappedCommand, wrapped};

/// Lines inside of lines, calls inside of calls.
const DEEPEST: usize = 12;
/// Commands that are looked at.
const MOST_STEPS: usize = 4_000;
/// Room for one line, and for those inside of it.
const STACK: (usize, usize) = (2 * 1024 * 1024, 16 * 1024 * 1024);

pub(super) struct CommandLineWalker<'a> {
    input: &'a RefusedCommandInput<'a>,
    pub(super) found: CommandFindings,
    steps: usize,
    depth: usize,
}

impl CommandSubstitution for CommandLineWalker<'_> {
    fn substituted(&mut self, node: Node<'_>, source: &str, shell: &ShellState) -> PipeContent {
        let mut inner = shell.clone();
        let written = text(node, source);
        if let Some(quoted) = written.strip_prefix('`') {
            let line =
                quoted.trim_end_matches('`').replace("\\`", "`").replace("\\$", "$").replace("\\\\", "\\");
            return self.line(&line, &mut inner, PipeContent::Unknown);
        }
        let flow = self.inside(node, source, &mut inner, PipeContent::Unknown);
        if node.kind() == "process_substitution" { flow.changed() } else { flow }
    }
}

impl<'a> CommandLineWalker<'a> {
    pub(super) fn new(input: &'a RefusedCommandInput<'a>) -> Self {
        Self { input, found: CommandFindings::default(), steps: 0, depth: 0 }
    }

    pub(super) fn whole_line(&mut self, line: &str) {
        let line = line.replace(is_mark, "_");
        let mut shell = self.shell();
        self.line(&line, &mut shell, PipeContent::Unknown);
    }

    pub(super) fn program(&mut self, program: &str, arguments: &[String]) {
        let words = std::iter::once(program.to_owned()).chain(arguments.iter().cloned()).collect();
        let mut shell = self.shell();
        self.run(words, &mut shell, PipeContent::Unknown, false);
    }

    fn shell(&self) -> ShellState {
        ShellState::new(self.input.directory.to_str(), self.input.home.and_then(|home| home.to_str()))
    }

    fn line(&mut self, line: &str, shell: &mut ShellState, input: PipeContent) -> PipeContent {
        if self.depth >= DEEPEST {
            return PipeContent::Unknown;
        }
        self.depth += 1;
        let flow = stacker::maybe_grow(STACK.0, STACK.1, || match parsed(line) {
            Some(tree) if !is_too_deep(&tree) => self.inside(tree.root_node(), line, shell, input),
            _ => PipeContent::Unknown,
        });
        self.depth -= 1;
        flow
    }

    /// One statement after the other.
    fn inside(
        &mut self,
        node: Node<'_>,
        source: &str,
        shell: &mut ShellState,
        input: PipeContent,
    ) -> PipeContent {
        let mut flow = PipeContent::Unknown;
        for child in named(node) {
            let given = input.clone();
            flow = if in_background(child) {
                self.statement(child, source, &mut shell.clone(), given);
                flow
            } else {
                let next = self.statement(child, source, shell, given);
                flow.then(next)
            };
        }
        flow
    }

    fn statement(
        &mut self,
        node: Node<'_>,
        source: &str,
        shell: &mut ShellState,
        input: PipeContent,
    ) -> PipeContent {
        match node.kind() {
            "ERROR" => self.unsure(|walker| walker.inside(node, source, shell, input)),
            "command" if node.has_error() => {
                self.unsure(|walker| walker.command(node, source, shell, input, &[]))
            }
            "command" => self.command(node, source, shell, input, &[]),
            "list" => self.list(node, source, shell, input),
            "pipeline" => self.pipeline(node, source, shell, input),
            "redirected_statement" => self.redirected(node, source, shell, input),
            "subshell" => self.inside(node, source, &mut shell.clone(), input),
            "for_statement" => self.for_each(node, source, shell, input),
            "function_definition" => self.function(node, source, shell),
            "variable_assignment" => self.assignment(node, source, shell),
            "case_item" => {
                let first = fields(node, "value").len();
                named(node).into_iter().skip(first).fold(PipeContent::Unknown, |flow, child| {
                    flow.then(self.statement(child, source, shell, input.clone()))
                })
            }
            kind if is_word(kind) => {
                expanded(node, source, shell, self);
                PipeContent::Unknown
            }
            _ => self.inside(node, source, shell, input),
        }
    }

    /// What is only guessed at is no reason to refuse.
    fn unsure(&mut self, look: impl FnOnce(&mut Self) -> PipeContent) -> PipeContent {
        let before = self.found.refusal.take();
        let flow = look(self);
        self.found.refusal = before;
        flow
    }

    fn list(
        &mut self,
        node: Node<'_>,
        source: &str,
        shell: &mut ShellState,
        input: PipeContent,
    ) -> PipeContent {
        let parts = children(node);
        let either = parts.iter().any(|part| part.kind() == "||");
        let before = shell.directory.clone();
        let mut flow = PipeContent::Unknown;
        for (at, part) in parts.into_iter().filter(|part| part.is_named()).enumerate() {
            let given = if at == 0 { input.clone() } else { PipeContent::Unknown };
            // what stands behind `||` runs where the first command has failed
            let after = shell.directory.clone();
            if either && at > 0 {
                shell.directory.clone_from(&before);
            }
            let next = self.statement(part, source, shell, given);
            flow = flow.then(next);
            if either && at > 0 && shell.directory == before {
                shell.directory = after;
            }
        }
        flow
    }

    fn pipeline(
        &mut self,
        node: Node<'_>,
        source: &str,
        shell: &mut ShellState,
        input: PipeContent,
    ) -> PipeContent {
        named(node)
            .into_iter()
            .fold(input, |flow, part| self.statement(part, source, &mut shell.clone(), flow))
    }

    fn written(&mut self, target: &str, shell: &ShellState) {
        if let Some(device) = self.standpoint(shell).device(target) {
            self.found.warn(CommandRisk::WritesDevice);
            self.found.refuse(format!("writes to the device {device}"));
        }
    }

    fn standpoint<'s>(&self, shell: &'s ShellState) -> CommandLocation<'s>
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
        let values = fields(node, "value");
        let words: Vec<String> = if values.is_empty() {
            shell.values("@").unwrap_or_else(|| vec![UNKNOWN.to_string()])
        } else {
            values.into_iter().flat_map(|value| expanded(value, source, shell, self)).collect()
        };
        if let Some(name) = node.child_by_field_name("variable") {
            shell.set(text(name, source), words);
        }
        let body = node.child_by_field_name("body");
        body.map_or(PipeContent::Unknown, |body| self.inside(body, source, shell, input))
    }

    fn function(&mut self, node: Node<'_>, source: &str, shell: &mut ShellState) -> PipeContent {
        let (Some(name), Some(body)) = (node.child_by_field_name("name"), node.child_by_field_name("body"))
        else {
            return PipeContent::Unknown;
        };
        let name = text(name, source);
        if is_fork_bomb(name, body, source) {
            self.found.warn(CommandRisk::ForkBomb);
            self.found.refuse(format!("the function `{name}` starts itself again and again (a fork bomb)"));
        }
        Rc::make_mut(&mut shell.functions).insert(name.to_owned(), text(body, source).to_owned());
        PipeContent::Unknown
    }

    fn assignment(&mut self, node: Node<'_>, source: &str, shell: &mut ShellState) -> PipeContent {
        if let Some(name) = node.child_by_field_name("name") {
            let name = text(name, source).split('[').next().unwrap_or_default();
            let values = match node.child_by_field_name("value") {
                Some(value) => assigned(value, source, shell, self),
                None => vec![String::new()],
            };
            let adds = children(node).iter().any(|token| token.kind() == "+=");
            shell.set(name, if adds { vec![UNKNOWN.to_string()] } else { values });
        }
        PipeContent::Unknown
    }

    fn command(
        &mut self,
        node: Node<'_>,
        source: &str,
        shell: &mut ShellState,
        input: PipeContent,
        more: &[String],
    ) -> PipeContent {
        let mut to = RedirectedCommand { input, words: Vec::new(), behind: Vec::new() };
        let (mut words, mut own) = (Vec::new(), None);
        for child in named(node) {
            match child.kind() {
                "variable_assignment" => {
                    let own = own.get_or_insert_with(|| shell.clone());
                    self.assignment(child, source, own);
                }
                kind if kind.ends_with("redirect") => self.redirect(child, source, shell, &mut to),
                "subshell" => drop(self.statement(child, source, shell, PipeContent::Unknown)),
                "ERROR" => {}
                _ => words.extend(expanded(child, source, shell, self)),
            }
        }
        words.append(&mut to.words);
        words.extend_from_slice(more);
        // variables before a command are seen by it alone
        let before = own.map(|own| std::mem::replace(&mut shell.variables, own.variables));
        let flow = self.run(words, shell, to.input, false);
        if let Some(before) = before {
            shell.variables = before;
        }
        flow
    }

    /// `each`: it is run for every file below its arguments.
    fn run(
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
            let flow = self.line(&body, shell, input);
            shell.positional = earlier;
            return flow;
        }
        let standpoint = self.standpoint(shell);
        // a program of the project may have any name
        let own = standpoint.absolute(program).is_some_and(|path| standpoint.is_in_project(&path));
        let name = if program.contains('/') && own { program } else { base_name(program) };
        if self.builtin(name, arguments, shell) {
            return PipeContent::Unknown;
        }
        if name == "find" {
            return self.find(arguments, shell);
        }
        judge(name, arguments, self.standpoint(shell), each, &mut self.found);
        match wrapped(name, arguments) {
            Some(inner) => self.wrapped(name, inner, arguments, shell, input),
            None if is_download(name, arguments) => PipeContent::Downloaded,
            None => program_rules::output(name, arguments, self.standpoint(shell), input),
        }
    }

    fn runs_download(&mut self) -> PipeContent {
        self.found.warn(CommandRisk::RunsDownload);
        if self.input.network {
            self.found.refuse("runs what it downloads, unread");
        }
        PipeContent::Unknown
    }

    /// Whether it is one that changes what the shell knows.
    fn builtin(&mut self, name: &str, arguments: &[String], shell: &mut ShellState) -> bool {
        match name {
            "cd" | "pushd" | "chdir" => {
                let directory = match operands(arguments).first() {
                    None => self.input.home.and_then(|home| home.to_str()).map(str::to_owned),
                    Some(&"-") => shell.earlier_directory.clone(),
                    Some(to) => self.standpoint(shell).absolute(to),
                };
                shell.enter(directory);
            }
            "popd" => {
                let earlier = shell.earlier_directory.clone();
                shell.enter(earlier);
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
                    shell.set(variable, vec![UNKNOWN.to_string()]);
                }
            }
            _ => return false,
        }
        true
    }

    fn find(&mut self, arguments: &[String], shell: &mut ShellState) -> PipeContent {
        let search = search(arguments);
        if search.deletes {
            self.found.warn(CommandRisk::DeletesData);
        }
        if search.narrowed {
            for command in search.commands {
                let words = command.iter().map(|word| word.replace("{}", &UNKNOWN.to_string())).collect();
                self.run(words, &mut shell.clone(), PipeContent::Unknown, false);
            }
            return PipeContent::Unknown;
        }
        if search.deletes {
            for start in &search.starts {
                if let Some(what) = self.standpoint(shell).protected(start) {
                    self.found.refuse(format!("deletes {what} recursively"));
                }
            }
        }
        for command in search.commands {
            for start in &search.starts {
                let words = command.iter().map(|word| word.replace("{}", start)).collect();
                self.run(words, &mut shell.clone(), PipeContent::Unknown, true);
            }
        }
        PipeContent::Paths(search.starts)
    }

    fn wrapped(
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
                let words = program_rules::filled(words, arguments, &input);
                self.run(words, &mut shell.clone(), PipeContent::Unknown, each)
            }
            WrappedCommand::Command(words) => {
                self.depth += 1;
                let flow = self.run(words, &mut shell.clone(), input, false);
                self.depth -= 1;
                flow
            }
            WrappedCommand::Line(line, _) if matches!(name, "eval" | "trap") => {
                self.line(&as_written(&line), shell, input)
            }
            WrappedCommand::Line(line, positional) => {
                let mut own = ShellState { positional, functions: Default::default(), ..shell.clone() };
                self.line(&as_written(&line), &mut own, input)
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
                    self.line(&as_written(&line), &mut own, PipeContent::Unknown)
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
    words: Vec<String>,
    /// What stands behind the beginning of a heredoc.
    behind: Vec<Node<'t>>,
}
