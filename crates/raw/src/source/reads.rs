//! Reads of files, processes and loopback servers: the closed list of what the program may ask.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::Text;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::containers::{ContainerRecord, ContainerRuntime};
use super::endpoints::Endpoint;
use super::logs::LogExcerpt;
use super::model_files::ModelFile;
use super::networks::{Forwarder, Network};
use super::stores::{Folder, ManifestEntry, ManifestForm};

/// A process by number and start time; an answer about another process under the same number is
/// never given.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ProcessRef {
    /// Number in the monitor's own namespace.
    pub pid: u32,
    /// Start time in clock ticks since boot.
    pub start_ticks: u64,
}

/// A read that cannot block.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Inline {
    /// `/proc/PID/stat`, verbatim.
    Stat(u32),
    /// `/proc/PID/status`: the lines `Name`, `PPid`, `Uid` and `NSpid` only.
    Status(u32),
    /// `/proc/PID/cgroup`, verbatim.
    Cgroup(u32),
    /// The link `/proc/self/ns/pid`.
    PidNamespace,
    /// A file below `/proc` or `/sys` that the kernel answers from memory.
    Small(Text),
    /// Names in a directory below `/sys` or `/dev`, sorted.
    Names(Text),
}

impl Inline {
    /// The question's name in a capture.
    pub fn key(&self) -> String {
        match self {
            Self::Stat(pid) => format!("stat {pid}"),
            Self::Status(pid) => format!("status {pid}"),
            Self::Cgroup(pid) => format!("cgroup {pid}"),
            Self::PidNamespace => "pid_namespace".to_owned(),
            Self::Small(path) => format!("small {path}"),
            Self::Names(path) => format!("names {path}"),
        }
    }
}

/// Where a path starts.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Root {
    /// The monitor's own root.
    Host,
    /// The root of a process (`/proc/PID/root`), resolved so that it cannot be left.
    Process(ProcessRef),
}

/// A read that may take long.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Question {
    /// `len` bytes of a regular file from `offset`.
    File {
        /// Where the path starts.
        root: Root,
        /// Absolute path.
        path: Text,
        /// First byte.
        offset: u64,
        /// At most so many bytes, bounded by [`MAX_FILE_READ`].
        len: u32,
    },
    /// The offset behind `count` length-prefixed strings, so that a vocabulary leaves no bytes in a
    /// capture.
    SkipStrings {
        /// Where the path starts.
        root: Root,
        /// Absolute path.
        path: Text,
        /// First length.
        offset: u64,
        /// Number of strings.
        count: u64,
        /// Bytes of each length, 4 or 8.
        length_bytes: u8,
        /// Byte order of the lengths.
        big_endian: bool,
    },
    /// What a file is that may be a model in another format than GGUF, and what its header tells.
    ModelFile {
        /// Where the path starts.
        root: Root,
        /// Absolute path.
        path: Text,
    },
    /// Size and identity of a regular file.
    Stat {
        /// Where the path starts.
        root: Root,
        /// Absolute path.
        path: Text,
    },
    /// The names in a folder of a model store.
    Folder {
        /// Where the path starts.
        root: Root,
        /// Absolute path.
        path: Text,
        /// The modification time at which its names are known; they are left out while it is the same.
        known_ns: Option<i64>,
    },
    /// The kept fields of a manifest of a model store.
    Manifest {
        /// Where the path starts.
        root: Root,
        /// Absolute path.
        path: Text,
        /// Its form.
        form: ManifestForm,
    },
    /// `/proc/PID/maps`: the lines that name a file, each file once with its extents.
    Maps(ProcessRef),
    /// `/proc/PID/cmdline`, verbatim.
    CommandLine(ProcessRef),
    /// The allow-listed entries of `/proc/PID/environ`.
    Environment(ProcessRef),
    /// The links `/proc/PID/exe` and `/proc/PID/cwd`.
    Links(ProcessRef),
    /// Regular files that the process has open, as `(fd, link text)`.
    OpenFiles(ProcessRef),
    /// Listening TCP sockets of the process.
    Listeners(ProcessRef),
    /// The name of a user id.
    UserName(u32),
    /// The name of a product in the system's lists of PCI devices.
    DeviceName {
        /// PCI vendor.
        vendor: u16,
        /// PCI device.
        device: u16,
        /// PCI revision; AMD's products differ by it.
        revision: Option<u8>,
    },
    /// What the state file of a container runtime calls a container.
    Container {
        /// Which runtime's files are looked at.
        runtime: ContainerRuntime,
        /// The identifier in full, hexadecimal.
        id: Text,
        /// The user whose runtime it is, where the control group says that it is one's own.
        owner: Option<u32>,
    },
    /// The network namespace of a process and its addresses there.
    Network(ProcessRef),
    /// Programs that forward ports of this machine into other network namespaces.
    Forwarders,
    /// The end of a log of the process, reduced to what [`super::logs`] keeps.
    Log {
        /// Whose log it is; the path is seen from its root.
        who: ProcessRef,
        /// Absolute path, or one below the home of the process's owner that starts with `~/`.
        path: Text,
        /// The file as it was when it was read last; unchanged, it is not read again.
        known: Option<FileMeta>,
    },
    /// What the system's journal holds of a service since a moment, reduced in the same way.
    Journal {
        /// Which service.
        unit: JournalUnit,
        /// Seconds since 1970.
        since_s: i64,
    },
    /// What an application's adapter keeps of it.
    App {
        /// A process of the application, whose owner's files are read.
        who: ProcessRef,
        /// The application, as its adapter calls it.
        app: Text,
        /// Which part.
        part: AppPart,
    },
    /// A GET to a port that the process listens on, on loopback.
    Http {
        /// Owner of the port.
        who: ProcessRef,
        /// The port.
        port: u16,
        /// What to get.
        endpoint: Endpoint,
    },
}

