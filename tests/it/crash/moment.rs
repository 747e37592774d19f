//! When the program is killed, and what of its journal could be read just before.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};

use super::super::support::model_server::{Behaviour, Recorded, RequestResponder};
use super::scene;

/// A place in a run. Requests, commands and rows are counted over all of its processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Moment {
    /// So long after a process was started, in time during which one runs.
    After(Duration),
    /// The model was asked for the n-th time, and has not answered.
    Asked(usize),
    /// Its n-th answer has gone out.
    Answered(usize),
    /// The command with this number has begun and done nothing.
    Begun(u32),
    /// It has taken effect and not ended.
    Effective(u32),
    /// Both at once, in two branches: the first has done nothing, the second has taken effect.
    Both(u32, u32),
    /// So many rows can be read.
    Rows(usize),
}

impl Moment {
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::After(_) => "random time",
            Self::Asked(_) => "model asked",
            Self::Answered(_) => "model answered",
            Self::Begun(_) => "command begun",
            Self::Effective(_) => "command effective",
            Self::Both(..) => "two commands at once",
            Self::Rows(_) => "journal rows",
        }
    }
}

/// A journal row as another process reads it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Seen {
    pub(super) run: i64,
    pub(super) seq: i64,
    pub(super) kind: String,
    pub(super) call: Option<i64>,
    pub(super) body: String,
}

/// All rows of all runs; nothing while there is no store yet.
pub(super) fn rows(database: &Path) -> Vec<Seen> {
    let Some(connection) = reader(database) else { return Vec::new() };
    let Ok(mut statement) =
        connection.prepare("SELECT run, seq, kind, call, body FROM rows ORDER BY run, seq")
    else {
        return Vec::new();
    };
    let read = |row: &rusqlite::Row<'_>| {
        Ok(Seen {
            run: row.get(0)?,
            seq: row.get(1)?,
            kind: row.get(2)?,
            call: row.get(3)?,
            body: row.get(4)?,
        })
    };
    statement.query_map([], read).unwrap().map(Result::unwrap).collect()
}

fn reader(database: &Path) -> Option<Connection> {
    let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY).ok()?;
    connection.busy_timeout(Duration::from_secs(5)).unwrap();
    Some(connection)
}

/// What is armed, and the process that it is armed for. Shared with the model's server, whose threads kill as well.
pub(super) struct Trigger {
    root: PathBuf,
    pub(super) database: PathBuf,
    inside: Mutex<Inside>,
}

#[derive(Default)]
struct Inside {
    armed_moment: Option<Moment>,
    child: Option<Arc<Mutex<Child>>>,
    request_count: usize,
    answer_count: usize,
    /// Answers that were given, by their mark, in order.
    answer_marks: Vec<(String, String)>,
    seen_before_kill: Option<Vec<Seen>>,
}

impl Trigger {
    pub(super) fn new(root: &Path, database: PathBuf) -> Self {
        Self { root: root.to_owned(), database, inside: Mutex::default() }
    }

    pub(super) fn arm_for(&self, moment: Moment) {
        let hold = |place: &str, number: u32| {
            fs::write(self.root.join(format!("hold-{place}-{number}")), "").unwrap();
        };
        match moment {
            Moment::Begun(number) => hold("start", number),
            Moment::Effective(number) => hold("end", number),
            Moment::Both(begun, effective) => {
                hold("start", begun);
                hold("end", effective);
            }
            Moment::After(_) | Moment::Asked(_) | Moment::Answered(_) | Moment::Rows(_) => {}
        }
        self.inside.lock().unwrap().armed_moment = Some(moment);
    }

    pub(super) fn watch_child(&self, child: Arc<Mutex<Child>>) {
        let mut inside = self.inside.lock().unwrap();
        (inside.child, inside.seen_before_kill) = (Some(child), None);
    }

    /// Kills now if it is time; `running` is how long processes ran before this one, `since` when it was started.
    pub(super) fn kill_if_due(&self, running: Duration, since: Instant) {
        let armed = self.inside.lock().unwrap().armed_moment;
        let trace = |line: String| {
            fs::read_to_string(self.root.join("trace")).unwrap().lines().any(|found| found == line)
        };
        let due = match armed {
            None | Some(Moment::Asked(_) | Moment::Answered(_)) => false,
            Some(Moment::After(time)) => running + since.elapsed() >= time,
            Some(Moment::Begun(number)) => trace(format!("start {number}")),
            Some(Moment::Effective(number)) => trace(format!("end {number}")),
            Some(Moment::Both(begun, effective)) => {
                trace(format!("start {begun}")) && trace(format!("end {effective}"))
            }
            Some(Moment::Rows(count)) => self.count_reaches(count),
        };
        if let Some(moment) = armed.filter(|_| due) {
            self.kill_at(moment);
        }
    }

    /// What could be read just before the kill; `None`: it was not killed.
    pub(super) fn seen_before_kill(&self) -> Option<Vec<Seen>> {
        self.inside.lock().unwrap().seen_before_kill.take()
    }

    /// Nothing of the killed process is left: commands stand still no more.
    pub(super) fn release_commands(&self) {
        for name in holding_paths(&self.root) {
            fs::remove_file(name).unwrap();
        }
    }

    pub(super) fn is_armed(&self) -> bool {
        self.inside.lock().unwrap().armed_moment.is_some()
    }

    /// The marks of all requests so far, with the bodies.
    pub(super) fn request_marks(&self) -> Vec<(String, String)> {
        self.inside.lock().unwrap().answer_marks.clone()
    }

    fn count_reaches(&self, count: usize) -> bool {
        let Some(connection) = reader(&self.database) else { return false };
        if count == 0 {
            let begun = connection.query_row("SELECT count(*) FROM runs", [], |row| row.get::<_, i64>(0));
            return begun.is_ok_and(|runs| runs > 0);
        }
        connection
            .query_row("SELECT max(seq) FROM rows", [], |row| row.get::<_, Option<i64>>(0))
            .is_ok_and(|rows| rows.unwrap_or(0) >= i64::try_from(count).unwrap())
    }

    fn kill_at(&self, moment: Moment) {
        let before = rows(&self.database);
        let mut inside = self.inside.lock().unwrap();
        let Some(child) = inside.child.clone().filter(|_| inside.armed_moment == Some(moment)) else {
            return;
        };
        let mut child = child.lock().unwrap();
        if child.try_wait().unwrap().is_some() {
            // it ended by itself at this moment: the next process gets it
            return;
        }
        child.kill().unwrap();
        (inside.armed_moment, inside.seen_before_kill) = (None, Some(before));
    }
}

fn holding_paths(root: &Path) -> BTreeSet<PathBuf> {
    let all = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    all.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("hold-")).collect()
}

impl RequestResponder for Trigger {
    fn reply_to(&self, request: &Recorded) -> Behaviour {
        let mark = scene::request_mark(request);
        let due = {
            let mut inside = self.inside.lock().unwrap();
            inside.request_count += 1;
            inside.answer_marks.push((mark.clone(), request.body.to_string()));
            let moment = Moment::Asked(inside.request_count);
            (inside.armed_moment == Some(moment)).then_some(moment)
        };
        if let Some(moment) = due {
            self.kill_at(moment);
        }
        scene::answer_for(&mark)
    }

    fn on_answered(&self, _: &Recorded) {
        let due = {
            let mut inside = self.inside.lock().unwrap();
            inside.answer_count += 1;
            let moment = Moment::Answered(inside.answer_count);
            (inside.armed_moment == Some(moment)).then_some(moment)
        };
        if let Some(moment) = due {
            self.kill_at(moment);
        }
    }
}
