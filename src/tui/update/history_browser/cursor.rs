//! Where the cursor of the history goes: in a page, in a run, in the list.

use crate::history_browser::HistoryBrowser;

pub(super) fn scroll_rows(archive: &mut HistoryBrowser, rows: usize, down: bool) {
    let to = |at: usize| if down { at + rows } else { at.saturating_sub(rows) };
    if let Some(page) = &mut archive.page {
        if down { page.text.scroll_down(rows) } else { page.text.scroll_up(rows) }
    } else if let Some(both) = &mut archive.comparison {
        both.select_row(to(both.cursor));
    } else if let Some(graph) = archive.front_graph() {
        graph.change_view(|state, drawing| state.scroll_rows(rows, down, drawing.size()));
    } else if let Some(run) = &mut archive.run {
        run.select_row(to(run.cursor));
    } else {
        archive.list.seek_last = false;
        archive.list.select_row(to(archive.list.cursor));
    }
}

pub(super) fn page_rows(archive: &HistoryBrowser) -> usize {
    let height = match (&archive.page, &archive.comparison, &archive.run) {
        (Some(page), ..) => return page.text.page_rows(),
        (None, Some(both), _) => both.height,
        (None, None, Some(run)) => run.height,
        (None, None, None) => archive.list.height,
    };
    height.saturating_sub(1).max(1)
}

pub(super) fn scroll_to_edge(archive: &mut HistoryBrowser, last: bool) {
    if let Some(page) = &mut archive.page {
        if last { page.text.follow_end() } else { page.text.to_start() }
    } else if let Some(both) = &mut archive.comparison {
        both.select_row(if last { usize::MAX } else { 0 });
    } else if let Some(run) = &mut archive.run {
        run.select_row(if last { usize::MAX } else { 0 });
    } else {
        archive.list.seek_last = last && archive.list.has_more;
        archive.list.select_row(if last { usize::MAX } else { 0 });
    }
}

/// The next place with the words; `here` counts the row of the cursor.
pub(super) fn find_next(archive: &mut HistoryBrowser, down: bool, here: bool) {
    let Some(search) = &archive.search else {
        if let Some(both) = archive.comparison.as_mut().filter(|_| archive.page.is_none())
            && !both.select_difference(down)
        {
            archive.show_note("no further difference");
        }
        return;
    };
    let words = search.search_words.trim().to_lowercase();
    let found = if let Some(page) = &mut archive.page {
        page.text.find_text(&words, down)
    } else if let Some(graph) = archive.front_graph() {
        let mut found = false;
        graph.change_view(|state, drawing| found = state.find_state(drawing, &words, down, here));
        found
    } else if let Some(run) = &mut archive.run {
        let (len, at) = (run.steps().len(), run.cursor);
        let from = usize::from(!here);
        let row = |step: usize| if down { (at + step) % len } else { (at + len - step % len) % len };
        let holds = |at: &usize| {
            let line = &run.steps()[*at];
            let texts = [Some(&*line.state), line.agent.as_deref(), line.error_text.as_deref()];
            texts.into_iter().flatten().any(|text| text.to_lowercase().contains(&words))
        };
        let found = (from..len.max(1) + from).filter(|_| len > 0).map(row).find(holds);
        found.inspect(|at| run.select_row(*at)).is_some()
    } else {
        return;
    };
    if let Some(search) = &mut archive.search {
        search.not_found = !found;
    }
}