/// Services whose journal may be read.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum JournalUnit {
    /// Ollama's.
    Ollama,
}

impl JournalUnit {
    /// The unit's name.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Ollama => "ollama",
        }
    }
}

/// Parts of an application that its adapter describes.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum AppPart {
    /// The value of its settings that names its model.
    Setting,
    /// The end of its log; with the file as it was when it was read last.
    Log(Option<FileMeta>),
    /// The names in its folder of models.
    Installed,
}

/// A file in the name of a question: its size and modification time.
fn known(file: Option<&FileMeta>) -> String {
    file.map_or(String::new(), |it| {
        format!(" since {}:{}+{}@{}", it.dev, it.ino, it.size, it.mtime_ns)
    })
}

/// Longest read of a file in one question. A header's tensor table is read in such steps.
pub const MAX_FILE_READ: u32 = 1 << 20;

impl Question {
    /// What to ask so that the reader of a header can go on; `None` where it wants nothing more.
    pub fn of_header(step: &gguf::Step, root: Root, path: &Text) -> Option<Self> {
        let path = path.clone();
        match *step {
            gguf::Step::Read { offset, len } => Some(Self::File {
                root,
                path,
                offset,
                len,
            }),
            gguf::Step::SkipStrings {
                offset,
                count,
                length_bytes,
                big_endian,
            } => Some(Self::SkipStrings {
                root,
                path,
                offset,
                count,
                length_bytes,
                big_endian,
            }),
            gguf::Step::Done | gguf::Step::Failed(_) => None,
        }
    }

