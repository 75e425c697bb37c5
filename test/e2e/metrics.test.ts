import { expect, test } from "vitest";
import { ControlProcess } from "../support/system/control.ts";
import { apiClient } from "../support/api-client.ts";
import { openStream } from "../support/event-stream.ts";
import { FakeDevice } from "../support/fake-device.ts";
import { dashboardQueries, fillIn, readDashboard } from "../support/monitoring/dashboard.ts";
import { Prometheus } from "../support/monitoring/prometheus.ts";
import { renderDashboard } from "../support/monitoring/render.ts";
import { readAlerts, RULES_FILE, selectors } from "../support/monitoring/rules.ts";
import { tempDir } from "../support/temp-dir.ts";
import { waitFor } from "../support/wait-for.ts";

const DEVICES = 5;
const RATE_INTERVAL = "10s";
/** Seconds of load that are recorded. */
const RECORDED_S = 20;

/** A selector that is empty while all is well: no request has failed. */
const EMPTY_WHEN_WELL = /status="5xx"/;

test("every query of the dashboard and the alert rules has figures from an edge-control under load", async () => {
  await using directory = await tempDir();
  await using control = new ControlProcess(directory.path, ["--metrics-listen", "127.0.0.1:0"]);
  await control.start();
  const { port } = await control.waitForLog("its metrics", ({ msg }) => msg === "metrics listening");
  await using prometheus = await Prometheus.start([`127.0.0.1:${String(port)}`], RULES_FILE);
  const from = Math.floor(Date.now() / 1000);
  await using load = await Load.start(control);
  const dashboard = await readDashboard();
  await waitFor(
    "the figures of some seconds",
    async () => ((await prometheus.query("count_over_time(up[1h])"))[0] ?? 0) >= RECORDED_S,
  );
  await waitFor("enough deployments", () => load.rounds > 3);

  const empty: string[] = [];
  for (const query of dashboardQueries(dashboard)) {
    // NaN is a quotient or a quantile without any event.
    const hasFigures = async (): Promise<boolean> => {
      const values = await prometheus.query(fillIn(query, RATE_INTERVAL));
      return values.some((value) => !Number.isNaN(value));
    };
    await waitFor(query, hasFigures).catch(() => empty.push(query));
  }
  expect(empty).toEqual([]);
  for (const { alert, expr } of await readAlerts()) {
    for (const selector of selectors(expr)) {
      if (EMPTY_WHEN_WELL.test(selector)) continue;
      expect(await prometheus.query(selector), `${alert}: ${selector}`).not.toEqual([]);
    }
  }
  const rules = await prometheus.rules();
  expect(rules).toHaveLength((await readAlerts()).length);
  expect(rules.filter(({ health }) => health !== "ok")).toEqual([]);
  const to = Math.floor(Date.now() / 1000);
  await renderDashboard(dashboard, prometheus, { from, to, rateInterval: RATE_INTERVAL });
});

/** Devices that connect and leave, and clients that deploy and read, until disposed. */
class Load implements AsyncDisposable {
  rounds = 0;
  #isStopped = false;
  #running: Promise<void> = Promise.resolve();

  static async start(control: ControlProcess): Promise<Load> {
    const load = new Load();
    const account = await control.createAccount("load");
    const assets = [];
    for (let number = 0; number < DEVICES; number++) {
      assets.push(await control.addAsset(account.accountId, `LOAD-${number}`));
    }
    const [changing, ...steady] = assets;
    if (!changing) throw new Error("no devices");
    const agentUrl = `ws://127.0.0.1:${control.port}/v1/agent`;
    load.#running = load.#run(async () => {
      // One device comes and goes; one is refused; one sends what is no frame.
      await using device = await FakeDevice.connect(agentUrl, changing.deviceToken);
      device.send("not a frame");
      await FakeDevice.open(agentUrl, `${changing.deviceToken}x`).catch(() => undefined);
      await apiClient(control, account).get("/v1/assets");
      await apiClient(control, account).get("/v1/assets/unknown");
      await Promise.all(
        steady.map(async (asset, index) => {
          await using one = await FakeDevice.connect(agentUrl, asset.deviceToken);
          const url = `${control.url}/v1/assets/${asset.uuid}/edge/apps`;
          const body = { name: `app-${load.rounds}`, image: "web:1" };
          using stream = await openStream(url, { apiKey: account.apiKey, body });
          const { deployment_id: id } = await one.next("deploy");
          one.event(id, { step: "pulling" });
          if (index > 0) one.success(id);
          else one.event(id, { status: "Fail", message: "It crashed.", step: "done", code: "CrashLoopBackOff" });
          await stream.ended;
        }),
      );
      load.rounds++;
    });
    return load;
  }

  async #run(round: () => Promise<void>): Promise<void> {
    while (!this.#isStopped) await round();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }
}
