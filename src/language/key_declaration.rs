//! The declaration of a workflow key, or of another key that users write in a file: its name, the shape of its value, what it means, whether it must
//! be there.
//!
//! A key is declared once. The reader takes the keys of the declaration and refuses all others, the JSON Schema and the
//! reference page are made of it. The declarations are in `workflow_file/`; `workflow_file/declared_keys.rs` lists all.
//! Owns no rule of an object: what a declaration cannot say is for its reader.

/// One key of an object.
#[derive(Clone, Copy)]
pub struct KeyDeclaration {
    pub name: &'static str,
    pub shape: ValueShape,
    /// What it means, for editors and the reference page.
    pub description: &'static str,
    /// Without it the object says nothing.
    pub is_required: bool,
    /// A value of the key as JSON, where the language page has no example of it.
    pub example: Option<&'static str>,
}

/// A key's name, which still lacks its value. `declared_key("NAME")` stands on one line wherever a key is declared, so a
/// search for it finds the declarations and nothing else.
#[derive(Clone, Copy)]
pub struct KeyName(&'static str);

pub const fn declared_key(name: &'static str) -> KeyName {
    KeyName(name)
}

impl KeyName {
    /// What the value looks like and means.
    pub const fn with_value(self, shape: ValueShape, description: &'static str) -> KeyDeclaration {
        KeyDeclaration { name: self.0, shape, description, is_required: false, example: None }
    }
}

impl KeyDeclaration {
    pub const fn required(self) -> Self {
        Self { is_required: true, ..self }
    }

    pub const fn with_example(self, json: &'static str) -> Self {
        Self { example: Some(json), ..self }
    }
}

/// An object of a file with its keys, in the order in which messages and editors list them.
pub struct ObjectDeclaration {
    /// Its name below `$defs` of the schema.
    pub name: &'static str,
    /// As it is called in messages.
    pub noun: &'static str,
    pub description: &'static str,
    pub keys: &'static [KeyDeclaration],
    /// Keys of the format that this version refuses by name.
    pub future_keys: &'static [&'static str],
}

impl ObjectDeclaration {
    pub fn key_names(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.keys.iter().map(|key| key.name)
    }

    pub fn has_key(&self, name: &str) -> bool {
        self.keys.iter().any(|key| key.name == name)
    }
}

/// What an object holds whose `type` is this word.
pub struct TypeDeclaration {
    /// `""` for objects without a `type`.
    pub word: &'static str,
    pub description: &'static str,
    /// Its keys in groups, some of which other types have, too.
    pub key_groups: &'static [&'static [KeyDeclaration]],
}

impl TypeDeclaration {
    pub fn keys(&self) -> impl Iterator<Item = &'static KeyDeclaration> + Clone {
        self.key_groups.iter().flat_map(|group| group.iter())
    }

    pub fn key_names(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.keys().map(|key| key.name)
    }
}

/// What a value may look like.
#[derive(Clone, Copy)]
pub enum ValueShape {
    Text,
    Flag,
    /// A whole number from 1.
    Count,
    /// Of a network, where every user may listen.
    Port,
    /// A whole number from 0.
    Whole,
    /// Any whole number.
    Integer,
    Number {
        min: f64,
        max: Option<f64>,
    },
    /// Any JSON.
    Any,
    /// An object of any kind.
    Object,
    /// One of a few words.
    Words(&'static [WordMeaning]),
    /// An object that is declared under this name.
    Ref(&'static str),
    List(&'static ValueShape),
    /// Free names, each with a value of this shape.
    Map(&'static ValueShape),
    /// One of several shapes.
    Either(&'static [ValueShape]),
}

/// A word that a key takes, and what it means.
#[derive(Clone, Copy)]
pub struct WordMeaning {
    pub word: &'static str,
    pub description: &'static str,
}

pub const fn declared_word(word: &'static str, description: &'static str) -> WordMeaning {
    WordMeaning { word, description }
}

/// A word that a key takes, what it is read as, and what it means.
#[derive(Clone, Copy)]
pub struct WordChoice<T> {
    pub word: &'static str,
    pub value: T,
    pub description: &'static str,
}

pub const fn declared_choice<T: Copy>(
    word: &'static str,
    value: T,
    description: &'static str,
) -> WordChoice<T> {
    WordChoice { word, value, description }
}

/// The words of a choice without their values, for the shape of its key: `Words(&word_meanings(&TRIM))` of a constant.
pub const fn word_meanings<T: Copy, const N: usize>(choices: &[WordChoice<T>; N]) -> [WordMeaning; N] {
    let mut words = [declared_word("", ""); N];
    let mut at = 0;
    while at < N {
        words[at] = declared_word(choices[at].word, choices[at].description);
        at += 1;
    }
    words
}
