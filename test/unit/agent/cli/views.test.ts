import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { printActivity } from "../../../../src/agent/cli/activity-view.ts";
import { AgentPrinter } from "../../../../src/agent/cli/printer.ts";
import { portsText, renderApps, renderStatus, shortTime } from "../../../../src/agent/cli/status-view.ts";
import type { Activity, Status } from "../../../../src/agent/local/api.ts";
import { formatPort } from "../../../../src/edgectl/views/spec-fields.ts";
import { troublesOf } from "../../../../src/agent/local/troubles.ts";
import { createTheme } from "../../../../src/lib/terminal/theme.ts";
import { displayWidth } from "../../../../src/lib/terminal/width.ts";
import { MemoryOutput } from "../../../support/edgectl/memory-output.ts";

const ENV = { TERM: "xterm", LANG: "C.UTF-8" };
const PLAIN = createTheme({ write: () => undefined }, ENV);

const APP: Status["device"]["apps"][number] = {
  name: "web",
  image: "registry.example.com/team/web:1",
  state: "running",
  trouble: null,
  ports: [{ host_port: 30_080, target_port: 80 }],
  host_network: false,
  restarts: 0,
  started_at: "2026-11-20T12:48:17.596Z",
};

const STATUS: Status = {
  agent: { version: "0.1.0", pid: 1, uptime_s: 3_700, memory_bytes: 61_000_000 },
  link: {
    state: "online",
    control_plane: "wss://control.example.com/v1/agent",
    for_s: 90,
    next_try_in_s: null,
    last_error: null,
    asset: { uuid: "u", serial_number: "GW-1", name: "Pump house" },
    reconnects: 0,
    keepalive_s: 600,
  },
  device: {
    engine: { ok: true, kind: "docker", version: "20.10.24" },
    disk: { path: "/var/lib/docker", free_bytes: 5e9, reserve_bytes: 2e8 },
    apps: [APP],
    deployments: [],
  },
  data: null,
  clock: null,
  held: [],
  engine_troubles: [],
  network_fault: null,
  state_fault: null,
};

const hostile = fc.string({ unit: "binary", maxLength: 60 });
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0009\u000B-\u001F\u007F-\u009F]/;

function printed(print: (printer: AgentPrinter) => void, columns?: number): string {
  const stdout = new MemoryOutput(columns);
  print(new AgentPrinter({ stdout, stderr: new MemoryOutput(), env: { ...ENV, NO_COLOR: "1" } }, false));
  return stdout.text;
}

describe("what is wrong, in the status", () => {
  it("nothing, when all is well", () => {
    expect(troublesOf(STATUS)).toEqual([]);
  });

  it("an engine that has lost something", () => {
    const trouble = {
      text: "The container engine has lost its firewall rules.",
      next: "sudo systemctl restart docker",
    };
    expect(troublesOf({ ...STATUS, engine_troubles: [trouble] })).toEqual([{ kind: "engine", ...trouble }]);
  });

  it("not that a network drops idle connections, but how often the link is probed there", () => {
    const probed = { ...STATUS, link: { ...STATUS.link, keepalive_s: 17 } };
    expect(troublesOf(probed)).toEqual([]);
    expect(renderStatus(probed, PLAIN)).toContain("kept by a probe after each 17 s of silence");
    expect(renderStatus(STATUS, PLAIN)).not.toContain("probe");
  });

  it("a clock that has jumped", () => {
    const clock = "The clock has jumped: 60 d ahead.";
    expect(troublesOf({ ...STATUS, clock })).toEqual([{ kind: "clock", text: clock }]);
  });

  // Directly after the start, as the installation has it: nothing has failed yet.
  it("not that the agent connects for the first time", () => {
    const link = { ...STATUS.link, state: "connecting" as const, for_s: 0 };
    expect(troublesOf({ ...STATUS, link })).toEqual([]);
    const failed = { ...link, last_error: { reason: "nothing listens there", ago_s: 1 } };
    expect(troublesOf({ ...STATUS, link: failed })).toMatchObject([{ kind: "link" }]);
  });

  it.each<[string, Status, RegExp]>([
    ["no link", { ...STATUS, link: { ...STATUS.link, state: "waiting" } }, /No link/],
    [
      "a cable that is pulled, while the link counts as online",
      { ...STATUS, network_fault: { text: "eth0 has no cable.", next: "Plug it in" } },
      /No link.*eth0 has no cable\. Plug it in/,
    ],
    ["no engine", { ...STATUS, device: { ...STATUS.device, engine: { ok: false, reason: "gone" } } }, /engine.*gone/],
    [
      "no space",
      { ...STATUS, device: { ...STATUS.device, disk: { path: "/x", free_bytes: 1, reserve_bytes: 2 } } },
      /disk space at \/x/,
    ],
    [
      "an app that does not run",
      { ...STATUS, device: { ...STATUS.device, apps: [{ ...APP, trouble: "it keeps stopping" }] } },
      /web.*edge-agent app web/,
    ],
    [
      "a state that cannot be written",
      { ...STATUS, state_fault: { text: "the disk is read-only", next: "remount" } },
      /The disk is read-only.*remount/,
    ],
    [
      "an engine that is too old",
      { ...STATUS, device: { ...STATUS.device, engine: { ok: true, kind: "docker", version: "19.03.1" } } },
      /docker 19.03.1, is older than 20.10/,
    ],
  ])("%s", (_name, status, expected) => {
    expect(
      troublesOf(status)
        .map(({ text, next }) => `${text} ${next}`)
        .join("\n"),
    ).toMatch(expected);
  });
});

