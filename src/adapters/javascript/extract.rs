//! From JavaScript values back to JSON.
//!
//! Owns: what counts as data (functions, cycles and lost values are errors, `Date` becomes ISO text) and
//! what changed. Refuses: guessing; whatever JSON cannot hold is named with its path.

use std::collections::HashSet;

use rquickjs::{Array, Function, Object, String as JsString, Type, Value, function::This};
use serde_json::{Map, Number, Value as Json};

use super::job_state::ScriptJobState;
use super::script_error::RawScriptError;
use synthdev_domain::script::ScopePatch;

/// Deeper data would not survive other readers of JSON.
const DEPTH: usize = 100;
/// What one value costs at least, in bytes, for the limit on the result.
const VALUE_COST: usize = 16;
const SAFE_INTEGER: f64 = 9_007_199_254_740_992.0;

/// Distinguishes plain objects from others.
pub(super) struct ObjectShapes<'js> {
    /// Names the kind of an object that JSON cannot hold.
    pub(super) foreign_kind: Function<'js>,
    /// Replaces halves of characters.
    pub(super) to_well_formed: Function<'js>,
    /// The prototype of `common_data`.
    pub(super) members: Object<'js>,
    pub(super) plain_prototype: Object<'js>,
}

/// A failed conversion: an exception of the script's own getters, or a value that is no data.
pub(super) enum ExtractError {
    Thrown(rquickjs::Error),
    Fault(RawScriptError),
}

impl From<rquickjs::Error> for ExtractError {
    fn from(error: rquickjs::Error) -> Self {
        Self::Thrown(error)
    }
}

type ExtractResult<T> = Result<T, ExtractError>;

/// One conversion; counts what it produces with all others of its job, so that shared references cannot grow without end.
pub(super) struct JsonExtractor<'a, 'js> {
    shapes: &'a ObjectShapes<'js>,
    job_state: &'a ScriptJobState,
    path: Vec<ExtractPathStep>,
    open_objects: Vec<Value<'js>>,
    tick_count: u32,
}

enum ExtractPathStep {
    Key(String),
    Index(usize),
}

impl<'a, 'js> JsonExtractor<'a, 'js> {
    pub(super) fn new(shapes: &'a ObjectShapes<'js>, shared: &'a ScriptJobState, root: &str) -> Self {
        let path = vec![ExtractPathStep::Key(root.to_owned())];
        Self { shapes, job_state: shared, path, open_objects: Vec::new(), tick_count: 0 }
    }

