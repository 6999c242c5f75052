//! One loaded library: its scenario, its counts, and the way every call goes in and out.
//!
//! The lock is held only while a call is looked up; a fault's sleep and the answer itself happen
//! outside it, so a call that hangs holds up no other thread.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::code::Code;
use crate::device::{Device, Instance};
use crate::generation::Generation;
use crate::scenario::Fault;
use crate::value::Value;
use crate::world::{Place, World};

/// Names the scenario file.
pub(crate) const SCENARIO: &str = "GPUTASKMAN_FAKE_NVML";
/// Names a file to which call counts are appended.
pub(crate) const STATISTICS: &str = "GPUTASKMAN_FAKE_NVML_STATS";
/// How often the files are looked at for a change.
const CHECK_EVERY: Duration = Duration::from_millis(100);

/// The state behind the symbols of one shared library.
#[derive(Debug)]
pub struct Library {
    generation: Generation,
    /// Runs when the process ends or the library is unloaded.
    pub(crate) at_exit: extern "C" fn(),
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    references: u32,
    /// In place of the environment's.
    given_path: Option<PathBuf>,
    path: Option<PathBuf>,
    world: Option<Arc<World>>,
    checked: Option<Instant>,
    last_stamp: u64,
    exit_hook: bool,
    /// Calls of each function on each place (by handle; 0 for none) since the scenario was read.
    ordinals: BTreeMap<(&'static str, usize), u64>,
    /// Calls that each fault matched since the scenario was read.
    matched: Vec<u64>,
    /// Calls and failures by function, not yet written out.
    counts: BTreeMap<&'static str, (u64, u64)>,
    /// Bytes that guarded lists did not write.
    overruns: BTreeMap<&'static str, usize>,
}

/// What a call is about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target<'a> {
    System,
    Handle(usize),
    Index(usize),
    Uuid(&'a str),
    Bus(&'a str),
}

/// One call that got in.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) call: &'static str,
    pub(crate) generation: Generation,
    pub(crate) world: Arc<World>,
    /// Only calls about no device have none.
    place: Option<Place>,
    /// The how-manieth call of this function on this place, from 1.
    pub(crate) ordinal: u64,
    /// Microseconds since the epoch.
    pub(crate) now: u64,
}

impl Turn {
    pub(crate) fn place(&self) -> Result<Place, Code> {
        self.place.ok_or(Code::INVALID_ARGUMENT)
    }

    /// The device, or an instance's parent.
    pub(crate) fn device(&self) -> Result<&Device, Code> {
        self.world
            .device(self.place()?)
            .ok_or(Code::INVALID_ARGUMENT)
    }

    pub(crate) fn instance(&self) -> Option<&Instance> {
        self.world.instance(self.place?)
    }

    pub(crate) fn value(&self, value: &Value) -> Result<u64, Code> {
        value.at(self.ordinal)
    }
}

impl Library {
    pub const fn new(generation: Generation, at_exit: extern "C" fn()) -> Self {
        let state = State {
            references: 0,
            given_path: None,
            path: None,
            world: None,
            checked: None,
            last_stamp: 0,
            exit_hook: false,
            ordinals: BTreeMap::new(),
            matched: Vec::new(),
            counts: BTreeMap::new(),
            overruns: BTreeMap::new(),
        };
        Self {
            generation,
            at_exit,
            state: Mutex::new(state),
        }
    }

