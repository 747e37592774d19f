//! Shapes that several objects of a workflow file share.

use super::shape::SchemaShape::{self, Any, Either, List, Map, Number, Object, Ref, Text};

/// Seconds, or ISO 8601, or a name of `use.timeouts`.
pub(super) const DURATION: SchemaShape = Either(&[Number { min: 0.0, max: None }, Text]);
/// An expression, a text, an explicit form, or literal JSON.
pub(super) const VALUE: SchemaShape = Either(&[Text, Ref("input"), Any]);
/// A text that may hold an expression.
pub(super) const WORDS: SchemaShape = Either(&[Text, Ref("input")]);
/// Texts by name.
pub(super) const TEXTS_BY_NAME: SchemaShape =
    Map(&Either(&[Text, Number { min: f64::MIN, max: None }, SchemaShape::Flag, Ref("input")]));
/// The same, and some may come from the environment when they are needed: headers, nothing else.
pub(super) const HEADERS: SchemaShape = Map(&Either(&[
    Text,
    Number { min: f64::MIN, max: None },
    SchemaShape::Flag,
    Ref("secret"),
    Ref("input"),
]));
/// A number for the hard end alone, or both ends.
pub(super) const END: SchemaShape = Either(&[Number { min: 0.0, max: None }, Ref("cap")]);
pub(super) const TIME_END: SchemaShape = Either(&[Number { min: 0.0, max: None }, Text, Ref("cap")]);
pub(super) const RETRIES: SchemaShape = Either(&[Text, Ref("retry"), List(&Either(&[Text, Ref("retry")]))]);
pub(super) const CATCHES: SchemaShape = Either(&[Ref("catch"), List(&Ref("catch"))]);
/// Several texts, or one.
pub(super) const TEXTS: SchemaShape = Either(&[Text, List(&Text)]);
/// A JSON Schema, or the name of one in `use.schemas`.
pub(super) const SCHEMA: SchemaShape = Either(&[Text, Object]);
