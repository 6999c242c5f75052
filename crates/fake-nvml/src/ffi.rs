//! The C side: pointers in, pointers out, and the exported functions themselves.
//!
//! Each function here stands behind the exported functions of one shape (see `symbols.rs`). They
//! share one contract, that of nvml.h: a pointer is null or points to what the parameter's type
//! says, a text buffer has `length` bytes, a list's buffer has room for as many entries as the
//! caller's count says, and nobody else touches these meanwhile. The `_v3` lists keep to the last
//! rule only as far as the simulated driver does: see README.md.
#![expect(unsafe_code, reason = "a C interface is implemented here")]
#![expect(
    clippy::missing_safety_doc,
    reason = "one contract for all, at the top of the file"
)]

use std::ffi::{CStr, c_char, c_void};
use std::path::PathBuf;

use crate::answers;
use crate::code::Code;
pub use crate::details::ffi::{ecc_errors, link_remote, remapped_rows, retired_pages};
use crate::layout::version;
pub use crate::layout::{
    Attributes, DetailList1, Memory, Memory2, Pci, Reading, Sample, Sample1, Samples1, Utilization,
};
use crate::library::{Library, Target};
pub use crate::lists::ffi::{
    detail_list, device_samples, process_list, process_samples, process_samples1,
};

/// An `nvmlDevice_t`: an address that is never read through.
pub type Handle = *mut c_void;

unsafe extern "C" {
    safe fn atexit(hook: extern "C" fn()) -> i32;
}

/// Writes an answer, unless the caller gave no place for it.
pub(crate) unsafe fn put<T>(to: *mut T, answer: T) -> Result<(), Code> {
    if to.is_null() {
        return Err(Code::INVALID_ARGUMENT);
    }
    // SAFETY: not null, so by the contract it points to a T of the caller's.
    unsafe { to.write(answer) };
    Ok(())
}

/// Reads a structure or a count, unless the caller gave none.
pub(crate) unsafe fn get<T: Copy>(from: *const T) -> Result<T, Code> {
    if from.is_null() {
        return Err(Code::INVALID_ARGUMENT);
    }
    // SAFETY: not null, so by the contract it points to a T that the caller set.
    Ok(unsafe { from.read() })
}

unsafe fn put_text(to: *mut u8, length: u32, text: &str) -> Result<(), Code> {
    if to.is_null() {
        return Err(Code::INVALID_ARGUMENT);
    }
    if usize::try_from(length).unwrap_or(0) <= text.len() {
        return Err(Code::INSUFFICIENT_SIZE);
    }
    // SAFETY: the buffer has `length` bytes, more than the text; a Rust string does not overlap it.
    unsafe { to.copy_from_nonoverlapping(text.as_ptr(), text.len()) };
    // SAFETY: as above; this is the byte after the text.
    unsafe { to.add(text.len()).write(0) };
    Ok(())
}

/// The caller's text, for the time of the call.
unsafe fn text<'a>(from: *const u8) -> Option<&'a str> {
    if from.is_null() {
        return None;
    }
    // SAFETY: not null, so by the contract it is a C string that stays as it is during the call.
    unsafe { CStr::from_ptr(from.cast::<c_char>()) }
        .to_str()
        .ok()
}

pub(crate) fn on(device: Handle) -> Target<'static> {
    Target::Handle(device.addr())
}

fn pointer(handle: usize) -> Handle {
    std::ptr::without_provenance_mut(handle)
}

fn start(library: &Library, call: &'static str) -> i32 {
    if library.claim_exit_hook() {
        let _registered = atexit(library.at_exit);
    }
    library.initialize(call).0
}

pub unsafe fn init(library: &Library, call: &'static str) -> i32 {
    start(library, call)
}

pub unsafe fn init_with_flags(library: &Library, call: &'static str, _flags: u32) -> i32 {
    start(library, call)
}

pub unsafe fn shut_down(library: &Library, call: &'static str) -> i32 {
    library.shut_down(call).0
}

pub fn error_string(code: i32) -> *const c_char {
    Code(code).text().as_ptr()
}

/// Not of NVML: lets a test in the same process name the scenario without touching the environment.
/// Null undoes it.
pub unsafe fn use_scenario(library: &Library, path: *const u8) -> i32 {
    // SAFETY: the contract of this file.
    let path = unsafe { text(path) };
    library.use_scenario(path.map(PathBuf::from));
    0
}

pub unsafe fn system_text(library: &Library, call: &'static str, to: *mut u8, length: u32) -> i32 {
    let answer = library.answer(call, Target::System, |turn| {
        // SAFETY: the contract of this file.
        unsafe { put_text(to, length, &answers::system_text(turn)) }
    });
    answer.0
}

