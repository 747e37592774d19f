//! What a session shows as it is: past runs as entries, definitions of runs, themes, the history.

use std::sync::{Arc, PoisonError};

use futures_util::future::BoxFuture;

use super::{
    TuiBackend, answer_blocking, history_queries, past_runs, run_blocking, transcript_pages, ui_settings,
};
use synthdev_domain::ids::RunId;
use synthdev_service::session::ServiceAnswer;
use synthdev_tui::display::{DisplayRequest, DisplayResponse, DisplayService};
use synthdev_tui::history_browser::{HistoryRequest, HistoryResponse};

impl DisplayService for TuiBackend {
    fn answer_display(&self, request: DisplayRequest) -> ServiceAnswer<DisplayResponse> {
        match request {
            DisplayRequest::Past(run) => self.answer_past(run),
            DisplayRequest::Whole(run) => ServiceAnswer::later(self.read_whole_run(run.0)),
            DisplayRequest::Earlier(run, before) => self.answer_earlier(run, before),
            DisplayRequest::Definition(run) => {
                let (handle, id) = (self.current_runtime().handle.clone(), run.clone());
                answer_blocking(
                    move || ui_settings::load_definition(&handle, &id),
                    move |found| DisplayResponse::Definition { run, definition: found.map(Box::new) },
                )
            }
            DisplayRequest::Theme(name) => {
                ServiceAnswer::now(DisplayResponse::Theme(ui_settings::load_theme(&self.context, &name)))
            }
            DisplayRequest::History(number, request) => self.answer_history(number, *request),
        }
    }
}

impl TuiBackend {
    /// The stored preview, if there is a present one: at once, however long the run is.
    fn answer_past(&self, run: String) -> ServiceAnswer<DisplayResponse> {
        let (wired, here, demo) = (self.current_runtime(), self.project(), self.demo.clone());
        let (whole, id) = (self.read_whole_run(run.clone()), run);
        let preview = run_blocking(move || Ok(past_runs::load_preview(&wired, &here, &id, demo.as_deref())));
        ServiceAnswer::later(async move {
            match preview.await.ok().flatten() {
                Some(preview) => DisplayResponse::Preview(Box::new(preview)),
                None => whole.await,
            }
        })
    }

    /// Nothing is read before it is asked for its answer.
    fn read_whole_run(&self, run: String) -> BoxFuture<'static, DisplayResponse> {
        // the run may have been rewound since
        *self.entries.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let (wired, here, demo) = (self.current_runtime(), self.project(), self.demo.clone());
        let (catalog, id) = (self.current_catalog(), run.clone());
        let past =
            run_blocking(move || past_runs::load_past_run(&wired, &catalog, &here, &id, demo.as_deref()));
        Box::pin(async move { DisplayResponse::Past { run, past_run: past.await.map(Box::new) } })
    }

    fn answer_earlier(&self, run: RunId, before_entry: usize) -> ServiceAnswer<DisplayResponse> {
        let (handle, data) = (self.current_runtime().handle.clone(), self.context.dirs.data.clone());
        let (entries, id) = (Arc::clone(&self.entries), run.clone());
        answer_blocking(
            move || {
                let known = &mut entries.lock().unwrap_or_else(PoisonError::into_inner);
                transcript_pages::earlier_entries(&handle, &data, known, &id, before_entry)
            },
            move |items| DisplayResponse::Earlier { run, before_entry, items },
        )
    }

    fn answer_history(&self, number: u64, request: HistoryRequest) -> ServiceAnswer<DisplayResponse> {
        let reader = history_queries::TuiHistoryReader {
            runtime: self.current_runtime(),
            context: self.context.clone(),
            catalog: self.current_catalog(),
            project: self.project(),
        };
        answer_blocking(
            move || Ok(reader.answer_request(request)),
            move |response| {
                let response = response.unwrap_or_else(|error| HistoryResponse::Text(Err(error)));
                DisplayResponse::History(number, Box::new(response))
            },
        )
    }
}
