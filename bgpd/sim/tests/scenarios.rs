//! Random histories: whatever happens on the way, everybody ends where the oracle does.
//!
//! `BGP_SIM_SEED=123` replays one seed, in every shape; `BGP_SIM_COUNT=5000` runs more of them.

use std::env;

use bgp_sim::{Scenario, Shape};

fn all_seeds_of(shape: Shape) {
    let number = |name| env::var(name).ok().map(|text| text.parse().expect(name));
    let seeds = match number("BGP_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("BGP_SIM_COUNT").unwrap_or(60_u64),
    };
    let mut failures = Vec::new();
    for seed in seeds {
        if let Err(failure) = Scenario::random(shape, seed).run() {
            failures.push(failure.to_string());
        }
    }
    assert!(
        failures.is_empty(),
        "{} failed; replay one with BGP_SIM_SEED\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn full_meshes_end_where_the_oracle_does() {
    all_seeds_of(Shape::FullMesh);
}

#[test]
fn chains_end_where_the_oracle_does() {
    all_seeds_of(Shape::Chain);
}

#[test]
fn rings_end_where_the_oracle_does() {
    all_seeds_of(Shape::Ring);
}

#[test]
fn reflectors_end_where_the_oracle_does() {
    all_seeds_of(Shape::Reflectors);
}

#[test]
fn neighbours_end_where_the_oracle_does() {
    all_seeds_of(Shape::Neighbours);
}
