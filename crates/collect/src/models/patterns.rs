//! How the tables' patterns match names of libraries and programs: always whole words, always in lower case.

use model::Text;

/// Folders that hold Python packages, and the one below which packages keep what they compiled themselves.
const PACKAGES: &[&str] = &["site-packages", "dist-packages", ".cache"];

/// Arguments among which the words of a pattern are looked for.
const MAX_WORDS: usize = 64;

/// A mapped file that is a library or a macOS framework.
///
/// A pattern is the start of a library's name, up to where a word ends: `libc10_cuda` fits `libc10_cuda.so`, not
/// `libc10_cudaless.so`. `NAME.` fits nothing but a name that goes on with the dot; `NAME*` and `*NAME` fit anything
/// behind and before. `NAME.dll` is a library of Windows. `FOLDER/NAME` lies right in the Python package `FOLDER`,
/// and `FOLDER/` is any library of it. `NAME.framework` is one of macOS.
#[derive(Debug)]
pub(super) struct Library<'a> {
    /// The file's name as it is.
    pub(super) name: &'a str,
    /// The path in lower case.
    path: String,
}

impl<'a> Library<'a> {
    /// The file at `path`, if it is one.
    pub(super) fn of(path: &'a str) -> Option<Self> {
        let name = base_name(path);
        let lower = path.to_ascii_lowercase();
        let ends = [".dll", ".pyd", ".dylib"];
        let is_library = crate::parse::maps::is_library(path)
            || ends.iter().any(|end| lower.ends_with(end))
            || lower.contains(".framework/");
        is_library.then_some(Self { name, path: lower })
    }

    /// Whether `pattern` fits.
    pub(super) fn fits(&self, pattern: &str) -> bool {
        let name = base_name(&self.path);
        if pattern.ends_with(".framework") {
            return components(&self.path).any(|component| component == pattern);
        }
        if let Some((folder, start)) = pattern.split_once('/') {
            return self.is_in_package(folder, start.is_empty()) && begins(name, start);
        }
        match pattern.strip_suffix(".dll") {
            Some(start) => name
                .strip_suffix(".dll")
                .is_some_and(|it| begins(it, start)),
            None => begins(name, pattern),
        }
    }

    fn is_in_package(&self, folder: &str, or_below: bool) -> bool {
        let folders: Vec<&str> = components(&self.path).collect();
        let folders = folders.split_last().map_or(&[][..], |(_, folders)| folders);
        let is_package = |pair: &[&str]| matches!(pair, [packages, package] if PACKAGES.contains(packages) && *package == folder);
        if or_below {
            folders.windows(2).any(is_package)
        } else {
            folders.len() >= 2 && is_package(folders.get(folders.len() - 2..).unwrap_or_default())
        }
    }
}

fn begins(name: &str, start: &str) -> bool {
    if let Some(start) = start.strip_suffix('*') {
        return name.starts_with(start);
    }
    if let Some(end) = start.strip_prefix('*') {
        let stem = name.split('.').next().unwrap_or(name);
        return stem.ends_with(end);
    }
    name.strip_prefix(start).is_some_and(|rest| {
        rest.is_empty()
            || start.is_empty()
            || start.ends_with('.')
            || rest.starts_with(['.', '_', '-'])
    })
}

/// A running program by its own words, in lower case.
///
/// A pattern is the name of an executable, of a Python script (`webui.py`; installed ones have no ending) or, with
/// `-m`, of a Python module or anything in it. A `*` at the end stands for what does not go on with the same word, one
/// at the start for anything. `NAME WORD` asks for a word among its arguments, `FOLDER/SCRIPT` for a script right in a
/// folder of that name, any script where it is `*`.
#[derive(Debug, Default)]
pub(super) struct Program {
    /// Names of the executable and the console script, most telling first.
    names: Vec<String>,
    /// The Python script as an absolute path, where that is known.
    script: Option<String>,
    module: Option<String>,
    arguments: Vec<String>,
}

