import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "vitest";
import type { StreamedEvent } from "../../../src/edgectl/api/deployments.ts";
import { createTheme } from "../../../src/lib/terminal/theme.ts";
import { displayWidth } from "../../../src/lib/terminal/width.ts";
import { renderProgress, TerminalView } from "../../../src/edgectl/views/deployment-view.ts";
import { MemoryOutput } from "../../support/edgectl/memory-output.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const ENV = { LANG: "C.UTF-8" };
const PULL: StreamedEvent = {
  status: "Running",
  message: "Pulling",
  step: "pulling",
  progress: 45,
  bytes: { done: 45_000_000, total: 100_000_000 },
};

function setUp(columns = 80) {
  const output = new MemoryOutput(columns);
  const clock = new FakeClock();
  const view = new TerminalView({ output, theme: createTheme(output, ENV), clock });
  return { output, clock, view, screen: () => screenOf(output.text) };
}

/** Returns the final content of a screen on which only the last line is rewritten. */
function screenOf(text: string): string[] {
  return text.split("\n").map((line) => stripVTControlCharacters(line.split("\u001B[2K").at(-1) ?? "").trimEnd());
}

describe("a deployment on a terminal", () => {
  test("prints a line for each finished step, with the total of the pull", async () => {
    const { view, clock, screen } = setUp();
    view.onEvent({ status: "Running", message: "Checking ports", step: "checking" });
    await clock.advance(1000);
    view.onEvent({ ...PULL, bytes: { done: 0, total: 100_000_000 }, progress: 0 });
    await clock.advance(20_000);
    view.onEvent({ ...PULL, bytes: { done: 100_000_000, total: 100_000_000 }, progress: 100 });
    view.onEvent({ status: "Running", message: "Starting", step: "starting" });
    const success: StreamedEvent = { status: "Success", message: "App web is running." };
    view.onEvent(success);
    view[Symbol.dispose]();
    view.success(success);
    expect(screen()).toEqual([
      "• checking    Checking ports",
      "• pulling     100.0 MB pulled in 20 s",
      "• starting    Starting",
      "✓ done        App web is running. (21 s)",
      "",
    ]);
    expect(clock.pending).toBe(0);
  });

  test("shows bar, percent, bytes, rate and time left while pulling", async () => {
    const { view, clock, screen } = setUp();
    view.onEvent({ ...PULL, bytes: { done: 40_000_000, total: 100_000_000 } });
    await clock.advance(1000);
    view.onEvent(PULL);
    expect(screen().at(-1)).toMatch(/^. pulling {5}█+░+ {3}45 % {2}45\.0 MB of 100\.0 MB {2}5\.00 MB\/s {2}11 s left$/);
    view[Symbol.dispose]();
  });

  test("shows how often the link was cut, if the device reports it", async () => {
    const { view, screen } = setUp();
    view.onEvent({ ...PULL, details: { cuts: 4 } });
    expect(screen().at(-1)).toContain("link cut 4 times");
    view[Symbol.dispose]();
  });

  test.each([20, 40, 60, 80, 120])("the live line never takes more than %d columns", (columns) => {
    const theme = createTheme(new MemoryOutput(columns), {});
    for (const rate of [undefined, 1, 999_999_999]) {
      const room = columns - 15;
      expect(displayWidth(renderProgress(PULL, rate, room, theme))).toBeLessThanOrEqual(Math.max(room, 7));
    }
  });

  test("a message from the device cannot move the cursor or hide lines", () => {
    const { view, output } = setUp();
    const before = output.text.length;
    view.onEvent({ status: "Running", message: "\u001B[2J\u001B[Hevil\r\nline", step: "chec\u0007king" });
    view[Symbol.dispose]();
    const written = output.text.slice(before);
    for (const harm of ["\u001B[2J", "\u001B[H", "\u0007", "evil\r"]) expect(written).not.toContain(harm);
    expect(output.text).toContain("evil\\x0d\\x0aline");
  });

  test("a lost and restored connection stay on the screen, and the cursor is shown again at the end", () => {
    const { view, screen, output } = setUp();
    view.onDisconnected("the connection broke (ECONNRESET)");
    view.onReconnected();
    view[Symbol.dispose]();
    expect(screen().join("\n")).toContain("Connection lost: the connection broke (ECONNRESET).");
    expect(screen().join("\n")).toContain("The stream goes on where it was.");
    expect(output.text.lastIndexOf("\u001B[?25h")).toBeGreaterThan(output.text.lastIndexOf("\u001B[?25l"));
  });
});
