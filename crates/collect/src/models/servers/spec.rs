//! Known model servers: how each is recognised, what it is asked, and how it is read.
//!
//! Nobody is asked who has not been recognised by name or command line first: a port of a stranger is never tried.

use model::{Bytes, EndpointState, Server, Text};
use raw::{Endpoint, ProcessRef};

use super::super::claim::Claim;
use super::super::flags::Flags;
use super::super::spelling;
use super::talk::Answers;

/// A process as far as it takes to recognise a server.
pub(super) struct Subject<'a> {
    pub(super) arguments: &'a [Text],
    /// Its working directory, where it is known.
    pub(super) folder: Option<&'a str>,
    /// Whether it has a library for models mapped; a parent's are not looked at.
    pub(super) has_ai_runtime: bool,
    /// Whether it is certain that it does not fall asleep when nobody asks it anything.
    pub(super) never_sleeps: bool,
}

impl Subject<'_> {
    /// The last part of its program's path as it was started, in lower case. A title that a process gives itself
    /// stands here whole.
    pub(super) fn program(&self) -> String {
        self.arguments
            .first()
            .map_or_else(String::new, |it| base(it))
    }

    /// The names that it runs under: the last part of its program's path, and of the script or module where the
    /// program is one that runs such. What else stands on its command line is what it works on.
    pub(super) fn leading(&self) -> impl Iterator<Item = String> {
        let script = self.script();
        let names = self
            .arguments
            .first()
            .map(|it| &**it)
            .into_iter()
            .chain(script);
        names.map(base)
    }

    /// The script, or the module behind `-m`, of a program that runs such.
    fn script(&self) -> Option<&str> {
        let program = self.program();
        if !RUNNERS.iter().any(|name| is_version_of(&program, name)) {
            return None;
        }
        let mut rest = self.arguments.iter().skip(1).map(|it| &**it);
        while let Some(word) = rest.next() {
            match word {
                // A program that is given as text.
                "-c" | "-e" => return None,
                "-m" => return rest.next(),
                "-X" | "-W" => _ = rest.next(),
                option if option.starts_with('-') => {}
                script => return Some(script),
            }
        }
        None
    }

    /// Whether this argument stands alone somewhere.
    pub(super) fn has(&self, argument: &str) -> bool {
        self.arguments
            .iter()
            .any(|it| spelling::option(it) == (argument.into(), None))
    }

    /// The value of this option, attached or behind it.
    pub(super) fn option(&self, name: &str) -> Option<&str> {
        let mut rest = self.arguments.iter();
        while let Some(argument) = rest.next() {
            let (found, attached) = spelling::option(argument);
            if found == name {
                return attached.or_else(|| rest.next().map(|value| &**value));
            }
        }
        None
    }

    /// Whether it was started as this module of Python.
    pub(super) fn is_module(&self, module: &str) -> bool {
        self.option("-m").is_some_and(|it| {
            it.strip_prefix(module)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }
}

/// Programs that run a script: then its name is the program's.
const RUNNERS: &[&str] = &[
    "python",
    "pypy",
    "bash",
    "sh",
    "dash",
    "node",
    "ld-linux-x86-64.so.",
];

/// `python3.12` of `python`.
fn is_version_of(name: &str, program: &str) -> bool {
    let name = name.strip_suffix(".exe").unwrap_or(name);
    let version = name.strip_prefix(program);
    version.is_some_and(|it| it.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
}

/// The name of a program or script without the ending that tells which it is.
pub(super) fn without_ending(name: &str) -> &str {
    let endings = [".exe", ".py", ".sh"];
    let stem = endings.iter().find_map(|ending| name.strip_suffix(ending));
    stem.unwrap_or(name)
}

fn base(path: &str) -> String {
    let end = path.rsplit(['/', '\\']).next().unwrap_or(path);
    end.to_ascii_lowercase()
}

/// Who asks: the process whose row this is about.
pub(super) struct Asking<'a> {
    pub(super) who: ProcessRef,
    pub(super) flags: &'a Flags,
    pub(super) subject: &'a Subject<'a>,
    /// Whether it is the server itself, and not a worker of it.
    pub(super) is_server: bool,
    /// Whether no other process with GPU memory works for the same server.
    pub(super) is_only: bool,
    /// Its device memory on all devices, where every size is measured.
    pub(super) measured: Option<Bytes>,
}

/// What is to become of one endpoint.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Wish {
    /// To be asked at most this often, in milliseconds.
    Ask(u64),
    /// The same, each time only when this endpoint has been asked right before and its answer leaves the wish.
    After(Endpoint, u64),
    /// Not to be asked, for the reason that this state tells.
    Not(EndpointState),
}