pub unsafe fn system_int(library: &Library, call: &'static str, value: *mut i32) -> i32 {
    let answer = library.answer(call, Target::System, |turn| {
        // SAFETY: the contract of this file.
        unsafe { put(value, answers::cuda_version(turn)) }
    });
    answer.0
}

pub unsafe fn system_count(library: &Library, call: &'static str, value: *mut u32) -> i32 {
    let answer = library.answer(call, Target::System, |turn| {
        // SAFETY: the contract of this file.
        unsafe { put(value, answers::device_count(turn)) }
    });
    answer.0
}

unsafe fn put_handle(
    library: &Library,
    call: &'static str,
    target: Target<'_>,
    to: *mut Handle,
) -> i32 {
    let answer = library.answer(call, target, |turn| {
        let handle = pointer(turn.place()?.handle());
        // SAFETY: the contract of this file.
        unsafe { put(to, handle) }
    });
    answer.0
}

pub unsafe fn handle_by_index(
    library: &Library,
    call: &'static str,
    index: u32,
    to: *mut Handle,
) -> i32 {
    let target = Target::Index(usize::try_from(index).unwrap_or(usize::MAX));
    // SAFETY: the contract of this file.
    unsafe { put_handle(library, call, target, to) }
}

pub unsafe fn handle_by_bus(
    library: &Library,
    call: &'static str,
    bus: *const u8,
    to: *mut Handle,
) -> i32 {
    // SAFETY: the contract of this file.
    let target = unsafe { text(bus) }.map_or(Target::System, Target::Bus);
    // SAFETY: the contract of this file.
    unsafe { put_handle(library, call, target, to) }
}

pub unsafe fn handle_by_uuid(
    library: &Library,
    call: &'static str,
    uuid: *const u8,
    to: *mut Handle,
) -> i32 {
    // SAFETY: the contract of this file.
    let target = unsafe { text(uuid) }.map_or(Target::System, Target::Uuid);
    // SAFETY: the contract of this file.
    unsafe { put_handle(library, call, target, to) }
}

pub unsafe fn device_text(
    library: &Library,
    call: &'static str,
    device: Handle,
    to: *mut u8,
    length: u32,
) -> i32 {
    let answer = library.answer(call, on(device), |turn| {
        let text = answers::device_text(turn)?;
        // SAFETY: the contract of this file.
        unsafe { put_text(to, length, &text) }
    });
    answer.0
}

/// The older calls know only the first 32 (unversioned) and 36 bytes (`_v2`) of today's structure.
pub unsafe fn pci(library: &Library, call: &'static str, device: Handle, to: *mut u8) -> i32 {
    let answer = library.answer(call, on(device), |turn| {
        let info = answers::pci(turn)?;
        if to.is_null() {
            return Err(Code::INVALID_ARGUMENT);
        }
        let length = match call {
            "nvmlDeviceGetPciInfo" => 32,
            "nvmlDeviceGetPciInfo_v2" => 36,
            _ => size_of::<Pci>(),
        };
        // SAFETY: the caller's structure is of this call's version, which has at least that many
        // bytes.
        unsafe { to.copy_from_nonoverlapping((&raw const info).cast::<u8>(), length) };
        Ok(())
    });
    answer.0
}

pub unsafe fn device_u32(
    library: &Library,
    call: &'static str,
    device: Handle,
    value: *mut u32,
) -> i32 {
    let answer = library.answer(call, on(device), |turn| {
        let figure = answers::device_u32(turn)?;
        // SAFETY: the contract of this file.
        unsafe { put(value, figure) }
    });
    answer.0
}

pub unsafe fn device_u64(
    library: &Library,
    call: &'static str,
    device: Handle,
    value: *mut u64,
) -> i32 {
    let answer = library.answer(call, on(device), |turn| {
        let figure = answers::device_u64(turn)?;
        // SAFETY: the contract of this file.
        unsafe { put(value, figure) }
    });
    answer.0
}

pub unsafe fn device_chosen_u32(
    library: &Library,
    call: &'static str,
    device: Handle,
    which: u32,
    value: *mut u32,
) -> i32 {
    let answer = library.answer(call, on(device), |turn| {
        let figure = answers::device_chosen_u32(turn, which)?;
        // SAFETY: the contract of this file.
        unsafe { put(value, figure) }
    });
    answer.0
}

pub unsafe fn device_pair(
    library: &Library,
    call: &'static str,
    device: Handle,
    first: *mut u32,
    second: *mut u32,
) -> i32 {
    let answer = library.answer(call, on(device), |turn| {
        let figures = answers::device_pair(turn)?;
        if second.is_null() {
            return Err(Code::INVALID_ARGUMENT);
        }
        // SAFETY: the contract of this file.
        unsafe { put(first, figures.0) }?;
        // SAFETY: the contract of this file.
        unsafe { put(second, figures.1) }
    });
    answer.0
}

