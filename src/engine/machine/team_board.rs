//! Notes and tasks that the agents of a run share. A task has one taker at a time; one whose taker ended without finishing
//! it is open again.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

use synthdev_domain::agent_team::TeamTaskStatus;

/// What a run keeps at most: a note in every turn must not fill the memory.
const MAX_NOTES: usize = 200;
const MAX_NOTE_CHARS: usize = 20_000;
const MAX_TASKS: usize = 500;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct TeamTask {
    pub(super) id: u64,
    pub(super) title: String,
    /// Only agents of this role take it; `None`: every agent may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) role: Option<String>,
    pub(super) status: TeamTaskStatus,
    /// Who has taken or done it.
    pub(super) agent: Option<String>,
    pub(super) result: Option<String>,
}

impl TeamTask {
    fn is_for(&self, role: &str) -> bool {
        self.role.as_deref().is_none_or(|wanted| wanted == role)
    }

    fn summary(&self) -> Value {
        let mut summary = Map::new();
        summary.insert("id".to_owned(), json!(self.id));
        summary.insert("title".to_owned(), json!(self.title));
        summary.insert("status".to_owned(), json!(self.status.as_str()));
        for (key, value) in [("role", &self.role), ("agent", &self.agent), ("result", &self.result)] {
            if let Some(value) = value {
                summary.insert(key.to_owned(), json!(value));
            }
        }
        Value::Object(summary)
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct TeamBoard {
    notes: BTreeMap<String, String>,
    tasks: Vec<TeamTask>,
}

impl TeamBoard {
    /// `Err`: why it is not kept.
    pub(super) fn write_note(&mut self, key: &str, text: &str) -> Result<(), String> {
        let length = text.chars().count();
        if length > MAX_NOTE_CHARS {
            return Err(format!(
                "the note has {length} characters, at most {MAX_NOTE_CHARS} are kept: shorten it"
            ));
        }
        if !self.notes.contains_key(key) && self.notes.len() >= MAX_NOTES {
            return Err(format!("there are {MAX_NOTES} notes: write over one of them"));
        }
        self.notes.insert(key.to_owned(), text.to_owned());
        Ok(())
    }

    /// One note, or all.
    pub(super) fn read_notes(&self, key: Option<&str>) -> Result<Value, String> {
        let Some(key) = key else { return Ok(json!(self.notes)) };
        let missing = || {
            let known: Vec<&str> = self.notes.keys().map(String::as_str).collect();
            let list = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            format!("there is no note `{key}`; notes: {list}")
        };
        self.notes.get(key).map(|text| json!({key: text})).ok_or_else(missing)
    }

    /// Without a role it is for every agent.
    pub(super) fn add_task(&mut self, title: &str, role: Option<&str>) -> Result<TeamTask, String> {
        if self.tasks.len() >= MAX_TASKS {
            return Err(format!("there are {MAX_TASKS} tasks already"));
        }
        let task = TeamTask {
            id: self.tasks.len() as u64 + 1,
            title: title.to_owned(),
            role: role.map(str::to_owned),
            status: TeamTaskStatus::Open,
            agent: None,
            result: None,
        };
        self.tasks.push(task.clone());
        Ok(task)
    }

    /// The named task, or the first that is open and for the role of the agent.
    pub(super) fn take_task(&mut self, id: Option<u64>, agent: &str, role: &str) -> Result<TeamTask, String> {
        let is_open = |task: &TeamTask| task.status == TeamTaskStatus::Open;
        let others_are_open = self.tasks.iter().any(is_open);
        let wanted = |task: &&mut TeamTask| match id {
            Some(id) => task.id == id,
            None => is_open(task) && task.is_for(role),
        };
        let task = self.tasks.iter_mut().find(wanted).ok_or_else(|| match id {
            Some(id) => format!("there is no task {id}"),
            None if others_are_open => format!("no open task is for your role `{role}` or for no role"),
            None => "no task is open".to_owned(),
        })?;
        if !task.is_for(role) {
            let (id, wanted) = (task.id, task.role.as_deref().unwrap_or_default());
            return Err(format!("task {id} is for the role `{wanted}`, yours is `{role}`: take another one"));
        }
        if task.status != TeamTaskStatus::Open {
            let by = task.agent.as_deref().unwrap_or_default();
            return Err(format!("task {} is {} by {by}", task.id, task.status.as_str()));
        }
        (task.status, task.agent) = (TeamTaskStatus::Taken, Some(agent.to_owned()));
        Ok(task.clone())
    }

    /// The agent that has taken a task reports it as done.
    pub(super) fn finish_task(
        &mut self,
        id: u64,
        agent: &str,
        result: Option<&str>,
    ) -> Result<TeamTask, String> {
        let task = self
            .tasks
            .iter_mut()
            .find(|task| task.id == id)
            .ok_or_else(|| format!("there is no task {id}"))?;
        if task.status != TeamTaskStatus::Taken || task.agent.as_deref() != Some(agent) {
            return Err(format!("you have not taken task {id}: take it first"));
        }
        (task.status, task.result) = (TeamTaskStatus::Done, result.map(str::to_owned));
        Ok(task.clone())
    }

    /// Tasks of an agent that has ended are open again.
    pub(super) fn release_tasks_of(&mut self, agent: &str) -> Vec<TeamTask> {
        let mut released = Vec::new();
        for task in &mut self.tasks {
            if task.status == TeamTaskStatus::Taken && task.agent.as_deref() == Some(agent) {
                (task.status, task.agent) = (TeamTaskStatus::Open, None);
                released.push(task.clone());
            }
        }
        released
    }

    pub(super) fn task_summaries(&self) -> Value {
        self.tasks.iter().map(TeamTask::summary).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_has_one_taker_until_it_ends() {
        let mut board = TeamBoard::default();
        assert_eq!(board.take_task(None, "a", "r").unwrap_err(), "no task is open");
        board.add_task("first", None).unwrap();
        board.add_task("second", None).unwrap();
        assert_eq!(board.take_task(None, "a", "r").unwrap().id, 1);
        assert_eq!(board.take_task(Some(1), "b", "r").unwrap_err(), "task 1 is taken by a");
        assert_eq!(board.take_task(None, "b", "r").unwrap().id, 2);
        assert_eq!(board.finish_task(1, "b", None).unwrap_err(), "you have not taken task 1: take it first");
        board.finish_task(1, "a", Some("ok")).unwrap();
        assert_eq!(board.release_tasks_of("a").len(), 0);
        assert_eq!(board.release_tasks_of("b").len(), 1);
        let expected = json!([
            {"id": 1, "title": "first", "status": "done", "agent": "a", "result": "ok"},
            {"id": 2, "title": "second", "status": "open"}
        ]);
        assert_eq!(board.task_summaries(), expected);
        assert_eq!(board.take_task(Some(3), "a", "r").unwrap_err(), "there is no task 3");
    }

    #[test]
    fn a_task_for_a_role_is_taken_by_its_agents_only() {
        let mut board = TeamBoard::default();
        board.add_task("look", Some("reviewer")).unwrap();
        board.add_task("any", None).unwrap();
        let other = "task 1 is for the role `reviewer`, yours is `coder`: take another one";
        let none = "no open task is for your role `coder` or for no role";
        let rows = [
            (Some(1), "coder", Err(other)),
            (None, "coder", Ok(2)),
            (None, "coder", Err(none)),
            (Some(1), "reviewer", Ok(1)),
            (None, "reviewer", Err("no task is open")),
        ];
        for (id, role, expected) in rows {
            let taken = board.take_task(id, "a", role).map(|task| task.id);
            assert_eq!(taken, expected.map_err(str::to_owned), "{id:?} {role}");
        }
        assert_eq!(board.task_summaries()[0]["role"], "reviewer");
    }

    #[test]
    fn notes_are_bounded_and_a_wrong_name_lists_them() {
        let mut board = TeamBoard::default();
        assert_eq!(board.read_notes(Some("x")).unwrap_err(), "there is no note `x`; notes: none");
        assert!(board.write_note("long", &"x".repeat(MAX_NOTE_CHARS + 1)).is_err());
        for at in 0..MAX_NOTES {
            board.write_note(&format!("n{at}"), "text").unwrap();
        }
        assert!(board.write_note("one more", "text").is_err());
        board.write_note("n0", "new").unwrap();
        assert_eq!(board.read_notes(Some("n0")).unwrap(), json!({"n0": "new"}));
    }
}
