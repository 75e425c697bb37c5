import { mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { start } from "../support/command.ts";
import { brokenImage, sleeperImage } from "../support/images.ts";
import { Registry } from "../support/registry.ts";
import type { System } from "../support/system.ts";
import { startTestSystem } from "../support/system/test-system.ts";
import { tempDir } from "../support/temp-dir.ts";
import { waitFor } from "../support/wait-for.ts";

/*
 * An attacker reads the files of a device or of the server after an app's values were removed, such as from a stolen
 * device or a copy of a disk.
 */

/** Returns the names of files below a directory that contain the text. */
function filesContaining(directory: string, text: string): string[] {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.flatMap(({ parentPath, name }) => {
    try {
      return readFileSync(join(parentPath, name)).includes(text) ? [name] : [];
    } catch {
      return [];
    }
  });
}

async function expectGone(directories: readonly string[], values: readonly string[]): Promise<void> {
  const found = (): string[] =>
    directories.flatMap((directory) =>
      values.flatMap((value) => filesContaining(directory, value).map((name) => `${name}: ${value}`)),
    );
  const look = (): true => {
    if (found().length > 0) throw new Error(`still in ${found().join(", ")}`);
    return true;
  };
  await waitFor("the values to be in no file", look, { intervalMs: 500 });
}

const places = ({ agent, control }: System): string[] => [agent.stateDir, control.dataDir];

/** Repeated, since a page of a database may end in the middle of one. */
const repeated = (text: string): string => `${text} `.repeat(20);
const environments = (label: string) => [{ key: "PASSWORD", value: repeated(`planted-value-${label}`) }];
const files = (label: string) => [
  { target: "/etc/app.conf", content: repeated(`planted-plain-${label}`) },
  { target: "/etc/app.key", content: repeated(`planted-secret-${label}`), secret: true },
  // Written by the engine.
  { target: "/etc/other.key", content: repeated(`planted-owned-${label}`), owner: "1234", secret: true },
];
const given = (label: string) => ({ environments: environments(label), files: files(label) });
const planted = (label: string): string[] =>
  ["value", "plain", "secret", "owned"].map((kind) => `planted-${kind}-${label}`);

test("removed values and contents of an app's files are in no file, after an update, failures, a rollback, a pull with a password and a removal after which both are killed", async (context) => {
  const system = await startTestSystem(context);
  const image = await system.load(await sleeperImage());
  const broken = await system.load(await brokenImage());
  const name = system.name();
  const change = async (method: string, body?: object) =>
    (await system.finish(await system.change(method, name, undefined, body))).final;
  /** Proves that the search finds values that are still stored. */
  const expectStored = (label: string): void => {
    for (const value of planted(label)) expect(filesContaining(system.agent.stateDir, value), value).not.toEqual([]);
  };

  expect((await system.deploy({ name, image, ...given("first") })).final.status).toBe("Success");
  expectStored("first");
  expect(await change("PATCH", given("second"))).toMatchObject({ status: "Success" });
  expect(await change("PATCH", { image: broken, ...given("third") })).toMatchObject({ status: "Fail" });
  const failed = await system.deploy({ name: system.name(), image: broken, ...given("fourth") });
  expect(failed.final.status).toBe("Fail");
  const password = "planted-registry-password";
  await using registry = await Registry.start({ user: { name: "user", password } });
  const reference = system.removeImageLater(await registry.push(await sleeperImage("2"), "team/app:1"));
  const pulled = { name: system.name(), image: reference, registry_auth: { username: "user", password } };
  expect((await system.finish(await system.open(pulled))).final.status).toBe("Success");
  await expectGone(places(system), [...planted("first"), ...planted("third"), ...planted("fourth"), password]);
  expectStored("second");

  expect(await change("DELETE")).toMatchObject({ status: "Success" });
  await Promise.all([system.agent.kill(), system.control.kill()]);
  expect(filesContaining(system.agent.stateDir, "planted-value-second")).not.toEqual([]);
  await system.control.start();
  await system.agent.start();
  await expectGone(places(system), planted("second"));
});

test("copies of damaged databases are removed after a month", async (context) => {
  await using directory = await tempDir();
  const stateDir = join(directory.path, "state");
  mkdirSync(stateDir, { mode: 0o700 });
  const value = "planted-a-month-ago";
  const old = new Date(Date.now() - 31 * 86_400_000);
  for (const name of ["agent.db.damaged", "agent.db.damaged-wal"]) {
    writeFileSync(join(stateDir, name), value);
    utimesSync(join(stateDir, name), old, old);
  }
  const recent = "planted-in-a-copy-that-is-a-day-old";
  writeFileSync(join(stateDir, "agent.db.damaged-shm"), recent);
  const config = join(directory.path, "config.json");
  const content = {
    control_plane_url: "ws://127.0.0.1:9/v1/agent",
    device_token: "ed_planted-device-token-0123456789abcdefABCDEF",
    state_dir: stateDir,
    local: { socket: join(directory.path, "agent.sock") },
    engine: { socket: join(directory.path, "no-engine.sock") },
  };
  writeFileSync(config, JSON.stringify(content), { mode: 0o600 });
  const agent = start("dist/edge-agent", ["run", "--config", config]);
  context.onTestFinished(() => agent[Symbol.asyncDispose]());
  await expectGone([stateDir], [value]);
  expect(filesContaining(stateDir, recent)).toEqual(["agent.db.damaged-shm"]);
});