pub unsafe fn device_reading(
    library: &Library,
    call: &'static str,
    device: Handle,
    to: *mut Reading,
) -> i32 {
    let answer = library.answer(call, on(device), |turn| {
        // SAFETY: the contract of this file.
        let mut reading = unsafe { get(to) }?;
        expect_version(reading.version, version::<Reading>(1))?;
        reading.figure = answers::device_chosen_u32(turn, reading.which)?;
        // SAFETY: the contract of this file.
        unsafe { put(to, reading) }
    });
    answer.0
}

pub(crate) fn expect_version(given: u32, wanted: u32) -> Result<(), Code> {
    if given == wanted {
        Ok(())
    } else {
        Err(Code::ARGUMENT_VERSION_MISMATCH)
    }
}

pub unsafe fn memory(
    library: &Library,
    call: &'static str,
    device: Handle,
    to: *mut Memory,
) -> i32 {
    let answer = library.answer(call, on(device), |turn| {
        let figures = answers::memory(turn)?;
        // SAFETY: the contract of this file.
        unsafe { put(to, figures) }
    });
    answer.0
}

pub unsafe fn memory2(
    library: &Library,
    call: &'static str,
    device: Handle,
    to: *mut Memory2,
) -> i32 {
    let answer = library.answer(call, on(device), |turn| {
        // SAFETY: the version is the structure's first field, which the caller set.
        expect_version(unsafe { get(to.cast::<u32>()) }?, version::<Memory2>(2))?;
        let figures = answers::memory2(turn)?;
        // SAFETY: the contract of this file.
        unsafe { put(to, figures) }
    });
    answer.0
}

pub unsafe fn utilization(
    library: &Library,
    call: &'static str,
    device: Handle,
    to: *mut Utilization,
) -> i32 {
    let answer = library.answer(call, on(device), |turn| {
        let rates = answers::utilization(turn)?;
        // SAFETY: the contract of this file.
        unsafe { put(to, rates) }
    });
    answer.0
}

pub unsafe fn attributes(
    library: &Library,
    call: &'static str,
    device: Handle,
    to: *mut Attributes,
) -> i32 {
    let answer = library.answer(call, on(device), |turn| {
        let attributes = answers::attributes(turn)?;
        // SAFETY: the contract of this file.
        unsafe { put(to, attributes) }
    });
    answer.0
}

pub unsafe fn mig_handle(
    library: &Library,
    call: &'static str,
    device: Handle,
    index: u32,
    to: *mut Handle,
) -> i32 {
    let answer = library.answer(call, on(device), |turn| {
        let handle = pointer(answers::mig_handle(turn, index)?);
        // SAFETY: the contract of this file.
        unsafe { put(to, handle) }
    });
    answer.0
}

pub unsafe fn parent_handle(
    library: &Library,
    call: &'static str,
    device: Handle,
    to: *mut Handle,
) -> i32 {
    let answer = library.answer(call, on(device), |turn| {
        let handle = pointer(answers::parent_handle(turn)?);
        // SAFETY: the contract of this file.
        unsafe { put(to, handle) }
    });
    answer.0
}

/// Makes this package a library of the generation, for instance `fake_nvml::export!(R580)`.
#[macro_export]
macro_rules! export {
    ($generation:ident) => {
        use $crate::ffi::*;

        static LIBRARY: $crate::Library =
            $crate::Library::new($crate::Generation::$generation, at_exit);

        extern "C" fn at_exit() {
            LIBRARY.flush();
        }

        #[unsafe(no_mangle)]
        extern "C" fn nvmlErrorString(code: i32) -> *const ::std::ffi::c_char {
            $crate::ffi::error_string(code)
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn fake_nvml_use_scenario(path: *const u8) -> i32 {
            // SAFETY: the caller keeps the contract of `fake_nvml::ffi`.
            unsafe { $crate::ffi::use_scenario(&LIBRARY, path) }
        }

        $crate::symbols_of!($generation export_all);
    };
}

/// Exports every function of some groups.
#[doc(hidden)]
#[macro_export]
macro_rules! export_all {
    ($( $shape:ident $parameters:tt { $($name:ident),* } )*) => {
        $( $( $crate::export_one!($name $shape $parameters); )* )*
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! export_one {
    ($name:ident $shape:ident ($($parameter:ident: $kind:ty),*)) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($parameter: $kind),*) -> i32 {
            // SAFETY: the caller keeps the contract of `fake_nvml::ffi`, which is that of nvml.h.
            unsafe { $crate::ffi::$shape(&LIBRARY, stringify!($name), $($parameter),*) }
        }
    };
}
