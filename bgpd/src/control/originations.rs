//! This node's own announcements, each behind its blackhole route: first the kernel, then the neighbours; and the other
//! way round when it goes. A block that is announced before its blackhole exists would loop packets for addresses that
//! nobody has (RFC 4632 section 5.1).

use std::collections::BTreeMap;

use ipnet::IpNet;

/// What is to be announced.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Wanted {
    /// Needs a blackhole route first. Not so for single addresses: the workload's own route is there.
    pub(crate) blackhole: bool,
}

/// What to do, in order.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Step {
    InstallBlackhole(IpNet),
    Announce(IpNet),
    Withdraw(IpNet),
    RemoveBlackhole(IpNet),
}

/// How far an announcement has come.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Progress {
    /// The kernel has not answered yet.
    AwaitsKernel,
    /// The kernel refused, in its words; the dataplane tries again.
    Refused(String),
    /// In the Loc-RIB.
    Announced,
}

/// All announcements of this node.
#[derive(Debug)]
pub(crate) struct Originations {
    kernel: Kernel,
    entries: BTreeMap<IpNet, Entry>,
}

/// Whether there is a kernel to program.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) enum Kernel {
    On,
    Off,
}

#[derive(Clone, Debug)]
struct Entry {
    wanted: Wanted,
    progress: Progress,
}

impl Originations {
    pub(crate) const fn new(kernel: Kernel) -> Self {
        Self {
            kernel,
            entries: BTreeMap::new(),
        }
    }

    /// Sets what is wanted from now on.
    pub(crate) fn set(&mut self, wanted: &BTreeMap<IpNet, Wanted>) -> Vec<Step> {
        let mut steps = Vec::new();
        let gone: Vec<IpNet> = self
            .entries
            .keys()
            .filter(|prefix| !wanted.contains_key(prefix))
            .copied()
            .collect();
        for prefix in gone {
            if let Some(entry) = self.entries.remove(&prefix) {
                if entry.progress == Progress::Announced {
                    steps.push(Step::Withdraw(prefix));
                }
                if self.needs_kernel(&entry.wanted) {
                    steps.push(Step::RemoveBlackhole(prefix));
                }
            }
        }
        for (prefix, wanted) in wanted {
            let known = self.entries.get(prefix);
            if known.is_some_and(|entry| entry.wanted == *wanted) {
                continue;
            }
            let was_announced = known.is_some_and(|entry| entry.progress == Progress::Announced);
            let had_blackhole = known.is_some_and(|entry| self.needs_kernel(&entry.wanted));
            let needs_kernel = self.needs_kernel(wanted);
            if had_blackhole && !needs_kernel {
                steps.push(Step::RemoveBlackhole(*prefix));
            }
            if needs_kernel {
                steps.push(Step::InstallBlackhole(*prefix));
            } else if !was_announced {
                steps.push(Step::Announce(*prefix));
            }
            let progress = if was_announced || !needs_kernel {
                Progress::Announced
            } else {
                Progress::AwaitsKernel
            };
            self.entries.insert(
                *prefix,
                Entry {
                    wanted: wanted.clone(),
                    progress,
                },
            );
        }
        steps
    }

    /// The kernel answered about a blackhole route.
    pub(crate) fn kernel_answered(
        &mut self,
        prefix: &IpNet,
        result: Result<(), String>,
    ) -> Vec<Step> {
        let Some(entry) = self.entries.get_mut(prefix) else {
            return Vec::new();
        };
        match (result, &entry.progress) {
            (Ok(()), Progress::AwaitsKernel | Progress::Refused(_)) => {
                entry.progress = Progress::Announced;
                vec![Step::Announce(*prefix)]
            }
            // Once announced it stays: the dataplane repairs the route, a flap of the announcement would only add to it.
            (_, Progress::Announced) => Vec::new(),
            (Err(text), _) => {
                entry.progress = Progress::Refused(text);
                Vec::new()
            }
        }
    }

    /// How far a prefix has come; `None` when it is not wanted.
    pub(crate) fn progress(&self) -> BTreeMap<IpNet, Progress> {
        self.entries
            .iter()
            .map(|(prefix, entry)| (*prefix, entry.progress.clone()))
            .collect()
    }

    fn needs_kernel(&self, wanted: &Wanted) -> bool {
        wanted.blackhole && self.kernel == Kernel::On
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block() -> IpNet {
        "10.244.1.0/26".parse().unwrap()
    }

    fn wanted(blackhole: bool) -> BTreeMap<IpNet, Wanted> {
        BTreeMap::from([(block(), Wanted { blackhole })])
    }

    #[test]
    fn the_blackhole_comes_first_and_goes_last() {
        let mut originations = Originations::new(Kernel::On);
        assert_eq!(
            originations.set(&wanted(true)),
            [Step::InstallBlackhole(block())]
        );
        assert_eq!(
            originations.kernel_answered(&block(), Ok(())),
            [Step::Announce(block())]
        );
        assert_eq!(originations.set(&wanted(true)), []);
        assert_eq!(
            originations.set(&BTreeMap::new()),
            [Step::Withdraw(block()), Step::RemoveBlackhole(block())]
        );
    }

    #[test]
    fn a_refused_blackhole_is_not_announced_until_the_kernel_takes_it() {
        let mut originations = Originations::new(Kernel::On);
        originations.set(&wanted(true));
        assert_eq!(
            originations.kernel_answered(&block(), Err("no".to_owned())),
            []
        );
        assert_eq!(
            originations.progress()[&block()],
            Progress::Refused("no".to_owned())
        );
        assert_eq!(
            originations.kernel_answered(&block(), Ok(())),
            [Step::Announce(block())]
        );
    }

    #[test]
    fn an_answer_that_comes_too_late_announces_nothing() {
        let mut originations = Originations::new(Kernel::On);
        originations.set(&wanted(true));
        assert_eq!(
            originations.set(&BTreeMap::new()),
            [Step::RemoveBlackhole(block())]
        );
        assert_eq!(originations.kernel_answered(&block(), Ok(())), []);
    }

    #[test]
    fn without_a_kernel_it_is_announced_at_once() {
        let mut originations = Originations::new(Kernel::Off);
        assert_eq!(originations.set(&wanted(true)), [Step::Announce(block())]);
        assert_eq!(
            originations.set(&BTreeMap::new()),
            [Step::Withdraw(block())]
        );
    }

    #[test]
    fn a_repaired_blackhole_does_not_flap_the_announcement() {
        let mut originations = Originations::new(Kernel::On);
        originations.set(&wanted(true));
        originations.kernel_answered(&block(), Ok(()));
        assert_eq!(
            originations.kernel_answered(&block(), Err("gone".to_owned())),
            []
        );
        assert_eq!(originations.kernel_answered(&block(), Ok(())), []);
    }
}
