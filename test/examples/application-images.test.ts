import { expect, test } from "vitest";
import { edgectlUser } from "../support/edgectl/process.ts";
import { freeHostPort } from "../support/free-port.ts";
import { mosquittoImage } from "../support/images/applications/mosquitto.ts";
import { prometheusImage } from "../support/images/applications/prometheus.ts";
import { startTestSystem } from "../support/system/test-system.ts";
import { waitFor } from "../support/wait-for.ts";

/* Images of apps whose examples need files that come with the app: they run with the configuration of the image. */

test("Mosquitto and Prometheus run from their images, as their own users", async (context) => {
  await using user = await edgectlUser();
  const system = await startTestSystem(context);
  const { control, account, asset } = system;
  const env = { EDGECTL_URL: control.url, EDGECTL_API_KEY: account.apiKey };

  const broker = system.name("mosquitto");
  const mosquitto = await system.load(await mosquittoImage(), "mosquitto");
  expect((await system.deploy({ name: broker, image: mosquitto })).final).toMatchObject({ status: "Success" });
  const log = await user.run(["apps", "logs", asset.serialNumber, broker], { env });
  expect(log.stdout + log.stderr).toMatch(/mosquitto version 2\.\S+ running/);

  const [metrics, port] = [system.name("prometheus"), await freeHostPort()];
  const prometheus = await system.load(await prometheusImage(), "prometheus");
  const ports = [{ host_port: port, target_port: 9090 }];
  expect((await system.deploy({ name: metrics, image: prometheus, ports })).final).toMatchObject({ status: "Success" });
  await waitFor("Prometheus to be ready", async () => (await fetch(`http://127.0.0.1:${port}/-/ready`)).ok);
});
