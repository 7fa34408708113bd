"""Running notebooks headlessly, and recording what they make."""


def main() -> None:
    """Run the command `nlgbench`, or name the extra that it needs."""
    try:
        from nlgbench.runner.cli import main as command
    except ModuleNotFoundError as error:
        if error.name == "nlgbench":
            raise
        raise SystemExit(
            f"nlgbench: {error.name} is not installed: pip install 'nlgbench[run]'"
        ) from None
    command()
