"""The notebooks run from top to bottom, and say what they are meant to show.

They are saved with the outputs of a run: ``python -m tests.test_notebooks EXAMPLES`` runs those of a folder, and saves
them.
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
for needed in ("ipykernel", "matplotlib", "pandas"):
    pytest.importorskip(needed)

EXAMPLES = Path(__file__).parent.parent / "examples"
#: Where books.ipynb looks for texts.
LICENCES = 'Path("/usr/share/common-licenses")'
#: The pictures of each notebook.
PICTURES = {"books.ipynb": 1, "corpus.ipynb": 3}
#: A saved notebook has at most this size, in bytes.
MAX_SIZE = 500_000


def notebook(name: str) -> Any:
    """A notebook as it is in the repository."""
    return nbformat.read(EXAMPLES / name, as_version=4)


def execute(book: Any, folder: Path) -> None:
    """Runs a notebook in a folder. A cell that fails raises ``CellExecutionError``."""
    resources = {"metadata": {"path": folder}}
    nbclient.NotebookClient(
        book, timeout=300, kernel_name="python3", resources=resources, record_timing=False
    ).execute()


def outputs_of(book: Any) -> list[Any]:
    """What the cells of a notebook have put out."""
    return [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]


def executed(book: Any, folder: Path) -> list[Any]:
    """What the cells of a notebook put out when they are run."""
    execute(book, folder)
    return outputs_of(book)


def kinds_of(book: Any) -> list[list[list[str]]]:
    """The kinds of output of each cell. What they say depends on the texts of the machine."""
    return [[sorted(output.get("data", {})) for output in cell.get("outputs", [])] for cell in book.cells]


def texts_of(outputs: list[Any]) -> str:
    """All that was printed or shown as text."""
    return "\n".join(output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs)


def pictures_in(outputs: list[Any]) -> int:
    """How many plots there are."""
    return sum("image/png" in output.get("data", {}) for output in outputs)


@pytest.mark.parametrize("name", list(PICTURES))
def test_notebooks_are_saved_with_their_outputs(name: str) -> None:
    book = notebook(name)
    nbformat.validate(book)
    assert (EXAMPLES / name).stat().st_size <= MAX_SIZE
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1)), "one run, from top to bottom"
    outputs = outputs_of(book)
    assert {output.output_type for output in outputs} <= {"stream", "execute_result", "display_data"}
    assert all(output.get("name") != "stderr" for output in outputs)
    assert pictures_in(outputs) == PICTURES[name]
    assert re.search(r"(?<![A-Za-z0-9+=])/[a-z]+/|ipykernel|0x[0-9a-f]{8}", texts_of(outputs)) is None, (
        "of this machine"
    )


def test_books(tmp_path: Path) -> None:
    book = notebook("books.ipynb")
    saved = kinds_of(book)
    outputs = executed(book, tmp_path)
    assert kinds_of(book) == saved
    assert pictures_in(outputs) == PICTURES["books.ipynb"]
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
    book = notebook("corpus.ipynb")
    saved = kinds_of(book)
    outputs = executed(book, tmp_path)
    assert kinds_of(book) == saved
    assert pictures_in(outputs) == PICTURES["corpus.ipynb"]
    assert "pairs within 12 bits, as by comparing all with all" in texts_of(outputs)
    assert not list(tmp_path.iterdir())


def save(folder: Path) -> None:
    """Runs the notebooks of a folder, and saves them with their outputs."""
    for name in PICTURES:
        book = nbformat.read(folder / name, as_version=4)
        metadata = json.loads(json.dumps(book.metadata))
        with tempfile.TemporaryDirectory() as home:
            execute(book, Path(home))
        # The version of Python would change at each run.
        book.metadata = nbformat.from_dict(metadata)
        nbformat.write(book, folder / name)


if __name__ == "__main__":
    save(Path(sys.argv[1]))
