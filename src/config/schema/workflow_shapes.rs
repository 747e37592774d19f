//! Shapes that several objects of a workflow file share.

use super::shape::Shape::{self, Any, Either, List, Map, Number, Object, Ref, Text};

/// Seconds, or ISO 8601, or a name of `use.timeouts`.
pub(super) const DURATION: Shape = Either(&[Number { min: 0.0, max: None }, Text]);
/// An expression, a text, an explicit form, or literal JSON.
pub(super) const VALUE: Shape = Either(&[Text, Ref("input"), Any]);
/// A text that may hold an expression.
pub(super) const WORDS: Shape = Either(&[Text, Ref("input")]);
/// Texts by name.
pub(super) const TEXTS_BY_NAME: Shape =
    Map(&Either(&[Text, Number { min: f64::MIN, max: None }, Shape::Flag, Ref("input")]));
/// The same, and some may come from the environment when they are needed: headers, nothing else.
pub(super) const HEADERS: Shape =
    Map(&Either(&[Text, Number { min: f64::MIN, max: None }, Shape::Flag, Ref("secret"), Ref("input")]));
/// A number for the hard end alone, or both ends.
pub(super) const END: Shape = Either(&[Number { min: 0.0, max: None }, Ref("cap")]);
pub(super) const TIME_END: Shape = Either(&[Number { min: 0.0, max: None }, Text, Ref("cap")]);
pub(super) const RETRIES: Shape = Either(&[Text, Ref("retry"), List(&Either(&[Text, Ref("retry")]))]);
pub(super) const CATCHES: Shape = Either(&[Ref("catch"), List(&Ref("catch"))]);
/// Several texts, or one.
pub(super) const TEXTS: Shape = Either(&[Text, List(&Text)]);
/// A JSON Schema, or the name of one in `use.schemas`.
pub(super) const SCHEMA: Shape = Either(&[Text, Object]);
