//! `schema`: prints the JSON Schema of a kind of file, or writes them where an editor finds them.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};

use synthdev_cli::args::SchemaName;
use synthdev_cli::exit;
use synthdev_cli::output::TerminalSafeWriter;
use synthdev_settings::schema::FileSchema;

pub(crate) fn print_schema(name: Option<SchemaName>, directory: Option<&Path>) -> Result<u8> {
    let named = name.map(file_schema);
    let mut out = std::io::stdout().lock();
    if let Some(directory) = directory {
        let wanted: Vec<FileSchema> = named.map_or_else(|| FileSchema::ALL.to_vec(), |one| vec![one]);
        std::fs::create_dir_all(directory)
            .with_context(|| format!("{} cannot be made", directory.display()))?;
        for schema in wanted {
            let path = directory.join(format!("{}.json", schema.name()));
            std::fs::write(&path, schema.text())
                .with_context(|| format!("{} cannot be written", path.display()))?;
            writeln!(TerminalSafeWriter(&mut out), "{}", path.display())?;
        }
    } else if let Some(schema) = named {
        write!(out, "{}", schema.text())?;
    } else {
        for schema in FileSchema::ALL {
            writeln!(out, "{:<9} {}", schema.name(), schema.description())?;
        }
        writeln!(
            out,
            "\nsynthdev schema NAME prints one; --write DIR writes all of them, for \"$schema\" in your files"
        )?;
    }
    Ok(exit::COMPLETED)
}

fn file_schema(name: SchemaName) -> FileSchema {
    match name {
        SchemaName::Workflow => FileSchema::Workflow,
        SchemaName::Role => FileSchema::Role,
        SchemaName::Settings => FileSchema::Settings,
        SchemaName::Models => FileSchema::Models,
        SchemaName::Replies => FileSchema::Replies,
        SchemaName::Test => FileSchema::Test,
        SchemaName::Tool => FileSchema::Tool,
    }
}
