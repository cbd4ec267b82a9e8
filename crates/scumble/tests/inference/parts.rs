//! Parts have nothing to do with each other: the worlds of the whole are the products of theirs.

use super::naive;

#[test]
fn worlds_are_products_of_the_worlds_of_parts() {
    for seed in 0..300 {
        let evidence = naive::random(seed);
        let worlds = naive::worlds(&evidence);
        assert!(!worlds.is_empty(), "seed {seed}");
        let possible: Vec<bool> =
            (0..evidence.outcomes().len()).map(|o| worlds.iter().any(|w| w[o] > 0)).collect();
        let parts = evidence.components(&possible).expect("there is a world");
        let product: usize = parts.iter().map(|p| naive::worlds(&p.evidence).len()).product();
        assert_eq!(product, worlds.len(), "seed {seed}");
        for part in &parts {
            assert_eq!(part.evidence.outcomes().len(), part.outcomes.len());
            for (local, &outcome) in part.outcomes.iter().enumerate() {
                let whole = evidence.facts_of(outcome).to_vec();
                let local: Vec<u32> = part
                    .evidence
                    .facts_of(local as u32)
                    .iter()
                    .map(|&f| part.facts[f as usize])
                    .collect();
                assert_eq!(whole, local);
            }
        }
    }
}

#[test]
fn figure_1_has_sixteen_worlds() {
    let evidence = naive::figure_1();
    assert_eq!(evidence.outcomes().len(), 39);
    assert_eq!(naive::worlds(&evidence).len(), 16);
    assert_eq!(naive::worlds(&naive::not_bayesian()).len(), 3);
}
