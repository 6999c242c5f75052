use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use super::*;

/// Enough for a slow machine.
const LONG: Duration = Duration::from_secs(20);

/// What a server said, and what it was asked by whoever came.
struct Served {
    reply: Result<HttpReply, Gap>,
    requests: Vec<String>,
}

/// Answers every connection with `answer` until the question has been answered.
fn ask(
    address: &str,
    timeout: Duration,
    answer: impl Fn(&mut TcpStream) + Send + 'static,
) -> Served {
    let socket = TcpListener::bind((address, 0)).unwrap();
    let port = socket.local_addr().unwrap().port();
    let (sender, requests) = channel();
    let server = thread::spawn(move || serve(&socket, &sender, &answer));
    let listener = Listener {
        port,
        loopback: true,
        v6: address.contains(':'),
        any: false,
        foreign: false,
        shared: false,
    };
    let reply = get_within(listener, Endpoint::LlamaProps, timeout);
    // A last connection without a request ends the server.
    drop(TcpStream::connect((address, port)));
    server.join().unwrap();
    Served {
        reply,
        requests: requests.iter().collect(),
    }
}

fn serve(socket: &TcpListener, requests: &Sender<String>, answer: &impl Fn(&mut TcpStream)) {
    for stream in socket.incoming() {
        let mut stream = stream.unwrap();
        let mut request = Vec::new();
        let mut buffer = [0; 1024];
        while !request.ends_with(b"\r\n\r\n") {
            match stream.read(&mut buffer).unwrap() {
                0 => return,
                count => request.extend_from_slice(&buffer[..count]),
            }
        }
        requests.send(String::from_utf8(request).unwrap()).unwrap();
        answer(&mut stream);
    }
}

fn say(stream: &mut TcpStream, head: &str, body: &str) {
    let length = body.len();
    let text = format!("HTTP/1.1 {head}\r\nContent-Length: {length}\r\n\r\n{body}");
    // The client may have had enough.
    drop(stream.write_all(text.as_bytes()));
}

const PROPS: &str = r#"{"default_generation_settings":{"n_ctx":4096,"params":{"seed":1}},
    "total_slots":2,"model_path":"/m.gguf","chat_template":"secret","role":null}"#;

#[test]
fn only_kept_fields_leave_the_reader() {
    for address in ["127.0.0.1", "::1"] {
        if address == "::1" && TcpListener::bind((address, 0)).is_err() {
            // A machine without IPv6 has no such listener either.
            continue;
        }
        let served = ask(address, LONG, |stream| say(stream, "200 OK", PROPS));
        let reply = served.reply.unwrap();
        assert_eq!(reply.status, 200);
        let kept: Vec<(&str, String)> = reply
            .fields
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_string()))
            .collect();
        let expected = [
            ("default_generation_settings.n_ctx", "4096"),
            ("model_path", "\"/m.gguf\""),
            ("role", "null"),
            ("total_slots", "2"),
        ];
        assert_eq!(kept, expected.map(|(name, value)| (name, value.to_owned())));
        assert_eq!(served.requests.len(), 1);
        assert!(served.requests[0].starts_with("GET /props HTTP/1.1\r\n"));
    }
}

#[test]
fn an_error_status_is_an_answer() {
    let served = ask("127.0.0.1", LONG, |stream| {
        say(stream, "503 Service Unavailable", "loading");
    });
    let reply = served.reply.unwrap();
    assert_eq!((reply.status, reply.fields.len()), (503, 0));
}

#[test]
fn a_redirect_is_not_followed() {
    let served = ask("127.0.0.1", LONG, |stream| {
        say(stream, "302 Found\r\nLocation: /elsewhere", "");
    });
    assert_eq!(served.reply.unwrap().status, 302);
    assert_eq!(served.requests.len(), 1);
}

