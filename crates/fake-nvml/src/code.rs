//! NVML's return codes: their numbers, their names in scenario files, and what `nvmlErrorString`
//! says.

use std::ffi::CStr;

use serde::{Deserialize, Serialize};

/// An `nvmlReturn_t`. In a scenario file: the name without `NVML_ERROR_`, or the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Spelling", into = "Spelling")]
pub struct Code(pub i32);

impl Code {
    pub const SUCCESS: Self = Self(0);
    pub const UNINITIALIZED: Self = Self(1);
    pub const INVALID_ARGUMENT: Self = Self(2);
    pub const NOT_SUPPORTED: Self = Self(3);
    pub const NO_PERMISSION: Self = Self(4);
    pub const NOT_FOUND: Self = Self(6);
    pub const INSUFFICIENT_SIZE: Self = Self(7);
    pub const DRIVER_NOT_LOADED: Self = Self(9);
    pub const TIMEOUT: Self = Self(10);
    pub const FUNCTION_NOT_FOUND: Self = Self(13);
    pub const GPU_IS_LOST: Self = Self(15);
    pub const LIB_RM_VERSION_MISMATCH: Self = Self(18);
    pub const ARGUMENT_VERSION_MISMATCH: Self = Self(25);
    pub const UNKNOWN: Self = Self(999);

    /// The code of that name, in any case, with or without `NVML_` and `ERROR_`.
    pub fn from_name(name: &str) -> Option<Self> {
        let upper = name.trim().to_ascii_uppercase();
        let upper = upper.strip_prefix("NVML_").unwrap_or(&upper);
        let upper = upper.strip_prefix("ERROR_").unwrap_or(upper);
        let found = TABLE.iter().find(|(_, name, _)| *name == upper)?;
        Some(Self(found.0))
    }

    /// The name without `NVML_ERROR_`, or nothing for a number that has none here.
    pub fn name(self) -> Option<&'static str> {
        TABLE
            .iter()
            .find(|(number, ..)| *number == self.0)
            .map(|(_, name, _)| *name)
    }

    /// What `nvmlErrorString` says.
    pub fn text(self) -> &'static CStr {
        let found = TABLE.iter().find(|(number, ..)| *number == self.0);
        found.map_or(c"Unknown Error", |(_, _, text)| text)
    }
}

const TABLE: &[(i32, &str, &CStr)] = &[
    (0, "SUCCESS", c"Success"),
    (1, "UNINITIALIZED", c"Uninitialized"),
    (2, "INVALID_ARGUMENT", c"Invalid Argument"),
    (3, "NOT_SUPPORTED", c"Not Supported"),
    (4, "NO_PERMISSION", c"Insufficient Permissions"),
    (5, "ALREADY_INITIALIZED", c"Already Initialized"),
    (6, "NOT_FOUND", c"Not Found"),
    (7, "INSUFFICIENT_SIZE", c"Insufficient Size"),
    (8, "INSUFFICIENT_POWER", c"Insufficient External Power"),
    (9, "DRIVER_NOT_LOADED", c"Driver Not Loaded"),
    (10, "TIMEOUT", c"Timeout"),
    (11, "IRQ_ISSUE", c"Interrupt Request Issue"),
    (12, "LIBRARY_NOT_FOUND", c"NVML Shared Library Not Found"),
    (13, "FUNCTION_NOT_FOUND", c"Function Not Found"),
    (14, "CORRUPTED_INFOROM", c"Corrupted infoROM"),
    (15, "GPU_IS_LOST", c"GPU is lost"),
    (16, "RESET_REQUIRED", c"GPU requires restart"),
    (
        17,
        "OPERATING_SYSTEM",
        c"The operating system has blocked the request.",
    ),
    (
        18,
        "LIB_RM_VERSION_MISMATCH",
        c"Driver/library version mismatch",
    ),
    (19, "IN_USE", c"In use by another client"),
    (20, "MEMORY", c"Insufficient Memory"),
    (21, "NO_DATA", c"No data"),
    (23, "INSUFFICIENT_RESOURCES", c"Insufficient resources"),
    (
        25,
        "ARGUMENT_VERSION_MISMATCH",
        c"Argument version mismatch",
    ),
    (26, "DEPRECATED", c"Deprecated"),
    (27, "NOT_READY", c"Not ready"),
    (28, "GPU_NOT_FOUND", c"No GPUs found"),
    (999, "UNKNOWN", c"Unknown Error"),
];

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Spelling {
    Number(i32),
    Name(String),
}

impl TryFrom<Spelling> for Code {
    type Error = String;

    fn try_from(spelling: Spelling) -> Result<Self, String> {
        match spelling {
            Spelling::Number(number) => Ok(Self(number)),
            Spelling::Name(name) => Self::from_name(&name)
                .ok_or_else(|| format!("no NVML return code is called {name:?}")),
        }
    }
}

impl From<Code> for Spelling {
    fn from(code: Code) -> Self {
        match code.name() {
            Some(name) => Self::Name(name.to_owned()),
            None => Self::Number(code.0),
        }
    }
}
