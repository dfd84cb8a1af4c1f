"""Runs the recipe of Spack without Spack: RECIPE XSIM PREFIX. Prints the variables it sets for dependents.

What the recipe uses of Spack is stood in for here. `cargo` is not run: the xsim command is built already.
"""

import glob
import os
import runpy
import sys
import types

recipe, command, prefix_path = sys.argv[1:]
directives = []


class Prefix(str):
    def __getattr__(self, name):
        return Prefix(os.path.join(self, name))


class Headers(list):
    directories = []


class Environment(dict):
    def set(self, name, value):
        self[name] = str(value)


class Package:
    pass


def directive(name):
    return lambda *args, **options: directives.append((name, args, options))


def executable(path):
    assert path in ("cargo", os.path.join("target", "release", "xsim")), path
    program = "true" if path == "cargo" else command
    return lambda *args: os.spawnvp(os.P_WAIT, program, [program, *args]) and sys.exit("the command failed")


spack = types.ModuleType("spack.package")
for name in ["license", "version", "depends_on", "provides", "conflicts"]:
    setattr(spack, name, directive(name))
spack.Package, spack.HeaderList, spack.join_path, spack.symlink = Package, Headers, os.path.join, os.symlink
spack.mkdirp = lambda path: os.makedirs(path, exist_ok=True)
spack.which = lambda name, required: executable(name)
spack.Executable = executable
spack.find_libraries = lambda name, root, shared, recursive: glob.glob(os.path.join(root, name + ".so"))
sys.modules["spack"], sys.modules["spack.package"] = types.ModuleType("spack"), spack

package = runpy.run_path(recipe)["Xsim"]()
package.prefix, package.spec = Prefix(prefix_path), types.SimpleNamespace()
assert ("provides", ("mpi",), {}) in directives, directives
package.install(package.spec, package.prefix)

environment = Environment()
module = types.SimpleNamespace(spack_cc="cc", spack_cxx="c++", spack_fc="gfortran")
dependent = types.SimpleNamespace(package=types.SimpleNamespace(module=module))
package.setup_dependent_build_environment(environment, dependent)
package.setup_dependent_package(module, dependent)
wrappers = [package.spec.mpicc, package.spec.mpicxx, package.spec.mpifc, package.spec.mpif77]
for path in [*wrappers, *package.headers, *package.libs]:
    assert os.path.exists(path), path
assert len(package.libs) == 1 and os.path.isfile(os.path.join(package.headers.directories[0], "mpi.h"))
for name, value in environment.items():
    print(f"{name}={value}")
