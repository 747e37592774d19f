//! The history in front of everything else: the list of runs, one of them with its steps, and a page of text over both
//! (HIST-2).
//!
//! Owns what is looked at and what is waited for. Refuses: keys, drawing, and reading the past (`Asked` is for the
//! backend).

use crate::domain::ids::{RunId, Timestamp};
use crate::domain::journal::RunStatus;
use crate::runtime::command::Control;
use crate::tui::pane::Search;
use crate::tui::transcript::Transcript;
use crate::tui::transcript::item::{Item, Tone};
use crate::tui::travel::Travel;

pub mod deed;
pub mod list;
pub mod steps;

pub use deed::Deed;
pub use list::{After, Filter, List, RunRow};
use steps::StepLine;

/// The whole view. What lies on top is what has the keys: a question, a page, a run, the list.
#[derive(Clone, Debug, Default)]
pub struct Archive {
    pub list: List,
    pub run: Option<Box<Opened>>,
    pub page: Option<Box<Page>>,
    pub question: Option<Question>,
    pub wait: Option<Wait>,
    /// What came of the last key, or why nothing did.
    pub note: Option<(Tone, String)>,
    /// Words that are looked for in a run or a page.
    pub search: Option<Search>,
    /// The first of two runs to compare.
    pub marked: Option<RunId>,
    /// The store's change counter as it was seen last, and whether it is being asked for.
    pub seen: Option<u64>,
    pub counting: bool,
    /// When a key asked for it last.
    pub counted: Timestamp,
}

/// A run that is looked at.
#[derive(Clone, Debug)]
pub struct Opened {
    pub row: RunRow,
    /// `None`: it is being read.
    pub look: Option<Look>,
    /// The number under which it was asked for.
    pub asked: Option<u64>,
    /// When it was read again last.
    pub read_at: Timestamp,
    /// It was changed since, and is read again later.
    pub behind: bool,
    pub cursor: usize,
    pub top: usize,
    /// Rows of steps on screen.
    pub height: usize,
}

/// What is known of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Look {
    pub row: RunRow,
    /// Name and text, a line each.
    pub facts: Vec<(String, String)>,
    pub steps: Vec<StepLine>,
}

/// A text in front of the list or the run.
#[derive(Clone, Debug)]
pub struct Page {
    pub title: String,
    pub text: Transcript,
    /// The step that it shows: its neighbours are a key away.
    pub step: Option<u32>,
    /// All of it is on screen: a smaller one begins at its start.
    pub fits: bool,
}

/// What the last line asks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Question {
    /// Other data for a new run: `name=value …`
    Fork { run: RunId, step: u32, typed: String },
    /// Where to.
    Export { run: RunId, typed: String },
    /// For good, after a yes.
    Cancel { run: RunId },
    /// What would happen is on the page.
    Agree { travel: Travel, armed: bool },
}

/// An answer that other keys wait for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wait {
    pub what: Waiting,
    /// For the last line: `comparing`.
    pub about: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Waiting {
    /// Under this number.
    Answer(u64),
    /// What a journey would do.
    Plan,
    Travel,
    /// The run is taken up, and the history is left.
    TakeUp(RunId),
}

/// What the backend is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Asked {
    /// Runs behind those that are known; the newest first.
    Page {
        filter: Filter,
        after: Option<After>,
    },
    /// The store's change counter.
    Changes,
    /// `known`: how it was when it was read last; nothing is read again if it still is.
    Open {
        run: RunId,
        known: Option<(Timestamp, RunStatus)>,
    },
    Step {
        run: RunId,
        step: u32,
    },
    Why {
        run: RunId,
        step: u32,
    },
    Compare(RunId, RunId),
    Export {
        run: RunId,
        to: String,
    },
    /// Changes the run, wherever it is driven.
    Control {
        run: RunId,
        control: Control,
    },
}

/// What it answers.
#[derive(Clone, Debug)]
pub enum Told {
    Page(Result<Runs, String>),
    Changes(Option<u64>),
    /// `None`: it is as it was.
    Opened(Result<Option<Box<Look>>, String>),
    /// A page of text.
    Text(Result<Text, String>),
    /// What was done.
    Done(Result<String, String>),
}

#[derive(Clone, PartialEq, Debug)]
pub struct Runs {
    pub rows: Vec<RunRow>,
    /// There are others behind them.
    pub more: bool,
    /// Now.
    pub at: Timestamp,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Text {
    pub title: String,
    pub items: Vec<Item>,
    pub step: Option<u32>,
}

impl Opened {
    pub fn new(row: RunRow, asked: u64) -> Self {
        let (look, read_at) = (None, Timestamp::default());
        Self { row, look, asked: Some(asked), read_at, behind: false, cursor: 0, top: 0, height: 0 }
    }

    pub fn steps(&self) -> &[StepLine] {
        self.look.as_ref().map(|look| look.steps.as_slice()).unwrap_or_default()
    }

    /// The step under the cursor.
    pub fn step(&self) -> Option<u32> {
        self.steps().get(self.cursor).map(|line| line.step)
    }

    pub fn go_to(&mut self, at: usize) {
        self.cursor = at.min(self.steps().len().saturating_sub(1));
        self.top = in_view(self.top, self.cursor, self.steps().len(), self.height);
    }

    /// It was read, or read again: the cursor stays on its step.
    pub fn read(&mut self, look: Look) {
        let first = self.look.is_none();
        self.row = look.row.clone();
        let last = look.steps.len().saturating_sub(1);
        self.look = Some(look);
        self.asked = None;
        // what a failed run is opened for is its end
        let bad = self.steps().last().is_some_and(|step| step.bad.is_some());
        self.go_to(if first && bad { last } else { self.cursor });
    }
}

impl Page {
    pub fn new(text: Text) -> Self {
        let mut page = Self { title: text.title, text: Transcript::default(), step: text.step, fits: true };
        for item in text.items {
            page.text.push(item);
        }
        page.text.to_start();
        page
    }
}

impl Archive {
    /// The run that is meant: the open one, else the one under the cursor.
    pub fn meant(&self) -> Option<&RunRow> {
        self.run.as_ref().map(|run| &run.row).or_else(|| self.list.chosen())
    }

    /// The step that is meant: that of the page, else the one under the cursor.
    pub fn step(&self) -> Option<u32> {
        let page = self.page.as_ref().and_then(|page| page.step);
        page.or_else(|| self.run.as_ref().and_then(|run| run.step()))
    }

    pub fn refuse(&mut self, why: &str) {
        self.note = Some((Tone::Bad, why.trim_end().to_owned()));
    }

    pub fn tell(&mut self, text: &str) {
        self.note = Some((Tone::Dim, text.to_owned()));
    }

    /// Whether it waits for this.
    pub fn waits_for(&self, what: &Waiting) -> bool {
        self.wait.as_ref().is_some_and(|wait| wait.what == *what)
    }
}

/// The first row on screen, so that the cursor is on it and no room is left empty.
pub fn in_view(top: usize, cursor: usize, len: usize, height: usize) -> usize {
    let height = height.max(1);
    let lowest = (cursor + 1).saturating_sub(height);
    top.clamp(lowest, cursor.max(lowest)).min(len.saturating_sub(height))
}
