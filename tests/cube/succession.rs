//! Exchanges in succession.

use necklace::algorithm::Algorithm;
use necklace::algorithm::cube::Succession;
use necklace::schedule::{Shares, verify_shares};

#[test]
fn pipelined_exchanges_take_half_of_the_elements_and_the_delays() {
    for (axes, d, places) in [
        (1, 1, 1),
        (2, 1, 1),
        (4, 1, 2),
        (1, 2, 2),
        (2, 2, 2),
        (3, 2, 3),
        (1, 3, 3),
        (2, 3, 3),
        (2, 3, 4),
        (2, 3, 5),
        (3, 3, 3),
        (2, 4, 4),
        (1, 5, 5),
        (1, 6, 6),
        (1, 7, 7),
    ] {
        let succession = Succession::pipelined(axes, d, places).unwrap();
        assert_eq!(succession.steps(), (1 << (places - 1)) + (axes - 1) * d, "{}", succession.name());
        let problem = succession.problem().unwrap();
        let proof = verify_shares(Shares::new(&succession, &problem).unwrap());
        let proof = proof.unwrap_or_else(|violations| panic!("{}: {violations}", succession.name()));
        assert_eq!(
            proof.contradicts(&succession.claims(&problem).completed(succession.about().ports)),
            [],
            "{}",
            succession.name()
        );
        assert!(proof.keeps(succession.about().ports));
    }
}

#[test]
fn what_is_no_succession_is_refused() {
    for (axes, d, places) in [(0, 1, 1), (1, 0, 1), (1, 3, 2), (31, 1, 1), (2, 16, 16), (1, 1, 31), (usize::MAX, 2, 2)]
    {
        assert!(Succession::pipelined(axes, d, places).is_none(), "{axes} {d} {places}");
    }
}
