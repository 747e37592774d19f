//! What a simulation of the text came to, as lines for the pane beside it.

use crate::text::{format_count, wrap_line};
use crate::transcript::item::ItemTone;
use synthdev_domain::terminal_safe;
use synthdev_service::session::EditorSimulatedRun;

/// States of a path that are shown, from its beginning.
const PATH: usize = 200;

/// While it is played.
pub const SIMULATING: &str = "simulating …";

/// The simulation that was asked for last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EditorSimulation {
    /// Of the text.
    pub version: u64,
    /// `None`: it is being played.
    pub result: Option<Result<Vec<EditorSimulatedRun>, String>>,
    pub top_row: usize,
}

impl EditorSimulation {
    pub fn new(version: u64) -> Self {
        Self { version, result: None, top_row: 0 }
    }

    /// The pane's lines; `version`: of the text as it is.
    pub fn lines(&self, version: u64, columns: usize) -> Vec<(ItemTone, String)> {
        let mut lines = Vec::new();
        match &self.result {
            None => lines.push((ItemTone::Dim, SIMULATING.to_owned())),
            Some(Err(reason)) => lines.push((ItemTone::Bad, reason.clone())),
            Some(Ok(all)) => {
                if self.version != version {
                    lines.push((ItemTone::Warning, "of the text before the last changes".to_owned()));
                }
                lines.extend(result_lines(all));
            }
        }
        let wrapped =
            lines.into_iter().flat_map(|(tone, text)| fold_text(&text, columns).map(move |row| (tone, row)));
        wrapped.collect()
    }
}

/// The results of the runs: a title, the path, visits and notes, for each.
pub fn result_lines(all: &[EditorSimulatedRun]) -> Vec<(ItemTone, String)> {
    let mut lines = Vec::new();
    if all.len() > 1 || all.iter().any(|one| one.is_skipped) {
        lines.push(summary_line(all));
    }
    for one in all {
        if !lines.is_empty() {
            lines.push((ItemTone::Plain, String::new()));
        }
        push_run_lines(one, &mut lines);
    }
    lines
}

/// A test that was skipped is neither a run nor a success; runs with made-up answers have tested nothing.
fn summary_line(all: &[EditorSimulatedRun]) -> (ItemTone, String) {
    let failed = all.iter().filter(|one| !one.problems.is_empty()).count();
    let skipped = all.iter().filter(|one| one.is_skipped).count();
    if skipped == all.len() {
        let tests = format_count(skipped as u64, "test");
        return (ItemTone::Warning, format!("nothing simulated: {tests} skipped"));
    }
    let runs = format_count((all.len() - skipped) as u64, "simulated run");
    let tail = if skipped == 0 { String::new() } else { format!(", {skipped} skipped") };
    let tone = match (failed, all.iter().any(|one| one.test_name.is_some() && !one.is_skipped)) {
        (0, true) => ItemTone::Good,
        (0, false) => ItemTone::Warning,
        _ => ItemTone::Bad,
    };
    (tone, format!("{runs}, {failed} with problems{tail}"))
}

fn push_run_lines(one: &EditorSimulatedRun, lines: &mut Vec<(ItemTone, String)>) {
    let is_untested = one.is_skipped || one.test_name.is_none();
    let (sign, tone) = match (one.problems.is_empty(), is_untested) {
        (true, true) => ("–", ItemTone::Warning),
        (true, false) => ("✓", ItemTone::Good),
        (false, _) => ("✗", ItemTone::Bad),
    };
    let by = one
        .test_name
        .as_ref()
        .map_or_else(|| "no test, made-up answers".to_owned(), |test| format!("test {test}"));
    lines.push((tone, format!("{sign} {} · {by}", one.workflow)));
    if one.is_skipped {
        return lines.push((ItemTone::Plain, one.status.clone()));
    }
    lines.push((
        ItemTone::Plain,
        format!("{} · {}, none sent", one.status, format_count(one.calls, "model call")),
    ));
    if !one.path.is_empty() {
        let more = one.path.len().saturating_sub(PATH);
        let tail = if more == 0 { String::new() } else { format!(" > … {more} more") };
        let shown: Vec<&str> = one.path.iter().take(PATH).map(String::as_str).collect();
        lines.push((ItemTone::Accent, format!("path {}{tail}", shown.join(" > "))));
    }
    let again: Vec<String> = one
        .visits
        .iter()
        .filter(|(_, count)| *count > 1)
        .map(|(state, count)| format!("{state} {count}×"))
        .collect();
    if !again.is_empty() {
        lines.push((ItemTone::Plain, format!("visits {}", again.join(" · "))));
    }
    lines.extend(one.problems.iter().map(|problem| (ItemTone::Bad, problem.trim_end().to_owned())));
    let tone = |note: &str| if note.starts_with("warning") { ItemTone::Warning } else { ItemTone::Dim };
    lines.extend(one.notes.iter().map(|note| (tone(note), note.clone())));
    if one.test_name.is_none() {
        let text = "Texts are made up and tools are not run; a NAME.test.json beside the file says what is answered.";
        lines.push((ItemTone::Dim, text.to_owned()));
    }
}

fn fold_text(text: &str, columns: usize) -> impl Iterator<Item = String> + use<> {
    let clean = terminal_safe::escape_controls(text).into_owned();
    let rows: Vec<String> = clean
        .split('\n')
        .flat_map(|line| {
            wrap_line(line, columns.max(1)).into_iter().map(|row| line[row].to_owned()).collect::<Vec<_>>()
        })
        .collect();
    rows.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skipped_test_is_no_success() {
        let run = |is_skipped: bool, problems: &[&str]| EditorSimulatedRun {
            is_skipped,
            problems: problems.iter().map(|&problem| problem.to_owned()).collect(),
            ..EditorSimulatedRun::default()
        };
        let tested = |run: EditorSimulatedRun| EditorSimulatedRun { test_name: Some("one".into()), ..run };
        let (good, bad) = (tested(run(false, &[])), tested(run(false, &["path"])));
        let (skipped, made_up) = (tested(run(true, &[])), run(false, &[]));
        let check = |all: &[&EditorSimulatedRun], tone: ItemTone, expected: &str| {
            let all: Vec<EditorSimulatedRun> = all.iter().map(|&one| one.clone()).collect();
            assert_eq!(result_lines(&all)[0], (tone, expected.to_owned()));
        };
        check(&[&good, &good], ItemTone::Good, "2 simulated runs, 0 with problems");
        check(&[&good, &good, &skipped], ItemTone::Good, "2 simulated runs, 0 with problems, 1 skipped");
        check(&[&bad, &skipped], ItemTone::Bad, "1 simulated run, 1 with problems, 1 skipped");
        check(&[&skipped, &skipped], ItemTone::Warning, "nothing simulated: 2 tests skipped");
        check(&[&skipped], ItemTone::Warning, "nothing simulated: 1 test skipped");
        check(&[&made_up, &made_up], ItemTone::Warning, "2 simulated runs, 0 with problems");
        check(&[&made_up], ItemTone::Warning, "–  · no test, made-up answers");
    }
}
