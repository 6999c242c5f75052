//! Tests of the crate from outside, in one binary.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::float_cmp,
    reason = "a test fails by panicking"
)]

mod answers;
mod builder;
mod compute;
mod damage;
mod fixtures;
mod header;
mod hostile;
mod kv;
mod kv_cases;
mod kv_eras;
mod kv_hybrid;
mod kv_unknown;
mod logs;
mod placement;
mod reader;
mod shard;
mod traps;
mod weights;
