//! A folder that stands for a busy desktop with an AMD card, to measure what the search for open devices costs:
//!
//! ```sh
//! cargo run -p xtask -- drm-tree FOLDER
//! cargo run --release -p xtask -- measure -- target/release/gputaskman --root FOLDER
//! ```

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use clap::Args;

/// How large the desktop is.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// Processes
    #[arg(long, default_value_t = 400)]
    pub processes: u32,
    /// Descriptors of each process
    #[arg(long, default_value_t = 25)]
    pub descriptors: u32,
    /// Processes that have the card open, twice each
    #[arg(long, default_value_t = 20)]
    pub holders: u32,
    /// The folder to make; it must not be there yet
    pub folder: PathBuf,
}

const CARD: [(&str, &str); 12] = [
    (
        "uevent",
        "DRIVER=amdgpu\nPCI_CLASS=30000\nPCI_ID=1002:73BF\nPCI_SLOT_NAME=0000:03:00.0\n",
    ),
    ("power/runtime_status", "active\n"),
    ("power/control", "on\n"),
    ("mem_info_vram_total", "17179869184\n"),
    ("mem_info_vram_used", "6442450944\n"),
    ("mem_info_gtt_total", "17179869184\n"),
    ("mem_info_gtt_used", "62914560\n"),
    ("gpu_busy_percent", "3\n"),
    ("mem_busy_percent", "0\n"),
    ("hwmon/hwmon5/name", "amdgpu\n"),
    ("hwmon/hwmon5/temp1_input", "56000\n"),
    ("hwmon/hwmon5/power1_average", "36000000\n"),
];

/// Makes the folder and says how to measure.
pub fn run(options: &Options) -> Result<String> {
    let root = &options.folder;
    fs::create_dir(root).with_context(|| format!("making {}", root.display()))?;
    write(root, "proc/uptime", "20000.50 70000.00\n")?;
    write(root, "proc/sys/kernel/osrelease", "6.14.0-made-up\n")?;
    fs::create_dir_all(root.join("proc/self/ns"))?;
    let mut links = vec![("pid:[4026531836]".to_owned(), "proc/self/ns/pid".to_owned())];
    for node in ["card0", "renderD128"] {
        for (name, content) in CARD {
            write(
                root,
                &format!("sys/class/drm/{node}/device/{name}"),
                content,
            )?;
        }
    }
    for number in 0..options.processes {
        process(
            root,
            options,
            1000 + number,
            number < options.holders,
            &mut links,
        )?;
    }
    make_links(root, &links)?;
    Ok(format!(
        "{} processes with {} descriptors each, {} of the card, in {}\n",
        options.processes,
        options.descriptors,
        2 * options.holders,
        root.display()
    ))
}

/// Makes links with these texts at these places.
fn make_links(root: &Path, links: &[(String, String)]) -> Result<()> {
    let mut shell = Command::new("sh")
        .args([
            "-c",
            "while read -r to at; do ln -s -- \"$to\" \"$at\" || exit 1; done",
        ])
        .current_dir(root)
        .stdin(Stdio::piped())
        .spawn()
        .context("running sh")?;
    if let Some(mut input) = shell.stdin.take() {
        for (to, at) in links {
            writeln!(input, "{to} {at}")?;
        }
    }
    ensure!(shell.wait()?.success(), "making links failed");
    Ok(())
}

fn process(
    root: &Path,
    options: &Options,
    pid: u32,
    is_holder: bool,
    links: &mut Vec<(String, String)>,
) -> Result<()> {
    let zeros = "0 ".repeat(13);
    let stat = format!("{pid} (process) S 1 {pid} {pid} 0 -1 {zeros}{pid} 1 1 0\n");
    write(root, &format!("proc/{pid}/stat"), &stat)?;
    write(root, &format!("proc/{pid}/cmdline"), "/usr/bin/process\0")?;
    write(root, &format!("proc/{pid}/maps"), "")?;
    fs::create_dir_all(root.join(format!("proc/{pid}/fd")))?;
    for number in 0..options.descriptors {
        let link = match number {
            0..=2 => "/dev/null".to_owned(),
            // Two clients of the card.
            3 | 4 if is_holder => {
                let text = format!(
                    "pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t712\ndrm-driver:\tamdgpu\n\
                     drm-client-id:\t{pid}{number}\ndrm-pdev:\t0000:03:00.0\npasid:\t32771\n\
                     drm-total-vram:\t12 MiB\ndrm-shared-vram:\t0\ndrm-resident-vram:\t12 MiB\n\
                     drm-total-gtt:\t2 MiB\ndrm-shared-gtt:\t0\ndrm-resident-gtt:\t2 MiB\n\
                     drm-engine-gfx:\t107322799 ns\n"
                );
                write(root, &format!("proc/{pid}/fdinfo/{number}"), &text)?;
                "/dev/dri/renderD128".to_owned()
            }
            number if number % 3 == 0 => format!("socket:[{pid}{number}]"),
            number => format!("/usr/share/data/{number}"),
        };
        links.push((link, format!("proc/{pid}/fd/{number}")));
    }
    Ok(())
}

fn write(root: &Path, name: &str, content: &str) -> Result<()> {
    let path = root.join(name);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&path, content).with_context(|| format!("writing {}", path.display()))
}
