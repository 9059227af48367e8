"""page.py URL --size WxH [--dark] [--token T] [--press NAME]... [--until TEXT] [--seconds S] [--png FILE]: the page
of --http in Chromium. --rooms N: says how long N rooms take until they stand there, and the page's longest task in the seconds after.

Gives the token by the page's own button, moves the focus to each button of this name (the one that a screen reader says), presses
Enter, agrees to what is asked, and prints the page's answer. At the end, once the page has TEXT: the page's text, a picture, and
"scrolls" if it is wider than the window."""
import argparse, base64, json, os, subprocess, sys, tempfile, time

say = argparse.ArgumentParser()
say.add_argument("url")
say.add_argument("--size", default="1440x900")
say.add_argument("--dark", action="store_true")
say.add_argument("--token")
say.add_argument("--press", action="append", default=[])
say.add_argument("--type", default="")
say.add_argument("--until", default="")
say.add_argument("--seconds", type=float, default=2)
say.add_argument("--rooms", type=int)
say.add_argument("--png")
say = say.parse_args()

profile = tempfile.TemporaryDirectory()
to_browser, orders = os.pipe()
answers, from_browser = os.pipe()


def pipes():
    for have, want in ((to_browser, 30), (from_browser, 31)):
        os.dup2(have, want)
    os.dup2(30, 3)
    os.dup2(31, 4)


browser = subprocess.Popen(["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
                            "--user-data-dir=" + profile.name, "about:blank"], preexec_fn=pipes, close_fds=False, stderr=subprocess.DEVNULL)
os.close(to_browser)
os.close(from_browser)
pending, number, session = b"", 0, None


def hear():
    global pending
    while b"\0" not in pending:
        piece = os.read(answers, 65536)
        if not piece:
            sys.exit("chromium has ended")
        pending += piece
    line, pending = pending.split(b"\0", 1)
    message = json.loads(line)
    if message.get("method") == "Page.javascriptDialogOpening":
        send("Page.handleJavaScriptDialog", accept=True, promptText=say.token or "")
    if message.get("method") == "Runtime.exceptionThrown":
        print("exception:", message["params"]["exceptionDetails"])
    return message


def send(method, **params):
    global number
    number += 1
    order = {"id": number, "method": method, "params": params}
    if session:
        order["sessionId"] = session
    os.write(orders, json.dumps(order).encode() + b"\0")
    return number


def do(method, **params):
    mine = send(method, **params)
    while True:
        message = hear()
        if message.get("id") == mine:
            return message.get("result") or sys.exit(f"{method}: {message}") if "error" in message else message["result"]


def js(text):
    return do("Runtime.evaluate", expression=text, returnByValue=True)["result"].get("value")


def wait(text, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if js(text):
            return True
        time.sleep(0.1)
    print("never:", text)
    return False


def press(name):
    find = f"[...document.querySelectorAll('button')].find(b => (b.ariaLabel || b.textContent) === {json.dumps(name)} && b.checkVisibility())"
    if wait(f"!!({find})"):
        js(f"({find}).focus()")
        for kind in "keyDown", "keyUp":
            send("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", text="\r", windowsVirtualKeyCode=13)
        js("1")


try:
    page = do("Target.createTarget", url="about:blank")["targetId"]
    session = do("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
    width, height = map(int, say.size.split("x"))
    do("Page.enable")
    do("Runtime.enable")
    do("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
    do("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if say.dark else "light"}])
    if say.rooms:
        do("Page.addScriptToEvaluateOnNewDocument", source="var tasks = []; new PerformanceObserver(l => tasks.push(...l.getEntries().map("
           "t => t.duration))).observe({type: 'longtask', buffered: true});")
    began = time.monotonic()
    do("Page.navigate", url=say.url)
    wait("document.readyState === 'complete' && rooms.size > 0")
    if say.token:
        press("host’s controls")
        wait("!!document.querySelector('.words input')")
    for name in say.press:
        js("at('said').textContent = ''")
        js(f"(i => {{ if (i) i.value = {json.dumps(say.type)} }})(document.querySelector('.words input'))")
        press(name)
        wait("at('said').textContent")
        print("said:", js("at('said').textContent"))
    if say.rooms:
        wait(f"rooms.size >= {say.rooms}", 60)
        shown, first = time.monotonic() - began, js("Math.max(0, ...tasks)")
        js("tasks = []")
        time.sleep(say.seconds)
        print(f"{js('rooms.size')} rooms: shown after {shown:.2f} s, longest task {first:.0f} ms, then {js('Math.max(0, ...tasks)'):.0f} ms")
        say.seconds = 0
    wait(f"[...rooms.values()].some(r => r.graphs.get('lead').values.length > {say.seconds})", 60)
    wait(f"document.body.innerText.includes({json.dumps(say.until)})")
    print(js("document.body.innerText"))
    if js("document.documentElement.scrollWidth > innerWidth"):
        print("scrolls")
    print("kept:", js("JSON.stringify(localStorage) + document.cookie"))
    if say.png:
        with open(say.png, "wb") as f:
            f.write(base64.b64decode(do("Page.captureScreenshot", format="png")["data"]))
finally:
    browser.terminate()
    browser.wait()
