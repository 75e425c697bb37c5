import { describe, expect, onTestFinished, test } from "vitest";
import { createDockerEngine } from "../../../src/agent/engine/docker/docker-engine.ts";
import type { Engine } from "../../../src/agent/engine/engine.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { bigImage } from "../../support/images.ts";
import { podmanUnavailableReason, startPodman } from "../../support/podman-service.ts";
import { PrivateEngine, privateEngineUnavailableReason } from "../../support/private-engine.ts";
import { Registry } from "../../support/registry.ts";
import { SlowLink } from "../../support/slow-link.ts";
import { smallDisk, smallDiskUnavailableReason } from "../../support/small-disk.ts";

const unaborted = new AbortController().signal;
const noDisk = (await smallDiskUnavailableReason()) ?? (await privateEngineUnavailableReason());
const noPodman = await podmanUnavailableReason();

function own<T extends AsyncDisposable>(part: T): T {
  onTestFinished(() => part[Symbol.asyncDispose]());
  return part;
}

const engineAt = (socketPath: string): Engine =>
  createDockerEngine({ socketPath: () => socketPath, clock: systemClock });

describe.skipIf(noDisk !== undefined)(
  `a disk that is full${noDisk === undefined ? "" : ` (skipped: ${noDisk})`}`,
  () => {
    test("fails a pull with no_space, and leaves an engine that works", async () => {
      const registry = own(await Registry.start());
      const disk = own(await smallDisk(40));
      const engine = engineAt(own(await PrivateEngine.start({ dataRoot: disk.path })).socketPath);
      const tooBig = await registry.push(await bigImage(60), "team/too-big:1");
      await expect(engine.pullImage(tooBig, () => {}, unaborted)).rejects.toMatchObject({ kind: "no_space" });
      expect(await engine.inspectImage(tooBig, unaborted)).toBeUndefined();
      const fits = await registry.push(await bigImage(1), "team/fits:1");
      await engine.pullImage(fits, () => {}, unaborted);
      expect(await engine.inspectImage(fits, unaborted)).toBeDefined();
    });
  },
);

// Docker hides a registry that is gone for more than a minute of its own retries; Podman tells at once.
describe.skipIf(noPodman !== undefined)(
  `a registry that goes away${noPodman === undefined ? "" : ` (${noPodman})`}`,
  () => {
    test("in the middle of a pull is unreachable", async () => {
      const registry = own(await Registry.start());
      const engine = engineAt(own(await startPodman()).socketPath);
      const link = own(await SlowLink.to(registry.port, 5_000_000));
      const reference = (await registry.push(await bigImage(30), "team/big:1")).replace(registry.host, link.host);
      const cut = (): void => link.cut();
      await expect(engine.pullImage(reference, cut, unaborted)).rejects.toMatchObject({ kind: "registry_unreachable" });
    });
  },
);
