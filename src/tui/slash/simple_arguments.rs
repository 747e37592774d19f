//! What single words behind a command mean.

/// Nothing is no name.
pub(super) fn optional_name(rest: &str) -> Option<String> {
    (!rest.is_empty()).then(|| rest.to_owned())
}

/// `on`, `off`, or nothing: the other way.
/// # Errors
/// It is another word.
pub(super) fn parse_switch(name: &str, rest: &str) -> Result<Option<bool>, String> {
    match rest {
        "" => Ok(None),
        "on" => Ok(Some(true)),
        "off" => Ok(Some(false)),
        other => Err(format!("/{name} is on or off, not `{other}`")),
    }
}
