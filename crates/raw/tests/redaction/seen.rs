//! One answer of a machine, seen through stand-ins.

use std::sync::{Arc, Mutex};

use model::{Gap, Stamp};
use raw::capture::{RedactingMachine, Redaction};
use raw::{
    Answer, HttpReply, Inline, Machine, ProcessRef, Question, Reply, Root, Script, Synthetic,
};

pub(crate) const LEVELS: [Redaction; 2] = [Redaction::Paths, Redaction::Strict];

const WHO: ProcessRef = ProcessRef {
    pid: 7,
    start_ticks: 99,
};

/// Gives this to every question, and keeps which file was asked for.
struct Parrot {
    reply: Reply,
    asked: Arc<Mutex<String>>,
}

impl Script for Parrot {
    fn now(&self) -> Stamp {
        Stamp {
            mono_ns: 1,
            wall_us: 1,
        }
    }

    fn inline(&mut self, _: &Inline) -> Result<Reply, Gap> {
        Ok(self.reply.clone())
    }

    fn post(&mut self, question: &Question) -> Result<Reply, Gap> {
        if let Question::Stat { path, .. } = question {
            *self.asked.lock().unwrap() = path.to_string();
            return Err(Gap::Permission);
        }
        Ok(self.reply.clone())
    }
}

fn machine(reply: Reply, level: Redaction) -> RedactingMachine<Synthetic<Parrot>> {
    noting(reply, level, Arc::default())
}

fn noting(
    reply: Reply,
    level: Redaction,
    asked: Arc<Mutex<String>>,
) -> RedactingMachine<Synthetic<Parrot>> {
    RedactingMachine::new(Synthetic::new(Parrot { reply, asked }), level)
}

fn text(answer: Answer<Reply>) -> String {
    match answer.unwrap().value {
        Reply::Bytes(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn command_line<T: AsRef<str>>(level: Redaction, arguments: &[T]) -> Vec<String> {
    let line: String = arguments
        .iter()
        .flat_map(|argument| [argument.as_ref(), "\0"])
        .collect();
    let answer = machine(Reply::text(&line), level).post(&Question::CommandLine(WHO));
    text(answer)
        .split_terminator('\0')
        .map(str::to_owned)
        .collect()
}

pub(crate) fn environment(level: Redaction, entry: &str) -> String {
    text(machine(Reply::text(&format!("{entry}\0")), level).post(&Question::Environment(WHO)))
}

pub(crate) fn user(level: Redaction, name: &str) -> String {
    text(machine(Reply::text(name), level).post(&Question::UserName(1000)))
}

pub(crate) fn cgroup(level: Redaction, line: &str) -> String {
    text(machine(Reply::text(line), level).inline(&Inline::Cgroup(7)))
}

pub(crate) fn maps(level: Redaction, line: &str) -> String {
    text(machine(Reply::text(line), level).post(&Question::Maps(WHO)))
}

/// The link of this name, and what is asked beneath when somebody asks for the file behind it.
pub(crate) fn link(level: Redaction, name: &str, target: &str) -> (String, String) {
    let asked = Arc::default();
    let reply = Reply::Links(vec![(name.into(), target.into())]);
    let mut machine = noting(reply, level, Arc::clone(&asked));
    let Reply::Links(links) = machine.post(&Question::Links(WHO)).unwrap().value else {
        panic!("no links")
    };
    let shown = links[0].1.to_string();
    let question = Question::Stat {
        root: Root::Process(WHO),
        path: links[0].1.clone(),
    };
    assert!(machine.post(&question).is_err());
    (shown, asked.lock().unwrap().clone())
}

/// The first bytes of a file.
pub(crate) fn first_bytes(level: Redaction, content: &[u8]) -> Vec<u8> {
    let question = Question::File {
        root: Root::Process(WHO),
        path: "/m/x.gguf".into(),
        offset: 0,
        len: 4096,
    };
    match machine(Reply::Bytes(content.into()), level)
        .post(&question)
        .unwrap()
        .value
    {
        Reply::Bytes(bytes) => bytes.to_vec(),
        other => panic!("{other:?}"),
    }
}

/// What is known of a model file.
pub(crate) fn model_file(level: Redaction, found: formats::Description) -> formats::Description {
    let question = Question::ModelFile {
        root: Root::Process(WHO),
        path: "/m/x.safetensors".into(),
    };
    let reply = Reply::Model(raw::ModelFile::Described(Box::new(found)));
    match machine(reply, level).post(&question).unwrap().value {
        Reply::Model(raw::ModelFile::Described(found)) => *found,
        other => panic!("{other:?}"),
    }
}

/// One field of a server's reply.
pub(crate) fn field(level: Redaction, name: &str, value: serde_json::Value) -> serde_json::Value {
    let reply = HttpReply {
        status: 200,
        fields: [(name.to_owned(), value)].into(),
    };
    let question = Question::Http {
        who: WHO,
        port: 1,
        endpoint: raw::Endpoint::LlamaProps,
    };
    match machine(Reply::Http(reply), level)
        .post(&question)
        .unwrap()
        .value
    {
        Reply::Http(mut reply) => reply.fields.remove(name).unwrap(),
        other => panic!("{other:?}"),
    }
}
