import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { engineDifferences } from "../../../src/agent/core/deployment/engine-differences.ts";
import { createDockerEngine } from "../../../src/agent/engine/docker/docker-engine.ts";
import type { ContainerRequest, Engine, EngineInfo } from "../../../src/agent/engine/engine.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { dockerSocket } from "../../support/docker-socket.ts";
import { freeHostPort } from "../../support/free-port.ts";
import { loadImage, uniqueName, webImage, WEB_PORT } from "../../support/images.ts";
import { podmanUnavailableReason, startPodman } from "../../support/podman-service.ts";
import { PrivateEngine } from "../../support/private-engine.ts";
import { debianDocker, newestDocker } from "../../support/private-engine/current-docker.ts";
import { rootlessPodmanUnavailableReason, startRootlessPodman } from "../../support/rootless-podman.ts";
import { waitFor } from "../../support/wait-for.ts";
import { plainRequest } from "./harness.ts";
import { unaborted } from "./steps.ts";

interface RunningEngine extends AsyncDisposable {
  readonly socketPath: string;
}

/**
 * What an app can notice of its engine: one specification means one thing on each, except for the differences that are
 * declared, which are asserted where they are. The table in docs/engines.md is this one in words.
 */
function appViewContract(name: string, start: () => Promise<RunningEngine>, skip?: string): void {
  describe.skipIf(skip !== undefined)(
    `what an app sees: ${name}${skip === undefined ? "" : ` (skipped: ${skip})`}`,
    () => {
      const owned = new AsyncDisposableStack();
      const network = uniqueName("view");
      let engine: Engine;
      let info: EngineInfo;
      let image = "";

      beforeAll(async () => {
        const { socketPath } = owned.use(await start());
        engine = createDockerEngine({ socketPath: () => socketPath, clock: systemClock });
        info = await engine.info(unaborted);
        image = owned.use(await loadImage(socketPath, await webImage(), "view")).reference;
        await engine.networks.create({ name: network, labels: {} }, unaborted);
        owned.defer(() => engine.networks.remove(network, unaborted));
      });
      afterAll(() => owned.disposeAsync());

      const differs = (id: string): boolean => engineDifferences(info).some((difference) => difference.id === id);

      async function create(changes: Partial<ContainerRequest>): Promise<{ id: string } & AsyncDisposable> {
        const request = { network: { name: network, aliases: ["view"] }, ...changes };
        const id = await engine.createContainer(plainRequest(uniqueName("view"), image, request), unaborted);
        return { id, [Symbol.asyncDispose]: () => engine.removeContainer(id, unaborted) };
      }

      /** What a script prints that is the app. */
      async function see(script: string, changes: Partial<ContainerRequest> = {}): Promise<string> {
        const command = ["/bin/sh", "-c", script];
        await using app = await create({ command, restartPolicy: "no", ...changes });
        await engine.startContainer(app.id, unaborted);
        await waitFor("the end of the script", async () => {
          return (await engine.inspectContainer(app.id, unaborted))?.status === "exited";
        });
        return (await engine.tailLogs(app.id, 100, unaborted)).join("\n");
      }

      test("a user other than root listens below 1024, and has no capability but what cap_add is declared to give", async () => {
        const script = "(nc -l -p 80 & sleep 0.2; kill $!) && echo listened; grep CapEff /proc/self/status";
        const seen = await see(script, { options: { user: "1000:1000", cap_add: ["NET_ADMIN"] } });
        expect(seen).toContain("listened");
        expect(seen).toMatch(differs("cap-add") ? /CapEff:\s+0+1000$/m : /CapEff:\s+0+$/m);
      });

      test("root has the same capabilities, umask, shared memory, processes and names", async () => {
        const pids = "/sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max";
        const ping = "/proc/sys/net/ipv4/ping_group_range";
        const script = `grep CapEff /proc/self/status; umask; grep /dev/shm /proc/mounts; cat ${pids} 2>/dev/null; echo ping $(cat ${ping}); cat /etc/hosts; hostname`;
        const seen = await see(script);
        expect(seen).toMatch(/CapEff:\s+00000000a80425fb$/m);
        expect(seen).toMatch(/^0022$/m);
        expect(seen).toContain("size=65536k");
        // Without a limit, or with one that Linux cannot reach.
        expect(seen).not.toMatch(/^\d{1,3}$|^(?!4194304$)[1-9]\d+$/m);
        const [, first, last] = /^ping (\d+) (\d+)$/m.exec(seen) ?? [];
        expect(first === "0" && Number(last) > 1000).toBe(!differs("ping"));
        const own = seen.split("\n").at(-1) ?? "";
        expect(seen).toMatch(new RegExp(`^\\d+\\.\\d+\\.\\d+\\.\\d+\\s+${own}\\b`, "m"));
        expect(seen.includes("host.containers.internal")).toBe(differs("hosts-file"));
      });

      test("limits hold, mounts are as asked for, and host-gateway is the device, where nothing else is declared", async () => {
        await using device = await listenOnDevice();
        const name = uniqueName("view");
        await engine.volumes.create({ name, labels: {}, container: { image, labels: {}, target: "/v" } }, unaborted);
        await using undo = new AsyncDisposableStack();
        undo.defer(() => engine.volumes.remove(name, unaborted));
        const groups = "/sys/fs/cgroup";
        const script = [
          `echo memory $(cat ${groups}/memory/memory.limit_in_bytes ${groups}/memory.max 2>/dev/null)`,
          `echo cpu $(cat ${groups}/cpu/cpu.cfs_quota_us ${groups}/cpu.max 2>/dev/null)`,
          "grep -E ' /(www|scratch|v) ' /proc/mounts",
          "echo files: $(ls -A /www)",
          "for at in / /bin /tmp /run; do (touch $at/new) 2>/dev/null && echo wrote $at; done",
          `timeout 5 wget -q -O - http://device:${device.port}/ 2>/dev/null`,
        ].join("; ");
        const seen = await see(`${script}; true`, {
          memoryLimit: 64_000_000,
          cpuLimit: 0.5,
          namedVolumes: [{ name, target: "/v", readonly: false }],
          options: {
            read_only: true,
            tmpfs: [{ target: "/www" }, { target: "/scratch", size_bytes: 65_536, mode: "0700" }],
            extra_hosts: [{ name: "device", address: "host-gateway" }],
          },
        });
        // Control groups count memory in pages.
        expect(/^memory (?:64000000|63995904)$/m.test(seen)).toBe(info.limits.memory);
        expect(/^cpu 50000\b/m.test(seen)).toBe(info.limits.cpu);
        expect(differs("limits")).toBe(!(info.limits.memory && info.limits.cpu));
        expect(seen).toMatch(/ \/www tmpfs rw,nosuid,nodev,noexec,/);
        expect(seen).toMatch(/ \/scratch tmpfs rw,nosuid,nodev,noexec,\S*size=64k,mode=700/);
        expect(seen).toMatch(/^files:$/m);
        expect(seen).toMatch(/ \/v (?!\S+ \S*(?:nosuid|nodev|noexec))/);
        expect(seen.match(/^wrote .*$/gm)).toEqual(differs("read-only") ? ["wrote /tmp", "wrote /run"] : null);
        expect(seen.includes("the device")).toBe(!differs("host-gateway"));
      });

      test("a published port is reached over IPv4, and over IPv6 where that is not declared", async () => {
        const hostPort = await freeHostPort();
        await using app = await create({ ports: [{ hostPort, targetPort: WEB_PORT }] });
        await engine.startContainer(app.id, unaborted);
        const page = async (host: string): Promise<boolean> => {
          const answer = await fetch(`http://${host}:${hostPort}/`, { signal: AbortSignal.timeout(240_000) });
          return (await answer.text()).includes("test app");
        };
        await waitFor("the page over IPv4", () => page("127.0.0.1"));
        expect(await page("[::1]").catch(() => false)).toBe(!differs("published-ipv6"));
      });
    },
  );
}

/** A server on every address of the device. */
async function listenOnDevice(): Promise<{ readonly port: number } & AsyncDisposable> {
  const server = createServer((_request, response) => response.end("the device\n"));
  server.listen(0, "0.0.0.0");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { port, [Symbol.asyncDispose]: () => new Promise((resolve) => void server.close(() => resolve())) };
}

const socketPath = await dockerSocket();
const shared = { socketPath: socketPath ?? "", [Symbol.asyncDispose]: async () => undefined };

appViewContract("Docker", async () => shared, socketPath === undefined ? "no Docker engine answers here" : undefined);
for (const { name, missing, engine } of [await debianDocker(), await newestDocker()])
  appViewContract(name, () => PrivateEngine.start(engine), missing);
appViewContract("Podman", startPodman, await podmanUnavailableReason());
appViewContract("rootless Podman", startRootlessPodman, await rootlessPodmanUnavailableReason());
