//! `/cmd`: commands of the person, run beside what goes on, and those that a model writes, which only the person runs.

use crate::backend::{ShellOutcome, ShellSuggestion, ShellSuggestionReply};
use crate::dialog::QuestionDialog;
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::slash::{self, ShellLine, SlashAction};
use crate::transcript::item::{ItemTone, TranscriptBlock, TranscriptItem};
use synthdev_domain::cost::CostEntry;
use synthdev_domain::ids::Timestamp;

pub fn act(model: &mut UiModel, line: ShellLine) -> Vec<UiCommand> {
    match line {
        ShellLine::List if model.composer.want_earlier() => model.shell.waits = Some(ShellLine::List),
        ShellLine::Pick(number) if model.shell.nth(number).is_none() && model.composer.want_earlier() => {
            model.shell.waits = Some(ShellLine::Pick(number));
        }
        ShellLine::List => list(model),
        ShellLine::Pick(number) => pick(model, number),
        ShellLine::Ask(words) => return ask(model, words),
        ShellLine::Add => match model.shell.take_last() {
            Some(text) => model.composer.paste(&text),
            None => drop(model.say(TranscriptItem::note("no command was run yet: /cmd COMMAND"))),
        },
        ShellLine::Run(command) => {
            model.shell.note(&command);
            model.say(TranscriptItem::note(&format!("$ {command}")));
            return vec![UiCommand::Shell(command, false)];
        }
    }
    Vec::new()
}

/// Those of earlier sessions are among what was typed.
pub fn recalled(model: &mut UiModel, texts: &[String]) {
    let command = |text: &String| match slash::is_command(text).then(|| slash::parse(text)) {
        Some(Ok(SlashAction::Shell(ShellLine::Run(command)))) => Some(command),
        _ => None,
    };
    model.shell.earlier(texts.iter().filter_map(command));
    match model.shell.waits.take() {
        Some(ShellLine::Pick(number)) => pick(model, number),
        Some(_) => list(model),
        None => {}
    }
}

fn pick(model: &mut UiModel, number: usize) {
    match model.shell.nth(number).map(str::to_owned) {
        Some(command) => offer(model, &command, None),
        None => {
            let count = model.shell.recent().count();
            let why = format!("there is no command {number}: /cmd lists them, {count} by now");
            model.say(TranscriptItem::line(ItemTone::Bad, &why));
        }
    }
}

fn list(model: &mut UiModel) {
    let commands: Vec<&str> = model.shell.recent().collect();
    if commands.is_empty() {
        model.say(TranscriptItem::note("no command was run yet: /cmd COMMAND, or /cmd ??? WORDS"));
        return;
    }
    let lines: Vec<String> =
        commands.iter().enumerate().map(|(at, command)| format!("{:>2}  {command}", at + 1)).collect();
    let does = if model.linear { "asks whether to run it" } else { "puts it into the input box" };
    let block = TranscriptBlock::new(ItemTone::Accent, "Last commands", &lines.join("\n"));
    model.say(TranscriptItem::Block(block.foot(format!("→ /cmd N {does}"))));
}

/// Into the input box, to be changed and sent; where there is none, the person is asked whether to run it.
fn offer(model: &mut UiModel, command: &str, warning: Option<&str>) {
    if model.linear {
        let warning = warning.map(|why| format!("\n\n! {why}")).unwrap_or_default();
        let run = UiCommand::Shell(command.to_owned(), !warning.is_empty());
        model.dialogs.push_back(QuestionDialog::confirm(
            "Run this command?",
            &format!("$ {command}{warning}"),
            run,
        ));
    } else if model.composer.is_empty() {
        model.composer.rewrite(&format!("/cmd {command}"));
        model.hint = Some(match warning {
            Some(why) => format!("! {why} · change it, or Enter asks whether to run it"),
            None => "Enter runs it · change it first if you like · Ctrl+C takes it away".to_owned(),
        });
    } else {
        model.shell.note(command);
        model.hint = Some("there is a text in the input box: /cmd 1 takes the command there".to_owned());
    }
}

fn ask(model: &mut UiModel, words: String) -> Vec<UiCommand> {
    if let Some(aside) = &model.aside {
        let why = format!("not now: {} · Esc stops that", aside.what);
        model.say(TranscriptItem::warning(&why));
        return Vec::new();
    }
    model.say(TranscriptItem::note(&format!("? {words}")));
    let number = model.start_side_query("a command is written");
    vec![UiCommand::Suggest(number, words)]
}

pub fn suggested(model: &mut UiModel, number: u64, suggested: ShellSuggestionReply, at: Timestamp) {
    model.now = model.now.max(at);
    record_costs(model, &suggested.spent);
    if !model.finish_side_query(number) {
        return;
    }
    match suggested.told {
        Ok(ShellSuggestion { command, warning, model: by }) => {
            let block =
                TranscriptBlock::new(ItemTone::Accent, &format!("{by} suggests"), &format!("$ {command}"));
            let foot = warning.as_ref().map(|why| format!("! {why}"));
            let block = foot.into_iter().fold(block, |block, line| block.foot(&line));
            model.say(TranscriptItem::Block(block));
            model.offered = model.composer.is_empty().then_some(model.now);
            offer(model, &command, warning.as_deref());
        }
        Err(why) => drop(model.say(TranscriptItem::line(ItemTone::Bad, &why))),
    }
}

/// What was asked beside the runs is paid for like everything else.
pub fn record_costs(model: &mut UiModel, spent: &[CostEntry]) {
    for entry in spent {
        model.paid_beside.entries.push(entry);
    }
}

/// Esc: what comes after all is of no interest any more, but what it used.
pub fn stop(model: &mut UiModel) -> Vec<UiCommand> {
    if let Some(aside) = model.aside.take() {
        model.hint = Some(format!("stopped: {}", aside.what));
    }
    vec![UiCommand::StopAside]
}

pub fn ran(model: &mut UiModel, command: String, told: Result<ShellOutcome, String>) {
    match told {
        Ok(ShellOutcome::Risky(why)) => {
            let body = format!("$ {command}\n\n! {why}");
            let again = UiCommand::Shell(command, true);
            model.dialogs.push_back(QuestionDialog::confirm("Run this command?", &body, again));
        }
        Ok(ShellOutcome::Done { ok, summary, text, along }) => {
            let (tone, sign) = if ok { (ItemTone::Accent, "$") } else { (ItemTone::Bad, "✗ $") };
            let block = TranscriptBlock::new(tone, &format!("{sign} {command} · {summary}"), &text);
            let foot = if along {
                "→ goes along with your next text to the role"
            } else {
                "→ /cmd add puts it into the input box"
            };
            model.say(TranscriptItem::Block(block.foot(foot)));
            model.shell.note(&command);
            model.shell.ran(&command, &text, along);
        }
        Err(reason) => {
            model.say(TranscriptItem::error("the command was not run", &reason));
        }
    }
}
