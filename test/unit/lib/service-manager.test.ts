import { join } from "node:path";
import { expect, it } from "vitest";
import { findServiceManager, type ServiceManager } from "../../../src/lib/service-manager.ts";
import { feedWatchdog } from "../../../src/lib/watchdog.ts";
import { openDatagramSender } from "../../../src/lib/unix-datagram.ts";
import { DatagramReceiver } from "../../support/datagram-receiver.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { tempDir } from "../../support/temp-dir.ts";

function find(environment: Readonly<Record<string, string>>, clock: FakeClock = new FakeClock()): ServiceManager {
  return findServiceManager({ environment, pid: 42, clock, openSender: openDatagramSender });
}

it("reports readiness, reload and stop to systemd", async () => {
  await using dir = await tempDir();
  using systemd = new DatagramReceiver(join(dir.path, "notify"));
  using manager = find({ NOTIFY_SOCKET: systemd.path });
  manager.status("Online as gw-7;\n1 app");
  manager.ready();
  manager.reloading();
  manager.ready();
  manager.stopping();
  expect(systemd.take()).toBe("STATUS=Online as gw-7; 1 app");
  expect(systemd.take()).toBe("READY=1");
  expect(systemd.take()).toMatch(/^RELOADING=1\nMONOTONIC_USEC=\d+$/);
  expect(systemd.take()).toBe("READY=1");
  expect(systemd.take()).toBe("STOPPING=1");
  expect(systemd.take()).toBeUndefined();
});

it("sends a status as a single line, whatever is in it", async () => {
  await using dir = await tempDir();
  using systemd = new DatagramReceiver(join(dir.path, "notify"));
  using manager = find({ NOTIFY_SOCKET: systemd.path });
  manager.status("Offline (no\nREADY=1\r\u2028STOPPING=1\u001b]0;title\u0007\u009b2J\u0000\u202e)");
  const [line = "", ...others] = systemd.take()?.split("\n") ?? [];
  expect(others).toEqual([]);
  expect(line).toMatch(/^STATUS=Offline \(no READY=1 STOPPING=1/);
  expect(line).not.toMatch(/[\p{Cc}\p{Bidi_Control}\p{Zl}]/u);
});

it("sends again what was not accepted, the latest value of each field", async () => {
  await using dir = await tempDir();
  const clock = new FakeClock();
  const path = join(dir.path, "notify");
  using manager = find({ NOTIFY_SOCKET: path }, clock);
  manager.status("first");
  manager.ready();
  manager.status("second");
  using systemd = new DatagramReceiver(path);
  await clock.advance(5_000);
  expect(systemd.take()).toBe("STATUS=second\nREADY=1");
  await clock.advance(60_000);
  expect(systemd.take()).toBeUndefined();
});

it("feeds the watchdog well within its time, until disposed", async () => {
  await using dir = await tempDir();
  const clock = new FakeClock();
  using systemd = new DatagramReceiver(join(dir.path, "notify"));
  using manager = find({ NOTIFY_SOCKET: systemd.path, WATCHDOG_USEC: "60000000", WATCHDOG_PID: "42" }, clock);
  const watchdog = feedWatchdog(manager, clock);
  expect(systemd.take()).toBe("WATCHDOG=1");
  for (let period = 0; period < 3; period += 1) {
    await clock.advance(30_000);
    expect(systemd.take()).toBe("WATCHDOG=1");
    while (systemd.take() !== undefined);
  }
  watchdog[Symbol.dispose]();
  await clock.advance(120_000);
  expect(systemd.take()).toBeUndefined();
});

it.each([
  ["it is not configured", {}],
  ["another process is watched", { WATCHDOG_USEC: "60000000", WATCHDOG_PID: "43" }],
  ["the time is not a number", { WATCHDOG_USEC: "soon" }],
])("feeds no watchdog when %s", async (_, environment) => {
  await using dir = await tempDir();
  const clock = new FakeClock();
  using systemd = new DatagramReceiver(join(dir.path, "notify"));
  using manager = find({ ...environment, NOTIFY_SOCKET: systemd.path }, clock);
  using _watchdog = feedWatchdog(manager, clock);
  await clock.advance(600_000);
  expect(systemd.take()).toBeUndefined();
});

it("does nothing without a service manager, and opens no socket", () => {
  using manager = findServiceManager({
    environment: {},
    pid: 42,
    clock: new FakeClock(),
    openSender: () => expect.fail("opened a socket"),
  });
  manager.ready();
  manager.status("anything");
  expect(manager.watchdogMs).toBeUndefined();
});
