"""A person at a chat page (Chainlit) in a real browser; the page talks to the server as to OpenAI."""

import os
import subprocess
import sys
import tempfile
import urllib.request

from playwright.sync_api import expect, sync_playwright

from door import inputs, outcomes, thread_of, until
from run import free_port

HERE = os.path.dirname(os.path.abspath(__file__))


def serve(folder, port):
    command = [sys.executable, "-m", "chainlit", "run", f"{HERE}/chainlit_app.py", "--headless", "--port", str(port)]
    # Settings of its own; a message can be changed there.
    env = {**os.environ, "CHAINLIT_APP_ROOT": folder, "HOME": folder}
    env = {name: value for name, value in env.items() if not name.startswith(("THINKD_", "OPENAI_"))}
    return subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.DEVNULL)


def is_up(url):
    try:
        return urllib.request.urlopen(url, timeout=2).status == 200
    except OSError:
        return False


class Person:
    def __init__(self, browser, url):
        self.page = browser.new_context().new_page()
        self.page.set_default_timeout(60_000)
        self.page.goto(url)
        self.box = self.page.locator("#chat-input")
        self.box.wait_for()

    def say(self, words):
        self.box.click()
        self.page.keyboard.insert_text(words)
        self.page.locator("#chat-submit").click()  # enabled once the page is connected

    def sees(self, words, times=1):
        expect(self.page.get_by_text(words, exact=True)).to_have_count(times, timeout=60_000)


def talk(browser, url):
    one, two = Person(browser, url), Person(browser, url)
    # Talk, streamed; two people at once with the same words.
    one.say("page hello"), two.say("page hello")
    one.sees("ok: page hello"), two.sees("ok: page hello")
    one.say("page two"), two.say("page deux")
    one.sees("ok: page two"), two.sees("ok: page deux")
    threads = thread_of("page hello")
    assert sorted(inputs(thread)[1] for thread in threads) == ["page deux", "page two"], threads
    # A failed turn is said in the page.
    one.say("fail page")
    one.page.get_by_text("no such key").first.wait_for()
    # Stop.
    two.say("slow page")
    two.page.locator("#stop-button").click()
    [thread] = [thread for thread in threads if inputs(thread)[1] == "page deux"]
    until(lambda: outcomes(thread)[-1] == "cancelled", "the turn is cancelled")
    # The page has its own words in the place of the answer: they are told, in the same thread.
    two.say("page goes on")
    until(lambda: len(inputs(thread)) == 4, "the talk goes on in its thread")
    assert "Task manually stopped." in inputs(thread)[3] and inputs(thread)[3].endswith("page goes on"), inputs(thread)
    # A message is changed: a fork, and what was said stays.
    three = Person(browser, url)
    three.say("page first"), three.sees("ok: page first")
    three.say("page second"), three.sees("ok: page second")
    [origin] = thread_of("page first")
    message = three.page.locator(".message-content, [data-step-type=user_message]").filter(has_text="page second").first
    message.hover()
    three.page.locator(".edit-message").last.click()
    three.page.keyboard.press("Control+A")
    three.page.keyboard.insert_text("page other")
    three.page.get_by_role("button", name="Confirm").click()
    three.sees("ok: page other")
    assert inputs(origin) == ["page first", "page second"], inputs(origin)
    forks = [inputs(thread) for thread in thread_of("page first") if thread != origin]
    assert forks == [["page first", "page other"]], forks


def main():
    port = free_port()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = serve(folder, port)
        try:
            url = f"http://127.0.0.1:{port}"
            until(lambda: is_up(url), "the page is there")
            browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"])
            talk(browser, url)
        finally:
            page.terminate()
            page.wait(20)


main()
print("Chainlit in Chromium")
