//! What is answered with things that only a session shows: the past of runs as entries, drawings of workflows, themes.

use crate::history_browser::{HistoryRequest, HistoryResponse};
use crate::past_run::PastRun;
use crate::run_view::run_graph::RunDefinitionView;
use crate::theme::ColorTheme;
use crate::transcript::item::TranscriptItem;
use synthdev_domain::ids::RunId;
use synthdev_service::session::{ServiceAnswer, SessionService};

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DisplayRequest {
    /// The past of a run that can be resumed in this project, or why it cannot; its preview is enough at first. Changes
    /// nothing.
    Past(String),
    /// All of it.
    Whole(RunId),
    /// The last entries before those on screen, of which so many more are left out. The first page reads all of the run
    /// once; the others cost the same, wherever they are.
    Earlier(RunId, usize),
    /// A run's definition as it was started with.
    Definition(RunId),
    Theme(String),
    /// Of the history in front, with the number of the query.
    History(u64, Box<HistoryRequest>),
}

#[derive(Clone, Debug)]
pub enum DisplayResponse {
    /// The stored preview of a run.
    Preview(Box<PastRun>),
    Past {
        run: String,
        past_run: Result<Box<PastRun>, String>,
    },
    /// Entries of a run before those on screen, of which there were `before` more.
    Earlier {
        run: RunId,
        before_entry: usize,
        items: Result<Vec<TranscriptItem>, String>,
    },
    /// For the panes.
    Definition {
        run: RunId,
        definition: Result<Box<RunDefinitionView>, String>,
    },
    /// A theme by this name, or why there is none.
    Theme(Result<ColorTheme, String>),
    /// With the number of the query.
    History(u64, Box<HistoryResponse>),
}

/// Everything behind a session that shows what happens.
pub trait DisplayService: SessionService {
    fn answer_display(&self, request: DisplayRequest) -> ServiceAnswer<DisplayResponse>;
}
