import type { CDPSession, Page } from "playwright-core";

/** Longest frame that is not counted, in milliseconds. */
export const LONG_FRAME_MS = 50;

/** What a page's frames were like for some time. Times are milliseconds. */
export interface Frames {
  readonly count: number;
  /** Frames that came more than 50 ms after the one before. */
  readonly long: number;
  /** Frames that the browser itself counts as long: its own work took more than 50 ms, whatever the machine did. */
  readonly longWork: number;
  readonly longest: number;
  /** Time of the page's main thread for a frame: scripts, styles, layout and all else. */
  readonly workPerFrame: number;
  readonly scriptPerFrame: number;
}

/** Records each frame until `benchFrames.stop()`. */
const RECORD = `(() => {
  const times = [];
  let last;
  let longWork = 0;
  let isOn = true;
  const observer = new PerformanceObserver((list) => { longWork += list.getEntries().filter((each) => each.duration > ${LONG_FRAME_MS}).length; });
  observer.observe({ type: "long-animation-frame" });
  const next = () => {
    const now = performance.now();
    if (last !== undefined) times.push(now - last);
    last = now;
    if (isOn) requestAnimationFrame(next);
  };
  requestAnimationFrame(next);
  globalThis.benchFrames = { stop: () => {
    isOn = false;
    longWork += observer.takeRecords().filter((each) => each.duration > ${LONG_FRAME_MS}).length;
    observer.disconnect();
    return { times, longWork };
  } };
})()`;

/** Records the frames of the page while `work` is done. */
export async function recordFrames(page: Page, debug: CDPSession, work: () => Promise<unknown>): Promise<Frames> {
  await page.bringToFront();
  await debug.send("Performance.enable");
  const before = await workOf(debug);
  await page.evaluate(RECORD);
  await work();
  const { times, longWork } = await page.evaluate<{ times: number[]; longWork: number }>("benchFrames.stop()");
  const after = await workOf(debug);
  return {
    count: times.length,
    long: times.filter((ms) => ms > LONG_FRAME_MS).length,
    longWork,
    longest: Math.max(...times),
    workPerFrame: (after.work - before.work) / times.length,
    scriptPerFrame: (after.script - before.script) / times.length,
  };
}

/** Sums up what was recorded in parts. */
export function sumFrames(parts: readonly Frames[]): Frames {
  const sum = (of: (part: Frames) => number): number => parts.reduce((total, part) => total + of(part), 0);
  const count = sum((part) => part.count);
  return {
    count,
    long: sum((part) => part.long),
    longWork: sum((part) => part.longWork),
    longest: Math.max(...parts.map((part) => part.longest)),
    workPerFrame: sum((part) => part.workPerFrame * part.count) / count,
    scriptPerFrame: sum((part) => part.scriptPerFrame * part.count) / count,
  };
}

async function workOf(debug: CDPSession): Promise<{ readonly work: number; readonly script: number }> {
  const { metrics } = await debug.send("Performance.getMetrics");
  const read = (name: string): number => (metrics.find((metric) => metric.name === name)?.value ?? Number.NaN) * 1000;
  return { work: read("TaskDuration"), script: read("ScriptDuration") };
}
