//! Two moments side by side: which process is which, and what of it was measured both times.

pub mod change;
pub mod pairing;
