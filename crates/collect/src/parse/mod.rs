//! Texts of the kernel and of programs, to records. Parsers never fail as a whole: what does not
//! follow the format is left out, and the caller sees that nothing came.

pub mod cgroup;
pub mod maps;
pub mod stat;
pub mod status;
