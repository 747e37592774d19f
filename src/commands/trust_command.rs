//! `trust`: what the project's own files can do and what they say; and the notice of other commands that they are not
//! used.

use std::io::Write as _;

use anyhow::Result;

use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::trust::{decide_trust, project_files};
use synthdev_cli::exit;
use synthdev_cli::output::{TerminalSafeWriter, join_names};
use synthdev_session::trust_report;
use synthdev_settings::trust::TrustVerdict;
use synthdev_settings::trust::capabilities::file_contents_text;

/// `synthdev trust`: what the project's own files can do and what they say. `--trust` decides.
pub(crate) fn show_trust(context: &StartContext) -> Result<u8> {
    let files = project_files(&context.project);
    let before = decide_trust(context, &files, false)?;
    let mut stdout = std::io::stdout().lock();
    let mut out = TerminalSafeWriter(&mut stdout);
    if files.is_empty() {
        writeln!(out, "this project has no definitions of its own")?;
        return Ok(exit::COMPLETED);
    }
    if let Some(notice) = untrusted_notice(&before) {
        writeln!(out, "{notice}\n\n{}", trust_report::shown(context, &files))?;
    } else {
        let texts = files.texts();
        writeln!(
            out,
            "this project's definitions are trusted\n\n{}\n\nWhat its files say:\n{}",
            trust_report::capabilities(context, &files, &texts),
            file_contents_text(&texts)
        )?;
    }
    if context.trust && before != TrustVerdict::Trusted {
        decide_trust(context, &files, true)?;
        writeln!(out, "\nthis project's definitions are trusted from now on")?;
    }
    Ok(exit::COMPLETED)
}

/// What is not used, in one line for stderr; `None` if everything is trusted.
pub(crate) fn untrusted_notice(verdict: &TrustVerdict) -> Option<String> {
    if let Some([_, ..]) = verdict.excluded_files() {
        let new = join_names(verdict.excluded_files().unwrap_or_default(), ", ");
        return Some(format!(
            "this project has new files since you trusted it ({new}); they are not used until you trust them: --trust"
        ));
    }
    let what = match verdict {
        TrustVerdict::Trusted => return None,
        TrustVerdict::New { files } => format!("has its own configuration ({})", join_names(files, ", ")),
        TrustVerdict::Changed { added, removed, changed } => {
            let list = |word: &str, files: &[String]| {
                (!files.is_empty()).then(|| format!("{word} {}", join_names(files, ", ")))
            };
            let parts: Vec<String> =
                [list("added", added), list("changed", changed), list("removed", removed)]
                    .into_iter()
                    .flatten()
                    .collect();
            format!("has changed its configuration since you trusted it ({})", parts.join("; "))
        }
    };
    Some(format!(
        "this project {what}; it is not used until you trust it: `synthdev trust` shows all of it, --trust uses it"
    ))
}
