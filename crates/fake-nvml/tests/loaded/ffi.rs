//! The only place that calls through pointers.
#![expect(unsafe_code, reason = "calls a C library")]
#![expect(
    clippy::unwrap_used,
    reason = "serves tests only, where a failure should end the test"
)]

use std::ffi::{CStr, CString, c_char, c_void};

use fake_nvml::build::{Driver, USE_SCENARIO};
use fake_nvml::{Generation, Scenario};
use libloading::{Library, Symbol};

/// Filled into every buffer before a call, to see what the call wrote.
pub(crate) const UNTOUCHED: u8 = 0xAA;
const UNTOUCHED_WORD: u64 = u64::from_ne_bytes([UNTOUCHED; 8]);

type Raw = *mut c_void;

/// A device handle, as a number so that threads may share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handle(pub(crate) usize);

impl Handle {
    fn raw(self) -> Raw {
        std::ptr::without_provenance_mut(self.0)
    }
}

pub(crate) struct Loaded {
    library: Library,
    pub(crate) driver: Option<Driver>,
}

impl Loaded {
    /// Loaded with its scenario named, but not initialised.
    pub(crate) fn new(generation: Generation, scenario: &Scenario) -> Self {
        let driver = Driver::new(generation, scenario);
        let loaded = Self::open(driver.library_path().as_os_str());
        let path = CString::new(driver.scenario_path().to_str().unwrap()).unwrap();
        loaded.use_scenario(Some(&path));
        Self {
            driver: Some(driver),
            ..loaded
        }
    }

    /// Loaded by that name or path, without a scenario of its own.
    pub(crate) fn open(name: &std::ffi::OsStr) -> Self {
        // SAFETY: the library's only start-up code is Rust's own.
        let library = unsafe { Library::new(name) }.unwrap();
        Self {
            library,
            driver: None,
        }
    }

    pub(crate) fn started(generation: Generation, scenario: &Scenario) -> Self {
        let loaded = Self::new(generation, scenario);
        assert_eq!(loaded.plain("nvmlInit_v2"), 0);
        loaded
    }

    pub(crate) fn use_scenario(&self, path: Option<&CStr>) {
        // SAFETY: this is the function's signature.
        let call: Symbol<'_, unsafe extern "C" fn(*const c_char) -> i32> =
            unsafe { self.library.get(USE_SCENARIO) }.unwrap();
        let path = path.map_or(std::ptr::null(), CStr::as_ptr);
        // SAFETY: null or a C string.
        let code = unsafe { call(path) };
        assert_eq!(code, 0);
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        // SAFETY: the symbol is looked up, not used.
        unsafe { self.library.get::<unsafe extern "C" fn()>(name.as_bytes()) }.is_ok()
    }

