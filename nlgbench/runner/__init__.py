"""Run notebooks headlessly, and record what they produce."""


def main() -> None:
    """Run the command `nlgbench`, or name the missing extra."""
    try:
        from nlgbench.runner.cli import main as command
    except ModuleNotFoundError as error:
        if error.name == "nlgbench":
            raise
        raise SystemExit(
            f"nlgbench: {error.name} is not installed: pip install 'nlgbench[run]'"
        ) from None
    command(prog_name="nlgbench")
