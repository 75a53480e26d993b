//! Grammar of large models: meshes, their named points, links and `[reduction]`.

use super::super::quantity::Kind;
use super::{
    Alternative, Bounds, Choice, Count, Field, Shape, Table, Word, default, exactly, lone, of_dof,
    optional, quantity, required, up_to, word,
};

/// Most elements along one edge of a mesh.
const MOST_ALONG: u64 = 10_000;
/// Most named points and links.
const MOST_POINTS: usize = 1000;
/// Most modes that are kept.
pub(crate) const MOST_MODES: u64 = 2000;

static LENGTH: Shape = quantity(Kind::Length, Bounds::Positive);
static PLACE: Shape = quantity(Kind::Length, Bounds::Any);
static ALONG: Shape = Shape::Count { min: 1, max: MOST_ALONG };

const YOUNG: Field =
    required("young", quantity(Kind::Pressure, Bounds::Positive), "Young's modulus.");
const POISSON: Field =
    default("poisson", Shape::Number(Bounds::Within(-0.99, 0.49)), "0.3", "Poisson's ratio.");
const DENSITY: Field = required("density", quantity(Kind::Density, Bounds::Positive), "Density.");
const GROUND: &[Word] = &[
    word("x", "the ground moves along x"),
    word("y", "the ground moves along y"),
    word("z", "the ground moves along z"),
];

pub(crate) static BRICK: Table = Table::plain(
    "A solid block of equal eight-node hexahedra, from the origin along x, y and z. Each node has \
     three DOFs, x, y and z. Large ones need `[reduction]`. Bending needs several elements across.",
    &[
        required("size", Shape::List(&LENGTH, exactly(3)), "Edges along x, y and z."),
        required("elements", Shape::List(&ALONG, exactly(3)), "Elements along x, y and z."),
        YOUNG,
        POISSON,
        DENSITY,
        default(
            "ends",
            Shape::Word(&[
                word("clamped-free", "the face at x = 0 is held"),
                word("free-free", "nothing is held"),
            ]),
            "\"clamped-free\"",
            "How the block is held.",
        ),
        default("ground", Shape::Word(GROUND), "\"y\"", "Direction of the ground motion."),
    ],
);

pub(crate) static FRAME: Table = Table::plain(
    "A building of columns and beams in space: bays along x and y, storeys along z, feet clamped at \
     z = 0. Euler–Bernoulli beams, six DOFs per node: x, y, z, rx, ry, rz. Large ones need \
     `[reduction]`.",
    &[
        required("bays", Shape::List(&ALONG, exactly(2)), "Bays along x and y."),
        required("storeys", Shape::Count { min: 1, max: MOST_ALONG }, "Storeys."),
        required("bay", Shape::List(&LENGTH, exactly(2)), "Width of a bay along x and y."),
        required("storey", quantity(Kind::Length, Bounds::Positive), "Height of a storey."),
        required("column", Shape::List(&LENGTH, exactly(2)), "Section of a column along x and y."),
        required("beam", Shape::List(&LENGTH, exactly(2)), "Width and height of a beam."),
        default("elements", Shape::Count { min: 1, max: 1000 }, "4", "Elements along each member."),
        YOUNG,
        POISSON,
        DENSITY,
        default("ground", Shape::Word(GROUND), "\"x\"", "Direction of the ground motion."),
    ],
);

pub(crate) static POINT: Table = Table::plain(
    "A name for one DOF of a `brick` or `frame`: that of the node nearest to a place. Without a \
     point a DOF may be called by its node and direction, such as `\"n42y\"`, or by its number.",
    &[
        required("name", Shape::Text, "The name."),
        required("at", Shape::List(&PLACE, exactly(3)), "The place: x, y and z."),
        required(
            "direction",
            Shape::Word(&[
                word("x", "along x"),
                word("y", "along y"),
                word("z", "along z"),
                word("rx", "about x, of a frame"),
                word("ry", "about y, of a frame"),
                word("rz", "about z, of a frame"),
            ]),
            "The direction.",
        ),
    ],
);

