//! A history drawn from one number: who there is, what they announce, and what breaks when.

use std::fmt;
use std::time::Duration;

use bgp_core::rib::NextHopMode;
use bgp_core::session::HoldTime;
use bgp_wire::{Attributes, Community, Origin, SessionType};
use ipnet::IpNet;

use crate::check::{self, Problem};
use crate::random::Random;
use crate::simulation::{Crash, Simulation};
use crate::speaker::{FAMILIES, Settings};
use crate::topology::{Clusters, SpeakerId, Topology, prefix};

/// The shape of a topology; the seed chooses its size.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Shape {
    /// iBGP, everyone with everyone.
    FullMesh,
    /// eBGP in a row.
    Chain,
    /// eBGP in a circle.
    Ring,
    /// One to three route reflectors with clients.
    Reflectors,
    /// Two full meshes with one or two eBGP links between them.
    Neighbours,
}

/// One thing that happens.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Step {
    /// A speaker announces a prefix, or changes how it does.
    Originate(SpeakerId, IpNet, Box<Attributes>),
    /// A speaker takes a prefix back.
    Withdraw(SpeakerId, IpNet),
    /// A link carries nothing any more.
    Cut(usize),
    /// A link carries again.
    Heal(usize),
    /// All connections over a link break.
    Reset(usize),
    /// A speaker goes down.
    Crash(SpeakerId, Crash),
    /// A speaker that is down comes back with nothing.
    Start(SpeakerId),
    /// A speaker that is down comes back with its forwarding state.
    StartGracefully(SpeakerId),
    /// A speaker asks a neighbour for all its routes again; IPv4 if true.
    Refresh(SpeakerId, SpeakerId, bool),
}

/// A history.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What it was drawn from.
    pub seed: u64,
    /// Who there is.
    pub topology: Topology,
    /// What they have in common.
    pub settings: Settings,
    /// What happens, each some time after the one before.
    pub steps: Vec<(Duration, Step)>,
}

/// A scenario that did not end as it must.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Draws the same scenario.
    pub seed: u64,
    /// When in the scenario.
    pub stage: &'static str,
    /// What was wrong.
    pub problems: Vec<Problem>,
}

impl Scenario {
    /// Draws a scenario.
    #[must_use]
    pub fn random(shape: Shape, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let topology = topology(shape, &mut random);
        let settings = Settings {
            graceful_restart: random.one_in(2),
            next_hop: if random.one_in(3) {
                NextHopMode::ToSelf
            } else {
                NextHopMode::Auto
            },
            send_window: *random.pick(&[100, 1000, 1 << 16]).expect("not empty"),
            hold_time: HoldTime::DEFAULT,
        };
        let mut steps = Vec::new();
        for _ in 0..2 + random.below(6) {
            steps.push((Duration::ZERO, originate(&topology, &mut random)));
        }
        for _ in 0..4 + random.below(16) {
            // Some at once, some within a round trip, some after timers have run out.
            let longest = *random
                .pick(&[0, 20, 1000, 10_000, 100_000])
                .expect("not empty");
            let after = random.up_to(Duration::from_millis(longest));
            steps.push((after, step(&topology, &mut random)));
        }
        Self {
            seed,
            topology,
            settings,
            steps,
        }
    }

    /// Lives it through and looks at what came of it while what broke is still broken; mends everything, and looks
    /// again; then takes all routes back, and looks a last time.
    ///
    /// # Errors
    /// [`Failure`] when something is not as it must be.
    pub fn run(&self) -> Result<Simulation, Failure> {
        let mut simulation = Simulation::new(self.topology.clone(), self.settings, self.seed);
        simulation.start_all();
        for (after, step) in &self.steps {
            simulation.run_for(*after);
            take(&mut simulation, step);
        }
        self.judge(
            &mut simulation,
            "with everything as it was left",
            check::problems,
        )?;
        self.mend(&mut simulation);
        self.judge(
            &mut simulation,
            "after everything was mended",
            check::problems,
        )?;

        for id in self.topology.ids() {
            let own: Vec<_> = simulation.own(id).map(|(prefix, _)| prefix).collect();
            for prefix in own {
                simulation.withdraw(id, prefix);
            }
        }
        self.judge(&mut simulation, "after all was withdrawn", |simulation| {
            let mut problems = check::problems(simulation);
            problems.extend(check::leftovers(simulation));
            problems
        })?;
        Ok(simulation)
    }

    fn mend(&self, simulation: &mut Simulation) {
        for link in 0..self.topology.links.len() {
            simulation.heal(link);
        }
        simulation.start_all();
    }

