//! Checks of the terminal that send it no queries.

use std::io::IsTerminal;

use synthdev_bootstrap::start_context::StartContext;
use synthdev_cli::doctor::DoctorFinding;

const AREA: &str = "terminal";
/// What the screen is laid out for.
const LEAST: (u16, u16) = (80, 24);

pub(crate) fn terminal_findings(context: &StartContext) -> Vec<DoctorFinding> {
    let variable =
        |name: &str| context.environment.get(name).map(String::as_str).filter(|text| !text.is_empty());
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return vec![DoctorFinding::ok_finding(
            AREA,
            "not in a terminal: commands work, the interface needs one",
        )];
    }
    let mut lines = Vec::new();
    match ratatui::crossterm::terminal::size() {
        Ok((columns, rows)) if columns >= LEAST.0 && rows >= LEAST.1 => {
            lines.push(DoctorFinding::ok_finding(AREA, format!("{columns} columns, {rows} rows")));
        }
        Ok((columns, rows)) => {
            let text = format!("{columns} columns, {rows} rows: less than {} by {}", LEAST.0, LEAST.1);
            lines.push(DoctorFinding::warning_finding(
                AREA,
                text,
                "enlarge the window: some lines are truncated",
            ));
        }
        Err(error) => {
            let text = format!("its size is not known: {error}");
            lines.push(DoctorFinding::warning_finding(AREA, text, "start in another terminal program"));
        }
    }
    let term = variable("TERM").unwrap_or("not set");
    lines.push(match term {
        "dumb" | "not set" => DoctorFinding::problem(
            AREA,
            format!("TERM is {term}: nothing can be drawn"),
            "set TERM, for example to xterm-256color",
        ),
        _ if variable("NO_COLOR").is_some() => {
            DoctorFinding::ok_finding(AREA, format!("TERM is {term}; NO_COLOR: no colours"))
        }
        _ => DoctorFinding::ok_finding(AREA, format!("TERM is {term}; the terminal's own colours are used")),
    });
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable).unwrap_or("not set");
    let utf8 = ["utf-8", "utf8"].iter().any(|name| locale.to_ascii_lowercase().contains(name));
    lines.push(if utf8 || cfg!(windows) {
        DoctorFinding::ok_finding(AREA, format!("text is UTF-8 ({locale})"))
    } else {
        let text = format!("the language setting is {locale}: lines and marks may look wrong");
        DoctorFinding::warning_finding(AREA, text, "set LANG to a UTF-8 one, for example C.UTF-8")
    });
    lines
}
