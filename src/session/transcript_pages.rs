//! The entries of a long run before those on screen, a page at a time. The run is read once; what it says is kept in a
//! file without a name, so that every further page costs the same, wherever it is. Blocking.

use std::path::Path;

use super::past_runs::store_error_text;
use super::ui_settings::run_agents;
use synthdev_bootstrap::local_files::file_io::ScratchFile;
use synthdev_domain::ids::RunId;
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_tui::past_run::SHOWN;
use synthdev_tui::transcript::item::TranscriptItem;
use synthdev_tui::update::past_run::PastRunBuilder;

/// The entries of one run, as far as they were read.
#[derive(Debug)]
pub(crate) struct TranscriptPages {
    run: RunId,
    scratch_file: ScratchFile,
    /// Where each begins in the file; the last is the end.
    offsets: Vec<u64>,
}

/// The last entries before one; `known` are those that were read already.
pub(crate) fn earlier_entries(
    handle: &RuntimeHandle,
    data: &Path,
    known: &mut Option<TranscriptPages>,
    run: &RunId,
    before: usize,
) -> Result<Vec<TranscriptItem>, String> {
    let has = |entries: &TranscriptPages| entries.run == *run && entries.len() >= before;
    if !known.as_ref().is_some_and(has) {
        *known = None;
        *known = Some(read_run_entries(handle, data, run, before)?);
    }
    let entries = known.as_mut().ok_or_else(|| "nothing was read".to_owned())?;
    let end = before.min(entries.len());
    entries.read_page(end.saturating_sub(SHOWN), end).map_err(|error| error.to_string())
}

fn read_run_entries(
    handle: &RuntimeHandle,
    data: &Path,
    run: &RunId,
    before: usize,
) -> Result<TranscriptPages, String> {
    let agents = run_agents(handle, run);
    let folding = || PastRunBuilder::before_entry(run, before).with_agents(&agents).keep_forgotten();
    let begin = || (folding(), TranscriptPages::new(data, run));
    let told = handle.replay_events(run.as_str(), begin, |(folding, entries), at, event| {
        folding.apply_event(at, event.event);
        write_entries(entries, folding.take_forgotten());
    });
    let (_, (folding, mut entries)) = told.map_err(|error| store_error_text(&error))?;
    write_entries(&mut entries, folding.remaining_items());
    entries.map_err(|error| format!("they cannot be kept: {error}"))
}

fn write_entries(entries: &mut std::io::Result<TranscriptPages>, items: Vec<TranscriptItem>) {
    if let Ok(kept) = entries
        && let Err(error) = kept.append_items(&items)
    {
        *entries = Err(error);
    }
}

impl TranscriptPages {
    fn new(data: &Path, run: &RunId) -> std::io::Result<Self> {
        let name = format!("entries-{}-{}", std::process::id(), run);
        Ok(Self { run: run.clone(), scratch_file: ScratchFile::create_in(data, &name)?, offsets: vec![0] })
    }

    fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    fn append_items(&mut self, items: &[TranscriptItem]) -> std::io::Result<()> {
        let mut bytes = Vec::new();
        let mut place = self.offsets.last().copied().unwrap_or_default();
        for item in items {
            let before = bytes.len();
            serde_json::to_writer(&mut bytes, item)?;
            place += (bytes.len() - before) as u64;
            self.offsets.push(place);
        }
        if !bytes.is_empty() {
            self.scratch_file.append_bytes(&bytes)?;
        }
        Ok(())
    }

    fn read_page(&mut self, from: usize, end: usize) -> std::io::Result<Vec<TranscriptItem>> {
        let places = self.offsets.get(from..=end).unwrap_or_default();
        let (Some(first), Some(last)) = (places.first(), places.last()) else { return Ok(Vec::new()) };
        let bytes =
            self.scratch_file.read_bytes(*first, usize::try_from(last - first).unwrap_or_default())?;
        let read = serde_json::Deserializer::from_slice(&bytes).into_iter::<TranscriptItem>();
        Ok(read.collect::<Result<_, _>>()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use synthdev_domain::ids::{CallId, Timestamp};
    use synthdev_engine::event::RunEvent;

    /// Tools that end one after the other, the first of them late.
    fn events(count: u64) -> Vec<RunEvent> {
        let started = |call| RunEvent::ToolStarted {
            call: CallId(call),
            agent: "a".to_owned(),
            tool: format!("tool{call}"),
            arguments: serde_json::json!({"größe": call}),
        };
        let ended = |call| RunEvent::ToolFinished {
            call: CallId(call),
            agent: "a".to_owned(),
            tool: format!("tool{call}"),
            ok: true,
            summary: "done".to_owned(),
            content: "\u{1b}[2J ok".to_owned(),
            duration_ms: 5,
        };
        let begin = RunEvent::RunStarted {
            workflow: "w".to_owned(),
            definition: String::new(),
            inputs: serde_json::Map::new(),
            chat: false,
            budget: None,
            replayed: false,
        };
        let mut events = vec![begin];
        for call in 1..count {
            events.push(started(call));
            events.extend((call > 20).then(|| ended(call - 20)));
        }
        events
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "looks at what is left in its own directory")]
    fn a_page_is_the_same_as_if_all_were_read_for_it() {
        let directory = tempfile::tempdir().unwrap();
        let run = RunId::from("r");
        for count in [5, 300, 2_500] {
            let before = usize::try_from(count).unwrap() - 2;
            let mut entries = TranscriptPages::new(directory.path(), &run);
            let mut folding = PastRunBuilder::before_entry(&run, before).keep_forgotten();
            for event in events(count) {
                folding.apply_event(Timestamp(0), event);
                write_entries(&mut entries, folding.take_forgotten());
            }
            write_entries(&mut entries, folding.remaining_items());
            let mut entries = entries.unwrap();
            assert_eq!(entries.len(), before, "{count}");
            let mut end = before;
            while end > 0 {
                let mut whole = PastRunBuilder::before_entry(&run, end);
                events(count).into_iter().for_each(|event| whole.apply_event(Timestamp(0), event));
                let from = end.saturating_sub(SHOWN);
                assert_eq!(entries.read_page(from, end).unwrap(), whole.items(), "{count} {end}");
                end = from;
            }
            assert!(entries.read_page(0, before + 1).unwrap().is_empty());
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "nothing is left");
    }
}
