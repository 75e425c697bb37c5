import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { EngineErrorKind } from "../../../../src/agent/core/error-kind.ts";
import type { ProbeContext } from "../../../../src/agent/doctor/probe.ts";
import { probePublishing } from "../../../../src/agent/doctor/probes/publishing.ts";
import { EngineError } from "../../../../src/agent/engine/engine-error.ts";
import { deployedApps } from "../../../support/reconciler-rig.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const IMAGE = "example/app:1";
const signal = new AbortController().signal;

/** What the doctor finds on a device with these apps. */
async function onDevice(...apps: string[]) {
  const { rig } = await deployedApps(IMAGE, ...apps);
  onTestFinished(() => rig[Symbol.asyncDispose]());
  const directory = await tempDir();
  onTestFinished(() => directory[Symbol.asyncDispose]());
  await writeFile(join(directory.path, "agent.db"), "");
  const store = { apps: () => rig.store.apps(), learnedValue: () => undefined, [Symbol.dispose]: () => {} };
  // A token that cannot be read is the matter of another check.
  const config = new Error("device_token_file /etc/edge-agent/token cannot be read");
  const settings = { state_dir: directory.path };
  const context = { config, settings, engine: rig.engine, openStore: async () => store } as unknown as ProbeContext;
  return { rig, probe: () => probePublishing(context, signal) };
}

it("is good where the engine starts a helper with a port, of the image of an app", async () => {
  const { rig, probe } = await onDevice("web");
  let tried: unknown;
  rig.engine.faults.onCall(({ method, args }) => {
    if (method === "tryStart") [tried] = args;
  });
  expect(await probe()).toMatchObject({ verdict: "good" });
  expect(tried).toMatchObject({ image: rig.store.apps()[0]?.imageId, ports: [{ targetPort: 80 }], volumes: [] });
});

it("is not tried without an app", async () => {
  const { probe } = await onDevice();
  expect(await probe()).toMatchObject({ verdict: "good", text: expect.stringMatching(/^Not tried/) });
});

it.each<[EngineErrorKind, RegExp, RegExp]>([
  [
    "rules_lost",
    /^The container engine has lost its firewall rules[^:]*ports\.$/,
    /^Restart it.*systemctl restart docker$/,
  ],
  ["bridge_lost", /^The bridge .* is gone/, /^Restart it/],
  ["no_addresses", /cannot start a container with a port/, /networks\.subnets/],
  ["unknown", /cannot start a container with a port/, /journalctl -u docker/],
])("names an engine that fails with %s, and what mends it", async (kind, text, next) => {
  const { rig, probe } = await onDevice("web");
  using _failure = rig.engine.faults.fail("tryStart", new EngineError(kind, "iptables: No chain"));
  expect(await probe()).toMatchObject({
    verdict: "bad",
    text: expect.stringMatching(text) as string,
    next: expect.stringMatching(next) as string,
  });
});
