//! `libnvidia-ml.so.1` as driver generation r535 exports it: its symbols and no others.
//!
//! The functions are made by the macro, whose unsafe code is in `fake_nvml::ffi`.

fake_nvml::export!(R535);
