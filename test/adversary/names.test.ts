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
  "an app name with the agent's version suffix …%s is refused",
  async (ending) => {
    const image = await system().load(await sleeperImage());
    const name = system().name();
    const { final } = await system().deploy({ name: `${name}${ending}`, image });
    expect(final).toMatchObject({
      status: "Fail",
      code: "InvalidRequest",
      details: { issues: [{ path: "name", reason: expect.stringContaining(ending) as string }] },
    });
    // The app without the suffix is deployed and updated.
    expect((await system().deploy({ name, image })).final).toMatchObject({ status: "Success" });
    const environments = [{ key: "GREETING", value: "hello" }];
    expect(await change("PATCH", name, undefined, { environments })).toMatchObject({ status: "Success" });
  },
);

test.each([".edge-agent-new", ".edge-agent-old"])(
  "a container with a name that an update needs (…%s) fails the update before any change",
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

test("an app whose container name would be another app's is refused, also while that app has no container", async () => {
  const image = await system().load(await sleeperImage());
  // Engines require two characters, so this container's name differs from the app's.
  expect((await system().deploy({ name: "q", image })).final).toMatchObject({ status: "Success" });
  await system().agent.stop();
  await hand().remove("q-app");
  await system().agent.start();
  const { final } = await system().deploy({ name: "q-app", image });
  expect(final).toMatchObject({ status: "Fail", code: "ErrorNameExists", details: { app: "q" } });
  expect(await change("POST", "q", "restart")).toMatchObject({ status: "Success" });
  expect(await change("DELETE", "q")).toMatchObject({ status: "Success" });
});
