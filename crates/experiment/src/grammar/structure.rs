//! Grammar of `[structure]` and `[partition]`.

use super::super::quantity::{Kind, Motion};
use super::mesh;
use super::{
    Alternative, Bounds, Choice, Count, Field, MOST_DOFS, MOST_INTERFACE, Need, Shape, Table,
    Variant, Variants, default, exactly, lone, of_dof, optional, quantity, required, up_to, word,
};

/// A matrix in full or from a file.
macro_rules! matrix {
    ($kind:expr, $doc:expr) => {
        Table {
            doc: $doc,
            fields: &[
                required("unit", Shape::Unit($kind, Motion::Coupled), "Unit of every entry."),
                optional("rows", Shape::Rows, "The entries, row by row, as bare numbers."),
                optional(
                    "file",
                    Shape::File(MATRIX_FILES),
                    "A matrix file: Matrix Market (`.mtx`), NumPy (`.npy`) or `.csv`.",
                ),
            ],
            choices: &[Choice { count: Count::Exactly, of: &[lone("rows"), lone("file")] }],
            variants: None,
        }
    };
}

/// Extensions of files that may hold a matrix.
pub(crate) const MATRIX_FILES: &[&str] = &["mtx", "npy", "csv"];

static MASS_MATRIX: Table = matrix!(Kind::Mass, "A mass matrix.");
static STIFFNESS_MATRIX: Table = matrix!(Kind::Stiffness, "A stiffness matrix.");
static DAMPING_MATRIX: Table = matrix!(Kind::Damping, "A damping matrix.");

static MASS_ENTRY: Shape = of_dof(Kind::Mass, Bounds::NotNegative);
static STIFFNESS_ENTRY: Shape = of_dof(Kind::Stiffness, Bounds::NotNegative);
static DAMPING_ENTRY: Shape = of_dof(Kind::Damping, Bounds::NotNegative);

pub(crate) static STRUCTURE: Table = Table {
    doc: "The whole structure, as if it were built: mass and stiffness, or one of the builders \
          `shear_building`, `chain`, `beam`, `brick` and `frame`. Degrees of freedom (DOFs) count from 1. Entries \
          for rotations take moment units (`kg m^2`, `N m/rad`).",
    fields: &[
        optional(
            "mass",
            Shape::Either(&[
                Shape::List(&MASS_ENTRY, up_to(MOST_DOFS)),
                Shape::Table(&MASS_MATRIX),
            ]),
            "A list is the diagonal; a table is the whole matrix.",
        ),
        optional(
            "stiffness",
            Shape::Either(&[
                Shape::List(&STIFFNESS_ENTRY, up_to(MOST_DOFS)),
                Shape::Table(&STIFFNESS_MATRIX),
            ]),
            "A list is the diagonal; a table is the whole matrix.",
        ),
        optional(
            "damping",
            Shape::Either(&[Shape::List(&DAMPING_ENTRY, up_to(MOST_DOFS)), Shape::Table(&DAMPING)]),
            "Damping of the whole structure. Absent: the dampers of `shear_building` or `chain` \
             if given there, else none.",
        ),
        optional("shear_building", Shape::Table(&SHEAR_BUILDING), "Storeys above one another."),
        optional("chain", Shape::Table(&CHAIN), "Masses in a row, joined by springs."),
        optional("beam", Shape::Table(&BEAM), "A straight Euler–Bernoulli beam."),
        optional("brick", Shape::Table(&mesh::BRICK), "A solid block of finite elements."),
        optional("frame", Shape::Table(&mesh::FRAME), "A building of columns and beams."),
        optional(
            "point",
            Shape::List(&Shape::Table(&mesh::POINT), mesh::MOST),
            "Names for DOFs of a brick or frame, each as `[[structure.point]]`.",
        ),
        optional(
            "link",
            Shape::List(&Shape::Table(&mesh::LINK), mesh::MOST),
            "Springs, dampers and masses to add, each as `[[structure.link]]`.",
        ),
        optional(
            "names",
            Shape::List(&Shape::Text, up_to(MOST_DOFS)),
            "A name for every DOF, which may then be used instead of its number.",
        ),
        optional(
            "influence",
            Shape::List(&Shape::Number(Bounds::Any), up_to(MOST_DOFS)),
            "How far each DOF follows a unit motion of the ground. Absent: 1 for every \
             displacement, 0 for every rotation.",
        ),
        optional(
            "element",
            Shape::List(&Shape::Table(&ELEMENT), up_to(1000)),
            "Nonlinear elements of the simulated part, each as `[[structure.element]]`.",
        ),
    ],
    choices: &[Choice {
        count: Count::Exactly,
        of: &[
            Alternative { key: "stiffness", needs: &["mass"], allows: &[] },
            lone("shear_building"),
            lone("chain"),
            lone("beam"),
            lone("brick"),
            lone("frame"),
        ],
    }],
    variants: None,
};

