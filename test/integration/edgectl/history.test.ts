import { expect, test } from "vitest";
import { startControlPlane } from "../../support/control-plane.ts";
import { edgectlUser } from "../../support/edgectl/process.ts";

const DAY = 86_400;
const HOUR = 3_600;
/** The start of a day in the past. */
const T0 = 20_000 * DAY;

test("assets history shows uptime as a chart, and when the device was connected", async () => {
  await using control = await startControlPlane();
  await using user = await edgectlUser();
  const account = await control.account();
  const { uuid, asset } = await control.asset(account);
  const never = await control.asset(account);
  const login = await user.run(["login", "--url", control.url, "--key-file", "-"], { input: account.apiKey });
  expect(login).toMatchObject({ code: 0, stderr: "" });
  const connected = [
    [T0, T0 + 36 * HOUR, "lost"],
    [T0 + 36 * HOUR + 30, T0 + 40 * HOUR, "closed"],
    [T0 + 46 * HOUR, T0 + 60 * HOUR, "lost"],
  ] as const;
  for (const [index, [at, to, reason]] of connected.entries()) {
    const session = { assetUuid: uuid, sessionId: `s${index}`, instanceId: "ins", protocol: 1, at };
    const { epoch = 0 } = (await control.store.sessions.open(session)) ?? {};
    await control.store.sessions.close({ assetUuid: uuid, epoch }, to, reason);
  }
  const range = ["--from", String(T0 - DAY), "--to", String(T0 + 2 * DAY)];
  const history = ["assets", "history", asset.serialNumber, ...range];

  const shown = await user.run(history);
  expect(shown).toMatchObject({ code: 0, stderr: "" });
  expect(shown.stdout.split("\n").map((line) => line.replaceAll(/\s+/g, " ").trim())).toEqual([
    "2024-10-03 00:00:00 to 2024-10-06 00:00:00 UTC",
    "",
    "DAY UPTIME AWAY LONGEST",
    expect.stringMatching(/^2024-10-04 99\.97 % 1 30 s \S{24}$/),
    expect.stringMatching(/^2024-10-05 74\.98 % 1 6 h \S{18}$/),
    "",
    "Connected 87.48 %, away 2 times, for 6 h at most",
    "",
    "FROM (UTC) TO STATE FOR WHY",
    "2024-10-05 22:00 2024-10-06 00:00 connected 2 h",
    "2024-10-05 16:00 2024-10-05 22:00 disconnected 6 h closed",
    "2024-10-04 00:00 2024-10-05 16:00 connected 40 h interrupted 1×, 30 s",
    "",
  ]);

  const json = await user.run([...history, "--limit", "1", "--all", "--per", "month", "--json"]);
  expect(JSON.parse(json.stdout)).toMatchObject({
    uptime: { total: { known_s: 2 * DAY }, periods: [{ known_s: 2 * DAY }] },
    spans: [{ state: "connected" }, { reason: "closed" }, { interruptions: 1 }],
    next_cursor: null,
  });
  const page = await user.run([...history, "--limit", "1"]);
  expect(page.stderr).toMatch(/There are more.*--cursor \S+/s);

  const unknown = await user.run(["assets", "history", never.asset.serialNumber, ...range]);
  expect(unknown.stdout).toContain("never connected");
});

