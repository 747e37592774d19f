//! How far long work on the project's files is: snapshots, and the worktree of a run that begins.

use synthdev::domain::file_progress::{FileProgress, FileWorkStage};
use synthdev::service::session::{FileWorkKind, FileWorkWatch};

use super::*;

fn progress(stage: FileWorkStage, done_count: u64, total_count: u64) -> FileProgress {
    FileProgress { stage, done_count, total_count }
}

impl TuiHarness {
    fn send_file_progress(&mut self, watch: FileWorkWatch, progress: FileProgress, at: i64) -> &mut Self {
        let at = Timestamp(at);
        self.send_message(UiMessage::answered(RunResponse::FileProgress { watch, progress, at }))
    }

    fn asks_file_progress(&mut self, watch: FileWorkWatch) -> bool {
        self.take_commands().contains(&UiCommand::ask(RunRequest::FileProgress(watch)))
    }
}

#[test]
fn a_snapshot_of_a_run_says_how_far_it_is() {
    let mut desk = TuiHarness::new();
    desk.workflow();
    let report = |done_files: u64, total_files: u64, elapsed_ms: u64| RunEvent::SnapshotProgress {
        done_files,
        total_files,
        elapsed_ms,
    };
    desk.run_event("r1", report(0, 0, 500));
    assert!(desk.draw_screen(120, 24).contains("snapshot: working on the files"));
    desk.run_event("r1", report(5_000, 10_000, 2_500));
    let screen = desk.draw_screen(120, 24);
    assert!(
        screen.contains("snapshot: reading files ▓▓▓▓▓░░░░░ 5,000 of 10,000 · 2000/s · 3 s left"),
        "{screen}"
    );
    desk.run_event("r1", snapshot_taken());
    assert!(!desk.draw_screen(120, 24).contains("reading files"));
    for end in
        [RunEvent::SnapshotFailed { reason: "full".into() }, run_finished(RunStatus::Cancelled, None, None)]
    {
        desk.run_event("r1", report(1, 2, 500)).run_event("r1", end);
        assert!(!desk.draw_screen(120, 24).contains("reading files"));
    }
}

/// On small screens, too: how many of how many, the remaining time, and the key that stops it.
#[test]
fn progress_has_its_remaining_time_at_every_size() {
    let check = |desk: &mut TuiHarness, name: &str, expected: &str, key: &str| {
        for (width, height) in FRAME_SIZES {
            let screen = desk.draw_screen(width, height);
            let status = screen.lines().last().unwrap();
            assert!(status.contains(expected) && status.ends_with(key), "{width}: {status}");
        }
        desk.check_frames(name);
    };
    let mut desk = TuiHarness::new();
    desk.workflow().run_event(
        "r1",
        RunEvent::SnapshotProgress { done_files: 5_000, total_files: 10_000, elapsed_ms: 2_500 },
    );
    check(&mut desk, "progress_snapshot", "5,000 of 10,000", "Esc stops");
    check(&mut desk, "progress_snapshot", "3 s left", "Esc stops");
    let mut desk = TuiHarness::new();
    let watch = FileWorkWatch { number: 1, kind: FileWorkKind::Worktree };
    let (name, preparation) = ("hierarchical_development".to_owned(), StartPreparation::Files);
    let pending = PendingStart { name, chat: false, preparation };
    desk.send_message(UiMessage::answered(StartResponse::Pending(pending)));
    desk.send_file_progress(watch, progress(FileWorkStage::Writing, 0, 12_345), 9_000);
    desk.send_file_progress(watch, progress(FileWorkStage::Writing, 2_000, 12_345), 19_000);
    check(&mut desk, "progress_worktree", "2,000 of 12,345", "/help");
    check(&mut desk, "progress_worktree", "52 s left", "/help");
}

#[test]
fn a_snapshot_by_hand_is_watched_until_it_is_there() {
    let mut desk = TuiHarness::new();
    let watch = FileWorkWatch { number: 1, kind: FileWorkKind::Snapshot };
    let create = SnapshotOperation::Create { label: "before".into() };
    desk.line("/snapshot create before");
    assert!(desk.asks_file_progress(watch));
    assert!(!desk.draw_screen(120, 24).contains("a snapshot:"), "it may be over in a moment");
    desk.send_file_progress(watch, progress(FileWorkStage::Reading, 0, 0), 1_000);
    assert!(desk.draw_screen(120, 24).contains("a snapshot: working on the files"));
    assert!(desk.asks_file_progress(watch));
    desk.send_file_progress(watch, progress(FileWorkStage::Reading, 300, 1_000), 4_000);
    let screen = desk.draw_screen(120, 24);
    assert!(
        screen.contains("a snapshot: reading files ▓▓▓░░░░░░░ 300 of 1,000 · 100/s · 7 s left"),
        "{screen}"
    );
    let done = RunResponse::Snapshot { command: create, text: Ok("snapshot ab12 was taken".into()) };
    desk.send_message(UiMessage::answered(done)).take_commands();
    desk.send_file_progress(watch, progress(FileWorkStage::Reading, 900, 1_000), 5_000);
    assert!(!desk.asks_file_progress(watch), "nothing asks on");
    assert!(!desk.draw_screen(120, 24).contains("a snapshot:"));
    // the answer about the first one, which comes late, does not count for the second
    desk.line("/snapshot create again");
    desk.take_commands();
    desk.send_file_progress(watch, progress(FileWorkStage::Reading, 950, 1_000), 5_500);
    let second = FileWorkWatch { number: 2, ..watch };
    assert!(!desk.asks_file_progress(watch) && !desk.draw_screen(120, 24).contains("a snapshot:"));
    desk.send_file_progress(second, progress(FileWorkStage::Reading, 0, 10), 6_000);
    assert!(desk.asks_file_progress(second), "one chain of questions");
    assert!(!desk.line("/snapshot list").asks_file_progress(watch), "only what takes long");
}

#[test]
fn a_worktree_that_is_made_says_how_far_it_is() {
    let mut desk = TuiHarness::new();
    let watch = FileWorkWatch { number: 1, kind: FileWorkKind::Worktree };
    let start = |preparation| {
        let name = "coder_reviewer".to_owned();
        UiMessage::answered(StartResponse::Pending(PendingStart { name, chat: false, preparation }))
    };
    desk.send_message(start(StartPreparation::Windows));
    assert!(!desk.asks_file_progress(watch), "no files are copied");
    desk.send_message(start(StartPreparation::Files));
    assert!(desk.asks_file_progress(watch));
    desk.send_file_progress(watch, progress(FileWorkStage::Reading, 0, 0), 900);
    assert!(!desk.draw_screen(140, 24).contains("a worktree for"), "its requirements may be what is checked");
    desk.send_file_progress(watch, progress(FileWorkStage::Reading, 900, 1_000), 1_000);
    desk.send_file_progress(watch, progress(FileWorkStage::Writing, 0, 1_000), 9_000);
    desk.send_file_progress(watch, progress(FileWorkStage::Writing, 500, 1_000), 11_000);
    let screen = desk.draw_screen(140, 24);
    let expected = "a worktree for coder_reviewer: writing files ▓▓▓▓▓░░░░░ 500 of 1,000 · 250/s · 2 s left";
    assert!(screen.contains(expected), "{screen}");
}
