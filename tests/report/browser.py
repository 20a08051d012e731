"""Opens reports in a headless Chromium and uses them as a reader does.

    NEARPRINT_FULL=1 NEARPRINT_REPORT_DIR=/tmp/report cargo test -p nearprint-cli --lib report
    NEARPRINT_REPORT_DIR=/tmp/report cargo test -p nearprint-cli --test it pictures::the_page
    python tests/report/browser.py /tmp/report/*.html [--shots FOLDER] [--saves FOLDER]

Needs chromium, its driver, and `pip install selenium`. The tests in
crates/nearprint-cli/src/report/tests.rs make small.html, pair.html, thumbnails.html and large.html, and those in
crates/nearprint-cli/tests/it/pictures.rs make pictures.html. Any other page is opened, and
its list is sorted. With --saves, the page choice.html is one of `scan --report`; files in it are marked, and the list
and the commands are saved to FOLDER/choice.
"""

import argparse
import pathlib
import shutil
import time

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

# Far above the half second that it takes: this finds a list that draws all its rows, not a busy machine.
MAX_OPENING_SECONDS = 10.0
# The window of a small laptop, in pixels.
FIRST_SCREEN = (1280, 900)
HOSTILE_NAME = "<img src=x onerror=window.hacked=1>"
HOSTILE_TEXT = "</script><script>window.hacked=1</script>"


def browser():
    options = webdriver.ChromeOptions()
    for option in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1400,1000"]:
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    # `get` returns at once, so that the time of the first rows can be measured.
    options.page_load_strategy = "none"
    # Selenium need not look for a browser in the network if the system has one.
    options.binary_location = shutil.which("chromium") or ""
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    return webdriver.Chrome(options=options, service=service)


def save_to(driver, folder):
    """Lets pages save files to a folder, which is made."""
    folder.mkdir()
    behavior = {"behavior": "allow", "downloadPath": str(folder.resolve())}
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", behavior)
    return folder


class Page:
    """A report that is open."""

    def __init__(self, driver, path):
        self.driver = driver
        driver.get("about:blank")
        driver.get_log("browser")
        start = time.monotonic()
        driver.get(path.resolve().as_uri())
        while not self.run("return document.querySelector('#group-list .row') !== null"):
            assert time.monotonic() - start < 60, "no rows after a minute"
            time.sleep(0.01)
        self.opening_seconds = time.monotonic() - start
        while self.run("return document.readyState") != "complete":
            time.sleep(0.01)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def texts(self, selector):
        script = "return [...document.querySelectorAll(arguments[0])].map(found => found.textContent)"
        return self.run(script, selector)

    def names(self):
        return self.texts("#group-list .name")

    def count(self):
        return self.texts("#count")[0]

    def press(self, *keys):
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)
            # Rows follow the scroll bar in the next frame.
            self.driver.execute_async_script("requestAnimationFrame(() => setTimeout(arguments[0]))")

    def focus(self):
        return self.run("return document.activeElement.id")

    def check(self, condition, what):
        assert condition, what
        errors = [entry["message"] for entry in self.driver.get_log("browser")]
        assert not errors, f"{what}: {errors}"
        assert self.run("return window.hacked === undefined"), f"{what}: a document ran a script"
        print(f"ok  {what}")

    def shot(self, folder, name):
        if folder:
            self.driver.save_screenshot(str(folder / f"{name}.png"))


def emulate(driver, scheme, width=1400, height=1000):
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def bottom(page, selector):
    """Where an element ends, in pixels from the top of the window."""
    return page.run("return document.querySelector(arguments[0]).getBoundingClientRect().bottom", selector)


def check_first_screen(page):
    """A laptop shows the first group and the keys before anything is scrolled."""
    emulate(page.driver, "light", *FIRST_SCREEN)
    page.run("scrollTo({ top: 0, behavior: 'instant' })")
    is_single = page.run("return document.querySelector('.single') !== null")
    end = bottom(page, "#group-title" if is_single else "#group-list .row")
    # In its upper three quarters, as facts may take another line.
    page.check(4 * end <= 3 * FIRST_SCREEN[1], f"shows the first group on the first screen, to {end:.0f} px")
    keys = bottom(page, ".keys")
    page.check(keys <= FIRST_SCREEN[1], f"shows the keys on the first screen, to {keys:.0f} px")
    emulate(page.driver, "light")


