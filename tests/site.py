"""Opens every page of the built site in a headless Chromium, as on a small phone, on a light and on a dark screen.

    properdocs build --strict --site-dir SITE
    python tests/site.py SITE

A page must not load anything from elsewhere, and must not be wider than the screen. Needs chromium, its driver, and
`pip install selenium`.
"""

import pathlib
import re
import shutil
import sys

from selenium import webdriver

# The screen of a small phone, in pixels.
SCREEN = {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": True}
WIDER = """
const wide = [...document.querySelectorAll("body *")].filter(one => one.getBoundingClientRect().right > 401 + scrollX)
const scrolls = one => one && (["auto", "scroll", "hidden"].includes(getComputedStyle(one).overflowX) || scrolls(one.parentElement))
return document.documentElement.scrollWidth > 400 ? wide.filter(one => !scrolls(one.parentElement)).map(one => one.outerHTML.slice(0, 120)) : []
"""
LIGHT = "return (getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g) || [255]).slice(0, 3).map(Number)"


def browser():
    options = webdriver.ChromeOptions()
    for option in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage"]:
        options.add_argument(option)
    options.binary_location = shutil.which("chromium") or ""
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=shutil.which("chromedriver")))


def main():
    # The page of what is missing names its styles from the root of a server.
    pages = sorted(page for page in pathlib.Path(sys.argv[1]).rglob("*.html") if page.name != "404.html")
    assert len(pages) > 30, f"{len(pages)} pages"
    elsewhere = re.compile(r'<(?:script|img|iframe)[^>]* src="(?:https?:)?//|<link[^>]* href="(?:https?:)?//')
    driver, wrong = browser(), []
    for page in pages:
        found = elsewhere.search(page.read_text())
        if found:
            wrong.append(f"{page}: loads {page.read_text()[found.start():][:120]}")
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", SCREEN)
    for scheme in "light", "dark":
        feature = {"name": "prefers-color-scheme", "value": scheme}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        for page in pages:
            driver.get(page.resolve().as_uri())
            background = driver.execute_script(LIGHT)
            if (sum(background) > 382) != (scheme == "light"):
                wrong.append(f"{page}: has the background {background} on a {scheme} screen")
            wrong += [f"{page}: is wider than the screen: {html}" for html in driver.execute_script(WIDER)]
    driver.quit()
    print(f"{len(pages)} pages")
    sys.exit("\n".join(wrong) or None)


main()
