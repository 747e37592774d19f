//! `/index`: the person sees what it will cost, agrees, and sees how far it is.

use super::shell;
use crate::domain::ids::Timestamp;
use crate::domain::project_index::SizeLimit;
use crate::domain::project_index::report::{Ending, Report};
use crate::tui::backend::{IndexAsked, IndexTold};
use crate::tui::dialog::Dialog;
use crate::tui::model::Model;
use crate::tui::msg::Cmd;
use crate::tui::text::thousands;
use crate::tui::transcript::item::{Item, Tone};

pub fn look(model: &mut Model, limit: SizeLimit) -> Vec<Cmd> {
    begin(model, "the project is looked at", IndexAsked::Look(limit))
}

/// What a person agreed to is done; making the index has a number from now on.
pub fn agreed(model: &mut Model, cmd: Cmd) -> Vec<Cmd> {
    match cmd {
        Cmd::Index(_, asked) => begin(model, "the index is made", asked),
        other => vec![other],
    }
}

fn begin(model: &mut Model, what: &str, asked: IndexAsked) -> Vec<Cmd> {
    if let Some(aside) = &model.aside {
        let why = format!("not now: {} · Esc stops that", aside.what);
        model.say(Item::warning(&why));
        return Vec::new();
    }
    vec![Cmd::Index(model.begin_aside(what), asked)]
}

pub fn told(model: &mut Model, number: u64, told: IndexTold, at: Timestamp) -> Vec<Cmd> {
    model.now = model.now.max(at);
    match told {
        IndexTold::At(progress) => {
            if let Some(aside) = model.aside.as_mut().filter(|aside| aside.number == number) {
                let (done, of) = (thousands(progress.done as u64), thousands(progress.of as u64));
                aside.what = format!("the index is made: {done} of {of}");
            }
            // also for who has stopped it: the end says what it came to
            return vec![Cmd::Index(number, IndexAsked::More)];
        }
        IndexTold::Proposal(lines) if model.end_aside(number) => {
            let go = Cmd::Index(0, IndexAsked::Go);
            model.dialogs.push_back(Dialog::confirm(
                "Make the index of this project?",
                &lines.join("\n"),
                go,
            ));
        }
        IndexTold::Proposal(_) => {}
        IndexTold::Refused(why) => {
            model.end_aside(number);
            model.say(Item::line(Tone::Bad, &why));
        }
        IndexTold::Done(report) => {
            model.end_aside(number);
            done(model, &report);
        }
    }
    Vec::new()
}

fn done(model: &mut Model, report: &Report) {
    shell::paid(model, &report.spent);
    model.say(Item::note(&report.line()));
    let tone = if matches!(report.ending, Ending::Broken(_)) { Tone::Bad } else { Tone::Warning };
    for note in report.notes() {
        model.say(Item::line(tone, &note));
    }
}
