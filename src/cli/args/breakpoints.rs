//! Where a run without a screen stands still.

use clap::Args;

use synthdev_service::run_steering::{Breakpoint, BreakpointSet};

#[derive(Args, Debug, Default)]
pub struct StopArgs {
    /// Pause before every state; `resume` runs up to the next one
    #[arg(long)]
    pub step: bool,
    /// Pause before this state; tool:NAME pauses before a tool, spend:0.50 after that many dollars; repeat
    /// for
    /// several
    #[arg(long = "break", value_name = "STATE")]
    pub breaks: Vec<String>,
}

impl StopArgs {
    /// # Errors
    /// What cannot be a breakpoint.
    pub fn breakpoint_set(&self) -> Result<BreakpointSet, String> {
        let points: Result<Vec<Breakpoint>, String> =
            self.breaks.iter().map(|text| parse_breakpoint(text)).collect();
        Ok(BreakpointSet { step: self.step, points: points? })
    }
}

fn parse_breakpoint(text: &str) -> Result<Breakpoint, String> {
    match text.split_once(':') {
        Some(("tool", name)) if !name.trim().is_empty() => Ok(Breakpoint::before_tool(name.trim())),
        Some(("spend", amount)) => amount
            .trim()
            .trim_start_matches('$')
            .parse::<f64>()
            .ok()
            .and_then(Breakpoint::after_spending)
            .ok_or_else(|| format!("--break {text}: an amount of dollars is written as spend:0.50")),
        Some(("state", name)) if !name.trim().is_empty() => Ok(Breakpoint::before_state(name.trim())),
        None if !text.trim().is_empty() => Ok(Breakpoint::before_state(text.trim())),
        Some(_) | None => Err(format!("--break {text}: write a state, tool:NAME or spend:0.50")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn breakpoints_are_understood() {
        let check = |text: &str, expected: Option<Breakpoint>| {
            assert_eq!(parse_breakpoint(text).ok(), expected, "{text}")
        };
        check("review", Some(Breakpoint::before_state("review")));
        check("state:review", Some(Breakpoint::before_state("review")));
        check("tool:shell", Some(Breakpoint::before_tool("shell")));
        check("spend:0.5", Breakpoint::after_spending(0.5));
        check("spend:$2", Breakpoint::after_spending(2.0));
        for bad in ["", " ", "tool:", "spend:x", "spend:0", "when:x"] {
            check(bad, None);
        }
    }
}
