#!/usr/bin/env python3
"""The Debian packages: built by cpack, installed by dpkg into a scratch root, used there, removed and purged.

  debian_test.py BUILD SCRATCH VERSION

BUILD is the folder of a build whose target `installable` is there. Nothing outside SCRATCH is touched: dpkg has a
database of its own, and runs the scripts of the package with DPKG_ROOT instead of a chroot.
"""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

BUILD = SCRATCH = VERSION = ""


def run(*words, **more):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=240, check=False,
                          **more)


def fine(*words, **more):
    done = run(*words, **more)
    if done.returncode != 0:
        raise AssertionError(f"{words} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(SCRATCH).resolve()
        shutil.rmtree(cls.scratch, ignore_errors=True)
        # Quickly, since nobody keeps them.
        fine("cpack", "--config", f"{BUILD}/CPackConfig.cmake", "-B", cls.scratch / "packages",
             "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip", "-D", "CPACK_THREADS=0")
        arch = fine("dpkg", "--print-architecture").strip()
        cls.deb = {name: cls.scratch / "packages" / f"{name}_{VERSION}_{arch}.deb" for name in ("rota", "librota-dev")}

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.scratch, ignore_errors=True)

    def field(self, package, name):
        return fine("dpkg-deb", "-f", self.deb[package], name).strip()

    # --- a scratch root ---

    def fresh_root(self):
        self.root = self.scratch / "root"
        shutil.rmtree(self.root, ignore_errors=True)
        for folder in ("info", "updates", "triggers", "alternatives", "parts"):
            (self.root / "var/lib/dpkg" / folder).mkdir(parents=True)
        for file in ("status", "available"):
            (self.root / "var/lib/dpkg" / file).touch()
        (self.root / "run").mkdir()

    def dpkg(self, *words):
        as_root = [] if os.geteuid() == 0 else ["fakeroot"]
        path = os.environ["PATH"] + ":/usr/sbin:/sbin"
        # It asks for the packages' dependencies; a root with nothing in it has none of them.
        return fine(*as_root, "dpkg", f"--root={self.root}", f"--log={self.root}/run/log", "--force-depends",
                    "--force-script-chrootless", *words, env={**os.environ, "PATH": path})

    def listing(self):
        return sorted(str(path.relative_to(self.root)) for path in self.root.rglob("*")
                      if not str(path.relative_to(self.root)).startswith(("var/lib/dpkg", "run/")))

    # --- control ---

    def test_control_says_what_it_is_and_needs(self):
        for package in self.deb:
            self.assertEqual(self.field(package, "Version"), VERSION)
            self.assertEqual(self.field(package, "Package"), package)
            self.assertRegex(self.field(package, "Maintainer"), r"^[^<]+ <[^>]+@[^>]+>$")
            synopsis = self.field(package, "Description").splitlines()[0]
            self.assertRegex(synopsis, r"^(job daemon|C\+\+20 runtime) .{10,60}$")
        for library in ("libc6", "libstdc++6", "libsqlite3-0", "libcurl4", "tzdata"):
            self.assertRegex(self.field("rota", "Depends"), rf"(^|, ){re.escape(library)}\b")
        self.assertIn("libsqlite3-dev", self.field("librota-dev", "Depends"))

    def test_depends_name_every_library_that_is_loaded(self):
        depends = {re.match(r"[^ (]+", word)[0] for word in self.field("rota", "Depends").split(", ")}
        self.fresh_root()
        fine("dpkg-deb", "-x", self.deb["rota"], self.root)
        # Of these alone: others come with them.
        needed = re.findall(r"NEEDED +(\S+)", fine("objdump", "-p", self.root / "usr/bin/rota"))
        paths = dict(re.findall(r"(\S+) => (\S+)", fine("ldd", self.root / "usr/bin/rota")))
        for library in needed:
            file = os.path.realpath(paths.get(library, library))
            owners = run("dpkg", "-S", file).stdout or run("dpkg", "-S", file.removeprefix("/usr")).stdout
            self.assertTrue(any(owner.split(":")[0] in depends for owner in owners.splitlines()), (library, owners))

    def test_a_newer_lint_would_find_the_documents(self):
        for package in self.deb:
            names = fine("dpkg-deb", "-c", self.deb[package])
            for document in ("copyright", "changelog.gz"):
                self.assertIn(f"./usr/share/doc/{package}/{document}\n", names)
            self.assertFalse([line for line in names.splitlines() if line.split()[1] != "root/root"])

    # --- installing and removing ---

    def test_it_is_installed_used_removed_and_purged(self):
        self.fresh_root()
        before = self.listing()
        self.dpkg("-i", *self.deb.values())
        self.check_files()
        self.check_sums()
        self.check_program()
        self.check_units()

        # The ledger and the jobs of the administrator survive the removal, the jobs even the purge.
        for file in ("var/lib/rota/ledger.db", "etc/rota/jobs/mine.toml"):
            (self.root / file).parent.mkdir(exist_ok=True)
            (self.root / file).write_text("")
        wanted = self.root / "etc/systemd/system/multi-user.target.wants"
        wanted.mkdir(parents=True)
        (wanted / "rota.service").symlink_to("/usr/lib/systemd/system/rota.service")
        self.dpkg("-r", "rota", "librota-dev")
        self.assertFalse((self.root / "usr/bin/rota").exists())
        self.assertTrue((self.root / "var/lib/rota/ledger.db").exists())
        self.dpkg("-P", "rota", "librota-dev")
        ours = ["etc", "etc/rota", "etc/rota/jobs", "etc/rota/jobs/mine.toml", "etc/systemd", "etc/systemd/system",
                "etc/systemd/system/multi-user.target.wants"]
        self.assertEqual(self.listing(), sorted(before + ours))

    def test_a_purge_leaves_nothing(self):
        self.fresh_root()
        before = self.listing()
        self.dpkg("-i", *self.deb.values())
        self.dpkg("-i", self.deb["rota"])  # the same again, as an upgrade
        self.dpkg("-P", "rota", "librota-dev")
        self.assertEqual(self.listing(), before)

    def check_files(self):
        for file in ("usr/bin/rota", "usr/libexec/rota/rota-runner", "usr/lib/systemd/system/rota.service",
                     "usr/share/systemd/user/rota.service", "etc/rota/jobs", "usr/share/doc/rota/README.Debian",
                     "usr/share/doc/rota/README.md", "usr/share/doc/rota/docs/jobs.md",
                     "usr/share/doc/rota/examples/first_jobs/clock.toml",
                     "usr/share/doc/rota/examples/rota.service.d/hardened.conf",
                     "usr/share/bash-completion/completions/rota", "usr/share/zsh/vendor-completions/_rota",
                     "usr/share/fish/vendor_completions.d/rota.fish", "usr/share/man/man1/rota.1.gz",
                     "usr/share/man/man1/rota-serve.1.gz", "usr/share/man/man8/rota-runner.8.gz",
                     "usr/include/rota/rota.h", "usr/lib/librota.a", "usr/lib/cmake/rota/rota-config.cmake",
                     "usr/lib/pkgconfig/rota.pc", "usr/share/doc/librota-dev/examples/hello.cpp"):
            self.assertTrue((self.root / file).exists(), file)
        # Nothing is enabled.
        self.assertFalse((self.root / "etc/systemd").exists())

    def check_sums(self):
        checked = 0
        for package in self.deb:
            sums = (self.root / f"var/lib/dpkg/info/{package}.md5sums").read_text()
            for line in sums.splitlines():
                digest, name = line.split(maxsplit=1)
                self.assertEqual(hashlib.md5((self.root / name).read_bytes()).hexdigest(), digest, name)
                checked += 1
        files = [path for path in self.root.rglob("*") if path.is_file() and "var/lib/dpkg" not in str(path)
                 and path.parent != self.root / "run"]
        self.assertEqual(checked, len(files))
        self.assertEqual(self.dpkg("--verify", *self.deb), "")

    def check_program(self):
        rota = self.root / "usr/bin/rota"
        self.assertEqual(fine(rota, "--version"), f"rota {VERSION}\n")
        self.assertEqual(fine(rota, "cron", "next", "30 2 * * *", "--from", "2026-01-01", "--count", "1"),
                         "2026-01-01T02:30:00Z\n")
        self.assertEqual(run(self.root / "usr/libexec/rota/rota-runner").returncode, 2)
        self.check_daemon(rota)

    def check_daemon(self, rota):
        """The daemon finds its runner where the package has put it."""
        state = self.scratch / "state"
        daemon = subprocess.Popen([rota, "serve", "--state", state, "--listen", "none", "--log", self.scratch / "log"])
        try:
            job = (rota, "job")
            socket = ("--socket", state / "rota.sock")
            for _ in range(200):
                if run(*job, "status", *socket).returncode == 0:
                    break
                if daemon.poll() is not None:
                    self.fail((self.scratch / "log").read_text())
                subprocess.run(["sleep", "0.05"], check=True)
            fine(*job, "add", "hello", "--shell", "echo hello from the package", *socket)
            self.assertIn("hello from the package", fine(*job, "run", "hello", "--wait", *socket))
        finally:
            daemon.terminate()
            daemon.wait(30)

    def check_units(self):
        self.assertIn("ExecStart=/usr/bin/rota serve",
                      (self.root / "usr/lib/systemd/system/rota.service").read_text())
        if not shutil.which("systemd-analyze"):
            return
        # Read as units alone, since the root has no others; the program is there.
        for unit in ("usr/lib/systemd/system/rota.service", "usr/share/systemd/user/rota.service"):
            copy = self.scratch / "units" / "rota.service"
            copy.parent.mkdir(exist_ok=True)
            text = (self.root / unit).read_text()
            copy.write_text(text.replace("/usr/bin/rota", str(self.root / "usr/bin/rota")))
            done = run("systemd-analyze", "verify", "--recursive-errors=no", copy)
            self.assertEqual((done.returncode, done.stderr), (0, ""), unit)
        self.assertLess(self.exposure(hardened=True), 4)
        self.assertLess(self.exposure(hardened=False), 9.5)

    def exposure(self, hardened):
        folder = self.scratch / f"unit_{hardened}"
        folder.mkdir()
        shutil.copy(self.root / "usr/lib/systemd/system/rota.service", folder)
        if hardened:
            shutil.copytree(self.root / "usr/share/doc/rota/examples/rota.service.d", folder / "rota.service.d")
        said = fine("systemd-analyze", "security", "--offline=true", folder / "rota.service")
        return float(re.search(r"exposure level for \S+: ([0-9.]+)", said)[1])


if __name__ == "__main__":
    BUILD, SCRATCH, VERSION = sys.argv[1:4]
    del sys.argv[1:4]
    unittest.main()
