//! One rule a file; [`RULES`] lists them in the order they are reported.

use super::report::Findings;
use super::tree::Tree;

mod architecture;
mod banned_names;
mod captures;
mod changelog;
mod crate_edges;
mod forbid_unsafe;
mod home_paths;
mod outside_world;
mod platform_cfg;
mod rust_version;
mod sizes;
mod unsafe_code;
mod visible_skips;
mod zero_readings;

/// A rule: its name and what it reports over the repository.
pub struct Rule {
    /// Also the name of its file here.
    pub name: &'static str,
    pub(super) check: fn(&Tree, &mut Findings<'_>),
}

/// All rules, in the order they are reported.
pub const RULES: &[Rule] = &[
    Rule {
        name: "sizes",
        check: sizes::check,
    },
    Rule {
        name: "banned_names",
        check: banned_names::check,
    },
    Rule {
        name: "platform_cfg",
        check: platform_cfg::check,
    },
    Rule {
        name: "unsafe_code",
        check: unsafe_code::check,
    },
    Rule {
        name: "forbid_unsafe",
        check: forbid_unsafe::check,
    },
    Rule {
        name: "outside_world",
        check: outside_world::check,
    },
    Rule {
        name: "crate_edges",
        check: crate_edges::check,
    },
    Rule {
        name: "zero_readings",
        check: zero_readings::check,
    },
    Rule {
        name: "visible_skips",
        check: visible_skips::check,
    },
    Rule {
        name: "architecture",
        check: architecture::check,
    },
    Rule {
        name: "captures",
        check: captures::check,
    },
    Rule {
        name: "home_paths",
        check: home_paths::check,
    },
    Rule {
        name: "rust_version",
        check: rust_version::check,
    },
    Rule {
        name: "changelog",
        check: changelog::check,
    },
];
