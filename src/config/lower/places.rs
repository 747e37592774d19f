//! Line and column of many offsets in one file: the lines are found once.

use super::super::source::SourceFile;
use crate::domain::place::Place;

pub(super) struct Places<'a> {
    file: &'a SourceFile,
    /// Where each line begins.
    lines: Vec<usize>,
}

impl<'a> Places<'a> {
    pub(super) fn new(file: &'a SourceFile) -> Self {
        let breaks = file.text.match_indices('\n').map(|(at, _)| at + 1);
        Self { file, lines: std::iter::once(0).chain(breaks).collect() }
    }

    /// As `SourceFile::place`.
    pub(super) fn of(&self, offset: usize) -> Place {
        let line = self.lines.partition_point(|start| *start <= offset);
        let start = self.lines.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let before = self.file.text.get(start..offset).unwrap_or_default();
        Place { file: self.file.name.clone(), line, column: before.chars().count() + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::place::Layer;

    #[test]
    fn agrees_with_the_file() {
        let file = SourceFile::new(Layer::User, "x", "a\nbä\n\n  c");
        let places = Places::new(&file);
        for at in (0..=file.text.len()).filter(|at| file.text.is_char_boundary(*at)) {
            assert_eq!(places.of(at), file.place(at), "{at}");
        }
    }
}
