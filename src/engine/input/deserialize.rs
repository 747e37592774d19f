//! Reading inputs. A tag inside of an object is read by keeping the whole object in an intermediate form, which is most
//! of the work for a long journal. We write the tag first; so the frequent kinds are read straight into place, and
//! whatever looks otherwise takes the long way. The form is the same.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Input, UserAnswer};
use synthdev_domain::ids::CallId;
use synthdev_domain::model::ModelReply;
use synthdev_domain::script::ScriptOutcome;
use synthdev_domain::tool::ToolOutcome;

const TAG: &str = "input";

impl Serialize for Input {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // the derived one
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Input {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(InputVisitor)
    }
}

/// The fields of the frequent kinds.
#[derive(Deserialize)]
struct OutcomeFields<T> {
    call: CallId,
    outcome: T,
}

#[derive(Deserialize)]
struct ReplyFields {
    call: CallId,
    reply: ModelReply,
}

#[derive(Deserialize)]
struct UserAnswerFields {
    call: CallId,
    answer: UserAnswer,
}

struct InputVisitor;

impl<'de> Visitor<'de> for InputVisitor {
    type Value = Input;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an input of a run")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Input, M::Error> {
        let first = map.next_key::<InputText<'de>>()?.map(|key| key.0);
        if first.as_deref() != Some(TAG) {
            return Input::deserialize(MapAccessDeserializer::new(PrefixedMapAccess {
                first_key: first,
                kind: None,
                rest: map,
            }));
        }
        let kind = map.next_value::<InputText<'de>>()?.0;
        match &*kind {
            "evaluated" => {
                let OutcomeFields { call, outcome } =
                    deserialize_map::<OutcomeFields<ScriptOutcome>, M>(map)?;
                Ok(Input::Evaluated { call, outcome })
            }
            "replied" => {
                let ReplyFields { call, reply } = deserialize_map(map)?;
                Ok(Input::Replied { call, reply })
            }
            "tool_done" => {
                let OutcomeFields { call, outcome } = deserialize_map::<OutcomeFields<ToolOutcome>, M>(map)?;
                Ok(Input::ToolDone { call, outcome })
            }
            "answered" => {
                let UserAnswerFields { call, answer } = deserialize_map(map)?;
                Ok(Input::Answered { call, answer })
            }
            _ => {
                let again = PrefixedMapAccess { first_key: first, kind: Some(kind), rest: map };
                Input::deserialize(MapAccessDeserializer::new(again))
            }
        }
    }
}

fn deserialize_map<'de, T: Deserialize<'de>, M: MapAccess<'de>>(map: M) -> Result<T, M::Error> {
    T::deserialize(MapAccessDeserializer::new(map))
}

/// A text that need not be copied, mostly.
struct InputText<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for InputText<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InputTextVisitor;
        impl<'de> Visitor<'de> for InputTextVisitor {
            type Value = InputText<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<InputText<'de>, E> {
                Ok(InputText(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<InputText<'de>, E> {
                Ok(InputText(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(InputTextVisitor)
    }
}

/// An object with what was read of it put back in front.
struct PrefixedMapAccess<'de, M> {
    first_key: Option<Cow<'de, str>>,
    /// The value of the first key, if it was read.
    kind: Option<Cow<'de, str>>,
    rest: M,
}

impl<'de, M: MapAccess<'de>> MapAccess<'de> for PrefixedMapAccess<'de, M> {
    type Error = M::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, M::Error> {
        match self.first_key.take() {
            Some(key) => seed.deserialize(key.into_deserializer()).map(Some),
            None => self.rest.next_key_seed(seed),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, M::Error> {
        match self.kind.take() {
            Some(kind) => seed.deserialize(kind.into_deserializer()),
            None => self.rest.next_value_seed(seed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_may_stand_anywhere_and_damage_is_told() {
        let rows: [(&str, Result<&str, &str>); 12] = [
            (r#"{"input":"elapsed","call":3}"#, Ok(r#"{"input":"elapsed","call":3}"#)),
            (r#"{"call":3,"input":"elapsed"}"#, Ok(r#"{"input":"elapsed","call":3}"#)),
            (r#"{"in\u0070ut":"said","text":"a"}"#, Ok(r#"{"input":"said","text":"a"}"#)),
            (r#"{"input":"cancelled","end":true}"#, Ok(r#"{"input":"cancelled","partial":[],"end":true}"#)),
            (
                r#"{"input":"answered","call":1,"answer":{"answer":"text","text":"x"}}"#,
                Ok(r#"{"input":"answered","call":1,"answer":{"answer":"text","text":"x"}}"#),
            ),
            (
                r#"{"answer":{"answer":"continue"},"call":1,"input":"answered","more":[1]}"#,
                Ok(r#"{"input":"answered","call":1,"answer":{"answer":"continue"}}"#),
            ),
            (
                r#"{"input":"evaluated","call":2,"outcome":{"chosen":1},"more":null}"#,
                Ok(r#"{"input":"evaluated","call":2,"outcome":{"chosen":1,"patch":{}}}"#),
            ),
            (r#"{"input":"replied","call":2}"#, Err("missing field `reply`")),
            (r#"{"input":"exploded","call":2}"#, Err("unknown variant `exploded`")),
            (r#"{"call":2}"#, Err("missing field `input`")),
            ("{}", Err("missing field `input`")),
            ("[1]", Err("an input of a run")),
        ];
        for (text, expected) in rows {
            let read = serde_json::from_str::<Input>(text);
            let got =
                read.map(|input| serde_json::to_string(&input).unwrap()).map_err(|error| error.to_string());
            match expected {
                Ok(expected) => assert_eq!(got.as_deref(), Ok(expected), "{text}"),
                Err(part) => {
                    assert!(got.as_ref().is_err_and(|error| error.contains(part)), "{text}: {got:?}")
                }
            }
            // through a tree, as an exported file is read, it is the same
            let tree: serde_json::Value = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::from_value::<Input>(tree).is_ok(), expected.is_ok(), "{text}");
        }
    }
}
