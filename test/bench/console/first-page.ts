import { median } from "../measure.ts";
import { atMost, type BenchResult } from "../result.ts";
import type { ConsoleRig } from "./rig.ts";

const SLOWER = 4;
const MAX_MS = 1500;
const MAX_SCRIPT_KB = 200;

/** Notes when the first row is a link that can be used: two frames after it is there, the first of which shows it. */
const NOTE_USABLE = `globalThis.benchUsableAt = new Promise((resolve) => {
  new MutationObserver((_, observer) => {
    if (document.querySelector('[role="row"][data-item] a') === null) return;
    observer.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now())));
  }).observe(document, { childList: true, subtree: true });
})`;

interface Visit {
  /** From the navigation, in milliseconds. */
  readonly usableMs: number;
  /** Bytes of script that were sent, compressed, with their headers. */
  readonly scriptBytes: number;
}

/** How long the list of assets takes until it can be used, without anything in the cache, and what it is made of. */
export async function firstPage(rig: ConsoleRig, rounds: number): Promise<BenchResult> {
  const slowed: Visit[] = [];
  const full: Visit[] = [];
  // The first round warms up the service.
  for (let round = 0; round <= rounds; round++) {
    const both = { slowed: await visit(rig, SLOWER), full: await visit(rig, 1) };
    if (round === 0) continue;
    slowed.push(both.slowed);
    full.push(both.full);
  }
  const usable = median(slowed.map(({ usableMs }) => usableMs));
  const reference = median(full.map(({ usableMs }) => usableMs));
  const kilobytes = Math.max(...slowed.map(({ scriptBytes }) => scriptBytes)) / 1000;
  return {
    data: { slowed, full },
    rows: [
      {
        what: `console: list of ${rig.assets} assets usable, processor ${SLOWER} times slower, median of ${rounds}`,
        value: `${usable.toFixed(0)} ms`,
        reference: `processor as it is: ${reference.toFixed(0)} ms`,
        ratio: usable / reference,
        target: atMost(MAX_MS, "ms", usable),
      },
      {
        what: "console: compressed script sent until then",
        value: `${kilobytes.toFixed(1)} kB`,
        target: atMost(MAX_SCRIPT_KB, "kB", kilobytes),
      },
    ],
  };
}

async function visit(rig: ConsoleRig, rate: number): Promise<Visit> {
  await using opened = await rig.open();
  const { page, debug } = opened;
  const scripts = new Set<string>();
  let scriptBytes = 0;
  debug.on("Network.responseReceived", ({ requestId, type }) => type === "Script" && scripts.add(requestId));
  debug.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
    if (scripts.has(requestId)) scriptBytes += encodedDataLength;
  });
  await debug.send("Network.enable");
  await debug.send("Emulation.setCPUThrottlingRate", { rate });
  await page.addInitScript(NOTE_USABLE);
  await page.goto(`${rig.url}/assets`);
  const usableMs = await page.evaluate<number>("globalThis.benchUsableAt");
  return { usableMs, scriptBytes };
}
