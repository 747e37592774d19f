//! `/task`: the user's list on screen.

use synthdev::domain::task_list::{TaskList, TaskListCommand};
use synthdev::service::session::{LookupRequest, LookupResponse, SessionRequest, StartRequest};

use super::*;

/// A desk with a list behind it.
struct Tasks {
    desk: TuiHarness,
    list: TaskList,
}

impl Tasks {
    fn new(texts: &[&str]) -> Self {
        let mut list = TaskList::default();
        for text in texts {
            list.perform(&TaskListCommand::Add((*text).to_owned())).unwrap();
        }
        Self { desk: TuiHarness::new(), list }
    }

    /// What is said when this is done.
    fn line(&mut self, line: &str) -> String {
        self.desk.take_commands();
        self.desk.line(line);
        let wanted = self.desk.take_commands().into_iter().find_map(|cmd| match cmd {
            UiCommand::Ask(SessionRequest::Lookup(LookupRequest::Task(deed))) => Some(deed),
            _ => None,
        });
        if let Some(deed) = wanted {
            let told = self.list.perform(&deed).map(|task| (self.list.clone(), task));
            self.desk
                .send_message(UiMessage::answered(LookupResponse::Tasks { command: deed, outcome: told }));
        }
        self.desk.last_message_text()
    }
}

#[test]
fn what_is_done_with_tasks_is_said() {
    let mut tasks = Tasks::new(&[]);
    for (line, said) in [
        ("/task", "no tasks in this project: /task add WORDS"),
        ("/task add write the parser", "task 1 added: write the parser · 1 open"),
        ("/t add \"and its tests\"", "task 2 added: and its tests · 2 open"),
        ("/tasks done 1", "task 1 done: write the parser · 1 open"),
        ("/task edit 2 its tests", "task 2 changed: its tests · 1 open"),
        ("/task done 1", "task 1 open again: write the parser · 2 open"),
        ("/task remove 1", "task 1 removed: write the parser · 1 open"),
        ("/task done 1", "there is no task 1: /task lists them"),
        ("/task done", "/task done needs the number"),
        ("/task ad x", "did you mean add?"),
    ] {
        let found = tasks.line(line);
        assert!(found.contains(said), "{line}: {found}");
    }
}

#[test]
fn the_list_shows_all_of_them() {
    let mut tasks = Tasks::new(&["write the parser", "tests\nfor \u{1b}[2Jall of it", "a longer one"]);
    tasks.line("/task done 1");
    let said = tasks.line("/task");
    assert!(
        said.contains("✓  1  write the parser\n   2  tests\n      for all of it\n   3  a longer one"),
        "{said}"
    );
    tasks.desk.check_frames("tasks");
}

#[test]
fn a_task_comes_into_the_input_box() {
    let mut tasks = Tasks::new(&["write the parser", "two\nlines"]);
    tasks.line("/task use 2");
    assert_eq!(tasks.desk.model.composer.text(), "two\nlines");
    tasks.desk.press_control('c');
    tasks.desk.advance_clock(10_000);
    tasks.line("/task use 1 coder_reviewer");
    assert_eq!(tasks.desk.model.composer.text(), "/workflow coder_reviewer write the parser");
    tasks.desk.key(KeyCode::Enter);
    let input = "write the parser".to_owned();
    let start = UiCommand::ask(StartRequest::Workflow { name: "coder_reviewer".into(), input });
    assert!(tasks.desk.take_commands().contains(&start));
    // somebody types meanwhile
    let mut tasks = Tasks::new(&["one"]);
    tasks.desk.line("/task use 1").type_text("a tho");
    let told = tasks.list.perform(&TaskListCommand::Use(1, None)).map(|task| (tasks.list.clone(), task));
    tasks.desk.send_message(UiMessage::answered(LookupResponse::Tasks {
        command: TaskListCommand::Use(1, None),
        outcome: told,
    }));
    assert_eq!(tasks.desk.model.composer.text(), "a tho");
    assert!(tasks.desk.draw_screen(80, 24).contains("/task use 1 once more takes it"));
}
