//! Settings of llama.cpp programs, from their command line and the allowed part of their
//! environment. The command line wins, as it does in llama.cpp.

use gguf::kv::CacheType;
use gguf::placement::Overrides;
use gguf::weights::ExpertsOnCpu;
use model::Text;

use super::spelling;

/// What is known of the settings of a llama.cpp program; `None` is unknown, not the default.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Flags {
    /// Model files named, with the flag or variable that names them.
    pub(super) models: Vec<(&'static str, Text)>,
    /// Whether the words are llama.cpp's, so that the numbers below may be believed.
    pub(super) is_llama: bool,
    /// Whether everything that can set them was readable, so that an unset one is the default.
    pub(super) complete: bool,
    /// The file that it writes its log to.
    pub(super) log_file: Option<Text>,
    /// The port that it was told to listen on.
    pub(super) port: Option<u16>,
    pub(super) context: Option<u64>,
    pub(super) parallel: Option<u32>,
    pub(super) unified: Option<bool>,
    pub(super) type_k: Option<CacheType>,
    pub(super) type_v: Option<CacheType>,
    pub(super) ubatch: Option<u32>,
    pub(super) batch: Option<u32>,
    pub(super) flash_attention: Option<bool>,
    pub(super) swa_full: bool,
    pub(super) gpu_layers: Option<u64>,
    pub(super) kv_on_cpu: bool,
    /// What places tensors by name, in the order of the command line.
    pub(super) placed: Vec<Placed>,
    /// The projector stays in system memory.
    pub(super) projector_on_cpu: bool,
    pub(super) draft: DraftFlags,
    sleep: SleepWords,
}

/// What its words say of unloading the model when nobody asks anything.
#[derive(Clone, Debug, Default, PartialEq)]
struct SleepWords {
    /// Somewhere a limit is given, whatever overrides it elsewhere.
    has_limit: bool,
    /// Somewhere it is said that there is none.
    says_never: bool,
    /// The program is llama.cpp's own, which has no settings but its words and its environment.
    is_own_program: bool,
    /// A router started it, with a preset that is not seen.
    of_router: bool,
}

/// A flag that places tensors by name.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Placed {
    /// `-ot`.
    Pattern(Text),
    /// `--cpu-moe`, `--n-cpu-moe`.
    Experts(ExpertsOnCpu),
}

/// What is known of the settings of a draft model.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct DraftFlags {
    pub(super) gpu_layers: Option<u64>,
    pub(super) type_k: Option<CacheType>,
    pub(super) type_v: Option<CacheType>,
}

/// The flag that names a draft model.
pub(super) const DRAFT_FLAG: &str = "--model-draft";
/// The flag that names a projector.
pub(super) const PROJECTOR_FLAG: &str = "--mmproj";
/// The flag that names an adapter.
pub(super) const ADAPTER_FLAG: &str = "--lora";

/// A flag with its spellings and its environment variable.
struct Spec {
    spellings: &'static [&'static str],
    variable: Option<&'static str>,
    set: fn(&mut Flags, &str),
}

/// Flags that name model files: always believed, whatever the program.
const MODEL_FLAGS: &[(&str, &[&str])] = &[
    ("-m", &["-m", "--model", "--model-path"]),
    (DRAFT_FLAG, &["-md", "--model-draft", "--spec-draft-model"]),
    (PROJECTOR_FLAG, &["-mm", "--mmproj"]),
    (ADAPTER_FLAG, &["--lora"]),
];