test("assets health shows how the device was, as a table", async () => {
  await using control = await startControlPlane();
  await using user = await edgectlUser();
  const account = await control.account();
  const { uuid, asset } = await control.asset(account);
  const never = await control.asset(account);
  await user.run(["login", "--url", control.url, "--key-file", "-"], { input: account.apiKey });
  await control.store.health.addRows(uuid, [
    { at: T0, spreads: { cpu_percent: [1, 5, 80], temperature_celsius: [40, 41, 41] } },
    { at: T0 + HOUR, spreads: { cpu_percent: [5, 5, 5] } },
  ]);
  const range = ["--from", String(T0), "--to", String(T0 + 24 * HOUR)];
  const shown = await user.run(["assets", "health", asset.serialNumber, ...range]);
  expect(shown).toMatchObject({ code: 0, stderr: "" });
  expect(shown.stdout.split("\n").map((line) => line.replaceAll(/\s+/g, " ").trim())).toEqual([
    "Means of 1 h, and the highest value where it differs; as the device has sent it to the service",
    "",
    "FROM (UTC) CPU TEMP",
    "2024-10-04 00:00 5 / 80 % 41 °C",
    "2024-10-04 01:00 5 % -",
    "",
    "The device has never been connected.",
    "",
  ]);
  await control.store.health.addRows(
    uuid,
    [{ at: T0 + 2 * HOUR, spreads: {} }],
    [
      {
        at: T0,
        apps: new Map([
          ["job", { cpu_percent: [3.2, 3.2], restarts: 0 }],
          ["web", { cpu_percent: [0.8, 12.8], memory_bytes: [1_048_576, 2_097_152], restarts: 4 }],
        ]),
      },
    ],
  );
  const apps = await user.run(["assets", "health", asset.serialNumber, ...range, "--apps"]);
  expect(
    apps.stdout
      .split("\n")
      .map((line) => line.replaceAll(/\s+/g, " ").trim())
      .slice(-12, -2),
  ).toEqual([
    "job, means of 1 h",
    "",
    "FROM (UTC) CPU MEMORY RESTARTS",
    "2024-10-04 00:00 3.2 % - 0",
    "",
    "web, means of 1 h",
    "",
    "FROM (UTC) CPU MEMORY RESTARTS",
    "2024-10-04 00:00 0.8 % / 13 % 1.05 MB / 2.10 MB 4",
    "",
  ]);
  const json = await user.run(["assets", "health", asset.serialNumber, ...range, "--points", "1", "--json"]);
  expect(JSON.parse(json.stdout)).toMatchObject({ source: "service", at: [T0] });
  const unaligned = ["--from", String(T0 - 24 * HOUR + 777), "--to", String(T0 + 24 * HOUR + 777)];
  const twoDays = await user.run(["assets", "health", asset.serialNumber, ...unaligned]);
  expect(twoDays.stdout).toContain("Means of 2 h,");
  expect((await user.run(["assets", "health", never.asset.serialNumber])).stdout).toBe(
    "There are no samples of this time.\n\nThe device has never been connected.\n",
  );
  const asked = await user.run(["assets", "health", never.asset.serialNumber, "--source", "device"]);
  expect([asked.code, asked.stderr]).toEqual([
    1,
    expect.stringMatching(
      /^Error: Device not reachable\. The device has never been connected\. \(DeviceNotReachable\)\n.*Without/,
    ),
  ]);
});

test("assets health of a device that is away says since when, and what it has sent last", async () => {
  await using control = await startControlPlane();
  await using user = await edgectlUser();
  const account = await control.account();
  const [sender, silent] = [await control.asset(account), await control.asset(account)];
  await user.run(["login", "--url", control.url, "--key-file", "-"], { input: account.apiKey });
  for (const { uuid } of [sender, silent]) {
    const session = { assetUuid: uuid, sessionId: `ses-${uuid}`, instanceId: "ins", protocol: 1, at: T0 };
    const { epoch = 0 } = (await control.store.sessions.open(session)) ?? {};
    await control.store.sessions.close({ assetUuid: uuid, epoch }, T0 + 3 * HOUR + 120, "lost");
  }
  await control.store.health.addRows(sender.uuid, [
    { at: T0 + HOUR, spreads: { cpu_percent: [1, 5, 80] } },
    { at: T0 + 2 * HOUR, spreads: { cpu_percent: [1, 7, 80], temperature_celsius: [40, 41, 41] } },
  ]);
  const away = "The device has been away since 2024-10-04 03:02 UTC";
  const last = `${away}. The last that it has sent is of 2024-10-04 02:00: CPU 7 %, TEMP 41 °C.`;
  const health = (asset: typeof sender, ...options: string[]) =>
    user.run(["assets", "health", asset.asset.serialNumber, ...options]);
  expect((await health(sender)).stdout).toBe(`There are no samples of this time.\n\n${last}\n`);
  const range = ["--from", String(T0), "--to", String(T0 + 24 * HOUR)];
  expect((await health(sender, ...range)).stdout).toMatch(/2024-10-04 01:00 [^]*\n\nThe device has been away since/);
  expect((await health(silent)).stdout).toContain(`${away}, and had sent nothing of the day before.`);
  const refused = await health(sender, "--source", "device");
  expect([refused.code, refused.stdout]).toEqual([1, ""]);
  expect(refused.stderr).toContain(`${last} (DeviceNotReachable)`);
  // A program gets what the API says.
  expect(JSON.parse((await health(sender, "--json")).stdout)).toEqual({
    source: "service",
    interval_s: 7_200,
    at: [],
    series: [],
  });
});