    /// The function of that name, which must be of the type `F`.
    unsafe fn function<F>(&self, name: &str) -> Symbol<'_, F> {
        // SAFETY: the caller knows the type.
        unsafe { self.library.get(name.as_bytes()) }.unwrap()
    }

    pub(crate) fn plain(&self, name: &str) -> i32 {
        // SAFETY: the signature of the functions that take nothing.
        let call = unsafe { self.function::<unsafe extern "C" fn() -> i32>(name) };
        // SAFETY: no pointers.
        unsafe { call() }
    }

    pub(crate) fn error_string(&self, code: i32) -> String {
        // SAFETY: the signature of this function.
        let call = unsafe {
            self.function::<unsafe extern "C" fn(i32) -> *const c_char>("nvmlErrorString")
        };
        // SAFETY: the answer is a string that lives as long as the library.
        unsafe { CStr::from_ptr(call(code)) }
            .to_str()
            .unwrap()
            .to_owned()
    }

    pub(crate) fn system_u32(&self, name: &str) -> Result<u32, i32> {
        // SAFETY: the signature of the functions that answer one number about the system.
        let call = unsafe { self.function::<unsafe extern "C" fn(*mut u32) -> i32>(name) };
        let mut value = 0;
        // SAFETY: a number to write to.
        success(unsafe { call(&raw mut value) }, value)
    }

    pub(crate) fn system_text(&self, name: &str, length: u32) -> Result<String, i32> {
        // SAFETY: the signature of the functions that answer text about the system.
        let call = unsafe { self.function::<unsafe extern "C" fn(*mut u8, u32) -> i32>(name) };
        let mut text = vec![UNTOUCHED; usize::try_from(length).unwrap()];
        // SAFETY: as many bytes as said.
        let code = unsafe { call(text.as_mut_ptr(), length) };
        success(code, ()).map(|()| until_zero(&text))
    }

    pub(crate) fn try_handle(&self, name: &str, index: u32) -> Result<Handle, i32> {
        // SAFETY: the signature of the functions that answer a handle to an index.
        let call = unsafe { self.function::<unsafe extern "C" fn(u32, *mut Raw) -> i32>(name) };
        let mut handle = std::ptr::null_mut();
        // SAFETY: a handle to write to.
        success(unsafe { call(index, &raw mut handle) }, ()).map(|()| Handle(handle.addr()))
    }

    pub(crate) fn handle(&self, index: u32) -> Handle {
        self.try_handle("nvmlDeviceGetHandleByIndex_v2", index)
            .unwrap()
    }

    pub(crate) fn handle_by_text(&self, name: &str, text: &str) -> Result<Handle, i32> {
        // SAFETY: the signature of the functions that answer a handle to a text.
        let call =
            unsafe { self.function::<unsafe extern "C" fn(*const c_char, *mut Raw) -> i32>(name) };
        let text = CString::new(text).unwrap();
        let mut handle = std::ptr::null_mut();
        // SAFETY: a C string, and a handle to write to.
        success(unsafe { call(text.as_ptr(), &raw mut handle) }, ()).map(|()| Handle(handle.addr()))
    }

    pub(crate) fn mig_handle(&self, device: Handle, slot: u32) -> Result<Handle, i32> {
        // SAFETY: the signature of this function.
        let call = unsafe {
            self.function::<unsafe extern "C" fn(Raw, u32, *mut Raw) -> i32>(
                "nvmlDeviceGetMigDeviceHandleByIndex",
            )
        };
        let mut handle = std::ptr::null_mut();
        // SAFETY: a handle to write to.
        let code = unsafe { call(device.raw(), slot, &raw mut handle) };
        success(code, ()).map(|()| Handle(handle.addr()))
    }

    pub(crate) fn parent(&self, instance: Handle) -> Result<Handle, i32> {
        // SAFETY: the signature of this function.
        let call = unsafe {
            self.function::<unsafe extern "C" fn(Raw, *mut Raw) -> i32>(
                "nvmlDeviceGetDeviceHandleFromMigDeviceHandle",
            )
        };
        let mut handle = std::ptr::null_mut();
        // SAFETY: a handle to write to.
        success(unsafe { call(instance.raw(), &raw mut handle) }, ())
            .map(|()| Handle(handle.addr()))
    }

    pub(crate) fn text(&self, name: &str, device: Handle) -> Result<String, i32> {
        // SAFETY: the signature of the functions that answer text about a device.
        let call = unsafe { self.function::<unsafe extern "C" fn(Raw, *mut u8, u32) -> i32>(name) };
        let mut text = [UNTOUCHED; 96];
        // SAFETY: as many bytes as said.
        let code = unsafe { call(device.raw(), text.as_mut_ptr(), 96) };
        success(code, ()).map(|()| until_zero(&text))
    }

    pub(crate) fn u32(&self, name: &str, device: Handle) -> Result<u32, i32> {
        // SAFETY: the signature of the functions that answer one number about a device.
        let call = unsafe { self.function::<unsafe extern "C" fn(Raw, *mut u32) -> i32>(name) };
        let mut value = 0;
        // SAFETY: a number to write to.
        success(unsafe { call(device.raw(), &raw mut value) }, value)
    }

    pub(crate) fn chosen(&self, name: &str, device: Handle, which: u32) -> Result<u32, i32> {
        // SAFETY: the signature of the functions that take a sensor's, clock's or fan's number.
        let call =
            unsafe { self.function::<unsafe extern "C" fn(Raw, u32, *mut u32) -> i32>(name) };
        let mut value = 0;
        // SAFETY: a number to write to.
        success(unsafe { call(device.raw(), which, &raw mut value) }, value)
    }

    pub(crate) fn pair(&self, name: &str, device: Handle) -> Result<(u32, u32), i32> {
        // SAFETY: the signature of the functions that answer two numbers about a device.
        let call =
            unsafe { self.function::<unsafe extern "C" fn(Raw, *mut u32, *mut u32) -> i32>(name) };
        let (mut first, mut second) = (0, 0);
        // SAFETY: two numbers to write to.
        let code = unsafe { call(device.raw(), &raw mut first, &raw mut second) };
        success(code, ()).map(|()| (first, second))
    }

    pub(crate) fn ecc_errors(&self, device: Handle, error: u32, counter: u32) -> Result<u64, i32> {
        // SAFETY: the signature of this function.
        let call = unsafe {
            self.function::<unsafe extern "C" fn(Raw, u32, u32, *mut u64) -> i32>(
                "nvmlDeviceGetTotalEccErrors",
            )
        };
        let mut errors = 0;
        // SAFETY: a number to write to.
        success(
            unsafe { call(device.raw(), error, counter, &raw mut errors) },
            (),
        )
        .map(|()| errors)
    }

    /// With room for `count` addresses; gives the code and the count.
    pub(crate) fn retired_pages(&self, device: Handle, cause: u32, mut count: u32) -> (i32, u32) {
        // SAFETY: the signature of this function.
        let call = unsafe {
            self.function::<unsafe extern "C" fn(Raw, u32, *mut u32, *mut u64) -> i32>(
                "nvmlDeviceGetRetiredPages",
            )
        };
        let mut addresses = vec![0_u64; usize::try_from(count).unwrap()];
        let room = if addresses.is_empty() {
            std::ptr::null_mut()
        } else {
            addresses.as_mut_ptr()
        };
        // SAFETY: null, or room for that many.
        let code = unsafe { call(device.raw(), cause, &raw mut count, room) };
        (code, count)
    }

    pub(crate) fn remapped_rows(&self, device: Handle) -> Result<[u32; 4], i32> {
        type Four = unsafe extern "C" fn(Raw, *mut u32, *mut u32, *mut u32, *mut u32) -> i32;
        // SAFETY: the signature of this function.
        let call = unsafe { self.function::<Four>("nvmlDeviceGetRemappedRows") };
        let mut rows = [0; 4];
        let [first, second, third, fourth] = &mut rows;
        // SAFETY: four numbers to write to.
        success(
            unsafe { call(device.raw(), first, second, third, fourth) },
            (),
        )
        .map(|()| rows)
    }

    /// The bytes of what is at the other end of a link.
    pub(crate) fn link_remote(
        &self,
        name: &str,
        device: Handle,
        link: u32,
    ) -> Result<Vec<u8>, i32> {
        // SAFETY: the signature of these functions.
        let call =
            unsafe { self.function::<unsafe extern "C" fn(Raw, u32, *mut u64) -> i32>(name) };
        let mut buffer = Buffer::new(128);
        // SAFETY: no version of the structure is longer.
        let code = unsafe { call(device.raw(), link, buffer.0.as_mut_ptr()) };
        success(code, ()).map(|()| buffer.bytes())
    }

    /// Calls with a structure of 128 bytes that starts with this version field, if any; gives the
    /// bytes after it.
    pub(crate) fn structure(
        &self,
        name: &str,
        device: Handle,
        start: &[u32],
    ) -> Result<Vec<u8>, i32> {
        // SAFETY: the signature of the functions that fill a structure.
        let call = unsafe { self.function::<unsafe extern "C" fn(Raw, *mut u64) -> i32>(name) };
        let mut buffer = Buffer::new(128);
        buffer.set(start);
        // SAFETY: no structure here is longer.
        let code = unsafe { call(device.raw(), buffer.0.as_mut_ptr()) };
        success(code, ()).map(|()| buffer.bytes())
    }

    /// Calls a process list with room for `count` entries, or with a null buffer; gives the code
    /// and the count.
    pub(crate) fn list(
        &self,
        name: &str,
        device: Handle,
        mut count: u32,
        buffer: Option<&mut Buffer>,
    ) -> (i32, u32) {
        // SAFETY: the signature of the process lists.
        let call =
            unsafe { self.function::<unsafe extern "C" fn(Raw, *mut u32, *mut u64) -> i32>(name) };
        let room = buffer.map_or(std::ptr::null_mut(), |buffer| {
            assert!(buffer.0.len() * 8 >= usize::try_from(count).unwrap() * 32);
            buffer.0.as_mut_ptr()
        });
        // SAFETY: null, or room for that many of the longest entries.
        let code = unsafe { call(device.raw(), &raw mut count, room) };
        (code, count)
    }

    /// Calls for utilization samples with room for `count` of them, or with a null buffer.
    pub(crate) fn samples(
        &self,
        device: Handle,
        mut count: u32,
        buffer: Option<&mut Buffer>,
        last_seen: u64,
    ) -> (i32, u32) {
        // SAFETY: the signature of this function.
        let call = unsafe {
            self.function::<unsafe extern "C" fn(Raw, *mut u64, *mut u32, u64) -> i32>(
                "nvmlDeviceGetProcessUtilization",
            )
        };
        let room = buffer.map_or(std::ptr::null_mut(), |buffer| {
            assert!(buffer.0.len() * 8 >= usize::try_from(count).unwrap() * 32);
            buffer.0.as_mut_ptr()
        });
        // SAFETY: null, or room for that many.
        let code = unsafe { call(device.raw(), room, &raw mut count, last_seen) };
        (code, count)
    }

    /// Calls a function whose structure holds version, a number, and the address of a buffer at the
    /// end.
    ///
    /// `header` is the structure without the address. Gives the code and the structure's numbers.
    pub(crate) fn structure_with_list(
        &self,
        name: &str,
        device: Handle,
        header: [u32; 4],
        buffer: &mut Buffer,
    ) -> (i32, [u32; 4]) {
        #[repr(C)]
        struct Structure {
            header: [u32; 4],
            entries: *mut u64,
        }
        // SAFETY: the signature of these functions.
        let call =
            unsafe { self.function::<unsafe extern "C" fn(Raw, *mut Structure) -> i32>(name) };
        let mut structure = Structure {
            header,
            entries: buffer.0.as_mut_ptr(),
        };
        // SAFETY: both structures have four words before the address; the tests give large buffers.
        let code = unsafe { call(device.raw(), &raw mut structure) };
        (code, structure.header)
    }
}

