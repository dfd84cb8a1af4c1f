//! Builds the simulator and its examples, and runs them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The examples, compiled.
pub struct Examples {
    directory: PathBuf,
}

fn successful(command: &mut Command) -> Result<Output, String> {
    let output = command.output().map_err(|why| format!("cannot start {command:?}: {why}"))?;
    if output.status.success() {
        return Ok(output);
    }
    Err(format!(
        "{command:?} failed: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    ))
}

impl Examples {
    /// Compiles the examples with library and command of this program's own build directory, brought up to
    /// date if wanted.
    pub fn build(update: bool) -> Result<Examples, String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let me = std::env::current_exe().map_err(|why| format!("cannot find this program: {why}"))?;
        let built = me.parent().unwrap_or(Path::new("."));
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            .current_dir(&root)
            .args(["build", "--quiet"])
            .env("CARGO_TARGET_DIR", built.parent().unwrap_or(Path::new(".")));
        if built.ends_with("release") {
            cargo.arg("--release");
        }
        if update {
            successful(&mut cargo)?;
        }
        let directory = built.join("experiments");
        std::fs::create_dir_all(&directory)
            .map_err(|why| format!("cannot make {}: {why}", directory.display()))?;
        let examples = Examples { directory };
        for name in ["random", "ring", "pingpong"] {
            let source = root.join("examples/c").join(name).with_extension("c");
            // Several of these may build at once: the program appears under its name when it is whole.
            let fresh = examples.path(&format!("{name}.{}", std::process::id()));
            successful(Command::new(built.join("xsim")).args(["cc", "-O2", "-o"]).arg(&fresh).arg(source))?;
            std::fs::rename(&fresh, examples.path(name))
                .map_err(|why| format!("cannot rename {}: {why}", fresh.display()))?;
        }
        Ok(examples)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Returns what an example prints on this machine without computation.
    pub fn run(
        &self,
        name: &str,
        machine: &str,
        ranks: usize,
        arguments: &[String],
    ) -> Result<String, String> {
        let mut command = Command::new(self.path(name));
        for (variable, _) in
            std::env::vars_os().filter(|(variable, _)| variable.to_string_lossy().starts_with("XSIM_"))
        {
            command.env_remove(variable);
        }
        command.args(arguments).args([
            "-xsim-quiet",
            "-xsim-compute",
            "none",
            "-xsim-np",
            &ranks.to_string(),
            "-xsim-mn",
            machine,
        ]);
        let output = successful(&mut command)?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The mean latency in microseconds that `random` or `ring` prints in its last line.
    pub fn latency(
        &self,
        name: &str,
        machine: &str,
        ranks: usize,
        arguments: &[String],
    ) -> Result<f64, String> {
        let output = self.run(name, machine, ranks, arguments)?;
        let number = output
            .lines()
            .last()
            .and_then(|line| line.split_whitespace().rev().nth(1))
            .and_then(|word| word.parse().ok());
        number.ok_or_else(|| format!("{name} printed no latency: {output}"))
    }
}
