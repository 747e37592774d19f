//! Two runs side by side: what each was, their steps beside each other, and what else differs, in words.

use super::run_list::in_view;
use super::step_list::StepLine;
use crate::text::one_line;
use synthdev_domain::ids::RunId;

/// What the keys of a search do where two runs are compared.
pub const NEXT_DIFFERENCE: &str = "next difference";
pub const DIFFERENCE_BEFORE: &str = "the difference before";

/// A fact of both.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ComparedFact {
    pub name: &'static str,
    pub first: String,
    pub second: String,
}

/// A step of both, or of one of them.
#[derive(Clone, PartialEq, Debug)]
pub struct ComparedStep {
    pub first: Option<StepLine>,
    pub second: Option<StepLine>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct RunComparison {
    pub first: RunId,
    pub second: RunId,
    pub facts: Vec<ComparedFact>,
    pub steps: Vec<ComparedStep>,
    /// Definition, inputs, decisions and output; a line each.
    pub notes: Vec<String>,
    /// The first step that is not in both, and how many there are.
    first_difference: Option<usize>,
    different_count: usize,
}

/// A comparison on screen.
#[derive(Clone, PartialEq, Debug)]
pub struct RunComparisonView {
    pub comparison: RunComparison,
    pub cursor: usize,
    pub top_row: usize,
    /// Rows on screen.
    pub height: usize,
}

/// A row of the view.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ComparisonRow<'c> {
    Fact(&'c ComparedFact),
    /// Above the steps: how many are not in both.
    StepsTitle(usize),
    /// With whether it is the first that differs.
    Step(&'c ComparedStep, bool),
    NotesTitle,
    Note(&'c str),
}

impl ComparedFact {
    pub fn new(name: &'static str, first: String, second: String) -> Self {
        Self { name, first: one_line(&first), second: one_line(&second) }
    }

    pub fn is_same(&self) -> bool {
        self.first == self.second
    }
}

impl ComparedStep {
    pub fn is_in_both(&self) -> bool {
        self.first.is_some() && self.second.is_some()
    }
}

impl RunComparison {
    pub fn new(
        [first, second]: [RunId; 2],
        facts: Vec<ComparedFact>,
        steps: Vec<ComparedStep>,
        notes: Vec<String>,
    ) -> Self {
        let first_difference = steps.iter().position(|step| !step.is_in_both());
        let different_count = steps.iter().filter(|step| !step.is_in_both()).count();
        Self { first, second, facts, steps, notes, first_difference, different_count }
    }

    pub fn row_count(&self) -> usize {
        self.facts.len() + 1 + self.steps.len() + 1 + self.notes.len()
    }

    pub fn row(&self, at: usize) -> Option<ComparisonRow<'_>> {
        if let Some(fact) = self.facts.get(at) {
            return Some(ComparisonRow::Fact(fact));
        }
        let at = at - self.facts.len();
        let Some(step) = at.checked_sub(1) else {
            return Some(ComparisonRow::StepsTitle(self.different_count));
        };
        if let Some(found) = self.steps.get(step) {
            return Some(ComparisonRow::Step(found, self.first_difference == Some(step)));
        }
        match (step - self.steps.len()).checked_sub(1) {
            None => Some(ComparisonRow::NotesTitle),
            Some(note) => self.notes.get(note).map(|note| ComparisonRow::Note(note)),
        }
    }

    /// All of it, a line each.
    pub fn to_text(&self) -> String {
        let state = |step: &Option<StepLine>| step.as_ref().map_or("", |line| &*line.state).to_owned();
        let line = |row: ComparisonRow<'_>| match row {
            ComparisonRow::Fact(fact) => format!("{}\t{}\t{}", fact.name, fact.first, fact.second),
            ComparisonRow::StepsTitle(_) => "steps".to_owned(),
            ComparisonRow::Step(step, _) => {
                one_line(&format!("{}\t{}", state(&step.first), state(&step.second)))
            }
            ComparisonRow::NotesTitle => "more".to_owned(),
            ComparisonRow::Note(note) => note.to_owned(),
        };
        (0..self.row_count()).filter_map(|at| self.row(at)).map(line).collect::<Vec<_>>().join("\n")
    }

    /// The row differs from one run to the other.
    fn differs_at(&self, row: usize) -> bool {
        match self.row(row) {
            Some(ComparisonRow::Fact(fact)) => !fact.is_same(),
            Some(ComparisonRow::Step(step, _)) => !step.is_in_both(),
            Some(ComparisonRow::Note(note)) => is_changed(note) && !self.follows_change(row),
            _ => false,
        }
    }

    /// The row above is a note of the same difference.
    fn follows_change(&self, row: usize) -> bool {
        let above = row.checked_sub(1).and_then(|above| self.row(above));
        matches!(above, Some(ComparisonRow::Note(note)) if is_changed(note))
    }
}

/// A line of one run only.
fn is_changed(note: &str) -> bool {
    note.starts_with(['-', '+'])
}

impl RunComparisonView {
    pub fn new(comparison: RunComparison) -> Self {
        Self { comparison, cursor: 0, top_row: 0, height: 0 }
    }

    pub fn select_row(&mut self, at: usize) {
        let len = self.comparison.row_count();
        self.cursor = at.min(len.saturating_sub(1));
        self.top_row = in_view(self.top_row, self.cursor, len, self.height);
    }

    /// The next row that differs, or the one before; stays where there is none.
    pub fn select_difference(&mut self, forward: bool) -> bool {
        let differs = |at: &usize| self.comparison.differs_at(*at);
        let found = if forward {
            (self.cursor + 1..self.comparison.row_count()).find(differs)
        } else {
            (0..self.cursor).rev().find(differs)
        };
        found.inspect(|at| self.select_row(*at)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_in_their_order() {
        let step = |state: &str| Some(StepLine { state: state.into(), ..StepLine::default() });
        // `=` a step of both, `<` and `>` of one; the rows in short
        let check = |facts: usize, steps: &str, notes: &[&str], expected: &str| {
            let fact = |at: usize| ComparedFact::new("cost", "1".into(), at.to_string());
            let compared = |side: char| ComparedStep {
                first: step("x").filter(|_| side != '>'),
                second: step("x").filter(|_| side != '<'),
            };
            let comparison = RunComparison::new(
                ["a".into(), "b".into()],
                (0..facts).map(fact).collect(),
                steps.chars().map(compared).collect(),
                notes.iter().map(|note| (*note).to_owned()).collect(),
            );
            let short = |at: usize| match comparison.row(at) {
                Some(ComparisonRow::Fact(_)) => "f".to_owned(),
                Some(ComparisonRow::StepsTitle(count)) => format!("S{count}"),
                Some(ComparisonRow::Step(_, true)) => "!".to_owned(),
                Some(ComparisonRow::Step(_, false)) => "s".to_owned(),
                Some(ComparisonRow::NotesTitle) => "N".to_owned(),
                Some(ComparisonRow::Note(note)) => note.to_owned(),
                None => "-".to_owned(),
            };
            let rows: String = (0..=comparison.row_count()).map(short).collect();
            assert_eq!(rows, expected, "{facts} {steps} {notes:?}");
        };
        check(0, "", &[], "S0N-");
        check(2, "==", &["x"], "ffS0ssNx-");
        check(1, "=<=>", &["x", "y"], "fS2s!ssNxy-");
    }
}