static DAMPING: Table = Table {
    doc: "Damping by modes, after Rayleigh, or as a matrix.",
    fields: &[
        optional(
            "modal",
            Shape::Either(&[DAMPING_RATIO, Shape::List(&DAMPING_RATIO, up_to(MOST_DOFS))]),
            "Ratio of critical damping: one for all modes, or a list from the lowest mode on, \
             whose last entry serves all further modes.",
        ),
        optional("rayleigh", Shape::Table(&RAYLEIGH), "Proportional to mass and stiffness."),
        optional("unit", Shape::Unit(Kind::Damping, Motion::Coupled), "Unit of every entry."),
        optional("rows", Shape::Rows, "The entries, row by row, as bare numbers."),
        optional(
            "file",
            Shape::File(MATRIX_FILES),
            "A matrix file: Matrix Market (`.mtx`), NumPy (`.npy`) or `.csv`.",
        ),
    ],
    choices: &[Choice {
        count: Count::Exactly,
        of: &[
            lone("modal"),
            lone("rayleigh"),
            Alternative { key: "rows", needs: &["unit"], allows: &[] },
            Alternative { key: "file", needs: &["unit"], allows: &[] },
        ],
    }],
    variants: None,
};

const DAMPING_RATIO: Shape = Shape::Ratio(Bounds::Within(0.0, 1.0));

static RAYLEIGH: Table = Table {
    doc: "C = `mass` M + `stiffness` K, by the two factors or by the ratios of two modes.",
    fields: &[
        optional("mass", quantity(Kind::Decay, Bounds::NotNegative), "Factor of the mass matrix."),
        optional(
            "stiffness",
            quantity(Kind::Time, Bounds::NotNegative),
            "Factor of the stiffness matrix.",
        ),
        optional(
            "ratios",
            Shape::List(&DAMPING_RATIO, exactly(2)),
            "Ratios of critical damping of two modes.",
        ),
        optional(
            "modes",
            Shape::List(&Shape::Count { min: 1, max: MOST_DOFS as u64 }, exactly(2)),
            "The two modes, counted from 1.",
        ),
    ],
    choices: &[Choice {
        count: Count::Exactly,
        of: &[
            Alternative { key: "mass", needs: &["stiffness"], allows: &[] },
            Alternative { key: "ratios", needs: &["modes"], allows: &[] },
        ],
    }],
    variants: None,
};

static STOREY_MASS: Shape = quantity(Kind::Mass, Bounds::Positive);
static STOREY_STIFFNESS: Shape = quantity(Kind::Stiffness, Bounds::Positive);
static STOREY_DAMPING: Shape = quantity(Kind::Damping, Bounds::NotNegative);

static SHEAR_BUILDING: Table = Table::plain(
    "One DOF per storey, storey 1 the lowest. Lists have one entry per storey; a single quantity \
     with `storeys` is repeated.",
    &[
        optional(
            "storeys",
            Shape::Count { min: 1, max: MOST_DOFS as u64 },
            "Number of storeys. Absent: the length of the lists.",
        ),
        required(
            "mass",
            Shape::Either(&[
                quantity(Kind::Mass, Bounds::Positive),
                Shape::List(&STOREY_MASS, up_to(MOST_DOFS)),
            ]),
            "Mass of each floor.",
        ),
        required(
            "stiffness",
            Shape::Either(&[
                quantity(Kind::Stiffness, Bounds::Positive),
                Shape::List(&STOREY_STIFFNESS, up_to(MOST_DOFS)),
            ]),
            "Lateral stiffness of each storey.",
        ),
        optional(
            "damping",
            Shape::Either(&[
                quantity(Kind::Damping, Bounds::NotNegative),
                Shape::List(&STOREY_DAMPING, up_to(MOST_DOFS)),
            ]),
            "Damper of each storey.",
        ),
    ],
);

