//! Settings as front-ends edit and list them: models, schemas, the first set-up.

pub use synthdev_settings::{models, schema, setup};
