//! Links, routers and endpoints that failed, from a file.

use crate::topology::{Cabling, Neighbor, SharedRouters};
use std::collections::HashSet;
use std::sync::Arc;

/// The parts that failed: ports (both ends of each cable), routers and endpoints, those included whose router
/// or cable failed.
#[derive(Default, Debug, PartialEq, Eq)]
pub(crate) struct Failures {
    ports: HashSet<(u32, u32)>,
    routers: HashSet<u32>,
    endpoints: HashSet<u32>,
}

impl Failures {
    /// Reads lines `link A B` (all cables between routers A and B), `port A P` (the cable at port P of router
    /// A), `router A` and `endpoint E`; `#` begins a comment. The error begins with the line's number.
    pub(crate) fn parse(text: &str, topology: &dyn Cabling) -> Result<Failures, String> {
        let mut failures = Failures::default();
        for (index, line) in text.lines().enumerate() {
            let words: Vec<&str> = line.split('#').next().unwrap_or("").split_whitespace().collect();
            failures.line(&words, topology).map_err(|e| format!("line {}: {e}", index + 1))?;
        }
        for endpoint in 0..topology.endpoints() {
            let (router, port) = topology.attachment(endpoint);
            if failures.routers.contains(&router) || failures.ports.contains(&(router, port)) {
                failures.endpoints.insert(endpoint);
            }
        }
        if failures.endpoints.len() as u64 == u64::from(topology.endpoints()) {
            return Err("end: all endpoints have failed; leave some to send and receive".to_owned());
        }
        Ok(failures)
    }

    fn line(&mut self, words: &[&str], topology: &dyn Cabling) -> Result<(), String> {
        let router = |text: &str| {
            let number =
                text.parse::<u32>().map_err(|_| format!("'{text}' is not the number of a router"))?;
            if number < topology.routers() {
                Ok(number)
            } else {
                Err(format!("there is no router {number}; the last is {}", topology.routers() - 1))
            }
        };
        match words {
            [] => {}
            ["router", a] => {
                self.routers.insert(router(a)?);
            }
            ["link", a, b] => {
                let (a, b) = (router(a)?, router(b)?);
                let leads = |port: &u32| {
                    matches!(
                        topology.neighbor(a, *port), Neighbor::Router { router, .. } if router == b
                    )
                };
                let ports: Vec<u32> = (0..topology.radix()).filter(leads).collect();
                if ports.is_empty() {
                    return Err(format!("there is no link between routers {a} and {b}"));
                }
                for port in ports {
                    self.cut(a, port, topology);
                }
            }
            ["port", a, port] => {
                let a = router(a)?;
                let port = port
                    .parse::<u32>()
                    .ok()
                    .filter(|&p| p < topology.radix())
                    .ok_or_else(|| format!("router {a} has no port '{port}'"))?;
                if topology.neighbor(a, port) == Neighbor::Nothing {
                    return Err(format!("nothing is cabled to port {port} of router {a}"));
                }
                self.cut(a, port, topology);
            }
            ["endpoint", e] => {
                let endpoint =
                    e.parse::<u32>().map_err(|_| format!("'{e}' is not the number of an endpoint"))?;
                if endpoint >= topology.endpoints() {
                    return Err(format!(
                        "there is no endpoint {endpoint}; the last is {}",
                        topology.endpoints() - 1
                    ));
                }
                self.endpoints.insert(endpoint);
            }
            _ => {
                return Err(format!(
                    "'{}' is none of 'link A B', 'port A P', 'router A', 'endpoint E'",
                    words.join(" ")
                ));
            }
        }
        Ok(())
    }

    /// Returns `true` if all routers and cables between them work.
    pub(crate) fn spare_the_routers(&self) -> bool {
        self.ports.is_empty() && self.routers.is_empty()
    }

    /// Returns the first endpoint that failed.
    pub(crate) fn first_endpoint(&self) -> Option<u32> {
        self.endpoints.iter().min().copied()
    }

    fn cut(&mut self, router: u32, port: u32, topology: &dyn Cabling) {
        self.ports.insert((router, port));
        if let Neighbor::Router { router, port } = topology.neighbor(router, port) {
            self.ports.insert((router, port));
        }
    }
}

/// A topology without what failed.
pub(crate) struct DegradedTopology {
    inner: Arc<dyn Cabling>,
    failures: Failures,
}

impl DegradedTopology {
    pub(crate) fn new(inner: Arc<dyn Cabling>, failures: Failures) -> Self {
        DegradedTopology { inner, failures }
    }
}

impl Cabling for DegradedTopology {
    fn describe(&self) -> String {
        format!(
            "{} with {} routers, {} links and {} endpoints failed",
            self.inner.describe(),
            self.failures.routers.len(),
            self.failures.ports.len().div_ceil(2),
            self.failures.endpoints.len()
        )
    }
    fn routers(&self) -> u32 {
        self.inner.routers()
    }
    fn endpoints(&self) -> u32 {
        self.inner.endpoints()
    }
    fn radix(&self) -> u32 {
        self.inner.radix()
    }
    fn neighbor(&self, router: u32, port: u32) -> Neighbor {
        if self.failures.ports.contains(&(router, port)) || self.failures.routers.contains(&router) {
            return Neighbor::Nothing;
        }
        match self.inner.neighbor(router, port) {
            Neighbor::Router { router, .. } if self.failures.routers.contains(&router) => Neighbor::Nothing,
            Neighbor::Endpoint(endpoint) if !self.works(endpoint) => Neighbor::Nothing,
            neighbor => neighbor,
        }
    }
    fn attachment(&self, endpoint: u32) -> (u32, u32) {
        self.inner.attachment(endpoint)
    }
    fn works(&self, endpoint: u32) -> bool {
        !self.failures.endpoints.contains(&endpoint)
    }
    fn shared(&self, parts: u32) -> Option<SharedRouters> {
        if self.failures.spare_the_routers() { self.inner.shared(parts) } else { None }
    }
    fn link(&self, router: u32, port: u32) -> usize {
        self.inner.link(router, port)
    }
    fn group(&self, router: u32) -> u32 {
        self.inner.group(router)
    }
    fn part(&self, router: u32, parts: u32) -> u32 {
        self.inner.part(router, parts)
    }
}
