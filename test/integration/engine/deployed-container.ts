import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { AppRecord } from "../../../src/agent/core/records.ts";
import { createDockerEngine } from "../../../src/agent/engine/docker/docker-engine.ts";
import type { ContainerRequest, Engine } from "../../../src/agent/engine/engine.ts";
import { readAppLog } from "../../../src/agent/apps/app-log.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { freeHostPort } from "../../support/free-port.ts";
import type { LoadedImage } from "../../support/images.ts";
import {
  brokenImage,
  engineRequest,
  environmentImage,
  loadImage,
  uniqueName,
  webImage,
  WEB_PORT,
} from "../../support/images.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

/** An engine that a suite runs against. */
export interface EngineUnderTest extends AsyncDisposable {
  readonly socketPath: string;
  readonly kind: "docker" | "podman";
  /** Why privileged containers do not run in it; absent where they do. */
  readonly notPrivileged?: string;
}

const unaborted = new AbortController().signal;

/** What an app sees of the request its container was created from, in a real container. */
export function deployedContainerSuite(name: string, setUp: () => Promise<EngineUnderTest>, skip?: string): void {
  describe.skipIf(skip !== undefined)(`${name}${skip === undefined ? "" : ` (skipped: ${skip})`}`, () => {
    let host: EngineUnderTest;
    let image: LoadedImage;
    let engine: Engine;
    beforeAll(async () => {
      host = await setUp();
      image = await loadImage(host.socketPath, await webImage(), "web");
      engine = createDockerEngine({ socketPath: () => host.socketPath, clock: systemClock });
    });
    afterAll(async () => {
      await image[Symbol.asyncDispose]();
      await host[Symbol.asyncDispose]();
    });

    async function serve(
      changes: Partial<ContainerRequest>,
    ): Promise<{ id: string; get: (path: string) => Promise<string> }> {
      const port = await freeHostPort();
      const id = await engine.createContainer(
        {
          name: uniqueName("web"),
          image: image.reference,
          labels: {},
          environment: changes.hostNetwork ? [`PORT=${port}`] : [],
          ports: [{ hostPort: port, targetPort: WEB_PORT }],
          volumes: [],
          hostNetwork: false,
          privileged: false,
          restartPolicy: "unless-stopped",
          logLimit: { maxBytes: 100_000, maxFiles: 2 },
          ...changes,
        },
        unaborted,
      );
      onTestFinished(() => engine.removeContainer(id, unaborted));
      await engine.startContainer(id, unaborted);
      const get = (path: string): Promise<string> =>
        waitFor(
          `http://127.0.0.1:${port}${path}`,
          async () => await (await fetch(`http://127.0.0.1:${port}${path}`)).text(),
        );
      return { id, get };
    }

    async function inspect(id: string): Promise<{ HostConfig: Record<string, unknown> }> {
      const { body } = await engineRequest(host.socketPath, "GET", `/containers/${id}/json`);
      return JSON.parse(body) as { HostConfig: Record<string, unknown> };
    }

    async function processStatus(privileged: boolean): Promise<string> {
      return await (await serve({ privileged })).get("/cgi-bin/file?/proc/self/status");
    }

    test("its port is reached at the host's, and its environment is as given", async () => {
      const { get } = await serve({ environment: ["GREETING=hello = world", "EMPTY="] });
      expect(await get("/")).toContain("edge-agent test app version 1 hello = world");
      expect((await get("/cgi-bin/env")).split("\n")).toEqual(
        expect.arrayContaining(["GREETING=hello = world", "EMPTY="]),
      );
    });

    test("volumes lead to the host, read-only ones stay as they are", async () => {
      const directory = await tempDir();
      onTestFinished(() => directory[Symbol.asyncDispose]());
      const [plain, colon] = [join(directory.path, "plain"), join(directory.path, "with:colon")];
      for (const path of [plain, colon]) await mkdir(path);
      const { get } = await serve({
        volumes: [
          { local: plain, target: "/plain", readonly: false },
          { local: plain, target: "/locked", readonly: true },
          { local: colon, target: "/colon:too", readonly: false },
        ],
      });
      expect(await get("/cgi-bin/write?/plain/file")).toContain("ok");
      expect(await readFile(join(plain, "file"), "utf8")).toBe("written\n");
      expect(await get("/cgi-bin/file?/locked/file")).toContain("written");
      expect(await get("/cgi-bin/write?/locked/other")).not.toContain("ok");
      expect(await get("/cgi-bin/write?/colon:too/file")).toContain("ok");
      expect(await readFile(join(colon, "file"), "utf8")).toBe("written\n");
    });

    test("volumes that a container has as binds are read as they were requested", async () => {
      const directory = await tempDir();
      onTestFinished(() => directory[Symbol.asyncDispose]());
      const [data, settings] = [join(directory.path, "data"), join(directory.path, "settings")];
      for (const path of [data, settings]) await mkdir(path);
      const answer = await engineRequest(host.socketPath, "POST", `/containers/create?name=${uniqueName("binds")}`, {
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({
          Image: image.reference,
          HostConfig: { Binds: [`${data}:/data`, `${settings}:/settings:ro`], Mounts: [] },
        }),
      });
      const { Id } = JSON.parse(answer.body) as { readonly Id: string };
      onTestFinished(() => engine.removeContainer(Id, unaborted));
      const config = await engine.readContainerConfig(Id, unaborted);
      const volumes = [
        { local: data, target: "/data", readonly: false },
        { local: settings, target: "/settings", readonly: true },
      ];
      expect(config?.volumes).toEqual(volumes);
      // The same as of one that is created now.
      const { id } = await serve({ volumes });
      expect((await engine.readContainerConfig(id, unaborted))?.volumes).toEqual(volumes);
    });

    test("a command that does not exist is refused at the start", async () => {
      await using broken = await loadImage(host.socketPath, await brokenImage(), "broken");
      await expect(serve({ image: broken.reference })).rejects.toMatchObject({
        kind: "invalid",
        message: expect.stringContaining("no-such-program") as string,
      });
    });

    test("it may say what it likes, and its last lines are shown", async () => {
      await using talker = await loadImage(host.socketPath, await environmentImage(), "environment");
      const { id } = await serve({ image: talker.reference, environment: ['JSON={"a":1}', "LAST=line"] });
      const lines = await waitFor("the output", async () => {
        const lines = await engine.tailLogs(id, 50, unaborted);
        return lines.includes("LAST=line") && lines;
      });
      expect(lines).toContain('JSON={"a":1}');
    });

    test("on the host's network it listens on the host itself", async () => {
      const { id, get } = await serve({ hostNetwork: true });
      expect(await get("/")).toContain("edge-agent test app");
      expect((await inspect(id)).HostConfig).toMatchObject({ NetworkMode: "host", Privileged: false });
    });

    test("a privileged container is privileged, any other is not", async ({ skip }) => {
      if (host.notPrivileged !== undefined) skip(host.notPrivileged);
      expect(capabilities(await processStatus(true)) & SYS_ADMIN).toBe(SYS_ADMIN);
      expect(capabilities(await processStatus(false)) & SYS_ADMIN).toBe(0n);
    });

    test("a command takes the place of the image's own", async () => {
      const command = ["/bin/sh", "-c", 'echo "said $1"; exec sleep 2147483', "sh", "with a space"];
      const { id } = await serve({ command });
      await waitFor("its output", async () => (await engine.tailLogs(id, 5, unaborted)).includes("said with a space"));
    });

    test("a device of the host is there, under the name asked for", async () => {
      const { id } = await serve({
        devices: [{ local: "/dev/null", target: "/dev/nothing", permissions: "rw" }],
        command: ["/bin/sh", "-c", "echo gone > /dev/nothing && echo took it; exec sleep 2147483"],
      });
      await waitFor("its output", async () => (await engine.tailLogs(id, 5, unaborted)).includes("took it"));
    });

    test("a device that is not there is refused as invalid", async () => {
      const devices = [{ local: "/dev/no-such-device", target: "/dev/x", permissions: "rwm" }];
      await expect(serve({ devices })).rejects.toMatchObject({ kind: "invalid" });
    });

    test("what an app wrote before its present run is read apart from what it writes now", async () => {
      const directory = await tempDir();
      onTestFinished(() => directory[Symbol.asyncDispose]());
      await writeFile(join(directory.path, "n"), "0");
      const count =
        'n=$(cat /d/n); echo "line $n"; echo "other $n" >&2; echo $((n + 1)) > /d/n; [ "$n" = 2 ] && exec sleep 1000; exit 1';
      const { id } = await serve({
        volumes: [{ local: directory.path, target: "/d", readonly: false }],
        command: ["/bin/sh", "-c", count],
      });
      const spec = { environments: [] } as unknown as AppRecord["spec"];
      const app = { name: "app", deploymentId: "d1", spec, imageId: "", containerId: id } as AppRecord;
      const store = { apps: () => [app], fileContent: () => undefined };
      const source = { engine, store, clock: systemClock, previousLogs: { read: () => [] } };
      const read = async (previous: boolean): Promise<string[]> => {
        const texts: string[] = [];
        const request = { tail: 100, follow: false, previous };
        for await (const { lines } of readAppLog("app", request, source, new AbortController().signal)) {
          texts.push(...lines.map(({ stream, text }) => `${stream} ${text}`));
        }
        return texts.toSorted();
      };
      await waitFor("the third run", async () => (await read(false)).includes("stderr other 2"));
      expect(await read(true)).toEqual(["stderr other 0", "stderr other 1", "stdout line 0", "stdout line 1"]);
    });

    test("the log of an app that keeps ending is followed without losing or repeating a line", async () => {
      const directory = await tempDir();
      onTestFinished(() => directory[Symbol.asyncDispose]());
      await writeFile(join(directory.path, "n"), "0");
      const count = 'n=$(cat /d/n); echo "line $n"; echo "other $n" >&2; echo $((n + 1)) > /d/n; exit 1';
      const { id } = await serve({
        volumes: [{ local: directory.path, target: "/d", readonly: false }],
        command: ["/bin/sh", "-c", count],
      });
      const spec = { environments: [] } as unknown as AppRecord["spec"];
      const app = { name: "app", deploymentId: "d1", spec, imageId: "", containerId: id } as AppRecord;
      const stop = new AbortController();
      const texts: string[] = [];
      const store = { apps: () => [app], fileContent: () => undefined };
      const source = { engine, store, clock: systemClock, previousLogs: { read: () => [] } };
      for await (const { lines } of readAppLog("app", { tail: 100, follow: true }, source, stop.signal)) {
        texts.push(...lines.map(({ stream, text }) => `${stream} ${text}`));
        if (texts.includes("stdout line 5")) break;
      }
      const runs = (what: string): string[] => texts.filter((text) => text.startsWith(what));
      expect(runs("stdout")).toEqual(runs("stdout").map((_, run) => `stdout line ${run}`));
      expect(runs("stderr")).toEqual(runs("stderr").map((_, run) => `stderr other ${run}`));
    });

    test("memory and processors are limited as asked for", async () => {
      const { id } = await serve({ memoryLimit: 64 * 1024 * 1024, cpuLimit: 0.25 });
      const { HostConfig } = await inspect(id);
      expect(HostConfig).toMatchObject({ Memory: 64 * 1024 * 1024, NanoCpus: 250_000_000 });
    });

    test("a health check takes the place of the image's own", async () => {
      const healthcheck = {
        command: ["test", "-e", "/no-file"],
        intervalS: 1,
        timeoutS: 2,
        retries: 1,
        startPeriodS: 0,
      };
      const { id } = await serve({ healthcheck });
      const state = await engine.inspectContainer(id, unaborted);
      expect(state?.health).not.toBe("none");
      if (host.kind === "podman") return;
      await waitFor("its failure", async () => (await engine.inspectContainer(id, unaborted))?.health === "unhealthy");
    });

    test("it is restarted unless stopped, and its log is bounded", async () => {
      const { id } = await serve({});
      const { HostConfig } = await inspect(id);
      expect(HostConfig).toMatchObject({ RestartPolicy: { Name: "unless-stopped" } });
      if (host.kind === "docker") {
        const Config = { "max-size": "100000", "max-file": "2" };
        expect(HostConfig["LogConfig"]).toEqual({ Type: "json-file", Config });
      } else {
        const { body } = await engineRequest(host.socketPath, "GET", `/v4.0.0/libpod/containers/${id}/json`);
        const { HostConfig } = JSON.parse(body) as { HostConfig: Record<string, unknown> };
        expect(HostConfig["LogConfig"]).toMatchObject({ Type: "k8s-file", Size: "200kB" });
      }
    });
  });
}

// Its number in linux/capability.h, as a bit.
const SYS_ADMIN = 1n << 21n;

function capabilities(status: string): bigint {
  return BigInt(`0x${/^CapEff:\s*(\w+)/m.exec(status)?.[1] ?? "0"}`);
}
