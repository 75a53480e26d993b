//! The folder that is served: names from outside become paths inside it, or nothing.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::error::ApiError;

/// How deep the folder is looked through.
const DEEPEST: usize = 4;
/// Most files that are listed.
const MOST_FILES: usize = 2000;
/// Most entries that are looked at for them.
const MOST_LOOKS: usize = 20_000;
/// Longest name from outside.
const LONGEST_NAME: usize = 512;

/// The folder.
#[derive(Debug, Clone)]
pub(crate) struct Served {
    root: PathBuf,
}

/// A file in it.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    /// Relative to the folder, with `/`.
    pub(crate) path: String,
    pub(crate) bytes: u64,
    /// Seconds since 1970.
    pub(crate) modified_s: f64,
}

impl Served {
    pub(crate) fn new(root: &Path) -> io::Result<Self> {
        let root = root.canonicalize()?;
        if !root.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotADirectory, "it is not a folder"));
        }
        Ok(Self { root })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The place of a name, which need not exist. No name leads out of the folder, to what is
    /// hidden, or through a symbolic link.
    pub(crate) fn place(&self, name: &str) -> Result<PathBuf, ApiError> {
        let refused = |message: &str| Err(ApiError::forbidden("path_refused", message));
        if name.is_empty() || name.len() > LONGEST_NAME || name.chars().any(char::is_control) {
            return refused("this is no name of a file");
        }
        let mut path = self.root.clone();
        for component in Path::new(name).components() {
            let Component::Normal(part) = component else {
                return refused("names are relative to the folder that is served, without ..");
            };
            if part.as_encoded_bytes().first() == Some(&b'.') {
                return refused("hidden files are not served");
            }
            path.push(part);
            if fs::symlink_metadata(&path).is_ok_and(|facts| facts.is_symlink()) {
                return refused("symbolic links are not followed");
            }
        }
        Ok(path)
    }

    /// A regular file that is there.
    pub(crate) fn file(&self, name: &str) -> Result<PathBuf, ApiError> {
        let path = self.place(name)?;
        match fs::symlink_metadata(&path) {
            Ok(facts) if facts.is_file() => Ok(path),
            Ok(_) => Err(ApiError::forbidden("path_refused", "this is not a regular file")),
            Err(_) => Err(ApiError::not_found(format!("there is no file {name}"))),
        }
    }

    /// The regular files in the folder, by name; `wanted` looks at a name.
    pub(crate) fn list(&self, wanted: impl Fn(&str) -> bool) -> Vec<Found> {
        let mut found = Vec::new();
        let mut looks = 0;
        let mut folders = vec![(self.root.clone(), String::new(), 0)];
        while let Some((folder, before, depth)) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                looks += 1;
                if looks > MOST_LOOKS || found.len() >= MOST_FILES {
                    break;
                }
                let Ok(name) = entry.file_name().into_string() else { continue };
                let Ok(facts) = entry.metadata() else { continue };
                if name.starts_with('.') || facts.is_symlink() {
                    continue;
                }
                let path = format!("{before}{name}");
                if facts.is_dir() && depth + 1 < DEEPEST && name != "target" {
                    folders.push((entry.path(), format!("{path}/"), depth + 1));
                } else if facts.is_file() && wanted(&name) {
                    found.push(Found { path, bytes: facts.len(), modified_s: modified_s(&facts) });
                }
            }
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        found
    }
}

/// When a file was written, seconds since 1970.
pub(crate) fn modified_s(facts: &fs::Metadata) -> f64 {
    let since = facts.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    since.map_or(0.0, |since| since.as_secs_f64())
}

/// What a record is called in addresses: its folder below `runs`, or the whole path.
pub(crate) fn record_id(folder: &str) -> String {
    folder
        .strip_prefix("runs/")
        .map_or_else(|| format!("~{folder}"), str::to_owned)
        .replace('/', "~")
}

/// The folder that is called so.
pub(crate) fn record_folder(id: &str) -> String {
    let whole = id.replace('~', "/");
    whole.strip_prefix('/').map_or_else(|| format!("runs/{whole}"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leads_out_of_the_folder() {
        let lab = tempfile::tempdir().unwrap();
        let root = lab.path().join("served");
        fs::create_dir_all(root.join("a")).unwrap();
        fs::write(root.join("a/good.toml"), "").unwrap();
        fs::write(root.join(".hidden"), "").unwrap();
        fs::write(lab.path().join("secret"), "").unwrap();
        std::os::unix::fs::symlink(lab.path(), root.join("out")).unwrap();
        std::os::unix::fs::symlink(lab.path().join("secret"), root.join("a/link.toml")).unwrap();
        let served = Served::new(&root).unwrap();
        assert!(served.file("a/good.toml").is_ok() && served.file("./a/good.toml").is_err());
        for bad in [
            "",
            "..",
            "../secret",
            "a/../../secret",
            "/etc/passwd",
            ".hidden",
            "out/secret",
            "a/link.toml",
            "a/\0",
            "a",
            "a/.x",
            ".twinrig/operator.token",
            "a//../..",
        ] {
            assert!(served.file(bad).is_err(), "{bad:?}");
        }
        let names: Vec<String> = served.list(|_| true).into_iter().map(|it| it.path).collect();
        assert_eq!(names, ["a/good.toml"]);
    }

    #[test]
    fn the_name_of_a_record_leads_back_to_its_folder() {
        for folder in ["runs/frame", "runs/a/b", "other/c", "d"] {
            assert_eq!(record_folder(&record_id(folder)), folder);
        }
        assert_eq!(record_id("runs/frame"), "frame");
    }
}
