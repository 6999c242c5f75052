//! What is never asked, and how seldom the rest is.

use model::{EndpointState, Gap, ServerState};
use raw::Endpoint;
use serde_json::{Value, json};

use super::machine::{Simulated, Task};

const PID: u32 = 10;

fn props(sleeping: &Value) -> Value {
    json!({
        "default_generation_settings": { "n_ctx": 1024 }, "total_slots": 1, "model_path": "/m.gguf",
        "build_info": "b11434-unknown", "endpoint_slots": true, "is_sleeping": sleeping,
    })
}

fn slots() -> Value {
    json!([{ "id": 0, "n_ctx": 1024, "is_processing": false }])
}

fn server(line: &str, props: Value) -> Simulated {
    Simulated::new([(PID, Task::new("llama-server", line).at(8080))])
        .answering(PID, Endpoint::LlamaProps, props)
        .answering(PID, Endpoint::LlamaSlots, slots())
}

fn state(found: &model::Server, path: &str) -> Option<EndpointState> {
    let of = found.endpoints.iter().find(|one| *one.path == *path);
    of.map(|one| one.state)
}

#[test]
fn of_a_sleeping_server_only_props_is_asked_for_ten_minutes() {
    let mut machine = server("llama-server|-m|/m.gguf", props(&json!(true)));
    let found = machine.after(600, &[PID]);
    assert_eq!(machine.endpoints(PID), [Endpoint::LlamaProps]);
    assert_eq!(machine.asked.len(), 600 / 15, "{:?}", machine.asked);
    let server = found[&PID].server.as_ref().unwrap();
    assert_eq!(server.state, ServerState::Sleeping);
    assert_eq!(state(server, "/slots"), Some(EndpointState::NotAsked));
    assert!(server.slots_busy.known().is_none());
}

#[test]
fn a_server_that_may_fall_asleep_is_not_kept_from_it_for_ten_minutes() {
    const OWN: &str = "llama-server|-m|/m.gguf";
    const SCRIPT: &str = "python3|/x/llama_server.py|-m|/m.gguf";
    let denied = Err(Gap::Permission);
    for (line, options, environment, asks) in [
        (OWN, "", Ok(""), true),
        (OWN, "|--sleep-idle-seconds|-1", Ok(""), true),
        (OWN, "|--sleep_idle_seconds|-1", Ok(""), true),
        (OWN, "|--sleep-idle-seconds|30", Ok(""), false),
        (OWN, "|--sleep-idle-seconds=30", Ok(""), false),
        (OWN, "|--sleep_idle_seconds|30", Ok(""), false),
        (OWN, "|--sleep_idle-seconds|30", Ok(""), false),
        (OWN, "|--sleep-idle_seconds=30", Ok(""), false),
        (OWN, "", Ok("LLAMA_ARG_SLEEP_IDLE_SECONDS=30\0"), false),
        (OWN, "", Ok("LLAMA_SERVER_ROUTER_PORT=8080\0"), false),
        (OWN, "", denied, false),
        // Another program that llama.cpp is a part of may have its limit from anywhere.
        (SCRIPT, "", Ok(""), false),
        (SCRIPT, "|--sleep_idle_seconds|30", Ok(""), false),
        (SCRIPT, "|--sleep-idle-seconds|-1", Ok(""), true),
    ] {
        let line = format!("{line}{options}");
        let mut machine = server(&line, props(&json!(false)));
        let task = machine.tasks.get_mut(&PID).unwrap();
        task.environment = environment;
        machine.after(600, &[PID]);
        let asked = machine.endpoints(PID).contains(&Endpoint::LlamaSlots);
        assert_eq!(asked, asks, "{line} {environment:?}");
    }
}

#[test]
fn a_build_that_knows_no_sleep_is_asked_for_slots_whatever_runs_it() {
    let mut old = props(&json!(false));
    old.as_object_mut().unwrap().remove("is_sleeping");
    let mut machine = server("python3|/x/llama_server.py|-m|/m.gguf", old);
    machine.tasks.get_mut(&PID).unwrap().environment = Err(Gap::Permission);
    machine.after(10, &[PID]);
    assert!(machine.endpoints(PID).contains(&Endpoint::LlamaSlots));
}

#[test]
fn slots_are_asked_only_right_after_the_server_has_said_that_it_is_awake() {
    let mut machine = server("llama-server|-m|/m.gguf", props(&json!(false)));
    for second in 0..600 {
        // It falls asleep all the same, at any moment and for any reason.
        if second == 301 {
            machine.answer(PID, Endpoint::LlamaProps, Ok((200, props(&json!(true)))));
        }
        machine.refresh(&[PID]);
    }
    let mut before = None;
    for asked @ (at, _, endpoint) in machine.asked.iter().copied() {
        if endpoint == Endpoint::LlamaSlots {
            assert_eq!(before, Some((at, PID, Endpoint::LlamaProps)));
        }
        before = Some(asked);
    }
    let slots = machine
        .asked
        .iter()
        .filter(|it| it.2 == Endpoint::LlamaSlots);
    let last = slots.clone().map(|it| it.0).max().unwrap();
    assert!((290..=303).contains(&last), "{last}");
    assert_eq!(slots.count(), 61);
}

