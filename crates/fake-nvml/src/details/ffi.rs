//! The C side of errors and links. The contract is that of `crate::ffi`.
#![expect(unsafe_code, reason = "a C interface is implemented here")]
#![expect(
    clippy::missing_safety_doc,
    reason = "one contract for all, at the top of crate::ffi"
)]

use crate::code::Code;
use crate::details;
use crate::ffi::{Handle, get, on, put};
use crate::layout::Pci;
use crate::library::Library;

pub unsafe fn ecc_errors(
    library: &Library,
    call: &'static str,
    device: Handle,
    error: u32,
    counter: u32,
    to: *mut u64,
) -> i32 {
    let answer = library.answer(call, on(device), |turn| {
        let errors = details::ecc_errors(turn, error, counter)?;
        // SAFETY: the contract of this file.
        unsafe { put(to, errors) }
    });
    answer.0
}

/// Addresses are made up: a page's number in its list, in pages.
pub unsafe fn retired_pages(
    library: &Library,
    call: &'static str,
    device: Handle,
    cause: u32,
    count: *mut u32,
    addresses: *mut u64,
) -> i32 {
    let answer = library.answer(call, on(device), |turn| {
        let pages = details::retired_pages(turn, cause)?;
        // SAFETY: the contract of this file.
        let room = unsafe { get(count) }?;
        // SAFETY: the contract of this file.
        unsafe { put(count, pages) }?;
        if room < pages {
            return Err(Code::INSUFFICIENT_SIZE);
        }
        if addresses.is_null() && pages > 0 {
            return Err(Code::INVALID_ARGUMENT);
        }
        for page in 0..pages {
            let place = usize::try_from(page).unwrap_or(usize::MAX);
            // SAFETY: the buffer has room for `pages`, as checked.
            unsafe { addresses.add(place).write(u64::from(page) << 12) };
        }
        Ok(())
    });
    answer.0
}

pub unsafe fn remapped_rows(
    library: &Library,
    call: &'static str,
    device: Handle,
    correctable: *mut u32,
    uncorrectable: *mut u32,
    pending: *mut u32,
    failed: *mut u32,
) -> i32 {
    let places = [correctable, uncorrectable, pending, failed];
    let answer = library.answer(call, on(device), |turn| {
        let rows = details::remapped_rows(turn)?;
        for (to, row) in places.into_iter().zip(rows) {
            // SAFETY: the contract of this file.
            unsafe { put(to, row) }?;
        }
        Ok(())
    });
    answer.0
}

/// The older call knows only the first 36 bytes of today's structure.
pub unsafe fn link_remote(
    library: &Library,
    call: &'static str,
    device: Handle,
    link: u32,
    to: *mut u8,
) -> i32 {
    let answer = library.answer(call, on(device), |turn| {
        let info = details::link_remote(turn, link)?;
        if to.is_null() {
            return Err(Code::INVALID_ARGUMENT);
        }
        let length = if call.ends_with("_v2") {
            size_of::<Pci>()
        } else {
            36
        };
        // SAFETY: the caller's structure is of this call's version, which has at least that many
        // bytes.
        unsafe { to.copy_from_nonoverlapping((&raw const info).cast::<u8>(), length) };
        Ok(())
    });
    answer.0
}
