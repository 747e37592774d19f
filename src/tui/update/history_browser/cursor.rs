//! Where the cursor of the history goes: in a page, in a run, in the list.

use crate::history_browser::HistoryBrowser;

pub(super) fn scroll(archive: &mut HistoryBrowser, rows: usize, down: bool) {
    let to = |at: usize| if down { at + rows } else { at.saturating_sub(rows) };
    if let Some(page) = &mut archive.page {
        if down { page.text.down(rows) } else { page.text.up(rows) }
    } else if let Some(run) = &mut archive.run {
        run.go_to(to(run.cursor));
    } else {
        archive.list.to_end = false;
        archive.list.go_to(to(archive.list.cursor));
    }
}

pub(super) fn page_of(archive: &HistoryBrowser) -> usize {
    let height = match (&archive.page, &archive.run) {
        (Some(page), _) => return page.text.page(),
        (None, Some(run)) => run.height,
        (None, None) => archive.list.height,
    };
    height.saturating_sub(1).max(1)
}

pub(super) fn edge(archive: &mut HistoryBrowser, last: bool) {
    if let Some(page) = &mut archive.page {
        if last { page.text.follow() } else { page.text.to_start() }
    } else if let Some(run) = &mut archive.run {
        run.go_to(if last { usize::MAX } else { 0 });
    } else {
        archive.list.to_end = last && archive.list.more;
        archive.list.go_to(if last { usize::MAX } else { 0 });
    }
}

/// The next place with the words; `here` counts the row of the cursor.
pub(super) fn find(archive: &mut HistoryBrowser, down: bool, here: bool) {
    let Some(search) = &archive.search else { return };
    let words = search.words.trim().to_lowercase();
    let found = if let Some(page) = &mut archive.page {
        page.text.find(&words, down)
    } else if let Some(run) = &mut archive.run {
        let (len, at) = (run.steps().len(), run.cursor);
        let from = usize::from(!here);
        let row = |step: usize| if down { (at + step) % len } else { (at + len - step % len) % len };
        let holds = |at: &usize| {
            let line = &run.steps()[*at];
            let texts = [Some(&*line.state), line.agent.as_deref(), line.bad.as_deref()];
            texts.into_iter().flatten().any(|text| text.to_lowercase().contains(&words))
        };
        let found = (from..len.max(1) + from).filter(|_| len > 0).map(row).find(holds);
        found.inspect(|at| run.go_to(*at)).is_some()
    } else {
        return;
    };
    if let Some(search) = &mut archive.search {
        search.missing = !found;
    }
}
