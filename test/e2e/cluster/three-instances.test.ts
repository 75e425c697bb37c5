import { type IncomingMessage, request } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { isFinal } from "../../../src/protocol/deployments/deployment-event.ts";
import { openStream } from "../../support/event-stream.ts";
import { loadImage, uniqueName, webImage } from "../../support/images.ts";
import { PrivateEngine } from "../../support/private-engine.ts";
import { AgentProcess } from "../../support/system/agent.ts";
import { postgresUnavailableReason } from "../../support/postgres.ts";
import { Cluster } from "../../support/system/cluster.ts";
import type { Account, Asset } from "../../support/system/control.ts";
import { waitFor } from "../../support/wait-for.ts";

const SETTLE_S = 5;

const missing = await postgresUnavailableReason();

describe.skipIf(missing !== undefined)("three instances on one database", () => {
  const owned = new AsyncDisposableStack();
  let cluster: Cluster;
  let account: Account;
  let asset: Asset;
  let image: string;
  let agent: AgentProcess;

  beforeAll(async () => {
    const engine = owned.use(await PrivateEngine.start());
    ({ reference: image } = owned.use(await loadImage(engine.socketPath, await webImage())));
    cluster = owned.use(await Cluster.start({ instances: 3 }));
    account = await cluster.createAccount("acme");
    asset = await cluster.addAsset(account.accountId, uniqueName("gw"));
    agent = owned.use(
      new AgentProcess({
        directory: cluster.directory,
        deviceToken: asset.deviceToken,
        controlPlaneUrl: () => cluster.agentUrl,
        engineSocket: engine.socketPath,
        config: { deploy: { settle_window_s: SETTLE_S } },
      }),
    );
    await agent.start();
  });
  afterAll(() => owned.disposeAsync());
  beforeEach(({ onTestFailed }) => onTestFailed(() => console.error(`${cluster.tail()}\nagent\n${agent.tail()}`)));

  const deploy = (url: string, name: string, command: string): ReturnType<typeof openStream> =>
    openStream(`${url}/v1/assets/${asset.uuid}/edge/apps`, {
      apiKey: account.apiKey,
      body: { name, image, command: ["/bin/sh", "-c", command] },
    });

  /** A log that is followed. */
  class FollowedLog implements Disposable {
    text = "";
    isOver = false;
    readonly #response: IncomingMessage;

    private constructor(response: IncomingMessage) {
      this.#response = response;
      response.setEncoding("utf8").on("data", (chunk: string) => (this.text += chunk));
      response.on("error", () => undefined).once("close", () => (this.isOver = true));
    }

    static async open(url: string, app: string): Promise<FollowedLog> {
      const path = `${url}/v1/assets/${asset.uuid}/edge/apps/${app}/logs?follow=true`;
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        const options = { headers: { "X-API-Key": account.apiKey }, agent: false };
        request(path, options, resolve).on("error", reject).end();
      });
      if (response.statusCode !== 200) {
        response.resume();
        throw new Error(`the service answered ${response.statusCode}`);
      }
      return new FollowedLog(response);
    }

    async until(pattern: RegExp): Promise<void> {
      await waitFor(`${pattern} in the log`, () => pattern.test(this.text) || Promise.reject(new Error(this.text)));
    }

    [Symbol.dispose](): void {
      this.#response.destroy();
    }
  }

  it("the device is on one instance, a stream on another, a log on a third; the first is killed, and all go on", async () => {
    const first = await deploy(cluster.url, "writer", "n=0; while sleep 0.2; do n=$((n + 1)); echo line $n; done");
    await first.until("its end", ({ events }) => events.some(isFinal));
    expect(first.events.at(-1)).toMatchObject({ status: "Success" });

    const a = await cluster.holderOf(asset);
    const [b = -1, c = -1] = [0, 1, 2].filter((index) => index !== a);
    using log = await FollowedLog.open(cluster.instance(c).url, "writer");
    await log.until(/line \d/);
    using stream = await deploy(cluster.instance(b).url, "second", "exec sleep 2147483");
    await stream.event("an event of the device", ({ step }) => step === "verifying");
    await cluster.instance(a).kill();

    // The stream neither ends nor loses anything: its instance has the events from the store.
    await stream.until("its end", ({ events }) => events.some(isFinal));
    expect(await stream.ended).toBe(true);
    expect(stream.events.at(-1)).toMatchObject({ status: "Success" });
    expect(stream.events.map(({ seq }) => seq)).toEqual(stream.events.map((_, index) => index + 1));

    // The question went to the killed instance. It ends with the reason, and can be asked again.
    await waitFor("the log to end", () => log.isOver);
    expect(log.text).toMatch(/"error"/);
    expect(await cluster.holderOf(asset)).not.toBe(a);
    const again = await waitFor("the log on the third instance", () =>
      FollowedLog.open(cluster.instance(c).url, "writer"),
    );
    using _again = again;
    await again.until(/line \d/);

    await cluster.instance(a).start();
    await waitFor("the killed instance to be ready", () => cluster.proxy.ready[a] === true);
    const record = await fetch(
      `${cluster.instance(a).url}/v1/assets/${asset.uuid}/edge/deployments/${stream.deploymentId}`,
      {
        headers: { "X-API-Key": account.apiKey },
      },
    );
    expect(await record.json()).toMatchObject({ status: "Success" });
  });
});

// Shows the reason if the suite is skipped.
if (missing !== undefined) it("three instances on one database", ({ skip }) => skip(missing));