/// Most entries of lists of points, links.
pub(crate) const MOST: super::Length = up_to(MOST_POINTS);

pub(crate) static LINK: Table = Table {
    doc: "A spring, damper or mass added to the structure's own matrices, after its `damping`. So a \
          specimen may be joined to a model that was made without it.",
    fields: &[
        required(
            "between",
            Shape::List(&Shape::Node, exactly(2)),
            "The two ends: `\"ground\"`, a DOF number or a DOF name.",
        ),
        optional("stiffness", of_dof(Kind::Stiffness, Bounds::NotNegative), "A spring."),
        optional("damping", of_dof(Kind::Damping, Bounds::NotNegative), "A damper."),
        optional("mass", of_dof(Kind::Mass, Bounds::NotNegative), "A mass at the second end."),
    ],
    choices: &[Choice {
        count: Count::AtLeast,
        of: &[lone("stiffness"), lone("damping"), lone("mass")],
    }],
    variants: None,
};

static DOF: Shape = Shape::Dof;

pub(crate) static REDUCTION: Table = Table {
    doc: "Component mode synthesis: the structure becomes a small model that still answers truly at \
          the DOFs that matter, and that is what is simulated. Interface DOFs, DOFs under forces, \
          ends of nonlinear elements and of discrete dampers stay as they are. Matrix files are then \
          read sparse. The reduced model is kept under `runs/cache` for the next time.",
    fields: &[
        default(
            "method",
            Shape::Word(&[
                word("rubin", "free modes and flexibility modes"),
                word("craig_bampton", "modes with the retained DOFs held, and constraint modes"),
                word("modes_only", "free modes alone, for comparison"),
                word(
                    "state_space",
                    "de Kraker's complex modes with flexibility modes: a first-order model, for heavily \
                     or non-symmetrically damped structures",
                ),
                word(
                    "dual_craig_bampton",
                    "free modes and the forces at the DOFs that stay; for `twinrig reduce` alone, \
                     for some of its motions always grow",
                ),
            ]),
            "\"rubin\"",
            "The method.",
        ),
        default(
            "completion",
            Shape::Word(&[
                word("flexibility", "flexibility modes of the DOFs that stay"),
                word("residual", "residual flexibility modes: the same span, worse conditioned"),
                word("none", "nothing: for comparison"),
            ]),
            "\"flexibility\"",
            "What stands beside the modes of `state_space`.",
        ),
        optional(
            "cut_off",
            quantity(Kind::Frequency, Bounds::Positive),
            "Keep all modes up to this frequency; in `state_space` by |Im λ|, so that overdamped \
             modes always stay.",
        ),
        optional("modes", Shape::Count { min: 1, max: MOST_MODES }, "Keep this many modes."),
        optional(
            "error",
            Shape::Ratio(Bounds::Within(1e-12, 1.0)),
            "Keep as few modes as hold the response at the interface to this error, up to the end \
             of `band`, resonances included. Costs 28 factorisations of the full model or more, 120 \
             at most.",
        ),
        optional(
            "band",
            quantity(Kind::Frequency, Bounds::Positive),
            "End of the band in which the reduced model is judged. Absent: `cut_off`, or the highest \
             mode kept.",
        ),
        optional(
            "retain",
            Shape::List(&DOF, MOST),
            "Further DOFs that stay as they are, by number or name.",
        ),
        optional(
            "monitor",
            Shape::List(&DOF, MOST),
            "DOFs whose motion is wanted back though they do not stay: `run` writes it to \
             `monitored.csv`.",
        ),
        default(
            "unstable",
            Shape::Word(&[
                word("refuse", "an unstable reduced model is an error"),
                word("accept", "it is used all the same"),
            ]),
            "\"refuse\"",
            "What to do with a reduced model that is unstable.",
        ),
    ],
    choices: &[Choice {
        count: Count::Exactly,
        of: &[
            Alternative { key: "cut_off", needs: &[], allows: &["band"] },
            Alternative { key: "modes", needs: &[], allows: &["band"] },
            Alternative { key: "error", needs: &["band"], allows: &[] },
        ],
    }],
    variants: None,
};
