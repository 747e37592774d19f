//! Output about exported and imported runs.

use super::columns::{bytes_text, count_text};
use super::list::origin_text;
use crate::output::safe_name;
use synthdev_domain::journal::RunStatus;
use synthdev_domain::progress_text::{progress_bar, remaining_text};
use synthdev_service::run_export::{ExportedRun, ImportedRun, LARGEST};

/// Lines for display, beside the file.
pub fn export_lines(done: &ExportedRun, to: Option<&str>) -> Vec<String> {
    let place = to.map_or_else(|| "stdout".to_owned(), safe_name);
    let rows = count_text(done.rows, "row");
    let mut lines = vec![format!("run {} with {rows} in {place}: {}", done.run, bytes_text(done.bytes))];
    lines.push(
        "a JSON value in each line, for `synthdev runs import`; snapshots of files are not included"
            .to_owned(),
    );
    if done.keys_hidden {
        lines.push("keys of this machine were found in it and redacted".to_owned());
    }
    if done.bytes > LARGEST {
        lines.push(format!("warning: files above {} MiB are not imported", LARGEST >> 20));
    }
    if done.diverges {
        lines.push(format!(
            "warning: its replay differs from the recorded events, so it cannot be imported (`synthdev \
                runs replay {}`)",
            done.run
        ));
    }
    lines
}

/// How far an import is that has taken so many bytes of its file:
/// `▓▓▓░░░░░░░ 25.2 MB of 84.0 MB read · 5.0 MB/s · 12 s left`.
pub fn import_progress(taken: u64, size: u64, elapsed_ms: u64) -> String {
    if taken < size {
        let bar = progress_bar(taken, size);
        let rate = remaining_text(taken, size, elapsed_ms).map(|left| {
            let per_second = u128::from(taken) * 1_000 / u128::from(elapsed_ms);
            format!(" · {}/s · {left}", bytes_text(u64::try_from(per_second).unwrap_or(u64::MAX)))
        });
        let rate = rate.unwrap_or_default();
        return format!("{bar} {} of {} read{rate}", bytes_text(taken), bytes_text(size));
    }
    "all of it is read; checking that its steps lead to what was recorded …".to_owned()
}

pub fn import_line(done: &ImportedRun) -> String {
    let run = &done.summary;
    let id = &run.id;
    let status = run.progress.status;
    let mut text = format!(
        "imported run {id} of {}: {}, {}",
        safe_name(&run.workflow),
        status.as_str(),
        count_text(done.rows, "row")
    );
    if let Some(origin) = run.origin.as_ref().filter(|origin| origin.run != *id) {
        text += &format!("\n{}", origin_text(origin, id));
    }
    text += "\nsnapshots are not part of an export: files cannot be restored to its steps";
    if done.isolated {
        text += "\nits worktree is not part of an export either: the run would continue in this project";
    }
    if done.is_older {
        text += "\nit was made by an older version: it can be viewed, but not continued";
    } else if matches!(status, RunStatus::Interrupted | RunStatus::Paused) {
        text += &format!(
            "\nit was defined on another machine: review it (`synthdev runs show {id}`) before `synthdev \
                resume {id}`"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_import_says_how_much_is_read_and_what_follows() {
        for (taken, elapsed_ms, expected) in [
            (0, 2_000, "░░░░░░░░░░ 0 B of 84.0 MB read"),
            (40_000_000, 500, "▓▓▓▓░░░░░░ 40.0 MB of 84.0 MB read"),
            (40_000_000, 4_000, "▓▓▓▓░░░░░░ 40.0 MB of 84.0 MB read · 10.0 MB/s · 5 s left"),
            (84_000_000, 8_000, "all of it is read; checking that its steps lead to what was recorded …"),
        ] {
            assert_eq!(import_progress(taken, 84_000_000, elapsed_ms), expected);
        }
    }
}
