"""The page of the host in a real browser, against the real program: from the token to the report.

TWINRIG is the program. Skips, and says so, without a browser. AXE is axe-core's axe.min.js, where accessibility shall be
looked at as well. Ends with `OK`, or with what was in vain and exit code 1."""
import os, re, shutil, subprocess, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from webdriver import CONTROL, ESCAPE, SHIFT, BrowserError, Driver, found, wait

ROOT = os.environ.get("TWINRIG_ROOT", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
PROGRAM = os.environ.get("TWINRIG", ROOT + "/target/debug/twinrig")
AXE = os.environ.get("AXE")
# A busy machine shall not end a test: overruns are not what is looked at.
PATIENT = "\n[realtime]\noverrun_limit = 1000000\n"
FILE, TRIPS = "frame/experiment.toml", "trips/experiment.toml"


def serve():
    """The host of a folder with two experiments: its process, what it keeps on the disk, the addresses for operator and viewer."""
    own = tempfile.mkdtemp(prefix="page-")
    folder = own + "/experiments"
    os.mkdir(folder)
    for name, example in [("frame", "12-phases-and-host"), ("trips", "05-stopped-in-time")]:
        os.mkdir(f"{folder}/{name}")
        text = open(f"{ROOT}/examples/{example}/experiment.toml").read()
        # Long enough to be held, resumed and stopped by hand.
        text = text.replace('duration = "8 s"', 'duration = "120 s"').replace('duration = "10 s"', 'duration = "120 s"')
        open(f"{folder}/{name}/experiment.toml", "w").write(text + PATIENT)
    with open(own + "/said.txt", "w") as said:
        process = subprocess.Popen([PROGRAM, "serve", folder, "--listen", "127.0.0.1:0"], stdout=said, stderr=said)

    def addresses():
        return re.findall(r"http://\S+#token=\S+", open(said.name).read())
    wait(lambda: len(addresses()) >= 2 or process.poll() is not None, "the host says where it is")
    if process.poll() is not None:
        raise AssertionError("the host ends: " + open(said.name).read())
    return process, own, addresses()[:2]


def enters(browser, address):
    browser.go("about:blank")
    browser.go(address)
    wait(lambda: browser.text("#nav a[aria-current]"), "the page shows a view")


def goes(browser, view):
    browser.run("location.hash = arguments[0]", "#/" + view)
    wait(lambda: browser.run("return document.querySelector('#nav a[aria-current]')?.dataset.view") == view.split("/")[0], f"the view {view}")


def accessible(browser, where):
    """No serious finding of axe-core, where it is at hand."""
    if not AXE:
        return
    grave = browser.later(open(AXE).read() + """;
        axe.run(document).then(({violations}) => arguments[arguments.length - 1](
            violations.filter(({impact}) => impact === 'serious' || impact === 'critical').map(({id, nodes}) => id + ': ' + nodes[0].html)))""")
    assert not grave, f"{where}: {grave}"


def a_wrong_token_is_refused(browser, address):
    browser.go(re.sub("token=.*", "token=wrong", address))
    wait(lambda: "does not know this token" in browser.text("main"), "a wrong token is refused")
    assert "token" not in browser.run("return location.hash"), "the token stays in the address"


def no_peak_is_hidden(browser):
    wrong = browser.later(open(os.path.dirname(os.path.abspath(__file__)) + "/curves.js").read())
    assert not wrong, f"the store of curves: {wrong}"


def an_error_is_shown_and_mended(browser):
    goes(browser, "edit/" + FILE)
    wait(lambda: browser.text(".judged h2") in ("Sound", "Doubtful", "Unsafe"), "the verdict of a good file")
    accessible(browser, "workbench")
    edit = """const f = document.querySelector('textarea'), i = f.value.indexOf(arguments[0]);
        f.focus(); f.setSelectionRange(i, i + arguments[0].length); document.execCommand('insertText', false, arguments[1]);"""
    browser.run(edit, "stiffness = {", "stifness = {")
    wait(lambda: "stifness" in browser.text(".problems"), "the error is named")
    assert browser.run("return document.querySelector('.gutter [data-level=bad]')?.textContent"), "no line is marked"
    browser.run(edit, "stifness = {", "stiffness = {")
    wait(lambda: not browser.text(".problems") and browser.text(".judged h2") in ("Sound", "Doubtful", "Unsafe"), "the verdict is back")
    browser.run(edit, "seed     = 5", "seed     = 6")
    wait(lambda: browser.text("main [role=status]") == "Not saved", "the change is seen")
    browser.press(CONTROL, "s")
    wait(lambda: browser.text("main [role=status]") == "Saved", "the file is saved")


def control_is_taken(browser, name):
    browser.click("//div[@id='lease']//button")
    wait(lambda: browser.run("return !!document.querySelector('.dialog input')"), "the dialog")
    browser.run("document.querySelector('.dialog input').value = ''")
    browser.type("//*[@role='dialog']//input", name)
    browser.click("//*[@role='dialog']//button[not(contains(@class, 'quiet'))]")


def a_test_is_armed(browser, path, clock, rig):
    goes(browser, "run/" + path)
    wait(lambda: browser.run("return document.querySelector('select[name=experiment]')?.value") == path, "the experiment is chosen")
    browser.run("""document.querySelector('[name=clock]').value = arguments[0]; document.querySelector('[name=rig]').value = arguments[1]""", clock, rig)
    browser.button("Prepare")
    wait(lambda: "I have read the verdict" in browser.text("main"), "verdict and limits")
    accessible(browser, "prepared test")
    for box in range(browser.run("return document.querySelectorAll('main section input[type=checkbox]').length")):
        browser.click(f"(//main//section//input[@type='checkbox'])[{box + 1}]")
    browser.click("//button[@data-needs-control and not(@disabled)]")
    wait(lambda: browser.text(".run-state") == "Armed", "the test is armed")


def the_benchmark_is_run(browser):
    a_test_is_armed(browser, FILE, "real", "virtual")
    browser.button("Start")
    browser.answer("Start")
    wait(lambda: browser.text(".run-state") == "Running", "the test runs")
    picture = "const c = document.querySelector('.plot .front'); return c ? c.toDataURL() : ''"
    first = wait(lambda: browser.run(picture), "there is a picture")
    wait(lambda: browser.run(picture) != first, "curves move")
    accessible(browser, "running test")
    browser.button("Hold")
    browser.answer("Hold")
    wait(lambda: browser.text(".run-state") == "Held", "the test is held")
    browser.button("Resume")
    browser.answer("Resume")
    wait(lambda: browser.text(".run-state") == "Running", "the test goes on")


def others_are_refused(driver, operator, viewer):
    """A viewer that presses stop, and a second operator that asks for control."""
    looking = driver.open()
    enters(looking, viewer)
    looking.click("//button[@id='stop']")
    wait(lambda: "STOP REFUSED" in looking.text("#stop-state"), "a viewer's stop is refused")
    looking.close()
    second = driver.open()
    enters(second, operator)
    wait(lambda: "Anna" in second.text("#lease"), "who has control is told")
    control_is_taken(second, "Ben")
    wait(lambda: "asked" in second.text("#lease"), "the second operator waits")
    goes(second, "run")
    hold = "return [...document.querySelectorAll('.run-head button')].filter(b => b.textContent === 'Hold').map(b => b.disabled)"
    wait(lambda: second.run(hold) == [True], "the second operator may not hold")
    return second


def the_stop_works_from_the_keyboard(browser):
    wait(lambda: "Ben asks for control" in browser.text("#lease"), "the holder is told who asks")
    assert browser.text(".run-state") == "Running", "the test runs when the stop is pressed"
    browser.button("Hold")
    wait(lambda: browser.text(".dialog"), "a dialog is open")
    browser.press(SHIFT, ESCAPE)
    wait(lambda: "Stop taken" in browser.text("#stop-state"), "the stop is confirmed")
    wait(lambda: browser.text(".run-state").startswith("Over"), "the test is over", 120)
    browser.press(ESCAPE)


def a_trip_is_told_and_its_report_opened(browser):
    browser.button("Next test")
    a_test_is_armed(browser, TRIPS, "virtual", "")
    browser.button("Start")
    browser.answer("Start")
    wait(lambda: "Tripped at" in browser.text(".run-head [role=alert]"), "the trip is told", 240)
    wait(lambda: browser.text(".run-state").startswith("Over"), "the test is over", 120)
    assert "trip" in browser.text(".events"), "the trip is no event"
    accessible(browser, "tripped test")
    browser.click("//a[normalize-space()='Open the record']")
    before = browser.windows()
    browser.click("//button[normalize-space()='Open the report']")
    wait(lambda: len(browser.windows()) > len(before), "a tab opens")
    own = before[0]
    browser.look_at([window for window in browser.windows() if window not in before][0])
    wait(lambda: browser.run("return document.querySelectorAll('svg, h1').length") > 1, "the report is drawn", errors=(BrowserError,))
    browser.look_at(own)
    accessible(browser, "record")


def main():
    if not found():
        print("SKIPPED: the page in a browser: chromium and chromedriver are not both here (Debian: apt install chromium chromium-driver)")
        return
    process, own, (operator, viewer) = serve()
    driver = Driver()
    try:
        browser = driver.open()
        a_wrong_token_is_refused(browser, operator)
        enters(browser, operator)
        wait(lambda: browser.run("return document.querySelectorAll('.card .chip').length") == 2, "both experiments have a verdict")
        accessible(browser, "experiments")
        no_peak_is_hidden(browser)
        an_error_is_shown_and_mended(browser)
        control_is_taken(browser, "Anna")
        wait(lambda: "Control: you" in browser.text("#lease"), "control is taken")
        the_benchmark_is_run(browser)
        others_are_refused(driver, operator, viewer).close()
        the_stop_works_from_the_keyboard(browser)
        a_trip_is_told_and_its_report_opened(browser)
        wrong = [line for line in browser.errors() if "WebSocket" not in line]
        assert not wrong, f"the page complains: {wrong}"
        print("OK: the page in a browser")
    finally:
        driver.close()
        process.terminate()
        process.wait()
        shutil.rmtree(own, ignore_errors=True)


try:
    main()
except AssertionError as problem:
    print(f"DEFECT {problem}")
    sys.exit(1)
