"""Released files: fetched once, checked by hash, never half written, and never by accident."""

import hashlib
import os
import re
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from nlgbench.datasets import cache, registry

WHOLE = {"toy/a.csv": b"a,b\n1,2\n", "toy/b.csv": b"the other one\n" * 500, "else/c.csv": b"c"}
RELEASED = pytest.mark.skipif(
    not any(map(cache.available, [[file.name] for file in registry.FILES]))
    or not os.environ.get("NLGBENCH_DATA"),
    reason="NLGBENCH_DATA names no folder of released data",
)


def toy_file(name):
    sha256 = hashlib.sha256(WHOLE[name]).hexdigest()
    return registry.ReleasedFile(name, "owner/repo", "0" * 40, f"data/{name}", "MIT", sha256)


@pytest.fixture
def toys(monkeypatch):
    """Three files that we know, in place of those that authors released."""
    monkeypatch.setattr(registry, "FILES", tuple(map(toy_file, WHOLE)))
    cache.reachable.cache_clear()
    yield
    cache.reachable.cache_clear()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache of our own, where nothing is yet."""
    monkeypatch.delenv("NLGBENCH_DATA", raising=False)
    monkeypatch.setattr("pooch.os_cache", lambda name: tmp_path / "cache" / name)
    return tmp_path / "cache" / "nlgbench"


@pytest.fixture
def host(toys, monkeypatch):
    """A loopback host of the toys; `host.answers[name] = status, body, cut` overrides one."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            server.asked.append((self.command, self.path))
            name = self.path.split("/data/", 1)[-1]
            status, body, cut = server.answers.get(name, (200, WHOLE.get(name, b""), 0))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body[: len(body) - cut])

        do_HEAD = do_GET

        def log_message(self, *values):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked, server.answers = [], {}
    server.base = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(registry, "BASE", server.base)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def held(folder):
    found = {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file()}
    return {name: path.read_bytes() for name, path in found.items()}


def fill(folder, **changed):
    for name, content in WHOLE.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(changed.get(place.stem, content))


def test_every_released_file_has_an_address_and_a_hash():
    files = registry.files()
    assert len(files) == 114
    assert len({file.name for file in files}) == len({file.sha256 for file in files}) == 114
    for file in files:
        assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
        assert re.fullmatch(r"[0-9a-f]{40}", file.commit)
        assert file.license in ("MIT", "Apache-2.0", "CC BY-NC 4.0") or file.license.startswith(
            "none stated"
        )
    assert registry.files("huse/summary_clean.csv")[0].address == (
        "https://raw.githubusercontent.com/hughbzhang/HUSE/"
        "0e7d6c16927357d4faf43456a82539dd73a56301/data/summary_clean.csv"
    )


@RELEASED
def test_released_files_that_are_here_have_their_hashes():
    here = [file for file in registry.files() if (cache.cache_dir() / file.name).is_file()]
    assert here
    for file in here:
        assert cache.path(file.name) == cache.cache_dir() / file.name


@pytest.mark.parametrize("ask", [registry.files, cache.path, cache.available, cache.fetch])
def test_unknown_names_are_answered_with_the_nearest(ask, folder):
    message = r"'hused'\. Did you mean 'huse'\? Data sets are huse, comm-eval, judge-the-judges"
    with pytest.raises(ValueError, match=message):
        ask("hused")
    with pytest.raises(ValueError, match=r"Did you mean 'huse/summary_clean\.csv'\?"):
        ask("huse/sumary_clean.csv")
    assert not folder.exists()


def test_fetch_gets_all_files_and_then_keeps_them(host, folder):
    assert not cache.available(["toy"])
    assert cache.fetch()["done"].tolist() == ["fetched"] * 3
    assert held(folder) == WHOLE
    assert cache.available(["toy", "else"])
    assert cache.path("toy/a.csv").read_bytes() == WHOLE["toy/a.csv"]
    n_asked = len(host.asked)
    assert cache.fetch(["toy", "toy/a.csv"])["done"].tolist() == ["was there"] * 2
    assert len(host.asked) == n_asked


