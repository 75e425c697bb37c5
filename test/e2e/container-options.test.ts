import { rm } from "node:fs/promises";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { brokenImage, sleeperImage, webImage } from "../support/images.ts";
import { podmanUnavailableReason, startPodman } from "../support/podman-service.ts";
import { sharedSystem } from "../support/system/test-system.ts";
import { waitFor } from "../support/wait-for.ts";

const OPTIONS = {
  user: "1000:1000",
  working_dir: "/bin",
  cap_add: ["SYS_NICE"],
  cap_drop: ["CHOWN"],
  read_only: true,
  tmpfs: [{ target: "/scratch", size_bytes: 65_536, mode: "1777" }],
  shm_size: 1_048_576,
  ulimits: [{ name: "nofile" as const, soft: 256, hard: 512 }],
  extra_hosts: [{ name: "device", address: "host-gateway" }],
  dns: ["192.0.2.53"],
  dns_search: ["plant.local"],
  dns_options: ["ndots:1"],
  hostname: "line-3",
  labels: { "com.example.team": "one" },
  stop_signal: "SIGKILL",
  stop_grace_s: 25,
  log: { max_bytes: 65_536, max_files: 2 },
};

const noPodman = await podmanUnavailableReason();

describe.each([
  ["docker", undefined],
  ["podman", noPodman],
] as const)("the options of a container on %s", (engine, missing) => {
  describe.skipIf(missing !== undefined)(missing ?? "that is there", () => {
    const system = sharedSystem(async (stack) => ({
      agentConfig: { policy: { capabilities: { allow: ["SYS_NICE"] } } },
      ...(engine === "podman" && { engine: stack.use(await startPodman()) }),
    }));

    async function change(method: string, app: string, body?: unknown) {
      return (await system().finish(await system().change(method, app, undefined, body))).final;
    }

    /** Returns the specification as the service has it from the device's report. */
    async function reported(name: string, isExpected: (spec: Record<string, unknown>) => boolean) {
      const { account, asset, control } = system();
      const url = `${control.url}/v1/assets/${asset.serialNumber}/edge/apps/${name}`;
      return await waitFor(`the report of ${name}`, async () => {
        const response = await fetch(url, { headers: { "X-API-Key": account.apiKey } });
        const { spec } = (await response.json()) as { spec?: Record<string, unknown> };
        return spec && isExpected(spec) ? spec : undefined;
      });
    }

    async function loseStore(): Promise<void> {
      const { agent } = system();
      await agent.stop();
      for (const suffix of ["", "-wal", "-shm"]) await rm(join(agent.stateDir, `agent.db${suffix}`), { force: true });
      await agent.start();
      await waitFor("the apps to be looked for", () => !existsSync(join(agent.stateDir, "rebuild")));
    }

    test("are kept over the loss of the store and a failed update, and go with null", async () => {
      const name = system().name();
      const [image, broken] = [await system().load(await sleeperImage("1")), await system().load(await brokenImage())];
      const { final, deploymentId } = await system().deploy({ name, image, ...OPTIONS });
      expect(final).toMatchObject({ status: "Success" });
      const created = await system().inspect(deploymentId);
      expect(created).toMatchObject({ Config: { User: "1000:1000", Hostname: "line-3" }, State: { Running: true } });

      await loseStore();
      expect(await reported(name, () => true)).toMatchObject(OPTIONS);
      const failed = await change("PATCH", name, { image: broken, user: "0", stop_grace_s: 1 });
      expect(failed).toMatchObject({ status: "Fail", details: { rolled_back: true } });
      expect(await reported(name, () => true)).toMatchObject(OPTIONS);
      expect(await system().inspect(deploymentId)).toMatchObject({ Id: created.Id, State: { Running: true } });

      const cleared = Object.fromEntries(Object.keys(OPTIONS).map((field) => [field, null]));
      expect(await change("PATCH", name, cleared)).toMatchObject({ status: "Success" });
      const spec = await reported(name, (found) => !("user" in found));
      for (const field of Object.keys(OPTIONS)) expect(spec).not.toHaveProperty(field);
    });

    test("that the policy does not list are refused before anything changes, also for a privileged app", async () => {
      const name = system().name();
      const image = await system().load(await webImage());
      const { final } = await system().deploy({ name, image, cap_add: ["SYS_ADMIN"], privileged: true });
      expect(final).toMatchObject({
        status: "Fail",
        code: "PolicyDenied",
        details: { rule: "policy.capabilities.allow" },
      });
    });
  });
});