    /// Waits for rest, and sees that it lasts.
    fn judge(
        &self,
        simulation: &mut Simulation,
        stage: &'static str,
        problems: impl Fn(&Simulation) -> Vec<Problem>,
    ) -> Result<(), Failure> {
        simulation.run_until_settled(PATIENCE);
        let mut problems = problems(simulation);
        let updates = simulation.updates();
        simulation.run_for(REST);
        if problems.is_empty() && simulation.updates() != updates {
            problems = vec![Problem::Restless {
                updates: simulation.updates() - updates,
            }];
        }
        if problems.is_empty() {
            Ok(())
        } else {
            Err(Failure {
                seed: self.seed,
                stage,
                problems,
            })
        }
    }
}

/// Does one step. What makes no sense at the time does nothing.
pub fn take(simulation: &mut Simulation, step: &Step) {
    match step {
        Step::Originate(id, prefix, attributes) => {
            simulation.originate(*id, *prefix, (**attributes).clone());
        }
        Step::Withdraw(id, prefix) => simulation.withdraw(*id, *prefix),
        Step::Cut(link) => simulation.cut(*link),
        Step::Heal(link) => simulation.heal(*link),
        Step::Reset(link) => simulation.reset(*link),
        Step::Crash(id, crash) => simulation.crash(*id, *crash),
        Step::Start(id) => simulation.start(*id),
        Step::StartGracefully(id) => simulation.start_gracefully(*id),
        Step::Refresh(id, from, v4) => {
            simulation.request_refresh(*id, *from, FAMILIES[usize::from(!v4)]);
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {}, {}:", self.seed, self.stage)?;
        for problem in &self.problems {
            write!(f, "\n  {problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

fn topology(shape: Shape, random: &mut Random) -> Topology {
    let count = |least: u16, most: u16, random: &mut Random| {
        least + u16::try_from(random.below(usize::from(most - least) + 1)).expect("below a u16")
    };
    match shape {
        Shape::FullMesh => Topology::full_mesh(count(2, 6, random)),
        Shape::Chain => Topology::chain(count(2, 7, random)),
        Shape::Ring => Topology::ring(count(3, 7, random)),
        Shape::Reflectors => {
            let clusters = if random.one_in(2) {
                Clusters::Shared
            } else {
                Clusters::Separate
            };
            Topology::reflectors(count(1, 3, random), count(2, 5, random), clusters)
        }
        Shape::Neighbours => Topology::neighbours(count(2, 4, random), count(1, 2, random)),
    }
}

fn step(topology: &Topology, random: &mut Random) -> Step {
    let speaker = speaker(topology, random);
    let link = random.below(topology.links.len());
    match random.below(16) {
        0..4 => originate(topology, random),
        4..6 => Step::Withdraw(speaker, any_prefix(random)),
        6..8 => Step::Cut(link),
        8..10 => Step::Heal(link),
        10 => Step::Reset(link),
        11 | 12 => {
            let crashes = [Crash::Process, Crash::Power, Crash::Planned];
            Step::Crash(speaker, *random.pick(&crashes).expect("not empty"))
        }
        13 => Step::Start(speaker),
        14 => Step::StartGracefully(speaker),
        _ => {
            let [one, other] = topology.links[link].ends;
            Step::Refresh(one, other, random.one_in(2))
        }
    }
}

fn originate(topology: &Topology, random: &mut Random) -> Step {
    let mut attributes = Attributes::default();
    if random.one_in(4) {
        // Below the 100 that a route from another AS counts as, two ASes that announce the same would each prefer the
        // other's route, and who comes first wins: no one right answer (RFC 4264).
        let least = if has_ebgp(topology) { 100 } else { 90 };
        attributes.local_pref = Some(least + random.below(3) as u32 * 10);
    }
    if random.one_in(4) {
        attributes.med = Some(random.below(3) as u32);
    }
    if random.one_in(4) {
        attributes.origin = Origin::Incomplete;
    }
    if random.one_in(8) {
        let which = [Community::NO_EXPORT, Community::NO_ADVERTISE];
        attributes.communities = random.pick(&which).copied().into_iter().collect();
    }
    let (speaker, prefix) = (speaker(topology, random), any_prefix(random));
    Step::Originate(speaker, prefix, Box::new(attributes))
}

fn has_ebgp(topology: &Topology) -> bool {
    (0..topology.links.len()).any(|link| topology.session_type(link) == SessionType::External)
}

fn speaker(topology: &Topology, random: &mut Random) -> SpeakerId {
    let ids: Vec<_> = topology.ids().collect();
    *random.pick(&ids).expect("a topology has speakers")
}

/// Few, so that several speakers announce the same.
fn any_prefix(random: &mut Random) -> IpNet {
    prefix(random.below(6) as u16)
}

/// Virtual time within which everything must have come to rest: hold time, the longest wait between attempts, restart
/// and stale timers.
const PATIENCE: Duration = Duration::from_secs(900);

/// Virtual time for which it must stay so.
const REST: Duration = Duration::from_secs(40);
