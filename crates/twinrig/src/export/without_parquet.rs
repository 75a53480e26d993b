//! Parquet, in a build that was made without it.

use super::Format;

pub(super) const FORMAT: Format = Format {
    name: "parquet",
    about: "Apache Parquet (in builds with the feature `parquet`)",
    write: |_, _, _| {
        Err("this twinrig was built without Parquet; build it with `--features parquet`, or \
             export to csv or mat"
            .into())
    },
};
