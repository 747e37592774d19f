//! Which column of a chart a moment is in, and where the marks of its time axis are.

/// Steps between two marks of the axis, in milliseconds.
const STEPS: [u64; 22] = [
    100,
    200,
    500,
    1_000,
    2_000,
    5_000,
    10_000,
    15_000,
    30_000,
    60_000,
    120_000,
    300_000,
    600_000,
    900_000,
    1_800_000,
    3_600_000,
    7_200_000,
    14_400_000,
    21_600_000,
    43_200_000,
    86_400_000,
    604_800_000,
];
/// Columns that a mark has at least.
const LEAST: u64 = 9;

/// The time that a number of columns show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChartScale {
    pub span_ms: u64,
    pub columns: usize,
    /// Milliseconds between two marks of the axis.
    pub step_ms: u64,
}

impl ChartScale {
    /// Columns for all of this time. A chart that grows has room up to its next mark, so that it does not move with
    /// every frame.
    pub fn new(length_ms: u64, columns: usize, is_live: bool) -> Self {
        let (length_ms, columns) = (length_ms.max(1), columns.max(1));
        let wanted = length_ms.saturating_mul(LEAST) / columns as u64;
        let step_ms = STEPS.into_iter().find(|step| *step >= wanted).unwrap_or(wanted);
        let span_ms = if is_live { (length_ms / step_ms + 1) * step_ms } else { length_ms };
        Self { span_ms, columns, step_ms }
    }

    /// The column of a moment; what is later is in the last one.
    pub fn column_at(&self, ms: u64) -> usize {
        let column = u128::from(ms) * self.columns as u128 / u128::from(self.span_ms);
        usize::try_from(column).unwrap_or(usize::MAX).min(self.columns - 1)
    }

    /// Milliseconds at the left edge of a column.
    pub fn start_of(&self, column: usize) -> u64 {
        let ms = (u128::from(self.span_ms) * column as u128).div_ceil(self.columns as u128);
        u64::try_from(ms).unwrap_or(u64::MAX)
    }

    /// The marks of the axis: column and milliseconds.
    pub fn marks(&self) -> impl Iterator<Item = (usize, u64)> {
        let scale = *self;
        (0..)
            .map(move |at| at * scale.step_ms)
            .take_while(move |ms| *ms < scale.span_ms)
            .map(move |ms| (scale.column_at(ms), ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_have_columns() {
        let check = |length: u64, columns: usize, live: bool, moments: &[(u64, usize)]| {
            let scale = ChartScale::new(length, columns, live);
            for (ms, column) in moments {
                assert_eq!(scale.column_at(*ms), *column, "{ms} of {length} in {columns}, {live}");
            }
        };
        // no length, and no room
        check(0, 10, false, &[(0, 0), (5, 9)]);
        check(1_000, 0, false, &[(0, 0), (999, 0), (2_000, 0)]);
        check(1_000, 10, false, &[(0, 0), (99, 0), (100, 1), (999, 9), (1_000, 9), (9_999, 9)]);
        // more columns than milliseconds
        check(2, 10, false, &[(0, 0), (1, 5), (2, 9)]);
        // up to the next mark: 1,500 ms of it are 2,000
        check(1_500, 20, true, &[(0, 0), (1_000, 10), (1_500, 15)]);
        check(u64::MAX, 10, false, &[(u64::MAX, 9)]);
    }

    #[test]
    fn a_column_begins_with_the_first_moment_in_it() {
        for (length, columns) in [(1, 1), (2, 10), (999, 10), (1_000, 7), (86_400_000, 120)] {
            let scale = ChartScale::new(length, columns, false);
            for column in 0..columns {
                let start = scale.start_of(column);
                assert!(scale.column_at(start) >= column, "{length} {columns} {column}");
                assert!(start == 0 || scale.column_at(start - 1) < column, "{length} {columns} {column}");
            }
        }
    }

    #[test]
    fn marks_have_room() {
        let check = |length: u64, columns: usize, step: u64, count: usize| {
            let scale = ChartScale::new(length, columns, false);
            assert_eq!((scale.step_ms, scale.marks().count()), (step, count), "{length} in {columns}");
        };
        check(0, 60, 100, 1);
        check(1_000, 60, 200, 5);
        check(60_000, 60, 10_000, 6);
        check(60_000, 200, 5_000, 12);
        check(3_600_000, 60, 600_000, 6);
        check(60_000, 4, 300_000, 1);
        check(365 * 86_400_000, 40, 7_095_600_000, 5);
    }
}
