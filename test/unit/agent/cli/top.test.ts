import { describe, expect, it } from "vitest";
import type { HostUsage } from "../../../../src/agent/cli/host-usage.ts";
import { ratesBetween, renderTop } from "../../../../src/agent/cli/top-view.ts";
import type { Top } from "../../../../src/agent/local/api.ts";
import { createTheme } from "../../../../src/lib/terminal/theme.ts";
import { displayWidth } from "../../../../src/lib/terminal/width.ts";

const PLAIN = createTheme({ write: () => undefined }, { TERM: "xterm", LANG: "C.UTF-8" });
const MACHINE: HostUsage = {
  processors: 4,
  load: 0.42,
  memory_bytes: 4e9,
  memory_available_bytes: 3e9,
  temperature_celsius: 51.5,
};

type App = Top["apps"][number];
const usage = { cpu_ns: 0, memory_bytes: 5e6, memory_limit_bytes: 1e9, received_bytes: 0, sent_bytes: 0 };

function sample(at_ms: number, app: Partial<App> = {}): Top {
  const web: App = {
    name: "web",
    image: "web:1",
    state: "running",
    trouble: null,
    ports: [],
    host_network: false,
    restarts: 0,
    started_at: "2026-11-20T12:00:00Z",
    usage,
    ...app,
  };
  const link: Top["link"] = {
    state: "online",
    control_plane: "wss://control.example.com/v1/agent",
    for_s: 90,
    next_try_in_s: null,
    last_error: null,
    asset: null,
    reconnects: 0,
    keepalive_s: 600,
  };
  return { at_ms, link, disk: { path: "/x", free_bytes: 5e9, reserve_bytes: 1 }, apps: [web] };
}

describe("what apps use", () => {
  it("is the difference between two samples, per second", () => {
    const later = { ...usage, cpu_ns: 1.5e9, received_bytes: 6_000, sent_bytes: 2_000 };
    const [web] = ratesBetween(sample(1_000), sample(3_000, { usage: later }));
    expect(web).toMatchObject({ cpu_percent: 75, received_bytes_per_s: 3_000, sent_bytes_per_s: 1_000 });
  });

  it.each<[string, Top | undefined, Partial<App>]>([
    ["for the first sample", undefined, {}],
    ["after a restart in between", sample(0), { started_at: "2026-11-20T13:00:00Z" }],
    ["for an app that is not running", sample(0), { usage: null }],
    ["of an app on the host's network", sample(0), { usage: { ...usage, received_bytes: null, sent_bytes: null } }],
  ])("is not known %s", (_name, before, app) => {
    expect(ratesBetween(before, sample(2_000, app))[0]?.received_bytes_per_s).toBeNull();
  });

  it("fits into 80 columns, with the device above the apps, for any app name", () => {
    const name = "an-app-with-a-name-that-is-as-long-as-names-of-apps-may-ever-be-63";
    const now = sample(2_000, { name, state: "restarting", restarts: 12 });
    const text = renderTop(now, MACHINE, ratesBetween(sample(0, { name }), now), PLAIN, 80);
    expect(text.split("\n").filter((line) => displayWidth(line) > 80)).toEqual([]);
    expect(text).toMatch(/^Link online for 1 min/);
    expect(text).toContain("Load 0.42 on 4 CPU   Memory 1.00 GB of 4.00 GB   Disk 5.00 GB free   Temp 52 °C");
    expect(renderTop({ ...now, apps: [] } as Top, MACHINE, [], PLAIN, 80)).toContain("No apps");
  });
});