impl Program {
    /// What a command line, the executable's path and the working directory tell.
    pub(super) fn of(arguments: &[Text], executable: Option<&str>, folder: Option<&str>) -> Self {
        let mut program = Self::default();
        let mut words = arguments
            .iter()
            .take(MAX_WORDS)
            .map(|word| word.to_ascii_lowercase());
        let first = words.next().unwrap_or_else(String::new);
        let own = program_name(&first);
        // A title that a process gave itself may be split at its spaces.
        if is_python(own) {
            let rest: Vec<String> = words.collect();
            program.read_python(&rest, folder);
        } else {
            program.arguments = words.collect();
            program.names.push(own.to_owned());
        }
        if let Some(executable) = executable {
            let executable = executable.to_ascii_lowercase();
            let name = program_name(crate::parse::maps::without_mark(&executable).0);
            if !name.is_empty() && !is_python(name) && !program.names.iter().any(|it| it == name) {
                program.names.push(name.to_owned());
            }
        }
        program
    }

    /// A program of which nothing but the name is known, as the kernel cuts it.
    pub(super) fn named(name: &str) -> Self {
        Self {
            names: vec![program_name(&name.to_ascii_lowercase()).to_owned()],
            ..Self::default()
        }
    }

    fn read_python(&mut self, words: &[String], folder: Option<&str>) {
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            match word.as_str() {
                // A program given as text.
                "-c" => return,
                "-m" => {
                    self.module = rest.next().cloned();
                    break;
                }
                "-x" | "-w" | "--check-hash-based-pycs" => {
                    rest.next();
                }
                option if option.starts_with('-') => {}
                script => {
                    self.names.push(program_name(script).to_owned());
                    let folder = folder.unwrap_or("").to_ascii_lowercase();
                    self.script = Some(if script.starts_with('/') || folder.is_empty() {
                        script.to_owned()
                    } else {
                        let script = script.strip_prefix("./").unwrap_or(script);
                        format!("{}/{script}", folder.trim_end_matches('/'))
                    });
                    break;
                }
            }
        }
        self.arguments = rest.cloned().collect();
    }

    /// Whether `pattern` fits, and whether more than a name was needed for that.
    pub(super) fn fits(&self, pattern: &str) -> Option<Fit> {
        self.shown(pattern).map(|(fit, _)| fit)
    }

    /// The same with the name that fits.
    pub(super) fn shown(&self, pattern: &str) -> Option<(Fit, &str)> {
        if let Some(module) = pattern.strip_prefix("-m ") {
            let own = self.module.as_deref()?;
            let below = own.strip_prefix(module)?;
            return (below.is_empty() || below.starts_with('.')).then_some((Fit::Words, own));
        }
        if let Some((folder, script)) = pattern.split_once('/') {
            let own = self.script.as_deref()?;
            let (path, name) = own.rsplit_once('/')?;
            let is_script = script == "*" || is_name(name, script);
            return (is_script && is_name(base_name(path), folder)).then_some((Fit::Words, name));
        }
        if let Some(name) = self.names.iter().find(|name| is_name(name, pattern)) {
            return Some((Fit::Name, name));
        }
        let (name, word) = pattern.split_once(' ')?;
        let has_word = self
            .arguments
            .iter()
            .any(|argument| is_name(argument, word));
        let own = self.names.iter().find(|own| is_name(own, name))?;
        has_word.then_some((Fit::Words, own))
    }

    /// The value of an option that is written `--NAME=VALUE`.
    pub(super) fn option(&self, name: &str) -> Option<&str> {
        let mut values = self.arguments.iter();
        values.find_map(|argument| argument.strip_prefix(name)?.strip_prefix('='))
    }
}

/// What a pattern was found in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Fit {
    /// The program's name.
    Name,
    /// Words of its command line.
    Words,
}

/// Characters that the kernel keeps of a thread's name (`TASK_COMM_LEN` without its end).
const COMM_CHARACTERS: usize = 15;

fn is_name(name: &str, pattern: &str) -> bool {
    if let Some(end) = pattern.strip_prefix('*') {
        return name.len() > end.len() && name.ends_with(end);
    }
    if let Some((start, end)) = pattern.split_once('*') {
        let Some(rest) = name
            .strip_prefix(start)
            .and_then(|rest| rest.strip_suffix(end))
        else {
            return name.len() == COMM_CHARACTERS && start.starts_with(name);
        };
        let same_word = |c: char| c.is_ascii_lowercase();
        return !(rest.starts_with(same_word) && start.ends_with(same_word));
    }
    name == pattern || (name.len() == COMM_CHARACTERS && pattern.starts_with(name))
}

