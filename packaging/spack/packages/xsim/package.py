"""Builds xsim from the repository that holds this recipe, as an MPI for other packages.

    spack repo add packaging/spack
    spack install hpcg ^xsim
"""

import os

from spack.package import *

try:
    from spack_repo.builtin.build_systems.generic import Package
except ImportError:
    # Spack before 1.0 exports it from spack.package.
    pass

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 4))

# The variables in which build systems look for an MPI's wrappers, with the names in `bin`.
WRAPPERS = {
    "MPICC": "mpicc",
    "MPICXX": "mpicxx",
    "MPIFC": "mpifort",
    "MPIF90": "mpif90",
    "MPIF77": "mpif77",
}


class Xsim(Package):
    """An MPI library that simulates: real programs on virtual ranks, with exact virtual time."""

    git = "file://" + ROOT

    license("MIT OR Apache-2.0")

    version("main", branch="main")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build")
    depends_on("rust@1.95:", type="build")

    provides("mpi")
    provides("mpi@:5.0")

    conflicts("platform=darwin", msg="xsim runs on Linux")
    conflicts("platform=windows", msg="xsim runs on Linux")

    def install(self, spec, prefix):
        which("cargo", required=True)("build", "--release", "--locked")
        Executable(join_path("target", "release", "xsim"))("install", "--prefix", str(prefix))
        # Other packages look for an MPI's commands and headers at the prefix, which is xsim's alone here.
        home = join_path(prefix, "lib", "xsim")
        mkdirp(prefix.include)
        for source, target in [
            (join_path(home, "bin"), prefix.bin),
            (join_path(home, "lib"), prefix.lib),
            (join_path(home, "lib", "pkgconfig"), join_path(prefix.lib, "pkgconfig")),
            (join_path(prefix, "include", "xsim"), prefix.include),
        ]:
            for name in sorted(os.listdir(source)):
                link = join_path(target, name)
                if not os.path.lexists(link) and not os.path.isdir(join_path(source, name)):
                    symlink(os.path.relpath(join_path(source, name), target), link)

    @property
    def headers(self):
        headers = HeaderList([join_path(self.prefix.include, "mpi.h")])
        headers.directories = [self.prefix.include]
        return headers

    @property
    def libs(self):
        return find_libraries("libmpi", root=self.prefix.lib, shared=True, recursive=False)

    def setup_run_environment(self, env):
        for variable, name in WRAPPERS.items():
            env.set(variable, join_path(self.prefix.bin, name))

    def setup_dependent_build_environment(self, env, dependent_spec):
        self.setup_run_environment(env)
        # The wrappers call Spack's own, which add the flags of dependencies.
        module = dependent_spec.package.module
        for language in ["cc", "cxx", "fc"]:
            compiler = getattr(module, "spack_" + language, None)
            if compiler:
                env.set("XSIM_" + language.upper(), compiler)

    def setup_dependent_package(self, module, dependent_spec):
        self.spec.mpicc = join_path(self.prefix.bin, "mpicc")
        self.spec.mpicxx = join_path(self.prefix.bin, "mpicxx")
        self.spec.mpifc = join_path(self.prefix.bin, "mpif90")
        self.spec.mpif77 = join_path(self.prefix.bin, "mpif77")
