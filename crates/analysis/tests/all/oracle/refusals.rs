//! What cannot be judged is named.

use analysis::loop_stability::{
    Curve, LoopError, MOST_DOFS, MOST_STATES, OpenLoop, Verdict, dominant, growing, verdict,
};
use model::element::{Element, Law};
use model::equations::ConnectedElement;

use super::*;

fn refused(description: &LoopDescription) -> LoopError {
    OpenLoop::sampled(description).map(|_| ()).unwrap_err()
}

#[test]
fn a_loop_that_cannot_be_judged_says_why() {
    let plain = described(three_storeys(&[ground(0)]), scalar_specimen(), delay(3.0), EXACT);
    let hook = ConnectedElement {
        place: ground(0),
        element: Element::new(Law::Bilinear { stiffness: 1e5, yield_force: 100.0, hardening: 0.1 }),
    };
    let mut bent = plain.clone();
    bent.numerical.elements.push(hook.clone());
    assert_eq!(refused(&bent), LoopError::NotLinear);
    let mut bent = plain.clone();
    bent.specimen.elements.push((0, hook.element));
    assert_eq!(refused(&bent), LoopError::NotLinear);
    let inside = LoopDescription { joint: Joint::Continuous, ..driven_from_above() };
    assert_eq!(refused(&inside), LoopError::ContinuousInside);
    for (rig, error) in [
        (TransferSystem::Ideal, LoopError::NoLoop),
        (delay(2.0), LoopError::ContinuousDelay),
        (actuator(2.0), LoopError::ContinuousDelay),
    ] {
        let joined =
            LoopDescription { joint: Joint::Continuous, transfer_system: rig, ..plain.clone() };
        assert_eq!(refused(&joined), error);
    }
}

#[test]
fn the_most_dofs_and_states_are_judged_and_one_more_is_not() {
    let wide = |count: usize| {
        let numerical = storeys(
            &vec![1000.0; count],
            &vec![4e5; count],
            &vec![4e3; count],
            &(0..count).map(ground).collect::<Vec<_>>(),
        );
        let size = |value: f64| DMatrix::identity(count, count) * value;
        described(numerical, specimen(size(0.0), size(10.0), size(1e4)), delay(2.0), EXACT)
    };
    assert_eq!(growing(&wide(MOST_DOFS)), Ok(0));
    let error = LoopError::TooManyDofs(MOST_DOFS + 1);
    assert_eq!(refused(&wide(MOST_DOFS + 1)), error);
    // A structure whose modes the damping couples, and one state more than is examined.
    let n = MOST_STATES / 2 + 1;
    let mut long = storeys(&vec![1.0; n], &vec![1.0; n], &vec![0.0; n], &[ground(0)]);
    (long.matrices.damping[(0, 1)], long.matrices.damping[(1, 0)]) = (0.1, -0.1);
    long.matrices.stiffness[(0, 1)] += 0.1;
    let long = described(long, scalar_specimen(), delay(1.0), EXACT);
    assert_eq!(refused(&long), LoopError::TooLarge { states: 2 * n, most: MOST_STATES });
}

/// From so many registers on the poles are not found at once, and the curve counts.
#[test]
fn a_very_long_delay_is_counted_by_its_curve() {
    let numerical = storeys(&[1000.0], &[4e5], &[1.2e4], &[ground(0)]);
    let stiff = |k: f64| specimen(one(0.0), one(0.0), one(k));
    for (k, stable) in [(1e5, true), (5e5, false)] {
        let long = described(numerical.clone(), stiff(k), delay(135.0), EXACT);
        assert_eq!(dominant(&long), Ok(None));
        let judged = verdict(&long).unwrap();
        assert_eq!(judged.is_stable(), stable, "{judged:?}");
        assert_eq!(growing(&long), Ok(judged.growing));
        if !stable {
            assert_eq!(judged.growing, Wired::of(&long, 0).growing(1.0));
        }
        let open = OpenLoop::sampled(&long).unwrap();
        assert_eq!(Curve::follow(&open).unwrap().growing, judged.growing);
    }
}

#[test]
fn a_verdict_without_a_margin_bears_any_delay_if_it_is_stable() {
    let stable = Verdict { growing: 0, delay_margin: None };
    assert_eq!((stable.is_stable(), stable.margin_s()), (true, Some(f64::INFINITY)));
    let unstable = Verdict { growing: 2, delay_margin: None };
    assert_eq!((unstable.is_stable(), unstable.margin_s()), (false, None));
}