static CHAIN: Table = Table::plain(
    "Masses in a row. A fixed end has a spring to the ground: n masses have n − 1 springs plus \
     one for every fixed end.",
    &[
        required("mass", Shape::List(&STOREY_MASS, up_to(MOST_DOFS)), "The masses, first to last."),
        required(
            "stiffness",
            Shape::List(&STOREY_STIFFNESS, ANY_NUMBER),
            "The springs, first to last.",
        ),
        optional(
            "damping",
            Shape::List(&STOREY_DAMPING, ANY_NUMBER),
            "A damper beside each spring.",
        ),
        default(
            "ends",
            Shape::Word(&[
                word("fixed-free", "the first mass is tied to the ground"),
                word("fixed-fixed", "the first and the last mass are tied to the ground"),
                word("free-free", "no mass is tied to the ground"),
                word("free-fixed", "the last mass is tied to the ground"),
            ]),
            "\"fixed-free\"",
            "How the ends are held.",
        ),
    ],
);

/// A lone free mass has no spring, so these lists may be empty.
const ANY_NUMBER: super::Length = super::Length { min: 0, max: MOST_DOFS + 1 };

static BEAM: Table = Table {
    doc: "An Euler–Bernoulli beam of equal elements. Each free node has two DOFs, deflection then \
          rotation, counted along the beam; DOFs held by the ends are left out.",
    fields: &[
        required(
            "elements",
            Shape::Count { min: 1, max: MOST_DOFS as u64 / 2 - 1 },
            "Number of elements.",
        ),
        required("length", quantity(Kind::Length, Bounds::Positive), "Length of the whole beam."),
        required("young", quantity(Kind::Pressure, Bounds::Positive), "Young's modulus."),
        required("density", quantity(Kind::Density, Bounds::Positive), "Density."),
        optional(
            "width",
            quantity(Kind::Length, Bounds::Positive),
            "Width of a rectangular section.",
        ),
        optional(
            "height",
            quantity(Kind::Length, Bounds::Positive),
            "Height of a rectangular section, in the plane of bending.",
        ),
        optional("area", quantity(Kind::Area, Bounds::Positive), "Area of any section."),
        optional(
            "inertia",
            quantity(Kind::SecondMoment, Bounds::Positive),
            "Second moment of area of any section.",
        ),
        required(
            "ends",
            Shape::Word(&[
                word("clamped-free", "a cantilever"),
                word("clamped-clamped", "both ends clamped"),
                word("pinned-pinned", "both ends pinned"),
                word("clamped-pinned", "the first end clamped, the last pinned"),
                word("free-free", "nothing held"),
            ]),
            "How the ends are held.",
        ),
        default(
            "mass",
            Shape::Word(&[
                word("consistent", "from the same shape functions as the stiffness"),
                word("lumped", "concentrated in the nodes"),
            ]),
            "\"consistent\"",
            "Mass matrix.",
        ),
    ],
    choices: &[Choice {
        count: Count::Exactly,
        of: &[
            Alternative { key: "width", needs: &["height"], allows: &[] },
            Alternative { key: "area", needs: &["inertia"], allows: &[] },
        ],
    }],
    variants: None,
};

/// The kinds of nonlinear element, whatever tells where they stand.
const ELEMENT_KINDS: Variants = Variants {
    key: "kind",
    doc: "The law of the element.",
    absent: None,
    of: &[
        Variant {
            word: "bilinear",
            doc: "elastic up to the yield force, then a lower stiffness (kinematic hardening)",
            fields: &[STIFFNESS, YIELD_FORCE, HARDENING],
            choices: &[],
        },
        Variant {
            word: "elastic_plastic",
            doc: "elastic up to the yield force, then a constant force",
            fields: &[STIFFNESS, YIELD_FORCE],
            choices: &[],
        },
        Variant {
            word: "bouc_wen",
            doc: "smooth hysteresis after Bouc and Wen",
            fields: &[
                STIFFNESS,
                YIELD_FORCE,
                HARDENING,
                default(
                    "exponent",
                    Shape::Number(Bounds::Within(1.0, 1000.0)),
                    "1",
                    "Sharpness of the transition, 1 or more.",
                ),
                default("beta", Shape::Number(Bounds::Any), "0.5", "Shape factor β of the loop."),
                default("gamma", Shape::Number(Bounds::Any), "0.5", "Shape factor γ of the loop."),
            ],
            choices: &[],
        },
        Variant {
            word: "gap",
            doc: "a spring that acts once a gap has closed",
            fields: &[
                STIFFNESS,
                required("opening", of_dof(Kind::Length, Bounds::NotNegative), "Width of the gap."),
                default(
                    "side",
                    Shape::Word(&[
                        word("both", "closes in both directions"),
                        word("positive", "closes in the positive direction"),
                        word("negative", "closes in the negative direction"),
                    ]),
                    "\"both\"",
                    "Where the gap closes.",
                ),
            ],
            choices: &[],
        },
    ],
};

