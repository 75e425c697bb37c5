import { expect, test } from "vitest";
import { sleeperImage } from "../support/images.ts";
import { EngineUser } from "../support/system/engine-user.ts";
import { sharedSystem } from "../support/system/test-system.ts";

const system = sharedSystem();
const hand = () => new EngineUser(system().engineSocket);

async function change(method: string, app: string, action?: string, body?: unknown) {
  return (await system().finish(await system().change(method, app, action, body))).final;
}

test.each([".edge-agent-new", ".edge-agent-old"])(
  "no app is named as the agent names versions: …%s",
  async (ending) => {
    const image = await system().load(await sleeperImage());
    const name = system().name();
    const { final } = await system().deploy({ name: `${name}${ending}`, image });
    expect(final).toMatchObject({
      status: "Fail",
      code: "InvalidRequest",
      details: { issues: [{ path: "name", reason: expect.stringContaining(ending) as string }] },
    });
    // Its namesake is deployed and updated.
    expect((await system().deploy({ name, image })).final).toMatchObject({ status: "Success" });
    const environments = [{ key: "GREETING", value: "hello" }];
    expect(await change("PATCH", name, undefined, { environments })).toMatchObject({ status: "Success" });
  },
);

test.each([".edge-agent-new", ".edge-agent-old"])(
  "a container that has a name an update needs (…%s) stops the update before anything is done",
  async (ending) => {
    const image = await system().load(await sleeperImage());
    const name = system().name();
    const { final, deploymentId } = await system().deploy({ name, image });
    expect(final).toMatchObject({ status: "Success" });
    const before = await system().inspect(deploymentId);
    const foreign = await hand().run(`${name}${ending}`, image);
    const environments = [{ key: "GREETING", value: "hello" }];
    expect(await change("PATCH", name, undefined, { environments })).toMatchObject({
      status: "Fail",
      code: "ErrorNameExists",
      step: "checking",
      details: { container: `${name}${ending}` },
    });
    const { Id: id, Name: called, State: state } = await system().inspect(deploymentId);
    expect([id, called, state.StartedAt]).toEqual([before.Id, `/${name}`, before.State.StartedAt]);
    expect(await hand().status(foreign)).toBe("running");
  },
);

test("an app whose container would be called as another app's is refused, also while that has none", async () => {
  const image = await system().load(await sleeperImage());
  // Engines want two characters, so this one's container is called otherwise than the app.
  expect((await system().deploy({ name: "q", image })).final).toMatchObject({ status: "Success" });
  await system().agent.stop();
  await hand().remove("q-app");
  await system().agent.start();
  const { final } = await system().deploy({ name: "q-app", image });
  expect(final).toMatchObject({ status: "Fail", code: "ErrorNameExists", details: { app: "q" } });
  expect(await change("POST", "q", "restart")).toMatchObject({ status: "Success" });
  expect(await change("DELETE", "q")).toMatchObject({ status: "Success" });
});