fn success<T>(code: i32, answer: T) -> Result<T, i32> {
    if code == 0 { Ok(answer) } else { Err(code) }
}

fn until_zero(text: &[u8]) -> String {
    CStr::from_bytes_until_nul(text)
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned()
}

/// Aligned memory that starts out untouched.
pub(crate) struct Buffer(Vec<u64>);

impl Buffer {
    pub(crate) fn new(bytes: usize) -> Self {
        Self(vec![UNTOUCHED_WORD; bytes.div_ceil(8)])
    }

    fn set(&mut self, start: &[u32]) {
        let mut bytes = self.bytes();
        for (number, word) in start.iter().enumerate() {
            bytes[number * 4..number * 4 + 4].copy_from_slice(&word.to_ne_bytes());
        }
        for (word, bytes) in self.0.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_ne_bytes(bytes.try_into().unwrap());
        }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    pub(crate) fn u32(&self, at: usize) -> u32 {
        u32_at(&self.bytes(), at)
    }

    pub(crate) fn u64(&self, at: usize) -> u64 {
        u64_at(&self.bytes(), at)
    }
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap())
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// The stretches of bytes that a call wrote, as start and end.
pub(crate) fn touched(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut stretches: Vec<(usize, usize)> = Vec::new();
    for (at, _) in bytes
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte != UNTOUCHED)
    {
        match stretches.last_mut() {
            Some((_, end)) if *end == at => *end = at + 1,
            _ => stretches.push((at, at + 1)),
        }
    }
    stretches
}
