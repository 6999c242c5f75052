//! Drawing of proportions and of series, without knowledge of what they mean.

pub(crate) mod bar;
pub(crate) mod spark;