def check_any(page):
    """What holds for every page with groups."""
    page.check(page.names(), "has rows, and no error in the console")
    check_first_screen(page)
    page.check(page.run("return document.querySelectorAll('svg').length") >= 1, "has charts")
    emulate(page.driver, "dark", 400)
    overflow = page.run("return document.documentElement.scrollWidth - innerWidth")
    page.check(overflow <= 0, "fits into 400 px")
    emulate(page.driver, "light")
    num_rows = len(page.names())
    page.check(num_rows < 60, f"has {num_rows} rows in the document")
    if page.run("return document.querySelector('.single') !== null"):
        return
    first = page.names()[0]
    page.driver.find_element(By.ID, "direction").click()
    reversed_first = page.names()[0]
    page.driver.find_element(By.ID, "direction").click()
    page.check(page.names()[0] == first, f"sorts: {first!r} is first, or {reversed_first!r}")


def check_keyboard(page):
    """Sorts, searches and chooses on the small page, without a mouse but for the order."""
    page.check(page.count() == "6 groups", "counts the groups")
    Select(page.driver.find_element(By.ID, "sort")).select_by_value("name")
    names = page.names()
    page.check(names == sorted(names, key=str.lower), "sorts by name")
    Select(page.driver.find_element(By.ID, "sort")).select_by_value("members")
    page.check(page.names()[0] == "many", "sorts by the number of members")

    page.press("/")
    page.check(page.focus() == "search", "/ goes to the search")
    page.press(*"EDITED")
    page.check(page.names() == ["news/article.txt"], "finds the name of another member")
    page.check(page.count() == "1 of 6 groups", "counts what it finds")
    page.press(Keys.ENTER, Keys.ENTER)
    page.check(page.focus() == "member-list", "Enter chooses the group")
    page.check(page.texts("#difference .note") == ["The texts are equal."], "shows that a copy is equal")
    page.press(Keys.ARROW_DOWN, Keys.ENTER)
    page.check(page.focus() == "difference", "Enter chooses a member")
    page.check("New York" in page.texts("#difference ins"), "shows words that were added")
    page.check("Hamburg" in page.texts("#difference del"), "shows words that were removed")
    page.press(Keys.ESCAPE)
    page.check(page.focus() == "member-list", "Escape goes back to the members")
    page.press(Keys.ESCAPE)
    page.check(page.focus() == "group-list", "Escape goes back to the groups")
    page.press("/", Keys.ESCAPE)
    page.check(page.count() == "6 groups", "Escape ends the search")


def choose(page, name):
    """Searches a name and chooses the first group, by keys only."""
    page.press("/")
    page.run("document.activeElement.select()")
    page.press(*name, Keys.ENTER, Keys.ENTER)


def check_hostile(page):
    choose(page, "<img")
    page.check(page.names() == [HOSTILE_NAME], "shows a hostile name as it is")
    page.press(Keys.ENTER)
    text = page.texts("#difference .columns:not(.head) .old")[0]
    page.check(HOSTILE_TEXT in text, "shows a hostile text as it is")
    page.check("‹U+202E›" in text and "\u202e" not in text and "␛" in text, "shows what cannot be seen")
    page.check("␊" in page.texts("#member-list .name")[0], "shows a name on one line")
    unsafe = page.run("try { document.body.innerHTML = '<b>'; return true } catch { return false }")
    page.driver.get_log("browser")
    page.check(not unsafe, "forbids HTML from text")


def check_limits(page):
    choose(page, "long.txt")
    page.check("Cut here." in page.texts("#difference .columns > .cut")[0], "says that texts are cut")
    last = "document.querySelector('#difference .columns > .cut').previousElementSibling"
    page.check(page.run(f"return {last}.matches('.same, .folded')"), "nothing differs where the texts are cut")
    sizes = page.texts("#member-list .notes")[0]
    page.check(sizes.endswith("91.48 kB"), f"sizes are those of the command line: {sizes!r}")
    before = len(page.texts("#difference .old"))
    page.run("document.querySelector('.folded').focus()")
    page.press(Keys.ENTER)
    page.check(len(page.texts("#difference .old")) > before, "opens lines that are folded")
    choose(page, "many")
    page.check("are not listed" in page.texts("#group-note")[0], "says that members are not listed")
    page.check(len(page.texts("#member-list .row")) < 60, "has few members in the document")
    page.press(Keys.END)
    page.check("many/998" in page.texts("#member-list .name"), "goes to the last member")
    page.press(Keys.ESCAPE)
    choose(page, "no text")
    page.check(page.texts("#difference .note"), "says that there are no texts")


