//! What a running command prints last, for the user who waits for it: whole lines only, and seldom.

use std::time::Duration;

use synthdev_ports::tool::ToolProgressSink;
use tokio::time::{Instant, sleep_until};

use crate::tools::truncated_output::shorten_line;

/// A command that ends before this needs no report.
const FIRST_AFTER: Duration = Duration::from_millis(500);
/// Between two reports.
const APART: Duration = Duration::from_millis(500);
/// Bytes of a line that are reported.
const LINE: usize = 200;

/// The last line of the output, and when it may be reported.
pub(super) struct OutputProgress<'a> {
    sink: &'a dyn ToolProgressSink,
    /// The beginning of a line that has no end yet.
    partial: Vec<u8>,
    /// Not reported yet.
    line: Option<String>,
    next_report_at: Instant,
}

impl<'a> OutputProgress<'a> {
    pub(super) fn new(sink: &'a dyn ToolProgressSink) -> Self {
        Self { sink, partial: Vec::new(), line: None, next_report_at: Instant::now() + FIRST_AFTER }
    }

    /// The command has printed this. A line without its end may be half of a key: it waits.
    pub(super) fn note_output(&mut self, bytes: &[u8]) {
        let mut lines = bytes.split(|byte| is_line_end(*byte));
        self.keep_partial(lines.next().unwrap_or_default());
        let Some(unfinished) = lines.next_back() else { return };
        let first = std::mem::take(&mut self.partial);
        let last = lines.rfind(|line| !is_blank(line)).unwrap_or(&first);
        if !is_blank(last) {
            self.line = Some(shorten_line(&String::from_utf8_lossy(last), LINE));
        }
        self.keep_partial(unfinished);
    }

    fn keep_partial(&mut self, bytes: &[u8]) {
        let room = (2 * LINE).saturating_sub(self.partial.len());
        self.partial.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// There is a line to report.
    pub(super) fn is_pending(&self) -> bool {
        self.line.is_some()
    }

    /// Waits until a report is due; reports nothing.
    pub(super) async fn wait_until_due(&self) {
        sleep_until(self.next_report_at).await;
    }

    pub(super) fn report_line(&mut self) {
        if let Some(line) = self.line.take() {
            self.next_report_at = Instant::now() + APART;
            self.sink.report_progress(&line);
        }
    }
}

/// A carriage return begins a line anew: that of a progress bar.
fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[derive(Default)]
    struct HeldReports(Mutex<Vec<String>>);

    impl ToolProgressSink for HeldReports {
        fn report_progress(&self, text: &str) {
            self.0.lock().unwrap().push(text.to_owned());
        }
    }

    #[test]
    fn the_last_whole_line_is_reported_once() {
        let check = |pieces: &[&str], expected: &[&str]| {
            let reports = HeldReports::default();
            let mut progress = OutputProgress::new(&reports);
            for piece in pieces {
                progress.note_output(piece.as_bytes());
                progress.report_line();
            }
            assert_eq!(*reports.0.lock().unwrap(), expected, "{pieces:?}");
        };
        check(&["one\ntwo\nthr", "ee\n", "four"], &["two", "three"]);
        check(&["half", " of it", " and the end\n"], &["half of it and the end"]);
        check(&["one\n\n  \n"], &["one"]);
        check(&["10 %\r20 %\r", "30 %\r"], &["20 %", "30 %"]);
        check(&["no end"], &[]);
        check(&["a\n", "\n"], &["a"]);
        let long = "x".repeat(900);
        check(&[&format!("{long}\n")], &[&format!("{}…", "x".repeat(200))]);
    }
}
