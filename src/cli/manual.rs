//! `synthdev man`: the manual pages, made from the command line as it is parsed.

use std::path::Path;

use crate::args::build_command;

/// The manual page of the program.
///
/// # Errors
/// None in practice: it is written to memory.
pub fn manual_page() -> std::io::Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(build_command()).render(&mut page)?;
    Ok(page)
}

/// Writes the manual pages of the program and of all its commands.
///
/// # Errors
/// The directory cannot be written.
pub fn write_manual_pages(directory: &Path) -> std::io::Result<()> {
    clap_mangen::generate_to(build_command(), directory)
}