#[test]
fn a_body_beyond_the_bound_is_over_it() {
    let served = ask("127.0.0.1", LONG, |stream| {
        say(stream, "200 OK", &"x".repeat(3 * 1024 * 1024));
    });
    assert_eq!(served.reply, Err(Gap::OverBound));
}

#[test]
fn a_server_that_says_nothing_is_timed_out() {
    let (held, holder) = channel();
    let served = ask("127.0.0.1", TIMEOUT, move |stream| {
        held.send(stream.try_clone().unwrap()).unwrap();
    });
    drop(holder);
    assert_eq!(served.reply, Err(Gap::TimedOut));
}

#[test]
fn what_is_no_http_is_malformed() {
    let served = ask("127.0.0.1", LONG, |stream| {
        stream.write_all(b"SSH-2.0-x\r\n\r\n").unwrap();
    });
    assert_eq!(served.reply, Err(Gap::Malformed));
}

#[test]
fn nobody_there_is_not_present() {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let listener = Listener {
        port: socket.local_addr().unwrap().port(),
        loopback: true,
        v6: false,
        any: false,
        foreign: false,
        shared: false,
    };
    drop(socket);
    assert_eq!(get(listener, Endpoint::LlamaProps), Err(Gap::NotPresent));
}

#[test]
fn a_socket_that_is_not_on_our_loopback_is_not_asked() {
    let listener = Listener {
        port: 1,
        loopback: false,
        v6: false,
        any: false,
        foreign: false,
        shared: false,
    };
    assert_eq!(get(listener, Endpoint::LlamaProps), Err(Gap::NotApplicable));
}

/// Sends `chunk` again and again until nobody reads any more.
fn without_end(stream: &mut TcpStream, head: &str, chunk: &[u8]) {
    let head = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n");
    if stream.write_all(head.as_bytes()).is_err() {
        return;
    }
    while stream.write_all(chunk).is_ok() {}
}

#[test]
fn a_body_that_never_ends_is_bounded_in_bytes_and_in_time() {
    let endless = ask("127.0.0.1", LONG, |stream| {
        without_end(stream, "Connection: close", &vec![b'1'; 64 * 1024]);
    });
    assert_eq!(endless.reply, Err(Gap::OverBound));
    let promised = ask("127.0.0.1", LONG, |stream| {
        let length = 2_u64 << 30;
        without_end(
            stream,
            &format!("Content-Length: {length}"),
            &vec![b'1'; 64 * 1024],
        );
    });
    assert_eq!(promised.reply, Err(Gap::OverBound));
    // One byte of a body, then nothing, on an open connection: the whole exchange has one deadline.
    let (held, holder) = channel();
    let dripping = ask("127.0.0.1", TIMEOUT, move |stream| {
        drop(stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 90000\r\n\r\n{"));
        held.send(stream.try_clone().unwrap()).unwrap();
    });
    drop(holder);
    assert_eq!(dripping.reply, Err(Gap::TimedOut));
}

#[test]
fn a_body_that_ends_early_is_malformed() {
    let served = ask("127.0.0.1", LONG, |stream| {
        drop(stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n{\"total"));
        drop(stream.shutdown(std::net::Shutdown::Both));
    });
    assert_eq!(served.reply, Err(Gap::Malformed));
}

#[test]
fn a_refusal_or_a_page_is_a_status_without_fields() {
    for (head, status) in [
        ("401 Unauthorized", 401),
        ("404 Not Found", 404),
        ("500 Internal Server Error", 500),
        ("501 Not Implemented", 501),
        ("200 OK\r\nContent-Type: text/html", 200),
        ("307 Temporary Redirect\r\nLocation: http://192.0.2.1/", 307),
    ] {
        let served = ask("127.0.0.1", LONG, move |stream| {
            say(stream, head, "<html>total_slots</html>");
        });
        let reply = served.reply.unwrap();
        assert_eq!((reply.status, reply.fields.len()), (status, 0), "{head}");
        assert_eq!(served.requests.len(), 1, "{head}");
    }
}
