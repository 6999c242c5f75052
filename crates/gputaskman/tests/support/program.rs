//! Running the real binary with nothing inherited, and bounded in time.

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use fake_nvml::build::{Driver, SCENARIO_VARIABLE};
use serde_json::Value;

/// Nothing the program does alone may take this long, on any machine.
pub(crate) const LIMIT: Duration = Duration::from_mins(1);

/// The binary under test.
pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_gputaskman");

/// A home that is nobody's.
pub(crate) fn home() -> PathBuf {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("home");
    std::fs::create_dir_all(&home).unwrap();
    home
}

/// The program with its arguments and environment, before it starts.
pub(crate) struct Program(Command);

/// What it did.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
}

impl Program {
    /// No variable is inherited, so no driver is found unless the machine has one.
    pub(crate) fn new<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Self {
        let mut command = Command::new(BINARY);
        command
            .args(arguments)
            .env_clear()
            .env("HOME", home())
            .env("LANG", "C.UTF-8")
            .stdin(Stdio::null());
        Self(command)
    }

    /// A line of arguments, separated by spaces.
    pub(crate) fn line(arguments: &str) -> Self {
        Self::new(arguments.split_whitespace())
    }

    #[must_use]
    pub(crate) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.0.arg(argument);
        self
    }

    #[must_use]
    pub(crate) fn args<S: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.0.args(arguments);
        self
    }

    /// With this simulated driver.
    #[must_use]
    pub(crate) fn driver(mut self, driver: &Driver) -> Self {
        self.0
            .env("LD_LIBRARY_PATH", driver.folder())
            .env(SCENARIO_VARIABLE, driver.scenario_path());
        self
    }

    #[must_use]
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.0.env(name, value);
        self
    }

    /// As the user nobody; needs full rights.
    #[must_use]
    pub(crate) fn by_nobody(mut self) -> Self {
        std::os::unix::process::CommandExt::uid(&mut self.0, 65534);
        self
    }

    /// Runs it to its end, if it can be started at all.
    pub(crate) fn try_run(mut self) -> Option<Ran> {
        self.0.stdout(Stdio::piped()).stderr(Stdio::piped());
        let since = Instant::now();
        let child = self.0.spawn().ok()?;
        Some(Started { child, since }.finish())
    }

    /// On the machine below this folder.
    #[must_use]
    pub(crate) fn root(mut self, folder: &Path) -> Self {
        self.0.arg("--root").arg(folder);
        self
    }

    /// As one of the processes of a new PID namespace, where so many others have `library` mapped. `None` where this
    /// user may not make one.
    pub(crate) fn in_a_new_pid_namespace(self, others: usize, library: &Path) -> Option<Self> {
        let unshare: &[&str] = if rustix::process::geteuid().is_root() {
            &["--pid", "--fork", "--mount-proc"]
        } else {
            &[
                "--user",
                "--map-root-user",
                "--pid",
                "--fork",
                "--mount-proc",
            ]
        };
        let may = Command::new("unshare")
            .args(unshare)
            .arg("true")
            .stderr(Stdio::null())
            .status();
        if !may.is_ok_and(|status| status.success()) {
            return None;
        }
        // The others end with the namespace, which ends with its first process, the shell.
        let other = "LD_PRELOAD=$LIBRARY sleep 3600 >/dev/null 2>&1 & \
                     until grep -q libcuda /proc/$!/maps 2>/dev/null; do :; done; ";
        let script = format!("{}\"$@\"; exit $?", other.repeat(others));
        let mut command = Command::new("unshare");
        command
            .args(unshare)
            .args(["sh", "-c", &script, "sh"])
            .arg(self.0.get_program())
            .args(self.0.get_args())
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("LIBRARY", library)
            .envs(
                self.0
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            )
            .stdin(Stdio::null());
        Some(Self(command))
    }

    #[must_use]
    pub(crate) fn stdout(mut self, to: Stdio) -> Self {
        self.0.stdout(to);
        self
    }

    /// Starts it with both outputs piped.
    pub(crate) fn start(mut self) -> Started {
        self.0.stdout(Stdio::piped()).stderr(Stdio::piped());
        Started {
            child: self.0.spawn().unwrap(),
            since: Instant::now(),
        }
    }

    /// Runs it to its end.
    pub(crate) fn run(self) -> Ran {
        self.start().finish()
    }

    /// Runs it with the output going where [`Self::stdout`] said.
    pub(crate) fn run_as_set(mut self) -> Ran {
        self.0.stderr(Stdio::piped());
        Started {
            child: self.0.spawn().unwrap(),
            since: Instant::now(),
        }
        .finish()
    }
}

/// The program while it runs; it is ended with this value.
pub(crate) struct Started {
    pub(crate) child: Child,
    since: Instant,
}

impl Started {
    pub(crate) fn finish(mut self) -> Ran {
        let stdout = self.child.stdout.take().map(drain);
        let stderr = self.child.stderr.take().map(drain);
        let wait = |output: Option<Receiver<Vec<u8>>>| match output {
            Some(output) => output
                .recv_timeout(LIMIT.saturating_sub(self.since.elapsed()))
                .expect("the program ends in bounded time"),
            None => Vec::new(),
        };
        let (stdout, stderr) = (wait(stdout), wait(stderr));
        let status = self.child.wait().unwrap();
        Ran {
            code: status.code(),
            stdout,
            stderr: String::from_utf8(stderr).unwrap(),
            took: self.since.elapsed(),
        }
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // Where it has ended already, both say so.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

fn drain(mut from: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut all = Vec::new();
        from.read_to_end(&mut all).unwrap();
        // Whoever waited may have given up.
        let _gone = sender.send(all);
    });
    receiver
}

impl Ran {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }

    /// The one document it printed.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout)
            .unwrap_or_else(|error| panic!("{error} in {:?}; {}", self.text(), self.stderr))
    }

    /// The documents it printed, one a line.
    pub(crate) fn lines(&self) -> Vec<Value> {
        let lines = self.text().lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// It ended with this code; what it said otherwise.
    #[track_caller]
    pub(crate) fn ended(&self, code: i32) -> &Self {
        assert_eq!(
            self.code,
            Some(code),
            "stdout: {} stderr: {}",
            String::from_utf8_lossy(&self.stdout),
            self.stderr
        );
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self
    }

    /// It ended with this code, printed nothing, and said all of these on stderr.
    #[track_caller]
    pub(crate) fn refused(&self, code: i32, words: &[&str]) {
        self.ended(code);
        assert_eq!(self.text(), "", "stdout of a refused command");
        for word in words {
            assert!(self.stderr.contains(word), "{word:?} in {:?}", self.stderr);
        }
    }
}
