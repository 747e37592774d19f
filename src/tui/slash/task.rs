//! `/task`: the user's list of tasks in this project.

use super::argument_kind::SlashArgument;
use super::arguments::{split_word, strip_quotes};
use super::command::{SlashAction, SlashCommand};
use synthdev_domain::task_list::TaskListCommand;
use synthdev_service::definition_views::did_you_mean::closest_word;

pub(super) const TASK: SlashCommand = SlashCommand {
    name: "task",
    aliases: &["tasks", "t"],
    usage: "add WORDS | edit N WORDS | done N | remove N | use N [WORKFLOW]",
    description: "manage the task list of this project",
    long_help: "Without a word: lists the tasks. They are yours, kept for this project in your data directory, not among its \
           files. done on a finished task reopens it. use puts the text of a task into the input box, or \
               makes it the input of the named workflow.\nExample: /task use 2 coder_reviewer",
    argument: SlashArgument::Task,
    parse_arguments: |rest| Ok(SlashAction::Task(parse_task_command(rest)?)),
};

/// Words that follow the command, with their effects.
pub const TASK_WORDS: [(&str, &str); 6] = [
    ("add", "one more"),
    ("list", "all of them"),
    ("edit", "another text for one"),
    ("done", "one is done, or open again"),
    ("remove", "one goes"),
    ("use", "its text into the input box"),
];

fn parse_task_command(rest: &str) -> Result<TaskListCommand, String> {
    let (verb, rest) = split_word(rest);
    let rest = rest.trim();
    let (number, after) = split_word(rest);
    let numbered = || match number.parse::<u64>() {
        Ok(number) => Ok(number),
        Err(_) if number.is_empty() => {
            Err(format!("/task {verb} needs the number of a task: /task lists them"))
        }
        Err(_) => Err(format!("`{number}` is not a task number: /task lists them")),
    };
    let alone = |deed: TaskListCommand| match after.trim() {
        "" => Ok(deed),
        more => Err(format!("/task {verb} takes the number of one task, not `{more}`, too")),
    };
    match verb {
        "" | "list" if rest.is_empty() => Ok(TaskListCommand::List),
        "list" => Err("/task list takes nothing more".to_owned()),
        "add" => match strip_quotes(rest).trim() {
            "" => Err("/task add needs words: what is to be done".to_owned()),
            text => Ok(TaskListCommand::Add(text.to_owned())),
        },
        "edit" => match (numbered()?, strip_quotes(after.trim()).trim()) {
            (number, "") => Err(format!("/task edit {number} needs the new words")),
            (number, text) => Ok(TaskListCommand::Edit(number, text.to_owned())),
        },
        "done" => alone(TaskListCommand::Done(numbered()?)),
        "remove" => alone(TaskListCommand::Remove(numbered()?)),
        "use" => {
            let (workflow, more) = split_word(after.trim());
            if !more.trim().is_empty() {
                return Err(format!("/task use takes a number and a workflow, not `{}`, too", more.trim()));
            }
            Ok(TaskListCommand::Use(numbered()?, (!workflow.is_empty()).then(|| workflow.to_owned())))
        }
        other => Err(match closest_word(other, TASK_WORDS.iter().map(|(word, _)| *word)) {
            Some(word) => format!("unknown: /task {other} — did you mean {word}?"),
            None => format!("unknown: /task {other} — to add a task: /task add {other} …"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_understood() {
        for (rest, expected) in [
            ("", Ok(TaskListCommand::List)),
            ("list", Ok(TaskListCommand::List)),
            ("add write the parser", Ok(TaskListCommand::Add("write the parser".into()))),
            ("add \"two\nlines\"", Ok(TaskListCommand::Add("two\nlines".into()))),
            ("edit 2 other  words", Ok(TaskListCommand::Edit(2, "other  words".into()))),
            ("done 3", Ok(TaskListCommand::Done(3))),
            ("remove 3", Ok(TaskListCommand::Remove(3))),
            ("use 1", Ok(TaskListCommand::Use(1, None))),
            ("use 1 coder_reviewer", Ok(TaskListCommand::Use(1, Some("coder_reviewer".into())))),
            ("add", Err("/task add needs words")),
            ("add \"\"", Err("/task add needs words")),
            ("edit 2", Err("/task edit 2 needs the new words")),
            ("edit two words", Err("`two` is not a task number")),
            ("done", Err("/task done needs the number of a task")),
            ("done 1 2", Err("takes the number of one task, not `2`")),
            ("use 1 a b", Err("not `b`")),
            ("list x", Err("takes nothing more")),
            ("remov 1", Err("did you mean remove?")),
            ("write the parser", Err("unknown: /task write")),
        ] {
            match (parse_task_command(rest), expected) {
                (Ok(found), Ok(wanted)) => assert_eq!(found, wanted, "{rest}"),
                (Err(found), Err(part)) => assert!(found.contains(part), "{rest}: {found}"),
                (found, _) => panic!("{rest}: {found:?}"),
            }
        }
    }
}
