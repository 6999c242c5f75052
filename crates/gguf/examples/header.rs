//! Prints what the header of a GGUF file says: `cargo run -p gputaskman-gguf --example header -- FILE`.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "an example is a program: it opens the file it is told to and prints"
)]

use std::error::Error;
use std::fs::File;
use std::io;
use std::io::{Read, Seek, SeekFrom};

use gguf::kv::{self, KvSettings};
use gguf::placement::{Offload, place};
use gguf::weights::Weights;
use gguf::{Header, Range, ReadAt, compute, read_header};

/// A file and its length when it was opened.
struct Opened {
    file: File,
    len: u64,
}

impl ReadAt for Opened {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.seek(SeekFrom::Start(offset))?;
        self.file.read(buffer)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: header FILE.gguf")?;
    let file = File::open(&path)?;
    let len = file.metadata()?.len();
    let header = read_header(&mut Opened { file, len })?;
    print_model(&header);
    print_memory(&header);
    for flaw in &header.flaws {
        println!("flaw          {flaw}");
    }
    Ok(())
}

fn print_model(header: &Header) {
    let text = |value: Option<&str>| value.unwrap_or("not stated").to_owned();
    let number = |value: Option<u64>| value.map_or("not stated".to_owned(), |n| n.to_string());
    println!("name          {}", text(header.name()));
    println!("architecture  {}", text(header.architecture()));
    println!("kind          {:?}", header.kind());
    println!(
        "GGUF          version {}, {} keys",
        header.version,
        header.metadata.len()
    );
    println!("parameters    {}", header.parameters());
    let quantization = header.quantization();
    println!(
        "quantization  {}, {} bits per weight",
        text(quantization.label().as_deref()),
        quantization.bits_per_weight.unwrap_or_default()
    );
    println!("layers        {}", number(header.block_count()));
    println!("context       {}", number(header.context_length()));
    println!("vocabulary    {}", number(header.vocabulary_size()));
}

fn print_memory(header: &Header) {
    let weights = Weights::of(header);
    let offload = Offload {
        gpus: 1,
        gpu_layers: Some(u64::MAX),
        ..Offload::default()
    };
    let on_gpu = place([header], &offload).devices.gpu;
    println!("weights       {}", size(Range::exact(weights.total)));
    println!("  all on GPU  {}", size(on_gpu));
    let settings = KvSettings::llama_server_defaults();
    match kv::estimate(header, &settings) {
        Ok(estimate) => {
            println!("cache         {}", size(estimate.range()));
            for part in &estimate.parts {
                println!(
                    "  {:11?} {} in {} layers",
                    part.kind,
                    size(part.bytes),
                    part.layers
                );
            }
            for assumption in &estimate.assumptions {
                println!("  assumed     {assumption}");
            }
        }
        Err(why) => println!("cache         {why}"),
    }
    match compute::estimate(header, &settings, compute::LogitRows::PerSlot) {
        Ok(range) => println!("compute       {}", size(range)),
        Err(why) => println!("compute       {why}"),
    }
}

/// MiB with one decimal.
fn size(range: Range) -> String {
    let tenths = |bytes: u64| {
        let tenths = bytes.saturating_mul(10) >> 20;
        format!("{}.{}", tenths / 10, tenths % 10)
    };
    if range.is_exact() {
        format!("{} MiB", tenths(range.low))
    } else {
        format!("{} to {} MiB", tenths(range.low), tenths(range.high))
    }
}
