//! Network namespaces: where a process is reached, and the programs that forward ports of this
//! machine's loopback into them.

use model::Text;
use serde::{Deserialize, Serialize};

use super::reads::ProcessRef;
use super::replies::Listener;

/// The network namespace of a process.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Network {
    /// Its inode number (`/proc/PID/ns/net`).
    pub namespace: u64,
    /// The addresses that the process has there, without loopback, as text.
    pub addresses: Vec<Text>,
}

/// A program that forwards ports, in the monitor's own network namespace.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Forwarder {
    /// Process number.
    pub pid: u32,
    /// Start time in clock ticks since boot.
    pub start_ticks: u64,
    /// Real user id.
    pub user: u32,
    /// Which program.
    pub program: ForwarderProgram,
    /// What its command line says that it forwards over TCP.
    pub forwards: Vec<Forward>,
    /// The ports that it does listen on; `None` where that cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listening: Option<Vec<Listener>>,
    /// Inode numbers of the network namespaces that it holds open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<u64>,
}

impl Forwarder {
    /// The process.
    pub const fn who(&self) -> ProcessRef {
        ProcessRef {
            pid: self.pid,
            start_ticks: self.start_ticks,
        }
    }
}

/// Programs that forward ports.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ForwarderProgram {
    /// Docker's, one process a port. Its command line names the container's address and port.
    DockerProxy,
    /// pasta of passt, one process a network namespace, which it holds open. Its command line names the ports.
    Pasta,
    /// `rootlessport`, `rootlesskit`, `slirp4netns`: told their ports otherwise, so that nothing shows where one
    /// leads.
    Silent,
}

impl ForwarderProgram {
    /// The program's name.
    pub const fn id(self) -> &'static str {
        match self {
            Self::DockerProxy => "docker-proxy",
            Self::Pasta => "pasta",
            Self::Silent => "rootless forwarder",
        }
    }
}

/// One forwarded port.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Forward {
    /// Port on this machine.
    pub host_port: u16,
    /// Port within the other namespace.
    pub port: u16,
    /// Address there, where the command line names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Text>,
}
