//! Shapes that several objects of a workflow file share.

use super::shape::Shape::{self, Either, List, Number, Table as Ref, Text};
use crate::config::workflow_file::vocabulary::known;

/// Seconds, or ISO 8601.
pub(super) const DURATION: Shape = Either(&[Number { min: 0.0, max: None }, Text]);
/// A value that an expression may give.
pub(super) const INPUT_VALUE: Shape = Either(&[Text, Ref("input")]);
/// A number for the hard end alone, or both ends.
pub(super) const END: Shape = Either(&[Number { min: 0.0, max: None }, Ref("cap")]);
pub(super) const TIME_END: Shape = Either(&[Number { min: 0.0, max: None }, Text, Ref("cap")]);
pub(super) const RETRIES: Shape = Either(&[Text, List(&Either(&[Text, Ref("retry")])), Ref("retry")]);
pub(super) const ERRORS: Shape = Either(&[Text, List(&Text)]);
pub(super) const PATTERNS: Shape = Either(&[Text, List(&Text)]);

/// As [`known`], for tables whose reader may not be there yet: then nothing refers to them.
pub(super) const fn known_if_read(name: &str) -> Option<&'static [&'static str]> {
    let keys = known(name);
    if keys.is_empty() { None } else { Some(keys) }
}