/// The name of a program by its path, without the ending that Windows gives it.
fn program_name(path: &str) -> &str {
    let name = base_name(path);
    name.strip_suffix(".exe").unwrap_or(name)
}

fn is_python(name: &str) -> bool {
    ["python", "pythonw", "pypy"].iter().any(|python| {
        name.strip_prefix(python)
            .is_some_and(|version| version.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
    })
}

/// What follows the last separator of a path of any system.
pub(super) fn base_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// The components of a path of any system.
pub(super) fn components(path: &str) -> impl Iterator<Item = &str> {
    path.split(['/', '\\'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(path: &str, pattern: &str) -> bool {
        Library::of(path).is_some_and(|library| library.fits(pattern))
    }

    #[test]
    fn a_library_fits_up_to_the_end_of_a_word() {
        for (path, pattern) in [
            ("/l/libtorch_cuda.so", "libtorch"),
            ("/l/libcublasLt.so.12", "libcublaslt"),
            ("C:\\l\\cudart64_12.dll", "cudart64.dll"),
            ("/l/iHD_drv_video.so", "*_drv_video"),
            ("/x/site-packages/vllm/_C.abi3.so", "vllm/"),
            ("/x/site-packages/vllm/a/b.so", "vllm/"),
            ("/x/dist-packages/torch/_C.cpython-311.so", "torch/_c"),
            ("/S/L/Frameworks/Metal.framework/Metal", "metal.framework"),
        ] {
            assert!(fits(path, pattern), "{path} {pattern}");
        }
        for (path, pattern) in [
            ("/l/libtorchlight.so", "libtorch"),
            ("/l/libcudart.so", "libcuda."),
            ("/l/cudart64_12.so", "cudart64.dll"),
            ("/home/torch/_C.cpython-311.so", "torch/_c"),
            ("/x/site-packages/torch/a/_C.so", "torch/_c"),
            ("/home/vllm/x.so", "vllm/"),
            ("/opt/libtorch/data.bin", "libtorch"),
        ] {
            assert!(!fits(path, pattern), "{path} {pattern}");
        }
    }

    #[test]
    fn scripts_modules_and_names_are_told_apart() {
        let program = |line: &str| {
            let words: Vec<Text> = line.split(' ').map(Text::from).collect();
            Program::of(&words, None, Some("/srv/ComfyUI"))
        };
        for (line, pattern) in [
            (
                "/v/bin/python3.11 -u -X dev main.py --listen",
                "comfyui/main.py",
            ),
            ("python3 -m vllm.entrypoints.openai.api_server", "-m vllm"),
            ("/v/bin/python /v/bin/vllm serve x", "vllm serve"),
            ("python train_gpt.py", "train*.py"),
            ("VLLM::Worker_TP0", "vllm::*"),
            ("C:\\Games\\Foo-Win64-Shipping.exe", "*-win64-shipping"),
        ] {
            assert!(program(line).fits(pattern).is_some(), "{line} {pattern}");
        }
        for (line, pattern) in [
            ("python3 -m vllmish", "-m vllm"),
            ("python3 -c vllm serve", "vllm"),
            ("python trainspotting.py", "train*.py"),
            ("python3 /home/vllm/x.py", "vllm"),
            ("python3 sub/main.py", "comfyui/main.py"),
            ("obsidian", "obs"),
            ("chromecast", "chrome*"),
        ] {
            assert_eq!(program(line).fits(pattern), None, "{line} {pattern}");
        }
    }

    #[test]
    fn a_name_that_the_kernel_cut_is_known() {
        assert!(
            Program::named("gpu-screen-reco")
                .fits("gpu-screen-recorder")
                .is_some()
        );
        assert!(
            Program::named("wine64-preload")
                .fits("wine64-preloader")
                .is_none()
        );
    }
}