    /// The question's name in a capture.
    pub fn key(&self) -> String {
        let root = |root: &Root| match root {
            Root::Host => "host".to_owned(),
            Root::Process(who) => who.key(),
        };
        match self {
            Self::File {
                root: r,
                path,
                offset,
                len,
            } => {
                format!("file {} {offset}+{len} {path}", root(r))
            }
            Self::SkipStrings {
                root: r,
                path,
                offset,
                count,
                length_bytes,
                big_endian,
            } => {
                let order = if *big_endian { "be" } else { "le" };
                format!(
                    "skip {} {offset}+{count}x{length_bytes}{order} {path}",
                    root(r)
                )
            }
            Self::ModelFile { root: r, path } => format!("model {} {path}", root(r)),
            Self::Stat { root: r, path } => format!("meta {} {path}", root(r)),
            Self::Folder {
                root: r,
                path,
                known_ns,
            } => match known_ns {
                Some(known_ns) => format!("folder {} {known_ns} {path}", root(r)),
                None => format!("folder {} {path}", root(r)),
            },
            Self::Manifest {
                root: r,
                path,
                form,
            } => format!("manifest {} {} {path}", root(r), form.id()),
            Self::Maps(who) => format!("maps {}", who.key()),
            Self::CommandLine(who) => format!("cmdline {}", who.key()),
            Self::Environment(who) => format!("environ {}", who.key()),
            Self::Links(who) => format!("links {}", who.key()),
            Self::OpenFiles(who) => format!("open {}", who.key()),
            Self::Listeners(who) => format!("listeners {}", who.key()),
            Self::UserName(uid) => format!("user {uid}"),
            Self::DeviceName {
                vendor,
                device,
                revision,
            } => match revision {
                Some(revision) => format!("device {vendor:04x}:{device:04x} {revision:02x}"),
                None => format!("device {vendor:04x}:{device:04x}"),
            },
            Self::Network(who) => format!("network {}", who.key()),
            Self::Forwarders => "forwarders".to_owned(),
            Self::Container { runtime, id, owner } => {
                let of = owner.map_or(String::new(), |uid| format!(" of {uid}"));
                format!("container {} {id}{of}", runtime.id())
            }
            Self::Log {
                who,
                path,
                known: file,
            } => {
                format!("log {}{} {path}", who.key(), known(file.as_ref()))
            }
            Self::Journal { unit, since_s } => format!("journal {} {since_s}", unit.id()),
            Self::App { who, app, part } => {
                let part = match part {
                    AppPart::Setting => "setting".to_owned(),
                    AppPart::Log(file) => format!("log{}", known(file.as_ref())),
                    AppPart::Installed => "installed".to_owned(),
                };
                format!("app {} {part} {app}", who.key())
            }
            Self::Http {
                who,
                port,
                endpoint,
            } => {
                format!("get {} :{port}{}", who.key(), endpoint.path())
            }
        }
    }

    /// The process the question is about, if any.
    pub fn who(&self) -> Option<ProcessRef> {
        match self {
            Self::File { root, .. }
            | Self::SkipStrings { root, .. }
            | Self::ModelFile { root, .. }
            | Self::Stat { root, .. }
            | Self::Folder { root, .. }
            | Self::Manifest { root, .. } => match root {
                Root::Host => None,
                Root::Process(who) => Some(*who),
            },
            Self::Maps(who)
            | Self::CommandLine(who)
            | Self::Environment(who)
            | Self::Links(who)
            | Self::OpenFiles(who)
            | Self::Listeners(who)
            | Self::Network(who)
            | Self::Log { who, .. }
            | Self::App { who, .. }
            | Self::Http { who, .. } => Some(*who),
            Self::UserName(_)
            | Self::Journal { .. }
            | Self::DeviceName { .. }
            | Self::Container { .. }
            | Self::Forwarders => None,
        }
    }
}

impl ProcessRef {
    fn key(self) -> String {
        format!("{}@{}", self.pid, self.start_ticks)
    }
}

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
    /// Link texts by descriptor number or name.
    Links(Vec<(Text, Text)>),
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
}

/// Size and identity of a regular file. A change of any field means another content.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Serialize, Deserialize)]
pub struct FileMeta {
    /// Device number.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
    /// Bytes.
    pub size: u64,
    /// Modification time, nanoseconds since 1970.
    pub mtime_ns: i64,
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
