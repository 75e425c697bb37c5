import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { edgectlUser } from "../support/edgectl/process.ts";
import { exampleApp } from "../support/example.ts";
import { nodeRedImage } from "../support/images/applications/node-red.ts";
import { startTestSystem } from "../support/system/test-system.ts";
import { waitFor } from "../support/wait-for.ts";

const OWNER = 1000;

test("Node-RED serves its editor and keeps its flows over a restart", async (context) => {
  const user = await edgectlUser("dist/edgectl");
  onTestFinished(() => user[Symbol.asyncDispose]());
  const system = await startTestSystem(context);
  const { control, account, asset } = system;
  const env = { EDGECTL_URL: control.url, EDGECTL_API_KEY: account.apiKey };
  const { serialNumber: gateway } = asset;
  const image = await system.load(await nodeRedImage(), "node-red");
  const { name, file, port, directories } = await exampleApp("node-red", image, system);
  const data = directories[0] ?? "";
  const editor = `http://127.0.0.1:${port}`;
  const ask = async (path: string, init?: RequestInit): Promise<string> => {
    const response = await fetch(editor + path, init);
    expect(response.ok).toBe(true);
    return await response.text();
  };

  const deployed = await user.run(["deploy", gateway, "-f", file], { env });
  expect(deployed).toMatchObject({ code: 0, stdout: expect.stringContaining(`App ${name} is running.`) as string });
  await waitFor("the editor", async () => (await ask("/")).includes("Node-RED"));
  expect(statSync(data).uid).toBe(OWNER);

  const flows = [{ id: "a1b2c3d4e5f60718", type: "tab", label: "Pump house", disabled: false }];
  const headers = { "Content-Type": "application/json" };
  await ask("/flows", { method: "POST", headers, body: JSON.stringify(flows) });
  await waitFor("the flows on the device", () => existsSync(join(data, "flows.json")));
  expect(await user.run(["apps", "restart", gateway, name], { env })).toMatchObject({ code: 0 });
  await waitFor("the flows after the restart", async () => (await ask("/flows")).includes("Pump house"));
});
