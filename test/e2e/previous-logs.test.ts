import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type EdgectlUser, edgectlUser } from "../support/edgectl/process.ts";
import { webImage } from "../support/images.ts";
import { podmanUnavailableReason, startPodman } from "../support/podman-service.ts";
import { sharedSystem } from "../support/system/test-system.ts";
import { waitFor } from "../support/wait-for.ts";

const SECRET = "a-very-secret-value";

/** The command of an app that writes a line. */
const writing = (text: string, then = "exec sleep 2147483") => ["/bin/sh", "-c", `echo "${text}"; ${then}`];

let user: EdgectlUser;
beforeAll(async () => {
  user = await edgectlUser("dist/edgectl");
});
afterAll(() => user[Symbol.asyncDispose]());

const noPodman = await podmanUnavailableReason();

describe.each([
  ["Docker", undefined],
  ["Podman", noPodman],
] as const)("what an app wrote before its present run, on %s", (engine, missing) => {
  describe.skipIf(missing !== undefined)(missing ?? "that is there", () => {
    const system = sharedSystem(async (stack) => ({
      agentConfig: { deploy: { settle_window_s: 1 } },
      ...(engine === "Podman" && { engine: stack.use(await startPodman()) }),
    }));

    async function edgectl(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
      const { control, account, asset } = system();
      const env = { EDGECTL_URL: control.url, EDGECTL_API_KEY: account.apiKey };
      const [group = "", verb = "", ...rest] = args;
      return await user.run([group, verb, asset.serialNumber, ...rest], { env });
    }

    const previous = async (name: string): Promise<string> =>
      (await edgectl("apps", "logs", name, "--previous")).stdout;
    const keptFiles = (): string[] => readdirSync(join(system().agent.stateDir, "previous-logs"));

    test("is there after a restart, an update and a failed update, and goes with the app", async () => {
      const name = system().name();
      const image = await system().load(await webImage());
      const environments = [{ key: "TOKEN", value: SECRET, secret: true }];
      const { final } = await system().deploy({
        name,
        image,
        environments,
        command: writing("version one has $TOKEN"),
      });
      expect(final.status).toBe("Success");
      expect((await edgectl("apps", "logs", name, "--previous")).stderr).toContain(`Nothing is left of what ${name}`);

      expect((await edgectl("apps", "restart", name)).code).toBe(0);
      expect(await previous(name)).toBe("version one has ***\n");
      expect((await edgectl("apps", "logs", name)).stdout).toBe("version one has ***\n".repeat(2));

      const updated = await edgectl("apps", "update", name, "--", ...writing("version two"));
      expect(updated).toMatchObject({ code: 0 });
      expect(await previous(name)).toBe("version one has ***\n".repeat(2));
      expect((await edgectl("apps", "logs", name)).stdout).toBe("version two\n");
      expect(keptFiles()).toEqual([`${name}.jsonl`]);
      const kept = readFileSync(join(system().agent.stateDir, "previous-logs", `${name}.jsonl`), "utf8");
      expect(kept).not.toContain(SECRET);

      const failed = await edgectl("apps", "update", name, "--", ...writing("version three", "exit 7"));
      expect(failed.code).toBe(1);
      expect(await previous(name)).toContain("version three\n");

      expect((await edgectl("apps", "remove", name)).code).toBe(0);
      await waitFor("the kept log to go", () => keptFiles().length === 0);
    });

    test("what it uses is measured on request", async () => {
      const name = system().name();
      const image = await system().load(await webImage());
      await system().deploy({ name, image, command: writing("here") });
      const { code, stdout } = await edgectl("apps", "stats", name, "--json");
      expect(code).toBe(0);
      const { apps } = JSON.parse(stdout) as { apps: { app: string; writable_bytes: number | null }[] };
      expect(apps).toMatchObject([{ app: name, state: "running", writable_bytes: expect.any(Number) as number }]);
      const nobody = await edgectl("apps", "stats", "nobody");
      expect(nobody).toMatchObject({ code: 4, stderr: expect.stringContaining("AppNotFound") as string });
    });
  });
});