/// Endpoints in the order of asking.
pub(super) type Plan = Vec<(Endpoint, Wish)>;

/// How often what a server says of its models is asked.
pub(super) const MODELS_EVERY_MS: u64 = 15_000;
/// How often what changes with every request is asked.
pub(super) const LOAD_EVERY_MS: u64 = 5_000;
/// What does not change while the server runs.
pub(super) const FIXED_EVERY_MS: u64 = 300_000;

/// What a server said, on the way to the snapshot.
pub(super) struct Word<'a> {
    pub(super) server: &'a mut Server,
    pub(super) claims: &'a mut Vec<Claim>,
}

/// One known server.
pub(super) struct Spec {
    /// What it is called.
    pub(super) kind: &'static str,
    /// Whether this process is one, to be asked on its own port.
    pub(super) serves: fn(&Subject<'_>) -> bool,
    /// Whether this process may be a worker of one, which is then asked in its place.
    pub(super) works: fn(&Subject<'_>) -> bool,
    /// Names of processes that may be the server of a worker; empty where the worker's own title is proof enough
    /// to look at its parent's command line.
    pub(super) parents: &'static [&'static str],
    /// Whether a worker's parent may be another worker, and its parent the server.
    pub(super) has_levels: bool,
    /// Endpoints of which one has to answer for the server to be what it is taken for.
    pub(super) first: &'static [Endpoint],
    /// What to ask, from what was answered so far.
    pub(super) plan: fn(&Answers<'_>, &Subject<'_>) -> Plan,
    /// What its answers mean; called when one of `first` was answered.
    pub(super) read: fn(&Answers<'_>, &Asking<'_>, &mut Word<'_>),
}

impl Spec {
    /// Whether a process of this name may be the server of a worker.
    pub(super) fn may_be_parent(&self, name: &str) -> bool {
        self.parents.is_empty() || self.parents.contains(&name)
    }
}

/// For servers without workers.
pub(super) const fn never(_: &Subject<'_>) -> bool {
    false
}

/// Registered servers. The first that recognises a process is asked.
pub(super) const SERVERS: &[&Spec] = &[
    &super::koboldcpp::SPEC,
    &super::llama_server::SPEC,
    &super::ollama::SPEC,
    &super::lm_studio::SPEC,
    &super::vllm::SPEC,
    &super::sglang::SPEC,
    &super::tgi::SPEC,
    &super::comfyui::SPEC,
    &super::local_ai::SPEC,
    &super::mlx_lm::SPEC,
    &super::docker::SPEC,
];

/// What a process is to the known servers, from its own words.
#[derive(Default)]
pub(in super::super) struct Role {
    pub(super) arguments: Vec<Text>,
    pub(super) folder: Option<Text>,
    pub(super) has_ai_runtime: bool,
    /// Whether it is certain that it does not fall asleep when nobody asks it anything.
    pub(in super::super) never_sleeps: bool,
    /// The server that it is.
    pub(super) serves: Option<&'static Spec>,
    /// Servers that it may work for.
    pub(super) works: Vec<&'static Spec>,
}

impl Role {
    /// The role that its command line, its working directory and its libraries give a process.
    pub(in super::super) fn of(
        arguments: Vec<Text>,
        folder: Option<Text>,
        has_ai_runtime: bool,
    ) -> Self {
        let mut role = Self {
            arguments,
            folder,
            has_ai_runtime,
            ..Self::default()
        };
        let subject = role.subject();
        let serves = serving(&subject);
        let works = |spec: &&'static Spec| (spec.works)(&subject);
        let works = SERVERS.iter().copied().filter(works).collect();
        (role.serves, role.works) = (serves, works);
        role
    }

    /// Whether its own words say that it works for a server, and is none itself.
    pub(super) fn is_worker(&self) -> bool {
        // One that takes anybody for its worker says nothing of this one.
        let nobody = Subject {
            arguments: &[],
            folder: None,
            has_ai_runtime: false,
            never_sleeps: false,
        };
        self.serves.is_none() && self.works.iter().any(|spec| !(spec.works)(&nobody))
    }

    pub(super) fn subject(&self) -> Subject<'_> {
        Subject {
            arguments: &self.arguments,
            folder: self.folder.as_deref(),
            has_ai_runtime: self.has_ai_runtime,
            never_sleeps: self.never_sleeps,
        }
    }
}

/// The server that a process is.
pub(super) fn serving(subject: &Subject<'_>) -> Option<&'static Spec> {
    SERVERS.iter().copied().find(|spec| (spec.serves)(subject))
}