    pub fn generation(&self) -> Generation {
        self.generation
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads scenarios from this path from the next `nvmlInit` on, instead of the one the
    /// environment names.
    pub fn use_scenario(&self, path: Option<PathBuf>) {
        self.lock().given_path = path;
    }

    /// Whether statistics are wanted and nobody has yet seen to the end of the process.
    pub(crate) fn claim_exit_hook(&self) -> bool {
        let wanted = std::env::var_os(STATISTICS).is_some();
        wanted && !std::mem::replace(&mut self.lock().exit_hook, true)
    }

    /// `nvmlInit` in any of its spellings.
    pub(crate) fn initialize(&self, call: &'static str) -> Code {
        self.lock().load(true);
        let code = self.enter(call, Target::System, false).and_then(|turn| {
            match turn.world.scenario.init {
                Code::SUCCESS => Ok(()),
                refusal => Err(refusal),
            }
        });
        let mut state = self.lock();
        if code.is_ok() {
            state.references += 1;
        }
        state.settle(call, code)
    }

    /// `nvmlShutdown`.
    pub(crate) fn shut_down(&self, call: &'static str) -> Code {
        let code = self.answer(call, Target::System, |_| Ok(()));
        if code == Code::SUCCESS {
            let mut state = self.lock();
            state.references = state.references.saturating_sub(1);
            if state.references == 0 {
                state.write_counts(self.generation);
            }
        }
        code
    }

    /// Every other call: `act` gives the answer once the call got past the faults.
    pub(crate) fn answer(
        &self,
        call: &'static str,
        target: Target<'_>,
        act: impl FnOnce(&Turn) -> Result<(), Code>,
    ) -> Code {
        let outcome = self.enter(call, target, true).and_then(|turn| act(&turn));
        self.lock().settle(call, outcome)
    }

    fn enter(
        &self,
        call: &'static str,
        target: Target<'_>,
        needs_init: bool,
    ) -> Result<Turn, Code> {
        let mut state = self.lock();
        if needs_init && state.references == 0 {
            return Err(Code::UNINITIALIZED);
        }
        state.load(false);
        let world = state.world.clone().ok_or(Code::DRIVER_NOT_LOADED)?;
        let found = locate(&world, target);
        let place = found.ok().flatten();
        let (sleep_ms, fault) = state.faults(&world, call, place);
        let ordinal = state
            .ordinals
            .entry((call, place.map_or(0, Place::handle)))
            .or_insert(0);
        *ordinal += 1;
        let ordinal = *ordinal;
        let now = state.stamp(&world, ordinal);
        drop(state);
        if sleep_ms > 0 {
            std::thread::sleep(Duration::from_millis(sleep_ms));
        }
        if let Some(code) = fault {
            return Err(code);
        }
        let place = found?;
        if place
            .and_then(|place| world.device(place))
            .is_some_and(|device| device.lost)
        {
            return Err(Code::GPU_IS_LOST);
        }
        Ok(Turn {
            call,
            generation: self.generation,
            world,
            place,
            ordinal,
            now,
        })
    }

    /// A guarded list would have written `bytes` past the caller's buffer.
    pub(crate) fn note_overrun(&self, call: &'static str, bytes: usize) {
        let mut state = self.lock();
        let worst = state.overruns.entry(call).or_insert(0);
        *worst = bytes.max(*worst);
    }

    /// Appends the call counts to the statistics file, if one is wanted. For the end of the
    /// process.
    pub fn flush(&self) {
        // A thread may have been stopped while it held the lock.
        if let Ok(mut state) = self.state.try_lock() {
            state.write_counts(self.generation);
        }
    }
}

fn locate(world: &World, target: Target<'_>) -> Result<Option<Place>, Code> {
    let place = match target {
        Target::System => return Ok(None),
        Target::Handle(handle) => world.by_handle(handle).ok_or(Code::INVALID_ARGUMENT)?,
        Target::Index(device) => {
            let place = Place { device, slot: None };
            world.device(place).ok_or(Code::INVALID_ARGUMENT)?;
            place
        }
        Target::Uuid(uuid) => world.by_uuid(uuid).ok_or(Code::NOT_FOUND)?,
        Target::Bus(bus) => world.by_bus(bus).ok_or(Code::NOT_FOUND)?,
    };
    Ok(Some(place))
}

impl State {
    /// Reads the scenario when it is new or has changed. A broken edit keeps the last good state,
    /// except at init.
    fn load(&mut self, at_init: bool) {
        let due = self
            .checked
            .is_none_or(|then| then.elapsed() >= CHECK_EVERY);
        if !at_init && !due {
            return;
        }
        if at_init {
            let named = || std::env::var_os(SCENARIO).filter(|name| !name.is_empty());
            self.path = self
                .given_path
                .clone()
                .or_else(|| named().map(PathBuf::from));
        }
        self.checked = Some(Instant::now());
        let fresh_start = at_init && self.references == 0;
        let Some(path) = self.path.clone() else {
            self.world = None;
            return;
        };
        let current = self
            .world
            .as_ref()
            .is_some_and(|world| world.is_current(&path));
        if !current {
            match World::read(&path) {
                Ok(world) => self.world = Some(Arc::new(world)),
                Err(problem) if fresh_start => {
                    self.world = None;
                    let line = format!("fake-nvml: scenario {}: {problem}\n", path.display());
                    let _unheard = std::io::stderr().write_all(line.as_bytes());
                }
                Err(_broken_edit) => return,
            }
        }
        if fresh_start || !current {
            self.ordinals.clear();
            self.matched.clear();
        }
    }

