//! Which processes are at the other end of a loopback connection. A cookie alone does not tell a
//! person's browser from an agent that got hold of it: cookies know no ports, so whatever an agent
//! serves on this machine is shown the cookie too, and browsers keep them in files.

use std::net::SocketAddr;

/// The processes of this user that hold the other end; empty when nobody can tell, as for another
/// user's process, and everywhere but on Linux.
#[cfg(target_os = "linux")]
pub(super) fn holders(peer: SocketAddr, here: SocketAddr) -> Vec<u32> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    let inode = tables.iter().find_map(|table| {
        linux::inode(&std::fs::read_to_string(table).unwrap_or_default(), peer, here)
    });
    inode.map(linux::holding).unwrap_or_default()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn holders(_: SocketAddr, _: SocketAddr) -> Vec<u32> {
    Vec::new()
}

#[cfg(target_os = "linux")]
mod linux {
    use std::{
        fs,
        net::{IpAddr, Ipv4Addr, SocketAddr},
        path::Path,
    };

    /// The socket from `local` to `remote`. Source of the columns: `proc_pid_net(5)`, `tcp`: the
    /// second and third are the addresses, the tenth is the inode.
    pub(super) fn inode(table: &str, local: SocketAddr, remote: SocketAddr) -> Option<u64> {
        let (local, remote) = (written(local), written(remote));
        table.lines().find_map(|line| {
            let columns: Vec<&str> = line.split_whitespace().collect();
            let ours = |column: usize, forms: &[String]| {
                columns.get(column).is_some_and(|text| forms.iter().any(|form| form == text))
            };
            (ours(1, &local) && ours(2, &remote)).then(|| columns.get(9)?.parse().ok())?
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
        match address.ip() {
            IpAddr::V4(ip) => {
                vec![form(&ip.octets()), form(&Ipv4Addr::to_ipv6_mapped(&ip).octets())]
            }
            IpAddr::V6(ip) => vec![form(&ip.octets())],
        }
    }

    /// Every process that has the socket open; those of others do not let us look.
    pub(super) fn holding(inode: u64) -> Vec<u32> {
        let link = format!("socket:[{inode}]");
        let holds = |fds: &Path| {
            let fds = fs::read_dir(fds).into_iter().flatten().flatten();
            fds.into_iter()
                .any(|fd| fs::read_link(fd.path()).is_ok_and(|to| to == Path::new(&link)))
        };
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        processes
            .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
            .filter(|(_, folder)| holds(&folder.join("fd")))
            .map(|(pid, _)| pid)
            .collect()
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
            let found = holders(peer, server.local_addr().unwrap());
            assert_eq!(found, [std::process::id()], "{address}");
            drop(client);
        }
    }

    #[test]
    fn a_mapped_address_is_found_too() {
        let table = "  1: 0000000000000000FFFF00000100007F:C000 0000000000000000FFFF00000100007F:1C75 01 0:0 0:0 0 1000 0 4242 1\n";
        let peer = "127.0.0.1:49152".parse().unwrap();
        assert_eq!(linux::inode(table, peer, "127.0.0.1:7285".parse().unwrap()), Some(4242));
        assert_eq!(linux::inode(table, peer, "127.0.0.1:7286".parse().unwrap()), None);
    }
}
