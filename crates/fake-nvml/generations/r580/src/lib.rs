//! `libnvidia-ml.so.1` as driver generation r580 exports it: its symbols and no others.
//!
//! The functions are made by the macro, whose unsafe code is in `fake_nvml::ffi`.

fake_nvml::export!(R580);