    /// How long the call waits, and what the first fault that returns anything returns.
    fn faults(&mut self, world: &World, call: &str, place: Option<Place>) -> (u64, Option<Code>) {
        let faults = &world.scenario.faults;
        self.matched.resize(faults.len(), 0);
        let (mut sleep_ms, mut code) = (0_u64, None);
        for (fault, matched) in faults.iter().zip(&mut self.matched) {
            if !concerns(fault, call, place) {
                continue;
            }
            *matched += 1;
            if *matched < fault.from || fault.until.is_some_and(|until| *matched > until) {
                continue;
            }
            sleep_ms = sleep_ms.saturating_add(fault.sleep_ms);
            code = code.or(fault.code);
        }
        (sleep_ms, code)
    }

    fn stamp(&mut self, world: &World, ordinal: u64) -> u64 {
        if let Some(clock) = &world.scenario.clock_us {
            return clock.at(ordinal).unwrap_or(0);
        }
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let now = u64::try_from(since.as_micros()).unwrap_or(u64::MAX);
        self.last_stamp = now.max(self.last_stamp + 1);
        self.last_stamp
    }

    fn settle(&mut self, call: &'static str, outcome: Result<(), Code>) -> Code {
        let (calls, failures) = self.counts.entry(call).or_default();
        *calls += 1;
        match outcome {
            Ok(()) => Code::SUCCESS,
            Err(code) => {
                *failures += u64::from(code != Code::SUCCESS);
                code
            }
        }
    }

    fn write_counts(&mut self, generation: Generation) {
        let counts = std::mem::take(&mut self.counts);
        let overruns = std::mem::take(&mut self.overruns);
        let Some(path) = std::env::var_os(STATISTICS).filter(|path| !path.is_empty()) else {
            return;
        };
        if counts.is_empty() {
            return;
        }
        let mut text = format!("# pid {} {}\n", std::process::id(), generation.name());
        for (call, (calls, failures)) in counts {
            let _infallible = writeln!(text, "{calls}\t{failures}\t{call}");
        }
        for (call, bytes) in overruns {
            let _infallible = writeln!(text, "overrun\t{bytes}\t{call}");
        }
        let file = OpenOptions::new().append(true).create(true).open(path);
        let _unheard = file.and_then(|mut file| file.write_all(text.as_bytes()));
    }
}

fn concerns(fault: &Fault, call: &str, place: Option<Place>) -> bool {
    let device = fault
        .device
        .is_none_or(|device| place.is_some_and(|place| place.device == device));
    let slot = fault
        .slot
        .is_none_or(|slot| place.is_some_and(|place| place.slot == Some(slot)));
    let instance = place.is_some_and(|place| place.slot.is_some());
    device && slot && !(fault.whole && instance) && glob(&fault.call, call)
}

/// `*` stands for any run of characters, everything else for itself.
fn glob(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|text| {
            (0..=text.len()).any(|at| text.get(at..).is_some_and(|text| glob(rest, text)))
        }),
    }
}