def check_themes(page, shots):
    choose(page, "edited")
    page.press(Keys.ARROW_DOWN, Keys.ENTER)
    colors = {}
    for scheme in ["light", "dark"]:
        emulate(page.driver, scheme)
        colors[scheme] = page.run("return getComputedStyle(document.body).backgroundColor")
        page.shot(shots, f"difference-{scheme}")
        page.run("scrollTo({ top: 0, behavior: 'instant' })")
        page.shot(shots, scheme)
    page.check(colors["light"] != colors["dark"], f"has a dark background: {colors['dark']}")
    for width in [1400, 800, 400]:
        emulate(page.driver, "light", width)
        overflow = page.run("return document.documentElement.scrollWidth - innerWidth")
        page.check(overflow <= 0, f"fits into {width} px")
    page.run("scrollTo({ top: 0, behavior: 'instant' })")
    page.shot(shots, "narrow-top")
    for selector, name in [("#groups", "narrow-list"), ("#group-title", "narrow-group")]:
        page.run("document.querySelector(arguments[0]).scrollIntoView({ behavior: 'instant' })", selector)
        page.shot(shots, name)
    page.run("document.querySelector('#difference ins').scrollIntoView({ behavior: 'instant', block: 'center' })")
    page.shot(shots, "narrow-difference")
    emulate(page.driver, "light")


def check_pictures(page, shots):
    """Chooses a group and compares its pictures, by keys only."""
    choose(page, "half")
    page.check(page.names() == ["0.png"], "finds a picture by the name of another one of its group")
    page.press(Keys.END, Keys.ENTER)
    loaded = "return [...document.querySelectorAll('#difference img')].map(image => image.naturalWidth)"
    while not all(page.run(loaded)):
        time.sleep(0.01)
    page.check(len(page.run(loaded)) == 4, f"shows the two pictures, and both on top of each other: {page.run(loaded)}")
    facts = page.texts("#difference .pair .note")
    page.check("pixels" in facts[0] and "pixels (" in facts[1] and "UTC" in facts[1], f"shows how they differ: {facts[1]!r}")
    clip = "return document.querySelector('.stack img + img').style.clipPath"
    before = page.run(clip)
    page.run("document.getElementById('slider').focus()")
    page.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    page.check(page.run(clip) != before, f"moves the slider by keys: {before} to {page.run(clip)}")
    page.shot(shots, "pictures")
    page.run("document.getElementById('blend').focus()")
    page.press(Keys.SPACE)
    page.check(page.run("return document.querySelector('.stack.blend') !== null"), "shows the difference of pixels")
    choose(page, "<img")
    page.check("‹U+202E›" in page.texts("#difference figcaption")[1], "shows a hostile name as text")
    page.check("The files are equal." in page.texts("#difference .note"), "says that copies are equal")
    for scheme, width in [("dark", 1400), ("light", 800), ("dark", 400)]:
        emulate(page.driver, scheme, width)
        overflow = page.run("return document.documentElement.scrollWidth - innerWidth")
        page.check(overflow <= 0, f"pictures fit into {width} px")
        page.shot(shots, f"pictures-{width}")


def check_thumbnails(page):
    """Ten thousand groups and one of pictures; the page has room for some."""
    page.check(page.count() == "10,001 groups", "counts the groups of pictures")
    choose(page, "00000/kept")
    page.check(len(page.run("return [...document.querySelectorAll('#difference img')]")) == 4, "shows the first pictures")
    choose(page, "10000/kept")
    page.check(not page.run("return document.querySelector('#difference img')"), "has no pictures of the last group")
    notes = page.texts("#difference .note")
    page.check(notes.count("This image is not in this page.") == 2, "says so")
    page.check(any("640 × 480 pixels" in note and "2024-05-17" in note for note in notes), "says what is known of them")


def saved(folder, name):
    """What the browser has saved under a name."""
    path = folder / name
    start = time.monotonic()
    while not path.exists():
        assert time.monotonic() - start < 60, f"{name} was not saved"
        time.sleep(0.01)
    return path.read_text()


def marked(page, selector):
    return page.texts(f"{selector} .going .name")


