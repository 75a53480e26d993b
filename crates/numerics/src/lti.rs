//! lti.
