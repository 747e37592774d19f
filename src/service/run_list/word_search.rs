//! Runs by words, wherever in them these stand: in the name, the input, a message or an action.

use std::collections::HashMap;

use super::{RunListError, find_runs};
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::{RunQuery, RunSummary, SearchQuery};
use synthdev_runtime::handle::RuntimeHandle;

/// Places that a search looks at first; several may be in one run.
const HITS: usize = 600;
/// Where so many places are in few runs, older runs are left out.
const MOST_HITS: usize = HITS * 64;

/// Which runs are looked for.
#[derive(Clone, Debug)]
pub struct WordSearch<'q> {
    pub words: &'q str,
    /// What they must be besides.
    pub query: &'q RunQuery,
    pub most: usize,
    /// Characters around the words.
    pub width: usize,
}

/// A run, with the text in which the words were found if it is not its name or input.
#[derive(Clone, PartialEq, Debug)]
pub struct FoundRun {
    pub run: RunSummary,
    pub text: Option<String>,
}

/// Newest first.
#[derive(Clone, PartialEq, Debug)]
pub struct FoundRuns {
    pub runs: Vec<FoundRun>,
    /// There are others after them.
    pub has_more: bool,
}

/// # Errors
/// No run can be found, or the history cannot be read.
pub fn find_runs_by_words(
    handle: &RuntimeHandle,
    search: &WordSearch<'_>,
) -> Result<FoundRuns, RunListError> {
    let WordSearch { words, query, most, .. } = *search;
    let named = RunQuery { words: Some(words.to_owned()), limit: most + 1, ..query.clone() };
    let named = find_runs(handle, &named)?;
    let mut hits = HITS;
    loop {
        let (mut texts, is_complete) = texts_by_run(handle, search, hits)?;
        let mut runs = named.clone();
        for run in texts.keys().filter(|run| named.iter().all(|known| known.id != **run)) {
            // it may be gone by now
            runs.extend(handle.summary(run.as_str()).ok().filter(|run| matches_query(run, query)));
        }
        // the newest runs come first: with too few of them, more places are looked at
        if runs.len() <= most && !is_complete && hits < MOST_HITS {
            hits *= 4;
            continue;
        }
        runs.sort_by(|one, other| (other.started, &other.id).cmp(&(one.started, &one.id)));
        let has_more = runs.len() > most;
        runs.truncate(most);
        let runs = runs.into_iter().map(|run| FoundRun { text: texts.remove(&run.id), run }).collect();
        return Ok(FoundRuns { runs, has_more });
    }
}

/// The first text of each run, and whether there is no other run.
fn texts_by_run(
    handle: &RuntimeHandle,
    search: &WordSearch<'_>,
    limit: usize,
) -> Result<(HashMap<RunId, String>, bool), RunListError> {
    let workflow = search.query.workflow.clone();
    let query = SearchQuery { text: search.words.to_owned(), limit, run: None, workflow };
    let places = handle.search(&query, search.width)?;
    let is_complete = places.len() < limit;
    let mut texts = HashMap::new();
    for hit in places {
        texts.entry(hit.run).or_insert(hit.snippet.text);
    }
    Ok((texts, is_complete))
}

fn matches_query(run: &RunSummary, query: &RunQuery) -> bool {
    let project = query.project.as_ref().is_none_or(|project| *project == run.project);
    let status = query.statuses.is_empty() || query.statuses.contains(&run.progress.status);
    let begun = query.until.is_none_or(|until| run.started <= until);
    project && status && begun && query.workflow.as_ref().is_none_or(|workflow| *workflow == run.workflow)
}