def check_marks(page, saves):
    """Marks files by keys, and saves the list and the commands."""
    note = "#choice-note"
    page.check(page.texts(note) == ["No file is marked."], "begins without marks")
    choose(page, "edited")
    page.press("x")
    page.check(marked(page, "#member-list") == ["news/copy of article.txt"], "x marks a member")
    page.press("f")
    page.check(marked(page, "#group-list") == ["news/article.txt"], "f marks the first one")
    page.press(Keys.ARROW_DOWN, "x")
    page.check("One file of a group stays." in page.texts(note)[0], "does not mark all of a group")
    page.press("f", Keys.ENTER)
    page.check(page.focus() == "difference", "Enter goes to the difference")
    page.press("x")
    page.check("news/article-edited.txt" in marked(page, "#member-list"), "x marks the member that Enter chose")
    page.press("x", Keys.ESCAPE, "f")
    page.press("k")
    page.check(marked(page, "#member-list") == ["news/copy of article.txt"], "k keeps the chosen member only")
    choose(page, "arabic")
    page.press("f", "k")
    page.check(not marked(page, "#group-list"), "does not mark a file that stays")
    choose(page, "<img")
    page.press("x")
    page.check(page.texts(note)[0].startswith("3 files marked"), f"counts: {page.texts(note)[0]}")
    state = page.run("return new Groups().detail(0).kept.state")
    page.driver.find_element(By.ID, "save-list").click()
    lines = saved(saves, "nearprint-chosen.tsv").splitlines()
    page.check(lines[0] == "path\tkept\tsimilarity\tstate\tkept_state", "the list has names of columns")
    kept = "corpus/news/article-edited.txt"
    page.check(lines[1].split("\t")[:2] == ["corpus/news/article.txt", kept], "the first one goes")
    page.check(lines[2].split("\t")[:3] == ["corpus/news/copy of article.txt", kept, ""], "so does its copy")
    page.check(lines[1].split("\t")[3] == state, f"states are those of the page: {state}")
    hostile = "corpus/</script>\u202egpj.exe\\n"
    page.check(lines[3].split("\t")[:2] == [hostile, f"corpus/{HOSTILE_NAME}"], "names are escaped")
    page.driver.find_element(By.ID, "save-commands").click()
    commands = saved(saves, "nearprint-chosen.sh")
    moved = "mv -n -- 'corpus/news/copy of article.txt' 'nearprint-gone/corpus/news/copy of article.txt'\n"
    page.check(moved in commands, "commands move what is marked")
    page.driver.find_element(By.ID, "unmark").click()
    page.check(page.texts(note) == ["No file is marked."], "takes marks away")


def mark_all(page, saves):
    """Marks all but the first of each group, and saves both files."""
    page.driver.find_element(By.ID, "mark-others").click()
    page.check("marked" in page.texts("#choice-note")[0], f"marks all: {page.texts('#choice-note')[0]}")
    for name, id in [("nearprint-chosen.tsv", "save-list"), ("nearprint-chosen.sh", "save-commands")]:
        page.driver.find_element(By.ID, id).click()
        page.check(saved(saves, name), f"saves {name}")


def check_large(page):
    page.check(page.count() == "100,000 groups", "counts 100,000 groups")
    page.driver.find_element(By.ID, "group-list").send_keys(Keys.END)
    page.check(len(page.names()) < 60, "goes to the last of them")
    start = time.monotonic()
    choose(page, "copy-077777")
    page.check(page.count() == "1 of 100,000 groups", f"finds one in {time.monotonic() - start:.1f} s, with the keys")
    page.check(page.texts("#difference ins"), "shows its difference")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    parser.add_argument("--shots", type=pathlib.Path, help="a folder for screenshots")
    parser.add_argument("--saves", type=pathlib.Path, help="an empty folder; each page saves to a folder of its own in it")
    arguments = parser.parse_args()
    driver = browser()
    try:
        for path in arguments.pages:
            saves = arguments.saves and save_to(driver, arguments.saves / path.stem)
            emulate(driver, "light")
            page = Page(driver, path)
            megabytes = path.stat().st_size / 1e6
            page.check(
                page.opening_seconds < MAX_OPENING_SECONDS,
                f"{path.name}: {megabytes:.1f} MB open in {page.opening_seconds:.2f} s",
            )
            check_any(page)
            if path.name == "small.html":
                check_keyboard(page)
                check_hostile(page)
                check_limits(page)
                if saves:
                    check_marks(page, saves)
                check_themes(page, arguments.shots)
            elif path.name == "pair.html":
                ins = page.texts("#difference ins")
                page.check("Oslo" in ins, "shows the difference of the only group at once")
                page.check(page.run("return scrollY") == 0, "starts at its top")
                page.shot(arguments.shots, "pair")
            elif path.name == "pictures.html":
                check_pictures(page, arguments.shots)
            elif path.name == "thumbnails.html":
                check_thumbnails(page)
            elif path.name == "choice.html" and saves:
                mark_all(page, saves)
            elif path.name == "large.html":
                check_large(page)
                page.shot(arguments.shots, "large")
    finally:
        driver.quit()


if __name__ == "__main__":
    main()
