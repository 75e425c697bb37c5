import { expect, test } from "vitest";
import { freeHostPort } from "../support/free-port.ts";
import { webImage, WEB_PORT } from "../support/images.ts";
import { sharedSystem } from "../support/system/for-tests.ts";

const system = sharedSystem();

test("an app is deployed and answers at its host_port", async () => {
  const image = await system().load(await webImage());
  const port = await freeHostPort();
  const { status, headers, final, events } = await system().deploy({
    name: system().name(),
    image,
    ports: [{ host_port: port, target_port: WEB_PORT }],
  });
  expect({ status, type: headers["content-type"] }).toEqual({ status: 200, type: "text/event-stream" });
  expect(final).toMatchObject({ status: "Success", step: "done" });
  expect(events.map(({ step }) => step)).toEqual([
    "received",
    "checking",
    "pulling",
    "creating",
    "starting",
    "verifying",
    "done",
  ]);
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toContain("edge-agent test app");
});
