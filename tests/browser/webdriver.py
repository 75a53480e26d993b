"""A browser driven over WebDriver (https://www.w3.org/TR/webdriver2/): chromium and chromedriver of the system, nothing else."""
import json, shutil, socket, subprocess, tempfile, time, urllib.error, urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
SHIFT, CONTROL, ESCAPE, ENTER = "\ue008", "\ue009", "\ue00c", "\ue007"
OPTIONS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run",
           "--disable-background-networking", "--disable-component-update", "--disable-sync", "--window-size=1366,900"]


def found():
    """The browser and its driver, or None."""
    driver, browser = shutil.which("chromedriver"), shutil.which("chromium") or shutil.which("google-chrome")
    return (driver, browser) if driver and browser else None


class Driver:
    """chromedriver, and the browsers that it has opened."""

    def __init__(self):
        driver, self.browser = found()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = subprocess.Popen([driver, f"--port={self.port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.browsers = []
        wait(lambda: self.call("GET", "/status")["ready"], "chromedriver answers", errors=(OSError,))

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=90) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            said = json.load(error)["value"]
            raise BrowserError(f"{said['error']}: {said['message'].splitlines()[0]}") from None

    def open(self):
        browser = Browser(self)
        self.browsers.append(browser)
        return browser

    def close(self):
        for browser in self.browsers:
            browser.close()
        self.process.terminate()
        self.process.wait()


class BrowserError(Exception):
    """What the driver says no to."""


class Browser:
    """One browser with a profile of its own."""

    def __init__(self, driver):
        self.driver, self.folder = driver, tempfile.mkdtemp(prefix="browser-")
        wish = {"binary": driver.browser, "args": [*OPTIONS, f"--user-data-dir={self.folder}"]}
        wanted = {"browserName": "chrome", "goog:chromeOptions": wish, "goog:loggingPrefs": {"browser": "ALL"}}
        session = driver.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.session = "/session/" + session["sessionId"]

    def call(self, method, path, body=None):
        return self.driver.call(method, self.session + path, body)

    def go(self, url):
        self.call("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        """The value of a script's `return`."""
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def later(self, script, *arguments):
        """What a script hands to its last argument."""
        return self.call("POST", "/execute/async", {"script": script, "args": list(arguments)})

    def find(self, xpath):
        return self.call("POST", "/element", {"using": "xpath", "value": xpath})[ELEMENT]

    def text(self, css):
        """The text of the first element, or nothing."""
        return self.run("return document.querySelector(arguments[0])?.innerText ?? ''", css)

    def click(self, xpath):
        wait(lambda: self.call("POST", f"/element/{self.find(xpath)}/click", {}) is None, f"{xpath} can be clicked", errors=(BrowserError,))

    def button(self, label):
        self.click(f"//button[normalize-space()='{label}' and not(@disabled)]")

    def answer(self, label):
        """The answer in a dialog."""
        self.click(f"//*[@role='dialog']//button[normalize-space()='{label}' and not(@disabled)]")

    def type(self, xpath, text):
        self.call("POST", f"/element/{self.find(xpath)}/value", {"text": text})

    def press(self, *keys):
        """Holds all keys but the last, and presses that."""
        down = [{"type": "keyDown", "value": key} for key in keys]
        up = [{"type": "keyUp", "value": key} for key in reversed(keys)]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": down + up}]})

    def windows(self):
        return self.call("GET", "/window/handles")

    def look_at(self, window):
        self.call("POST", "/window", {"handle": window})

    def errors(self):
        """What the page has complained about: not answers that say no, which a test may have asked for."""
        log = self.call("POST", "/se/log", {"type": "browser"})
        return [line["message"] for line in log if line["level"] == "SEVERE" and "Failed to load resource" not in line["message"]]

    def close(self):
        try:
            self.call("DELETE", "")
        except (BrowserError, OSError):
            pass
        shutil.rmtree(self.folder, ignore_errors=True)


def wait(what, name, seconds=60, errors=()):
    """Until something holds; nothing here asks how long it took."""
    until = time.monotonic() + seconds
    while True:
        try:
            value = what()
            if value not in (False, None, "", []):
                return value
        except errors:
            value = None
        if time.monotonic() > until:
            raise AssertionError(f"in vain: {name}")
        time.sleep(0.05)
