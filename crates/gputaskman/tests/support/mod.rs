//! What the end-to-end tests share. Nothing here decides whether the program is right.

pub(crate) mod captures;
pub(crate) mod children;
pub(crate) mod folder;
pub(crate) mod json;
pub(crate) mod machine;
pub(crate) mod models;
pub(crate) mod program;
pub(crate) mod rich;
pub(crate) mod terminal;

pub(crate) use folder::Folder;
pub(crate) use machine::{Machine, Task};
pub(crate) use program::{Program, Ran};

/// The simulated driver of one generation with this scenario.
pub(crate) fn driver(
    generation: fake_nvml::Generation,
    scenario: &fake_nvml::Scenario,
) -> fake_nvml::build::Driver {
    fake_nvml::build::Driver::new(generation, scenario)
}

/// Says why a test proves nothing here, where it is seen: the harness keeps what a passing test prints.
pub(crate) fn skipped(why: &str) {
    use std::io::Write as _;
    let mut errors = std::io::stderr();
    writeln!(errors, "SKIPPED: {why}").unwrap();
}