FAILURES = [
    ((200, WHOLE["toy/a.csv"], 4), OSError, r"toy/a\.csv could not be fetched"),
    ((404, b"no such thing", 0), OSError, r"toy.* could not be fetched.*404.*put the file there"),
    ((200, b"a,b\n1,", 0), cache.DataCorruptError, r"toy/a\.csv: SHA256 hash.*was discarded"),
]


@pytest.mark.parametrize(("answer", "kind", "message"), FAILURES)
def test_what_fails_is_named_and_the_rest_is_fetched(host, folder, answer, kind, message):
    former = b"a,b\n1"
    (folder / "toy").mkdir(parents=True)
    (folder / "toy" / "a.csv").write_bytes(former)
    host.answers["toy/a.csv"] = answer
    with pytest.raises(kind, match=r"^1 of 3 files failed:\n" + message) as caught:
        cache.fetch()
    assert host.base in str(caught.value)
    others = {name: content for name, content in WHOLE.items() if name != "toy/a.csv"}
    assert held(folder) == others | {"toy/a.csv": former}
    host.answers.clear()
    assert cache.fetch()["done"].tolist() == ["fetched", "was there", "was there"]
    assert held(folder) == WHOLE


def test_the_probe_asks_once(host):
    assert cache.reachable()
    assert cache.reachable()
    assert [command for command, _ in host.asked] == ["HEAD"]
    cache.reachable.cache_clear()
    host.answers["toy/a.csv"] = (404, b"", 0)
    assert not cache.reachable()


def test_a_host_that_does_not_answer_is_given_up(toys, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setattr(registry, "BASE", f"http://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setattr(cache, "PATIENCE", 0.1)
        assert not cache.reachable()


def test_a_file_that_is_not_there_comes_with_the_way_to_it(toys, folder):
    with pytest.raises(FileNotFoundError, match=r"no such folder.*Run `nlgbench fetch toy`") as got:
        cache.path("toy/a.csv")
    for part in (str(folder), toy_file("toy/a.csv").sha256, registry.BASE, "--source simulated"):
        assert part in str(got.value)
    assert not folder.exists()


@pytest.mark.parametrize("content", [b"", WHOLE["toy/a.csv"] + b"\n"])
def test_a_corrupt_file_is_not_handed_out(toys, folder, content):
    fill(folder, a=content)
    message = f"expected SHA-256 {toy_file('toy/a.csv').sha256}, found .*`nlgbench fetch toy`"
    with pytest.raises(cache.DataCorruptError, match=message):
        cache.path("toy/a.csv")
    assert (folder / "toy" / "a.csv").read_bytes() == content


def test_the_users_folder_is_checked_and_never_written(host, tmp_path, monkeypatch):
    monkeypatch.setenv("NLGBENCH_DATA", str(tmp_path / "mine"))
    assert cache.read_only()
    fill(tmp_path / "mine")
    assert cache.fetch()["done"].tolist() == ["was there"] * 3
    (tmp_path / "mine" / "toy" / "a.csv").write_bytes(b"mine")
    (tmp_path / "mine" / "toy" / "b.csv").unlink()
    before = held(tmp_path)
    with pytest.raises(ValueError, match="2 of 3 files failed") as caught:
        cache.fetch()
    assert "mine/toy/a.csv is not the released file: expected" in str(caught.value)
    assert "unset NLGBENCH_DATA and run `nlgbench fetch toy`" in str(caught.value)
    assert held(tmp_path) == before
    assert host.asked == []


def test_a_cache_that_cannot_be_written_is_named(host, folder, monkeypatch):
    def refuse(*values, **options):
        raise PermissionError(13, "Permission denied")

    # As root, as in many containers, no mode of a folder keeps anybody from writing.
    monkeypatch.setattr("tempfile.NamedTemporaryFile", refuse)
    message = r" to .*toy/a\.csv: \[Errno 13\] Permission denied\. .*set NLGBENCH_DATA"
    with pytest.raises(OSError, match=message):
        cache.fetch(["toy/a.csv"])
    assert held(folder) == {}
