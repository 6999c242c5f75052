//! Finding, loading and initialising the library, with the reason where that fails.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use model::{Stamp, Text};
use raw::nvml::{self, code};
use raw::{Answer, Stamped};

use super::library::Library;
use crate::bell::locked;
use crate::clock;
use crate::leaving::Loading;

/// What is tried, in order: where the loader looks for it, then where NixOS and WSL put it.
pub(crate) const NAMES: [&str; 4] = [
    "libnvidia-ml.so.1",
    "libnvidia-ml.so",
    "/run/opengl-driver/lib/libnvidia-ml.so.1",
    "/usr/lib/wsl/lib/libnvidia-ml.so.1",
];

/// Nanoseconds between two attempts. Loading costs a search of the disk and `nvmlInit` may wake or reset things,
/// while the caller asks at every refresh.
const RETRY_NS: u64 = 10_000_000_000;

/// Codes by which any call says that the session is over: the kernel module was unloaded, reloaded or exchanged.
const SESSION_IS_OVER: [i32; 3] = [
    code::UNINITIALIZED,
    code::DRIVER_NOT_LOADED,
    code::LIB_RM_VERSION_MISMATCH,
];

/// The library's state, shared by the threads that ask it.
pub(super) struct Loader {
    names: Vec<PathBuf>,
    state: Mutex<State>,
}

enum State {
    Untried,
    NotLoaded {
        at: Stamp,
        tried: Vec<(Text, Text)>,
    },
    Opened {
        library: Arc<Library>,
        name: Text,
        /// When initialising it was tried last: what the next attempt keeps its distance from.
        tried: Stamp,
        /// When `init` became what it is.
        at: Stamp,
        init: i32,
        /// Whether an initialisation stands that was not ended. It has to be, or the next one only counts.
        open: bool,
    },
}

impl Loader {
    /// `only` replaces the names.
    pub(super) fn new(only: Option<PathBuf>) -> Self {
        let names = only.map_or_else(|| NAMES.map(PathBuf::from).to_vec(), |path| vec![path]);
        Self {
            names,
            state: Mutex::new(State::Untried),
        }
    }

    /// Whether the next [`ready`](Self::ready) will call nothing that can be slow.
    pub(super) fn is_ready(&self) -> bool {
        matches!(
            &*locked(&self.state),
            State::Opened {
                init: code::SUCCESS,
                ..
            }
        )
    }

    /// The library, loaded and initialised if it was not, but not more often than every [`RETRY_NS`].
    ///
    /// Holds the lock meanwhile: while this hangs, no other thread is started. While a call of an earlier session has
    /// not returned (`calls_hang`), a session that is over is not replaced: ending it would pull the ground from under
    /// that call.
    pub(super) fn ready(&self, calls_hang: bool) -> (Answer<nvml::Library>, Option<Arc<Library>>) {
        let mut state = locked(&self.state);
        if state.may_be_tried(calls_hang) {
            *state = match std::mem::replace(&mut *state, State::Untried) {
                State::Opened {
                    library,
                    name,
                    open,
                    ..
                } => {
                    if open {
                        library.api.shut_down();
                    }
                    library.forget();
                    State::opened(library, name)
                }
                State::Untried | State::NotLoaded { .. } => self.load(),
            };
        }
        state.answer()
    }

    /// Takes note of a return code; some mean that the session is over. Says whether it is.
    pub(super) fn note(&self, rc: i32) -> bool {
        let over = SESSION_IS_OVER.contains(&rc);
        if over
            && let State::Opened { init, at, .. } = &mut *locked(&self.state)
            && *init == code::SUCCESS
        {
            (*init, *at) = (rc, clock::stamp());
        }
        over
    }

    /// Ends the session, if there is one.
    pub(super) fn shut_down(&self) {
        let mut state = locked(&self.state);
        if let State::Opened {
            library,
            init,
            open,
            ..
        } = &mut *state
            && *open
        {
            library.api.shut_down();
            (*init, *open) = (code::UNINITIALIZED, false);
        }
    }

    fn load(&self) -> State {
        let mut tried = Vec::new();
        for path in &self.names {
            let name: Text = path.to_string_lossy().into();
            let loading = Loading::start();
            let opened = Library::open(OsStr::new(path));
            drop(loading);
            match opened {
                Ok(library) => return State::opened(Arc::new(library), name),
                Err(words) => tried.push((name, words.into())),
            }
        }
        State::NotLoaded {
            at: clock::stamp(),
            tried,
        }
    }
}

impl State {
    fn opened(library: Arc<Library>, name: Text) -> Self {
        let tried = clock::stamp();
        let init = library.api.init();
        Self::Opened {
            library,
            name,
            tried,
            at: clock::stamp(),
            init,
            open: init == code::SUCCESS,
        }
    }

    fn may_be_tried(&self, calls_hang: bool) -> bool {
        let long_ago = |at: &Stamp| clock::monotonic_ns().saturating_sub(at.mono_ns) >= RETRY_NS;
        match self {
            Self::Untried => true,
            Self::NotLoaded { at, .. } => long_ago(at),
            Self::Opened {
                tried, init, open, ..
            } => *init != code::SUCCESS && long_ago(tried) && !(*open && calls_hang),
        }
    }

    fn answer(&self) -> (Answer<nvml::Library>, Option<Arc<Library>>) {
        let stamped = |at: &Stamp, value| Ok(Stamped { at: *at, value });
        match self {
            Self::Untried => (Err(model::Gap::Pending), None),
            Self::NotLoaded { at, tried } => {
                (stamped(at, nvml::Library::NotLoaded(tried.clone())), None)
            }
            Self::Opened {
                library,
                name,
                at,
                init,
                ..
            } => {
                let name = name.clone();
                if *init == code::SUCCESS {
                    // It is ready now, not only when it was loaded.
                    let now = clock::stamp();
                    let ready = nvml::Library::Ready { name };
                    (stamped(&now, ready), Some(Arc::clone(library)))
                } else {
                    let failed = nvml::Library::InitFailed { name, rc: *init };
                    (stamped(at, failed), None)
                }
            }
        }
    }
}
