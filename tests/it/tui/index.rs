//! `/index`: asks first, shows its progress, sums up in the end.

use synthdev::domain::cost::CostEntry;
use synthdev::domain::project_index::SizeLimit;
use synthdev::domain::project_index::report::{IndexOutcome, IndexReport};
use synthdev::runtime::indexing::IndexingProgress;
use synthdev::service::session::{
    IndexingRequest, IndexingResponse, LookupRequest, LookupResponse, SessionRequest,
};

use super::*;

impl TuiHarness {
    fn send_index_reply(&mut self, number: u64, told: IndexingResponse) -> &mut Self {
        self.send_message(UiMessage::answered(LookupResponse::Index(number, told, Timestamp(0))))
    }

    fn take_index_commands(&mut self) -> Vec<UiCommand> {
        self.take_commands()
            .into_iter()
            .filter(|cmd| {
                matches!(
                    cmd,
                    UiCommand::Ask(SessionRequest::Lookup(LookupRequest::Index(..)))
                        | UiCommand::Ask(SessionRequest::Lookup(LookupRequest::StopSideQuery))
                )
            })
            .collect()
    }
}

fn proposal() -> IndexingResponse {
    let lines =
        ["12 files of 340 and 4 directories to describe", "about 16 calls of m-fast, 4,200 tokens, $0.0020"];
    IndexingResponse::Proposal(lines.map(str::to_owned).to_vec())
}

fn done_reply(ending: IndexOutcome) -> IndexingResponse {
    let usage = TokenUsage { prompt: 4_000, completion: 310, ..TokenUsage::default() };
    let spent = CostEntry { model: "m-fast".into(), usage, cost_usd: Some(0.0021), ..CostEntry::default() };
    let report = IndexReport {
        indexed_count: 12,
        files: 340,
        unchanged_count: 328,
        removed_count: 2,
        costs: vec![spent],
        outcome: ending,
        ..IndexReport::default()
    };
    IndexingResponse::Done(Box::new(report))
}

#[test]
fn an_index_is_asked_about_made_and_summed_up() {
    let mut desk = TuiHarness::new();
    assert_eq!(
        desk.line("/index 100").take_index_commands(),
        [UiCommand::ask(LookupRequest::Index(1, IndexingRequest::Look(SizeLimit::Medium)))]
    );
    desk.send_index_reply(1, proposal());
    desk.check_frames("index_proposed");
    assert_eq!(
        desk.answer('y').take_index_commands(),
        [UiCommand::ask(LookupRequest::Index(2, IndexingRequest::Go))]
    );
    // one at a time
    desk.line("/index");
    assert_eq!(desk.take_index_commands(), []);
    assert!(desk.last_message_text().contains("not now: building the index"), "{}", desk.last_message_text());
    desk.send_index_reply(2, IndexingResponse::At(IndexingProgress { done_count: 3, total_count: 16 }));
    assert_eq!(desk.take_index_commands(), [UiCommand::ask(LookupRequest::Index(2, IndexingRequest::More))]);
    assert!(
        desk.draw_screen(80, 24).contains("building the index: ▓░░░░░░░░░ 3 of 16"),
        "{}",
        desk.draw_screen(80, 24)
    );
    let far = IndexingResponse::At(IndexingProgress { done_count: 9, total_count: 16 });
    let at = Timestamp(desk.model.side_query.as_ref().unwrap().since.0 + 30_000);
    desk.send_message(UiMessage::answered(LookupResponse::Index(2, far, at)));
    for (width, height) in FRAME_SIZES {
        let screen = desk.draw_screen(width, height);
        let status = screen.lines().last().unwrap();
        let is_whole =
            status.contains("9 of 16 ·") && status.contains(" s left") && status.ends_with("Esc stops");
        assert!(is_whole, "{width}: {status}");
    }
    desk.check_frames("progress_index");
    desk.take_commands();
    desk.send_index_reply(2, done_reply(IndexOutcome::Whole));
    assert_eq!(desk.take_index_commands(), []);
    let line = "indexed 12 of 340 files (328 unchanged, 2 gone), 4,310 tokens, $0.0021";
    assert!(desk.last_message_text().contains(line), "{}", desk.last_message_text());
    assert!(desk.model.side_query.is_none());
    assert_eq!((desk.model.usage().total(), desk.model.cost_usd()), (4_310, Some(0.0021)));
}

#[test]
fn nothing_is_done_for_who_does_not_want_it() {
    let mut desk = TuiHarness::new();
    desk.line("/index").send_index_reply(1, proposal()).take_commands();
    assert_eq!(desk.answer('n').take_index_commands(), []);
    assert!(desk.model.side_query.is_none() && desk.model.dialogs.is_empty());
    // stopped while it was looked at: no question comes any more
    desk.line("/index").key(KeyCode::Esc);
    assert_eq!(desk.take_index_commands().last(), Some(&UiCommand::ask(LookupRequest::StopSideQuery)));
    desk.send_index_reply(2, proposal());
    assert!(desk.model.dialogs.is_empty());
    // stopped in the middle: its cost until then is reported and paid
    desk.line("/index").send_index_reply(3, proposal()).answer('y').key(KeyCode::Esc);
    assert_eq!(desk.take_index_commands().last(), Some(&UiCommand::ask(LookupRequest::StopSideQuery)));
    assert!(desk.draw_screen(80, 24).contains("stopped: building the index"), "{}", desk.draw_screen(80, 24));
    desk.send_index_reply(4, IndexingResponse::At(IndexingProgress { done_count: 3, total_count: 16 }));
    assert_eq!(desk.take_index_commands(), [UiCommand::ask(LookupRequest::Index(4, IndexingRequest::More))]);
    desk.send_index_reply(4, done_reply(IndexOutcome::Stopped));
    assert!(
        desk.last_message_text().contains("stopped: what was done is kept"),
        "{}",
        desk.last_message_text()
    );
    assert_eq!(desk.model.cost_usd(), Some(0.0021));
    let why = "no model is set for level fast: /configure fast sets one up";
    desk.line("/index").send_index_reply(5, IndexingResponse::Refused(why.into()));
    assert_eq!(desk.last_message_text().trim_end(), why);
    desk.line("/index 70");
    assert!(desk.last_message_text().contains("`70` is no size limit"), "{}", desk.last_message_text());
    assert_eq!(desk.take_index_commands().len(), 1);
}
