"""`check` on the command line: exit codes, plain text, and what a hostile log can do to it."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner, Result

from tailhealth.cli import main
from tests.logs.caddy_lines import line
from tests.real.servers import free_port


def check(path: Path, *options: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(main, ["check", "-c", str(path), *options])


def config(folder: Path, text: str) -> Path:
    """Write a configuration for a Caddy that is not there."""
    path = folder / "t.toml"
    path.write_text(f'[proxy]\nadmin = "http://127.0.0.1:{free_port()}"\n[state]\ndir = "{folder}/state"\n{text}')
    return path


@pytest.mark.parametrize("text", ["", "[bad]\nslower = 1\n", '[[log]]\npath = "/a"\n[proxy]\n'])
def test_a_configuration_that_is_wrong(tmp_path: Path, text: str) -> None:
    """No log, an unknown key, a table twice: exit code 2, on standard error."""
    done = check(config(tmp_path, text))

    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("tailhealth: ")


def test_findings_in_plain_text(tmp_path: Path) -> None:
    """Each finding has its code and its remedy; without a terminal there is no colour."""
    done = check(config(tmp_path, f'[[log]]\npath = "{tmp_path}/no.log"\n'))

    assert done.exit_code == 1
    assert "[admin_unreachable]" in done.output
    assert "[log_missing]" in done.output
    assert done.output.endswith("2 findings\n")
    assert "\x1b" not in done.output
    assert not (tmp_path / "state").exists()


def test_a_hostile_log(tmp_path: Path) -> None:
    """Nothing from a log reaches the terminal as it is: paths and addresses come from clients."""
    log = tmp_path / "a.log"
    uri = "/\\u001b]0;pwned\\u0007\\u202e?token=secret"
    lines = b"".join(
        line(number, upstream="10.0.0.1:80").replace(b'"uri":"', b'"uri":"' + uri.encode(), 1) for number in range(30)
    )
    log.write_bytes(lines)
    path = config(tmp_path, f'[[log]]\npath = "{log}"\n[bad]\nslower_than = "1ms"\n')
    plain, record = check(path), check(path, "--json")

    assert "[slower_than_low]" in plain.output
    assert "secret" not in plain.output + record.output
    assert not {"\x1b", "\x07", "\u202e"} & set(plain.output)
    assert "slower_than_low" in {one["code"] for one in orjson.loads(record.output)["findings"]}
