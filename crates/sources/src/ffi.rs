//! The one call into the C library that no safe crate offers.
#![expect(unsafe_code, reason = "ending the process without its destructors")]

/// Ends the process without running destructors or handlers.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: `_exit` takes any number and does not return; nothing of ours has to be flushed, since
    // standard output is flushed at each write.
    unsafe { libc::_exit(code) }
}
