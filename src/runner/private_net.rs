//! Which addresses belong to this machine or to a network behind it. A request that somebody wrote
//! down once may not lead there by a name that changes its mind.

use reqwest::{
    Url,
    dns::{Addrs, Name, Resolve, Resolving},
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The resolver of requests that stay outside: it gives no other addresses, so none is connected to.
pub(super) struct PublicOnly;

#[derive(Debug, thiserror::Error)]
enum NotPublic {
    #[error("{}", refusal(*.0))]
    Private(IpAddr),
    #[error("its name leads nowhere")]
    Nowhere,
}

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<_> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            // One that is private spoils all: no public server has such a neighbour.
            let private = found.iter().map(SocketAddr::ip).find(|ip| is_private(*ip));
            match private {
                Some(ip) => Err(NotPublic::Private(ip).into()),
                None if found.is_empty() => Err(NotPublic::Nowhere.into()),
                None => Ok(Box::new(found.into_iter()) as Addrs),
            }
        })
    }
}

pub(super) fn refusal(ip: IpAddr) -> String {
    format!(
        "it leads to {ip}, which is this machine or a private network; `allow_private: true` lets it"
    )
}

/// The address that stands in a URL instead of a name.
pub(super) fn literal(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.parse().ok()
}

/// Sources: the IANA registries of special-purpose addresses, IPv4 and IPv6.
pub(super) fn is_private(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_private_v4(ip),
        IpAddr::V6(ip) => match inner(ip) {
            Some(inner) => is_private_v4(inner),
            None => is_private_v6(ip),
        },
    }
}

fn is_private_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    ip.is_loopback()
        || ip.is_private()
        || ip.is_link_local() // clouds tell about a machine at 169.254.169.254
        || ip.is_broadcast()
        || ip.is_multicast()
        || ip.is_documentation()
        || a == 0
        || a >= 240
        || (a, b & 0xC0) == (100, 64) // shared by customers of one carrier
        || (a, b, c) == (192, 0, 0)
        || (a, b & 0xFE) == (198, 18)
        || ip == Ipv4Addr::new(168, 63, 129, 16) // Azure tells about a machine there
}

fn is_private_v6(ip: Ipv6Addr) -> bool {
    let first = ip.segments()[0];
    ip.is_loopback()
        || ip.is_unspecified()
        || ip.is_multicast()
        || ip.is_unique_local()
        || ip.is_unicast_link_local()
        || first & 0xFFC0 == 0xFEC0
        // Outside of what is given to the internet at all.
        || first & 0xE000 != 0x2000
        || (ip.segments()[0], ip.segments()[1]) == (0x2001, 0x0DB8)
}

/// An IPv4 address that is written as, or reached through, an IPv6 one.
fn inner(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let from = |high: u16, low: u16| Some(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)));
    match ip.segments() {
        // Written as one, long ago; `::` and `::1` are none.
        [0, 0, 0, 0, 0, 0, 0, _] => None,
        // That too, mapped, translated, and NAT64: RFC 4291, RFC 2765, RFC 6052, RFC 8215.
        [0, 0, 0, 0, 0, 0 | 0xFFFF, high, low]
        | [0, 0, 0, 0, 0xFFFF, 0, high, low]
        | [0x64, 0xFF9B, 0 | 1, _, _, _, high, low]
        // 6to4: RFC 3056.
        | [0x2002, high, low, ..] => from(high, low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_near_is_known_however_it_is_written() {
        for near in [
            "http://127.0.0.1/",
            "http://127.1/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://0/",
            "http://10.0.0.1/",
            "http://172.31.0.1/",
            "http://192.168.1.1/",
            "http://169.254.169.254/latest/meta-data",
            "http://100.100.100.200/",
            "http://198.18.0.1/",
            "http://[::1]/",
            "http://[::]/",
            "http://[::ffff:127.0.0.1]/",
            "http://[::ffff:a00:1]/",
            "http://[::7f00:1]/",
            "http://[64:ff9b::a00:1]/",
            "http://[2002:7f00:1::]/",
            "http://[fe80::1]/",
            "http://[fd00:ec2::254]/",
            "http://[ff02::1]/",
        ] {
            let url = Url::parse(near).unwrap();
            let ip = literal(&url).unwrap_or_else(|| panic!("{near}: {url}"));
            assert!(is_private(ip), "{near}");
        }
        for far in ["http://93.184.215.14/", "http://[2606:4700::1111]/", "http://100.128.0.1/"] {
            assert!(!is_private(literal(&Url::parse(far).unwrap()).unwrap()), "{far}");
        }
        assert_eq!(literal(&Url::parse("http://localhost/").unwrap()), None);
    }

    #[tokio::test]
    async fn a_name_that_leads_near_gives_no_address_to_connect_to() {
        let found = PublicOnly.resolve("localhost".parse().unwrap()).await;
        let why = found.err().unwrap().to_string();
        assert!(why.contains("`allow_private: true` lets it"), "{why}");
    }
}