const SPECS: &[Spec] = &[
    Spec {
        spellings: &["--log-file"],
        variable: Some("LLAMA_LOG_FILE"),
        set: |flags, value| flags.log_file = Some(value.into()),
    },
    Spec {
        spellings: &["--port"],
        variable: None,
        set: |flags, value| flags.port = value.parse().ok(),
    },
    Spec {
        spellings: &["--sleep-idle-seconds"],
        variable: Some("LLAMA_ARG_SLEEP_IDLE_SECONDS"),
        set: |flags, value| {
            let never = value.parse::<i64>().is_ok_and(|seconds| seconds < 0);
            flags.sleep.has_limit |= !never;
            flags.sleep.says_never |= never;
        },
    },
    Spec {
        spellings: &["-c", "--ctx-size"],
        variable: Some("LLAMA_ARG_CTX_SIZE"),
        set: |flags, value| flags.context = value.parse().ok(),
    },
    Spec {
        spellings: &["-np", "--parallel"],
        variable: Some("LLAMA_ARG_N_PARALLEL"),
        set: |flags, value| flags.parallel = value.parse().ok().filter(|n| *n > 0),
    },
    Spec {
        spellings: &["-ctk", "--cache-type-k"],
        variable: Some("LLAMA_ARG_CACHE_TYPE_K"),
        set: |flags, value| flags.type_k = CacheType::from_name(value),
    },
    Spec {
        spellings: &["-ctv", "--cache-type-v"],
        variable: Some("LLAMA_ARG_CACHE_TYPE_V"),
        set: |flags, value| flags.type_v = CacheType::from_name(value),
    },
    Spec {
        spellings: &["-ub", "--ubatch-size"],
        variable: Some("LLAMA_ARG_UBATCH"),
        set: |flags, value| flags.ubatch = value.parse().ok(),
    },
    Spec {
        spellings: &["-b", "--batch-size"],
        variable: None,
        set: |flags, value| flags.batch = value.parse().ok(),
    },
    Spec {
        spellings: &["-fa", "--flash-attn"],
        variable: Some("LLAMA_ARG_FLASH_ATTN"),
        set: |flags, value| {
            flags.flash_attention = match value {
                "on" | "1" | "true" => Some(true),
                "off" | "0" | "false" => Some(false),
                _ => None,
            };
        },
    },
    Spec {
        spellings: &["-ngl", "--gpu-layers", "--n-gpu-layers"],
        variable: Some("LLAMA_ARG_N_GPU_LAYERS"),
        set: |flags, value| flags.gpu_layers = layers(value),
    },
    Spec {
        spellings: &[
            "-ngld",
            "--gpu-layers-draft",
            "--n-gpu-layers-draft",
            "--spec-draft-ngl",
        ],
        variable: None,
        set: |flags, value| flags.draft.gpu_layers = layers(value),
    },
    Spec {
        spellings: &["-ctkd", "--cache-type-k-draft", "--spec-draft-type-k"],
        variable: None,
        set: |flags, value| flags.draft.type_k = CacheType::from_name(value),
    },
    Spec {
        spellings: &["-ctvd", "--cache-type-v-draft", "--spec-draft-type-v"],
        variable: None,
        set: |flags, value| flags.draft.type_v = CacheType::from_name(value),
    },
    Spec {
        spellings: &["-ncmoe", "--n-cpu-moe"],
        variable: Some("LLAMA_ARG_N_CPU_MOE"),
        set: |flags, value| {
            let first = value
                .parse()
                .map_or(ExpertsOnCpu::Unknown, ExpertsOnCpu::FirstLayers);
            flags.placed.push(Placed::Experts(first));
        },
    },
    Spec {
        spellings: &["-ot", "--override-tensor"],
        variable: Some("LLAMA_ARG_OVERRIDE_TENSOR"),
        set: |flags, value| flags.placed.push(Placed::Pattern(value.into())),
    },
];

/// A flag without a value, and what it sets.
type Switch = (&'static [&'static str], fn(&mut Flags));

/// Flags without a value.
const SWITCHES: &[Switch] = &[
    (&["-kvu", "--kv-unified"], |flags| {
        flags.unified = Some(true);
    }),
    (&["--swa-full"], |flags| flags.swa_full = true),
    (&["-nkvo", "--no-kv-offload"], |flags| {
        flags.kv_on_cpu = true;
    }),
    (&["-cmoe", "--cpu-moe"], |flags| {
        flags.placed.push(Placed::Experts(ExpertsOnCpu::All));
    }),
    (&["--no-mmproj-offload"], |flags| {
        flags.projector_on_cpu = true;
    }),
];

impl Flags {
    /// Reads a command line and, where it was readable, the allowed environment.
    pub(super) fn read(arguments: &[Text], environment: Option<&str>) -> Self {
        let mut flags = Self {
            complete: environment.is_some(),
            ..Self::default()
        };
        flags.is_llama = speaks_llama(arguments);
        flags.sleep.is_own_program = arguments.first().is_some_and(|it| is_own_program(it));
        if let Some(environment) = environment.filter(|_| flags.is_llama) {
            flags.read_environment(environment);
        }
        flags.read_arguments(arguments);
        flags.settle();
        flags
    }

    /// Whether it is certain that it does not unload its model when nobody asks anything. A program that llama.cpp is
    /// built into can have the limit set from anywhere, and so can a router's child.
    pub(super) const fn never_sleeps(&self) -> bool {
        let sleep = &self.sleep;
        self.complete
            && !sleep.has_limit
            && !sleep.of_router
            && (sleep.is_own_program || sleep.says_never)
    }

    /// The flags that place tensors by name, for the arithmetic.
    pub(super) fn overrides(&self) -> Overrides {
        let mut overrides = Overrides::default();
        for placed in &self.placed {
            match placed {
                Placed::Pattern(value) => overrides.push_pattern(value),
                Placed::Experts(experts) => overrides.push_experts(*experts),
            }
        }
        overrides
    }