describe("output on a terminal", () => {
  it("shows the data used, by purpose, and that downloads wait when a budget is used up", () => {
    const data = {
      today_bytes: 2_122_643,
      month_bytes: 9_122_643,
      by_purpose: { control: 6_911, pulls: 9_003_493 },
      overhead_bytes: 112_239,
      budget: {
        daily_bytes: 2_000_000,
        monthly_bytes: 50_000_000,
        used_today_bytes: 2_122_643,
        used_this_month_bytes: 9_122_643,
      },
    };
    const text = renderStatus({ ...STATUS, data }, PLAIN);
    expect(text).toContain(
      "Data used  2.12 MB today, 9.12 MB this month: pulls 9.00 MB, control 6.91 kB, overhead ~112.2 kB",
    );
    expect(text).toContain("2.12 MB of the 2.00 MB for the day: downloads wait, 9.12 MB of the 50.0 MB for the month");
    expect(renderStatus(STATUS, PLAIN)).not.toContain("Data used");
  });

  it("the status names work that pauses", () => {
    const text = renderStatus({ ...STATUS, held: ["the agent crashed 3 times during the repair of web"] }, PLAIN);
    expect(text).toMatch(/Pauses +the agent crashed 3 times during the repair of web/);
    expect(renderStatus(STATUS, PLAIN)).not.toContain("Pauses");
  });

  it("the status shows link, engine, disk and agent", () => {
    const text = renderStatus(STATUS, PLAIN);
    expect(text).toMatch(/Link +online for 1 min 30 s, as GW-1 \(Pump house\)/);
    expect(text).toMatch(/Engine +docker 20\.10\.24/);
    expect(text).toMatch(/Disk +5\.00 GB free/);
    expect(text).toMatch(/Agent +0\.1\.0, up 1 h 1 min/);
  });

  it("apps fit into 80 columns, for any name", () => {
    const name = fc.stringMatching(/^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,62}$/);
    fc.assert(
      fc.property(name, fc.string({ maxLength: 200 }), (name, image) => {
        for (const line of renderApps([{ ...APP, name, image }], PLAIN, 80).split("\n")) {
          expect(displayWidth(line)).toBeLessThanOrEqual(80);
        }
      }),
    );
  });

  it("nothing from outside reaches the terminal as a control character", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const event: Activity = {
          kind: "event",
          at: 1,
          app: text,
          deployment_id: text,
          origin: "local",
          status: "Fail",
          step: text,
          message: text,
          details: { [text]: [text], other: text },
        };
        const output = [
          renderStatus({ ...STATUS, link: { ...STATUS.link, control_plane: text } }, PLAIN),
          renderApps([{ ...APP, name: text, image: text, state: text }], PLAIN, 80),
          printed((printer) => printActivity(printer, event), 80),
          printed((printer) => printer.raw(text)),
        ].join("");
        expect(output).not.toMatch(CONTROL);
      }),
    );
  });

  it("long text is broken at spaces on a terminal, and left whole in a file", () => {
    const event: Activity = { kind: "repair", at: 1, app: "web", reason: "word ".repeat(40).trim() };
    const narrow = printed((printer) => printActivity(printer, event), 80);
    for (const line of narrow.split("\n")) expect(displayWidth(line)).toBeLessThanOrEqual(80);
    expect(
      printed((printer) => printActivity(printer, event))
        .trimEnd()
        .split("\n"),
    ).toHaveLength(1);
  });

  it.each([
    ["2026-11-20T12:48:17Z", "2026-11-20 12:48"],
    ["0001-01-01T00:00:00Z", "-"],
    [null, "-"],
    ["\u001B[31m", "-"],
  ])("the time %j is shown as %s", (time, expected) => {
    expect(shortTime(time)).toBe(expected);
  });
});

it("a port that only the device itself reaches does not look as if others did", () => {
  const port = { host_port: 30_080, target_port: 80 };
  const ports = [{ ...port, host_address: "127.0.0.1" }, { ...port, host_address: "::1", protocol: "udp" }, port];
  expect(portsText(ports)).toBe("127.0.0.1:30080:80 [::1]:30080:80/udp 30080:80");
  expect(ports.map(formatPort).join(" ")).toBe(portsText(ports));
});
