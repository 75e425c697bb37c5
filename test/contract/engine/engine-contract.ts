import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { uniqueName } from "../../support/images/load-image.ts";
import { unaborted } from "./steps.ts";
import { containerContract } from "./container-contract.ts";
import type { EngineHarness } from "./harness.ts";
import { plainRequest } from "./harness.ts";
import { healthContract } from "./health-contract.ts";
import { deviceFileContract } from "./device-file-contract.ts";
import { exportContract } from "./export-contract.ts";
import { imageNameContract } from "./image-name-contract.ts";
import { placedFileContract } from "./placed-file-contract.ts";
import { logContract } from "./log-contract.ts";
import { networkContract } from "./network-contract.ts";
import { pullContract } from "./pull-contract.ts";
import { stateContract } from "./state-contract.ts";
import { volumeContract } from "./volume-contract.ts";
import { watchContract } from "./watch-contract.ts";

const MADE = { labels: {}, path: "/never-made", owner: { uid: 0, gid: 0 }, mode: 0o755 };

const PLACE = { labels: {}, directory: "/never-made" };

type Part = (harness: () => EngineHarness) => void;

/** What an engine does with images. */
export const IMAGE_PARTS: readonly Part[] = [exportContract, imageNameContract, pullContract];

const PARTS: readonly Part[] = [
  containerContract,
  stateContract,
  deviceFileContract,
  placedFileContract,
  healthContract,
  logContract,
  networkContract,
  volumeContract,
  watchContract,
  ...IMAGE_PARTS,
];

/**
 * What the agent may take for granted of every engine.
 *
 * @param skip why it cannot be checked on this machine
 * @param parts those to check, where another engine answers for the rest
 */
export function engineContract(
  name: string,
  setUp: () => Promise<EngineHarness>,
  skip?: string,
  parts: readonly Part[] = PARTS,
): void {
  describe.skipIf(skip !== undefined)(
    `engine contract: ${name}${skip === undefined ? "" : ` (skipped: ${skip})`}`,
    () => {
      let opened: EngineHarness | undefined;
      const harness = (): EngineHarness => opened!;
      beforeAll(async () => {
        opened = await setUp();
      });
      afterAll(() => opened?.[Symbol.asyncDispose]());

      test("the engine reports its version and data root", async () => {
        const info = await harness().engine.info(unaborted);
        expect(info).toMatchObject({ kind: harness().kind, os: "linux" });
        expect(info.version).toMatch(/^\d+\.\d+/);
        expect(info.apiVersion).toMatch(/^\d+\.\d+$/);
        expect(info.architecture).toMatch(/^(amd64|arm64|arm)$/);
        // Podman does not tell; its own pull knows.
        if (info.kind === "docker") expect(info.insecureRegistries).toContain("127.0.0.0/8");
        expect(info.dataRoot).toMatch(/^\//);
        expect(info.limits).toMatchObject({ memory: true, cpu: true });
        const { kind, version } = await harness().engine.identify(unaborted);
        expect({ kind, version }).toEqual({ kind: info.kind, version: info.version });
      });

      test("no call is made if the signal is already aborted", async () => {
        const { engine, images } = harness();
        const reason = new Error("over before it began");
        const signal = AbortSignal.abort(reason);
        const name = uniqueName("app");
        const calls = [
          engine.info(signal),
          engine.identify(signal),
          engine.listContainers(signal),
          engine.inspectContainer(name, signal),
          engine.readContainerConfig(name, signal),
          engine.inspectImage(images.sleeper, signal),
          engine.layerChains(signal),
          engine.pullImage(images.sleeper, () => {}, signal),
          engine.tagImage(images.sleeper, `example/${name}:1`, signal),
          engine.untagImage(images.sleeper, signal),
          engine.readImagePaths({ image: images.sleeper, labels: {}, paths: ["/"] }, signal),
          engine.makeDirectory({ ...MADE, image: images.sleeper }, signal),
          engine.writeDeviceFiles({ ...PLACE, image: images.sleeper, files: [] }, signal),
          engine.readDeviceFiles({ ...PLACE, image: images.sleeper, names: [], maxBytes: 0 }, signal),
          engine.createContainer(plainRequest(name, images.sleeper), signal),
          engine.tryStart(plainRequest(name, images.sleeper), signal),
          engine.startContainer(name, signal),
          engine.removeContainer(name, signal),
          engine.tailLogs(name, 1, signal),
          engine.stopContainer(name, 1_000, signal),
          engine.renameContainer(name, uniqueName("app"), signal),
          engine.listImages(signal),
          engine.networks.list("label", signal),
          engine.networks.inspect(name, signal),
          engine.networks.create({ name, labels: {} }, signal),
          engine.networks.connect(name, { containerId: name, aliases: [] }, signal),
          engine.networks.disconnect(name, name, signal),
          engine.networks.remove(name, signal),
          engine.volumes.find(name, signal),
          engine.volumes.list({ key: "label", value: name }, signal),
          engine.volumes.create({ name, labels: {}, container: { image: name, labels: {}, target: "/a" } }, signal),
          engine.volumes.remove(name, signal),
          engine.volumes.measure(signal),
          engine.watchContainers("label", signal).next(),
          engine.readLogs(name, { tail: 1, follow: true }, signal).next(),
        ];
        for (const outcome of await Promise.allSettled(calls)) expect(outcome).toEqual({ status: "rejected", reason });
        expect(await engine.inspectContainer(name, unaborted)).toBeUndefined();
      });

      for (const part of parts) part(harness);
    },
  );
}