    /// What a script made of `common_data`, as changes to `before`.
    ///
    /// # Errors
    /// It is no object any more, or holds what JSON cannot.
    pub(super) fn extract_changes(
        &mut self,
        after: &Value<'js>,
        before: &Map<String, Json>,
    ) -> ExtractResult<ScopePatch> {
        let plain = after.as_object().filter(|_| !after.is_array() && !after.is_function());
        let Some(object) = plain else {
            return Err(self.no_data("must stay an object with named values"));
        };
        self.open_objects.push(after.clone());
        let mut patch = ScopePatch::default();
        let mut present = Vec::with_capacity(before.len());
        for entry in object.props::<String, Value<'js>>() {
            let (key, value) = entry?;
            let old = before.get(&key);
            if let Some(old) = old
                && self.equals_json(&value, old)?
            {
                present.push(key);
                continue;
            }
            self.path.push(ExtractPathStep::Key(key));
            let new = self.extract_json(&value)?;
            let Some(ExtractPathStep::Key(key)) = self.path.pop() else { continue };
            if let Some(new) = new {
                if old.is_some() {
                    present.push(key.clone());
                }
                if old != Some(&new) {
                    patch.set.insert(key, new);
                }
            }
        }
        if present.len() < before.len() {
            let present: HashSet<String> = present.into_iter().collect();
            patch.removed = before.keys().filter(|key| !present.contains(*key)).cloned().collect();
        }
        Ok(patch)
    }

    /// A value as JSON; `None` is `undefined`.
    ///
    /// # Errors
    /// It holds something that JSON cannot hold, or is too large.
    pub(super) fn extract_json(&mut self, value: &Value<'js>) -> ExtractResult<Option<Json>> {
        self.count_bytes(VALUE_COST)?;
        Ok(Some(match value.type_of() {
            Type::Undefined | Type::Uninitialized => return Ok(None),
            Type::Null => Json::Null,
            Type::Bool => Json::Bool(value.as_bool().unwrap_or_default()),
            Type::Int | Type::Float => self.extract_number(value.as_number().unwrap_or_default())?,
            Type::String => Json::String(self.extract_text(value)?),
            Type::Array => return self.extract_nested(value, Self::extract_array).map(Some),
            Type::Object | Type::Proxy | Type::Exception => {
                return self.extract_nested(value, Self::extract_object);
            }
            Type::Function | Type::Constructor => {
                return Err(self.no_data("is a function; call it, or leave it out"));
            }
            Type::Promise => return Err(self.no_data("is a promise; scripts cannot wait")),
            other => return Err(self.no_data(&format!("is a {}, which JSON cannot hold", other.as_str()))),
        }))
    }

    fn extract_nested<T>(
        &mut self,
        value: &Value<'js>,
        take: impl FnOnce(&mut Self, &Value<'js>) -> ExtractResult<T>,
    ) -> ExtractResult<T> {
        if self.open_objects.contains(value) {
            return Err(self.no_data("refers back to itself; JSON cannot hold a circle"));
        }
        if self.open_objects.len() >= DEPTH {
            return Err(self.no_data("is nested too deeply"));
        }
        self.open_objects.push(value.clone());
        let taken = take(self, value)?;
        self.open_objects.pop();
        Ok(taken)
    }

    fn extract_array(&mut self, value: &Value<'js>) -> ExtractResult<Json> {
        let Some(array) = value.as_array() else { return Ok(Json::Null) };
        let mut list = Vec::new();
        for index in 0..array.len() {
            self.path.push(ExtractPathStep::Index(index));
            match self.extract_json(&array_element(array, index)?)? {
                Some(item) => list.push(item),
                None => return Err(self.no_data("is undefined inside a list; use null")),
            }
            self.path.pop();
        }
        Ok(Json::Array(list))
    }

    fn extract_object(&mut self, value: &Value<'js>) -> ExtractResult<Option<Json>> {
        let Some(object) = value.as_object() else { return Ok(None) };
        let convert: Value<'js> = object.get("toJSON")?;
        if let Some(convert) = convert.as_function() {
            let simple: Value<'js> = convert.call((This(value.clone()),))?;
            if simple.is_null() {
                return Err(self.no_data("is an invalid date"));
            }
            return self.extract_json(&simple);
        }
        if object.get_prototype().as_ref() != Some(&self.shapes.plain_prototype) {
            let foreign: Option<String> = self.shapes.foreign_kind.call((value.clone(),))?;
            if let Some(name) = foreign {
                return Err(self.no_data(&format!(
                    "is a {name}, which JSON cannot hold; turn it into a list or object"
                )));
            }
        }
        let mut map = Map::new();
        for entry in object.props::<String, Value<'js>>() {
            let (key, value) = entry?;
            self.count_bytes(key.len())?;
            self.path.push(ExtractPathStep::Key(key));
            let item = self.extract_json(&value)?;
            if let (Some(ExtractPathStep::Key(key)), Some(item)) = (self.path.pop(), item) {
                map.insert(key, item);
            }
        }
        Ok(Some(Json::Object(map)))
    }

    fn extract_number(&self, number: f64) -> ExtractResult<Json> {
        if number.fract() == 0.0 && number.abs() < SAFE_INTEGER {
            #[expect(clippy::cast_possible_truncation, reason = "an integer below 2^53")]
            return Ok(Json::from(number as i64));
        }
        match Number::from_f64(number) {
            Some(number) => Ok(Json::Number(number)),
            None => Err(self.no_data(&format!("is {number}, which JSON cannot hold"))),
        }
    }

    fn extract_text(&mut self, value: &Value<'js>) -> ExtractResult<String> {
        let text = value.as_string().map(JsString::to_string).transpose();
        let text = match text {
            // Half of a pair of surrogates, as `slice` leaves behind: replaced, not refused.
            Err(rquickjs::Error::Utf8(_)) => value
                .get::<JsString<'js>>()
                .and_then(|text| self.shapes.to_well_formed.call::<_, String>((text,)))?,
            other => other?.unwrap_or_default(),
        };
        self.count_bytes(text.len())?;
        Ok(text)
    }

    /// Whether a value equals its JSON, without building anything.
    fn equals_json(&mut self, value: &Value<'js>, json: &Json) -> ExtractResult<bool> {
        self.count_bytes(0)?;
        Ok(match json {
            Json::Null => value.is_null(),
            Json::Bool(old) => value.as_bool() == Some(*old),
            Json::Number(old) => value.as_number().is_some_and(|new| Some(new) == old.as_f64()),
            Json::String(old) => {
                let new = value.as_string().and_then(|new| new.to_string().ok());
                new.as_deref() == Some(old.as_str())
            }
            Json::Array(old) => {
                let Some(array) = value.as_array().filter(|array| array.len() == old.len()) else {
                    return Ok(false);
                };
                for (index, old) in old.iter().enumerate() {
                    if !self.equals_json(&array_element(array, index)?, old)? {
                        return Ok(false);
                    }
                }
                true
            }
            Json::Object(old) => self.same_object(value, old)?,
        })
    }

    fn same_object(&mut self, value: &Value<'js>, old: &Map<String, Json>) -> ExtractResult<bool> {
        let object = value.as_object().filter(|_| value.type_of() == Type::Object);
        let Some(object) =
            object.filter(|object| object.get_prototype().as_ref() == Some(&self.shapes.plain_prototype))
        else {
            return Ok(false);
        };
        let mut met = 0;
        for entry in object.props::<String, Value<'js>>() {
            let (key, value) = entry?;
            let Some(old) = old.get(&key) else { return Ok(false) };
            if !self.equals_json(&value, old)? {
                return Ok(false);
            }
            met += 1;
        }
        Ok(met == old.len())
    }

    fn count_bytes(&mut self, bytes: usize) -> ExtractResult<()> {
        self.tick_count = self.tick_count.wrapping_add(1);
        if !self.job_state.count_result_bytes(bytes) {
            return Err(ExtractError::Fault(RawScriptError::result_limit_error(&self.job_state.limits)));
        }
        if self.tick_count.is_multiple_of(1024) && self.job_state.is_overdue() {
            return Err(ExtractError::Fault(RawScriptError::time_limit_error(&self.job_state.limits)));
        }
        Ok(())
    }

    fn no_data(&self, what: &str) -> ExtractError {
        let mut path = String::new();
        for step in &self.path {
            match step {
                ExtractPathStep::Key(key) if path.is_empty() => path.push_str(key),
                ExtractPathStep::Key(key) => path.push_str(&format!(".{key}")),
                ExtractPathStep::Index(index) => path.push_str(&format!("[{index}]")),
            }
        }
        ExtractError::Fault(RawScriptError::not_data(format!("{path} {what}")))
    }
}

fn array_element<'js>(array: &Array<'js>, index: usize) -> rquickjs::Result<Value<'js>> {
    array.get(index)
}
