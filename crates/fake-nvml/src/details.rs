//! The answers to calls about a device's errors and links.

pub(crate) mod ffi;

use crate::answers::{Answer, board, narrow, padded, whole};
use crate::code::Code;
use crate::device::{Device, Link};
use crate::layout::Pci;
use crate::library::Turn;
use crate::value::Value;

/// A card without links does not support the calls; one with links has them under their numbers.
pub(crate) fn link(device: &Device, number: u32) -> Answer<&Link> {
    if device.nvlinks.is_empty() {
        return Err(Code::NOT_SUPPORTED);
    }
    let place = usize::try_from(number).unwrap_or(usize::MAX);
    device.nvlinks.get(place).ok_or(Code::INVALID_ARGUMENT)
}

/// What is at the other end of a link. Its subsystem is not told.
pub(crate) fn link_remote(turn: &Turn, number: u32) -> Answer<Pci> {
    let device = board(turn)?;
    let remote = &link(device, number)?.remote;
    let (domain, bus, number) = crate::world::bus_address(remote).ok_or(Code::NOT_SUPPORTED)?;
    Ok(Pci {
        legacy_id: padded(&format!("{:04X}:{bus:02X}:{number:02X}.0", domain & 0xFFFF)),
        domain,
        bus,
        device: number,
        device_id: narrow(turn.value(&device.pci_device_id)?),
        subsystem_id: 0xFFFF_FFFF,
        id: padded(&format!("{domain:08X}:{bus:02X}:{number:02X}.0")),
    })
}

/// Errors are counted only while ECC is on.
pub(crate) fn ecc_errors(turn: &Turn, error: u32, counter: u32) -> Answer<u64> {
    let ecc = &board(turn)?.ecc;
    let errors = match (counter, error) {
        (0, 0) => &ecc.volatile_corrected,
        (0, 1) => &ecc.volatile_uncorrected,
        (1, 0) => &ecc.aggregate_corrected,
        (1, 1) => &ecc.aggregate_uncorrected,
        _ => return Err(Code::INVALID_ARGUMENT),
    };
    if turn.value(&ecc.mode)? != 1 {
        return Err(Code::NOT_SUPPORTED);
    }
    turn.value(errors)
}

/// How many pages were retired for this cause.
pub(crate) fn retired_pages(turn: &Turn, cause: u32) -> Answer<u32> {
    let device = board(turn)?;
    match cause {
        0 => turn.value(&device.retired_pages_single_bit).map(narrow),
        1 => turn.value(&device.retired_pages_double_bit).map(narrow),
        _ => Err(Code::INVALID_ARGUMENT),
    }
}

/// Not supported on a GPU in MIG mode.
pub(crate) fn remapped_rows(turn: &Turn) -> Answer<[u32; 4]> {
    let device = whole(turn)?;
    let figure = |value: &Value| turn.value(value).map(narrow);
    Ok([
        figure(&device.remapped_rows_correctable)?,
        figure(&device.remapped_rows_uncorrectable)?,
        figure(&device.remapped_rows_pending)?,
        figure(&device.remapped_rows_failed)?,
    ])
}
