//! Model files other than GGUF: what they are, as the reader of their headers found it.

use formats::{Description, Error};
use serde::{Deserialize, Serialize};

/// What a file turned out to be. Never its bytes: a header may hold comments, prompts and paths of whoever made it.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelFile {
    /// Its format, and what its header tells.
    Described(Box<Description>),
    /// It is none, or a broken one.
    Refused(Error),
}
