// SPDX-License-Identifier: Apache-2.0
// Replaces each section of the page that has changed, once a second.  Without it the page is complete, and old.
"use strict";
const main = document.getElementById("main"), status = document.getElementById("live"), button = document.getElementById("pause");
const version = document.documentElement.dataset.version, SECOND = 1000, PATIENCE = 5 * SECOND;
let paused = false, heard = Date.now(), said = "";

function say(text, bad) { // a screen reader hears it: only when it is new
    if (text === said) return;
    said = status.textContent = text;
    status.classList.toggle("alert", bad);
}

function replace(fresh) {
    for (const section of fresh.querySelectorAll("section[id]")) {
        const old = document.getElementById(section.id);
        if (!old) main.append(section);
        else if (old.outerHTML !== section.outerHTML && !old.contains(document.activeElement)) {
            for (const box of old.querySelectorAll("details[id][open]")) section.querySelector("#" + box.id)?.setAttribute("open", "");
            const scrolled = [...old.querySelectorAll(".wide")].map((e) => e.scrollLeft);
            old.replaceWith(section);
            section.querySelectorAll(".wide").forEach((e, i) => { e.scrollLeft = scrolled[i] ?? 0; });
        }
    }
}

async function look() {
    try {
        const answer = await fetch("/tables" + location.search, {cache: "no-store", signal: AbortSignal.timeout(PATIENCE)});
        if (!answer.ok) throw new Error(await answer.text());
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
        const state = fresh.querySelector("#state").dataset;
        if (state.version !== version) return location.reload(); // another trigd answers
        document.title = state.title;
        replace(fresh);
        heard = Date.now();
        say("live", false);
    } catch (error) {
        say("no answer since " + new Date(heard).toLocaleTimeString() + ": the numbers are old", true);
    }
}

async function run() {
    if (!paused && !document.hidden) await look();
    setTimeout(run, SECOND);
}

button.hidden = false;
button.addEventListener("click", () => {
    paused = !paused;
    button.textContent = paused ? "Go on" : "Pause";
    button.setAttribute("aria-pressed", paused);
    say(paused ? "paused" : "live", false);
});
setTimeout(run, SECOND);
