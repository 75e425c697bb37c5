import { expect, it } from "vitest";
import { AgentRig } from "../../../support/agent-rig.ts";

const IMAGE = "registry.example/deep:1";

it.each([
  [125, 125, "Success"],
  [126, 125, "Fail"],
  [126, undefined, "Success"],
])("an image of %i layers, where the engine takes %s: %s", async (count, maxLayers, status) => {
  await using rig = new AgentRig();
  Object.assign(rig.engine.engineInfo, { maxLayers });
  rig.engine.publish(IMAGE, { layers: Array.from({ length: count }, (_, index) => index + 1) });
  rig.deployments.deploy("d1", { name: "deep", image: IMAGE });
  const last = await rig.untilEnd("d1");
  expect(last).toMatchObject({ status });
  if (status === "Success") return;
  expect(last).toMatchObject({
    code: "InvalidRequest",
    message: expect.stringMatching(
      /^The image registry\.example\/deep:1 has 126 layers, and .* takes 125 at most\. Build/,
    ) as string,
    details: { layers: 126, max_layers: 125, issues: [{ path: "image" }] },
  });
  // By its manifest alone.
  expect(rig.events("d1").map(({ message }) => message)).not.toContainEqual(expect.stringContaining("Pulling image"));
});