    fn read_environment(&mut self, environment: &str) {
        for entry in environment.split('\0') {
            let Some((name, value)) = entry.split_once('=') else {
                continue;
            };
            if name == "LLAMA_ARG_CPU_MOE" && !["0", "off", "false", "disabled"].contains(&value) {
                self.placed.push(Placed::Experts(ExpertsOnCpu::All));
            }
            self.sleep.of_router |= name == "LLAMA_SERVER_ROUTER_PORT" && !value.is_empty();
            if name == "LLAMA_ARG_MODEL" {
                self.models.push(("LLAMA_ARG_MODEL", value.into()));
            }
            if let Some(spec) = SPECS.iter().find(|spec| spec.variable == Some(name)) {
                (spec.set)(self, value);
            }
        }
    }

    fn read_arguments(&mut self, arguments: &[Text]) {
        let mut rest = arguments.iter().skip(1).peekable();
        while let Some(argument) = rest.next() {
            let (name, attached) = spelling::option(argument);
            let name = &*name;
            if let Some((flag, _)) = MODEL_FLAGS
                .iter()
                .find(|(_, spellings)| spellings.contains(&name))
            {
                if let Some(value) = attached.map(Text::from).or_else(|| rest.next().cloned()) {
                    // The command line's model replaces the environment's.
                    if *flag == "-m" {
                        self.models.retain(|(from, _)| *from != "LLAMA_ARG_MODEL");
                    }
                    // `-m` means a module to Python: only what looks like a file counts.
                    if looks_like_file(&value) {
                        self.models.push((flag, value));
                    }
                }
                continue;
            }
            if self.is_llama {
                if let Some((_, set)) = SWITCHES.iter().find(|(names, _)| names.contains(&name)) {
                    set(self);
                    continue;
                }
                if let Some(spec) = SPECS.iter().find(|spec| spec.spellings.contains(&name)) {
                    match attached {
                        Some(value) => (spec.set)(self, value),
                        // `-fa` took no value before autumn 2025.
                        None if name == "-fa" || name == "--flash-attn" => {
                            match rest.peek().filter(|next| !next.starts_with('-')) {
                                Some(value) => (spec.set)(self, value),
                                None => self.flash_attention = Some(true),
                            }
                        }
                        None => {
                            if let Some(value) = rest.next() {
                                (spec.set)(self, value);
                            }
                        }
                    }
                    continue;
                }
            }
            // `vllm serve FOLDER`
            if name == "serve"
                && let Some(folder) = rest.peek().filter(|next| next.contains('/'))
                && !self.is_llama
            {
                self.models.push(("argument", Text::clone(folder)));
                rest.next();
                continue;
            }
            let value = attached.unwrap_or(argument);
            if looks_like_model(value) && !self.models.iter().any(|(_, named)| **named == *value) {
                self.models.push(("argument", value.into()));
            }
        }
    }

    /// Fills in the defaults that hold for every build, where nothing unread could change them.
    fn settle(&mut self) {
        if !(self.is_llama && self.complete) {
            return;
        }
        for unset in [
            &mut self.type_k,
            &mut self.type_v,
            &mut self.draft.type_k,
            &mut self.draft.type_v,
        ] {
            unset.get_or_insert(CacheType::F16);
        }
        let ubatch = *self.ubatch.get_or_insert(512);
        if let Some(batch) = self.batch {
            self.ubatch = Some(ubatch.min(batch));
        }
        // Slots that are asked for do not share one cache unless that is asked for too.
        if self.parallel.is_some() && self.unified.is_none() {
            self.unified = Some(false);
        }
    }
}

/// A number of layers, `all` being more than any model has; `auto` is not known.
fn layers(value: &str) -> Option<u64> {
    if value == "all" {
        Some(u64::MAX)
    } else {
        value.parse().ok()
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether the program's words are llama.cpp's: its own programs, and Ollama's runner, which is one.
fn speaks_llama(arguments: &[Text]) -> bool {
    arguments.iter().take(3).any(|argument| {
        let name = file_name(argument).to_ascii_lowercase();
        name.starts_with("llama") || name.starts_with("ollama") || name == "com.docker.llama-server"
    })
}

/// Whether a program by this path is llama.cpp's server itself, and not one that a script or a library runs it in.
fn is_own_program(path: &str) -> bool {
    let name = file_name(path).to_ascii_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    matches!(
        name,
        "llama-server" | "com.docker.llama-server" | "llama" | "llamafile"
    ) || name.ends_with(".llamafile")
}

fn looks_like_file(value: &str) -> bool {
    value.contains('/') || looks_like_model(value)
}

fn looks_like_model(value: &str) -> bool {
    formats::names::may_be_model(value)
}

#[cfg(test)]
mod tests;
