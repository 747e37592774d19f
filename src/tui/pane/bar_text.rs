//! Bars, sparklines and curves as text, with the block characters of Unicode.

/// Before the blocks of one to eight eighths from below, and behind those from the left, which count down to the same
/// full block.
const LOWER_EIGHTHS: usize = 0x2580;
const LEFT_EIGHTHS: usize = 0x2590;

/// A vertical level from 0 to 1, in one column. What is more than nothing is seen.
pub fn level_character(part: f64) -> char {
    let part = bounded(part);
    if part > 0.0 { block_character(LOWER_EIGHTHS + scaled_eighths(part, 1).clamp(1, 8)) } else { ' ' }
}

/// A bar from the left, as wide as its part of the columns; what is more than nothing has at least an eighth.
pub fn horizontal_bar(part: f64, columns: usize) -> String {
    let part = bounded(part);
    let least = usize::from(part > 0.0 && columns > 0);
    let wide = scaled_eighths(part, columns).max(least).min(columns * 8);
    let mut text = block_character(LEFT_EIGHTHS - 8).to_string().repeat(wide / 8);
    if wide % 8 > 0 {
        text.push(block_character(LEFT_EIGHTHS - wide % 8));
    }
    let used = wide.div_ceil(8);
    text + &" ".repeat(columns - used)
}

/// A column for each value, the highest of them full.
pub fn sparkline(values: &[f64]) -> String {
    let most = values.iter().copied().fold(0.0, f64::max);
    values.iter().map(|value| if most > 0.0 { level_character(value / most) } else { ' ' }).collect()
}

/// Parts from 0 to 1 as a filled curve over several rows, the highest first.
pub fn filled_curve(parts: &[f64], rows: usize) -> Vec<String> {
    let row = |at: usize| {
        let below = rows - 1 - at;
        let cell = |part: &f64| {
            #[expect(clippy::cast_precision_loss, reason = "a few rows")]
            let inside = bounded(*part) * rows as f64 - below as f64;
            level_character(inside)
        };
        parts.iter().map(cell).collect()
    };
    (0..rows).map(row).collect()
}

/// As many values as there are columns: each is the last one of its part of the list.
pub fn last_of_each_column(values: &[f64], columns: usize) -> Vec<f64> {
    let each = values.len().div_ceil(columns.max(1)).max(1);
    values.chunks(each).filter_map(|chunk| chunk.last().copied()).collect()
}

fn bounded(part: f64) -> f64 {
    if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.0 }
}

fn block_character(code: usize) -> char {
    u32::try_from(code).ok().and_then(char::from_u32).unwrap_or(' ')
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a part of a few columns"
)]
fn scaled_eighths(part: f64, columns: usize) -> usize {
    (part * columns as f64 * 8.0).round() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_fill_their_part() {
        let check = |part: f64, columns: usize, expected: &str| {
            assert_eq!(horizontal_bar(part, columns), expected, "{part} of {columns}");
        };
        check(0.0, 4, "    ");
        check(0.5, 4, "██  ");
        check(1.0, 4, "████");
        check(9.0, 4, "████");
        check(-1.0, 4, "    ");
        check(f64::NAN, 4, "    ");
        check(0.001, 4, "▏   ");
        check(0.375, 4, "█▌  ");
        check(0.5, 0, "");
        check(1.0, 1, "█");
    }

    #[test]
    fn sparklines_scale_to_their_highest_value() {
        let check = |values: &[f64], expected: &str| assert_eq!(sparkline(values), expected, "{values:?}");
        check(&[], "");
        check(&[0.0], " ");
        check(&[3.0], "█");
        check(&[0.0, 1.0, 2.0, 4.0, 8.0], " ▁▂▄█");
        check(&[0.001, 8.0], "▁█");
        check(&[7.0, 7.0], "██");
    }

    #[test]
    fn curves_take_all_their_rows() {
        let check = |parts: &[f64], rows: usize, expected: &[&str]| {
            assert_eq!(filled_curve(parts, rows), expected, "{parts:?} in {rows}");
        };
        check(&[], 2, &["", ""]);
        check(&[1.0, 0.75, 0.5, 0.25, 0.0], 2, &["█▄   ", "███▄ "]);
        check(&[1.0], 1, &["█"]);
        check(&[2.0, -1.0], 1, &["█ "]);
    }

    #[test]
    fn many_values_are_thinned_out() {
        let values: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(last_of_each_column(&values, 4), [24.0, 49.0, 74.0, 99.0]);
        assert_eq!(last_of_each_column(&values[..3], 4), [0.0, 1.0, 2.0]);
        assert_eq!(last_of_each_column(&[], 4), [0.0; 0]);
        assert_eq!(last_of_each_column(&values, 0), [99.0]);
    }
}
