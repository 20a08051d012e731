"""The notebook runs from top to bottom, and is saved with the outputs of a run.

``python -m tests.test_notebooks EXAMPLES`` runs the one in a folder, and saves it.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

nbformat: Any = pytest.importorskip("nbformat")
nbclient: Any = pytest.importorskip("nbclient")
for needed in ("ipykernel", "matplotlib"):
    pytest.importorskip(needed)

EXAMPLES = Path(__file__).parent.parent / "examples"
NAME = "corpus.ipynb"
PICTURES = 3
#: A saved notebook has at most this size, in bytes.
MAX_SIZE = 500_000


def notebook() -> Any:
    """The notebook as it is in the repository."""
    return nbformat.read(EXAMPLES / NAME, as_version=4)


def execute(book: Any, folder: Path) -> None:
    """Runs a notebook in a folder. A cell that fails raises ``CellExecutionError``.

    What a cell prints is one output. The kernel may send it in several.
    """
    nbclient.NotebookClient(
        book,
        timeout=300,
        kernel_name="python3",
        resources={"metadata": {"path": folder}},
        record_timing=False,
        coalesce_streams=True,
    ).execute()


def outputs_of(book: Any) -> list[Any]:
    """The outputs of all cells of a notebook."""
    return [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]


def kinds_of(book: Any) -> list[list[list[str]]]:
    """The kinds of output of each cell. Their content depends on the texts of the machine."""
    return [[sorted(output.get("data", {})) for output in cell.get("outputs", [])] for cell in book.cells]


def texts_of(outputs: list[Any]) -> str:
    """Everything that was printed or shown as text."""
    return "\n".join(output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs)


def pictures_in(outputs: list[Any]) -> int:
    """How many plots there are."""
    return sum("image/png" in output.get("data", {}) for output in outputs)


def test_the_notebook_is_saved_with_its_outputs() -> None:
    book = notebook()
    nbformat.validate(book)
    assert (EXAMPLES / NAME).stat().st_size <= MAX_SIZE
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1)), "one run, from top to bottom"
    outputs = outputs_of(book)
    assert {output.output_type for output in outputs} <= {"stream", "execute_result", "display_data"}
    assert all(output.get("name") != "stderr" for output in outputs)
    assert pictures_in(outputs) == PICTURES
    assert re.search(r"(?<![A-Za-z0-9+=])/[a-z]+/|ipykernel|0x[0-9a-f]{8}", texts_of(outputs)) is None, (
        "of this machine"
    )


def test_the_notebook_runs(tmp_path: Path) -> None:
    book = notebook()
    saved = kinds_of(book)
    execute(book, tmp_path)
    outputs = outputs_of(book)
    assert kinds_of(book) == saved
    assert pictures_in(outputs) == PICTURES
    assert "pairs within 12 bits, as by comparing all with all" in texts_of(outputs)
    assert not list(tmp_path.iterdir())


def test_regression_a_cell_that_takes_long_has_one_output(tmp_path: Path) -> None:
    """Where the machine was busy, the output of a cell arrived in two parts."""
    cell = nbformat.v4.new_code_cell("print(1, flush=True)\nimport time\ntime.sleep(0.5)\nprint(2)")
    book = nbformat.v4.new_notebook(cells=[cell])
    execute(book, tmp_path)
    assert [output.text for output in outputs_of(book)] == ["1\n2\n"]


def save(folder: Path) -> None:
    """Runs the notebook in a folder, and saves it with its outputs."""
    book = nbformat.read(folder / NAME, as_version=4)
    metadata = json.loads(json.dumps(book.metadata))
    with tempfile.TemporaryDirectory() as home:
        execute(book, Path(home))
    # The version of Python would change at each run.
    book.metadata = nbformat.from_dict(metadata)
    nbformat.write(book, folder / NAME)


if __name__ == "__main__":
    save(Path(sys.argv[1]))
