"""Every command, argument and option is documented, with an example that can be typed."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tailhealth.cli import SUMMARIES, main

COMMANDS = {name: command for name in SUMMARIES if (command := main.get_command(click.Context(main), name)) is not None}
OPTIONS = [
    pytest.param(name, option, id=f"{name} {option.opts[-1]}")
    for name, command in COMMANDS.items()
    for option in command.params
    if isinstance(option, click.Option)
]
DURATIONS = ("--for", "--try")


def shown(*words: str) -> str:
    """Return what is printed."""
    result = CliRunner().invoke(main, list(words), prog_name="tailhealth", terminal_width=80)
    assert result.exit_code == 0, result.output
    return result.output


def test_all_commands_are_listed() -> None:
    """The help of the program has a whole sentence for each command, none cut off at 80 columns, and an example."""
    text = shown("--help")

    for name in SUMMARIES:
        found = re.search(rf"^  {name} +(\S.*)$", text, re.MULTILINE)
        assert found, name
        assert found[1].endswith("."), found[1]
        assert not found[1].endswith("..."), found[1]
    assert "Example: tailhealth " in text


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command(name: str) -> None:
    """What it does, in full sentences, within 80 columns."""
    command = COMMANDS[name]
    assert command.help
    assert all(re.search(r"[.:?]$", part.strip()) for part in command.help.split("\n\n")), "a paragraph is no sentence"
    text = shown(name, "--help")
    assert text.startswith(f"Usage: tailhealth {name}")
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("name", COMMANDS)
def test_its_arguments(name: str) -> None:
    """Each argument stands in the text under the name that the usage gives it."""
    command = COMMANDS[name]
    for one in command.params:
        if isinstance(one, click.Argument):
            word = (one.metavar or (one.name or "").upper()).strip("[]").removesuffix("...").strip("[]")
            words = one.type.choices if isinstance(one.type, click.Choice) else [word]
            assert any(str(each) in (command.help or "") for each in words), word


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_its_options(name: str, option: click.Option) -> None:
    """Each option has a help text that is a sentence, and durations say so."""
    assert option.help, f"{name} {option.opts[-1]}: no help"
    assert option.help[0].isupper() or option.help[0] in "`["
    assert option.help.endswith(".")
    assert option.opts[0] not in DURATIONS or option.metavar == "DURATION"


@pytest.mark.parametrize("name", COMMANDS)
def test_its_example(name: str) -> None:
    """The example is one of this command, and the command takes its words."""
    command = COMMANDS[name]
    assert command.epilog
    assert command.epilog.startswith(f"Example: tailhealth {name}")
    _, _, *words = shlex.split(command.epilog.removeprefix("Example: ").partition("|")[0])
    context = command.make_context(name, words)
    assert not context.args


def test_the_example_of_the_program() -> None:
    """It names a command that there is."""
    assert main.epilog
    found = re.fullmatch(r"Example: tailhealth ([a-z]+)( .*)?", main.epilog.split("\n")[0])
    assert found
    assert found[1] in SUMMARIES


def test_every_module_is_a_command() -> None:
    """A file in `cli` without an underscore defines a command, no other does, and each has its line in `SUMMARIES`."""
    folder = Path(str(main.callback.__code__.co_filename if main.callback else "")).parent
    assert {path.stem for path in folder.glob("[!_]*.py")} == set(SUMMARIES) == set(COMMANDS)


@pytest.mark.outside
@pytest.mark.parametrize(
    "environment", [{}, {"_TAILHEALTH_COMPLETE": "bash_complete", "COMP_WORDS": "tailhealth r", "COMP_CWORD": "1"}]
)
def test_listing_the_commands_imports_none(environment: dict[str, str]) -> None:
    """`--help` and the completion of a command's name load nothing of what the commands work with: they start fast."""
    code = (
        "import sys\n"
        "from tailhealth.cli import main\n"
        "try:\n"
        "    main(prog_name='tailhealth')\n"
        "finally:\n"
        "    heavy = ('tailhealth', 'requests', 'rich', 'msgspec')\n"
        "    print(sorted(name for name in sys.modules if name.startswith(heavy)))\n"
    )
    command = [sys.executable, "-c", code, "--help"]

    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    assert "replay" in said
    assert said.splitlines()[-1] == "['tailhealth', 'tailhealth.cli']"