#[test]
fn a_server_that_has_slept_once_is_not_asked_for_slots_when_it_is_awake() {
    let mut machine = server("llama-server|-m|/m.gguf", props(&json!(true)));
    machine.after(20, &[PID]);
    machine.answer(PID, Endpoint::LlamaProps, Ok((200, props(&json!(false)))));
    let found = machine.after(120, &[PID]);
    assert_eq!(machine.endpoints(PID), [Endpoint::LlamaProps]);
    let server = found[&PID].server.as_ref().unwrap();
    assert_eq!(server.state, ServerState::Ready);
}

#[test]
fn a_server_that_does_not_say_which_build_it_is_is_not_asked_for_more() {
    let old = json!({ "default_generation_settings": { "n_ctx": 512 }, "total_slots": 1 });
    let mut machine = server("llama-server|-m|/m.gguf", old);
    machine.after(60, &[PID]);
    assert_eq!(machine.endpoints(PID), [Endpoint::LlamaProps]);
}

#[test]
fn a_router_is_asked_for_its_list_and_never_for_a_model() {
    let body = json!({ "role": "router", "max_instances": 4, "build_info": "b11434-unknown" });
    let list = json!({ "data": [
        { "id": "a", "status": { "value": "loaded", "args": ["--api-key", "x"] } },
        { "id": "b", "status": { "value": "unloaded" } },
    ] });
    let mut machine =
        server("llama-server|--models-dir|/m", body).answering(PID, Endpoint::LlamaModels, list);
    let found = machine.after(120, &[PID]);
    let asked = [Endpoint::LlamaProps, Endpoint::LlamaModels];
    assert_eq!(machine.endpoints(PID), asked);
    let server = found[&PID].server.as_ref().unwrap();
    assert_eq!(server.state, ServerState::Router);
    let said: Vec<&str> = server
        .said
        .iter()
        .filter(|one| one.field == "model")
        .map(|one| &*one.value)
        .collect();
    assert_eq!(said, ["a: loaded", "b: unloaded"]);
    assert!(found[&PID].models.is_empty(), "its children have them");
}

#[test]
fn a_port_is_asked_one_question_in_five_seconds_once_everything_was_asked() {
    let mut machine = server("llama-server|-m|/m.gguf", props(&json!(false)));
    machine.refresh(&[PID]);
    let first: Vec<Endpoint> = machine.asked.iter().map(|(_, _, of)| *of).collect();
    assert_eq!(first, [Endpoint::LlamaProps, Endpoint::LlamaSlots]);
    machine.after(600, &[PID]);
    // What has to be asked before another question is a part of it.
    let mut seconds: Vec<u64> = machine.asked.iter().map(|(at, _, _)| *at).collect();
    seconds.dedup();
    for pair in seconds[1..].windows(2) {
        assert!(pair[1] - pair[0] >= 5, "{seconds:?}");
    }
    assert!(seconds.len() <= 2 + 600 / 5);
    assert_eq!(machine.asked.len(), 2 * seconds.len());
}

#[test]
fn a_refusal_is_remembered_and_an_error_passes() {
    for (status, most) in [
        (401, 3),
        (404, 3),
        (405, 3),
        (501, 3),
        (302, 3),
        (500, 41),
        (503, 121),
    ] {
        let mut machine = server("llama-server|-m|/m.gguf", Value::Null);
        machine.answer(PID, Endpoint::LlamaProps, Ok((status, Value::Null)));
        let found = machine.after(600, &[PID]);
        let times = machine.asked.len();
        assert!((most - 1..=most).contains(&times), "{status}: {times}");
        assert_eq!(machine.endpoints(PID), [Endpoint::LlamaProps], "{status}");
        let server = found[&PID].server.as_ref().unwrap();
        let expected = match status {
            401 => (ServerState::KeyRequired, EndpointState::KeyRequired),
            503 => (ServerState::Loading, EndpointState::Loading),
            404 | 405 => (ServerState::NotRecognised, EndpointState::NotThere),
            501 => (ServerState::NotRecognised, EndpointState::Disabled),
            status => (
                ServerState::NotRecognised,
                EndpointState::Unexpected(status),
            ),
        };
        let told = state(server, "/props").unwrap();
        assert_eq!((server.state, told), expected, "{status}");
        assert!(server.context.known().is_none());
    }
}

