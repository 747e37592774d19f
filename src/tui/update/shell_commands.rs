//! `/cmd`: the user's commands, run beside other work, and those that a model writes, which only the user runs.

use crate::dialog::QuestionDialog;
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::slash::{self, ShellLine, SlashAction};
use crate::transcript::item::{ItemTone, TranscriptBlock, TranscriptItem};
use synthdev_domain::cost::CostEntry;
use synthdev_domain::ids::Timestamp;
use synthdev_service::session::{LookupRequest, ShellOutcome, ShellSuggestion, ShellSuggestionResponse};

pub fn run_shell_line(model: &mut UiModel, line: ShellLine) -> Vec<UiCommand> {
    match line {
        ShellLine::List if model.composer.request_recall() => {
            model.shell.waiting_line = Some(ShellLine::List)
        }
        ShellLine::Pick(number)
            if model.shell.nth_command(number).is_none() && model.composer.request_recall() =>
        {
            model.shell.waiting_line = Some(ShellLine::Pick(number));
        }
        ShellLine::List => list_commands(model),
        ShellLine::Pick(number) => pick_command(model, number),
        ShellLine::Ask(words) => return ask_suggestion(model, words),
        ShellLine::Add => match model.shell.take_last() {
            Some(text) => model.composer.paste_text(&text),
            None => drop(model.add_item(TranscriptItem::note_item("no command has run yet: /cmd COMMAND"))),
        },
        ShellLine::Run(command) => {
            model.shell.add_command(&command);
            model.add_item(TranscriptItem::note_item(&format!("$ {command}")));
            return vec![UiCommand::ask(LookupRequest::Shell(command, false))];
        }
    }
    Vec::new()
}

/// Those of earlier sessions are among what was typed.
pub fn add_recalled_commands(model: &mut UiModel, texts: &[String]) {
    let command = |text: &String| match slash::is_command(text).then(|| slash::parse_command_line(text)) {
        Some(Ok(SlashAction::Shell(ShellLine::Run(command)))) => Some(command),
        _ => None,
    };
    model.shell.add_earlier(texts.iter().filter_map(command));
    match model.shell.waiting_line.take() {
        Some(ShellLine::Pick(number)) => pick_command(model, number),
        Some(_) => list_commands(model),
        None => {}
    }
}

fn pick_command(model: &mut UiModel, number: usize) {
    match model.shell.nth_command(number).map(str::to_owned) {
        Some(command) => offer_command(model, &command, None),
        None => {
            let count = model.shell.recent_commands().count();
            let why = format!("there is no command {number}: /cmd lists them, {count} by now");
            model.add_item(TranscriptItem::line(ItemTone::Bad, &why));
        }
    }
}

fn list_commands(model: &mut UiModel) {
    let commands: Vec<&str> = model.shell.recent_commands().collect();
    if commands.is_empty() {
        model.add_item(TranscriptItem::note_item("no command has run yet: /cmd COMMAND, or /cmd ??? WORDS"));
        return;
    }
    let lines: Vec<String> =
        commands.iter().enumerate().map(|(at, command)| format!("{:>2}  {command}", at + 1)).collect();
    let does = if model.line_mode { "asks whether to run it" } else { "puts it into the input box" };
    let block = TranscriptBlock::new(ItemTone::Accent, "Last commands", &lines.join("\n"));
    model.add_item(TranscriptItem::Block(block.with_footer(format!("→ /cmd N {does}"))));
}

/// Puts the command into the input box, to be changed and sent; without a box, asks the user whether to run it.
fn offer_command(model: &mut UiModel, command: &str, warning: Option<&str>) {
    if model.line_mode {
        let warning = warning.map(|why| format!("\n\n! {why}")).unwrap_or_default();
        let run = UiCommand::ask(LookupRequest::Shell(command.to_owned(), !warning.is_empty()));
        model.push_question(QuestionDialog::for_confirmation(
            "Run this command?",
            &format!("$ {command}{warning}"),
            run,
        ));
    } else if model.composer.is_empty() {
        model.composer.replace_undoably(&format!("/cmd {command}"));
        model.hint = Some(match warning {
            Some(why) => format!("! {why} · Enter asks before it runs"),
            None => "Enter runs it · change it first if you like · Ctrl+C takes it away".to_owned(),
        });
    } else {
        model.shell.add_command(command);
        model.hint = Some("there is a text in the input box: /cmd 1 takes the command there".to_owned());
    }
}

fn ask_suggestion(model: &mut UiModel, words: String) -> Vec<UiCommand> {
    if let Some(aside) = &model.side_query {
        let why = format!("not now: {} · Esc stops that", aside.activity_text);
        model.add_item(TranscriptItem::warning_item(&why));
        return Vec::new();
    }
    model.add_item(TranscriptItem::note_item(&format!("? {words}")));
    let number = model.start_side_query("a command is written");
    vec![UiCommand::ask(LookupRequest::Suggest(number, words))]
}

pub fn on_suggestion(model: &mut UiModel, number: u64, suggested: ShellSuggestionResponse, at: Timestamp) {
    model.now = model.now.max(at);
    record_costs(model, &suggested.costs);
    if !model.finish_side_query(number) {
        return;
    }
    match suggested.suggestion {
        Ok(ShellSuggestion { command, warning, model: by }) => {
            let block =
                TranscriptBlock::new(ItemTone::Accent, &format!("{by} suggests"), &format!("$ {command}"));
            let foot = warning.as_ref().map(|why| format!("! {why}"));
            let block = foot.into_iter().fold(block, |block, line| block.with_footer(&line));
            model.add_item(TranscriptItem::Block(block));
            model.suggestion_offered_at = model.composer.is_empty().then_some(model.now);
            offer_command(model, &command, warning.as_deref());
        }
        Err(why) => drop(model.add_item(TranscriptItem::line(ItemTone::Bad, &why))),
    }
}

/// What was asked beside the runs is paid for like everything else.
pub fn record_costs(model: &mut UiModel, spent: &[CostEntry]) {
    for entry in spent {
        model.side_query_costs.entries.push(entry);
    }
}

/// Esc: what comes after all is of no interest any more, but what it used.
pub fn stop_suggestion(model: &mut UiModel) -> Vec<UiCommand> {
    if let Some(aside) = model.side_query.take() {
        model.hint = Some(format!("stopped: {}", aside.activity_text));
    }
    vec![UiCommand::ask(LookupRequest::StopSideQuery)]
}

pub fn on_command_ran(model: &mut UiModel, command: String, told: Result<ShellOutcome, String>) {
    match told {
        Ok(ShellOutcome::Risky(why)) => {
            let body = format!("$ {command}\n\n! {why}");
            let again = UiCommand::ask(LookupRequest::Shell(command, true));
            model.push_question(QuestionDialog::for_confirmation("Run this command?", &body, again));
        }
        Ok(ShellOutcome::Done { succeeded: ok, summary, text, goes_with_next_text: along }) => {
            let (tone, sign) = if ok { (ItemTone::Accent, "$") } else { (ItemTone::Bad, "✗ $") };
            let block = TranscriptBlock::new(tone, &format!("{sign} {command} · {summary}"), &text);
            let foot = if along {
                "→ goes along with your next text to the role"
            } else {
                "→ /cmd add puts it into the input box"
            };
            model.add_item(TranscriptItem::Block(block.with_footer(foot)));
            model.shell.add_command(&command);
            model.shell.record_output(&command, &text, along);
        }
        Err(reason) => {
            model.add_item(TranscriptItem::error("the command was not run", &reason));
        }
    }
}
