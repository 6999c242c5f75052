//! Which forwarder proves to lead to a process, and what is said where none does.

use super::*;
use model::Text;

const HOST: u64 = 1;
const CONTAINER: u64 = 2;

fn listens(port: u16, any: bool) -> Listener {
    Listener {
        port,
        loopback: false,
        v6: false,
        any,
        foreign: true,
        shared: false,
    }
}

fn network() -> Network {
    Network {
        namespace: CONTAINER,
        addresses: vec!["172.17.0.2".into(), "fd00::2".into()],
    }
}

fn forwarder(program: ForwarderProgram, ports: (u16, u16), address: Option<&str>) -> Forwarder {
    Forwarder {
        pid: 77,
        start_ticks: 9,
        user: 0,
        program,
        forwards: vec![raw::Forward {
            host_port: ports.0,
            port: ports.1,
            address: address.map(Text::from),
        }],
        listening: Some(vec![Listener {
            port: ports.0,
            loopback: true,
            v6: false,
            any: true,
            foreign: false,
            shared: false,
        }]),
        networks: vec![HOST],
    }
}

fn docker(ports: (u16, u16), address: &str) -> Forwarder {
    forwarder(ForwarderProgram::DockerProxy, ports, Some(address))
}

fn pasta(ports: (u16, u16), holds: u64) -> Forwarder {
    Forwarder {
        networks: vec![holds],
        ..forwarder(ForwarderProgram::Pasta, ports, None)
    }
}

fn silent() -> Forwarder {
    Forwarder {
        forwards: Vec::new(),
        ..forwarder(ForwarderProgram::Silent, (8080, 8080), None)
    }
}

/// A container of root's engine.
const NOBODY: Trusted = Trusted {
    user: None,
    place: Place::SystemContainer,
};

/// On 8080, bound to every address, in a container of the usual kind.
fn reached(all: &[Forwarder]) -> Result<(u16, Option<u16>), Gap> {
    let network = network();
    let target = through(&[listens(8080, true)], Some(&network), Some(all), &NOBODY);
    target.map(|it| (it.port, it.behind))
}

#[test]
fn a_forwarder_leads_here_by_address_and_port_or_by_the_namespace_it_holds() {
    for (all, port) in [
        (vec![docker((18080, 8080), "172.17.0.2")], 18080),
        (vec![docker((18080, 8080), "fd00::2")], 18080),
        (vec![pasta((18081, 8080), CONTAINER)], 18081),
        (
            vec![
                docker((1, 8080), "172.17.0.3"),
                silent(),
                docker((18082, 8080), "172.17.0.2"),
            ],
            18082,
        ),
        (
            vec![
                docker((3, 8080), "172.17.0.2"),
                docker((2, 8080), "172.17.0.2"),
            ],
            2,
        ),
    ] {
        assert_eq!(reached(&all), Ok((port, Some(8080))), "{all:?}");
    }
}

#[test]
fn an_equal_port_number_proves_nothing() {
    for all in [
        vec![],
        // Published under the same number, but from another container.
        vec![docker((8080, 8080), "172.17.0.3")],
        // The host's port, not the container's.
        vec![docker((8080, 80), "172.17.0.2")],
        vec![pasta((8080, 8080), HOST)],
        vec![pasta((8080, 80), CONTAINER)],
        // Told to listen, and does not.
        vec![Forwarder {
            listening: Some(Vec::new()),
            ..docker((8080, 8080), "172.17.0.2")
        }],
        vec![Forwarder {
            listening: Some(vec![listens(8080, true)]),
            ..docker((8080, 8080), "172.17.0.2")
        }],
        // Anybody can call a program so.
        vec![Forwarder {
            user: 1000,
            ..docker((8080, 8080), "172.17.0.2")
        }],
    ] {
        assert_eq!(reached(&all), Err(Gap::OtherNetwork), "{all:?}");
    }
}

#[test]
fn what_cannot_be_shown_is_said_to_be_so() {
    let unreadable = |it| Forwarder {
        listening: None,
        networks: Vec::new(),
        ..it
    };
    for all in [
        vec![silent()],
        vec![unreadable(docker((8080, 8080), "172.17.0.2"))],
        vec![unreadable(pasta((8080, 8080), CONTAINER))],
    ] {
        assert_eq!(reached(&all), Err(Gap::UnprovenForward), "{all:?}");
    }
    let all = [docker((8080, 8080), "172.17.0.2")];
    let ports = [listens(8080, true)];
    let network = network();
    for (network, all) in [(None, Some(&all[..])), (Some(&network), None), (None, None)] {
        let target = through(&ports, network, all, &NOBODY);
        assert_eq!(target, Err(Gap::UnprovenForward));
    }
}

#[test]
fn a_port_on_one_address_only_is_not_the_one_that_is_forwarded_to() {
    let all = [docker((8080, 8080), "172.17.0.2")];
    let network = network();
    let target = through(&[listens(8080, false)], Some(&network), Some(&all), &NOBODY);
    assert_eq!(target, Err(Gap::OtherNetwork));
}

#[test]
fn the_forwarder_of_the_container_s_own_user_counts() {
    let all = [Forwarder {
        user: 1000,
        ..pasta((8080, 8080), CONTAINER)
    }];
    let network = network();
    for (user, place, counts) in [
        (Some(1000), Place::NoContainer, true),
        (Some(1001), Place::NoContainer, false),
        (Some(100_999), Place::ContainerOf(1000), true),
        (Some(100_999), Place::ContainerOf(1001), false),
        (Some(1000), Place::SystemContainer, false),
    ] {
        let trusted = Trusted { user, place };
        let target = through(&[listens(8080, true)], Some(&network), Some(&all), &trusted);
        assert_eq!(target.is_ok(), counts, "{user:?}");
    }
}

#[test]
fn an_equal_address_of_another_engine_is_another_container() {
    // Root's docker-proxy; engines of users hand out the same addresses.
    let all = [docker((8080, 8080), "172.17.0.2")];
    let network = network();
    for (place, counts) in [
        (Place::SystemContainer, true),
        (Place::ContainerOf(1000), false),
        (Place::NoContainer, false),
    ] {
        let trusted = Trusted {
            user: Some(65_534),
            place,
        };
        let target = through(&[listens(8080, true)], Some(&network), Some(&all), &trusted);
        assert_eq!(target.is_ok(), counts);
    }
}