#[test]
fn a_server_that_does_not_answer_is_unreachable_for_the_reason_told() {
    for gap in [
        Gap::TimedOut,
        Gap::OverBound,
        Gap::Malformed,
        Gap::NotPresent,
    ] {
        let mut machine = server("llama-server|-m|/m.gguf", Value::Null);
        machine.answer(PID, Endpoint::LlamaProps, Err(gap));
        let found = machine.after(60, &[PID]);
        assert!(machine.asked.len() <= 5, "{gap:?}: {:?}", machine.asked);
        let server = found[&PID].server.as_ref().unwrap();
        assert_eq!(server.state, ServerState::Unreachable);
        assert_eq!(state(server, "/props"), Some(EndpointState::Failed(gap)));
        assert_eq!(server.context.gap(), Some(gap));
    }
}

#[test]
fn a_stranger_and_the_parent_of_one_are_never_asked() {
    let shell = Task::new("python3", "python3|-m|http.server").at(8000);
    let stranger = Task::new("app", "/usr/bin/app|--serve")
        .at(9000)
        .child_of(5);
    let mut machine = Simulated::new([(5, shell), (PID, stranger)]);
    let found = machine.after(120, &[PID]);
    assert_eq!(machine.asked, []);
    assert!(found[&PID].server.is_none());
}

#[test]
fn the_server_behind_a_worker_is_asked_in_the_first_report() {
    let line = "/usr/bin/ollama|runner|--model|/blobs/sha256-a";
    let mut machine = Simulated::new([
        (5, Task::new("ollama", "/usr/bin/ollama|serve").at(11434)),
        (PID, Task::new("ollama", line).child_of(5)),
    ])
    .answering(5, Endpoint::OllamaPs, json!({ "models": [] }));
    // Every answer of the kernel comes one refresh later, as it does of a live machine.
    machine.is_late = true;
    let mut refreshes = 0;
    let mut found = machine.refresh(&[PID]);
    while machine.is_waiting() && refreshes < 20 {
        found = machine.refresh(&[PID]);
        refreshes += 1;
    }
    let server = found[&PID].server.as_ref();
    assert_eq!(server.map(|it| it.answered_by), Some(Some(5)));
}

#[test]
fn a_port_on_which_another_process_listens_too_is_not_asked() {
    let mut machine = server("llama-server|-m|/m.gguf", props(&json!(false)));
    machine.tasks.get_mut(&PID).unwrap().shares_ports = true;
    let found = machine.after(60, &[PID]);
    assert_eq!(machine.asked, []);
    let found = &found[&PID];
    assert_eq!(
        (found.server.is_none(), found.server_unasked),
        (true, Some(Gap::SharedPort))
    );
}

#[test]
fn why_the_server_behind_a_worker_is_not_asked_is_told() {
    let mut serve = Task::new("ollama", "/usr/bin/ollama|serve");
    serve.hidden_ports = Some(Gap::Permission);
    let runner = Task::new("ollama", "/usr/bin/ollama|runner|--model|/b/x.gguf").child_of(5);
    let mut machine = Simulated::new([(5, serve.clone()), (PID, runner)]);
    let found = &machine.after(3, &[PID])[&PID];
    assert_eq!(
        (found.server.is_none(), found.server_unasked),
        (true, Some(Gap::Permission))
    );
    // A runner that is a server itself says it beside its own answers.
    let line = "/usr/lib/ollama/llama-server|--model|/b/x.gguf";
    let runner = Task::new("llama-server", line).at(40001).child_of(5);
    let mut machine = Simulated::new([(5, serve), (PID, runner)]).answering(
        PID,
        Endpoint::LlamaProps,
        props(&json!(false)),
    );
    let found = &machine.after(3, &[PID])[&PID];
    let parent = state(found.server.as_ref().unwrap(), "Ollama (process 5)");
    assert_eq!(parent, Some(EndpointState::Failed(Gap::Permission)));
}

#[test]
fn several_runners_of_one_server_ask_it_together() {
    let line = "/usr/bin/ollama|runner|--model|/blobs/sha256-a";
    let runner = || Task::new("ollama", line).child_of(5);
    let mut machine = Simulated::new([
        (5, Task::new("ollama", "/usr/bin/ollama|serve").at(11434)),
        (10, runner()),
        (11, runner()),
        (12, runner()),
    ])
    .answering(5, Endpoint::OllamaPs, json!({ "models": [] }));
    machine.after(600, &[10, 11, 12]);
    assert_eq!(machine.asked.len(), 600 / 15);
    assert_eq!(machine.endpoints(5), [Endpoint::OllamaPs]);
}
