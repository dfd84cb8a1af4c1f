//! Links from call sites to an editor.

use std::collections::BTreeMap;

/// Sources of a program, and the address by which an editor opens a line of one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SourceLinks {
    /// The absolute path of each file, by its name.
    pub paths: BTreeMap<String, String>,
    /// An address, in which `{path}` and `{line}` are replaced.
    pub address: String,
}

impl SourceLinks {
    /// Returns the address of a call site, `file:line function`; nothing if its file is not known.
    pub fn of(&self, site: &str) -> Option<String> {
        let (file, line) = site.split_whitespace().next()?.rsplit_once(':')?;
        let line: u32 = line.parse().ok()?;
        let path = self.paths.get(file)?;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-~".contains(&byte);
        let encoded: String = path
            .bytes()
            .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
            .collect();
        Some(self.address.replace("{path}", &encoded).replace("{line}", &line.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_of_a_known_file_has_an_address() {
        let links = SourceLinks {
            paths: [("a.c".to_owned(), "/home/a b/a.c".to_owned())].into(),
            address: "vscode://file{path}:{line}".to_owned(),
        };
        assert_eq!(links.of("a.c:36 main").unwrap(), "vscode://file/home/a%20b/a.c:36");
        assert_eq!(links.of("b.c:36 main"), None);
        assert_eq!(links.of("app main+0x12"), None);
    }
}
