//! What was measured, a line each.

#[derive(Default)]
pub struct Figures {
    missed: usize,
}

impl Figures {
    /// Says a figure with its gate and its goal, if it has them: less is better.
    pub fn say(&mut self, what: &str, value: f64, unit: &str, bounds: Option<(f64, f64)>) {
        let measured = format!("{what:<58} {value:>9.2} {unit:<5}");
        let Some((gate, goal)) = bounds else { return println!("{measured}") };
        let verdict = if value <= goal {
            "goal met"
        } else if value <= gate {
            "gate met"
        } else {
            self.missed += 1;
            "GATE MISSED"
        };
        println!("{measured} gate {gate:>5}  goal {goal:>5}  {verdict}");
    }

    /// How many gates were missed.
    pub fn missed(&self) -> usize {
        self.missed
    }
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The value that so many percent are below.
pub fn percentile(mut values: Vec<f64>, percent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() * percent / 100).min(values.len() - 1)]
}
