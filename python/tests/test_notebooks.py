"""The notebooks run from top to bottom, and say what they are meant to show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

nbformat: Any = pytest.importorskip("nbformat")
nbclient: Any = pytest.importorskip("nbclient")
for needed in ("ipykernel", "matplotlib", "pandas"):
    pytest.importorskip(needed)

EXAMPLES = Path(__file__).parent.parent / "examples"
#: Where books.ipynb looks for texts.
LICENCES = 'Path("/usr/share/common-licenses")'


def notebook(name: str) -> Any:
    """A notebook as it is in the repository."""
    return nbformat.read(EXAMPLES / name, as_version=4)


def executed(book: Any, folder: Path) -> list[Any]:
    """What the cells of a notebook have put out. A cell that fails raises ``CellExecutionError``."""
    client = nbclient.NotebookClient(book, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}})
    done = client.execute()
    return [output for cell in done.cells if cell.cell_type == "code" for output in cell.outputs]


def texts_of(outputs: list[Any]) -> str:
    """All that was printed or shown as text."""
    return "\n".join(output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs)


def pictures_in(outputs: list[Any]) -> int:
    """How many plots there are."""
    return sum("image/png" in output.get("data", {}) for output in outputs)


@pytest.mark.parametrize("name", ["books.ipynb", "corpus.ipynb"])
def test_notebooks_are_committed_without_outputs(name: str) -> None:
    book = notebook(name)
    nbformat.validate(book)
    for cell in book.cells:
        assert cell.cell_type == "markdown" or (cell.outputs == [] and cell.execution_count is None)


def test_books(tmp_path: Path) -> None:
    outputs = executed(notebook("books.ipynb"), tmp_path)
    assert pictures_in(outputs) == 1
    assert "128 bits" in texts_of(outputs)


def test_books_that_are_made(tmp_path: Path) -> None:
    book = notebook("books.ipynb")
    changed = [cell for cell in book.cells if LICENCES in cell.source]
    assert len(changed) == 1
    changed[0].source = changed[0].source.replace(LICENCES, 'Path("no such folder")')
    added = "import json; print(json.dumps(dict(zip(names, nearest(matrices[128])))))"
    book.cells.append(nbformat.v4.new_code_cell(added))
    outputs = executed(book, tmp_path)
    assert pictures_in(outputs) == 1
    for name, nearest in json.loads(texts_of(outputs[-1:])).items():
        assert nearest.startswith(name[: len("book 1")]), f"{name} is nearest to {nearest}"


def test_corpus(tmp_path: Path) -> None:
    outputs = executed(notebook("corpus.ipynb"), tmp_path)
    assert pictures_in(outputs) == 3
    assert "pairs within 12 bits, as by comparing all with all" in texts_of(outputs)
    assert not list(tmp_path.iterdir())
