"""Puts `plugin/MissingModules.java` into an unpacked Elasticsearch: a few declarations that the vendor's test distribution lacks.

The test distribution has the code of API keys and of failure stores, but not the modules (analysis-common, mapper-extras, data-streams) that declare what
both need first: three parts of the security index's analyser, a field type of the failure store's mapping, and the node's statement that it knows failure
stores. What is tested is the server's own code. Compiled with the JDK that runs the server, once per server and version of the source.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

SOURCE = Path(__file__).resolve().parent / "plugin" / "MissingModules.java"
NAME = "missing-modules"
_CLASS = "detector.nodes.MissingModules"
_SERVICE = "META-INF/services/org.elasticsearch.features.FeatureSpecification"
_DESCRIPTOR = "name={name}\ndescription=What the test distribution lacks\nversion=1\nclassname={main}\njava.version={java}\nelasticsearch.version={version}\n"


def install(home: Path, version: str, java: int, java_home: Path) -> str:
    """Compile and install it where it is not yet; gives why it can't be, or "" when it is there."""
    folder = home / "plugins" / NAME
    stamp = folder / "source.sha256"
    digest = hashlib.sha256(SOURCE.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == digest:
        return ""
    compilers = [path for path in (java_home / "bin" / "javac", Path(shutil.which("javac") or "")) if path.is_file()]
    if not compilers:
        return f"there is no javac in {java_home} and none on the path: a JDK is needed, not a JRE"
    with TemporaryDirectory() as scratch:
        command = ["-nowarn", "-proc:none", "-cp", str(home / "lib" / "*"), "-d", scratch, str(SOURCE)]
        done = subprocess.run([compilers[0], *command], capture_output=True, text=True, check=False, timeout=300)
        if done.returncode:
            return f"{SOURCE.name} can't be compiled for Elasticsearch {version}: {done.stderr[-300:]}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with zipfile.ZipFile(folder / f"{NAME}.jar", "w") as jar:
            for compiled in sorted(Path(scratch).rglob("*.class")):
                jar.write(compiled, compiled.relative_to(scratch))
            jar.writestr(_SERVICE, f"{_CLASS}$Features\n")
    (folder / "plugin-descriptor.properties").write_text(_DESCRIPTOR.format(name=NAME, main=_CLASS, java=java, version=version))
    for path in (home / "plugins", folder, *folder.iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o644)  # the server runs as another user
    stamp.write_text(digest)
    stamp.chmod(0o644)
    return ""
