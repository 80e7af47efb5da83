"""Command lines: one pydantic class gives a command its options, its `--help`, its TOML config and the config kept with its results."""

from __future__ import annotations

import argparse
import datetime as dt
import importlib.metadata
import platform
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, get_origin

from pydantic import ValidationError
from pydantic_settings import BaseSettings, CliApp, PydanticBaseSettingsSource, SettingsConfigDict

from supersession.episode import EpisodeError


class UsageError(ValueError):
    """Bad input: one sentence with the value and the remedy."""


class Options(BaseSettings):
    """Base of every command's options; the bare string after a field is its help."""

    model_config = SettingsConfigDict(
        extra="forbid",
        use_attribute_docstrings=True,
        cli_kebab_case=True,
        cli_implicit_flags=True,
        cli_hide_none_type=True,
        cli_avoid_json=True,
        protected_namespaces=(),
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        # The environment is left out: a variable that happens to be called SEED must not change a run.
        return (init_settings,)


O = TypeVar("O", bound=Options)  # noqa: E741


def run(options: type[O], main: Callable[[O], None], example: str, argv: list[str] | None = None) -> None:
    """Parse `argv` (default: the process's own), call `main` with the options, and exit the process.

    `--config FILE` reads options from a TOML file; flags win over it. `example` stands at the end of `--help`. The exit code is 0 when
    done, 2 for bad input or a disk that refuses (one sentence on stderr, no traceback), 130 when interrupted.
    """
    try:
        main(parse(options, example, sys.argv[1:] if argv is None else argv))
    except (UsageError, EpisodeError, OSError) as error:
        sys.exit(_fail(str(error)))
    except KeyboardInterrupt:
        print("\ninterrupted; what was finished is on disk, and the same command resumes it", file=sys.stderr)
        sys.exit(130)


def parse(options: type[O], example: str, argv: list[str]) -> O:
    """Return the options that `argv` and its `--config` file give; raise `UsageError` naming the option, its value and what is allowed."""
    pre = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    pre.add_argument("--config", type=Path)
    known, rest = pre.parse_known_args(argv)
    data = load_toml(known.config) if known.config else {}
    unknown = sorted(set(data) - set(options.model_fields))
    if unknown:
        raise UsageError(f"{known.config}: unknown key {unknown[0]!r}; known keys: {', '.join(sorted(options.model_fields))}")
    parser = _Parser(
        prog=Path(sys.argv[0]).name,
        description=options.__doc__,
        epilog=f"--config FILE reads any of these from a TOML file; flags win over it.\n\nexample:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    try:
        return _with_parser(options, parser, _joined(options, rest), data)
    except ValidationError as error:
        first = error.errors()[0]
        name = "--" + ".".join(str(part) for part in first["loc"]).replace("_", "-")
        raise UsageError(f"{name}: {first['msg']}, got {first['input']!r}") from error


def _joined(options: type[Options], argv: list[str]) -> list[str]:
    """Return `argv` with `--levels 4 5 6` as `--levels 4,5,6`, for the options that are lists."""
    lists = {f"--{name.replace('_', '-')}" for name, field in options.model_fields.items() if get_origin(field.annotation) is list}
    result: list[str] = []
    place = None
    for word in argv:
        if word.startswith("--"):
            place = len(result) + 1 if word in lists else None
        if place is not None and len(result) > place and not word.startswith("--"):
            result[place] += f",{word}"
        else:
            result.append(word)
    return result


def load_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file; raise `UsageError` when it cannot be read or is malformed."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the config {path}: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not valid TOML: {error}") from error


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all; a device such as /dev/stdout is written to directly."""
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8")
        return
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def provenance() -> dict[str, Any]:
    """Return what made a result: date, commit (with "+changes" when the tree is dirty), versions, platform."""
    packages = ("supersession", "verifiers", "torch", "transformers", "trl", "peft", "accelerate")
    versions = {}
    for package in packages:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "date": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "versions": versions,
    }


def _commit() -> str | None:
    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=Path(__file__).parent, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("+changes" if git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise UsageError(f"{message}; see {self.prog} --help")


def _with_parser(options: type[O], parser: argparse.ArgumentParser, argv: list[str], data: dict[str, Any]) -> O:
    from pydantic_settings import CliSettingsSource

    source: CliSettingsSource[argparse.ArgumentParser] = CliSettingsSource(options, root_parser=parser)
    return CliApp.run(options, cli_args=argv, cli_settings_source=source, **data)


def _fail(message: str) -> int:
    print(f"error: {message}", file=sys.stderr)
    return 2
