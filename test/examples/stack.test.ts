import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LABELS } from "../../src/agent/core/app/container.ts";
import { type RemoteUser, remoteUser } from "../support/edgectl/remote-user.ts";
import { openPage } from "../support/browser/browser.ts";
import { missingEngine, sharedExampleSystem } from "../support/examples/engine.ts";
import { Example } from "../support/examples/example.ts";
import type { System } from "../support/system.ts";
import { listContainers } from "../support/system/engine-containers.ts";
import { waitFor } from "../support/wait-for.ts";

/** The apps of the system by name. */
async function appsOf({ engineSocket, agent }: System): Promise<Record<string, Readonly<Record<string, string>>>> {
  const containers = await listContainers(engineSocket);
  const own = containers.filter(
    ({ Labels, State }) => Labels[LABELS.stateDir] === agent.stateDir && State === "running",
  );
  return Object.fromEntries(own.map(({ Labels }) => [Labels[LABELS.app] ?? "", Labels]));
}

/* The five apps of examples/stack, as its README says: as a file of apps and as a compose file. */

const APPS = ["mosquitto", "node-red", "postgresql", "prometheus", "nginx"];
const TIMEOUT = 600_000;

describe.skipIf(missingEngine !== undefined)(
  `the stack${missingEngine === undefined ? "" : ` (skipped: ${missingEngine})`}`,
  () => {
    const system = sharedExampleSystem();
    const owned = new AsyncDisposableStack();
    let user: RemoteUser;
    let example: Example;

    beforeAll(async () => {
      user = owned.use(await remoteUser(system(), ["apps.forward", "apps.exec"]));
      example = await Example.open("stack", system(), user);
    }, TIMEOUT);
    afterAll(() => owned.disposeAsync());

    /** Brings the flows to Node-RED through a forwarded port, and returns the editor's address. */
    async function sendFlows(): Promise<AsyncDisposable & { readonly url: string }> {
      const command = await example.start("edgectl forward", /leads to port 1880/);
      const url = /http:\S+/.exec(command.stdout())?.[0] ?? "";
      example.usePort(1880, Number(new URL(url).port));
      await example.succeed("@flows.json");
      return { url, [Symbol.asyncDispose]: () => command[Symbol.asyncDispose]() };
    }

    const measured = async (): Promise<string> => example.succeed("/api/temperature");
    const untilMeasured = () => waitFor("nginx to answer", async () => (await measured()) === '{"celsius":21.5}');
    const visits = async (): Promise<string> => example.succeed("SELECT who");

    async function publish(): Promise<void> {
      const wrong = await example.run("mosquitto_pub", "-P", "guessed");
      expect(wrong).toMatchObject({ code: 5, stderr: expect.stringContaining("not authorised") as string });
      await example.succeed("mosquitto_pub");
    }

    async function worksTogether(): Promise<void> {
      await publish();
      await untilMeasured();
      await waitFor("Prometheus to scrape Node-RED", async () => {
        const targets = await example.succeed("/api/v1/targets");
        return targets.includes('"health":"up"') && (await example.succeed("plant_temperature")).includes('"21.5"');
      });
      await example.succeed("CREATE TABLE");
      await example.succeed("INSERT INTO");
      expect(await visits()).toBe("first\n");
    }

    test(
      "as a file of apps works together, and Node-RED's editor opens in a browser",
      { timeout: TIMEOUT },
      async () => {
        const applied = await example.succeed("-f edge.yaml", "--yes");
        for (const app of APPS) expect(applied).toContain(`App ${app} is running.`);
        expect(await example.succeed("-f edge.yaml", "--yes")).toContain("Nothing to change.");
        await using editor = await sendFlows();
        await worksTogether();
        await using opened = await openPage(editor.url, "node-red-editor");
        const { page } = opened;
        // The state of the connection to Mosquitto arrives over a WebSocket.
        await page.getByText("connected", { exact: true }).first().waitFor();
        await page.getByText("Keep the last one").waitFor();
        await page.getByRole("button", { name: "No, do not enable" }).click();
        await page.getByRole("button", { name: "No, do not enable" }).waitFor({ state: "hidden" });
        expect(opened.failures).toEqual([]);
      },
    );

    test("an update that fails in its last app goes back as a whole, with its data", { timeout: TIMEOUT }, async () => {
      const since = Math.floor(Date.now() / 1000);
      await example.derive("site.conf", "site-next.conf", "proxy_pass", "proxy_pas");
      await example.derive("mosquitto.conf", "mosquitto-next.conf", "allow_anonymous false", "allow_anonymous true");
      await example.derive("prometheus.yml", "prometheus-next.yml", "node-red:1880", "node-red:1881");
      await example.derive("edge.yaml", "edge-next.yaml", /^( +)image: .*$/gm, "$&\n$1labels: { version: next }");
      await example.derive("edge-next.yaml", "edge-next.yaml", /(\.\/[a-z]+)\.(conf|yml)/g, "$1-next.$2");
      const update = await example.edgectl(
        "apply",
        example.gateway,
        "-f",
        `${example.directory}/edge-next.yaml`,
        "--yes",
      );
      expect(update).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('unknown directive "proxy_pas"') as string,
      });
      expect(update.stderr).toContain("CrashLoopBackOff");
      for (const app of APPS.slice(0, -1)) expect(update.stdout).toContain(`App ${app} is updated and running.`);

      expect(await example.succeed("-f edge.yaml", "--yes")).toContain("Nothing to change.");
      const after = await appsOf(system());
      expect(Object.keys(after).toSorted()).toEqual(APPS.toSorted());
      for (const labels of Object.values(after)) expect(labels).not.toHaveProperty("version");
      // The last message was kept by Mosquitto, the flows by Node-RED, and nginx finds both where they are now.
      await untilMeasured();
      expect((await example.run("mosquitto_pub", "-P", "guessed")).code).toBe(5);
      expect(await visits()).toBe("first\n");
      const past = await example.succeed("plant_temperature", `-G --data-urlencode time=${since}`);
      expect(past).toContain(`[${since},"21.5"]`);
    });

    test("is removed, and its volumes when they are told to", { timeout: TIMEOUT }, async () => {
      await example.succeed("edgectl apps remove");
      expect(await appsOf(system())).toEqual({});
      expect(await example.succeed("edgectl volumes list")).toContain("node-red-data");
      await example.succeed("edgectl volumes remove");
      for (const volume of ["mosquitto-data", "node-red-data", "prometheus-data"]) {
        expect(await example.edgectl("volumes", "remove", example.gateway, volume, "--yes")).toMatchObject({ code: 0 });
      }
      expect(await example.succeed("edgectl volumes list")).not.toContain("-data");
    });

    test("as a compose file works together, on ports of the device", { timeout: TIMEOUT }, async () => {
      const name = system().name("plant");
      const project = ["--project", name];
      const applied = await example.succeed("-f compose.yaml", "--yes", ...project);
      const apps = APPS.map((app) => `${name}.${app}`);
      for (const app of apps) expect(applied).toContain(`App ${app} is running.`);
      example.useProject(name);
      for (const [, app, port, own] of applied.matchAll(/^ +(\S+) +(\d+):(\d+) /gm)) {
        expect(apps).toContain(app);
        example.usePort(own === "80" ? 30_080 : own === "9090" ? 30_090 : 31_883, Number(port));
      }
      await using _editor = await sendFlows();
      await worksTogether();
      expect(await example.succeed("-f compose.yaml", "--yes", ...project)).toContain("Nothing to change.");
    });
  },
);
