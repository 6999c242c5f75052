//! Tells a simulated driver its scenario.
#![expect(unsafe_code, reason = "calls a C library")]
#![expect(clippy::unwrap_used, reason = "what helps the tests fails them")]

use std::ffi::{CString, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use fake_nvml::build::{Driver, USE_SCENARIO};
use fake_nvml::{Generation, Scenario};
use libloading::{Library, Symbol};

/// A driver in a folder of its own, loaded, so that loading it again finds this one.
pub(crate) struct Rig {
    driver: Driver,
    _library: Library,
}

impl Rig {
    pub(crate) fn new(generation: Generation, scenario: &Scenario) -> Self {
        let driver = Driver::new(generation, scenario);
        // SAFETY: the library's only start-up code is Rust's own.
        let library = unsafe { Library::new(driver.library_path()) }.unwrap();
        let path = driver.scenario_path();
        let path = CString::new(path.as_os_str().as_bytes()).unwrap();
        // SAFETY: the exported function has this signature.
        let name: Symbol<'_, unsafe extern "C" fn(*const c_char) -> i32> =
            unsafe { library.get(USE_SCENARIO) }.unwrap();
        // SAFETY: the path is a C string that outlives the call.
        let rc = unsafe { name(path.as_ptr()) };
        assert_eq!(rc, 0);
        Self {
            driver,
            _library: library,
        }
    }

    pub(crate) fn library(&self) -> PathBuf {
        self.driver.library_path()
    }

    /// Changes the scenario. The library looks for changes every 100 ms.
    pub(crate) fn change(&self, scenario: &Scenario) {
        scenario.write(&self.driver.scenario_path()).unwrap();
    }
}
