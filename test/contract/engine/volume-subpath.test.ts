// A directory of a volume in place of the volume, beside the files of the engines: the fake has no files in its volumes.

import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createDockerEngine } from "../../../src/agent/engine/docker/docker-engine.ts";
import type { ContainerRequest, Engine, EngineInfo } from "../../../src/agent/engine/engine.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { dockerSocket } from "../../support/docker-socket.ts";
import { loadImage, uniqueName, webImage } from "../../support/images.ts";
import { podmanUnavailableReason, startPodman } from "../../support/podman-service.ts";
import { PrivateEngine } from "../../support/private-engine.ts";
import { newestDocker } from "../../support/private-engine/current-docker.ts";
import { waitFor } from "../../support/wait-for.ts";
import { plainRequest } from "./harness.ts";
import { expectKind, unaborted } from "./steps.ts";

interface RunningEngine extends AsyncDisposable {
  readonly socketPath: string;
}

/** Links that an app can make in its volume, by what they lead to. */
const LINKS = { abs: "/etc", up: "../../../../../../../../etc", proc: "/proc/1/root/etc", parent: ".." };

const FILL = [
  "mkdir -p /v/conf/site",
  "echo inside > /v/conf/site/a",
  "echo secret > /v/other",
  ...Object.entries(LINKS).map(([name, to]) => `ln -s ${to} /v/${name}`),
].join(" && ");

function subpathContract(name: string, start: () => Promise<RunningEngine>, skip?: string): void {
  describe.skipIf(skip !== undefined)(
    `a directory of a volume: ${name}${skip === undefined ? "" : ` (skipped: ${skip})`}`,
    () => {
      const owned = new AsyncDisposableStack();
      const volume = uniqueName("parts");
      let engine: Engine;
      let info: EngineInfo;
      let image = "";

      beforeAll(async () => {
        const { socketPath } = owned.use(await start());
        engine = createDockerEngine({ socketPath: () => socketPath, clock: systemClock });
        info = await engine.info(unaborted);
        image = owned.use(await loadImage(socketPath, await webImage(), "parts")).reference;
        const container = { image, labels: {}, target: "/v" };
        await engine.volumes.create({ name: volume, labels: {}, container }, unaborted);
        owned.defer(() => engine.volumes.remove(volume, unaborted));
        await see(FILL, undefined);
      });
      afterAll(() => owned.disposeAsync());

      const requestFor = (script: string, subpath: string | undefined): ContainerRequest =>
        plainRequest(uniqueName("parts"), image, {
          command: ["/bin/sh", "-c", script],
          restartPolicy: "no",
          namedVolumes: [{ name: volume, target: "/v", readonly: false, ...(subpath !== undefined && { subpath }) }],
        });

      /** A container that is removed when the test ends. */
      async function create(request: ContainerRequest): Promise<string> {
        const id = await engine.createContainer(request, unaborted);
        onTestFinished(() => engine.removeContainer(id, unaborted));
        return id;
      }

      /** What a script prints that has a directory of the volume, or all of it. */
      async function see(script: string, subpath: string | undefined): Promise<string> {
        const id = await engine.createContainer(requestFor(script, subpath), unaborted);
        try {
          await engine.startContainer(id, unaborted);
          await waitFor("the end of the script", async () => {
            return (await engine.inspectContainer(id, unaborted))?.status === "exited";
          });
          return (await engine.tailLogs(id, 100, unaborted)).join("\n");
        } finally {
          await engine.removeContainer(id, unaborted);
        }
      }

      test("is all that the app has of it, or nothing is made", async () => {
        const request = requestFor("exit 0", "conf/site");
        if (info.volumeSubpaths) {
          const seen = await see("ls /v; cat /v/a; cat /v/../other; cat /v/../../other; echo new > /v/b", "conf/site");
          expect(seen).toContain("a\ninside");
          expect(seen).not.toContain("secret");
          expect(await see("cat /v/conf/site/b", undefined)).toBe("new");
          await engine.tryStart(request, unaborted);
        } else {
          await expectKind(engine.createContainer(request, unaborted), "invalid");
          await expectKind(engine.tryStart(request, unaborted), "invalid");
          const listed = await engine.listContainers(unaborted);
          expect(listed.filter((container) => container.name === request.name)).toEqual([]);
        }
      });

      test.each([...Object.keys(LINKS), "abs/ssl", "conf/none"])("leads nowhere else: %s", async (subpath) => {
        if (!info.volumeSubpaths) return;
        const request = requestFor("ls /v", subpath);
        await expectKind(engine.tryStart(request, unaborted), "invalid");
        const id = await create({ ...request, name: uniqueName("parts") });
        await expectKind(engine.startContainer(id, unaborted), "invalid");
      });

      test("leads nowhere else where it has become a link since the container was made", async () => {
        if (!info.volumeSubpaths) return;
        await see("mkdir /v/later", undefined);
        const id = await create(requestFor("ls /v", "later"));
        await engine.startContainer(id, unaborted);
        await waitFor("its end", async () => (await engine.inspectContainer(id, unaborted))?.status === "exited");
        await see("rmdir /v/later && ln -s /etc /v/later", undefined);
        await expectKind(engine.startContainer(id, unaborted), "invalid");
      });
    },
  );
}

const socketPath = await dockerSocket();
const shared = { socketPath: socketPath ?? "", [Symbol.asyncDispose]: async () => undefined };

subpathContract("Docker", async () => shared, socketPath === undefined ? "no Docker engine answers here" : undefined);
const { name, missing, engine } = await newestDocker();
subpathContract(name, () => PrivateEngine.start(engine), missing);
subpathContract("Podman", startPodman, await podmanUnavailableReason());