const STIFFNESS: Field = required(
    "stiffness",
    of_dof(Kind::Stiffness, Bounds::Positive),
    "Initial stiffness; of a gap, once closed.",
);
const YIELD_FORCE: Field =
    required("yield_force", of_dof(Kind::Force, Bounds::Positive), "Force at yield.");
const HARDENING: Field = required(
    "hardening",
    Shape::Ratio(Bounds::Within(0.0, 1.0)),
    "Stiffness after yield as a ratio of the initial one.",
);

static ELEMENT: Table = Table {
    doc: "A nonlinear element of the simulated part.",
    fields: &[required(
        "between",
        Shape::List(&Shape::Node, exactly(2)),
        "The two ends: `\"ground\"`, a DOF number or a DOF name. The deformation is the second \
         minus the first.",
    )],
    choices: &[],
    variants: Some(ELEMENT_KINDS),
};

static SPECIMEN_ELEMENT: Table = Table {
    doc: "A nonlinear element of the specimen.",
    fields: &[
        optional(
            "at",
            Shape::Count { min: 1, max: MOST_INTERFACE as u64 },
            "The interface DOF it acts on, by its place in `interface`, from 1.",
        ),
        optional(
            "between",
            Shape::List(&Shape::Node, exactly(2)),
            "Instead of `at`: two ends among the interface, the `inside` and `\"ground\"`, for the \
             virtual shaker of [trace]. The deformation is the second minus the first.",
        ),
    ],
    choices: &[Choice { count: Count::Exactly, of: &[lone("at"), lone("between")] }],
    variants: Some(ELEMENT_KINDS),
};

static DEFORMATION: Table = Table::plain(
    "The deformation between two DOFs: the motion of `to` minus that of `from`.",
    &[
        required("from", Shape::Node, "DOF number, DOF name or `\"ground\"`."),
        required("to", Shape::Node, "DOF number, DOF name or `\"ground\"`."),
    ],
);

static SPECIMEN_MASS: Shape =
    Shape::QuantityOrShare(Kind::Mass, Motion::Either, Bounds::NotNegative);

pub(crate) static PARTITION: Table = Table::plain(
    "What stands in the laboratory. Mass, damping and stiffness of the specimen are taken out of \
     the structure; what remains is simulated. Lists have one entry per interface DOF.",
    &[
        required(
            "interface",
            Shape::List(
                &Shape::Either(&[Shape::Dof, Shape::Table(&DEFORMATION)]),
                up_to(MOST_INTERFACE),
            ),
            "Where simulation and laboratory meet: DOF numbers or names, or deformations \
             `{ from = 2, to = 3 }`.",
        ),
        optional(
            "inside",
            Shape::List(&Shape::Dof, up_to(MOST_DOFS)),
            "DOFs of the specimen away from the interface, such as the storeys below the one that \
             is driven. They stand in the laboratory with all their mass, damping and stiffness, \
             and touch nothing that is simulated but the interface. In a shear building or chain \
             the springs and dampers between them and the interface are the specimen's where \
             `stiffness` and `damping` are absent.",
        ),
        Field {
            key: "mass",
            shape: Shape::Either(&[
                Shape::List(&SPECIMEN_MASS, up_to(MOST_INTERFACE)),
                Shape::Table(&MASS_MATRIX),
            ]),
            need: Need::Optional,
            doc: "Mass of the specimen; an entry like `\"33 %\"` is a share of the structure's \
                  mass at that DOF. Absent: none.",
        },
        optional(
            "damping",
            Shape::Either(&[
                Shape::List(&DAMPING_ENTRY, up_to(MOST_INTERFACE)),
                Shape::Table(&DAMPING_MATRIX),
            ]),
            "Damping of the specimen. Absent: none.",
        ),
        optional(
            "stiffness",
            Shape::Either(&[
                Shape::List(&STIFFNESS_ENTRY, up_to(MOST_INTERFACE)),
                Shape::Table(&STIFFNESS_MATRIX),
            ]),
            "Stiffness of the specimen. Absent: none.",
        ),
        optional(
            "element",
            Shape::List(&Shape::Table(&SPECIMEN_ELEMENT), up_to(1000)),
            "Nonlinear elements of the specimen, each as `[[partition.element]]`.",
        ),
    ],
);
