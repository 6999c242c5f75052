//! A word that nobody knows, planted anywhere, is not found again.

use proptest::prelude::*;
use raw::capture::Redaction::Strict;
use raw::capture::pseudonyms::Pseudonyms;

use crate::seen::{LEVELS, cgroup, command_line, environment, link, maps, user};

/// Letters and digits that no stand-in and no setting has in this order.
fn canary() -> impl Strategy<Value = String> {
    "zq[g-yG-Y]{4}[g-yG-Y0-9]{0,8}"
}

/// Folders and files made of the word; `@` stands for it.
const PATHS: &[&str] = &[
    "/home/@",
    "/home/@/",
    "/home/john.@",
    "/home/@/@.gguf",
    "/home/@/@-Q4_K_M-00001-of-00003.gguf",
    "/home/@/x@.so.@",
    "/home/@/.@",
    "/home/@/@.tar.gz",
    "/home/@/@.safetensors (deleted)",
    "/usr/local/@/@",
    "/usr/lib/../@",
    "/dev/shm/@",
    "/dev/@",
    "/proc/7/root/@/x",
    "/@/@:@/@.bin",
    "/opt/@ and @/@ @.gguf",
    "/usr/lib/x:/home/@",
    "./@/x.json",
    "~@/x",
    "/sys/../home/@.py",
];

/// Arguments made of the word.
const ARGUMENTS: &[&str] = &[
    "@",
    "-p@",
    "-u@",
    "-@",
    "-@=@",
    "--@7",
    "--7@",
    "--x@7y=1",
    "--x=@",
    "--x:@",
    "--api-key=@",
    "@=@",
    "@=1",
    "@:@",
    "@,@",
    "a=@,b=@",
    "@@@",
    "@.@",
    "@.gguf",
    "@.txt",
    "@ @",
    "@:8080",
    "x@:/@",
    "http://@/@",
    "@/@",
    "{\"@\":1}",
    "[@]",
    "--x={@}",
    "1@",
    "@1",
    "-1@",
    "'@'",
    "@;",
    "--x=/home/@/y",
    "--lora=@.gguf:0.5",
    "127.0.0.1@",
    "10.0.0.1:@",
    "[::1]@",
    "[::1%@]:80",
    "::1%@",
    "q8_0@",
    "on,@",
    "C:\\Users\\@\\x.gguf",
    "--@=7",
    "-ot=@=CPU",
    "env",
    "--user",
    "--api-key",
    "--max-tokens",
    "--tokenizer",
    "-m",
    "-c",
    "--",
    "-",
    "",
    "--host",
    "$@",
    "(@)",
];

/// Lines of control groups made of the word.
const GROUPS: &[&str] = &[
    "0::/@",
    "0::/a/@.service",
    "0::/x-@.slice:cri-containerd:@",
    "@",
    "/@",
    "@:@",
    "1:name=@:/",
    "0:@",
    "0::/lxc.payload.@/x",
    "0::/user@.service",
    "0::/docker-@.scope",
    "0::/..@/@:@",
    "@:@:@",
];

fn planted(form: &str, word: &str) -> String {
    // A flag of letters alone is a flag, whoever named it.
    let word = if form.starts_with("--@") {
        format!("{word}7")
    } else {
        word.to_owned()
    };
    form.replace('@', &word)
}

proptest! {
    #[test]
    fn nothing_planted_in_a_strict_command_line_is_found(
        word in canary(),
        forms in prop::collection::vec(prop::sample::select([ARGUMENTS, PATHS].concat()), 0..9),
        title in any::<bool>(),
    ) {
        let program = if title { format!("x: {word}") } else { format!("/home/{word}/program") };
        let arguments: Vec<String> = [program]
            .into_iter()
            .chain(forms.iter().map(|form| planted(form, &word)))
            .collect();
        let got = command_line(Strict, &arguments);
        prop_assert_eq!(got.len(), arguments.len());
        prop_assert!(!got.concat().contains(&word), "{:?} {:?}", arguments, got);
    }

    #[test]
    fn nothing_planted_elsewhere_is_found(
        word in canary(),
        path in prop::sample::select(PATHS),
        argument in prop::sample::select(ARGUMENTS),
        group in prop::sample::select(GROUPS),
    ) {
        let (path, value) = (planted(path, &word), planted(argument, &word));
        for name in ["LLAMA_ARG_MODEL", "LLAMA_ARG_ALIAS", "HF_HOME", "LLAMA_ARG_CTX_SIZE"] {
            for value in [&path, &value] {
                let got = environment(Strict, &format!("{name}={value}"));
                prop_assert!(!got.contains(&word), "{name}={value} {got}");
            }
        }
        let got = cgroup(Strict, &planted(group, &word));
        prop_assert!(!got.contains(&word), "{group} {got}");
        let got = maps(Strict, &format!("1-2 r--p 0 08:01 5  {path}\n1-2 r--p 0 0:0 0 [{word}]\n"));
        prop_assert!(!got.contains(&word), "{path} {got}");
        prop_assert!(!user(Strict, &word).contains(&word));
        for name in ["cwd", "17"] {
            let (got, _) = link(Strict, name, &path);
            prop_assert!(!got.contains(&word), "{path} {got}");
        }
        let (got, _) = link(Strict, "exe", &format!("/home/{word}/program"));
        prop_assert!(!got.contains(&word), "{got}");
    }

    #[test]
    fn no_folder_and_no_secret_is_found_where_only_paths_are_hidden(
        word in canary(),
        form in prop::sample::select(&[
            "/home/@", "/home/@.@", "/home/@/x.gguf", "/dev/shm/@", "--api-key=@", "x: @", "-p@",
            "--x=/home/@/y.txt", "{\"x\":\"@\"}", "http://@/", "HF_TOKEN=@", "--user=@", "/@/@:@",
        ][..]),
    ) {
        for level in LEVELS {
            let got = command_line(level, &["program", &planted(form, &word)]).concat();
            prop_assert!(!got.contains(&word), "{form} {got}");
        }
    }

    #[test]
    fn restoring_inverts(word in canary(), forms in prop::collection::vec(prop::sample::select(PATHS), 1..5)) {
        for level in LEVELS {
            let mut names = Pseudonyms::new(level);
            let paths: Vec<String> = forms.iter().map(|form| planted(form, &word)).collect();
            let hidden: Vec<String> = paths.iter().map(|path| names.path(path)).collect();
            let folders: Vec<String> = paths.iter().map(|path| names.folder(path)).collect();
            for (path, (hidden, folder)) in paths.iter().zip(hidden.iter().zip(&folders)) {
                prop_assert_eq!(&names.restore(hidden), path);
                prop_assert_eq!(&names.restore(folder), path);
            }
        }
    }
}
