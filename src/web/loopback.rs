//! Which processes are at the other end of a TCP connection from this machine. A cookie alone does
//! not tell a person's browser from an agent that got hold of it: cookies know no ports, so whatever
//! an agent serves on this machine is shown the cookie too, and browsers keep them in files.

use std::net::SocketAddr;

/// The other end of a TCP connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OtherEnd {
    /// It is held by one of these processes.
    Processes(Vec<u32>),
    /// Another machine's, or that of another user into whose processes we cannot look.
    Elsewhere,
    /// This machine's, and closed already: whoever sends and hangs up hides who it was.
    Gone,
}

/// Whose end `peer` is of the connection that we have at `here`. Where a connection comes from does
/// not tell: an agent may call over any address of this machine.
#[cfg(target_os = "linux")]
pub(super) fn other_end(peer: SocketAddr, here: SocketAddr) -> OtherEnd {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    let table = |table: &&str| std::fs::read_to_string(table).unwrap_or_default();
    let found = tables.iter().find_map(|name| linux::socket(&table(name), peer, here));
    let us = nix::unistd::geteuid();
    match found {
        Some(socket) if socket.inode == 0 => OtherEnd::Gone,
        Some(socket) if socket.user == us.as_raw() => linux::holders(socket.inode),
        // Root looks into everybody's processes, and its agents may become anybody.
        Some(socket) if us.is_root() => match linux::holders(socket.inode) {
            OtherEnd::Gone => OtherEnd::Elsewhere,
            found => found,
        },
        None if linux::this_machines(peer.ip()) => OtherEnd::Gone,
        Some(_) | None => OtherEnd::Elsewhere,
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn other_end(_: SocketAddr, _: SocketAddr) -> OtherEnd {
    OtherEnd::Elsewhere
}

#[cfg(target_os = "linux")]
mod linux {
    use nix::ifaddrs::{InterfaceAddress, getifaddrs};
    use std::{
        fs,
        net::{IpAddr, Ipv4Addr, SocketAddr},
        os::unix::fs::MetadataExt as _,
        path::Path,
    };

    use super::OtherEnd;

    #[derive(Debug, PartialEq, Eq)]
    pub(super) struct Socket {
        pub(super) user: u32,
        /// 0 once nobody has it open any more.
        pub(super) inode: u64,
    }

    /// The socket from `local` to `remote`. Source of the columns: `proc_pid_net(5)`, `tcp`: the
    /// second and third are the addresses, the eighth is the user, the tenth is the inode.
    pub(super) fn socket(table: &str, local: SocketAddr, remote: SocketAddr) -> Option<Socket> {
        let (local, remote) = (written(local), written(remote));
        table.lines().find_map(|line| {
            let columns: Vec<&str> = line.split_whitespace().collect();
            let ours = |column: usize, forms: &[String]| {
                columns.get(column).is_some_and(|text| forms.iter().any(|form| form == text))
            };
            let found = ours(1, &local) && ours(2, &remote);
            let (user, inode) = (columns.get(7)?.parse().ok(), columns.get(9)?.parse().ok());
            found.then_some(Socket { user: user?, inode: inode? })
        })
    }

    /// An address as the tables write it: words of the machine's own order in hex. A program that
    /// speaks IPv4 through an IPv6 socket is listed with the mapped address.
    fn written(address: SocketAddr) -> Vec<String> {
        let port = address.port();
        let words = |octets: &[u8]| -> String {
            let word = |four: &[u8]| u32::from_ne_bytes([four[0], four[1], four[2], four[3]]);
            let hex: Vec<String> =
                octets.chunks_exact(4).map(|four| format!("{:08X}", word(four))).collect();
            hex.concat()
        };
        let form = |octets: &[u8]| format!("{}:{port:04X}", words(octets));
        match address.ip().to_canonical() {
            IpAddr::V4(ip) => {
                vec![form(&ip.octets()), form(&Ipv4Addr::to_ipv6_mapped(&ip).octets())]
            }
            IpAddr::V6(ip) => vec![form(&ip.octets())],
        }
    }

    /// Whether `ip` is an address of this machine.
    pub(super) fn this_machines(ip: IpAddr) -> bool {
        let ip = ip.to_canonical();
        let own = |address: InterfaceAddress| {
            let address = address.address?;
            let v4 = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
            v4.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
        };
        ip.is_loopback() || getifaddrs().is_ok_and(|mut all| all.any(|one| own(one) == Some(ip)))
    }

    /// Who has the socket open. When it is nobody who lets us look, it is one of those of this user
    /// who do not.
    pub(super) fn holders(inode: u64) -> OtherEnd {
        let link = format!("socket:[{inode}]");
        let us = nix::unistd::geteuid().as_raw();
        let (mut holders, mut closed) = (Vec::new(), Vec::new());
        for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(pid) = process.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            match fs::read_dir(process.path().join("fd")) {
                Ok(fds) => {
                    let is_it = |fd: fs::DirEntry| {
                        fs::read_link(fd.path()).is_ok_and(|to| to == Path::new(&link))
                    };
                    if fds.flatten().any(is_it) {
                        holders.push(pid);
                    }
                }
                Err(_) if process.metadata().is_ok_and(|about| about.uid() == us) => {
                    closed.push(pid);
                }
                Err(_) => {}
            }
        }
        match (holders.is_empty(), closed.is_empty()) {
            (false, _) => OtherEnd::Processes(holders),
            (true, false) => OtherEnd::Processes(closed),
            (true, true) => OtherEnd::Gone,
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn we_find_ourselves_at_the_other_end() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else {
                assert_ne!(address, "127.0.0.1:0", "IPv4 loopback is there everywhere");
                continue;
            };
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (server, peer) = listener.accept().unwrap();
            let here = server.local_addr().unwrap();
            let us = OtherEnd::Processes(vec![std::process::id()]);
            assert_eq!(other_end(peer, here), us, "{address}");
            drop(client);
            assert_eq!(other_end(peer, here), OtherEnd::Gone, "{address}");
        }
    }

    #[test]
    fn a_call_over_another_address_of_this_machine_is_seen_too() {
        let listener = TcpListener::bind("[::]:0").or_else(|_| TcpListener::bind("0.0.0.0:0"));
        let listener = listener.unwrap();
        let port = listener.local_addr().unwrap().port();
        let client = TcpStream::connect(("127.0.0.3", port)).unwrap();
        let (server, peer) = listener.accept().unwrap();
        let here = server.local_addr().unwrap();
        assert_eq!(other_end(peer, here), OtherEnd::Processes(vec![std::process::id()]));
        drop(client);
        let elsewhere = "192.0.2.1:4000".parse().unwrap();
        assert_eq!(other_end(elsewhere, here), OtherEnd::Elsewhere);
        assert!(linux::this_machines("::ffff:127.0.0.1".parse().unwrap()));
    }

    #[test]
    fn a_mapped_address_is_found_too() {
        let table = "  1: 0000000000000000FFFF00000100007F:C000 0000000000000000FFFF00000100007F:1C75 01 0:0 0:0 0 1000 0 4242 1\n";
        let peer = "127.0.0.1:49152".parse().unwrap();
        let found = linux::Socket { user: 1000, inode: 4242 };
        assert_eq!(linux::socket(table, peer, "127.0.0.1:7285".parse().unwrap()), Some(found));
        assert_eq!(linux::socket(table, peer, "127.0.0.1:7286".parse().unwrap()), None);
    }
}
