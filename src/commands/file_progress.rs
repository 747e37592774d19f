//! Lines on stderr that say how far long work on files is, in a terminal only.

use std::io::IsTerminal as _;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use synthdev_cli::output::print_stderr;
use synthdev_domain::file_progress::FileProgress;

/// Between two lines; work that is over sooner prints none.
const INTERVAL: Duration = Duration::from_secs(2);

/// Does the work, which blocks, and prints meanwhile how far it is: `label: reading files …`.
pub(crate) fn with_progress_lines<T>(
    label: &str,
    progress: impl Fn() -> FileProgress + Sync,
    work: impl FnOnce() -> T,
) -> T {
    if !std::io::stderr().is_terminal() {
        return work();
    }
    let print_lines = |ended: Receiver<()>| {
        let (mut stage, mut since) = (FileProgress::default().stage, Instant::now());
        while ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
            let now = progress();
            if now.stage != stage || now.done_count == 0 {
                (stage, since) = (now.stage, Instant::now());
            }
            let elapsed = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
            print_stderr(format_args!("{label}: {}", now.text(elapsed)));
        }
    };
    thread::scope(|scope| {
        // the end of the work closes it
        let (working, ended) = channel::<()>();
        let print_lines = &print_lines;
        scope.spawn(move || print_lines(ended));
        let result = work();
        drop(working);
        result
    })
}
