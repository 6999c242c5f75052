//! A stand-in for llama-server: this program once more, under that name, with a model file open and a port to ask.
//!
//! It says what a server of build b6000 or newer says of itself, with one slot at work whose counters move. The model
//! is a whole header with its vocabulary, and a hole where 4.6 GiB of weights would be: nobody reads those.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::gguf_file::{GgufFile, LLAMA_8B};

/// The name that a server goes by, which says to this program that it is to be one.
const NAME: &str = "llama-server";

const CONTEXT: u32 = 8192;

/// Longest head of a request that is read.
const MAX_HEAD: usize = 64;

/// Writes a model's file: 4.6 GiB long, of which the header alone takes room on a disk.
pub(super) fn write_model(folder: &Path, number: usize) -> Result<PathBuf> {
    std::fs::create_dir_all(folder)?;
    let file = folder.join(format!("llama-3.1-8b-instruct-{number}-q4_k_m.gguf"));
    GgufFile::transformer(&LLAMA_8B)
        .write(&file)
        .with_context(|| format!("writing {}", file.display()))?;
    Ok(file)
}

/// This program under the server's name, beside the model.
fn program(model: &Path) -> Result<PathBuf> {
    let named = model.with_file_name(format!("{NAME}{}", std::env::consts::EXE_SUFFIX));
    if named.exists() {
        std::fs::remove_file(&named)?;
    }
    let own = std::env::current_exe()?;
    std::fs::hard_link(&own, &named)
        .or_else(|_| std::fs::copy(&own, &named).map(drop))
        .with_context(|| format!("making {}", named.display()))?;
    Ok(named)
}

/// Starts one, and returns when it listens.
pub(super) fn start(model: &Path) -> Result<Child> {
    let mut child = Command::new(program(model)?)
        .arg("-m")
        .arg(model)
        .args(["-c", &CONTEXT.to_string(), "-ngl", "99", "--port", "0"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .context("starting the stand-in for a model server")?;
    let mut line = String::new();
    let output = child.stdout.take().context("its output")?;
    BufReader::new(output).read_line(&mut line)?;
    ensure!(
        line.starts_with("listening"),
        "the stand-in for a model server ended"
    );
    Ok(child)
}

/// Serves, where this program was started under a server's name. Returns only then, with why it could not go on.
pub fn serve_if_asked() -> Option<anyhow::Error> {
    let mut arguments = std::env::args();
    let program = arguments.next()?;
    let is_named = Path::new(&program).file_stem()? == NAME;
    is_named.then(|| match serve(&arguments.nth(1).unwrap_or_default()) {
        Ok(()) => anyhow::anyhow!("nobody asks any more"),
        Err(error) => error,
    })
}

fn serve(model: &str) -> Result<()> {
    let _held = File::open(model).with_context(|| format!("opening {model}"))?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut output = std::io::stdout();
    writeln!(output, "listening")?;
    output.flush()?;
    let mut decoded = 0_u64;
    for stream in listener.incoming() {
        decoded += 40;
        // Who hangs up early harms nobody.
        let _answered = answer(stream?, model, decoded);
    }
    Ok(())
}

fn answer(mut stream: TcpStream, model: &str, decoded: u64) -> Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().context("no request")??;
    for line in lines.by_ref().take(MAX_HEAD) {
        if line?.is_empty() {
            break;
        }
    }
    let body = match request.split(' ').nth(1) {
        Some("/props") => Some(props(model)),
        Some("/slots") => Some(slots(decoded)),
        _ => None,
    };
    let (status, body) = match body {
        Some(body) => ("200 OK", body.to_string()),
        None => ("404 Not Found", String::new()),
    };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )?;
    Ok(())
}

fn props(model: &str) -> Value {
    json!({
        "default_generation_settings": { "id": 0, "n_ctx": CONTEXT, "params": { "n_predict": -1, "temperature": 0.8 } },
        "total_slots": 1, "model_path": model, "chat_template": "{{ messages }}".repeat(200),
        "build_info": "b6000-00000000", "endpoint_slots": true, "is_sleeping": false,
    })
}

fn slots(decoded: u64) -> Value {
    json!([{
        "id": 0, "n_ctx": CONTEXT, "is_processing": true, "id_task": 7, "n_prompt_tokens": 700 + decoded % 4000,
        "n_prompt_tokens_processed": 700, "next_token": [{ "has_next_token": true, "n_decoded": decoded % 4000 }],
    }])
}
