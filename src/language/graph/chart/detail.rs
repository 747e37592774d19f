//! How much text a chart shows.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChartDetail {
    /// Most columns of a text in a box.
    pub box_columns: usize,
    /// Most columns and lines of a condition.
    pub label_columns: usize,
    pub label_lines: usize,
    /// Most columns of branches beside each other.
    pub row_columns: usize,
    /// Neither descriptions nor conditions.
    pub names_only: bool,
    /// Room for counts and costs of a run.
    pub with_tallies: bool,
}

impl ChartDetail {
    /// Descriptions and conditions in full, as far as they are of usual length.
    pub fn whole(with_tallies: bool) -> Self {
        Self {
            box_columns: 34,
            label_columns: 34,
            label_lines: 5,
            row_columns: 120,
            names_only: false,
            with_tallies,
        }
    }

    /// A map of the states.
    pub fn names(with_tallies: bool) -> Self {
        Self { box_columns: 24, row_columns: 80, names_only: true, ..Self::whole(with_tallies) }
    }

    /// The narrower, the more lines.
    pub fn from_wide_to_narrow(with_tallies: bool) -> [Self; 4] {
        let whole = Self::whole(with_tallies);
        [
            whole,
            Self { box_columns: 26, label_columns: 24, label_lines: 6, row_columns: 80, ..whole },
            Self { box_columns: 20, label_columns: 17, label_lines: 8, row_columns: 50, ..whole },
            Self { box_columns: 14, label_columns: 13, label_lines: 9, row_columns: 36, ..whole },
        ]
    }
}
