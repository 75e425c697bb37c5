import { expect, test } from "vitest";
import type { RolloutEvent } from "../../../../src/edgectl/api/rollout-streams.ts";
import type { Io } from "../../../../src/edgectl/io.ts";
import { Printer } from "../../../../src/edgectl/printer.ts";
import { createRolloutView } from "../../../../src/edgectl/views/rollout-progress.ts";
import { MemoryOutput } from "../../../support/edgectl/memory-output.ts";

const EVENTS: readonly RolloutEvent[] = (
  [
    ["Running", "The rollout is in wave 1 of 2.", 1, "running", { deploying: 3, pending: 997 }],
    ["Running", "The rollout is in wave 1 of 2.", 1, "running", { succeeded: 3, deploying: 50, pending: 947 }],
    ["Fail", "The rollout has gone back.", 1, "rolled_back", { rolled_back: 3, skipped: 997 }],
  ] as const
).map(([status, message, wave, state, counts], index) => ({
  status,
  message,
  wave,
  state,
  counts,
  waiting_for: index === 1 ? [{ for: "hold", count: 2 }] : [],
  waits_for_people: false,
  seq: index + 1,
  timestamp: 1_800_000_000,
}));

function show(columns: number | undefined): string {
  const output = new MemoryOutput(columns);
  const io = { stdout: output, stderr: output, env: { NO_COLOR: "1", TERM: "xterm" } } as unknown as Io;
  {
    using view = createRolloutView(io, new Printer(io, false));
    for (const event of EVENTS) view.onEvent(event);
  }
  return output.text;
}

test("in a pipe each event is a line", () => {
  expect(show(undefined).trim().split("\n")).toEqual([
    "2027-01-15 08:00:00  The rollout is in wave 1 of 2.  (running, wave 1: 3 deploying, 997 pending)",
    "2027-01-15 08:00:00  The rollout is in wave 1 of 2.  (running, wave 1: 3 succeeded, 50 deploying, 947 pending; waiting: 2 held)",
    "2027-01-15 08:00:00  The rollout has gone back.  (rolled back, wave 1: 997 skipped, 3 rolled back)",
  ]);
});

test.each([
  [80, "running, wave 1: 3 succeeded, 50 deploying, 947 pending; waiting: 2 held"],
  [30, "running, wave 1: 3 succeeded…"],
])("on a terminal of %i columns one line with the counts is rewritten, and removed at the end", (columns, line) => {
  const text = show(columns);
  expect(text.match(/wave 1 of 2/g)).toHaveLength(1);
  const rewritten = text.split("\r\u001B[2K").map((part) => part.split("\u001B")[0] ?? "");
  expect(rewritten).toContain(line);
  for (const part of rewritten.slice(1)) expect(part.length).toBeLessThan(columns);
  expect(text.endsWith("\u001B[?25h✗ The rollout has gone back.\n  997 skipped, 3 rolled back\n")).toBe(true);
});
