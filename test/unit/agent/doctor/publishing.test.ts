import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { EngineErrorKind } from "../../../../src/agent/core/error-kind.ts";
import type { ProbeContext } from "../../../../src/agent/doctor/probe.ts";
import { tryPublishing } from "../../../../src/agent/doctor/probes/publishing.ts";
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
  const proc = join(directory.path, "proc");
  await mkdir(join(proc, "sys/net/ipv4"), { recursive: true });
  const forward = (value: string): Promise<void> => writeFile(join(proc, "sys/net/ipv4/ip_forward"), `${value}\n`);
  await forward("1");
  return { rig, forward, probe: (until: AbortSignal = signal) => tryPublishing(context, until, proc) };
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

it("names a kernel that forwards no packets", async () => {
  const { forward, probe } = await onDevice("web");
  await forward("0");
  expect(await probe()).toMatchObject({
    verdict: "warning",
    next: expect.stringMatching(/^sudo sysctl -w net\.ipv4\.ip_forward=1/) as string,
  });
});

it("says nothing of an engine that is too busy to try it in time", async () => {
  const { rig, probe } = await onDevice("web");
  const late = new AbortController();
  rig.engine.faults.onCall(({ method }) => {
    if (method === "tryStart") late.abort();
  });
  using _failure = rig.engine.faults.fail("tryStart", new EngineError("unavailable", "no answer within 5000 ms"));
  expect(await probe(late.signal)).toMatchObject({
    verdict: "warning",
    text: expect.stringMatching(/in time/) as string,
  });
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
