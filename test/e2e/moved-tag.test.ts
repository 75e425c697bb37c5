import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type EdgectlUser, edgectlUser } from "../support/edgectl/process.ts";
import { freeHostPort } from "../support/free-port.ts";
import { webImage, WEB_PORT } from "../support/images.ts";
import { podmanUnavailableReason, startPodman } from "../support/podman-service.ts";
import { Registry } from "../support/registry.ts";
import { RegistryProxy } from "../support/registry/registry-proxy.ts";
import { page } from "../support/system/app-page.ts";
import { sharedSystem } from "../support/system/test-system.ts";
import { waitFor } from "../support/wait-for.ts";

const owned = new AsyncDisposableStack();
let registry: Registry;
let front: RegistryProxy;
let user: EdgectlUser;
beforeAll(async () => {
  registry = owned.use(await Registry.start());
  front = owned.use(await RegistryProxy.start({ upstream: registry.host }));
  user = owned.use(await edgectlUser("dist/edgectl"));
});
afterAll(() => owned.disposeAsync());

/** The requests to the registry while `work` ran. */
async function requests(work: () => Promise<unknown>): Promise<string[]> {
  const before = front.requests.length;
  await work();
  return front.requests.slice(before).map(({ method }) => method);
}

const noPodman = await podmanUnavailableReason();
const cases = [
  ["Docker, by the agent", "docker", "agent", undefined],
  ["Docker, by the engine", "docker", "engine", undefined],
  ["Podman, by the agent", "podman", "agent", noPodman],
] as const;

describe.each(cases)("a tag that moves, pulled with %s", (label, engine, pullBy, missing) => {
  describe.skipIf(missing !== undefined)(missing ?? "that is there", () => {
    const system = sharedSystem(async (stack) => ({
      agentConfig: { deploy: { pull: pullBy, pull_attempts: 2 } },
      ...(engine === "podman" && { engine: stack.use(await startPodman()) }),
    }));
    const repository = `team/${engine}-${pullBy}`;

    async function edgectl(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
      const { control, account, asset } = system();
      const env = { EDGECTL_URL: control.url, EDGECTL_API_KEY: account.apiKey };
      const [group = "", verb = "", ...rest] = args;
      return await user.run([group, verb, asset.serialNumber, ...rest], { env });
    }

    /** Pushes a version under the tag, and returns its digest. */
    async function push(version: string, tag: string): Promise<string> {
      await registry.push(await webImage(`${label} ${version}`), `${repository}:${tag}`);
      return await registry.digest(`${repository}:${tag}`);
    }

    async function deployed(image: string): Promise<{ name: string; port: number }> {
      const [name, port] = [system().name(), await freeHostPort()];
      system().removeImageLater(image);
      const { final } = await system().deploy({ name, image, ports: [{ host_port: port, target_port: WEB_PORT }] });
      expect(final.status).toBe("Success");
      return { name, port };
    }

    /** Waits until the device has reported that the app runs from this digest. */
    async function untilReported(name: string, digest: string): Promise<void> {
      await waitFor(`the report of ${digest}`, async () => {
        const { code, stdout } = await edgectl("apps", "show", name, "--json");
        return code === 0 && (JSON.parse(stdout) as { image_digest: unknown }).image_digest === digest;
      });
    }

    test("is noticed by an update that names it, for the price of a HEAD while it does not move", async () => {
      const first = await push("1", "1");
      const image = `${front.host}/${repository}:1`;
      const { name, port } = await deployed(image);
      await untilReported(name, first);
      const same = await requests(async () => {
        const { code, stdout } = await edgectl("apps", "update", name, "--image", image);
        expect(stdout).toContain(`Nothing to change: ${image} is still ${first.slice(0, 19)}.`);
        expect(code).toBe(0);
      });
      expect(same).toEqual(["HEAD"]);

      const second = await push("2", "1");
      const dry = await edgectl("apps", "update", name, "--image", image, "--dry-run");
      expect(dry.stdout).toContain(`${image} is ${second.slice(0, 19)} now.`);
      await untilReported(name, first);
      const unasked = await edgectl("apps", "update", name, "--image", image, "--pull", "missing", "--dry-run");
      expect(unasked.stdout).toContain("would download nothing");
      expect(await page(port)).toContain(`version ${label} 1`);

      const { code, stdout } = await edgectl("apps", "update", name, "--image", image);
      expect(stdout).toContain("is updated and running");
      expect(code).toBe(0);
      expect(await page(port)).toContain(`version ${label} 2`);
      await untilReported(name, second);
      const shown = await edgectl("apps", "show", name);
      expect(shown.stdout).toContain(second);
    });

    // With `deploy.pull: "engine"` the engine is asked instead.
    test.each(pullBy === "agent" ? ["registry"] : [])(
      "is asked about in vain without the %s: the image on the device is used, or the update fails",
      async () => {
        const digest = await push("1", "offline");
        const image = `${registry.host}/${repository}:offline`;
        const { name, port } = await deployed(image);
        await registry.stop();
        try {
          const same = await edgectl("apps", "update", name, "--image", image);
          expect(same.stdout).toContain(`the registry could not be asked whether ${image} has moved`);
          expect(same.code).toBe(0);
          const changed = await edgectl("apps", "update", name, "--image", image, "--env", "GREETING=hello");
          expect(changed.stdout).toMatch(
            /The registry cannot be asked \(.*\); using the image that is on the device\./,
          );
          expect(changed.code).toBe(0);
          expect(await page(port)).toContain("hello");

          const always = await edgectl(
            "apps",
            "update",
            name,
            "--image",
            image,
            "--pull",
            "always",
            "--env",
            "GREETING=bye",
          );
          expect(always.code).toBe(1);
          expect(always.stderr).toMatch(/The registry could not be reached: .*\(ImagePullBackOff\)/);
          expect(await page(port)).toContain("hello");
          await untilReported(name, digest);
        } finally {
          await registry.resume();
        }
        const always = await edgectl("apps", "update", name, "--pull", "always", "--env", "GREETING=bye");
        expect(always.code).toBe(0);
        expect(await page(port)).toContain("bye");
        expect((await edgectl("apps", "show", name)).stdout).toMatch(/Pull +always/);
      },
    );
  });
});
