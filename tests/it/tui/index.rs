//! `/index`: asked first, told while it goes on, summed up in the end.

use synthdev::domain::cost::CostEntry;
use synthdev::domain::project_index::SizeLimit;
use synthdev::domain::project_index::report::{IndexOutcome, IndexReport};
use synthdev::runtime::indexing::IndexingProgress;
use synthdev::tui::backend::{IndexingReply, IndexingRequest};

use super::*;

impl Desk {
    fn told(&mut self, number: u64, told: IndexingReply) -> &mut Self {
        self.msg(UiMessage::Reply(BackendReply::Index(number, told, Timestamp(0))))
    }

    fn indexes(&mut self) -> Vec<UiCommand> {
        self.take()
            .into_iter()
            .filter(|cmd| matches!(cmd, UiCommand::Index(..) | UiCommand::StopAside))
            .collect()
    }
}

fn proposal() -> IndexingReply {
    let lines =
        ["12 files of 340 and 4 directories to describe", "about 16 calls of m-fast, 4,200 tokens, $0.0020"];
    IndexingReply::Proposal(lines.map(str::to_owned).to_vec())
}

fn done(ending: IndexOutcome) -> IndexingReply {
    let usage = TokenUsage { prompt: 4_000, completion: 310, ..TokenUsage::default() };
    let spent = CostEntry { model: "m-fast".into(), usage, cost_usd: Some(0.0021), ..CostEntry::default() };
    let report = IndexReport {
        indexed: 12,
        files: 340,
        unchanged: 328,
        gone: 2,
        spent: vec![spent],
        ending,
        ..IndexReport::default()
    };
    IndexingReply::Done(Box::new(report))
}

#[test]
fn an_index_is_asked_about_made_and_summed_up() {
    let mut desk = Desk::new();
    assert_eq!(
        desk.line("/index 100").indexes(),
        [UiCommand::Index(1, IndexingRequest::Look(SizeLimit::Medium))]
    );
    desk.told(1, proposal());
    desk.frames("index_proposed");
    assert_eq!(desk.key(KeyCode::Char('y')).indexes(), [UiCommand::Index(2, IndexingRequest::Go)]);
    // one at a time
    desk.line("/index");
    assert_eq!(desk.indexes(), []);
    assert!(desk.said_last().contains("not now: the index is made"), "{}", desk.said_last());
    desk.told(2, IndexingReply::At(IndexingProgress { done: 3, of: 16 }));
    assert_eq!(desk.indexes(), [UiCommand::Index(2, IndexingRequest::More)]);
    assert!(desk.screen(80, 24).contains("the index is made: 3 of 16"), "{}", desk.screen(80, 24));
    desk.told(2, done(IndexOutcome::Whole));
    assert_eq!(desk.indexes(), []);
    let line = "indexed 12 of 340 files (328 unchanged, 2 gone), 4,310 tokens, $0.0021";
    assert!(desk.said_last().contains(line), "{}", desk.said_last());
    assert!(desk.model.aside.is_none());
    assert_eq!((desk.model.usage().total(), desk.model.cost_usd()), (4_310, Some(0.0021)));
}

#[test]
fn nothing_is_done_for_who_does_not_want_it() {
    let mut desk = Desk::new();
    desk.line("/index").told(1, proposal()).take();
    assert_eq!(desk.key(KeyCode::Char('n')).indexes(), []);
    assert!(desk.model.aside.is_none() && desk.model.dialogs.is_empty());
    // stopped while it was looked at: no question comes any more
    desk.line("/index").key(KeyCode::Esc);
    assert_eq!(desk.indexes().last(), Some(&UiCommand::StopAside));
    desk.told(2, proposal());
    assert!(desk.model.dialogs.is_empty());
    // stopped in the middle: what it came to is told and paid
    desk.line("/index").told(3, proposal()).key(KeyCode::Char('y')).key(KeyCode::Esc);
    assert_eq!(desk.indexes().last(), Some(&UiCommand::StopAside));
    assert!(desk.screen(80, 24).contains("stopped: the index is made"), "{}", desk.screen(80, 24));
    desk.told(4, IndexingReply::At(IndexingProgress { done: 3, of: 16 }));
    assert_eq!(desk.indexes(), [UiCommand::Index(4, IndexingRequest::More)]);
    desk.told(4, done(IndexOutcome::Stopped));
    assert!(desk.said_last().contains("stopped: what was done is kept"), "{}", desk.said_last());
    assert_eq!(desk.model.cost_usd(), Some(0.0021));
    let why = "no model is set for level fast: /configure fast sets one up";
    desk.line("/index").told(5, IndexingReply::Refused(why.into()));
    assert_eq!(desk.said_last().trim_end(), why);
    desk.line("/index 70");
    assert!(desk.said_last().contains("`70` is no size limit"), "{}", desk.said_last());
    assert_eq!(desk.indexes().len(), 1);
}
