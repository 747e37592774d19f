//! Shapes that keys of several objects of a workflow file share.

use super::super::key_declaration::ValueShape::{
    self, Any, Either, Flag, Integer, List, Map, Number, Object, Ref, Text,
};
use super::super::key_declaration::{ValueShape::Words, WordMeaning, declared_word};

/// Seconds, or ISO 8601, or a name of `use.timeouts`.
pub(super) const DURATION: ValueShape = Either(&[Number { min: 0.0, max: None }, Text]);
/// A length of time or a time, also as an expression.
pub(super) const TIME: ValueShape = Either(&[Number { min: 0.0, max: None }, Text, Ref("input")]);
/// An expression, a text, an explicit form, or literal JSON.
pub(super) const VALUE: ValueShape = Either(&[Text, Ref("input"), Any]);
/// A text that may hold an expression.
pub(super) const WORDS: ValueShape = Either(&[Text, Ref("input")]);
/// Texts by name.
pub(super) const TEXTS_BY_NAME: ValueShape =
    Map(&Either(&[Text, Number { min: f64::MIN, max: None }, Flag, Ref("input")]));
/// The same, and some may come from the environment when they are needed: headers, nothing else.
pub(super) const HEADERS: ValueShape =
    Map(&Either(&[Text, Number { min: f64::MIN, max: None }, Flag, Ref("secret"), Ref("input")]));
/// A number for the hard end alone, or both ends.
pub(super) const END: ValueShape = Either(&[Number { min: 0.0, max: None }, Ref("cap")]);
pub(super) const TIME_END: ValueShape = Either(&[Number { min: 0.0, max: None }, Text, Ref("cap")]);
pub(super) const RETRIES: ValueShape = Either(&[Text, Ref("retry"), List(&Either(&[Text, Ref("retry")]))]);
pub(super) const CATCHES: ValueShape = Either(&[Ref("catch"), List(&Ref("catch"))]);
/// Several texts, or one.
pub(super) const TEXTS: ValueShape = Either(&[Text, List(&Text)]);
/// A JSON Schema, or the name of one in `use.schemas`.
pub(super) const SCHEMA: ValueShape = Either(&[Text, Object]);
/// Codes of exits or statuses that count as done.
pub(super) const EXPECTED: ValueShape = Either(&[Integer, List(&Integer), Words(ANY_CODE)]);
const ANY_CODE: &[WordMeaning] = &[declared_word("any", "Whatever comes back.")];
/// Which of the configured models.
pub(super) const LEVEL: ValueShape = Words(&[
    declared_word("base", "The ordinary model."),
    declared_word("smart", "The strongest one."),
    declared_word("fast", "The quickest and cheapest one."),
]);
