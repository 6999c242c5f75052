//! Answers to the reads, as they stand in a capture.

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::Text;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::containers::ContainerRecord;
use super::logs::LogExcerpt;
use super::model_files::ModelFile;
use super::networks::{Forwarder, Network};
use super::stores::{Folder, ManifestEntry};

/// An answer to an inline or a posted question.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// Text or other bytes, verbatim unless the question says otherwise.
    #[serde(serialize_with = "write_bytes", deserialize_with = "read_bytes")]
    Bytes(Arc<[u8]>),
    /// Names in a directory.
    Names(Vec<Text>),
    /// An offset.
    End(u64),
    /// A file's size and identity.
    Meta(FileMeta),
    /// What a file is.
    Model(ModelFile),
    /// Link texts by name; in recordings of before there was [`Self::Open`], by descriptor number too.
    Links(Vec<(Text, Text)>),
    /// Regular files that are open.
    Open(Vec<OpenFile>),
    /// Listening sockets.
    Listeners(Vec<Listener>),
    /// A reply of a loopback server.
    Http(HttpReply),
    /// What a container is called.
    Container(ContainerRecord),
    /// A network namespace.
    Network(Network),
    /// Programs that forward ports.
    Forwarders(Vec<Forwarder>),
    /// A folder of a model store.
    Folder(Folder),
    /// What is kept of a manifest.
    Manifest(Vec<ManifestEntry>),
    /// What is kept of a log.
    Log(LogExcerpt),
}

impl Reply {
    /// Text as a reply.
    pub fn text(text: &str) -> Self {
        Self::Bytes(text.as_bytes().into())
    }

    /// The open files that this says, by descriptor.
    pub fn open_files(&self) -> Cow<'_, [OpenFile]> {
        match self {
            Self::Open(files) => files.into(),
            Self::Links(links) => links
                .iter()
                .map(|(fd, path)| OpenFile {
                    fd: fd.clone(),
                    path: path.clone(),
                    writes: None,
                    file: None,
                })
                .collect(),
            _ => Cow::default(),
        }
    }
}

/// A regular file that a process has open.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct OpenFile {
    /// The descriptor's number.
    pub fd: Text,
    /// Its link text.
    pub path: Text,
    /// Whether it was opened for writing; `None` where that is not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<bool>,
    /// Device and inode; `None` where they are not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<(u64, u64)>,
}

/// Size and identity of a regular file. A change of any field means another content.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Serialize, Deserialize)]
pub struct FileMeta {
    /// Device number; `None` where the system's files have none that can be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dev: Option<u64>,
    /// Inode number; missing with the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ino: Option<u64>,
    /// Bytes.
    pub size: u64,
    /// Modification time, nanoseconds since 1970; `None` where the file system keeps none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtime_ns: Option<i64>,
}

impl FileMeta {
    /// Whether it tells this file from every other one. Where it does not, two files of a size may be equal in it.
    pub const fn is_identity(&self) -> bool {
        self.dev.is_some() && self.ino.is_some()
    }
}

/// A listening TCP socket.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Listener {
    /// Port.
    pub port: u16,
    /// Whether a connection to loopback in the monitor's own network namespace reaches it.
    pub loopback: bool,
    /// IPv6 (loopback is `::1`) instead of IPv4.
    pub v6: bool,
    /// Bound to every address, so that whoever reaches the namespace reaches it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub any: bool,
    /// In a network namespace that is not the monitor's own, as far as that can be told.
    #[serde(default, skip_serializing_if = "is_false")]
    pub foreign: bool,
    /// A socket that the process does not hold listens there too (`SO_REUSEPORT`): the kernel hands connections to
    /// either.
    #[serde(default, skip_serializing_if = "is_false")]
    pub shared: bool,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the form that serde asks for"
)]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// Status and kept fields of a reply.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct HttpReply {
    /// HTTP status.
    pub status: u16,
    /// The kept values by path, with the number of the element in place of `[]`, and the lengths of arrays by
    /// the path up to `[]`; empty where the body was not what the endpoint answers.
    pub fields: std::collections::BTreeMap<String, serde_json::Value>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum BytesForm {
    Text(String),
    Base64 { base64: String },
}

fn write_bytes<S: Serializer>(bytes: &Arc<[u8]>, serializer: S) -> Result<S::Ok, S::Error> {
    match std::str::from_utf8(bytes) {
        Ok(text) => serializer.serialize_str(text),
        Err(_) => BytesForm::Base64 {
            base64: STANDARD.encode(bytes),
        }
        .serialize(serializer),
    }
}

fn read_bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<[u8]>, D::Error> {
    match BytesForm::deserialize(deserializer)? {
        BytesForm::Text(text) => Ok(text.into_bytes().into()),
        BytesForm::Base64 { base64 } => STANDARD
            .decode(base64)
            .map(Into::into)
            .map_err(serde::de::Error::custom),
    }
}
