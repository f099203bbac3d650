//! Addresses as `ss` and logs print them, and tokens that replace them.

use std::hash::Hasher;
use std::net::{IpAddr, Ipv6Addr};

use siphasher::sip::SipHasher24;

/// Treatment of addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Privacy {
    /// Addresses stay as they are.
    #[default]
    Open,
    /// Each address becomes a token: the same for the same key, and irreversible without the key.
    Keyed([u8; 16]),
}

impl Privacy {
    /// Returns the text that represents an address.
    #[must_use]
    pub fn token(&self, address: &str) -> String {
        match self {
            Privacy::Open => address.to_owned(),
            Privacy::Keyed(_) if address.is_empty() => String::new(),
            Privacy::Keyed(key) => {
                let mut hasher = SipHasher24::new_with_key(key);
                hasher.write(address.as_bytes());
                format!("{:016x}", hasher.finish())
            }
        }
    }

    /// Returns whether addresses become tokens.
    #[must_use]
    pub fn is_keyed(&self) -> bool {
        matches!(self, Privacy::Keyed(_))
    }
}

/// Returns the one form of an address: without brackets and interface, and as IPv4 if it is a
/// mapped one.
#[must_use]
pub fn plain(text: &str) -> String {
    let text = text.trim_start_matches('[').trim_end_matches(']');
    let text = text
        .split_once('%')
        .map_or(text, |(address, _)| address.trim_end_matches(']'));
    match text.parse::<IpAddr>() {
        Ok(IpAddr::V6(six)) => six
            .to_ipv4_mapped()
            .map_or_else(|| six.to_string(), |four| four.to_string()),
        Ok(four) => four.to_string(),
        Err(_) => text.to_owned(),
    }
}

/// Returns the network that an address probably shares with others of the same place: /24, or /48
/// with IPv6. Empty for a name.
#[must_use]
pub fn net(address: &str) -> String {
    match address.parse::<IpAddr>() {
        Ok(IpAddr::V4(four)) => {
            let [a, b, c, _] = four.octets();
            format!("{a}.{b}.{c}.0/24")
        }
        Ok(IpAddr::V6(six)) => {
            let [a, b, c, ..] = six.segments();
            format!("{}/48", Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0))
        }
        Err(_) => String::new(),
    }
}

/// Splits an address from its port, as in `10.0.0.1:443`, `[::1]:443`, `10.0.0.1%eth0:https` and
/// the older `::1:443`.
pub(crate) fn split(end: &str) -> (String, Option<u16>) {
    let Some((address, port)) = end.rsplit_once(':') else {
        return (plain(end), None);
    };
    (plain(address), port.parse().ok().or_else(|| service(port)))
}

/// Returns the port of a service of common servers: without `-n`, `ss` prints names of
/// /etc/services.
fn service(name: &str) -> Option<u16> {
    Some(match name {
        "ssh" => 22,
        "smtp" => 25,
        "domain" => 53,
        "http" => 80,
        "https" => 443,
        "submission" => 587,
        "domain-s" => 853,
        "imaps" => 993,
        "mysql" => 3306,
        "postgresql" => 5432,
        "http-alt" => 8080,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_form() {
        assert_eq!(
            split("[::ffff:140.82.23.101]:5202"),
            ("140.82.23.101".into(), Some(5202))
        );
        assert_eq!(
            split("[2001:DB8::1%eth0]:443"),
            ("2001:db8::1".into(), Some(443))
        );
        assert_eq!(split("::1:443"), ("::1".into(), Some(443)));
        assert_eq!(split("10.0.0.1%eth0:https"), ("10.0.0.1".into(), Some(443)));
        assert_eq!(split("[fe80::1]%eth0:22"), ("fe80::1".into(), Some(22)));
        assert_eq!(
            split("edge.example:kerberos"),
            ("edge.example".into(), None)
        );
        assert_eq!(net("203.0.113.7"), "203.0.113.0/24");
        assert_eq!(net("2001:db8:1:2::3"), "2001:db8:1::/48");
        assert_eq!(net("edge.example"), "");
    }

    #[test]
    fn a_token_depends_on_key_and_address_alone() {
        let [one, other] = [Privacy::Keyed([1; 16]), Privacy::Keyed([2; 16])];
        assert_eq!(one.token("10.0.0.1"), one.token("10.0.0.1"));
        assert_ne!(one.token("10.0.0.1"), one.token("10.0.0.2"));
        assert_ne!(one.token("10.0.0.1"), other.token("10.0.0.1"));
        assert!(!one.token("10.0.0.1").contains("10.0"));
        assert_eq!(Privacy::Open.token("10.0.0.1"), "10.0.0.1");
    }
}
