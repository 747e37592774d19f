//! Values that may be missing, in a stored state: JSON's null is a value, and must not be read as a missing one.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// For `#[serde(with = …)]` on an `Option<Value>`.
pub(super) fn serialize<S: Serializer>(value: &Option<Value>, serializer: S) -> Result<S::Ok, S::Error> {
    value.as_ref().map(|value| (value,)).serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Ok(Option::<(Value,)>::deserialize(deserializer)?.map(|(value,)| value))
}

/// The same for a list of them.
pub(super) mod list {
    use super::{Deserialize, Deserializer, Serializer, Value};

    pub(crate) fn serialize<S: Serializer>(
        values: &[Option<Value>],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(|value| value.as_ref().map(|value| (value,))))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Option<Value>>, D::Error> {
        let stored = Vec::<Option<(Value,)>>::deserialize(deserializer)?;
        Ok(stored.into_iter().map(|value| value.map(|(value,)| value)).collect())
    }
}
